/* Lists that grow with the tables they come from: names in sentences and in the help, arrays of a posterior. */
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "base/plain.h"
#include "base/settings.h"
#include "gp/gp.h"
#include "io/wrap.h"
#include "support.h"

/* Whether `name` is a word of text. */
static bool has_name(const char *text, const char *name)
{
    static const char part_of_a_name[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || !strchr(part_of_a_name, at[-1])) && (!at[n] || !strchr(part_of_a_name, at[n]))) return true;
    return false;
}

static const char *help_of(const char *name)
{
    for (int64_t i = 0; i < anygp_setting_count(); i++)
        if (!strcmp(anygp_setting_field(i, "name"), name)) return anygp_setting_field(i, "help");
    fail_msg("there is no setting %s", name);
    return NULL;
}

static void help_names_every_model_and_likelihood(void **state)
{
    (void)state;
    for (int64_t i = 0; i < model_count(); i++)
        if (!has_name(help_of("model"), model_at(i)->name)) fail_msg("the help has lost %s", model_at(i)->name);
    for (int64_t i = 0; i < likelihood_count(); i++)
        assert_true(has_name(help_of("likelihood"), likelihood_at(i)->name));
    for (int64_t i = 0; i < anygp_setting_count(); i++) assert_null(strchr(anygp_setting_field(i, "help"), '{'));
}

/* A setting that is new in settings_list.h, and has no line in setting_groups_list.h, fails. */
static void every_setting_is_in_a_group_once(void **state)
{
    (void)state;
    bool seen[SETTING_COUNT] = {0};
    for (int64_t k = 0; k < anygp_setting_count(); k++) {
        int64_t i = anygp_setting_listed(k);
        assert_in_range(i, 0, SETTING_COUNT - 1);
        if (seen[i]) fail_msg("%s is listed twice", anygp_setting_field(i, "name"));
        seen[i] = true;
        if (!strcmp(anygp_setting_field(i, "group"), "Other"))
            fail_msg("%s is in no group of src/base/setting_groups_list.h", anygp_setting_field(i, "name"));
    }
    assert_int_equal(anygp_setting_listed(-1), -1);
    assert_int_equal(anygp_setting_listed(SETTING_COUNT), -1);
}

static void every_setting_has_a_line_that_fits(void **state)
{
    (void)state;
    for (int64_t i = 0; i < anygp_setting_count(); i++) {
        const char *brief = anygp_setting_field(i, "brief");
        if (strlen(brief) < 4 || strlen(brief) > 72 || strpbrk(brief, "{}\n"))
            fail_msg("%s: '%s'", anygp_setting_field(i, "name"), brief);
    }
}

static void kernels_and_likelihoods_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_int_equal(anygp_kernel_count(), kernel_kinds());
    for (int64_t i = 0; i < kernel_kinds(); i++) {
        assert_string_equal(anygp_kernel_field(i, "name"), kernel_kind_name(i));
        assert_true(strlen(anygp_kernel_field(i, "summary")) > 4);
    }
    assert_string_equal(anygp_kernel_field(0, "options"), "variance, lengthscale");
    assert_int_equal(anygp_likelihood_count(), likelihood_count());
    for (int64_t i = 0; i < likelihood_count(); i++) {
        assert_string_equal(anygp_likelihood_field(i, "name"), likelihood_at(i)->name);
        assert_string_equal(anygp_likelihood_field(i, "exposure"), likelihood_at(i)->exposure ? "yes" : "no");
    }
    assert_null(anygp_kernel_field(0, "colour"));
    assert_null(anygp_kernel_field(kernel_kinds(), "name"));
    assert_null(anygp_likelihood_field(-1, "name"));
}

static anygp_model *fitted(const char *model)
{
    const double X[] = {0, 1, 2, 3}, y[] = {0, 1, 0, 1};
    anygp_settings *s = anygp_settings_new();
    anygp_data *data = NULL;
    anygp_model *m = NULL;
    assert_int_equal(anygp_data_new(4, 1, X, 1, y, NULL, &data, NULL), ANYGP_OK);
    assert_int_equal(anygp_set(s, "model", model, NULL), ANYGP_OK);
    assert_int_equal(anygp_set(s, "iters", "1", NULL), ANYGP_OK);
    assert_int_equal(anygp_fit(s, data, &m, NULL), ANYGP_OK);
    anygp_settings_free(s);
    anygp_data_free(data);
    return m;
}

static void refusal_of_an_update_names_models_that_take_rows(void **state)
{
    (void)state;
    const double x = 1, y = 1;
    anygp_error e = {.text = ""};
    anygp_model *m = fitted("sod");
    assert_int_equal(anygp_update(m, NULL, 1, &x, 1, &y, NULL, &e), ANYGP_ERR_ARGUMENT);
    int64_t named = 0;
    for (int64_t i = 0; i < model_count(); i++) {
        const char *name = model_at(i)->name;
        if (!strcmp(name, "sod") || !has_name(e.text, name)) continue;
        if (!model_at(i)->update) fail_msg("%s: %s", name, e.text);
        named++;
    }
    assert_true(named >= 2);
    assert_non_null(strstr(e.text, "anygp models"));
    anygp_model_free(m);
}

static const char *long_name(int64_t i, const void *ctx)
{
    const char *name = ctx;
    return i % 2 ? NULL : name;
}

static void names_of_any_number_and_length_are_joined(void **state)
{
    (void)state;
    enum { NAMES = 2000, LENGTH = 1000 };
    char name[LENGTH + 1];
    memset(name, 'x', LENGTH);
    name[LENGTH] = 0;
    char *list = name_list(NAMES, long_name, name, " and ");
    assert_int_equal(strlen(list), NAMES / 2 * LENGTH + 2 * (NAMES / 2 - 2) + 5);
    free(list);
    assert_string_equal(list = name_list(0, long_name, name, " and "), "");
    free(list);
    assert_string_equal(list = name_list(2, long_name, "a", " and "), "a");
    free(list);
    assert_string_equal(list = name_list(4, long_name, "a", " or "), "a or a");
    free(list);
}

static void arrays_are_as_many_as_there_are(void **state)
{
    (void)state;
    array_list list = {0};
    for (int64_t i = 0; i < 1000; i++) array_list_add(&list, (named_array){.name = "a", .rows = i});
    assert_false(list.failed);
    for (int64_t i = 0; i < 1000; i++) assert_int_equal(list.at[i].rows, i);
    assert_int_equal(list.count, 1000);
    array_list_clear(&list);
}

static void numbers_in_sentences_have_no_exponent(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *text;
    } of[] = {{0.0312, "0.031"}, {2.68, "2.7"},          {99.7, "99.7"}, {99.4, "99"},
              {268.4, "268"},    {-1234567, "-1234567"}, {0, "0"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.*g", plain_digits(of[i].x, 2), of[i].x);
        assert_string_equal(text, of[i].text);
    }
}

static void expect_wrapped(const char *text, const char *expected)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    wrap_lines(text, 20, 4, f);
    fclose(f);
    assert_string_equal(out, expected);
    free(out);
}

static void long_lines_are_broken_where_they_can_be(void **state)
{
    (void)state;
    expect_wrapped("short\n  and 20 columns 89\n", "short\n  and 20 columns 89\n");
    expect_wrapped("one two; three four five six seven", "one two;\n    three four five\n    six seven");
    expect_wrapped("  [1.25,2.25,3.25,4.25,5.25]", "  [1.25,2.25,3.25,\n    4.25,5.25]");
    expect_wrapped("  aWordThatIsLongerThanThat\n", "  aWordThatIsLongerThanThat\n");
    expect_wrapped("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 twenty 89",
                   "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 twenty 89");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_every_model_and_likelihood),
        cmocka_unit_test(every_setting_is_in_a_group_once),
        cmocka_unit_test(every_setting_has_a_line_that_fits),
        cmocka_unit_test(kernels_and_likelihoods_are_those_of_the_tables),
        cmocka_unit_test(refusal_of_an_update_names_models_that_take_rows),
        cmocka_unit_test(names_of_any_number_and_length_are_joined),
        cmocka_unit_test(arrays_are_as_many_as_there_are),
        cmocka_unit_test(numbers_in_sentences_have_no_exponent),
        cmocka_unit_test(long_lines_are_broken_where_they_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
