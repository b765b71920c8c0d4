/* Pictures: ticks are good numbers, texts are escaped and cut, and no two texts of a figure overlap. */
#define _GNU_SOURCE /* strptime, timegm */
#include "support.h"

#include <string.h>
#include <time.h>

#include "draw/draw.h"

/* ---------------------------------------------------------------------------------------- ticks */

/* x is 1, 2 or 5 times a power of ten. */
static bool is_good(double x)
{
    double p = pow(10, floor(log10(x) + 1e-9)), m = x / p;
    return fabs(m - 1) < 1e-6 || fabs(m - 2) < 1e-6 || fabs(m - 5) < 1e-6;
}

static void ticks_are_multiples_of_good_steps(void **state)
{
    static const double ends[][2] = {{0, 1},         {-3, 7},         {0.001, 0.0013}, {1e6, 1.5e6},  {-1e-9, 1e-9},
                                     {12345, 12346}, {-1e300, 1e300}, {0.93, 0.99},    {99.5, 100.5}, {0, 1e-300},
                                     {-7e5, 12},     {0.12, 0.187},   {3.1, 3.9},      {2011, 2019},  {101, 119},
                                     {-0.58, -0.52}, {-3.9, -3.1}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int most = 2; most <= 9; most++) {
            ticks t;
            double low = ends[i][0], high = ends[i][1], room = 1e-6 * (high - low);
            ticks_linear(low, high, most, &t);
            assert_true(t.count >= 2 && t.count <= most);
            for (int k = 0; k < t.count; k++) {
                assert_true(t.at[k] >= low - room && t.at[k] <= high + room);
                if (k > 0) assert_true(is_good(t.at[1] - t.at[0]) || fabs(low) > 1e4 * (high - low));
                for (int l = 0; l < k; l++) assert_string_not_equal(t.label[k], t.label[l]);
                check_close(strtod(t.label[k], NULL) / (high - low), t.at[k] / (high - low), 1e-3);
            }
        }
}

/* Against the C library's calendar: a label, read again, is where its tick is. */
static void ticks_of_dates_are_dates(void **state)
{
    static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%Y-%m", "%Y"};
    static const double ranges[] = {1e-4, 0.003, 0.02, 0.3, 1.7, 9, 40, 200, 700, 4000, 30000, 300000};
    (void)state;
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (double low = -40000.3; low < 60000; low += 7777.7)
            for (int most = 2; most <= 8; most += 3) {
                ticks t;
                ticks_dates(low, low + ranges[r], most, &t);
                assert_true(t.count >= 2 && t.count <= most);
                for (int k = 0; k < t.count; k++) {
                    struct tm when = {.tm_mday = 1};
                    char *end = NULL;
                    for (int f = 0; f < 5 && !(end && !*end); f++) {
                        when = (struct tm){.tm_mday = 1};
                        end = strptime(t.label[k], forms[f], &when);
                    }
                    assert_true(end && !*end);
                    assert_true(t.at[k] >= low - 1e-6 && t.at[k] <= low + ranges[r] + 1e-6);
                    assert_true(fabs((double)timegm(&when) / 86400 - t.at[k]) < 1e-6);
                    if (k) assert_true(t.at[k] > t.at[k - 1]);
                }
            }
    ticks t;
    ticks_dates(19723, 20089, 8, &t); /* the year 2024 */
    assert_string_equal(t.label[0], "2024-01");
    assert_string_equal(t.label[1], "2024-04");
}

static void log_ticks_stay_within_and_differ(void **state)
{
    static const double ends[][2] = {{1, 1000}, {0.5, 3}, {1e-8, 1e8}, {2e-5, 7e-5}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        ticks t;
        ticks_log(ends[i][0], ends[i][1], 6, &t);
        assert_true(t.count >= 2 && t.count <= 6);
        for (int k = 0; k < t.count; k++) {
            assert_true(t.at[k] >= ends[i][0] * 0.999 && t.at[k] <= ends[i][1] * 1.001);
            if (k) assert_true(t.at[k] > t.at[k - 1]);
        }
    }
}

static void numbers_are_plain(void **state)
{
    static const struct {
        double x;
        int digits;
        const char *text;
    } cases[] = {{0.12345, 3, "0.123"},
                 {123456, 3, "123456"},
                 {-2, 4, "-2"},
                 {1.5e9, 3, "1.5e9"},
                 {0, 3, "0"},
                 {3e-7, 3, "3e-7"},
                 {NAN, 3, "\xe2\x80\x93"},
                 {INFINITY, 3, "\xe2\x80\x93"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        number_text(cases[i].x, cases[i].digits, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

/* ---------------------------------------------------------------------------------------- texts */

static void texts_are_escaped_and_cut(void **state)
{
    char *text = NULL, cut[64];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    (void)state;
    text_escaped(f, "<a & \"b\"> 'c'\x01\n");
    fclose(f);
    assert_string_equal(text, "&lt;a &amp; &quot;b&quot;&gt; &#39;c&#39;  ");
    free(text);
    assert_string_equal(text_fitted("short", 12, 200, cut, sizeof cut), "short");
    const char *fitted = text_fitted("a very long name of a column", 12, 80, cut, sizeof cut);
    assert_true(text_width(fitted, 12) <= 80 && strlen(fitted) > 5);
    assert_string_equal(fitted + strlen(fitted) - 3, "\xe2\x80\xa6");
    /* an accent is not cut in two */
    fitted = text_fitted("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 12, 50, cut, sizeof cut);
    assert_int_equal(strlen(fitted) % 2, 1);
}

/* -------------------------------------------------------------------------------------- overlap */

static bool meet(const text_box *a, const text_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static void check_boxes(const canvas *c)
{
    const text_box *list;
    int64_t n = canvas_boxes(c, &list);
    assert_true(n > 2);
    for (int64_t i = 0; i < n; i++) {
        assert_true(list[i].left >= -0.5 && list[i].right <= canvas_width(c) + 0.5);
        assert_true(list[i].top >= -0.5 && list[i].bottom <= canvas_height(c) + 0.5);
        for (int64_t j = 0; j < i; j++) assert_false(meet(&list[i], &list[j]));
    }
}

static void panels_keep_their_texts_apart(void **state)
{
    static const char *const names[] = {"short", "a name that is much too long for the margin of any picture", "x"};
    static const legend_entry legend[] = {{MARK_DOT, COLOUR_BLUE, "observed values of the target"},
                                          {MARK_LINE, COLOUR_RED, "a line with a long description"},
                                          {MARK_BAND, COLOUR_GREEN, "band"}};
    static const double ends[][2] = {{0, 1}, {-123456.5, 9876543.25}, {1e-9, 3e-9}, {-1e305, 1e305}, {5, 5}};
    static const double sizes[][2] = {{420, 300}, {260, 200}, {700, 150}};
    figures *f = figures_new();
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int s = 0; s < 3; s++) {
            axis x = axis_over("a label of the axis that is rather long, with its unit [kg m / s]", 2, ends[i]);
            axis y = axis_over("upward label of some length [mm]", 2, ends[4 - i]);
            axis scale = axis_over(NULL, 2, ends[i]);
            if (s == 1) y.names = 3, y.name = names;
            panel_begin(figures_add(f, sizes[s][0], sizes[s][1],
                                    "A title that tells at length what this figure is about, <really>"),
                        x, y, s == 2 ? 0 : 3, legend, s == 0 ? &scale : NULL);
        }
    for (int64_t i = 0; i < figures_count(f); i++) check_boxes(figures_at(f, i));
    assert_false(figures_failed(f));
    figures_free(f);
}

/* Names of crowded points meet neither each other nor a point, and those without room are counted. */
static void names_keep_away_from_texts_and_points(void **state)
{
    enum { POINTS = 40 };
    double x[POINTS], y[POINTS];
    const char *name[POINTS];
    const text_box *list;
    figures *f = figures_new();
    (void)state;
    for (int i = 0; i < POINTS; i++)
        x[i] = sin(3.0 * i), y[i] = i % 4 ? cos(5.0 * i) : 0.01 * i, name[i] = i % 9 == 8 ? NULL : "a name";
    x[5] = NAN;
    canvas *c = figures_add(f, 420, 300, "Names");
    panel p = panel_begin(c, axis_over("x", POINTS, x), axis_over("y", POINTS, y), 0, NULL, NULL);
    int64_t before = canvas_boxes(c, &list), out = panel_names(&p, POINTS, x, y, name);
    int64_t after = canvas_boxes(c, &list);
    check_boxes(c);
    assert_int_equal(after - before + out, POINTS - POINTS / 9 - 1);
    assert_true(out > 0 && after - before > POINTS / 4);
    for (int64_t k = before; k < after; k++)
        for (int i = 0; i < POINTS; i++)
            if (isfinite(x[i]))
                assert_false(panel_x(&p, x[i]) > list[k].left && panel_x(&p, x[i]) < list[k].right &&
                             panel_y(&p, y[i]) > list[k].top && panel_y(&p, y[i]) < list[k].bottom);
    figures_free(f);
}

/* What is not finite is not drawn. */
static void nothing_is_drawn_at_nan(void **state)
{
    const double x[] = {0, NAN, 2, INFINITY}, y[] = {0, 1, NAN, 3};
    char *text = NULL;
    size_t size = 0;
    figures *f = figures_new();
    (void)state;
    panel p = panel_begin(figures_add(f, 420, 300, "t"), axis_over("x", 4, x), axis_over("y", 4, y), 0, NULL, NULL);
    panel_dots(&p, COLOUR_BLUE, 2, 4, x, y);
    panel_line(&p, COLOUR_BLUE, false, 4, x, y);
    panel_band(&p, COLOUR_BLUE, 4, x, y, y);
    panel_spans(&p, COLOUR_BLUE, 4, x, y, y);
    panel_bar(&p, COLOUR_BLUE, NAN, 1, 0, 1);
    panel_heat(&p, 2, 2, y, &(axis){.low = 0, .high = 1});
    FILE *to = open_memstream(&text, &size);
    figures_write(to, f, true);
    fclose(to);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_non_null(strstr(text, "</svg>"));
    free(text);
    figures_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_multiples_of_good_steps),
        cmocka_unit_test(ticks_of_dates_are_dates),
        cmocka_unit_test(log_ticks_stay_within_and_differ),
        cmocka_unit_test(numbers_are_plain),
        cmocka_unit_test(texts_are_escaped_and_cut),
        cmocka_unit_test(panels_keep_their_texts_apart),
        cmocka_unit_test(names_keep_away_from_texts_and_points),
        cmocka_unit_test(nothing_is_drawn_at_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
