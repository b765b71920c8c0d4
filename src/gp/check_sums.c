/* What is summed over the rows of one target, whoever predicts them: the check of a file, a report. */
#include <math.h>

#include "gp/check.h"

const double check_as_prior = 0.95;
const double check_levels[CHECK_LEVELS] = {0.5, 0.8, 0.9, 0.95};

void check_sums_row(check_sums *s, double unexplained) { s->rows++, s->as_prior += unexplained > check_as_prior; }

void check_sums_number(check_sums *s, double z, double w)
{
    if (!isfinite(z)) return;
    s->z += w * z, s->square += w * z * z, s->weight += w;
}

void check_sums_class(check_sums *s, int64_t classes, const double *P, int64_t ldp, int64_t label, double w)
{
    int64_t top = 0;
    for (int64_t k = 1; k < classes; k++)
        if (P[k * ldp] > P[top * ldp]) top = k;
    s->confidence += w * P[top * ldp], s->correct += w * (top == label), s->weight += w;
}

/* Several components have no one variance of f. */
void check_sums_finish(const check_sums *s, const gp *g, const gp_scores *scores, check_target *out)
{
    static const char *const names[CHECK_LEVELS] = {"coverage50", "coverage80", "coverage90", "coverage95"};
    bool classes = gp_is_class(g);
    *out = (check_target){.g = g, .z_mean = NAN, .z_square = NAN, .accuracy = NAN, .confidence = NAN, .density = NAN};
    out->scores = *scores;
    out->density_at_fit = gp_density_at_fit(g);
    out->as_prior = gp_components(g) == 1 && s->rows > 0 ? s->as_prior / s->rows : NAN;
    for (int k = 0; k < CHECK_LEVELS; k++) out->coverage[k] = classes ? NAN : gp_score_named(scores, names[k]);
    out->n = s->weight;
    if (!(s->weight > 0)) return;
    if (classes)
        out->accuracy = s->correct / s->weight, out->confidence = s->confidence / s->weight;
    else
        out->z_mean = s->z / s->weight, out->z_square = s->square / s->weight;
    out->drifted = gp_drifted(g, scores, &out->density_at_fit, &out->density);
}
