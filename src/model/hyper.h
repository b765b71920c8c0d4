/* Hyperparameters: those of the kernel, those of the likelihood (of most models the noise variance alone) and, for models that
   have them, inducing inputs, as one vector.
   Natural values p (model units) live in the kernel and in `like`; the optimiser sees the free ones as u with
       p = lower + exp(u)
   so that p stays positive and smooth, real ones as they are.  The weak prior is log p ~ N(mean, sd^2) for each learned p,
   p ~ N(mean, sd^2) for real ones.  Inducing inputs, where
   they are learned, stand after the free parameters of u, divided by the spread of their column.
   `scale` is the size of a parameter's natural unit: 1 for standardised data, else taken from the data, so that
   floors, priors and starting points do not depend on the units (docs/exact.md). */
#ifndef MODEL_HYPER_H
#define MODEL_HYPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "inducing/inducing.h"
#include "kernel/kernel.h"
#include "likelihood/likelihood.h"

typedef struct hyper_param {
    double lower, prior_mean, prior_sd;
    double scale;
    bool free;
    bool real;  /* of any sign: u = p */
    bool given; /* the user gave its value */
    int power;  /* of the likelihood: its unit is that of y to this power */
} hyper_param;

typedef struct hyper {
    kernel *kernel;
    double *like; /* likes of them, its own; like[0] is the noise variance where that is all */
    int64_t likes;
    int64_t count; /* kernel parameters + likes */
    int64_t free;
    bool prior; /* whether the weak prior counts */
    hyper_param *param;
    int64_t M, D;             /* inducing inputs; 0: none */
    double *Z;                /* M x D, row-major, its own */
    double *unit;             /* the inputs' spreads: u has Z in these, so that its numbers have one size; NULL: 1 */
    bool learn_Z;             /* they are part of u, and of `free` */
    const inducing_ops *kind; /* of inducing variables; points after hyper_init */
    double *C;                /* M x D where the kind has widths: their logarithms, its own; else NULL */
} hyper;

/* Takes the kernel over.  noise: NaN = not given. */
anygp_status hyper_init(hyper *h, kernel *k, double noise, bool fix_kernel, bool fix_noise, bool prior, anygp_error *e);
anygp_status hyper_copy(const hyper *from, hyper *to, anygp_error *e);
void hyper_clear(hyper *h);
/* Instead of the noise alone: `sets` times the parameters of l, one after the other, each from l's values.  Before
   hyper_defaults(). */
anygp_status hyper_set_likelihood(hyper *h, const likelihood *l, int64_t sets, bool fix, anygp_error *e);

/* The kernel's part of `from` with plain Gaussian noise instead of its likelihoods, and no inducing inputs;
   sd_y: of the target. */
anygp_status hyper_gaussian(const hyper *from, double sd_y, hyper *to, anygp_error *e);

/* Spreads of the D inputs, before any inducing inputs are set. */
anygp_status hyper_set_units(hyper *h, int64_t D, const double *sd_x, anygp_error *e);
/* Another kind of inducing variables, before there are any; refused with a sentence where the kernel has none of the kind. */
anygp_status hyper_set_kind(hyper *h, const inducing_ops *kind, anygp_error *e);
/* Inducing inputs Z[M,D], copied; replaces former ones.  Of width 1, but for those that stay at the same place. */
anygp_status hyper_set_inducing(hyper *h, int64_t M, int64_t D, const double *Z, bool learn, anygp_error *e);
/* Natural parameters a gradient has: `count`, and where the inducing variables are learned their hyper_variables more: all places,
   then all widths. */
int64_t hyper_size(const hyper *h);
static inline int64_t hyper_variables(const hyper *h) { return h->learn_Z ? h->M * h->D * (h->C ? 2 : 1) : 0; }
static inline function_set hyper_set_of(const hyper *h) { return (function_set){h->M, h->Z, h->C}; }
/* Their gradients, one after the other in g (where they are not learned: nowhere), and the kernel's in gp. */
inducing_grad hyper_grad(const hyper *h, double *gp, double *g);

static inline int64_t hyper_kernel_params(const hyper *h) { return h->count - h->likes; }

/* Sets the scales from the sd of each column of X and of y (model units), and what was not given to its default. */
void hyper_defaults(hyper *h, const double *sd_x, double sd_y);

double hyper_get(const hyper *h, int64_t i);
void hyper_set(hyper *h, int64_t i, double value);
void hyper_pack(const hyper *h, double *u);   /* free parameters to u */
void hyper_unpack(hyper *h, const double *u); /* and back */
bool hyper_is_sound(const hyper *h);          /* all values are finite, and positive where they have to be */
void hyper_begin(hyper *h, double *u); /* pack and back: values that a resumed run, which has u alone, will have too */
void hyper_natural(const hyper *h, double *p);                  /* all `count` natural values */
void hyper_chain(const hyper *h, const double *gp, double *gu); /* gu[free] = dp/du * gp[hyper_size] */

/* sum of log N(log p; mean, sd^2) over the free parameters; adds its gradient in u if gu is not NULL.  0 without priors. */
double hyper_log_prior(const hyper *h, double *gu);

#endif
