/* What may be wrong, in plain words.  A check is a function that writes its sentence, or nothing; the list is at the end. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/special.h"
#include "draw/draw.h"
#include "gp/check.h"
#include "report/picture.h"
#include "report/report.h"

enum { LEAST_ROWS = 30 };                   /* fewer tell little */
static const double NOTHING_LEFT = 1e-4;    /* of the variance of the target */
static const double MUCH_TOO_NARROW = 0.92; /* share in 95 % intervals */

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
    const gp_scores *s = gp_best_scores(c->g);
    const char *name = scene_is_class(c) ? "logloss" : "rmse";
    char number[40], known[160] = "Give a table of other rows to see how much.";
    number_text(s ? gp_score_named(s, name) : NAN, 4, number, sizeof number);
    if (s == &c->g->loo || s == &c->g->valid)
        snprintf(known, sizeof known, "%s, %s is %s.",
                 s == &c->g->loo ? "With each row predicted from all others" : "On the rows that the fit held out",
                 name, number);
    snprintf(text, size, "These are the rows that the model was fitted to: on new rows errors will be larger. %s",
             known);
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

/* --------------------------------------------------------------------- calibration, drift, extrapolation */

/* (y - mean) / sd, of g(y) where y was transformed by g: there P(y' <= y) is that of a normal. */
static double standardised(const scene *c, int64_t i)
{
    if (warp_is(&c->g->schema.warp)) return normal_quantile(fmin(fmax(c->up_to[i], 1e-300), 1 - 1e-16));
    return (c->y[i] - c->mean[i]) / sqrt(fmax(c->variance[i], 1e-300));
}

static void add_target(const scene *c, int64_t i, check_sums *sums)
{
    check_sums_row(sums, c->unexplained[i]);
    if (picture_has_classes(c))
        check_sums_class(sums, c->g->schema.classes, c->P + i, c->n, (int64_t)c->y[i], 1);
    else if (picture_has_numbers(c))
        check_sums_number(sums, standardised(c, i), 1);
}

/* What `anygp check` would find: the same sums, the same judgement. */
static anygp_status check_rows(const scene *c, const standing *t, gp_check *out, check_target *target, anygp_error *e)
{
    input_sums inputs;
    check_sums sums = {0};
    *out = (gp_check){.rows = c->n, .inputs = input_sums_count(&c->g->schema), .targets = 1, .target = target};
    double *x = mem_alloc(c->g->schema.D, sizeof *x);
    out->input = mem_zeroed(out->inputs, sizeof *out->input);
    if (!x || !out->input) return free(x), fail_memory(e, "the page", 0);
    anygp_status status = input_sums_open(&inputs, &c->g->schema, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < c->n; i++) {
        scene_to_model(c, c->X + i * c->D, x);
        input_sums_add(&inputs, x);
        add_target(c, i, &sums);
    }
    check_sums_finish(&sums, c->g, &t->own, target);
    if (!ANYGP_FAILED(status)) input_sums_finish(&inputs, c->fit, out->input, &out->far);
    if (!ANYGP_FAILED(status)) check_judge(out);
    input_sums_clear(&inputs);
    free(x);
    return status;
}

/* What to do where intervals are too narrow. */
static void remedy_write(const check_target *t, FILE *f)
{
    if (!(t->n > 0) || !(t->coverage[CHECK_LEVELS - 1] < MUCH_TOO_NARROW)) return;
    fputs(
        " Heavy tails (--likelihood studentt), more inducing inputs or a noise that varies (heteroscedastic) may mend "
        "that.",
        f);
}

static int findings_write(const scene *c, const standing *t, FILE *f)
{
    gp_check found;
    check_target target;
    int count = 0;
    if (!c->path || c->fitted || c->n < LEAST_ROWS) return 0;
    if (!ANYGP_FAILED(check_rows(c, t, &found, &target, NULL)))
        for (; count < found.findings; count++) {
            char *text = found.finding[count].text;
            *text = (char)toupper((unsigned char)*text);
            fputs("<li>", f), text_escaped(f, text), fputc('.', f);
            if (count + 1 == found.findings) remedy_write(&target, f);
            fputs("</li>\n", f);
        }
    free(found.input);
    return count;
}

int warnings_write(const scene *c, const standing *t, FILE *f)
{
    static const check checks[] = {few_rows, own_rows, constant_target, beaten, advice};
    int count = findings_write(c, t, f);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char text[480];
        if (!checks[i](c, t, text, sizeof text)) continue;
        fputs("<li>", f), text_escaped(f, text), fputs("</li>\n", f);
        count++;
    }
    return count;
}
