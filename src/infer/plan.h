/* How long a run is, where the user does not say: numbers that others have to know too.  --model auto predicts with them, and the
   help of --iters names them. */
#ifndef INFER_PLAN_H
#define INFER_PLAN_H

#include <math.h>
#include <stdint.h>

enum {
    PLAN_EPOCHS = 40,         /* of models that learn by steps, */
    PLAN_STEPS_LEAST = 400,   /* in steps at least, */
    PLAN_STEPS_MOST = 20000,  /* and at most */
    PLAN_ANYTIME_EPOCHS = 3,  /* of an anytime run that learns, */
    PLAN_ANYTIME_LEAST = 300, /* in steps at least */
    PLAN_WARM_ROWS = 800,     /* of a short exact run, where hyperparameters start; */
    PLAN_WARM_ABOVE = 1600    /* the exact models have one from so many rows on */
};

/* rho_t = rho_0 / (1 + tau rho_0 t)^kappa */
static inline double step_size(double rho0, double tau, double kappa, int64_t t)
{
    return rho0 / pow(1 + tau * rho0 * (double)t, kappa);
}

#endif
