/* What the numbers of a check mean.  Each has an allowance that is a matter of taste (a tenth of a standard deviation is nothing to
   act on) and one for chance, three standard errors of n independent rows; of a
   coverage that is too small the larger of the two counts, and a larger one is no danger. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gp/check.h"

static const double CHANCE = 3;
static const double BIAS = 0.1, BIAS_MUCH = 0.5;     /* mean of z */
static const double NARROW = 1.3, NARROW_MUCH = 2.5; /* mean of z^2, which should be 1 */
static const double WIDE = 0.6;
static const double COVERAGE = 0.02;           /* below the nominal share, and more than chance */
static const double COVERAGE_WIDE = 0.05;      /* above it, beside chance: long tails widen the middle intervals */
static const double WORSE = 0.25;              /* nats per row; an update complains of 1 */
static const double SHIFT = 0.3, SPREAD = 1.5; /* of an input, in training standard deviations */
static const double SHIFT_MUCH = 3;
static const double FEW = 0.01, MANY = 0.2; /* shares of rows */
static const double LEARNED = 0.8; /* nmse of the fit: below it, f is known better than its prior nearly everywhere */
static const double CONFIDENCE = 0.05; /* beside the accuracy */

/* ---------------------------------------------------------------------------------------- findings */

static void find(gp_check *c, anygp_verdict level, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void find(gp_check *c, anygp_verdict level, const char *format, ...)
{
    va_list args;
    if (c->findings == CHECK_FINDINGS_MOST) return;
    check_finding f = {.level = level};
    va_start(args, format);
    vsnprintf(f.text, sizeof f.text, format, args);
    va_end(args);
    int k = c->findings++;
    for (; k > 0 && c->finding[k - 1].level < level; k--) c->finding[k] = c->finding[k - 1];
    c->finding[k] = f;
    if (level > c->verdict) c->verdict = level;
}

static anygp_verdict much(bool is) { return is ? ANYGP_REFIT : ANYGP_WATCH; }

/* ----------------------------------------------------------------------------------------- targets */

static void judge_bias(gp_check *c, const check_target *t)
{
    double chance = CHANCE / sqrt(t->n), size = fabs(t->z_mean);
    if (size > BIAS + chance)
        find(c, much(size > BIAS_MUCH + chance),
             "the targets are %.2g predicted standard deviations %s the predictions on average", size,
             t->z_mean > 0 ? "above" : "below");
}

/* About the mean: an offset is another finding. */
static void judge_spread(gp_check *c, const check_target *t)
{
    double spread = t->z_square - t->z_mean * t->z_mean, chance = CHANCE * sqrt(2 / t->n);
    if (spread > NARROW + chance)
        find(c, much(spread > NARROW_MUCH + chance),
             "the model is over-confident: errors are %.2g times as large as it predicts", sqrt(spread));
    if (spread < WIDE - chance)
        find(c, ANYGP_WATCH, "the model is under-confident: errors are only %.2g times as large as it predicts",
             sqrt(spread));
}

static void judge_coverage(gp_check *c, const check_target *t)
{
    for (int k = CHECK_LEVELS - 1; k >= 0; k--) {
        double p = check_levels[k], off = t->coverage[k] - p;
        double chance = CHANCE * sqrt(p * (1 - p) / t->n),
               allowed = off < 0 ? fmax(COVERAGE, chance) : COVERAGE_WIDE + chance;
        if (!(fabs(off) > allowed)) continue;
        if (off > 0 && t->g->likelihood->ops->target == TARGET_COUNT) continue; /* whole numbers: always hold more */
        find(c, ANYGP_WATCH, "%.0f %% intervals cover %.1f %% of the targets: they are too %s", 100 * p,
             100 * t->coverage[k], off < 0 ? "narrow" : "wide");
        return; /* the others say the same */
    }
}

static void judge_classes(gp_check *c, const check_target *t)
{
    double p = t->accuracy, off = p - t->confidence, chance = CHANCE * sqrt(fmax(p * (1 - p), 0.01) / t->n);
    if (fabs(off) > CONFIDENCE + chance)
        find(c, much(off < -4 * CONFIDENCE - chance),
             "the model is %s-confident: %.1f %% of the labels are the most probable "
             "class, to which it gives %.1f %% on average",
             off < 0 ? "over" : "under", 100 * p, 100 * t->confidence);
    if (t->new_labels > 0)
        find(c, much(t->new_labels > FEW), "%.2g %% of the rows have a class that the model does not know",
             100 * t->new_labels);
}

static void judge_density(gp_check *c, const check_target *t)
{
    const char *name = gp_is_class(t->g) ? "log loss" : "mnlp";
    double loss = t->density - t->density_at_fit;
    if (t->drifted || loss > WORSE + CHANCE / sqrt(t->n))
        find(c, much(t->drifted), "the rows are predicted %s than those of the fit: %s %.3g, then %.3g",
             t->drifted ? "much worse" : "worse", name, t->density, t->density_at_fit);
}

/* Where the fit explained most of the target, f is known nearly everywhere among its rows. */
static void judge_knowledge(gp_check *c, const check_target *t)
{
    const gp_scores *fit = gp_best_scores(t->g);
    double unexplained = fit ? gp_score_named(fit, "nmse") : NAN;
    if (unexplained < LEARNED && t->as_prior > MANY)
        find(c, ANYGP_WATCH,
             "the model knows no more than its prior at %.0f %% of the rows, which are far from its data",
             100 * t->as_prior);
}

static void judge_target(gp_check *c, const check_target *t)
{
    judge_knowledge(c, t);
    if (!(t->n > 0)) return;
    if (gp_is_class(t->g))
        judge_classes(c, t);
    else {
        judge_bias(c, t);
        judge_spread(c, t);
        judge_coverage(c, t);
    }
    judge_density(c, t);
}

/* ------------------------------------------------------------------------------------------ inputs */

static void judge_number(gp_check *c, const check_input *in, const char *name)
{
    double n = (double)(c->rows - c->bad), chance = CHANCE / sqrt(n), size = fabs(in->mean);
    if (size > SHIFT + chance)
        find(c, much(size > SHIFT_MUCH), "input %s has drifted: its mean is %.2g training standard deviations %s", name,
             size, in->mean > 0 ? "higher" : "lower");
    else if (in->sd > SPREAD * (1 + chance))
        find(c, ANYGP_WATCH, "input %s has drifted: it varies %.2g times as much as in training", name, in->sd);
}

static void judge_inputs(gp_check *c)
{
    double n = (double)(c->rows - c->bad);
    for (int64_t j = 0; j < c->inputs; j++) {
        const check_input *in = &c->input[j];
        char label[96];
        const char *name = schema_label(in->spec, label);
        if (in->spec->text && in->unseen > FEW)
            find(c, much(in->unseen > MANY), "%.2g %% of the rows have a category of input %s that training had not",
                 100 * in->unseen, name);
        else if (!in->spec->text && in->known)
            judge_number(c, in, name);
    }
    if (c->far > FEW + CHANCE * sqrt(FEW / n))
        find(c, much(c->far > MANY), "%.2g %% of the rows are far outside the training inputs", 100 * c->far);
    if ((double)c->bad > FEW * (double)c->rows)
        find(c, ANYGP_WATCH, "%lld of %lld rows cannot be predicted: inputs are missing or infinite", (long long)c->bad,
             (long long)c->rows);
}

void check_judge(gp_check *c)
{
    c->findings = 0, c->verdict = ANYGP_FINE;
    judge_inputs(c); /* causes before what comes of them */
    for (int64_t t = 0; t < c->targets; t++) judge_target(c, &c->target[t]);
}
