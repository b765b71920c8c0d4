/* The pass over rows of a mixture of experts (moe.h): marginals of all experts, responsibilities, and the statistics of every expert
   with rows weighted by them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/mixture/moe.h"

static const chain *chain_of(const moe_state *s, int64_t k) { return &s->expert[k]->s; }

void moe_stat_place(const moe_state *s, double *at, moe_stat *stat)
{
    stat->value = at;
    stat->rows = at + 1;
    stat->gate = stat->rows + s->K;
    at = stat->gate + gate_stat_size(&s->gate);
    for (int64_t k = 0; k < s->K; k++) stat->expert[k] = at, at += chain_rows.stat_size(chain_of(s, k));
    stat->cross = s->looking ? at : NULL;
}

static int64_t stat_size(const void *shared)
{
    const moe_state *s = shared;
    int64_t size = 1 + s->K + gate_stat_size(&s->gate) + (s->looking ? s->K * s->K : 0);
    for (int64_t k = 0; k < s->K; k++) size += chain_rows.stat_size(chain_of(s, k));
    return size;
}

/* n rows. */
typedef struct pieces {
    double *log_g, *a, *wr; /* n x K: log g; E + log g, later log r; w r */
    double *E;              /* n x K, for those who look; */
    double *residual;       /* n: of the expert that is split */
    double *gate, *expert;  /* workspaces */
} pieces;

static pieces place(const moe_state *s, int64_t n, double *work)
{
    int64_t size = n * s->K;
    pieces p = {
        .log_g = work, .a = work + size, .wr = work + 2 * size, .E = work + 3 * size, .residual = work + 4 * size};
    p.gate = p.residual + n;
    p.expert = p.gate + gate_work(&s->gate, n);
    return p;
}

static int64_t work_doubles(const void *shared, int64_t n)
{
    const moe_state *s = shared;
    int64_t size = 4 * n * s->K + n + gate_work(&s->gate, n);
    for (int64_t k = 0; k < s->K; k++) size += chain_rows.work_doubles(chain_of(s, k), n);
    return size;
}

static int64_t keep_nothing(const void *shared, int64_t n) { return (void)shared, (void)n, 0; }

/* ------------------------------------------------------------------------------------------ E-step */

/* a = E[log N(y; f_k, s_k^2)] for each expert, and residuals of expert `from`; the marginals' workspaces stay. */
static anygp_status forward(const moe_state *s, const row_block *b, int64_t from, const pieces *p, anygp_error *e)
{
    double *work = p->expert;
    for (int64_t k = 0; k < s->K; k++) {
        const double *mu, *var;
        double noise = chain_of(s, k)->like->value[0], *a = p->a + k * b->n;
        TRY(chain_marginals(chain_of(s, k), b, work, &mu, &var, e));
        for (int64_t i = 0; i < b->n; i++) {
            double r = b->y[i] - mu[i];
            a[i] = -0.5 * (LOG_2PI + log(noise) + (r * r + var[i]) / noise);
            if (k == from) p->residual[i] = r;
        }
        work += chain_rows.work_doubles(chain_of(s, k), b->n);
    }
    return ANYGP_OK;
}

static int64_t nearest_centre(const moe_state *s, const double *x, double y)
{
    int64_t best = 0, D = s->D;
    double least = INFINITY;
    for (int64_t k = 0; k < s->K; k++) {
        double sum = 0;
        for (int64_t j = 0; j <= D; j++) {
            double spread = s->frame[2 * j + 1];
            if (spread > 0)
                sum += pow(((j < D ? x[j] : y) - s->frame[2 * j]) / spread - s->centres[k * (D + 1) + j], 2);
        }
        if (sum < least) least = sum, best = k;
    }
    return best;
}

/* The block of the nearest row of the sample, of which MOST are looked at where there are more rows than those. */
static int64_t nearest_block(const moe_state *s, const double *x, double y)
{
    enum { MOST = 4000 };
    const dataset *d = s->problem->rows->data;
    int64_t D = s->D, Q = dataset_numbers(d), stride = d->used > d->n && d->n > MOST ? (d->n + MOST - 1) / MOST : 1;
    int64_t best = 0;
    double least = INFINITY;
    for (int64_t i = 0; i < d->n; i += stride) {
        double sum = 0;
        for (int64_t j = 0; j <= D && sum < least; j++) {
            double spread = s->frame[2 * j + 1], z = j < D ? x[j] - d->X[i * D + j] : y - d->y[i * Q];
            if (spread > 0) sum += z * z / (spread * spread);
        }
        if (sum < least) least = sum, best = i;
    }
    return s->problem->experts.start[best];
}

static int64_t starting_expert(const moe_state *s, const double *x, double y)
{
    if (!s->problem->experts.start) return nearest_centre(s, x, y);
    int64_t block = nearest_block(s, x, y), k = 0;
    while (s->name[k] != block) k++;
    return k;
}

static int64_t largest(const moe_state *s, int64_t n, const double *a)
{
    int64_t best = 0;
    for (int64_t k = 1; k < s->K; k++)
        if (a[k * n] > a[best * n]) best = k;
    return best;
}

/* ------------------------------------------------------------------------------------------ halves */

void moe_features(const moe_state *s, const moe_change *c, const double *x, double residual, double *F)
{
    *F = residual;
    for (int64_t j = 0; j < s->D && !c->by_residual; j++) {
        double spread = s->frame[2 * j + 1];
        F[j] = spread > 0 ? (x[j] - s->frame[2 * j]) / spread : 0;
    }
}

/* Whether the row is in the second half. */
static bool second_half(const moe_state *s, const double *x, double residual)
{
    const moe_change *c = &s->change;
    int64_t wide = c->by_residual ? 1 : s->D;
    double distance[2] = {0, 0};
    for (int64_t j = 0; j < wide; j++) {
        double spread = s->frame[2 * j + 1];
        double f = c->by_residual ? residual : spread > 0 ? (x[j] - s->frame[2 * j]) / spread : 0;
        for (int side = 0; side < 2; side++) distance[side] += pow(f - s->halves[side * wide + j], 2);
    }
    return distance[1] < distance[0];
}

/* Before rows are shared out: the rows of both halves are those of the expert that is split, which has half of its gate. */
static void before_split(const moe_state *s, int64_t n, double *a)
{
    a[s->change.from * n] += log(2);
    a[s->change.to * n] = -INFINITY;
}

static void after_split(const moe_state *s, int64_t n, const double *x, double residual, double *a)
{
    if (!second_half(s, x, residual)) return;
    a[s->change.to * n] = a[s->change.from * n];
    a[s->change.from * n] = -INFINITY;
}

/* Rows of two experts as those of one. */
static void join_rows(const moe_state *s, int64_t n, double *a)
{
    double *into = a + s->change.to * n, *from = a + s->change.from * n, most = fmax(*into, *from);
    if (isfinite(most)) *into = most + log(exp(*into - most) + exp(*from - most));
    *from = -INFINITY;
}

/* ---------------------------------------------------------------------------------- responsibilities */

/* log r in the place of a = E + log g, for one row. */
static void share_out(const moe_state *s, int64_t n, int64_t only, double *a)
{
    double most = a[largest(s, n, a) * n], sum = 0;
    for (int64_t k = 0; k < s->K; k++) sum += exp(a[k * n] - most);
    for (int64_t k = 0; k < s->K; k++) a[k * n] = only < 0 ? a[k * n] - most - log(sum) : k == only ? 0 : -INFINITY;
}

/* wr, and what rows add to the value and to the experts' weights. */
static void responsibilities(const moe_state *s, const row_block *b, const pieces *p, const moe_stat *stat)
{
    int64_t n = b->n, K = s->K;
    bool splits = s->change.kind == MOE_SPLIT;
    if (s->looking) memcpy(p->E, p->a, (size_t)(n * K) * sizeof *p->E);
    for (int64_t k = 0; k < n * K; k++) p->a[k] += p->log_g[k];
    for (int64_t i = 0; i < n; i++) {
        if (splits) before_split(s, n, p->a + i);
        if (s->change.kind == MOE_JOIN) join_rows(s, n, p->a + i);
        int64_t only = s->by_centres  ? starting_expert(s, b->X + i * s->D, b->y[i])
                       : s->kind.hard ? largest(s, n, p->a + i)
                                      : -1;
        share_out(s, n, only, p->a + i);
        if (splits) after_split(s, n, b->X + i * s->D, p->residual[i], p->a + i);
        for (int64_t k = 0; k < K; k++) {
            double wr = b->w[i] * exp(p->a[i + k * n]);
            p->wr[i + k * n] = wr;
            stat->rows[k] += wr;
            if (wr > 0) *stat->value += wr * (p->log_g[i + k * n] - p->a[i + k * n]);
        }
    }
}

/* -------------------------------------------------------------------------------------------- pass */

/* The statistics of expert k, or those of the spare one in its place, of which there are as many. */
static anygp_status add_rows(const moe_state *s, const row_block *b, int64_t k, double *room, double *stat,
                             anygp_error *e)
{
    const double *mu, *var;
    if (s->change.kind != MOE_JOIN || k != s->change.to) return chain_add_rows(chain_of(s, k), b, room, stat, e);
    TRY(chain_marginals(&s->spare->s, b, room, &mu, &var, e));
    return chain_add_rows(&s->spare->s, b, room, stat, e);
}

static anygp_status stat_rows(const void *shared, const row_block *b, double *work, double *keep, double *at,
                              anygp_error *e)
{
    const moe_state *s = shared;
    pieces p = place(s, b->n, work);
    double *room = p.expert;
    moe_stat stat;
    (void)keep;
    moe_stat_place(s, at, &stat);
    TRY(forward(s, b, s->change.kind == MOE_SPLIT ? s->change.from : -1, &p, e));
    gate_logs(&s->gate, b->n, b->X, s->D, p.gate, p.log_g);
    responsibilities(s, b, &p, &stat);
    if (!isfinite(*stat.value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the responsibilities of block %lld of the rows are not numbers",
                         (long long)b->index);
    if (s->looking) la_gemm(LA_T, LA_N, s->K, s->K, b->n, 1, p.wr, b->n, p.E, b->n, 1, stat.cross, s->K);
    gate_add(&s->gate, b->n, b->w, p.wr, p.log_g, p.gate, stat.gate);
    for (int64_t k = 0; k < s->K; k++) {
        row_block mine = *b;
        mine.w = p.wr + k * b->n;
        TRY(add_rows(s, &mine, k, room, stat.expert[k], e));
        room += chain_rows.work_doubles(chain_of(s, k), b->n);
    }
    return ANYGP_OK;
}

anygp_status moe_assign(const moe_state *s, const dataset *d, int64_t from, int64_t *expert, double *residual,
                        anygp_error *e)
{
    enum { PIECE = 256 };
    anygp_status status = ANYGP_OK;
    double *work = mem_alloc(work_doubles(s, PIECE), sizeof *work);
    if (!work) return fail_memory(e, "the rows of experts", 8.0 * (double)work_doubles(s, PIECE));
    for (int64_t at = 0; at < d->n && !ANYGP_FAILED(status); at += PIECE) {
        int64_t n = d->n - at < PIECE ? d->n - at : PIECE;
        pieces p = place(s, n, work);
        row_block b = {.n = n, .X = d->X + at * s->D, .y = d->y + at, .w = d->w + at};
        gate_logs(&s->gate, n, b.X, s->D, p.gate, p.log_g);
        status = forward(s, &b, from, &p, e);
        for (int64_t k = 0; k < n * s->K; k++) p.a[k] += p.log_g[k];
        for (int64_t i = 0; i < n; i++) expert[at + i] = largest(s, n, p.a + i), residual[at + i] = p.residual[i];
    }
    free(work);
    return status;
}

static double multiplications(const void *shared, int64_t n)
{
    const moe_state *s = shared;
    double sum = 0;
    for (int64_t k = 0; k < s->K; k++) sum += chain_rows.work(chain_of(s, k), n);
    return sum;
}

const block_model moe_rows = {.rows_alone = true,
                              .stat_size = stat_size,
                              .work_doubles = work_doubles,
                              .keep_doubles = keep_nothing,
                              .work = multiplications,
                              .stat = stat_rows};
