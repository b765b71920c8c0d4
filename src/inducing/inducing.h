/* Inducing variables: the link between the rows and the function.

   u_1 .. u_M are jointly Gaussian with f, with covariances K_uu among themselves and K_uf with f at rows.  Models work with the
   same variables whitened, u = L v, K_uu = L L' and v ~ N(0, I), and ask one table for all that depends on what the variables are:
       prepare    L at the current values of the kernel and the variables
       features   A = cov(v, f) = L^-1 K_uf, M x n           residual   d_i = k_ii - |a_i|^2, at least 0
       reverse    from Abar and dbar to the kernel's parameters, to the variables' places and widths, to X
       finish     the reverse of prepare, once for a pass, from E = sum Abar A'
   L being triangular, only the lower triangle of E is needed: mirrored, K_uu bar = -L^-T E L^-1 / 2.
   Few models need the covariances themselves (cross, pair): predictions that fold L into coefficients, pic's blocks, odvgp, whose
   second set has no factor, and ivsgpr, whose q moves from one set of variables to another.

   A kind may have several variables for each place, such as a cosine and a sine for each frequency: `set` counts places, M
   variables.
   A kind whose variables are white already has no L.

   White terms of the kernel belong to rows: they are not part of any variable.

   Shapes: places Z[M,D] and, where variables have them, logarithms of widths C[M,D], row-major; A, K [M,n] column-major with a
   leading dimension; gradients accumulate.  Functions returning bool fail for want of memory, prepare also where K_uu has no
   factor. */
#ifndef INDUCING_INDUCING_H
#define INDUCING_INDUCING_H

#include "inducing/functions.h"
#include "kernel/spectral.h"

typedef struct inducing_set inducing_set;

/* Where gradients go, in natural parameters; NULL: not wanted, but the kernel's always are. */
typedef struct inducing_grad {
    double *kernel;
    double *Z, *C; /* M x D */
    double *X;     /* n x D; only for reverse */
} inducing_grad;

/* A kind of inducing variables. */
typedef struct inducing_ops {
    const char *name, *summary;
    const char *noun, *nouns; /* what a place is called */
    int64_t each;             /* variables of a place */
    bool white;               /* L is the identity, and is not there */
    bool widths;              /* a variable is a place and a width in each input; they begin at 1 */
    /* Whether the kernel has such variables; if not, the reason in a sentence.  NULL: every kernel has. */
    anygp_status (*check)(const kernel *k, anygp_error *e);
    /* Places Z[M,D] that are drawn, each a function of (seed, index), by the method that --select names.  NULL: they are chosen
       among rows. */
    anygp_status (*draw)(const kernel *k, const char *how, uint64_t seed, int64_t M, double *Z, anygp_error *e);
    bool orthogonal; /* drawn ones, whatever is asked for */
    /* What depends on the kernel and the variables besides L.  NULL: nothing does. */
    void (*bind)(inducing_set *v);
    /* *jitter is relative to the mean diagonal of K_uu and grows only if allowed. */
    bool (*prepare)(inducing_set *v, bool grow, double *jitter);
    bool (*features)(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *A, int64_t lda);
    /* Abar has the residuals' share -2 a dbar, and is used up; dbar[n]: their own adjoints, or NULL. */
    bool (*reverse)(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *Abar, int64_t lda,
                    const double *dbar, inducing_grad g);
    /* E[M,M], its lower triangle, is used up.  white: adjoint of the variance of white terms that comes from elsewhere (noise
       of y, rows whose k_ii has it): it is passed on in the same way. */
    bool (*finish)(const inducing_set *v, double *E, double white, inducing_grad g);
    void (*residual)(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const double *A, int64_t lda,
                     double *d); /* NULL: by its definition */

    /* K[M,n] = K_uf, and K[M,o.M] = covariances with other variables of the kind; reverses use G up.  NULL: all four are, and
       models that need them are not for this kind. */
    bool (*cross)(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *K, int64_t ldk);
    bool (*cross_reverse)(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *G, int64_t ldg,
                          inducing_grad g);
    bool (*pair)(const inducing_set *v, function_set o, double *K, int64_t ldk);
    bool (*pair_reverse)(const inducing_set *v, function_set o, double *G, int64_t ldg, inducing_grad g,
                         inducing_grad go);
} inducing_ops;

extern const inducing_ops inducing_points, inducing_scaled, inducing_fourier, inducing_left;
const inducing_ops *inducing_find(const char *name); /* NULL: no such kind */

struct inducing_set {
    const inducing_ops *ops;
    kernel *kernel;
    int64_t M, D;     /* variables; inputs */
    function_set set; /* their places */
    bool owns;        /* their memory too */
    double *L;        /* M x M, zeros above; NULL: variables without a factor, or white already */
    double *T;        /* of la_trsm_prepare; NULL: solves are few */
    double *diag;     /* M: workspace */
    double jitter;    /* relative, inside L */
    functions f;      /* for kinds with widths */
    spectral waves;   /* for fourier */
};

/* Room for the variables of this many places, and their factor. */
anygp_status inducing_open(inducing_set *v, const inducing_ops *ops, int64_t places, int64_t D, anygp_error *e);
void inducing_clear(inducing_set *v); /* accepts a half-built one */

/* L of these variables under this kernel, both of which outlive v.  False: K_uu has no factor, or there is no memory. */
bool inducing_prepare(inducing_set *v, kernel *k, function_set s, bool grow, double *jitter);
anygp_status inducing_no_factor(anygp_error *e); /* the sentence of a prepare that failed */
/* The same with a factor that is known. */
void inducing_set_factor(inducing_set *v, kernel *k, function_set s, const double *L);

/* Variables first .. first + count - 1 as a view without a factor, and where their gradients go. */
inducing_set inducing_part(const inducing_set *v, function_set all, int64_t first, int64_t count);
inducing_grad inducing_grad_part(inducing_grad g, int64_t D, int64_t first);

/* d[n] = max(k_ii - |a_i|^2, 0), or what the kind has instead. */
void inducing_residual(const inducing_set *v, int64_t n, const double *X, int64_t ldx, const double *A, int64_t lda,
                       double *d);

/* For predictions, under k, which outlives them: variables with memory of their own, and no workspace.  A copy of those of `from`
   with its factor, or with `more` behind them (NULL: none) and without; */
anygp_status inducing_copy(const inducing_set *from, kernel *k, inducing_set *to, anygp_error *e);
anygp_status inducing_join(const inducing_set *from, const inducing_set *more, kernel *k, inducing_set *to,
                           anygp_error *e);
/* none so far, and then these, which are taken over.  L NULL: without a factor. */
anygp_status inducing_empty(inducing_set *v, const inducing_ops *ops, kernel *k, int64_t D, anygp_error *e);
void inducing_take(inducing_set *v, int64_t M, double *Z, double *C, double *L);

#endif
