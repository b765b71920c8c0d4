/* Eigenvalues without LAPACK: cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, 8.5), which are accurate and short,
   at about ten times the cost of LAPACK's. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"

enum { SWEEPS_MOST = 60 };

int64_t la_eigh_work(int64_t n) { return n > 0 ? n * n : 1; }

/* A <- J' A J and V <- V J for the rotation in the plane (p, q) that makes A_pq zero.  A is kept whole. */
static void rotate(int64_t n, double *A, int64_t lda, double *V, int64_t p, int64_t q)
{
    double *ap = A + p * lda, *aq = A + q * lda, *vp = V + p * n, *vq = V + q * n;
    double theta = (aq[q] - ap[p]) / (2 * aq[p]);
    double t = copysign(1, theta) / (fabs(theta) + hypot(1, theta)), c = 1 / hypot(1, t), s = t * c;
    for (int64_t i = 0; i < n; i++) {
        double x = ap[i], y = aq[i];
        ap[i] = c * x - s * y, aq[i] = s * x + c * y;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = A[p + i * lda], y = A[q + i * lda];
        A[p + i * lda] = c * x - s * y, A[q + i * lda] = s * x + c * y;
        x = vp[i], y = vq[i];
        vp[i] = c * x - s * y, vq[i] = s * x + c * y;
    }
}

/* One sweep; false when nothing was left to rotate: every element off the diagonal is below `small`. */
static bool sweep(int64_t n, double *A, int64_t lda, double *V, double small)
{
    bool any = false;
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            if (fabs(A[p + q * lda]) <= small) continue;
            rotate(n, A, lda, V, p, q);
            A[p + q * lda] = A[q + p * lda] = 0; /* but for rounding */
            any = true;
        }
    return any;
}

/* The columns of V in ascending order of w, into A. */
static void sort_into(int64_t n, double *w, double *V, double *A, int64_t lda)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t least = k;
        for (int64_t j = k + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        double low = w[least];
        w[least] = w[k], w[k] = low;
        memcpy(A + k * lda, V + least * n, (size_t)n * sizeof *A);
        if (least != k) memcpy(V + least * n, V + k * n, (size_t)n * sizeof *V);
    }
}

int64_t la_eigh(int64_t n, double *A, int64_t lda, double *w, double *work)
{
    la_mirror(n, A, lda);
    for (int64_t j = 0; j < n; j++)
        if (!la_all_finite(n, A + j * lda)) return 1;
    for (int64_t i = 0; i < n * n; i++) work[i] = i % (n + 1) == 0;
    double norm = 0;
    for (int64_t j = 0; j < n; j++) norm = hypot(norm, la_norm(n, A + j * lda));
    int sweeps = 0;
    while (sweeps < SWEEPS_MOST && sweep(n, A, lda, work, DBL_EPSILON / 4 * norm)) sweeps++;
    for (int64_t j = 0; j < n; j++) w[j] = A[j + j * lda];
    sort_into(n, w, work, A, lda);
    return sweeps < SWEEPS_MOST ? 0 : 1;
}
