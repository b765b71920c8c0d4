/* The time a run may take, by the wall clock.  Whatever takes long asks before it goes on.  NULL, where a deadline is taken by
   its address, is no limit. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <stdbool.h>

typedef struct deadline {
    double began; /* clock_seconds() when the work began */
    double limit; /* seconds from there; infinite: none */
} deadline;

double deadline_left(const deadline *d); /* seconds; negative once it has passed, infinite: no limit */
bool deadline_passed(const deadline *d);
/* Whether what takes about so many seconds still ends in time. */
bool deadline_fits(const deadline *d, double seconds);
/* What may take this share of the time that is left. */
deadline deadline_part(const deadline *d, double share);

#endif
