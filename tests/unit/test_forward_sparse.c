/* Sparse models written forward on the tape, as entries of a table of models, against those written by hand; threads; what is
   said where something is wrong. */
#include "sparse_support.h"

#include "base/deadline.h"
#include "base/threads.h"
#include "model/reference/forward_models.h"

enum { GRADIENT = 32 + M * D };
#ifdef ANYGP_PLAIN_SUMS /* without BLAS or with the reference BLAS: sums over rows round more */
static const double CLOSE = 1e-9;
#else
static const double CLOSE = 1e-10;
#endif

static const forward_model *family(const model_ops *self) { return self->family; }

static anygp_status open_forward(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)h;
    return forward_open(family(self), NULL, 0, NULL, p, (forward **)state, e);
}

#define ENTRY(name_, of)                                                                                               \
    {                                                                                                                  \
        .name = name_, .family = &of, .open = open_forward, .evaluate = forward_evaluate, .failure = forward_failure,  \
        .rows = forward_rows, .close = forward_close                                                                   \
    }
static const struct pair {
    const model_ops *by_hand, on_tape;
} pairs[] = {
    {&model_vfe, ENTRY("vfe-forward", forward_vfe)},
    {&model_fitc, ENTRY("fitc-forward", forward_fitc)},
    {&model_pitc, ENTRY("pitc-forward", forward_pitc)},
};
#define FOR_EACH_PAIR(q) for (const struct pair *q = pairs; q < pairs + sizeof pairs / sizeof *pairs; q++)

static const struct pair *pair_of(const model_ops *m)
{
    FOR_EACH_PAIR(q) if (q->by_hand == m) return q;
    return NULL;
}

/* A kernel and Z as they are before and after a change of both. */
static void compare_models(fixture *f, const struct pair *q, bool learn_Z)
{
    void *state;
    anygp_error e;
    double value[2], g[2][GRADIENT], jitter = 1e-5;
    assert_int_equal(q->on_tape.open(&q->on_tape, &f->p, &f->h, &state, &e), ANYGP_OK);
    assert_true(q->on_tape.rows(state) == q->by_hand->rows(f->state));
    if (f->h.C) { /* scaled variables are refused, not taken for points */
        assert_false(q->on_tape.evaluate(state, &f->h, false, &jitter, &value[1], NULL));
        assert_int_equal(q->on_tape.failure(state)->status, ANYGP_ERR_INTERNAL);
        q->on_tape.close(state);
        return;
    }
    for (int round = 0; round < 2; round++) {
        params_find(&f->h.all, HYPER_PLACES)->learned = learn_Z;
        hyper_bind(&f->h);
        for (int without = 0; without < 2; without++) {
            assert_true(q->by_hand->evaluate(f->state, &f->h, false, &jitter, &value[0], without ? NULL : g[0]));
            assert_true(q->on_tape.evaluate(state, &f->h, false, &jitter, &value[1], without ? NULL : g[1]));
            check_close(value[0], value[1], CLOSE);
        }
        for (int64_t i = 0; i < hyper_size(&f->h); i++) check_close(g[0][i], g[1][i], CLOSE);
        kernel_values(f->h.kernel)[0] *= 1.3;
        f->h.Z[0] += 0.1;
    }
    q->on_tape.close(state);
}

static void sparse_models_on_the_tape_are_those_by_hand(void **unused)
{
    (void)unused;
    fixture f;
    FOR_EACH_PAIR(q)
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int learn_Z = 0; learn_Z < 2; learn_Z++) {
            setup(&f, q->by_hand, v->expression, v->mean, v->weights, true);
            compare_models(&f, q, learn_Z);
            teardown(&f, q->by_hand);
        }
}

/* ------------------------------------------------------------------------------- many rows, threads */

enum { MANY = 12000, LARGE = 96, MANY_BLOCKS = 50 };

/* Enough work for the driver to wake a second thread. */
static void two_threads_give_what_one_gives(void **unused)
{
    (void)unused;
    static double X[MANY * D], y[MANY], Z[LARGE * D], g[3][LARGE * D + 8];
    int64_t start[MANY_BLOCKS + 1];
    fixture f;
    void *state;
    anygp_error e;
    double value[3], jitter = 1e-3;
    const struct pair *q = pair_of(&model_fitc);
    fill_normal(1, MANY * D, X);
    fill_normal(2, MANY, y);
    fill_normal(3, LARGE * D, Z);
    for (int64_t i = 0; i <= MANY_BLOCKS; i++) start[i] = MANY * i / MANY_BLOCKS;
    setup(&f, &model_fitc, "matern32", MEAN_ZERO, false, true);
    model_fitc.close(f.state);
    blocks_free(f.blocks);
    assert_int_equal(blocks_of_arrays(MANY_BLOCKS, start, D, 1, X, y, NULL, &f.blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&f.h, LARGE, D, Z, true, &e), ANYGP_OK);
    f.p.blocks = f.blocks;
    for (int i = 0; i < 3; i++) {
        int former = threads_enter(i == 1 ? 1 : 2);
        const model_ops *m = i == 2 ? q->by_hand : &q->on_tape;
        assert_int_equal(m->open(m, &f.p, &f.h, i == 2 ? &f.state : &state, &e), ANYGP_OK);
        assert_true(m->evaluate(i == 2 ? f.state : state, &f.h, false, &jitter, &value[i], g[i]));
        if (i < 2) m->close(state);
        threads_enter(former);
    }
    for (int i = 0; i < 2; i++) {
        check_close(value[i], value[2], CLOSE);
        for (int64_t j = 0; j < hyper_size(&f.h); j++) check_close(g[i][j], g[2][j], CLOSE);
    }
    teardown(&f, &model_fitc);
}

/* ------------------------------------------------------------------------------------------ failure */

static void no_prepare(tape *t, forward_view *g) { (void)t, (void)g; }
static node *rows_as_statistic(tape *t, const forward_view *g, const forward_block *b)
{
    return (void)t, (void)g, b->y;
}
static node *sum_of(tape *t, const forward_view *g, node *sum) { return (void)g, tape_sum(t, sum); }

static node *shapes_that_do_not_fit(tape *t, const forward_view *g, const forward_block *b)
{
    return tape_sum(t, tape_gemm(t, LA_N, b->X, LA_N, g->v[FORWARD_Z]));
}

static void check_sentence(fixture *f, const forward_model *m, const char *part)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0;
    assert_int_equal(forward_open(m, NULL, 0, NULL, &f->p, &state, &e), ANYGP_OK);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, false, &jitter, &value, NULL, &e), ANYGP_ERR_INTERNAL);
    if (!strstr(e.text, part)) print_error("%s\n", e.text);
    assert_non_null(strstr(e.text, part));
    forward_close(state);
}

/* Two equal inducing inputs have a singular K_uu: an error without jitter, unless it may grow. */
static void check_jitter(fixture *f)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0, g[GRADIENT];
    memcpy(f->h.Z + D, f->h.Z, D * sizeof(double));
    assert_int_equal(forward_open(&forward_vfe, NULL, 0, NULL, &f->p, &state, &e), ANYGP_OK);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, false, &jitter, &value, g, &e), ANYGP_ERR_NUMERIC);
    assert_true(jitter == 0);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, true, &jitter, &value, g, &e), ANYGP_OK);
    assert_true(jitter > 0 && jitter < 1e-6);
    forward_close(state);
}

/* As a model of the table it has a gradient in hyper alone. */
static void check_own(fixture *f)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0, g[GRADIENT];
    forward_param own = {1, 1, &jitter};
    assert_int_equal(forward_open(&forward_vfe, NULL, 1, &own, &f->p, &state, &e), ANYGP_OK);
    assert_false(forward_evaluate(state, &f->h, true, &jitter, &value, g));
    assert_int_equal(forward_failure(state)->status, ANYGP_ERR_INTERNAL);
    forward_close(state);
}

static void what_is_wrong_with_a_model_is_said(void **unused)
{
    (void)unused;
    fixture f;
    setup(&f, &model_vfe, "rbf", MEAN_ZERO, false, true);
    forward_model m = {.rows_alone = true, .prepare = no_prepare, .stat = rows_as_statistic, .head = sum_of};
    check_sentence(&f, &m, "the statistic of 2 rows has 2 numbers and that of one row 1");
    m.stat = shapes_that_do_not_fit;
    check_sentence(&f, &m, "the operands of gemm do not fit: 2 x 1 and 2 x 6");
    m.made = FORWARD_NODES;
    assert_int_equal(forward_open(&m, NULL, 0, NULL, &f.p, &(forward *){NULL}, NULL), ANYGP_ERR_INTERNAL);
    check_jitter(&f);
    check_own(&f);
    forward_close(NULL);
    teardown(&f, &model_vfe);
}

static void a_pass_that_the_clock_ends_is_no_value(void **unused)
{
    (void)unused;
    fixture f;
    forward *state;
    anygp_error e;
    double value, jitter = 1e-6;
    deadline over = {.began = 0, .limit = -1};
    setup(&f, &model_vfe, "rbf", MEAN_ZERO, false, true);
    f.p.pass = &over;
    assert_int_equal(forward_open(&forward_vfe, NULL, 0, NULL, &f.p, &state, &e), ANYGP_OK);
    assert_false(forward_evaluate(state, &f.h, false, &jitter, &value, NULL));
    assert_int_equal(forward_failure(state)->status, ANYGP_TIME_LIMIT);
    f.p.pass = NULL;
    assert_true(forward_evaluate(state, &f.h, false, &jitter, &value, NULL));
    assert_int_equal(forward_failure(state)->status, ANYGP_OK);
    forward_close(state);
    teardown(&f, &model_vfe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_models_on_the_tape_are_those_by_hand),
        cmocka_unit_test(two_threads_give_what_one_gives),
        cmocka_unit_test(what_is_wrong_with_a_model_is_said),
        cmocka_unit_test(a_pass_that_the_clock_ends_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
