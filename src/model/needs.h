/* What a model needs from the rows, the targets and the user, and what it can do: stated in its table and nowhere else.  Code that
   has to know asks these questions, never for a model's name. */
#ifndef MODEL_NEEDS_H
#define MODEL_NEEDS_H

#include <stdbool.h>

typedef enum needs_rows {
    ROWS_ALL,    /* at once, in memory */
    ROWS_BLOCKS, /* block by block, in any blocks */
    ROWS_PARTS   /* block by block, where a block is a part of the input space */
} needs_rows;

typedef enum needs_likelihoods { LIKELIHOOD_GAUSSIAN, LIKELIHOOD_ANY } needs_likelihoods;
typedef enum needs_targets { TARGETS_ONE, TARGETS_SEVERAL } needs_targets; /* in one fit */

typedef enum needs_inducing {
    INDUCING_NONE,
    INDUCING_ONE,  /* M: one set */
    INDUCING_SETS, /* M+M2+...: several */
    INDUCING_PAIR  /* Ma/Mb: bases of the mean, which are rows it meets, and inducing inputs of the covariance */
} needs_inducing;

typedef struct model_needs {
    needs_rows rows;
    bool local; /* what it is lies in which rows are near which: rows that cannot be told apart leave nothing of it */
    needs_likelihoods likelihoods;
    needs_targets targets;
    needs_inducing inducing;
    bool learned; /* the inducing inputs, unless the user fixes them */
    bool given;   /* the hyperparameters: it learns nothing, and is never asked for a gradient */
    bool kept;    /* the hyperparameters, or some of them: they keep their starting values, which the start may learn */
    bool own_rate;  /* its steps have their own schedule: --step is the first rate, and all moves from first to last */
    bool grows;     /* steps can add inducing inputs, from their rows */
    bool mean;      /* takes a prior mean, */
    bool weights;   /* and weights of rows */
    bool near;      /* conditions rows on their neighbours, */
    bool ordered;   /* the earlier ones in an order */
    bool joint;     /* its posterior has joint distributions, and so draws, */
    bool together;  /* whose marginals depend on the rows that are asked together */
    bool no_jitter; /* no matrix of it needs some */
    bool experts;   /* it aggregates predictions of experts, */
    bool communication; /* one of whom has rows from everywhere */
    bool nested;        /* it weighs experts by their covariances, of all of them or of those near */
    bool centres;       /* inducing inputs are the means of its parts, unless the user says otherwise */
    bool cells;         /* its parts are cells of a kd-tree */
    bool own;           /* its experts can have hyperparameters of their own */
    bool mixture;       /* of experts that learn together: the user may say how many, */
    bool finds;         /* or how many there are at most, and it finds how many it needs */
    bool iterative;     /* its objective comes from iterations that end by a tolerance */
} model_needs;

#endif
