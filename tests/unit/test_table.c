/* The table of models: what a model needs agrees with what it has, and what it costs with what it claims. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/fit.h"
#include "support.h"

static const model_ops *combination(void)
{
    const model_ops *m = NULL;
    assert_int_equal(model_make("combine(dtc=0.5,pitc=0.5)", &m, NULL), ANYGP_OK);
    return m;
}

/* ------------------------------------------------------------------------------------------ needs */

static void check_needs(const model_ops *m)
{
    const model_needs *n = &m->needs;
    const bool holds[] = {m->name && *m->summary && *m->order && m->cost && m->size && m->open && m->close && m->load,
                          (m->evaluate != NULL) != (m->steps != NULL), /* one way to learn */
                          (m->posterior != NULL) == (m->evaluate != NULL),
                          n->rows != ROWS_ALL || (!m->anytime && !m->steps),
                          n->rows != ROWS_ALL || n->inducing == INDUCING_NONE,
                          !m->anytime || n->inducing == INDUCING_ONE,
                          !(m->anytime && m->sum) && (!m->sum || m->evaluate),
                          !n->learned || n->inducing != INDUCING_NONE,
                          n->inducing == INDUCING_NONE || m->subset > 0,
                          !n->own_rate || m->steps,
                          !n->given || !n->learned};
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++)
        if (!holds[i]) fail_msg("%s: condition %d of its needs and functions does not hold", m->name, (int)i);
}

static void needs_agree_with_the_functions(void **state)
{
    (void)state;
    const model_ops *made = combination();
    for (int64_t i = 0; i < model_count(); i++) check_needs(model_at(i));
    check_needs(made);
    model_free(made);
}

/* Joint draws of a small fit: the posterior behind needs.joint. */
static void joint_distributions_are_there_where_the_table_says_so(void **state)
{
    (void)state;
    enum { N = 12 };
    double X[N], y[N], mean[2], covariance[4];
    const double at[] = {0.3, 0.7};
    anygp_data *data = NULL;
    for (int i = 0; i < N; i++) X[i] = i, y[i] = i % 3;
    assert_int_equal(anygp_data_new(N, 1, X, 1, y, NULL, &data, NULL), ANYGP_OK);
    for (int64_t i = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        anygp_settings *s = anygp_settings_new();
        anygp_model *fitted = NULL;
        const char *M = model_takes_pair(m) ? "6/4" : model_takes_sets(m) ? "3+3" : "6";
        const char *pairs[][2] = {
            {"model", m->name}, {"iters", "1"}, {"valid", "0"}, {"threads", "1"}, {"inducing", M}};
        /* vnngp has an inducing variable at every row already */
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs - model_has_neighbours(m); k++)
            assert_int_equal(anygp_set(s, pairs[k][0], pairs[k][1], NULL), ANYGP_OK);
        assert_int_equal(anygp_fit(s, data, &fitted, NULL), ANYGP_OK);
        bool joint = anygp_predict_joint(fitted, 0, 2, at, 1, ANYGP_LATENT, mean, covariance, NULL) == ANYGP_OK;
        if (joint != m->needs.joint) fail_msg("%s: joint distributions", m->name);
        anygp_model_free(fitted);
        anygp_settings_free(s);
    }
    anygp_data_free(data);
}

static void what_a_model_does_not_take_is_refused(void **state)
{
    (void)state;
    model_ops plain = model_dtc;
    model_choice c = {.model = &plain};
    anygp_error e;
    settings *s = anygp_settings_new();
    assert_int_equal(choice_check_rows(&c, s, true, &e), ANYGP_OK);
    plain.needs.mean = plain.needs.weights = false;
    assert_int_equal(choice_check_rows(&c, s, false, &e), ANYGP_OK);
    assert_int_equal(choice_check_rows(&c, s, true, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "weights: dtc takes no weights; leave --weights out, or use --model exact"));
    assert_int_equal(anygp_set(s, "mean", "linear", NULL), ANYGP_OK);
    assert_int_equal(choice_check_rows(&c, s, false, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "mean: dtc takes no prior mean"));
    anygp_settings_free(s);
}

/* ------------------------------------------------------------------------------------------- cost */

enum { INPUTS = 4 };

typedef struct sizes {
    double n, b, m, j, o, ma, mb;
} sizes;

/* Sums of products of sizes and of brackets, each with a power: "b (m^2+o)". */
static double sum_of(const char **at, const sizes *z);

static double factor_of(const char **at, const sizes *z)
{
    double v = 1;
    if (**at == '(') {
        ++*at;
        v = sum_of(at, z);
        assert_int_equal(*(*at)++, ')');
    } else if (!strncmp(*at, "ma", 2) || !strncmp(*at, "mb", 2))
        v = (*at)[1] == 'a' ? z->ma : z->mb, *at += 2;
    else if (**at == 'd')
        v = INPUTS, ++*at;
    else if (**at == 'k') /* neighbours */
        v = 30, ++*at;
    else if (**at == 'q') /* places on borders: 5 in each direction of a side, half of a cell's sides */
        v = z->n / z->j * INPUTS * pow(5, INPUTS - 1), ++*at;
    else {
        const char *names = "nbmjo", *found = strchr(names, *(*at)++);
        assert_true(found && *found);
        v = (&z->n)[found - names];
    }
    if (**at == '^') v = pow(v, (*at)[1] - '0'), *at += 2;
    return v;
}

static double sum_of(const char **at, const sizes *z)
{
    double sum = 0;
    do {
        double product = 1;
        if (**at == '+') ++*at;
        do {
            *at += strspn(*at, " ");
            product *= factor_of(at, z);
        } while (**at == ' ');
        sum += product;
    } while (**at == '+');
    return sum;
}

/* A kernel entry is worth 20 operations. */
static model_cost cost_at(const model_ops *m, const sizes *z, double scale)
{
    cost_facts f = {.rows = z->n,
                    .distinct = z->n,
                    .inputs = INPUTS,
                    .targets = 1,
                    .latents = 1,
                    .batch = z->b,
                    .threads = 2,
                    .products = scale,
                    .entries = 0.05 * scale};
    cost_size s = {.M = z->m, .part = z->j, .largest = 2 * z->j};
    if (model_takes_sets(m)) s.M = z->m + z->o, s.first = z->m;
    if (model_takes_pair(m)) s.M = z->ma + z->mb, s.first = z->ma;
    return m->cost(m, &f, &s);
}

/* From small sizes to large ones, each a few times over, the seconds stay in proportion to what the table says in words. */
static void seconds_grow_as_the_words_say(void **state)
{
    (void)state;
    for (int64_t i = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        double least = INFINITY, most = 0;
        for (int k = 0; k < 64; k++) {
            sizes z = {k & 1 ? 1e6 : 1e5,   k & 2 ? 4096 : 1024,   k & 4 ? 800 : 100, k & 8 ? 900 : 150,
                       k & 16 ? 2000 : 500, k & 32 ? 60000 : 8000, k & 4 ? 400 : 100};
            if (strchr(m->order, 'o') == NULL && model_takes_sets(m)) z.o = 0;
            const char *at = m->order;
            double words = sum_of(&at, &z), ratio = cost_seconds(cost_at(m, &z, 1)) / words;
            assert_int_equal(*at, 0);
            least = fmin(least, ratio), most = fmax(most, ratio);
        }
        if (!(least > 0 && most < 25 * least))
            fail_msg("%s is not of order %s: from %g to %g of it", m->name, m->order, least, most);
    }
}

static void costs_are_finite_and_never_fall(void **state)
{
    (void)state;
    const sizes z = {1e5, 1024, 200, 300, 400, 5000, 100};
    for (int64_t i = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        const model_cost first = cost_at(m, &z, 1e10);
        assert_true(isfinite(cost_seconds(first)) && first.rows > 0 && first.head >= 0);
        assert_true(first.bytes > 0 && first.kept >= 0 && first.last >= 0);
        assert_true((first.kept > 0) ==
                    (model_has_inducing(m) && m->evaluate)); /* passes keep features for their reverse */
        for (size_t k = 0; k < sizeof z / sizeof(double); k++) {
            sizes more = z;
            if (m == &model_patchwork && k == offsetof(sizes, j) / sizeof(double)) continue; /* fewer borders */
            (&more.n)[k] *= 2;
            model_cost c = cost_at(m, &more, 1e10);
            if (c.bytes < first.bytes || cost_seconds(c) < cost_seconds(first))
                fail_msg("%s: size %d", m->name, (int)k);
        }
    }
}

/* A combination takes what its terms take. */
static void seconds_of_a_combination_are_the_sum_of_its_terms(void **state)
{
    (void)state;
    const sizes z = {1e5, 1024, 200, 300, 0, 0, 0};
    const model_ops *m = combination();
    double sum = cost_seconds(cost_at(&model_dtc, &z, 1e10)) + cost_seconds(cost_at(&model_pitc, &z, 1e10));
    check_close(cost_seconds(cost_at(m, &z, 1e10)), sum, 1e-12);
    assert_true(cost_at(m, &z, 1e10).bytes == cost_at(&model_pitc, &z, 1e10).bytes);
    model_free(m);
}

/* ------------------------------------------------------------------------------ the list as texts */

static void public_list_is_the_table(void **state)
{
    (void)state;
    assert_true(anygp_model_count() > model_count()); /* combinations have a line too */
    for (int64_t i = 0; i < model_count(); i++) {
        assert_string_equal(anygp_model_field(i, "name"), model_at(i)->name);
        assert_string_equal(anygp_model_field(i, "cost"), model_at(i)->order);
        assert_string_equal(anygp_model_field(i, "update"), model_at(i)->update ? "yes" : "no");
        assert_string_equal(anygp_model_field(i, "learning"), model_at(i)->steps ? "steps" : "passes");
    }
    assert_string_equal(anygp_model_field(anygp_model_count() - 1, "name"), "combine");
    assert_string_equal(anygp_model_field(anygp_model_count() - 1, "learning"), "none");
    assert_null(anygp_model_field(0, "colour"));
    assert_null(anygp_model_field(-1, "name"));
    assert_null(anygp_model_field(anygp_model_count(), "name"));
    assert_null(anygp_model_field(0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_agree_with_the_functions),
        cmocka_unit_test(joint_distributions_are_there_where_the_table_says_so),
        cmocka_unit_test(what_a_model_does_not_take_is_refused),
        cmocka_unit_test(seconds_grow_as_the_words_say),
        cmocka_unit_test(costs_are_finite_and_never_fall),
        cmocka_unit_test(seconds_of_a_combination_are_the_sum_of_its_terms),
        cmocka_unit_test(public_list_is_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
