/* The prior mean's functions (basis.h). */
#include "inducing/basis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

anygp_status basis_init(basis *b, mean_kind kind, const schema *s, double B, anygp_error *e)
{
    *b = (basis){.kind = kind, .B = B};
    if (!(b->column = mem_alloc(s->D + 1, sizeof *b->column))) return fail_memory(e, "the mean", 8.0 * (double)s->D);
    if (kind != MEAN_ZERO) b->column[b->p++] = -1;
    for (int64_t i = 0; kind == MEAN_LINEAR && i < s->inputs; i++)
        if (s->input[i].position >= 0 && !s->input[i].text) b->column[b->p++] = s->input[i].position;
    if (kind == MEAN_LINEAR && s->sphere.on) b->column[b->p++] = s->sphere.at + 2;
    return ANYGP_OK;
}

anygp_status basis_copy(const basis *from, basis *to, anygp_error *e)
{
    *to = *from;
    if (!(to->column = mem_alloc(from->p, sizeof *to->column)))
        return fail_memory(e, "the mean", 8.0 * (double)from->p);
    if (from->p) memcpy(to->column, from->column, (size_t)from->p * sizeof *to->column);
    return ANYGP_OK;
}

void basis_clear(basis *b)
{
    free(b->column);
    *b = (basis){0};
}

void basis_fill(const basis *b, int64_t n, const double *X, int64_t ldx, double *H, int64_t row, int64_t col)
{
    for (int64_t k = 0; k < b->p; k++)
        for (int64_t i = 0; i < n; i++) H[i * row + k * col] = b->column[k] < 0 ? 1 : X[i * ldx + b->column[k]];
}

anygp_status basis_features(const inducing_set *u, const basis *mean, int64_t n, const double *X, int64_t ldx,
                            double *A, double *H, anygp_error *e)
{
    int64_t p = mean->p, Mt = u->M + p;
    double root = sqrt(mean->B);
    if (!u->ops->features(u, n, X, ldx, A, Mt)) return fail_memory(e, "kernel tiles", 0);
    if (p) basis_fill(mean, n, X, ldx, H, Mt, 1);
    for (int64_t j = 0; p && j < n; j++) la_scale(p, root, H + j * Mt);
    return ANYGP_OK;
}
