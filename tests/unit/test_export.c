/* Exported C, compiled and loaded, beside the library's own predictions. */
#define _GNU_SOURCE /* strsep */
#include "support.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "anygp/anygp.h"
#include "base/random.h"

enum { ROWS = 80, D = 3, NEW = 12, READ = 2 }; /* NEW rows are predicted by C, READ of them from JSON */

typedef struct scene {
    double X[ROWS * D], y[ROWS];
} scene;

/* The last input is a category of three. */
static scene rows_of(uint64_t seed, const char *likelihood)
{
    scene s;
    random_stream r = {.seed = seed, .use = RANDOM_TEST};
    for (int64_t i = 0; i < ROWS; i++) {
        double *x = s.X + i * D;
        for (int j = 0; j < 2; j++) x[j] = 10 + 4 * random_uniform(r, (uint64_t)(i * D + j));
        x[2] = (double)(i % 3);
        double f = sin(x[0]) + 0.3 * (x[1] - 12) + 0.5 * (i % 3 == 1);
        bool count = strstr(likelihood, "poisson") || strstr(likelihood, "negbin");
        bool two = strstr(likelihood, "bernoulli");
        bool order = strstr(likelihood, "ordinal") || strstr(likelihood, "max");
        s.y[i] = count   ? floor(exp(f + 1))
                 : two   ? f > 0
                 : order ? (f > -0.5) + (f > 0.5)
                         : 100 + 7 * (f + 0.3 * random_normal(r, (uint64_t)(ROWS * D + i)));
    }
    return s;
}

/* NULL: matern12, gaussian, zero, error. */
typedef struct fit_case {
    const char *model, *kernel, *likelihood, *mean, *missing;
    const char *more; /* further settings: name=value name=value */
    double prior;     /* where the variance of f is this minus what the rows explain: rounding is in its units */
} fit_case;

static const char * or (const char *given, const char *usual) { return given ? given : usual; }

static const fit_case cases[] = {
    {.model = "exact", .kernel = "matern52 * categorical"},
    {.model = "exact", .kernel = "matern12(ard)", .mean = "linear", .missing = "mean"},
    {.model = "exact", .kernel = "rbf + white", .mean = "constant"},
    {.model = "exact", .kernel = "rq + matern32"},
    {.model = "exact", .kernel = "periodic + cosine"},
    {.model = "exact", .kernel = "linear + polynomial(degree=2)"},
    {.model = "exact", .kernel = "arccosine(order=0) + arccosine(order=1)"},
    {.model = "exact", .kernel = "arccosine(order=2)"},
    {.model = "exact", .kernel = "sm(components=2)"},
    {.model = "exact", .kernel = "wendland0 + wendland1"},
    {.model = "exact", .kernel = "wendland2 + wendland3"},
    {.model = "exact", .kernel = "2 * matern12 * constant + categorical"},
    {.model = "sod"},
    {.model = "vfe", .more = "transform=log"},
    {.model = "deep", .more = "transform=log"},
    {.model = "rvm"},
    {.model = "sor"},
    {.model = "ssgp", .kernel = "rbf"},
    {.model = "dtc", .mean = "linear"},
    {.model = "fitc", .kernel = "matern12 * categorical"},
    {.model = "fic"},
    {.model = "pitc"},
    {.model = "vfe", .mean = "constant"},
    {.model = "pep(alpha=0.5)"},
    {.model = "svgp", .kernel = "matern12 + white", .mean = "linear"},
    {.model = "svgp", .likelihood = "laplace"},
    {.model = "svgp", .likelihood = "studentt"},
    {.model = "svgp", .likelihood = "heteroscedastic"},
    {.model = "svgp", .likelihood = "poisson"},
    {.model = "svgp", .likelihood = "negbin"},
    {.model = "svgp", .likelihood = "bernoulli(logit)"},
    {.model = "svgp", .likelihood = "bernoulli(probit)"},
    {.model = "svgp", .likelihood = "ordinal"},
    {.model = "svgp", .likelihood = "softmax"},
    {.model = "svgp", .likelihood = "robustmax"},
    {.model = "deep", .likelihood = "softmax"},
    {.model = "solve", .more = "inducing=8+4"},
    {.model = "odvgp", .more = "inducing=8+4"},
    {.model = "svgp", .kernel = "rbf", .more = "inducing-kind=scaled"},
    {.model = "vfe_tight"},
    {.model = "solve_collapsed", .more = "inducing=8+4"},
    {.model = "odvgp_collapsed", .more = "inducing=8+4"},
    {.model = "ivsgpr"},
    {.model = "combine(dtc=0.3,fitc=0.7)"},
    {.model = "fitc+"},
    {.model = "svdgp", .mean = "constant", .more = "inducing=12/6"},
    {.model = "svdgp-sga", .kernel = "rbf", .likelihood = "laplace", .more = "inducing=12/6"},
    {.model = "qsgp", .kernel = "rbf", .more = "inducing=64"},
    {.model = "qsgp(basis=hadamard)", .kernel = "matern32", .likelihood = "bernoulli(probit)", .more = "inducing=300"},
    {.model = "qsgp(basis=kernel)", .kernel = "matern12 + white"},
    {.model = "qsrvm"},
    {.model = "pic", .mean = "linear", .more = "blocks=4"},
    {.model = "lma", .kernel = "matern12 * categorical", .more = "blocks=5"},
    {.model = "hier", .kernel = "matern52", .more = "blocks=4 partition=kdtree"},
    {.model = "poe", .mean = "constant", .more = "blocks=4"},
    {.model = "poe", .more = "blocks=4 experts=own"},
    {.model = "gpoe", .kernel = "matern12 + white", .more = "blocks=4 aggregate=y"},
    {.model = "gpoe", .more = "blocks=4 experts=own"},
    {.model = "gpoe(beta=uniform)", .more = "blocks=4"},
    {.model = "bcm", .more = "blocks=4"},
    {.model = "rbcm", .missing = "mean", .more = "blocks=4"},
    {.model = "grbcm", .mean = "constant", .more = "blocks=4"},
    {.model = "npae", .mean = "constant", .more = "blocks=5", .prior = 49},
    {.model = "npae(levels=2)", .more = "blocks=7", .prior = 49},
    {.model = "nle", .mean = "constant", .more = "blocks=4"},
    {.model = "nle", .kernel = "matern12 + white", .more = "blocks=4 experts=own"},
    {.model = "patchwork", .kernel = "matern32", .more = "blocks=4"},
    {.model = "tree", .more = "blocks=6 inducing=20"},
    {.model = "vecchia", .mean = "linear", .more = "predict-neighbors=15"},
    {.model = "vecchia", .kernel = "matern12 + white", .mean = "constant", .more = "predict-neighbors=15 inducing=6"},
    {.model = "vecchia", .kernel = "linear + constant", .more = "predict-neighbors=15"},
    {.model = "vnngp", .more = "predict-neighbors=15"},
    {.model = "vnngp", .kernel = "matern12 + white", .likelihood = "heteroscedastic", .more = "predict-neighbors=15"},
    {.model = "nene", .mean = "linear", .more = "neighbors=12"},
    {.model = "lagp", .mean = "linear", .more = "predict-neighbors=12"},
    {.model = "lagp(design=nn)", .more = "predict-neighbors=12"},
    {.model = "deep"},
    {.model = "deep(layers=3)", .kernel = "matern12 + white", .likelihood = "bernoulli(logit)"},
    {.model = "moe", .mean = "linear"},
    {.model = "moe(gate=square)", .kernel = "matern12 + white"},
    {.model = "moe(gate=generative)"},
    {.model = "moe(gate=gp)"},
};
enum { COUNT = sizeof cases / sizeof *cases };

/* vecchia takes some, but then it is another model; vnngp takes none. */
static bool is_without_inducing(const char *model) { return !strcmp(model, "vecchia") || !strcmp(model, "vnngp"); }

static void set_one(anygp_settings *settings, const char *name, const char *value)
{
    anygp_error e = {0};
    if (ANYGP_FAILED(anygp_set(settings, name, value, &e))) fail_msg("%s", e.text);
}

static void set_more(anygp_settings *settings, const char *more)
{
    char text[128], *rest = text;
    snprintf(text, sizeof text, "%s", or (more, ""));
    for (char *one; (one = strsep(&rest, " ")) && *one;) {
        char *value = strchr(one, '=');
        *value++ = 0;
        set_one(settings, one, value);
    }
}

static anygp_model *fitted(const fit_case *c)
{
    const char *kernel = or (c->kernel, "matern12"), *likelihood = or (c->likelihood, "gaussian");
    const char *const set[][2] = {{"model", c->model},
                                  {"kernel", kernel},
                                  {"likelihood", likelihood},
                                  {"mean", or (c->mean, "zero")},
                                  {"missing", or (c->missing, "error")},
                                  {"inducing", "10"},
                                  {"iters", "2"},
                                  {"threads", "1"},
                                  {"valid", "0"}};
    static const char *const levels[] = {"low \"2\"", "mid\?\?/", "high"};
    anygp_error e = {0};
    scene s = rows_of(1, likelihood);
    anygp_settings *settings = anygp_settings_new();
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (strcmp(set[i][0], "inducing") || !is_without_inducing(c->model)) set_one(settings, set[i][0], set[i][1]);
    set_more(settings, c->more);
    assert_int_equal(anygp_data_new(ROWS, D, s.X, D, s.y, NULL, &data, &e), 0);
    if (strstr(kernel, "categorical")) assert_int_equal(anygp_data_categories(data, 2, 3, levels, &e), 0);
    if (ANYGP_FAILED(anygp_fit(settings, data, &m, &e))) fail_msg("%s, %s: %s", c->model, kernel, e.text);
    anygp_data_free(data);
    anygp_settings_free(settings);
    return m;
}

static void must_run(const char *command)
{
    if (system(command)) fail_msg("this failed: %.200s", command);
}

static void write_source(const anygp_model *m, const char *folder, int i)
{
    char path[128], name[16], header[24], *source = NULL, *declarations = NULL;
    anygp_error e = {0};
    snprintf(name, sizeof name, "m%d", i);
    snprintf(header, sizeof header, "m%d.h", i);
    bool apart = i % 2;
    if (ANYGP_FAILED(anygp_export_c(m, name, apart ? header : NULL, &source, apart ? &declarations : NULL, &e)))
        fail_msg("%s: %s", cases[i].model, e.text);
    const char *const texts[] = {source, declarations};
    for (int k = 0; k < 1 + apart; k++) {
        snprintf(path, sizeof path, "%s/m%d.%c", folder, i, "ch"[k]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(texts[k], f);
        assert_int_equal(fclose(f), 0);
    }
    anygp_text_free(source);
    anygp_text_free(declarations);
}

/* As JSON, and what a reader should find: rows, means and variances of f where there is one. */
static void write_json(const anygp_model *m, const char *folder, int i)
{
    char path[128], *text = NULL;
    anygp_error e = {0};
    scene new = rows_of(2, "gaussian");
    if (ANYGP_FAILED(anygp_export_json(m, &text, &e))) fail_msg("%s: %s", cases[i].model, e.text);
    snprintf(path, sizeof path, "%s/m%d.json", folder, i);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    anygp_text_free(text);
    snprintf(path, sizeof path, "%s/m%d.txt", folder, i);
    assert_non_null(f = fopen(path, "w"));
    for (int k = 0; k < READ; k++) {
        double *x = new.X + k *D, mean, variance;
        if (anygp_predict(m, 1, x, D, ANYGP_LATENT, &mean, &variance, NULL)) break; /* it has several */
        fprintf(f, "%.17g %.17g %.17g %.17g %.17g\n", x[0], x[1], x[2], mean, variance);
    }
    assert_int_equal(fclose(f), 0);
}

static void *symbol(void *library, int i, const char *what)
{
    char name[48];
    snprintf(name, sizeof name, "m%d_%s", i, what);
    void *found = dlsym(library, name);
    if (!found) fail_msg("there is no %s", name);
    return found;
}

static void assert_alike(const fit_case *c, const char *what, double a, double b, double size)
{
    if (!(fabs(a - b) <= 1e-12 * size))
        fail_msg("%s, %s, %s, %s: %s %.17g is not %.17g", c->model, or (c->kernel, "matern12"),
                 or (c->likelihood, "gaussian"), or (c->more, ""), what, a, b);
}

typedef void (*predict_fn)(const double *x, double *mean, double *variance);
typedef double (*mean_fn)(const double *x);
typedef void (*classes_fn)(const double *x, double *p);

static void check_numbers(const fit_case *c, void *library, int i, const anygp_model *m, const double *x)
{
    double mean, variance, same, other;
    assert_int_equal(anygp_predict(m, 1, x, D, 0, &mean, &variance, NULL), 0);
    ((predict_fn)symbol(library, i, "predict"))(x, &same, &other);
    assert_alike(c, "mean", same, mean, fabs(mean) + sqrt(variance));
    assert_alike(c, "variance", other, variance, variance);
    assert_alike(c, "mean alone", ((mean_fn)symbol(library, i, "mean"))(x), mean, fabs(mean) + sqrt(variance));
    if (anygp_predict(m, 1, x, D, ANYGP_LATENT, &mean, &variance, NULL)) return; /* it has several */
    ((predict_fn)symbol(library, i, "latent"))(x, &same, &other);
    assert_alike(c, "mean of f", same, mean, fabs(mean) + 1);
    assert_alike(c, "variance of f", other, variance, variance + 1e-3 * fabs(mean) + 1e-3 + c->prior);
}

static void check_classes(const fit_case *c, void *library, int i, const anygp_model *m, const double *x)
{
    int64_t K = anygp_classes(m, 0);
    double p[8], same[8];
    assert_int_equal(anygp_predict_proba(m, 0, 1, x, D, p, NULL), 0);
    ((classes_fn)symbol(library, i, "classes"))(x, same);
    for (int64_t k = 0; k < K; k++) assert_alike(c, "probability", same[k], p[k], 1);
    const char *const *names = symbol(library, i, "class");
    for (int64_t k = 0; k < K; k++) assert_string_equal(names[k], anygp_class_name(m, 0, k));
}

static void check_missing(const fit_case *c, void *library, int i, const anygp_model *m)
{
    double x[D] = {NAN, 11, 1}, mean, same = ((mean_fn)symbol(library, i, "mean"))(x);
    if (!c->missing) {
        assert_true(isnan(same));
        return;
    }
    assert_int_equal(anygp_predict(m, 1, x, D, 0, &mean, NULL, NULL), 0);
    assert_alike(c, "mean with a missing input", same, mean, fabs(mean) + 1);
}

static void c_and_json_predict_the_same(void **state)
{
    (void)state;
    char folder[] = "/tmp/anygp_export.XXXXXX", command[512];
    anygp_model *m[COUNT];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < COUNT; i++) {
        write_source(m[i] = fitted(&cases[i]), folder, i);
        write_json(m[i], folder, i);
    }
    snprintf(command, sizeof command,
             "cd %s && ${CC:-cc} -std=c99 -Wall -Wextra -Werror -pedantic -O1 -fPIC -shared -o all.so m*.c -lm",
             folder);
    must_run(command);
    snprintf(command, sizeof command, "%s/all.so", folder);
    void *library = dlopen(command, RTLD_NOW);
    assert_non_null(library);
    for (int i = 0; i < COUNT; i++) {
        scene new = rows_of(2, "gaussian");
        for (int k = 0; k < NEW; k++)
            (anygp_classes(m[i], 0) ? check_classes : check_numbers)(&cases[i], library, i, m[i], new.X + k *D);
        if (!anygp_classes(m[i], 0)) check_missing(&cases[i], library, i, m[i]);
        anygp_model_free(m[i]);
    }
    int (*category)(int, const char *) = (int (*)(int, const char *))symbol(library, 0, "category");
    assert_int_equal(category(2, "mid\?\?/"), 1);
    assert_int_equal(category(2, "new"), 3);
    dlclose(library);
    snprintf(command, sizeof command,
             "python3 " ANYGP_SOURCE_DIR "/tests/unit/read_recipes.py " ANYGP_SOURCE_DIR "/examples %s", folder);
    must_run(command);
    snprintf(command, sizeof command, "rm -r %s", folder);
    must_run(command);
}

static void what_cannot_be_exported_is_said(void **state)
{
    (void)state;
    const fit_case mspe = {.model = "lagp(design=mspe)", .more = "predict-neighbors=12"};
    anygp_model *m = fitted(&mspe);
    anygp_error e = {0};
    char *text = NULL;
    assert_int_equal(anygp_export_c(m, "mspe", NULL, &text, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_null(text);
    assert_non_null(strstr(e.text, "lagp(design=mspe) cannot be exported: designs by mspe"));
    assert_int_equal(anygp_export_c(m, "9 lives", NULL, &text, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "cannot begin the names"));
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(c_and_json_predict_the_same),
                                       cmocka_unit_test(what_cannot_be_exported_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
