/* Conjugate gradients over many right-hand sides (cg.h).  Columns that rest are left out of the products. */
#include "linalg/iterative/cg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

void cg_free(cg *c)
{
    if (!c) return;
    double *const owned[] = {c->X, c->R, c->Z, c->D, c->W, c->rz, c->rr, c->first, c->alpha, c->beta};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(c->steps);
    free(c->rests);
    free(c);
}

anygp_status cg_new(const la_operator *A, const la_operator *P, int64_t t, int64_t most, cg **out, anygp_error *e)
{
    cg *c = calloc(1, sizeof *c);
    if (!c) return fail_memory(e, "conjugate gradients", sizeof *c);
    *c = (cg){.A = A, .P = P, .n = A->n, .t = t, .room = most};
    struct {
        double **array;
        int64_t rows, cols;
    } const slices[] = {{&c->X, c->n, t},     {&c->R, c->n, t},   {&c->Z, c->n, t}, {&c->D, c->n, t},
                        {&c->W, c->n, t},     {&c->rz, t, 1},     {&c->rr, t, 1},   {&c->first, t, 1},
                        {&c->alpha, most, t}, {&c->beta, most, t}};
    bool ok = true;
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        ok = (*slices[i].array = mem_doubles(slices[i].rows, slices[i].cols)) && ok;
    c->steps = mem_zeroed(t, sizeof *c->steps);
    c->rests = mem_zeroed(t, sizeof *c->rests);
    if (!ok || !c->steps || !c->rests) {
        cg_free(c);
        return fail_memory(e, "the vectors of conjugate gradients", 40.0 * (double)A->n * (double)t);
    }
    *out = c;
    return ANYGP_OK;
}

/* Columns that do not rest, side by side in `to`, and back. */
static int64_t pack(const cg *c, const double *from, double *to)
{
    int64_t count = 0;
    for (int64_t k = 0; k < c->t; k++)
        if (!c->rests[k]) memcpy(to + count++ * c->n, from + k * c->n, (size_t)c->n * sizeof *to);
    return count;
}

/* Z = P^-1 R and rz, rr, for the columns that do not rest; W is workspace. */
static anygp_status precondition(cg *c, anygp_error *e)
{
    int64_t count = pack(c, c->R, c->W), i = 0;
    if (c->P && count > 0) TRY(c->P->ops->solve(c->P, count, c->W, c->n, e));
    for (int64_t k = 0; k < c->t; k++) {
        if (c->rests[k]) continue;
        const double *r = c->R + k * c->n;
        memcpy(c->Z + k * c->n, c->W + i++ * c->n, (size_t)c->n * sizeof(double));
        c->rr[k] = la_dot(c->n, r, r);
        c->rz[k] = la_dot(c->n, r, c->Z + k * c->n);
    }
    return ANYGP_OK;
}

anygp_status cg_begin(cg *c, const double *B, int64_t ldb, bool warm, anygp_error *e)
{
    int64_t n = c->n;
    for (int64_t k = 0; k < c->t; k++) {
        memcpy(c->R + k * n, B + k * ldb, (size_t)n * sizeof(double));
        c->steps[k] = 0, c->rests[k] = false;
    }
    c->broken = false;
    if (warm) {
        const la_operator *A = c->exact ? c->exact : c->A;
        TRY(A->ops->multiply(A, c->t, c->X, n, c->W, n, e));
        c->products++;
        la_axpy(n * c->t, -1, c->W, c->R);
    } else {
        memset(c->X, 0, (size_t)(n * c->t) * sizeof(double));
    }
    TRY(precondition(c, e));
    memcpy(c->D, c->Z, (size_t)(n * c->t) * sizeof(double));
    memcpy(c->first, c->rz, (size_t)c->t * sizeof(double));
    for (int64_t k = 0; k < c->t; k++) c->rests[k] = !(c->rz[k] > 0);
    return ANYGP_OK;
}

/* alpha, x and r of column k, with the product Ad at w. */
static void advance(cg *c, int64_t k, const double *w)
{
    int64_t n = c->n, j = c->steps[k];
    const double *d = c->D + k * n;
    double curvature = la_dot(n, d, w), alpha = c->rz[k] / curvature;
    if (!(curvature > 0) || !isfinite(alpha)) {
        c->broken = c->rests[k] = true;
        return;
    }
    la_axpy(n, alpha, d, c->X + k * n);
    la_axpy(n, -alpha, w, c->R + k * n);
    c->alpha[j + k * c->room] = alpha;
}

/* beta and the next direction of column k. */
static void turn(cg *c, int64_t k, double former)
{
    double beta = c->rz[k] > 0 ? c->rz[k] / former : 0, *d = c->D + k * c->n;
    c->beta[c->steps[k]++ + k * c->room] = beta;
    const double *z = c->Z + k * c->n;
    for (int64_t i = 0; i < c->n; i++) d[i] = z[i] + beta * d[i];
    if (!(c->rz[k] > 0)) c->rests[k] = true;
}

static anygp_status iterate(cg *c, double *former, anygp_error *e)
{
    int64_t i = 0, count = pack(c, c->D, c->Z);
    TRY(c->A->ops->multiply(c->A, count, c->Z, c->n, c->W, c->n, e));
    c->products++;
    for (int64_t k = 0; k < c->t; k++)
        if (!c->rests[k]) former[k] = c->rz[k], advance(c, k, c->W + i++ * c->n);
    TRY(precondition(c, e));
    for (int64_t k = 0; k < c->t; k++)
        if (!c->rests[k]) turn(c, k, former[k]);
    return ANYGP_OK;
}

static bool all_rest(cg *c, const cg_options *o)
{
    bool all = true;
    for (int64_t k = 0; k < c->t; k++) {
        if (!c->rests[k] && c->steps[k] > 0 && o->settled && o->settled(o->ctx, c, k)) c->rests[k] = true;
        if (c->steps[k] >= o->most || c->steps[k] >= c->room) c->rests[k] = true;
        all &= c->rests[k];
    }
    return all;
}

anygp_status cg_run(cg *c, const cg_options *o, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    double *former = mem_doubles(c->t, 1);
    if (!former) return fail_memory(e, "conjugate gradients", 8.0 * (double)c->t);
    while (!all_rest(c, o) && !c->broken && !(o->enough && o->enough(o->ctx))) TRY_DONE(iterate(c, former, e));
done:
    free(former);
    return status;
}

double cg_progress(const cg *c, int64_t k, int64_t count)
{
    const double *alpha = c->alpha + k * c->room, *beta = c->beta + k * c->room;
    double rz = c->rz[k], sum = 0;
    if (c->steps[k] < count) return INFINITY;
    for (int64_t i = 0, j = c->steps[k] - 1; i < count; i++, j--) {
        if (!(beta[j] > 0)) return i == 0 ? 0 : INFINITY; /* the last r'z is 0: solved */
        rz /= beta[j], sum += alpha[j] * rz;
    }
    return sum;
}
