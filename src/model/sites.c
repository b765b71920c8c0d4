/* Rows of any likelihood under a joint Gaussian prior (sites.h). */
#include "model/sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"

enum { ROUNDS_MOST = 60 };
static const double CLOSE = 1e-9, RHO = 0.5;

typedef struct sites {
    const likelihood *l;
    int64_t n, C;
    const double *m, *K;
    double *d, *lambda, *nu;       /* n x C */
    double *mu, *var, *dmu, *dvar; /* n x C */
    double *B, *R;                 /* n x n: I + lambda^1/2 K lambda^1/2 = J J', later J; J^-1 lambda^1/2 K */
    double logdet;                 /* of all B */
} sites;

static anygp_status sites_open(sites *s, anygp_error *e)
{
    int64_t cells = s->n * s->C;
    s->nu = mem_zeroed(5 * cells, sizeof(double));
    s->B = mem_doubles(s->n, s->n);
    s->R = mem_doubles(s->n, s->n);
    if (!s->nu || !s->B || !s->R) return fail_memory(e, "the new rows", 16.0 * (double)(s->n * s->n));
    s->mu = s->nu + cells, s->var = s->mu + cells, s->dmu = s->var + cells, s->dvar = s->dmu + cells;
    memset(s->d, 0, (size_t)cells * sizeof(double));
    memset(s->lambda, 0, (size_t)cells * sizeof(double));
    return ANYGP_OK;
}

static void sites_close(sites *s)
{
    free(s->nu);
    free(s->B);
    free(s->R);
}

/* d, mean and variances of latent c from its sites.  False: no factor. */
static bool solve_latent(sites *s, int64_t c)
{
    int64_t n = s->n;
    const double *K = s->K + c * n * n, *m = s->m + c * n, *lambda = s->lambda + c * n, *nu = s->nu + c * n;
    double *d = s->d + c * n, *mu = s->mu + c * n, *var = s->var + c * n, *B = s->B, *R = s->R;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double k = i >= j ? K[i + j * n] : K[j + i * n];
            R[i + j * n] = sqrt(lambda[i]) * k;
            if (i >= j) B[i + j * n] = sqrt(lambda[i] * lambda[j]) * k + (i == j);
        }
    if (!la_factor(n, B, n)) return false;
    s->logdet += la_logdet(n, B, n);
    for (int64_t i = 0; i < n; i++) d[i] = nu[i] - lambda[i] * m[i];
    la_gemv(LA_N, n, n, 1, R, n, d, 0, mu); /* d - lambda^1/2 B^-1 lambda^1/2 K d */
    la_trsv(LA_N, n, B, n, mu);
    la_trsv(LA_T, n, B, n, mu);
    for (int64_t i = 0; i < n; i++) d[i] -= sqrt(lambda[i]) * mu[i];
    la_trsm(LA_LEFT, LA_N, n, n, 1, B, n, R, n);
    for (int64_t j = 0; j < n; j++) var[j] = fmax(K[j + j * n] - la_dot(n, R + j * n, R + j * n), 0);
    memcpy(mu, m, (size_t)n * sizeof *mu);
    la_symm(LA_LEFT, n, 1, 1, K, n, d, n, 1, mu, n);
    return true;
}

static bool solve(sites *s)
{
    s->logdet = 0;
    for (int64_t c = 0; c < s->C; c++)
        if (!solve_latent(s, c)) return false;
    return true;
}

/* A natural step of size rho; returns how far the sites moved, relative to their size. */
static double move(sites *s, double rho)
{
    double change = 0, size = 1e-300;
    for (int64_t i = 0; i < s->n * s->C; i++) {
        double lambda = fmax(-2 * s->dvar[i], 0), nu = lambda * s->mu[i] + s->dmu[i], before = s->nu[i];
        s->lambda[i] += rho * (lambda - s->lambda[i]);
        s->nu[i] += rho * (nu - s->nu[i]);
        change = fmax(change, fabs(s->nu[i] - before));
        size = fmax(size, fabs(s->nu[i]));
    }
    return change / size;
}

/* log N(y; m, K + noise / w), each row w times: from B and d, where lambda = w / noise. */
static double gaussian_density(const sites *s, const double *Y, const double *w)
{
    double sum = -s->logdet, noise = s->l->value[0];
    for (int64_t i = 0; i < s->n; i++) sum -= (Y[i] - s->m[i]) * s->d[i] + log(noise / w[i]) + LOG_2PI;
    return sum / 2;
}

anygp_status sites_find(const likelihood *l, int64_t n, const double *Y, const double *w, const double *m,
                        const double *K, const double *var, double *d, double *lambda, double *density, anygp_error *e)
{
    sites s = {.l = l, .n = n, .C = l->latents, .m = m, .K = K, .d = d, .lambda = lambda};
    double unused[LIKELIHOOD_PARAMS] = {0}, moved = INFINITY, value = 0;
    bool exact = likelihood_is_gaussian(l), ok = true;
    anygp_status status = sites_open(&s, e);
    for (int k = 0; !ANYGP_FAILED(status) && k < ROUNDS_MOST && moved > CLOSE; k++) {
        if (!(ok = solve(&s))) break;
        double now = l->ops->expect(l, n, Y, w, s.mu, var ? var : s.var, n,
                                    (random_stream){0, RANDOM_LIKELIHOOD, (uint64_t)k}, 0, s.dmu, s.dvar, unused);
        if (k == 0) value = now;
        moved = move(&s, exact ? 1 : RHO);
        if (exact) moved = 0;
    }
    if (!ANYGP_FAILED(status) && (!ok || !solve(&s)))
        status = fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of the new rows is not positive definite");
    if (!ANYGP_FAILED(status)) *density = exact ? gaussian_density(&s, Y, w) : value;
    sites_close(&s);
    return status;
}
