/* UTF-8 as RFC 3629 has it, and Latin-1 for what is not. */
#include "support.h"

#include <string.h>

#include "data/text/utf8.h"

static void well_formed_texts_are_valid_and_stay(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "", "plain", "gr\xc3\xbcn", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[32];
        size_t n = strlen(texts[i]);
        memcpy(text, texts[i], n);
        assert_true(utf8_valid(text, n));
        assert_int_equal(utf8_from_any(text, n), n);
        assert_memory_equal(text, texts[i], n);
    }
}

static void ill_formed_texts_are_not_valid(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"\x80",             /* a continuation alone */
                                        "\xc3",             /* cut short */
                                        "\xe2\x82",         /* cut short */
                                        "\xc3(",            /* no continuation */
                                        "\xc0\xaf",         /* longer than needed */
                                        "\xe0\x80\xaf",     /* longer than needed */
                                        "\xed\xa0\x80",     /* a surrogate */
                                        "\xf4\x90\x80\x80", /* beyond the last code point */
                                        "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[32];
        size_t n = strlen(texts[i]);
        memcpy(text, texts[i], n);
        assert_false(utf8_valid(text, n));
        assert_true(utf8_valid(text, utf8_from_any(text, n)));
    }
}

static void latin1_letters_become_two_bytes(void **unused)
{
    (void)unused;
    char text[16] = "wei\xdf gr\xfcn";
    assert_int_equal(utf8_from_any(text, 8), 10);
    assert_memory_equal(text, "wei\xc3\x9f gr\xc3\xbcn", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_texts_are_valid_and_stay),
        cmocka_unit_test(ill_formed_texts_are_not_valid),
        cmocka_unit_test(latin1_letters_become_two_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
