/* Plans, comparisons and checks through the public interface; and what their accounts are made of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit_support.h"
#include "gp/check.h"
#include "gp/plans.h"

enum { ROWS = 60 };

static anygp_data *waves(bool counts)
{
    double X[ROWS], y[ROWS];
    anygp_data *data;
    anygp_error e;
    for (int i = 0; i < ROWS; i++) {
        X[i] = 0.1 * i + 0.03 * (i % 7);
        y[i] = sin(X[i]) + 0.05 * ((i * 37) % 11 - 5);
        if (counts) y[i] = floor(3 + 2 * y[i]);
    }
    if (anygp_data_new(ROWS, 1, X, 1, y, NULL, &data, &e)) fail_msg("%s", e.text);
    return data;
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    while ((text = strstr(text, what))) n++, text += strlen(what);
    return n;
}

static auto_facts facts(double rows)
{
    return (auto_facts){.rows = rows,
                        .distinct = rows,
                        .inputs = 3,
                        .targets = 1,
                        .latents = 1,
                        .params = 5,
                        .gaussian = true,
                        .in_memory = true,
                        .batch = 1024,
                        .threads = 2,
                        .seconds = 300,
                        .bytes = 8e9,
                        .products = 1e11,
                        .entries = 1e9};
}

static void costs_of_every_model_are_known_and_grow_with_the_rows(void **state)
{
    (void)state;
    for (int64_t i = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        double seconds = 0, first = 0, last = 0;
        for (double rows = 1000; rows < 1e7; rows *= 4) {
            auto_facts f = facts(rows);
            auto_plan p;
            auto_account(&f, m, m->subset > 0 ? 100 : 0, 200, &p);
            if (!(p.seconds >= seconds && isfinite(p.seconds) && isfinite(p.bytes)))
                fail_msg("%s with %g rows: %g s, before %g", m->name, rows, p.seconds, seconds);
            seconds = p.seconds;
            if (rows == 1000) first = p.bytes;
            last = p.bytes; /* in between a further bound for few rows may take more */
        }
        assert_true(last > first);
    }
}

static void lists_every_model_once(bool counts)
{
    const char *pairs[] = {"likelihood", counts ? "poisson" : "gaussian", "memory", "60M", NULL};
    anygp_settings *s = settings_with(pairs);
    anygp_data *data = waves(counts);
    anygp_error e;
    char *text, name[96];
    if (anygp_plan(s, data, 1, &text, &e)) fail_msg("%s", e.text);
    for (int64_t i = 0; i < model_count(); i++) {
        snprintf(name, sizeof name, "\"model\": \"%s\"", model_at(i)->name);
        if (occurrences(text, name) != 1) fail_msg("%s in %s", name, text);
    }
    /* Those that are not possible have a reason. */
    assert_int_equal(occurrences(text, "\"possible\": false"), occurrences(text, "\"reason\": \"") - 1);
    assert_int_equal(occurrences(text, "gaussian targets only") > 10, counts);
    assert_int_equal(occurrences(text, "\"chosen\": true"), 1);
    anygp_text_free(text);
    anygp_data_free(data);
    anygp_settings_free(s);
}

static void plan_has_every_model_once_with_a_cost_or_a_reason(void **state)
{
    (void)state;
    lists_every_model_once(false);
    lists_every_model_once(true);
}

/* The setting report writes a page, with every model in the table and in the picture. */
static void check_page(const char *path)
{
    static char text[200000];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
    unlink(path);
    assert_non_null(strstr(text, "Comparison of models"));
    assert_int_equal(occurrences(text, "aria-label=\"Score against time\""), 1);
    assert_int_equal(occurrences(text, ">sod<"), 2);
    assert_int_equal(occurrences(text, "</html>"), 1);
}

static void comparison_has_the_mean_and_a_linear_model_and_keeps_the_best(void **state)
{
    (void)state;
    char page[] = "/tmp/test_plan_XXXXXX";
    close(mkstemp(page));
    const char *pairs[] = {"models", "exact,sod", "iters", "8", "threads", "1", "report", page, NULL};
    anygp_settings *s = settings_with(pairs);
    anygp_data *data = waves(false);
    anygp_model *best;
    anygp_error e;
    char *text;
    if (anygp_compare(s, data, 1, &text, &best, &e)) fail_msg("%s", e.text);
    assert_int_equal(occurrences(text, "\"name\": "), 4);
    assert_int_equal(occurrences(text, "\"name\": \"mean\""), 1);
    assert_int_equal(occurrences(text, "\"name\": \"linear\""), 1);
    assert_non_null(strstr(text, "\"best\": \"exact\""));
    double x[1] = {1}, mean[1], variance[1];
    predict(best, 1, x, mean, variance);
    assert_true(fabs(mean[0] - sin(1)) < 0.2);
    anygp_text_free(text);
    check_page(page);
    anygp_model_free(best);
    anygp_data_free(data);
    anygp_settings_free(s);
}

/* A target with these numbers of 400 rows. */
static anygp_verdict verdict_on(check_target t, char *first)
{
    static gp g; /* its schema says: a number */
    likelihood like;
    anygp_error e;
    if (likelihood_parse("gaussian", &like, &e)) fail_msg("%s", e.text);
    g.likelihood = &like;
    t.g = &g, t.n = 400;
    gp_check c = {.rows = 400, .targets = 1, .target = &t, .labelled = true};
    check_judge(&c);
    strcpy(first, c.findings ? c.finding[0].text : "");
    return c.verdict;
}

static void verdicts_follow_from_the_numbers(void **state)
{
    (void)state;
    const check_target right = {
        .z_mean = 0.02, .z_square = 1.05, .coverage = {0.5, 0.8, 0.9, 0.95}, .density = 1, .density_at_fit = 1};
    char first[200];
    check_target t = right;
    assert_int_equal(verdict_on(t, first), ANYGP_FINE);
    t.z_mean = 0.3, t.z_square = 1.1; /* more than three standard errors, but not much */
    assert_int_equal(verdict_on(t, first), ANYGP_WATCH);
    assert_non_null(strstr(first, "above the predictions"));
    t.z_mean = -2, t.z_square = 5;
    assert_int_equal(verdict_on(t, first), ANYGP_REFIT);
    assert_non_null(strstr(first, "below the predictions"));
    t = right, t.z_square = 4;
    assert_int_equal(verdict_on(t, first), ANYGP_REFIT);
    assert_non_null(strstr(first, "over-confident"));
    t = right, t.z_square = 0.2;
    assert_int_equal(verdict_on(t, first), ANYGP_WATCH);
    assert_non_null(strstr(first, "under-confident"));
    t = right, t.coverage[3] = 0.87;
    assert_int_equal(verdict_on(t, first), ANYGP_WATCH);
    assert_non_null(strstr(first, "95 % intervals cover 87.0 %"));
    t = right, t.density = 1.6;
    assert_int_equal(verdict_on(t, first), ANYGP_WATCH);
    t.density = 2.1, t.drifted = true;
    assert_int_equal(verdict_on(t, first), ANYGP_REFIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_of_every_model_are_known_and_grow_with_the_rows),
                                       cmocka_unit_test(plan_has_every_model_once_with_a_cost_or_a_reason),
                                       cmocka_unit_test(comparison_has_the_mean_and_a_linear_model_and_keeps_the_best),
                                       cmocka_unit_test(verdicts_follow_from_the_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
