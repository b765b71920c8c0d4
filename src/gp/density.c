/* The predictive density of given targets, and the probability of smaller ones: what scores are made of, a row at a time. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/special.h"
#include "gp/labelled_arrays.h"

static const double CLASS_LEAST = 1e-15; /* as in the log loss [predict/scores.h] */

typedef struct density {
    predictor *p;
    const gp *g;
    observer o;
    likelihood seen;
    double *X, *y, *exposure, *Y; /* of a block; y in data units, for classes the index; Y as the likelihood has it */
    double *P;                    /* probabilities of classes; of a normal, mean and variance */
} density;

static void density_close(density *d)
{
    double *const owned[] = {d->X, d->y, d->exposure, d->Y, d->P};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status density_open(density *d, int64_t room, anygp_error *e)
{
    int64_t D = d->g->schema.D, K = gp_is_class(d->g) ? d->g->schema.classes : gp_is_normal(d->g) ? 2 : 0;
    d->o = gp_observer(d->g, false);
    if (gp_is_gaussian(d->g)) gp_see_width(d->g, &d->o, &d->seen);
    if (d->g->likelihood->ops->target == TARGET_COUNT) /* for an exposure each, whether the fit had them or not */
        d->seen = *d->o.like, d->seen.columns = 2, d->o.like = &d->seen;
    d->X = mem_doubles(room, D);
    d->y = mem_doubles(room, 1);
    d->exposure = mem_doubles(room, 1);
    d->Y = mem_doubles(room, d->o.like->columns);
    d->P = mem_doubles(room, K);
    return d->X && d->y && d->exposure && d->Y && d->P
               ? ANYGP_OK
               : fail_memory(e, "densities", 8.0 * (double)room * (double)(D + K + 4));
}

/* Raw rows into model units; all of them have a target. */
static anygp_status take_rows(density *d, const labelled_arrays *a, int64_t first, int64_t n, anygp_error *e)
{
    for (int64_t i = 0; i < n; i++) {
        const double *row = a->cells + i * a->wide;
        double y[2] = {0, 1}, weight;
        row_use use;
        if (!isfinite(row[a->inputs]))
            return fail_with(e, ANYGP_ERR_DATA, "y[%lld] is %g; a density is that of a number", (long long)(first + i),
                             row[a->inputs]);
        TRY(row_units_take(&a->units, &d->g->schema, first + i, row, d->X + i * a->units.D, y, &weight, &use, e));
        d->y[i] = y[0], d->exposure[i] = row[a->inputs + 2];
    }
    return ANYGP_OK;
}

static anygp_status of_normal(density *d, const row_batch *b, double *log_density, double *cdf, anygp_error *e)
{
    double *mean = d->P, *variance = mean + b->n;
    TRY(predictor_run(d->p, b, false, mean, variance, e));
    for (int64_t i = 0; i < b->n; i++) {
        double sd = score_sd(variance[i], d->g->schema.y_sd), z = (d->y[i] - mean[i]) / sd;
        if (log_density) log_density[i] = fmax(-0.5 * LOG_2PI - log(sd) - 0.5 * z * z, -DBL_MAX);
        if (cdf) cdf[i] = normal_cdf(z);
    }
    return ANYGP_OK;
}

static void of_classes(density *d, const latents *f, double *log_density)
{
    observe_classes(&d->o, f, d->P, f->n);
    for (int64_t i = 0; i < f->n; i++) log_density[i] = log(fmax(d->P[i + (int64_t)d->y[i] * f->n], CLASS_LEAST));
}

static void of_numbers(density *d, const latents *f, const double *exposure, double *log_density, double *cdf)
{
    int64_t columns = d->o.like->columns;
    for (int64_t i = 0; i < f->n; i++) observe_target(&d->o, d->y[i], d->exposure[i], d->Y + i * columns);
    if (log_density) observe_density(&d->o, f, d->Y, log_density);
    for (int64_t i = 0; log_density && i < f->n; i++) /* a distance whose square is beyond doubles */
        if (log_density[i] < -DBL_MAX) log_density[i] = -DBL_MAX;
    for (int64_t i = 0; i < f->n; i++) d->y[i] = d->Y[i * columns];
    if (cdf) observe_cdf(&d->o, f, d->y, exposure, cdf);
}

static anygp_status of_observed(density *d, const row_batch *b, double *log_density, double *cdf, anygp_error *e)
{
    latents f;
    TRY(predictor_latents(d->p, b, true, &f, e));
    if (gp_is_class(d->g))
        of_classes(d, &f, log_density);
    else
        of_numbers(d, &f, b->exposure, log_density, cdf);
    return ANYGP_OK;
}

/* One block: n rows from the first. */
static anygp_status of_block(density *d, labelled_arrays *a, int64_t first, int64_t n, double *log_density, double *cdf,
                             anygp_error *e)
{
    labelled_arrays_take(a, first, n);
    TRY(take_rows(d, a, first, n, e));
    row_batch b = {.n = n, .X = d->X, .number = {first, NULL}, .exposure = a->exposure ? d->exposure : NULL};
    TRY((gp_is_normal(d->g) ? of_normal : of_observed)(d, &b, log_density, cdf, e));
    if (log_density) TRY(predictor_check(&b, n, log_density, e));
    return cdf ? predictor_check(&b, n, cdf, e) : ANYGP_OK;
}

anygp_status predictor_density(predictor *p, const gp *g, labelled_arrays *a, double *log_density, double *cdf,
                               anygp_error *e)
{
    density d = {.p = p, .g = g};
    anygp_status status;
    if (cdf && gp_is_class(g))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "classes have no order, and so no distribution function; pass NULL for it");
    TRY_DONE(density_open(&d, a->room, e));
    for (int64_t i = 0; i < a->n; i += a->room) {
        int64_t n = a->n - i < a->room ? a->n - i : a->room;
        TRY_DONE(of_block(&d, a, i, n, log_density ? log_density + i : NULL, cdf ? cdf + i : NULL, e));
    }
done:
    density_close(&d);
    return status;
}
