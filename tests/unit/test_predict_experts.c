/* anygp_predict_experts: what experts say, more rows than one block of a prediction has, adds up to what their committee says. */
#include "fit_support.h"

#include <string.h>

enum { N = 60, NEW = 5000, EXPERTS = 3 };

static void experts_of_a_product_make_up_its_prediction(void **unused)
{
    (void)unused;
    static double x[N], y[N], new_x[NEW], mean[NEW], variance[NEW], opinions[NEW * 3 * EXPERTS];
    anygp_error e = {.text = ""};
    fill_normal(11, N, x);
    for (int i = 0; i < N; i++) y[i] = sin(3 * x[i]);
    fill_normal(12, NEW, new_x);
    const char *const pairs[] = {"model",  "poe", "kernel", "rbf(lengthscale=1)", "noise", "0.01", "fix", "all",
                                 "blocks", "3",   NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(anygp_experts(m, 0), EXPERTS);
    assert_int_equal(anygp_predict(m, NEW, new_x, 1, ANYGP_LATENT, mean, variance, &e), ANYGP_OK);
    assert_int_equal(anygp_predict_experts(m, 0, NEW, new_x, 1, ANYGP_LATENT, opinions, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) { /* 003, eq. 27 with weights 1 */
        double precision = 0, sum = 0;
        for (int k = 0; k < EXPERTS; k++) {
            const double *of = opinions + 3 * k * NEW + i;
            precision += 1 / (of[NEW] * of[NEW]), sum += of[0] / (of[NEW] * of[NEW]);
            check_close(of[2 * NEW], 1, 1e-12);
        }
        check_close(1 / variance[i], precision, 1e-9);
        check_close(mean[i], sum / precision, 1e-9);
    }
    anygp_model_free(m);
}

static void other_models_have_none(void **unused)
{
    (void)unused;
    double x[N], y[N], opinions[3];
    anygp_error e = {.text = ""};
    fill_normal(11, N, x);
    fill_normal(12, N, y);
    const char *const pairs[] = {"model", "exact", "fix", "all", NULL};
    anygp_model *m = fit_arrays(N, 1, x, y, NULL, pairs);
    assert_int_equal(anygp_experts(m, 0), 0);
    assert_int_equal(anygp_experts(m, 1), 0);
    assert_int_equal(anygp_predict_experts(m, 0, 1, x, 1, 0, opinions, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "exact has no experts"));
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_of_a_product_make_up_its_prediction),
        cmocka_unit_test(other_models_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
