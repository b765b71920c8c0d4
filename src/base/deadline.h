/* The wall-clock time a run may take.  Everything that takes long asks before it continues.  NULL, where a deadline is passed by
   address, means no limit.  A caller who wants the work to end is a deadline that has passed. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <stdbool.h>

#include "base/stop.h"

typedef struct deadline {
    double began;     /* clock_seconds() when the work began */
    double limit;     /* seconds from there; infinite: none */
    stop_watch *stop; /* NULL: nobody is asked */
} deadline;

double deadline_left(const deadline *d); /* seconds; negative once it has passed, infinite: no limit */
bool deadline_passed(const deadline *d);
/* Whether work of about this many seconds still ends in time. */
bool deadline_fits(const deadline *d, double seconds);
/* A deadline for this share of the remaining time. */
deadline deadline_part(const deadline *d, double share);

#endif
