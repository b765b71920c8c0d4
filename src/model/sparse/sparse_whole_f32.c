/* A whole G with rows in float; notation and equations in sparse.h, the same in double in sparse.c and sparse_reverse.c.

   In float are A = L^-1 K_uf, products and solves in which it takes part, and Abar with its reverse: all that costs M n or more per
   row of a block.  In double is what is n x n: the block's covariance, its factor L_G and inverse, Gbar with the kernel's reverse; and
   sums over blocks.  So the error of a row is that of its a, as in sparse_f32.c, here times |G^-1| instead of w/g. */
#include <string.h>

#include "base/simd.h"
#include "linalg/linalg.h"
#include "linalg/linalg_f32.h"
#include "model/sparse/sparse_parts.h"

/* Rounded: L_G with zeros above, the squares of its diagonal, a square, sums over a run of rows. */
typedef struct rounded {
    float *L, *T, *square, *sum; /* n x n, la_trsm_size(n), n x n, Mt x Mt */
    double *exact;               /* la_trsm_size(n): T before it is rounded */
} rounded;

static int64_t doubles(int64_t floats) { return (floats + 1) / 2; }

int64_t whole_room_f32(const sparse *s, int64_t n)
{
    int64_t size = la_trsm_size(n);
    return size + doubles(size) + 2 * doubles(n * n) + doubles(s->Mt * s->Mt);
}

static rounded place(int64_t n, double *room)
{
    int64_t size = la_trsm_size(n);
    double *T = room + size, *L = T + doubles(size), *square = L + doubles(n * n), *sum = square + doubles(n * n);
    return (rounded){in_float(L), in_float(T), in_float(square), in_float(sum), room};
}

static void round_factor(int64_t n, const double *G, const rounded *f)
{
    la_trsm_prepare(n, G, n, f->exact);
    la_round(la_trsm_size(n), f->exact, f->T);
    la_round(n * n, G, f->L);
}

/* C[m,m] += B A' over n rows, lower triangle: in float over DRIVER_PIECE rows at a time, as where rows stand alone. */
static void add_product(int64_t m, int64_t n, const float *B, int64_t ldb, const float *A, int64_t lda, float *sum,
                        double *C)
{
    for (int64_t j = 0; j < n; j += DRIVER_PIECE) {
        int64_t k = n - j < DRIVER_PIECE ? n - j : DRIVER_PIECE;
        la_gemm_lower_f32(LA_N, LA_T, m, k, 1, B + j * ldb, ldb, A + j * lda, lda, 0, sum, m);
        la_add_lower_mixed(m, sum, m, C, m);
    }
}

/* ----------------------------------------------------------------------------------------- forward */

anygp_status whole_forward_f32(const sparse *s, const row_block *b, whole_parts *w, double *room, anygp_error *e)
{
    int64_t n = b->n, Mt = s->Mt;
    float *A = in_float(w->A);
    rounded f = place(n, room);
    TRY(sparse_features_f32(s, b, A, e));
    TRY(whole_covariance(s, b, w->G, e));
    la_gemm_lower_f32(LA_T, LA_N, n, s->M, -1, A, Mt, A, Mt, 0, f.square, n);
    la_add_lower_mixed(n, f.square, n, w->G, n);
    TRY(whole_factor(b, w->G, e));
    la_zero_upper(n, w->G, n);
    round_factor(n, w->G, &f);
    la_trsm_prepared_f32(LA_RIGHT, LA_T, Mt, n, f.L, n, f.T, A, Mt);
    memcpy(w->y, b->y, (size_t)n * sizeof(double));
    la_trsv(LA_N, n, w->G, n, w->y);
    return ANYGP_OK;
}

void whole_sums_f32(const sparse *s, const row_block *b, const whole_parts *w, double *room, double *stat)
{
    int64_t Mt = s->Mt;
    const float *A = in_float(w->A);
    rounded f = place(b->n, room);
    add_product(Mt, b->n, A, Mt, A, Mt, f.sum, stat_S(s, stat));
    for (int64_t j = 0; j < b->n; j++) la_axpy_mixed(Mt, w->y[j], A + j * Mt, stat_b(s, stat));
}

/* ----------------------------------------------------------------------------------------- reverse */

/* R' = A L_G^-T L_G^-1, r = G^-1 y - R m, T = V R'. */
static void projections(const sparse *s, int64_t n, const whole_parts *w, const rounded *f, const whole_adjoints *to)
{
    int64_t Mt = s->Mt;
    float *R = in_float(to->R);
    memcpy(R, in_float(w->A), (size_t)(Mt * n) * sizeof *R);
    la_trsm_prepared_f32(LA_RIGHT, LA_N, Mt, n, f->L, n, f->T, R, Mt);
    memcpy(to->r, w->y, (size_t)n * sizeof(double));
    la_trsv(LA_T, n, w->G, n, to->r);
    for (int64_t j = 0; j < n; j++) to->r[j] -= la_dot_mixed(Mt, R + j * Mt, s->m);
    la_gemm_f32(LA_N, LA_N, Mt, n, Mt, 1, s->single->V, Mt, R, Mt, 0, in_float(to->T), Mt);
}

/* Gbar = (R V R' - G^-1 + r r') / 2, both triangles. */
static anygp_status inner_adjoint(const sparse *s, const row_block *b, const whole_parts *w, const rounded *f,
                                  const whole_adjoints *to, anygp_error *e)
{
    int64_t n = b->n, Mt = s->Mt;
    TRY(whole_inverse(b, w->G, to->Gbar, e));
    la_scale(n * n, -0.5, to->Gbar);
    la_gemm_lower_f32(LA_T, LA_N, n, Mt, 0.5F, in_float(to->R), Mt, in_float(to->T), Mt, 0, f->square, n);
    la_add_lower_mixed(n, f->square, n, to->Gbar, n);
    for (int64_t j = 0; j < n; j++) la_axpy(n - j, 0.5 * to->r[j], to->r + j, to->Gbar + j + j * n);
    la_mirror(n, to->Gbar, n);
    return ANYGP_OK;
}

/* t[n] = r m - t, then its first k numbers += g. */
VECTORISED static void finish_row(int64_t n, float r, const float *m, int64_t k, const float *g, float *t)
{
    SIMD for (int64_t i = 0; i < n; i++) t[i] = r * m[i] - t[i];
    SIMD for (int64_t i = 0; i < k; i++) t[i] += g[i];
}

/* Abar = -T + m r' - 2 A Gbar in T, and C -= 2 A Gbar A'; A = (A L_G^-T) L_G'. */
static void outer_adjoint(const sparse *s, int64_t n, const whole_parts *w, const rounded *f, const whole_adjoints *to,
                          double *C)
{
    int64_t Mt = s->Mt, M = s->M;
    float *A = in_float(to->R), *F = in_float(to->F), *T = in_float(to->T);
    la_gemm_f32(LA_N, LA_T, Mt, n, n, 1, in_float(w->A), Mt, f->L, n, 0, A, Mt);
    la_round(n * n, to->Gbar, f->square);
    la_gemm_f32(LA_N, LA_N, M, n, n, -2, A, Mt, f->square, n, 0, F, M);
    add_product(M, n, F, M, A, Mt, f->sum, C);
    for (int64_t j = 0; j < n; j++) finish_row(Mt, (float)to->r[j], s->single->m, M, F + j * M, T + j * Mt);
}

anygp_status whole_reverse_f32(const sparse *s, const row_block *b, const whole_parts *w, const whole_adjoints *to,
                               double *room, const adjoint_parts *a, anygp_error *e)
{
    int64_t n = b->n;
    rounded f = place(n, room);
    inducing_grad g = hyper_grad(s->h, a->gp, a->variables);
    round_factor(n, w->G, &f);
    projections(s, n, w, &f, to);
    TRY(inner_adjoint(s, b, w, &f, to, e));
    whole_noise(s, b, to->Gbar, a);
    outer_adjoint(s, n, w, &f, to, a->C);
    bool ok = kernel_gram_sym_reverse(s->h->kernel, n, b->X, s->D, to->Gbar, n, a->gp, NULL, 0) &&
              inducing_f32_reverse(&s->single->u, &s->u, n, b->X, s->D, in_float(to->T), s->Mt, true, NULL, g);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}
