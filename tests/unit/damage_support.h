/* Model files with one array that is damaged: a number in it, or its shape. */
#ifndef TEST_DAMAGE_SUPPORT_H
#define TEST_DAMAGE_SUPPORT_H

#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "support.h"

enum { ROW_LESS = -1, COLUMN_LESS = -2 }; /* in the place of an index */

/* Loads a copy of the posterior's arrays, of which `name` has `value` at `at`, or one of these shapes. */
static inline anygp_status load_damaged(const model_ops *m, posterior *p, const char *name, int64_t at, double value)
{
    anygp_error e;
    array_list list = {0};
    basis mean = {0};
    kernel *k = kernel_copy(p->kernel);
    posterior *out = NULL;
    p->ops->arrays(p, &list);
    assert_int_equal(basis_copy(&p->mean, &mean, &e), ANYGP_OK);
    for (int64_t i = 0; i < list.count; i++) {
        named_array *a = &list.at[i];
        size_t bytes = (size_t)(a->rows * a->cols) * sizeof(double);
        a->values = memcpy(malloc(bytes), a->values, bytes);
        if (strcmp(a->name, name)) continue;
        a->rows -= at == ROW_LESS;
        a->cols -= at == COLUMN_LESS;
        if (at >= 0) a->values[at] = value;
    }
    anygp_status status = m->load(m, k, p->noise, &mean, p->D, list.at, list.count, &out, &e);
    if (status) kernel_free(k), basis_clear(&mean);
    if (out) out->ops->free(out);
    for (int64_t i = 0; i < list.count; i++) free(list.at[i].values);
    array_list_clear(&list);
    return status;
}

#endif
