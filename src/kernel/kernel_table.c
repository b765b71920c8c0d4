/* The list of kernels: a new one is a file, a line here, its name in kind.h, and a paragraph in docs/kernels.md. */
#include <string.h>
#include <strings.h>

#include "kernel/kind.h"

static const struct {
    const kernel_kind *kind;
    const char *summary;
} kinds[] = {
    {&kind_rbf, "very smooth functions of distance"},
    {&kind_matern12, "continuous, rough functions"},
    {&kind_matern32, "functions with one derivative"},
    {&kind_matern52, "functions with two derivatives; the default"},
    {&kind_rq, "variation at several scales at once"},
    {&kind_wendland0, "0 beyond its length-scale; rough functions"},
    {&kind_wendland1, "0 beyond its length-scale; 2 derivatives"},
    {&kind_wendland2, "0 beyond its length-scale; 4 derivatives"},
    {&kind_wendland3, "0 beyond its length-scale; 6 derivatives"},
    {&kind_periodic, "repeats exactly with its period"},
    {&kind_cosine, "a pure wave of unknown phase and amplitude"},
    {&kind_sm, "spectral mixture: several damped waves"},
    {&kind_linear, "straight lines"},
    {&kind_polynomial, "polynomials of a degree"},
    {&kind_arccosine, "an infinitely wide neural network"},
    {&kind_constant, "an unknown constant"},
    {&kind_white, "noise of each row, as a term of a sum"},
    {&kind_categorical, "text columns: how alike two categories are"},
};

int64_t kernel_kinds(void) { return sizeof kinds / sizeof *kinds; }
const char *kernel_kind_name(int64_t i) { return kinds[i].kind->name; }
const char *kernel_kind_summary(int64_t i) { return kinds[i].summary; }
const kernel_kind *kind_at(int64_t i) { return kinds[i].kind; }

const char *kernel_kind_option(int64_t i, int64_t k)
{
    const kernel_kind *kind = kinds[i].kind;
    int64_t count = 0;
    while (count < LEAF_SPECS && kind->specs[count].name) count++;
    return k < count ? kind->specs[k].name : k == count ? kind->integer_name : NULL;
}

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

const kernel_kind *kind_matern(double nu)
{
    return nu == 0.5 ? &kind_matern12 : nu == 1.5 ? &kind_matern32 : nu == 2.5 ? &kind_matern52 : NULL;
}

int64_t kernel_words(void) { return kernel_kinds() + (int64_t)(sizeof aliases / sizeof *aliases); }
const char *kernel_word(int64_t i)
{
    return i < kernel_kinds() ? kinds[i].kind->name : aliases[i - kernel_kinds()].name;
}

const kernel_kind *kind_find(const char *name, int64_t length, const char **note)
{
    for (int64_t i = 0; i < kernel_kinds(); i++)
        if (is_name(kinds[i].kind->name, name, length)) return kinds[i].kind;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (!is_name(aliases[i].name, name, length)) continue;
        if (aliases[i].note) *note = aliases[i].note;
        return aliases[i].kind;
    }
    return NULL;
}
