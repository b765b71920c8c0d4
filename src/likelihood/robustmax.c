/* The class of the largest of C latents, up to mistakes:  P(y | f) = 1 - eps if f_y is the largest, else eps / (C - 1).  With
   P = P(f_y is the largest) under the latents' normals,
       E = P log(1 - eps) + (1 - P) log(eps / (C - 1)),   P(y) = P (1 - eps) + (1 - P) eps / (C - 1)
       P = E_{f ~ N(mu_y, var_y)} [ G(f) ],   G = prod_{c != y} Phi(x_c),   x_c = (f - mu_c) / sd_c
   one integral, by quadrature.  With h_c = phi(x_c)/Phi(x_c) / sd_c and H = sum h_c:
       dP/dmu_c = -E[G h_c],   dP/dvar_c = -E[G h_c x_c] / (2 sd_c)
       dP/dmu_y = E[G H],      dP/dvar_y = E[G (H^2 - sum h_c (h_c + x_c / sd_c))] / 2
   Where G underflows its part of P and of the derivatives is 0.  Cost: C nodes a row, C^2 nodes for the probabilities of all
   classes. */
#include "likelihood/parts.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"

static const likelihood_option options[] = {
    {.param = {.name = "epsilon", .start = 1e-3, .lower = 0, .prior_mean = -7, .prior_sd = 2, .fixed = true},
     .below = 0.5},
};

static const double LEAST_VARIANCE = 1e-12; /* derivatives of P grow as 1/var where two means meet */

/* One row's latents, packed. */
typedef struct contest {
    int64_t C;
    double mean[LIKELIHOOD_LATENTS], sd[LIKELIHOOD_LATENTS];
} contest;

static void contest_of(const likelihood *l, const double *mu, const double *var, int64_t ld, contest *t)
{
    t->C = l->latents;
    for (int64_t c = 0; c < t->C; c++) {
        t->mean[c] = mu[c * ld];
        t->sd[c] = sqrt(fmax(var[c * ld], LEAST_VARIANCE));
    }
}

/* The integrand bends where f_y meets the strongest of the others. */
static void contest_nodes(const contest *t, int64_t y, quadrature *q)
{
    int64_t rival = y ? 0 : 1;
    for (int64_t c = 0; c < t->C; c++)
        if (c != y && t->mean[c] > t->mean[rival]) rival = c;
    quadrature_nodes(t->mean[y], t->sd[y] * t->sd[y], t->mean[rival], 2 * t->sd[rival], q);
}

/* G(f) */
static double wins(const contest *t, int64_t y, double f)
{
    double G = 1;
    for (int64_t c = 0; c < t->C && G > 0; c++)
        if (c != y) G *= normal_cdf((f - t->mean[c]) / t->sd[c]);
    return G;
}

static double contest_won(const contest *t, int64_t y)
{
    quadrature q;
    double P = 0;
    contest_nodes(t, y, &q);
    for (int64_t k = 0; k < q.n; k++) P += q.w[k] * wins(t, y, q.f[k]);
    return fmin(P, 1);
}

/* Adds `weight` times the derivatives of log G at f to dmu, dvar (stride ld). */
static void add_slopes(const contest *t, int64_t y, double f, double weight, double *dmu, double *dvar, int64_t ld)
{
    double H = 0, bend = 0;
    for (int64_t c = 0; c < t->C; c++) {
        if (c == y) continue;
        double over = 1 / t->sd[c], x = (f - t->mean[c]) * over, h = normal_hazard(x) * over;
        H += h;
        bend += h * (h + x * over);
        dmu[c * ld] -= weight * h;
        dvar[c * ld] -= weight * 0.5 * h * x * over;
    }
    dmu[y * ld] += weight * H;
    dvar[y * ld] += weight * 0.5 * (H * H - bend);
}

/* P, and `weight` times its derivatives.  Nodes that cannot change P in double precision are passed over. */
static double contest_slopes(const contest *t, int64_t y, double weight, double *dmu, double *dvar, int64_t ld)
{
    quadrature q;
    double P = 0;
    contest_nodes(t, y, &q);
    for (int64_t c = 0; c < t->C; c++) dmu[c * ld] = dvar[c * ld] = 0;
    for (int64_t k = 0; k < q.n; k++) {
        if (q.w[k] < 1e-18) continue;
        double won = q.w[k] * wins(t, y, q.f[k]);
        P += won;
        if (won > 0) add_slopes(t, y, q.f[k], weight * won, dmu, dvar, ld);
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
