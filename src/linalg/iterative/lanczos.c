/* Quadrature from Lanczos' tridiagonal matrix (lanczos.h). */
#include "linalg/iterative/lanczos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const double UNKNOWN = 0.1; /* of the smallest eigenvalue of T */

/* T[k,k], lower, from the coefficients; `end`, unless NaN, is a further diagonal element. */
static void fill(int64_t steps, const double *alpha, const double *beta, double end, int64_t k, double *T)
{
    memset(T, 0, (size_t)(k * k) * sizeof *T);
    for (int64_t j = 0; j < steps; j++) {
        T[j + j * k] = 1 / alpha[j] + (j ? beta[j - 1] / alpha[j - 1] : 0);
        if (j + 1 < k) T[j + 1 + j * k] = sqrt(beta[j]) / alpha[j];
    }
    if (k > steps) T[steps + steps * k] = end;
}

/* e_1'log(T)e_1, and the same of its square; NaN where an eigenvalue is not positive. */
static double log_of(int64_t k, double *T, double *w, double *work, double *square, double *smallest)
{
    double sum = 0;
    *square = 0;
    if (la_eigh(k, T, k, w, work) != 0 || !(w[0] > 0)) return NAN;
    for (int64_t i = 0; i < k; i++) {
        double weight = T[i * k] * T[i * k], value = log(w[i]);
        sum += weight * value, *square += weight * value * value;
    }
    *smallest = w[0];
    return sum;
}

/* The last diagonal element that gives T, one larger, the eigenvalue `node`: node + delta_k, (T - node) delta = eta^2 e_k. */
static double radau_end(int64_t steps, const double *alpha, const double *beta, double node)
{
    double pivot = 1 / alpha[0] - node; /* of the factorisation of T - node */
    for (int64_t j = 1; j < steps; j++)
        pivot = 1 / alpha[j] + beta[j - 1] / alpha[j - 1] - node - beta[j - 1] / (alpha[j - 1] * alpha[j - 1]) / pivot;
    double eta2 = beta[steps - 1] / (alpha[steps - 1] * alpha[steps - 1]);
    return node + eta2 / pivot;
}

log_quadrature lanczos_log(int64_t steps, const double *alpha, const double *beta, double norm2, double least)
{
    log_quadrature q = {NAN, NAN, NAN, NAN};
    int64_t k = steps + 1;
    if (steps == 0 || norm2 == 0) return norm2 == 0 ? (log_quadrature){0, 0, 0, NAN} : q;
    double *T = mem_doubles(k, k), *w = mem_doubles(k, 1), *work = mem_alloc(la_eigh_work(k), sizeof *work), ignored[2];
    if (T && w && work) {
        fill(steps, alpha, beta, NAN, steps, T);
        q.upper = q.lower = norm2 * log_of(steps, T, w, work, &q.square, &q.smallest);
        q.square *= norm2;
        double node = least > 0 ? fmin(least, q.smallest * (1 - 1e-12)) : UNKNOWN * q.smallest;
        if (beta[steps - 1] > 0 && isfinite(q.upper)) {
            fill(steps, alpha, beta, radau_end(steps, alpha, beta, node), k, T);
            double lower = norm2 * log_of(k, T, w, work, &ignored[0], &ignored[1]);
            if (isfinite(lower)) q.lower = fmin(lower, q.upper);
        }
    }
    free(T);
    free(w);
    free(work);
    return q;
}
