/* anygp_predict_blocks: three clusters of rows far apart, blocks with names of the user's choice. */
#include "fit_support.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { CLUSTERS = 3, EACH = 20, N = CLUSTERS * EACH, NEW = 6 };

static const int64_t names[CLUSTERS] = {7, -3, 100};

static void rows(double *x, double *y, int64_t *name)
{
    fill_normal(11, N, x);
    for (int i = 0; i < N; i++) {
        int c = i % CLUSTERS;
        y[i] = sin(3 * x[i]) + c;
        x[i] = 0.5 * x[i] + 10 * c;
        name[i] = names[c];
    }
}

/* The names in a file, whose path is made from `path`. */
static void write_names(char *path, int64_t n, const int64_t *name)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    for (int64_t i = 0; i < n; i++) fprintf(out, "%lld\n", (long long)name[i]);
    fclose(out);
}

static anygp_model *fit_clusters(const char *model, bool named)
{
    double x[N], y[N];
    int64_t name[N];
    char path[] = "test_predict_blocks_XXXXXX";
    rows(x, y, name);
    write_names(path, N, name);
    const char *const pairs[] = {"model",
                                 model,
                                 "kernel",
                                 "rbf(lengthscale=1)",
                                 "noise",
                                 "0.01",
                                 "fix",
                                 "all",
                                 "inducing",
                                 "4",
                                 named ? "blocks-from" : "blocks",
                                 named ? path : "3",
                                 NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    unlink(path);
    return m;
}

static const double new_x[NEW] = {0.2, 9.7, 20.4, -0.3, 10.1, 19.9};
static const int64_t routed[NEW] = {7, -3, 100, 7, -3, 100}, elsewhere[NEW] = {-3, 100, 7, 7, -3, 100};

static void the_blocks_that_rows_lie_in_change_nothing(void **unused)
{
    (void)unused;
    anygp_error e;
    double mean[2][NEW], variance[2][NEW];
    anygp_model *m = fit_clusters("pic", true);
    predict(m, NEW, new_x, mean[0], variance[0]);
    assert_int_equal(anygp_predict_blocks(m, 0, NEW, new_x, 1, routed, 0, mean[1], variance[1], &e), ANYGP_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    anygp_model_free(m);
}

/* A row far from its block's rows gains nothing from them: its variance is larger; the others stay. */
static void another_block_predicts_from_its_own_rows(void **unused)
{
    (void)unused;
    anygp_error e;
    double mean[2][NEW], variance[2][NEW];
    anygp_model *m = fit_clusters("pic", true);
    predict(m, NEW, new_x, mean[0], variance[0]);
    assert_int_equal(anygp_predict_blocks(m, 0, NEW, new_x, 1, elsewhere, 0, mean[1], variance[1], &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        if (elsewhere[i] == routed[i]) {
            check_close(mean[1][i], mean[0][i], 1e-13);
            check_close(variance[1][i], variance[0][i], 1e-13);
        } else {
            assert_true(variance[1][i] > variance[0][i] + 1e-3);
        }
    }
    anygp_model_free(m);
}

static void names_survive_the_model_file(void **unused)
{
    (void)unused;
    anygp_error e;
    void *bytes;
    size_t size;
    anygp_model *m = fit_clusters("pic", true), *again;
    double mean[2][NEW];
    assert_int_equal(anygp_save_bytes(m, &bytes, &size, &e), ANYGP_OK);
    assert_int_equal(anygp_load_bytes(bytes, size, &again, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_blocks(m, 0, NEW, new_x, 1, elsewhere, 0, mean[0], NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_blocks(again, 0, NEW, new_x, 1, elsewhere, 0, mean[1], NULL, &e), ANYGP_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    anygp_bytes_free(bytes);
    anygp_model_free(again);
    anygp_model_free(m);
}

static void blocks_without_names_are_numbered_from_zero(void **unused)
{
    (void)unused;
    anygp_error e;
    double mean[NEW];
    anygp_model *m = fit_clusters("pic", false);
    assert_int_equal(anygp_predict_blocks(m, 0, 2, new_x, 1, (const int64_t[]){0, 2}, 0, mean, NULL, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_blocks(m, 0, 2, new_x, 1, (const int64_t[]){0, 3}, 0, mean, NULL, &e),
                     ANYGP_ERR_DATA);
    assert_string_equal(e.text, "row 2 is given block 3, which the model does not have; its 3 blocks are 0 to 2");
    anygp_model_free(m);
}

static void unknown_names_and_other_models_are_refused(void **unused)
{
    (void)unused;
    anygp_error e;
    double mean[NEW];
    anygp_model *m = fit_clusters("pic", true), *other = fit_clusters("fitc", true);
    int64_t bad[NEW] = {7, 7, 7, 7, 8, 7};
    assert_int_equal(anygp_predict_blocks(m, 0, NEW, new_x, 1, bad, 0, mean, NULL, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "row 5 is given block 8"));
    assert_int_equal(anygp_predict_blocks(m, 0, NEW, new_x, 1, NULL, 0, mean, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_predict_blocks(m, 1, NEW, new_x, 1, routed, 0, mean, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_predict_blocks(other, 0, NEW, new_x, 1, routed, 0, mean, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "a fitc model does not look at blocks"));
    anygp_model_free(m);
    anygp_model_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_blocks_that_rows_lie_in_change_nothing),
        cmocka_unit_test(another_block_predicts_from_its_own_rows),
        cmocka_unit_test(names_survive_the_model_file),
        cmocka_unit_test(blocks_without_names_are_numbered_from_zero),
        cmocka_unit_test(unknown_names_and_other_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
