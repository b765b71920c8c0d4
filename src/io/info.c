/* What `anygp info` shows: a page for people, a JSON object for programs. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/exact/precond.h"
#include "base/c_locale.h"
#include "base/plain.h"
#include "io/describe.h"
#include "io/describe_parts.h"
#include "io/wrap.h"

/* Text that grows. */
typedef struct page {
    FILE *stream;
    char *text;
    size_t size;
} page;

static void line(page *p, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void line(page *p, const char *label, const char *format, ...)
{
    va_list args;
    fprintf(p->stream, "  %-14s ", label);
    va_start(args, format);
    vfprintf(p->stream, format, args);
    va_end(args);
    fputc('\n', p->stream);
}

static void scores_line(page *p, const char *label, const gp_scores *s)
{
    if (s->count < 2) return;
    if (isfinite(gp_score_named(s, "accuracy"))) {
        line(p, label, "accuracy %.2f %%, logloss %.4g, brier %.4g, auc %.4g", 100 * gp_score_named(s, "accuracy"),
             gp_score_named(s, "logloss"), gp_score_named(s, "brier"), gp_score_named(s, "auc"));
        return;
    }
    line(p, label, "rmse %.4g, mnlp %.4g, msll %.4g, 95 %% intervals cover %.1f %%", gp_score_named(s, "rmse"),
         gp_score_named(s, "mnlp"), gp_score_named(s, "msll"), 100 * gp_score_named(s, "coverage95"));
}

static void bounds_line(page *p, const gp *g)
{
    const evidence_bounds *b = &g->bounds;
    if (!isfinite(b->upper)) return;
    double lower = isfinite(b->tighter) ? b->tighter : g->objective;
    line(p, "log evidence", "between %.6g and %.6g at these parameters; the objective is %.3g to %.3g per row below it",
         lower, b->upper, (lower - g->objective) / g->objective_rows, (b->upper - g->objective) / g->objective_rows);
}

/* How a log evidence was estimated. */
static void estimate_line(page *p, const gp *g)
{
    const posterior *q = g->posterior;
    const evidence_estimate *s = q->ops->estimate ? q->ops->estimate(q) : NULL;
    if (!s) return;
    line(p, "solver",
         "conjugate gradients, preconditioner %s: at most %.0f iterations, %.0f probes; log evidence %.6g, standard "
         "error %.2g, "
         "between %.6g and %.6g",
         precond_at((int64_t)s->precond)->name, s->iterations, s->probes, s->value, s->error, s->lower, s->upper);
}

/* Where variances come from, and how far they are off. */
static void gain_line(page *p, const gp *g)
{
    const posterior *q = g->posterior;
    const variance_gain *v = q->ops->gain ? q->ops->gain(q) : NULL;
    if (!v) return;
    line(p, "variances",
         "given nearest rows, whose information counts %.3g times, as solves for %.0f training rows have it; at these "
         "the "
         "variance is off by a factor of %.2f (one standard deviation)",
         v->factor, v->rows, exp(v->spread));
}

static void inputs_line(page *p, const schema *s)
{
    int64_t texts = 0, constants = 0;
    for (int64_t i = 0; i < s->inputs; i++) {
        if (s->input[i].position < 0)
            constants++;
        else
            texts += s->input[i].text;
    }
    long long numbers = s->D - texts - s->sphere.on;
    line(p, "inputs", "%lld (%lld number%s, %lld %s, %lld constant and left out)", (long long)s->inputs, numbers,
         numbers == 1 ? "" : "s", (long long)texts, texts == 1 ? "category" : "categories", (long long)constants);
}

/* The classes in their order; a long list is cut short. */
static void classes_line(page *p, const schema *s)
{
    enum { SHOWN = 20 };
    if (s->classes == 0) return;
    fprintf(p->stream, "  %-14s %lld:", "classes", (long long)s->classes);
    for (int64_t k = 0; k < s->classes && k < SHOWN; k++) fprintf(p->stream, "%s %s", k ? "," : "", s->class_name[k]);
    fputs(s->classes > SHOWN ? ", ...\n" : "\n", p->stream);
}

static void sphere_line(page *p, const schema *s)
{
    char lon[96], lat[96];
    if (s->sphere.on)
        line(p, "sphere", "%s and %s are places on the earth; lengths are in km, along the chord",
             schema_label(&s->input[s->sphere.lon], lon), schema_label(&s->input[s->sphere.lat], lat));
}

static void transform_line(page *p, const schema *s)
{
    char text[40];
    if (!warp_is(&s->warp)) return;
    warp_print(&s->warp, text, sizeof text);
    line(p, "transform", "%s; kernel, noise and objective are those of the transformed target", text);
}

/* gaussian: its noise; else the expression with values in data units, as --likelihood takes it. */
static anygp_status likelihood_lines(page *p, const gp *g, anygp_error *e)
{
    const likelihood *l = g->likelihood;
    char *text;
    sphere_line(p, &g->schema);
    transform_line(p, &g->schema);
    if (gp_is_gaussian(g)) {
        line(p, "noise", "variance %.4g (sd %.4g)", gp_noise(g), sqrt(gp_noise(g)));
        return ANYGP_OK;
    }
    TRY(gp_likelihood_text(g, 4, &text, e));
    line(p, "likelihood", "%s, %lld latent function%s", text, (long long)l->latents, l->latents == 1 ? "" : "s");
    free(text);
    classes_line(p, &g->schema);
    if (g->schema.exposed && g->schema.exposure_name)
        line(p, "exposure", "'%s'", g->schema.exposure_name);
    else if (g->schema.exposed)
        line(p, "exposure", "column %lld", (long long)g->schema.exposure);
    return ANYGP_OK;
}

/* Layers of a deep model before the last one, whose kernel is the model's; experts after the first, whose kernel and noise are. */
static anygp_status inner_kernel_lines(page *p, const gp *g, anygp_error *e)
{
    for (int64_t i = 0;; i++) {
        char *text, name[32];
        TRY(gp_inner_kernel_text(g, i, 4, &text, e));
        if (!text) return ANYGP_OK;
        bool expert = g->posterior->noises;
        snprintf(name, sizeof name, expert ? "expert %d" : "layer %d", (int)i + 1 + expert);
        if (expert)
            line(p, name, "%s, noise variance %.4g", text, gp_expert_noise(g, i + 1));
        else
            line(p, name, "%s", text);
        free(text);
    }
}

/* --blocks 2,4,8: what each of them was worth. */
static void tries_line(page *p, const gp *g)
{
    const gp_tries *t = &g->tries;
    int64_t best = 0;
    if (t->count == 0) return;
    for (int64_t i = 1; i < t->count; i++)
        if (t->mnlp[i] < t->mnlp[best] || isnan(t->mnlp[best])) best = i;
    fprintf(p->stream, "  %-14s %lld %s, by the mnlp on held-out rows (", "chosen", (long long)t->blocks[best],
            model_is_mixture(g->model) ? "experts" : "blocks");
    for (int64_t i = 0; i < t->count; i++) {
        fprintf(p->stream, "%s%lld: ", i ? ", " : "", (long long)t->blocks[i]);
        isnan(t->mnlp[i]) ? fputs("no score", p->stream) : fprintf(p->stream, "%.4g", t->mnlp[i]);
    }
    fputs(")\n", p->stream);
}

static void vectors_line(page *p, const gp *g)
{
    if (!g->posterior->ops->vectors) return;
    fprintf(p->stream, "  %-14s ", "vectors");
    describe_first_vectors(g, p->stream);
    fputc('\n', p->stream);
}

static anygp_status gp_page(page *p, const gp *g, const settings *s, anygp_error *e)
{
    const inducing_ops *kind = g->model->variables ? g->model->variables : &inducing_points;
    char *kernel_text;
    if (g->schema.target)
        fprintf(p->stream, "target '%s'\n", g->schema.target);
    else
        fprintf(p->stream, "target column %lld\n", (long long)g->schema.target_number);
    if (g->blocks && !model_has_inducing(g->model) && !g->model->variables)
        line(p, "model", "%s, %lld rows in the posterior, in %lld block%s", g->name, (long long)g->inducing,
             (long long)g->blocks, g->blocks == 1 ? "" : "s");
    else if (g->blocks)
        line(p, "model", "%s, %lld %s, rows in %lld block%s", g->name, (long long)g->inducing,
             g->inducing == 1 ? kind->noun : kind->nouns, (long long)g->blocks, g->blocks == 1 ? "" : "s");
    else if (g->posterior->places)
        line(p, "model", "%s, %lld rows and %lld %s in the posterior", g->name, (long long)g->inducing,
             (long long)g->posterior->places, g->posterior->places == 1 ? kind->noun : kind->nouns);
    else
        line(p, "model", "%s, %lld rows in the posterior", g->name, (long long)g->inducing);
    if (*g->promise.reason && !(g->promise.seconds > 0))
        line(p, "auto", "%s", g->promise.reason);
    else if (*g->promise.reason)
        line(p, "auto", "%s; estimated at %.*g s and %.*g GB", g->promise.reason, plain_digits(g->promise.seconds, 2),
             g->promise.seconds, plain_digits(g->promise.bytes / 1e9, 2), g->promise.bytes / 1e9);
    tries_line(p, g);
    line(p, "rows", "%.15g", g->rows);
    inputs_line(p, &g->schema);
    TRY(gp_kernel_text(g, 4, &kernel_text, e));
    line(p, "kernel", "%s", kernel_text);
    free(kernel_text);
    describe_relevance_lines(g, settings_is(s, SET_STANDARDIZE, "both") || settings_is(s, SET_STANDARDIZE, "x"),
                             "                 ", p->stream);
    TRY(inner_kernel_lines(p, g, e));
    TRY(likelihood_lines(p, g, e));
    if (g->posterior->mean.kind != MEAN_ZERO)
        line(p, "mean", "%s, its coefficients integrated out", describe_mean(g->posterior->mean.kind));
    if (g->posterior->ops->marginal_noise && gp_components(g) == 1)
        line(p, "experts", "each has a kernel and noise of its own; those above are their medians");
    vectors_line(p, g);
    if (isnan(g->objective))
        line(p, "objective", "none: the run ended before the %s was computed once", g->model->objective);
    else
        line(p, "objective", "%s %.6g over %.15g rows, of y as the model saw it%s; log prior %.4g", g->model->objective,
             g->objective, g->objective_rows, g->estimate ? " (a running estimate)" : "", g->log_prior);
    bounds_line(p, g);
    estimate_line(p, g);
    gain_line(p, g);
    if (gp_calibration(g) != 1)
        line(p, "calibration", "the variance of f is multiplied by %.4g, by leave-one-out", gp_calibration(g));
    if (g->local)
        line(p, "calibration",
             "variances are multiplied by factors that vary over the inputs: of %lld rows left out the nearest %lld, "
             "and %.4g with a factor of 1",
             (long long)g->local->n, (long long)g->local->near, g->local->shrink);
    scores_line(p, "leave-one-out", &g->loo);
    scores_line(p, "validation", &g->valid);
    scores_line(p, "training rows", &g->training);
    line(p, "training", "%lld iterations, %lld evaluations, %.*g s, seed %lld%s%s", (long long)g->iterations,
         (long long)g->evaluations, plain_digits(g->seconds, 3), g->seconds, (long long)settings_integer(s, SET_SEED),
         g->status ? ", ended by " : "",
         g->status == ANYGP_TIME_LIMIT ? "the time limit"
         : g->status                   ? "interruption"
                                       : "");
    if (g->jitter > 0) line(p, "jitter", "%.1g of the mean diagonal", g->jitter);
    if (!isnan(g->rounding.error))
        line(p, "precision", "mixed; rounding moved the objective by %.1g nats per row at most%s", g->rounding.error,
             g->rounding.left ? ", which was too much: the run went on in double" : "");
    return ANYGP_OK;
}

static anygp_status wrapped(const char *text, char **out, anygp_error *e)
{
    enum { WIDTH = 100, INDENT = 17 };
    size_t size;
    FILE *f = open_memstream(out, &size);
    if (f) wrap_lines(text, WIDTH, INDENT, f);
    return f && fclose(f) == 0 ? ANYGP_OK : fail_memory(e, "the text", 0);
}

anygp_status describe_text(const gp_set *m, char **text, anygp_error *e)
{
    page p = {0};
    if (!(p.stream = open_memstream(&p.text, &p.size))) return fail_memory(e, "the text", 0);
    anygp_status status = ANYGP_OK;
    c_locale l = c_locale_enter();
    for (int64_t t = 0; t < m->targets && !ANYGP_FAILED(status); t++) status = gp_page(&p, m->gp[t], m->settings, e);
    c_locale_leave(l);
    fclose(p.stream);
    if (!ANYGP_FAILED(status)) status = wrapped(p.text, text, e);
    free(p.text);
    return status;
}

/* What the model file's header has, and what its arrays have in other units. */
static json_t *whole_json(const gp *g, const settings *s)
{
    json_t *o = describe_gp(g, s), *vectors = o ? describe_vectors(g) : NULL;
    json_t *relevance = o ? describe_relevance(g) : NULL;
    if (vectors) json_object_set_new(o, "relevance_vectors", vectors);
    if (relevance) json_object_set_new(o, "relevance", relevance);
    json_t *categories = o ? describe_categories(g) : NULL;
    if (categories) json_object_set_new(o, "category_relevance", categories);
    return o;
}

/* One target: its fields at the top level; several: a list of such objects, with the first one's at the top level. */
anygp_status describe_json(const gp_set *m, char **text, anygp_error *e)
{
    json_t *top = whole_json(m->gp[0], m->settings);
    if (!top) return fail_memory(e, "the text", 0);
    json_object_set_new(top, "version", json_string(anygp_version()));
    json_object_set_new(top, "settings", describe_settings(m->settings));
    if (m->targets > 1) {
        json_t *list = json_array();
        for (int64_t t = 0; t < m->targets; t++) json_array_append_new(list, whole_json(m->gp[t], m->settings));
        json_object_set_new(top, "targets", list);
    }
    *text = json_dumps(top, JSON_INDENT(2));
    json_decref(top);
    return *text ? ANYGP_OK : fail_memory(e, "the text", 0);
}
