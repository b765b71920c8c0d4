/* Every kernel of the table in every variant, and compositions of them, for the tests that must hold for all. */
#ifndef TEST_KERNEL_CASES_H
#define TEST_KERNEL_CASES_H

#include "support.h"

#include <string.h>

#include "kernel/kernel.h"

enum { CASE_D = 5 };

/* Columns a .. e, all numbers or all text. */
static inline kernel *case_parse(const char *text, int64_t D, input_kind kind)
{
    static const char *const names[CASE_D] = {"a", "b", "c", "d", "e"};
    kernel_input in[CASE_D];
    kernel *k;
    for (int64_t i = 0; i < D; i++) in[i] = (kernel_input){names[i], i, kind, i};
    return kernel_parse(text, in, D, D, &k, NULL) == ANYGP_OK ? k : NULL;
}

static const char *const case_options[] = {
    "",           "(iso)",      "(order=0)",      "(order=1,iso)",     "(order=2)",
    "(degree=1)", "(degree=3)", "(components=3)", "(components=2,iso)"};
enum { CASE_OPTIONS = sizeof case_options / sizeof *case_options };

static const char *const compositions[] = {
    "rbf + matern52(iso)",
    "2*rbf*periodic + 0.3*white",
    "(rbf(dims=[0]) + constant)*(matern12 + matern32(iso)) + white",
    "linear*linear + polynomial(degree=3)*rbf",
    "0.5*(rq + cosine*(wendland2 + 3*(arccosine*sm(components=2,dims=a))))",
    "rbf + (matern32 + (matern52 + (rq + white)))",
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

typedef void case_check(const char *name, kernel *k, int64_t D, bool text);

/* Values away from their defaults, so that no factor of 1 hides a mistake. */
static inline void case_scatter(kernel *k)
{
    double *v = kernel_values(k);
    for (int64_t i = 0; i < kernel_count(k); i++) {
        random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = 99};
        v[i] *= exp(0.3 * random_normal(s, (uint64_t)i));
    }
}

static inline void case_run(const char *name, kernel *k, int64_t D, bool text, case_check *check)
{
    if (!k) return;
    case_scatter(k);
    check(name, k, D, text);
    kernel_free(k);
}

/* Runs the check on each kind with each option it takes, and on the compositions, in D inputs. */
static inline void for_each_case(int64_t D, case_check *check)
{
    char name[64];
    for (int64_t i = 0; i < kernel_kinds(); i++)
        for (int o = 0; o < CASE_OPTIONS; o++) {
            snprintf(name, sizeof name, "%s%s", kernel_kind_name(i), case_options[o]);
            kernel *k = case_parse(name, D, INPUT_NUMBER);
            if (k)
                case_run(name, k, D, false, check);
            else
                case_run(name, case_parse(name, D, INPUT_TEXT), D, true, check);
        }
    for (int c = 0; c < COMPOSITIONS; c++)
        case_run(compositions[c], case_parse(compositions[c], D, INPUT_NUMBER), D, false, check);
}

/* Inputs with stride ld >= D; rows 3 and 1 are equal.  Text columns hold small whole numbers. */
static inline void case_inputs(uint64_t stream, int64_t n, int64_t D, int64_t ld, bool text, double *X)
{
    fill_normal(stream, n * ld, X);
    for (int64_t i = 0; text && i < n * ld; i++) X[i] = floor(X[i]);
    if (n > 3) memcpy(X + 3 * ld, X + ld, (size_t)D * sizeof *X);
}

#endif
