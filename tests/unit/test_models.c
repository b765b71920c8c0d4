/* What holds for every model, by walking the table (models_support.h): predictions agree with each other, files and arrays come
   back with the same bits, new rows are taken or refused, what a model cannot do is refused by its name, and people
   can read about it.
   The other theorems of this kind have files of their own: test_model_gradients.c, test_model_runs.c, test_model_options.c. */
#include <dirent.h>

#include "data_support.h"
#include "models_support.h"

/* ----------------------------------------------------------------------------------- predictions agree */

enum { CELLS = NEW * CLASSES, SQUARE = NEW * NEW };

static void check_diagonal(const subject *s, int64_t C, const double *mean, const double *variance, const double *same,
                           const double *covariance)
{
    for (int64_t i = 0; i < NEW * C; i++) {
        int64_t c = i / NEW, row = i % NEW;
        check_close_at(same[i], mean[i], 1e-10, s->name, __FILE__, __LINE__);
        check_close_at(covariance[c * SQUARE + row * (NEW + 1)], variance[i], 1e-9, s->name, __FILE__, __LINE__);
    }
}

static void agrees_with_itself(const subject *s)
{
    double X[NEW * D], mean[CELLS], variance[CELLS], same[CELLS], covariance[SQUARE * CLASSES];
    anygp_model *m = fit_subject(s, NULL);
    const posterior *p = gp_of(m)->posterior;
    int64_t C = latents_of(p);
    assert_true(C <= CLASSES);
    new_rows(X);
    marginals_of(p, X, mean, variance);
    for (int64_t i = 0; i < NEW * C; i++) assert_true(isfinite(mean[i]) && variance[i] >= 0);
    joint_of(p, X, same, covariance);
    check_diagonal(s, C, mean, variance, same, covariance);
    marginals_of(p, X, same, NULL);
    for (int64_t i = 0; i < NEW * C; i++) check_close_at(same[i], mean[i], 1e-12, s->name, __FILE__, __LINE__);
    posterior *q = condensed_of(p);
    if (q) {
        marginals_of(q, X, same, covariance);
        for (int64_t i = 0; i < NEW * C; i++) {
            check_close_at(same[i], mean[i], 1e-9, s->name, __FILE__, __LINE__);
            check_close_at(covariance[i], variance[i], 1e-9, s->name, __FILE__, __LINE__);
        }
        free_posterior(q);
    }
    anygp_model_free(m);
}

static void the_joints_diagonal_means_alone_and_the_condensed_form_are_the_marginals(void **unused)
{
    (void)unused;
    for_each_subject(true, agrees_with_itself);
}

static int with_blocks; /* models that predict from blocks */

static void agrees_in_given_blocks(const subject *s)
{
    double X[NEW * D], mean[NEW], variance[NEW], same[NEW], covariance[SQUARE];
    int64_t block[NEW];
    anygp_model *m = fit_subject(s, NULL);
    const posterior *p = gp_of(m)->posterior;
    int64_t count = blocks_of(p);
    new_rows(X);
    for (int64_t i = 0; i < NEW; i++) block[i] = count ? i % count : 0;
    if (count) {
        joint_and_marginals_in(p, X, block, mean, variance, same, covariance);
        check_diagonal(s, 1, mean, variance, same, covariance);
        with_blocks++;
    }
    anygp_model_free(m);
}

static void the_same_holds_in_blocks_that_are_given(void **unused)
{
    (void)unused;
    with_blocks = 0;
    for_each_subject(false, agrees_in_given_blocks);
    assert_true(with_blocks >= 2); /* pic, pic+ */
}

/* ------------------------------------------------------------------------------------ there and back */

static void comes_back(const subject *s)
{
    double X[NEW * D], mean[2][CELLS], variance[2][CELLS];
    anygp_model *m = fit_subject(s, NULL), *again;
    anygp_error e;
    posterior *p = gp_of(m)->posterior, *q = reloaded(gp_of(m));
    new_rows(X);
    marginals_of(p, X, mean[0], variance[0]);
    marginals_of(q, X, mean[1], variance[1]);
    size_t bytes = (size_t)(NEW * latents_of(p)) * sizeof(double);
    if (memcmp(mean[0], mean[1], bytes) || memcmp(variance[0], variance[1], bytes))
        fail_msg("%s, %s: the posterior made of the arrays of another predicts other bits", s->name, s->likelihood);
    free_posterior(q);
    if (anygp_save(m, "model", &e) || anygp_load("model", &again, &e)) fail_msg("%s: %s", s->name, e.text);
    answers before = ask(m), after = ask(again);
    check_same_bits(s, "the model read from its file", &before, &after);
    char *text[2];
    assert_int_equal(anygp_info(m, 1, &text[0], &e) + anygp_info(again, 1, &text[1], &e), 0);
    assert_string_equal(text[0], text[1]);
    anygp_text_free(text[0]);
    anygp_text_free(text[1]);
    anygp_model_free(m);
    anygp_model_free(again);
}

static void arrays_and_files_come_back_with_the_same_bits(void **unused)
{
    (void)unused;
    for_each_subject(true, comes_back);
}

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
    double X[(ROWS + LATER) * D], y[ROWS + LATER];
    case_rows(s, ROWS + LATER, X, y);
    return anygp_update(m, NULL, LATER, X + ROWS * D, D, y + ROWS, NULL, e);
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

static void takes_new_rows(const subject *s)
{
    anygp_error e;
    anygp_model *m = fit_subject(s, NULL);
    if (!s->ops->update) {
        check_refused_update(m, s);
    } else {
        answers before = ask(m);
        if (update(m, s, &e)) fail_msg("%s: %s", s->name, e.text);
        answers after = ask(m); /* finite, or it fails */
        if (same_bits(&before, &after)) fail_msg("%s, %s: new rows changed nothing", s->name, s->likelihood);
        assert_true(rows_told(m) == ROWS + LATER);
    }
    anygp_model_free(m);
}

static void new_rows_are_learned_from_or_refused(void **unused)
{
    (void)unused;
    for_each_subject(true, takes_new_rows);
}

/* At hyperparameters and places that stay, sums over rows do not mind when the rows come: so it is for all models whose
   posterior is in closed form.  Of the others test_uncollapsed.c and test_svdgp_posterior.c say how close it is. */
static void equals_a_fit_to_all_rows(const subject *s)
{
    static const char *const given[] = {"kernel",
                                        "rbf(variance=1.2,lengthscale=[0.9,1.3])",
                                        "noise",
                                        "0.05",
                                        "fix",
                                        "all",
                                        "standardize",
                                        "none",
                                        "blocks",
                                        "1",
                                        "inducing-from",
                                        "places.csv",
                                        "jitter",
                                        "1e-6",
                                        NULL};
    outcome some, all;
    anygp_error e;
    if (!s->ops->update || by_steps(s->ops)) return;
    FILE *f = fopen("places.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < 8; i++) fprintf(f, "%g,%g\n", cos(i), sin(1.7 * i));
    fclose(f);
    fit_rows(s, ROWS, given, NULL, NULL, &some);
    fit_rows(s, ROWS + LATER, given, NULL, NULL, &all);
    if (!some.model || !all.model) fail_msg("%s: %s%s", s->name, some.e.text, all.e.text);
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
typedef void posterior_act(const subject *s, anygp_model *m);

static void with_posterior_table(const subject *s, anygp_model *m, const posterior_ops *less, posterior_act *act)
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
    double X[NEW * D], mean[NEW], covariance[SQUARE];
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
    if (!s->ops->anytime) {
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

/* --------------------------------------------------------------------------------------- for people */

static void is_described(const subject *s)
{
    char *text, quoted[sizeof s->name + 16];
    anygp_error e;
    anygp_model *m = fit_subject(s, NULL);
    assert_true(s->ops->summary && *s->ops->summary && s->ops->objective && *s->ops->objective);
    assert_int_equal(anygp_info(m, 0, &text, &e), ANYGP_OK);
    const char *line = strstr(text, "\n  model ");
    size_t length = strlen(s->name);
    if (line) line += strspn(line + 8, " ") + 8;
    if (!line || strncmp(line, s->name, length) || line[length] != ',')
        fail_msg("info does not name the model %s:\n%s", s->name, text);
    if (!strstr(text, s->ops->objective)) fail_msg("info has no '%s':\n%s", s->ops->objective, text);
    anygp_text_free(text);
    assert_int_equal(anygp_info(m, 1, &text, &e), ANYGP_OK);
    snprintf(quoted, sizeof quoted, "\"model\": \"%s\"", s->name);
    if (!strstr(text, quoted)) fail_msg("info --json has no %s", quoted);
    anygp_text_free(text);
    anygp_model_free(m);
}

static void info_names_every_model_and_its_objective(void **unused)
{
    (void)unused;
    for_each_subject(true, is_described);
}

static bool is_part_of_a_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* Whether the text has the word, as a whole. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || !is_part_of_a_word(at[-1])) && !is_part_of_a_word(at[n])) return true;
    return false;
}

static char *page(const char *directory, const char *name)
{
    char path[1024], *text;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    assert_non_null(text = calloc(1, size + 1));
    assert_int_equal(fread(text, 1, size, f), size);
    fclose(f);
    return text;
}

/* How many of the pages name the model; lists of all names do not count. */
static int pages_with(const char *word)
{
    static const char directory[] = ANYGP_SOURCE_DIR "/docs";
    static const char *const lists[] = {"settings.md", "decisions.md"};
    int count = 0;
    DIR *pages = opendir(directory);
    assert_non_null(pages);
    for (struct dirent *d; (d = readdir(pages));) {
        size_t n = strlen(d->d_name);
        bool list = false;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) list |= !strcmp(d->d_name, lists[i]);
        if (n < 4 || strcmp(d->d_name + n - 3, ".md") || list) continue;
        char *text = page(directory, d->d_name);
        count += has_word(text, word);
        free(text);
    }
    closedir(pages);
    return count;
}

static void a_page_of_the_docs_names_every_model(void **unused)
{
    (void)unused;
    for (int64_t i = 0; i < model_count(); i++)
        if (!pages_with(model_at(i)->name))
            fail_msg("no page in docs/ names the model %s; write one", model_at(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_joints_diagonal_means_alone_and_the_condensed_form_are_the_marginals),
        cmocka_unit_test(the_same_holds_in_blocks_that_are_given),
        cmocka_unit_test(arrays_and_files_come_back_with_the_same_bits),
        cmocka_unit_test(new_rows_are_learned_from_or_refused),
        cmocka_unit_test(an_update_in_closed_form_equals_a_fit_to_all_rows),
        cmocka_unit_test(what_a_posterior_has_not_is_refused_by_name_and_never_called),
        cmocka_unit_test(a_model_without_updates_refuses_them_by_name),
        cmocka_unit_test(variants_likelihoods_and_sets_a_model_has_not_are_refused_by_name),
        cmocka_unit_test(info_names_every_model_and_its_objective),
        cmocka_unit_test(a_page_of_the_docs_names_every_model),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
