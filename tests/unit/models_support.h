/* Every model there is, for the tests that must hold for all: the table is walked, so that a model put into src/model/model_table.c
   is tested without a line here.  Each is fitted to a few rows through the public interface, and its posterior is then asked
   through the functions at the end of this file.  Signatures of model_ops and posterior_ops are used nowhere else in
   the suite, but for model_scene.h. */
#ifndef TEST_MODELS_SUPPORT_H
#define TEST_MODELS_SUPPORT_H

#include <string.h>
#include <unistd.h>

#include "anygp/anygp.h"
#include "gp/gp.h"
#include "model_traits.h"
#include "support.h"

enum { ROWS = 40, LATER = 8, D = 2, NEW = 7, CLASSES = 3, TARGETS = 2, PAIRS_MOST = 32, NOTES_MOST = 16384 };

/* A model as --model names it, with one of the likelihoods it takes, and targets that are fitted together. */
typedef struct subject {
    char name[80];
    const model_ops *ops;
    bool anytime; /* NAME+ */
    const char *likelihood;
    int64_t targets; /* 1 or TARGETS */
} subject;

/* What a model needs to be fitted to the rows of this suite, besides what follows from its table (case_settings): settings by
   name and value.  A model that cannot be fitted without wants a line here. */
static const struct {
    const char *model, *name, *value;
} needs[] = {{"vnngp", "fix", "none"}}; /* else it learns nothing here, and has no checkpoints */

/* ---------------------------------------------------------------------------------------- the list */

typedef void subject_check(const subject *s);
typedef void model_check(const subject *s, anygp_model *m);

typedef struct subjects {
    bool all;
    subject_check *check;
} subjects;

static inline void run_subject(const subjects *which, const model_ops *m, bool anytime, const char *like,
                               int64_t targets)
{
    subject s = {.ops = m, .anytime = anytime, .likelihood = like, .targets = targets};
    snprintf(s.name, sizeof s.name, "%s%s", m->name, anytime ? "+" : "");
    which->check(&s);
}

static inline void run_model(const model_ops *m, void *ctx)
{
    const subjects *which = ctx;
    run_subject(which, m, false, "gaussian", 1);
    if (model_can_anytime(m)) run_subject(which, m, true, "gaussian", 1);
    if (which->all && m->with_inducing) run_subject(which, m->with_inducing, true, "gaussian", 1);
    if (which->all && takes_likelihoods(m)) run_subject(which, m, false, "softmax", 1);
    if (which->all && fits_together(m)) run_subject(which, m, false, "gaussian", TARGETS);
}

/* Each model of the table and each expression, also anytime; with `all` also with three classes, where it takes them, and with
   two targets where they are one run. */
static inline void for_each_subject(bool all, subject_check *check)
{
    for_each_model(run_model, &(subjects){all, check});
}

/* ------------------------------------------------------------------------------------------- a fit */

/* A smooth function with a little noise, or the third of its range it lies in; the second target is another one.  X[n, D],
   Y[n, targets] column-major. */
static inline void case_rows(const subject *s, int64_t n, double *X, double *Y)
{
    double noise[ROWS + LATER];
    bool classes = !strcmp(s->likelihood, "softmax");
    fill_normal(21, n * D, X);
    fill_normal(22, n, noise);
    for (int64_t i = 0; i < n; i++) {
        double f = sin(2 * X[i * D]) + 0.5 * X[i * D + 1];
        Y[i] = classes ? (f > -0.3) + (f > 0.5) : f + 0.1 * noise[i];
        if (s->targets > 1) Y[n + i] = 3 * cos(X[i * D + 1]) + 0.2 * noise[i] * X[i * D];
    }
}

/* The second target is the last column but one of the table. */
static inline anygp_data *case_data(const subject *s, int64_t n)
{
    double X[(ROWS + LATER) * D], Y[(ROWS + LATER) * TARGETS], wide[(ROWS + LATER) * (D + 1)];
    anygp_data *data;
    anygp_error e;
    int64_t columns = D + s->targets - 1;
    case_rows(s, n, X, Y);
    for (int64_t i = 0; i < n; i++) {
        memcpy(wide + i * columns, X + i * D, D * sizeof *wide);
        if (s->targets > 1) wide[i * columns + D] = Y[n + i];
    }
    assert_int_equal(anygp_data_new(n, columns, wide, columns, Y, NULL, &data, &e), ANYGP_OK);
    return data;
}

/* In the order of Y. */
static inline anygp_status name_targets(const subject *s, anygp_settings *set, anygp_error *e)
{
    char last[8], before[8];
    if (s->targets == 1) return ANYGP_OK;
    snprintf(last, sizeof last, "%d", D + 1);
    snprintf(before, sizeof before, "%d", D);
    anygp_status status = anygp_set(set, "target", last, e);
    return status ? status : anygp_set(set, "target", before, e);
}

typedef struct pair_list {
    const char *at[2 * PAIRS_MOST + 1];
    int count;
} pair_list;

static inline void add_pair(pair_list *p, const char *name, const char *value)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->at[2 * i], name)) {
            p->at[2 * i + 1] = value;
            return;
        }
    assert_true(p->count < PAIRS_MOST);
    p->at[2 * p->count] = name, p->at[2 * p->count++ + 1] = value;
}

/* Sizes for so few rows: several blocks, of which a step takes one; sets where the model has sets.  more: name, value, ..., NULL,
   which count where both say something. */
static inline pair_list case_settings(const subject *s, const char *const *more)
{
    const model_ops *m = s->ops;
    pair_list p = {.count = 0};
    add_pair(&p, "model", s->name);
    add_pair(&p, "likelihood", s->likelihood);
    add_pair(&p, "kernel", "rbf");
    add_pair(&p, "iters", by_steps(m) || s->anytime ? "8" : "4");
    add_pair(&p, "valid", "0");
    add_pair(&p, "threads", "1");
    if (has_subset(m) || has_inducing(m))
        add_pair(&p, "inducing", has_pair(m) ? "12/5" : has_sets(m) ? "5+3" : has_inducing(m) ? "8" : "20");
    if (by_steps(m) || (s->anytime && m->stepped))
        add_pair(&p, "batch", "12");
    else if (over_blocks(m))
        add_pair(&p, "blocks", "4");
    if (s->anytime && (m->sum || (m->anytime && m->anytime->blocks))) add_pair(&p, "sample", "2");
    if (m->needs.near) add_pair(&p, "neighbors", "4"); /* and so there are several groups */
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!strcmp(needs[i].model, m->name)) add_pair(&p, needs[i].name, needs[i].value);
    for (; more && more[0]; more += 2) add_pair(&p, more[0], more[1]);
    return p;
}

/* What came of a fit. */
typedef struct outcome {
    anygp_model *model; /* NULL: refused */
    anygp_error e;
    char notes[NOTES_MOST]; /* one per line */
} outcome;

static inline void keep_note(void *ctx, anygp_log_level level, const char *text)
{
    outcome *o = ctx;
    size_t used = strlen(o->notes);
    (void)level;
    snprintf(o->notes + used, sizeof o->notes - used, "%s\n", text);
}

static inline void fit_rows(const subject *s, int64_t n, const char *const *more, anygp_progress_fn progress, void *ctx,
                            outcome *o)
{
    pair_list p = case_settings(s, more);
    anygp_settings *set = anygp_settings_new();
    anygp_data *data = case_data(s, n);
    *o = (outcome){.model = NULL};
    anygp_on_log(set, keep_note, o);
    if (progress) anygp_on_progress(set, progress, ctx);
    anygp_status status = name_targets(s, set, &o->e);
    for (int i = 0; !ANYGP_FAILED(status) && i < p.count; i++)
        status = anygp_set(set, p.at[2 * i], p.at[2 * i + 1], &o->e);
    if (!ANYGP_FAILED(status)) anygp_fit(set, data, &o->model, &o->e);
    anygp_data_free(data);
    anygp_settings_free(set);
}

/* A fit that has to succeed. */
static inline anygp_model *fit_subject(const subject *s, const char *const *more)
{
    outcome o;
    fit_rows(s, ROWS, more, NULL, NULL, &o);
    if (!o.model)
        fail_msg("%s with the likelihood %s cannot be fitted to the rows of this suite: %s.  If it needs other "
                 "settings, add them to `needs` in tests/unit/models_support.h",
                 s->name, s->likelihood, o.e.text);
    return o.model;
}

/* Kinds of fits that differ in what a posterior holds: the functions of a prior mean, a kernel that distinguishes equal rows. */
static const char *const fit_kinds[][7] = {
    {NULL}, {"mean", "linear", NULL}, {"kernel", "matern32 + white", "mean", "constant", NULL}};
enum { FIT_KINDS = sizeof fit_kinds / sizeof *fit_kinds };

/* Without the prior mean, which stands last, where the model takes none. */
static inline void settings_of_kind(const subject *s, int k, const char *pairs[7])
{
    memcpy(pairs, fit_kinds[k], sizeof fit_kinds[k]);
    bool takes = s->ops->needs.mean && !(s->anytime && s->ops->sum && !s->ops->sum->mean);
    for (int i = 0; !takes && pairs[i]; i += 2)
        if (!strcmp(pairs[i], "mean")) pairs[i] = NULL;
}

/* A model may refuse a white kernel: NULL. */
static inline anygp_model *fit_kind(const subject *s, int k)
{
    outcome o;
    const char *pairs[7];
    settings_of_kind(s, k, pairs);
    if (k + 1 < FIT_KINDS) return fit_subject(s, pairs);
    fit_rows(s, ROWS, pairs, NULL, NULL, &o);
    if (!o.model && (o.e.status != ANYGP_ERR_ARGUMENT || !strstr(o.e.text, "white")))
        fail_msg("%s: %s", s->name, o.e.text);
    return o.model;
}

static inline void for_each_kind(const subject *s, model_check *check)
{
    for (int k = 0; k < FIT_KINDS; k++) {
        anygp_model *m = fit_kind(s, k);
        if (m) check(s, m);
        anygp_model_free(m);
    }
}

/* ------------------------------------------------------------------------------------- predictions */

/* Rows that no model was fitted to. */
static inline void new_rows(double *X) { fill_normal(23, NEW * D, X); }

/* For each y: means and variances, or the probabilities of classes. */
enum { ANSWERS = TARGETS * NEW * CLASSES };
typedef struct answers {
    double cell[ANSWERS];
} answers;

static inline answers ask_at(const anygp_model *m, const double *X)
{
    answers a = {.cell = {0}};
    anygp_error e = {.text = ""};
    for (int64_t t = 0; t < anygp_model_targets(m); t++) {
        double *cell = a.cell + t * NEW * CLASSES;
        anygp_status status = anygp_classes(m, t) > 0 ? anygp_predict_proba(m, t, NEW, X, D, cell, &e)
                                                      : anygp_predict_target(m, t, NEW, X, D, 0, cell, cell + NEW, &e);
        if (status) fail_msg("%s", e.text);
    }
    for (int i = 0; i < ANSWERS; i++) assert_true(isfinite(a.cell[i]));
    return a;
}

static inline answers ask(const anygp_model *m)
{
    double X[NEW * D];
    new_rows(X);
    return ask_at(m, X);
}

static inline bool same_bits(const answers *a, const answers *b) { return !memcmp(a, b, sizeof *a); }

static inline void check_same_bits(const subject *s, const char *what, const answers *a, const answers *b)
{
    if (same_bits(a, b)) return;
    for (int i = 0; i < ANSWERS; i++)
        if (a->cell[i] != b->cell[i])
            fail_msg("%s, %s: %s predicts %.17g instead of %.17g", s->name, s->likelihood, what, b->cell[i],
                     a->cell[i]);
}

/* ---------------------------------------------------------------------------- posteriors, by their table */

static inline gp *gp_of(const anygp_model *m) { return m->gp[0]; }

/* Numbers of a row's marginals: latents, in every component. */
static inline int64_t latents_of(const posterior *p)
{
    return (p->latents > 1 ? p->latents : 1) * (p->components > 1 ? p->components : 1);
}

static inline double *work_for(const posterior *p, int64_t n)
{
    double *work = calloc((size_t)p->ops->work_doubles(p, n) + 1, sizeof *work);
    assert_non_null(work);
    return work;
}

static inline double *work_of(const posterior *p) { return work_for(p, NEW); }

/* mean[NEW, C], variance[NEW, C] or NULL. */
static inline void marginals_of(const posterior *p, const double *X, double *mean, double *variance)
{
    anygp_error e;
    double *work = work_of(p);
    if (p->ops->marginal(p, NEW, X, D, work, mean, variance, &e)) fail_msg("%s", e.text);
    free(work);
}

/* At n rows: C squares, lower triangles. */
static inline void joint_at(const posterior *p, int64_t n, const double *X, double *mean, double *covariance)
{
    anygp_error e;
    double *work = work_for(p, n);
    if (p->ops->joint(p, n, X, D, work, mean, covariance, n, &e)) fail_msg("%s", e.text);
    free(work);
}

static inline void joint_of(const posterior *p, const double *X, double *mean, double *covariance)
{
    joint_at(p, NEW, X, mean, covariance);
}

static inline array_list arrays_of(posterior *p)
{
    array_list all = {0};
    p->ops->arrays(p, &all);
    assert_false(all.failed);
    return all;
}

static inline int64_t blocks_of(const posterior *p)
{
    const double *names;
    return p->ops->blocks ? p->ops->blocks(p, &names) : 0;
}

/* The same in blocks that are given. */
static inline void joint_and_marginals_in(const posterior *p, const double *X, const int64_t *block, double *mean,
                                          double *variance, double *same, double *covariance)
{
    anygp_error e;
    double *work = work_of(p);
    if (p->ops->marginal_in(p, NEW, X, D, block, work, mean, variance, &e)) fail_msg("%s", e.text);
    if (p->ops->joint_in(p, NEW, X, D, block, work, same, covariance, NEW, &e)) fail_msg("%s", e.text);
    free(work);
}

static inline posterior *condensed_of(const posterior *p) { return p->ops->condense ? p->ops->condense(p) : NULL; }

static inline void free_posterior(posterior *p) { p->ops->free(p); }

/* A posterior made of the arrays of another. */
static inline posterior *reloaded(const gp *g)
{
    posterior *p = g->posterior, *q = NULL;
    array_list all = arrays_of(p);
    basis mean;
    anygp_error e;
    assert_int_equal(basis_copy(&p->mean, &mean, &e), ANYGP_OK);
    for (int64_t i = 0; i < all.count; i++) {
        size_t bytes = (size_t)(all.at[i].rows * all.at[i].cols) * sizeof(double);
        all.at[i].values = memcpy(malloc(bytes + 1), all.at[i].values, bytes);
    }
    if (g->model->load(g->model, kernel_copy(p->kernel), p->noise, &mean, D, all.at, all.count, &q, &e))
        fail_msg("%s: %s", g->name, e.text);
    for (int64_t i = 0; i < all.count; i++) free(all.at[i].values);
    array_list_clear(&all);
    return q;
}

#endif
