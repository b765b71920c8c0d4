/* Bracketing and interpolation (Nocedal and Wright, algorithms 3.5 and 3.6, in one loop).
   Invariant: `low` satisfies sufficient decrease and phi'(low) points into the bracket, so the bracket always
   contains a Wolfe point of a smooth phi.  Cost: O(1) per trial. */
#include "run/line_search.h"

#include <math.h>

static const double C1 = 1e-4, C2 = 0.9;
static const double ROUNDING = 1e-12; /* relative error granted to f: a sum over n terms through a factorisation */
enum { MAX_TRIALS = 40, ENOUGH_TRIALS = 12 }; /* the second once some decrease is in hand */

void line_begin(line_search *s, double f, double slope, double first, double cap)
{
    line_point start = {0, f, slope};
    *s = (line_search){.trial = fmin(first, cap), .start = start, .low = start, .cap = cap, .width = INFINITY};
    s->noise = ROUNDING * fmax(1, fabs(f));
}

bool line_trial_is_low(const line_search *s, double told) { return s->low.a == told; }

/* Minimiser of the cubic through two points with their slopes (Nocedal and Wright, eq. 3.59); where the values
   differ by rounding only, the zero of the slope's secant.  NaN where there is none. */
static double interpolate(const line_search *s, line_point p, line_point q)
{
    if (fabs(p.f - q.f) <= s->noise) return (p.a * q.slope - q.a * p.slope) / (q.slope - p.slope);
    double d1 = p.slope + q.slope - 3 * (p.f - q.f) / (p.a - q.a);
    double d2 = copysign(sqrt(d1 * d1 - p.slope * q.slope), q.a - p.a);
    return q.a - (q.a - p.a) * (q.slope + d2 - d1) / (q.slope - p.slope + 2 * d2);
}

/* `a` moved into the interval between u and v, in either order; NaN goes to the middle. */
static double clamp_between(double a, double u, double v)
{
    if (!isfinite(a)) return 0.5 * (u + v);
    return fmin(fmax(a, fmin(u, v)), fmax(u, v));
}

/* Inside the bracket, a tenth of its width away from both ends; halved where the last trial shrank it too little
   or f is not finite at the other end. */
static double trial_inside(line_search *s)
{
    double w = s->high.a - s->low.a;
    bool slow = fabs(w) > 0.66 * s->width;
    s->width = fabs(w);
    if (s->walled || slow) return s->low.a + 0.5 * w;
    return clamp_between(interpolate(s, s->low, s->high), s->low.a + 0.1 * w, s->high.a - 0.1 * w);
}

/* Beyond `low`, whose slope is still steep: between 1.1 and 4 times the last advance. */
static double trial_outside(const line_search *s, line_point before)
{
    double w = s->low.a - before.a;
    double a = interpolate(s, before, s->low);
    if (!(a > s->low.a)) a = INFINITY; /* the model sees no minimum ahead */
    return fmin(fmin(fmax(a, s->low.a + 1.1 * w), s->low.a + 4 * w), s->cap);
}

static bool decreases_enough(const line_search *s, line_point p)
{
    if (p.f <= s->start.f + C1 * p.a * s->start.slope) return true;
    return p.f <= s->start.f + s->noise && p.slope <= (2 * C1 - 1) * s->start.slope;
}

/* A step that is not a Wolfe point must at least decrease f beyond doubt, or a run would creep on for ever. */
static line_result give_up(const line_search *s) { return s->low.f < s->start.f ? LINE_DECREASE : LINE_FAILED; }

/* The next trial, unless the bracket has closed or patience has run out. */
static line_result next_trial(line_search *s, double a)
{
    bool stuck = a == s->low.a || (s->bracketed && a == s->high.a);
    int patience = s->low.a > 0 ? ENOUGH_TRIALS : MAX_TRIALS;
    if (stuck || ++s->trials >= patience) return give_up(s);
    s->trial = a;
    return LINE_MORE;
}

line_result line_tell(line_search *s, double f, double slope)
{
    line_point p = {s->trial, f, slope}, before = s->low;
    bool finite = isfinite(f) && isfinite(slope);
    if (!finite || !decreases_enough(s, p) || p.f > s->low.f + s->noise) {
        s->high = p;
        s->walled = !finite;
        s->bracketed = true;
        return next_trial(s, trial_inside(s));
    }
    if (fabs(slope) <= -C2 * s->start.slope) return LINE_ACCEPT;
    double ahead = s->bracketed ? s->high.a - p.a : 1;
    if (slope * ahead >= 0) s->high = s->low, s->bracketed = true, s->walled = false;
    s->low = p;
    if (s->bracketed) return next_trial(s, trial_inside(s));
    return p.a >= s->cap ? give_up(s) : next_trial(s, trial_outside(s, before));
}
