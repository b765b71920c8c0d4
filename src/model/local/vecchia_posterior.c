/* Vecchia's approximation: predictions (vecchia.h).

   With N the training rows nearest to x, and after them, for joint predictions, earlier rows to predict: G = (K + noise over weights for training
   rows, K for the others), G = L L' over (N, x), Z = L^-1 [y, A'] with A = sqrt(B) h.  Given v ~ N(m, V), the mean's coefficients, and the
   values f of the earlier ones,
       E f(x) = sum_j L_xj z_j + t'v,   t = a_x - sum_j L_xj a~_j,   var f(x) = L_xx^2
   Jointly each row to predict is also conditioned on the nearest of those before it, in maximin order (vecchia_joint.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/order.h"
#include "linalg/linalg.h"
#include "model/inducing_arrays.h"
#include "model/local/vecchia_posterior.h"

static const double LEAST = 1e-12; /* of the prior variance: what the neighbours leave of it at least */

static const vecchia_posterior *of(const posterior *base) { return (const vecchia_posterior *)base; }

void vecchia_free(posterior *base)
{
    vecchia_posterior *p = (vecchia_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    near_search_clear(&p->search);
    inducing_clear(&p->u);
    feature_store_free(p->features);
    double *const owned[] = {p->X, p->y, p->w, p->facts, p->m, p->B, p->places};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

int64_t vecchia_near(const vecchia_posterior *p)
{
    int64_t k = (int64_t)p->facts[FACT_PREDICT];
    return k < p->base.n ? k : p->base.n;
}

bool vecchia_looks_around(const vecchia_posterior *p)
{
    return p->base.ops->joint && p->base.n >= VECCHIA_GAP_ROWS && near_search_spreads(&p->search, vecchia_near(p));
}

int64_t vecchia_most(const vecchia_posterior *p)
{
    int64_t k = vecchia_near(p);
    if (!vecchia_looks_around(p)) return k;
    return NEAR_GAP * k < p->base.n ? NEAR_GAP * k : p->base.n;
}

int64_t vecchia_learned_near(const vecchia_posterior *p) { return (int64_t)p->facts[FACT_LEARNED]; }

double vecchia_noise(const vecchia_posterior *p)
{
    return p->base.noise + kernel_white(p->base.kernel) + p->facts[FACT_JITTER];
}

/* --------------------------------------------------------------------------------- one conditional */

int64_t conditional_doubles(const vecchia_posterior *p, int64_t most)
{
    return (most + 1) * (p->base.D + 4 + p->Mt + most + 1) + p->Mt;
}

conditional conditional_place(const vecchia_posterior *p, int64_t most, double *at)
{
    conditional c = {.X = at};
    c.noise = c.X + (most + 1) * p->base.D;
    c.y = c.noise + most + 1;
    c.row = c.y + most + 1;
    c.b = c.row + most + 1;
    c.A = c.b + most + 1;
    c.F = c.A + (most + 1) * p->base.mean.p;
    c.G = c.F + (most + 1) * p->u.M;
    c.t = c.G + (most + 1) * (most + 1);
    return c;
}

void conditional_begin(const vecchia_posterior *p, int64_t count, const int32_t *rows, conditional *c)
{
    int64_t D = p->base.D;
    double noise = vecchia_noise(p);
    for (int64_t j = 0; j < count; j++) {
        memcpy(c->X + j * D, p->X + rows[j] * D, (size_t)D * sizeof(double));
        c->y[j] = p->y[rows[j]], c->noise[j] = noise / p->w[rows[j]];
    }
    c->n = c->count = count, c->rows = rows;
}

/* Takes Q = F'F off G, over all rows. */
static anygp_status take_off_inducing(const vecchia_posterior *p, conditional *c, anygp_error *e)
{
    int64_t n = c->n + 1, M = p->u.M, D = p->base.D, from = p->features ? c->count : 0, end = c->own ? n - 1 : n;
    for (int64_t j = 0; j < from; j++)
        memcpy(c->F + j * M, vecchia_features_of(p, c->rows[j]), (size_t)M * sizeof *c->F);
    if (c->own) memcpy(c->F + end * M, c->own, (size_t)M * sizeof *c->F);
    if (end > from && !p->u.ops->features(&p->u, end - from, c->X + from * D, D, c->F + from * M, M))
        return fail_memory(e, "kernel tiles", 0);
    la_syrk(LA_T, n, M, -1, c->F, M, 1, c->G, n);
    return ANYGP_OK;
}

/* t = f_x - F_N b'. */
static void project_inducing(const vecchia_posterior *p, conditional *c)
{
    int64_t k = c->n, M = p->u.M;
    memcpy(c->b, c->row, (size_t)k * sizeof *c->b);
    la_trsv(LA_T, k, c->G, k + 1, c->b);
    memcpy(c->t, c->F + k * M, (size_t)M * sizeof *c->t);
    la_gemv(LA_N, M, k, -1, c->F, M, c->b, 1, c->t);
}

static anygp_status no_factor(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of neighbouring rows has no Cholesky factor");
}

anygp_status conditional_find(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1, D = b->D;
    double white = kernel_white(b->kernel);
    memcpy(c->X + k * D, x, (size_t)D * sizeof *x);
    if (!kernel_gram_sym(b->kernel, n, c->X, D, c->G, n)) return fail_memory(e, "kernel tiles", 0);
    double prior = c->G[n * n - 1] - white;
    if (p->u.M) TRY(take_off_inducing(p, c, e));
    double left = c->G[n * n - 1] - white;
    for (int64_t j = 0; j < k; j++) c->G[j + j * n] += c->noise[j] - white, c->row[j] = c->G[k + j * n];
    if (!la_factor(k, c->G, n)) return no_factor(e);
    la_trsv(LA_N, k, c->G, n, c->row);
    la_trsv(LA_N, k, c->G, n, c->y);
    if (p->u.M) project_inducing(p, c);
    basis_fill(&b->mean, n, c->X, D, c->A, 1, n);
    for (int64_t j = 0; j < b->mean.p; j++) {
        double *a = c->A + j * n;
        la_scale(n, sqrt(b->mean.B), a);
        la_trsv(LA_N, k, c->G, n, a);
        c->t[p->u.M + j] = a[k] - la_dot(k, c->row, a);
    }
    c->mean = la_dot(k, c->row, c->y);
    c->variance = fmax(left - la_dot(k, c->row, c->row), LEAST * prior);
    return ANYGP_OK;
}

/* The same for many x with one list: L in G, L^-1 y in y and L^-1 A' in A are those of the list alone. */
static anygp_status conditional_of_list(const vecchia_posterior *p, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1;
    double white = kernel_white(b->kernel);
    if (!kernel_gram_sym(b->kernel, k, c->X, b->D, c->G, n)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < k; j++) c->G[j + j * n] += c->noise[j] - white;
    if (!la_factor(k, c->G, n)) return no_factor(e);
    la_trsv(LA_N, k, c->G, n, c->y);
    basis_fill(&b->mean, k, c->X, b->D, c->A, 1, n);
    for (int64_t j = 0; j < b->mean.p; j++) {
        la_scale(k, sqrt(b->mean.B), c->A + j * n);
        la_trsv(LA_N, k, c->G, n, c->A + j * n);
    }
    return ANYGP_OK;
}

static anygp_status conditional_at(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1, D = b->D;
    double prior;
    if (!kernel_gram(b->kernel, k, c->X, D, 1, x, D, c->row, n)) return fail_memory(e, "kernel tiles", 0);
    kernel_diag(b->kernel, 1, x, D, &prior);
    la_trsv(LA_N, k, c->G, n, c->row);
    basis_fill(&b->mean, 1, x, D, c->A + k, 1, n);
    for (int64_t j = 0; j < b->mean.p; j++)
        c->t[j] = sqrt(b->mean.B) * c->A[k + j * n] - la_dot(k, c->row, c->A + j * n);
    c->mean = la_dot(k, c->row, c->y);
    c->variance = fmax(prior - la_dot(k, c->row, c->row), LEAST * prior);
    return ANYGP_OK;
}

void conditional_add_mean(const vecchia_posterior *p, const conditional *c, double *room, double *mean,
                          double *variance)
{
    int64_t q = p->Mt;
    *mean = c->mean + la_dot(q, c->t, p->m);
    if (!variance) return;
    memcpy(room, c->t, (size_t)q * sizeof *room);
    la_trsv(LA_N, q, p->B, q, room);
    *variance = c->variance + la_dot(q, room, room);
}

/* --------------------------------------------------------------------------------------- marginals */

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

static anygp_status predict_one(const vecchia_posterior *p, const piece *r, int64_t i, conditional *c, double *room,
                                anygp_error *e)
{
    if (!r->leader || r->leader[i] < 0) return predict_row(p, r, i, c, room, e);
    return r->leader[i] == i ? predict_led(p, r, i, c, room, e) : ANYGP_OK;
}

/* Chains from each leader through the rows that it leads. */
static void chain_rows(const piece *r)
{
    for (int64_t i = r->n - 1; i >= 0; i--) r->next[i] = -1;
    for (int64_t i = r->n - 1; i >= 0; i--) {
        int32_t leads = r->leader[i];
        if (leads >= 0 && leads != i) r->next[i] = r->next[leads], r->next[leads] = (int32_t)i;
    }
}

static anygp_status predict_rows(const vecchia_posterior *p, const piece *r, anygp_error *e)
{
    int64_t k = vecchia_most(p), size = conditional_doubles(p, k);
    int threads = threads_for((double)r->n * (double)k * (double)k * (double)k);
    anygp_status status = ANYGP_OK;
    if (r->leader) chain_rows(r);
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        anygp_error why = {0};
        double *room = mem_alloc(size + p->Mt, sizeof *room);
        anygp_status mine = room ? ANYGP_OK : fail_memory(&why, "prediction", 8.0 * (double)size);
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < r->n; i++) {
            if (ANYGP_FAILED(mine)) continue;
            conditional c = conditional_place(p, k, room);
            mine = predict_one(p, r, r->visit ? r->visit[i] : i, &c, room + size, &why);
        }
#pragma omp critical
        if (ANYGP_FAILED(mine)) status = fail_with(e, mine, "%s", why.text);
        free(room);
    }
    la_serial_end(threads);
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

/* ------------------------------------------------------------------------------------------- file */

void vecchia_arrays(posterior *base, array_list *list)
{
    vecchia_posterior *p = (vecchia_posterior *)base;
    int64_t q = p->Mt;
    array_list_add(list, (named_array){"X", base->D, base->n, p->X, false});
    array_list_add(list, (named_array){"y", base->n, 1, p->y, false});
    array_list_add(list, (named_array){"w", base->n, 1, p->w, false});
    array_list_add(list, (named_array){"facts", FACTS, 1, p->facts, false});
    if (q) array_list_add(list, (named_array){"m", q, 1, p->m, false});
    if (q) array_list_add(list, (named_array){"B", q, q, p->B, true});
    if (p->u.M) inducing_arrays(&p->u, INDUCING_FIRST, list);
}

static const posterior_ops vecchia_posterior_ops = {.work_doubles = vecchia_work,
                                                    .marginal = vecchia_marginal,
                                                    .joint = vecchia_joint,
                                                    .arrays = vecchia_arrays,
                                                    .free = vecchia_free};
static const posterior_ops vecchia_marginal_ops = {
    .work_doubles = vecchia_work, .marginal = vecchia_marginal, .arrays = vecchia_arrays, .free = vecchia_free};

/* From arrays that are its own to the search. */
static anygp_status prepare(vecchia_posterior *p, anygp_error *e)
{
    posterior *b = &p->base;
    p->places = vecchia_places(b->kernel, b->n, b->D, p->X, &p->d);
    if (!p->places) return fail_memory(e, "the places of the rows", 8.0 * (double)b->n * (double)b->D);
    if (p->u.M) TRY(feature_store_new(&p->u, b->n, &p->features, e));
    near_metric by = vecchia_metric(b->kernel, b->n);
    return near_search_open(b->n, p->d, p->places, &by, &p->search, e);
}

const posterior_form vecchia_form = {&vecchia_posterior_ops, sizeof(vecchia_posterior)},
                     vecchia_marginal_form = {&vecchia_marginal_ops, sizeof(vecchia_posterior)};

anygp_status vecchia_posterior_new(const posterior_form *form, const kernel *k, double noise, const basis *mean,
                                   const vecchia_rows *rows, const double *m, const double *B, posterior **out,
                                   anygp_error *e)
{
    int64_t q = mean->p + (rows->u ? rows->u->M : 0);
    vecchia_posterior *p = calloc(1, form->size);
    if (!p) return fail_memory(e, "the posterior", (double)form->size);
    p->base = (posterior){
        .ops = form->ops, .noise = noise, .D = rows->D, .n = rows->n, .places = rows->u ? rows->u->set.M : 0};
    p->Mt = q;
    p->base.kernel = kernel_copy(k);
    p->X = mem_copied(rows->D, rows->n, rows->X);
    p->y = mem_copied(rows->n, 1, rows->y), p->w = mem_copied(rows->n, 1, rows->w);
    const double facts[FACTS] = {
        [FACT_PREDICT] = (double)rows->near, [FACT_JITTER] = rows->jitter, [FACT_LEARNED] = (double)rows->learned};
    p->facts = mem_copied(FACTS, 1, facts);
    p->m = mem_copied(q, 1, m), p->B = mem_copied(q, q, B);
    bool ok = p->base.kernel && p->X && p->y && p->w && p->facts && p->m && p->B;
    anygp_status status =
        ok ? basis_copy(mean, &p->base.mean, e) : fail_memory(e, "the posterior", 8.0 * (double)rows->n);
    if (!ANYGP_FAILED(status) && rows->u) status = inducing_copy(rows->u, p->base.kernel, &p->u, e);
    if (!ANYGP_FAILED(status)) status = prepare(p, e);
    if (ANYGP_FAILED(status))
        vecchia_free(&p->base);
    else
        *out = &p->base;
    return status;
}

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's rows do not fit together; it is damaged");
}

static bool is_count(double x) { return x >= 1 && x <= 1e9 && x == floor(x); }

anygp_status vecchia_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                          int64_t count, posterior **out, anygp_error *e)
{
    return vecchia_load_as(self->needs.joint ? &vecchia_form : &vecchia_marginal_form, k, noise, mean, D, list, count,
                           out, e);
}

/* Where the file has inducing inputs: into u, which the caller clears. */
static anygp_status take_inducing(kernel *k, int64_t D, named_array *list, int64_t count, inducing_set *u,
                                  anygp_error *e)
{
    inducing_found found;
    if (!named_array_find(list, count, "Z")) return ANYGP_OK;
    TRY(inducing_find_arrays(list, count, INDUCING_FIRST, k, D, &found, e));
    TRY(inducing_empty(u, found.kind, k, D, e));
    inducing_take_arrays(&found, u);
    return u->M > 0 ? ANYGP_OK : damaged(e);
}

/* m[q] and B[q,q]; q = 0: none. */
static anygp_status find_coefficients(named_array *list, int64_t count, int64_t q, const double **m, const double **B,
                                      anygp_error *e)
{
    if (q == 0) return ANYGP_OK;
    named_array *a = named_array_need(list, count, "m", e), *b = a ? named_array_need(list, count, "B", e) : NULL;
    if (!b) return ANYGP_ERR_FILE;
    TRY(named_array_check(a, q, 1, e));
    TRY(named_array_check(b, q, q, e));
    *m = a->values, *B = b->values;
    return is_factor(q, *B) ? ANYGP_OK : damaged(e);
}

anygp_status vecchia_load_as(const posterior_form *form, kernel *k, double noise, basis *mean, int64_t D,
                             named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "y", "w", "facts"};
    enum { ALL = 4, FACTS_BEFORE = 2 }; /* the last: files of earlier versions, which knew no updates */
    named_array *a[ALL] = {0};
    for (int i = 0; i < ALL; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[0]->cols;
    TRY(named_array_check(a[0], D, n, e));
    TRY(named_array_check(a[1], n, 1, e));
    TRY(named_array_check(a[2], n, 1, e));
    int64_t known = a[3]->rows == FACTS_BEFORE ? FACTS_BEFORE : FACTS;
    TRY(named_array_check(a[3], known, 1, e));
    const double *facts = a[3]->values;
    double near = facts[FACT_PREDICT], jitter = facts[FACT_JITTER];
    double learned = known == FACTS ? facts[FACT_LEARNED] : VECCHIA_NEAR;
    if (n < 1 || !is_count(near) || !is_count(learned) || !(jitter >= 0 && isfinite(jitter))) return damaged(e);
    for (int64_t i = 0; i < n; i++)
        if (!(a[2]->values[i] > 0)) return damaged(e);
    vecchia_rows rows = {n, D, a[0]->values, a[1]->values, a[2]->values, (int64_t)near, (int64_t)learned, jitter, NULL};
    const double *m = facts, *B = facts;
    inducing_set u = {0};
    anygp_status status = take_inducing(k, D, list, count, &u, e);
    if (u.M) rows.u = &u;
    if (!ANYGP_FAILED(status)) status = find_coefficients(list, count, u.M + mean->p, &m, &B, e);
    if (!ANYGP_FAILED(status)) status = vecchia_posterior_new(form, k, noise, mean, &rows, m, B, out, e);
    inducing_clear(&u);
    if (ANYGP_FAILED(status)) return status;
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}
