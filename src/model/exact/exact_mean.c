/* A prior mean's share in the log evidence, from solutions with Ky (exact.h). */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/exact/exact.h"

bool exact_mean_of_solutions(const exact_solutions *m, double *terms)
{
    int64_t n = m->n, p = m->p;
    const double *x = m->X, *XH = x + n, *r = m->residual, *RH = r + n;
    *terms = 0;
    memcpy(m->alpha, x, (size_t)n * sizeof *x);
    if (p == 0) return true;
    la_gemm_lower(LA_T, LA_N, p, n, 1, m->H, n, XH, n, 0, m->R, p);
    la_gemm_lower(LA_T, LA_N, p, n, 1, XH, n, RH, n, 1, m->R, p);
    for (int64_t k = 0; k < p; k++) m->R[k + k * p] += 1 / m->B;
    if (!la_factor(p, m->R, p)) return false;
    la_gemv(LA_T, n, p, 1, m->H, n, x, 0, m->b);
    la_gemv(LA_T, n, p, 1, XH, n, r, 1, m->b);
    la_trsv(LA_N, p, m->R, p, m->b);
    *terms = la_logdet(p, m->R, p) + (double)p * log(m->B) - la_dot(p, m->b, m->b);
    la_trsv(LA_T, p, m->R, p, m->b);
    la_gemv(LA_N, n, p, -1, XH, n, m->b, 1, m->alpha);
    memcpy(m->W, XH, (size_t)(n * p) * sizeof *XH);
    la_trsm(LA_RIGHT, LA_T, n, p, 1, m->R, p, m->W, n);
    return true;
}
