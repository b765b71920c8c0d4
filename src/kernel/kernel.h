/* Covariance functions: expressions such as `rbf(ard) + periodic(period=1)*linear`, their matrices and derivatives.

   A kernel is a parsed expression with the current values of its parameters, in model units.  Shapes:
       X[n,D], Z[m,D]   inputs, row-major, ldx doubles from one row to the next
       K[n,m], G[n,m]   column-major with leading dimension; G = dF/dK of some scalar F
       gX[n,D], gZ[m,D] row-major like X; gp[kernel_count(k)] in natural parameters
   Gradients accumulate: the caller zeroes them.  Functions returning bool fail only for lack of memory.
   Same inputs and same thread count give the same bits.

   `white` acts on the identity of rows: it is on the diagonal of kernel_gram_sym and nowhere else. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"

/* The columns an expression may refer to.  Constant columns are not in X: position -1. */
typedef enum input_kind {
    INPUT_NUMBER,
    INPUT_TEXT,
    INPUT_CONSTANT,
    INPUT_PAIR /* a number that two columns of X are made of, at its position and behind it */
} input_kind;

typedef struct kernel_input {
    const char *name; /* may be NULL */
    int64_t number;   /* column number in the file, as a user writes it */
    input_kind kind;
    int64_t position; /* column of X, or -1 */
} kernel_input;

/* What a parameter means, and so how the caller converts it between data units and model units:
       VARIANCE  unit of y^2 if unit_variance, else none      LENGTH, PERIOD  unit of the column
       FREQUENCY 1 over the unit of the column                SHAPE, WEIGHT   stay in model units        */
typedef enum param_role { ROLE_VARIANCE, ROLE_LENGTH, ROLE_PERIOD, ROLE_FREQUENCY, ROLE_SHAPE, ROLE_WEIGHT } param_role;

/* One scalar parameter. */
typedef struct kernel_param {
    const char *name;  /* "lengthscale" */
    int64_t leaf;      /* which leaf of the expression, left to right; number literals count */
    int64_t component; /* of a spectral mixture; 0 elsewhere */
    param_role role;
    int64_t dim;                 /* column of X it belongs to; -1: not of one column (shared or none) */
    int64_t column;              /* the column whose unit it has: dim, or the first of those that share it; -1: none */
    bool unit_variance;          /* ROLE_VARIANCE only: carries the unit of y^2 (one such factor in a product) */
    bool given;                  /* the expression gave a value */
    bool fixed;                  /* never learned: it could be absorbed by another parameter */
    int64_t follows;             /* 1 + the parameter whose value this one always has [kernel_tie]; 0: none */
    double lower;                /* positive floor of the transform: p = lower + exp(u) */
    double prior_mean, prior_sd; /* weak prior: log p ~ N(mean, sd^2), model units */
} kernel_param;

typedef struct kernel kernel;

/* Parses `text` over the inputs in[n_in], of which D columns are in X.  For a mistake the message gives
   the character (counted from 1) and, where it helps, what was probably meant. */
anygp_status kernel_parse(const char *text, const kernel_input *in, int64_t n_in, int64_t D, kernel **out,
                          anygp_error *e);
/* Columns first .. first+count-1 of X have one length-scale (period, frequency of a cosine) in each leaf: those of the later columns follow
   that of the first one.  False: a leaf has some of these columns and not all. */
bool kernel_tie(kernel *k, int64_t first, int64_t count);
kernel *kernel_copy(const kernel *k); /* NULL: out of memory */
void kernel_free(kernel *k);          /* accepts NULL */
/* What was taken for granted in reading it, as a sentence for the user; NULL: nothing. */
const char *kernel_note(const kernel *k);

int64_t kernel_count(const kernel *k);  /* parameters */
int64_t kernel_inputs(const kernel *k); /* D */
const kernel_param *kernel_param_at(const kernel *k, int64_t i);
/* The size of the parameter's unit if lengths of its column are measured in units of x and the target in units of y. */
double kernel_param_unit(const kernel_param *p, double x, double y);
double *kernel_values(kernel *k); /* natural values, model units; the caller may write positive numbers */

/* group[D]: inputs tied by a shared length-scale, period or frequency in any leaf get the same id (the smallest column
   of the group); the others their own. */
void kernel_groups(const kernel *k, int64_t *group);

/* weight[D]: 1 over the shortest length-scale that each column of X has with these values; 0 for a column without one.  Rows that are
   close in the columns times these are similar. */
bool kernel_is_category_length(const kernel *k,
                               int64_t i); /* parameter i: a length-scale of categories, without a unit */
void kernel_closeness(const kernel *k, const double *values, double *weight);

/* The expression with these values; parses back (over the same inputs) to the same kernel, bit by bit at 17 digits.
   *text is freed by free(). */
anygp_status kernel_format(const kernel *k, const double *values, int digits, char **text, anygp_error *e);

bool kernel_has_white(const kernel *k);
double kernel_white(const kernel *k);    /* total variance of the white terms */
bool kernel_stationary(const kernel *k); /* depends on x - x' only */
bool kernel_falls(const kernel *k);      /* never grows with any |x_j - x'_j|, and is never negative */
/* A single rbf and nothing else: for each column of X the length-scale parameter (its number among the parameters), or -1 if
   the rbf does not use it; the variance is parameter 0.  False: it is another kernel. */
bool kernel_as_rbf(const kernel *k, int64_t *length);

/* ---------------------------------------------------------------------------------------- matrices */

/* K[n,m] = k(X, Z), without white.  K = v exactly where rows are equal and the kernel is stationary. */
bool kernel_gram(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                 double *K, int64_t ldk);
/* The lower triangle of k(X, X), white on the diagonal.  The strict upper triangle is workspace: partly written. */
bool kernel_gram_sym(const kernel *k, int64_t n, const double *X, int64_t ldx, double *K, int64_t ldk);
/* diag[n] = k(x_i, x_i), without white. */
void kernel_diag(const kernel *k, int64_t n, const double *X, int64_t ldx, double *diag);

/* Reverses.  Any of gp, gX, gZ may be NULL. */
bool kernel_gram_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                         int64_t ldz, const double *G, int64_t ldg, double *gp, double *gX, int64_t ldgx, double *gZ,
                         int64_t ldgz);
/* G: lower triangle of the symmetric adjoint, dF = sum_ij G_ij dK_ij over ALL i, j.  The upper one is not read. */
bool kernel_gram_sym_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, const double *G, int64_t ldg,
                             double *gp, double *gX, int64_t ldgx);
/* Of several small sets of n rows side by side (linalg/lanes.h): X[D][n] and lower triangles K[n,n], each element LANES numbers.
   kernel_has_lanes: whether it can; white cannot.  work: kernel_lanes_work(k, n) doubles.  The reverse uses up G, the lower triangles of
   the adjoint as above, and adds to gp the sum over the lanes [lanes.c]. */
bool kernel_has_lanes(const kernel *k);
int64_t kernel_lanes_work(const kernel *k, int64_t n);
void kernel_lanes_gram(const kernel *k, int64_t n, const double *X, double *K, double *work);
void kernel_lanes_reverse(const kernel *k, int64_t n, const double *X, double *G, double *gp, double *work);
/* The left term of a kernel that is a sum, or all of another one: its parameters are the first kernel_left_count(k). */
int64_t kernel_left_count(const kernel *k);
bool kernel_left_gram(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                      double *K, int64_t ldk);
bool kernel_left_gram_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                              int64_t ldz, const double *G, int64_t ldg, double *gp, double *gX, int64_t ldgx,
                              double *gZ, int64_t ldgz);
/* The same four in float: K and G are, inputs, parameters and gradients stay double.  Kernels of distance are computed in float, others in
   double and rounded (real.h); sums over tiles are in double. */
bool kernel_gram_f32(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                     float *K, int64_t ldk);
bool kernel_gram_sym_f32(const kernel *k, int64_t n, const double *X, int64_t ldx, float *K, int64_t ldk);
bool kernel_gram_reverse_f32(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                             int64_t ldz, const float *G, int64_t ldg, double *gp, double *gX, int64_t ldgx, double *gZ,
                             int64_t ldgz);
bool kernel_gram_sym_reverse_f32(const kernel *k, int64_t n, const double *X, int64_t ldx, const float *G, int64_t ldg,
                                 double *gp, double *gX, int64_t ldgx);

/* g[n] = dF/d diag. */
void kernel_diag_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx);

/* --------------------------------------------------------------------------------------- the others */

/* Draw `index` of a frequency vector w[D] with k(x,x') = variance E[cos w'(x-x')], white left out.  Factors of a
   product add their frequencies; a sum chooses a term in proportion to its variance.  False if some leaf has no
   spectral density here, or there is nothing but white; w is then not to be used. */
bool kernel_spectral(const kernel *k, random_stream s, uint64_t index, double *w);

/* k(x, z) straight from the definition, in plain scalar code: the reference for the fast one.  same_row: white counts. */
double kernel_reference(const kernel *k, const double *x, const double *z, bool same_row);

/* The table, for conformance tests and docs. */
int64_t kernel_kinds(void);
const char *kernel_kind_name(int64_t i);
const char *kernel_kind_summary(int64_t i);
const char *kernel_kind_option(int64_t i, int64_t k); /* the k-th name that may be given a value; NULL: no more */

#endif
