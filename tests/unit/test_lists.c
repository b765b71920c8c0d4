/* Lists that grow with the tables they come from: names in sentences and in the help, arrays of a posterior. */
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "base/plain.h"
#include "base/settings.h"
#include "gp/gp.h"
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

static void refusal_of_an_update_names_every_model_that_takes_rows(void **state)
{
    (void)state;
    const double x = 1, y = 1;
    anygp_error e = {.text = ""};
    anygp_model *m = fitted("exact");
    assert_int_equal(anygp_update(m, NULL, 1, &x, 1, &y, NULL, &e), ANYGP_ERR_ARGUMENT);
    for (int64_t i = 0; i < model_count(); i++) {
        const char *name = model_at(i)->name;
        if (strcmp(name, "exact") && has_name(e.text, name) != (model_at(i)->update != NULL))
            fail_msg("%s: %s", name, e.text);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_every_model_and_likelihood),
        cmocka_unit_test(refusal_of_an_update_names_every_model_that_takes_rows),
        cmocka_unit_test(names_of_any_number_and_length_are_joined),
        cmocka_unit_test(arrays_are_as_many_as_there_are),
        cmocka_unit_test(numbers_in_sentences_have_no_exponent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
