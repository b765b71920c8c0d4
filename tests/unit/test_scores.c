#include "support.h"

#include <float.h>
#include <string.h>

#include "predict/scores.h"

enum { N = 400 };
static const double PI = 3.14159265358979323846;

static double named(const score *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i].name, name)) return list[i].value;
    fail_msg("no score %s", name);
    return NAN;
}

typedef struct rows {
    double y[N], mean[N], variance[N], weight[N];
} rows;

static void make_rows(rows *r)
{
    fill_normal(1, N, r->y);
    fill_normal(2, N, r->mean);
    fill_normal(3, N, r->variance);
    for (int i = 0; i < N; i++) {
        r->mean[i] = r->y[i] + 0.6 * r->mean[i];
        r->variance[i] = 0.05 + r->variance[i] * r->variance[i];
        r->weight[i] = i % 4;
    }
}

static double normal_cdf(double x, double mean, double variance)
{
    return 0.5 * erfc(-(x - mean) / sqrt(2 * variance));
}

/* integral of (F(x) - [x >= y])^2 by Simpson's rule on both sides of the jump */
static double crps_by_integration(double y, double mean, double variance)
{
    double total = 0, reach = 12 * sqrt(variance) + fabs(y - mean);
    for (int side = 0; side < 2; side++) {
        enum { STEPS = 4000 };
        double h = reach / STEPS, sum = 0;
        for (int i = 0; i <= STEPS; i++) {
            double x = side ? y + i * h : y - i * h;
            double F = normal_cdf(x, mean, variance) - side;
            sum += F * F * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
        }
        total += sum * h / 3;
    }
    return total;
}

static void regression_scores_equal_their_definitions(void **state)
{
    (void)state;
    rows r;
    make_rows(&r);
    const double tm = 0.3, tsd = 1.7;
    regression_scores s;
    regression_scores_begin(&s, tm, tsd);
    regression_scores_add(&s, 150, r.y, r.mean, r.variance, r.weight);
    regression_scores_add(&s, N - 150, r.y + 150, r.mean + 150, r.variance + 150, r.weight + 150);
    score list[REGRESSION_SCORES];
    assert_int_equal(regression_scores_list(&s, list), REGRESSION_SCORES);

    double W = 0, se = 0, ae = 0, t2 = 0, ysum = 0, y2 = 0, nlp = 0, nlp0 = 0, crps = 0, width = 0;
    double inside[5] = {0}, P[5] = {0.5, 0.8, 0.9, 0.95, 0.99};
    for (int i = 0; i < N; i++) {
        double w = r.weight[i], e = r.y[i] - r.mean[i], v = r.variance[i], t = r.y[i] - tm;
        W += w, se += w * e * e, ae += w * fabs(e), t2 += w * t * t, ysum += w * r.y[i], y2 += w * r.y[i] * r.y[i];
        nlp += w * 0.5 * (log(2 * PI * v) + e * e / v);
        nlp0 += w * 0.5 * (log(2 * PI * tsd * tsd) + t * t / (tsd * tsd));
        if (w > 0) crps += w * crps_by_integration(r.y[i], r.mean[i], v);
        width += w * 2 * 1.959963984540054 * sqrt(v);
        double F = normal_cdf(r.y[i], r.mean[i], v);
        for (int l = 0; l < 5; l++) inside[l] += F > (1 - P[l]) / 2 && F < (1 + P[l]) / 2 ? w : 0;
    }
    check_close(named(list, REGRESSION_SCORES, "rmse"), sqrt(se / W), 1e-13);
    check_close(named(list, REGRESSION_SCORES, "mae"), ae / W, 1e-13);
    check_close(named(list, REGRESSION_SCORES, "nmse"), se / t2, 1e-13);
    check_close(named(list, REGRESSION_SCORES, "smse"), se / (y2 - ysum * ysum / W), 1e-12);
    check_close(named(list, REGRESSION_SCORES, "mnlp"), nlp / W, 1e-13);
    check_close(named(list, REGRESSION_SCORES, "msll"), (nlp - nlp0) / W, 1e-13);
    check_close(named(list, REGRESSION_SCORES, "crps"), crps / W, 1e-8);
    check_close(named(list, REGRESSION_SCORES, "width95"), width / W, 1e-13);
    check_close(named(list, REGRESSION_SCORES, "n"), W, 0);
    const char *names[] = {"coverage50", "coverage80", "coverage90", "coverage95", "coverage99"};
    for (int l = 0; l < 5; l++) check_close(named(list, REGRESSION_SCORES, names[l]), inside[l] / W, 1e-13);
}

static void weights_are_multiplicities(void **state)
{
    (void)state;
    rows r;
    make_rows(&r);
    regression_scores weighted, repeated;
    regression_scores_begin(&weighted, 0, 1);
    regression_scores_begin(&repeated, 0, 1);
    regression_scores_add(&weighted, N, r.y, r.mean, r.variance, r.weight);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < r.weight[i]; k++)
            regression_scores_add(&repeated, 1, r.y + i, r.mean + i, r.variance + i, NULL);
    score a[REGRESSION_SCORES], b[REGRESSION_SCORES];
    regression_scores_list(&weighted, a);
    regression_scores_list(&repeated, b);
    for (int i = 0; i < REGRESSION_SCORES; i++) check_close(a[i].value, b[i].value, 1e-13);
}

static void a_large_offset_costs_no_digits(void **state)
{
    (void)state;
    const double offset = 1e8, step = 0x1p-20; /* both exact in double */
    regression_scores s;
    regression_scores_begin(&s, offset, 1);
    for (int i = 0; i < 100000; i++) {
        double y = offset + (i % 2 ? step : -step), m = offset, v = step * step;
        regression_scores_add(&s, 1, &y, &m, &v, NULL);
    }
    score list[REGRESSION_SCORES];
    int n = regression_scores_list(&s, list);
    assert_true(fabs(named(list, n, "rmse") / step - 1) < 1e-14);
    assert_true(fabs(named(list, n, "smse") - 1) < 1e-13);
    assert_true(fabs(named(list, n, "nmse") - 1) < 1e-13);
}

static void compensated_sum_keeps_what_plain_addition_loses(void **state)
{
    (void)state;
    exact_sum s = {0};
    exact_add(&s, 1e16);
    for (int i = 0; i < 1000; i++) exact_add(&s, 1);
    exact_add(&s, -1e16);
    assert_true(exact_value(s) == 1000);
}

static void no_input_gives_a_score_that_is_not_finite(void **state)
{
    (void)state;
    const double hard[] = {0, 1e308, -1e308, 1e-308, 1, DBL_MAX, 1e200};
    const double variances[] = {0, 1e-320, 1, 1e308, INFINITY, -1, NAN};
    const double sds[] = {0, 1, 1e-300, 1e308, NAN};
    enum { H = sizeof hard / sizeof *hard, V = sizeof variances / sizeof *variances };
    for (size_t t = 0; t < sizeof sds / sizeof *sds; t++)
        for (int i = 0; i < H * H * V; i++) {
            regression_scores s;
            regression_scores_begin(&s, hard[i % H], sds[t]);
            double y = hard[i / H % H], v = variances[i / (H * H)], m = hard[(i + 3) % H];
            regression_scores_add(&s, 1, &y, &m, &v, NULL);
            regression_scores_add(&s, 1, &m, &y, &v, NULL);
            score list[REGRESSION_SCORES];
            int n = regression_scores_list(&s, list);
            for (int k = 0; k < n; k++) assert_true(isfinite(list[k].value));
        }
}

static void rows_that_are_absent_do_not_count(void **state)
{
    (void)state;
    regression_scores s;
    regression_scores_begin(&s, 0, 1);
    double y[3] = {NAN, 2, INFINITY}, m[3] = {0, 0, 0}, v[3] = {1, 1, 1}, w[3] = {1, 0, 1};
    regression_scores_add(&s, 3, y, m, v, w);
    score list[REGRESSION_SCORES];
    assert_int_equal(regression_scores_list(&s, list), 1);
    assert_string_equal(list[0].name, "n");
    assert_true(list[0].value == 0);
    regression_scores_add(&s, 3, y, m, v, NULL);
    int n = regression_scores_list(&s, list);
    check_close(named(list, n, "rmse"), 2, 0);
    check_close(named(list, n, "smse"), 4, 0); /* one row: relative to the training variance */
}

static void unit_changes_scale_scores(void **state)
{
    (void)state;
    rows r;
    make_rows(&r);
    regression_scores s, scaled;
    regression_scores_begin(&s, 0.3, 1.7);
    regression_scores_add(&s, N, r.y, r.mean, r.variance, r.weight);
    const double c = 1e160; /* whose square is no double */
    for (int i = 0; i < N; i++) r.y[i] *= c, r.mean[i] *= c;
    regression_scores_begin(&scaled, 0.3 * c, 1.7 * c);
    regression_scores_add(&scaled, N, r.y, r.mean, r.variance, r.weight);
    score a[REGRESSION_SCORES], b[REGRESSION_SCORES];
    int n = regression_scores_list(&s, a);
    regression_scores_list(&scaled, b);
    check_close(named(b, n, "rmse") / c, named(a, n, "rmse"), 1e-12);
    check_close(named(b, n, "mae") / c, named(a, n, "mae"), 1e-12);
    check_close(named(b, n, "smse"), named(a, n, "smse"), 1e-12);
}

/* ------------------------------------------------------------------------------------- classification */

enum { ROWS = 200, MAX_CLASSES = 3 };

typedef struct votes {
    int64_t label[ROWS];
    double p[ROWS * MAX_CLASSES], weight[ROWS];
} votes;

/* Probabilities rounded to eighths, so that ties occur. */
static void make_votes(votes *v, int classes)
{
    random_stream s = {7, RANDOM_TEST, (uint64_t)classes};
    for (int i = 0; i < ROWS; i++) {
        v->label[i] = random_below(s, (uint64_t)i, classes);
        v->weight[i] = i % 3 ? 1 : 0.5 * (i % 7);
        double left = 1;
        for (int c = 0; c < classes; c++) {
            double u = random_uniform(s, (uint64_t)(1000 + i * classes + c));
            double p = c == classes - 1 ? left : floor(left * u * 8) / 8;
            v->p[i + c * ROWS] = p;
            left -= p;
        }
    }
}

/* All pairs: the definition. */
static double auc_by_pairs(const votes *v, int class)
{
    double wins = 0, pairs = 0;
    const double *p = v->p + class * ROWS;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            if (v->label[i] != class || v->label[j] == class) continue;
            double w = v->weight[i] * v->weight[j];
            pairs += w;
            wins += w * (p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0);
        }
    return wins / pairs;
}

static double ece_by_definition(const votes *v, int classes)
{
    double total = 0, W = 0;
    for (int b = 0; b < 15; b++) {
        double gap = 0;
        for (int i = 0; i < ROWS; i++) {
            int top = 0;
            for (int c = 1; c < classes; c++)
                if (v->p[i + c * ROWS] > v->p[i + top * ROWS]) top = c;
            double confidence = v->p[i + top * ROWS];
            if (!(confidence > b / 15.0 && confidence <= (b + 1) / 15.0)) continue;
            gap += v->weight[i] * ((top == v->label[i]) - confidence);
            W += v->weight[i];
        }
        total += fabs(gap);
    }
    return total / W;
}

static void check_classes(int classes)
{
    votes v;
    make_votes(&v, classes);
    class_scores *s = class_scores_new(classes);
    anygp_error e;
    for (int i = 0; i < ROWS; i += 40)
        assert_int_equal(class_scores_add(s, 40, v.label + i, v.p + i, ROWS, v.weight + i, &e), ANYGP_OK);
    score list[CLASS_SCORES];
    int count;
    assert_int_equal(class_scores_list(s, list, &count, &e), ANYGP_OK);
    assert_int_equal(count, CLASS_SCORES);
    double W = 0, correct = 0, logloss = 0, brier = 0, auc = 0, balanced = 0;
    double of_it[8] = {0}, right[8] = {0}, as_it[8] = {0};
    for (int i = 0; i < ROWS; i++) {
        double w = v.weight[i], sum = 0;
        int better = 0;
        for (int c = 0; c < classes; c++) {
            double p = v.p[i + c * ROWS], own = v.p[i + v.label[i] * ROWS];
            better += p > own || (p == own && c < v.label[i]);
            sum += (p - (c == v.label[i])) * (p - (c == v.label[i]));
        }
        W += w, correct += better ? 0 : w, brier += w * sum;
        int top = 0;
        for (int c = 1; c < classes; c++)
            if (v.p[i + c * ROWS] > v.p[i + top * ROWS]) top = c;
        of_it[v.label[i]] += w, as_it[top] += w, right[top] += top == v.label[i] ? w : 0;
        logloss -= w * log(fmax(v.p[i + v.label[i] * ROWS], 1e-15));
    }
    if (classes == 2)
        auc = auc_by_pairs(&v, 1), brier /= 2;
    else
        for (int c = 0; c < classes; c++) auc += auc_by_pairs(&v, c) / classes;
    for (int c = 0; c < classes; c++) {
        balanced += right[c] / of_it[c] / classes;
        check_close(class_scores_of(s, c).recall, right[c] / of_it[c], 1e-13);
        check_close(class_scores_of(s, c).precision, right[c] / as_it[c], 1e-13);
    }
    check_close(named(list, count, "balanced_accuracy"), balanced, 1e-13);
    check_close(named(list, count, "accuracy"), correct / W, 1e-13);
    check_close(named(list, count, "logloss"), logloss / W, 1e-13);
    check_close(named(list, count, "brier"), brier / W, 1e-13);
    check_close(named(list, count, "ece"), ece_by_definition(&v, classes), 1e-13);
    check_close(named(list, count, "auc"), auc, 1e-13);
    check_close(named(list, count, "n"), W, 1e-13);
    class_scores_free(s);
}

static void class_scores_equal_their_definitions(void **state)
{
    (void)state;
    check_classes(2);
    check_classes(3);
}

static void one_class_or_no_row_is_no_trouble(void **state)
{
    (void)state;
    anygp_error e;
    score list[CLASS_SCORES];
    int count;
    class_scores *s = class_scores_new(2);
    assert_int_equal(class_scores_list(s, list, &count, &e), ANYGP_OK);
    assert_true(count == 1 && list[0].value == 0);
    int64_t label[3] = {1, 1, 9};
    double p[6] = {0, 0.25, 1, 1, 0.75, 0};
    class_scores_add(s, 3, label, p, 3, NULL, &e);
    assert_int_equal(class_scores_list(s, list, &count, &e), ANYGP_OK);
    check_close(named(list, count, "auc"), 0.5, 0);
    check_close(named(list, count, "n"), 2, 0);
    check_close(named(list, count, "accuracy"), 1, 0);
    class_scores_free(s);
    class_scores_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regression_scores_equal_their_definitions),
        cmocka_unit_test(weights_are_multiplicities),
        cmocka_unit_test(a_large_offset_costs_no_digits),
        cmocka_unit_test(compensated_sum_keeps_what_plain_addition_loses),
        cmocka_unit_test(no_input_gives_a_score_that_is_not_finite),
        cmocka_unit_test(rows_that_are_absent_do_not_count),
        cmocka_unit_test(unit_changes_scale_scores),
        cmocka_unit_test(class_scores_equal_their_definitions),
        cmocka_unit_test(one_class_or_no_row_is_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
