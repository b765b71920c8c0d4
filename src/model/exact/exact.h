/* The parts of the exact model: exact.c (evidence, gradient, leave-one-out) and exact_posterior.c (predictions).  Models built
   on it (subset of data) use them too. */
#ifndef MODEL_EXACT_EXACT_H
#define MODEL_EXACT_EXACT_H

#include "model/model.h"

typedef struct exact {
    const merged *rows;
    merged subset; /* sod: its own rows; else empty */
    const basis *mean;
    int64_t n, p;
    double *K;             /* n x n: K, then L, then Q, then dF/dK (lower triangles) */
    double *diag;          /* n: workspace of the Cholesky */
    double *a, *alpha, *q; /* n: L^-1 y, Ky^-1 y, diag(Q) */
    double *V, *W;         /* n x p */
    double *R, *t;         /* p x p, p */
    leave_one_out loo;
    bool factored; /* K holds the factor at these hyperparameters and, last, this jitter */
    double *at;
    double value;               /* of the last pass in double; NaN: there was none */
    struct exact_float *single; /* NULL: the factor is in double (exact_float.h) */
} exact;

/* Works on `rows`, or takes `owned` over if it is not NULL. */
anygp_status exact_open_rows(const merged *rows, merged *owned, const basis *mean, void **state, anygp_error *e);
model_cost exact_cost_of(const cost_facts *f, double n); /* on n of the rows */
/* Log evidence; leaves L, a, alpha, V and R in place. */
bool exact_evidence(exact *s, const hyper *h, bool grow, double *jitter, double *value);

/* Solutions X[n,1+p] of Ky X = [y, H] with what is left of the right-hand sides, from which follow, to second order in the latter, R of S,
   b = S^-1 H'Ky^-1 y, alpha = (Ky + B H H')^-1 y and W = Ky^-1 H R^-T; *terms = log|S| + p log B - b'S b. [exact_mean.c] */
typedef struct exact_solutions {
    int64_t n, p;
    double B;
    const double *X, *residual, *H;
    double *R, *b, *alpha, *W;
} exact_solutions;

bool exact_mean_of_solutions(const exact_solutions *m, double *terms);

/* What the rows behind the merged ones add, and its slope in the noise; nothing where every count is 1, also when the noise is
   0. */
double exact_repeated_terms(const merged *m, double noise);
double exact_repeated_slope(const merged *m, double noise);

/* Leave-one-out of a part d of a row of count c whose y is `apart` from the row's mean, from the row's elements of (Ky)^-1 and of
   Ky^-1 y: what is to be taken off y for the mean, and the variance of y. */
void exact_leave_out(double c, double d, double apart, double noise, double q_row, double alpha_row, double *off,
                     double *variance);

bool exact_is_at(const exact *s, const hyper *h,
                 double jitter); /* the last evaluate was at these, without a gradient */
bool exact_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
const leave_one_out *exact_loo(void *state, const hyper *h);
anygp_status exact_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
double exact_rows(const void *state);
void exact_close(void *state);
anygp_status exact_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e);
extern const update_ops exact_updates; /* [exact_update.c] */

#endif
