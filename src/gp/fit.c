#include "gp/gp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"

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

/* --------------------------------------------------------------------------------------- units */

double gp_unit(const schema *s, const kernel_param *p)
{
    double x = p->column >= 0 ? schema_at(s, p->column)->scale : 1;
    switch (p->role) {
    case ROLE_VARIANCE: return p->unit_variance ? s->y_scale * s->y_scale : 1;
    case ROLE_LENGTH:
    case ROLE_PERIOD: return x;
    case ROLE_FREQUENCY: return 1 / x;
    default: return 1;
    }
}

double gp_noise(const gp *g) { return g->posterior->noise * g->schema.y_scale * g->schema.y_scale; }

anygp_status gp_kernel_text(const gp *g, int digits, char **text, anygp_error *e)
{
    kernel *k = g->posterior->kernel;
    int64_t P = kernel_count(k);
    double *values = mem_alloc(P, sizeof *values);
    if (!values) return fail_memory(e, "the kernel's text", 8.0 * (double)P);
    for (int64_t i = 0; i < P; i++) {
        double unit = gp_unit(&g->schema, kernel_param_at(k, i)), value = kernel_values(k)[i] * unit;
        values[i] = fmin(fmax(value, -DBL_MAX), DBL_MAX); /* inputs of 1e308 have a length-scale beyond it */
    }
    anygp_status status = kernel_format(k, values, digits, text, e);
    free(values);
    return status;
}

/* -------------------------------------------------------------------------------------- kernel */

anygp_status gp_parse_kernel(const char *text, const schema *s, kernel **out, anygp_error *e)
{
    kernel_input *in = mem_alloc(s->inputs, sizeof *in);
    if (!in) return fail_memory(e, "the kernel", (double)s->inputs * sizeof *in);
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        in[i] = (kernel_input){c->name, c->number,
                               c->position < 0 ? INPUT_CONSTANT
                               : c->text       ? INPUT_TEXT
                                               : INPUT_NUMBER,
                               c->position};
    }
    anygp_status status = kernel_parse(text, in, s->inputs, s->D, out, e);
    free(in);
    return status;
}

/* matern52 over the numbers, times a categorical factor over the texts. */
static const char *default_kernel(const schema *s)
{
    int64_t numbers = 0, texts = 0;
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].position >= 0) s->input[i].text ? texts++ : numbers++;
    return texts == 0 ? "matern52" : numbers == 0 ? "categorical" : "matern52 * categorical";
}

/* Values the user gave are in data units. */
static void given_to_model_units(kernel *k, const schema *s)
{
    for (int64_t i = 0; i < kernel_count(k); i++) {
        const kernel_param *p = kernel_param_at(k, i);
        if (p->given) kernel_values(k)[i] /= gp_unit(s, p);
    }
}

/* ------------------------------------------------------------------------------------- settings */

static bool fixes(const settings *s, const char *what)
{
    const char *list = settings_text(s, SET_FIX), *at = strstr(list, what);
    return !strcmp(list, "all") || (at && (at == list || at[-1] == ','));
}

static anygp_status check_fix(const settings *s, anygp_error *e)
{
    static const char *const known[] = {"kernel", "noise", "inducing", "all", "none"};
    for (const char *at = settings_text(s, SET_FIX); *at; at += *at == ',') {
        size_t n = strcspn(at, ","), i = 0;
        while (i < 5 && (strlen(known[i]) != n || strncmp(at, known[i], n) != 0)) i++;
        if (i == 5)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "fix: '%.*s' is not one of: kernel, noise, inducing, all, none",
                             (int)(n < 80 ? n : 80), at);
        at += n;
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

static anygp_status check_memory(const settings *s, const model_ops *model, const problem *p, anygp_error *e)
{
    bool given = settings_given(s, SET_MEMORY);
    double need = model->bytes(p), have = given ? settings_number(s, SET_MEMORY) : (double)memory_available();
    if (need <= have) return ANYGP_OK;
    int64_t most = (int64_t)sqrt(have / 8.0 * 0.9);
    return fail_with(e, ANYGP_ERR_MEMORY,
                     "the %s model of %lld distinct rows needs %.3g GB and %s %.3g GB; use --model sod --inducing %lld",
                     model->name, (long long)p->rows->n, need / 1e9, given ? "--memory allows" : "the machine has",
                     have / 1e9, (long long)(most < 4000 ? (most > 1 ? most : 1) : 4000));
}

/* ----------------------------------------------------------------------------------------- trace */

typedef struct monitor {
    const settings *s;
    gp *g;
    int64_t capacity;
    double y_scale;
} monitor;

static int on_step(void *ctx, const train_step *step)
{
    monitor *m = ctx;
    gp *g = m->g;
    train_step data = *step;
    data.rmse *= m->y_scale;
    data.mnlp += log(m->y_scale);
    if (step->stage == TRAIN_MAIN) {
        if (g->steps == m->capacity) {
            int64_t grown = m->capacity ? 2 * m->capacity : 64;
            train_step *moved = realloc(g->trace, (size_t)grown * sizeof *moved);
            if (!moved) return 1;
            g->trace = moved;
            m->capacity = grown;
        }
        g->trace[g->steps++] = data;
    }
    anygp_progress progress = {.stage = step->stage == TRAIN_MAIN ? "learning" : "starting point",
                               .iteration = step->iteration,
                               .iterations = settings_integer(m->s, SET_ITERS),
                               .restart = step->restart,
                               .restarts = settings_integer(m->s, SET_RESTARTS),
                               .objective = step->objective,
                               .seconds = step->seconds,
                               .time_limit = settings_number(m->s, SET_TIME),
                               .rmse = data.rmse,
                               .mnlp = data.mnlp};
    return settings_progress(m->s, &progress);
}

/* ------------------------------------------------------------------------------------------ fit */

/* Notes a user wants to see: what was left out. */
static void note_what_was_left_out(const settings *s, const dataset *d)
{
    char label[96], list[256] = "";
    int64_t constants = 0;
    if (d->no_target) settings_log(s, ANYGP_NOTE, "%lld rows without a target were left out", (long long)d->no_target);
    if (d->no_weight) settings_log(s, ANYGP_NOTE, "%lld rows of weight 0 were left out", (long long)d->no_weight);
    for (int64_t i = 0; i < d->schema.inputs; i++) {
        if (d->schema.input[i].position >= 0) continue;
        schema_label(&d->schema.input[i], label);
        if (constants++ < 5 && strlen(list) + strlen(label) + 3 < sizeof list) {
            if (constants > 1) strcat(list, ", ");
            strcat(list, label);
        }
    }
    if (constants)
        settings_log(s, ANYGP_NOTE, "%lld constant column%s left out of the model: %s%s", (long long)constants,
                     constants == 1 ? " is" : "s are", list, constants > 5 ? ", ..." : "");
    if (d->n > 1 && d->schema.y_sd == 1 && d->y[0] == d->schema.y_mean) {
        bool equal = true;
        for (int64_t i = 0; i < d->n && equal; i++) equal = d->y[i] == d->y[0];
        if (equal) settings_log(s, ANYGP_WARNING, "all targets are equal to %g; there is nothing to learn", d->y[0]);
    }
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

static anygp_status learn(gp *g, dataset *d, kernel *k, const settings *s, double began, anygp_error *e)
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
    TRY_DONE(basis_init(&mean, mean_of(s), &d->schema, 100 * rms_y * rms_y, e));
    problem p = {&rows, &mean, (uint64_t)settings_integer(s, SET_SEED), settings_integer(s, SET_INDUCING),
                 settings_text(s, SET_SELECT)};
    TRY_DONE(choose_model(s, &rows, &g->model, e));
    TRY_DONE(check_memory(s, g->model, &p, e));
    if (rows.n < d->n)
        settings_log(s, ANYGP_NOTE, "%lld rows share their inputs and were merged to %lld distinct ones",
                     (long long)d->n, (long long)rows.n);
    monitor watch = {.s = s, .g = g, .y_scale = d->schema.y_scale};
    double limit = settings_number(s, SET_TIME), jitter = settings_number(s, SET_JITTER);
    train_options o = {.iterations = settings_integer(s, SET_ITERS),
                       .restarts = settings_integer(s, SET_RESTARTS),
                       .jitter = isnan(jitter) ? 0 : jitter,
                       .time_limit = isnan(limit) ? INFINITY : limit,
                       .began = began,
                       .report = on_step,
                       .ctx = &watch};
    TRY_DONE(train(g->model, &p, &h, &o, &result, &g->posterior, e));
    g->objective = result.objective, g->objective_rows = result.rows, g->log_prior = result.log_prior;
    g->jitter = result.jitter, g->rows = d->total;
    g->inducing = g->model == &model_exact ? rows.n : p.subset < rows.n ? p.subset : rows.n;
    g->iterations = result.iterations, g->evaluations = result.evaluations, g->status = result.status;
    if (g->jitter > 0)
        settings_log(s, ANYGP_NOTE, "the covariance matrix needed jitter: %.1g of its mean diagonal was added",
                     g->jitter);
    score_loo(g, &d->schema, &result.loo);
done:
    train_result_clear(&result);
    basis_clear(&mean);
    hyper_clear(&h);
    merged_clear(&rows);
    free(sd_x);
    return status;
}

/* One target. */
static anygp_status fit_one(const table *t, const table_part *part, const settings *s, gp **out, anygp_error *e)
{
    double began = clock_seconds();
    anygp_status status = ANYGP_OK;
    dataset d = {0};
    kernel *k = NULL;
    int64_t *group = NULL;
    gp *g = calloc(1, sizeof *g);
    if (!g) return fail_memory(e, "the model", sizeof *g);
    TRY_DONE(dataset_build(t, part, settings_is(s, SET_MISSING, "mean"), &d, e));
    note_what_was_left_out(s, &d);
    TRY_DONE(gp_parse_kernel(settings_given(s, SET_KERNEL) ? settings_text(s, SET_KERNEL) : default_kernel(&d.schema),
                             &d.schema, &k, e));
    if (part->weights >= 0 && kernel_has_white(k)) {
        status =
            fail_with(e, ANYGP_ERR_ARGUMENT,
                      "a white kernel tells equal rows apart, so it cannot be used with --weights; use --noise alone");
        goto done;
    }
    if (!(group = mem_alloc(d.D, sizeof *group))) {
        status = fail_memory(e, "column groups", 8.0 * (double)d.D);
        goto done;
    }
    kernel_groups(k, group);
    bool both = settings_is(s, SET_STANDARDIZE, "both");
    TRY_DONE(dataset_standardize(&d, group, both || settings_is(s, SET_STANDARDIZE, "x"),
                                 both || settings_is(s, SET_STANDARDIZE, "y"), e));
    given_to_model_units(k, &d.schema);
    kernel *mine = k;
    k = NULL; /* learn() takes it over */
    TRY_DONE(learn(g, &d, mine, s, began, e));
    g->schema = d.schema;
    d.schema = (schema){0};
    g->seconds = clock_seconds() - began;
done:
    dataset_clear(&d);
    kernel_free(k);
    free(group);
    if (ANYGP_FAILED(status))
        gp_free(g);
    else
        *out = g;
    return status;
}

/* -------------------------------------------------------------------------------------- targets */

typedef struct columns {
    int64_t targets, *target, weights;
    bool *skip; /* the target columns */
} columns;

static void columns_clear(columns *c)
{
    free(c->target);
    free(c->skip);
}

/* The target columns named in the settings, or the file's own. */
static anygp_status find_columns(const table *t, const settings *s, columns *c, anygp_error *e)
{
    const char *list = settings_text(s, SET_TARGET);
    c->weights = -1;
    c->target = mem_alloc(1 + (int64_t)strlen(list), sizeof *c->target);
    c->skip = mem_zeroed(t->cols, sizeof *c->skip);
    if (!c->target || !c->skip) return fail_memory(e, "the columns", (double)t->cols);
    if (settings_given(s, SET_WEIGHTS))
        TRY(column_find(t->columns, t->cols, settings_text(s, SET_WEIGHTS), &c->weights, e));
    if (!*list) {
        if (t->target < 0)
            return fail_with(e, ANYGP_ERR_DATA, "the file has inputs but no target; name one with --target");
        c->target[c->targets++] = t->target == c->weights && t->target > 0 ? t->target - 1 : t->target;
    }
    while (*list) {
        char name[512];
        size_t n = strcspn(list, "\n");
        if (n >= sizeof name) return fail_with(e, ANYGP_ERR_ARGUMENT, "target: the name is too long");
        memcpy(name, list, n);
        name[n] = 0;
        TRY(column_find(t->columns, t->cols, name, &c->target[c->targets++], e));
        list += n + (list[n] == '\n');
    }
    for (int64_t i = 0; i < c->targets; i++) {
        if (c->skip[c->target[i]])
            return fail_with(e, ANYGP_ERR_ARGUMENT, "target: column %lld is named twice", (long long)c->target[i]);
        if (c->target[i] == c->weights)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "column %lld cannot be both target and weights",
                             (long long)c->weights);
        c->skip[c->target[i]] = true;
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------- validation */

/* --valid 0.1: that share of the rows, at random; NULL if --valid is not a fraction. */
static anygp_status hold_out(const table *t, const settings *s, bool **held, anygp_error *e)
{
    const char *text = settings_text(s, SET_VALID);
    char *end;
    double share = strtod(text, &end);
    *held = NULL;
    if (end == text || *end) return ANYGP_OK;
    if (!(share > 0 && share < 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "valid: %.40s is not a file, nor a fraction between 0 and 1", text);
    if (!(*held = mem_zeroed(t->rows, sizeof **held))) return fail_memory(e, "the held-out rows", (double)t->rows);
    random_stream r = {(uint64_t)settings_integer(s, SET_SEED), RANDOM_SPLIT, 0};
    for (int64_t i = 0; i < t->rows; i++) (*held)[i] = random_uniform(r, (uint64_t)i) < share;
    return ANYGP_OK;
}

static anygp_status score_held_out(gp *g, const table *t, int64_t weights, const bool *held, anygp_error *e)
{
    const schema *c = &g->schema;
    scorer *r = NULL;
    double *row = mem_alloc(c->inputs, sizeof *row);
    anygp_status status = row ? scorer_new(g, 1e8, false, &r, e) : fail_memory(e, "a row", 8.0 * (double)c->inputs);
    for (int64_t i = 0; i < t->rows && !ANYGP_FAILED(status); i++) {
        const double *cells = t->values + i * t->cols;
        if (!held[i]) continue;
        for (int64_t j = 0; j < c->inputs; j++) row[j] = cells[c->input[j].number];
        status = scorer_add(r, row, cells[c->target_number], weights < 0 ? 1 : cells[weights], i, e);
    }
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, &g->valid, e);
    scorer_free(r);
    free(row);
    return status;
}

/* A validation file that is not there is said before the training, not after it. */
static anygp_status check_valid_file(const settings *s, const bool *held, anygp_error *e)
{
    const char *path = settings_text(s, SET_VALID);
    reader *r = NULL;
    read_options o = READ_DEFAULTS;
    if (!*path || held || !strcmp(path, "-")) return ANYGP_OK;
    anygp_status status = reader_open(path, &o, &r, e);
    reader_close(r);
    return status;
}

/* What is wrong inside the file shows only now, and is no reason to throw the model away. */
static void score_valid_file(gp_set *m, const settings *s)
{
    anygp_error why;
    gp_scores *scores = mem_zeroed(m->targets, sizeof *scores);
    if (scores && !ANYGP_FAILED(gp_eval_file(m, s, settings_text(s, SET_VALID), scores, &why)))
        for (int64_t k = 0; k < m->targets; k++) m->gp[k]->valid = scores[k];
    else
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", scores ? why.text : "not enough memory");
    free(scores);
}

anygp_status gp_fit(const table *t, const settings *s, gp_set **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK, result = ANYGP_OK;
    columns c = {0};
    bool *held = NULL;
    gp_set *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    TRY_DONE(check_fix(s, e));
    TRY_DONE(find_columns(t, s, &c, e));
    TRY_DONE(hold_out(t, s, &held, e));
    TRY_DONE(check_valid_file(s, held, e));
    m->settings = settings_copy(s);
    m->gp = mem_zeroed(c.targets, sizeof *m->gp);
    if (!m->settings || !m->gp) {
        status = fail_memory(e, "the model", 8.0 * (double)c.targets);
        goto done;
    }
    settings_on_log(m->settings, NULL, NULL); /* the caller's contexts do not outlive this call */
    settings_on_progress(m->settings, NULL, NULL);
    for (; m->targets < c.targets; m->targets++) {
        table_part part = {c.target[m->targets], c.weights, c.skip, held};
        TRY_DONE(fit_one(t, &part, s, &m->gp[m->targets], e));
        if (m->gp[m->targets]->status > result) result = m->gp[m->targets]->status;
        if (held) TRY_DONE(score_held_out(m->gp[m->targets], t, c.weights, held, e));
    }
    if (settings_given(s, SET_VALID) && !held) score_valid_file(m, s);
    status = result;
done:
    columns_clear(&c);
    free(held);
    if (ANYGP_FAILED(status))
        gp_set_free(m);
    else
        *out = m;
    return status;
}
