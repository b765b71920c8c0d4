/* Gates by the density of the inputs (gate.h).
   value: log pi[K], then c[d, K], then a factor of each S_i, d x d.   stat and sums: N[K], sum w r z [d, K], sum w r z z' (d x d each,
   lower).  With a_i = N_i + KAPPA and nu = d + 2, whose prior mode of S_i is PSI I,
       pi_i = (N_i + 1) / (N + K),   c_i = sum w r z / a_i,   S_i = (sum w r z z' - a_i c_i c_i' + (nu + 1) PSI I) / (N_i + nu + 1). */
#include <math.h>
#include <string.h>

#include "base/constants.h"
#include "linalg/linalg.h"
#include "model/mixture/gate.h"

static const double KAPPA = 0.01, PSI = 0.1;

static int64_t size(const gate *g) { return g->K * (1 + g->d * (1 + g->d)); }
static int64_t work_of(const gate *g, int64_t n) { return n * g->d; }

static double *centre(const gate *g, int64_t k) { return g->value + g->K + k * g->d; }
static double *factor(const gate *g, int64_t k) { return g->value + g->K * (1 + g->d) + k * g->d * g->d; }

static double log_determinant(const gate *g, int64_t k)
{
    double sum = 0, *L = factor(g, k);
    for (int64_t j = 0; j < g->d; j++) sum += 2 * log(L[j + j * g->d]);
    return sum;
}

static void logs(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    int64_t d = g->d;
    for (int64_t k = 0; k < g->K; k++) {
        double first = g->value[k] - 0.5 * (log_determinant(g, k) + (double)d * LOG_2PI);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < d; j++) work[i * d + j] = Z[i * d + j] - centre(g, k)[j];
        if (d > 0) la_trsm(LA_LEFT, LA_N, d, n, 1, factor(g, k), d, work, d);
        for (int64_t i = 0; i < n; i++) out[i + k * n] = first - 0.5 * la_dot(d, work + i * d, work + i * d);
    }
}

static void add(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *at,
                double *work, double *stat)
{
    int64_t d = g->d, K = g->K;
    (void)w, (void)at;
    for (int64_t k = 0; k < K; k++) {
        const double *mine = wr + k * n;
        double *first = stat + K + k * d, *second = stat + K * (1 + d) + k * d * d;
        for (int64_t i = 0; i < n; i++) {
            stat[k] += mine[i];
            for (int64_t j = 0; j < d; j++)
                first[j] += mine[i] * Z[i * d + j], work[i * d + j] = mine[i] * Z[i * d + j];
        }
        if (d > 0) la_gemm_lower(LA_N, LA_T, d, n, 1, work, d, Z, d, 1, second, d);
    }
}

/* Expert k's density from the sums; one whose covariance has no factor, for rounding, stays as it is. */
static void take_density(gate *g, int64_t k)
{
    int64_t d = g->d, K = g->K;
    const double *first = g->sums + K + k * d, *second = g->sums + K * (1 + d) + k * d * d;
    double N = fmax(g->sums[k], 0), a = N + KAPPA, nu = (double)d + 2, *S = g->room, *c = S + d * d;
    if (d == 0) return;
    for (int64_t j = 0; j < d; j++) c[j] = first[j] / a;
    memset(S, 0, (size_t)(d * d) * sizeof *S);
    for (int64_t j = 0; j < d; j++)
        for (int64_t i = j; i < d; i++)
            S[i + j * d] = (second[i + j * d] - a * c[i] * c[j] + (i == j) * (nu + 1) * PSI) / (N + nu + 1);
    if (la_potrf(d, S, d) != 0) return;
    memcpy(factor(g, k), S, (size_t)(d * d) * sizeof *S);
    memcpy(centre(g, k), c, (size_t)d * sizeof *c);
}

static void take_sums(gate *g)
{
    double total = 0;
    for (int64_t k = 0; k < g->K; k++) total += fmax(g->sums[k], 0);
    for (int64_t k = 0; k < g->K; k++) {
        g->value[k] = log((fmax(g->sums[k], 0) + 1) / (total + (double)g->K));
        take_density(g, k);
    }
}

static void move(gate *g, const double *stat, double rho)
{
    for (int64_t k = 0; k < size(g); k++) g->sums[k] += rho * (stat[k] - g->sums[k]);
    take_sums(g);
}

/* sum of log pi_i - [(nu + 1) log|S_i| + KAPPA c'S_i^-1 c + (nu + 1) PSI tr S_i^-1] / 2 */
static double log_prior(const gate *g)
{
    int64_t d = g->d;
    double nu = (double)d + 2, sum = 0, *R = g->room, *c = R + d * d;
    for (int64_t k = 0; k < g->K; k++) {
        memcpy(c, centre(g, k), (size_t)d * sizeof *c);
        memset(R, 0, (size_t)(d * d) * sizeof *R);
        for (int64_t j = 0; j < d; j++) R[j + j * d] = 1;
        if (d > 0) la_trsm(LA_LEFT, LA_N, d, d, 1, factor(g, k), d, R, d);
        if (d > 0) la_trsv(LA_N, d, factor(g, k), d, c);
        sum += g->value[k] - 0.5 * ((nu + 1) * log_determinant(g, k) + KAPPA * la_dot(d, c, c) +
                                    (nu + 1) * PSI * la_dot(d * d, R, R));
    }
    return sum;
}

static void select(const gate *g, int64_t K, const int64_t *kept, double *value)
{
    int64_t d = g->d;
    for (int64_t k = 0; k < K; k++) {
        value[k] = g->value[kept[k]];
        memcpy(value + K + k * d, centre(g, kept[k]), (size_t)d * sizeof *value);
        memcpy(value + K * (1 + d) + k * d * d, factor(g, kept[k]), (size_t)(d * d) * sizeof *value);
    }
}

static void start(gate *g, int64_t n, const double *Z, const int64_t *cluster, double total)
{
    int64_t d = g->d, K = g->K;
    double each = total / (double)n;
    memset(g->sums, 0, (size_t)size(g) * sizeof *g->sums);
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < d; j++) factor(g, k)[j + j * d] = 1;
    for (int64_t r = 0; r < n; r++, Z += d) {
        int64_t k = cluster[r];
        double *first = g->sums + K + k * d, *second = g->sums + K * (1 + d) + k * d * d;
        g->sums[k] += each;
        for (int64_t j = 0; j < d; j++) {
            first[j] += each * Z[j];
            for (int64_t i = j; i < d; i++) second[i + j * d] += each * Z[i] * Z[j];
        }
    }
    take_sums(g);
}

/* value and sums have the same parts: N, then sum w r z and sum w r z z' of each. */
static void take_part(gate *g, int64_t from, int64_t to, double share)
{
    int64_t d = g->d, K = g->K, at[3] = {0, K, K * (1 + d)}, wide[3] = {1, d, d * d};
    for (int part = 0; part < 3; part++)
        for (int64_t i = 0; i < wide[part]; i++) {
            double *a = g->sums + at[part] + from * wide[part] + i, *b = g->sums + at[part] + to * wide[part] + i;
            *b += share * *a, *a -= share * *a;
        }
}

static void split(gate *g, int64_t from, int64_t to)
{
    take_part(g, to, from, 1);
    take_part(g, from, to, 0.5);
    take_sums(g);
}

static void merge(gate *g, int64_t from, int64_t into, double a, double b, double total)
{
    (void)a, (void)b, (void)total;
    take_part(g, from, into, 1);
    take_sums(g);
}

static bool is_sound(const gate *g)
{
    for (int64_t k = 0; k < g->K; k++) {
        if (!(g->value[k] <= 0)) return false;
        for (int64_t j = 0; j < g->d; j++)
            if (!(factor(g, k)[j + j * g->d] > 0)) return false;
    }
    return true;
}

const gate_ops gate_generative = {.size = size,
                                  .stat_size = size,
                                  .work = work_of,
                                  .logs = logs,
                                  .add = add,
                                  .move = move,
                                  .log_prior = log_prior,
                                  .select = select,
                                  .start = start,
                                  .is_sound = is_sound,
                                  .split = split,
                                  .merge = merge};
