/* What the target is, given the latent functions: p(y | f), with parameters of its own.
   One const table per likelihood, one list of them in likelihood_table.c.  For each row a likelihood sees `columns` numbers Y
   (the target and, for counts, the exposure) and C independent Gaussian latents N(mu, var): one for most, one per class for
   softmax and robustmax, two for the heteroscedastic Gaussian (the function, the log of its noise variance).

   Shapes: Y[n, columns] row-major; mu, var, their adjoints and f [n, C] column-major with leading dimension ld; w[n] weights, or
   NULL: ones.  Classes are whole numbers 0 .. K-1.  Closed forms where they exist, Gauss-Hermite otherwise (quadrature.c), for
   softmax seeded Monte Carlo: a function of (seed, index of the row's numbers), never of a state.
   No function prints or allocates unless it says so; none returns a number that is not finite for finite arguments, var >= 0:
   where a rate or a variance is exp(.), its logarithm is held in [-EXPONENT_MOST, EXPONENT_MOST] (parts.h). */
#ifndef LIKELIHOOD_LIKELIHOOD_H
#define LIKELIHOOD_LIKELIHOOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"

/* What a target may be: any number, a count 0, 1, ..., or one of K classes (in their order, for ordinal). */
typedef enum target_kind { TARGET_REAL, TARGET_COUNT, TARGET_CLASS } target_kind;

/* One parameter.  Positive ones live above `lower` with log p ~ N(prior_mean, prior_sd^2) as a weak prior; real ones have
   p ~ N(prior_mean, prior_sd^2).  power: the unit is that of y to this power (noise 2, a scale 1, a shape 0). */
typedef struct likelihood_param {
    char name[24];
    double start, lower, prior_mean, prior_sd;
    int power;
    bool real;
    bool fixed; /* not learned unless the user gave it as a start */
    bool given; /* the user gave its value */
} likelihood_param;

typedef struct likelihood_ops likelihood_ops;

enum { LIKELIHOOD_PARAMS = 64 };    /* at most: ordinal has K - 1 thresholds */
enum { LIKELIHOOD_LATENTS = 2048 }; /* at most: classes of softmax and robustmax */

/* What may be in the parentheses after a name: a parameter's value, one of a series (increment1=, increment2=, ...), the
   number of Monte Carlo draws, or just the name of a link. */
typedef enum option_kind { OPTION_PARAM, OPTION_SERIES, OPTION_SAMPLES, OPTION_LINK } option_kind;

typedef struct likelihood_option {
    option_kind kind;
    likelihood_param param; /* its name is the option's */
    double below;           /* a value must be less than this; 0: any */
    int link;
} likelihood_option;

typedef struct likelihood {
    const likelihood_ops *ops;
    int64_t classes; /* K of TARGET_CLASS, once known; else 0 */
    int64_t latents; /* C */
    int64_t columns; /* of Y: 1, or 2 with exposure */
    int64_t samples; /* Monte Carlo draws, where there are any */
    int link;        /* bernoulli: which */
    int64_t params;
    likelihood_param param[LIKELIHOOD_PARAMS];
    double value[LIKELIHOOD_PARAMS]; /* natural values, model units */
} likelihood;

struct likelihood_ops {
    const char *name;
    const char *summary;
    target_kind target;
    bool standardize; /* the target is scaled to mean 0 and sd 1 inside */
    bool concave;     /* log p(y | f) is concave in f: dvar <= 0 always */
    bool exposure;    /* takes a second column */
    int64_t latents;  /* C; 0: one per class */
    int64_t most_classes;
    const likelihood_option *options; /* the parameters among them in their order */
    int64_t n_options;

    /* Starting values from n targets Y in model units, weights w; keeps values the user gave.  NULL: they do not depend on Y. */
    void (*start)(likelihood *l, int64_t n, const double *Y, const double *w);

    /* Adds over rows:  returns sum_i w_i E_i,  E_i = E[log p(y_i | f_i)] under the latents' N(mu, var);
       dmu, dvar (n x C, ld) get w_i times its derivatives, dparam[params] is added to (natural parameters).
       random: for Monte Carlo; draws of row i are a function of (stream, row + i). */
    double (*expect)(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t row, double *dmu, double *dvar,
                     double *dparam);
    /* out[n] = log of the integral of p(y | f) N(f; mu, var): the log predictive density or probability of y. */
    void (*log_predictive)(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out);
    /* Real and count targets: mean and variance of y.  exposure: NULL, or n of them.  NULL for classes, as is cdf. */
    void (*moments)(const likelihood *l, int64_t n, const double *exposure, const double *mu, const double *var,
                    int64_t ld, double *mean, double *variance);
    /* The same: P(y <= y_i), for quantiles.  NULL for real targets: normal with these moments. */
    void (*cdf)(const likelihood *l, int64_t n, const double *y, const double *exposure, const double *mu,
                const double *var, int64_t ld, double *out);
    /* Classes (NULL for others): P[n, K] column-major with leading dimension ldp; rows add up to 1. */
    void (*probabilities)(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld, double *P,
                          int64_t ldp);
    /* y given f (n x C, ld), one draw per row. */
    void (*draw)(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y);
    /* log p(y | f) at one row, straight from the definition: the test of all the others. */
    double (*density)(const likelihood *l, const double *y, const double *f);
};

/* "gaussian", "bernoulli(probit)", "studentt(df=4)": options and starting values in brackets.  A mistake is answered with one
   sentence.  TARGET_CLASS likelihoods are complete only after likelihood_open(). */
anygp_status likelihood_parse(const char *text, likelihood *out, anygp_error *e);
/* classes: K for TARGET_CLASS (bernoulli takes 2 only), else 0; exposure: Y has the second column. */
anygp_status likelihood_open(likelihood *l, int64_t classes, bool exposure, anygp_error *e);
/* Text that parses back to l with these values, bit by bit with 17 digits; freed by free(). */
anygp_status likelihood_format(const likelihood *l, const double *value, int digits, char **text, anygp_error *e);

bool likelihood_is_gaussian(const likelihood *l); /* with one noise: closed forms hold */
/* That one, with this noise variance. */
anygp_status likelihood_with_noise(double noise, likelihood *out, anygp_error *e);
extern const likelihood likelihood_of_f; /* the same without noise: y is f */

/* Whether y may be a target: a whole number >= 0 for counts, finite for all.  NULL, or what is wrong with it. */
const char *likelihood_objection(const likelihood *l, double y);

/* Whether a mean that moments() gave lies where the logarithm of a rate is held; false for all but counts. */
bool likelihood_at_bound(const likelihood *l, double mean);

int64_t likelihood_count(void);
const likelihood_ops *likelihood_at(int64_t i);
const likelihood_ops *likelihood_find(const char *name); /* NULL: there is none */

#endif
