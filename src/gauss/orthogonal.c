/* The second, orthogonal set of inducing inputs (orthogonal.h). */
#include "gauss/orthogonal.h"

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

static inducing_grad grad_of_o(const layer *l, const layer_stat *stat)
{
    return inducing_grad_part(layer_grad(l, stat), l->D, l->M);
}

/* The sampled columns: the variables, and their coefficients behind. */
static function_set picked(const layer *l)
{
    return (function_set){l->columns, l->picked, l->o.set.C ? l->picked + l->columns * l->D : NULL};
}
static double *picked_coefficients(const layer *l) { return l->picked + 2 * l->columns * l->D; }

anygp_status orthogonal_init(layer *l, anygp_error *e)
{
    int64_t O = l->O, n = l->columns = O < COLUMNS_MOST ? O : COLUMNS_MOST, wide = (int64_t)orthogonal_row(l->M, O);
    l->a = mem_zeroed(O * l->C, sizeof(double));
    l->w = mem_zeroed(l->Mt * l->C, sizeof(double));
    l->w_part = mem_zeroed(l->Mt * l->C, sizeof(double));
    l->mean_m = mem_zeroed(l->Mt * l->C, sizeof(double));
    l->Ka = mem_alloc(O * l->C, sizeof(double));
    l->t = mem_alloc(l->M * l->C, sizeof(double));
    l->chosen = mem_alloc(n, sizeof *l->chosen);
    l->picked = mem_doubles(n, 2 * l->D + l->C);
    l->G = mem_doubles(O, wide);
    if (l->a && l->w && l->w_part && l->mean_m && l->Ka && l->t && l->chosen && l->picked && l->G) return ANYGP_OK;
    return fail_memory(e, "the orthogonal inducing inputs", 8.0 * (double)O * (double)wide);
}

void orthogonal_clear(layer *l)
{
    double *const owned[] = {l->a, l->w, l->w_part, l->Ka, l->t, l->picked, l->G, l->O ? l->mean_m : NULL};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(l->chosen);
}

/* w = L^-1 K_uo a, zero for the basis functions, which are orthogonal to nothing; the same for the sampled columns, scaled. */
static bool project(layer *l)
{
    double scale = (double)l->O / (double)l->columns;
    if (!l->u.ops->pair(&l->u, l->o.set, l->G, l->M)) return false;
    for (int64_t c = 0; c < l->C; c++) {
        double *w = l->w + c * l->Mt,
               *part = l->w_part + c * l->Mt + l->p; /* zero in the rows of the basis functions */
        memset(part, 0, (size_t)l->M * sizeof *part);
        for (int64_t j = 0; j < l->columns; j++)
            la_axpy(l->M, scale * l->a[l->chosen[j] + c * l->O], l->G + l->chosen[j] * l->M, part);
        la_gemv(LA_N, l->M, l->O, 1, l->G, l->M, l->a + c * l->O, 0, w + l->p);
        la_trsv(LA_N, l->M, l->u.L, l->M, w + l->p);
        la_trsv(LA_N, l->M, l->u.L, l->M, part);
        for (int64_t i = 0; i < l->Mt; i++) l->mean_m[c * l->Mt + i] = l->m[c * l->Mt + i] - w[i];
    }
    return true;
}

static void pick_columns(layer *l, uint64_t seed, int64_t t)
{
    double *coefficient = picked_coefficients(l), *widths = l->picked + l->columns * l->D;
    function_set o = l->o.set;
    size_t bytes = (size_t)l->D * sizeof(double);
    random_subset((random_stream){seed, RANDOM_COLUMNS, (uint64_t)t}, l->O, l->columns, l->chosen);
    for (int64_t j = 0; j < l->columns; j++) {
        memcpy(l->picked + j * l->D, o.Z + l->chosen[j] * l->D, bytes);
        if (o.C) memcpy(widths + j * l->D, o.C + l->chosen[j] * l->D, bytes);
        for (int64_t c = 0; c < l->C; c++) coefficient[j + c * l->columns] = l->a[l->chosen[j] + c * l->O];
    }
}

bool orthogonal_prepare(layer *l, uint64_t seed, int64_t t)
{
    double scale = (double)l->O / (double)l->columns;
    pick_columns(l, seed, t);
    if (!project(l)) return false;
    if (!l->o.ops->pair(&l->o, picked(l), l->G, l->O)) return false;
    la_gemm(LA_N, LA_N, l->O, l->C, l->columns, scale, l->G, l->O, picked_coefficients(l), l->columns, 0, l->Ka, l->O);
    return true;
}

bool orthogonal_whole(layer *l)
{
    int64_t O = l->O;
    for (int64_t j = 0; j < O; j += l->columns) {
        int64_t n = O - j < l->columns ? O - j : l->columns;
        if (!l->o.ops->pair(&l->o, functions_part(l->o.set, l->D, j, n), l->G, O)) return false;
        la_gemm(LA_N, LA_N, O, l->C, n, 1, l->G, O, l->a + j, O, j > 0, l->Ka, O);
    }
    memcpy(l->w_part, l->w, (size_t)(l->Mt * l->C) * sizeof *l->w);
    return true;
}

double orthogonal_kl(const layer *l)
{
    return 0.5 * (la_dot(l->O * l->C, l->a, l->Ka) - la_dot(l->Mt * l->C, l->w, l->w_part));
}

/* ------------------------------------------------------------------------------------- the rows */

bool orthogonal_forward(const layer *l, int64_t n, const double *X, double *G, double *mu)
{
    if (!l->o.ops->cross(&l->o, n, X, l->D, G, l->O)) return false;
    la_gemm(LA_T, LA_N, n, l->C, l->O, 1, G, l->O, l->a, l->O, 1, mu, n);
    return true;
}

bool orthogonal_reverse(const layer *l, int64_t n, const double *X, double *G, const double *dmu,
                        const layer_stat *stat)
{
    la_gemm(LA_N, LA_N, l->O, l->C, n, 1, G, l->O, dmu, n, 1, stat->o, l->O);
    if (!l->learn) return true;
    la_gemm(LA_N, LA_T, l->O, n, l->C, 1, l->a, l->O, dmu, n, 0, G, l->O);
    return l->o.ops->cross_reverse(&l->o, n, X, l->D, G, l->O, grad_of_o(l, stat));
}

/* ------------------------------------------------------------------------------------- the rest */

/* t = L^-T (x w_part + y w - z b) for all functions. */
static void fill_t(const layer *l, const layer_stat *stat, double x, double y, double z)
{
    for (int64_t c = 0; c < l->C; c++) {
        double *t = l->t + c * l->M;
        int64_t at = c * l->Mt + l->p;
        for (int64_t i = 0; i < l->M; i++) t[i] = x * l->w_part[at + i] + y * l->w[at + i] - z * stat->b[at + i];
        la_trsv(LA_T, l->M, l->u.L, l->M, t);
    }
}

/* E grows by (w~ / 2 - b) w' + w w~' / 2. */
static void add_E(const layer *l, layer_stat *stat)
{
    for (int64_t c = 0; c < l->C; c++) {
        const double *w = l->w + c * l->Mt + l->p, *part = l->w_part + c * l->Mt + l->p;
        const double *b = stat->b + c * l->Mt + l->p;
        for (int64_t j = 0; j < l->M; j++)
            for (int64_t i = j; i < l->M; i++)
                stat->E[i + j * l->M] += (0.5 * part[i] - b[i]) * w[j] + 0.5 * w[i] * part[j];
    }
}

/* K_ou t to abar; K_uo bar. */
static bool between(layer *l, layer_stat *stat, double *abar)
{
    const double scale = (double)l->O / (double)l->columns;
    if (!l->u.ops->pair(&l->u, l->o.set, l->G, l->M)) return false;
    fill_t(l, stat, 1, 0, 1);
    la_gemm(LA_T, LA_N, l->O, l->C, l->M, 1, l->G, l->M, l->t, l->M, 1, abar, l->O);
    if (!l->learn) return true;
    add_E(l, stat);
    fill_t(l, stat, 0.5, 0, 1);
    la_gemm(LA_N, LA_T, l->M, l->O, l->C, 1, l->t, l->M, l->a, l->O, 0, l->G, l->M);
    fill_t(l, stat, 0, 0.5 * scale, 0);
    for (int64_t c = 0; c < l->C; c++)
        for (int64_t j = 0; j < l->columns; j++)
            la_axpy(l->M, l->a[l->chosen[j] + c * l->O], l->t + c * l->M, l->G + l->chosen[j] * l->M);
    return l->u.ops->pair_reverse(&l->u, l->o.set, l->G, l->M, layer_grad(l, stat), grad_of_o(l, stat));
}

/* K_oo bar in the sampled columns: both places that an element depends on move. */
static bool among(layer *l, layer_stat *stat)
{
    double scale = -0.5 * (double)l->O / (double)l->columns;
    int64_t n = l->columns * l->D;
    inducing_grad g = grad_of_o(l, stat), moved = {.kernel = g.kernel};
    if (g.Z && !(moved.Z = mem_zeroed(2 * n, sizeof *moved.Z))) return false;
    if (g.C) moved.C = moved.Z + n;
    la_gemm(LA_N, LA_T, l->O, l->columns, l->C, scale, l->a, l->O, picked_coefficients(l), l->columns, 0, l->G, l->O);
    bool ok = l->o.ops->pair_reverse(&l->o, picked(l), l->G, l->O, g, moved);
    for (int64_t j = 0; j < l->columns; j++) {
        if (g.Z) la_axpy(l->D, 1, moved.Z + j * l->D, g.Z + l->chosen[j] * l->D);
        if (g.C) la_axpy(l->D, 1, moved.C + j * l->D, g.C + l->chosen[j] * l->D);
    }
    free(moved.Z);
    return ok;
}

bool orthogonal_gradient(layer *l, layer_stat *stat, double *abar)
{
    int64_t n = l->O * l->C;
    memcpy(abar, stat->o, (size_t)n * sizeof *abar);
    la_axpy(n, -1, l->Ka, abar);
    return between(l, stat, abar) && (!l->learn || among(l, stat));
}
