/* The pass over rows of a variational model: expected log likelihood, natural gradient of q and, where hyperparameters are
   learned, the adjoints, all at once; equations in svgp.h. */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/sparse.h"
#include "model/svgp_orthogonal.h"

static int64_t params_of(const svgp *s) { return s->T * s->like->params; }

/* Squares of all S. */
static int64_t squares(const svgp *s)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < s->K; k++) sum += (s->set[k + 1] - s->set[k]) * (s->set[k + 1] - s->set[k]);
    return s->C * sum;
}

svgp_stat svgp_stat_place(const svgp *s, double *at)
{
    svgp_stat t = {.value = at};
    t.like = t.value + 1;
    t.b = t.like + params_of(s);
    t.o = t.b + s->Mt * s->C;
    t.S = t.o + s->O * s->C;
    if (!s->learn) return t;
    t.kernel = t.S + squares(s);
    t.white = t.kernel + hyper_kernel_params(s->h);
    t.variables = t.white + 1;
    t.E = t.variables + hyper_variables(s->h);
    return t;
}

static int64_t all_size(const void *shared)
{
    const svgp *s = shared;
    int64_t size = 1 + params_of(s) + (s->Mt + s->O) * s->C + squares(s);
    if (!s->learn) return size;
    return size + s->M * s->M + hyper_kernel_params(s->h) + 1 + hyper_variables(s->h);
}

static int64_t stat_size(const void *shared)
{
    const svgp *s = shared;
    return s->value_only ? 1 + params_of(s) : all_size(s) - (s->by_V ? s->M * s->M : 0);
}

/* ------------------------------------------------------------------------------------ workspace */

/* n rows.  U: F^-1 A of each latent, later or at once V A, later A (-2 d)^1/2. */
typedef struct pieces {
    double *A, *U;                 /* Mt x n, U for each latent */
    double *Abar;                  /* M x n */
    double *mu, *var, *dmu, *dvar; /* n x C */
    double *rest;                  /* n: k - |a|^2, later sum_c d_c */
    double *Y;                     /* n x columns of one target */
    double *G;                     /* O x n: K_of */
} pieces;

static pieces place(const svgp *s, int64_t n, double *at)
{
    pieces p = {.A = at};
    p.Abar = p.A + s->Mt * n;
    p.U = p.Abar + s->Mt * n;
    p.mu = p.U + s->Mt * n * s->C;
    p.var = p.mu + n * s->C;
    p.dmu = p.var + n * s->C;
    p.dvar = p.dmu + n * s->C;
    p.rest = p.dvar + n * s->C;
    p.Y = p.rest + n;
    p.G = p.Y + n * s->like->columns;
    return p;
}

static int64_t work_doubles(const void *shared, int64_t n)
{
    const svgp *s = shared;
    return n * (s->Mt * (2 + s->C) + 4 * s->C + 1 + s->like->columns + s->O);
}

static int64_t keep_nothing(const void *shared, int64_t n) { return (void)shared, (void)n, 0; }

/* --------------------------------------------------------------------------------------- forward */

static void residuals(const svgp *s, const row_block *b, const double *A, double *rest)
{
    inducing_residual(&s->u, b->n, b->X, s->D, A + s->p, s->Mt, rest);
    for (int64_t j = 0; j < b->n && !s->gaussian; j++) rest[j] += s->white;
}

/* U = V A, var = rest + a'u.  Its error, about epsilon |V| |a|^2, is no larger than that of `rest`: V <= I unless curvatures are
   negative, as studentt's can be. */
static void variances_by_V(const svgp *s, int64_t n, const pieces *p)
{
    int64_t Mt = s->Mt;
    la_gemm(LA_N, LA_N, Mt, n, Mt, 1, s->q->V, Mt, p->A, Mt, 0, p->U, Mt);
    for (int64_t j = 0; j < n; j++) p->var[j] = p->rest[j] + fmax(la_dot(Mt, p->A + j * Mt, p->U + j * Mt), 0);
}

/* U = F^-1 A by sets, var = rest + |u|^2. */
static void variances(const svgp *s, int64_t c, int64_t n, const pieces *p)
{
    double *U = p->U + c * s->Mt * n, *var = p->var + c * n;
    if (s->by_V && !s->value_only) {
        variances_by_V(s, n, p);
        return;
    }
    memcpy(U, p->A, (size_t)(s->Mt * n) * sizeof *U);
    for (int64_t k = 0; k < s->K; k++) {
        const svgp_q *q = &s->q[c * s->K + k];
        la_trsm_prepared(LA_LEFT, LA_N, q->M, n, q->F, q->M, q->T, U + s->set[k], s->Mt);
    }
    for (int64_t j = 0; j < n; j++) var[j] = p->rest[j] + la_dot(s->Mt, U + j * s->Mt, U + j * s->Mt);
}

static anygp_status no_tiles(anygp_error *e) { return fail_memory(e, "kernel tiles", 0); }

static anygp_status forward(const svgp *s, const row_block *b, const pieces *p, anygp_error *e)
{
    TRY(sparse_features(&s->u, s->mean, b->n, b->X, s->D, p->A + s->p, p->A, e));
    residuals(s, b, p->A, p->rest);
    la_gemm(LA_T, LA_N, b->n, s->C, s->Mt, 1, p->A, s->Mt, s->mean_m, s->Mt, 0, p->mu, b->n);
    if (s->O && !orthogonal_forward(s, b, p->G, p->mu)) return no_tiles(e);
    for (int64_t c = 0; c < s->C; c++) variances(s, c, b->n, p);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ likelihood */

static anygp_status expectations(const svgp *s, const row_block *b, const pieces *p, svgp_stat *stat, anygp_error *e)
{
    int64_t n = b->n, columns = s->like->columns;
    for (int64_t t = 0; t < s->T; t++) {
        const likelihood *l = &s->like[t];
        const double *y = b->y;
        int64_t at = t * s->each * n;
        if (s->T > 1) {
            for (int64_t i = 0; i < n; i++)
                memcpy(p->Y + i * columns, b->y + i * s->Q + t * columns, (size_t)columns * sizeof(double));
            y = p->Y;
        }
        *stat->value +=
            l->ops->expect(l, n, y, b->w, p->mu + at, p->var + at, n, s->random, b->index * s->rows + b->first,
                           p->dmu + at, p->dvar + at, stat->like + t * l->params);
    }
    return isfinite(*stat->value) ? ANYGP_OK
                                  : fail_with(e, ANYGP_ERR_NUMERIC,
                                              "the expected log likelihood of block %lld of the rows is not a number",
                                              (long long)b->index);
}

/* ------------------------------------------------------------------------------------ adjoints */

/* S += -2 A diag(d) A': columns of one sign after those of the other, so that two rank-k updates do it. */
static void curvature(const svgp *s, int64_t c, int64_t n, const pieces *p, double *S)
{
    double *U = p->U + c * s->Mt * n;
    const double *d = p->dvar + c * n;
    int64_t front = 0, back = n;
    for (int64_t j = 0; j < n; j++) {
        double *u = U + (d[j] <= 0 ? front++ : --back) * s->Mt, root = sqrt(2 * fabs(d[j]));
        const double *a = p->A + j * s->Mt;
        for (int64_t i = 0; i < s->Mt; i++) u[i] = root * a[i];
    }
    for (int64_t k = 0; k < s->K; k++) {
        int64_t M = s->set[k + 1] - s->set[k];
        la_syrk(LA_N, M, front, 1, U + s->set[k], s->Mt, 1, S, M);
        if (front < n) la_syrk(LA_N, M, n - front, -1, U + front * s->Mt + s->set[k], s->Mt, 1, S, M);
        S += M * M;
    }
}

/* Abar += 2 V A diag(d) of one latent; U becomes V A. */
static void spread(const svgp *s, int64_t c, int64_t n, const pieces *p)
{
    double *U = p->U + c * s->Mt * n;
    const double *d = p->dvar + c * n;
    for (int64_t k = 0; k < s->K && !s->by_V; k++) {
        const svgp_q *q = &s->q[c * s->K + k];
        la_trsm_prepared(LA_LEFT, LA_T, q->M, n, q->F, q->M, q->T, U + s->set[k], s->Mt);
    }
    for (int64_t j = 0; j < n; j++) la_axpy(s->M, 2 * d[j], U + s->p + j * s->Mt, p->Abar + j * s->M);
}

/* Abar, and from it E, the kernel's parameters and the inducing variables. */
static bool adjoints(const svgp *s, const row_block *b, const pieces *p, svgp_stat *stat)
{
    int64_t n = b->n, M = s->M;
    const double *A = p->A + s->p;
    la_gemm(LA_N, LA_T, M, n, s->C, 1, s->mean_m + s->p, s->Mt, p->dmu, n, 0, p->Abar, M);
    memset(p->rest, 0, (size_t)n * sizeof(double));
    for (int64_t c = 0; c < s->C; c++) {
        spread(s, c, n, p);
        la_axpy(n, 1, p->dvar + c * n, p->rest);
    }
    for (int64_t j = 0; j < n; j++) {
        la_axpy(M, -2 * p->rest[j], A + j * s->Mt, p->Abar + j * M);
        if (!s->gaussian) *stat->white += p->rest[j];
    }
    if (!s->by_V) la_gemm_lower(LA_N, LA_T, M, n, 1, p->Abar, M, A, s->Mt, 1, stat->E, M);
    return s->u.ops->reverse(&s->u, n, b->X, s->D, p->Abar, M, p->rest, svgp_grad(s, stat));
}

static anygp_status stat_rows(const void *shared, const row_block *b, double *work, double *keep, double *at,
                              anygp_error *e)
{
    const svgp *s = shared;
    pieces p = place(s, b->n, work);
    svgp_stat stat = svgp_stat_place(s, at);
    double *S = stat.S;
    (void)keep;
    TRY(forward(s, b, &p, e));
    TRY(expectations(s, b, &p, &stat, e));
    if (s->value_only) return ANYGP_OK;
    la_gemm(LA_N, LA_N, s->Mt, s->C, b->n, 1, p.A, s->Mt, p.dmu, b->n, 1, stat.b, s->Mt);
    if (s->O && !orthogonal_reverse(s, b, p.G, p.dmu, &stat)) return no_tiles(e);
    if (s->learn && !adjoints(s, b, &p, &stat))
        return no_tiles(e); /* which needs U; the curvature then takes its place */
    for (int64_t c = 0; c < s->C; c++) {
        curvature(s, c, b->n, &p, S);
        S += squares(s) / s->C;
    }
    return ANYGP_OK;
}

/* Solves with L and, for each latent, F; its S; to learn, V A of each, E and the solve with L'. */
static double multiplications(const void *shared, int64_t n)
{
    const svgp *s = shared;
    double C = (double)s->C, halves = 1 + C + (s->value_only ? 0 : C + (s->learn ? C + 2 : 0));
    return (double)n * ((double)(s->Mt * s->Mt) * halves / 2 + (double)s->O * (C + (double)s->D));
}

const block_model svgp_rows = {.rows_alone = true,
                               .stat_size = stat_size,
                               .work_doubles = work_doubles,
                               .keep_doubles = keep_nothing,
                               .work = multiplications,
                               .stat = stat_rows};
