/* Gates by Gaussian processes (gate.h; Tresp 2001): g = softmax of h_1(z), ..., h_K(z), GPs with one rbf kernel and a constant, sparse ones
   with M inducing inputs U among the rows:
       h_i(z) = theta_i'phi(z) + what U does not tell,   phi = (c, L^-1 k(U, z)),   LL' = k(U, U),   theta_i ~ N(0, I)
   q(theta_i) = N(mu_i, Sigma), of which only differences between experts matter.  The log of a sum of exponentials has a Hessian of at most
   (I - 11'/K) / 2 (Boehning 1992), so that
       E log g_i(z) >= log softmax_i(mu'phi) - (K - 1) v(z) / 4,   v = phi'Sigma phi + k(z, z) - |L^-1 k(U, z)|^2
   is what rows see, and the best q has Sigma = (sum w phi phi' / 2 + I)^-1 and mu by Newton's steps with the same matrix: the bound never
   falls.  Predictions take E g_i at about softmax_i(mu'phi / sqrt(1 + pi v / 8)) (MacKay 1992): far from all rows it is the experts' shares.
   The length-scale is the one with the best bound for the clusters of the start.
   value: mu[p, K] with sum 0, F[p, p] the factor of Sigma^-1, U[d, M], the length-scale.   stat, sums: as in gate_softmax.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/kmeans.h"
#include "linalg/linalg.h"
#include "model/mixture/gate_parts.h"

static const double VARIANCE = 9, JITTER = 1e-6, lengths[] = {1, 0.25, 0.5, 2, 4}; /* times sqrt d */
enum { START_STEPS = 10, START_ROWS = 1000 };

static int64_t size(const gate *g)
{
    int64_t p = gate_features(g);
    return p * (g->K + p) + g->d * g->M + 1;
}

static double *factor(const gate *g) { return g->value + gate_features(g) * g->K; }
static double *places(const gate *g) { return factor(g) + gate_features(g) * gate_features(g); }
static double *length(const gate *g) { return places(g) + g->d * g->M; }

static anygp_status no_memory(const gate *g, anygp_error *e)
{
    return fail_memory(e, "the gate", 8.0 * (double)(g->M * g->M));
}

static anygp_status make_kernel(gate *g, anygp_error *e)
{
    char text[80];
    kernel_input *in = mem_zeroed(g->d, sizeof *in);
    if (!in) return no_memory(g, e);
    for (int64_t j = 0; j < g->d; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    snprintf(text, sizeof text, "rbf(iso,variance=%.17g,lengthscale=%.17g)", VARIANCE, *length(g));
    anygp_status status = kernel_parse(text, in, g->d, g->d, &g->kernel, e);
    free(in);
    return status;
}

static anygp_status factor_kernel(gate *g, anygp_error *e)
{
    int64_t M = g->M;
    TRY(make_kernel(g, e));
    if (!(g->L = mem_doubles(M, M)) || !kernel_gram_sym(g->kernel, M, places(g), g->d, g->L, M)) return no_memory(g, e);
    for (int64_t j = 0; j < M; j++) g->L[j + j * M] += JITTER * VARIANCE;
    return la_potrf(M, g->L, M) == 0 ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the gate's kernel has no factor");
}

/* Kernel and L from the values; both or none. */
static anygp_status ready(gate *g, anygp_error *e)
{
    kernel_free(g->kernel), free(g->L), g->kernel = NULL, g->L = NULL;
    if (g->M == 0) return ANYGP_OK;
    anygp_status status = factor_kernel(g, e);
    if (ANYGP_FAILED(status)) kernel_free(g->kernel), free(g->L), g->kernel = NULL, g->L = NULL;
    return status;
}

/* phi[p, n]; without a kernel or memory for it, no numbers, which the pass reports. */
static void features(const gate *g, int64_t n, const double *Z, double *phi)
{
    int64_t p = gate_features(g), M = g->M;
    bool ok = M == 0 || (g->L && kernel_gram(g->kernel, M, places(g), g->d, n, Z, g->d, phi + 1, p));
    for (int64_t i = 0; i < n; i++) phi[i * p] = ok ? gate_constant(g) : NAN;
    if (ok && M > 0) la_trsm(LA_LEFT, LA_N, M, n, 1, g->L, M, phi + 1, p);
}

/* v of every row, from phi; room[p, n]. */
static void variances(const gate *g, int64_t n, const double *phi, double *room, double *v)
{
    int64_t p = gate_features(g);
    memcpy(room, phi, (size_t)(n * p) * sizeof *room);
    la_trsm(LA_LEFT, LA_N, p, n, 1, factor(g), p, room, p);
    for (int64_t i = 0; i < n; i++) {
        double told = la_dot(g->M, phi + i * p + 1, phi + i * p + 1);
        v[i] = la_dot(p, room + i * p, room + i * p) + (g->M > 0 ? fmax(VARIANCE - told, 0) : 0);
    }
}

/* Exponents out[n, K], and v[n] behind phi and its room in work. */
static double *exponents(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    int64_t p = gate_features(g);
    double *v = work + 2 * n * p;
    features(g, n, Z, work);
    la_gemm(LA_T, LA_N, n, g->K, p, 1, work, p, g->value, p, 0, out, n);
    variances(g, n, work, work + n * p, v);
    return v;
}

static void logs(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    const double *v = exponents(g, n, Z, work, out);
    softmax_logs(n, g->K, out);
    for (int64_t k = 0; k < g->K; k++)
        for (int64_t i = 0; i < n; i++) out[i + k * n] -= 0.25 * (double)(g->K - 1) * v[i];
}

static void predicted(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    const double *v = exponents(g, n, Z, work, out);
    for (int64_t k = 0; k < g->K; k++)
        for (int64_t i = 0; i < n; i++) out[i + k * n] /= sqrt(1 + acos(-1) * v[i] / 8);
}

/* The softmax of mu'phi is wanted, not its expectation. */
static void add(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *at,
                double *work, double *stat)
{
    int64_t p = gate_features(g), K = g->K;
    double *phi = work, *mean = work + n * (2 * p + K);
    la_gemm(LA_T, LA_N, n, K, p, 1, phi, p, g->value, p, 0, mean, n);
    softmax_logs(n, K, mean);
    (void)at;
    softmax_add(g, n, Z, w, wr, mean, work, stat);
}

static int64_t work_of(const gate *g, int64_t n) { return softmax_work(g, n) + n * g->K; }

static void move(gate *g, const double *stat, double rho)
{
    int64_t p = gate_features(g);
    double *B = g->room;
    softmax_move(g, stat, 1, rho);
    for (int64_t k = 0; k < p * p; k++) B[k] = 0.5 * g->sums[k];
    for (int64_t j = 0; j < p; j++) B[j + j * p] += 1;
    if (la_potrf(p, B, p) == 0) memcpy(factor(g), B, (size_t)(p * p) * sizeof *B);
}

/* - KL(q || N(0, I)) of the differences. */
static double log_prior(const gate *g)
{
    int64_t p = gate_features(g);
    double *R = g->room, log_determinant = 0;
    memset(R, 0, (size_t)(p * p) * sizeof *R);
    for (int64_t j = 0; j < p; j++) R[j + j * p] = 1, log_determinant -= 2 * log(factor(g)[j + j * p]);
    la_trsm(LA_LEFT, LA_N, p, p, 1, factor(g), p, R, p);
    return -0.5 * (la_dot(p * g->K, g->value, g->value) +
                   (double)(g->K - 1) * (la_dot(p * p, R, R) - (double)p - log_determinant));
}

/* Of some experts; the rest of the values is the same for all. */
static void select(const gate *g, int64_t K, const int64_t *kept, double *value)
{
    int64_t p = gate_features(g);
    softmax_select(g, K, kept, value);
    memcpy(value + p * K, factor(g), (size_t)(size(g) - p * g->K) * sizeof *value);
}

/* ------------------------------------------------------------------------------------------- the start */

/* Places by k-means; where the rows have fewer different ones, some come again, which costs time and nothing else. */
static anygp_status place(gate *g, int64_t n, const double *Z, uint64_t seed, anygp_error *e)
{
    int64_t d = g->d, found = 0;
    TRY(kmeans(n, d, Z, d, g->M, &(kmeans_options){.seed = seed}, places(g), &found, NULL, e));
    for (int64_t i = found; i < g->M; i++) memcpy(places(g) + i * d, places(g) + i % found * d, (size_t)d * sizeof *Z);
    return ANYGP_OK;
}

static void forget(gate *g)
{
    int64_t p = gate_features(g);
    memset(g->value, 0, (size_t)(p * (g->K + p)) * sizeof *g->value);
    memset(g->sums, 0, (size_t)softmax_stat_size(g) * sizeof *g->sums);
    for (int64_t j = 0; j < p; j++) factor(g)[j + j * p] = 1;
    g->seen = 0;
}

/* Steps for the clusters of n rows, each of weight w; the bound that they lead to. */
static double learn(gate *g, int64_t n, const double *Z, double w, const double *wr, double *work, double *stat)
{
    double *at = work + work_of(g, n), *weights = at + n * g->K, sum;
    for (int64_t i = 0; i < n; i++) weights[i] = w;
    for (int t = 0;; t++) {
        logs(g, n, Z, work, at);
        sum = log_prior(g) + la_dot(n * g->K, wr, at);
        if (t == START_STEPS) return sum;
        memset(stat, 0, (size_t)softmax_stat_size(g) * sizeof *stat);
        add(g, n, Z, weights, wr, at, work, stat);
        move(g, stat, 1);
        g->seen++;
    }
}

/* The best of some length-scales, on at most START_ROWS of the rows, at equal distances.  Without memory the gate is not ready, which
   gate_ready() says. */
static void start(gate *g, int64_t n, const double *Z, const int64_t *cluster, double total)
{
    int64_t d = g->d, K = g->K, few = n < START_ROWS ? n : START_ROWS, best = -1;
    int64_t room = work_of(g, few) + few * (d + 2 * K + 1) + softmax_stat_size(g);
    double most = -INFINITY, *work = mem_alloc(room, sizeof *work), each = total / (double)few;
    anygp_error unused;
    if (!work) return;
    double *some = work + room - few * (d + K), *wr = some + few * d, *stat = some - softmax_stat_size(g);
    memset(wr, 0, (size_t)(few * K) * sizeof *wr);
    for (int64_t i = 0; i < few; i++) {
        int64_t row = i * n / few;
        memcpy(some + i * d, Z + row * d, (size_t)d * sizeof *some);
        wr[i + cluster[row] * few] = each;
    }
    int64_t choices = g->M > 0 ? (int64_t)(sizeof lengths / sizeof *lengths) : 1;
    for (int64_t i = 0; i <= choices; i++) {
        int64_t at = i < choices ? i : best < 0 ? 0 : best; /* the last time: the best once more */
        *length(g) = lengths[at] * sqrt((double)(d > 0 ? d : 1));
        if (ANYGP_FAILED(ready(g, &unused))) continue;
        forget(g);
        double value = learn(g, few, some, each, wr, work, stat);
        if (i < choices && value > most) most = value, best = at;
    }
    free(work);
}

static bool is_sound(const gate *g)
{
    int64_t p = gate_features(g);
    for (int64_t j = 0; j < p; j++)
        if (!(factor(g)[j + j * p] > 0)) return false;
    return *length(g) > 0;
}

const gate_ops gate_gp = {.size = size,
                          .stat_size = softmax_stat_size,
                          .work = work_of,
                          .logs = logs,
                          .add = add,
                          .move = move,
                          .log_prior = log_prior,
                          .select = select,
                          .start = start,
                          .is_sound = is_sound,
                          .split = softmax_split,
                          .merge = softmax_merge,
                          .predicted = predicted,
                          .ready = ready,
                          .place = place};
