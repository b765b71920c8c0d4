/* Statistics of the sparse priors; notation and equations in sparse.h, the heads in sparse_heads.c, the reverse in
   sparse_reverse.c. */
#include "model/sparse/sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

anygp_status sparse_init(sparse *s, sparse_kept kept, const basis *mean, const hyper *h, double total, anygp_error *e)
{
    int64_t M = h->M * h->kind->each, Mt = M + mean->p;
    *s = (sparse){.kept = kept,
                  .mean = mean,
                  .M = M,
                  .p = mean->p,
                  .D = h->D,
                  .Mt = Mt,
                  .total = total,
                  .prior = 1,
                  .power = 1,
                  .targets = 1};
    double **const square[] = {&s->B, &s->V, &s->E, &s->work};
    TRY(inducing_open(&s->u, h->kind, h->M, h->D, e));
    s->diag = mem_alloc(Mt, sizeof(double));
    s->m = mem_alloc(Mt, sizeof(double));
    bool ok = s->diag && s->m;
    for (size_t i = 0; i < sizeof square / sizeof *square; i++) ok &= (*square[i] = mem_doubles(Mt, Mt)) != NULL;
    if (ok) return ANYGP_OK;
    sparse_clear(s);
    return fail_memory(e, "the matrices of the inducing inputs", 40.0 * (double)Mt * (double)Mt);
}

void sparse_clear(sparse *s)
{
    double *const owned[] = {s->diag, s->B, s->V, s->m, s->E, s->work, s->J};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(s->set);
    inducing_clear(&s->u);
    sparse_share_clear(s);
    sparse_f32_close(s);
    *s = (sparse){0};
}

/* ------------------------------------------------------------------------------------- prepare */

bool sparse_prepare(sparse *s, const hyper *h, bool grow, double *jitter)
{
    s->h = h;
    s->noise = h->like[0] + kernel_white(h->kernel);
    if (s->targets > 1 && !sparse_share_prepare(s, h)) return false;
    if (!(s->noise > 0) || !inducing_prepare(&s->u, h->kernel, hyper_set_of(h), grow, jitter)) return false;
    if (sparse_in_float(s)) sparse_f32_prepare(s);
    return true;
}

static anygp_status features(const sparse *s, const row_block *b, double *A, anygp_error *e)
{
    return basis_features(&s->u, s->mean, b->n, b->X, s->D, A, A + s->M, e);
}

/* ---------------------------------------------------------------------------------- diagonal G */

/* g = noise, or alpha d + noise with d = k - |a|^2 */
static void diagonal_of_G(const sparse *s, const row_block *b, const rows_parts *r)
{
    bool kept = s->kept != KEPT_NOTHING;
    for (int64_t j = 0; j < b->n; j++) r->g[j] = kept ? s->power * r->d[j] + s->noise : s->noise;
}

/* A, and d where it is kept. */
static anygp_status rows_features(const sparse *s, const row_block *b, const rows_parts *r, anygp_error *e)
{
    if (sparse_in_float(s)) return rows_features_f32(s, b, r, e);
    TRY(features(s, b, r->A, e));
    if (s->kept != KEPT_NOTHING) inducing_residual(&s->u, b->n, b->X, s->D, r->A, s->Mt, r->d);
    return ANYGP_OK;
}

/* A row's share of l besides log g. */
static double rest_of(const sparse *s, double d)
{
    double x = d / s->noise;
    return s->power > 0 ? (1 - s->power) / s->power * log1p(s->power * x) : x;
}

anygp_status rows_forward(const sparse *s, const row_block *b, rows_parts *r, anygp_error *e)
{
    TRY(rows_features(s, b, r, e));
    diagonal_of_G(s, b, r);
    for (int64_t j = 0; j < b->n; j++) {
        double root = sqrt(b->w[j] / r->g[j]);
        if (sparse_in_float(s))
            rows_scale_f32(s, r, j, root);
        else
            la_scale(s->Mt, root, r->A + j * s->Mt);
        for (int64_t t = 0; t < s->targets; t++) r->y[j + t * b->n] = root * b->y[j * s->targets + t];
    }
    return ANYGP_OK;
}

static anygp_status no_number(const row_block *b, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "the likelihood of block %lld of the rows is not a number",
                     (long long)b->index);
}

/* S and b. */
static void rows_sums(const sparse *s, const row_block *b, const rows_parts *r, double *stat)
{
    la_syrk(LA_N, s->Mt, b->n, 1, r->A, s->Mt, 1, stat_S(s, stat), s->Mt);
    for (int64_t t = 0; t < s->targets; t++)
        la_gemv(LA_N, s->Mt, b->n, 1, r->A, s->Mt, r->y + t * b->n, 1, stat_b(s, stat) + t * s->Mt);
}

static anygp_status rows_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                              anygp_error *e)
{
    const sparse *s = shared;
    rows_parts r = rows_place(s, b->n, keep ? keep : work);
    double l = 0;
    TRY(rows_forward(s, b, &r, e));
    for (int64_t j = 0; j < b->n; j++) l += b->w[j] * log(r.g[j]);
    for (int64_t j = 0; has_rest(s) && j < b->n; j++) l += b->w[j] * rest_of(s, r.d[j]);
    if (!isfinite(l)) return no_number(b, e);
    *stat_l(s, stat) += l;
    for (int64_t t = 0; t < s->targets; t++) stat_q(s, stat)[t] += la_dot(b->n, r.y + t * b->n, r.y + t * b->n);
    if (sparse_in_float(s))
        rows_sums_f32(s, b, &r, work + rows_keep(s, b->n), stat);
    else
        rows_sums(s, b, &r, stat);
    return ANYGP_OK;
}

/* Triangular solve and product. */
static double rows_multiplications(const void *shared, int64_t n)
{
    const sparse *s = shared;
    return (double)n * (double)s->Mt * (double)(s->Mt + s->targets);
}

/* ------------------------------------------------------------------------------------- whole G */

anygp_status whole_covariance(const sparse *s, const row_block *b, double *G, anygp_error *e)
{
    int64_t n = b->n;
    double white = kernel_white(s->h->kernel);
    if (!kernel_gram_sym(s->h->kernel, n, b->X, s->D, G, n)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < n; j++) G[j + j * n] += s->noise / b->w[j] - white;
    return ANYGP_OK;
}

anygp_status whole_factor(const row_block *b, double *G, anygp_error *e)
{
    if (la_factor(b->n, G, b->n)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of block %lld of the rows is not positive definite",
                     (long long)b->index);
}

anygp_status whole_forward(const sparse *s, const row_block *b, whole_parts *w, anygp_error *e)
{
    TRY(features(s, b, w->A, e));
    TRY(whole_covariance(s, b, w->G, e));
    la_syrk(LA_T, b->n, s->M, -1, w->A, s->Mt, 1, w->G, b->n);
    TRY(whole_factor(b, w->G, e));
    la_trsm(LA_RIGHT, LA_T, s->Mt, b->n, 1, w->G, b->n, w->A, s->Mt);
    memcpy(w->y, b->y, (size_t)b->n * sizeof(double));
    la_trsv(LA_N, b->n, w->G, b->n, w->y);
    return ANYGP_OK;
}

static anygp_status whole_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                               anygp_error *e)
{
    const sparse *s = shared;
    whole_parts w = whole_place(s, b->n, keep ? keep : work);
    double *room = work + whole_keep(s, b->n);
    if (sparse_in_float(s)) {
        TRY(whole_forward_f32(s, b, &w, room, e));
        whole_sums_f32(s, b, &w, room, stat);
    } else {
        TRY(whole_forward(s, b, &w, e));
        la_syrk(LA_N, s->Mt, b->n, 1, w.A, s->Mt, 1, stat_S(s, stat), s->Mt);
        la_gemv(LA_N, s->Mt, b->n, 1, w.A, s->Mt, w.y, 1, stat_b(s, stat));
    }
    double l = la_logdet(b->n, w.G, b->n);
    for (int64_t j = 0; j < b->n; j++)
        if (b->w[j] != 1) l += (b->w[j] - 1) * log(s->noise) + log(b->w[j]);
    *stat_l(s, stat) += l;
    *stat_q(s, stat) += la_dot(b->n, w.y, w.y);
    return isfinite(l) ? ANYGP_OK : no_number(b, e);
}

/* The same, A'A, A L_G^-T and G's factor. */
static double whole_multiplications(const void *shared, int64_t rows)
{
    const sparse *s = shared;
    double n = (double)rows, Mt = (double)s->Mt;
    return n * Mt * (Mt + 1) + n * n * Mt + n * n * n / 6;
}

/* ------------------------------------------------------------------------------------ the tables */

int64_t sparse_stat_size(const void *shared)
{
    const sparse *s = shared;
    return s->Mt * s->Mt + s->Mt * s->targets + 1 + s->targets;
}

const block_model sparse_rows = {.rows_alone = true,
                                 .stat_size = sparse_stat_size,
                                 .adjoint_size = sparse_adjoint_size,
                                 .work_doubles = rows_work,
                                 .keep_doubles = rows_keep,
                                 .work = rows_multiplications,
                                 .stat = rows_stat,
                                 .reverse = rows_reverse};

const block_model sparse_whole = {.rows_alone = false,
                                  .stat_size = sparse_stat_size,
                                  .adjoint_size = sparse_adjoint_size,
                                  .work_doubles = whole_work,
                                  .keep_doubles = whole_keep,
                                  .work = whole_multiplications,
                                  .stat = whole_stat,
                                  .reverse = whole_reverse};

void sparse_root(const sparse *s, double *L)
{
    memset(L, 0, (size_t)(s->Mt * s->Mt) * sizeof *L);
    for (int64_t j = 0; j < s->Mt; j++) L[j + j * s->Mt] = 1;
    for (int64_t j = 0; s->u.L && j < s->M; j++) memcpy(L + j * s->Mt, s->u.L + j * s->M, (size_t)s->M * sizeof *L);
}
