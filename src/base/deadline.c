/* How much of a time limit is left. */
#include "base/deadline.h"

#include <math.h>

#include "base/clock.h"

double deadline_left(const deadline *d)
{
    return d && isfinite(d->limit) ? d->began + d->limit - clock_seconds() : INFINITY;
}

bool deadline_passed(const deadline *d) { return deadline_left(d) <= 0; }

bool deadline_fits(const deadline *d, double seconds) { return seconds <= deadline_left(d); }

deadline deadline_part(const deadline *d, double share)
{
    double left = deadline_left(d);
    if (isinf(left)) return (deadline){0, INFINITY};
    return (deadline){d->began, d->limit - (1 - share) * fmax(left, 0)};
}
