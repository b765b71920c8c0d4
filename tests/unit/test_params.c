/* Named segments: whatever is in the list, pack, chain rule, prior and copies treat each number by its own facts. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "params/ascent.h"

enum { D = 2, M = 3, MOST = 32 };
static const double unit[D] = {2, 0.5};

static kernel *new_kernel(const char *text)
{
    kernel *k;
    anygp_error e;
    kernel_input in[D];
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(text, in, D, D, &k, &e), ANYGP_OK);
    return k;
}

/* Two kernels, a real and a positive parameter of a likelihood, places that are learned and numbers that are not. */
static void fill(hyper *h)
{
    anygp_error e;
    double Z[M * D], W[4] = {1, 2, 3, 4};
    likelihood l;
    fill_normal(3, M * D, Z);
    assert_int_equal(hyper_init(h, new_kernel("rbf(variance=1.3,lengthscale=[0.5,1.5])"), NAN, false, false, true, &e),
                     ANYGP_OK);
    assert_int_equal(likelihood_parse("studentt", &l, &e), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(h, &l, 1, false, &e), ANYGP_OK);
    hyper_facts(h, h->count - 1)->real = true, hyper_facts(h, h->count - 1)->free = true;
    assert_int_equal(hyper_set_units(h, D, unit, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(h, M, D, Z, true, &e), ANYGP_OK);
    assert_int_equal(params_put_bulk(&h->all, "layer1.W", 2, 2, W, NULL, false, &e), ANYGP_OK);
    assert_int_equal(params_put_kernel(&h->all, "layer2.kernel", new_kernel("matern52"), false, &e), ANYGP_OK);
    hyper_bind(h);
}

/* A function of all natural values of learned numbers, and its gradient as models give it. */
static double smooth(const hyper *h, double *gp)
{
    double sum = 0;
    int64_t at = 0;
    for (int64_t k = 0; k < h->all.count; k++) {
        const param_segment *s = &h->all.at[k];
        if (!s->facts && !s->learned) continue;
        if (gp) assert_int_equal(params_place(&h->all, s), at);
        for (int64_t i = 0; i < param_segment_size(s); i++, at++) {
            double p = s->values[i], c = 0.3 + 0.1 * (double)at;
            sum += sin(c * p) + 0.2 * p * p;
            if (gp) gp[at] = c * cos(c * p) + 0.4 * p;
        }
    }
    if (gp) assert_int_equal(at, hyper_size(h));
    return sum;
}

static double with_prior(void *ctx, const double *u)
{
    hyper *h = ctx;
    hyper_unpack(h, u);
    return smooth(h, NULL) + hyper_log_prior(h, NULL);
}

static void the_chain_rule_and_the_prior_have_the_slopes_of_u(void **state)
{
    (void)state;
    hyper h;
    double u[MOST], gp[MOST], gu[MOST];
    fill(&h);
    assert_true(h.free <= MOST && hyper_size(&h) <= MOST);
    assert_int_equal(h.free, 3 + h.likes + M * D + 3);
    hyper_begin(&h, u);
    smooth(&h, gp);
    hyper_chain(&h, gp, gu);
    hyper_log_prior(&h, gu);
    for (int64_t i = 0; i < h.free; i++) check_close(gu[i], central_difference(with_prior, &h, u, i, 1e-6), 1e-8);
    h.all.prior = false;
    assert_true(hyper_log_prior(&h, NULL) == 0);
    hyper_clear(&h);
}

static void values_are_what_u_says(void **state)
{
    (void)state;
    hyper h;
    double u[MOST];
    fill(&h);
    int64_t places = 3 + h.likes;
    fill_normal(5, h.free, u);
    hyper_unpack(&h, u);
    check_close(hyper_get(&h, 0), hyper_facts(&h, 0)->lower + exp(u[0]), 1e-15);
    assert_true(hyper_get(&h, h.count - 1) == u[h.count - 1]);
    for (int64_t k = 0; k < M * D; k++) assert_true(h.Z[k] == u[places + k] * unit[k % D]);
    const param_segment *second = params_find(&h.all, "layer2.kernel"), *W = params_find(&h.all, "layer1.W");
    check_close(kernel_values(second->kernel)[1], second->facts[1].lower + exp(u[places + M * D + 1]), 1e-15);
    for (int i = 0; i < 4; i++) assert_true(W->values[i] == i + 1);
    double again[MOST];
    hyper_pack(&h, again);
    for (int64_t i = 0; i < h.free; i++) check_close(again[i], u[i], 1e-6);
    hyper_clear(&h);
}

static void a_copy_has_kernels_and_numbers_of_its_own(void **state)
{
    (void)state;
    hyper h, copy;
    anygp_error e;
    double u[MOST], moved[MOST], back[MOST];
    fill(&h);
    hyper_begin(&h, u);
    assert_int_equal(hyper_copy(&h, &copy, &e), ANYGP_OK);
    assert_true(copy.kernel != h.kernel && copy.Z != h.Z && copy.free == h.free);
    for (int64_t i = 0; i < h.free; i++) moved[i] = u[i] + 0.1;
    hyper_unpack(&copy, moved);
    hyper_pack(&h, back);
    for (int64_t i = 0; i < h.free; i++) check_close(back[i], u[i], 1e-12);
    hyper_pack(&copy, back);
    for (int64_t i = 0; i < h.free; i++) check_close(back[i], moved[i], 1e-6);
    hyper_clear(&copy);
    assert_int_equal(hyper_gaussian(&h, 2, &copy, &e), ANYGP_OK);
    assert_true(copy.all.count == 2 && copy.M == 0 && copy.likes == 1 && copy.free == 4);
    hyper_clear(&copy);
    hyper_clear(&h);
}

static void a_segment_is_replaced_in_its_place(void **state)
{
    (void)state;
    hyper h;
    anygp_error e;
    double Z[2 * D] = {1, 2, 3, 4};
    fill(&h);
    int64_t count = h.all.count, place = params_place(&h.all, params_find(&h.all, "Z"));
    assert_int_equal(hyper_set_inducing(&h, 2, D, Z, true, &e), ANYGP_OK);
    assert_int_equal(h.all.count, count);
    assert_int_equal(params_place(&h.all, params_find(&h.all, "Z")), place);
    assert_true(h.M == 2 && !memcmp(h.Z, Z, sizeof Z));
    hyper_clear(&h);
}

static void numbers_that_cannot_be_are_noticed_in_every_segment(void **state)
{
    (void)state;
    hyper h;
    fill(&h);
    assert_true(hyper_is_sound(&h));
    for (int64_t k = 0; k < h.all.count; k++) {
        double *last = &h.all.at[k].values[param_segment_size(&h.all.at[k]) - 1], kept = *last;
        *last = NAN;
        assert_false(hyper_is_sound(&h));
        *last = kept;
    }
    hyper_set(&h, 0, 0); /* a variance */
    assert_false(hyper_is_sound(&h));
    hyper_clear(&h);
}

/* Rows that join later have Adam's first step before them, and the others are where they would have been. */
static void rows_that_are_appended_begin_their_own_steps(void **state)
{
    (void)state;
    anygp_error e;
    double values[2 * D] = {1, 2, 3, 4}, more[D] = {5, 6}, g[3 * D] = {1, -1, 2, -2, 3, -3};
    param_segment alone = segment_that_grows("alone", D), grown = segment_that_grows("grown", D),
                  back = segment_that_grows("grown", D);
    assert_int_equal(segment_append(&alone, 2, values, &e), ANYGP_OK);
    assert_int_equal(segment_append(&grown, 2, values, &e), ANYGP_OK);
    for (int t = 0; t < 5; t++) {
        if (t == 3) assert_int_equal(segment_append(&grown, 1, more, &e), ANYGP_OK);
        assert_int_equal(segment_step(&alone, 0.1, g, 1, &e), ANYGP_OK);
        assert_int_equal(segment_step(&grown, 0.1, g, 1, &e), ANYGP_OK);
    }
    assert_int_equal(grown.rows, 3);
    assert_memory_equal(alone.values, grown.values, sizeof values);
    assert_true(grown.adam.age[1] == 5 && grown.adam.age[2] == 2);
    check_close(grown.values[4], 5 + 2 * 0.1, 1e-8), check_close(grown.values[5], 6 - 2 * 0.1, 1e-8);
    checkpoint *c = checkpoint_new();
    segment_save(&grown, c);
    assert_true(segment_restore(&back, c) && !segment_restore(&alone, c));
    assert_int_equal(segment_step(&grown, 0.1, g, 1, &e), ANYGP_OK);
    assert_int_equal(segment_step(&back, 0.1, g, 1, &e), ANYGP_OK);
    assert_memory_equal(back.values, grown.values, 3 * D * sizeof(double));
    checkpoint_free(c);
    segment_clear(&alone), segment_clear(&grown), segment_clear(&back);
}

/* Places that join later have a u of their own, and the state of the others goes on. */
static void inducing_inputs_that_are_added_join_the_ascent(void **state)
{
    (void)state;
    hyper h;
    ascent a;
    anygp_error e;
    double Z[D] = {0.5, -0.5};
    fill(&h);
    assert_int_equal(ascent_init(&a, &h, &e), ANYGP_OK);
    assert_int_equal(ascent_begin(&a, &h, &e), ANYGP_OK);
    for (int t = 0; t < 2; t++) smooth(&h, a.gp), ascent_slope(&a, &h), ascent_step(&a, 0.02), hyper_unpack(&h, a.u);
    int64_t before = h.M, free_before = h.free;
    double first = h.Z[0];
    assert_int_equal(hyper_add_inducing(&h, 1, Z, &e), ANYGP_OK);
    assert_int_equal(ascent_extend(&a, &h, &e), ANYGP_OK);
    assert_true(h.M == before + 1 && h.free == free_before + D && a.n == h.free);
    check_close(h.Z[0], first, 1e-12), check_close(h.Z[before * D + 1], -0.5, 1e-12);
    const param_segment *s = params_find(&h.all, "Z");
    assert_true(s->adam.rows == before + 1 && s->adam.age[0] == 2 && s->adam.age[before] == 0);
    ascent_clear(&a);
    hyper_clear(&h);
}

/* Saved after some steps and restored into another list: the same steps from there. */
static void an_ascent_goes_on_from_a_checkpoint_with_the_same_bits(void **state)
{
    (void)state;
    hyper h[2];
    ascent a[2];
    anygp_error e;
    checkpoint *c = checkpoint_new();
    for (int i = 0; i < 2; i++) {
        fill(&h[i]);
        assert_int_equal(ascent_init(&a[i], &h[i], &e), ANYGP_OK);
        assert_int_equal(ascent_begin(&a[i], &h[i], &e), ANYGP_OK);
    }
    for (int t = 0; t < 12; t++) {
        if (t == 5) {
            ascent_save(&a[0], c);
            assert_true(ascent_restore(&a[1], &h[1], c));
        }
        for (int i = 0; i < (t < 5 ? 1 : 2); i++) {
            smooth(&h[i], a[i].gp);
            ascent_slope(&a[i], &h[i]);
            ascent_keep(&a[i]);
            ascent_step(&a[i], 0.02);
            hyper_unpack(&h[i], a[i].u);
        }
    }
    assert_memory_equal(a[0].u, a[1].u, (size_t)h[0].free * sizeof(double));
    double before = a[0].before[0];
    ascent_back(&a[0], &h[0]);
    assert_true(a[0].u[0] == before && smooth(&h[0], NULL) != smooth(&h[1], NULL));
    checkpoint_free(c);
    c = checkpoint_new();
    assert_false(ascent_restore(&a[1], &h[1], c));
    checkpoint_free(c);
    for (int i = 0; i < 2; i++) ascent_clear(&a[i]), hyper_clear(&h[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chain_rule_and_the_prior_have_the_slopes_of_u),
        cmocka_unit_test(values_are_what_u_says),
        cmocka_unit_test(a_copy_has_kernels_and_numbers_of_its_own),
        cmocka_unit_test(a_segment_is_replaced_in_its_place),
        cmocka_unit_test(numbers_that_cannot_be_are_noticed_in_every_segment),
        cmocka_unit_test(rows_that_are_appended_begin_their_own_steps),
        cmocka_unit_test(inducing_inputs_that_are_added_join_the_ascent),
        cmocka_unit_test(an_ascent_goes_on_from_a_checkpoint_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
