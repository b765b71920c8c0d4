/* What to try next after a fit: options that this model takes, and the figure that speaks for them.  The most pressing comes first, and it
   is the only one that is given: what the others would say may be different afterwards.
       another likelihood     where the values of the target suggest it and the user chose none: then all else is another fit
       the run was ended      more time; where there is a checkpoint, from there
       intervals too narrow   --calibrate loo, where there are leave-one-out predictions
       the bound is loose     twice the inducing inputs, where another bound shows how much is lost
       still rising           more iterations, where the last ones gained */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gp/gp.h"

static const double COVERAGE_LEAST = 0.9, /* of the 95 % intervals */
    SCORED_LEAST = 100,                   /* rows: fewer tell little about a coverage */
    LOSS_MOST = 0.05, GAP_MOST = 0.5,     /* nats per row between the objective and a tighter bound, or the upper one */
    GAIN_LEAST = 0.001,                   /* nats per row in the last tenth of the iterations */
    SECONDS_LEAST = 10;

enum { ITERATIONS_LEAST = 100 }; /* whoever asks for fewer does so on purpose */

static bool likely(FILE *f, const gp *g) { return *g->suits && fputs(g->suits, f) != EOF; }

/* With twice the time.  What auto chose for one limit it may not choose for another, and then its checkpoint would not fit. */
static bool more_time(FILE *f, const gp *g, const settings *s, bool resumable)
{
    bool resumes = resumable && !*g->promise.reason;
    double limit = settings_given(s, SET_TIME) ? settings_number(s, SET_TIME) : g->seconds;
    double twice = ceil(2 * fmax(limit, SECONDS_LEAST / 2));
    if (g->status == ANYGP_INTERRUPTED && resumes)
        return fputs("--resume, since the run was stopped and can go on from its checkpoint", f) != EOF;
    if (g->status != ANYGP_TIME_LIMIT) return false;
    return fprintf(f, "--time %.0fs%s, since the time limit ended the run%s", twice, resumes ? " --resume" : "",
                   resumes ? ", which can go on from its checkpoint" : "") > 0;
}

static bool wider_intervals(FILE *f, const gp *g, const settings *s)
{
    const gp_scores *scores = gp_best_scores(g);
    bool applies = model_whole_loo(g->model) && gp_is_gaussian(g) && !settings_changed(s, SET_CALIBRATE) &&
                   !settings_is(s, SET_EXPERTS, "own");
    double covered = scores ? gp_score_named(scores, "coverage95") : NAN;
    if (!applies || !(covered < COVERAGE_LEAST) || !(gp_score_named(scores, "n") >= SCORED_LEAST)) return false;
    return fprintf(f, "--calibrate loo, since the 95 %% intervals cover only %.1f %%", 100 * covered) > 0;
}

/* A tighter lower bound proves what is lost at least; the upper one says what may be lost, and is often far off. */
static bool tighter_bound(FILE *f, const gp *g, const settings *s)
{
    double lost = (g->bounds.tighter - g->objective) / g->objective_rows,
           open = (g->bounds.upper - g->objective) / g->objective_rows;
    bool proven = lost > LOSS_MOST, one = g->model->needs.inducing == INDUCING_ONE &&
                                          !settings_given(s, SET_INDUCING_FROM) &&
                                          !settings_is(s, SET_INDUCING, "auto"); /* which has looked at that */
    if (!one || !(proven || open > GAP_MOST) || !(2 * (double)g->inducing <= g->rows)) return false;
    if (*g->promise.reason) fprintf(f, "--model '%s' ", g->name);
    return fprintf(f, "--inducing %lld, since %lld leave the bound %s %.2g nats per row below the log evidence",
                   (long long)(2 * g->inducing), (long long)g->inducing, proven ? "at least" : "up to",
                   proven ? lost : open) > 0;
}

static bool more_iterations(FILE *f, const gp *g, const settings *s)
{
    int64_t most = settings_integer(s, SET_ITERS), from = g->steps - 1 - g->steps / 10;
    bool climbs = !g->model->steps && !g->estimate && settings_integer(s, SET_RESTARTS) == 0;
    if (!climbs || most < ITERATIONS_LEAST || g->iterations < most || from < 0) return false;
    double gain = (g->trace[g->steps - 1].objective - g->trace[from].objective) / g->objective_rows;
    if (!(gain > GAIN_LEAST)) return false;
    return fprintf(f, "--iters %lld, since the objective was still rising after %lld", (long long)(2 * most),
                   (long long)most) > 0;
}

anygp_status gp_advice(const gp *g, const settings *s, bool resumable, char **text, anygp_error *e)
{
    size_t size;
    FILE *f = open_memstream(text, &size);
    if (!f) return fail_memory(e, "the advice", 0);
    (void)(likely(f, g) || more_time(f, g, s, resumable) || wider_intervals(f, g, s) || tighter_bound(f, g, s) ||
           more_iterations(f, g, s));
    return fclose(f) == 0 && *text ? ANYGP_OK : fail_memory(e, "the advice", 0);
}
