/* A look at a fit of counts: rates as large or as small as the likelihoods allow tell nothing about the rows; they are the sign
   of a count, a weight or an exposure that is out of proportion to the others. */
#include <stdlib.h>

#include "base/memory.h"
#include "gp/fit_blocks.h"

enum { ROWS_MOST = 1024 };

/* Exposures of n rows of target t, from what the sample has of y. */
static const double *exposures(const dataset *d, const likelihood *l, int64_t t, int64_t n, double *to)
{
    int64_t Q = dataset_numbers(d);
    if (l->columns < 2) return NULL;
    for (int64_t i = 0; i < n; i++) to[i] = d->y[i * Q + t * l->columns + 1];
    return to;
}

/* How many of the first n rows of the sample have such a rate. */
static anygp_status count(const gp *g, const dataset *d, int64_t t, int64_t n, int64_t *found, anygp_error *e)
{
    const posterior *p = g->posterior;
    const likelihood *l = g->likelihood;
    int64_t cells = n * gp_components(g);
    double *work = mem_alloc(p->ops->work_doubles(p, n), sizeof *work), *room = mem_alloc(2 * cells + 3 * n, 8);
    anygp_status status = work && room ? ANYGP_OK : fail_memory(e, "the rates", 8.0 * (double)(2 * cells + 3 * n));
    double *mu = room, *var = mu + cells, *mean = var + cells, *variance = mean + n;
    if (!ANYGP_FAILED(status)) status = p->ops->marginal(p, n, d->X, d->D, work, mu, var, e);
    if (!ANYGP_FAILED(status)) {
        const latents f = {n, mu, var, n, gp_components(g), n, NULL};
        mixture_moments(l, &f, exposures(d, l, t, n, variance + n), mean, variance);
        for (int64_t i = 0; i < n; i++) *found += likelihood_at_bound(l, mean[i]);
    }
    free(work);
    free(room);
    return status;
}

void fit_warn_of_rates(const fit_task *f, const dataset *d, const gp *g, int64_t t)
{
    anygp_error e;
    int64_t n = d->n < ROWS_MOST ? d->n : ROWS_MOST, found = 0;
    if (g->likelihood->ops->target != TARGET_COUNT) return;
    if (ANYGP_FAILED(count(g, d, t, n, &found, &e)) || found == 0) return;
    settings_log(
        f->s, ANYGP_WARNING,
        "at %lld of %lld rows the rate is at the bound of what can be computed, exp(300) or exp(-300): look for "
        "counts, weights or exposures that are out of proportion",
        (long long)found, (long long)n);
}
