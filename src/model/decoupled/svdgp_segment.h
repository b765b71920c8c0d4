/* A parameter that grows: rows of `width` numbers, with Adam's running means beside each (adam.h).  A row has its own
   age, so that one that joins late is corrected for its own start, not for the run's. */
#ifndef MODEL_DECOUPLED_SVDGP_SEGMENT_H
#define MODEL_DECOUPLED_SVDGP_SEGMENT_H

#include <stdint.h>

#include "base/error.h"

typedef struct segment {
    int64_t width, rows, room;
    double *x, *first, *second; /* rows x width each; the last two NULL before segment_begin, like age */
    double *age;                /* rows: steps it has taken */
} segment;                      /* {.width = w} to begin with */

/* Room for `rows` in all; those there are stay. */
anygp_status segment_reserve(segment *s, int64_t rows, anygp_error *e);
/* New rows at the end, of these values (NULL: zeros), which have taken no step. */
anygp_status segment_append(segment *s, int64_t rows, const double *values, anygp_error *e);
/* Room for the running means, before the first step; a parameter that never moves needs none. */
anygp_status segment_begin(segment *s, anygp_error *e);
/* One step upwards along scale * gradient[rows x width].  Numbers that are not finite do not move. */
void segment_step(segment *s, double rate, const double *gradient, double scale);
void segment_clear(segment *s);

#endif
