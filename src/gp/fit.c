/* From a table and settings to fitted models, one a target. */
#include "gp/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum { EXACT_MOST = 4000 }; /* distinct rows up to which `auto` is exact: about a minute on two cores */

void gp_free(gp *g)
{
    if (!g) return;
    schema_clear(&g->schema);
    if (g->posterior) g->posterior->ops->free(g->posterior);
    free(g->trace);
    free(g);
}

void gp_set_free(gp_set *m)
{
    if (!m) return;
    for (int64_t t = 0; m->gp && t < m->targets; t++) gp_free(m->gp[t]);
    free(m->gp);
    settings_free(m->settings);
    free(m);
}

/* ------------------------------------------------------------------------------------- settings */

/* Whether `word` is an item of a list separated by commas. */
static bool has_item(const char *list, const char *word)
{
    size_t length = strlen(word), n;
    for (; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n)) return true;
    }
    return false;
}

static bool fixes(const settings *s, const char *what)
{
    const char *list = settings_text(s, SET_FIX);
    return has_item(list, what) || has_item(list, "all");
}

static anygp_status check_fix(const settings *s, anygp_error *e)
{
    static const char known[] = "kernel,noise,inducing,all,none";
    size_t n;
    for (const char *at = settings_text(s, SET_FIX); *at; at += n + (at[n] == ',')) {
        char item[16] = "";
        n = strcspn(at, ",");
        if (n < sizeof item) memcpy(item, at, n);
        if (!has_item(known, item))
            return fail_with(e, ANYGP_ERR_ARGUMENT, "fix: '%.*s' is not one of: kernel, noise, inducing, all, none",
                             (int)(n < 80 ? n : 80), at);
    }
    return ANYGP_OK;
}

static mean_kind mean_of(const settings *s)
{
    return settings_is(s, SET_MEAN, "linear")     ? MEAN_LINEAR
           : settings_is(s, SET_MEAN, "constant") ? MEAN_CONSTANT
                                                  : MEAN_ZERO;
}

static const char *model_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return model_at(i)->name;
}

static anygp_status choose_model(const settings *s, const merged *rows, const model_ops **out, anygp_error *e)
{
    const char *name = settings_text(s, SET_MODEL);
    if (!strcmp(name, "auto")) name = rows->n <= EXACT_MOST ? "exact" : "sod";
    if ((*out = model_find(name))) return ANYGP_OK;
    const char *near = nearest_name(name, model_count(), model_name, NULL);
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: there is no model '%.80s'%s%s%s; the models are exact, sod and auto", name,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The largest subset that fits, to within a factor of 2. */
static int64_t subset_that_fits(const problem *p, double bytes)
{
    problem q = *p;
    for (q.subset = EXACT_MOST; q.subset > 1 && model_sod.bytes(&q) > bytes;) q.subset /= 2;
    return q.subset;
}

static anygp_status check_memory(const settings *s, const model_ops *model, const problem *p, anygp_error *e)
{
    bool given = settings_given(s, SET_MEMORY);
    double need = model->bytes(p), have = given ? settings_number(s, SET_MEMORY) : (double)memory_available();
    if (need <= have) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_MEMORY,
                     "the %s model of %lld distinct rows needs %.3g GB and %s %.3g GB; use --model sod --inducing %lld",
                     model->name, (long long)p->rows->n, need / 1e9, given ? "--memory allows" : "the machine has",
                     have / 1e9, (long long)subset_that_fits(p, have));
}

/* ----------------------------------------------------------------------------------------- trace */

typedef struct monitor {
    const settings *s;
    gp *g;
    int64_t capacity;
    double y_scale, time_limit;
} monitor;

static bool keep_step(monitor *m, const train_step *step)
{
    gp *g = m->g;
    if (g->steps == m->capacity) {
        int64_t grown = m->capacity ? 2 * m->capacity : 64;
        train_step *moved = realloc(g->trace, (size_t)grown * sizeof *moved);
        if (!moved) return false;
        g->trace = moved;
        m->capacity = grown;
    }
    g->trace[g->steps++] = *step;
    return true;
}

static int on_step(void *ctx, const train_step *step)
{
    monitor *m = ctx;
    train_step data = *step;
    data.rmse *= m->y_scale;
    data.mnlp += log(m->y_scale);
    if (step->stage == TRAIN_MAIN && !keep_step(m, &data)) return 1;
    anygp_progress progress = {.stage = step->stage == TRAIN_MAIN ? "learning" : "starting point",
                               .iteration = step->iteration,
                               .iterations = settings_integer(m->s, SET_ITERS),
                               .restart = step->restart,
                               .restarts = settings_integer(m->s, SET_RESTARTS),
                               .objective = step->objective,
                               .seconds = step->seconds,
                               .time_limit = isinf(m->time_limit) ? NAN : m->time_limit,
                               .rmse = data.rmse,
                               .mnlp = data.mnlp};
    return settings_progress(m->s, &progress);
}

/* ------------------------------------------------------------------------------------------ fit */

static void note_constants(const settings *s, const schema *c)
{
    char label[96], list[256] = "";
    int64_t constants = 0;
    for (int64_t i = 0; i < c->inputs; i++) {
        if (c->input[i].position >= 0) continue;
        schema_label(&c->input[i], label);
        if (constants++ < 5 && strlen(list) + strlen(label) + 3 < sizeof list) {
            if (constants > 1) strcat(list, ", ");
            strcat(list, label);
        }
    }
    if (constants)
        settings_log(s, ANYGP_NOTE, "%lld constant column%s left out of the model: %s%s", (long long)constants,
                     constants == 1 ? " is" : "s are", list, constants > 5 ? ", ..." : "");
}

/* What a user wants to know of the data before the training. */
static void note_what_was_left_out(const settings *s, const dataset *d)
{
    if (d->no_target) settings_log(s, ANYGP_NOTE, "%lld rows without a target were left out", (long long)d->no_target);
    if (d->no_weight) settings_log(s, ANYGP_NOTE, "%lld rows of weight 0 were left out", (long long)d->no_weight);
    note_constants(s, &d->schema);
    bool equal = d->n > 1;
    for (int64_t i = 1; i < d->n && equal; i++) equal = d->y[i] == d->y[0];
    if (equal) settings_log(s, ANYGP_WARNING, "all targets are equal to %g; there is nothing to learn", d->y[0]);
}

static void score_loo(gp *g, const schema *c, const leave_one_out *l)
{
    if (l->n == 0) return;
    double scale = c->y_scale, shift = c->y_shift;
    regression_scores acc;
    regression_scores_begin(&acc, c->y_mean, c->y_sd);
    for (int64_t i = 0; i < l->n; i++) {
        double y = shift + scale * l->y[i], mean = shift + scale * l->mean[i],
               variance = scale * scale * l->variance[i];
        regression_scores_add(&acc, 1, &y, &mean, &variance, &l->weight[i]);
    }
    g->loo.count = regression_scores_list(&acc, g->loo.list);
}

static anygp_status check_noise(const hyper *h, const merged *rows, anygp_error *e)
{
    if (h->noise > 0 || rows->plain) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "noise 0 is fixed, but without noise rows with equal inputs or with weights have no density; "
                     "give a positive --noise");
}

static train_options options_of(const settings *s, double began, double limit, monitor *watch)
{
    double jitter = settings_number(s, SET_JITTER);
    return (train_options){.iterations = settings_integer(s, SET_ITERS),
                           .restarts = settings_integer(s, SET_RESTARTS),
                           .jitter = isnan(jitter) ? 0 : jitter,
                           .time_limit = limit,
                           .began = began,
                           .report = on_step,
                           .save_every = INFINITY,
                           .ctx = watch};
}

static void keep_result(gp *g, const dataset *d, const train_result *r)
{
    g->objective = r->objective, g->objective_rows = r->rows, g->log_prior = r->log_prior;
    g->jitter = r->jitter, g->rows = d->total, g->inducing = g->posterior->n;
    g->iterations = r->iterations, g->evaluations = r->evaluations, g->status = r->status;
    score_loo(g, &d->schema, &r->loo);
}

/* Rows and kernel in model units to a trained posterior.  Takes the kernel over. */
static anygp_status learn(gp *g, const dataset *d, kernel *k, const settings *s, double began, double limit,
                          anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    merged rows = {0};
    hyper h = {0};
    basis mean = {0};
    train_result result = {0};
    double *sd_x = mem_alloc(d->D, sizeof *sd_x), rms_y, y2 = d->schema.y_scale * d->schema.y_scale;
    if (!sd_x) return kernel_free(k), fail_memory(e, "column scales", 8.0 * (double)d->D);
    TRY_DONE(hyper_init(&h, k, settings_number(s, SET_NOISE) / y2, fixes(s, "kernel"), fixes(s, "noise"),
                        settings_is(s, SET_PRIOR, "default"), e));
    TRY_DONE(dataset_merge(d, !kernel_has_white(k), &rows, e));
    dataset_spread(d, sd_x, &rms_y);
    hyper_defaults(&h, sd_x, rms_y);
    TRY_DONE(check_noise(&h, &rows, e));
    TRY_DONE(basis_init(&mean, mean_of(s), &d->schema, 100 * rms_y * rms_y, e));
    problem p = {.rows = &rows,
                 .mean = &mean,
                 .seed = (uint64_t)settings_integer(s, SET_SEED),
                 .subset = settings_integer(s, SET_INDUCING),
                 .select = settings_text(s, SET_SELECT),
                 .comm = comm_self()};
    TRY_DONE(choose_model(s, &rows, &g->model, e));
    TRY_DONE(check_memory(s, g->model, &p, e));
    if (rows.n < d->n)
        settings_log(s, ANYGP_NOTE, "%lld rows share their inputs and were merged to %lld distinct ones",
                     (long long)d->n, (long long)rows.n);
    monitor watch = {.s = s, .g = g, .y_scale = d->schema.y_scale, .time_limit = limit};
    train_options o = options_of(s, began, limit, &watch);
    TRY_DONE(train(g->model, &p, &h, &o, &result, &g->posterior, e));
    keep_result(g, d, &result);
    if (g->jitter > 0)
        settings_log(s, ANYGP_NOTE, "the covariance matrix needed jitter: %.1g of its mean diagonal was added",
                     g->jitter);
done:
    train_result_clear(&result);
    basis_clear(&mean);
    hyper_clear(&h);
    merged_clear(&rows);
    free(sd_x);
    return status;
}

/* The kernel of the settings, or the default one, over the columns of d. */
static anygp_status parse_kernel(const table_part *part, const settings *s, const dataset *d, kernel **k,
                                 anygp_error *e)
{
    TRY(gp_parse_kernel(settings_given(s, SET_KERNEL) ? settings_text(s, SET_KERNEL) : gp_default_kernel(&d->schema),
                        &d->schema, k, e));
    if (part->weights < 0 || !kernel_has_white(*k)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "a white kernel tells equal rows apart, so it cannot be used with --weights; use --noise alone");
}

/* Data and the values in the kernel to model units. */
static anygp_status standardize(dataset *d, kernel *k, const settings *s, anygp_error *e)
{
    bool both = settings_is(s, SET_STANDARDIZE, "both");
    int64_t *group = mem_alloc(d->D, sizeof *group);
    if (!group) return fail_memory(e, "column groups", 8.0 * (double)d->D);
    kernel_groups(k, group);
    anygp_status status = dataset_standardize(d, group, both || settings_is(s, SET_STANDARDIZE, "x"),
                                              both || settings_is(s, SET_STANDARDIZE, "y"), e);
    free(group);
    gp_given_to_model_units(k, &d->schema);
    return status;
}

/* One target, in `limit` seconds. */
static anygp_status fit_one(const table *t, const table_part *part, const settings *s, double limit, gp **out,
                            anygp_error *e)
{
    double began = clock_seconds();
    anygp_status status = ANYGP_OK;
    dataset d = {0};
    kernel *k = NULL;
    gp *g = calloc(1, sizeof *g);
    if (!g) return fail_memory(e, "the model", sizeof *g);
    TRY_DONE(dataset_build(t, part, settings_is(s, SET_MISSING, "mean"), &d, e));
    note_what_was_left_out(s, &d);
    TRY_DONE(parse_kernel(part, s, &d, &k, e));
    TRY_DONE(standardize(&d, k, s, e));
    kernel *mine = k;
    k = NULL; /* learn() takes it over */
    TRY_DONE(learn(g, &d, mine, s, began, limit, e));
    g->schema = d.schema;
    d.schema = (schema){0};
    g->seconds = clock_seconds() - began;
done:
    dataset_clear(&d);
    kernel_free(k);
    if (ANYGP_FAILED(status))
        gp_free(g);
    else
        *out = g;
    return status;
}

/* One after the other; each may take an equal share of the time that is left, and none once the caller said stop. */
static anygp_status fit_targets(const table *t, const fit_columns *c, const bool *held, const settings *s, gp_set *m,
                                anygp_error *e)
{
    double began = clock_seconds(), limit = settings_number(s, SET_TIME);
    anygp_status worst = ANYGP_OK;
    if (isnan(limit)) limit = INFINITY;
    for (int64_t k = 0; k < c->targets; k++) {
        table_part part = {c->target[k], c->weights, c->skip, held};
        double share = (limit - (clock_seconds() - began)) / (double)(c->targets - k);
        TRY(fit_one(t, &part, s, worst == ANYGP_INTERRUPTED ? 0 : fmax(share, 0), &m->gp[k], e));
        m->targets++;
        if (m->gp[k]->status > worst) worst = m->gp[k]->status;
        if (worst == ANYGP_INTERRUPTED) m->gp[k]->status = worst;
        if (held) valid_score_held_out(m->gp[k], t, c->weights, held, s);
    }
    return worst;
}

anygp_status gp_fit(const table *t, const settings *s, gp_set **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    fit_columns c = {0};
    bool *held = NULL;
    gp_set *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    TRY_DONE(check_fix(s, e));
    TRY_DONE(fit_columns_find(t, s, &c, e));
    TRY_DONE(valid_hold_out(t, s, &held, e));
    TRY_DONE(valid_check_file(s, held, e));
    m->settings = settings_copy(s);
    m->gp = mem_zeroed(c.targets, sizeof *m->gp);
    if (!m->settings || !m->gp) {
        status = fail_memory(e, "the model", 8.0 * (double)c.targets);
        goto done;
    }
    settings_on_log(m->settings, NULL, NULL); /* the caller's contexts do not outlive this call */
    settings_on_progress(m->settings, NULL, NULL);
    TRY_DONE(fit_targets(t, &c, held, s, m, e));
    if (settings_given(s, SET_VALID) && !held) valid_score_file(m, s);
done:
    fit_columns_clear(&c);
    free(held);
    if (ANYGP_FAILED(status))
        gp_set_free(m);
    else
        *out = m;
    return status;
}
