/* The state of a model conditioned on neighbours while it learns: what vecchia.c and nene.c share.  They differ in the rows that a row
   is given, which model_needs.ordered tells. */
#ifndef MODEL_LOCAL_VECCHIA_STATE_H
#define MODEL_LOCAL_VECCHIA_STATE_H

#include "data/neighbours/groups.h"
#include "model/local/vecchia_posterior.h"
#include "model/sparse/sparse.h"

/* The rows in their order, and their groups. */
typedef struct arrangement {
    double *X, *y, *w;
    row_groups groups;
    row_blocks *blocks;
    driver *driver;
} arrangement;

typedef struct vecchia_state {
    sparse s;
    hyper view; /* of the last pass; without inducing inputs, unless the model is vecchia_full */
    const model_ops *self;
    const problem *problem;
    bool ordered;          /* else a row is given the nearest of all others, and the order is the rows' own */
    int64_t near, predict; /* neighbours of a row, and of a prediction where the user does not say */
    const merged
        *learned; /* the rows whose conditionals are summed: the problem's, or some of them, of which an order is, */
    merged some;  /* and which; NULL: all */
    int64_t *chosen;
    arrangement a;
    double *marks;   /* of the arrangement (vecchia_marks()) */
    double *stat;    /* with Mt = 0 the adjoints are behind it */
    double *adjoint; /* for Mt > 0 */
    double jitter;   /* of the last pass, relative to the variance of the first row */
    anygp_error failure;
    double seen;
    double arranging; /* seconds that the arrangement took */
    char remark[200];
} vecchia_state;

/* [vecchia_arrange.c] */
void arrangement_clear(arrangement *a);
/* All rows to learn from, or `most` of them at random; fewer where there is no time to put them in order. */
anygp_status vecchia_choose_rows(vecchia_state *q, const kernel *k, int64_t most, anygp_error *e);
/* The first arrangement of them. */
anygp_status vecchia_arrange(vecchia_state *q, const kernel *k, anygp_error *e);

bool vecchia_information(void *state, const hyper *h, double *F); /* [vecchia_information.c] */
model_cost vecchia_cost(const model_ops *self, const cost_facts *f, const cost_size *s);
int64_t vecchia_size(const problem *p);
/* The last two: neighbours of a row where the user does not say, and conditionals that are summed at most. */
anygp_status vecchia_open_with(const model_ops *self, const problem *p, const hyper *h, int64_t near, int64_t most,
                               void **state, anygp_error *e);
anygp_status vecchia_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e);
anygp_status vecchia_renew(void *state, const hyper *h, double moved, bool *renewed, anygp_error *e);
bool vecchia_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
const anygp_error *vecchia_failure(const void *state);
anygp_status vecchia_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
/* The same, in another form. */
anygp_status vecchia_posterior_as(vecchia_state *q, const posterior_form *form, const hyper *h, double *jitter,
                                  posterior **out, anygp_error *e);
/* The same with another q(v) than the best: mean and factor of the precision. */
anygp_status vecchia_posterior_at(vecchia_state *q, const posterior_form *form, const hyper *h, double jitter,
                                  const double *mean, const double *B, posterior **out, anygp_error *e);
/* The noise and L at h; the jitter is relative. */
anygp_status vecchia_prepare(vecchia_state *q, const hyper *h, double jitter, anygp_error *e);
double vecchia_within(const vecchia_state *q); /* what sums of squares within merged rows add to q of the statistics */
anygp_status vecchia_finish(vecchia_state *q, double *adjoint, double *gp, anygp_error *e); /* from summed adjoints */
int64_t vecchia_blocks(const void *state);
extern const anytime_ops vecchia_anytime; /* [vecchia_anytime.c] */
double vecchia_total(const void *state);
double vecchia_seen(const void *state);
const char *vecchia_remark(const void *state);
extern const sum_ops vecchia_sum;
extern const model_ops vecchia_full; /* [vecchia_full.c] */
void vecchia_close(void *state);

/* What the models of rows and their neighbours share of their tables. */
#define VECCHIA_LEARN                                                                                                  \
    .size = vecchia_size, .renew = vecchia_renew, .evaluate = vecchia_evaluate, .failure = vecchia_failure,            \
    .posterior = vecchia_to_posterior, .rows = vecchia_total, .seen = vecchia_seen, .remark = vecchia_remark,          \
    .close = vecchia_close, .load = vecchia_load
#define VECCHIA_RUN VECCHIA_LEARN, .open = vecchia_open, .loo_after = vecchia_loo

#endif
