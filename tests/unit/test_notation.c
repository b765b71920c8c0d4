/* Dates, percentages, amounts, yes and no; texts that are better read otherwise; values far from all others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/table/oddities.h"
#include "data/table/recognise.h"
#include "data/text/notation.h"
#include "support.h"

static double read_as(cell_notation n, const char *text)
{
    double x = NAN;
    return notation_read(n, NULL, text, text + strlen(text), &x) ? x : NAN;
}

static void check(cell_notation n, const char *text, double expected)
{
    double x = read_as(n, text);
    if (!(fabs(x - expected) <= 1e-9 * (1 + fabs(expected)))) fail_msg("'%s' is %.15g, not %.15g", text, x, expected);
}

static void check_not(cell_notation n, const char *text)
{
    double x = read_as(n, text);
    if (!isnan(x)) fail_msg("'%s' is %.15g", text, x);
}

/* By the C library's calendar, which knows nothing of ours. */
static void dates_are_days_since_1970(void **state)
{
    (void)state;
    for (long day = -200000; day < 400000; day += 97) {
        time_t t = (time_t)day * 86400;
        struct tm c;
        char text[40], back[40];
        gmtime_r(&t, &c);
        snprintf(text, sizeof text, "%04d-%02d-%02d", c.tm_year + 1900, c.tm_mon + 1, c.tm_mday);
        check(NOTATION_DATE, text, (double)day);
        back[notation_date_text((double)day, back)] = 0;
        assert_string_equal(back, text);
    }
}

static void times_and_zones_are_fractions_of_days(void **state)
{
    (void)state;
    double day = read_as(NOTATION_DATE, "2024-03-01"), noon = day + 0.5;
    const char *const noons[] = {"2024-03-01 12:00",      "2024-03-01T12:00:00Z",    "2024-03-01T13:00+01:00",
                                 "2024-03-01 06:30-0530", "2024/03/01 12:00:00.000", " 2024-03-01T14:00:00+02 ",
                                 "2024-3-1 12:00"};
    for (size_t i = 0; i < sizeof noons / sizeof *noons; i++) check(NOTATION_DATE, noons[i], noon);
    check(NOTATION_DATE, "2024-03-01 00:00:01.5", day + 1.5 / 86400);
    check(NOTATION_DATE, "2024-02-29", day - 1);
    check(NOTATION_DATE_DMY, "1/3/2024 12:00", noon);
    check(NOTATION_DATE_DMY, "01.03.2024", day);
    check(NOTATION_DATE_MDY, "03/01/2024", day);
}

static void what_is_no_date_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {"",
                                 "2024",
                                 "20240301",
                                 "2023-02-29",
                                 "2024-13-01",
                                 "2024-00-10",
                                 "2024-03-01x",
                                 "2024-03-01 25:00",
                                 "2024-03-01 1",
                                 "24-03-01",
                                 "2024-03/01",
                                 "2024-03-01T12:00+99",
                                 "2024-03-01T",
                                 "2024.03.01",
                                 "-2024-03-01"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_not(NOTATION_DATE, wrong[i]);
    check_not(NOTATION_DATE_DMY, "13/13/2024");
    check_not(NOTATION_DATE_DMY, "03/25/2024");
    check_not(NOTATION_DATE_MDY, "25/03/2024");
    check_not(NOTATION_DATE_MDY, "03.01.2024"); /* with points the day is always first */
}

static void named_months_are_read_in_any_order(void **state)
{
    (void)state;
    const char *const elevenths[] = {"11 Feb 2023",      "11-Feb-2023",       "Feb 11, 2023",
                                     "FEBRUARY 11 2023", "11 february, 2023", "Feb. 11, 2023"};
    for (size_t i = 0; i < sizeof elevenths / sizeof *elevenths; i++)
        check(NOTATION_DATE, elevenths[i], read_as(NOTATION_DATE, "2023-02-11"));
    check(NOTATION_DATE, "Sept 3, 2023 2:30 PM", read_as(NOTATION_DATE, "2023-09-03 14:30"));
    const char *const wrong[] = {"11 Fe 2023", "30 Feb 2023", "11 Feb 23",    "11Feb2023",
                                 "Feb 2023",   "11 Feb",      "Febr 11, 2023"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_not(NOTATION_DATE, wrong[i]);
    check(NOTATION_DATE_DMY, "2023-02-11",
          read_as(NOTATION_DATE, "2023-02-11")); /* these can be read in one way only */
    check(NOTATION_DATE_MDY, "11 Feb 2023", read_as(NOTATION_DATE, "2023-02-11"));
}

static void months_are_their_first_days(void **state)
{
    (void)state;
    check(NOTATION_MONTH, "2023-04", read_as(NOTATION_DATE, "2023-04-01"));
    check(NOTATION_MONTH, "Apr 2023", read_as(NOTATION_DATE, "2023-04-01"));
    const char *const wrong[] = {"2023-13", "2023-4", "2023", "2023/04"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_not(NOTATION_MONTH, wrong[i]);
}

static void times_of_day_are_hours(void **state)
{
    (void)state;
    check(NOTATION_TIME, "14:30", 14.5);
    check(NOTATION_TIME, "0:00:36", 0.01);
    check(NOTATION_TIME, "14:30:05.4", 14 + (30 + 5.4 / 60) / 60);
    check(NOTATION_TIME, "2:30 PM", 14.5);
    check(NOTATION_TIME, "12:15am", 0.25);
    check(NOTATION_TIME, "24:00", 24);
    const char *const wrong[] = {"14", "24:01", "14:60", "1:2", "14:30+01:00", "14:30Z", "13:00 pm", "75:10", "14.30"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_not(NOTATION_TIME, wrong[i]);
}

static void amounts_lose_their_signs_and_separators(void **state)
{
    (void)state;
    check(NOTATION_GROUPED, "1,234,567.5", 1234567.5);
    check(NOTATION_GROUPED, "-950", -950);
    check(NOTATION_GROUPED, "1,234e2", 123400);
    check(NOTATION_GROUPED, "91'584.79", 91584.79);
    check(NOTATION_GROUPED, "1 091 584", 1091584);
    check(NOTATION_GROUPED,
          "1\xc2\xa0"
          "234.5\xc2\xa0",
          1234.5); /* no-break spaces, and narrow ones, and one of Latin-1 */
    check(NOTATION_GROUPED,
          "1\xe2\x80\xaf"
          "234",
          1234);
    check(NOTATION_GROUPED,
          "1\xa0"
          "234",
          1234);
    check(NOTATION_GROUPED,
          "1\xe2\x80\x99"
          "234",
          1234);
    check(NOTATION_GROUPED, "(1,123.4)", -1123.4);
    check(NOTATION_COMMA, "91 584,79", 91584.79);
    check(NOTATION_COMMA, "1 234", 1234);
    check(NOTATION_MONEY, "($5.50)", -5.5);
    check(NOTATION_MONEY_COMMA,
          "1\xc2\xa0"
          "234,50\xc2\xa0\xe2\x82\xac",
          1234.5);
    check(NOTATION_PERCENT, "(2%)", -2);
    check(NOTATION_PERCENT, "10%", 10);
    check(NOTATION_PERCENT, "1,234.5 %", 1234.5);
    check(NOTATION_MONEY, "$5", 5);
    check(NOTATION_MONEY, "-$1,234.50", -1234.5);
    check(NOTATION_MONEY, "$-5", -5);
    check(NOTATION_MONEY, "\xe2\x82\xac 5", 5);
    check(NOTATION_MONEY, "5 \xe2\x82\xac", 5);
    check(NOTATION_COMMA, "1,5", 1.5);
    check(NOTATION_COMMA, "-1.234.567,25", -1234567.25);
    check(NOTATION_MONEY_COMMA, "1.234,50 \xe2\x82\xac", 1234.5);
    check(NOTATION_PERCENT_COMMA, "12,5%", 12.5);
    check(NOTATION_YES_NO, "TRUE", 1);
    check(NOTATION_YES_NO, "No", 0);
}

static void amounts_that_may_be_meant_otherwise_are_refused(void **state)
{
    (void)state;
    check_not(NOTATION_GROUPED, "1,5");
    check_not(NOTATION_GROUPED, "1,2345");
    check_not(NOTATION_GROUPED, "1234,567");
    check_not(NOTATION_GROUPED, "1.5,000");
    check_not(NOTATION_GROUPED, ",123");
    check_not(NOTATION_GROUPED, "1,234,");
    check_not(NOTATION_GROUPED, "12 34");
    check_not(NOTATION_GROUPED, "1 234'567"); /* two signs */
    check_not(NOTATION_GROUPED, "1 234,567");
    check_not(NOTATION_GROUPED, "(-5)");
    check_not(NOTATION_GROUPED, "(5");
    check_not(NOTATION_GROUPED, "()");
    check_not(NOTATION_COMMA, "1.234"); /* 1234 or 1.234 */
    check_not(NOTATION_COMMA, "1.5");
    check_not(NOTATION_COMMA, "1,2,3");
    check_not(NOTATION_MONEY, "$");
    check_not(NOTATION_MONEY, "$5$");
    check_not(NOTATION_PERCENT, "%");
    check_not(NOTATION_PERCENT, "--5%");
    check_not(NOTATION_YES_NO, "maybe");
}

static double read_with(const char *unit, const char *text)
{
    double x = NAN;
    return notation_read(NOTATION_UNIT, unit, text, text + strlen(text), &x) ? x : NAN;
}

static void a_number_has_the_unit_of_its_column_or_none(void **state)
{
    (void)state;
    char unit[UNIT_ROOM];
    const char *const texts[][2] = {{"12.5 kg", "kg"},
                                    {"12.5kg", "kg"},
                                    {"3 bedrooms", "bedrooms"},
                                    {"7 km/h", "km/h"},
                                    {"7W/m^2", "W/m^2"},
                                    {"(7 m\xc2\xb2)", "m\xc2\xb2"},
                                    {"-3\xc2\xb0"
                                     "C",
                                     "\xc2\xb0"
                                     "C"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *s = texts[i][0];
        assert_true(notation_unit(s, s + strlen(s), unit));
        assert_string_equal(unit, texts[i][1]);
        assert_false(isnan(read_with(unit, s)));
    }
    assert_true(read_with("kg", "12.5 kg") == 12.5 && read_with("kg", "12.5") == 12.5 &&
                read_with("kg", "(1 200kg)") != 1200);
    assert_true(read_with("kg", "1,200 kg") == 1200 && read_with("m", "-3 m") == -3 && read_with("m", "(3 m)") == -3);
    assert_true(isnan(read_with("kg", "12.5 g")) && isnan(read_with("kg", "12.5 Kg")) &&
                isnan(read_with(NULL, "12 kg m")));
    const char *const none[] = {"4WD", "2nd", "kg", "12", "1 of 3", "5 \xb5m", "5 averyveryverylongone"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (notation_unit(none[i], none[i] + strlen(none[i]), unit)) fail_msg("'%s' has the unit '%s'", none[i], unit);
}

static void names_of_notations_read_back(void **state)
{
    (void)state;
    cell_notation back;
    for (int n = 0; n < NOTATIONS; n++) {
        assert_true(notation_named(notation_name((cell_notation)n), &back));
        assert_int_equal(back, n);
    }
    assert_false(notation_named("roman", &back));
    assert_int_equal(notation_with_comma(NOTATION_PERCENT), NOTATION_PERCENT_COMMA);
    assert_int_equal(notation_with_point(NOTATION_MONEY_COMMA), NOTATION_MONEY);
    assert_int_equal(notation_with_comma(NOTATION_DATE), NOTATION_DATE);
}

/* A column of these texts, one per row, recognised; the caller frees. */
static table *column_of(int64_t rows, const char *const *texts, int64_t repeat)
{
    table *t = calloc(1, sizeof *t);
    t->rows = rows * repeat, t->cols = 1;
    t->values = calloc((size_t)t->rows, sizeof(double));
    t->columns = calloc(1, sizeof *t->columns);
    t->columns[0] = (column){.kind = COLUMN_TEXT, .levels = rows, .level = calloc((size_t)rows, sizeof(char *))};
    for (int64_t i = 0; i < t->rows; i++) t->values[i] = (double)(i % rows);
    for (int64_t i = 0; i < rows; i++) t->columns[0].level[i] = strdup(texts[i]);
    assert_int_equal(recognise_texts(t, 0, NOTATION_PLAIN, NULL), ANYGP_OK);
    return t;
}

static void order_of_day_and_month_is_that_of_the_whole_column(void **state)
{
    (void)state;
    const char *const day_first[] = {"01/03/2024", "02/03/2024", "25/03/2024"};
    const char *const month_first[] = {"01/03/2024", "02/03/2024", "03/25/2024"};
    table *t = column_of(3, day_first, 1);
    assert_int_equal(t->columns[0].notation, NOTATION_DATE_DMY);
    assert_true(t->values[1] - t->values[0] == 1);
    assert_string_equal(t->columns[0].shown, "01/03/2024");
    table_free(t);
    t = column_of(3, month_first, 1);
    assert_int_equal(t->columns[0].notation, NOTATION_DATE_MDY);
    assert_true(t->values[1] - t->values[0] == 31);
    table_free(t);
    t = column_of(2, day_first, 1);
    assert_int_equal(t->columns[0].kind, COLUMN_TEXT);
    assert_int_equal(recognise_doubt(&t->columns[0], NOTATION_PLAIN), DOUBT_DAY_OR_MONTH);
    assert_int_equal(recognise_texts(t, 0, NOTATION_DATE_MDY, NULL), ANYGP_OK);
    assert_true(t->values[1] - t->values[0] == 31);
    table_free(t);
}

static void yes_needs_a_no_beside_it(void **state)
{
    (void)state;
    const char *const both[] = {"No", "yes", "no"}, *const mixed[] = {"yes", "false"},
                      *const three[] = {"yes", "no", "maybe"};
    table *t = column_of(3, both, 2);
    assert_int_equal(t->columns[0].notation, NOTATION_YES_NO);
    assert_true(t->values[0] == 0 && t->values[1] == 1 && t->values[5] == 0);
    table_free(t);
    t = column_of(1, both, 5);
    assert_int_equal(t->columns[0].kind, COLUMN_TEXT);
    table_free(t);
    t = column_of(2, mixed, 2);
    assert_int_equal(t->columns[0].kind, COLUMN_TEXT);
    table_free(t);
    t = column_of(3, three, 2);
    assert_int_equal(t->columns[0].kind, COLUMN_TEXT);
    table_free(t);
}

static void texts_that_are_nearly_all_new_are_left_out(void **state)
{
    (void)state;
    char room[30][16];
    const char *ids[30];
    for (int i = 0; i < 30; i++) snprintf(room[i], sizeof room[i], "A%d", 100 + i), ids[i] = room[i];
    table *t = column_of(30, ids, 1);
    assert_int_equal(t->columns[0].left_out, COLUMN_ALL_NEW);
    table_free(t);
    t = column_of(30, ids, 2); /* each twice: just half of them */
    assert_int_equal(t->columns[0].left_out, COLUMN_TAKEN);
    table_free(t);
    t = column_of(20, ids, 1); /* too few to tell */
    assert_int_equal(t->columns[0].left_out, COLUMN_TAKEN);
    table_free(t);
}

/* x: noise in (0, 1); -9999 in rows 3 and 7.  y: 1e12 in row 5.  z: mostly 0, as a pixel is. */
static void values_far_from_all_others_are_found(void **state)
{
    (void)state;
    enum { N = 50 };
    double v[N][3];
    const bool look[3] = {true, true, true};
    oddity odd[3];
    for (int i = 0; i < N; i++) v[i][0] = v[i][1] = 0.5 + 0.4 * sin(7.0 * i), v[i][2] = i % 20 == 7 ? 255 - i : 0;
    v[3][0] = v[7][0] = -9999, v[5][1] = 1e12, v[0][0] = NAN;
    assert_int_equal(oddities_find(N, 3, v[0], look, odd, NULL), ANYGP_OK);
    assert_true(odd[0].value == -9999 && odd[0].times == 2 && odd[0].row == 3 && odd[0].sds > 1000);
    assert_true(odd[1].value == 1e12 && odd[1].times == 1 && odd[1].row == 5);
    assert_int_equal(odd[2].times, 0);
    v[5][1] = 20; /* unusual, but not absurd */
    assert_int_equal(oddities_find(N, 3, v[0], look, odd, NULL), ANYGP_OK);
    assert_int_equal(odd[1].times, 0);
}

/* A first group of digits never begins with 0, so that 0,167 tells which sign the comma is; 10,167 does not. */
static void zero_before_a_comma_is_no_group(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool point, comma;
        double with_comma;
    } of[] = {{"0,167", false, true, 0.167}, {"-0,167", false, true, -0.167}, {"10,167", true, true, 10.167},
              {"0,5", false, true, 0.5},     {"0,167.5", false, false, 0},    {"007,125", false, true, 7.125}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double x;
        const char *end = of[i].text + strlen(of[i].text);
        assert_int_equal(notation_read(NOTATION_GROUPED, NULL, of[i].text, end, &x), of[i].point);
        assert_int_equal(notation_read(NOTATION_COMMA, NULL, of[i].text, end, &x), of[i].comma);
        if (of[i].comma) assert_true(x == of[i].with_comma);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_before_a_comma_is_no_group),
        cmocka_unit_test(dates_are_days_since_1970),
        cmocka_unit_test(times_and_zones_are_fractions_of_days),
        cmocka_unit_test(what_is_no_date_is_refused),
        cmocka_unit_test(named_months_are_read_in_any_order),
        cmocka_unit_test(months_are_their_first_days),
        cmocka_unit_test(times_of_day_are_hours),
        cmocka_unit_test(a_number_has_the_unit_of_its_column_or_none),
        cmocka_unit_test(amounts_lose_their_signs_and_separators),
        cmocka_unit_test(amounts_that_may_be_meant_otherwise_are_refused),
        cmocka_unit_test(names_of_notations_read_back),
        cmocka_unit_test(order_of_day_and_month_is_that_of_the_whole_column),
        cmocka_unit_test(yes_needs_a_no_beside_it),
        cmocka_unit_test(texts_that_are_nearly_all_new_are_left_out),
        cmocka_unit_test(values_far_from_all_others_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
