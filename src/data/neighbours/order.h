/* Orders of rows: order[i] is the number of the row that comes at place i.

   maximin     the row nearest to the centre, then always the one farthest from all that came before; ties to the lower number.  Rows at
               the same place come last.  About n log n steps for few inputs, n^2 at worst, and by another metric than Euclid's (NULL)
   random      uniform
   coordinate  by the sum of the inputs
   path        the row farthest from the centre, then always the nearest of those that are left; ties to the lower number, rows that are no
               numbers last.  n^2 steps: for few */
#ifndef DATA_NEIGHBOURS_ORDER_H
#define DATA_NEIGHBOURS_ORDER_H

#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"
#include "data/neighbours/near_metric.h"

/* stop: who may end it, which then fails with fail_stopped(); NULL: nobody. */
anygp_status order_maximin(int64_t n, int64_t D, const double *X, const near_metric *by, stop_watch *stop,
                           int64_t *order, anygp_error *e);
void order_random(int64_t n, uint64_t seed, int64_t *order);
anygp_status order_coordinate(int64_t n, int64_t D, const double *X, int64_t *order, anygp_error *e);
anygp_status order_path(int64_t n, int64_t D, const double *X, int64_t *order, anygp_error *e);

#endif
