/* Adam (Kingma and Ba 2015), for ascent; its whole state can be saved and restored, so that a resumed run has the same
   bits.  A coordinate whose gradient is not finite does not move in that step. */
#ifndef PARAMS_ADAM_H
#define PARAMS_ADAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "params/checkpoint.h"

typedef struct adam {
    int64_t n, t;
    double *first, *second; /* n each: running means of the gradient and of its square */
} adam;

anygp_status adam_init(adam *a, int64_t n, anygp_error *e);
void adam_clear(adam *a);
void adam_step(adam *a, double rate, const double *gradient, double *x);
/* The t-th step, from 1, for n numbers whose running means the caller keeps; upwards along scale * gradient. */
void adam_move(int64_t n, double t, double rate, const double *gradient, double scale, double *first, double *second,
               double *x);

/* Whether steps can have led to these running means: no mean of squares is negative, or small beside the square of the mean. */
bool adam_means_are_sound(int64_t n, const double *first, const double *second);

/* Under names that begin with `name`; restore is false where they are from another run. */
void adam_save(const adam *a, const char *name, checkpoint *to);
bool adam_restore(adam *a, const char *name, const checkpoint *from);

#endif
