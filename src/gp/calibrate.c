/* One factor for the variance of f, from leave-one-out residuals: with e_i the residual of row i, v_i its variance of f and s the
   variance that y has beyond it, c solves
       mean of e_i^2 / (c v_i + s) = 1,
   the left side of which falls with c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

/* Auto, with a model of neighbours, looks whether errors vary over the inputs. */
static bool looks_around(const fit_task *f)
{
    return f->promise.reason[0] && !settings_changed(f->s, SET_CALIBRATE) && settings_is(f->s, SET_TRANSFORM, "none") &&
           f->choice.model && model_has_neighbours(f->choice.model) && model_whole_loo(f->choice.model);
}

bool fit_leaves_inputs(const fit_task *f)
{
    return likelihood_is_gaussian(f->like) && (settings_is(f->s, SET_CALIBRATE, "local") || looks_around(f));
}

static anygp_status calibrate_locally(const fit_task *f, gp *g, leave_one_out *l, anygp_error *e)
{
    static const double CLEAR = 0.02; /* nats per row, for auto */
    bool asked = settings_is(f->s, SET_CALIBRATE, "local");
    double gain, *former = mem_alloc(l->n, sizeof *former);
    if (!former) return fail_memory(e, "leave-one-out", 8.0 * (double)l->n);
    memcpy(former, l->variance, (size_t)l->n * sizeof *former);
    anygp_status status =
        local_scale_learn(g->posterior->kernel, (uint64_t)settings_integer(f->s, SET_SEED), l, &g->local, &gain, e);
    if (!ANYGP_FAILED(status) && g->local && !asked && gain < CLEAR) { /* of auto's rows none was left out of l */
        local_scale_free(g->local), g->local = NULL;
        memcpy(l->variance, former, (size_t)l->n * sizeof *former);
    }
    free(former);
    if (ANYGP_FAILED(status)) return status;
    if (g->local && !asked)
        settings_log(f->s, ANYGP_NOTE,
                     "auto: --calibrate local, since errors vary over the inputs: the mean log density of rows left "
                     "out rises by %.2f",
                     gain);
    if (!g->local && asked)
        settings_log(f->s, ANYGP_NOTE,
                     "calibrate: errors do not vary over the inputs as far as leave-one-out can tell; the variances "
                     "stay as they are");
    return ANYGP_OK;
}

static void calibrate_by_one(const fit_task *f, gp *g, leave_one_out *l)
{
    double noise = gp_observation_variance(g);
    g->calibration = solve(l, noise);
    if (g->calibration < 2 * LEAST || g->calibration > MOST / 2)
        settings_log(
            f->s, ANYGP_WARNING,
            "calibrate: no factor of the latent variance makes the mean squared standardised residual 1, it is "
            "%.3g at the bound of %.0e; look at the noise",
            mean_square(l, noise, g->calibration), g->calibration < 1 ? LEAST : MOST);
    for (int64_t i = 0; i < l->n; i++) l->variance[i] = g->calibration * fmax(l->variance[i] - noise, 0) + noise;
}

anygp_status fit_calibrate(const fit_task *f, gp *g, leave_one_out *l, anygp_error *e)
{
    bool local = fit_leaves_inputs(f) && l->X;
    if (settings_is(f->s, SET_CALIBRATE, "none") && !local) return ANYGP_OK;
    if (l->n < 2) {
        if (!settings_is(f->s, SET_CALIBRATE, "none"))
            settings_log(
                f->s, ANYGP_WARNING,
                "calibrate: there are no leave-one-out predictions to calibrate by; the variances stay as they are");
        return ANYGP_OK;
    }
    if (local) return calibrate_locally(f, g, l, e);
    calibrate_by_one(f, g, l);
    return ANYGP_OK;
}

double gp_calibration(const gp *g) { return g->calibration > 0 ? g->calibration : 1; }
