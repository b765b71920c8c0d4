/* Marginal predictions of Vecchia's approximation: the lists of the rows to predict, and their conditionals, over threads. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/order.h"
#include "linalg/linalg.h"
#include "model/local/vecchia_posterior.h"

static const vecchia_posterior *of(const posterior *base) { return (const vecchia_posterior *)base; }

int64_t vecchia_work(const posterior *base, int64_t n)
{
    return n * (vecchia_most(of(base)) / 2 + 2); /* 32-bit numbers: lists, their lengths, leader and next of a piece */
}

anygp_status vecchia_nearest(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t k,
                             int32_t *rows, int32_t *count, double **places, anygp_error *e)
{
    int64_t D = p->base.D, d;
    double *packed = mem_doubles(n, D), *found;
    for (int64_t i = 0; packed && i < n; i++) memcpy(packed + i * D, X + i * ldx, (size_t)D * sizeof *X);
    found = packed ? vecchia_places(p->base.kernel, n, D, packed, &d) : NULL;
    free(packed);
    if (!found) return fail_memory(e, "the places of the rows", 8.0 * (double)n * (double)D);
    anygp_status status = near_search_find(&p->search, n, found, NULL, k, rows, count, e);
    if (places && !ANYGP_FAILED(status))
        *places = found;
    else
        free(found);
    return status;
}

anygp_status vecchia_around(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t most,
                            int32_t *rows, int32_t *count, int32_t *leader, double **places, anygp_error *e)
{
    double *found;
    int64_t k = vecchia_near(p);
    anygp_status status = ANYGP_OK;
    TRY(vecchia_nearest(p, n, X, ldx, k, rows, count, &found, e));
    for (int64_t i = 0; leader && i < n; i++) leader[i] = -1;
    if (vecchia_looks_around(p)) status = near_search_spread(&p->search, n, found, k, most, rows, count, leader, e);
    if (places && !ANYGP_FAILED(status))
        *places = found;
    else
        free(found);
    return status;
}

/* A piece of the rows to predict: their features f[M,n], made together, and for each t[Mt,n] of which the variance is made together;
   NULL without inducing inputs. */
typedef struct piece {
    int64_t n;
    const double *X;
    int64_t ldx;
    const int32_t *rows, *count;
    double *f, *t, *mean, *variance;
    const int64_t *visit; /* in this order; NULL: one after the other */
    int32_t *leader,
        *next; /* n each: near_search_spread()'s, and the next row with the same list, -1: none; NULL: each has its own */
} piece;

static anygp_status predict_row(const vecchia_posterior *p, const piece *r, int64_t i, conditional *c, double *room,
                                anygp_error *e)
{
    int64_t q = p->Mt;
    c->own = r->f ? r->f + i * p->u.M : NULL;
    conditional_begin(p, r->count[i], r->rows + i * vecchia_most(p), c);
    TRY(conditional_find(p, r->X + i * r->ldx, c, e));
    conditional_add_mean(p, c, room, r->mean + i, r->variance && !r->t ? r->variance + i : NULL);
    if (!r->t || !r->variance) return ANYGP_OK;
    r->variance[i] = c->variance;
    memcpy(r->t + i * q, c->t, (size_t)q * sizeof *c->t);
    return ANYGP_OK;
}

/* Row i and all others with its list. */
static anygp_status predict_led(const vecchia_posterior *p, const piece *r, int64_t i, conditional *c, double *room,
                                anygp_error *e)
{
    conditional_begin(p, r->count[i], r->rows + i * vecchia_most(p), c);
    TRY(conditional_of_list(p, c, e));
    for (int64_t j = i; j >= 0; j = r->next[j]) {
        TRY(conditional_at(p, r->X + j * r->ldx, c, e));
        conditional_add_mean(p, c, room, r->mean + j, r->variance ? r->variance + j : NULL);
    }
    return ANYGP_OK;
}

/* Whether a thread predicts row i by itself; else its leader brings it. */
static bool is_alone(const piece *r, int64_t i) { return !r->leader || r->leader[i] < 0; }

/* Chains from each leader through the rows that it leads; returns how many leaders there are, first[] of them. */
static int64_t chain_rows(const piece *r, int32_t *first)
{
    int64_t leaders = 0;
    for (int64_t i = r->n - 1; i >= 0; i--) r->next[i] = -1;
    for (int64_t i = r->n - 1; i >= 0; i--) {
        int32_t leads = r->leader[i];
        if (leads >= 0 && leads != i) r->next[i] = r->next[leads], r->next[leads] = (int32_t)i;
    }
    for (int64_t i = 0; i < r->n; i++)
        if (r->leader[i] == i) first[leaders++] = (int32_t)i;
    return leaders;
}

/* Whether the rows of this chain are shared between threads.  A chain that is not long is a thread's own, since others wait while a list is
   factored. */
static bool is_long(const piece *r, int64_t i, int threads)
{
    enum { LEAST = 64, CHAINS = 4 /* for each thread, if all were as long */ };
    int64_t most = r->n / (CHAINS * threads), count = 0;
    if (threads == 1) return false;
    if (most < LEAST) most = LEAST;
    for (int64_t j = i; j >= 0 && count <= most; j = r->next[j]) count++;
    return count > most;
}

/* The rows of a chain on all threads, from the list's factor in c. */
static anygp_status predict_chain(const vecchia_posterior *p, const piece *r, const int32_t *rows, int64_t count,
                                  const conditional *list, int threads, anygp_error *e)
{
    int64_t k = list->n, q = p->Mt;
    anygp_status status = ANYGP_OK;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        anygp_error why = {0};
        conditional c = *list;
        double *room = mem_alloc(k + 2 * q, sizeof *room);
        anygp_status mine = room ? ANYGP_OK : fail_memory(&why, "prediction", 8.0 * (double)k);
        if (room) c.row = room, c.t = room + k;
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < count; i++) {
            int64_t j = rows[i];
            if (!ANYGP_FAILED(mine)) mine = conditional_at(p, r->X + j * r->ldx, &c, &why);
            if (!ANYGP_FAILED(mine))
                conditional_add_mean(p, &c, room + k + q, r->mean + j, r->variance ? r->variance + j : NULL);
        }
#pragma omp critical
        if (ANYGP_FAILED(mine)) status = fail_with(e, mine, "%s", why.text);
        free(room);
    }
    return status;
}

/* A large set of rows in one gap may have one list: the long chains, one after the other.  BLAS is on one thread, so that a list has the
   same factor as in predict_led(). */
static anygp_status predict_long(const vecchia_posterior *p, const piece *r, int64_t leaders, const int32_t *first,
                                 int threads, anygp_error *e)
{
    int64_t k = vecchia_most(p);
    double *room = NULL;
    int32_t *rows = NULL;
    anygp_status status = ANYGP_OK;
    for (int64_t l = 0; l < leaders && !ANYGP_FAILED(status); l++) {
        int64_t i = first[l], count = 0;
        if (!is_long(r, i, threads)) continue;
        if (!room) room = mem_alloc(conditional_doubles(p, k), sizeof *room), rows = mem_alloc(r->n, sizeof *rows);
        if (!room || !rows) {
            status = fail_memory(e, "prediction", 8.0 * (double)conditional_doubles(p, k));
            break;
        }
        conditional c = conditional_place(p, k, room);
        for (int64_t j = i; j >= 0; j = r->next[j]) rows[count++] = (int32_t)j;
        conditional_begin(p, r->count[i], r->rows + i * k, &c);
        status = conditional_of_list(p, &c, e);
        if (!ANYGP_FAILED(status)) status = predict_chain(p, r, rows, count, &c, threads, e);
    }
    free(room);
    free(rows);
    return status;
}

/* All but the long chains: whole chains first, since they take longest. */
static anygp_status predict_apart(const vecchia_posterior *p, const piece *r, int64_t leaders, const int32_t *first,
                                  int threads, anygp_error *e)
{
    int64_t k = vecchia_most(p), size = conditional_doubles(p, k);
    anygp_status status = ANYGP_OK;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        anygp_error why = {0};
        double *room = mem_alloc(size + p->Mt, sizeof *room);
        anygp_status mine = room ? ANYGP_OK : fail_memory(&why, "prediction", 8.0 * (double)size);
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t l = 0; l < leaders; l++) {
            if (ANYGP_FAILED(mine) || is_long(r, first[l], threads)) continue;
            conditional c = conditional_place(p, k, room);
            mine = predict_led(p, r, first[l], &c, room + size, &why);
        }
#pragma omp for schedule(dynamic, 16)
        for (int64_t at = 0; at < r->n; at++) {
            int64_t i = r->visit ? r->visit[at] : at;
            if (ANYGP_FAILED(mine) || !is_alone(r, i)) continue;
            conditional c = conditional_place(p, k, room);
            mine = predict_row(p, r, i, &c, room + size, &why);
        }
#pragma omp critical
        if (ANYGP_FAILED(mine)) status = fail_with(e, mine, "%s", why.text);
        free(room);
    }
    return status;
}

static anygp_status predict_rows(const vecchia_posterior *p, const piece *r, anygp_error *e)
{
    int64_t k = vecchia_most(p), leaders = 0;
    int threads = threads_for((double)r->n * (double)k * (double)k * (double)k);
    int32_t *first = r->leader ? mem_alloc(r->n, sizeof *first) : NULL;
    if (r->leader && !first) return fail_memory(e, "prediction", 4.0 * (double)r->n);
    if (r->leader) leaders = chain_rows(r, first);
    la_serial_begin(threads);
    anygp_status status = predict_apart(p, r, leaders, first, threads, e);
    if (!ANYGP_FAILED(status)) status = predict_long(p, r, leaders, first, threads, e);
    la_serial_end(threads);
    free(first);
    return status;
}

/* With inducing inputs: all that is a product of matrices is made for the whole piece. */
static anygp_status predict_with_inducing(const vecchia_posterior *p, piece *r, anygp_error *e)
{
    int64_t q = p->Mt, M = p->u.M;
    TRY(vecchia_make_features(p, r->n, vecchia_most(p), r->rows, r->count, e));
    if (!p->u.ops->features(&p->u, r->n, r->X, r->ldx, r->f, M)) return fail_memory(e, "kernel tiles", 0);
    TRY(predict_rows(p, r, e));
    if (!r->variance) return ANYGP_OK;
    la_trsm(LA_LEFT, LA_N, q, r->n, 1, p->B, q, r->t, q);
    for (int64_t i = 0; i < r->n; i++) r->variance[i] += la_dot(q, r->t + i * q, r->t + i * q);
    return ANYGP_OK;
}

/* A path through a piece of rows, so that each finds the features of its neighbours in the cache; false: with many inputs that is not worth it. */
static bool find_path(const vecchia_posterior *p, int64_t n, const double *places, int64_t *path)
{
    enum { FEW = 16 };
    return p->d <= FEW && !ANYGP_FAILED(order_path(n, p->d, places, path, NULL));
}

/* With inducing inputs. */
static anygp_status predict_pieces(const vecchia_posterior *p, const piece *all, const double *places, anygp_error *e)
{
    enum { PIECE = 1024 };
    int64_t k = vecchia_most(p), M = p->u.M, most = all->n < PIECE ? all->n : PIECE, path[PIECE];
    double *room = mem_doubles(most, M + p->Mt);
    anygp_status status = room ? ANYGP_OK : fail_memory(e, "prediction", 16.0 * (double)most * (double)p->Mt);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < all->n; i += most) {
        piece r = *all;
        r.n = all->n - i < most ? all->n - i : most;
        r.X += i * r.ldx, r.rows += i * k, r.count += i, r.mean += i, r.f = room, r.t = room + most * M;
        if (r.variance) r.variance += i;
        if (find_path(p, r.n, places + i * p->d, path)) r.visit = path;
        status = predict_with_inducing(p, &r, e);
    }
    free(room);
    return status;
}

anygp_status vecchia_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                              double *mean, double *variance, anygp_error *e)
{
    const vecchia_posterior *p = of(base);
    int32_t *count = (int32_t *)work, *leader = count + n, *next = leader + n, *rows = next + n;
    double *places = NULL;
    piece all = {.n = n, .X = X, .ldx = ldx, .rows = rows, .count = count, .mean = mean, .variance = variance};
    if (!p->u.M) all.leader = leader, all.next = next;
    TRY(vecchia_around(p, n, X, ldx, vecchia_most(p), rows, count, all.leader, p->u.M ? &places : NULL, e));
    anygp_status status = p->u.M ? predict_pieces(p, &all, places, e) : predict_rows(p, &all, e);
    free(places);
    return status;
}
