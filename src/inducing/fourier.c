/* fourier: weights of waves (kernel/spectral.h), the basis functions of the sparse spectrum model (003, section III-C1).  A place is a
   frequency in units of length-scales, and has two variables:
       f(x) = sum_i a_i (c_i cos w_i'x + s_i sin w_i'x),   c, s ~ N(0, I)
   so that v is white already, A = a [cos; sin], and nothing of f is left over: the residual is 0.  First all cosines, then all
   sines.
   Reverse: with phases P = W X', Pbar = A_cos Abar_sin - A_sin Abar_cos and abar = sum (A_cos Abar_cos + A_sin Abar_sin) / a,
       Wbar = Pbar X,   Xbar = Pbar' W. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inducing/inducing.h"
#include "inducing/whiten.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

enum { PIECE = 256 }; /* rows whose reverse is made at a time */

static anygp_status check(const kernel *k, anygp_error *e)
{
    spectral s;
    TRY(spectral_open(&s, k, e));
    spectral_clear(&s);
    return ANYGP_OK;
}

static anygp_status draw(const kernel *k, const char *how, uint64_t seed, int64_t M, double *Z, anygp_error *e)
{
    spectral s;
    TRY(spectral_open(&s, k, e));
    anygp_status status = spectral_draw(&s, seed, !strcmp(how, "orthogonal"), M, Z, e);
    spectral_clear(&s);
    return status;
}

static int64_t places(const inducing_set *v) { return v->set.M; }

/* Without memory the waves are cleared, and the call for features fails. */
static void bind(inducing_set *v)
{
    bool ok = v->waves.terms > 0 || !ANYGP_FAILED(spectral_open(&v->waves, v->kernel, NULL));
    if (!ok || !spectral_waves(&v->waves, v->kernel, places(v), v->set.Z)) spectral_clear(&v->waves);
}

static bool prepare(inducing_set *v, bool grow, double *jitter)
{
    (void)grow;
    v->jitter = *jitter = 0;
    return v->waves.terms > 0;
}

/* From phases in turns, in the first half of a column, to its features. */
VECTORISED static void turn(int64_t m, const double *amplitude, double *a)
{
    SIMD for (int64_t i = 0; i < m; i++) a[m + i] = amplitude[i] * sin(2 * PI * phase(a[i]));
    SIMD for (int64_t i = 0; i < m; i++) a[i] = amplitude[i] * cos(2 * PI * phase(a[i]));
}

static bool features(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *A, int64_t lda)
{
    int64_t m = places(v), D = v->D;
    if (v->waves.terms == 0) return false;
    for (int64_t j = 0; D == 0 && j < n; j++) memset(A + j * lda, 0, (size_t)m * sizeof *A);
    if (D > 0) la_gemm(LA_T, LA_N, m, n, D, 0.5 / PI, v->waves.W, D, X, ldx, 0, A, lda);
    for (int64_t j = 0; j < n; j++) turn(m, v->waves.amplitude, A + j * lda);
    return true;
}

/* Pbar in place of the first half of Abar; abar[m] accumulates. */
VECTORISED static void turn_back(int64_t m, const double *amplitude, const double *a, double d, double *Abar,
                                 double *abar)
{
    SIMD for (int64_t i = 0; i < m; i++)
    {
        double c = Abar[i] + 2 * d * a[i], s = Abar[m + i] + 2 * d * a[m + i];
        abar[i] += amplitude[i] > 0 ? (a[i] * c + a[m + i] * s) / amplitude[i] : 0;
        Abar[i] = a[i] * s - a[m + i] * c;
    }
}

/* The caller has taken the residuals' share 2 a dbar off, but a residual of 0 has none. */
static bool reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *Abar, int64_t lda,
                    const double *dbar, inducing_grad g)
{
    int64_t m = places(v), D = v->D, piece = n < PIECE ? n : PIECE;
    double *A = mem_doubles(piece, 2 * m), *Wbar = mem_zeroed(m * (D + 1), sizeof *Wbar);
    bool ok = A && Wbar;
    for (int64_t i = 0; ok && i < n; i += PIECE) {
        int64_t rows = n - i < PIECE ? n - i : PIECE;
        double *B = Abar + i * lda;
        if (!(ok = features(v, rows, X + i * ldx, ldx, A, 2 * m))) break;
        for (int64_t j = 0; j < rows; j++)
            turn_back(m, v->waves.amplitude, A + j * 2 * m, dbar ? dbar[i + j] : 0, B + j * lda, Wbar + m * D);
        if (D > 0) la_gemm(LA_N, LA_T, D, m, rows, 1, X + i * ldx, ldx, B, lda, 1, Wbar, D);
        if (D > 0 && g.X) la_gemm(LA_N, LA_N, D, rows, m, 1, v->waves.W, D, B, lda, 1, g.X + i * D, D);
    }
    if (ok) spectral_reverse(&v->waves, v->kernel, v->set.Z, Wbar, Wbar + m * D, g.kernel, g.Z);
    free(A);
    free(Wbar);
    return ok;
}

/* L is the identity whatever happens; what remains are white terms. */
static bool finish(const inducing_set *v, double *E, double white, inducing_grad g)
{
    (void)E;
    return white_reverse(v, white, g.kernel);
}

static void residual(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const double *A, int64_t lda,
                     double *d)
{
    (void)v, (void)X, (void)ldx, (void)A, (void)lda;
    memset(d, 0, (size_t)n * sizeof *d);
}

const inducing_ops inducing_fourier = {.name = "fourier",
                                       .summary = "weights of waves with random frequencies",
                                       .noun = "frequency",
                                       .nouns = "frequencies",
                                       .each = 2,
                                       .white = true,
                                       .check = check,
                                       .draw = draw,
                                       .bind = bind,
                                       .prepare = prepare,
                                       .features = features,
                                       .reverse = reverse,
                                       .finish = finish,
                                       .residual = residual};
