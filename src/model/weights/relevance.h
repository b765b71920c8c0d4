/* Sparse Bayesian learning: y = Phi w + noise of precision beta, w_i ~ N(0, 1/s_i), with the s that maximise the evidence; most of
   them are infinite, and their columns of Phi are out.  One column is added, re-estimated or taken out at a time (Tipping and Faul,
   "Fast marginal likelihood maximisation for sparse Bayesian models", AISTATS 2003, equations in brackets).

   With C = I / beta + sum_i phi_i phi_i' / s_i over the columns that are in, and C_-i without column i,
       sparsity S_i = phi_i'C^-1 phi_i,  quality Q_i = phi_i'C^-1 y;       of C_-i:  z_i, q_i                         (19, 22, 23)
   where z = S, q = Q of a column that is out, and z = 1 / Sigma_ii - s, q = m_i / Sigma_ii of one that is in.  As a function of one s_i
   the evidence is a constant and
       l(s_i) = [log s_i - log(s_i + z_i) + q_i^2 / (s_i + z_i)] / 2                                                  (18)
   whose maximum is at s_i = z^2 / (q^2 - z) where q^2 > z, and at infinity elsewhere (20, 21).  Each step is the change of one
   column that gains most; all of S, Q, Sigma and the mean m follow by a rank-one change (appendix of the paper), and are computed
   anew now and then.  Kernels at neighbouring rows are much alike, and steps of one column are then short: so rounds of them take turns
   with Newton steps in the logarithms of all s that are finite,
       dF/d log s_i = [1 - s_i (Sigma_ii + m_i^2)] / 2,      d^2F = delta_ij (dF/d log s_i - 1/2) + s_i s_j Sigma_ij (Sigma_ij + 2 m_i m_j) / 2

   Cost of a step with M columns in: n M, and n^2 for a column that comes in; of a Newton step n M^2. */
#ifndef MODEL_WEIGHTS_RELEVANCE_H
#define MODEL_WEIGHTS_RELEVANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct relevance {
    int64_t n;         /* rows, and columns of Phi */
    const double *Phi; /* n x n, and y[n]: the caller's */
    const double *y;
    double beta;
    double *s;      /* n: precisions of the columns that are in; infinite: out */
    double *square; /* n: phi_i'phi_i */
    double *with_y; /* n: phi_i'y */
    double *S, *Q;  /* n */
    double yy;
    int64_t M, room;
    int64_t *at;   /* M: the columns that are in */
    double *G;     /* n x room: Phi'phi of these */
    double *Sigma; /* room x room, both triangles: covariance of their weights */
    double *m;     /* room: mean */
    double *work;  /* 3 n */
    int64_t since; /* steps since Sigma was computed anew */
    double evidence;
} relevance;

/* What a step did to the column `which`. */
typedef enum relevance_action { RELEVANCE_NONE, RELEVANCE_ADD, RELEVANCE_MOVE, RELEVANCE_DROP } relevance_action;
typedef struct relevance_step {
    relevance_action action;
    int64_t which;
    double gain; /* of the log evidence */
} relevance_step;

anygp_status relevance_open(relevance *r, int64_t n, anygp_error *e);
void relevance_close(relevance *r); /* accepts a half-built one */

/* No column is in. */
void relevance_begin(relevance *r, const double *Phi, const double *y, double beta);
/* The best step there is, at least this gain; add: columns may come in.  False: no memory, or numbers that are not finite. */
bool relevance_next(relevance *r, bool add, double least, relevance_step *step);
/* Until no step gains as much as that, and the evidence is flat in the s that are finite; it never falls. */
bool relevance_climb(relevance *r, bool add, double least);
/* Takes out the columns with s above their limits [n]; then the others climb.  How many; -1: it failed. */
int64_t relevance_prune(relevance *r, const double *limit, double least);

#endif
