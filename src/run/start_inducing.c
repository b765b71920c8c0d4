/* Starting values where inducing inputs stand between the rows and the function. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "run/start.h"

enum { VARIANCE_ROWS = 1000 };

/* Mean of k(x, x) - |L^-1 k_u(x)|^2 over n rows X, and in *prior that of k(x, x); L[M,M] and A[M,n] are workspace.  0 where
   K_uu has no factor. */
static double variance_left(const hyper *h, int64_t n, const double *X, double *L, double *A, double *diag,
                            double *prior)
{
    int64_t M = h->M, D = h->D;
    double added, left = 0;
    *prior = 0;
    if (!kernel_gram_sym(h->kernel, M, h->Z, D, L, M) || !la_cholesky(M, L, M, 1e-8, diag, &added)) return 0;
    if (!kernel_gram(h->kernel, M, h->Z, D, n, X, D, A, M)) return 0;
    la_trsm(LA_LEFT, LA_N, M, n, 1, L, M, A, M);
    kernel_diag(h->kernel, n, X, D, diag);
    for (int64_t j = 0; j < n; j++) {
        left += fmax(diag[j] - la_dot(M, A + j * M, A + j * M), 0) / (double)n;
        *prior += diag[j] / (double)n;
    }
    return left;
}

anygp_status start_left_by_inducing(const problem *p, const hyper *h, double *left, double *share, anygp_error *e)
{
    merged few = {0};
    double prior = 0;
    TRY(start_subset(p, VARIANCE_ROWS, &few, e));
    int64_t n = few.n, M = h->M;
    double *L = mem_doubles(M, M), *A = mem_doubles(M, n), *diag = mem_alloc(M > n ? M : n, sizeof *diag);
    bool ok = L && A && diag;
    *left = ok ? variance_left(h, n, few.X, L, A, diag, &prior) : 0;
    *share = prior > 0 ? *left / prior : 0;
    free(L);
    free(A);
    free(diag);
    merged_clear(&few);
    return ok ? ANYGP_OK : fail_memory(e, "the start", 8.0 * (double)M * (double)(M + n));
}

/* A variance, or a scale, of what the target has beyond the function; learned from a start that the user did not give. */
static bool is_spread(const param_facts *p) { return p->free && !p->given && !p->real && p->power > 0; }

void start_noise_of_inducing(hyper *h, double left)
{
    for (int64_t i = 0; i < h->likes; i++) {
        const param_facts *p = hyper_facts(h, hyper_kernel_params(h) + i);
        if (is_spread(p)) h->like[i] = fmax(h->like[i], p->power == 2 ? left : sqrt(left));
    }
}
