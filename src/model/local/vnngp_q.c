/* The q of a variational nearest-neighbour GP at the largest bound (vnngp.h). */
#include <math.h>
#include <string.h>

#include "base/constants.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/local/vnngp.h"

enum { CHUNK = 256, ROUNDS_MOST = 100, HALVES_MOST = 12, SOLVE_MOST = 1000, SETTLE = 10 };
static const double SOLVED = 1e-11, ARRIVED = 1e-13;

/* ------------------------------------------------------------------------------ products with P */

/* to = (I - B) x */
static void residuals(const vnngp *v, const double *x, double *to)
{
    int threads = threads_for(2.0 * (double)v->seen * (double)v->k);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < v->seen; i++) {
        const int32_t *near = vnngp_given(v, i);
        const double *b = v->b + i * v->k;
        to[i] = x[i];
        for (int64_t j = 0; j < v->near.count[i]; j++) to[i] -= b[j] * x[near[j]];
    }
}

/* x = (I - B)'x, from the first place on: each adds to earlier ones alone. */
static void spread_back(const vnngp *v, double *x)
{
    for (int64_t i = 0; i < v->seen; i++) {
        const int32_t *near = vnngp_given(v, i);
        const double *b = v->b + i * v->k;
        for (int64_t j = 0; j < v->near.count[i]; j++) x[near[j]] -= b[j] * x[i];
    }
}

/* to = P x */
static void multiply(const vnngp *v, const double *x, double *to)
{
    residuals(v, x, to);
    for (int64_t i = 0; i < v->seen; i++) to[i] /= v->d[i];
    spread_back(v, to);
}

/* x = P^-1 x = (I - B)^-1 D (I - B)^-T x */
static void solve_prior(const vnngp *v, double *x)
{
    for (int64_t i = v->seen - 1; i >= 0; i--) {
        const int32_t *near = vnngp_given(v, i);
        for (int64_t j = 0; j < v->near.count[i]; j++) x[near[j]] += v->b[i * v->k + j] * x[i];
    }
    for (int64_t i = 0; i < v->seen; i++) {
        const int32_t *near = vnngp_given(v, i);
        x[i] *= v->d[i];
        for (int64_t j = 0; j < v->near.count[i]; j++) x[i] += v->b[i * v->k + j] * x[near[j]];
    }
}

/* Where the data say less about a row than its neighbours do, the prior is the better guide, else the diagonal. */
static bool prior_guides(const vnngp *v, const double *lambda)
{
    double sum = 0;
    for (int64_t i = 0; i < v->seen; i++) sum += fmin(lambda[i] * v->d[i], 10);
    return sum < (double)v->seen;
}

/* x = (P + diag(lambda))^-1 x, by no more than this many steps of conjugate gradients; room: 4 n. */
static void solve(const vnngp *v, const double *lambda, int most, double *x, double *room)
{
    int64_t n = v->seen;
    double *r = room, *z = r + n, *p = z + n, *Ap = p + n, before = 0, first = 0;
    bool guided = prior_guides(v, lambda);
    memcpy(r, x, (size_t)n * sizeof *r);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int t = 0; t < most; t++) {
        memcpy(z, r, (size_t)n * sizeof *z);
        if (guided)
            solve_prior(v, z);
        else
            for (int64_t i = 0; i < n; i++) z[i] /= v->pi[i] + lambda[i];
        double rz = la_dot(n, r, z);
        if (t == 0) first = rz;
        if (!(rz > SOLVED * SOLVED * first)) return;
        for (int64_t i = 0; i < n; i++) p[i] = t ? z[i] + rz / before * p[i] : z[i];
        before = rz;
        multiply(v, p, Ap);
        for (int64_t i = 0; i < n; i++) Ap[i] += lambda[i] * p[i];
        double length = rz / la_dot(n, p, Ap);
        la_axpy(n, length, p, x);
        la_axpy(n, -length, Ap, r);
    }
}

/* ------------------------------------------------------------------------------------ the bound */

/* E log of the Gaussians that are known, over the places seen. */
static double known(const vnngp *v)
{
    double sum = 0;
    for (int64_t c = 0; c < v->C; c++)
        for (int64_t i = c * v->n; i < c * v->n + v->seen; i++)
            sum += v->known_site[i] * v->m[i] - 0.5 * v->known_weight[i] * (v->m[i] * v->m[i] + v->s[i]);
    return sum;
}

static void add_known(vnngp *v)
{
    for (int64_t i = 0; v->known_site && i < v->n * v->C; i++) {
        v->g[i] += v->known_site[i] - v->known_weight[i] * v->m[i];
        v->lambda[i] += v->known_weight[i];
    }
}

/* sum_i w_i E log p(y_i | u_i) at (m, s), and of what is known; with `slopes` also g = dE/dmu and lambda = -2 dE/dvar, at least 0, of places. */
static double expectations(vnngp *v, bool slopes)
{
    const dataset *d = &v->data;
    const likelihood *l = &v->like;
    int64_t N = v->N, C = v->C, Q = dataset_numbers(d), chunks = (N + CHUNK - 1) / CHUNK, size = N * C;
    double *mu = v->cells, *var = mu + size, *dmu = var + size, *dvar = dmu + size, value = 0;
    double *sum = dvar + size; /* chunks x (1 + params) */
    int threads = threads_for(100.0 * (double)N);
    memset(sum, 0, (size_t)(chunks * (1 + l->params)) * sizeof *sum);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < chunks; k++) {
        int64_t at = k * CHUNK, n = N - at < CHUNK ? N - at : CHUNK;
        for (int64_t c = 0; c < C; c++)
            for (int64_t i = at; i < at + n; i++)
                mu[i + c * N] = v->m[v->place[i] + c * v->n], var[i + c * N] = v->s[v->place[i] + c * v->n];
        sum[k * (1 + l->params)] = l->ops->expect(l, n, d->y + at * Q, d->w + at, mu + at, var + at, N,
                                                  (random_stream){v->problem->seed, RANDOM_LIKELIHOOD, 0}, at, dmu + at,
                                                  dvar + at, sum + k * (1 + l->params) + 1);
    }
    memset(v->like_bar, 0, (size_t)l->params * sizeof *v->like_bar);
    for (int64_t k = 0; k < chunks; k++) {
        value += sum[k * (1 + l->params)];
        for (int64_t i = 0; i < l->params; i++) v->like_bar[i] += sum[k * (1 + l->params) + 1 + i];
    }
    if (v->known_site) value += known(v);
    if (!slopes) return value;
    memset(v->g, 0, (size_t)(v->n * C) * sizeof *v->g);
    memset(v->lambda, 0, (size_t)(v->n * C) * sizeof *v->lambda);
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < N; i++) {
            v->g[v->place[i] + c * v->n] += dmu[i + c * N];
            v->lambda[v->place[i] + c * v->n] -= 2 * dvar[i + c * N];
        }
    for (int64_t i = 0; i < v->n * C; i++) v->lambda[i] = fmax(v->lambda[i], 0);
    add_known(v);
    return value;
}

double vnngp_divergence(const vnngp *v, int64_t c, int64_t i)
{
    const double *m = v->m + c * v->n, *s = v->s + c * v->n, *b = v->b + i * v->k;
    const int32_t *near = vnngp_given(v, i);
    double r = m[i];
    for (int64_t j = 0; j < v->near.count[i]; j++) r -= b[j] * m[near[j]];
    double t = s[i] + r * r;
    for (int64_t j = 0; j < v->near.count[i]; j++) t += pow(b[j], 2) * s[near[j]];
    return 0.5 * (log(v->d[i]) - log(s[i]) - 1 + t / v->d[i]);
}

/* sum_j KL_j */
static double divergence(const vnngp *v)
{
    double sum = 0;
    for (int64_t c = 0; c < v->C; c++)
        for (int64_t i = 0; i < v->seen; i++) sum += vnngp_divergence(v, c, i);
    return sum;
}

double vnngp_known_bound(const vnngp *v) { return known(v) - divergence(v); }

static void precision_diagonal(vnngp *v)
{
    for (int64_t i = 0; i < v->seen; i++) v->pi[i] = 1 / v->d[i];
    for (int64_t i = 0; i < v->seen; i++)
        for (int64_t j = 0; j < v->near.count[i]; j++)
            v->pi[vnngp_given(v, i)[j]] += pow(v->b[i * v->k + j], 2) / v->d[i];
}

/* ---------------------------------------------------------------------------------------- rounds */

/* Newton's step of m in v->step; returns its product with the slope: twice what it promises. */
static double newton_step(vnngp *v)
{
    double promise = 0;
    for (int64_t c = 0; c < v->C; c++) {
        double *step = v->step + c * v->n, *slope = v->g + c * v->n;
        multiply(v, v->m + c * v->n, step);
        for (int64_t i = 0; i < v->n; i++) slope[i] -= step[i], step[i] = slope[i];
        solve(v, v->lambda + c * v->n, SOLVE_MOST, step, v->other);
        promise += la_dot(v->n, slope, step);
    }
    return promise;
}

/* A share t of the way. */
static void go(vnngp *v, double t)
{
    for (int64_t i = 0; i < v->n * v->C; i++) {
        v->m[i] = v->before[i] + t * v->step[i];
        v->s[i] = 1 / ((1 - t) / v->slower[i] + t * (v->pi[i % v->n] + v->lambda[i]));
    }
}

/* From the bound at hand; false: no share of the step raises it. */
static bool move(vnngp *v, double from)
{
    size_t bytes = (size_t)(v->n * v->C) * sizeof(double);
    double t = 1;
    memcpy(v->before, v->m, bytes);
    memcpy(v->slower, v->s, bytes);
    for (int k = 0; k < HALVES_MOST; k++, t /= 2) {
        go(v, t);
        v->value = expectations(v, false) - divergence(v);
        if (v->value >= from) return true;
    }
    go(v, 0);
    v->value = expectations(v, false) - divergence(v);
    return false;
}

anygp_status vnngp_find_q(vnngp *v, bool from_q, anygp_error *e)
{
    precision_diagonal(v);
    if (!from_q) memset(v->m, 0, (size_t)(v->n * v->C) * sizeof *v->m);
    for (int64_t i = 0; !from_q && i < v->n * v->C; i++) v->s[i] = 1 / v->pi[i % v->n];
    for (int round = 0; round < ROUNDS_MOST; round++) {
        if (!v->to_end && deadline_passed(v->problem->pass)) return ANYGP_TIME_LIMIT;
        double from = expectations(v, true) - divergence(v);
        if (!isfinite(from)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
        double promise = newton_step(v), least = ARRIVED * (1 + fabs(from));
        bool moved = move(v, from);
        if (!moved || (v->value - from < least && !(promise > least))) break;
    }
    return isfinite(v->value) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}

void vnngp_begin_places(vnngp *v, int64_t from, int64_t count)
{
    for (int64_t at = from; at < from + count; at++) {
        const int32_t *near = vnngp_given(v, at);
        const double *b = v->b + at * v->k;
        for (int64_t c = 0; c < v->C; c++) {
            double *m = v->m + c * v->n, *s = v->s + c * v->n;
            m[at] = 0, s[at] = v->d[at];
            for (int64_t j = 0; j < v->near.count[at]; j++)
                m[at] += b[j] * m[near[j]], s[at] += b[j] * b[j] * s[near[j]];
        }
    }
}

void vnngp_sites_of_q(vnngp *v, double *site, double *weight)
{
    precision_diagonal(v);
    for (int64_t c = 0; c < v->C; c++) {
        const double *m = v->m + c * v->n, *s = v->s + c * v->n;
        double *to = site + c * v->n, *w = weight + c * v->n;
        multiply(v, m, to);
        for (int64_t i = 0; i < v->seen; i++) w[i] = fmax(1 / s[i] - v->pi[i], 0), to[i] += w[i] * m[i];
    }
}

void vnngp_settle(vnngp *v, const double *site)
{
    precision_diagonal(v);
    for (int64_t c = 0; c < v->C; c++) {
        const double *lambda = v->lambda + c * v->n, *wanted = site + c * v->n;
        double *m = v->m + c * v->n, *s = v->s + c * v->n, *step = v->step;
        multiply(v, m, step);
        for (int64_t i = 0; i < v->seen; i++) step[i] = wanted[i] - lambda[i] * m[i] - step[i];
        solve(v, lambda, SETTLE, step, v->other);
        for (int64_t i = 0; i < v->seen; i++) m[i] += step[i], s[i] = 1 / (v->pi[i] + lambda[i]);
    }
}
