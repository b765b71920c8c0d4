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

static const double *places(const svgp *s) { return s->h->Z + s->M * s->D; }
static double *gradient_of_places(const svgp *s, double *gZ) { return gZ ? gZ + s->M * s->D : NULL; }

anygp_status orthogonal_init(svgp *s, anygp_error *e)
{
    int64_t O = s->O, n = s->columns = O < COLUMNS_MOST ? O : COLUMNS_MOST, wide = (int64_t)orthogonal_row(s->M, O);
    s->a = mem_zeroed(O * s->C, sizeof(double));
    s->w = mem_zeroed(s->Mt * s->C, sizeof(double));
    s->mean_m = mem_zeroed(s->Mt * s->C, sizeof(double));
    s->Ka = mem_alloc(O * s->C, sizeof(double));
    s->t = mem_alloc(s->M * s->C, sizeof(double));
    s->chosen = mem_alloc(n, sizeof *s->chosen);
    s->picked = mem_doubles(n, s->D + s->C);
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
    if (!kernel_gram(s->h->kernel, s->M, s->h->Z, s->D, s->O, places(s), s->D, s->G, s->M)) return false;
    for (int64_t c = 0; c < s->C; c++) {
        double *w = s->w + c * s->Mt; /* zero in the rows of the basis functions */
        la_gemv(LA_N, s->M, s->O, 1, s->G, s->M, s->a + c * s->O, 0, w + s->p);
        la_trsv(LA_N, s->M, s->L, s->M, w + s->p);
        for (int64_t i = 0; i < s->Mt; i++) s->mean_m[c * s->Mt + i] = s->m[c * s->Mt + i] - w[i];
    }
    return true;
}

/* Places and coefficients of the sampled columns. */
static void pick_columns(svgp *s, uint64_t seed, int64_t t)
{
    double *coefficient = s->picked + s->columns * s->D;
    random_subset((random_stream){seed, RANDOM_COLUMNS, (uint64_t)t}, s->O, s->columns, s->chosen);
    for (int64_t j = 0; j < s->columns; j++) {
        memcpy(s->picked + j * s->D, places(s) + s->chosen[j] * s->D, (size_t)s->D * sizeof(double));
        for (int64_t c = 0; c < s->C; c++) coefficient[j + c * s->columns] = s->a[s->chosen[j] + c * s->O];
    }
}

bool orthogonal_prepare(svgp *s, uint64_t seed, int64_t t)
{
    double scale = (double)s->O / (double)s->columns;
    if (!project(s)) return false;
    pick_columns(s, seed, t);
    if (!kernel_gram(s->h->kernel, s->O, places(s), s->D, s->columns, s->picked, s->D, s->G, s->O)) return false;
    la_gemm(LA_N, LA_N, s->O, s->C, s->columns, scale, s->G, s->O, s->picked + s->columns * s->D, s->columns, 0, s->Ka,
            s->O);
    return true;
}

double orthogonal_kl(const svgp *s)
{
    return 0.5 * (la_dot(s->O * s->C, s->a, s->Ka) - la_dot(s->Mt * s->C, s->w, s->w));
}

/* ------------------------------------------------------------------------------------- the rows */

bool orthogonal_forward(const svgp *s, const row_block *b, double *G, double *mu)
{
    if (!kernel_gram(s->h->kernel, s->O, places(s), s->D, b->n, b->X, s->D, G, s->O)) return false;
    la_gemm(LA_T, LA_N, b->n, s->C, s->O, 1, G, s->O, s->a, s->O, 1, mu, b->n);
    return true;
}

bool orthogonal_reverse(const svgp *s, const row_block *b, double *G, const double *dmu, const svgp_stat *stat)
{
    la_gemm(LA_N, LA_N, s->O, s->C, b->n, 1, G, s->O, dmu, b->n, 1, stat->o, s->O);
    if (!s->learn) return true;
    la_gemm(LA_N, LA_T, s->O, b->n, s->C, 1, s->a, s->O, dmu, b->n, 0, G, s->O);
    return kernel_gram_reverse(s->h->kernel, s->O, places(s), s->D, b->n, b->X, s->D, G, s->O, stat->kernel,
                               gradient_of_places(s, stat->Z), s->D, NULL, 0);
}

/* ------------------------------------------------------------------------------------- the rest */

/* K_uo bar = t a', and K_ou t to abar; E more by (w - b) w'. */
static bool between(svgp *s, svgp_stat *stat, double *abar)
{
    const kernel *k = s->h->kernel;
    for (int64_t c = 0; c < s->C; c++) {
        double *t = s->t + c * s->M;
        const double *w = s->w + c * s->Mt + s->p, *b = stat->b + c * s->Mt + s->p;
        for (int64_t i = 0; i < s->M; i++) t[i] = w[i] - b[i];
        if (s->learn) la_gemm_lower(LA_N, LA_T, s->M, 1, 1, t, s->M, w, s->M, 1, stat->E, s->M);
        la_trsv(LA_T, s->M, s->L, s->M, t);
    }
    if (!kernel_gram(k, s->M, s->h->Z, s->D, s->O, places(s), s->D, s->G, s->M)) return false;
    la_gemm(LA_T, LA_N, s->O, s->C, s->M, 1, s->G, s->M, s->t, s->M, 1, abar, s->O);
    if (!s->learn) return true;
    la_gemm(LA_N, LA_T, s->M, s->O, s->C, 1, s->t, s->M, s->a, s->O, 0, s->G, s->M);
    return kernel_gram_reverse(k, s->M, s->h->Z, s->D, s->O, places(s), s->D, s->G, s->M, stat->kernel, stat->Z, s->D,
                               gradient_of_places(s, stat->Z), s->D);
}

/* K_oo bar in the sampled columns: both places of an element move. */
static bool among(svgp *s, svgp_stat *stat)
{
    double scale = -0.5 * (double)s->O / (double)s->columns, *gZ = gradient_of_places(s, stat->Z);
    double *moved = gZ ? mem_zeroed(s->columns * s->D, sizeof *moved) : NULL;
    if (gZ && !moved) return false;
    la_gemm(LA_N, LA_T, s->O, s->columns, s->C, scale, s->a, s->O, s->picked + s->columns * s->D, s->columns, 0, s->G,
            s->O);
    bool ok = kernel_gram_reverse(s->h->kernel, s->O, places(s), s->D, s->columns, s->picked, s->D, s->G, s->O,
                                  stat->kernel, gZ, s->D, moved, s->D);
    for (int64_t j = 0; gZ && j < s->columns; j++) la_axpy(s->D, 1, moved + j * s->D, gZ + s->chosen[j] * s->D);
    free(moved);
    return ok;
}

bool orthogonal_gradient(svgp *s, svgp_stat *stat, double *abar)
{
    int64_t n = s->O * s->C;
    memcpy(abar, stat->o, (size_t)n * sizeof *abar);
    la_axpy(n, -1, s->Ka, abar);
    return between(s, stat, abar) && (!s->learn || among(s, stat));
}
