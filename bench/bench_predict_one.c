/* anygp_predict of one row per call, beside the least it could take: a kernel row and a dot product.
   Usage: bench_predict_one [inducing inputs]      default 512 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "anygp/anygp.h"
#include "support.h"

enum { ROWS = 2000, CALLS = 400, ROUNDS = 12 };

static void must(anygp_status status, const anygp_error *e)
{
    if (ANYGP_FAILED(status)) fprintf(stderr, "bench_predict_one: %s\n", e->text), exit(2);
}

static anygp_model *fitted(const char *model, const char *inducing, const double *X, const double *y)
{
    const char *const set[][2] = {{"model", model},  {"inducing", inducing}, {"kernel", "rbf(lengthscale=3)"},
                                  {"noise", "0.01"}, {"fix", "all"},         {"iters", "1"}};
    anygp_error e;
    anygp_settings *s = anygp_settings_new();
    anygp_data *data;
    anygp_model *m;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) must(anygp_set(s, set[i][0], set[i][1], &e), &e);
    must(anygp_data_new(ROWS, D, X, D, y, NULL, &data, &e), &e);
    must(anygp_fit(s, data, &m, &e), &e);
    anygp_data_free(data);
    anygp_settings_free(s);
    return m;
}

/* Microseconds per call, the best of some rounds. */
static double call_time(const anygp_model *m, const double *X, double *variance)
{
    double best = INFINITY, mean;
    anygp_error e;
    for (int r = 0; r < ROUNDS; r++) {
        double began = clock_seconds();
        for (int i = 0; i < CALLS; i++) must(anygp_predict(m, 1, X + i * D, D, 0, &mean, variance, &e), &e);
        best = fmin(best, clock_seconds() - began);
    }
    return 1e6 * best / CALLS;
}

static double least_time(int64_t M, const double *Z, const double *X)
{
    kernel *k = parse("rbf(lengthscale=3)");
    double best = INFINITY, *row = normals(3, M), *w = normals(4, M), sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double began = clock_seconds();
        for (int i = 0; i < CALLS; i++) {
            if (!kernel_gram(k, M, Z, D, 1, X + i * D, D, row, M)) exit(2);
            sum += la_dot(M, row, w);
        }
        best = fmin(best, clock_seconds() - began);
    }
    free(row), free(w), kernel_free(k);
    return sum == 1 ? NAN : 1e6 * best / CALLS; /* the sum is used */
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"vfe", "fitc", "svgp", "pic", "exact"};
    const char *inducing = argc > 1 ? argv[1] : "512";
    la_threads(1);
    double *X = normals(1, ROWS * D), *y = normals(2, ROWS), variance;
    printf("a kernel row and a dot product: %.1f us\n", least_time(atoll(inducing), X, X));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        anygp_model *m = fitted(models[i], inducing, X, y);
        printf("%-6s mean %.1f us, mean and variance %.1f us\n", models[i], call_time(m, X, NULL),
               call_time(m, X, &variance));
        anygp_model_free(m);
    }
    free(X), free(y);
    return 0;
}
