/* Nearest neighbours (NeNe; Urtasun and Darrell 2008; 003, section IV-A): a row is predicted by the exact Gaussian process of its k
   nearest rows alone.

   Learning.  Each row given the k nearest of all others, not only of earlier ones as in vecchia.h:
       log pseudo-likelihood = sum_i log p(y_i | y_N(i))
   with the same conditionals, sums and prior mean.  It is no density of y, so that it cannot be compared with a log evidence: it is the
   leave-one-out log score of the predictions that the model makes (Besag 1975).
   There is no joint distribution: two rows to predict may rest on different rows.

   Cost: n k^3 operations per evaluation; a row's list is its own, so that rows cannot be grouped. */
#include "model/local/vecchia_posterior.h"
#include "model/local/vecchia_state.h"

/* As vecchia's, with lists that no two rows share. */
static model_cost nene_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.1; /* of R: small matrices */
    model_cost c = vecchia_cost(self, f, s);
    double k = VECCHIA_NEAR;
    c.rows = cost_of_work(f, SHARE, f->rows * k * k * k, f->rows * k * k / 2);
    return c;
}

/* For looking at kernels: the sum over some of the rows, with fewer neighbours each. */
static anygp_status trial_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    enum { NEAR = 15 };
    return vecchia_open_with(self, p, h, NEAR, NEAR_TRIAL_ROWS, state, e);
}

/* What the model and its trial share of their tables. */
#define NENE_HEAD                                                                                                      \
    .name = "nene", .summary = "each row given its nearest rows", .objective = "log pseudo-likelihood",                \
    .needs = {.rows = ROWS_ALL, .local = true, .mean = true, .weights = true, .near = true}, .order = "n k^3",         \
    .jitter = 0, .cost = nene_cost

const model_ops model_near_trial = {
    NENE_HEAD,
    VECCHIA_LEARN,
    .open = trial_open,
};

const model_ops model_nene = {
    NENE_HEAD,
    VECCHIA_RUN,
    .update = &nene_update_ops,
    .sum = &vecchia_sum,
};
