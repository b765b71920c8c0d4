/* Exported C, compiled and loaded, beside the library's own predictions. */
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

enum { ROWS = 80, D = 3, NEW = 12 };

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
        bool two = strstr(likelihood, "bernoulli"), order = strstr(likelihood, "ordinal");
        s.y[i] = count   ? floor(exp(f + 1))
                 : two   ? f > 0
                 : order ? (f > -0.5) + (f > 0.5)
                         : 100 + 7 * (f + 0.3 * random_normal(r, (uint64_t)(ROWS * D + i)));
    }
    return s;
}

typedef struct fit_case {
    const char *model, *kernel, *likelihood, *mean, *missing;
} fit_case;

static const fit_case cases[] = {
    {"exact", "matern52 * categorical", "gaussian", "zero", "error"},
    {"exact", "matern12(ard)", "gaussian", "linear", "mean"},
    {"exact", "rbf + white", "gaussian", "constant", "error"},
    {"exact", "rq + matern32", "gaussian", "zero", "error"},
    {"exact", "periodic + cosine", "gaussian", "zero", "error"},
    {"exact", "linear + polynomial(degree=2)", "gaussian", "zero", "error"},
    {"exact", "arccosine(order=0) + arccosine(order=1)", "gaussian", "zero", "error"},
    {"exact", "arccosine(order=2)", "gaussian", "zero", "error"},
    {"exact", "sm(components=2)", "gaussian", "zero", "error"},
    {"exact", "wendland0 + wendland1", "gaussian", "zero", "error"},
    {"exact", "wendland2 + wendland3", "gaussian", "zero", "error"},
    {"exact", "2 * matern12 * constant + categorical", "gaussian", "zero", "error"},
    {"sod", "matern12", "gaussian", "zero", "error"},
    {"rvm", "matern12", "gaussian", "zero", "error"},
    {"sor", "matern12", "gaussian", "zero", "error"},
    {"ssgp", "rbf", "gaussian", "zero", "error"},
    {"dtc", "matern12", "gaussian", "linear", "error"},
    {"fitc", "matern12 * categorical", "gaussian", "zero", "error"},
    {"fic", "matern12", "gaussian", "zero", "error"},
    {"pitc", "matern12", "gaussian", "zero", "error"},
    {"vfe", "matern12", "gaussian", "constant", "error"},
    {"pep(alpha=0.5)", "matern12", "gaussian", "zero", "error"},
    {"svgp", "matern12 + white", "gaussian", "linear", "error"},
    {"svgp", "matern12", "laplace", "zero", "error"},
    {"svgp", "matern12", "studentt", "zero", "error"},
    {"svgp", "matern12", "heteroscedastic", "zero", "error"},
    {"svgp", "matern12", "poisson", "zero", "error"},
    {"svgp", "matern12", "negbin", "zero", "error"},
    {"svgp", "matern12", "bernoulli(logit)", "zero", "error"},
    {"svgp", "matern12", "bernoulli(probit)", "zero", "error"},
    {"svgp", "matern12", "ordinal", "zero", "error"},
    {"solve", "matern12", "gaussian", "zero", "error"},
    {"odvgp", "matern12", "gaussian", "zero", "error"},
};
enum { COUNT = sizeof cases / sizeof *cases };

static anygp_model *fitted(const fit_case *c)
{
    const char *const set[][2] = {{"model", c->model}, {"kernel", c->kernel},   {"likelihood", c->likelihood},
                                  {"mean", c->mean},   {"missing", c->missing}, {"inducing", "10"},
                                  {"iters", "2"},      {"threads", "1"},        {"valid", "0"}};
    static const char *const levels[] = {"low \"2\"", "mid\?\?/", "high"};
    anygp_error e = {0};
    scene s = rows_of(1, c->likelihood);
    anygp_settings *settings = anygp_settings_new();
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        bool pair = !strcmp(set[i][0], "inducing") && (!strcmp(c->model, "solve") || !strcmp(c->model, "odvgp"));
        if (ANYGP_FAILED(anygp_set(settings, set[i][0], pair ? "8+4" : set[i][1], &e))) fail_msg("%s", e.text);
    }
    assert_int_equal(anygp_data_new(ROWS, D, s.X, D, s.y, NULL, &data, &e), 0);
    bool texts = strstr(c->kernel, "categorical") != NULL;
    if (texts) assert_int_equal(anygp_data_categories(data, 2, 3, levels, &e), 0);
    if (ANYGP_FAILED(anygp_fit(settings, data, &m, &e))) fail_msg("%s, %s: %s", c->model, c->kernel, e.text);
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
        fail_msg("%s, %s, %s: %s %.17g is not %.17g", c->model, c->kernel, c->likelihood, what, a, b);
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
    assert_alike(c, "variance of f", other, variance, variance + 1e-3 * fabs(mean) + 1e-3);
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
    if (strcmp(c->missing, "mean")) {
        assert_true(isnan(same));
        return;
    }
    assert_int_equal(anygp_predict(m, 1, x, D, 0, &mean, NULL, NULL), 0);
    assert_alike(c, "mean with a missing input", same, mean, fabs(mean) + 1);
}

static void c_predicts_the_same(void **state)
{
    (void)state;
    char folder[] = "/tmp/anygp_export.XXXXXX", command[512];
    anygp_model *m[COUNT];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < COUNT; i++) write_source(m[i] = fitted(&cases[i]), folder, i);
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
    snprintf(command, sizeof command, "rm -r %s", folder);
    must_run(command);
}

static void what_cannot_be_exported_is_said(void **state)
{
    (void)state;
    const fit_case pic = {"pic", "matern12", "gaussian", "zero", "error"};
    anygp_model *m = fitted(&pic);
    anygp_error e = {0};
    char *text = NULL;
    assert_int_equal(anygp_export_c(m, "pic", NULL, &text, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_null(text);
    assert_non_null(strstr(e.text, "pic cannot be exported; those that can are exact"));
    assert_null(strstr(e.text, " lma"));
    assert_int_equal(anygp_export_c(m, "9 lives", NULL, &text, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "cannot begin the names"));
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(c_predicts_the_same),
                                       cmocka_unit_test(what_cannot_be_exported_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
