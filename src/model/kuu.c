#include "model/kuu.h"

#include "linalg/linalg.h"

bool kuu_factor(const hyper *h, int64_t M, bool grow, double *jitter, double *L, double *T, double *work)
{
    double white = kernel_white(h->kernel), mean = 0, added;
    if (!kernel_gram_sym(h->kernel, M, h->Z, h->D, L, M)) return false;
    for (int64_t i = 0; i < M; i++) mean += (L[i + i * M] -= white) / (double)M;
    if (grow) {
        if (!la_cholesky(M, L, M, *jitter, work, &added)) return false;
        *jitter = mean > 0 ? added / mean : 0;
    } else {
        for (int64_t i = 0; i < M; i++) L[i + i * M] += *jitter * mean;
        if (!la_factor(M, L, M)) return false;
    }
    la_zero_upper(M, L, M);
    la_trsm_prepare(M, L, M, T);
    return true;
}

bool kuu_white_reverse(const hyper *h, double g, double *gp)
{
    double minus = -g;
    if (!kernel_has_white(h->kernel)) return true;
    kernel_diag_reverse(h->kernel, 1, h->Z, h->D, &minus, gp, NULL, 0);
    return kernel_gram_sym_reverse(h->kernel, 1, h->Z, h->D, &g, 1, gp, NULL, 0);
}

double kuu_bar(int64_t M, const double *L, const double *T, double jitter, double *E)
{
    double trace = 0, share = 0;
    la_congruence(M, L, M, T, E, M);
    for (int64_t j = 0; j < M; j++) la_scale(M - j, -0.5, E + j + j * M);
    for (int64_t i = 0; i < M; i++) share += jitter * E[i + i * M] / (double)M;
    for (int64_t i = 0; i < M; i++) trace += E[i + i * M] += share;
    return trace;
}
