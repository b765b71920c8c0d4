#include "inducing/inducing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const inducing_ops *const kinds[] = {&inducing_points, &inducing_scaled, &inducing_fourier};

const inducing_ops *inducing_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i]->name, name)) return kinds[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------ open, clear */

anygp_status inducing_open(inducing_set *v, const inducing_ops *ops, int64_t places, int64_t D, anygp_error *e)
{
    int64_t M = places * ops->each;
    *v = (inducing_set){.ops = ops, .M = M, .D = D};
    if (ops->white) return ANYGP_OK;
    if (ops->widths) TRY(functions_init(&v->f, D, e));
    v->L = mem_doubles(M, M);
    v->T = mem_alloc(la_trsm_size(M), sizeof(double));
    v->diag = mem_alloc(M, sizeof(double));
    if (v->L && v->T && v->diag) return ANYGP_OK;
    inducing_clear(v);
    return fail_memory(e, "the covariance of the inducing variables", 8.0 * (double)M * (double)M);
}

void inducing_clear(inducing_set *v)
{
    double *const own[] = {v->L, v->T, v->diag}, *const variables[] = {(double *)v->set.Z, (double *)v->set.C};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    for (size_t i = 0; v->owns && i < sizeof variables / sizeof *variables; i++) free(variables[i]);
    functions_clear(&v->f);
    spectral_clear(&v->waves);
    *v = (inducing_set){0};
}

/* ---------------------------------------------------------------------------------------- prepare */

static void bind(inducing_set *v, kernel *k, function_set s)
{
    v->kernel = k, v->set = s, v->M = s.M * v->ops->each;
    if (v->ops->bind) v->ops->bind(v);
}

bool inducing_prepare(inducing_set *v, kernel *k, function_set s, bool grow, double *jitter)
{
    bind(v, k, s);
    return v->ops->prepare(v, grow, jitter);
}

anygp_status inducing_no_factor(anygp_error *e)
{
    return fail_with(
        e, ANYGP_ERR_NUMERIC,
        "the covariance of the inducing inputs has no Cholesky factor, even with jitter; use fewer of them "
        "or another kernel");
}

void inducing_set_factor(inducing_set *v, kernel *k, function_set s, const double *L)
{
    bind(v, k, s);
    if (v->ops->white) return;
    memcpy(v->L, L, (size_t)(v->M * v->M) * sizeof *L);
    la_trsm_prepare(v->M, v->L, v->M, v->T);
}

inducing_set inducing_part(const inducing_set *v, function_set all, int64_t first, int64_t count)
{
    inducing_set part = *v;
    part.set = functions_part(all, v->D, first, count);
    part.M = count, part.owns = false;
    part.L = part.T = part.diag = NULL;
    return part;
}

inducing_grad inducing_grad_part(inducing_grad g, int64_t D, int64_t first)
{
    return (inducing_grad){g.kernel, g.Z ? g.Z + first * D : NULL, g.C ? g.C + first * D : NULL, NULL};
}

void inducing_residual(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const double *A, int64_t lda,
                       double *d)
{
    if (v->ops->residual) {
        v->ops->residual(v, n, X, ldx, A, lda, d);
        return;
    }
    kernel_diag(v->kernel, n, X, ldx, d);
    for (int64_t j = 0; j < n; j++) d[j] = fmax(d[j] - la_dot(v->M, A + j * lda, A + j * lda), 0);
}

/* -------------------------------------------------------------------------------- for predictions */

anygp_status inducing_empty(inducing_set *v, const inducing_ops *ops, kernel *k, int64_t D, anygp_error *e)
{
    *v = (inducing_set){.ops = ops, .kernel = k, .D = D, .owns = true};
    return ops->widths ? functions_init(&v->f, D, e) : ANYGP_OK;
}

void inducing_take(inducing_set *v, int64_t M, double *Z, double *C, double *L)
{
    v->L = L;
    bind(v, v->kernel, (function_set){M, Z, C});
}

/* a above b; *ok: there is memory. */
static double *stacked(int64_t D, int64_t M, const double *a, int64_t O, const double *b, bool *ok)
{
    double *both = a ? mem_doubles(D, M + O) : NULL;
    if (both) memcpy(both, a, (size_t)(D * M) * sizeof *a);
    if (both && O) memcpy(both + D * M, b, (size_t)(D * O) * sizeof *b);
    *ok = *ok && (both || !a);
    return both;
}

static anygp_status copy(const inducing_set *from, const function_set *more, bool factor, kernel *k, inducing_set *to,
                         anygp_error *e)
{
    function_set a = from->set, b = more ? *more : (function_set){0};
    bool ok = true;
    TRY(inducing_empty(to, from->ops, k, from->D, e));
    double *Z = stacked(from->D, a.M, a.Z, b.M, b.Z, &ok), *C = stacked(from->D, a.M, a.C, b.M, b.C, &ok);
    double *L = factor ? mem_copied(from->M, from->M, from->L) : NULL;
    if (ok && (L || !factor)) return inducing_take(to, a.M + b.M, Z, C, L), ANYGP_OK;
    double *const made[] = {Z, C, L};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) free(made[i]);
    inducing_clear(to);
    return fail_memory(e, "the inducing variables", 8.0 * (double)a.M * (double)a.M);
}

anygp_status inducing_copy(const inducing_set *from, kernel *k, inducing_set *to, anygp_error *e)
{
    return copy(from, NULL, from->L != NULL, k, to, e);
}

anygp_status inducing_join(const inducing_set *from, const inducing_set *more, kernel *k, inducing_set *to,
                           anygp_error *e)
{
    return copy(from, more ? &more->set : NULL, false, k, to, e);
}
