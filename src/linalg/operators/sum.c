/* A_1 + ... + A_m, of one size and with the same parameters. */
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "linalg/operators/operator.h"

typedef struct sum {
    la_operator base;
    int64_t count;
    la_operator **term;
} sum;

static void sum_free(la_operator *base)
{
    sum *s = (sum *)base;
    for (int64_t i = 0; i < s->count; i++) la_operator_free(s->term[i]);
    free(s->term);
    free(s);
}

/* B[rows,cols] += C, the latter without gaps. */
static void add_block(int64_t rows, int64_t cols, const double *C, double *B, int64_t ldb)
{
    for (int64_t k = 0; k < cols; k++) la_axpy(rows, 1, C + k * rows, B + k * ldb);
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    const sum *s = (const sum *)base;
    anygp_status status = ANYGP_OK;
    double *one = mem_doubles(base->n, t);
    if (!one) return fail_memory(e, "a product", 8.0 * (double)base->n * (double)t);
    TRY_DONE(s->term[0]->ops->multiply(s->term[0], t, V, ldv, W, ldw, e));
    for (int64_t i = 1; i < s->count; i++) {
        TRY_DONE(s->term[i]->ops->multiply(s->term[i], t, V, ldv, one, base->n, e));
        add_block(base->n, t, one, W, ldw);
    }
done:
    free(one);
    return status;
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const sum *s = (const sum *)base;
    anygp_status status = ANYGP_OK;
    double *one = mem_doubles(base->n, 1);
    if (!one) return fail_memory(e, "a diagonal", 8.0 * (double)base->n);
    TRY_DONE(s->term[0]->ops->diagonal(s->term[0], d, e));
    for (int64_t i = 1; i < s->count; i++) {
        TRY_DONE(s->term[i]->ops->diagonal(s->term[i], one, e));
        la_axpy(base->n, 1, one, d);
    }
done:
    free(one);
    return status;
}

static anygp_status columns(const la_operator *base, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e)
{
    const sum *s = (const sum *)base;
    anygp_status status = ANYGP_OK;
    double *one = mem_doubles(base->n, count);
    if (!one) return fail_memory(e, "columns", 8.0 * (double)base->n * (double)count);
    TRY_DONE(s->term[0]->ops->columns(s->term[0], count, which, C, ldc, e));
    for (int64_t i = 1; i < s->count; i++) {
        TRY_DONE(s->term[i]->ops->columns(s->term[i], count, which, one, base->n, e));
        add_block(base->n, count, one, C, ldc);
    }
done:
    free(one);
    return status;
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    const sum *s = (const sum *)base;
    for (int64_t i = 0; i < s->count; i++)
        if (s->term[i]->ops->reverse) TRY(s->term[i]->ops->reverse(s->term[i], t, U, ldu, V, ldv, scale, gp, e));
    return ANYGP_OK;
}

static const la_operator_ops sum_ops = {.name = "sum",
                                        .multiply = multiply,
                                        .diagonal = diagonal,
                                        .columns = columns,
                                        .reverse = reverse,
                                        .free = sum_free};

anygp_status sum_operator_new(int64_t count, la_operator *const *terms, la_operator **out, anygp_error *e)
{
    sum *s = calloc(1, sizeof *s);
    la_operator **list = mem_alloc(count, sizeof *list);
    if (!s || !list) {
        for (int64_t i = 0; i < count; i++) la_operator_free(terms[i]);
        free(s);
        free(list);
        return fail_memory(e, "a sum of matrices", 8.0 * (double)count);
    }
    for (int64_t i = 0; i < count; i++) list[i] = terms[i];
    *s = (sum){{&sum_ops, terms[0]->n}, count, list};
    *out = &s->base;
    return ANYGP_OK;
}
