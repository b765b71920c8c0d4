/* Quickselect with random pivots and three-way partitioning, so that neither order nor equal numbers make it
   quadratic. */
#include "data/partition/partition_tree.h"

#include <float.h>

#include "base/random.h"

static void swap(double *a, double *b)
{
    double former = *a;
    *a = *b;
    *b = former;
}

/* The number at place k (from 0) in increasing order. */
static double select_place(int64_t n, double *t, int64_t k)
{
    random_stream s = {.use = RANDOM_BLOCKS};
    int64_t low = 0, high = n;
    for (uint64_t step = 0;; step++) {
        double pivot = t[low + random_below(s, step, high - low)];
        int64_t less = low, more = high;
        for (int64_t i = low; i < more;) {
            if (t[i] < pivot)
                swap(&t[i++], &t[less++]);
            else if (t[i] > pivot)
                swap(&t[i], &t[--more]);
            else
                i++;
        }
        if (k >= less && k < more) return pivot;
        if (k < less)
            high = less;
        else
            low = more;
    }
}

/* a <= halfway < b, in spite of rounding. */
static double halfway(double a, double b)
{
    double v = a / 2 + b / 2;
    return v >= a && v < b ? v : a;
}

double cut_between(int64_t n, double *t, int64_t target)
{
    if (target < 1) target = 1;
    if (target > n - 1) target = n - 1;
    double v = select_place(n, t, target), below = -DBL_MAX, above = DBL_MAX;
    int64_t less = 0, more = 0;
    for (int64_t i = 0; i < n; i++) {
        if (t[i] < v) {
            less++;
            if (t[i] > below) below = t[i];
        } else if (t[i] > v) {
            more++;
            if (t[i] < above) above = t[i];
        }
    }
    bool before = less > 0 && (more == 0 || target - less <= n - more - target);
    return before ? halfway(below, v) : halfway(v, above);
}
