#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Targets outside this range cannot be squared safely: their variances would overflow or vanish. */
static const double TARGET_LARGEST = 1e140, TARGET_SMALLEST = 1e-140;
/* The same for inputs that are not standardised. */
static const double INPUT_LARGEST = 1e140;
/* What stands for a missing category where that is not a category of its own: equal to none. */
static const double NO_LEVEL = -1;

void dataset_clear(dataset *d)
{
    schema_clear(&d->schema);
    free(d->X);
    free(d->y);
    free(d->w);
    *d = (dataset){0};
}

/* Weighted mean and population variance in extended precision: sums of 1e308 do not overflow there.  Deviations from the
   first value are summed, so that equal values have exactly that mean and no variance. */
static void moments(int64_t n, const double *x, int64_t stride, const double *w, double *mean, long double *variance)
{
    long double sum = 0, weight = 0, squares = 0, first = n > 0 ? x[0] : 0;
    for (int64_t i = 0; i < n; i++) sum += w[i] * (x[i * stride] - first), weight += w[i];
    long double m = first + sum / weight;
    for (int64_t i = 0; i < n; i++) squares += w[i] * (x[i * stride] - m) * (x[i * stride] - m);
    *mean = (double)m;
    *variance = squares / weight;
}

static void target_moments(dataset *d)
{
    long double variance;
    moments(d->n, d->y, 1, d->w, &d->schema.y_mean, &variance);
    d->schema.y_sd = variance > 0 ? (double)sqrtl(variance) : 1;
}

/* -------------------------------------------------------------------------------------- build */

static anygp_status copy_levels(const column *from, input_spec *to, anygp_error *e)
{
    to->level = mem_zeroed(from->levels, sizeof *to->level);
    if (!to->level) return fail_memory(e, "category names", 8.0 * (double)from->levels);
    to->levels = from->levels;
    for (int64_t l = 0; l < from->levels; l++)
        if (!(to->level[l] = mem_strdup(from->level[l]))) return fail_memory(e, "category names", 0);
    return ANYGP_OK;
}

static anygp_status describe_input(const table *t, int64_t j, input_spec *c, anygp_error *e)
{
    const column *from = &t->columns[j];
    *c = (input_spec){.number = j, .position = -1, .scale = 1, .text = from->kind == COLUMN_TEXT};
    if (from->name && !(c->name = mem_strdup(from->name))) return fail_memory(e, "column names", 0);
    return c->text ? copy_levels(from, c, e) : ANYGP_OK;
}

/* Every column that is not the target, the weights or skipped. */
static anygp_status describe(const table *t, const table_part *part, schema *s, anygp_error *e)
{
    int64_t target = part->target;
    s->input = mem_zeroed(t->cols, sizeof *s->input);
    if (!s->input) return fail_memory(e, "the column list", (double)t->cols * sizeof *s->input);
    for (int64_t j = 0; j < t->cols; j++)
        if (j != target && j != part->weights && !(part->skip_column && part->skip_column[j]))
            TRY(describe_input(t, j, &s->input[s->inputs++], e));
    const char *name = t->columns[target].name;
    if (name && !(s->target = mem_strdup(name))) return fail_memory(e, "column names", 0);
    s->target_number = target;
    s->columns = t->cols;
    s->y_scale = 1;
    return ANYGP_OK;
}

/* Rows with a target and a weight, as indices into the table. */
static anygp_status usable_rows(const table *t, const table_part *part, int64_t *rows, dataset *d, anygp_error *e)
{
    int64_t target = part->target;
    for (int64_t i = 0; i < t->rows; i++) {
        const double *row = t->values + i * t->cols;
        double w = part->weights < 0 ? 1 : row[part->weights];
        if (part->skip_row && part->skip_row[i]) continue;
        if (!(w >= 0 && w <= 1e15))
            return fail_with(e, ANYGP_ERR_DATA, "row %lld has the weight %g; weights must be numbers from 0 to 1e15",
                             (long long)i + 1, w);
        if (w == 0)
            d->no_weight++;
        else if (isnan(row[target]))
            d->no_target++;
        else if (fabs(row[target]) > TARGET_LARGEST)
            return fail_with(e, ANYGP_ERR_DATA,
                             "row %lld: the target %g is too large (over %g); rescale the target column",
                             (long long)i + 1, row[target], TARGET_LARGEST);
        else
            rows[d->n++] = i;
    }
    if (d->n == 0)
        return fail_with(e, ANYGP_ERR_DATA,
                         "no row is left to learn from: of %lld, %lld have no target and %lld no weight",
                         (long long)t->rows, (long long)d->no_target, (long long)d->no_weight);
    return ANYGP_OK;
}

/* Mean of the present cells; whether all rows hold one and the same value.  Fails on a missing cell unless filling. */
static anygp_status scan_input(const table *t, const dataset *d, const int64_t *rows, input_spec *c, bool *constant,
                               anygp_error *e)
{
    const double *v = t->values + c->number;
    long double sum = 0, weight = 0;
    double first = NAN;
    bool differs = false, missing = false;
    for (int64_t r = 0; r < d->n; r++) {
        double x = v[rows[r] * t->cols];
        if (isnan(x)) {
            char label[96];
            if (!d->schema.fill_missing)
                return fail_with(
                    e, ANYGP_ERR_DATA,
                    "row %lld, column %s: the input is missing; fill it, drop the row, or use --missing mean",
                    (long long)rows[r] + 1, schema_label(c, label));
            missing = true;
            continue;
        }
        if (isnan(first)) first = x;
        differs |= x != first;
        sum += (long double)d->w[r] * x, weight += d->w[r];
    }
    c->fill = c->text ? NO_LEVEL : weight > 0 ? (double)(sum / weight) : 0;
    *constant = c->text ? !differs && !missing : !differs;
    return ANYGP_OK;
}

/* A missing category is a category of its own when missing inputs are filled. */
static anygp_status add_missing_level(input_spec *c, anygp_error *e)
{
    char **grown = realloc(c->level, (size_t)(c->levels + 1) * sizeof *grown);
    if (!grown) return fail_memory(e, "category names", 0);
    c->level = grown;
    if (!(c->level[c->levels] = mem_strdup(""))) return fail_memory(e, "category names", 0);
    c->fill = (double)c->levels++;
    return ANYGP_OK;
}

static void copy_column(const table *t, dataset *d, const int64_t *rows, const input_spec *c)
{
    const double *v = t->values + c->number;
    for (int64_t r = 0; r < d->n; r++) {
        double x = v[rows[r] * t->cols];
        d->X[r * d->D + c->position] = isnan(x) ? c->fill : x + 0.0; /* -0 becomes 0: rows merge by their bits */
    }
}

static anygp_status take_rows(const table *t, const table_part *part, const int64_t *rows, dataset *d, anygp_error *e)
{
    d->y = mem_alloc(d->n, sizeof *d->y);
    d->w = mem_alloc(d->n, sizeof *d->w);
    if (!d->y || !d->w) return fail_memory(e, "the target", 16.0 * (double)d->n);
    for (int64_t r = 0; r < d->n; r++) {
        const double *row = t->values + rows[r] * t->cols;
        d->y[r] = row[part->target];
        d->w[r] = part->weights < 0 ? 1 : row[part->weights];
        d->total += d->w[r];
    }
    return ANYGP_OK;
}

static anygp_status take_inputs(const table *t, const int64_t *rows, dataset *d, anygp_error *e)
{
    schema *s = &d->schema;
    for (int64_t j = 0; j < s->inputs; j++) {
        bool constant = true;
        TRY(scan_input(t, d, rows, &s->input[j], &constant, e));
        if (s->input[j].text && s->fill_missing) TRY(add_missing_level(&s->input[j], e));
        if (!constant) s->input[j].position = s->D++;
    }
    d->D = s->D;
    TRY(schema_index(s, e));
    size_t count;
    if (!size_mul(d->n, d->D, &count) || !(d->X = mem_alloc((int64_t)count, sizeof *d->X)))
        return fail_memory(e, "the inputs", 8.0 * (double)d->n * (double)d->D);
    for (int64_t j = 0; j < s->inputs; j++)
        if (s->input[j].position >= 0) copy_column(t, d, rows, &s->input[j]);
    return ANYGP_OK;
}

static anygp_status check_target(const column *c, anygp_error *e)
{
    if (c->kind == COLUMN_NUMBER) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "the target column%s%.80s%s is text; a regression target must be numbers",
                     c->name ? " '" : "", c->name ? c->name : "", c->name ? "'" : "");
}

anygp_status dataset_build(const table *t, const table_part *part, bool fill_missing, dataset *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    *out = (dataset){.schema.fill_missing = fill_missing};
    int64_t *rows = mem_alloc(t->rows, sizeof *rows);
    if (!rows) return fail_memory(e, "the row list", 8.0 * (double)t->rows);
    TRY_DONE(check_target(&t->columns[part->target], e));
    TRY_DONE(describe(t, part, &out->schema, e));
    TRY_DONE(usable_rows(t, part, rows, out, e));
    TRY_DONE(take_rows(t, part, rows, out, e));
    TRY_DONE(take_inputs(t, rows, out, e));
    target_moments(out);
done:
    free(rows);
    if (ANYGP_FAILED(status)) dataset_clear(out);
    return status;
}

/* -------------------------------------------------------------------------------- standardize */

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
        if (c->position < 0 || c->text) continue;
        long double variance;
        moments(d->n, d->X + c->position, d->D, d->w, &c->shift, &variance);
        sum[group[c->position]].variance += variance;
        sum[group[c->position]].columns++;
    }
    for (int64_t i = 0; i < d->schema.inputs; i++) {
        input_spec *c = &d->schema.input[i];
        if (c->position < 0 || c->text) continue;
        const group_sum *g = &sum[group[c->position]];
        double sd = (double)sqrtl(g->variance / (long double)g->columns);
        c->scale = sd > 0 && isfinite(sd) ? sd : 1;
        double *x = d->X + c->position;
        for (int64_t r = 0; r < d->n; r++) x[r * d->D] = schema_scale(x[r * d->D], c->shift, c->scale);
    }
    free(sum);
    return ANYGP_OK;
}

static anygp_status standardize_target(dataset *d, anygp_error *e)
{
    schema *s = &d->schema;
    if (s->y_sd < TARGET_SMALLEST)
        return fail_with(e, ANYGP_ERR_DATA, "the target varies by only %g; rescale the target column", s->y_sd);
    s->y_shift = s->y_mean;
    s->y_scale = s->y_sd;
    for (int64_t r = 0; r < d->n; r++) d->y[r] = schema_scale(d->y[r], s->y_shift, s->y_scale);
    return ANYGP_OK;
}

/* Inputs that stay as they are must be such that their squares are numbers. */
static anygp_status check_inputs(const dataset *d, anygp_error *e)
{
    char label[96];
    for (int64_t i = 0; i < d->n * d->D; i++)
        if (fabs(d->X[i]) > INPUT_LARGEST)
            return fail_with(e, ANYGP_ERR_DATA, "column %s has the value %g, too large to be squared; standardise it",
                             schema_label(schema_at(&d->schema, i % d->D), label), d->X[i]);
    return ANYGP_OK;
}

static anygp_status check_target_size(const dataset *d, anygp_error *e)
{
    double largest = 0;
    for (int64_t r = 0; r < d->n; r++) largest = fmax(largest, fabs(d->y[r]));
    if (largest == 0 || largest >= TARGET_SMALLEST) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "the target is at most %g; rescale the target column, or standardise it",
                     largest);
}

anygp_status dataset_standardize(dataset *d, const int64_t *group, bool inputs, bool target, anygp_error *e)
{
    TRY(inputs ? standardize_inputs(d, group, e) : check_inputs(d, e));
    return target ? standardize_target(d, e) : check_target_size(d, e);
}

void dataset_spread(const dataset *d, double *sd_x, double *rms_y)
{
    for (int64_t i = 0; i < d->schema.inputs; i++) {
        const input_spec *c = &d->schema.input[i];
        double mean;
        long double variance = 1;
        if (c->position < 0) continue;
        if (!c->text) moments(d->n, d->X + c->position, d->D, d->w, &mean, &variance);
        double sd = (double)sqrtl(variance);
        sd_x[c->position] = sd > 0 && isfinite(sd) ? sd : 1;
    }
    long double squares = 0;
    for (int64_t r = 0; r < d->n; r++) squares += (long double)d->w[r] * d->y[r] * d->y[r];
    double rms = (double)sqrtl(squares / (long double)d->total);
    *rms_y = rms > 0 ? rms : 1;
}
