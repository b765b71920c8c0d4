/* Wendland's kernels of compact support, smoothness q = 0..3 (2q times differentiable), with radius l:
       k = v (1 - r)_+^e P(r),   e = floor(d/2) + 2q + 1
   where P has degree q and the exponent grows with the number d of active dims, which keeps k positive definite
   (Rasmussen and Williams 2006, eq. 4.21, with j = floor(d/2) + q + 1).  The derivative:
       q = 0    dk/dr2 = -v e (1-r)^(e-1) / (2 r), taken as 0 at r = 0
       q > 0    dk/dr2 = v/2 (1-r)^(e-1) Q(r),   Q_m = (m+2) P_(m+2) - (e+m+1) P_(m+1)
   since the constant term of (1-r) P' - e P vanishes. */
#include "kernel/radial.h"
#include "kernel/vector.h"

static void constants(const leaf *l, int q, double *c)
{
    double j = floor((double)l->n_dims / 2) + q + 1, e = j + q;
    const double P[4][4] = {
        {1},
        {1, j + 1},
        {1, j + 2, (j * j + 4 * j + 3) / 3},
        {1, j + 3, (6 * j * j + 36 * j + 45) / 15, (((j + 9) * j + 23) * j + 15) / 15},
    };
    c[WENDLAND_E] = e;
    for (int m = 0; m < 4; m++) c[WENDLAND_P + m] = P[q][m];
    for (int m = 0; m < 3; m++) c[WENDLAND_Q + m] = (m + 2) * (m < 2 ? P[q][m + 2] : 0) - (e + m + 1) * P[q][m + 1];
}

static double define(const leaf *l, const double *x, const double *z, int q)
{
    double r = sqrt(radial_distance2(l, x, z)), j = floor((double)l->n_dims / 2) + q + 1, P = 1;
    if (q == 1) P = (j + 1) * r + 1;
    if (q == 2) P = ((j * j + 4 * j + 3) * r * r + (3 * j + 6) * r + 3) / 3;
    if (q == 3)
        P = ((pow(j, 3) + 9 * j * j + 23 * j + 15) * pow(r, 3) + (6 * j * j + 36 * j + 45) * r * r + (15 * j + 45) * r +
             15) /
            15;
    return r < 1 ? leaf_value(l, RADIAL_VARIANCE, 0) * pow(1 - r, j + q) * P : 0;
}

static double define0(const leaf *l, const double *x, const double *z, bool s) { return (void)s, define(l, x, z, 0); }
static double define1(const leaf *l, const double *x, const double *z, bool s) { return (void)s, define(l, x, z, 1); }
static double define2(const leaf *l, const double *x, const double *z, bool s) { return (void)s, define(l, x, z, 2); }
static double define3(const leaf *l, const double *x, const double *z, bool s) { return (void)s, define(l, x, z, 3); }

static void prepare0(const leaf *l, double *c) { constants(l, 0, c); }
static void prepare1(const leaf *l, double *c) { constants(l, 1, c); }
static void prepare2(const leaf *l, double *c) { constants(l, 2, c); }
static void prepare3(const leaf *l, double *c) { constants(l, 3, c); }

/* The radius starts at three root-mean-square distances, so that most pairs see each other. */
#define WENDLAND_SPECS                                                                                                 \
    {"variance", ROLE_VARIANCE, PER_LEAF, 1, GROWS_NOT, false},                                                        \
    {                                                                                                                  \
        "lengthscale", ROLE_LENGTH, PER_DIM, 3, GROWS_ROOT, false                                                      \
    }

const kernel_kind kind_wendland0 = {.name = "wendland0",
                                    .specs = {WENDLAND_SPECS},
                                    .define = define0,
                                    .tile = radial_tile,
                                    .reverse = radial_reverse,
                                    .profile = &profile_wendland0,
                                    .profile_f32 = &profile_wendland0_f32,
                                    .constants = prepare0};

const kernel_kind kind_wendland1 = {.name = "wendland1",
                                    .specs = {WENDLAND_SPECS},
                                    .define = define1,
                                    .tile = radial_tile,
                                    .reverse = radial_reverse,
                                    .profile = &profile_wendland,
                                    .profile_f32 = &profile_wendland_f32,
                                    .constants = prepare1};

const kernel_kind kind_wendland2 = {.name = "wendland2",
                                    .specs = {WENDLAND_SPECS},
                                    .define = define2,
                                    .tile = radial_tile,
                                    .reverse = radial_reverse,
                                    .profile = &profile_wendland,
                                    .profile_f32 = &profile_wendland_f32,
                                    .constants = prepare2};

const kernel_kind kind_wendland3 = {.name = "wendland3",
                                    .specs = {WENDLAND_SPECS},
                                    .define = define3,
                                    .tile = radial_tile,
                                    .reverse = radial_reverse,
                                    .profile = &profile_wendland,
                                    .profile_f32 = &profile_wendland_f32,
                                    .constants = prepare3};
