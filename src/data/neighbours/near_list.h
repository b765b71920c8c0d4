/* The k nearest rows met so far, nearest first; of two equally far away the one with the lower number. */
#ifndef DATA_NEIGHBOURS_NEAR_LIST_H
#define DATA_NEIGHBOURS_NEAR_LIST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct near_list {
    int64_t k, count;
    int32_t *row;
    double *distance;
} near_list;

/* A row farther away than this cannot enter. */
static inline double near_list_worst(const near_list *l) { return l->count < l->k ? INFINITY : l->distance[l->k - 1]; }

static inline bool near_is_nearer(double distance, int64_t row, double than, int64_t other)
{
    return distance < than || (distance == than && row < other);
}

static inline void near_list_offer(near_list *l, int32_t row, double distance)
{
    int64_t i = l->count < l->k ? l->count : l->k - 1;
    if (l->count == l->k && (l->k == 0 || !near_is_nearer(distance, row, l->distance[i], l->row[i]))) return;
    for (; i > 0 && near_is_nearer(distance, row, l->distance[i - 1], l->row[i - 1]); i--)
        l->distance[i] = l->distance[i - 1], l->row[i] = l->row[i - 1];
    l->distance[i] = distance, l->row[i] = row;
    if (l->count < l->k) l->count++;
}

#endif
