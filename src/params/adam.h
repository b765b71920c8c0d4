/* Adam (Kingma and Ba 2015), for ascent; its whole state can be saved and restored, so that a resumed run has the same
   bits.  A coordinate whose gradient is not finite does not move in that step.
   The numbers that move are rows, each with an age of its own, so that one that joins late is corrected for its own start, not for
   the run's. */
#ifndef PARAMS_ADAM_H
#define PARAMS_ADAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "params/checkpoint.h"

typedef struct adam {
    int64_t rows, cols, room; /* room: rows there is memory for */
    double *first, *second;   /* rows x cols each: running means of the gradient and of its square */
    double *age;              /* rows: steps it has taken */
} adam;

anygp_status adam_init(adam *a, int64_t n, anygp_error *e); /* one row */
/* Rows of `cols` numbers; those at the end that are new have taken no step.  From {0} on. */
anygp_status adam_grow(adam *a, int64_t rows, int64_t cols, anygp_error *e);
void adam_clear(adam *a);
/* A step of rows first .. first + count - 1, whose numbers begin at x; upwards along scale * gradient. */
void adam_move(adam *a, int64_t first, int64_t count, double rate, const double *gradient, double scale, double *x);
static inline void adam_step(adam *a, double rate, const double *gradient, double *x)
{
    adam_move(a, 0, a->rows, rate, gradient, 1, x);
}

/* Under names that begin with `name`; restore is false where they are from another run. */
void adam_save(const adam *a, const char *name, checkpoint *to);
bool adam_restore(adam *a, const char *name, const checkpoint *from);

#endif
