/* Reverse-mode differentiation over column-major matrices.
   Write a computation forward; tape_backward() then fills the adjoint of every node that a variable feeds:

       tape *t = tape_new();
       node *u = tape_variable(t, 2, 1, theta);
       node *A = ...;                             each call computes at once and records itself
       node *L = tape_cholesky(t, A);
       node *f = tape_logdet(t, L);
       if (tape_backward(t, f, e) == ANYGP_OK)    df/dtheta is in tape_adjoint(u)
       tape_reset(t);                             next step: the same memory again

   - A scalar is 1 x 1, a vector n x 1.  Adjoints accumulate, so a node may be used any number of times.
   - A failure (out of memory, shapes that do not fit, a matrix that cannot be factored) is sticky: later calls do
     nothing and return a dead node, and tape_status() or tape_backward() reports the first failure once.
   - All memory lives in one arena that tape_reset() takes back: no malloc in a loop.
   - A symmetric matrix has a symmetric adjoint: df = sum_ij Abar_ij dA_ij over both triangles. */
#ifndef TAPE_TAPE_H
#define TAPE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "linalg/linalg.h"

typedef struct tape tape;
typedef struct node node;

/* An operation: `forward` fills n->value from n->inputs; `reverse` adds to their adjoints, given n->adjoint. */
typedef struct tape_op {
    const char *name;
    void (*forward)(tape *t, node *n);
    void (*reverse)(tape *t, node *n);
} tape_op;

struct node {
    int64_t rows, cols;
    double *value;     /* rows x cols, leading dimension = rows */
    double *adjoint;   /* the same shape; NULL until something reaches it */
    const tape_op *op; /* NULL: a leaf */
    node **inputs;
    int n_inputs;
    bool active;   /* a variable feeds it; others never get an adjoint */
    double scalar; /* parameters of an operation, for those that have any */
    int64_t offset;
    la_op trans[2];
    void *ctx;
    node *previous; /* in order of recording */
};

/* ----------------------------------------------------------------------------------------------- the tape */

tape *tape_new(void);    /* NULL: out of memory */
void tape_free(tape *t); /* accepts NULL */
void tape_reset(tape *t);

/* Jitter that tape_cholesky adds, relative to the mean diagonal (default 0), and whether it may grow where there is no
   factor (default: yes); survives tape_reset. */
void tape_set_jitter(tape *t, double relative, bool grow);
double tape_jitter(const tape *t); /* the largest since the last reset, relative too */

/* Leaves refer to the caller's numbers, which must stay until the reset. */
node *tape_constant(tape *t, int64_t rows, int64_t cols, const double *values);
node *tape_variable(tape *t, int64_t rows, int64_t cols, const double *values);

/* An operation of a folder above.  ctx is passed on as n->ctx; put it into the tape's memory by tape_alloc. */
node *tape_custom(tape *t, int64_t rows, int64_t cols, int n_inputs, node *const *inputs, const tape_op *op, void *ctx);

/* Gradients of a scalar; once between two resets. */
anygp_status tape_backward(tape *t, node *scalar, anygp_error *e);
/* The same from adjoints of any nodes: tape_seed() adds seed[rows, cols] to one, tape_sweep() runs the reverse. */
void tape_seed(tape *t, node *n, const double *seed);
anygp_status tape_sweep(tape *t, anygp_error *e);

double tape_value(const node *scalar);     /* NaN for a dead node */
const double *tape_adjoint(const node *n); /* NULL where nothing reached it */

bool tape_failed(const tape *t);
anygp_status tape_status(const tape *t, anygp_error *e);

/* For operations: memory until the reset (NULL after a failure); the adjoint to add to, zeroed at first use, NULL if
   none is wanted or memory is out; reporting a failure. */
void *tape_alloc(tape *t, int64_t count, size_t size);
double *tape_doubles(tape *t, int64_t rows, int64_t cols);
double *tape_grad(tape *t, node *n);
void tape_fail(tape *t, anygp_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All operations of this folder, for the test that differentiates each of them. */
int tape_op_count(void);
const tape_op *tape_op_at(int i);

/* ---------------------------------------------------------------------------------- elementwise [ops_element.c] */

node *tape_add(tape *t, node *A, node *B);
node *tape_sub(tape *t, node *A, node *B);
node *tape_mul(tape *t, node *A, node *B);
node *tape_scale(tape *t, node *A, double c);
node *tape_log(tape *t, node *A);
node *tape_sqrt(tape *t, node *A);
node *tape_reciprocal(tape *t, node *A);
node *tape_fill(tape *t, node *s, int64_t rows, int64_t cols); /* the scalar s everywhere */
node *tape_scale_columns(tape *t, node *A, node *s);           /* A diag(s) */

/* --------------------------------------------------------------------------------------- products [ops_blas.c] */

node *tape_transpose(tape *t, node *A);
node *tape_stack(tape *t, node *A, node *B);                      /* [A; B], A above */
node *tape_gemm(tape *t, la_op opa, node *A, la_op opb, node *B); /* op(A) op(B) */
node *tape_syrk(tape *t, la_op op, node *A);                      /* LA_N: A A';  LA_T: A' A;  both triangles */
node *tape_mul_lower_t(tape *t, node *L, node *B);                /* L' B, only the lower triangle of L is read */
node *tape_mul_tv(tape *t, node *A, node *v);                     /* A' v */

/* --------------------------------------------------------------------------- factors and solves [ops_factor.c] */

node *tape_cholesky(tape *t, node *A);              /* lower L, L L' = A + jitter I; zeros above */
node *tape_solve_lower(tape *t, node *L, node *B);  /* L^-1 B */
node *tape_logdet(tape *t, node *L);                /* log det(L L') = 2 sum log L_ii */
node *tape_add_diagonal(tape *t, node *A, node *d); /* A + diag(d), d[n] or a scalar */

/* ------------------------------------------------------------------------------------ reductions [ops_reduce.c] */

node *tape_sum(tape *t, node *A);
node *tape_dot(tape *t, node *A, node *B);                   /* sum A_ij B_ij */
node *tape_marginal(tape *t, node *kdiag, node *A, node *C); /* k_i - |a_i|^2 + |c_i|^2;  C may be NULL */
node *tape_kl_white(tape *t, node *m, node *R);              /* KL(N(m, R R') || N(0, I)), R lower */
node *tape_concat(tape *t, int count, node *const *parts);   /* one column: the columns of all parts in order */
node *tape_slice(tape *t, node *A, int64_t offset, int64_t rows, int64_t cols); /* numbers offset ... of A */

#endif
