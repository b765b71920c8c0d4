/* Kernels that are functions of r^2 = sum_d (x_d - z_d)^2 / l_d^2, or of q, a constant times it: parameters are variance, lengthscale and at most one
   shape.  A profile gives the function and its slope over a run of n numbers;
   radial.c does everything else. */
#ifndef KERNEL_RADIAL_H
#define KERNEL_RADIAL_H

#include "kernel/tile.h"

enum { RADIAL_VARIANCE, RADIAL_LENGTH, RADIAL_SHAPE, RADIAL_CONSTANTS = 8 };

typedef struct radial_profile {
    /* Inputs are multiplied by this over the length-scale, so that a function of q = stretch^2 r2 needs no factor of its own in its exponent. */
    double stretch;
    /* q[n] becomes v k(q).  c: the constants of the kind. */
    void (*value)(const double *c, real v, int64_t n, real *q);
    /* q[n] becomes v g k'(q), the derivative being in q; sum[0] += g'k, sum[1] += v g' dk/dshape. */
    void (*slope)(const double *c, real v, int64_t n, const real *g, real *q, double *sum);
} radial_profile;

/* [profiles.c] */
extern const radial_profile profile_rbf, profile_matern12, profile_matern32, profile_matern52, profile_rq,
    profile_wendland0, profile_wendland;
#ifndef REAL_FLOAT /* for the tables of kinds */
extern const struct radial_profile_f32 profile_rbf_f32, profile_matern12_f32, profile_matern32_f32,
    profile_matern52_f32, profile_rq_f32, profile_wendland0_f32, profile_wendland_f32;
#endif
/* What input number d is multiplied by. */
static inline double radial_scale(const leaf *l, int64_t d)
{
    return l->kind->OWN_PROFILE->stretch / leaf_value(l, RADIAL_LENGTH, d);
}

enum { WENDLAND_E, WENDLAND_P, WENDLAND_Q = WENDLAND_P + 4 }; /* its constants: e, P_0..P_3, Q_0..Q_2 */

void radial_tile(const leaf *l, const tile *t, real *K, int64_t ldk);
void radial_reverse(const leaf *l, const tile *t, const real *G, int64_t ldg, tile_gradient *g);

/* The same for many inputs, by matrix products (radial_wide.c).
   R[rows,cols] = q, each column handed on when it is complete; then W[rows,cols] to inputs and length-scales. */
typedef void column_use(const void *context, int64_t j, real *q);
#ifndef REAL_FLOAT
void radial_wide_distances(const leaf *l, const tile *t, double *R, int64_t ldr, column_use *use, const void *context);
void radial_wide_pull(const leaf *l, const tile *t, double *W, tile_gradient *g);
#endif

/* r[rows] (+)= sum_d (x_id - z_jd)^2 over the packed slice, for column j of the tile; keep: added to r. */
void slice_sqdist(const tile *t, int64_t count, int64_t j, bool keep, real *r);

/* sum_d ((x_d - z_d)/l_d)^2, for the definitions. */
double radial_distance2(const leaf *l, const double *x, const double *z);

/* w += scale N(0, I)/l */
void radial_normal_frequency(const leaf *l, draws *r, double scale, double *w);

#define RADIAL_SPECS                                                                                                   \
    {"variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false},                                                        \
    {                                                                                                                  \
        "lengthscale", ROLE_LENGTH, PER_DIM, 1, GROWS_ROOT, false                                                      \
    }
#endif
