/* What a run takes, as a function of facts that are known before it: `cost` in a model's table is the only place that knows.
   --model auto and its plan, the check of the memory and the growth of inducing inputs all ask it. */
#ifndef MODEL_COST_H
#define MODEL_COST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cost_facts {
    double rows;     /* n */
    double distinct; /* n1: of inputs, where equal ones are merged */
    int64_t inputs;  /* D */
    int64_t basis;   /* p: functions of the prior mean */
    int64_t targets; /* T: in one fit, where the model takes several */
    int64_t latents; /* of one target; C = T times that */
    double batch;    /* B: rows of a step, at most n */
    int threads;
    bool greedy;     /* a subset of the rows is chosen by conditional variance */
    double memory;   /* bytes there are; 0: any number */
    double products; /* R: operations per second of a matrix product, */
    double entries;  /* E: and kernel entries per second; both of all threads.  0: seconds are not asked for */
} cost_facts;

typedef struct cost_size {
    double M;       /* inducing inputs of all sets, or rows of the subset */
    double first;   /* those in the first set, or bases of the mean; 0: half of them */
    double part;    /* J: rows of a block on average, */
    double largest; /* and at most */
    double experts; /* of a mixture; 0: its default */
} cost_size;

/* Seconds are those of one evaluation with its gradient or, for models that learn by steps, of one step. */
typedef struct model_cost {
    double rows;  /* seconds: what grows with the rows it looks at, */
    double head;  /* and the rest */
    double bytes; /* held while it learns, besides the data */
    double state; /* those of them that can be in a scratch file instead (problem.on_disk) */
    double kept;  /* bytes per row that a pass leaves for its reverse where there is room */
    double last;  /* further bytes once it has learned, where there is room */
} model_cost;

static inline double cost_seconds(model_cost c) { return c.rows + c.head; }

/* Seconds of this many operations, at the share of R that they reach, and of kernel entries; infinite where the rates are not
   known. */
double cost_of_work(const cost_facts *f, double share, double operations, double entries);

#endif
