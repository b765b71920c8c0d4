/* Places on the sphere: against coordinates made by hand, rotations, and the seam where longitudes begin again. */
#include "fit_support.h"

#include <string.h>

#include "base/constants.h"
#include "data/table/sphere.h"
#include "params/params.h"

enum { N = 70, NEW = 9 };

typedef struct world {
    double lon[N + NEW], lat[N + NEW], height[N + NEW], y[N];
} world;

static double wave(double lon, double lat, double height)
{
    double p[3];
    sphere_place(lon, lat, p);
    return sin(p[0] / 2500) + cos(p[1] / 3000 + p[2] / 4000) + 0.3 * height;
}

static void make_world(world *w)
{
    double z[3 * (N + NEW)], noise[N];
    fill_normal(41, 3 * (N + NEW), z);
    fill_normal(42, N, noise);
    for (int i = 0; i < N + NEW; i++) {
        double r = sqrt(z[3 * i] * z[3 * i] + z[3 * i + 1] * z[3 * i + 1] + z[3 * i + 2] * z[3 * i + 2]);
        w->lon[i] = atan2(z[3 * i + 1], z[3 * i]) * 180 / PI, w->lat[i] = asin(z[3 * i + 2] / r) * 180 / PI;
        w->height[i] = 2 + sin(7.0 * i);
    }
    for (int i = 0; i < N; i++) w->y[i] = wave(w->lon[i], w->lat[i], w->height[i]) + 0.1 * noise[i];
}

/* Rotated about an axis that is no axis of coordinates. */
static void turn(double *lon, double *lat)
{
    static const double A[3] = {0.48, 0.6, 0.64}, c = 0.28, s = 0.96; /* cos and sin of the angle */
    double p[3], q[3], along = 0;
    sphere_place(*lon, *lat, p);
    for (int k = 0; k < 3; k++) along += A[k] * p[k];
    for (int k = 0; k < 3; k++)
        q[k] =
            c * p[k] + s * (A[(k + 1) % 3] * p[(k + 2) % 3] - A[(k + 2) % 3] * p[(k + 1) % 3]) + (1 - c) * along * A[k];
    sphere_spec unit = {.on = true, .scale = 1};
    sphere_from_model(&unit, q, lon, lat);
}

static anygp_model *fit_world(const world *w, bool high, const char *text)
{
    double X[3 * N];
    int D = high ? 3 : 2;
    for (int i = 0; i < N; i++) {
        X[i * D] = w->lon[i], X[i * D + 1] = w->lat[i];
        if (high) X[i * D + 2] = w->height[i];
    }
    const char *const pairs[] = {"model", "exact", "sphere", "0,1", "kernel", text, "iters", "60", NULL};
    return fit_arrays(N, D, X, w->y, NULL, pairs);
}

static void predict_world(const anygp_model *m, const world *w, bool high, double *mean, double *variance)
{
    double X[3 * NEW];
    int D = high ? 3 : 2;
    anygp_error e = {.text = ""};
    for (int i = 0; i < NEW; i++) {
        X[i * D] = w->lon[N + i], X[i * D + 1] = w->lat[N + i];
        if (high) X[i * D + 2] = w->height[N + i];
    }
    assert_int_equal(anygp_predict(m, NEW, X, D, 0, mean, variance, &e), ANYGP_OK);
}

static double loo_density(const anygp_model *m)
{
    anygp_scores *s;
    anygp_error e;
    double value = NAN;
    assert_int_equal(anygp_model_scores(m, "leave_one_out", &s, &e), ANYGP_OK);
    for (int64_t i = 0; i < anygp_scores_count(s, 0); i++)
        if (!strcmp(anygp_scores_name(s, 0, i), "mnlp")) value = anygp_scores_value(s, 0, i);
    anygp_scores_free(s);
    return value;
}

static void places_are_found_again_and_equal_at_the_seam(void **unused)
{
    (void)unused;
    sphere_spec s = {.on = true, .shift = {100, -200, 50}, .scale = 3000};
    double a[3], b[3];
    for (double lon = -179; lon < 180; lon += 13)
        for (double lat = -89; lat < 90; lat += 11) {
            double x[3], to_lon, to_lat;
            sphere_to_model(&s, lon, lat, x);
            sphere_from_model(&s, x, &to_lon, &to_lat);
            check_close(to_lon, lon, 1e-10);
            check_close(to_lat, lat, 1e-10);
        }
    sphere_place(180, 12, a), sphere_place(-180, 12, b);
    assert_memory_equal(a, b, sizeof a);
    sphere_place(270, -12, a), sphere_place(-90, -12, b);
    assert_memory_equal(a, b, sizeof a);
    sphere_place(0, 0, a), sphere_place(0, 1, b); /* a degree is 111.2 km */
    check_close(hypot(b[0] - a[0], b[2] - a[2]), 111.194, 1e-5);
}

static void sphere_is_coordinates_made_by_hand(void **unused)
{
    (void)unused;
    static world w;
    double X[3 * N], new_X[3 * NEW], a[NEW], b[NEW], c[NEW], d[NEW];
    anygp_error e = {.text = ""};
    make_world(&w);
    for (int i = 0; i < N; i++) sphere_place(w.lon[i], w.lat[i], X + 3 * i);
    for (int i = 0; i < NEW; i++) sphere_place(w.lon[N + i], w.lat[N + i], new_X + 3 * i);
    const char *const pairs[] = {"model", "exact", "kernel", "matern52(iso)", "iters", "60", NULL};
    const char *const kernels[] = {"matern52(iso)", "matern52"}; /* in the second they are tied */
    anygp_model *hand = fit_arrays(N, 3, X, w.y, NULL, pairs);
    assert_int_equal(anygp_predict(hand, NEW, new_X, 3, 0, a, b, &e), ANYGP_OK);
    for (int k = 0; k < 2; k++) {
        anygp_model *m = fit_world(&w, false, kernels[k]);
        predict_world(m, &w, false, c, d);
        for (int i = 0; i < NEW; i++) check_close(c[i], a[i], 1e-5), check_close(d[i], b[i], 1e-5);
        check_close(loo_density(m), loo_density(hand), 1e-6);
        anygp_model_free(m);
    }
    anygp_model_free(hand);
}

static void nothing_depends_on_where_the_poles_are(void **unused)
{
    (void)unused;
    static world w, turned;
    double a[NEW], b[NEW], c[NEW], d[NEW];
    make_world(&w);
    for (int high = 0; high < 2; high++) {
        turned = w;
        for (int i = 0; i < N + NEW; i++) turn(&turned.lon[i], &turned.lat[i]);
        anygp_model *m = fit_world(&w, high, "matern52"), *n = fit_world(&turned, high, "matern52");
        predict_world(m, &w, high, a, b);
        predict_world(n, &turned, high, c, d);
        for (int i = 0; i < NEW; i++) check_close(c[i], a[i], 1e-5), check_close(d[i], b[i], 1e-5);
        check_close(loo_density(m), loo_density(n), 1e-6);
        anygp_model_free(m);
        anygp_model_free(n);
    }
}

static void predictions_are_continuous_at_the_seam(void **unused)
{
    (void)unused;
    static world w;
    const double X[] = {180, 10, -180, 10, 179.9999, 10, -179.9999, 10, 540 - 360, -40, 180, -40};
    double mean[6], variance[6];
    anygp_error e = {.text = ""};
    make_world(&w);
    anygp_model *m = fit_world(&w, false, "matern52");
    assert_int_equal(anygp_predict(m, 6, X, 2, 0, mean, variance, &e), ANYGP_OK);
    assert_true(mean[0] == mean[1] && variance[0] == variance[1]);
    check_close(mean[2], mean[3], 1e-5);
    check_close(variance[2], variance[3], 1e-5);
    const double far[] = {10, 91}, beyond[] = {-181, 0};
    assert_int_equal(anygp_predict(m, 1, far, 2, 0, mean, variance, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "91 is no latitude"));
    assert_int_equal(anygp_predict(m, 1, beyond, 2, 0, mean, variance, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "-181 is no longitude"));
    anygp_model_free(m);
}

/* F = sum c_i p_i^2 over the parameters, whose gradient with ties is that of differences in u. */
static void gradients_of_tied_parameters_add_up(void **unused)
{
    (void)unused;
    const kernel_input in[] = {{"t", 0, INPUT_NUMBER, 0}, {"lon", 1, INPUT_NUMBER, 1}, {"lat", 2, INPUT_PAIR, 2}};
    anygp_error e;
    kernel *k;
    param_list list = {0};
    assert_int_equal(kernel_parse("rbf + matern32(dims=[lon,lat])", in, 3, 4, &k, &e), ANYGP_OK);
    assert_true(kernel_tie(k, 1, 3));
    int64_t P = kernel_count(k), free_ones;
    assert_int_equal(P, 1 + 4 + 1 + 3);
    assert_int_equal(params_put_kernel(&list, "kernel", k, false, &e), ANYGP_OK);
    free_ones = params_free(&list);
    assert_int_equal(free_ones, 1 + 2 + 1 + 1);
    double u[16], gp[16], gu[16];
    params_pack(&list, u);
    for (int64_t f = 0; f < free_ones; f++) u[f] += 0.1 * (double)f;
    params_unpack(&list, u);
    const double *v = kernel_values(k);
    assert_true(v[2] == v[3] && v[3] == v[4] && v[6] == v[7] && v[7] == v[8] && v[1] != v[2]);
    for (int64_t i = 0; i < P; i++) gp[i] = 2 * (double)(i + 1) * v[i];
    params_chain(&list, gp, gu);
    for (int64_t f = 0; f < free_ones; f++) {
        double side[2];
        for (int s = 0; s < 2; s++) {
            double u0 = u[f];
            u[f] += s ? 1e-5 : -1e-5;
            params_unpack(&list, u);
            side[s] = 0;
            for (int64_t i = 0; i < P; i++) side[s] += (double)(i + 1) * v[i] * v[i];
            u[f] = u0;
        }
        check_close(gu[f], (side[1] - side[0]) / 2e-5, 1e-7);
    }
    params_clear(&list);
    assert_int_equal(kernel_parse("rbf(dims=[lon])", in, 3, 4, &k, &e), ANYGP_OK);
    assert_false(kernel_tie(k, 1, 3));
    kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_again_and_equal_at_the_seam),
        cmocka_unit_test(sphere_is_coordinates_made_by_hand),
        cmocka_unit_test(nothing_depends_on_where_the_poles_are),
        cmocka_unit_test(predictions_are_continuous_at_the_seam),
        cmocka_unit_test(gradients_of_tied_parameters_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
