/* One factor for the variance of f, from leave-one-out residuals: with e_i the residual of row i, v_i its variance of f and s the
   variance that y has beyond it, c solves
       mean of e_i^2 / (c v_i + s) = 1,
   the left side of which falls with c. */
#include <math.h>

#include "gp/fit.h"

static const double LEAST = 1e-4, MOST = 1e4; /* of c */

static double mean_square(const leave_one_out *l, double noise, double c)
{
    double sum = 0, weight = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double e = l->y[i] - l->mean[i];
        sum += l->weight[i] * e * e / (c * fmax(l->variance[i] - noise, 0) + noise);
        weight += l->weight[i];
    }
    return sum / weight;
}

static double solve(const leave_one_out *l, double noise)
{
    double low = LEAST, high = MOST;
    while (high > low * (1 + 1e-14)) {
        double middle = sqrt(low * high);
        if (!(middle > low && middle < high)) break;
        *(mean_square(l, noise, middle) > 1 ? &low : &high) = middle;
    }
    return sqrt(low * high);
}

void fit_calibrate(const fit_task *f, gp *g, leave_one_out *l)
{
    double noise = gp_observation_variance(g);
    if (!settings_is(f->s, SET_CALIBRATE, "loo")) return;
    if (l->n < 2) {
        settings_log(
            f->s, ANYGP_WARNING,
            "calibrate: there are no leave-one-out predictions to calibrate by; the variances stay as they are");
        return;
    }
    g->calibration = solve(l, noise);
    if (g->calibration < 2 * LEAST || g->calibration > MOST / 2)
        settings_log(
            f->s, ANYGP_WARNING,
            "calibrate: no factor of the latent variance makes the mean squared standardised residual 1, it is "
            "%.3g at the bound of %.0e; look at the noise",
            mean_square(l, noise, g->calibration), g->calibration < 1 ? LEAST : MOST);
    for (int64_t i = 0; i < l->n; i++) l->variance[i] = g->calibration * fmax(l->variance[i] - noise, 0) + noise;
}

double gp_calibration(const gp *g) { return g->calibration > 0 ? g->calibration : 1; }
