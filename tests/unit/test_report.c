/* Reports: the numbers in pictures against another computation, and texts that never overlap whatever the columns are called. */
#include "support.h"

#include <string.h>
#include <unistd.h>

#include "base/special.h"
#include "report/report_classes.h"
#include "report/picture.h"
#include "report/report.h"
#include "report/rootogram.h"

enum { N = 120 };

/* A table in a file, and a model of it. */
typedef struct stage {
    char path[64];
    anygp_settings *s;
    anygp_model *m;
    scene *c;
} stage;

static const char *const colours[] = {"<red>", "green & blue",
                                      "a category with a name that is far too long for a margin"};

/* y: a number, a count or a class of two numbers and a text with hostile names. */
static void write_table(stage *t, const char *kind)
{
    double x[3 * N];
    snprintf(t->path, sizeof t->path, "/tmp/test_report_XXXXXX");
    FILE *f = fdopen(mkstemp(t->path), "w");
    fill_normal(7, 3 * N, x);
    fprintf(f, "\"a <b> & \"\"c\"\"\",\"speed of the wind at the top of the tower above the ground [m/s]\",colour,y\n");
    for (int i = 0; i < N; i++) {
        double g = sin(2 * x[3 * i]) + 0.5 * x[3 * i + 1] + (i % 3 == 0), y = g + 0.3 * x[3 * i + 2];
        fprintf(f, "%.17g,%.17g,\"%s\",", x[3 * i], x[3 * i + 1], colours[i % 3]);
        if (!strcmp(kind, "number"))
            fprintf(f, "%.17g\n", y);
        else if (!strcmp(kind, "count"))
            fprintf(f, "%d\n", (int)fmax(0, floor(2 * exp(0.6 * y))));
        else
            fprintf(f, "%s\n", y > 1 ? "high" : y > 0 ? "low" : "none at all");
    }
    fclose(f);
}

static void must(anygp_status status, const anygp_error *e)
{
    if (ANYGP_FAILED(status)) fail_msg("%s", e->text);
}

static void open_stage(stage *t, const char *kind, const char *family)
{
    anygp_error e;
    anygp_data *d;
    write_table(t, kind);
    t->s = anygp_settings_new();
    must(anygp_set(t->s, "likelihood", family, &e), &e);
    must(anygp_set(t->s, "threads", "1", &e), &e);
    must(anygp_set(t->s, "iters", "12", &e), &e);
    if (strcmp(kind, "number")) must(anygp_set(t->s, "inducing", "12", &e), &e);
    must(anygp_set(t->s, "valid", "none", &e), &e);
    must(anygp_data_read(t->path, t->s, &d, &e), &e);
    must(anygp_fit(t->s, d, &t->m, &e), &e);
    anygp_data_free(d);
    must(scene_open(t->m, 0, t->s, t->path, 0, false, &t->c, &e), &e);
}

static void close_stage(stage *t)
{
    scene_close(t->c);
    anygp_model_free(t->m);
    anygp_settings_free(t->s);
    unlink(t->path);
}

/* ---------------------------------------------------------------------------------------- boxes */

static bool meet(const text_box *a, const text_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static void check_figure(const char *name, const canvas *c)
{
    const text_box *list;
    int64_t n = canvas_boxes(c, &list);
    assert_true(n > 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (meet(&list[i], &list[j])) fail_msg("%s: '%s': two texts overlap", name, canvas_title(c));
}

/* Every picture that applies; how many. */
static int draw_all(scene *c)
{
    int drawn = 0;
    for (int64_t i = 0; i < picture_count(); i++) {
        const picture *p = picture_at(i);
        anygp_error e;
        if (!p->applies(c)) continue;
        figures *f = figures_new();
        must(p->draw(c, f, &e), &e);
        assert_true(figures_count(f) > 0);
        for (int64_t k = 0; k < figures_count(f); k++) check_figure(p->name, figures_at(f, k));
        assert_false(figures_failed(f));
        figures_free(f);
        drawn++;
    }
    return drawn;
}

/* -------------------------------------------------------------------------------------- numbers */

static void pictures_of_numbers_show_what_is_predicted(void **state)
{
    stage t;
    double share[10], mean[N], variance[N], X[3 * N], bins[10] = {0}, inside = 0, square = 0;
    anygp_error e;
    standing s;
    (void)state;
    open_stage(&t, "number", "gaussian");
    scene *c = t.c;
    assert_int_equal(c->n, N);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < 3; j++) X[3 * i + j] = scene_value(c, j, c->X[3 * i + j]);
    must(anygp_predict(t.m, N, X, 3, 0, mean, variance, &e), &e);
    for (int64_t i = 0; i < N; i++) {
        double z = (c->y[i] - mean[i]) / sqrt(variance[i]), p = normal_cdf(z);
        check_close(c->mean[i], mean[i], 1e-9);
        check_close(c->high[i], mean[i] + normal_quantile(0.975) * sqrt(variance[i]), 1e-9);
        bins[(int)fmin(10 * p, 9)] += 1.0 / N;
        inside += fabs(z) <= normal_quantile(0.95);
        square += (c->y[i] - mean[i]) * (c->y[i] - mean[i]);
    }
    check_close(calibration_covered(c, 0.9), inside / N, 1e-12);
    pit_shares(c, 10, share);
    for (int b = 0; b < 10; b++) check_close(share[b], bins[b], 1e-9);
    must(standing_make(c, &s, &e), &e);
    check_close(standing_value(&s, "rmse", STANDING_MODEL), sqrt(square / N), 1e-9);
    assert_true(standing_value(&s, "rmse", STANDING_LINEAR) < standing_value(&s, "rmse", STANDING_MEAN));
    assert_true(draw_all(c) >= 7);
    close_stage(&t);
}

/* The most surprising row is the one with the largest residual in its own standard deviations. */
static void surprises_are_in_order(void **state)
{
    stage t;
    surprise list[SURPRISES];
    int64_t count;
    double largest = 0;
    anygp_error e;
    (void)state;
    open_stage(&t, "number", "gaussian");
    must(surprises_find(t.c, list, &count, &e), &e);
    assert_int_equal(count, SURPRISES);
    for (int64_t i = 0; i < N; i++) largest = fmax(largest, fabs(t.c->y[i] - t.c->mean[i]) / sqrt(t.c->variance[i]));
    check_close(-list[0].less, largest, 1e-12);
    for (int64_t i = 1; i < count; i++) assert_true(list[i].less >= list[i - 1].less);
    close_stage(&t);
}

/* Cross-validated linear regression against least squares by hand on a line without noise. */
static void linear_model_finds_a_line(void **state)
{
    stage t;
    double mean[N], variance[N];
    bool done;
    anygp_error e;
    (void)state;
    open_stage(&t, "number", "gaussian");
    for (int64_t i = 0; i < N; i++) t.c->y[i] = 3 - 2 * t.c->X[3 * i] + 5 * (t.c->X[3 * i + 2] == 1);
    must(linear_number_folds(t.c, mean, variance, &done, &e), &e);
    assert_true(done);
    for (int64_t i = 0; i < N; i++) check_close(mean[i], t.c->y[i], 1e-5);
    close_stage(&t);
}

/* --------------------------------------------------------------------------------------- counts */

static void rootogram_adds_up(void **state)
{
    stage t;
    rootogram r;
    double observed = 0, expected = 0, zeros = 0, p[N];
    int64_t rows[N];
    anygp_error e;
    (void)state;
    open_stage(&t, "count", "poisson");
    must(rootogram_make(t.c, &r, &e), &e);
    for (int64_t b = 0; b < r.bins; b++) observed += r.observed[b], expected += r.expected[b];
    check_close(observed, N, 1e-12);
    assert_true(expected > 0.9 * N && expected <= N + 1e-6);
    /* P(y = 0) of each row */
    for (int64_t i = 0; i < N; i++) rows[i] = i;
    must(scene_ask_counts(t.c, N, rows, 0, p, &e), &e);
    for (int64_t i = 0; i < N; i++) zeros += p[i];
    if (r.width == 1) check_close(r.expected[0], zeros, 1e-9);
    for (int64_t i = 0; i < N; i++) assert_true(t.c->below[i] < t.c->up_to[i] || t.c->up_to[i] > 0.999999);
    assert_true(draw_all(t.c) >= 7);
    close_stage(&t);
}

/* -------------------------------------------------------------------------------------- classes */

static void pictures_of_classes_count_rows(void **state)
{
    stage t;
    double *N2 = NULL, *wrong, *right, auc, pairs = 0, won = 0, all = 0, right_rows = 0;
    int64_t points;
    reliability_bin bin[RELIABILITY_BINS];
    standing s;
    anygp_error e;
    (void)state;
    open_stage(&t, "class", "softmax");
    scene *c = t.c;
    must(classes_confusion(c, &N2, &e), &e);
    must(standing_make(c, &s, &e), &e);
    for (int k = 0; k < 9; k++) all += N2[k], right_rows += k % 4 == 0 ? N2[k] : 0;
    check_close(all, N, 1e-12);
    check_close(right_rows / N, standing_value(&s, "accuracy", STANDING_MODEL), 1e-12);
    must(classes_roc(c, 0, &wrong, &right, &points, &auc, &e), &e);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            if (c->y[i] != 0 || c->y[j] == 0) continue;
            pairs++, won += c->P[i] > c->P[j] ? 1 : c->P[i] == c->P[j] ? 0.5 : 0;
        }
    check_close(auc, won / pairs, 1e-12);
    check_close(wrong[points - 1], 1, 1e-12);
    check_close(right[points - 1], 1, 1e-12);
    classes_reliability(c, bin);
    double rows = 0, hits = 0;
    for (int b = 0; b < RELIABILITY_BINS; b++) rows += bin[b].rows, hits += bin[b].rows * bin[b].accuracy;
    check_close(rows, N, 1e-12);
    check_close(hits, right_rows, 1e-9);
    assert_true(draw_all(c) >= 5);
    free(N2);
    free(wrong);
    free(right);
    close_stage(&t);
}

/* ------------------------------------------------------------------------------------- warnings */

static void check_said(const scene *c, const standing *s, const char *word, bool said)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    warnings_write(c, s, f);
    fclose(f);
    if ((strstr(text, word) != NULL) != said) fail_msg("'%s' is %s: %s", word, said ? "not said" : "said", text);
    free(text);
}

/* Each is said where it is so, and only there. */
static void warnings_name_what_is_wrong(void **state)
{
    static const char *const words[] = {"they are too narrow", "has drifted", "far outside the training inputs",
                                        "standard deviations above the predictions", "at least as well"};
    stage t;
    standing s;
    anygp_error e;
    (void)state;
    open_stage(&t, "number", "gaussian");
    scene *c = t.c;
    must(standing_make(c, &s, &e), &e);
    for (int i = 0; i < 5; i++) check_said(c, &s, words[i], false);
    for (int64_t i = 0; i < N; i++) {
        if (i % 4 == 0) c->unexplained[i] = 0.99;
        c->X[3 * i] += i % 12 ? 1.5 : 40;
        if (i % 4) c->mean[i] -= 3;
    }
    c->fitted = false; /* as they were */
    must(standing_make(c, &s, &e), &e);
    for (int i = 0; i < 5; i++) check_said(c, &s, words[i], true);
    double inside = 0, z = 0;
    char covered[64], above[64];
    for (int64_t i = 0; i < N; i++) {
        double off = (c->y[i] - c->mean[i]) / sqrt(c->variance[i]);
        inside += fabs(off) < 1.959964, z += off / N;
    }
    snprintf(covered, sizeof covered, "95 %% intervals cover %.1f %% of the targets", 100 * inside / N);
    snprintf(above, sizeof above, "targets are %.2g predicted standard deviations above", z);
    check_said(c, &s, covered, true);
    check_said(c, &s, above, true);
    double far = 0, mean = 0;
    for (int64_t i = 0; i < N; i++) far += fabs(c->X[3 * i]) > 4 || fabs(c->X[3 * i + 1]) > 4, mean += c->X[3 * i] / N;
    char outside[64], moved[64];
    snprintf(outside, sizeof outside, "%.2g %% of the rows are far outside", 100 * far / N);
    snprintf(moved, sizeof moved, "its mean is %.2g training standard deviations higher", mean);
    check_said(c, &s, outside, true);
    check_said(c, &s, moved, true);
    check_said(c, &s, "no more than its prior at 25 % of the rows", true);
    close_stage(&t);
}

/* ------------------------------------------------------------------------------------ interface */

/* Bad requests get a sentence; a page and a picture are written whole. */
static void interface_writes_files_or_sentences(void **state)
{
    stage t;
    anygp_error e;
    char *text, page[80];
    (void)state;
    open_stage(&t, "number", "gaussian");
    snprintf(page, sizeof page, "%s.html", t.path);
    must(anygp_report(t.m, NULL, t.path, page, &e), &e);
    assert_int_equal(unlink(page), 0);
    must(anygp_report(t.m, NULL, NULL, page, &e), &e); /* without rows */
    assert_int_equal(unlink(page), 0);
    must(anygp_plot_list(t.m, NULL, NULL, &text, &e), &e);
    assert_null(strstr(text, "observed"));
    assert_non_null(strstr(text, "effects"));
    anygp_text_free(text);
    assert_int_equal(anygp_plot(t.m, NULL, t.path, "portrait", page, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "calibration"));
    assert_int_equal(anygp_plot(t.m, NULL, t.path, "pit", page, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, ".svg"));
    assert_int_equal(anygp_plot(t.m, NULL, NULL, "pit", "x.svg", &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_plot(t.m, NULL, t.path, "roc", "x.svg", &e), ANYGP_ERR_ARGUMENT);
    must(anygp_set(t.s, "map", "colour,y", &e), &e);
    assert_int_equal(anygp_report(t.m, t.s, t.path, page, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(access(page, F_OK), -1);
    close_stage(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_of_numbers_show_what_is_predicted),
        cmocka_unit_test(surprises_are_in_order),
        cmocka_unit_test(linear_model_finds_a_line),
        cmocka_unit_test(rootogram_adds_up),
        cmocka_unit_test(pictures_of_classes_count_rows),
        cmocka_unit_test(interface_writes_files_or_sentences),
        cmocka_unit_test(warnings_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
