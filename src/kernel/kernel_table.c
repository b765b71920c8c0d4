/* The list of kernels: a new one is a file, its name here and in kind.h, and a paragraph in docs/kernels.md. */
#include <string.h>
#include <strings.h>

#include "kernel/kind.h"

static const kernel_kind *const kinds[] = {
    &kind_rbf,       &kind_matern12,   &kind_matern32,  &kind_matern52, &kind_rq,     &kind_wendland0,
    &kind_wendland1, &kind_wendland2,  &kind_wendland3, &kind_periodic, &kind_cosine, &kind_sm,
    &kind_linear,    &kind_polynomial, &kind_arccosine, &kind_constant, &kind_white,  &kind_categorical,
};

int64_t kernel_kinds(void) { return sizeof kinds / sizeof *kinds; }
const char *kernel_kind_name(int64_t i) { return kinds[i]->name; }
const kernel_kind *kind_at(int64_t i) { return kinds[i]; }

/* Other names for them, by which papers and other programs know them. */
static const kernel_alias aliases[] = {
    {"se", &kind_rbf, NULL},
    {"eq", &kind_rbf, NULL},
    {"gaussian", &kind_rbf, NULL},
    {"expquad", &kind_rbf, NULL},
    {"exp_quad", &kind_rbf, NULL},
    {"sqexp", &kind_rbf, NULL},
    {"squared_exponential", &kind_rbf, NULL},
    {"squaredexponential", &kind_rbf, NULL},
    {"exponentiated_quadratic", &kind_rbf, NULL},
    {"exponential", &kind_matern12, NULL},
    {"exp", &kind_matern12, NULL},
    {"ou", &kind_matern12, NULL},
    {"ornstein_uhlenbeck", &kind_matern12, NULL},
    {"matern", &kind_matern52,
     "the kernel matern is read as matern52; matern32 and matern12 are for rougher functions"},
    {"matern_12", &kind_matern12, NULL},
    {"matern_32", &kind_matern32, NULL},
    {"matern_52", &kind_matern52, NULL},
    {"rational_quadratic", &kind_rq, NULL},
    {"rationalquadratic", &kind_rq, NULL},
    {"ratquad", &kind_rq, NULL},
    {"exp_sine_squared", &kind_periodic, NULL},
    {"expsinesquared", &kind_periodic, NULL},
    {"cos", &kind_cosine, NULL},
    {"spectral_mixture", &kind_sm, NULL},
    {"lin", &kind_linear, NULL},
    {"poly", &kind_polynomial, NULL},
    {"arc_cosine", &kind_arccosine, NULL},
    {"arccos", &kind_arccosine, NULL},
    {"bias", &kind_constant, NULL},
    {"const", &kind_constant, NULL},
    {"nugget", &kind_white, NULL},
    {"white_noise", &kind_white, NULL},
    {"whitenoise", &kind_white, NULL},
    {"category", &kind_categorical, NULL},
};

static bool is_name(const char *name, const char *word, int64_t length)
{
    return (int64_t)strlen(name) == length && !strncasecmp(name, word, (size_t)length);
}

const kernel_kind *kind_find(const char *name, int64_t length, const char **note)
{
    for (int64_t i = 0; i < kernel_kinds(); i++)
        if (is_name(kinds[i]->name, name, length)) return kinds[i];
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (!is_name(aliases[i].name, name, length)) continue;
        if (aliases[i].note) *note = aliases[i].note;
        return aliases[i].kind;
    }
    return NULL;
}
