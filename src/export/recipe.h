/* What a fitted model does to predict a row, as a list of arrays and of steps over them that any language can follow.

   x is the row in model units.  Vectors are workspace with names of their own (a, b, ...).  A place is an array or a vector, from some
   number on.  mean[c] and variance[c] belong to slot c and are 0 at the start: those of the latents first, component after component,
   then what steps put aside.  A step works on n numbers v of a vector (`from` where it only reads them); L and R are lower triangles, row after row without the zeros.
       kernel     v_i = k(z_i, x), z the rows of `array`              prior      variance[c] = k(x, x)
       left       the same with the left term of the kernel alone
       scaled     v_i = k of an rbf at z_i with a width of its own in each input: `array` z, `other` the logarithms of the widths
       waves      v_i = w_i cos(z_i'x), v_(n/2+i) = w_i sin(z_i'x), `array` z, `other` w
       basis      v_i = factor * (1 or x_j), the basis functions of the mean
       frame      v_i = (x_j - s_j) / t_j for the i-th j with t_j > 0: `array` s, `other` t
       copy       v = the n numbers u of `from`
       solve      v = L^-1 v               back       v = L^-T v
       root       v = R'v
       take       v = v - A u              mix        v = v - A'u          times      v = A u,      u the `from_n` numbers of `from`
       weigh      v_i = v_i w_i, w the `array`
       mean       mean[c] = mean[c] + factor array'v                       shift      mean[c] = mean[c] + factor
       square     variance[c] = variance[c] + factor v'v, or factor array'v where there is an `array`
       clear      mean[c] = 0, variance[c] = 0
       floor      variance[c] = max(variance[c], factor variance[of])
       same       variance[c] = variance[of]
   For models that cut the inputs into parts:
       route      part = the part that x belongs to by the tree in `array`, n rows of `from_n` numbers (partition_tree.h), or its entry of
                  `other`; steps with a part are for rows of that one
   For models that predict from neighbours: a list of rows, of which n = LISTED means all
       near       list = the n rows of `array` nearest to x, the nearest first, ties to the lower number; distance over `other`, weights
                  of the inputs, or 1 - |correlation| under the kernel where there is none
       design     list = those of the list that lagp.h chooses by alc: n of them, the first `from_n` the nearest; `array` the rows,
                  `other` their noise
       gather     v = the rows of `array` that are listed, n of `from_n` numbers
       gram       v = the lower triangle of k over n rows of `array`, with `other` or else factor on the diagonal
       less       v = v - F F', v a lower triangle, F the n rows of `array` with `from_n` numbers
       factor     v = its Cholesky factor, v a lower triangle of n rows
   kernel, left, scaled, waves, basis and solve may work on several `rows`: on as many vectors of n numbers one after the other, and on
   as many rows x.
   For committees (experts.h); s are four sums in a vector
       open       s = (0, 1 / variance[of] or 0, 0, 0)
       join       w, b (1/v - 1/v0) or b/v, b m/v and the noise `plus` times what came to the second, with m, v of slot c and v0 of
                  slot `of`, factor added to both variances
       agree      mean[c] = mean[of] + s3/s2, variance[c] = 1/s2 or s1/s2, less factor; the noise of y is s4/s2
       nested     npae.h: mean[c], variance[c] from the `from_n` slots after `of`, whose variance is the prior's, and the weights u in
                  `from` of the rows of `array`, those of an expert beginning at its entry of `other`; factor: the prior variance of the
                  mean's coefficients, which rows have in common besides the kernel
   For mixtures:
       noise      noise[c] = factor: what y has beyond f
       pass       v_i = x_i + array_i (mean[c+i] + sqrt(max(variance[c+i], 0) + factor) other_i)
       gate       weight_s = exp(mean[of+s]) over the sum of all, for n components; `factor`: mean[of+s] / sqrt(1 + factor variance[of])
   augment: variance[c] += factor k^2 / (v'v + factor k), k = k(x, x) (qsgp.h).
   Steps that `late` says are for the variance alone. */
#ifndef EXPORT_RECIPE_H
#define EXPORT_RECIPE_H

#include "gp/gp.h"

typedef enum step_op {
    STEP_KERNEL,
    STEP_LEFT,
    STEP_SCALED,
    STEP_WAVES,
    STEP_BASIS,
    STEP_FRAME,
    STEP_COPY,
    STEP_SOLVE,
    STEP_BACK,
    STEP_ROOT,
    STEP_TAKE,
    STEP_MIX,
    STEP_TIMES,
    STEP_WEIGH,
    STEP_MEAN,
    STEP_SHIFT,
    STEP_CLEAR,
    STEP_PRIOR,
    STEP_SQUARE,
    STEP_FLOOR,
    STEP_SAME,
    STEP_ROUTE,
    STEP_NEAR,
    STEP_AROUND,
    STEP_DESIGN,
    STEP_GATHER,
    STEP_GRAM,
    STEP_LESS,
    STEP_FACTOR,
    STEP_OPEN,
    STEP_JOIN,
    STEP_AGREE,
    STEP_NESTED,
    STEP_NOISE,
    STEP_PASS,
    STEP_GATE,
    STEP_AUGMENT,
    STEPS
} step_op;

/* What a step of a kind has, and what it does to its vector and its slot. */
enum {
    HAS_TO = 1,
    HAS_FROM = 2,
    HAS_FROM_N = 4,
    HAS_ARRAY = 8,
    HAS_OTHER = 16,
    HAS_SLOT = 32,
    HAS_OF = 64,
    HAS_FACTOR = 128,
    HAS_KERNEL = 256,
    HAS_INPUT = 512,
    HAS_ROWS = 1024,
    HAS_RULE = 2048,
    HAS_N = 4096,
    HAS_PLUS = 8192,
    KEEPS = 16384 /* what was in its vector counts */
};

typedef struct step_kind {
    const char *name;
    int has;
} step_kind;

extern const step_kind step_kinds[STEPS];

/* An array (1, 2, ...) or a vector (-1, -2, ...), from number `at` on; 0: none. */
typedef struct place {
    int64_t in, at;
} place;

enum { LISTED = -1 }; /* n of a step: as many as the list has */
enum {
    RULE_ENTROPY = 1,
    RULE_PRIOR = 2,
    RULE_NORMAL = 4,
    RULE_OBSERVED = 8,
    RULE_OWN = 16,
    RULE_LEVELS = 32
}; /* aggregation, experts.h */

typedef struct recipe_step {
    step_op op;
    int64_t part;   /* -1: any */
    int64_t kernel; /* number */
    int64_t width;  /* of x, and of rows z */
    int input;      /* what x is: 0, the row, or the vector -1, -2, ... */
    int64_t rows;   /* 0: one */
    place to, from, array, other;
    int64_t n, from_n;
    int64_t slot, of;
    double factor, plus;
    int rule;
    bool late;
} recipe_step;

typedef struct recipe_array {
    char name[64];
    int64_t count;
    double *values;
} recipe_array;

enum { RECIPE_VECTORS = 10 };

/* Where the next steps are: recipe_add() gives them this. */
typedef struct recipe_context {
    int64_t part, kernel, width,
        slot; /* slot: added to the slots of steps, for posteriors that are part of another one */
    int input;
    char suffix[32]; /* of array names */
} recipe_context;

typedef struct recipe {
    const gp *g;
    recipe_array *arrays;
    int64_t n_arrays, room_arrays;
    recipe_step *steps;
    int64_t n_steps, room_steps;
    const kernel **kernels; /* somebody else's */
    int64_t n_kernels, room_kernels;
    int64_t vector[RECIPE_VECTORS]; /* their lengths; 0: there is none */
    int64_t slots, list;            /* how many; the longest list, 0: there is none */
    int64_t components, latents;    /* of the result */
    bool weighted, noisy;           /* components have weights; y has noise of its own in each, or at each row */
    bool failed;                    /* for want of memory: sticky */
    const char *refusal;            /* why it cannot be exported: a sentence; NULL: it can */
    recipe_context at;
} recipe;

/* An error in one sentence where the model cannot be written down so. */
anygp_status recipe_of(const gp *g, recipe *r, anygp_error *e);
void recipe_clear(recipe *r);
const char *recipe_vector_name(int64_t vector); /* "a", "b", ... */
const char *recipe_place_name(const recipe *r, place p);
bool recipe_has(const recipe *r, step_op op);
void recipe_mark_late(recipe *r); /* once all steps are there */

/* ------------------------------------------------------------------------------- for the models */

/* Copies: as they are, or the lower triangle of a square, n x n column-major, or its transpose m x n, row-major. */
place recipe_add_array(recipe *r, const char *name, int64_t count, const double *values);
place recipe_add_lower(recipe *r, const char *name, int64_t n, const double *values, int64_t ld);
place recipe_add_turned(recipe *r, const char *name, int64_t n, int64_t m, const double *values);
place recipe_take_array(recipe *r, const char *name, int64_t count, double *values); /* frees them at the end */
void recipe_add_kernel(recipe *r, const kernel *k, int64_t width); /* and the next steps are with it */
void recipe_add(recipe *r, recipe_step s);
static inline place in_vector(int vector, int64_t at) { return (place){-1 - vector, at}; }
static inline place in_array(place p, int64_t at) { return (place){p.in, p.at + at}; }

/* Vectors that the recipes below work with; others may put things aside in the rest. */
enum { VA, VB, VC, VD, VE, VF, VG, VH, VI, VJ };

/* Steps that several kinds of posteriors have. [recipe_models.c] */
void basis_step(recipe *r, place to, const basis *mean, double factor);
void mean_step(recipe *r, place v, int64_t n, place array, double factor, int64_t slot);
void square_step(recipe *r, place v, int64_t n, double factor, int64_t slot);
void triangle_step(recipe *r, step_op op, place v, int64_t n, place triangle); /* solve, back, root */
void product_step(recipe *r, step_op op, place v, int64_t n, place matrix, place u, int64_t u_n); /* take, mix, times */
void copy_step(recipe *r, place v, int64_t n, place from);
void slot_step(recipe *r, step_op op, int64_t slot, int64_t of, double factor); /* prior, floor, same, shift, noise */
void rows_step(recipe *r, place v, int64_t n, place rows);                      /* kernel */

typedef struct inducing_set inducing_set;
void cross_step(recipe *r, const inducing_set *u, const char *name, place v, int64_t rows);
void feature_steps(recipe *r, const inducing_set *u, place v, int64_t rows); /* L^-1 k_u */
void route_step(recipe *r, const router *route, int64_t count, const double *part_of);

/* Recipes of posteriors, false: for want of memory, or r->refusal says why not. */
bool svgp_recipe(const posterior *p, recipe *r);
bool sparse_recipe(const posterior *p, recipe *r);
bool pic_recipe(const posterior *p, recipe *r);       /* [recipe_parts.c] */
bool experts_recipe(const posterior *p, recipe *r);   /* [recipe_parts.c] */
bool patchwork_recipe(const posterior *p, recipe *r); /* [recipe_parts.c] */
bool tree_recipe(const posterior *p, recipe *r);      /* [recipe_parts.c] */
bool vecchia_recipe(const posterior *p, recipe *r);   /* [recipe_near.c] */
bool vnngp_recipe(const posterior *p, recipe *r);     /* [recipe_near.c] */
bool lagp_recipe(const posterior *p, recipe *r);      /* [recipe_near.c] */
bool deep_recipe(const posterior *p, recipe *r);      /* [recipe_mixed.c] */
bool moe_recipe(const posterior *p, recipe *r);       /* [recipe_mixed.c] */

#endif
