/* Whether a fit predicts its target better than the mean of the target does, or classes better than their frequencies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gp/gp.h"

static const double LEAST_ROWS = 20, /* to judge by: fewer tell little */
    UNEXPLAINED = 0.95,              /* of the variance, or of the log loss of the frequencies */
    LEAST_GAIN = 0.1;                /* nats per row: so much in the variances alone is worth having */

double gp_score_named(const gp_scores *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->list[i].name, name)) return s->list[i].value;
    return NAN;
}

const gp_scores *gp_best_scores(const gp *g)
{
    return g->valid.count > 1 ? &g->valid : g->loo.count > 1 ? &g->loo : g->training.count > 1 ? &g->training : NULL;
}

/* Scores on rows that it was fitted to are of no use here. */
double gp_density_at_fit(const gp *g)
{
    const gp_scores *seen = g->loo.count > 1 ? &g->loo : &g->valid;
    return gp_score_named(seen, gp_is_class(g) ? "logloss" : "mnlp");
}

bool gp_drifted(const gp *g, const gp_scores *scores, double *then, double *now)
{
    static const double NATS = 1;
    *then = gp_density_at_fit(g);
    *now = gp_score_named(scores, gp_is_class(g) ? "logloss" : "mnlp");
    return *now > *then + NATS;
}

/* A log probability of counts is not to be compared with the density of a normal: msll has no meaning for them. */
static bool is_count(const gp *g) { return g->likelihood->ops->target == TARGET_COUNT; }

static bool no_better_than_mean(const gp *g, const gp_scores *s, char *what, size_t size)
{
    double smse = gp_score_named(s, "smse"), msll = gp_score_named(s, "msll"), rmse = gp_score_named(s, "rmse");
    bool mean = smse > UNEXPLAINED && (is_count(g) || msll > -LEAST_GAIN);
    if (mean)
        snprintf(what, size, "rmse %.4g where the mean of the target alone has %.4g", rmse, rmse / sqrt(smse));
    else
        snprintf(what, size, "mnlp %.4g where a normal with the mean and variance of the target has %.4g",
                 gp_score_named(s, "mnlp"), gp_score_named(s, "mnlp") - msll);
    return mean || (!is_count(g) && msll >= 0);
}

static bool no_better_than_frequencies(const gp_scores *s, char *what, size_t size)
{
    double logloss = gp_score_named(s, "logloss");
    if (!(s->trivial > 0 && logloss > UNEXPLAINED * s->trivial)) return false;
    snprintf(what, size, "log loss %.4g where the frequencies of the classes have %.4g", logloss, s->trivial);
    return true;
}

void gp_warn_of_baseline(const gp *g, const settings *s)
{
    char what[160];
    const gp_scores *scores = gp_best_scores(g);
    if (strstr(settings_text(s, SET_FIX), "all")) return; /* what is given is not learned better */
    if (!scores || !(gp_score_named(scores, "n") >= LEAST_ROWS) || g->schema.y_sd == 0) return;
    if (!(gp_is_class(g) ? no_better_than_frequencies(scores, what, sizeof what)
                         : no_better_than_mean(g, scores, what, sizeof what)))
        return;
    settings_log(s, ANYGP_WARNING,
                 "the fit explains next to nothing of the target%s%.60s%s: %s; try another --kernel (shorter "
                 "length-scales, periodic)%s%s%s, and check the target column",
                 g->schema.target ? " '" : "", g->schema.target ? g->schema.target : "", g->schema.target ? "'" : "",
                 what, g->model->steps || strchr(g->name, '+') ? "" : ", --restarts 5",
                 model_has_inducing(g->model) ? ", more inducing inputs" : "",
                 g->status == ANYGP_TIME_LIMIT    ? ", more --time, since the limit ended the run"
                 : g->status == ANYGP_INTERRUPTED ? ", more time, since the run was stopped"
                                                  : "");
}
