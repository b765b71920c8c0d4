/* Fits and scores of a comparison.  Every model sees the same training rows and is scored on the same others: the rows that
   rows_held() takes, or part k of N by the same numbers, or those of a file.  The models know nothing of the test rows, not even
   through --valid: they get a table without them. */
#include "gp/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "gp/fit.h"

enum { HELD_MOST = 20000 };
static const double HELD_SHARE = 0.2, SECONDS = 60, KERNEL_SECONDS = 10; /* of each line, where --time is not given */

void gp_compare_clear(gp_compare *c)
{
    gp_set_free(c->best);
    for (int64_t i = 0; i < c->count; i++) free(c->line[i].part_mnlp);
    free(c->line);
    c->best = NULL, c->line = NULL, c->count = 0;
}

/* ------------------------------------------------------------------------------------------- rows */

/* The rows of one part, or all others. */
typedef struct split {
    table train, test;
} split;

static void split_clear(split *p)
{
    free(p->train.values);
    free(p->test.values);
    *p = (split){0};
}

/* Row i is scored in part k. */
static bool is_test(const comparison *c, int64_t k, int64_t i)
{
    double parts = (double)c->out->folds;
    if (*c->file) return false;
    if (parts == 0) return rows_held(c->seed, i, c->share);
    bool before = k > 0 && rows_held(c->seed, i, (double)k / parts);
    return !before && (k + 1 == c->out->folds || rows_held(c->seed, i, (double)(k + 1) / parts));
}

static anygp_status split_make(const comparison *c, int64_t k, split *p, anygp_error *e)
{
    const table *all = c->data->table;
    int64_t held = 0, wide = all->cols;
    *p = (split){.train = *all, .test = *all};
    for (int64_t i = 0; i < all->rows; i++) held += is_test(c, k, i);
    p->train.rows = p->test.rows = 0;
    p->train.values = mem_doubles(all->rows - held + 1, wide);
    p->test.values = mem_doubles(held + 1, wide);
    if (!p->train.values || !p->test.values)
        return split_clear(p), fail_memory(e, "the rows", 8.0 * (double)all->rows * (double)wide);
    for (int64_t i = 0; i < all->rows; i++) {
        table *to = is_test(c, k, i) ? &p->test : &p->train;
        memcpy(to->values + to->rows++ * wide, all->values + i * wide, (size_t)wide * sizeof(double));
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- a fit */

static anygp_status set_number(settings *s, const char *name, double value, anygp_error *e)
{
    char text[40];
    snprintf(text, sizeof text, "%.3f", value);
    return settings_set(s, name, text, e);
}

static anygp_status set_whole(settings *s, const char *name, int64_t value, anygp_error *e)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return settings_set(s, name, text, e);
}

/* The user's settings for this line; nobody is told what the fit says. */
static anygp_status settings_of(const comparison *c, const compare_line *l, settings **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    settings *s = *out = settings_copy(c->s);
    if (!s) return fail_memory(e, "the settings", 0);
    settings_on_log(s, NULL, NULL);
    TRY_DONE(settings_set(s, "model", l->model, e));
    TRY_DONE(settings_set(s, "valid", "none", e));
    TRY_DONE(set_number(s, "time", c->limit / (double)(c->out->folds > 0 ? c->out->folds : 1), e));
    if (*l->kernel) TRY_DONE(settings_set(s, "kernel", l->kernel, e));
    if (l->inducing > 0) TRY_DONE(set_whole(s, "inducing", l->inducing, e));
    if (!l->baseline) goto done;
    TRY_DONE(settings_set(s, "mean", "zero", e));
    TRY_DONE(settings_set(s, "fix", "inducing", e)); /* so many rows span the features */
    TRY_DONE(settings_set(s, "inducing-kind", "points", e));
    TRY_DONE(set_whole(s, "inducing", c->inputs + 2, e));
done:
    if (ANYGP_FAILED(status)) settings_free(s), *out = NULL;
    return status;
}

static anygp_status score_fit(const comparison *c, const gp_set *m, const settings *s, const table *test,
                              gp_scores *scores, anygp_error *e)
{
    int64_t scored = 0;
    if (*c->file) return gp_eval_file(m, s, comm_self(), c->file, "", scores, NULL, e);
    TRY(valid_score_part(m->gp[0], &(gp_data){test, NULL}, c->weights, c->seed, 0, 1, &scored, scores, e));
    return scored > 0 ? ANYGP_OK : fail_with(e, ANYGP_ERR_DATA, "no row that was held out could be scored");
}

/* Mean and spread of the parts so far, by Welford. */
static void add_part(double x, int64_t part, double *mean, double *square)
{
    double before = *mean;
    *mean += (x - before) / (double)(part + 1);
    *square += (x - before) * (x - *mean);
}

static void take_scores(compare_line *l, const gp_scores *s)
{
    double spare = 0, n = gp_score_named(s, "n");
    l->part_mnlp[l->parts] = gp_score_named(s, "mnlp");
    add_part(gp_score_named(s, "mnlp"), l->parts, &l->mnlp, &l->mnlp_sd);
    add_part(gp_score_named(s, "rmse"), l->parts, &l->rmse, &l->rmse_sd);
    add_part(gp_score_named(s, "accuracy"), l->parts, &l->accuracy, &spare);
    add_part(gp_score_named(s, "coverage95"), l->parts, &l->coverage95, &spare);
    l->rows += n;
    l->parts++;
}

/* A bound by steps is an estimate that is no measure for a comparison. */
static double evidence_of(const gp *g)
{
    double n = g->objective_rows > 0 ? g->objective_rows : g->rows;
    bool known = gp_is_gaussian(g) && !g->estimate && (g->model == &model_exact || model_learns_inducing(g->model));
    if (!known || !(n > 1)) return NAN;
    const schema *s = &g->schema; /* where y was transformed: of y itself, standardised */
    double more = warp_is(&s->warp) ? s->y_log_slope - log(s->y_scale / s->y_sd) : 0;
    return (g->objective - 0.5 * (double)(kernel_count(g->posterior->kernel) + 1) * log(n)) / n + more;
}

static bool is_better(const gp_compare *out, const compare_line *l)
{
    return out->best_line < 0 || l->mnlp < out->line[out->best_line].mnlp;
}

/* Takes m over; NULL: the linear model, which becomes a file later.  A search for kernels chooses otherwise, and later. */
static void keep_best(comparison *c, int64_t index, gp_set *m)
{
    gp_compare *out = c->out;
    bool better = is_better(out, &out->line[index]);
    if (better) out->best_line = index;
    if (!better || !out->keep || out->kernels || out->folds > 0) return gp_set_free(m);
    gp_set_free(out->best);
    out->best = m;
}

static void finish_part(comparison *c, int64_t index, const gp *g, const gp_scores *scores)
{
    take_scores(&c->out->line[index], scores);
    c->out->classes = gp_is_class(g);
}

/* The linear model in closed form.  *done false: it has none here. */
static anygp_status run_linear(comparison *c, int64_t index, const settings *s, const split *p, bool *done,
                               anygp_error *e)
{
    compare_line *l = &c->out->line[index];
    settings *of_mean = settings_copy(s);
    gp_set *m = NULL;
    gp_scores scores = {0};
    anygp_status status = of_mean ? ANYGP_OK : fail_memory(e, "the settings", 0);
    *done = false;
    if (!ANYGP_FAILED(status)) status = settings_set(of_mean, "kernel", "constant", e);
    if (!ANYGP_FAILED(status)) status = settings_set(of_mean, "iters", "0", e);
    if (!ANYGP_FAILED(status)) status = gp_fit(&(gp_data){&p->train, NULL}, of_mean, NULL, &m, e);
    l->stopped |= status == ANYGP_INTERRUPTED;
    if (!ANYGP_FAILED(status)) status = compare_linear(c, m, &p->train, &p->test, &scores, &l->seconds, done, e);
    if (!ANYGP_FAILED(status) && *done) finish_part(c, index, m->gp[0], &scores);
    gp_set_free(m);
    settings_free(of_mean);
    return status;
}

/* Part k of a line. */
static anygp_status run_part(comparison *c, int64_t index, int64_t k, const settings *s, anygp_error *e)
{
    gp_compare *out = c->out;
    compare_line *l = &out->line[index];
    split p = {0};
    gp_set *m = NULL;
    gp_scores scores = {0};
    settings *later = settings_copy(s); /* once there is a model, nobody asks for an end of the scoring */
    anygp_status status = later ? split_make(c, k, &p, e) : fail_memory(e, "the settings", 0);
    double began = clock_seconds();
    if (later) settings_on_stop(later, NULL, NULL);
    if (ANYGP_FAILED(status)) goto done;
    bool linear = false, last = k + 1 == (out->folds > 0 ? out->folds : 1);
    out->fitted = p.train.rows, out->held = *c->file ? 0 : out->folds > 0 ? c->data->table->rows : p.test.rows;
    if (l->linear) TRY_DONE(run_linear(c, index, s, &p, &linear, e));
    if (linear) {
        if (last) keep_best(c, index, NULL);
        goto done;
    }
    status = gp_fit(&(gp_data){&p.train, NULL}, s, NULL, &m, e);
    if (ANYGP_FAILED(status)) goto done;
    l->seconds += clock_seconds() - began;
    l->stopped |= status == ANYGP_INTERRUPTED, l->limited |= status == ANYGP_TIME_LIMIT;
    TRY_DONE(score_fit(c, m, later, &p.test, &scores, e));
    finish_part(c, index, m->gp[0], &scores);
    l->evidence = evidence_of(m->gp[0]);
    if (out->file_bytes) l->bytes = fmax(l->bytes, out->file_bytes(m));
    if (last) keep_best(c, index, m), m = NULL;
done:
    gp_set_free(m);
    settings_free(later);
    split_clear(&p);
    return status;
}

/* -------------------------------------------------------------------------------------------- a line */

static void finish_line(compare_line *l)
{
    double others = (double)(l->parts - 1);
    l->mnlp_sd = l->parts > 1 ? sqrt(l->mnlp_sd / others) : 0;
    l->rmse_sd = l->parts > 1 ? sqrt(l->rmse_sd / others) : 0;
}

static void tell(const comparison *c, const compare_line *l)
{
    if (l->parts == 0)
        settings_log(c->s, ANYGP_NOTE, "compare: %s failed: %s", l->name, l->reason);
    else
        settings_log(c->s, ANYGP_NOTE, "compare: %s: mnlp %.4g, %.*f s%s", l->name, l->mnlp, l->seconds < 10 ? 2 : 0,
                     l->seconds, l->stopped ? "; stopped" : "");
}

/* A fit that was stopped before there was a model ends the comparison; any other failure is a line. */
static void run_line(comparison *c, int64_t index, const settings *s)
{
    gp_compare *out = c->out;
    compare_line *l = &out->line[index];
    anygp_error why = {0};
    int64_t parts = out->folds > 0 ? out->folds : 1;
    for (int64_t k = 0; k < parts && !out->stopped; k++) {
        anygp_status status = run_part(c, index, k, s, &why);
        out->stopped |= status == ANYGP_ERR_STOPPED || l->stopped;
        if (!ANYGP_FAILED(status)) continue;
        snprintf(l->reason, sizeof l->reason, "%.239s", why.text);
        l->parts = 0;
        break;
    }
    if (l->parts > 0 && l->parts < parts) l->parts = 0, snprintf(l->reason, sizeof l->reason, "stopped on request");
    finish_line(l);
    tell(c, l);
}

static compare_line *new_line(gp_compare *out)
{
    if (out->count == out->room) {
        int64_t room = 2 * out->room + 16;
        compare_line *grown = realloc(out->line, (size_t)room * sizeof *grown);
        if (!grown) return NULL;
        out->line = grown, out->room = room;
    }
    return &out->line[out->count];
}

anygp_status compare_add(comparison *c, const compare_line *what, int64_t *index, anygp_error *e)
{
    compare_line *l = new_line(c->out);
    settings *s = NULL;
    if (!l) return fail_memory(e, "the comparison", 0);
    *l = *what;
    l->evidence = NAN;
    l->part_mnlp = mem_doubles(c->out->folds > 0 ? c->out->folds : 1, 1);
    if (!l->part_mnlp) return fail_memory(e, "the comparison", 0);
    *index = c->out->count++;
    anygp_error why;
    anygp_status status = settings_of(c, what, &s, &why);
    if (ANYGP_FAILED(status)) {
        snprintf(l->reason, sizeof l->reason, "%.239s", why.text);
        return tell(c, l), ANYGP_OK;
    }
    run_line(c, *index, s);
    settings_free(s);
    return ANYGP_OK;
}

anygp_status compare_again(comparison *c, int64_t index, anygp_error *e)
{
    settings *s = NULL;
    split p = {0};
    anygp_status status = settings_of(c, &c->out->line[index], &s, e);
    if (!ANYGP_FAILED(status) && c->out->stopped)
        settings_on_stop(s, NULL, NULL); /* what is best is known, and this is quick */
    if (!ANYGP_FAILED(status)) status = split_make(c, 0, &p, e);
    if (!ANYGP_FAILED(status)) status = gp_fit(&(gp_data){&p.train, NULL}, s, NULL, &c->out->best, e);
    split_clear(&p);
    settings_free(s);
    return ANYGP_FAILED(status) ? status : ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------- results */

static void mark_frontier(gp_compare *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        compare_line *l = &out->line[i];
        l->frontier = l->parts > 0;
        for (int64_t k = 0; k < out->count && l->frontier; k++) {
            const compare_line *o = &out->line[k];
            bool no_worse = o->parts > 0 && o->mnlp <= l->mnlp && o->seconds <= l->seconds;
            if (no_worse && (o->mnlp < l->mnlp || o->seconds < l->seconds)) l->frontier = false;
        }
    }
}

static bool comes_before(const compare_line *a, const compare_line *b)
{
    return a->parts > 0 && (b->parts == 0 || a->mnlp < b->mnlp);
}

/* Equal ones stay in their order. */
static void sort_lines(gp_compare *out)
{
    for (int64_t i = 1; i < out->count; i++) {
        compare_line l = out->line[i];
        int64_t k = i;
        for (; k > 0 && comes_before(&l, &out->line[k - 1]); k--) out->line[k] = out->line[k - 1];
        out->line[k] = l;
    }
    out->best_line = out->count > 0 && out->line[0].parts > 0 ? 0 : -1;
}

/* --------------------------------------------------------------------------------------------- run */

/* *implied: the settings with the likelihood that the target implies; NULL: they are as they are. */
static anygp_status look_at_columns(comparison *c, settings **implied, anygp_error *e)
{
    const table *t = c->data->table;
    fit_columns f = {0};
    anygp_status status = fit_columns_find(t, c->s, &f, e);
    if (!ANYGP_FAILED(status) && f.targets > 1)
        status = fail_with(e, ANYGP_ERR_ARGUMENT, "compare takes one target; name it with --target");
    if (!ANYGP_FAILED(status)) status = fit_implied(t, &f, c->s, implied, e);
    if (*implied) c->s = *implied;
    c->weights = ANYGP_FAILED(status) ? -1 : f.weights;
    if (!ANYGP_FAILED(status) && t->columns[f.target[0]].name)
        snprintf(c->out->target, sizeof c->out->target, "%.199s", t->columns[f.target[0]].name);
    for (int64_t j = 0; !ANYGP_FAILED(status) && j < t->cols; j++) {
        if (f.skip[j] || j == f.weights) continue;
        bool text = t->columns[j].kind == COLUMN_TEXT;
        c->inputs += text ? t->columns[j].levels : 1;
        c->texts |= text, c->numbers |= !text;
    }
    fit_columns_clear(&f);
    return status;
}

static anygp_status check(const comparison *c, anygp_error *e)
{
    const table *t = c->data->table;
    if (c->data->file)
        return fail_with(e, ANYGP_ERR_MEMORY,
                         "the table is too large to be held in memory with its test rows; compare on a sample of the "
                         "rows, or allow more by --memory");
    if (c->out->folds > 0 && *c->file)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "folds: the rows to score on are those of --test; leave one of the two out");
    if (t->rows < 2 * (c->out->folds > 0 ? c->out->folds : 5))
        return fail_with(e, ANYGP_ERR_DATA, "%lld row%s too few to hold some out", (long long)t->rows,
                         t->rows == 1 ? " is" : "s are");
    return ANYGP_OK;
}

/* Options that describe the data or the model; how long, and by how many threads, is another matter for each run. */
static bool gives_options(const settings *s)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        bool running = i == SET_TIME || i == SET_THREADS || i == SET_MEMORY;
        if (!running && settings_changed(s, (setting_id)i) && strchr(setting_at((setting_id)i)->commands, 'f'))
            return true;
    }
    return false;
}

anygp_status gp_compare_run(const gp_data *data, const settings *s, gp_compare *out, anygp_error *e)
{
    double limit = settings_number(s, SET_TIME), (*bytes)(const gp_set *) = out->file_bytes;
    bool keep = out->keep;
    bool kernels = settings_number(s, SET_KERNELS) == 1;
    *out = (gp_compare){.kernels = kernels,
                        .folds = settings_integer(s, SET_FOLDS),
                        .best_line = -1,
                        .options = gives_options(s),
                        .keep = keep,
                        .file_bytes = bytes};
    out->limit = !isnan(limit) ? limit : kernels ? KERNEL_SECONDS : SECONDS;
    comparison c = {.s = s, .data = data, .seed = (uint64_t)settings_integer(s, SET_SEED), .out = out};
    c.file = settings_text(s, SET_TEST), c.limit = out->limit;
    c.share = fmin(HELD_SHARE, HELD_MOST / (double)data->table->rows);
    anygp_status status = check(&c, e);
    settings *implied = NULL;
    if (!ANYGP_FAILED(status)) status = look_at_columns(&c, &implied, e);
    if (!ANYGP_FAILED(status)) status = kernels ? compare_kernels(&c, e) : compare_models(&c, e);
    if (!ANYGP_FAILED(status) && out->stopped && out->best_line < 0)
        status = fail_with(e, ANYGP_ERR_STOPPED, "stopped before the first model was fitted");
    if (!ANYGP_FAILED(status) && keep && !kernels && out->folds == 0 && !out->best && out->best_line >= 0)
        status = compare_again(&c, out->best_line, e);
    settings_free(implied);
    if (ANYGP_FAILED(status)) return gp_compare_clear(out), status;
    mark_frontier(out);
    if (!kernels) sort_lines(out);
    return out->stopped ? ANYGP_INTERRUPTED : ANYGP_OK;
}
