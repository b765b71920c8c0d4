/* What a fitted model does to predict a row, as a list of arrays and of steps over them that any language can follow.

   Vectors are workspace with names of their own (a, b, ...).  A step works on `n` numbers of a vector from place `at`.  x is the row in
   model units, D numbers; mean[c] and variance[c] are those of latent c, 0 at the start.
       kernel     v_i = k(z_i, x), z the rows of the array
       left       the same with the left term of the kernel alone
       scaled     v_i = k of an rbf at z_i with a width of its own in each input: `array` z, `other` the logarithms of the widths
       waves      v_i = w_i cos(z_i'x), v_(n/2+i) = w_i sin(z_i'x), `array` z, `other` w
       basis      v_i = factor * (1 or x_j), the basis functions of the mean
       copy       v = the n numbers of vector `from` at `from_at`
       solve      v = L^-1 v, L lower triangular, its rows one after the other without the zeros
       root       v = R'v, R stored as L
       take       v_i = v_i - sum_j A_ij u_j, u the `from_n` numbers of vector `from` at `from_at`, A row after row
       mean       mean[c] = mean[c] + array'v
       prior      variance[c] = k(x, x)
       square     variance[c] = variance[c] + factor v'v
       floor      variance[c] = max(variance[c], 0)
       same       variance[c] = variance[0]
   The first `mean_steps` of them are all that the means need. */
#ifndef EXPORT_RECIPE_H
#define EXPORT_RECIPE_H

#include "gp/gp.h"

typedef enum step_op {
    STEP_KERNEL,
    STEP_LEFT,
    STEP_SCALED,
    STEP_WAVES,
    STEP_BASIS,
    STEP_COPY,
    STEP_SOLVE,
    STEP_ROOT,
    STEP_TAKE,
    STEP_MEAN,
    STEP_PRIOR,
    STEP_SQUARE,
    STEP_FLOOR,
    STEP_SAME
} step_op;

const char *step_name(step_op op);

typedef struct recipe_step {
    step_op op;
    int vector, from; /* from 0; -1: none */
    int64_t at, n, from_at, from_n;
    int array, other; /* from 0; -1: none */
    int64_t latent;
    double factor;
} recipe_step;

typedef struct recipe_array {
    char name[32];
    int64_t count, columns; /* numbers, and how many belong to a row */
    double *values;
} recipe_array;

enum { RECIPE_VECTORS = 4 };

typedef struct recipe {
    const gp *g;
    recipe_array *arrays;
    int64_t n_arrays, room_arrays;
    recipe_step *steps;
    int64_t n_steps, room_steps, mean_steps;
    int64_t vector[RECIPE_VECTORS]; /* their lengths; 0: there is none */
    bool failed;                    /* for want of memory: sticky */
} recipe;

/* An error in one sentence where the model cannot be written down so. */
anygp_status recipe_of(const gp *g, recipe *r, anygp_error *e);
void recipe_clear(recipe *r);
const char *recipe_vector_name(int vector); /* "a", "b", ... */

/* ------------------------------------------------------------------- for the models [recipe_models.c] */

/* Copies: as they are (rows of `columns`), or the lower triangle of a square, n x n column-major. */
int recipe_add_array(recipe *r, const char *name, int64_t count, int64_t columns, const double *values);
int recipe_add_lower(recipe *r, const char *name, int64_t n, const double *values, int64_t ld);
void recipe_add(recipe *r, recipe_step s);

#endif
