/* Lines of progress: none is wider than the terminal, what matters most stays longest, and plain lines come ever more seldom. */
#include <string.h>

#include "progress_line.h"
#include "support.h"

static anygp_progress busy(void)
{
    return (anygp_progress){.stage = "learning",
                            .iteration = 90,
                            .iterations = 200,
                            .restart = 1,
                            .restarts = 2,
                            .objective = -12345.678,
                            .seconds = 30,
                            .time_limit = NAN,
                            .rmse = 0.12345,
                            .mnlp = 0.5};
}

static void a_line_fits_every_width(void **state)
{
    (void)state;
    char text[512];
    anygp_progress p = busy();
    size_t before = 0;
    for (int columns = PROGRESS_NARROW; columns <= 300; columns++) {
        progress_text(&p, columns, text, sizeof text);
        assert_true(strlen(text) < (size_t)columns);
        assert_non_null(strstr(text, "learning 90/200"));
        before = strlen(text) > before ? strlen(text) : before;
    }
    assert_true(before > 100); /* and room is used */
}

static void a_wide_line_has_bar_time_left_objective_and_score(void **state)
{
    (void)state;
    char text[512];
    anygp_progress p = busy();
    progress_text(&p, 160, text, sizeof text);
    assert_string_equal(text,
                        "[=============>                ]  45 %  learning 90/200  run 2 of 3  objective -12345.7  "
                        "rmse 0.1235  30 s  at most 37 s left");
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    char text[512];
    anygp_progress p = {
        .stage = "starting point", .objective = NAN, .seconds = 0.4, .time_limit = NAN, .rmse = NAN, .mnlp = NAN};
    progress_text(&p, 100, text, sizeof text);
    assert_string_equal(text, "starting point 0  0 s");
    p.mnlp = 1.5, p.time_limit = 7200, p.seconds = 3600;
    progress_sentence(&p, text, sizeof text);
    assert_string_equal(text, "starting point 0, mnlp 1.5, 60 min, at most 60 min left");
    progress_text(&p, 100, text, sizeof text);
    assert_non_null(strstr(text, " 50 %  starting point"));
}

static void plain_lines_come_ever_more_seldom(void **state)
{
    (void)state;
    double next = 0, last = 0;
    int lines = 0;
    assert_false(progress_due(29, &next));
    for (double t = 0; t < 86400; t++)
        if (progress_due(t, &next)) {
            assert_true(t - last >= 30);
            last = t, lines++;
        }
    assert_in_range(lines, 30, 100); /* of a day */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_fits_every_width),
        cmocka_unit_test(a_wide_line_has_bar_time_left_objective_and_score),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(plain_lines_come_ever_more_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
