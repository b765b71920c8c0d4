/* What marginal and joint predictions of Vecchia's approximation share (vecchia_posterior.c, vecchia_marginal.c, vecchia_joint.c). */
#ifndef MODEL_LOCAL_VECCHIA_POSTERIOR_H
#define MODEL_LOCAL_VECCHIA_POSTERIOR_H

#include "data/neighbours/neighbours.h"
#include "model/local/vecchia.h"

/* Features of the inducing inputs at training rows, kept once they were made [vecchia_features.c]. */
typedef struct feature_store feature_store;

/* In the model file: neighbours of a prediction, what is added to the noise, neighbours of a training row. */
enum { FACT_PREDICT, FACT_JITTER, FACT_LEARNED, FACTS };

typedef struct vecchia_posterior {
    posterior base;
    double *X, *y, *w; /* D x n, n, n */
    double *facts;     /* FACTS */
    double *m, *B;     /* Mt, Mt x Mt: mean and factor of the precision of v (vecchia.h) */
    inducing_set u;    /* M of them, with their factor; M = 0: none */
    int64_t Mt;        /* M + p */
    double *places;    /* n x d */
    int64_t d;
    near_search search;
    feature_store *features; /* of the training rows, made as they are asked for; NULL: none are kept */
} vecchia_posterior;

/* What is made: its functions, and its size, of which a vecchia_posterior is the first part. */
typedef struct posterior_form {
    const posterior_ops *ops;
    size_t size;
} posterior_form;

extern const posterior_form vecchia_form, vecchia_marginal_form; /* with joint distributions and without */
anygp_status vecchia_posterior_new(const posterior_form *form, const kernel *k, double noise, const basis *mean,
                                   const vecchia_rows *rows, const double *m, const double *B, posterior **out,
                                   anygp_error *e);
/* model_ops.load. */
anygp_status vecchia_load_as(const posterior_form *form, kernel *k, double noise, basis *mean, int64_t D,
                             named_array *list, int64_t count, posterior **out, anygp_error *e);
void vecchia_arrays(posterior *base, array_list *list);
/* [vecchia_marginal.c] */
int64_t vecchia_work(const posterior *base, int64_t n);
anygp_status vecchia_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                              double *mean, double *variance, anygp_error *e);
void vecchia_free(posterior *base);

int64_t vecchia_near(const vecchia_posterior *p);         /* neighbours of a prediction, */
bool vecchia_looks_around(const vecchia_posterior *p);    /* predictions in gaps do */
int64_t vecchia_most(const vecchia_posterior *p);         /* in gaps, */
int64_t vecchia_learned_near(const vecchia_posterior *p); /* and of a training row */
double vecchia_noise(const vecchia_posterior *p); /* of a training row: with white terms and what was added to it */
/* Lists of the k training rows nearest to each of X, rows[n,k]; *places: those of X, the caller's; NULL: not wanted. */
anygp_status vecchia_nearest(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t k,
                             int32_t *rows, int32_t *count, double **places, anygp_error *e);

/* The lists of a prediction, rows[n,most]: vecchia_near() rows each and, of a model with joint predictions, `most` on all sides for rows
   in gaps, which are vecchia_most() unless the caller wants fewer.  leader: near_search_spread()'s; NULL: each row has its list. */
anygp_status vecchia_around(const vecchia_posterior *p, int64_t n, const double *X, int64_t ldx, int64_t most,
                            int32_t *rows, int32_t *count, int32_t *leader, double **places, anygp_error *e);

/* Room for the features of all rows; NULL without an error: they would take more memory than it is worth. */
anygp_status feature_store_new(const inducing_set *u, int64_t n, feature_store **out, anygp_error *e);
void feature_store_free(feature_store *s); /* accepts NULL */
/* From here on the features of the rows in these lists, rows[n,k], count[n], are there; from any thread. */
anygp_status vecchia_make_features(const vecchia_posterior *p, int64_t n, int64_t k, const int32_t *rows,
                                   const int32_t *count, anygp_error *e);
const double *vecchia_features_of(const vecchia_posterior *p, int64_t row); /* M; NULL: they are not kept */

/* f(x) given n rows of noise[n] and values y[n] [vecchia_conditional.c]. */
typedef struct conditional {
    int64_t n;
    int64_t count;         /* training rows among them, the first ones, */
    const int32_t *rows;   /* which */
    const double *own;     /* features of x; NULL: to be made */
    double *X, *noise, *y; /* n + 1 rows: x is the last */
    double *row, *b;       /* n: L_xj; G_xN G_NN^-1, where there are inducing inputs */
    double *A, *F;         /* (n + 1) x p, M x (n + 1): features of the mean and of the inducing inputs */
    double *G, *t;         /* n + 1 square, Mt */
    double mean, variance; /* without t'v */
} conditional;

int64_t conditional_doubles(const vecchia_posterior *p, int64_t most); /* most: of n */
conditional conditional_place(const vecchia_posterior *p, int64_t most, double *at);
/* The training rows in the list. */
void conditional_begin(const vecchia_posterior *p, int64_t count, const int32_t *rows, conditional *c);
/* Replaces y by L^-1 y; leaves L in G, whose leading dimension is n + 1. */
anygp_status conditional_find(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e);
/* The same for many x with one list: L in G, L^-1 y in y and L^-1 A' in A are those of the list alone; then for each of them,
   which writes to row, t, mean and variance only. */
anygp_status conditional_of_list(const vecchia_posterior *p, conditional *c, anygp_error *e);
anygp_status conditional_at(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e);
/* f(x), with t'v added to it; room: Mt. */
void conditional_add_mean(const vecchia_posterior *p, const conditional *c, double *room, double *mean,
                          double *variance);

/* posterior_ops.joint and model_ops.loo_after [vecchia_joint.c, vecchia_loo.c]. */
anygp_status vecchia_joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                           double *covariance, int64_t ldc, anygp_error *e);
extern const update_ops vecchia_update_ops;               /* [vecchia_update.c] */
extern const update_ops nene_update_ops, lagp_update_ops; /* [near_update.c] */
anygp_status vecchia_loo(const posterior *base, const problem *q, leave_one_out *out, anygp_error *e);
/* The same, with the row of the data that each is; rows has room for LOO_MOST. */
anygp_status vecchia_loo_of(const posterior *base, const problem *q, leave_one_out *out, int64_t *rows, anygp_error *e);
/* variance[n] of f at these training rows, each from its nearest rows without itself; below 0: there is none. */
anygp_status vecchia_variances_without(const posterior *base, int64_t n, const int64_t *rows, double *variance,
                                       anygp_error *e);

#endif
