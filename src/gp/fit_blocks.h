/* Between fit_blocks.c and grow.c. */
#ifndef GP_FIT_BLOCKS_H
#define GP_FIT_BLOCKS_H

#include "gp/fit.h"

enum { PART_OVERSIZE = 2 }; /* a part of the input space has at most so many times the mean number of rows */

/* Rows of a block for M inducing inputs; part: those of a part, where they are planned, else 0.  Where steps take rows at random a
   batch is a few blocks, each of rows at random. */
int64_t fit_block_rows(const model_ops *m, int64_t M, int64_t batch, int64_t part);

/* What a fit over blocks holds. */
typedef struct block_fit {
    fit_task *f;
    gp **all;               /* f->together of them */
    gp *g;                  /* the first */
    likelihood like;        /* f->like */
    row_source *table_rows; /* of a table; else NULL */
    row_source *source;
    rows_part part;
    int64_t M, P;
    int64_t sets[MODEL_SETS_MOST], set_count; /* of inducing inputs that there are, M in all; 0: the model has one */
    dataset d;
    merged distinct;
    hyper h;
    basis mean;
    row_blocks *blocks;
    router *route;
    int64_t *given, *ids;
    int64_t *start,
        experts;  /* of a mixture whose blocks are given: the expert of each row of d, and how many there are */
    bool centred; /* as many inducing inputs as there are blocks */
    valid_rows *valid;
    train_result result;
} block_fit;

/* The training with b->M inducing inputs, from the values and places in b->h; posteriors and results into b->all. */
anygp_status block_fit_train(block_fit *b, anygp_error *e);

/* A warning where rates of counts came to the bounds of what can be computed; target t of those fitted together. */
void fit_warn_of_rates(const fit_task *f, const dataset *d, const gp *g, int64_t t);

/* --inducing auto: trainings with more and more inducing inputs, of which the last stays.  It stops where the upper bound on the
   log evidence, for models that have one, is close; where twice as many gained little in the objective per row or, for models
   that learn by steps, in the log density per held-out row; or where the budget would not suffice for twice as many. */
enum { GROW_FIRST = 128, GROW_MOST = 4096 };
anygp_status grow_run(block_fit *b, anygp_error *e);

/* One size that was tried, and what there is for the next. */
typedef struct grow_stage {
    int64_t inducing;
    double value;          /* nats per row; higher is better */
    double gap;            /* the most it can rise; NaN: not known */
    double seconds;        /* it took */
    double left;           /* there are */
    double worth;          /* the part of the next one that makes it worth beginning */
    double bytes, allowed; /* twice as many would hold; there are */
    int64_t places;        /* different ones there can be */
    bool stopped;          /* by the clock or the caller */
} grow_stage;

/* Why not to go on after `now`, a sentence's end; before: the stage before it, or NULL.  False: go on. */
bool grow_ends(const grow_stage *before, const grow_stage *now, char *why, size_t size);

#endif
