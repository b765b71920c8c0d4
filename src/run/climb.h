/* Batch learning: L-BFGS climbs log objective + log prior over all rows, from the start and from restarts moved at random; the
   best point of all is what counts, whatever ends the run.  What a model takes as given is made again between climbs. */
#ifndef RUN_CLIMB_H
#define RUN_CLIMB_H

#include "run/lbfgs.h"
#include "run/run.h"

typedef struct climb {
    run r;
    lbfgs *optimiser;
    double *start; /* where the first climb starts */
    double *u;     /* where the one under way starts */
    double *made;  /* where the model made what its evaluations take as given [model_ops.renew] */
    int64_t renewals;
    int64_t most; /* iterations it may make */
    int64_t restart, evaluations;
    bool once;       /* nothing to learn: one evaluation */
    bool refused;    /* a Cholesky failed at this jitter */
    bool first;      /* the climb's first evaluation may raise the jitter */
    double expected; /* seconds an evaluation would take, before the first was made; 0: not known */
    deadline *pass;  /* of the pass over blocks under way [problem.pass]; NULL: any time */
    double *gp;      /* hyper_size(h) */

    double best; /* log objective + log prior */
    double *best_u, best_prior, best_jitter;
    rounding rounding;  /* of rows in float [model_ops.floats]; error NaN: they are in double from the start */
    double lost;        /* nats that rounding may cost in all, as measured last */
    double noise;       /* of the objective, by it: nats */
    bool in_float;      /* they were to the end */
    leave_one_out *loo; /* there; NULL: not wanted */
    anygp_error error;  /* why an evaluation failed, if not for the numbers */
} climb;

/* From the values in h.  state: the model's, of problem p; loo: room for it, or NULL. */
anygp_status climb_init(climb *c, const model_ops *model, void *state, const problem *p, hyper *h,
                        const train_options *o, anygp_status stopped, leave_one_out *loo, anygp_error *e);
void climb_clear(climb *c);

/* After run_go: h is at the best point, and the result is filled in. */
void climb_finish(climb *c, train_result *result);

/* Rows in float [climb_rounding.c].  Whether they cost too much at the best point of the climb under way, c->u: then they are in double from
   here on, which is another objective, and the best point of all climbs has been evaluated again.  Errors go to c->error. */
bool climb_leaves_float(climb *c);
bool climb_ends_in_double(climb *c); /* the climb has ended in float: whether it goes on in double, from c->u */
void climb_grant(const climb *c);    /* tells the optimiser of its noise */
void climb_rounding_save(const climb *c, checkpoint *to);
bool climb_rounding_restore(climb *c, const checkpoint *from);
/* Around the posterior, which is made in double, with its objective: in the result with the error of the whole. */
void climb_rounding_before(climb *c);
void climb_rounding_after(climb *c, train_result *result);
void climb_rounding_once(climb *c); /* nothing is learned: the only pass is in double, and a note says so */
/* An evaluation, as L-BFGS asks for it: minus (objective + log prior) in the free parameters. */
int climb_evaluate(void *climb, const double *u, double *f, double *g);

#endif
