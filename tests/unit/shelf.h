/* What a model that learns by steps saves, by name, instead of a checkpoint. */
#ifndef TEST_SHELF_H
#define TEST_SHELF_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { SHELF_PLACES = 64, SHELF_NAME = 24 };

typedef struct shelf {
    int count;
    char name[SHELF_PLACES][SHELF_NAME + 1];
    int64_t size[SHELF_PLACES];
    double *values[SHELF_PLACES];
} shelf;

static inline void shelf_put(void *ctx, const char *name, int64_t count, const double *values)
{
    shelf *k = ctx;
    assert_true(k->count < SHELF_PLACES && strlen(name) <= SHELF_NAME);
    strcpy(k->name[k->count], name);
    k->size[k->count] = count;
    k->values[k->count] = calloc((size_t)count + 1, sizeof(double));
    memcpy(k->values[k->count++], values, (size_t)count * sizeof(double));
}

static inline bool shelf_get(const void *ctx, const char *name, int64_t count, double *values)
{
    const shelf *k = ctx;
    for (int i = 0; i < k->count; i++)
        if (!strcmp(k->name[i], name) && k->size[i] == count) {
            memcpy(values, k->values[i], (size_t)count * sizeof(double));
            return true;
        }
    return false;
}

static inline void shelf_check_same(const shelf *a, const shelf *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->name[i], b->name[i]);
        assert_int_equal(a->size[i], b->size[i]);
        assert_memory_equal(a->values[i], b->values[i], (size_t)a->size[i] * sizeof(double));
    }
}

static inline void shelf_clear(shelf *k)
{
    for (int i = 0; i < k->count; i++) free(k->values[i]);
    *k = (shelf){0};
}

#endif
