/* exact+: the exact model after any number of iterations (Wenger et al. 2022, IterGP; Wenger et al. 2024, computation-aware GPs).

   S[n,m] are directions with S'Ky S = I, C = S S', which is at most Ky^-1:
       mean = k*'C y,     variance = k** - k*'C k*
   With a prior mean h(x)'b, b ~ N(0, B I), k is k + B h(x)'h(x') throughout.
   This is the posterior given the m numbers S'y instead of all of y: its variance is never below the exact one, falls with every direction,
   and is exact with n of them.  A step adds up to STEP_DIRECTIONS: P^-1 times the residuals of y and of vectors of random signs, others once
   those are solved, made conjugate to all before, so that one product with Ky serves all of them.
   The objective is the bound that belongs to this q(f) (Titsias 2009 for the variables S'f), with N the noise, Sigma = S'N S, w = S'y:
       sum_i E_q log N(y_i; f_i, N_i) - KL,    2 KL = tr Sigma - m + w'w - w'Sigma w - log|Sigma|
   which is the log evidence once m = n.
   Cost of a step: n^2/2 kernel entries, and n m for each direction; memory 2 n m. */
#ifndef MODEL_EXACT_EXACT_STEPS_H
#define MODEL_EXACT_EXACT_STEPS_H

#include "model/exact/precond.h"
#include "model/model.h"

enum { STEP_DIRECTIONS = 16, STEP_MOST = 512 };

typedef struct exact_steps {
    const problem *problem;
    const merged *rows;
    int64_t n, m, most; /* rows, directions so far and at most */
    int64_t b, drawn;   /* right-hand sides: y and vectors of signs; those drawn so far */
    la_operator *K, *P;
    const precond_ops *precond;
    precond_plan *plan;
    double *S, *T;             /* n x most: directions, and Ky times them */
    double *R;                 /* n x b: residuals */
    double *D, *W;             /* n x b: workspace */
    double *variance, *fitted; /* n: of f at the rows, and its mean */
    double *Sigma, *F, *w;     /* most x most twice, most: S'N S, its factor, S'y */
    double *noise;             /* n: N */
    double *H;                 /* n x p: functions of the mean */
    kernel *k;                 /* those of the run: the caller's, */
    double s2;                 /* and the noise */
    double jitter;             /* relative */
    bool done;                 /* there is no direction left */
} exact_steps;

/* What the posterior is: mean and variance from alpha = C y and S. [exact_steps_posterior.c] */
anygp_status steps_posterior_new(const exact_steps *s, const hyper *h, posterior **out, anygp_error *e);
anygp_status steps_posterior_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                                  posterior **out, anygp_error *e);

extern const model_ops model_exact_steps;

#endif
