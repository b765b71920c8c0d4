/* Gates by a softmax over (1, z) or (1, z, z^2 - 1) (gate.h).
   value: theta[p, K], which adds up to 0 over the experts.   stat: sum w phi phi' (p x p, lower), sum w (r - g) phi (p x K).
   sums: the running mean of the former. */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/mixture/gate_parts.h"

static const double RIDGE = 0.01; /* prior precision of theta */
static const double NARROWEST = 1e-3;

static int64_t size(const gate *g) { return gate_features(g) * g->K; }
int64_t softmax_stat_size(const gate *g) { return gate_features(g) * (gate_features(g) + g->K); }
/* phi, and w phi or w (r - g). */
int64_t softmax_work(const gate *g, int64_t n) { return n * (2 * gate_features(g) + g->K); }

void softmax_logs(int64_t n, int64_t K, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < K; k++) most = fmax(most, out[i + k * n]);
        for (int64_t k = 0; k < K; k++) sum += exp(out[i + k * n] - most);
        for (int64_t k = 0; k < K; k++) out[i + k * n] -= most + log(sum);
    }
}

static void features(const gate *g, int64_t n, const double *Z, double *phi)
{
    int64_t d = g->d;
    for (int64_t i = 0; i < n; i++, Z += d) {
        *phi++ = 1;
        for (int64_t j = 0; j < d; j++) *phi++ = Z[j];
        for (int64_t j = 0; j < d && g->kind == GATE_SQUARE; j++) *phi++ = Z[j] * Z[j] - 1;
    }
}

static void logs(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    int64_t p = gate_features(g), K = g->K;
    features(g, n, Z, work);
    la_gemm(LA_T, LA_N, n, K, p, 1, work, p, g->value, p, 0, out, n);
    softmax_logs(n, K, out);
}

void softmax_add(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *at,
                 double *work, double *stat)
{
    int64_t p = gate_features(g), K = g->K;
    double *phi = work, *weighted = phi + n * p, *left = weighted + n * p;
    (void)Z;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p; j++) weighted[i * p + j] = w[i] * phi[i * p + j];
    la_gemm_lower(LA_N, LA_T, p, n, 1, phi, p, weighted, p, 1, stat, p);
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < n; i++) left[i + k * n] = wr[i + k * n] - w[i] * exp(at[i + k * n]);
    la_gemm(LA_N, LA_N, p, K, n, 1, phi, p, left, n, 1, stat + p * p, p);
}

void softmax_move(gate *g, const double *stat, double ridge, double rho)
{
    int64_t p = gate_features(g), K = g->K;
    double *B = g->room, *step = B + p * p;
    for (int64_t k = 0; k < p * p; k++) g->sums[k] += (stat[k] - g->sums[k]) / (double)(g->seen + 1);
    for (int64_t k = 0; k < p * p; k++) B[k] = 0.5 * g->sums[k];
    for (int64_t j = 0; j < p; j++) B[j + j * p] += ridge;
    if (la_potrf(p, B, p) != 0) return;
    for (int64_t k = 0; k < p * K; k++) step[k] = stat[p * p + k] - ridge * g->value[k];
    la_trsm(LA_LEFT, LA_N, p, K, 1, B, p, step, p);
    la_trsm(LA_LEFT, LA_T, p, K, 1, B, p, step, p);
    for (int64_t k = 0; k < p * K; k++) g->value[k] += rho * step[k];
}

static void move(gate *g, const double *stat, double rho) { softmax_move(g, stat, RIDGE, rho); }

static double log_prior(const gate *g) { return -0.5 * RIDGE * la_dot(size(g), g->value, g->value); }

void softmax_select(const gate *g, int64_t K, const int64_t *kept, double *value)
{
    int64_t p = gate_features(g);
    for (int64_t k = 0; k < K; k++) memcpy(value + k * p, g->value + kept[k] * p, (size_t)p * sizeof *value);
}

void softmax_centre(gate *g)
{
    int64_t p = gate_features(g), K = g->K;
    for (int64_t j = 0; j < p; j++) {
        double mean = 0;
        for (int64_t k = 0; k < K; k++) mean += g->value[j + k * p] / (double)K;
        for (int64_t k = 0; k < K; k++) g->value[j + k * p] -= mean;
    }
}

/* Clusters as Gaussians of one width: theta_i'phi = log share_i - |z - c_i|^2 / 2 v, up to what they have in common. */
static void start(gate *g, int64_t n, const double *Z, const int64_t *cluster, double total)
{
    int64_t p = gate_features(g), d = g->d, K = g->K;
    double within = 0;
    (void)total;
    memset(g->value, 0, (size_t)size(g) * sizeof *g->value);
    for (int64_t i = 0; i < n; i++) {
        double *at = g->value + cluster[i] * p;
        at[0]++;
        for (int64_t j = 0; j < d; j++) at[1 + j] += Z[i * d + j];
    }
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < d; j++) g->value[1 + j + k * p] /= fmax(g->value[k * p], 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) within += pow(Z[i * d + j] - g->value[1 + j + cluster[i] * p], 2);
    double v = d > 0 ? fmax(within / (double)(n * d), NARROWEST) : 1;
    for (int64_t k = 0; k < K; k++) {
        double *at = g->value + k * p;
        at[0] = log(fmax(at[0], 0.5) / (double)n) - la_dot(d, at + 1, at + 1) / (2 * v);
        for (int64_t j = 0; j < d; j++) at[1 + j] /= v;
    }
    softmax_centre(g);
}

void softmax_split(gate *g, int64_t from, int64_t to)
{
    int64_t p = gate_features(g);
    memcpy(g->value + to * p, g->value + from * p, (size_t)p * sizeof *g->value);
    g->value[from * p] -= log(2) / gate_constant(g), g->value[to * p] -= log(2) / gate_constant(g);
    softmax_centre(g);
}

/* log(exp A + exp B) >= (a A + b B) / (a + b) + the entropy of the two shares; what is left of the other is less than a row. */
void softmax_merge(gate *g, int64_t from, int64_t into, double a, double b, double total)
{
    int64_t p = gate_features(g);
    double share = fmin(fmax(a / (a + b), 1e-9), 1 - 1e-9), *A = g->value + from * p, *B = g->value + into * p;
    for (int64_t j = 0; j < p; j++) A[j] = B[j] = share * A[j] + (1 - share) * B[j];
    B[0] -= (share * log(share) + (1 - share) * log(1 - share)) / gate_constant(g);
    A[0] = B[0] - log(10 * fmax(total, 1)) / gate_constant(g);
    softmax_centre(g);
}

static bool is_sound(const gate *g) { return g->value != NULL; }

const gate_ops gate_softmax = {.size = size,
                               .stat_size = softmax_stat_size,
                               .work = softmax_work,
                               .logs = logs,
                               .add = softmax_add,
                               .move = move,
                               .log_prior = log_prior,
                               .select = softmax_select,
                               .start = start,
                               .is_sound = is_sound,
                               .split = softmax_split,
                               .merge = softmax_merge};
