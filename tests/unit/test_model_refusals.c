/* What every model does with new rows, and what it cannot do (models_support.h): that is refused by a sentence with its name, and
   entries that a table may lack are never called. */
#include "data_support.h"
#include "models_support.h"

/* ---------------------------------------------------------------------------------------- new rows */

static double rows_told(const anygp_model *m)
{
    char *text;
    double rows = NAN;
    anygp_error e;
    assert_int_equal(anygp_info(m, 1, &text, &e), ANYGP_OK);
    const char *at = strstr(text, "\n  \"rows\": ");
    assert_non_null(at);
    sscanf(at, "\n  \"rows\": %lf", &rows);
    anygp_text_free(text);
    return rows;
}

static anygp_status update(anygp_model *m, const subject *s, anygp_error *e)
{
    double X[(ROWS + LATER) * D], Y[(ROWS + LATER) * TARGETS], later[LATER * TARGETS];
    case_rows(s, ROWS + LATER, X, Y);
    for (int64_t t = 0; t < s->targets; t++)
        memcpy(later + t * LATER, Y + t * (ROWS + LATER) + ROWS, LATER * sizeof *later);
    return anygp_update(m, NULL, LATER, X + ROWS * D, D, later, NULL, e);
}

/* Refused by a sentence that names the model, which stays as it is. */
static void check_refused_update(anygp_model *m, const subject *s)
{
    anygp_error e = {.text = ""};
    answers before = ask(m);
    assert_int_equal(update(m, s, &e), ANYGP_ERR_ARGUMENT);
    if (!strstr(e.text, s->name)) fail_msg("%s: the refusal does not name it: %s", s->name, e.text);
    answers after = ask(m);
    check_same_bits(s, "the model after a refused update", &before, &after);
}

static void check_update(const subject *s, anygp_model *m)
{
    anygp_error e;
    if (!gp_of(m)->model->update) {
        check_refused_update(m, s);
    } else {
        answers before = ask(m);
        if (update(m, s, &e)) fail_msg("%s: %s", s->name, e.text);
        answers after = ask(m); /* finite, or it fails */
        if (same_bits(&before, &after)) fail_msg("%s, %s: new rows changed nothing", s->name, s->likelihood);
        assert_true(rows_told(m) == ROWS + LATER);
    }
}

static void takes_new_rows(const subject *s) { for_each_kind(s, check_update); }

static void new_rows_are_learned_from_or_refused(void **unused)
{
    (void)unused;
    for_each_subject(true, takes_new_rows);
}

/* At hyperparameters and places that stay, sums over rows do not mind when the rows come: so it is for all models whose
   posterior is in closed form.  Of the others test_uncollapsed.c and test_svdgp_posterior.c say how close it is. */
static void equals_a_fit_to_all_rows(const subject *s)
{
    /* From the kernel and the seed: they stay by themselves; or there are none. */
    bool drawn = model_draws_inducing(s->ops) || !has_inducing(s->ops);
    const char *const given[] = {"kernel",
                                 "rbf(variance=1.2,lengthscale=[0.9,1.3])",
                                 "noise",
                                 "0.05",
                                 "fix",
                                 "all",
                                 "standardize",
                                 "none",
                                 "blocks",
                                 "1",
                                 drawn ? "seed" : "inducing-from",
                                 drawn ? "7" : "places.csv",
                                 "jitter",
                                 "1e-6",
                                 NULL};
    outcome some, all;
    anygp_error e;
    if (!s->ops->update || by_steps(s->ops)) return;
    if (takes_likelihoods(s->ops)) return; /* vnngp: its q is found by iteration, test_vnngp.c */
    if (s->ops->local)
        return; /* a term of the kernel begins at values of the data: tests/cli/test_hier.sh gives them */
    FILE *f = fopen("places.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < 8; i++) fprintf(f, "%g,%g\n", cos(i), sin(1.7 * i));
    fclose(f);
    fit_rows(s, ROWS, given, NULL, NULL, &some);
    fit_rows(s, ROWS + LATER, given, NULL, NULL, &all);
    if (!some.model || !all.model) fail_msg("%s: %s%s", s->name, some.e.text, all.e.text);
    if (!gp_of(some.model)->model->update) { /* exact+ is run by another table than exact */
        anygp_model_free(some.model);
        anygp_model_free(all.model);
        return;
    }
    if (update(some.model, s, &e)) fail_msg("%s: %s", s->name, e.text);
    answers one = ask(some.model), two = ask(all.model);
    /* The new rows of a partition are a block of their own where no row is routed. */
    bool other_blocks = over_parts(s->ops) && !blocks_of(gp_of(some.model)->posterior);
    for (int i = 0; i < 2 * NEW && !other_blocks; i++)
        check_close_at(one.cell[i], two.cell[i], 1e-7, s->name, __FILE__, __LINE__);
    anygp_model_free(some.model);
    anygp_model_free(all.model);
}

static void an_update_in_closed_form_equals_a_fit_to_all_rows(void **unused)
{
    (void)unused;
    for_each_subject(false, equals_a_fit_to_all_rows);
}

/* ------------------------------------------------------------------------- what a model cannot do */

/* Runs `act` with a posterior whose table lacks some entries. */
static void with_posterior_table(const subject *s, anygp_model *m, const posterior_ops *less, model_check *act)
{
    posterior *p = gp_of(m)->posterior;
    const posterior_ops *own = p->ops;
    p->ops = less;
    act(s, m);
    p->ops = own;
}

static void check_refusal(const subject *s, anygp_status status, const anygp_error *e, const char *what)
{
    if (status != ANYGP_ERR_ARGUMENT) fail_msg("%s: %s has the status %d: %s", s->name, what, (int)status, e->text);
    if (!strstr(e->text, s->name)) fail_msg("%s: %s is refused without its name: %s", s->name, what, e->text);
}

static void cannot_draw(const subject *s, anygp_model *m)
{
    double X[NEW * D], mean[NEW], covariance[NEW * NEW];
    anygp_error e = {.text = ""};
    new_rows(X);
    check_refusal(s, anygp_predict_joint(m, 0, NEW, X, D, ANYGP_LATENT, mean, covariance, &e), &e, "a joint");
    e.text[0] = 0;
    check_refusal(s, anygp_sample(m, 0, NEW, X, D, 0, 1, 1, mean, &e), &e, "a draw");
}

static void cannot_take_blocks(const subject *s, anygp_model *m)
{
    double X[NEW * D], mean[NEW], variance[NEW];
    const int64_t block[NEW] = {0};
    anygp_error e = {.text = ""};
    new_rows(X);
    check_refusal(s, anygp_predict_blocks(m, 0, NEW, X, D, block, 0, mean, variance, &e), &e, "a given block");
}

/* More rows than a predictor takes before it would condense. */
static void predicts_all_the_same(const subject *s, anygp_model *m)
{
    enum { MANY = 4 * ROWS };
    double X[MANY * D], mean[MANY], variance[MANY];
    anygp_error e;
    fill_normal(24, MANY * D, X);
    if (anygp_predict(m, MANY, X, D, 0, mean, variance, &e)) fail_msg("%s: %s", s->name, e.text);
}

static void lacks_an_entry_of_its_posterior(const subject *s)
{
    anygp_model *m = fit_subject(s, NULL);
    const posterior_ops own = *gp_of(m)->posterior->ops;
    posterior_ops less = own;
    less.joint = NULL;
    with_posterior_table(s, m, &less, cannot_draw);
    less = own, less.condense = NULL;
    with_posterior_table(s, m, &less, predicts_all_the_same);
    less = own, less.blocks = NULL;
    with_posterior_table(s, m, &less, cannot_take_blocks);
    less = own, less.marginal_in = NULL;
    with_posterior_table(s, m, &less, cannot_take_blocks);
    anygp_model_free(m);
}

static void what_a_posterior_has_not_is_refused_by_name_and_never_called(void **unused)
{
    (void)unused;
    for_each_subject(false, lacks_an_entry_of_its_posterior);
}

static void lacks_updates(const subject *s)
{
    anygp_model *m = fit_subject(s, NULL);
    const model_ops *own = gp_of(m)->model;
    model_ops less = *own;
    less.update = NULL;
    gp_of(m)->model = &less;
    check_refused_update(m, s);
    gp_of(m)->model = own;
    anygp_model_free(m);
}

static void a_model_without_updates_refuses_them_by_name(void **unused)
{
    (void)unused;
    for_each_subject(false, lacks_updates);
}

/* By the settings: NAME+, a likelihood, sets of inducing inputs, each of a model that has none of it. */
static void refuses_what_it_has_not(const subject *s)
{
    static const char *const classes[] = {"likelihood", "softmax", NULL};
    outcome o;
    if (s->anytime) return;
    if (!model_can_anytime(s->ops)) {
        char plus[sizeof s->name + 1];
        snprintf(plus, sizeof plus, "%s+", s->name);
        fit_rows(s, ROWS, (const char *const[]){"model", plus, NULL}, NULL, NULL, &o);
        assert_null(o.model);
        check_refusal(s, o.e.status, &o.e, "the anytime variant");
    }
    if (!takes_likelihoods(s->ops)) {
        fit_rows(s, ROWS, classes, NULL, NULL, &o);
        assert_null(o.model);
        check_refusal(s, o.e.status, &o.e, "softmax");
    }
    if (!has_sets(s->ops) && !has_pair(s->ops)) {
        fit_rows(s, ROWS, (const char *const[]){"inducing", "5+3", NULL}, NULL, NULL, &o);
        assert_null(o.model);
        check_refusal(s, o.e.status, &o.e, "M+M2");
    }
    if (!has_inducing(s->ops) || has_pair(s->ops)) {
        fit_rows(s, ROWS, (const char *const[]){"inducing", "auto", NULL}, NULL, NULL, &o);
        assert_null(o.model);
        check_refusal(s, o.e.status, &o.e, "inducing auto");
    }
}

static void variants_likelihoods_and_sets_a_model_has_not_are_refused_by_name(void **unused)
{
    (void)unused;
    for_each_subject(false, refuses_what_it_has_not);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_are_learned_from_or_refused),
        cmocka_unit_test(an_update_in_closed_form_equals_a_fit_to_all_rows),
        cmocka_unit_test(what_a_posterior_has_not_is_refused_by_name_and_never_called),
        cmocka_unit_test(a_model_without_updates_refuses_them_by_name),
        cmocka_unit_test(variants_likelihoods_and_sets_a_model_has_not_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
