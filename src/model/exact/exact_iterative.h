/* The exact model without a factor of all rows (docs/iterative.md): log evidence and gradient by conjugate gradients and
   stochastic Lanczos quadrature (Gardner et al. 2018; Wang et al. 2019; Wenger et al. 2022).

   In the notation of exact.c, with z_1 .. z_m vectors of random signs, P = R R' a preconditioner and w_k = R z_k:
       Ky^-1 [y, H, w_1 .. w_m]                       conjugate gradients, one product per iteration for all of them
       log|Ky| = log|P| + log|R^-1 Ky R^-T|           the first exact, the second the mean of z_k'log(R^-1 Ky R^-T)z_k
       d log|Ky| = d log|P| + mean_k [ (Ky^-1 w_k)'dKy (P^-1 w_k) - (P^-1 w_k)'dP (P^-1 w_k) ]
   The probes are functions of (seed, k), so that the objective is one function of the hyperparameters.  With as many probes as rows they
   are the unit vectors, and nothing is random.

   Bounds.  Of y'Ky^-1 y by the residual (cg.h), of the quadratures by Gauss and Gauss-Radau (lanczos.h), of the mean over probes by
   Student's distribution; together they are the bracket of the estimate.

   Rough.  With small noise the bounds are far larger than what they bound, and learning needs neither.  Above ROUGH_ABOVE rows, unless a
   tolerance is asked for, columns rest when four iterations have changed them by less than a rougher tolerance, the value is that of the
   iterations (b'x and Gauss quadrature, one end of the bracket each), and there are PROBES_FEW to PROBES probes, as many as that tolerance
   needs.  The bracket holds all the same. */
#ifndef MODEL_EXACT_EXACT_ITERATIVE_H
#define MODEL_EXACT_EXACT_ITERATIVE_H

#include "linalg/iterative/cg.h"
#include "model/exact/precond.h"
#include "model/model.h"

enum { PROBES_FEW = 8, PROBES = 15, PROBES_MOST = 60, ITERATIONS_MOST = 1000, ROUGH_ABOVE = 5000 };

typedef struct exact_iterative {
    const problem *problem;
    const merged *rows;
    const basis *mean;
    int64_t n, p, t; /* rows, functions of the mean, right-hand sides: 1 + p + probes */
    la_operator *K;
    const precond_ops *precond;
    precond_plan *plan;
    la_operator *P; /* NULL: the identity */
    double least;   /* eigenvalue of R^-1 Ky R^-T; 0: not known */
    double least_K; /* of Ky */
    int64_t probes;
    bool settled; /* their number */
    bool rough;
    bool solved;  /* the solver has the solutions of the last estimate in the history */
    bool lost;    /* it would have, had this run not been resumed */
    bool stopped; /* someone asked for the end, and not only the clock */
    cg *solver;
    double *B;                  /* n x t: right-hand sides */
    double *V;                  /* n x probes: P^-1 w */
    double *low, *high;         /* probes: quadratures */
    double *alpha, *W;          /* n, n x p: (Ky + B H H')^-1 y; Ky^-1 H R^-T */
    double *R, *b;              /* p x p, p: the factor of S; S^-1 H'Ky^-1 y */
    evidence_estimate estimate; /* of the last evaluation */
    double reference;           /* the size of the first one, by which the tolerance goes; 0: there was none */
    int64_t kept, room, width;  /* estimates of all evaluations, with the hyperparameters: */
    double *history;            /* room x width */
    anygp_error failure;
    char remark[400], caution[400];
} exact_iterative;

void probe_signs(uint64_t seed, int64_t k, int64_t n, double *z); /* z[n]: the k-th vector of random signs */

/* log|Ky|, its bounds and slope are those of the last evaluation.  Also for tests. */
anygp_status iterative_open(const problem *p, void **state, anygp_error *e);
void iterative_close(void *state);
bool iterative_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
/* model_ops.settled and settle: preconditioner, probes, estimates of all evaluations. */
int64_t iterative_settled_numbers(const void *state, double *to);
bool iterative_settle_numbers(void *state, const hyper *h, int64_t count, const double *from, anygp_error *e);
anygp_status iterative_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);

/* The last solve alone, at h and with this jitter (absolute), from the alpha of a posterior whose rows are the first ones here; the estimate
   of the log evidence stays that of the posterior. */
anygp_status iterative_again(exact_iterative *s, const hyper *h, const posterior *before, double jitter,
                             posterior **out, anygp_error *e);

/* The preconditioner that takes the least work on some of the rows with one right-hand side; the reason goes to `why`. [precond_try.c] */
anygp_status precond_try(const problem *p, kernel *k, double noise, double jitter, const precond_ops **best,
                         size_t size, char *why, anygp_error *e);

/* What a posterior rests on: alpha[n]; R of S with beta; the file. [exact_rows_posterior.c] */
typedef struct rows_solution {
    const double *alpha, *R;
    double jitter; /* absolute */
    evidence_estimate estimate;
} rows_solution;

anygp_status rows_posterior_new(const problem *p, const hyper *h, const rows_solution *s, posterior **out,
                                anygp_error *e);
anygp_status rows_posterior_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                                 posterior **out, anygp_error *e);
const double *rows_posterior_alpha(const posterior *p); /* NULL: it is another kind of posterior */
void rows_posterior_correct(posterior *p, const variance_gain *g);
void rows_posterior_beta(const posterior *p, double *beta); /* the mean's coefficients, of such a one */
anygp_status rows_posterior_loo(const posterior *p, const problem *q, leave_one_out *out, anygp_error *e);

#endif
