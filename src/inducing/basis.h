/* The prior mean h(x)'b with b ~ N(0, B I) integrated out (Rasmussen and Williams 2006, section 2.7, with a proper
   prior): zero (p = 0), constant (h = 1) or linear (h = 1 and the number columns). */
#ifndef INDUCING_BASIS_H
#define INDUCING_BASIS_H

#include <stdint.h>

#include "base/error.h"
#include "data/table/schema.h"
#include "inducing/inducing.h"

typedef enum mean_kind { MEAN_ZERO, MEAN_CONSTANT, MEAN_LINEAR } mean_kind;

typedef struct basis {
    mean_kind kind;
    int64_t p;       /* functions */
    int64_t *column; /* p: the column of X, or -1 for the constant */
    double B;        /* prior variance of each coefficient */
} basis;

anygp_status basis_init(basis *b, mean_kind kind, const schema *s, double B, anygp_error *e);
anygp_status basis_copy(const basis *from, basis *to, anygp_error *e);
void basis_clear(basis *b);
/* H[i*row + k*col] = function k at row i of X[n,D] */
void basis_fill(const basis *b, int64_t n, const double *X, int64_t ldx, double *H, int64_t row, int64_t col);

/* A[M,n] = L^-1 K_uf and H[p,n] = sqrt(B) h(x), both with leading dimension M + p: one above the other, in the caller's order. */
anygp_status basis_features(const inducing_set *u, const basis *mean, int64_t n, const double *X, int64_t ldx,
                            double *A, double *H, anygp_error *e);

#endif
