/* A whole problem for the exact model, on the rows of a field. */
#ifndef TESTS_UNIT_EXACT_CASE_H
#define TESTS_UNIT_EXACT_CASE_H

#include "operator_support.h"

#include "model/model.h"

enum { ROWS_MOST = 400 };

/* A whole problem: rows with targets, a prior mean, hyperparameters. */
typedef struct case_ {
    field f;
    basis mean;
    hyper h;
    dataset data;
    merged rows;
    problem p;
    likelihood like;
    input_spec columns[D];
    int64_t group[ROWS_MOST], at[D];
    double y[ROWS_MOST];
} case_;

static inline void case_open(case_ *c, int n, const char *kernel_text, double noise, bool counts, mean_kind mean)
{
    anygp_error e;
    *c = (case_){0};
    field_open(&c->f, n, kernel_text, noise, counts);
    fill_normal(21, n, c->y);
    for (int i = 0; i < n; i++) c->y[i] = sin(2 * c->f.X[i * D]) + 0.5 * c->f.X[i * D + 1] + 0.3 * c->y[i];
    for (int j = 0; j < D; j++) c->columns[j] = (input_spec){.number = j, .position = j, .scale = 1}, c->at[j] = j;
    for (int i = 0; i < n; i++) c->group[i] = i;
    c->data = (dataset){.n = n, .used = n, .D = D, .X = c->f.X, .y = c->y, .w = c->f.c};
    c->data.schema = (schema){.inputs = D, .D = D, .input = c->columns, .at = c->at, .y_scale = 1, .y_sd = 1};
    c->rows = (merged){.n = n, .D = D, .X = c->f.X, .y = c->y, .c = c->f.c, .data = &c->data, .group = c->group};
    c->rows.plain = !counts, c->rows.SS = counts ? 1.7 : 0;
    for (int i = 0; i < n; i++) {
        c->rows.total += c->f.c[i], c->rows.extra += c->f.c[i] - 1;
        c->rows.log_c += log(c->f.c[i]);
    }
    assert_int_equal(hyper_init(&c->h, kernel_copy(c->f.k), noise, false, false, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&c->mean, mean, &c->data.schema, 2.5, &e), ANYGP_OK);
    assert_int_equal(likelihood_with_noise(noise, &c->like, &e), ANYGP_OK);
    c->p = (problem){.rows = &c->rows, .mean = &c->mean, .seed = 4, .comm = comm_self(), .likelihood = &c->like};
}

static inline void case_close(case_ *c)
{
    hyper_clear(&c->h);
    basis_clear(&c->mean);
    field_close(&c->f);
}

#endif
