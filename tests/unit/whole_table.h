/* The other road to what rows_scan() gives: all used rows of a table at once, column by column, by the definitions. */
#ifndef TEST_WHOLE_TABLE_H
#define TEST_WHOLE_TABLE_H

#include <math.h>
#include <stdlib.h>

#include "data/rows/rows.h"
#include "data/table/dataset_targets.h"
#include "data/table/intake.h"

/* Rows that are not held out and have all targets and a weight, as indices into the table. */
static inline void whole_used(const table *t, const rows_part *p, int64_t *rows, dataset *d)
{
    for (int64_t i = 0; i < t->rows; i++) {
        const double *row = t->values + i * t->cols;
        bool missing = false;
        for (int64_t k = 0; k < p->y.targets; k++) missing |= isnan(row[p->y.target[k]]) != 0;
        if (rows_held(p->seed, i, p->hold_out)) continue;
        bool no_weight = p->y.weights >= 0 && row[p->y.weights] == 0;
        d->no_weight += no_weight, d->no_target += missing && !no_weight;
        if (missing || no_weight) continue;
        rows[d->n++] = i;
        d->digest += intake_digest(row, t->cols, i);
    }
    d->used = d->n;
}

/* Two passes in extended precision. */
static inline column_moments whole_moments(int64_t n, const double *x, int64_t stride, const double *w)
{
    long double sum = 0, weight = 0, squares = 0, first = x[0];
    double largest = 0;
    for (int64_t i = 0; i < n; i++) sum += w[i] * (x[i * stride] - first), weight += w[i];
    long double m = first + sum / weight;
    for (int64_t i = 0; i < n; i++) squares += w[i] * (x[i * stride] - m) * (x[i * stride] - m);
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i * stride]) > fabs(largest)) largest = x[i * stride];
    return (column_moments){.mean = (double)m, .variance = squares / weight, .largest = largest};
}

static inline void whole_targets(const table *t, const rows_part *p, const int64_t *rows, dataset *d)
{
    class_set *seen = calloc((size_t)d->targets, sizeof *seen);
    class_codes *codes = NULL;
    for (int64_t k = 0; p->y.classes && k < d->targets; k++)
        for (int64_t r = 0; r < d->n; r++)
            assert_int_equal(
                class_set_add(&seen[k], t->values[rows[r] * t->cols + p->y.target[k]], dataset_target(d, k), NULL), 0);
    if (p->y.classes) assert_int_equal(dataset_settle_classes(d, t->columns, seen, NULL), 0);
    assert_int_equal(target_codes_make(d, t->columns, &p->y, &codes, NULL), 0);
    for (int64_t r = 0; r < d->n; r++) {
        const double *row = t->values + rows[r] * t->cols;
        targets_take(&p->y, codes, row, d->y + r * d->Q);
        d->total += d->w[r] = p->y.weights < 0 ? 1 : row[p->y.weights];
    }
    for (int64_t k = 0; !p->y.classes && k < d->targets; k++)
        dataset_take_target(d, k, whole_moments(d->n, d->y + k * (d->Q / d->targets), d->Q, d->w));
    target_codes_free(codes, d->targets);
    class_sets_free(seen, d->targets);
}

/* Mean, whether cells differ and whether some are missing decide what becomes of an input. */
static inline void whole_describe(const table *t, const int64_t *rows, int64_t j, dataset *d)
{
    long double sum = 0, weight = 0;
    double first = NAN;
    bool differs = false, missing = false;
    for (int64_t r = 0; r < d->n; r++) {
        double x = t->values[rows[r] * t->cols + d->schema.input[j].number];
        missing |= isnan(x) != 0;
        if (isnan(x)) continue;
        if (isnan(first)) first = x;
        differs |= x != first;
        sum += (long double)d->w[r] * x, weight += d->w[r];
    }
    double mean = weight > 0 ? (double)(sum / weight) : 0;
    assert_int_equal(intake_input(&d->schema, j, mean, differs, missing, NULL), 0);
}

static inline void whole_inputs(const table *t, const int64_t *rows, dataset *d)
{
    for (int64_t j = 0; j < d->schema.inputs; j++) whole_describe(t, rows, j, d);
    d->D = d->schema.D;
    assert_int_equal(schema_index(&d->schema, NULL), 0);
    d->X = calloc((size_t)(d->n * d->D + 1), sizeof *d->X);
    d->x_moments = calloc((size_t)(d->D + 1), sizeof *d->x_moments);
    for (int64_t k = 0; k < d->D; k++) {
        const input_spec *c = schema_at(&d->schema, k);
        for (int64_t r = 0; r < d->n; r++)
            d->X[r * d->D + k] = intake_cell(t->values[rows[r] * t->cols + c->number], c->fill);
        d->x_moments[k] = c->text ? (column_moments){.variance = 1} : whole_moments(d->n, d->X + k, d->D, d->w);
    }
}

static inline dataset whole_table(const table *t, const rows_part *p, bool fill)
{
    dataset d = {.schema.fill_missing = fill};
    int64_t *rows = calloc((size_t)t->rows, sizeof *rows);
    assert_int_equal(dataset_take_columns(&d, t->columns, t->cols, &p->y, p->skip_column, NULL), 0);
    whole_used(t, p, rows, &d);
    assert_true(d.n > 0);
    d.y = calloc((size_t)(d.n * d.Q), sizeof *d.y);
    d.w = calloc((size_t)d.n, sizeof *d.w);
    whole_targets(t, p, rows, &d);
    whole_inputs(t, rows, &d);
    free(rows);
    return d;
}

#endif
