/* Local approximate Gaussian processes (laGP; Gramacy and Apley 2015; Gramacy and Haaland 2016; Gramacy 2016; Emery 2009; 003, section
   IV-A [20], [32], [114] to [116]): a row x is predicted by the exact Gaussian process of a few rows that are chosen for it, its design.

   From the `start` nearest rows on, one row after another joins out of the `close` nearest, the candidates.  With G = K + noise over the
   design so far, G = L L', a candidate c and x are known by
       v_c = L^-1 k_c,    t_c = k_cc + noise_c - |v_c|^2,    s_c = k_cx - v_c'v_x
   the variance of y_c, and the covariance of y_c and f(x), given the design.
       alc    the c that leaves the least variance at x, and so has the largest s_c^2 / t_c
       mspe   the c with the least  var - s_c^2 / t_c + (d mu_x / d l)^2 / I_c,  which counts the error of a length-scale that is learned
              from the design: l is the log of a common factor of all length-scales, and
              I_c = max(0, - d^2 log p(y) / d l^2) + (d t_c / d l)^2 / (2 t_c^2) + (d mu_c / d l)^2 / t_c  the information with c; the
              derivatives are differences of three designs, at l = 0 and at l = -h and h
       ray    the candidate nearest to the largest s^2 / t on a ray, which starts at a near row not yet in the design and leads away
              from x, to ten times its distance; the start is each of the sqrt(j) nearest in turn
       nn     the nearest
   When row p joins, the new element of every v_c is (k_cp - v_c'v_p) / t_p^1/2, and t_c and s_c lose its square and its product with that
   of x: j operations per candidate in round j, where solving for each candidate would take j^2.

   The factor `local` and the scale `integrated` of a design: lagp_posterior.c.

   Cost per row with m rows in the design out of c: alc m^2 c operations and m c kernel entries, mspe three times that, ray 4 m^3
   operations and m c distances. */
#ifndef MODEL_LOCAL_LAGP_H
#define MODEL_LOCAL_LAGP_H

#include "model/model.h"

typedef enum lagp_design { DESIGN_ALC, DESIGN_MSPE, DESIGN_NN, DESIGN_RAY } lagp_design;

/* A model's options; model_ops.family. */
typedef struct lagp_kind {
    lagp_design design;
    int64_t start, close; /* 0 in a table: not given */
    bool local;           /* length-scales and noise of each design have a factor of their own */
    bool integrated;      /* the scale of the covariance of each design is integrated out */
} lagp_kind;

/* Kernels of mspe: as it is, and with all length-scales times exp(-LAGP_STEP) and exp(LAGP_STEP). */
enum { LAGP_KERNELS = 3 };
#define LAGP_STEP 1e-3

/* k with all length-scales times this; NULL: no memory. */
kernel *lagp_stretched(const kernel *k, double factor);

/* The candidates for one row, nearest first.  y without the prior mean. */
typedef struct lagp_near {
    const kernel *kernel[LAGP_KERNELS]; /* the last two for mspe only */
    int64_t n, D;
    const double *X, *y, *noise; /* n x D row-major, n, n */
    const double *weight;        /* D: closeness */
    const double *x;             /* D */
} lagp_near;

int64_t design_doubles(const lagp_kind *k, int64_t candidates, int64_t D, int64_t rows);
/* The numbers of `rows` candidates in the order in which they join, fewer where no other adds anything: *count. */
anygp_status design_choose(const lagp_kind *k, const lagp_near *near, int64_t rows, double *room, int32_t *chosen,
                           int64_t *count, anygp_error *e);

#endif
