/* Parameters by name: everything that is learned, in segments.
   A param_segment is a table of numbers with a name: "kernel", "noise", "Z", "layer2.kernel".  Each has natural values p (model units), which
   models and kernels read, and takes part in two vectors, in the order of the list:
       gradients    of the natural values, as models make them: all of a param_segment with facts, another one only where it is learned
       u            what an optimiser moves: p = lower + exp(u) for positive ones, p = u for real ones, p = u times a unit for bulk
   The weak prior is log p ~ N(mean, sd^2) for each learned p, p ~ N(mean, sd^2) for real ones; bulk has none.
   Pack, unpack, chain rule, prior, copies and the question whether all is finite walk the list, so a model with more parameters is a
   model with more segments.
   A segment has what its steps have left behind (adam.h), and may grow: new rows at its end have taken no step. */
#ifndef PARAMS_PARAMS_H
#define PARAMS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "params/adam.h"

/* What is known about one number. */
typedef struct param_facts {
    double lower, prior_mean, prior_sd;
    double scale;    /* the size of its natural unit: 1 for standardised data, else taken from the data */
    int64_t follows; /* 1 + the number of the segment that it always equals, and then it is not free; 0: none */
    bool free;
    bool real;  /* of any sign: u = p */
    bool given; /* the user gave its value */
    int power;  /* for a likelihood: its unit is that of y to this power */
} param_facts;

enum { SEGMENT_NAME = 32 };

typedef struct param_segment {
    char name[SEGMENT_NAME];
    int64_t rows, cols; /* row-major */
    double *values;     /* the kernel's, or its own */
    kernel *kernel;     /* its own, whose parameters these are; NULL: none */
    param_facts *facts; /* of each number, its own; NULL: bulk, which is real and has no prior */
    double *unit;       /* bulk: cols of them, its own: u has the values in these; NULL: 1 */
    bool tied;          /* some of its numbers follow others */
    bool learned;       /* bulk: all of it, or nothing */
    bool grows;         /* bulk: rows may be appended */
    int64_t room;       /* rows there is memory for, where they were */
    adam adam;          /* of its numbers; without memory before the first step */
} param_segment;

typedef struct param_list {
    param_segment *at;
    int64_t count;
    bool prior; /* whether the weak prior counts */
} param_list;

static inline int64_t param_segment_size(const param_segment *s) { return s->rows * s->cols; }

/* Appends s, or puts it in the place of the one of its name.  Takes over what s owns, on failure too. */
anygp_status params_put(param_list *p, param_segment s, anygp_error *e);
/* The segment of a kernel's parameters, which is taken over; free unless `fix` or fixed in its expression. */
anygp_status params_put_kernel(param_list *p, const char *name, kernel *k, bool fix, anygp_error *e);
/* Bulk: a copy of values[rows,cols]; unit: cols of them, copied, or NULL. */
anygp_status params_put_bulk(param_list *p, const char *name, int64_t rows, int64_t cols, const double *values,
                             const double *unit, bool learned, anygp_error *e);
param_segment *params_find(const param_list *p, const char *name);
anygp_status params_copy(const param_list *from, param_list *to, anygp_error *e);
void params_clear(param_list *p);

/* Segments named in the list, with commas between, stay as they are.  `groups`: words that mean something to others, in the same form. */
anygp_status params_fix(param_list *p, const char *list, const char *groups, anygp_error *e);

/* --------------------------------------------------------------------------- one segment [segment.c] */

param_segment segment_that_grows(const char *name, int64_t cols);                     /* without rows */
anygp_status segment_copy(const param_segment *s, param_segment *to, anygp_error *e); /* which has taken no step */
void segment_clear(param_segment *s);
void segment_follow(param_segment *s); /* numbers that follow others get their values */
/* New rows at the end, of these values (NULL: zeros), which have taken no step.  Its values may move. */
anygp_status segment_append(param_segment *s, int64_t rows, const double *values, anygp_error *e);
/* One step of Adam upwards along scale * gradient[rows,cols], in the natural values. */
anygp_status segment_step(param_segment *s, double rate, const double *gradient, double scale, anygp_error *e);
/* Under its name, with its steps' state; restore takes as many rows as there are.  False: from another run. */
void segment_save(const param_segment *s, checkpoint *to);
bool segment_restore(param_segment *s, const checkpoint *from);

/* --------------------------------------------------------------------------------------- the vectors */

int64_t params_size(const param_list *p);                          /* of a gradient */
int64_t params_free(const param_list *p);                          /* of u */
int64_t params_place(const param_list *p, const param_segment *s); /* where s begins in a gradient */

void params_pack(const param_list *p, double *u);
void params_unpack(param_list *p, const double *u);
void params_chain(const param_list *p, const double *gp, double *gu); /* gu = dp/du * gp */
/* Log prior of the free parameters; adds its gradient in u if gu is not NULL.  0 without priors. */
double params_log_prior(const param_list *p, double *gu);
/* Steps of Adam in u, upwards along gu; params_step_begin forgets those before. */
anygp_status params_step_begin(param_list *p, anygp_error *e);
void params_step(param_list *p, double rate, const double *gu, double *u);
void params_step_save(const param_list *p, checkpoint *to);
bool params_step_restore(param_list *p, const checkpoint *from); /* false: from another run */
bool params_are_sound(const param_list *p); /* all values are finite, and positive where they have to be */

#endif
