/* A tighter bound than vfe's for moderate n (004, eq. 11 and 12): q(u) may depend on what is left of f given u,
       log N(y; 0, Q + noise I) - tr[(Q + noise I)^-1 (K - Q)] / 2  =  vfe's bound + gain.
   With a_i = A's columns times (w_i / noise)^1/2, so that S = sum a a', B B' = I + S, U = B^-1 A and
   K'_ij = k(x_i, x_j) (w_i w_j)^1/2 / noise,
       gain = (sum_ij K'_ij u_i'u_j - |B^-1 S_M|^2) / 2          S_M: the columns of S that belong to inducing inputs
   Reverse, with T = B^-T U, R = (I + A'A)^-1 = I - A'T and D = K' - A_M'A_M:
       K'bar = U'U / 2,   Abar = T D R + (T - A on the rows of inducing inputs),   T D = T K' - (T A_M') A_M.
   K is met in tiles and never held: O(n^2 M) time, twice that with the gradient, and O(n M) memory. */
#ifndef MODEL_SPARSE_TIGHT_H
#define MODEL_SPARSE_TIGHT_H

#include "model/sparse/sparse.h"

typedef struct tight tight;

/* For n rows of D inputs, with Mt inducing inputs and basis functions: bytes besides those of vfe; and whether n^2 Mt operations
   for each target are a matter of seconds. */
double tight_bytes(double n, double D, double Mt);
bool tight_is_little(double n, double Mt, int64_t targets);
#define TIGHT_SHARE 0.25 /* of the memory, for a bound beside another */
/* Holds all rows of the problem, which outlives it. */
anygp_status tight_open(const problem *p, const sparse *s, tight **out, anygp_error *e);
void tight_close(tight *t); /* accepts NULL */

/* After sparse_evidence with the trace term only and V of any form.  With `gradient` it adds the gain's share to s->E. */
anygp_status tight_gain(tight *t, sparse *s, const double *stat, bool gradient, double *gain, anygp_error *e);
/* After that, and after the reverse of the statistics: the gain's share of the adjoints. */
anygp_status tight_reverse(const tight *t, const sparse *s, double *adjoint, anygp_error *e);

/* Whether it is little work, and fits. */
bool tight_is_quick(const problem *p, const sparse *s);
/* The tighter bound beside that of a V of any form: vfe's on all sets, and what it gains; NaN: not known.  s and stat: for one
   target; B and m of s are then those of all sets. */
anygp_status tight_bound(const problem *p, sparse *s, const double *stat, double *tighter, anygp_error *e);

#endif
