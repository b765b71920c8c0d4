/* The second, orthogonal set of inducing inputs (svgp_orthogonal.h). */
#include "model/svgp_orthogonal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

enum { COLUMNS_MOST = 1024 };

double orthogonal_row(int64_t M, int64_t O)
{
    int64_t columns = O < COLUMNS_MOST ? O : COLUMNS_MOST;
    return (double)(columns > M ? columns : M);
}

static inducing_grad grad_of_o(const svgp *s, const svgp_stat *stat)
{
    return inducing_grad_part(svgp_grad(s, stat), s->D, s->M);
}

/* The sampled columns: the variables, and their coefficients behind. */
static function_set picked(const svgp *s)
{
    return (function_set){s->columns, s->picked, s->o.set.C ? s->picked + s->columns * s->D : NULL};
}
static double *picked_coefficients(const svgp *s) { return s->picked + 2 * s->columns * s->D; }

anygp_status orthogonal_init(svgp *s, anygp_error *e)
{
    int64_t O = s->O, n = s->columns = O < COLUMNS_MOST ? O : COLUMNS_MOST, wide = (int64_t)orthogonal_row(s->M, O);
    s->a = mem_zeroed(O * s->C, sizeof(double));
    s->w = mem_zeroed(s->Mt * s->C, sizeof(double));
    s->mean_m = mem_zeroed(s->Mt * s->C, sizeof(double));
    s->Ka = mem_alloc(O * s->C, sizeof(double));
    s->t = mem_alloc(s->M * s->C, sizeof(double));
    s->chosen = mem_alloc(n, sizeof *s->chosen);
    s->picked = mem_doubles(n, 2 * s->D + s->C);
    s->G = mem_doubles(O, wide);
    if (s->a && s->w && s->mean_m && s->Ka && s->t && s->chosen && s->picked && s->G) return ANYGP_OK;
    return fail_memory(e, "the orthogonal inducing inputs", 8.0 * (double)O * (double)wide);
}

void orthogonal_clear(svgp *s)
{
    double *const owned[] = {s->a, s->w, s->Ka, s->t, s->picked, s->G, s->O ? s->mean_m : NULL};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(s->chosen);
}

/* w = L^-1 K_uo a, zero for the basis functions, which are orthogonal to nothing. */
static bool project(svgp *s)
{
    if (!s->u.ops->pair(&s->u, s->o.set, s->G, s->M)) return false;
    for (int64_t c = 0; c < s->C; c++) {
        double *w = s->w + c * s->Mt; /* zero in the rows of the basis functions */
        la_gemv(LA_N, s->M, s->O, 1, s->G, s->M, s->a + c * s->O, 0, w + s->p);
        la_trsv(LA_N, s->M, s->u.L, s->M, w + s->p);
        for (int64_t i = 0; i < s->Mt; i++) s->mean_m[c * s->Mt + i] = s->m[c * s->Mt + i] - w[i];
    }
    return true;
}

static void pick_columns(svgp *s, uint64_t seed, int64_t t)
{
    double *coefficient = picked_coefficients(s), *widths = s->picked + s->columns * s->D;
    function_set o = s->o.set;
    size_t bytes = (size_t)s->D * sizeof(double);
    random_subset((random_stream){seed, RANDOM_COLUMNS, (uint64_t)t}, s->O, s->columns, s->chosen);
    for (int64_t j = 0; j < s->columns; j++) {
        memcpy(s->picked + j * s->D, o.Z + s->chosen[j] * s->D, bytes);
        if (o.C) memcpy(widths + j * s->D, o.C + s->chosen[j] * s->D, bytes);
        for (int64_t c = 0; c < s->C; c++) coefficient[j + c * s->columns] = s->a[s->chosen[j] + c * s->O];
    }
}

bool orthogonal_prepare(svgp *s, uint64_t seed, int64_t t)
{
    double scale = (double)s->O / (double)s->columns;
    if (!project(s)) return false;
    pick_columns(s, seed, t);
    if (!s->o.ops->pair(&s->o, picked(s), s->G, s->O)) return false;
    la_gemm(LA_N, LA_N, s->O, s->C, s->columns, scale, s->G, s->O, picked_coefficients(s), s->columns, 0, s->Ka, s->O);
    return true;
}

double orthogonal_kl(const svgp *s)
{
    return 0.5 * (la_dot(s->O * s->C, s->a, s->Ka) - la_dot(s->Mt * s->C, s->w, s->w));
}

/* ------------------------------------------------------------------------------------- the rows */

bool orthogonal_forward(const svgp *s, const row_block *b, double *G, double *mu)
{
    if (!s->o.ops->cross(&s->o, b->n, b->X, s->D, G, s->O)) return false;
    la_gemm(LA_T, LA_N, b->n, s->C, s->O, 1, G, s->O, s->a, s->O, 1, mu, b->n);
    return true;
}

bool orthogonal_reverse(const svgp *s, const row_block *b, double *G, const double *dmu, const svgp_stat *stat)
{
    la_gemm(LA_N, LA_N, s->O, s->C, b->n, 1, G, s->O, dmu, b->n, 1, stat->o, s->O);
    if (!s->learn) return true;
    la_gemm(LA_N, LA_T, s->O, b->n, s->C, 1, s->a, s->O, dmu, b->n, 0, G, s->O);
    return s->o.ops->cross_reverse(&s->o, b->n, b->X, s->D, G, s->O, grad_of_o(s, stat));
}

/* ------------------------------------------------------------------------------------- the rest */

/* K_uo bar = t a', and K_ou t to abar; E more by (w - b) w'. */
static bool between(svgp *s, svgp_stat *stat, double *abar)
{
    for (int64_t c = 0; c < s->C; c++) {
        double *t = s->t + c * s->M;
        const double *w = s->w + c * s->Mt + s->p, *b = stat->b + c * s->Mt + s->p;
        for (int64_t i = 0; i < s->M; i++) t[i] = w[i] - b[i];
        if (s->learn) la_gemm_lower(LA_N, LA_T, s->M, 1, 1, t, s->M, w, s->M, 1, stat->E, s->M);
        la_trsv(LA_T, s->M, s->u.L, s->M, t);
    }
    if (!s->u.ops->pair(&s->u, s->o.set, s->G, s->M)) return false;
    la_gemm(LA_T, LA_N, s->O, s->C, s->M, 1, s->G, s->M, s->t, s->M, 1, abar, s->O);
    if (!s->learn) return true;
    la_gemm(LA_N, LA_T, s->M, s->O, s->C, 1, s->t, s->M, s->a, s->O, 0, s->G, s->M);
    return s->u.ops->pair_reverse(&s->u, s->o.set, s->G, s->M, svgp_grad(s, stat), grad_of_o(s, stat));
}

/* K_oo bar in the sampled columns: both places of an element move. */
static bool among(svgp *s, svgp_stat *stat)
{
    double scale = -0.5 * (double)s->O / (double)s->columns;
    int64_t n = s->columns * s->D;
    inducing_grad g = grad_of_o(s, stat), moved = {.kernel = g.kernel};
    if (g.Z && !(moved.Z = mem_zeroed(2 * n, sizeof *moved.Z))) return false;
    if (g.C) moved.C = moved.Z + n;
    la_gemm(LA_N, LA_T, s->O, s->columns, s->C, scale, s->a, s->O, picked_coefficients(s), s->columns, 0, s->G, s->O);
    bool ok = s->o.ops->pair_reverse(&s->o, picked(s), s->G, s->O, g, moved);
    for (int64_t j = 0; j < s->columns; j++) {
        if (g.Z) la_axpy(s->D, 1, moved.Z + j * s->D, g.Z + s->chosen[j] * s->D);
        if (g.C) la_axpy(s->D, 1, moved.C + j * s->D, g.C + s->chosen[j] * s->D);
    }
    free(moved.Z);
    return ok;
}

bool orthogonal_gradient(svgp *s, svgp_stat *stat, double *abar)
{
    int64_t n = s->O * s->C;
    memcpy(abar, stat->o, (size_t)n * sizeof *abar);
    la_axpy(n, -1, s->Ka, abar);
    return between(s, stat, abar) && (!s->learn || among(s, stat));
}
