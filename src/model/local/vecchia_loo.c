/* Leave-one-out predictions of Vecchia's approximation: each row from its nearest rows without itself, wherever they are in the order.

   Given the mean's coefficients v, y_j is N(mu + t'v, s) with s the variance of f and the noise (vecchia_posterior.c).  The coefficients
   have seen y_j: p(v | y_-j) is p(v | y) = N(m, V) without that factor, so with a = t'V t and e = y_j - mu - t'm
       y_j - E[y_j | y_-j] = e s / (s - a),      var f_j gets a s / (s - a) for v
   Given all other rows this is the exact model's leave-one-out.  Of merged rows the others stay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/local/vecchia_posterior.h"

enum { ROWS = 64 };                   /* between two looks at the clock, times threads */
static const double MOST_KNOWN = 0.9; /* a / s at most: it may come from more rows than s does */

/* The rows to leave out, and the merged row that each is part of. */
typedef struct left_out {
    const vecchia_posterior *p;
    const merged *m;
    int64_t n, k;     /* k: rows of a list */
    int64_t *row;     /* n: of the data, in random order */
    double *X;        /* n x D */
    int32_t *near;    /* n x k: nearest to it, itself among them */
    int32_t *count;   /* n */
    double *variance; /* n: below 0 where there is none */
    double *mean;     /* n */
} left_out;

static void left_out_clear(left_out *l)
{
    free(l->row);
    free(l->X);
    free(l->near);
    free(l->count);
    free(l->variance);
    free(l->mean);
}

/* As many rows of the data as the problem says at most. */
static anygp_status choose(const problem *q, left_out *l, anygp_error *e)
{
    const merged *m = l->m;
    int64_t all = m->data->n, D = m->D;
    int64_t most = q->leave_out > 0 ? q->leave_out : LOO_MOST;
    l->n = all < most ? all : most;
    l->row = mem_alloc(l->n, sizeof *l->row);
    l->X = mem_doubles(l->n, D);
    l->near = mem_alloc(l->n, (size_t)l->k * sizeof *l->near), l->count = mem_alloc(l->n, sizeof *l->count);
    l->variance = mem_alloc(l->n, sizeof(double)), l->mean = mem_alloc(l->n, sizeof(double));
    if (!l->row || !l->X || !l->near || !l->count || !l->variance || !l->mean)
        return fail_memory(e, "leave-one-out", 8.0 * (double)l->n * (double)(D + l->k));
    for (int64_t i = 0; i < l->n; i++) {
        l->row[i] = random_shuffled((random_stream){q->seed, RANDOM_LEFT_OUT, 0}, all, i);
        memcpy(l->X + i * D, m->X + m->group[l->row[i]] * D, (size_t)D * sizeof(double));
    }
    return ANYGP_OK;
}

/* The list of row i without itself, and what the others that it was merged with leave of it. */
static void condition(const left_out *l, int64_t i, double weight, conditional *c)
{
    const vecchia_posterior *p = l->p;
    int32_t own = (int32_t)l->m->group[l->row[i]], *near = l->near + i * l->k;
    int64_t n = 0, D = p->base.D;
    for (int64_t j = 0; j < l->count[i]; j++)
        if (near[j] != own) near[n++] = near[j];
    if (n == l->k) n--; /* it was not among them: so many are at its place */
    conditional_begin(p, n, near, c);
    double rest = p->w[own] - weight;
    if (!(rest > 0)) return;
    memcpy(c->X + n * D, p->X + own * D, (size_t)D * sizeof(double));
    c->y[n] = p->y[own] - weight / rest * (l->m->data->y[l->row[i]] - p->y[own]);
    c->noise[n] = vecchia_noise(p) / rest, c->n++;
}

/* False: its neighbours have no factor. */
static bool leave_out(const left_out *l, int64_t i, conditional *c, double *room)
{
    const vecchia_posterior *p = l->p;
    const posterior *b = &p->base;
    int64_t q = p->Mt, row = l->row[i];
    double y = l->m->data->y[row], weight = fmin(1, l->m->data->w[row]);
    condition(l, i, weight, c);
    if (ANYGP_FAILED(conditional_find(p, l->X + i * b->D, c, NULL))) return false;
    double s = c->variance + vecchia_noise(p) / weight, e = y - c->mean - la_dot(q, c->t, p->m);
    memcpy(room, c->t, (size_t)q * sizeof *room);
    la_trsv(LA_N, q, p->B, q, room);
    double a = fmin(la_dot(q, room, room), MOST_KNOWN * s);
    l->mean[i] = y - e * s / (s - a);
    l->variance[i] = c->variance + a * s / (s - a) + b->noise + kernel_white(b->kernel);
    return true;
}

/* Rows first .. end - 1. */
static anygp_status leave_out_some(const left_out *l, int64_t first, int64_t end, anygp_error *e)
{
    int threads = threads_max();
    int64_t q = l->p->Mt;
    bool ok = true;
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(&& : ok)
    {
        int64_t size = conditional_doubles(l->p, l->k);
        double *room = mem_alloc(size + q, sizeof *room);
        ok = room != NULL;
#pragma omp for schedule(dynamic)
        for (int64_t i = first; i < end; i++) {
            if (!ok) continue;
            conditional c = conditional_place(l->p, l->k, room);
            if (!leave_out(l, i, &c, room + size)) l->variance[i] = -1;
        }
        free(room);
    }
    la_serial_end(threads);
    return ok ? ANYGP_OK : fail_memory(e, "leave-one-out", 8.0 * (double)conditional_doubles(l->p, l->k));
}

anygp_status vecchia_loo_of(const posterior *base, const problem *q, leave_one_out *out, int64_t *rows, anygp_error *e)
{
    const vecchia_posterior *p = (const vecchia_posterior *)base;
    const dataset *data = q->rows->data;
    left_out l = {.p = p, .m = q->rows, .k = vecchia_near(p) < base->n ? vecchia_near(p) + 1 : base->n};
    anygp_status status;
    int64_t piece = ROWS * threads_max(), seen = 0;
    TRY_DONE(choose(q, &l, e));
    TRY_DONE(vecchia_nearest(p, l.n, l.X, base->D, l.k, l.near, l.count, NULL, e));
    TRY_DONE(vecchia_make_features(p, l.n, l.k, l.near, l.count, e));
    while (seen < l.n && (seen == 0 || !deadline_passed(q->pass))) {
        int64_t end = seen + piece < l.n ? seen + piece : l.n;
        TRY_DONE(leave_out_some(&l, seen, end, e));
        seen = end;
    }
    out->n = 0;
    for (int64_t i = 0; i < seen; i++) {
        if (!(l.variance[i] > 0)) continue;
        if (rows) rows[out->n] = l.row[i];
        out->y[out->n] = data->y[l.row[i]], out->weight[out->n] = data->w[l.row[i]];
        if (out->X) memcpy(out->X + out->n * base->D, l.X + i * base->D, (size_t)base->D * sizeof *out->X);
        out->mean[out->n] = l.mean[i], out->variance[out->n++] = l.variance[i];
    }
done:
    left_out_clear(&l);
    return status;
}

anygp_status vecchia_loo(const posterior *base, const problem *q, leave_one_out *out, anygp_error *e)
{
    return vecchia_loo_of(base, q, out, NULL, e);
}

anygp_status vecchia_variances_without(const posterior *base, int64_t n, const int64_t *rows, double *variance,
                                       anygp_error *e)
{
    const vecchia_posterior *p = (const vecchia_posterior *)base;
    int64_t D = base->D, k = vecchia_near(p) < base->n ? vecchia_near(p) + 1 : base->n,
            size = conditional_doubles(p, k);
    int32_t *near = mem_alloc(n, (size_t)k * sizeof *near), *count = mem_alloc(n, sizeof *count);
    double *X = mem_doubles(n, D), *room = mem_alloc(size + p->Mt, sizeof *room), mean;
    anygp_status status = ANYGP_OK;
    if (!near || !count || !X || !room) {
        status = fail_memory(e, "the nearest rows", 8.0 * (double)n * (double)(k + D));
        goto done;
    }
    for (int64_t i = 0; i < n; i++) memcpy(X + i * D, p->X + rows[i] * D, (size_t)D * sizeof *X);
    TRY_DONE(vecchia_nearest(p, n, X, D, k, near, count, NULL, e));
    TRY_DONE(vecchia_make_features(p, n, k, near, count, e));
    for (int64_t i = 0; i < n; i++) {
        int32_t *list = near + i * k;
        int64_t others = 0;
        for (int64_t j = 0; j < count[i]; j++)
            if (list[j] != rows[i]) list[others++] = list[j];
        if (others == k) others--; /* as in condition() */
        conditional c = conditional_place(p, k, room);
        conditional_begin(p, others, list, &c);
        variance[i] = -1;
        if (!ANYGP_FAILED(conditional_find(p, X + i * D, &c, NULL)))
            conditional_add_mean(p, &c, room + size, &mean, &variance[i]);
    }
done:
    free(near);
    free(count);
    free(X);
    free(room);
    return status;
}
