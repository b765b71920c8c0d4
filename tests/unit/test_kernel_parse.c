/* The expression parser: what it understands, what it says about mistakes, and what it writes back. */
#include "kernel_cases.h"

#include <locale.h>

static const kernel_input inputs[] = {
    {"lon", 0, INPUT_NUMBER, 0},     {"lat", 1, INPUT_NUMBER, 1}, {"air time", 3, INPUT_NUMBER, 2},
    {"unit", 4, INPUT_CONSTANT, -1}, {"city", 5, INPUT_TEXT, 3},  {NULL, 6, INPUT_NUMBER, 4},
};
enum { N_IN = sizeof inputs / sizeof *inputs, D = 5 };

static kernel *parse(const char *text)
{
    kernel *k;
    anygp_error e = {0};
    if (kernel_parse(text, inputs, N_IN, D, &k, &e) != ANYGP_OK) fail_msg("%s", e.text);
    return k;
}

static const char *complaint(const char *text)
{
    static anygp_error e;
    kernel *k;
    assert_int_equal(kernel_parse(text, inputs, N_IN, D, &k, &e), ANYGP_ERR_ARGUMENT);
    assert_null(k);
    return e.text;
}

static char *write_back(kernel *k, int digits)
{
    char *text;
    assert_int_equal(kernel_format(k, kernel_values(k), digits, &text, NULL), ANYGP_OK);
    return text;
}

/* ------------------------------------------------------------------------------------------- mistakes */

static void a_mistake_is_answered_with_its_character_and_what_to_do(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"rbf(lenghtscale=1)",
         "unknown option 'lenghtscale' at character 5; rbf takes variance, lengthscale, dims, ard, "
         "iso; did you mean lengthscale?"},
        {"rbf + mattern52", "unknown kernel 'mattern52' at character 7; did you mean matern52?"},
        {"heat", "unknown kernel 'heat' at character 1; there are rbf"},
        {"rbf(variance=0)", "expected a positive number that is not too large at character 14"},
        {"rbf(variance=-1)", "expected a positive number that is not too large at character 14"},
        {"rbf(variance=1e999)", "not too large at character 14"},
        {"rbf(variance=nan)", "expected a number at character 14"},
        {"rbf(variance=)", "expected a number at character 14"},
        {"rbf(variance)", "expected = and a value for variance at character 13"},
        {"rbf(lengthscale=[1,2])", "lengthscale of rbf takes 4 numbers, not 2 at character 17"},
        {"rbf(lengthscale=[1,2)", "expected , or ] at character 21"},
        {"rbf(iso,lengthscale=[1,2,3,4])", "takes 1 number, not 4 at character 21"},
        {"rbf(iso,ard)", "exclude each other at character 9"},
        {"rbf(variance=1,variance=2)", "variance is given twice at character 16"},
        {"rbf(dims=[lon,lon])", "in dims twice at character 15"},
        {"rbf(dims=[lom])", "there is no input column 'lom' at character 11; did you mean 'lon'?"},
        {"rbf(dims=[2])", "there is no input column '2' at character 11"},
        {"rbf(dims=[city])", "rbf cannot use the text column 5 at character 10; text columns take categorical"},
        {"rbf(dims=['lon])", "this quote is never closed at character 11"},
        {"rbf(dims=[])", "a column name or number is missing at character 11"},
        {"rbf +", "expected a kernel, found the end at character 6"},
        {"rbf + * rbf", "expected a kernel, found '*' at character 7"},
        {"(rbf", "expected + or * or ) at character 5"},
        {"rbf)", "expected + or * or the end at character 4"},
        {"rbf rbf", "expected + or * or the end at character 5"},
        {"rbf + 2", "this number multiplies no kernel at character 7"},
        {"-2*rbf", "expected a positive number"},
        {"rbf*white", "white is multiplied by a kernel at character 1; use white as a term of a sum"},
        {"2*(rbf + white)*linear", "white is multiplied by a kernel"},
        {"polynomial(degree=2.5)", "degree must be a whole number from 1 to 10 at character 19"},
        {"arccosine(order=3)", "order must be a whole number from 0 to 2 at character 17"},
        {"constant(dims=[lon])", "unknown option 'dims' at character 10; constant takes variance"},
        {"rbf(\xc3\xa9=1)", "expected the name of an option at character 5"},
        {"rbf(dims=[\xc3\xa9\xc3\xa9,x])", "'\xc3\xa9\xc3\xa9' at character 11"},
        {"", "the kernel expression is empty"},
        {" \t ", "the kernel expression is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strstr(complaint(cases[i][0]), cases[i][1])) fail_msg("%s: %s", cases[i][0], complaint(cases[i][0]));
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    assert_non_null(strstr(complaint("rbf(dims=['\xc3\xa9\xc3\xa9'])"), "at character 12"));
    assert_non_null(strstr(complaint("rbf(dims=[lat,\xc3\xa9\xc3\xa9,lon,lat])"), "at character 15"));
}

static void limits_have_sentences(void **state)
{
    (void)state;
    char text[8192] = "";
    for (int i = 0; i < 65; i++) strcat(text, "(");
    strcat(text, "rbf");
    assert_non_null(strstr(complaint(text), "more than 64 parentheses are nested"));
    strcpy(text, "rbf");
    for (int i = 0; i < 256; i++) strcat(text, "+rbf");
    assert_non_null(strstr(complaint(text), "more than 256 kernels at character 1025"));
    assert_true(strlen(complaint(text)) < 300);
    text[strlen(text) - 4] = 0;
    kernel_free(parse(text));
    char *long_text = malloc((5 << 20) + 1);
    memset(long_text, ' ', 5 << 20);
    long_text[5 << 20] = 0;
    assert_non_null(strstr(complaint(long_text), "has 5242880 bytes"));
    free(long_text);
}

static void kernels_without_columns_of_their_type_are_refused(void **state)
{
    (void)state;
    kernel *k;
    anygp_error e;
    kernel_input number = {"x", 0, INPUT_NUMBER, 0}, text = {"t", 0, INPUT_TEXT, 0};
    assert_true(ANYGP_FAILED(kernel_parse("categorical", &number, 1, 1, &k, &e)));
    assert_non_null(strstr(e.text, "needs a text column"));
    assert_true(ANYGP_FAILED(kernel_parse("rbf", &text, 1, 1, &k, &e)));
    assert_non_null(strstr(e.text, "needs a column of numbers"));
}

/* --------------------------------------------------------------------------------------------- meaning */

static void other_names_of_a_kernel_are_understood_and_its_own_is_kept(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"se", "rbf"},
        {"gaussian", "rbf"},
        {"squared_exponential", "rbf"},
        {"sqexp", "rbf"},
        {"exp", "matern12"},
        {"ou", "matern12"},
        {"exponential", "matern12"},
        {"matern", "matern52"},
        {"matern_32", "matern32"},
        {"rational_quadratic", "rq"},
        {"exp_sine_squared", "periodic"},
        {"nugget", "white"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel *k = parse(cases[i][0]), *own = parse(cases[i][1]);
        char *text = write_back(k, 6), *wanted = write_back(own, 6);
        assert_string_equal(text, wanted);
        assert_int_equal(kernel_note(k) != NULL, !strcmp(cases[i][0], "matern"));
        free(text);
        free(wanted);
        kernel_free(k);
        kernel_free(own);
    }
}

static void check_values(const char *text, int64_t n, const double *values, const int64_t *dims)
{
    kernel *k = parse(text);
    if (kernel_count(k) != n) fail_msg("%s has %d parameters, not %d", text, (int)kernel_count(k), (int)n);
    for (int64_t i = 0; i < n; i++) {
        check_close_at(kernel_values(k)[i], values[i], 0, text, __FILE__, __LINE__);
        assert_int_equal(kernel_param_at(k, i)->dim, dims[i]);
    }
    kernel_free(k);
}

static void values_go_to_their_columns(void **state)
{
    (void)state;
    check_values("rbf(lengthscale=[1,2,3,4])", 5, (double[]){1, 1, 2, 3, 4}, (int64_t[]){-1, 0, 1, 2, 4});
    check_values("rbf(lengthscale=[1,2,3,9,4])", 5, (double[]){1, 1, 2, 3, 4}, (int64_t[]){-1, 0, 1, 2, 4});
    check_values("rbf(lengthscale=0.7)", 2, (double[]){1, 0.7}, (int64_t[]){-1, -1});
    check_values("rbf(ard,lengthscale=0.7)", 5, (double[]){1, 0.7, 0.7, 0.7, 0.7}, (int64_t[]){-1, 0, 1, 2, 4});
    check_values("rbf(iso)", 2, (double[]){1, 2}, (int64_t[]){-1, -1});
    check_values("rbf(lengthscale=[2,3],dims=['air time', 0])", 3, (double[]){1, 2, 3}, (int64_t[]){-1, 2, 0});
    check_values("rbf(dims=[unit,lat],lengthscale=[5,6])", 2, (double[]){1, 6}, (int64_t[]){-1, 1});
    check_values("rbf(dims=air time,variance=3)", 2, (double[]){3, 1}, (int64_t[]){-1, 2});
    check_values("categorical(lengthscale=[2])", 2, (double[]){1, 2}, (int64_t[]){-1, 3});
    check_values("periodic(period=3,dims=[0,1],lengthscale=[1,2])", 4, (double[]){1, 3, 1, 2},
                 (int64_t[]){-1, -1, 0, 1});
    check_values("sm(components=2,dims=[0,1],frequency=[1,2,3,4],lengthscale=5,weight=[6,7])", 10,
                 (double[]){6, 7, 1, 2, 3, 4, 5, 5, 5, 5}, (int64_t[]){-1, -1, 0, 1, 0, 1, 0, 1, 0, 1});
    check_values("2 * rbf ( dims = [ lon ] ) * .5", 4, (double[]){2, 1, 1, 0.5}, (int64_t[]){-1, -1, 0, -1});
}

typedef struct expected_variance {
    bool unit, fixed, given;
} expected_variance;

static void check_variances(const char *text, int64_t n, const expected_variance *want)
{
    kernel *k = parse(text);
    int64_t seen = 0;
    for (int64_t i = 0; i < kernel_count(k); i++) {
        const kernel_param *p = kernel_param_at(k, i);
        if (p->role != ROLE_VARIANCE) continue;
        if (seen == n || p->unit_variance != want[seen].unit || p->fixed != want[seen].fixed ||
            p->given != want[seen].given)
            fail_msg("%s: variance %d is unit %d fixed %d given %d", text, (int)seen, p->unit_variance, p->fixed,
                     p->given);
        seen++;
    }
    assert_int_equal(seen, n);
    kernel_free(k);
}

static void one_variance_of_a_product_carries_the_unit_and_redundant_ones_are_fixed(void **state)
{
    (void)state;
    typedef expected_variance v;
    check_variances("rbf + matern32", 2, (v[]){{true, false, false}, {true, false, false}});
    check_variances("rbf*matern32", 2, (v[]){{true, false, false}, {false, true, false}});
    check_variances("rbf*matern32(variance=2)", 2, (v[]){{true, false, false}, {false, false, true}});
    check_variances("rbf*3*matern32", 3, (v[]){{false, true, false}, {true, false, true}, {false, true, false}});
    check_variances("linear*rbf", 1, (v[]){{true, false, false}});
    check_variances("(rbf + rq)*(matern12 + matern32)", 4,
                    (v[]){{true, false, false}, {true, false, false}, {false, true, false}, {false, false, false}});
    check_variances("2*(rbf + rq)", 3, (v[]){{true, false, true}, {false, true, false}, {false, false, false}});
    check_variances("rbf*sm(components=2)", 3,
                    (v[]){{true, false, false}, {false, true, false}, {false, false, false}});
}

static void parameters_have_floors_and_priors_about_their_scale(void **state)
{
    (void)state;
    kernel *k = parse("rbf + polynomial + arccosine(bias=2)");
    for (int64_t i = 0; i < kernel_count(k); i++) {
        const kernel_param *p = kernel_param_at(k, i);
        assert_true(p->lower > 0 && kernel_values(k)[i] > p->lower && p->prior_sd > 0 && isfinite(p->prior_mean));
        if (p->role == ROLE_LENGTH) check_close(p->prior_mean, sqrt(2) + log(4) / 2, 1e-15);
        if (!strcmp(p->name, "offset")) assert_true(p->fixed);
        if (!strcmp(p->name, "bias")) assert_false(p->fixed);
    }
    kernel_free(k);
}

static void inputs_that_share_a_length_form_groups(void **state)
{
    (void)state;
    int64_t group[D];
    kernel *k = parse("rbf(iso,dims=[1,6]) + periodic(period=2,dims=[3,6]) + linear(iso) + matern12");
    kernel_groups(k, group);
    assert_int_equal(group[0], 0);
    assert_int_equal(group[1], 1);
    assert_int_equal(group[2], 1);
    assert_int_equal(group[3], 3);
    assert_int_equal(group[4], 1);
    kernel_free(k);
}

/* ----------------------------------------------------------------------------------------- round trips */

static void same_kernel(kernel *a, kernel *b)
{
    assert_int_equal(kernel_count(a), kernel_count(b));
    for (int64_t i = 0; i < kernel_count(a); i++) {
        const kernel_param *p = kernel_param_at(a, i), *q = kernel_param_at(b, i);
        assert_true(kernel_values(a)[i] == kernel_values(b)[i] || p->fixed);
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->dim, q->dim);
        assert_int_equal(p->component, q->component);
        assert_int_equal(p->fixed, q->fixed);
        assert_int_equal(p->unit_variance, q->unit_variance);
    }
}

static void round_trip(const char *name, kernel *k, int64_t dims, bool text)
{
    char *first, *second;
    for (int64_t i = 0; i < kernel_count(k); i++) /* fixed ones are not written and stay at their defaults */
        if (kernel_param_at(k, i)->fixed && kernel_param_at(k, i)->role != ROLE_VARIANCE) kernel_values(k)[i] = 1;
    first = write_back(k, 17);
    kernel *again = case_parse(first, dims, text ? INPUT_TEXT : INPUT_NUMBER);
    if (!again) fail_msg("%s: %s does not parse", name, first);
    same_kernel(k, again);
    second = write_back(again, 17);
    assert_string_equal(first, second);
    free(first);
    free(second);
    kernel_free(again);
}

static void every_kernel_written_out_parses_back_to_itself(void **state)
{
    (void)state;
    for_each_case(1, round_trip);
    for_each_case(3, round_trip);
}

static void the_written_form_is_what_a_user_would_write(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"2*rbf(dims=[lon])", "2*rbf(lengthscale=[1],dims=[lon])"},
        {"rbf(dims=lon)*(rq(iso)+matern12(dims=0))",
         "rbf(variance=1,lengthscale=[1],dims=lon)*(rq(iso,lengthscale=2,alpha=1) + "
         "matern12(variance=1,lengthscale=[1],dims=0))"},
        {"linear(iso)+(constant+white)", "linear(iso,variance=0.25) + (constant(variance=1) + white(variance=1))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel *k = parse(cases[i][0]);
        char *text = write_back(k, 6);
        assert_string_equal(text, cases[i][1]);
        free(text);
        kernel_free(k);
    }
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < sizeof comma / sizeof *comma; i++)
        if (setlocale(LC_NUMERIC, comma[i])) break;
    kernel *k = parse("constant(variance=1.5)");
    char *text = write_back(k, 6);
    assert_true(kernel_values(k)[0] == 1.5);
    assert_string_equal(text, "constant(variance=1.5)");
    setlocale(LC_NUMERIC, "C");
    free(text);
    kernel_free(k);
}

static void a_hundred_thousand_columns_parse_and_write_back(void **state)
{
    (void)state;
    enum { WIDE = 100000 };
    kernel_input *in = malloc(WIDE * sizeof *in);
    char(*names)[12] = malloc(WIDE * sizeof *names), *text;
    kernel *k, *again;
    for (int64_t i = 0; i < WIDE; i++) {
        snprintf(names[i], sizeof names[i], "c%d", (int)(i * 7919 % WIDE));
        in[i] = (kernel_input){names[i], i, INPUT_NUMBER, i};
    }
    assert_int_equal(kernel_parse("rbf(ard) + matern12(dims=[c17,99999])", in, WIDE, WIDE, &k, NULL), ANYGP_OK);
    assert_int_equal(kernel_count(k), WIDE + 4);
    case_scatter(k);
    text = write_back(k, 17);
    assert_int_equal(kernel_parse(text, in, WIDE, WIDE, &again, NULL), ANYGP_OK);
    same_kernel(k, again);
    kernel_free(k);
    kernel_free(again);
    free(text);
    free(names);
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mistake_is_answered_with_its_character_and_what_to_do),
        cmocka_unit_test(characters_are_counted_not_bytes),
        cmocka_unit_test(limits_have_sentences),
        cmocka_unit_test(kernels_without_columns_of_their_type_are_refused),
        cmocka_unit_test(other_names_of_a_kernel_are_understood_and_its_own_is_kept),
        cmocka_unit_test(values_go_to_their_columns),
        cmocka_unit_test(one_variance_of_a_product_carries_the_unit_and_redundant_ones_are_fixed),
        cmocka_unit_test(parameters_have_floors_and_priors_about_their_scale),
        cmocka_unit_test(inputs_that_share_a_length_form_groups),
        cmocka_unit_test(every_kernel_written_out_parses_back_to_itself),
        cmocka_unit_test(the_written_form_is_what_a_user_would_write),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(a_hundred_thousand_columns_parse_and_write_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
