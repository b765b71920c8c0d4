/* Predictions of lagp: a design for each row (lagp.h), then the conditional of vecchia_posterior.c given its rows.

   integrated   the covariance of a design is tau^2 G with p(tau^2) = 1 / tau^2 (Gramacy and Apley 2015, eq. 4): with psi = r'G^-1 r, r the
                residuals of the mean, f(x) and y(x) have Student's t distributions with m degrees of freedom, whose squared scales are psi / m
                times the variances of f(x) and y(x) given G.  They are returned as mixtures of normals [lagp_student.c].
   local        a factor exp(l) of all length-scales and one exp(g) of the noise, at the largest
                    log p(y | l, g) - (l^2 + g^2) / 2,      with an integrated scale -m/2 log psi - 1/2 log|G|,
                by Newton's method with differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/local/lagp_posterior.h"

kernel *lagp_stretched(const kernel *k, double factor)
{
    kernel *made = kernel_copy(k);
    for (int64_t i = 0; made && i < kernel_count(made); i++)
        if (kernel_param_at(made, i)->role == ROLE_LENGTH) kernel_values(made)[i] *= factor;
    return made;
}

/* ------------------------------------------------------------------------------------- one thread's room */

typedef struct worker {
    const vecchia_posterior *p;
    const lagp_kind *kind;
    kernel *kernel[LAGP_KERNELS]; /* the first is the posterior's */
    vecchia_posterior stretched;  /* local: the posterior with a kernel of its own */
    double *weight;               /* D */
    double *X, *y, *noise;        /* candidates */
    double *room;                 /* of a design */
    int32_t *chosen, *rows;       /* of a design, by candidate and by row */
    double *conditional, *spare;  /* p */
} worker;

static int64_t close_of(const vecchia_posterior *p, const lagp_kind *k)
{
    int64_t close = k->design == DESIGN_NN ? vecchia_near(p) : k->close;
    return close < p->base.n ? close : p->base.n;
}

static void worker_clear(worker *w)
{
    for (int i = 1; i < LAGP_KERNELS; i++) kernel_free(w->kernel[i]);
    kernel_free(w->stretched.base.kernel);
    void *const owned[] = {w->weight, w->X, w->y, w->noise, w->room, w->chosen, w->rows, w->conditional, w->spare};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static bool worker_open(worker *w, const vecchia_posterior *p, const lagp_kind *k)
{
    int64_t D = p->base.D, n = close_of(p, k), m = vecchia_near(p);
    *w = (worker){.p = p, .kind = k, .kernel = {p->base.kernel}, .stretched = *p};
    w->stretched.base.kernel = k->local ? kernel_copy(p->base.kernel) : NULL;
    for (int i = 1; i < LAGP_KERNELS && k->design == DESIGN_MSPE; i++)
        w->kernel[i] = lagp_stretched(p->base.kernel, exp(i == 1 ? -LAGP_STEP : LAGP_STEP));
    w->weight = mem_alloc(D, sizeof *w->weight);
    w->X = mem_doubles(n, D), w->y = mem_alloc(n, sizeof *w->y), w->noise = mem_alloc(n, sizeof *w->noise);
    w->room = mem_alloc(design_doubles(k, n, D, m), sizeof *w->room);
    w->chosen = mem_alloc(m, sizeof *w->chosen), w->rows = mem_alloc(m, sizeof *w->rows);
    w->conditional = mem_alloc(conditional_doubles(p, m), sizeof *w->conditional);
    w->spare = mem_alloc(p->base.mean.p, sizeof *w->spare);
    bool kernels =
        (k->design != DESIGN_MSPE || (w->kernel[1] && w->kernel[2])) && (!k->local || w->stretched.base.kernel);
    if (w->weight) vecchia_weights(p->base.kernel, D, w->weight);
    return kernels && w->weight && w->X && w->y && w->noise && w->room && w->chosen && w->rows && w->conditional &&
           w->spare;
}

/* ------------------------------------------------------------------------------------------- a design */

static void take_candidates(worker *w, int64_t n, const int32_t *near)
{
    const vecchia_posterior *p = w->p;
    int64_t D = p->base.D, q = p->base.mean.p;
    double noise = vecchia_noise(p);
    for (int64_t i = 0; i < n; i++) {
        const double *x = p->X + near[i] * D;
        memcpy(w->X + i * D, x, (size_t)D * sizeof *x);
        w->y[i] = p->y[near[i]], w->noise[i] = noise / p->w[near[i]];
        if (q == 0) continue;
        basis_fill(&p->base.mean, 1, x, D, w->spare, 1, 1);
        w->y[i] -= sqrt(p->base.mean.B) * la_dot(q, w->spare, p->m);
    }
}

static anygp_status find_design(worker *w, const double *x, int64_t n, const int32_t *near, int64_t *count,
                                anygp_error *e)
{
    take_candidates(w, n, near);
    lagp_near all = {.kernel = {w->kernel[0], w->kernel[1], w->kernel[2]},
                     .n = n,
                     .D = w->p->base.D,
                     .X = w->X,
                     .y = w->y,
                     .noise = w->noise,
                     .weight = w->weight,
                     .x = x};
    TRY(design_choose(w->kind, &all, vecchia_near(w->p), w->room, w->chosen, count, e));
    for (int64_t i = 0; i < *count; i++) w->rows[i] = near[w->chosen[i]];
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------- what a design says of itself */

/* The design's conditional with factors exp(l) and exp(g). */
static anygp_status condition(worker *w, const double *x, int64_t m, const double *at, conditional *c, anygp_error *e)
{
    const vecchia_posterior *p = w->p;
    *c = conditional_place(p, vecchia_near(p), w->conditional);
    conditional_begin(p, m, w->rows, c);
    if (!w->kind->local) return conditional_find(p, x, c, e);
    const double *values = kernel_values(p->base.kernel);
    kernel *k = w->stretched.base.kernel;
    for (int64_t i = 0; i < kernel_count(k); i++)
        kernel_values(k)[i] = values[i] * (kernel_param_at(k, i)->role == ROLE_LENGTH ? exp(at[0]) : 1);
    for (int64_t i = 0; i < m; i++) c->noise[i] *= exp(at[1]);
    return conditional_find(&w->stretched, x, c, e);
}

/* r'G^-1 r: from L^-1 [y, A'] of the rows, with the mean's coefficients at their means.  Rows whose targets are all what the mean says would
   leave no variance at all. */
static double psi_of(const vecchia_posterior *p, const conditional *c)
{
    static const double LEAST_SCALE = 1e-8; /* a share of the kernel's variance */
    double sum = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double r = c->y[i];
        for (int64_t a = 0; a < p->base.mean.p; a++) r -= c->A[i + a * (c->n + 1)] * p->m[a];
        sum += r * r;
    }
    return fmax(sum, LEAST_SCALE * (double)c->n);
}

/* -infinity: no factor there. */
static double objective(worker *w, const double *x, int64_t m, const double *at)
{
    conditional c;
    anygp_error ignored;
    if (ANYGP_FAILED(condition(w, x, m, at, &c, &ignored))) return -INFINITY;
    double psi = psi_of(w->p, &c), logdet = la_logdet(m, c.G, m + 1);
    double fit = w->kind->integrated ? (double)m * log(psi) : psi;
    double value = -0.5 * (fit + logdet + at[0] * at[0] + at[1] * at[1]);
    return isfinite(value) ? value : -INFINITY;
}

/* A Newton step from `at`, or one along the gradient where the objective is not concave; never longer than 1 in either. */
static void newton_step(worker *w, const double *x, int64_t m, const double *at, double value, double *step)
{
    static const double H = 1e-3;
    double up[2], down[2], g[2], both[2], a, b, c;
    for (int i = 0; i < 2; i++) {
        double to[2] = {at[0] + (i == 0 ? H : 0), at[1] + (i == 1 ? H : 0)};
        double from[2] = {at[0] - (i == 0 ? H : 0), at[1] - (i == 1 ? H : 0)};
        up[i] = objective(w, x, m, to), down[i] = objective(w, x, m, from), g[i] = (up[i] - down[i]) / (2 * H);
    }
    both[0] = objective(w, x, m, (const double[]){at[0] + H, at[1] + H});
    both[1] = objective(w, x, m, (const double[]){at[0] - H, at[1] - H});
    a = (up[0] - 2 * value + down[0]) / (H * H), c = (up[1] - 2 * value + down[1]) / (H * H);
    b = ((both[0] - 2 * value + both[1]) / (H * H) - a - c) / 2;
    double det = a * c - b * b;
    if (a < 0 && det > 0)
        step[0] = -(c * g[0] - b * g[1]) / det, step[1] = -(a * g[1] - b * g[0]) / det;
    else
        step[0] = g[0], step[1] = g[1];
    for (int i = 0; i < 2; i++) step[i] = isfinite(step[i]) ? fmax(-1, fmin(1, step[i])) : 0;
}

static void learn_factors(worker *w, const double *x, int64_t m, double *at)
{
    enum { STEPS = 8, HALVES = 5 };
    static const double ENOUGH = 1e-6;
    double value = objective(w, x, m, at);
    for (int i = 0; i < STEPS && isfinite(value); i++) {
        double step[2], now = -INFINITY, to[2] = {at[0], at[1]};
        newton_step(w, x, m, at, value, step);
        for (int j = 0; j < HALVES && !(now > value); j++) {
            to[0] = at[0] + step[0], to[1] = at[1] + step[1];
            now = objective(w, x, m, to);
            step[0] /= 2, step[1] /= 2;
        }
        if (!(now > value)) return;
        double gained = now - value;
        at[0] = to[0], at[1] = to[1], value = now;
        if (gained < ENOUGH) return;
    }
}

/* ----------------------------------------------------------------------------------------- marginals */

/* Where the variance is integrated out, a row's components; degrees of freedom, 0 for a normal, where there are too few rows for a variance. */
typedef struct spread {
    int64_t stride;
    double *mean, *variance, *noise, *freedom;
} spread;

static void spread_out(const worker *w, const conditional *c, double noise_factor, double mean, double variance,
                       const spread *to)
{
    int64_t S = w->p->base.components, few = c->n < STUDENT_LEAST;
    double factor[STUDENT_MOST], weight[STUDENT_MOST], noise = vecchia_noise(w->p) * noise_factor;
    double scale = few ? 1 : psi_of(w->p, c) / (double)c->n;
    *to->freedom = few ? 0 : (double)c->n;
    student_components(*to->freedom, S, factor, weight);
    for (int64_t s = 0; s < S; s++) {
        to->mean[s * to->stride] = mean;
        if (to->variance) to->variance[s * to->stride] = scale * factor[s] * variance;
        if (to->noise) to->noise[s * to->stride] = scale * factor[s] * noise;
    }
}

static anygp_status predict_row(worker *w, const double *x, int64_t n, const int32_t *near, const spread *to,
                                anygp_error *e)
{
    int64_t m;
    double at[2] = {0, 0}, mean, variance;
    conditional c;
    TRY(find_design(w, x, n, near, &m, e));
    if (w->kind->local) learn_factors(w, x, m, at);
    TRY(condition(w, x, m, at, &c, e));
    conditional_add_mean(w->p, &c, w->spare, &mean, &variance);
    if (w->kind->integrated)
        spread_out(w, &c, exp(at[1]), mean, variance, to);
    else if (*to->mean = mean, to->variance)
        *to->variance = variance;
    return ANYGP_OK;
}

/* Lists of 32-bit numbers, generously, and behind them n degrees of freedom. */
static int64_t lagp_work(const posterior *base, int64_t n)
{
    const lagp_posterior *p = (const lagp_posterior *)base;
    return n * (close_of(&p->near, &p->kind) + 2);
}

static double *freedom_in(const lagp_posterior *p, int64_t n, double *work)
{
    return work + n * (close_of(&p->near, &p->kind) + 1);
}

static anygp_status predict_rows(const lagp_posterior *p, int64_t n, const double *X, int64_t ldx, double *work,
                                 double *mean, double *variance, double *noise, anygp_error *e)
{
    int64_t k = close_of(&p->near, &p->kind), m = vecchia_near(&p->near);
    int32_t *count = (int32_t *)work, *rows = count + n;
    double *freedom = freedom_in(p, n, work);
    int threads = threads_for((double)n * (double)m * (double)m * (double)k);
    anygp_status status = ANYGP_OK;
    TRY(vecchia_nearest(&p->near, n, X, ldx, k, rows, count, NULL, e));
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        worker w;
        anygp_error why = {0};
        anygp_status mine = worker_open(&w, &p->near, &p->kind) ? ANYGP_OK : fail_memory(&why, "the designs", 0);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; i++) {
            const spread to = {n, mean + i, variance ? variance + i : NULL, noise ? noise + i : NULL, freedom + i};
            if (!ANYGP_FAILED(mine)) mine = predict_row(&w, X + i * ldx, count[i], rows + i * k, &to, &why);
        }
        worker_clear(&w);
#pragma omp critical(lagp_status)
        if (ANYGP_FAILED(mine) && !ANYGP_FAILED(status)) status = mine, *e = why;
    }
    la_serial_end(threads);
    return status;
}

static anygp_status lagp_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                                  double *mean, double *variance, anygp_error *e)
{
    return predict_rows((const lagp_posterior *)base, n, X, ldx, work, mean, variance, NULL, e);
}

static anygp_status student_marginal_noise(const posterior *base, int64_t n, const double *X, int64_t ldx,
                                           const int64_t *block, double *work, double *mean, double *variance,
                                           double *noise, anygp_error *e)
{
    (void)block;
    return predict_rows((const lagp_posterior *)base, n, X, ldx, work, mean, variance, noise, e);
}

/* From the degrees of freedom that the marginals have left in `work`. */
static void student_weights(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                            double *weight)
{
    const double *freedom = freedom_in((const lagp_posterior *)base, n, work);
    double factor[STUDENT_MOST], w[STUDENT_MOST];
    (void)X, (void)ldx;
    for (int64_t i = 0; i < n; i++) {
        student_components(freedom[i], base->components, factor, w);
        for (int64_t s = 0; s < base->components; s++) weight[i + s * n] = w[s];
    }
}

static const posterior_ops lagp_posterior_ops = {.work_doubles = lagp_work,
                                                 .marginal = lagp_marginal,
                                                 .arrays = vecchia_arrays,
                                                 .free = vecchia_free},
                           student_posterior_ops = {.work_doubles = lagp_work,
                                                    .marginal = lagp_marginal,
                                                    .marginal_noise = student_marginal_noise,
                                                    .weights = student_weights,
                                                    .arrays = vecchia_arrays,
                                                    .free = vecchia_free};

const posterior_form lagp_form = {&lagp_posterior_ops, sizeof(lagp_posterior)};

void lagp_take_kind(posterior *base, lagp_kind kind)
{
    lagp_posterior *p = (lagp_posterior *)base;
    p->kind = kind;
    if (!kind.integrated) return;
    base->ops = &student_posterior_ops;
    base->components = student_count(vecchia_near(&p->near));
}
