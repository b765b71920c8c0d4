/* Hyperparameters of a model: named segments (params.h), of which every model has "kernel" and "likelihood" (for gaussian targets
   the noise variance) and most have inducing variables: places "Z", which u holds in units of the spreads of their columns, and
   for some kinds the logarithms of their "widths".  The fields below are views of these.  Models with more parameters put more
   segments behind them (model_ops.define).
   `scale` of a parameter is the size of its natural unit: 1 for standardised data, else taken from the data, so that floors, priors and
   starting points do not depend on the units (docs/exact.md). */
#ifndef PARAMS_HYPER_H
#define PARAMS_HYPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "inducing/inducing.h"
#include "likelihood/likelihood.h"
#include "params/params.h"

typedef struct hyper {
    param_list all;
    kernel *kernel;
    double *like; /* likes of them; like[0] is the noise variance where that is all */
    int64_t likes;
    int64_t count;            /* kernel parameters + likes */
    int64_t free;             /* numbers of u */
    int64_t M, D;             /* inducing inputs; 0: none */
    double *Z;                /* M x D, row-major */
    bool learn_Z;             /* they are part of u */
    double *C;                /* M x D where the kind has widths: their logarithms; else NULL */
    double *unit;             /* the inputs' spreads, its own; NULL: 1 */
    const inducing_ops *kind; /* of inducing variables; points after hyper_init */
} hyper;

#define HYPER_GROUPS "kernel,noise,inducing,all,none" /* words of --fix that were heard when the segments were made */
#define HYPER_KERNEL "kernel"
#define HYPER_LIKELIHOOD "likelihood"
#define HYPER_PLACES "Z"
#define HYPER_WIDTHS "widths"

/* Takes the kernel over.  noise: NaN = not given. */
anygp_status hyper_init(hyper *h, kernel *k, double noise, bool fix_kernel, bool fix_noise, bool prior, anygp_error *e);
anygp_status hyper_copy(const hyper *from, hyper *to, anygp_error *e);
void hyper_clear(hyper *h);
/* Instead of only the noise: `sets` times the parameters of l, one after the other, each from l's values.  Before
   hyper_defaults(). */
anygp_status hyper_set_likelihood(hyper *h, const likelihood *l, int64_t sets, bool fix, anygp_error *e);

/* The kernel's part of `from` with plain Gaussian noise instead of its likelihoods, and no inducing inputs;
   sd_y: that of the target. */
anygp_status hyper_gaussian(const hyper *from, double sd_y, hyper *to, anygp_error *e);

/* Spreads of the D inputs. */
anygp_status hyper_set_units(hyper *h, int64_t D, const double *sd_x, anygp_error *e);
/* Another kind of inducing variables, before there are any; refused with an error where the kernel has none of the kind. */
anygp_status hyper_set_kind(hyper *h, const inducing_ops *kind, anygp_error *e);
/* Inducing inputs Z[M,D], copied; replaces former ones.  They have width 1, except those that stay at the same place. */
anygp_status hyper_set_inducing(hyper *h, int64_t M, int64_t D, const double *Z, bool learn, anygp_error *e);
/* More of them at the end, of width 1, which have taken no step (adam.h). */
anygp_status hyper_add_inducing(hyper *h, int64_t count, const double *Z, anygp_error *e);
/* The views again, after segments were put in or taken out. */
void hyper_bind(hyper *h);
/* Natural parameters that a gradient has: `count`, and where the inducing variables are learned their hyper_variables more: all
   places, then all widths; then those of further segments. */
static inline int64_t hyper_size(const hyper *h) { return params_size(&h->all); }
static inline int64_t hyper_variables(const hyper *h) { return h->learn_Z ? h->M * h->D * (h->C ? 2 : 1) : 0; }
static inline function_set hyper_set_of(const hyper *h) { return (function_set){h->M, h->Z, h->C}; }
/* Their gradients, one after the other in g (where they are not learned: nowhere), and the kernel's in gp. */
inducing_grad hyper_grad(const hyper *h, double *gp, double *g);

static inline int64_t hyper_kernel_params(const hyper *h) { return h->count - h->likes; }

/* Sets the scales from the sd of each column of X and of y (model units), and what was not given to its default. */
void hyper_defaults(hyper *h, const double *sd_x, double sd_y);

/* The first `count` parameters one by one. */
param_facts *hyper_facts(const hyper *h, int64_t i);
double hyper_get(const hyper *h, int64_t i);
void hyper_set(hyper *h, int64_t i, double value);
void hyper_natural(const hyper *h, double *p); /* their natural values */
void hyper_begin(hyper *h, double *u); /* pack and back: values that a resumed run, which has only u, will have too */

static inline void hyper_pack(const hyper *h, double *u) { params_pack(&h->all, u); }
static inline void hyper_unpack(hyper *h, const double *u) { params_unpack(&h->all, u); }
static inline bool hyper_is_sound(const hyper *h) { return params_are_sound(&h->all); }
static inline void hyper_chain(const hyper *h, const double *gp, double *gu) { params_chain(&h->all, gp, gu); }
static inline double hyper_log_prior(const hyper *h, double *gu) { return params_log_prior(&h->all, gu); }

#endif
