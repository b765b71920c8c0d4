/* Minimisation of a smooth function by L-BFGS (Nocedal 1980) with a strong Wolfe line search.
   With a preconditioner the first step, and the start of each later direction, is its.
   Made for log hyperparameters: no bounds, but no coordinate moves by more than 5 in an iteration; a value that
   is not finite means "too far" and the step is halved.  The whole state between two iterations is one array of
   doubles that can be saved and restored: a resumed run gives the same bits as one that was never stopped.
   Nothing is allocated during a run.  Cost beside the evaluations: O(memory n) per iteration. */
#ifndef RUN_LBFGS_H
#define RUN_LBFGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lbfgs lbfgs;

typedef struct lbfgs_problem {
    int64_t n;
    /* f and g[n] at x; numbers that are not finite mean "too far".  Nonzero stops at once with the best point so far. */
    int (*evaluate)(void *ctx, const double *x, double *f, double *g);
    /* Optional: a line search starts from x (what must stay fixed within one, such as jitter, may change now). */
    void (*begin_line_search)(void *ctx, const double *x);
    /* Optional, after each iteration, where lbfgs_state_save may be called; nonzero stops.  gnorm: max-norm. */
    int (*iteration)(void *ctx, int64_t iteration, int64_t evaluations, double f, double gnorm);
    void *ctx;
    /* Optional: d becomes H d, H about the inverse of the Hessian at x and positive definite; false: not here. */
    bool (*precondition)(void *ctx, const double *x, double *d);
} lbfgs_problem;

typedef struct lbfgs_options {
    int64_t memory;            /* pairs kept; 0: 10 */
    int64_t max_iterations;    /* 0: only evaluates the start; negative: no limit */
    int64_t max_evaluations;   /* 0 or negative: no limit */
    double gradient_tolerance; /* converged when max |g_i| <= this * max(1, |f|) */
    double value_tolerance;    /* converged when f fell by <= this * max(1, |f|) over `past` iterations; 0: never */
    int64_t past;              /* 0: 5 */
    double gain_tolerance;     /* with a preconditioner: converged when a step promises no more than this */
} lbfgs_options;

typedef enum lbfgs_result {
    LBFGS_CONVERGED,
    LBFGS_ITERATIONS,  /* a limit of iterations or evaluations was reached */
    LBFGS_STOPPED,     /* a callback asked for it */
    LBFGS_NO_PROGRESS, /* not even the steepest descent decreases f: at the optimum to rounding, or f is not smooth */
    LBFGS_BAD_START,   /* f or g is not finite at the start; x is left alone */
    LBFGS_MORE         /* lbfgs_step: an iteration was made */
} lbfgs_result;

lbfgs *lbfgs_new(int64_t n, const lbfgs_options *o); /* NULL: out of memory */
void lbfgs_free(lbfgs *s);                           /* accepts NULL */

/* x[n]: the start going in (not read after lbfgs_state_load), the best point seen coming out, with its value in
   *f_best (infinite if nothing finite was seen).  p->n must be the n of lbfgs_new. */
lbfgs_result lbfgs_minimize(lbfgs *s, const lbfgs_problem *p, double *x, double *f_best);

/* The same, one iteration at a time: until it returns something other than LBFGS_MORE.  x[n] is read before the first. */
lbfgs_result lbfgs_step(lbfgs *s, const lbfgs_problem *p, const double *x);
double lbfgs_best(const lbfgs *s, double *x); /* the best point seen, and its value */
/* From here on values of f that differ by no more than this (more than by rounding in double) are taken for equal: slopes decide between
   them, and a step that promises a tenth of it, or some iterations that bring less, end the search.  Not part of the state. */
void lbfgs_grant(lbfgs *s, double noise);

int64_t lbfgs_iterations(const lbfgs *s);
int64_t lbfgs_evaluations(const lbfgs *s); /* those of a line search that was stopped do not count */

/* The state after the last whole iteration, as lbfgs_state_size() finite doubles.  Loading makes the next
   lbfgs_minimize continue; it is refused (false, s unchanged) if the numbers cannot be a state of this n and these
   options. */
int64_t lbfgs_state_size(const lbfgs *s);
void lbfgs_state_save(const lbfgs *s, double *state);
bool lbfgs_state_load(lbfgs *s, const double *state, int64_t size);

#endif
