#include "support.h"

#include <string.h>

#include "data/text/number.h"

enum { PATTERNS = 250000 };

static double scan_all(const char *text)
{
    double x = -1;
    const char *end = text + strlen(text), *stop = number_scan(text, end, &x);
    if (stop != end) print_error("'%s' was not read to its end\n", text);
    assert_true(stop == end);
    return x;
}

static void check_as_strtod(const char *text)
{
    double x = scan_all(text), truth = strtod(text, NULL);
    if (memcmp(&x, &truth, sizeof x)) print_error("'%s' gives %a instead of %a\n", text, x, truth);
    assert_memory_equal(&x, &truth, sizeof x);
}

static double random_double(uint64_t sub, uint64_t i)
{
    random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = sub};
    uint64_t bits = random_bits(s, i);
    double x;
    memcpy(&x, &bits, sizeof x);
    return isfinite(x) ? x : 1 / 3.0;
}

static void check_format(const char *format, double x)
{
    char text[512];
    snprintf(text, sizeof text, format, x);
    check_as_strtod(text);
}

static void any_bit_pattern_reads_as_the_nearest_double(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PATTERNS; i++) {
        double x = random_double(1, i);
        check_format("%.17g", x);
        check_format("%.3e", x);
    }
}

static void everyday_numbers_read_as_the_nearest_double(void **state)
{
    static const char *const formats[] = {"%.6f", "%.17g", "%.16g", "%.15g", "%g", "%.20f", "%.19e", "%.25e", "%.12f"};
    (void)state;
    random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = 2};
    for (uint64_t i = 0; i < PATTERNS / 4; i++) {
        double x = random_normal(s, i) * pow(10, (double)(i % 24) - 8);
        for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) check_format(formats[k], x);
    }
}

/* Decimals of 16 to 19 random digits lie anywhere between two doubles, also next to the middle. */
static void random_decimals_read_as_the_nearest_double(void **state)
{
    (void)state;
    random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = 3};
    for (uint64_t i = 0; i < PATTERNS; i++) {
        char text[64];
        unsigned long long w = random_bits(s, 2 * i) >> (i % 12);
        snprintf(text, sizeof text, "%llue%lld", w, (long long)random_below(s, 2 * i + 1, 80) - 40);
        check_as_strtod(text);
    }
}

/* The exact middle of two doubles (up to 767 digits) goes to the even one, a digit more or less to its side. */
static void middles_are_rounded_to_even(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        double x = i % 2 ? fabs(random_double(4, i)) : 1 + (double)i / 4096;
        if (x > 1e300 || x == 0) continue;
        char text[1600];
        long double middle = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.780Le", middle);
        check_as_strtod(text);
        char *e = strchr(text, 'e'), above[1600];
        snprintf(above, sizeof above, "%.*s%s%s", (int)(e - text), text, "00000000000000000000000000001", e);
        check_as_strtod(above);
        snprintf(above, sizeof above, "%.*s%s%s", (int)(e - text), text, "00000000000000000000000000000", e);
        check_as_strtod(above);
    }
}

static void spellings_of_numbers(void **state)
{
    static const char *const spelled[] = {"0",
                                          "-0",
                                          "+7",
                                          "007",
                                          ".5",
                                          "5.",
                                          "1e5",
                                          "1E+5",
                                          "1e-5",
                                          "-.5e-3",
                                          "1e308",
                                          "1e-308",
                                          "4.9e-324",
                                          "2e-324",
                                          "1e999",
                                          "0e999",
                                          "1e-99999999999",
                                          "0.000000000000000000000000000000000001",
                                          "100000000000000000000000000000000000000",
                                          "123456789012345678901234567890.123456789"};
    (void)state;
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) check_as_strtod(spelled[i]);
    assert_true(scan_all("1.5D2") == 150 && scan_all("1.5d-1") == 0.15);
}

static void not_numbers_are_left_alone(void **state)
{
    static const char *const other[] = {"", "+", "-", ".", "e5", "-.", "+-1", "abc", "--1"};
    (void)state;
    double x;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_null(number_scan(other[i], other[i] + strlen(other[i]), &x));
    const char *text = "1.25e+x";
    assert_ptr_equal(number_scan(text, text + 7, &x), text + 4);
    assert_true(x == 1.25);
    text = "123456789012";
    assert_ptr_equal(number_scan(text, text + 3, &x), text + 3); /* nothing behind `end` is looked at */
    assert_true(x == 123);
}

static cell_kind kind_of(const char *text)
{
    double x;
    return cell_classify(text, text + strlen(text), &x);
}

static void cells_are_numbers_missing_infinite_or_text(void **state)
{
    static const char *const missing[] = {"", " ", "NA", "n/a", "NaN", "-nan", "NULL", "None", "?", ".", " na\r"};
    static const char *const infinite[] = {"inf", "-Inf", "+INFINITY", "1e999", "-1e400"};
    static const char *const text[] = {"abc", "12a", "1,5", "0x10", "nano", "..", "1 2", "infinite"};
    (void)state;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) assert_int_equal(kind_of(missing[i]), CELL_MISSING);
    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++)
        assert_int_equal(kind_of(infinite[i]), CELL_INFINITE);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) assert_int_equal(kind_of(text[i]), CELL_TEXT);
    assert_int_equal(kind_of("  -1.5e3 "), CELL_NUMBER);
}

static void check_printed(double x)
{
    char text[NUMBER_TEXT_MOST + 1], c_text[64];
    size_t n = number_print(x, text);
    assert_true(n > 0 && n <= NUMBER_TEXT_MOST);
    text[n] = 0;
    double back = strtod(text, NULL);
    if (memcmp(&back, &x, sizeof x)) print_error("%a is printed '%s'\n", x, text);
    assert_memory_equal(&back, &x, sizeof x);
    int digits = 15;
    while (snprintf(c_text, sizeof c_text, "%.*e", digits - 1, x), strtod(c_text, NULL) != x) digits++;
    int used = 0, zeros = 0;
    for (const char *c = text; *c && *c != 'e'; c++) {
        if (*c < '0' || *c > '9') continue;
        if (used || *c != '0') used++;
        zeros = *c == '0' ? zeros + 1 : 0;
    }
    if (used - zeros > digits) print_error("%s has more than %d digits\n", text, digits);
    assert_true(used - zeros <= digits);
}

static void printed_numbers_read_back_and_are_short(void **state)
{
    (void)state;
    random_stream s = {.seed = 7, .use = RANDOM_TEST, .sub = 5};
    for (uint64_t i = 0; i < PATTERNS / 4; i++) {
        check_printed(random_double(6, i));
        check_printed(random_normal(s, i));
        check_printed(round(random_normal(s, i) * 1e4) / 1e4);
    }
    static const double special[] = {0,      -0.0,
                                     1,      -1,
                                     1e15,   1e16,
                                     1e17,   1e22,
                                     1e23,   9007199254740993,
                                     1e-5,   1e-6,
                                     0.1,    1e308,
                                     5e-324, 2.2250738585072014e-308,
                                     1e-308, 123456.789,
                                     0.3,    1e-4};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) check_printed(special[i]);
}

static void check_text(double x, const char *expected)
{
    char text[NUMBER_TEXT_MOST + 1];
    text[number_print(x, text)] = 0;
    assert_string_equal(text, expected);
}

static void printed_forms(void **state)
{
    (void)state;
    check_text(0.1, "0.1");
    check_text(-12.5, "-12.5");
    check_text(100, "100");
    check_text(1e-5, "0.00001");
    check_text(1e-7, "1e-7");
    check_text(1.5e300, "1.5e300");
    check_text(1e16, "10000000000000000");
    check_text(0.1 + 0.2, "0.30000000000000004");
    check_text(NAN, "nan");
    check_text(-INFINITY, "-inf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bit_pattern_reads_as_the_nearest_double),
        cmocka_unit_test(everyday_numbers_read_as_the_nearest_double),
        cmocka_unit_test(random_decimals_read_as_the_nearest_double),
        cmocka_unit_test(middles_are_rounded_to_even),
        cmocka_unit_test(spellings_of_numbers),
        cmocka_unit_test(not_numbers_are_left_alone),
        cmocka_unit_test(cells_are_numbers_missing_infinite_or_text),
        cmocka_unit_test(printed_numbers_read_back_and_are_short),
        cmocka_unit_test(printed_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
