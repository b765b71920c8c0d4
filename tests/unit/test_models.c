/* What holds for every model, by walking the table (models_support.h): predictions agree with each other, files and arrays come
   back with the same bits, and people can read about it.  The other theorems of this kind have files of their own:
       test_model_gradients.c   gradients by differences; training without what a model may lack
       test_model_runs.c        checkpoints at every moment
       test_model_refusals.c    new rows; what a model cannot do is refused by its name
       test_model_options.c     no option is ignored in silence */
#include <dirent.h>

#include "data_support.h"
#include "models_support.h"

#include "model/deep/deep_posterior.h"

/* ----------------------------------------------------------------------------------- predictions agree */

enum { NUMBERS = CLASSES * DEEP_COMPONENTS, CELLS = NEW * NUMBERS, SQUARE = NEW * NEW, JOINTS = 4 };

static void check_diagonal(const subject *s, int64_t C, const double *mean, const double *variance, const double *same,
                           const double *covariance)
{
    for (int64_t i = 0; i < NEW * C; i++) {
        int64_t c = i / NEW, row = i % NEW;
        check_close_at(same[i], mean[i], 1e-10, s->name, __FILE__, __LINE__);
        check_close_at(covariance[c * SQUARE + row * (NEW + 1)], variance[i], 1e-9, s->name, __FILE__, __LINE__);
    }
}

static void check_posterior(const subject *s, const posterior *p)
{
    double X[NEW * D], mean[CELLS], variance[CELLS], same[CELLS], covariance[SQUARE * JOINTS];
    int64_t C = latents_of(p);
    assert_true(C <= NUMBERS && (C <= JOINTS || !has_joint(s->ops)));
    new_rows(X);
    marginals_of(p, X, mean, variance);
    for (int64_t i = 0; i < NEW * C; i++) assert_true(isfinite(mean[i]) && variance[i] >= 0);
    if (has_joint(s->ops) && !joint_depends_on_company(s->ops)) {
        joint_of(p, X, same, covariance);
        check_diagonal(s, C, mean, variance, same, covariance);
    }
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
}

static void check_agreement(const subject *s, anygp_model *m)
{
    for (int64_t t = 0; t < m->targets; t++) check_posterior(s, m->gp[t]->posterior);
}

static void agrees_with_itself(const subject *s) { for_each_kind(s, check_agreement); }

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
    if (count && has_joint(s->ops)) {
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

static void check_reloaded(const subject *s, const gp *g)
{
    double X[NEW * D], mean[2][CELLS], variance[2][CELLS];
    posterior *p = g->posterior, *q = reloaded(g);
    new_rows(X);
    marginals_of(p, X, mean[0], variance[0]);
    marginals_of(q, X, mean[1], variance[1]);
    size_t bytes = (size_t)(NEW * latents_of(p)) * sizeof(double);
    if (memcmp(mean[0], mean[1], bytes) || memcmp(variance[0], variance[1], bytes))
        fail_msg("%s, %s: the posterior made of the arrays of another predicts other bits", s->name, s->likelihood);
    free_posterior(q);
}

static void check_file(const subject *s, const anygp_model *m)
{
    anygp_model *again;
    anygp_error e;
    char *text[2];
    if (anygp_save(m, "model", &e) || anygp_load("model", &again, &e)) fail_msg("%s: %s", s->name, e.text);
    answers before = ask(m), after = ask(again);
    check_same_bits(s, "the model read from its file", &before, &after);
    assert_int_equal(anygp_info(m, 1, &text[0], &e) + anygp_info(again, 1, &text[1], &e), 0);
    assert_string_equal(text[0], text[1]);
    anygp_text_free(text[0]);
    anygp_text_free(text[1]);
    anygp_model_free(again);
}

static void check_both_ways(const subject *s, anygp_model *m)
{
    for (int64_t t = 0; t < m->targets; t++) check_reloaded(s, m->gp[t]);
    check_file(s, m);
}

static void comes_back(const subject *s) { for_each_kind(s, check_both_ways); }

static void arrays_and_files_come_back_with_the_same_bits(void **unused)
{
    (void)unused;
    for_each_subject(true, comes_back);
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
        cmocka_unit_test(info_names_every_model_and_its_objective),
        cmocka_unit_test(a_page_of_the_docs_names_every_model),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
