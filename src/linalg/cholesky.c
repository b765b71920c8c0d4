/* Cholesky with the jitter policy of docs/numerics.md, and small helpers on triangles. */
#include "linalg/linalg.h"

#include <math.h>

#include "linalg/jitter.h"

/* Columns of a transposed block fill one cache line: longer ones, a power of two apart, would evict each other. */
enum { BLOCK = 8 };

bool la_all_finite(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void restore_lower(int64_t n, double *A, int64_t lda, const double *diag)
{
    for (int64_t jb = 0; jb < n; jb += BLOCK)
        for (int64_t ib = jb; ib < n; ib += BLOCK)
            for (int64_t j = jb; j < jb + BLOCK && j < n; j++)
                for (int64_t i = ib > j ? ib : j + 1; i < ib + BLOCK && i < n; i++) A[i + j * lda] = A[j + i * lda];
    for (int64_t j = 0; j < n; j++) A[j + j * lda] = diag[j];
}

void la_zero_upper(int64_t n, double *A, int64_t lda)
{
    for (int64_t j = 1; j < n; j++)
        for (int64_t i = 0; i < j; i++) A[i + j * lda] = 0;
}

double la_logdet(int64_t n, const double *L, int64_t ldl)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += log(L[i + i * ldl]);
    return 2 * s;
}

/* dpotrf of some BLAS lets NaN through: a factor counts only if its diagonal is finite and positive. */
bool la_factor(int64_t n, double *A, int64_t lda)
{
    if (la_potrf(n, A, lda) != 0) return false;
    for (int64_t i = 0; i < n; i++)
        if (!(A[i + i * lda] > 0 && isfinite(A[i + i * lda]))) return false;
    return true;
}

bool la_cholesky_scaled(int64_t n, double *A, int64_t lda, double scale, double relative, double *diag, double *jitter)
{
    *jitter = relative * scale;
    if (n == 0) return true;
    if (!(isfinite(scale) && scale > 0)) return false;
    for (int64_t i = 0; i < n; i++) diag[i] = A[i + i * lda];
    la_mirror(n, A, lda);
    for (double r = relative;; r = jitter_next(r)) {
        *jitter = r * scale;
        for (int64_t i = 0; i < n; i++) A[i + i * lda] += *jitter;
        if (la_factor(n, A, lda)) return true;
        if (r > JITTER_MOST) return false;
        restore_lower(n, A, lda, diag);
    }
}

bool la_cholesky(int64_t n, double *A, int64_t lda, double relative, double *diag, double *jitter)
{
    double mean = 0;
    for (int64_t i = 0; i < n; i++) mean += A[i + i * lda] / (double)n;
    return la_cholesky_scaled(n, A, lda, mean, relative, diag, jitter);
}
