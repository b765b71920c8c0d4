/* What the other files of this folder need of BLAS beyond linalg.h. */
#ifndef LINALG_BLAS_H
#define LINALG_BLAS_H

#include "linalg/linalg.h"

/* BLAS's own dtrsm. */
void blas_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
               int64_t ldb);

/* Around a parallel region of ours that calls BLAS inside: a BLAS with threads of its own (not OpenMP's) gets one. */
void blas_serial_begin(int threads);
void blas_serial_end(int threads);

#endif
