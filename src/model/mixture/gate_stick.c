/* Gates by breaking a stick (gate.h): the first expert in the order takes the share v_1(x) of a row, the second the share v_2(x) of
   what is left, and so on:
       g_i(x) = v_i(x) prod over j before i of (1 - v_j(x)),   v_i(x) = sigma(theta_i'phi),   phi = (1, z)
       theta ~ N(0, P^-1),  P = diag(1 / CONSTANT^2, RIDGE, ..., RIDGE)
   With the constant alone this is about the stick of a Dirichlet process of concentration 1.  There is a q(theta_i) = N(mu_i, Q_i^-1),
   so that the objective has - KL(q || p) for each stick: one that no row comes to stays at its prior and costs nothing, and every
   expert that is in use has to earn what its stick costs.
   E log v under q has a lower bound that is quadratic in theta (Jaakkola and Jordan 2000), best at xi^2 = phi'(Q^-1 + mu mu')phi:
       E log v >= log sigma(xi) + (mu'phi - xi) / 2,    E log(1 - v) >= log sigma(xi) - (mu'phi + xi) / 2
   Rows that come to stick i have the weight s_ni = w_n (r_ni + sum over j after i of r_nj), and the best q is
       Q_i = P + sum_n 2 s_ni lambda(xi_ni) phi phi',   Q_i mu_i = sum_n (w_n r_ni - s_ni / 2) phi,   lambda = tanh(xi / 2) / (4 xi)
   A step of size rho goes that far in Q and Q mu, a natural step; one of size 1 over all rows never lowers the objective.
   Predictions take E v by its probit approximation; those of different sticks are independent.
   value: mu[p, K], factors of Q (p x p each), the expert of each place in the order [K].
   stat and sums: sum 2 s lambda phi phi' (p x p each, lower), sum (w r - s / 2) phi [p, K].
   Cost: 2 K p^2 per row, K p^3 / 3 per step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/mixture/gate.h"

enum { START_STEPS = 12, START_ROWS = 1000 };
static const double RIDGE = 0.01, CONSTANT = 1.8; /* the sd of log(v / (1 - v)) where v is uniform */

static int64_t size(const gate *g) { return g->K * (gate_features(g) * (gate_features(g) + 1) + 1); }
static int64_t stat_size(const gate *g) { return g->K * gate_features(g) * (gate_features(g) + 1); }
/* phi, room for p numbers per row, mu'phi and xi of each stick. */
static int64_t work_of(const gate *g, int64_t n) { return n * (2 * gate_features(g) + 2 * g->K); }

static double precision(int64_t j) { return j == 0 ? 1 / (CONSTANT * CONSTANT) : RIDGE; }
static double *mean(const gate *g, int64_t k) { return g->value + k * gate_features(g); }
static double *factor(const gate *g, int64_t k)
{
    int64_t p = gate_features(g);
    return g->value + p * g->K + k * p * p;
}
static double *order(const gate *g) { return g->value + g->K * gate_features(g) * (gate_features(g) + 1); }
static double *curvature(const gate *g, double *sums, int64_t k)
{
    return sums + k * gate_features(g) * gate_features(g);
}
static double *slope(const gate *g, double *sums, int64_t k)
{
    int64_t p = gate_features(g);
    return sums + g->K * p * p + k * p;
}

static double log_sigma(double t) { return t > 0 ? -log1p(exp(-t)) : t - log1p(exp(t)); }

/* ------------------------------------------------------------------------------------------- rows */

typedef struct pieces {
    double *phi, *room, *t, *xi; /* p x n twice, n x K twice */
} pieces;

static pieces place(const gate *g, int64_t n, double *work)
{
    int64_t p = gate_features(g);
    return (pieces){work, work + n * p, work + 2 * n * p, work + n * (2 * p + g->K)};
}

/* t = mu'phi, and in xi the variance phi'Q^-1 phi. */
static void moments(const gate *g, int64_t n, const double *Z, const pieces *w)
{
    int64_t p = gate_features(g), d = g->d;
    for (int64_t i = 0; i < n; i++) {
        w->phi[i * p] = 1;
        memcpy(w->phi + i * p + 1, Z + i * d, (size_t)d * sizeof *Z);
    }
    la_gemm(LA_T, LA_N, n, g->K, p, 1, w->phi, p, g->value, p, 0, w->t, n);
    for (int64_t k = 0; k < g->K; k++) {
        memcpy(w->room, w->phi, (size_t)(n * p) * sizeof *w->room);
        la_trsm(LA_LEFT, LA_N, p, n, 1, factor(g, k), p, w->room, p);
        for (int64_t i = 0; i < n; i++) w->xi[i + k * n] = la_dot(p, w->room + i * p, w->room + i * p);
    }
}

/* out[n, K] from log v and log(1 - v) of every stick, which `of` says. */
static void break_sticks(const gate *g, int64_t n, const pieces *w, void (*of)(double t, double xi, double *both),
                         double *out)
{
    for (int64_t i = 0; i < n; i++) {
        double left = 0, both[2];
        for (int64_t at = 0; at < g->K; at++) {
            int64_t k = (int64_t)order(g)[at];
            of(w->t[i + k * n], w->xi[i + k * n], both);
            out[i + k * n] = left + both[0];
            left += both[1];
        }
    }
}

static void bounds(double t, double xi, double *both)
{
    both[0] = log_sigma(xi) + 0.5 * (t - xi);
    both[1] = log_sigma(xi) - 0.5 * (t + xi);
}

static void logs(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    pieces w = place(g, n, work);
    moments(g, n, Z, &w);
    for (int64_t i = 0; i < n * g->K; i++) w.xi[i] = sqrt(w.xi[i] + w.t[i] * w.t[i]);
    break_sticks(g, n, &w, bounds, out);
}

static void expected(double t, double variance, double *both)
{
    double near = t / sqrt(1 + PI / 8 * variance);
    both[0] = log_sigma(near), both[1] = log_sigma(-near);
}

static void predicted(const gate *g, int64_t n, const double *Z, double *work, double *out)
{
    pieces w = place(g, n, work);
    moments(g, n, Z, &w);
    break_sticks(g, n, &w, expected, out);
}

/* ------------------------------------------------------------------------------------------ steps */

static double lambda(double xi) { return xi > 1e-4 ? tanh(0.5 * xi) / (4 * xi) : 0.125; }

static void add(const gate *g, int64_t n, const double *Z, const double *w, const double *wr, const double *at,
                double *work, double *stat)
{
    int64_t p = gate_features(g), K = g->K;
    pieces r = place(g, n, work);
    double *come = r.t; /* its first column, which nobody needs any more: what comes to a stick */
    (void)Z, (void)w, (void)at;
    memset(come, 0, (size_t)n * sizeof *come);
    for (int64_t place = K - 1; place >= 0; place--) {
        int64_t k = (int64_t)order(g)[place];
        const double *mine = wr + k * n;
        for (int64_t i = 0; i < n; i++) come[i] += mine[i];
        for (int64_t i = 0; i < n; i++) {
            double weight = 2 * come[i] * lambda(r.xi[i + k * n]), pull = mine[i] - 0.5 * come[i];
            for (int64_t j = 0; j < p; j++) r.room[i * p + j] = weight * r.phi[i * p + j];
            for (int64_t j = 0; j < p; j++) slope(g, stat, k)[j] += pull * r.phi[i * p + j];
        }
        la_gemm_lower(LA_N, LA_T, p, n, 1, r.phi, p, r.room, p, 1, curvature(g, stat, k), p);
    }
}

/* q of stick k from the sums; one whose precision has no factor, for rounding, stays as it is. */
static void take_sums(gate *g, int64_t k)
{
    int64_t p = gate_features(g);
    double *Q = g->room;
    memcpy(Q, curvature(g, g->sums, k), (size_t)(p * p) * sizeof *Q);
    for (int64_t j = 0; j < p; j++) Q[j + j * p] += precision(j);
    if (la_potrf(p, Q, p) != 0) return;
    memcpy(factor(g, k), Q, (size_t)(p * p) * sizeof *Q);
    memcpy(mean(g, k), slope(g, g->sums, k), (size_t)p * sizeof *Q);
    la_trsv(LA_N, p, Q, p, mean(g, k));
    la_trsv(LA_T, p, Q, p, mean(g, k));
}

static void move(gate *g, const double *stat, double rho)
{
    for (int64_t k = 0; k < stat_size(g); k++) g->sums[k] += rho * (stat[k] - g->sums[k]);
    for (int64_t k = 0; k < g->K; k++) take_sums(g, k);
}

/* - KL(N(mu, Q^-1) || N(0, P^-1)) of all sticks: of each
   [p - tr(P Q^-1) - mu'P mu + log|P| - log|Q|] / 2 */
static double log_prior(const gate *g)
{
    int64_t p = gate_features(g);
    double sum = 0, *R = g->room;
    for (int64_t k = 0; k < g->K; k++) {
        memset(R, 0, (size_t)(p * p) * sizeof *R);
        for (int64_t j = 0; j < p; j++) R[j + j * p] = sqrt(precision(j));
        la_trsm(LA_LEFT, LA_N, p, p, 1, factor(g, k), p, R, p);
        sum += 0.5 * ((double)p - la_dot(p * p, R, R));
        for (int64_t j = 0; j < p; j++)
            sum += 0.5 * log(precision(j)) - log(factor(g, k)[j + j * p]) -
                   0.5 * precision(j) * mean(g, k)[j] * mean(g, k)[j];
    }
    return sum;
}

/* ------------------------------------------------------------------------------- sticks in their order */

static int64_t place_of(const gate *g, int64_t k)
{
    int64_t at = 0;
    while (at < g->K - 1 && (int64_t)order(g)[at] != k) at++;
    return at;
}

/* To this place; those between move up or down. */
static void put(gate *g, int64_t k, int64_t to)
{
    double *o = order(g);
    int64_t at = place_of(g, k);
    for (; at < to; at++) o[at] = o[at + 1];
    for (; at > to; at--) o[at] = o[at - 1];
    o[to] = (double)k;
}

/* q as its prior. */
static void forget(gate *g, int64_t k)
{
    int64_t p = gate_features(g);
    memset(curvature(g, g->sums, k), 0, (size_t)(p * p) * sizeof *g->sums);
    memset(slope(g, g->sums, k), 0, (size_t)p * sizeof *g->sums);
    take_sums(g, k);
}

static void select(const gate *g, int64_t K, const int64_t *kept, double *value)
{
    int64_t p = gate_features(g), count = 0;
    for (int64_t k = 0; k < K; k++) {
        memcpy(value + k * p, mean(g, kept[k]), (size_t)p * sizeof *value);
        memcpy(value + K * p + k * p * p, factor(g, kept[k]), (size_t)(p * p) * sizeof *value);
    }
    for (int64_t at = 0; at < g->K; at++)
        for (int64_t k = 0; k < K; k++)
            if (kept[k] == (int64_t)order(g)[at]) value[K * p * (p + 1) + count++] = (double)k;
}

/* Right after `from`; both have rows to share. */
static void split(gate *g, int64_t from, int64_t to)
{
    put(g, to, g->K - 1);
    put(g, to, place_of(g, from) + 1);
    forget(g, to);
    mean(g, from)[0] -= log(2);
}

/* Its rows are the other one's by what move() was told; a stick that no row comes to is the last. */
static void merge(gate *g, int64_t from, int64_t into, double a, double b, double total)
{
    (void)into, (void)a, (void)b, (void)total;
    put(g, from, g->K - 1);
    forget(g, from);
}

static void swap(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double was = a[i];
        a[i] = b[i], b[i] = was;
    }
}

static void exchange(gate *g, int64_t a, int64_t b)
{
    int64_t p = gate_features(g);
    swap(mean(g, a), mean(g, b), p);
    swap(factor(g, a), factor(g, b), p * p);
    swap(curvature(g, g->sums, a), curvature(g, g->sums, b), p * p);
    swap(slope(g, g->sums, a), slope(g, g->sums, b), p);
    swap(order(g) + place_of(g, a), order(g) + place_of(g, b), 1);
}

/* ------------------------------------------------------------------------------------------ the start */

/* The largest cluster first. */
static void order_clusters(gate *g, int64_t n, const int64_t *cluster)
{
    double *rows = g->room; /* K of them: room has more */
    memset(rows, 0, (size_t)g->K * sizeof *rows);
    for (int64_t i = 0; i < n; i++) rows[cluster[i]]++;
    for (int64_t k = 0; k < g->K; k++) {
        int64_t before = 0;
        for (int64_t j = 0; j < g->K; j++) before += rows[j] > rows[k] || (rows[j] == rows[k] && j < k);
        order(g)[before] = (double)k;
    }
}

/* Steps for at most START_ROWS of the rows, at equal distances.  Without memory for them q stays the prior, from which the steps of the
   run lead there too. */
static void start(gate *g, int64_t n, const double *Z, const int64_t *cluster, double total)
{
    int64_t used = n < START_ROWS ? n : START_ROWS, K = g->K, d = g->d;
    order_clusters(g, n, cluster);
    for (int64_t k = 0; k < K; k++) forget(g, k);
    double *work = mem_zeroed(work_of(g, used) + used * (2 * K + d) + stat_size(g), sizeof *work);
    if (!work) return;
    double *at = work + work_of(g, used), *wr = at + used * K, *few = wr + used * K, *stat = few + used * d;
    for (int64_t i = 0; i < used; i++) {
        int64_t row = i * n / used;
        wr[i + cluster[row] * used] = total / (double)used;
        memcpy(few + i * d, Z + row * d, (size_t)d * sizeof *few);
    }
    for (int t = 0; t < START_STEPS; t++) {
        memset(stat, 0, (size_t)stat_size(g) * sizeof *stat);
        logs(g, used, few, work, at);
        add(g, used, few, NULL, wr, at, work, stat);
        move(g, stat, 1);
    }
    free(work);
}

static bool is_sound(const gate *g)
{
    int64_t p = gate_features(g);
    bool seen[64] = {false};
    for (int64_t at = 0; at < g->K; at++) {
        double k = order(g)[at];
        if (!(k >= 0 && k < (double)g->K && k == floor(k)) || k > 63 || seen[(int)k]) return false;
        seen[(int)k] = true;
    }
    for (int64_t k = 0; k < g->K; k++)
        for (int64_t j = 0; j < p; j++)
            if (!(factor(g, k)[j + j * p] > 0)) return false;
    return true;
}

const gate_ops gate_stick = {.size = size,
                             .stat_size = stat_size,
                             .work = work_of,
                             .logs = logs,
                             .add = add,
                             .move = move,
                             .log_prior = log_prior,
                             .select = select,
                             .start = start,
                             .is_sound = is_sound,
                             .split = split,
                             .merge = merge,
                             .exchange = exchange,
                             .predicted = predicted};
