/* The class of the largest of C latents, up to mistakes:  P(y | f) = 1 - eps if f_y is the largest, else eps / (C - 1).  With
   P = P(f_y is the largest) under the latents' normals,
       E = P log(1 - eps) + (1 - P) log(eps / (C - 1)),   P(y) = P (1 - eps) + (1 - P) eps / (C - 1)
       P = E_{f ~ N(mu_y, var_y)} [ G(f) ],   G = prod_{c != y} Phi(x_c),   x_c = (f - mu_c) / sd_c
   one integral, by quadrature.  With h_c = phi(x_c)/Phi(x_c) / sd_c and H = sum h_c:
       dP/dmu_c = -E[G h_c],   dP/dvar_c = -E[G h_c x_c] / (2 sd_c)
       dP/dmu_y = E[G H],      dP/dvar_y = E[G (H^2 - sum h_c (h_c + x_c / sd_c))] / 2
   The latents' widths may differ by any factor, so the rule is composite: Gauss-Legendre on panels, each a fixed share of the
   narrowest thing that bends there.  Rival c bends over [mu_c - BELOW sd_c, mu_c + ABOVE sd_c]: left of the largest of the left
   ends, `from`, G is below 1e-12, so that every rival that still matters has begun to bend there, and from there on the
   narrowest of those that have not ended only becomes wider.  Panels hence grow to the right, and their number grows only with
   the logarithm of the ratio of widths.  Right of the last end G is 1, and what is left is the normal's tail.
   Cost: C for each of 20 to 200 nodes per row, C times that for the probabilities of all classes. */
#include "likelihood/parts.h"
#include "base/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "epsilon", .start = 1e-3, .lower = 0, .prior_mean = -7, .prior_sd = 2, .fixed = true},
     .below = 0.5},
};

static const double LEAST_VARIANCE = 1e-12; /* derivatives of P grow as 1/var where two means meet */

/* One row's latents, packed; for one winner y, the rivals that matter and the last node's x_c and Phi(x_c) of each. */
typedef struct contest {
    int64_t C, rivals;
    double mean[LIKELIHOOD_LATENTS], sd[LIKELIHOOD_LATENTS];
    int64_t rival[LIKELIHOOD_LATENTS];
    double x[LIKELIHOOD_LATENTS], Phi[LIKELIHOOD_LATENTS];
} contest;

static void contest_of(const likelihood *l, const double *mu, const double *var, int64_t ld, contest *t)
{
    t->C = l->latents;
    for (int64_t c = 0; c < t->C; c++) {
        t->mean[c] = mu[c * ld];
        t->sd[c] = sqrt(fmax(var[c * ld], LEAST_VARIANCE));
    }
}

/* -------------------------------------------------------------------------------------------- the rule */

static const double REACH = 7;   /* standard deviations of f_y; the normal beyond them is 1e-12 */
static const double BELOW = 7;   /* sd_c below mu_c, where Phi is 1e-12 */
static const double ABOVE = 6.5; /* sd_c above mu_c, where 1 - Phi is 4e-11 */
static const double PANEL = 4;   /* length of a panel relative to what bends in it */
enum { HALF_LEGENDRE = 6 };

/* Positive nodes on [-1, 1] and their weights; the negative ones mirror them. */
static const struct {
    double x, w;
} legendre[HALF_LEGENDRE] = {{0.12523340851146891, 0.24914704581340277}, {0.36783149899818018, 0.23349253653835481},
                             {0.58731795428661748, 0.20316742672306592}, {0.76990267419430469, 0.16007832854334622},
                             {0.90411725637047491, 0.10693932599531843}, {0.98156063424671924, 0.047175336386511828}};

/* The part of the line where G is neither 0 nor 1 and f_y may be. */
typedef struct stretch {
    double from, to;
    double tail; /* probability of f_y right of it: G is 1 there */
} stretch;

static stretch contest_stretch(contest *t, int64_t y)
{
    double lo = t->mean[y] - REACH * t->sd[y], hi = t->mean[y] + REACH * t->sd[y], end = lo;
    t->rivals = 0;
    for (int64_t c = 0; c < t->C; c++)
        if (c != y) lo = fmax(lo, t->mean[c] - BELOW * t->sd[c]);
    for (int64_t c = 0; c < t->C; c++) {
        double ends = t->mean[c] + ABOVE * t->sd[c];
        if (c == y || ends <= lo) continue;
        t->rival[t->rivals++] = c;
        end = fmax(end, ends);
    }
    double to = fmin(hi, fmax(lo, end));
    return (stretch){lo, to, normal_cdf((t->mean[y] - fmax(lo, to)) / t->sd[y])};
}

/* Where the panel that begins at f ends.  A product of k equal factors bends over a width smaller by sqrt(2 log k). */
static double panel_end(const contest *t, int64_t y, const stretch *s, double f)
{
    double narrow = t->sd[y], bending = 0;
    for (int64_t r = 0; r < t->rivals; r++) {
        int64_t c = t->rival[r];
        if (t->mean[c] + ABOVE * t->sd[c] <= f) continue;
        narrow = fmin(narrow, t->sd[c]);
        bending++;
    }
    double end = f + PANEL * narrow / sqrt(1 + 2 * log(fmax(bending, 1)));
    return end > f && end < s->to ? end : s->to;
}

/* f and the weight of node k of 2 HALF_LEGENDRE of a panel: its length times the normal's density. */
static double panel_node(const contest *t, int64_t y, double a, double b, int k, double *weight)
{
    double half = 0.5 * (b - a), x = legendre[k / 2].x * (k % 2 ? 1 : -1);
    double f = 0.5 * (a + b) + half * x, z = (f - t->mean[y]) / t->sd[y];
    *weight = legendre[k / 2].w * half / t->sd[y] * exp(-0.5 * (z * z + LOG_2PI));
    return f;
}

/* G(f) */
static double wins(contest *t, double f)
{
    double G = 1;
    for (int64_t r = 0; r < t->rivals && G > 0; r++) {
        int64_t c = t->rival[r];
        t->x[r] = (f - t->mean[c]) / t->sd[c];
        G *= t->Phi[r] = normal_cdf(t->x[r]);
    }
    return G;
}

static double contest_won(contest *t, int64_t y)
{
    stretch s = contest_stretch(t, y);
    double P = s.tail, weight, b;
    for (double a = s.from; a < s.to; a = b) {
        b = panel_end(t, y, &s, a);
        for (int k = 0; k < 2 * HALF_LEGENDRE; k++) {
            double f = panel_node(t, y, a, b, k, &weight);
            P += weight * wins(t, f);
        }
    }
    return fmin(P, 1);
}

/* Adds `weight` times the derivatives of log G at the last node, where G > 0, to dmu, dvar (stride ld). */
static void add_slopes(const contest *t, int64_t y, double weight, double *dmu, double *dvar, int64_t ld)
{
    double H = 0, bend = 0;
    for (int64_t r = 0; r < t->rivals; r++) {
        int64_t c = t->rival[r];
        double over = 1 / t->sd[c], x = t->x[r], h = exp(-0.5 * (LOG_2PI + x * x)) / t->Phi[r] * over;
        H += h;
        bend += h * (h + x * over);
        dmu[c * ld] -= weight * h;
        dvar[c * ld] -= weight * 0.5 * h * x * over;
    }
    dmu[y * ld] += weight * H;
    dvar[y * ld] += weight * 0.5 * (H * H - bend);
}

/* A panel's part of P, and `weight` times that of its derivatives.  Nodes that cannot change P in double precision are passed
   over. */
static double panel_slopes(contest *t, int64_t y, double a, double b, double weight, double *dmu, double *dvar,
                           int64_t ld)
{
    double P = 0, w;
    for (int k = 0; k < 2 * HALF_LEGENDRE; k++) {
        double f = panel_node(t, y, a, b, k, &w), won = w < 1e-18 ? 0 : w * wins(t, f);
        P += won;
        if (won > 0) add_slopes(t, y, weight * won, dmu, dvar, ld);
    }
    return P;
}

static double contest_slopes(contest *t, int64_t y, double weight, double *dmu, double *dvar, int64_t ld)
{
    stretch s = contest_stretch(t, y);
    double P = s.tail, b;
    for (int64_t c = 0; c < t->C; c++) dmu[c * ld] = dvar[c * ld] = 0;
    for (double a = s.from; a < s.to; a = b) {
        b = panel_end(t, y, &s, a);
        P += panel_slopes(t, y, a, b, weight, dmu, dvar, ld);
    }
    return fmin(P, 1);
}

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)random, (void)first;
    double eps = l->value[0], right = log1p(-eps), wrong = log(eps / (double)(l->classes - 1)), sum = 0;
    contest t;
    for (int64_t i = 0; i < n; i++) {
        double weight = weight_at(w, i);
        contest_of(l, mu + i, var + i, ld, &t);
        double P = contest_slopes(&t, (int64_t)Y[i], weight * (right - wrong), dmu + i, dvar + i, ld);
        sum += weight * (P * right + (1 - P) * wrong);
        dparam[0] += weight * ((1 - P) / eps - P / (1 - eps));
    }
    return sum;
}

static double probability(const likelihood *l, double P)
{
    double eps = l->value[0];
    return P * (1 - eps) + (1 - P) * eps / (double)(l->classes - 1);
}

/* The integrals of the classes add up to 1 to the rule's accuracy; they are made to. */
static void probabilities(const likelihood *l, int64_t n, const double *mu, const double *var, int64_t ld, double *P,
                          int64_t ldp)
{
    contest t;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        contest_of(l, mu + i, var + i, ld, &t);
        for (int64_t y = 0; y < l->classes; y++) sum += P[i + y * ldp] = contest_won(&t, y);
        for (int64_t y = 0; y < l->classes; y++) P[i + y * ldp] = probability(l, P[i + y * ldp] / sum);
    }
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    contest t;
    for (int64_t i = 0; i < n; i++) {
        contest_of(l, mu + i, var + i, ld, &t);
        out[i] = log(probability(l, contest_won(&t, (int64_t)Y[i])));
    }
}

static int64_t largest(const likelihood *l, const double *f, int64_t ld)
{
    int64_t best = 0;
    for (int64_t c = 1; c < l->latents; c++)
        if (f[c * ld] > f[best * ld]) best = c;
    return best;
}

/* One of the others, each as likely, where u < eps. */
static void draw(const likelihood *l, int64_t n, const double *exposure, const double *f, int64_t ld,
                 random_stream random, double *y)
{
    (void)exposure;
    for (int64_t i = 0; i < n; i++) {
        int64_t best = largest(l, f + i, ld);
        double u = random_uniform(random, (uint64_t)i) / l->value[0];
        int64_t other = (int64_t)(u * (double)(l->classes - 1));
        y[i] = (double)(u >= 1 ? best : other + (other >= best));
    }
}

static double density(const likelihood *l, const double *y, const double *f)
{
    double eps = l->value[0];
    return largest(l, f, 1) == (int64_t)y[0] ? log1p(-eps) : log(eps / (double)(l->classes - 1));
}

const likelihood_ops likelihood_robustmax = {
    .name = "robustmax",
    .summary = "classes, the largest function wins up to mistakes",
    .target = TARGET_CLASS,
    .most_classes = LIKELIHOOD_LATENTS,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .expect = expect,
    .log_predictive = log_predictive,
    .probabilities = probabilities,
    .draw = draw,
    .density = density,
};
