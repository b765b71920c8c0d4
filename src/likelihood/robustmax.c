/* The class of the largest of C latents, up to mistakes:  P(y | f) = 1 - eps if f_y is the largest, else eps / (C - 1).  With
   P = P(f_y is the largest) under the latents' normals,
       E = P log(1 - eps) + (1 - P) log(eps / (C - 1)),   P(y) = P (1 - eps) + (1 - P) eps / (C - 1)
       P = E_{f ~ N(mu_y, var_y)} [ G(f) ],   G = prod_{c != y} Phi(x_c),   x_c = (f - mu_c) / sd_c
   one integral, by quadrature.  With h_c = phi(x_c)/Phi(x_c) / sd_c and H = sum h_c:
       dP/dmu_c = -E[G h_c],   dP/dvar_c = -E[G h_c x_c] / (2 sd_c)
       dP/dmu_y = E[G H],      dP/dvar_y = E[G (H^2 - sum h_c (h_c + x_c / sd_c))] / 2
   G is a sum of logarithms.  Cost: C nodes a row, C^2 nodes for the probabilities of all classes. */
#include <string.h>

#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "epsilon", .start = 1e-3, .lower = 0, .prior_mean = -7, .prior_sd = 2, .fixed = true},
     .below = 0.5},
};

static const double LEAST_VARIANCE = 1e-12; /* derivatives of P grow as 1/var where two means meet */

/* One row's latents. */
typedef struct contest {
    int64_t C, y, ld;
    const double *mu, *var;
} contest;

static double mean_at(const contest *t, int64_t c) { return t->mu[c * t->ld]; }
static double sd_at(const contest *t, int64_t c) { return sqrt(fmax(t->var[c * t->ld], LEAST_VARIANCE)); }

/* The integrand bends where f_y meets the strongest of the others. */
static void contest_nodes(const contest *t, quadrature *q)
{
    int64_t rival = t->y ? 0 : 1;
    for (int64_t c = 0; c < t->C; c++)
        if (c != t->y && mean_at(t, c) > mean_at(t, rival)) rival = c;
    double sd = sd_at(t, t->y);
    quadrature_nodes(mean_at(t, t->y), sd * sd, mean_at(t, rival), sd_at(t, rival), q);
}

static double log_wins(const contest *t, double f)
{
    double sum = 0;
    for (int64_t c = 0; c < t->C; c++)
        if (c != t->y) sum += log_normal_cdf((f - mean_at(t, c)) / sd_at(t, c));
    return sum;
}

static double contest_won(const contest *t)
{
    quadrature q;
    double P = 0;
    contest_nodes(t, &q);
    for (int64_t k = 0; k < q.n; k++) P += q.w[k] * exp(log_wins(t, q.f[k]));
    return fmin(P, 1);
}

/* Adds `weight` times the derivatives of G at f to dmu, dvar (stride ld). */
static void add_slopes(const contest *t, double f, double weight, double *dmu, double *dvar)
{
    double H = 0, bend = 0;
    for (int64_t c = 0; c < t->C; c++) {
        if (c == t->y) continue;
        double sd = sd_at(t, c), x = (f - mean_at(t, c)) / sd, h = normal_hazard(x) / sd;
        H += h;
        bend += h * (h + x / sd);
        dmu[c * t->ld] -= weight * h;
        dvar[c * t->ld] -= weight * h * x / (2 * sd);
    }
    dmu[t->y * t->ld] += weight * H;
    dvar[t->y * t->ld] += weight * 0.5 * (H * H - bend);
}

/* P, and `weight` times its derivatives. */
static double contest_slopes(const contest *t, double weight, double *dmu, double *dvar)
{
    quadrature q;
    double P = 0;
    contest_nodes(t, &q);
    for (int64_t c = 0; c < t->C; c++) dmu[c * t->ld] = dvar[c * t->ld] = 0;
    for (int64_t k = 0; k < q.n; k++) {
        double wins = q.w[k] * exp(log_wins(t, q.f[k]));
        P += wins;
        if (wins > 0) add_slopes(t, q.f[k], weight * wins, dmu, dvar);
    }
    return fmin(P, 1);
}

static double expect(const likelihood *l, int64_t n, const double *Y, const double *w, const double *mu,
                     const double *var, int64_t ld, random_stream random, int64_t first, double *dmu, double *dvar,
                     double *dparam)
{
    (void)random, (void)first;
    double eps = l->value[0], right = log1p(-eps), wrong = log(eps / (double)(l->classes - 1)), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        contest t = {.C = l->latents, .y = (int64_t)Y[i], .ld = ld, .mu = mu + i, .var = var + i};
        double weight = weight_at(w, i), P = contest_slopes(&t, weight * (right - wrong), dmu + i, dvar + i);
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
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t y = 0; y < l->classes; y++) {
            contest t = {.C = l->latents, .y = y, .ld = ld, .mu = mu + i, .var = var + i};
            sum += P[i + y * ldp] = contest_won(&t);
        }
        for (int64_t y = 0; y < l->classes; y++) P[i + y * ldp] = probability(l, P[i + y * ldp] / sum);
    }
}

static void log_predictive(const likelihood *l, int64_t n, const double *Y, const double *mu, const double *var,
                           int64_t ld, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        contest t = {.C = l->latents, .y = (int64_t)Y[i], .ld = ld, .mu = mu + i, .var = var + i};
        out[i] = log(probability(l, contest_won(&t)));
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
