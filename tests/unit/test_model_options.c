/* No option is ignored in silence: every setting of a fit is given to every model (models_support.h), and either the fit
   becomes another one, or it is refused, or a note says that the option has no effect.  Such a note has to be true.
   A setting that is new in src/base/settings_list.h, and has no line here, fails. */
#include "data_support.h"
#include "models_support.h"

/* What a setting is tried with, besides what case_settings() has. */
typedef struct trial {
    setting_id id;
    const char *value; /* NULL: chosen by the model [value_for] */
    const char *why;   /* no trial: it does not say what the model is */
} trial;

static const trial trials[] = {
    {SET_MODEL, NULL, "it is what this test walks"},
    {SET_KERNEL, "matern32", NULL},
    {SET_LIKELIHOOD, "studentt", NULL},
    {SET_NOISE, "0.7", NULL},
    {SET_MEAN, "linear", NULL},
    {SET_PRIOR, "none", NULL},
    {SET_FIX, "kernel", NULL},
    {SET_FIX, NULL, NULL},
    {SET_INDUCING, NULL, NULL},
    {SET_BATCH, "20", NULL},
    {SET_GROW, "2", NULL},
    {SET_INDUCING_FROM, "places.csv", NULL},
    {SET_INDUCING_KIND, "scaled", NULL},
    {SET_SELECT, NULL, NULL},
    {SET_BLOCKS, "3", NULL},
    {SET_PARTITION, "kdtree", NULL},
    {SET_NEIGHBORS, "2", NULL},
    {SET_PREDICT_NEIGHBORS, "2", NULL},
    {SET_ORDER, "coordinate", NULL},
    {SET_GROUP, "no", NULL},
    {SET_BLOCKS_FROM, "blocks.csv", NULL},
    {SET_SAMPLE, NULL, NULL},
    {SET_REPLACE, "yes", NULL},
    {SET_LEARN, "batch", NULL},
    {SET_OPTIMIZER, "sga", NULL},
    {SET_RHO, "0.3", NULL},
    {SET_TAU, "0.2", NULL},
    {SET_KAPPA, "0.8", NULL},
    {SET_STEP, "0.003", NULL},
    {SET_TARGET, "0", NULL},
    {SET_WEIGHTS, NULL, "a column of the data; weights of all models: test_exact.c, test_sparse.c, test_uncollapsed.c"},
    {SET_EXPOSURE, "0", NULL},
    {SET_HEADER, NULL, "how files are read"},
    {SET_LINKS, NULL, "how files are read"},
    {SET_MISSING, NULL, "how cells are read"},
    {SET_STANDARDIZE, "none", NULL},
    {SET_JITTER, "1e-3", NULL},
    {SET_RESTARTS, "2", NULL},
    {SET_ITERS, "3", NULL},
    {SET_TIME, NULL, "ends a run, and depends on the machine"},
    {SET_VALID, "0.3", NULL},
    {SET_TRACE, NULL, "writes a file, and changes nothing"},
    {SET_MEMORY, NULL, "how the work is done"},
    {SET_CHECKPOINT, NULL, "writes a file, and changes nothing: test_model_runs.c"},
    {SET_RESUME, NULL, "goes on to the same bits: test_model_runs.c"},
    {SET_CALIBRATE, "loo", NULL},
    {SET_CLASS_WEIGHT, "balanced", NULL},
    {SET_KEEP, NULL, "of predict: what is written beside the predictions"},
    {SET_GRID, NULL, "of predict: where it predicts"},
    {SET_ORDER_FROM, "order.csv", NULL},
    {SET_SEED, NULL, "a model that draws nothing at random is right to take any seed"},
    {SET_THREADS, NULL, "how the work is done"},
    {SET_AGGREGATE, "y", NULL},
    {SET_COMMUNICATION, "7", NULL},
    {SET_NEAR, "2", NULL},
    {SET_EXPERTS, "own", NULL},
    {SET_EXPERTS_MOST, "3", NULL},
    {SET_INPUTS, NULL, "which columns are read: tests/cli/test_messy.sh"},
    {SET_DROP, NULL, "which columns are read"},
    {SET_CATEGORIES, NULL, "how cells are read"},
    {SET_DATES, NULL, "how cells are read"},
    {SET_DECIMAL, NULL, "how cells are read"},
    {SET_SKIP, NULL, "how files are read"},
    {SET_COMMENT, NULL, "how files are read"},
    {SET_NA, NULL, "how cells are read: tests/cli/test_messy.sh"},
    {SET_REPORT, NULL, "what is written after the fit: tests/cli/test_report.sh"},
    {SET_SOLVER, "cg", NULL},
    {SET_PRECOND, "none", NULL},
    {SET_TOLERANCE, "20", NULL},
    {SET_KEEP_FACTOR, "yes", NULL},
    {SET_PRECISION, "mixed", NULL},
    {SET_TRANSFORM, NULL, "for targets above 0, which these are not: tests/cli/test_transform.sh"},
    {SET_SPHERE, NULL, "which columns are places: tests/cli/test_sphere.sh"},
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* A value that a model of this kind would notice. */
static const char *value_for(const subject *s, setting_id id)
{
    const model_ops *m = s->ops;
    if (id == SET_INDUCING) return has_pair(m) ? "9/4" : has_sets(m) ? "4+2" : "6";
    if (id == SET_SAMPLE) return m->sum ? "1" : "2";
    if (id == SET_SELECT) return has_inducing(m) ? "random" : "kmeans";
    if (id == SET_FIX) return has_inducing(m) && !learns_inducing(m) ? "none" : "inducing";
    return NULL;
}

/* Why this option leaves this model as it is, and that without a note; NULL: it must not. */
static const char *excuse(const subject *s, setting_id id, const char *value)
{
    const model_ops *m = s->ops;
    bool by_rows = has_inducing(m) && !over_parts(m) && !by_steps(m) && !s->anytime;
    if ((id == SET_BLOCKS || id == SET_BLOCKS_FROM) && by_rows)
        return "rows stand alone: blocks are pieces of the work, as --memory wants them";
    if (id == SET_FIX && !learns(m) && strcmp(value, "none")) return "a model that learns nothing keeps it all";
    if (id == SET_PARTITION && m->needs.cells) return "cells of a kd-tree are what it has in any case";
    if ((id == SET_SOLVER || id == SET_PRECOND) && (m->iterative || m->needs.iterative))
        return "with so few rows conjugate gradients end at the exact model, whatever leads there";
    if (id == SET_SAMPLE && !learns(m)) return "whole epochs with nothing to learn end at the batch result";
    return NULL;
}

/* ----------------------------------------------------------------------------------------- the files */

static void write_files(void)
{
    FILE *f = fopen("places.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < 7; i++) fprintf(f, "%g,%g\n", cos(i), sin(1.7 * i));
    fclose(f);
    assert_non_null(f = fopen("order.csv", "w"));
    for (int i = 0; i < ROWS; i++) fprintf(f, "%d\n", ROWS - 1 - i);
    fclose(f);
    assert_non_null(f = fopen("blocks.csv", "w"));
    for (int i = 0; i < ROWS; i++) fprintf(f, "%d\n", i * 5 % 3);
    fclose(f);
}

/* ------------------------------------------------------------------------------------------ one trial */

/* Enough steps for all that a run does on its way: learning begins after some, and ends before the last. */
static void settings_of(const subject *s, setting_id id, const char *value, const char **pairs)
{
    int n = 0;
    if (s->anytime || by_steps(s->ops)) pairs[n++] = "iters", pairs[n++] = "32";
    if (value) pairs[n++] = setting_at(id)->name, pairs[n++] = value;
    pairs[n] = NULL;
}

static bool notes_it(const outcome *o, setting_id id)
{
    char start[64];
    size_t n = (size_t)snprintf(start, sizeof start, "--%s ", setting_at(id)->name);
    for (const char *line = o->notes; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, start, n) && strstr(line, "has no effect")) return true;
    return false;
}

/* Whether two fits are the same one: predictions to rounding, and what the optimiser did. */
static bool same_fit(const anygp_model *a, const anygp_model *b)
{
    const gp *g = gp_of(a), *h = gp_of(b);
    answers x = ask(a), y = ask(b);
    if (strcmp(g->name, h->name) || g->iterations != h->iterations || g->evaluations != h->evaluations) return false;
    for (int i = 0; i < 2 * NEW; i++)
        if (fabs(x.cell[i] - y.cell[i]) > 1e-9 * fmax(1, fabs(x.cell[i]))) return false;
    return true;
}

static int faults;

static void complain(const subject *s, const trial *t, const char *value, const char *what)
{
    print_error("%s: --%s %s %s\n", s->name, setting_at(t->id)->name, value, what);
    faults++;
}

static void try_one(const subject *s, const trial *t, const anygp_model *base)
{
    const char *pairs[8], *value = t->value ? t->value : value_for(s, t->id);
    outcome o;
    settings_of(s, t->id, value, pairs);
    fit_rows(s, ROWS, pairs, NULL, NULL, &o);
    if (!o.model) {
        bool named = strstr(o.e.text, setting_at(t->id)->name) != NULL;
        if (o.e.status != ANYGP_ERR_ARGUMENT || !named) complain(s, t, value, o.e.text);
        return;
    }
    bool same = same_fit(base, o.model), noted = notes_it(&o, t->id);
    if (same && !noted && !excuse(s, t->id, value))
        complain(s, t, value, "changes nothing, and no note says so; say it, or excuse it in `excuse`");
    if (!same && noted) complain(s, t, value, "is said to have no effect, but has one");
    anygp_model_free(o.model);
}

static void ignores_nothing(const subject *s)
{
    const char *pairs[8];
    settings_of(s, SET_MODEL, NULL, pairs);
    anygp_model *base = fit_subject(s, pairs);
    for (int i = 0; i < TRIALS; i++)
        if (!trials[i].why) try_one(s, &trials[i], base);
    anygp_model_free(base);
}

static void every_option_has_an_effect_is_refused_or_noted(void **unused)
{
    (void)unused;
    write_files();
    faults = 0;
    for_each_subject(false, ignores_nothing);
    assert_int_equal(faults, 0);
}

static void every_setting_of_a_fit_is_tried(void **unused)
{
    (void)unused;
    for (setting_id id = 0; id < SETTING_COUNT; id++) {
        bool found = !strpbrk(setting_at(id)->commands, "fF");
        for (int i = 0; i < TRIALS; i++) found |= trials[i].id == id;
        if (!found)
            fail_msg("the setting %s has no line in `trials` of tests/unit/test_model_options.c: add one with a value "
                     "that a model "
                     "would notice, or with the reason why none does",
                     setting_at(id)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_of_a_fit_is_tried),
        cmocka_unit_test(every_option_has_an_effect_is_refused_or_noted),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
