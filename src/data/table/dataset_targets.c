/* The targets of a dataset, one after the other or all at once. */
#include "data/table/dataset_targets.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/table/intake.h"

schema *dataset_target_schema(dataset *d, int64_t t) { return t == 0 ? &d->schema : &d->further[t - 1].schema; }

const schema *dataset_target(const dataset *d, int64_t t) { return t == 0 ? &d->schema : &d->further[t - 1].schema; }

column_moments dataset_target_moments(const dataset *d, int64_t t)
{
    return t == 0 ? d->y_moments : d->further[t - 1].moments;
}

void dataset_take_target(dataset *d, int64_t t, column_moments y)
{
    schema *s = dataset_target_schema(d, t);
    *(t == 0 ? &d->y_moments : &d->further[t - 1].moments) = y;
    s->y_mean = y.mean;
    s->y_sd = y.variance > 0 ? (double)sqrtl(y.variance) : 1;
}

void dataset_take_transformed(dataset *d, int64_t t, column_moments g, double log_slope)
{
    *(t == 0 ? &d->y_moments : &d->further[t - 1].moments) = g;
    dataset_target_schema(d, t)->y_log_slope = log_slope;
}

/* The inputs of the first, the target of t. */
anygp_status dataset_schema(const dataset *d, int64_t t, schema *out, anygp_error *e)
{
    schema whole = *dataset_target(d, t);
    whole.inputs = d->schema.inputs;
    whole.input = d->schema.input;
    whole.D = d->schema.D;
    whole.sphere = d->schema.sphere;
    return schema_copy(&whole, out, e);
}

anygp_status dataset_take_columns(dataset *d, const column *columns, int64_t cols, const target_columns *y,
                                  const bool *skip_column, anygp_error *e)
{
    TRY(intake_columns(columns, cols, y, skip_column, &d->schema, e));
    d->further = mem_zeroed(y->targets - 1, sizeof *d->further);
    if (!d->further) return fail_memory(e, "the targets", (double)y->targets * sizeof *d->further);
    d->targets = y->targets;
    d->Q = target_numbers(y);
    for (int64_t t = 1; t < d->targets; t++) {
        schema *s = dataset_target_schema(d, t);
        s->fill_missing = d->schema.fill_missing;
        TRY(intake_target(columns, cols, y, t, s, e));
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------- classes */

column_moments class_moments(const schema *s)
{
    return (column_moments){.variance = 1, .largest = (double)(s->classes - 1)};
}

anygp_status dataset_settle_classes(dataset *d, const column *columns, const class_set *seen, anygp_error *e)
{
    for (int64_t t = 0; t < d->targets; t++) {
        schema *s = dataset_target_schema(d, t);
        TRY(class_set_settle(&seen[t], &columns[s->target_number], s, e));
        dataset_take_target(d, t, class_moments(s));
    }
    return ANYGP_OK;
}

void class_sets_free(class_set *seen, int64_t targets)
{
    for (int64_t t = 0; seen && t < targets; t++) class_set_clear(&seen[t]);
    free(seen);
}

anygp_status target_codes_make(const dataset *d, const column *columns, const target_columns *y, class_codes **out,
                               anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    *out = NULL;
    if (!y->classes) return ANYGP_OK;
    class_codes *codes = mem_zeroed(y->targets, sizeof *codes);
    if (!codes) return fail_memory(e, "the classes", (double)y->targets * sizeof *codes);
    for (int64_t t = 0; t < y->targets && !ANYGP_FAILED(status); t++)
        status = class_codes_make(dataset_target(d, t), &columns[y->target[t]], &codes[t], e);
    if (ANYGP_FAILED(status))
        target_codes_free(codes, y->targets);
    else
        *out = codes;
    return status;
}

void target_codes_free(class_codes *codes, int64_t targets)
{
    for (int64_t t = 0; codes && t < targets; t++) class_codes_clear(&codes[t]);
    free(codes);
}

void targets_take(const target_columns *y, const class_codes *codes, const double *row, double *to)
{
    for (int64_t t = 0; t < y->targets; t++) {
        double cell = row[y->target[t]];
        *to++ = codes ? (double)class_code(&codes[t], cell) : cell;
        if (target_width(y) > 1) *to++ = y->exposure < 0 ? 1 : row[y->exposure];
    }
}
