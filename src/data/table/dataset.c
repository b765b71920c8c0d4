/* The rows of a table as models see them: checked, coded, standardised. */
#include "data/table/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/table/dataset_targets.h"
#include "data/table/intake.h"

/* Inputs that are not standardised: larger ones cannot be squared safely. */
static const double INPUT_LARGEST = 1e140;

void dataset_clear(dataset *d)
{
    schema_clear(&d->schema);
    for (int64_t t = 1; d->further && t < d->targets; t++) schema_clear(&d->further[t - 1].schema);
    free(d->further);
    free(d->X);
    free(d->y);
    free(d->w);
    free(d->number);
    free(d->x_moments);
    *d = (dataset){0};
}

/* Weighted mean and population variance in extended precision: sums of 1e308 do not overflow there.  Deviations from the
   first value are summed, so that equal values have exactly that mean and no variance. */
static column_moments moments(int64_t n, const double *x, int64_t stride, const double *w)
{
    long double sum = 0, weight = 0, squares = 0, first = n > 0 ? x[0] : 0;
    double largest = 0;
    for (int64_t i = 0; i < n; i++) sum += w[i] * (x[i * stride] - first), weight += w[i];
    long double m = first + sum / weight;
    for (int64_t i = 0; i < n; i++) squares += w[i] * (x[i * stride] - m) * (x[i * stride] - m);
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i * stride]) > fabs(largest)) largest = x[i * stride];
    return (column_moments){.mean = (double)m, .variance = squares / weight, .largest = largest};
}

static double sd_or_one(long double variance)
{
    double sd = (double)sqrtl(variance);
    return sd > 0 && isfinite(sd) ? sd : 1;
}

/* -------------------------------------------------------------------------------- standardize */

/* Its columns to mean 0, with one scale for all, which is also that of lengths of its inputs. */
static void standardize_sphere(dataset *d)
{
    sphere_spec *s = &d->schema.sphere;
    long double variance = 0;
    if (!s->on) return;
    for (int k = 0; k < SPHERE_COLUMNS; k++) {
        s->shift[k] = d->x_moments[s->at + k].mean;
        variance += d->x_moments[s->at + k].variance / SPHERE_COLUMNS;
    }
    s->scale = sd_or_one(variance);
    d->schema.input[s->lon].scale = d->schema.input[s->lat].scale = s->scale;
    for (int64_t r = 0; r < d->n; r++)
        for (int k = 0; k < SPHERE_COLUMNS; k++) {
            double *x = d->X + r * d->D + s->at + k;
            *x = schema_scale(*x, s->shift[k], s->scale);
        }
}

/* Number columns to mean 0.  The common scale of a group is the root of the mean variance of its columns. */
static anygp_status standardize_inputs(dataset *d, const int64_t *group, anygp_error *e)
{
    typedef struct group_sum {
        long double variance;
        int64_t columns;
    } group_sum;
    group_sum *sum = mem_zeroed(d->D, sizeof *sum);
    if (!sum) return fail_memory(e, "column scales", (double)d->D * sizeof *sum);
    for (int64_t i = 0; i < d->schema.inputs; i++) {
        input_spec *c = &d->schema.input[i];
        if (c->position < 0 || c->text || sphere_takes(&d->schema.sphere, i)) continue;
        c->shift = d->x_moments[c->position].mean;
        sum[group[c->position]].variance += d->x_moments[c->position].variance;
        sum[group[c->position]].columns++;
    }
    for (int64_t i = 0; i < d->schema.inputs; i++) {
        input_spec *c = &d->schema.input[i];
        if (c->position < 0 || c->text || sphere_takes(&d->schema.sphere, i)) continue;
        const group_sum *g = &sum[group[c->position]];
        c->scale = sd_or_one(g->variance / (long double)g->columns);
        double *x = d->X + c->position;
        for (int64_t r = 0; r < d->n; r++) x[r * d->D] = schema_scale(x[r * d->D], c->shift, c->scale);
    }
    free(sum);
    standardize_sphere(d);
    return ANYGP_OK;
}

/* " 'name'" where there are several. */
static const char *which_target(const dataset *d, int64_t t, char buffer[100])
{
    char label[96];
    if (d->targets > 1)
        snprintf(buffer, 100, " %s", schema_target_label(dataset_target(d, t), label));
    else
        buffer[0] = 0;
    return buffer;
}

static anygp_status standardize_target(dataset *d, int64_t t, anygp_error *e)
{
    schema *s = dataset_target_schema(d, t);
    column_moments moments_y = dataset_target_moments(d, t);
    double sd = moments_y.variance > 0 ? (double)sqrtl(moments_y.variance) : 1;
    char which[100];
    if (sd < TARGET_SMALLEST)
        return fail_with(e, ANYGP_ERR_DATA, "the target%s varies by only %g; rescale the target column",
                         which_target(d, t, which), sd);
    s->y_shift = moments_y.mean;
    s->y_scale = sd;
    double *y = d->y + t * (d->Q / d->targets);
    for (int64_t r = 0; r < d->n; r++) y[r * d->Q] = schema_scale(y[r * d->Q], s->y_shift, s->y_scale);
    return ANYGP_OK;
}

/* Inputs that stay as they are must be such that their squares are numbers. */
static anygp_status check_inputs(const dataset *d, anygp_error *e)
{
    char label[96];
    for (int64_t j = 0; j < d->D; j++)
        if (fabs(d->x_moments[j].largest) > INPUT_LARGEST)
            return fail_with(e, ANYGP_ERR_DATA, "column %s has the value %g, too large to be squared; standardise it",
                             schema_label(schema_at(&d->schema, j), label), d->x_moments[j].largest);
    return ANYGP_OK;
}

static anygp_status check_target_size(const dataset *d, int64_t t, anygp_error *e)
{
    double largest = fabs(dataset_target_moments(d, t).largest);
    char which[100];
    if (largest == 0 || largest >= TARGET_SMALLEST) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "the target%s is at most %g; rescale the target column, or standardise it",
                     which_target(d, t, which), largest);
}

anygp_status dataset_standardize(dataset *d, const int64_t *group, bool inputs, bool target, anygp_error *e)
{
    TRY(inputs ? standardize_inputs(d, group, e) : check_inputs(d, e));
    for (int64_t t = 0; t < d->targets; t++)
        if (dataset_target(d, t)->classes == 0) TRY(target ? standardize_target(d, t, e) : check_target_size(d, t, e));
    return ANYGP_OK;
}

/* In model units: of the rows themselves, or where they are a sample, from what is known of all. */
static long double variance_now(const dataset *d, int64_t j, double scale)
{
    if (d->n >= d->used) return moments(d->n, d->X + j, d->D, d->w).variance;
    return d->x_moments[j].variance / ((long double)scale * scale);
}

static long double mean_square_now(const dataset *d)
{
    const schema *s = &d->schema;
    long double squares = 0, shift = (long double)d->y_moments.mean - s->y_shift;
    if (s->classes > 0) return 1;
    if (d->n < d->used) return (d->y_moments.variance + shift * shift) / ((long double)s->y_scale * s->y_scale);
    for (int64_t r = 0; r < d->n; r++) {
        double y = d->y[r * dataset_numbers(d)];
        squares += (long double)d->w[r] * y * y;
    }
    return squares / (long double)d->total;
}

/* One size for all its columns: the root of their mean variance. */
static void spread_sphere(const sphere_spec *s, double *sd_x)
{
    double square = 0;
    for (int k = 0; s->on && k < SPHERE_COLUMNS; k++) square += sd_x[s->at + k] * sd_x[s->at + k] / SPHERE_COLUMNS;
    for (int k = 0; s->on && k < SPHERE_COLUMNS; k++) sd_x[s->at + k] = sqrt(square);
}

void dataset_spread(const dataset *d, double *sd_x, double *rms_y)
{
    for (int64_t j = 0; j < d->D; j++) {
        const input_spec *c = schema_at(&d->schema, j);
        sd_x[j] = c->text ? 1 : sd_or_one(variance_now(d, j, c->scale));
    }
    spread_sphere(&d->schema.sphere, sd_x);
    double rms = (double)sqrtl(mean_square_now(d));
    *rms_y = rms > 0 ? rms : 1;
}
