/* How much of a time limit is left. */
#include "base/deadline.h"

#include <math.h>

#include "base/clock.h"
#include "base/threads.h"

bool stop_heard(stop_watch *w)
{
    int heard = 0;
    if (!w) return false;
#pragma omp atomic read
    heard = w->heard;
    if (heard || threads_id() != 0 || !stop_asked(&w->poll)) return heard;
#pragma omp atomic write
    w->heard = 1;
    return true;
}

double deadline_left(const deadline *d)
{
    if (d && stop_heard(d->stop)) return -INFINITY;
    return d && isfinite(d->limit) ? d->began + d->limit - clock_seconds() : INFINITY;
}

bool deadline_passed(const deadline *d) { return deadline_left(d) <= 0; }

bool deadline_fits(const deadline *d, double seconds) { return seconds <= deadline_left(d); }

deadline deadline_part(const deadline *d, double share)
{
    double left = deadline_left(d);
    if (left == INFINITY) return (deadline){0, INFINITY, d ? d->stop : NULL};
    if (left < 0) return *d;
    return (deadline){d->began, d->limit - (1 - share) * left, d->stop};
}
