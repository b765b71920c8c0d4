/* A run of a sparse model over blocks: what lasts from one evaluation to the next.  Private to sparse_models.c and sparse_precision.c. */
#ifndef MODEL_SPARSE_SPARSE_STATE_H
#define MODEL_SPARSE_SPARSE_STATE_H

#include "model/sparse/sparse_posterior.h"
#include "model/sparse/tight.h"

typedef struct sparse_state {
    sparse s;
    const sparse_kind *kind;
    const problem *problem;
    driver *driver;
    int64_t *chain; /* of the blocks, and those with the ones before them; NULL: blocks stand alone */
    row_blocks *chained;
    double *stat, *adjoint;
    anygp_error failure; /* of the last evaluate, other than its numbers */
    double *at;          /* hyperparameters and inducing inputs of the last evidence; NaN first: none */
    double *now;
    double value;      /* of the last evidence; NaN: it had none */
    bool coefficients; /* it left V and m for the reverse */
    tight *tight;      /* NULL: not asked for */
    double seen;       /* of the blocks, by the last pass */
    char remark[160];  /* what the user should know; empty: nothing */
} sparse_state;

/* Evidence at h from all blocks, or with `partly` from those there was time for; leaves the factor of a I + S (for several
   targets the last one's) and beta, with `gradient` what the reverse needs. */
anygp_status sparse_state_evidence(sparse_state *q, const hyper *h, bool grow, double *jitter, bool gradient,
                                   bool partly, double *value, anygp_error *e);
/* Whether the last evidence was at h, with this jitter: then its sums still hold. */
bool sparse_state_is_at(sparse_state *q, const hyper *h, double jitter);

/* Rows in float, where problem.mixed asks for it and the inducing variables allow it [sparse_precision.c]. */
anygp_status sparse_precision_begin(sparse_state *q, const model_ops *self, anygp_error *e);
extern const float_ops sparse_floats;

#endif
