/* What may be wrong, in plain words.  A check is a function that writes its sentence, or nothing; the list is at the end. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "draw/draw.h"
#include "gp/check.h"
#include "report/picture.h"
#include "report/report.h"

enum { LEAST_ROWS = 30 };                /* fewer tell little */
static const double LEAST_GAP = 0.02;    /* of coverage that is worth a sentence */
static const double NOTHING_LEFT = 1e-4; /* of the variance of the target */
static const double WORSE = 1;           /* nats per row */

typedef bool (*check)(const scene *c, const standing *t, char *text, size_t size);

static bool few_rows(const scene *c, const standing *t, char *text, size_t size)
{
    (void)t;
    if (!c->path || c->n >= LEAST_ROWS) return false;
    snprintf(text, size, "There %s only %lld row%s to judge by: these figures are rough.", c->n == 1 ? "is" : "are",
             (long long)c->n, c->n == 1 ? "" : "s");
    return true;
}

static bool own_rows(const scene *c, const standing *t, char *text, size_t size)
{
    (void)t;
    if (!c->fitted || !c->labelled) return false;
    snprintf(text, size,
             "These are the rows that the model was fitted to: on new rows errors will be larger. Give a table of "
             "other rows to see how much.");
    return true;
}

static bool constant_target(const scene *c, const standing *t, char *text, size_t size)
{
    (void)t;
    if (!c->labelled || c->n < 2) return false;
    for (int64_t i = 1; i < c->n; i++)
        if (c->y[i] != c->y[0]) return false;
    snprintf(
        text, size,
        "All targets are the same: there is nothing to be explained, and scores relative to the mean have no meaning.");
    return true;
}

static bool confidence(const scene *c, const standing *t, char *text, size_t size)
{
    (void)t;
    if (!picture_has_numbers(c) || c->n < LEAST_ROWS) return false;
    double covered = calibration_covered(c, 0.95), chance = 3 * sqrt(0.95 * 0.05 / (double)c->n), gap = covered - 0.95;
    if (scene_is_count(c) && gap > 0) return false; /* intervals of whole numbers always hold more */
    if (fabs(gap) < fmax(LEAST_GAP, chance)) return false;
    snprintf(text, size, "The model is %s: its 95 %% intervals hold %.1f %% of the targets, so they are too %s.%s",
             gap < 0 ? "overconfident" : "underconfident", 100 * covered, gap < 0 ? "narrow" : "wide",
             gap < 0 ? " Heavy tails (--likelihood studentt), more inducing inputs or a noise that varies "
                       "(heteroscedastic) may mend it."
                     : "");
    return true;
}

static bool sure_of_classes(const scene *c, const standing *t, char *text, size_t size)
{
    (void)t;
    if (!picture_has_classes(c) || c->n < LEAST_ROWS) return false;
    double said = 0, right = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t top = 0;
        for (int64_t k = 1; k < c->g->schema.classes; k++)
            if (c->P[i + k * c->n] > c->P[i + top * c->n]) top = k;
        said += c->P[i + top * c->n] / (double)c->n, right += (double)(top == (int64_t)c->y[i]) / (double)c->n;
    }
    if (fabs(said - right) < fmax(LEAST_GAP, 3 * sqrt(right * (1 - right) / (double)c->n))) return false;
    snprintf(
        text, size,
        "The model is %s: it gives its predictions a probability of %.1f %% on average, and %.1f %% of them are right.",
        said > right ? "too sure of itself" : "too cautious", 100 * said, 100 * right);
    return true;
}

static bool bias(const scene *c, const standing *t, char *text, size_t size)
{
    double mean = 0, rmse = standing_value(t, "rmse", STANDING_MODEL);
    char number[40];
    if (!picture_has_numbers(c) || c->n < LEAST_ROWS) return false;
    for (int64_t i = 0; i < c->n; i++) mean += (c->y[i] - c->mean[i]) / (double)c->n;
    if (!(fabs(mean) > 0.3 * rmse) || !(fabs(mean) > 4 * rmse / sqrt((double)c->n))) return false;
    number_text(fabs(mean), 3, number, sizeof number);
    snprintf(text, size, "Predictions are too %s by %s on average.", mean > 0 ? "low" : "high", number);
    return true;
}

static bool worse_than_fit(const scene *c, const standing *t, char *text, size_t size)
{
    const char *name = scene_is_class(c) ? "logloss" : "mnlp";
    double now = standing_value(t, name, STANDING_MODEL);
    const gp_scores *known = c->g->valid.count > 1 ? &c->g->valid : &c->g->loo;
    double then = gp_score_named(known, name);
    if (!c->labelled || c->n < LEAST_ROWS || !(now > then + WORSE)) return false;
    snprintf(
        text, size,
        "These rows are predicted much worse than those of the fit (%s %.3g, then %.3g): the data may have drifted.",
        name, now, then);
    return true;
}

/* Where next to nothing is left to be explained, it does not matter who explains it. */
static bool beaten(const scene *c, const standing *t, char *text, size_t size)
{
    const char *name = scene_is_class(c) ? "logloss" : "rmse";
    static const char *const others[] = {NULL, "The mean alone", "A linear model"};
    double own = standing_value(t, name, STANDING_MODEL);
    if (!c->labelled || c->n < LEAST_ROWS || standing_value(t, "smse", STANDING_MODEL) < NOTHING_LEFT) return false;
    for (int other = STANDING_MEAN; other < STANDING_COLUMNS; other++) {
        char theirs[40], ours[40];
        double value = standing_value(t, name, other);
        if (!(value <= own) || !(own > 0)) continue;
        number_text(value, 4, theirs, sizeof theirs), number_text(own, 4, ours, sizeof ours);
        snprintf(text, size,
                 "%s predicts these rows at least as well (%s %s, this model %s); try another kernel or model.",
                 scene_is_class(c) && other == STANDING_MEAN ? "The share of each class alone" : others[other], name,
                 theirs, ours);
        return true;
    }
    return false;
}

/* What would make the fit better: more time, more inducing inputs, calibrated intervals. */
static bool advice(const scene *c, const standing *t, char *text, size_t size)
{
    char *what = NULL;
    (void)t;
    bool any = !ANYGP_FAILED(gp_advice(c->g, c->fit, false, &what, NULL)) && *what;
    if (any) snprintf(text, size, "For a better fit try %.400s.", what);
    free(what);
    return any;
}

/* ------------------------------------------------------------------------- drift and extrapolation */

/* What `anygp check` would find about the inputs: the same sums, the same judgement. */
static anygp_status check_inputs(const scene *c, gp_check *out, check_target *target, anygp_error *e)
{
    input_sums sums;
    double unknown = 0;
    *out = (gp_check){.rows = c->n, .inputs = input_sums_count(&c->g->schema), .targets = 1, .target = target};
    *target = (check_target){.g = c->g};
    double *x = mem_alloc(c->g->schema.D, sizeof *x);
    out->input = mem_zeroed(out->inputs, sizeof *out->input);
    if (!x || !out->input) return free(x), fail_memory(e, "the page", 0);
    anygp_status status = input_sums_open(&sums, &c->g->schema, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < c->n; i++) {
        scene_to_model(c, c->X + i * c->D, x);
        input_sums_add(&sums, x);
        unknown += c->unexplained[i] > check_as_prior;
    }
    target->as_prior = gp_components(c->g) == 1 && c->n ? unknown / (double)c->n : NAN;
    if (!ANYGP_FAILED(status)) input_sums_finish(&sums, c->fit, out->input, &out->far);
    if (!ANYGP_FAILED(status)) check_judge(out);
    input_sums_clear(&sums);
    free(x);
    return status;
}

static int inputs_write(const scene *c, FILE *f)
{
    gp_check found;
    check_target target;
    int count = 0;
    if (!c->path || c->fitted || c->n < LEAST_ROWS) return 0;
    if (!ANYGP_FAILED(check_inputs(c, &found, &target, NULL)))
        for (; count < found.findings; count++) {
            char *text = found.finding[count].text;
            *text = (char)toupper((unsigned char)*text);
            fputs("<li>", f), text_escaped(f, text), fputs(".</li>\n", f);
        }
    free(found.input);
    return count;
}

int warnings_write(const scene *c, const standing *t, FILE *f)
{
    static const check checks[] = {few_rows, own_rows,       constant_target, confidence, sure_of_classes,
                                   bias,     worse_than_fit, beaten,          advice};
    int count = inputs_write(c, f);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char text[480];
        if (!checks[i](c, t, text, sizeof text)) continue;
        fputs("<li>", f), text_escaped(f, text), fputs("</li>\n", f);
        count++;
    }
    return count;
}
