/* Preconditioners of low rank plus a diagonal, A'A + D with A = L^-1 K_un, K_uu = L L' (inducing/inducing.h):
       pivoted   D = noise                  P <= K + noise, so that no eigenvalue of P^-1 (K + noise) is below 1
       fitc      D = diag(K - Q) + noise    K + noise >= Q + noise >= P / (1 + max_i d_i / noise_i), d = diag(K - Q)
   Cost: n M^2 to make one, M^2 n once to choose pivots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inducing/choose.h"
#include "inducing/greedy.h"
#include "inducing/inducing.h"
#include "linalg/linalg.h"
#include "model/exact/precond.h"

enum { RANK_LEAST = 32, RANK_MOST = 4096 };

struct precond_plan {
    int64_t M, D;
    double *Z; /* M x D */
};

static void clear(precond_plan *plan)
{
    if (!plan) return;
    free(plan->Z);
    free(plan);
}

int64_t precond_rank(double columns, int64_t n)
{
    int64_t M = (int64_t)(columns * sqrt((double)n));
    M = M < RANK_LEAST ? RANK_LEAST : M > RANK_MOST ? RANK_MOST : M;
    return M < n ? M : n;
}

int64_t precond_rank_most(int64_t n) { return precond_rank(PRECOND_COLUMNS, n); }

static anygp_status plan_by(const char *how, double columns, const problem *p, const kernel *k, precond_plan **out,
                            anygp_error *e)
{
    const merged *m = p->rows;
    int64_t M = precond_rank(columns, m->n);
    bool text = !m->data || m->data->schema.D < m->D; /* not known, in an update: as if there were */
    for (int64_t j = 0; !text && j < m->D; j++) text = schema_at(&m->data->schema, j)->text;
    precond_plan *plan = calloc(1, sizeof *plan);
    if (!plan || !(plan->Z = mem_doubles(M, m->D)))
        return free(plan), fail_memory(e, "the preconditioner", 8.0 * (double)(M * m->D));
    plan->D = m->D;
    anygp_status status = choose_inducing(how, m->n, m->D, m->X, text, k, M, p->seed, NULL, plan->Z, &plan->M, e);
    if (ANYGP_FAILED(status))
        clear(plan);
    else
        *out = plan;
    return status;
}

static anygp_status plan_pivots(const precond_ops *self, const problem *p, const kernel *k, precond_plan **out,
                                anygp_error *e)
{
    return plan_by("greedy", self->columns, p, k, out, e);
}

static anygp_status plan_centres(const precond_ops *self, const problem *p, const kernel *k, precond_plan **out,
                                 anygp_error *e)
{
    return plan_by("kmeans", self->columns, p, k, out, e);
}

/* What makes gradients from those in A and d. */
typedef struct owner {
    const merged *rows;
    inducing_set u;
    const double *A; /* the operator's */
    bool residuals;  /* d has diag(K - Q) */
    double *E;       /* M x M, with residuals: sum of -2 dbar_i a_i a_i' so far, its lower triangle */
    double noise;    /* sum of dbar_i / c_i so far, */
    double white;    /* and of dbar_i */
} owner;

static void owner_free(void *ctx)
{
    owner *o = ctx;
    inducing_clear(&o->u);
    free(o->E);
    free(o);
}

static bool add_residuals(owner *o, int64_t count, const double *A, const double *dbar, double *Abar)
{
    int64_t M = o->u.M;
    double *B = mem_doubles(M, count);
    if (!B) return false;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < M; j++) B[j + i * M] = -2 * dbar[i] * A[j + i * M];
    for (int64_t i = 0; i < M * count; i++) Abar[i] += B[i];
    la_gemm_lower(LA_N, LA_T, M, count, 1, B, M, A, M, 1, o->E, M);
    free(B);
    return true;
}

static anygp_status owner_columns(void *ctx, int64_t first, int64_t count, double *Abar, const double *dbar, double *gp,
                                  anygp_error *e)
{
    owner *o = ctx;
    int64_t M = o->u.M, D = o->u.D;
    if (first == 0) o->noise = o->white = 0;
    if (first == 0 && o->residuals) memset(o->E, 0, (size_t)(M * M) * sizeof *o->E);
    for (int64_t i = 0; i < count; i++) o->noise += dbar[i] / o->rows->c[first + i], o->white += dbar[i];
    bool ok = !o->residuals || add_residuals(o, count, o->A + first * M, dbar, Abar);
    ok = ok && o->u.ops->reverse(&o->u, count, o->rows->X + first * D, D, Abar, M, o->residuals ? dbar : NULL,
                                 (inducing_grad){.kernel = gp});
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status owner_done(void *ctx, double *E, double *gp, anygp_error *e)
{
    owner *o = ctx;
    int64_t M = o->u.M;
    if (o->residuals) la_axpy(M * M, 1, o->E, E);
    gp[kernel_count(o->u.kernel)] += o->noise;
    return o->u.ops->finish(&o->u, E, o->white, (inducing_grad){.kernel = gp}) ? ANYGP_OK
                                                                               : fail_memory(e, "kernel tiles", 0);
}

/* d, and the largest of diag(K - Q) over the noise. */
static double fill_diagonal(const owner *o, const double *added, double *d)
{
    int64_t n = o->rows->n, D = o->rows->D, M = o->u.M;
    double white = kernel_white(o->u.kernel), most = 0;
    if (o->residuals)
        inducing_residual(&o->u, n, o->rows->X, D, o->A, M, d);
    else
        memset(d, 0, (size_t)n * sizeof *d);
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, d[i] / (added[i] + white));
        d[i] += added[i] + white;
    }
    return most;
}

static anygp_status owner_new(const problem *p, const precond_plan *plan, kernel *k, bool residuals, owner **out,
                              anygp_error *e)
{
    double jitter = 0;
    owner *o = calloc(1, sizeof *o);
    if (!o) return fail_memory(e, "the preconditioner", sizeof *o);
    *out = o;
    o->rows = p->rows, o->residuals = residuals;
    TRY(inducing_open(&o->u, &inducing_points, plan->M, plan->D, e));
    if (residuals && !(o->E = mem_doubles(plan->M, plan->M))) return fail_memory(e, "the preconditioner", 0);
    if (!inducing_prepare(&o->u, k, (function_set){plan->M, plan->Z, NULL}, true, &jitter))
        return inducing_no_factor(e);
    return ANYGP_OK;
}

static anygp_status make(const problem *p, const precond_plan *plan, kernel *k, const double *added, bool residuals,
                         la_operator **out, double *least, anygp_error *e)
{
    int64_t n = p->rows->n;
    owner *o = NULL;
    double *A = NULL, *d = NULL;
    anygp_status status = owner_new(p, plan, k, residuals, &o, e);
    if (ANYGP_FAILED(status)) goto failed;
    A = mem_doubles(plan->M, n), d = mem_doubles(n, 1);
    if (!A || !d || !o->u.ops->features(&o->u, n, p->rows->X, p->rows->D, A, plan->M)) {
        status = fail_memory(e, "the preconditioner", 8.0 * (double)plan->M * (double)n);
        goto failed;
    }
    o->A = A;
    double most = fill_diagonal(o, added, d);
    *least = residuals ? 1 / (1 + most) : 1;
    low_rank_owner hooks = {o, owner_columns, owner_done, owner_free};
    return low_rank_operator_new(n, plan->M, A, d, &hooks, out, e);
failed:
    free(A);
    free(d);
    if (o) owner_free(o);
    return status;
}

static anygp_status make_pivoted(const problem *p, const precond_plan *plan, kernel *k, const double *added,
                                 la_operator **out, double *least, anygp_error *e)
{
    return make(p, plan, k, added, false, out, least, e);
}

static anygp_status make_fitc(const problem *p, const precond_plan *plan, kernel *k, const double *added,
                              la_operator **out, double *least, anygp_error *e)
{
    return make(p, plan, k, added, true, out, least, e);
}

const precond_ops precond_pivoted = {.name = "pivoted",
                                     .summary = "partial Cholesky with pivoting",
                                     .columns = PRECOND_COLUMNS,
                                     .plan = plan_pivots,
                                     .clear = clear,
                                     .make = make_pivoted};
const precond_ops precond_fitc = {.name = "fitc",
                                  .summary = "fitc on inducing inputs",
                                  .columns = PRECOND_COLUMNS,
                                  .plan = plan_centres,
                                  .clear = clear,
                                  .make = make_fitc};
const precond_ops precond_pivoted_small = {.name = "pivoted_small",
                                           .summary = "partial Cholesky with few pivots",
                                           .columns = PRECOND_COLUMNS_SMALL,
                                           .plan = plan_pivots,
                                           .clear = clear,
                                           .make = make_pivoted};
const precond_ops precond_fitc_small = {.name = "fitc_small",
                                        .summary = "fitc on few inducing inputs",
                                        .columns = PRECOND_COLUMNS_SMALL,
                                        .plan = plan_centres,
                                        .clear = clear,
                                        .make = make_fitc};
