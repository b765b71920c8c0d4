/* How long a run is, where the user does not say: numbers that others have to know too.  --model auto predicts with them, and the
   help of --iters names them. */
#ifndef INFER_PLAN_H
#define INFER_PLAN_H

enum {
    PLAN_EPOCHS = 40,         /* of models that learn by steps, */
    PLAN_STEPS_LEAST = 400,   /* in steps at least, */
    PLAN_STEPS_MOST = 20000,  /* and at most */
    PLAN_ANYTIME_EPOCHS = 3,  /* of an anytime run that learns, */
    PLAN_ANYTIME_LEAST = 300, /* in steps at least */
    PLAN_WARM_ROWS = 800,     /* of a short exact run, where hyperparameters start; */
    PLAN_WARM_ABOVE = 1600    /* the exact models have one from so many rows on */
};

#endif
