/* Equations in tight.h.  Tiles (i, j) of K: threads and ranks take rows i of tiles each and all j for them, so that a tile of
   T K' has one owner; u_i'u_j and the kernel's reverse are symmetric and done for j <= i only. */
#include "model/sparse/tight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

enum { TILE = 256 };

struct tight {
    const problem *p;
    int64_t n, D, Mt;
    double *X, *w;     /* all rows */
    double *A, *U, *T; /* Mt x n; T is Abar after the gain */
    double *sums;      /* value, gp of the kernel, T K' (Mt x n): what ranks add up */
    double noise;      /* adjoint */
    int64_t params;
};

/* ---------------------------------------------------------------------------------- open, close */

double tight_bytes(double n, double D, double Mt)
{
    double tiles = (double)TILE * (2 * TILE + Mt) * threads_max();
    return 8.0 * (n * (4 * Mt + D + 1) + tiles);
}

bool tight_is_little(double n, double Mt, int64_t targets) { return n * n * Mt * (double)targets < 2e10; }

void tight_close(tight *t)
{
    if (!t) return;
    double *const owned[] = {t->X, t->w, t->A, t->U, t->T, t->sums};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(t);
}

static anygp_status count_rows(tight *t, anygp_error *e)
{
    block_buffer buffer = {0};
    row_block b;
    anygp_status status = ANYGP_OK;
    for (int64_t i = 0; i < t->p->blocks->count && !ANYGP_FAILED(status); i++) {
        status = blocks_get(t->p->blocks, i, &buffer, &b, e);
        if (!ANYGP_FAILED(status)) t->n += b.n;
    }
    block_buffer_clear(&buffer);
    return status;
}

static anygp_status copy_rows(tight *t, anygp_error *e)
{
    block_buffer buffer = {0};
    row_block b;
    anygp_status status = ANYGP_OK;
    for (int64_t i = 0, at = 0; i < t->p->blocks->count && !ANYGP_FAILED(status); i++) {
        status = blocks_get(t->p->blocks, i, &buffer, &b, e);
        if (ANYGP_FAILED(status)) break;
        memcpy(t->X + at * t->D, b.X, (size_t)(b.n * t->D) * sizeof *t->X);
        memcpy(t->w + at, b.w, (size_t)b.n * sizeof *t->w);
        at += b.n;
    }
    block_buffer_clear(&buffer);
    return status;
}

anygp_status tight_open(const problem *p, const sparse *s, tight **out, anygp_error *e)
{
    anygp_status status;
    tight *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(e, "the rows", sizeof *t);
    *t = (tight){.p = p, .D = s->D, .Mt = s->Mt, .params = hyper_kernel_params(s->h)};
    TRY_DONE(count_rows(t, e));
    t->X = mem_doubles(t->n, t->D);
    t->w = mem_alloc(t->n, sizeof *t->w);
    t->A = mem_doubles(t->Mt, t->n);
    t->U = mem_doubles(t->Mt, t->n);
    t->T = mem_doubles(t->Mt, t->n);
    t->sums = mem_alloc(1 + t->params + t->Mt * t->n, sizeof *t->sums);
    if (!t->X || !t->w || !t->A || !t->U || !t->T || !t->sums) {
        status = fail_memory(e, "the rows and their products with the inducing inputs",
                             tight_bytes((double)t->n, (double)p->blocks->D, (double)t->Mt));
        goto done;
    }
    TRY_DONE(copy_rows(t, e));
done:
    if (ANYGP_FAILED(status))
        tight_close(t);
    else
        *out = t;
    return status;
}

/* ---------------------------------------------------------------------------------------- tiles */

/* For one thread. */
typedef struct tile_work {
    double *K, *P, *gp, value;
    bool failed;
} tile_work;

/* K'_ij, rows i0 .. and j0 .. */
static bool scaled_tile(const tight *t, const sparse *s, int64_t i0, int64_t ni, int64_t j0, int64_t nj, double *K)
{
    if (!kernel_gram(s->h->kernel, ni, t->X + i0 * t->D, t->D, nj, t->X + j0 * t->D, t->D, K, TILE)) return false;
    for (int64_t j = 0; j < nj; j++)
        for (int64_t i = 0; i < ni; i++) K[i + j * TILE] *= sqrt(t->w[i0 + i] * t->w[j0 + j]) / s->noise;
    return true;
}

/* Adjoint of K from K'bar = U'U / 2; tiles off the diagonal count twice. */
static bool reverse_tile(const tight *t, const sparse *s, int64_t i0, int64_t ni, int64_t j0, int64_t nj, tile_work *w)
{
    double times = (i0 == j0 ? 0.5 : 1) / s->noise;
    for (int64_t j = 0; j < nj; j++)
        for (int64_t i = 0; i < ni; i++) w->P[i + j * TILE] *= times * sqrt(t->w[i0 + i] * t->w[j0 + j]);
    return kernel_gram_reverse(s->h->kernel, ni, t->X + i0 * t->D, t->D, nj, t->X + j0 * t->D, t->D, w->P, TILE, w->gp,
                               NULL, 0, NULL, 0);
}

static bool one_tile(const tight *t, const sparse *s, int64_t i0, int64_t j0, bool gradient, tile_work *w)
{
    int64_t ni = t->n - i0 < TILE ? t->n - i0 : TILE, nj = t->n - j0 < TILE ? t->n - j0 : TILE, Mt = t->Mt;
    if (j0 > i0 && !gradient) return true;
    if (!scaled_tile(t, s, i0, ni, j0, nj, w->K)) return false;
    if (gradient) /* T K', columns of i */
        la_gemm(LA_N, LA_T, Mt, ni, nj, 1, t->T + j0 * Mt, Mt, w->K, TILE, 1, t->sums + 1 + t->params + i0 * Mt, Mt);
    if (j0 > i0) return true;
    la_gemm(LA_T, LA_N, ni, nj, Mt, 1, t->U + i0 * Mt, Mt, t->U + j0 * Mt, Mt, 0, w->P, TILE);
    for (int64_t j = 0; j < nj; j++) w->value += (j0 < i0 ? 2 : 1) * la_dot(ni, w->K + j * TILE, w->P + j * TILE);
    return !gradient || reverse_tile(t, s, i0, ni, j0, nj, w);
}

static void tile_rows(const tight *t, const sparse *s, int64_t first, int64_t step, bool gradient, tile_work *w)
{
    w->K = mem_doubles(TILE, TILE);
    w->P = mem_doubles(TILE, TILE);
    w->gp = mem_zeroed(t->params, sizeof *w->gp);
    w->failed = !w->K || !w->P || !w->gp;
    for (int64_t i = first * TILE; i < t->n && !w->failed; i += step * TILE)
        for (int64_t j = 0; j < t->n && !w->failed; j += TILE) w->failed = !one_tile(t, s, i, j, gradient, w);
}

/* Fills t->sums.  Threads are added in their order, so the same number of them gives the same bits. */
static anygp_status all_tiles(tight *t, const sparse *s, bool gradient, anygp_error *e)
{
    const comm *c = t->p->comm;
    int threads = threads_max();
    int64_t size = 1 + (gradient ? t->params + t->Mt * t->n : 0);
    double failed = 0;
    tile_work *work = calloc((size_t)threads, sizeof *work);
    if (!work) return fail_memory(e, "kernel tiles", 0);
    memset(t->sums, 0, (size_t)size * sizeof *t->sums);
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        int id = threads > 1 ? threads_id() : 0;
        tile_rows(t, s, c->rank + (int64_t)id * c->size, (int64_t)threads * c->size, gradient, &work[id]);
    }
    la_serial_end(threads);
    for (int k = 0; k < threads; k++) {
        t->sums[0] += work[k].value, failed += work[k].failed;
        if (gradient && work[k].gp) la_axpy(t->params, 1, work[k].gp, t->sums + 1);
        free(work[k].K);
        free(work[k].P);
        free(work[k].gp);
    }
    free(work);
    TRY(c->sum(c->ctx, 1, &failed, e));
    return failed > 0 ? fail_memory(e, "kernel tiles", 0) : c->sum(c->ctx, size, t->sums, e);
}

/* ----------------------------------------------------------------------------------------- gain */

/* A, U = B^-1 A and T = B^-T U; B the factor of I + S. */
static anygp_status make_products(tight *t, const sparse *s, const double *B, anygp_error *e)
{
    int64_t Mt = t->Mt, n = t->n;
    TRY(basis_features(&s->u, s->mean, n, t->X, t->D, t->A, t->A + s->M, e));
    for (int64_t j = 0; j < n; j++) la_scale(Mt, sqrt(t->w[j] / s->noise), t->A + j * Mt);
    memcpy(t->U, t->A, (size_t)(Mt * n) * sizeof *t->U);
    la_trsm(LA_LEFT, LA_N, Mt, n, 1, B, Mt, t->U, Mt);
    memcpy(t->T, t->U, (size_t)(Mt * n) * sizeof *t->T);
    la_trsm(LA_LEFT, LA_T, Mt, n, 1, B, Mt, t->T, Mt);
    return ANYGP_OK;
}

/* |B^-1 S_M|^2; leaves B^-T B^-1 S_M = T A_M' in s->work (Mt x M). */
static double taken_off(sparse *s, const double *S, const double *B)
{
    int64_t Mt = s->Mt, M = s->M;
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = 0; i < Mt; i++) s->work[i + j * Mt] = i >= j ? S[i + j * Mt] : S[j + i * Mt];
    la_trsm(LA_LEFT, LA_N, Mt, M, 1, B, Mt, s->work, Mt);
    double sum = la_dot(Mt * M, s->work, s->work);
    la_trsm(LA_LEFT, LA_T, Mt, M, 1, B, Mt, s->work, Mt);
    return sum;
}

/* Abar in place of T; E and the adjoint of the noise get their shares. */
static void make_Abar(tight *t, sparse *s)
{
    int64_t Mt = t->Mt, n = t->n, M = s->M;
    double *TD = t->sums + 1 + t->params, *G = s->work, trace = 0;
    la_gemm(LA_N, LA_N, Mt, n, M, -1, s->work, Mt, t->A, Mt, 1, TD, Mt);
    la_gemm(LA_N, LA_T, Mt, Mt, n, 1, TD, Mt, t->A, Mt, 0, G, Mt);
    la_gemm(LA_N, LA_N, Mt, n, Mt, -1, G, Mt, t->T, Mt, 1, TD, Mt); /* T D R */
    for (int64_t j = 0; j < n; j++) {
        la_axpy(M, 1, t->T + j * Mt, TD + j * Mt);
        la_axpy(M, -1, t->A + j * Mt, TD + j * Mt);
    }
    la_gemm(LA_N, LA_T, Mt, Mt, n, 1, TD, Mt, t->A, Mt, 0, G, Mt);
    for (int64_t j = 0; j < Mt; j++) trace += G[j + j * Mt];
    for (int64_t j = 0; j < M; j++) la_axpy(M, 1, G + j * Mt, s->E + j * Mt);
    t->noise = -0.5 * (trace + t->sums[0]) / s->noise;
}

anygp_status tight_gain(tight *t, sparse *s, const double *stat, bool gradient, double *gain, anygp_error *e)
{
    const double *B = s->form == FORM_JOINT ? s->B : s->J;
    TRY(make_products(t, s, B, e));
    TRY(all_tiles(t, s, gradient, e));
    double off = taken_off(s, stat_S(s, (double *)stat), B);
    *gain = 0.5 * (t->sums[0] - off);
    if (gradient) make_Abar(t, s);
    return isfinite(*gain) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}

anygp_status tight_reverse(const tight *t, const sparse *s, double *adjoint, anygp_error *e)
{
    adjoint_parts a = adjoint_place(s, adjoint);
    double *Abar = t->sums + 1 + t->params;
    la_axpy(t->params, 1, t->sums + 1, a.gp);
    *a.noise += t->noise;
    for (int64_t j = 0; j < t->n; j++) la_scale(t->Mt, sqrt(t->w[j] / s->noise), Abar + j * t->Mt);
    row_block all = {.n = t->n, .X = t->X};
    return reverse_features(s, &all, Abar, NULL, &a, e);
}

/* ---------------------------------------------------------------------------- beside another bound */

bool tight_is_quick(const problem *p, const sparse *s)
{
    double n = p->blocks->total, Mt = (double)s->Mt, bytes = tight_bytes(n, (double)p->blocks->D, Mt);
    return tight_is_little(n, Mt, s->targets) && (p->memory <= 0 || bytes < TIGHT_SHARE * p->memory);
}

anygp_status tight_bound(const problem *p, sparse *s, const double *stat, double *tighter, anygp_error *e)
{
    tight *t = NULL;
    double vfe, gain = 0;
    sparse_form form = s->form;
    TRY(tight_open(p, s, &t, e));
    s->form = FORM_JOINT;
    bool ok = sparse_evidence(s, stat, false, &vfe);
    anygp_status status = ok ? tight_gain(t, s, stat, false, &gain, e) : ANYGP_OK;
    s->form = form;
    *tighter = ok ? vfe + gain : NAN;
    tight_close(t);
    return status;
}
