/* What may be wrong, in plain words.  A check is a function that writes its sentence, or nothing; the list is at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw/draw.h"
#include "report/picture.h"
#include "report/report.h"

enum { LEAST_ROWS = 30 };                 /* fewer tell little */
static const double LEAST_GAP = 0.02;     /* of coverage that is worth a sentence */
static const double KNOWS_LITTLE = 0.95;  /* of the prior variance left: the model falls back on its mean */
static const double LEARNED_LITTLE = 0.9; /* of the variance of the target left on rows like those of the fit */
static const double SHARE_OUTSIDE = 0.01; /* of the rows that lie there */
static const double MOVED = 0.75;         /* standard deviations that an input has moved */
static const double NOTHING_LEFT = 1e-4;  /* of the variance of the target */
static const double WORSE = 1;            /* nats per row */

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

static bool outside(const scene *c, const standing *t, char *text, size_t size)
{
    int64_t far = 0;
    const gp_scores *fit = gp_best_scores(c->g);
    (void)t;
    if (fit && gp_score_named(fit, "smse") > LEARNED_LITTLE) return false; /* it knows as little everywhere */
    for (int64_t i = 0; i < c->n; i++) far += c->unexplained[i] > KNOWS_LITTLE;
    if (far == 0 || (double)far < SHARE_OUTSIDE * (double)c->n) return false;
    snprintf(text, size,
             "Extrapolation: %.1f %% of the rows lie where the model has learned next to nothing, far from the rows it "
             "was fitted to; there "
             "it falls back on the mean, with wide intervals.",
             100 * (double)far / (double)c->n);
    return true;
}

/* How far the mean of a column of these rows is from that of the fit, in standard deviations of the fit. */
static double moved_by(const scene *c, int64_t j)
{
    double mean = 0;
    int64_t D = c->g->schema.D;
    for (int64_t i = 0; i < c->n; i++) mean += c->X[i * D + j] / (double)c->n;
    return fabs(mean);
}

static bool drift(const scene *c, const standing *t, char *text, size_t size)
{
    int64_t moved = 0, most = -1;
    double largest = MOVED;
    char label[SCENE_LABEL];
    (void)t;
    if (!c->path || !c->standard || c->fitted || c->n < LEAST_ROWS) return false;
    for (int64_t j = 0; j < c->g->schema.D; j++) {
        double by = scene_is_text(c, j) ? 0 : moved_by(c, j);
        moved += by > MOVED;
        if (by > largest) largest = by, most = j;
    }
    if (most < 0) return false;
    snprintf(text, size,
             "Drift: %lld input%s far from where %s in the rows of the fit; '%.60s' by %.1f standard deviations.",
             (long long)moved, moved == 1 ? " is on average" : "s are on average", moved == 1 ? "it was" : "they were",
             scene_input(c, most, label), largest);
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

int warnings_write(const scene *c, const standing *t, FILE *f)
{
    static const check checks[] = {few_rows, own_rows, constant_target, confidence, sure_of_classes, bias,
                                   outside,  drift,    worse_than_fit,  beaten,     advice};
    int count = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char text[480];
        if (!checks[i](c, t, text, sizeof text)) continue;
        fputs("<li>", f), text_escaped(f, text), fputs("</li>\n", f);
        count++;
    }
    return count;
}
