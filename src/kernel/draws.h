/* A sequence of random numbers for one draw of a frequency vector: draw `index` has its own stretch of the stream. */
#ifndef KERNEL_DRAWS_H
#define KERNEL_DRAWS_H

#include "kernel/kind.h"

struct draws {
    random_stream stream;
    uint64_t next;
};

static inline double draw_normal(draws *r) { return random_normal(r->stream, r->next++); }
static inline double draw_uniform(draws *r) { return random_uniform(r->stream, r->next++); }
static inline double draw_sign(draws *r) { return draw_uniform(r) < 0.5 ? -1 : 1; }

double draw_gamma(draws *r, double shape);          /* unit rate */
double draw_poisson_difference(draws *r, double m); /* Poisson(m) - Poisson(m), independent */

#endif
