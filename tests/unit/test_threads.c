/* Fits at the same time in several threads of one process: each has the bits it has alone. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "fit_support.h"

/* BLAS with a pool of its own has one number of threads for the whole process; see the header. */
extern int openblas_get_parallel(void) __attribute__((weak));
static bool blas_follows_openmp(void) { return openblas_get_parallel && openblas_get_parallel() == 2; }

enum { ROWS = 700, INPUTS = 3, PLACES = 5, ROUNDS = 2 };

typedef struct {
    pthread_t thread;
    uint64_t stream;
    const char *const *settings;
    double mean[PLACES], variance[PLACES];
} fit_job;

static void *fit_and_predict(void *job)
{
    fit_job *j = job;
    double *X = malloc(ROWS * INPUTS * sizeof *X), y[ROWS], noise[ROWS], at[PLACES * INPUTS];
    fill_normal(j->stream, ROWS * INPUTS, X);
    fill_normal(j->stream + 1, ROWS, noise);
    fill_normal(j->stream + 2, PLACES * INPUTS, at);
    for (int i = 0; i < ROWS; i++) y[i] = sin(3 * X[i * INPUTS]) + X[i * INPUTS + 1] + 0.1 * noise[i];
    anygp_model *m = fit_arrays(ROWS, INPUTS, X, y, NULL, j->settings);
    predict(m, PLACES, at, j->mean, j->variance);
    anygp_model_free(m);
    free(X);
    return NULL;
}

static void check_same_bits_together(const char *const *first, const char *const *second)
{
    if (!blas_follows_openmp()) skip();
    fit_job alone[2] = {{.stream = 10, .settings = first}, {.stream = 20, .settings = second}};
    for (int k = 0; k < 2; k++) fit_and_predict(&alone[k]);
    for (int round = 0; round < ROUNDS; round++) {
        fit_job together[2] = {alone[0], alone[1]};
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&together[k].thread, NULL, fit_and_predict, &together[k]), 0);
        for (int k = 0; k < 2; k++) pthread_join(together[k].thread, NULL);
        for (int k = 0; k < 2; k++) {
            assert_memory_equal(together[k].mean, alone[k].mean, sizeof alone[k].mean);
            assert_memory_equal(together[k].variance, alone[k].variance, sizeof alone[k].variance);
        }
    }
}

static void default_fits_at_once_have_the_bits_of_each_alone(void **state)
{
    (void)state;
    const char *const some[] = {"iters", "3", NULL}; /* all else as it is by default */
    check_same_bits_together(some, some);
}

static void a_fit_on_one_thread_leaves_the_other_its_threads(void **state)
{
    (void)state;
    const char *const one[] = {"threads", "1", "iters", "3", NULL}, *const two[] = {"threads", "2", "iters", "3", NULL};
    check_same_bits_together(one, two);
}

static void sparse_fits_at_once_have_the_bits_of_each_alone(void **state)
{
    (void)state;
    const char *const vfe[] = {"model", "vfe", "inducing", "100", "iters", "4", NULL};
    const char *const svgp[] = {"model", "svgp", "inducing", "100", "iters", "30", NULL};
    check_same_bits_together(vfe, svgp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_fits_at_once_have_the_bits_of_each_alone),
        cmocka_unit_test(a_fit_on_one_thread_leaves_the_other_its_threads),
        cmocka_unit_test(sparse_fits_at_once_have_the_bits_of_each_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
