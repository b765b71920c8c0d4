/* Rows under a kernel with noise, and the operators that belong to them. */
#ifndef TEST_OPERATOR_SUPPORT_H
#define TEST_OPERATOR_SUPPORT_H

#include "dense.h"
#include "support.h"

#include "base/memory.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/precond.h"

enum { D = 2, PARAMS_MOST = 16 };

typedef struct field {
    int n;
    kernel *k;
    double noise, jitter;
    double *X, *c;
    merged rows;
    problem p;
} field;

static inline void field_open(field *f, int n, const char *expression, double noise, bool counts)
{
    kernel_input in[D];
    anygp_error e;
    *f = (field){.n = n, .noise = noise, .X = mem_doubles(n, D), .c = mem_doubles(n, 1)};
    fill_normal(7, n * D, f->X);
    for (int i = 0; i < n; i++) f->c[i] = counts ? 1 + i % 3 : 1;
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(expression, in, D, D, &f->k, &e), ANYGP_OK);
    f->rows = (merged){.n = n, .D = D, .X = f->X, .c = f->c};
    f->p = (problem){.rows = &f->rows, .seed = 3, .comm = comm_self()};
}

static inline void field_close(field *f)
{
    kernel_free(f->k);
    free(f->X);
    free(f->c);
}

static inline int64_t field_params(const field *f) { return kernel_count(f->k) + 1; }

static inline double *field_param(field *f, int64_t i)
{
    return i < kernel_count(f->k) ? kernel_values(f->k) + i : &f->noise;
}

static inline la_operator *field_tiles(field *f, double keep, bool packed)
{
    la_operator *a;
    anygp_error e;
    kernel_rows rows = {f->n, D, f->X, f->c};
    assert_int_equal(kernel_operator_new(&rows, &(kernel_operator_options){keep, NULL}, &a, &e), ANYGP_OK);
    kernel_operator_set(a, f->k, f->noise, f->jitter, packed);
    return a;
}

/* K + noise from its definition, column-major and whole. */
static inline double *field_dense(const field *f)
{
    int n = f->n;
    double *K = mem_doubles(n, n), mean = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            K[i + j * n] =
                kernel_reference(f->k, f->X + i * D, f->X + j * D, i == j) + (i == j ? f->noise / f->c[i] : 0);
    for (int i = 0; i < n; i++) mean += K[i + i * n] / n;
    for (int i = 0; i < n; i++) K[i + i * n] += f->jitter * mean;
    return K;
}

#endif
