/* Moments and scores of a target that was transformed.  Component s of a row says t = g(y) ~ N(m_s, v_s), with noise; by their weights w_s
       mean      sum w_s E_s[y],    variance    sum w_s (Var_s[y] + (E_s[y] - mean)^2)      [base/warp.h]
       crps      integral of (F(t) - 1{t >= t_y})^2 dy/dt dt,    F = sum w_s Phi((t - m_s) / sqrt(v_s)),    t_y = g(y),
   the definition of Matheson and Winkler (1976) with y as a function of t.  F is 0 or 1 to rounding outside of [low, high], where what
   is left of the integral is a difference of two values of y. */
#include "gp/observe_warp.h"

#include <math.h>

#include "base/special.h"

enum { PIECE = 16 }; /* rows of a thread at a time */

static double weight_of(const latents *f, int64_t i, int64_t s)
{
    return f->weight ? f->weight[i + s * f->stride] : 1 / (double)f->components;
}

/* Mean and variance of t by component s of row i. */
static void normal_of(const observer *o, const latents *f, int64_t i, int64_t s, double *mean, double *variance)
{
    *mean = o->unit.shift + o->unit.scale * f->mean[i + s * f->stride];
    *variance = unit_variance(o->unit, f->variance[i + s * f->stride] + o->like->value[0]);
}

/* ---------------------------------------------------------------------------------------- moments */

static void moments_of_row(const observer *o, const latents *f, int64_t i, double *mean, double *variance)
{
    double within = 0, between = 0, all = 0, sum = 0;
    for (int64_t s = 0; s < f->components; s++) {
        double m, v, w = weight_of(f, i, s);
        normal_of(o, f, i, s, &m, &v);
        warp_moments(&o->warp, m, v, &m, &v);
        if (!(w > 0)) continue;
        double d = m - all;
        sum += w;
        all += d * (w / sum);
        between += w * d * (m - all);
        within += w * v;
    }
    *mean = all, *variance = within + between;
}

void observe_warped_moments(const observer *o, const latents *f, double *mean, double *variance)
{
#pragma omp parallel for schedule(dynamic, PIECE) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i++) moments_of_row(o, f, i, &mean[i], &variance[i]);
}

/* ------------------------------------------------------------------------------------------- crps */

typedef struct crps_row {
    const observer *o;
    const latents *f;
    int64_t i;
    bool above; /* t_y: 1 - F counts */
} crps_row;

/* (F or 1 - F)^2 dy/dt */
static double crps_at(double t, const void *ctx)
{
    const crps_row *r = ctx;
    double tail = 0, y = warp_inverse(&r->o->warp, t);
    for (int64_t s = 0; s < r->f->components; s++) {
        double m, v;
        normal_of(r->o, r->f, r->i, s, &m, &v);
        double z = v > 0 ? (t - m) / sqrt(v) : t < m ? -INFINITY : INFINITY;
        tail += weight_of(r->f, r->i, s) * normal_cdf(r->above ? -z : z);
    }
    return y > 0 ? tail * tail * exp(-warp_log_slope(&r->o->warp, y)) : 0;
}

/* Where F grows from 0 to 1, and matters. */
static void range_of(const observer *o, const latents *f, int64_t i, double *low, double *high)
{
    static const double REACH = 9;
    *low = INFINITY, *high = -INFINITY;
    for (int64_t s = 0; s < f->components; s++) {
        double m, v;
        normal_of(o, f, i, s, &m, &v);
        double sd = sqrt(v);
        *low = fmin(*low, m - REACH * sd);
        *high = fmax(*high, m + (REACH + warp_peak(&o->warp, m, sd, 1)) * sd);
    }
    *low = fmax(*low, warp_floor(&o->warp));
    *high = fmax(*high, *low);
}

static double crps_of_row(const observer *o, const latents *f, int64_t i, double t_y)
{
    crps_row below = {o, f, i, false}, above = {o, f, i, true};
    double low, high;
    range_of(o, f, i, &low, &high);
    double split = fmin(fmax(t_y, low), high);
    double outside = fabs(warp_inverse(&o->warp, t_y) - warp_inverse(&o->warp, split));
    return outside + warp_integral(crps_at, &below, low, split) + warp_integral(crps_at, &above, split, high);
}

void observe_warped_crps(const observer *o, const latents *f, const double *y, double *out)
{
#pragma omp parallel for schedule(dynamic, PIECE) if (f->n > PIECE)
    for (int64_t i = 0; i < f->n; i++) out[i] = crps_of_row(o, f, i, o->unit.shift + o->unit.scale * y[i]);
}
