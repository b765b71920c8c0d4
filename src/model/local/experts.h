/* Committees of exact experts (003, section IV-C): the rows are cut into parts of the input space, each with an exact Gaussian
   process of its own, an expert; all experts have the same hyperparameters, or each its own [experts_own.c].

   Learning.  The experts are taken to be independent (eq. 26), so the objective is the sum of their log evidences: the statistic of
   a block [experts.c].  The models differ in how the experts' predictions become one:
       poe, gpoe, bcm, rbcm, grbcm   a sum over experts, by a rule of the table in aggregate.c
       npae                          the best linear predictor given the experts' means [npae.c]
       nle                           none: the expert of the row's part alone [nle.c]

   Cost: n J^2 for parts of J rows, one pass per evaluation; n J numbers in memory and n J operations per prediction, n^2 for npae. */
#ifndef MODEL_LOCAL_EXPERTS_H
#define MODEL_LOCAL_EXPERTS_H

#include "model/block_model.h"
#include "model/model.h"

/* How predictions become one: what tells the models apart, their model_ops.family. */
typedef struct aggregation {
    bool entropy;       /* an expert's weight is the entropy it took away; else 1 */
    bool prior;         /* the prior is one of the factors (eq. 28) */
    bool normalised;    /* weights are divided by their sum */
    bool communication; /* the first block is the communication expert, whose posterior is everybody's prior (eq. 29) */
    int64_t levels;     /* of npae; 0: a sum over experts */
    bool alone;         /* nle: a row is predicted by the expert of its part, and by no other */
} aggregation;

/* ------------------------------------------------------------------------------ learning [experts.c] */

/* Hyperparameters of each expert. */
typedef struct expert_hyper {
    int64_t count, params; /* experts; parameters of the kernel and the noise */
    double *values;        /* params x count: the kernel's, then the noise */
    kernel **kernel;       /* count, with these values */
} expert_hyper;

/* What all experts share. */
typedef struct committee {
    const kernel *kernel;    /* theirs, as is the noise, unless they have their own */
    const expert_hyper *own; /* NULL: they have not */
    const basis *mean;
    double noise, jitter; /* jitter: relative to the mean diagonal of Ky */
    int64_t D;
    bool gradient;
    leave_one_out *loo;    /* gets every row, left out of its own expert, with a gradient; NULL: nothing does */
    const int64_t *row_of; /* where in it the rows of a block begin */
} committee;

/* n rows that an expert has, or is asked about. */
typedef struct expert_rows {
    int64_t n;
    const double *X, *y, *w;
} expert_rows;

/* A row's share of -2 log evidence that does not depend on y or the kernel. */
double expert_row_terms(double w, double noise);
/* Ky + jitter in the lower triangle of K[n,n], H: n x p of room. */
anygp_status expert_covariance(const committee *c, const expert_rows *r, double *H, double *K, anygp_error *e);
/* From dF/dKy, in the lower triangle of K, to that of the kernel's covariances, in place; returns dF/dnoise, with that of expert_row_terms. */
double expert_diagonal_adjoint(const committee *c, int64_t n, const double *w, double *K);
/* From Ky to its factor L, in place; alpha = Ky^-1 y of what is in alpha; value, or NULL: the log evidence. */
anygp_status expert_solve(const committee *c, const expert_rows *r, double *K, double *alpha, double *value,
                          anygp_error *e);

model_cost experts_cost(const model_ops *self, const cost_facts *f, const cost_size *s);
int64_t experts_size(const problem *p);
anygp_status experts_define(const model_ops *self, const problem *p, hyper *h, anygp_error *e);
anygp_status experts_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e);
bool experts_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
extern const sum_ops experts_sum;
const anygp_error *experts_failure(const void *state);
double experts_rows(const void *state);
void experts_close(void *state);
const leave_one_out *experts_loo(void *state, const hyper *h);
const problem *experts_problem(const void *state);
const aggregation *experts_rule(const void *state);

/* ------------------------------------------------------------- hyperparameters of their own [experts_own.c] */

/* For `count` experts with the structure of k; values: `given` experts' worth of them, the others get those of k and noise. */
anygp_status expert_hyper_new(const kernel *k, double noise, int64_t count, int64_t given, const double *values,
                              expert_hyper **out, anygp_error *e);
void expert_hyper_free(expert_hyper *o); /* accepts NULL */
void expert_hyper_set(expert_hyper *o, const double *values);
static inline double expert_hyper_noise(const expert_hyper *o, int64_t k) { return o->values[(k + 1) * o->params - 1]; }
/* The segment of h that has them; NULL: the experts share theirs. */
const param_segment *experts_own_segment(const hyper *h);
/* The median of each over the experts, to a kernel and a noise. */
anygp_status experts_own_median(const param_segment *s, kernel *k, double *noise, anygp_error *e);
bool expert_hyper_makes_sense(const named_array *a, const kernel *k, int64_t count);

/* ------------------------------------------------------------- what they know [experts_posterior.c] */

typedef struct experts_posterior {
    posterior base;
    aggregation rule;
    int64_t count, largest; /* experts; rows of the largest */
    double *X, *y, *w;      /* D x n, n, n: expert after expert */
    double *start;          /* count + 1: their first rows */
    double *jitter;         /* 1 */
    double *asked;          /* 2: whether y is aggregated instead of f; experts that a row is asked of, 0: all */
    int64_t *at;            /* count: where their factors are */
    bool on_disk;           /* where L and B are (base/mapped.h) */
    double *L, *alpha;      /* factors one after the other, n */
    double *B;              /* with a communication expert: L_c^-1 K_ci, n_c x n; else NULL */
    router *route;          /* nle: to the part of a row, and the names of the parts; else NULL */
    double *names;
    double *
        opened; /* nle with parts that an update opened: centre and radius of each part; else NULL [experts_opened.c] */
    expert_hyper *own; /* NULL: base has what they share; else it has medians of theirs */
    double memory;     /* half of which factors may take, for those that are made later */
    double *reach;     /* what says who is too far away to be asked [experts_far.c]; NULL: everybody is asked */
} experts_posterior;

enum { EXPERTS_OBSERVED, EXPERTS_NEAR, EXPERTS_ASKED };

/* Expert k. */
typedef struct expert {
    int64_t first, n;
    const double *X, *y, *w, *alpha, *L;
    const double *B; /* n_c x n, or NULL */
    const kernel *kernel;
    double noise;
} expert;

expert expert_at(const experts_posterior *p, int64_t k);

/* What they are made of; rows: with a communication expert, its own stand first. */
typedef struct experts_source {
    const aggregation *rule;
    const kernel *kernel;
    const basis *mean;
    double noise, jitter;
    int64_t D, count;
    gathered_rows rows;
    double asked[EXPERTS_ASKED];
    const router *route; /* nle: copied, as are the names; else NULL */
    const double *names;
    const double *opened; /* NULL: no part was opened; copied */
    int64_t own_count;    /* experts with hyperparameters of their own, and these; the others take kernel and noise */
    const double *own;    /* NULL: all do */
    double memory;        /* bytes; factors of more than half of them go to a scratch file.  0: what is free */
    const deadline *
        until; /* when the factors have to be there: if they are not, they are made before the first prediction; NULL: any time */
    const experts_posterior *from; /* whose factors count for experts with as many rows; NULL: none */
} experts_source;

/* Takes over the rows, on failure too; the rest is copied. */
anygp_status experts_new(const experts_source *s, posterior **out, anygp_error *e);
void experts_free(posterior *p); /* accepts NULL */
/* posterior_ops.make, with more jitter where factors need it. */
anygp_status experts_make(posterior *p, anygp_error *e);
/* The factors are dropped, to be made with more jitter; false: there is no more. */
bool experts_more_jitter(experts_posterior *p);

/* The posterior at h from all rows of the blocks, and the model file [experts_file.c]. */
anygp_status experts_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
anygp_status experts_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                          int64_t count, posterior **out, anygp_error *e);
anygp_status experts_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                                 named_array *list, int64_t count, posterior **out, anygp_error *e);
void experts_arrays(posterior *p, array_list *list);

/* What an expert leaves of the prior variance at least. */
static const double EXPERT_LEAST = 1e-12;

/* Rows to predict. */
typedef struct expert_query {
    int64_t n;
    const double *X; /* n x D */
    int64_t ldx;
    double *variance; /* n: the prior's */
    double *h;        /* p x n: the mean's functions, times sqrt(B) */
    /* With a communication expert, its posterior is the prior: the variance is that left, and */
    double *a;    /* n_c x n: L_c^-1 k_c */
    double *mean; /* n */
} expert_query;

int64_t query_doubles(const experts_posterior *p, int64_t n);
/* The rows as all experts see them; H: largest x p, room: query_doubles(). */
anygp_status query_prepare(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, double *H, double *room,
                           expert_query *q, anygp_error *e);
/* Prior variances of f at the rows by the kernel of expert x. */
void expert_prior(const experts_posterior *p, const expert *x, const expert_query *q, double *variance);
/* Covariances of the expert's rows and the query's, given those of the communication expert, k[x->n, q->n]; H: largest x p. */
anygp_status expert_covariances(const experts_posterior *p, const expert *x, const expert_query *q, double *H,
                                double *k, anygp_error *e);
/* Prior covariances of n rows X and m rows Z, both of experts, C[n, m]; H: (n + m) x p of room. */
anygp_status experts_between(const experts_posterior *p, int64_t n, const double *X, int64_t m, const double *Z,
                             double *H, double *C, anygp_error *e);
/* Mean, as a difference from the prior's, and variance of f by expert x.  k: x->n x q->n, left as L^-1 k. */
anygp_status expert_ask(const experts_posterior *p, const expert *x, const expert_query *q, double *H, double *k,
                        double *m, double *v, anygp_error *e);

/* Sum of their log evidences; the communication expert counts as one by itself. */
anygp_status experts_total(const experts_posterior *p, double *value, anygp_error *e);

/* Experts that are so far from a row that they would change nothing [experts_far.c]. */
anygp_status experts_find_reach(experts_posterior *p, anygp_error *e);
bool expert_is_far(const experts_posterior *p, int64_t k, const double *x, double v0);

/* ----------------------------------------------------------------------- one of several [aggregate.c] */

/* Sums over experts, of n rows each: of their weights b, of b (1/v - 1/v0) or b/v, of b m/v. */
typedef struct expert_sums {
    double *weight, *precision, *mean;
} expert_sums;

void sums_begin(const aggregation *g, int64_t n, const double *v0, const expert_sums *s);
/* weights: NULL, or where those of this expert go.  first: the first of the experts that are added. */
void sums_add(const aggregation *g, bool first, int64_t n, const double *v0, const double *m, const double *v,
              const expert_sums *s, double *weights);
/* From the sums to mean and variance, which may be NULL. */
void sums_finish(const aggregation *g, int64_t n, const double *v0, const expert_sums *s, double *mean,
                 double *variance);

int64_t experts_count(const posterior *p);
anygp_status committee_loo(const posterior *p, const problem *q, leave_one_out *out, anygp_error *e);
extern const posterior_ops aggregate_ops, aggregate_own_ops, bcm_ops, npae_ops, nle_ops, nle_own_ops;
double experts_noise_of(const posterior *p, int64_t k); /* what y has beyond f, by expert k */
/* Several rows at once [bcm_joint.c]. */
anygp_status bcm_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                       double *covariance, int64_t ldc, anygp_error *e);

extern const update_ops experts_update; /* new rows [experts_update.c] */
void experts_keep_parts(void *update);  /* of nle: a row that is far from all centres opens no part */

/* Parts of nle that an update opened [experts_opened.c].  The part of a row is the router's, or an opened one whose centre is nearer than that of
   the router's part.  Centres are places in the kernel's measure, d numbers each, followed by the radius; below 0: it has no rows. */
anygp_status experts_route(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t *block,
                           anygp_error *e);
int64_t experts_nearest_opened(int64_t d, const double *place, int64_t stride, const double *centre, int64_t part,
                               int64_t first, int64_t count);

/* Those of X[n,D] whose block is k, to taken[count,D], and their numbers to row; how many. */
int64_t rows_of_part(const int64_t *block, int64_t k, int64_t n, const double *X, int64_t ldx, int64_t D, double *taken,
                     int64_t *row);

#endif
