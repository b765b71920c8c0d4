/* The k nearest rows met so far; of two equally far away the one with the lower number.  A short list is kept with the nearest first; a
   long one is a heap with the farthest at the top, until near_list_finish() sorts it. */
#ifndef DATA_NEIGHBOURS_NEAR_LIST_H
#define DATA_NEIGHBOURS_NEAR_LIST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { NEAR_LIST_SHORT = 100 };

typedef struct near_list {
    int64_t k, count;
    int32_t *row;
    double *distance;
} near_list;

/* A row farther away than this cannot enter. */
static inline double near_list_worst(const near_list *l)
{
    return l->count < l->k ? INFINITY : l->distance[l->k > NEAR_LIST_SHORT ? 0 : l->k - 1];
}

static inline bool near_is_nearer(double distance, int64_t row, double than, int64_t other)
{
    return distance < than || (distance == than && row < other);
}

static inline bool near_list_nearer(const near_list *l, int64_t i, int64_t j)
{
    return near_is_nearer(l->distance[i], l->row[i], l->distance[j], l->row[j]);
}

static inline void near_list_swap(near_list *l, int64_t i, int64_t j)
{
    double d = l->distance[i];
    int32_t r = l->row[i];
    l->distance[i] = l->distance[j], l->row[i] = l->row[j];
    l->distance[j] = d, l->row[j] = r;
}

/* The first n as a heap again, after place i got a nearer row. */
static inline void near_list_sink(near_list *l, int64_t n, int64_t i)
{
    for (int64_t next; (next = 2 * i + 1) < n; i = next) {
        if (next + 1 < n && near_list_nearer(l, next, next + 1)) next++;
        if (!near_list_nearer(l, i, next)) return;
        near_list_swap(l, i, next);
    }
}

static inline void near_list_offer_heap(near_list *l, int32_t row, double distance)
{
    if (l->count == l->k) {
        if (!near_is_nearer(distance, row, l->distance[0], l->row[0])) return;
        l->distance[0] = distance, l->row[0] = row;
        near_list_sink(l, l->k, 0);
        return;
    }
    int64_t i = l->count++;
    l->distance[i] = distance, l->row[i] = row;
    for (int64_t up; i > 0 && near_list_nearer(l, up = (i - 1) / 2, i); i = up) near_list_swap(l, i, up);
}

/* Nearest first, once all rows have been offered. */
static inline void near_list_finish(near_list *l)
{
    for (int64_t n = l->count - 1; l->k > NEAR_LIST_SHORT && n > 0; n--) {
        near_list_swap(l, 0, n);
        near_list_sink(l, n, 0);
    }
}

static inline void near_list_offer(near_list *l, int32_t row, double distance)
{
    if (l->k > NEAR_LIST_SHORT) {
        near_list_offer_heap(l, row, distance);
        return;
    }
    int64_t i = l->count < l->k ? l->count : l->k - 1;
    if (l->count == l->k && (l->k == 0 || !near_is_nearer(distance, row, l->distance[i], l->row[i]))) return;
    for (; i > 0 && near_is_nearer(distance, row, l->distance[i - 1], l->row[i - 1]); i--)
        l->distance[i] = l->distance[i - 1], l->row[i] = l->row[i - 1];
    l->distance[i] = distance, l->row[i] = row;
    if (l->count < l->k) l->count++;
}

#endif
