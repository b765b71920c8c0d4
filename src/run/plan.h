/* How long a run is, where the user does not say.  Others need these numbers too:  --model auto predicts with them, and the
   help of --iters names them. */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

#include <math.h>
#include <stdint.h>

enum {
    PLAN_EPOCHS = 40,         /* for models that learn by steps, */
    PLAN_STEPS_LEAST = 400,   /* in steps at least, */
    PLAN_STEPS_MOST = 20000,  /* and at most */
    PLAN_ANYTIME_EPOCHS = 3,  /* for an anytime run that learns, */
    PLAN_ANYTIME_LEAST = 300, /* in steps at least */
    PLAN_WARM_ROWS = 800,     /* for a short exact run, from which hyperparameters start; */
    PLAN_WARM_ABOVE = 1600    /* the exact models have one above this number of rows */
};

/* rho_t = rho_0 / (1 + tau rho_0 t)^kappa */
static inline double step_size(double rho0, double tau, double kappa, int64_t t)
{
    return rho0 / pow(1 + tau * rho0 * (double)t, kappa);
}

#endif
