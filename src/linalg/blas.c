/* The only file that sees cblas.h and the Fortran interface of LAPACK. */
#include "linalg/blas.h"
#include "linalg/linalg_f32.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

#include "base/threads.h"

/* LAPACK by its Fortran names: LAPACKE's wrappers would add nothing but an optional NaN scan. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
void dtrtri_(const char *uplo, const char *diag, const int *n, double *a, const int *lda, int *info, size_t, size_t);
void dlauum_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
            const int *lwork, int *info, size_t, size_t);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);

/* Present in OpenBLAS only; any other BLAS leaves them NULL. */
extern void openblas_set_num_threads(int) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));

static int narrow(int64_t n)
{
    assert(n >= 0 && n <= INT_MAX);
    return (int)n;
}

/* BLAS wants a leading dimension of at least 1 even for empty matrices. */
static int leading(int64_t ld) { return ld > 0 ? narrow(ld) : 1; }

static CBLAS_TRANSPOSE trans(la_op op) { return op == LA_T ? CblasTrans : CblasNoTrans; }
static CBLAS_SIDE lr(la_side s) { return s == LA_LEFT ? CblasLeft : CblasRight; }

/* A BLAS with its own pool has one number of threads for the whole process.  The openmp build of OpenBLAS (2) differs: it asks
   OpenMP at every call how many the calling thread may have, and runs serially inside a region.  There only OpenMP is told,
   so that what one thread of the host requests has no effect on the others, and their sums keep their order. */
static bool has_own_threads(void)
{
    return openblas_set_num_threads && openblas_get_parallel && openblas_get_parallel() == 1;
}

int la_threads(int count)
{
    if (threads_inside()) return threads_max(); /* one thread already, and the number of a pool is common to all */
    int former = threads_enter(count);
    if (has_own_threads()) openblas_set_num_threads(threads_max());
    return former;
}

int blas_alone_begin(void) { return threads_max() > 1 ? la_threads(1) : 0; }
void blas_alone_end(int former)
{
    if (former) la_threads(former);
}

void la_serial_begin(int threads)
{
    if (threads > 1 && has_own_threads()) openblas_set_num_threads(1);
}

void la_serial_end(int threads)
{
    if (threads > 1 && has_own_threads()) openblas_set_num_threads(threads_max());
}

double la_dot(int64_t n, const double *x, const double *y) { return cblas_ddot(narrow(n), x, 1, y, 1); }
double la_norm(int64_t n, const double *x) { return cblas_dnrm2(narrow(n), x, 1); }

void la_axpy(int64_t n, double alpha, const double *x, double *y) { cblas_daxpy(narrow(n), alpha, x, 1, y, 1); }
void la_scale(int64_t n, double alpha, double *x) { cblas_dscal(narrow(n), alpha, x, 1); }

void la_gemv(la_op op, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *x, double beta,
             double *y)
{
    cblas_dgemv(CblasColMajor, trans(op), narrow(m), narrow(n), alpha, A, leading(lda), x, 1, beta, y, 1);
}

void la_gemm(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             const double *B, int64_t ldb, double beta, double *C, int64_t ldc)
{
    cblas_dgemm(CblasColMajor, trans(opa), trans(opb), narrow(m), narrow(n), narrow(k), alpha, A, leading(lda), B,
                leading(ldb), beta, C, leading(ldc));
}

void la_syrk(la_op op, int64_t n, int64_t k, double alpha, const double *A, int64_t lda, double beta, double *C,
             int64_t ldc)
{
    cblas_dsyrk(CblasColMajor, CblasLower, trans(op), narrow(n), narrow(k), alpha, A, leading(lda), beta, C,
                leading(ldc));
}

void la_symm(la_side side, int64_t m, int64_t n, double alpha, const double *A, int64_t lda, const double *B,
             int64_t ldb, double beta, double *C, int64_t ldc)
{
    cblas_dsymm(CblasColMajor, lr(side), CblasLower, narrow(m), narrow(n), alpha, A, leading(lda), B, leading(ldb),
                beta, C, leading(ldc));
}

void blas_trsm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
               int64_t ldb)
{
    cblas_dtrsm(CblasColMajor, lr(side), CblasLower, trans(op), CblasNonUnit, narrow(m), narrow(n), alpha, L,
                leading(ldl), B, leading(ldb));
}

void la_gemm_f32(la_op opa, la_op opb, int64_t m, int64_t n, int64_t k, float alpha, const float *A, int64_t lda,
                 const float *B, int64_t ldb, float beta, float *C, int64_t ldc)
{
    cblas_sgemm(CblasColMajor, trans(opa), trans(opb), narrow(m), narrow(n), narrow(k), alpha, A, leading(lda), B,
                leading(ldb), beta, C, leading(ldc));
}

void la_syrk_f32(la_op op, int64_t n, int64_t k, float alpha, const float *A, int64_t lda, float beta, float *C,
                 int64_t ldc)
{
    cblas_ssyrk(CblasColMajor, CblasLower, trans(op), narrow(n), narrow(k), alpha, A, leading(lda), beta, C,
                leading(ldc));
}

void blas_trsm_f32(la_side side, la_op op, int64_t m, int64_t n, float alpha, const float *L, int64_t ldl, float *B,
                   int64_t ldb)
{
    cblas_strsm(CblasColMajor, lr(side), CblasLower, trans(op), CblasNonUnit, narrow(m), narrow(n), alpha, L,
                leading(ldl), B, leading(ldb));
}

void la_trmm(la_side side, la_op op, int64_t m, int64_t n, double alpha, const double *L, int64_t ldl, double *B,
             int64_t ldb)
{
    cblas_dtrmm(CblasColMajor, lr(side), CblasLower, trans(op), CblasNonUnit, narrow(m), narrow(n), alpha, L,
                leading(ldl), B, leading(ldb));
}

void la_trsv(la_op op, int64_t n, const double *L, int64_t ldl, double *x)
{
    cblas_dtrsv(CblasColMajor, CblasLower, trans(op), CblasNonUnit, narrow(n), L, leading(ldl), x, 1);
}

int64_t blas_potrf(int64_t n, double *A, int64_t lda)
{
    int size = narrow(n), ld = leading(lda), info = 0;
    if (n > 0) dpotrf_("L", &size, A, &ld, &info, 1);
    return info;
}

int64_t blas_potri(int64_t n, double *L, int64_t ldl)
{
    int size = narrow(n), ld = leading(ldl), info = 0;
    if (n > 0) dpotri_("L", &size, L, &ld, &info, 1);
    return info;
}

int64_t blas_trtri(int64_t n, double *L, int64_t ldl)
{
    int size = narrow(n), ld = leading(ldl), info = 0;
    if (n > 0) dtrtri_("L", "N", &size, L, &ld, &info, 1, 1);
    return info;
}

int64_t blas_lauum(int64_t n, double *L, int64_t ldl)
{
    int size = narrow(n), ld = leading(ldl), info = 0;
    if (n > 0) dlauum_("L", &size, L, &ld, &info, 1);
    return info;
}

/* Divide and conquer for large matrices: its work is in matrix products, that of dsyev in rotations. */
enum { CONQUER_ABOVE = 200 };

static int64_t conquer_work(int64_t n) { return 1 + 6 * n + 2 * n * n; }

int64_t la_eigh_work(int64_t n)
{
    return n > CONQUER_ABOVE ? conquer_work(n) + (3 + 5 * n) / 2 + 1 : 34 * (n > 0 ? n : 1);
}

int64_t la_eigh(int64_t n, double *A, int64_t lda, double *w, double *work)
{
    int size = narrow(n), ld = leading(lda), info = 0;
    if (n > CONQUER_ABOVE) {
        int lwork = narrow(conquer_work(n)), liwork = narrow(3 + 5 * n);
        dsyevd_("V", "L", &size, A, &ld, w, work, &lwork, (int *)(void *)(work + conquer_work(n)), &liwork, &info, 1,
                1);
    } else if (n > 0) {
        int lwork = narrow(la_eigh_work(n));
        dsyev_("V", "L", &size, A, &ld, w, work, &lwork, &info, 1, 1);
    }
    return info;
}
