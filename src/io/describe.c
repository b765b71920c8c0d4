/* A fitted target as JSON, and back. */
#include "io/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/describe_parts.h"

/* --------------------------------------------------------------------------------- gp to JSON */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *text(const char *s) { return s ? json_string(s) : json_null(); }

static json_t *scores_json(const gp_scores *s)
{
    json_t *o = json_object();
    for (int i = 0; i < s->count; i++) json_object_set_new(o, s->list[i].name, number(s->list[i].value));
    return o;
}

/* Nothing where numbers are written plainly. */
static void describe_notation(cell_notation n, const char *unit, json_t *o)
{
    if (n != NOTATION_PLAIN) json_object_set_new(o, "notation", json_string(notation_name(n)));
    if (*unit) json_object_set_new(o, "unit", json_string(unit));
}

static json_t *input_json(const input_spec *c)
{
    json_t *o = json_pack("{s:o, s:I, s:b, s:b, s:o, s:o, s:o}", "name", text(c->name), "number", (json_int_t)c->number,
                          "used", c->position >= 0, "text", c->text, "shift", number(c->shift), "scale",
                          number(c->scale), "fill", number(c->fill));
    if (o) describe_notation(c->notation, c->unit, o);
    if (o && isfinite(c->lower) && isfinite(c->upper))
        json_object_set_new(o, "range", json_pack("[f, f]", c->lower, c->upper));
    if (!o || !c->text) return o;
    json_t *levels = json_array();
    for (int64_t l = 0; l < c->levels; l++) json_array_append_new(levels, json_string(c->level[l]));
    json_object_set_new(o, "levels", levels);
    return o;
}

static json_t *schema_json(const schema *s)
{
    json_t *inputs = json_array();
    for (int64_t i = 0; i < s->inputs; i++) json_array_append_new(inputs, input_json(&s->input[i]));
    json_t *target =
        json_pack("{s:o, s:I, s:f, s:f, s:f, s:f}", "name", text(s->target), "number", (json_int_t)s->target_number,
                  "shift", s->y_shift, "scale", s->y_scale, "mean", s->y_mean, "sd", s->y_sd);
    describe_transform(s, target);
    describe_classes(s, target);
    if (target) describe_notation(s->target_notation, s->target_unit, target);
    json_t *all = json_pack("{s:I, s:b, s:o, s:o, s:o}", "columns", (json_int_t)s->columns, "fill_missing",
                            s->fill_missing, "inputs", inputs, "target", target, "exposure", describe_exposure(s));
    if (all && s->sphere.on) json_object_set_new(all, "sphere", describe_sphere(s));
    return all;
}

enum { TRACE_COLUMNS = 6, TRACE_OLDER = 5 }; /* the second: those that every file has */
static const char *const trace_names[TRACE_COLUMNS] = {"iteration", "seconds", "objective", "rmse", "mnlp", "mell"};

static json_t *trace_json(const gp *g)
{
    json_t *o = json_object();
    for (int c = 0; c < TRACE_COLUMNS; c++) {
        json_t *cells = json_array();
        for (int64_t i = 0; i < g->steps; i++) {
            const train_step *t = &g->trace[i];
            const double values[] = {(double)t->iteration, t->seconds,     t->objective,
                                     t->scores.rmse,       t->scores.mnlp, t->scores.mell};
            json_array_append_new(cells, c ? number(values[c]) : json_integer((json_int_t)t->iteration));
        }
        json_object_set_new(o, trace_names[c], cells);
    }
    return o;
}

static const char *const mean_names[] = {"zero", "constant", "linear"};

const char *describe_mean(mean_kind kind) { return mean_names[kind]; }
static const char *const status_names[] = {"converged or done", "time limit", "interrupted"};

static json_t *rounded(double x) { return x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : number(x); }

static json_t *objective_json(const gp *g)
{
    const posterior *p = g->posterior;
    const evidence_estimate *s = p->ops->estimate ? p->ops->estimate(p) : NULL;
    json_t *o = json_pack("{s:s, s:o, s:o, s:b, s:o, s:o}", "name", g->model->objective, "value", number(g->objective),
                          "n", rounded(g->objective_rows), "exact", !g->estimate, "tighter", number(g->bounds.tighter),
                          "upper", number(g->bounds.upper));
    if (o && s)
        json_object_set_new(o, "estimate",
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "standard_error", number(s->error), "lower",
                                      number(s->lower), "upper", number(s->upper), "probes", number(s->probes),
                                      "iterations", number(s->iterations)));
    return o;
}

/* NULL: its variances were not corrected. */
static json_t *gain_json(const posterior *p)
{
    const variance_gain *v = p->ops->gain ? p->ops->gain(p) : NULL;
    return v ? json_pack("{s:f, s:f, s:o}", "gain", v->factor, "spread", v->spread, "rows", rounded(v->rows)) : NULL;
}

/* From which prediction starts again, bit by bit. */
static json_t *internal_json(const gp *g, const char *model_units)
{
    const posterior *p = g->posterior;
    json_t *o = json_pack("{s:s, s:f, s:f, s:o}", "kernel", model_units, "noise", p->noise, "mean_variance", p->mean.B,
                          "likelihood", describe_likelihood_text(g));
    if (o && gp_calibration(g) != 1) json_object_set_new(o, "calibration", number(gp_calibration(g)));
    if (o && g->local)
        json_object_set_new(o, "calibration_local",
                            json_pack("{s:I, s:f}", "near", (json_int_t)g->local->near, "shrink", g->local->shrink));
    return o;
}

/* Kernels of the layers before the last one, or of the experts after the first, with their noises; of most models there are none, and
   nothing is written. */
static void add_layers(const gp *g, json_t *o)
{
    json_t *list = json_array();
    char *units = NULL;
    bool experts = g->posterior->noises;
    for (int64_t i = 0; !gp_inner_kernel_text(g, i, 10, &units, NULL) && units; i++) {
        json_array_append_new(list, experts
                                        ? json_pack("{s:s, s:f}", "kernel", units, "noise", gp_expert_noise(g, i + 1))
                                        : json_string(units));
        free(units);
    }
    if (json_array_size(list) > 0) json_object_set(o, experts ? "experts" : "layers", list);
    json_decref(list);
}

json_t *describe_gp(const gp *g, const settings *s)
{
    char *units = NULL, *model_units = NULL;
    const posterior *p = g->posterior;
    json_t *o = NULL;
    if (!gp_kernel_text(g, 10, &units, NULL) &&
        !kernel_format(p->kernel, kernel_values(p->kernel), 17, &model_units, NULL))
        o = json_pack("{s:s, s:o, s:s, s:f, s:o, s:I, s:s, s:o, s:f, s:I, s:I, s:f, s:I, s:o, s:f, s:I, s:I, s:s, s:o, "
                      "s:{s:o, s:o, s:o}, "
                      "s:o, s:o}",
                      "model", g->name, "auto", describe_promise(g), "kernel", units, "noise", gp_noise(g),
                      "likelihood", describe_likelihood(g), "latents", (json_int_t)gp_latents(g), "mean",
                      mean_names[p->mean.kind], "objective", objective_json(g), "log_prior", g->log_prior, "inducing",
                      (json_int_t)g->inducing, "blocks", (json_int_t)g->blocks, "jitter", g->jitter, "seed",
                      (json_int_t)settings_integer(s, SET_SEED), "rows", rounded(g->rows), "seconds", g->seconds,
                      "iterations", (json_int_t)g->iterations, "evaluations", (json_int_t)g->evaluations, "status",
                      status_names[g->status], "data", schema_json(&g->schema), "scores", "leave_one_out",
                      scores_json(&g->loo), "valid", scores_json(&g->valid), "training", scores_json(&g->training),
                      "trace", trace_json(g), "internal", internal_json(g, model_units));
    if (o && !isnan(g->rounding.error))
        json_object_set_new(o, "precision",
                            json_pack("{s:f, s:b}", "error", g->rounding.error, "left", g->rounding.left));
    if (o && g->tries.count > 0) json_object_set_new(o, "tried", describe_tries(g));
    json_t *gain = gain_json(p);
    if (o && gain) json_object_set_new(o, "variances", gain);
    if (o) json_object_set_new(o, "kl", number(g->kl));
    if (o && p->ops->marginal_noise && gp_components(g) == 1) json_object_set_new(o, "experts", json_string("own"));
    if (o) add_layers(g, o);
    free(units);
    free(model_units);
    return o;
}

json_t *describe_settings(const settings *s)
{
    json_t *o = json_object();
    for (setting_id i = 0; i < SETTING_COUNT; i++)
        if (settings_changed(s, i) && i != SET_OUTPUT && i != SET_SPENT)
            json_object_set_new(o, setting_at(i)->name, text(settings_text(s, i)));
    return o;
}

/* --------------------------------------------------------------------------------- JSON to gp */

static anygp_status bad(anygp_error *e, const char *what)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's header has no valid '%s'; it is damaged or of another kind",
                     what);
}

static bool get_number(const json_t *o, const char *key, double *x)
{
    const json_t *v = json_object_get(o, key);
    *x = json_number_value(v);
    return json_is_number(v) && isfinite(*x);
}

static bool get_count(const json_t *o, const char *key, int64_t most, int64_t *x)
{
    const json_t *v = json_object_get(o, key);
    *x = json_integer_value(v);
    return json_is_integer(v) && *x >= 0 && *x <= most;
}

/* A text or null. */
static bool get_text(const json_t *o, const char *key, char **out)
{
    const json_t *v = json_object_get(o, key);
    if (json_is_null(v)) return true;
    return json_is_string(v) && (*out = mem_strdup(json_string_value(v)));
}

static const char *get_word(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

enum { COUNT_MOST = 1 << 30 };

static bool parse_levels(const json_t *list, input_spec *c)
{
    if (!json_is_array(list)) return false;
    int64_t count = (int64_t)json_array_size(list);
    if (!(c->level = mem_zeroed(count, sizeof *c->level))) return false;
    for (c->levels = 0; c->levels < count; c->levels++) {
        const char *s = json_string_value(json_array_get(list, (size_t)c->levels));
        if (!s || !(c->level[c->levels] = mem_strdup(s))) return false;
    }
    return true;
}

static bool parse_notation(const json_t *o, cell_notation *n, char unit[UNIT_ROOM])
{
    const json_t *v = json_object_get(o, "notation"), *u = json_object_get(o, "unit");
    *n = NOTATION_PLAIN;
    *unit = 0;
    if (v && !(json_is_string(v) && notation_named(json_string_value(v), n))) return false;
    if (!u || !notation_has_unit(*n)) return !u && !notation_has_unit(*n);
    if (!json_is_string(u) || json_string_length(u) >= UNIT_ROOM) return false;
    snprintf(unit, UNIT_ROOM, "%s", json_string_value(u));
    return *unit;
}

/* Older files have none. */
static bool parse_range(const json_t *o, input_spec *c)
{
    const json_t *v = json_object_get(o, "range"), *lower = json_array_get(v, 0), *upper = json_array_get(v, 1);
    c->lower = c->upper = NAN;
    if (!v) return true;
    if (!json_is_number(lower) || !json_is_number(upper) || json_array_size(v) != 2) return false;
    c->lower = json_number_value(lower), c->upper = json_number_value(upper);
    return isfinite(c->lower) && isfinite(c->upper) && c->lower <= c->upper;
}

static bool parse_input(const json_t *o, schema *s, input_spec *c)
{
    *c = (input_spec){.position = -1};
    if (!get_text(o, "name", &c->name) || !get_count(o, "number", COUNT_MOST, &c->number)) return false;
    if (!get_number(o, "shift", &c->shift) || !get_number(o, "scale", &c->scale) || !(c->scale > 0)) return false;
    if (!get_number(o, "fill", &c->fill) || !parse_range(o, c)) return false;
    if (json_is_true(json_object_get(o, "used"))) c->position = s->D++;
    c->text = json_is_true(json_object_get(o, "text"));
    if (!parse_notation(o, &c->notation, c->unit) || (c->text && c->notation != NOTATION_PLAIN)) return false;
    return !c->text || parse_levels(json_object_get(o, "levels"), c);
}

static anygp_status parse_schema(const json_t *o, schema *s, anygp_error *e)
{
    const json_t *list = json_object_get(o, "inputs"), *y = json_object_get(o, "target");
    if (!json_is_array(list)) return bad(e, "inputs");
    int64_t count = (int64_t)json_array_size(list);
    if (!(s->input = mem_zeroed(count, sizeof *s->input)))
        return fail_memory(e, "the columns", (double)count * sizeof *s->input);
    for (int64_t i = 0; i < count; i++) {
        s->inputs = i + 1; /* so that a half-read one is freed */
        if (!parse_input(json_array_get(list, (size_t)i), s, &s->input[i])) return bad(e, "inputs");
    }
    if (!parse_sphere(json_object_get(o, "sphere"), s)) return bad(e, "sphere");
    TRY(schema_index(s, e));
    s->fill_missing = json_is_true(json_object_get(o, "fill_missing"));
    bool ok = get_count(o, "columns", COUNT_MOST, &s->columns) && get_text(y, "name", &s->target) &&
              get_count(y, "number", COUNT_MOST, &s->target_number) && get_number(y, "shift", &s->y_shift) &&
              get_number(y, "scale", &s->y_scale) && s->y_scale > 0 && get_number(y, "mean", &s->y_mean) &&
              get_number(y, "sd", &s->y_sd) && s->y_sd > 0 && parse_notation(y, &s->target_notation, s->target_unit);
    for (int64_t i = 0; i < s->inputs; i++) ok = ok && s->input[i].number < s->columns;
    if (!ok || s->target_number >= s->columns) return bad(e, "target");
    if (!parse_transform(y, s)) return bad(e, "transform");
    TRY(parse_classes(y, s, e));
    return parse_exposure(json_object_get(o, "exposure"), s, e);
}

/* Those of the names in scores.h. */
static void parse_scores(const json_t *o, gp_scores *s)
{
    for (int i = 0; score_name(i) && s->count < SCORES_MOST; i++) {
        s->list[s->count].name = score_name(i);
        if (get_number(o, score_name(i), &s->list[s->count].value)) s->count++;
    }
}

static anygp_status parse_trace(const json_t *o, gp *g, anygp_error *e)
{
    size_t n = json_array_size(json_object_get(o, trace_names[0]));
    for (int c = 0; c < TRACE_OLDER; c++)
        if (json_array_size(json_object_get(o, trace_names[c])) != n) return bad(e, "trace");
    if (!(g->trace = mem_zeroed((int64_t)n, sizeof *g->trace)))
        return fail_memory(e, "the trace", (double)n * sizeof *g->trace);
    g->steps = (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        double v[TRACE_COLUMNS];
        for (int c = 0; c < TRACE_COLUMNS; c++) {
            const json_t *cell = json_array_get(json_object_get(o, trace_names[c]), i);
            v[c] = json_is_number(cell) ? json_number_value(cell) : NAN;
        }
        g->trace[i] = (train_step){.stage = TRAIN_MAIN,
                                   .iteration = v[0] >= 0 && v[0] < 1e15 ? (int64_t)v[0] : 0,
                                   .seconds = v[1],
                                   .objective = v[2],
                                   .scores = {v[3], v[4], v[5]}};
    }
    return ANYGP_OK;
}

static int index_of(const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i], word)) return i;
    return -1;
}

static anygp_status parse_summary(const json_t *j, gp *g, anygp_error *e)
{
    const json_t *objective = json_object_get(j, "objective"), *scores = json_object_get(j, "scores");
    int status = index_of(get_word(j, "status"), status_names, 3);
    bool anytime;
    g->name = mem_strdup(get_word(j, "model"));
    if (!g->name) return fail_memory(e, "the model's name", 0);
    g->model = model_named(g->name, &anytime);
    if (g->model && anytime && g->model->stepped) g->model = g->model->stepped;
    g->estimate = json_is_false(json_object_get(objective, "exact"));
    if (!get_count(j, "blocks", INT64_MAX, &g->blocks)) g->blocks = 0;
    if (!g->model)
        return fail_with(e, ANYGP_ERR_FILE, "the model file holds a '%.40s' model, which this version does not know",
                         get_word(j, "model"));
    if (status < 0) return bad(e, "status");
    g->status = (anygp_status)status;
    bool known = get_number(objective, "value", &g->objective);
    if (!known) g->objective = NAN; /* null: the run was stopped before it had one */
    if (!(known || json_is_null(json_object_get(objective, "value"))) ||
        !get_number(objective, "n", &g->objective_rows))
        return bad(e, "objective");
    /* null, or from a version that had none */
    if (!get_number(objective, "tighter", &g->bounds.tighter)) g->bounds.tighter = NAN;
    if (!get_number(objective, "upper", &g->bounds.upper)) g->bounds.upper = NAN;
    if (!get_number(j, "kl", &g->kl)) g->kl = NAN;
    json_t *precision = json_object_get(j, "precision"); /* absent: double */
    if (!get_number(precision, "error", &g->rounding.error)) g->rounding.error = NAN;
    g->rounding.left = json_is_true(json_object_get(precision, "left"));
    if (!get_number(j, "log_prior", &g->log_prior) || !get_number(j, "jitter", &g->jitter)) return bad(e, "jitter");
    if (!get_number(j, "rows", &g->rows) || !get_number(j, "seconds", &g->seconds)) return bad(e, "rows");
    if (!get_count(j, "inducing", COUNT_MOST, &g->inducing) || !get_count(j, "iterations", INT64_MAX, &g->iterations) ||
        !get_count(j, "evaluations", INT64_MAX, &g->evaluations))
        return bad(e, "iterations");
    parse_promise(json_object_get(j, "auto"), g);
    parse_tries(json_object_get(j, "tried"), g);
    parse_scores(json_object_get(scores, "leave_one_out"), &g->loo);
    parse_scores(json_object_get(scores, "valid"), &g->valid);
    parse_scores(json_object_get(scores, "training"), &g->training);
    return parse_trace(json_object_get(j, "trace"), g, e);
}

void described_clear(described *d)
{
    gp_free(d->g);
    kernel_free(d->kernel);
    basis_clear(&d->mean);
    *d = (described){0};
}

anygp_status describe_parse(const json_t *j, described *d, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    const json_t *internal = json_object_get(j, "internal");
    double B = 0;
    int mean = index_of(get_word(j, "mean"), mean_names, 3);
    *d = (described){0};
    if (!(d->g = calloc(1, sizeof *d->g))) return fail_memory(e, "the model", sizeof *d->g);
    TRY_DONE(parse_schema(json_object_get(j, "data"), &d->g->schema, e));
    TRY_DONE(parse_summary(j, d->g, e));
    if (json_object_get(internal, "calibration") &&
        (!get_number(internal, "calibration", &d->g->calibration) || !(d->g->calibration > 0))) {
        status = bad(e, "calibration");
        goto done;
    }
    if (mean < 0 || !get_number(internal, "noise", &d->noise) || d->noise < 0 ||
        !get_number(internal, "mean_variance", &B) || B < 0) {
        status = bad(e, "internal");
        goto done;
    }
    TRY_DONE(parse_likelihood(json_object_get(internal, "likelihood"), d->noise, d->g, e));
    TRY_DONE(gp_parse_kernel(get_word(internal, "kernel"), &d->g->schema, &d->kernel, e));
    TRY_DONE(basis_init(&d->mean, (mean_kind)mean, &d->g->schema, B, e));
done:
    if (ANYGP_FAILED(status)) described_clear(d);
    return status;
}

/* Settings are a record of how the model came about; what they did is in the rest of the file.  So those that this version
   does not know, by name or by value, are passed over: a newer version may have written them. */
anygp_status describe_parse_settings(const json_t *j, settings **out, anygp_error *e)
{
    const char *name;
    json_t *value;
    settings *s = settings_new();
    if (!s) return fail_memory(e, "the settings", 0);
    json_object_foreach((json_t *)j, name, value)
    {
        anygp_status status =
            json_is_string(value) ? settings_set(s, name, json_string_value(value), e) : bad(e, "settings");
        if (ANYGP_FAILED(status) && status != ANYGP_ERR_ARGUMENT) return settings_free(s), status;
    }
    *out = s;
    return ANYGP_OK;
}
