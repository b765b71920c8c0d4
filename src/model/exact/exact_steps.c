/* exact+: steps, bound, checkpoints (exact_steps.h). */
#include "model/exact/exact_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/exact/exact_iterative.h"

/* ---------------------------------------------------------------------------------- workspace */

static void steps_close(void *state)
{
    exact_steps *s = state;
    if (!s) return;
    la_operator_free(s->P);
    la_operator_free(s->K);
    if (s->precond && s->precond->clear) s->precond->clear(s->plan);
    double *const owned[] = {s->S,      s->T,     s->R, s->D, s->W,     s->variance,
                             s->fitted, s->Sigma, s->F, s->w, s->noise, s->H};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(s);
}

static anygp_status steps_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    exact_steps *s = calloc(1, sizeof *s);
    (void)self, (void)h;
    if (!s) return fail_memory(e, "the model", sizeof *s);
    int64_t n = s->n = p->rows->n, most = s->most = n < STEP_MOST ? n : STEP_MOST,
            b = s->b = n < STEP_DIRECTIONS ? n : STEP_DIRECTIONS;
    s->problem = p, s->rows = p->rows;
    s->precond = p->solver.precond ? precond_find(p->solver.precond) : NULL;
    struct {
        double **array;
        int64_t rows, cols;
    } const slices[] = {{&s->S, n, most}, {&s->T, n, most},     {&s->R, n, b},         {&s->D, n, b},
                        {&s->W, n, b},    {&s->variance, n, 1}, {&s->fitted, n, 1},    {&s->noise, n, 1},
                        {&s->w, most, 1}, {&s->F, most, most},  {&s->H, n, p->mean->p}};
    bool ok = true;
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        ok = (*slices[i].array = mem_doubles(slices[i].rows, slices[i].cols)) && ok;
    s->Sigma = mem_zeroed(most * most, sizeof *s->Sigma); /* what is above its diagonal goes into checkpoints too */
    ok = ok && s->Sigma;
    kernel_rows rows = {n, p->rows->D, p->rows->X, p->rows->c};
    anygp_status status =
        ok ? kernel_operator_new(&rows, &(kernel_operator_options){.keep = p->keep, .comm = p->comm}, &s->K, e)
           : fail_memory(e, "the directions", 16.0 * (double)n * (double)most);
    if (ANYGP_FAILED(status))
        steps_close(s);
    else
        *state = s;
    return status;
}

/* ----------------------------------------------------------------------------------------- begin */

/* Ky, P and what belongs to no direction. */
static anygp_status prepare(exact_steps *s, const hyper *h, double jitter, anygp_error *e)
{
    char why[200] = "";
    double least, white = kernel_white(h->kernel);
    kernel_operator_set(s->K, h->kernel, h->like[0], jitter, false);
    const double *added = kernel_operator_added(s->K);
    for (int64_t i = 0; i < s->n; i++) s->noise[i] = added[i] + white;
    s->jitter = jitter, s->k = h->kernel, s->s2 = h->like[0];
    if (!s->precond) TRY(precond_try(s->problem, h->kernel, h->like[0], jitter, &s->precond, sizeof why, why, e));
    if (s->precond->plan && !s->plan) TRY(s->precond->plan(s->precond, s->problem, h->kernel, &s->plan, e));
    la_operator_free(s->P);
    s->P = NULL;
    return s->precond->make(s->problem, s->plan, h->kernel, added, &s->P, &least, e);
}

static void fill_signs(const exact_steps *s, int64_t k, double *z)
{
    random_stream signs = {s->problem->seed, RANDOM_PROBES, (uint64_t)k};
    for (int64_t i = 0; i < s->n; i++) z[i] = random_bits(signs, (uint64_t)(i / 64)) >> (i % 64) & 1 ? 1 : -1;
}

/* B |h_i|^2, and H for the products. */
static void add_mean_variance(exact_steps *s)
{
    const basis *mean = s->problem->mean;
    basis_fill(mean, s->n, s->rows->X, s->rows->D, s->H, 1, s->n);
    for (int64_t k = 0; k < mean->p; k++)
        for (int64_t i = 0; i < s->n; i++) s->variance[i] += mean->B * s->H[i + k * s->n] * s->H[i + k * s->n];
}

/* W = (Ky + B H H') D. */
static anygp_status multiply(exact_steps *s, int64_t b, anygp_error *e)
{
    const basis *mean = s->problem->mean;
    int64_t n = s->n, p = mean->p;
    double *c = mem_doubles(p, b);
    if (!c) return fail_memory(e, "the directions", 8.0 * (double)(p * b));
    anygp_status status = s->K->ops->multiply(s->K, b, s->D, n, s->W, n, e);
    if (!ANYGP_FAILED(status) && p > 0) {
        la_gemm(LA_T, LA_N, p, b, n, 1, s->H, n, s->D, n, 0, c, p);
        la_gemm(LA_N, LA_N, n, b, p, mean->B, s->H, n, c, p, 1, s->W, n);
    }
    free(c);
    return status;
}

static anygp_status begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    exact_steps *s = state;
    int64_t n = s->n;
    TRY(prepare(s, h, jitter, e));
    memcpy(s->R, s->rows->y, (size_t)n * sizeof *s->R);
    for (int64_t k = 1; k < s->b; k++) fill_signs(s, k, s->R + k * n);
    kernel_diag(h->kernel, n, s->rows->X, s->rows->D, s->variance);
    add_mean_variance(s);
    memset(s->fitted, 0, (size_t)n * sizeof *s->fitted);
    s->m = 0, s->done = false, s->drawn = s->b;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- a step */

/* The residual of a further vector of signs. */
static anygp_status draw(exact_steps *s, double *z, anygp_error *e)
{
    int64_t n = s->n, m = s->m;
    double *c = mem_doubles(m, 1);
    if (!c) return fail_memory(e, "the directions", 8.0 * (double)m);
    fill_signs(s, s->drawn++, z);
    if (m > 0) la_gemv(LA_T, n, m, 1, s->S, n, z, 0, c);
    if (m > 0) la_gemv(LA_N, n, m, -1, s->T, n, c, 1, z);
    free(c);
    return ANYGP_OK;
}

/* D = R; where a system is solved, signs that are not take its place, so that variances go on falling.  That of y stays in R. */
static anygp_status find_residuals(exact_steps *s, int64_t b, anygp_error *e)
{
    static const double SOLVED = 1e-6;
    int64_t n = s->n;
    double of_y = la_norm(n, s->rows->y), of_signs = sqrt((double)n);
    for (int64_t k = 0; k < b; k++) {
        bool solved = la_norm(n, s->R + k * n) <= SOLVED * (k ? of_signs : of_y);
        if (solved && k > 0) TRY(draw(s, s->R + k * n, e));
        memcpy(s->D + k * n, s->R + k * n, (size_t)n * sizeof *s->D);
        if (solved && k == 0) TRY(draw(s, s->D, e));
    }
    return ANYGP_OK;
}

/* D = P^-1 R, conjugate to S, each of length 1; twice, since once leaves rounding errors of the size of what is taken off. */
static anygp_status find_directions(exact_steps *s, int64_t b, anygp_error *e)
{
    int64_t n = s->n, m = s->m;
    double *c = mem_doubles(m, b);
    if (!c) return fail_memory(e, "the directions", 8.0 * (double)(m * b));
    anygp_status status = find_residuals(s, b, e);
    if (!ANYGP_FAILED(status) && s->P) status = s->P->ops->solve(s->P, b, s->D, n, e);
    for (int pass = 0; pass < 2 && m > 0 && !ANYGP_FAILED(status); pass++) {
        la_gemm(LA_T, LA_N, m, b, n, 1, s->T, n, s->D, n, 0, c, m);
        la_gemm(LA_N, LA_N, n, b, m, -1, s->S, n, c, m, 1, s->D, n);
    }
    for (int64_t k = 0; k < b; k++) {
        double norm = la_norm(n, s->D + k * n);
        if (norm > 0) la_scale(n, 1 / norm, s->D + k * n);
    }
    free(c);
    return status;
}

/* S and T get what is independent among D, whose products are W: D'W = Q diag(l) Q', s = D q / sqrt(l). */
static anygp_status take_directions(exact_steps *s, int64_t b, int64_t *taken, anygp_error *e)
{
    static const double LEAST = 1e-10; /* of the largest l: less is lost in rounding */
    int64_t n = s->n, m = s->m;
    double *G = mem_doubles(b, b), *l = mem_doubles(b, 1), *work = mem_alloc(la_eigh_work(b), sizeof *work);
    anygp_status status = G && l && work ? ANYGP_OK : fail_memory(e, "the directions", 8.0 * (double)(b * b));
    *taken = 0;
    if (status == ANYGP_OK) {
        la_gemm_lower(LA_T, LA_N, b, n, 1, s->D, n, s->W, n, 0, G, b);
        if (la_eigh(b, G, b, l, work) != 0 || !isfinite(l[b - 1]))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the directions have no products");
    }
    for (int64_t k = b - 1; status == ANYGP_OK && k >= 0 && m + *taken < s->most; k--) {
        if (!(l[k] > LEAST * l[b - 1]) || !(l[k] > 0)) break;
        double scale = 1 / sqrt(l[k]), *to = s->S + (m + *taken) * n, *image = s->T + (m + *taken) * n;
        la_gemv(LA_N, n, b, scale, s->D, n, G + k * b, 0, to);
        la_gemv(LA_N, n, b, scale, s->W, n, G + k * b, 0, image);
        ++*taken;
    }
    free(G);
    free(l);
    free(work);
    return status;
}

/* Residuals, means, variances and Sigma with the last `taken` directions. */
static anygp_status absorb(exact_steps *s, int64_t taken, anygp_error *e)
{
    int64_t n = s->n, m = s->m, now = m + taken, most = s->most;
    double *S = s->S + m * n, *T = s->T + m * n, *c = mem_doubles(taken, s->b), *NS = mem_doubles(n, taken);
    if (!c || !NS) return free(c), free(NS), fail_memory(e, "the directions", 8.0 * (double)(n * taken));
    /* w = S'y = S'r, since the earlier part of y is conjugate to the new directions */
    la_gemm(LA_T, LA_N, taken, s->b, n, 1, S, n, s->R, n, 0, c, taken);
    memcpy(s->w + m, c, (size_t)taken * sizeof *c);
    la_gemm(LA_N, LA_N, n, s->b, taken, -1, T, n, c, taken, 1, s->R, n);
    for (int64_t k = 0; k < taken; k++)
        for (int64_t i = 0; i < n; i++) {
            double ns = NS[i + k * n] = s->noise[i] * S[i + k * n], image = T[i + k * n] - ns;
            s->fitted[i] += image * c[k], s->variance[i] -= image * image;
        }
    la_gemm(LA_T, LA_N, taken, now, n, 1, NS, n, s->S, n, 0, s->Sigma + m, most); /* rows m .. now - 1 */
    s->m = now;
    free(c);
    free(NS);
    return ANYGP_OK;
}

/* The bound at the directions so far. */
static double bound_now(exact_steps *s, double noise)
{
    int64_t n = s->n, m = s->m, most = s->most;
    double expected = 0, kl = -(double)m + la_dot(m, s->w, s->w);
    for (int64_t i = 0; i < n; i++) {
        double e = s->rows->y[i] - s->fitted[i], N = s->noise[i];
        expected -= 0.5 * (LOG_2PI + log(N) + (e * e + fmax(s->variance[i], 0)) / N);
    }
    for (int64_t j = 0; j < m; j++) {
        memcpy(s->F + j + j * most, s->Sigma + j + j * most, (size_t)(m - j) * sizeof *s->F);
        kl += s->Sigma[j + j * most] - s->w[j] * s->w[j] * s->Sigma[j + j * most];
        for (int64_t i = j + 1; i < m; i++) kl -= 2 * s->w[i] * s->w[j] * s->Sigma[i + j * most];
    }
    if (m > 0 && !la_factor(m, s->F, most)) return NAN;
    kl -= m > 0 ? la_logdet(m, s->F, most) : 0;
    return expected - 0.5 * kl + exact_repeated_terms(s->rows, noise);
}

static anygp_status step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    exact_steps *s = state;
    int64_t taken = 0, b = s->most - s->m < s->b ? s->most - s->m : s->b;
    (void)c;
    if (b == 0) s->done = true;
    if (!s->done) {
        TRY(find_directions(s, b, e));
        TRY(multiply(s, b, e));
        TRY(take_directions(s, b, &taken, e));
        if (taken > 0) TRY(absorb(s, taken, e));
        s->done = taken == 0;
    }
    *value = bound_now(s, h->like[0]);
    return isfinite(*value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not finite");
}

static anygp_status bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    (void)e;
    *value = bound_now(state, h->like[0]);
    return ANYGP_OK;
}

static anygp_status posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    const exact_steps *s = state;
    *jitter = s->jitter;
    return steps_posterior_new(s, h, out, e);
}

/* ----------------------------------------------------------------------------------- checkpoints */

static anygp_status save(void *state, checkpoint *to, anygp_error *e)
{
    const exact_steps *s = state;
    int64_t n = s->n;
    (void)e;
    checkpoint_put_integer(to, "directions", s->m);
    checkpoint_put_integer(to, "ended", s->done);
    checkpoint_put_integer(to, "drawn", s->drawn);
    checkpoint_put_number(to, "model_jitter", s->jitter);
    checkpoint_put_text(to, "precond", s->precond->name);
    checkpoint_put(to, "kernel", kernel_count(s->k), kernel_values(s->k));
    checkpoint_put_number(to, "noise", s->s2);
    checkpoint_put(to, "S", n * s->m, s->S);
    checkpoint_put(to, "T", n * s->m, s->T);
    checkpoint_put(to, "R", n * s->b, s->R);
    checkpoint_put(to, "w", s->m, s->w);
    checkpoint_put(to, "Sigma", s->most * s->m, s->Sigma);
    checkpoint_put(to, "variance", n, s->variance);
    checkpoint_put(to, "fitted", n, s->fitted);
    return ANYGP_OK;
}

/* The start that begin() found is another one: preconditioner and matrix are those of the hyperparameters of the checkpoint. */
static bool restore_values(exact_steps *s, hyper *h, const checkpoint *from)
{
    const char *name = checkpoint_text(from, "precond");
    const precond_ops *ops = name ? precond_find(name) : NULL;
    double jitter, noise;
    if (!ops || !checkpoint_get_finite(from, "kernel", kernel_count(h->kernel), kernel_values(h->kernel)) ||
        !checkpoint_get_finite(from, "noise", 1, &noise) || !checkpoint_get_jitter(from, "model_jitter", &jitter))
        return false;
    h->like[0] = noise;
    if (s->precond->clear) s->precond->clear(s->plan);
    s->precond = ops, s->plan = NULL;
    return hyper_is_sound(h) && !ANYGP_FAILED(prepare(s, h, jitter, NULL));
}

static bool restore(void *state, hyper *h, const checkpoint *from)
{
    exact_steps *s = state;
    int64_t n = s->n, m = 0, ended = 0;
    bool ok = restore_values(s, h, from) && checkpoint_get_counter(from, "directions", 0, &m) && m <= s->most &&
              checkpoint_get_integer(from, "ended", &ended) && checkpoint_get_counter(from, "drawn", 0, &s->drawn) &&
              checkpoint_get_finite(from, "S", n * m, s->S) && checkpoint_get_finite(from, "T", n * m, s->T) &&
              checkpoint_get_finite(from, "R", n * s->b, s->R) && checkpoint_get_finite(from, "w", m, s->w) &&
              checkpoint_get_finite(from, "Sigma", s->most * m, s->Sigma) &&
              checkpoint_get_finite(from, "variance", n, s->variance) &&
              checkpoint_get_finite(from, "fitted", n, s->fitted);
    s->m = ok ? m : 0, s->done = ended != 0;
    return ok;
}

/* ------------------------------------------------------------------------------------- the table */

static int64_t one_block(const void *state)
{
    (void)state;
    return 1;
}

static const step_ops exact_step_ops = {.blocks = one_block,
                                        .begin = begin,
                                        .step = step,
                                        .bound = bound,
                                        .posteriors = posteriors,
                                        .save = save,
                                        .restore = restore};

static model_cost cost(const model_ops *self, const cost_facts *f, const cost_size *size)
{
    static const double SHARE = 0.5;
    double n = f->distinct, p = (double)f->basis, most = fmin(n, STEP_MOST);
    (void)self, (void)size;
    return (model_cost){
        .rows = cost_of_work(f, SHARE, 2 * n * n * STEP_DIRECTIONS + 8 * n * most * STEP_DIRECTIONS, n * n / 2),
        .bytes = 8 * (n * (3 * most + 1024 + 6 * STEP_DIRECTIONS + 2 * p) + p * p),
        .kept = 4 * n};
}

static int64_t size(const problem *p) { return p->rows->n; }
static double rows(const void *state) { return ((const exact_steps *)state)->rows->total; }

const model_ops model_exact_steps = {
    .name = "exact",
    .summary = "exact Gaussian process",
    .objective = "lower bound on the log evidence",
    .needs = {.rows = ROWS_ALL,
              .mean = true,
              .weights = true,
              .joint = true,
              .iterative = true,
              .kept = true,
              .own_rate = true},
    .order = "n^2",
    .warm = 5000,
    .cost = cost,
    .size = size,
    .open = steps_open,
    .steps = &exact_step_ops,
    .rows = rows,
    .close = steps_close,
    .load = exact_load,
};
