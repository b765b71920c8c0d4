#include "model/exact/near_gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel_operator.h"
#include "linalg/linalg.h"
#include "model/exact/iterative_parts.h"
#include "model/local/vecchia_posterior.h"

enum {
    SOLVED_MOST = 64,
    SOLVED_LEAST = 16,
    SOLVED_ROWS = 10000
}; /* as many as there are below so many rows, then fewer */

double gained_variance(const variance_gain *g, double prior, double v)
{
    if (!(g->factor > 1) || !(v > 0) || !(v < prior)) return v;
    return 1 / (1 / prior + g->factor * (1 / v - 1 / prior));
}

/* Rows that are solved for, and what is known of each. */
typedef struct solved {
    exact_iterative *s;
    int64_t count;
    int64_t *row;
    double *noise, *near, *exact, *prior; /* count: N_ii, v, w, k** */
} solved;

static void solved_clear(solved *q)
{
    free(q->row);
    free(q->noise);
}

/* Once four iterations change w by little; where w is hardly there beside the noise, by little of the latter. */
static bool known(void *ctx, const cg *c, int64_t k)
{
    enum { ITERATIONS = 4 };
    static const double CHANGE = 0.02, LEAST = 1e-3;
    const solved *q = ctx;
    double Q = c->X[q->row[k] + k * c->n], left = 1 - q->noise[k] * Q;
    return cg_progress(c, k, ITERATIONS) <= CHANGE * fmax(left, LEAST) * Q;
}

static bool no_time(void *ctx) { return iterative_enough(((const solved *)ctx)->s); }

static anygp_status choose(solved *q, const hyper *h, const posterior *made, anygp_error *e)
{
    const exact_iterative *s = q->s;
    int64_t n = s->n, D = s->rows->D;
    int64_t wanted = n <= SOLVED_ROWS ? SOLVED_MOST : SOLVED_MOST * SOLVED_ROWS / n;
    q->count = wanted < SOLVED_LEAST ? SOLVED_LEAST : wanted;
    if (q->count > n) q->count = n;
    q->row = mem_alloc(q->count, sizeof *q->row), q->noise = mem_alloc(4 * q->count, sizeof *q->noise);
    if (!q->row || !q->noise) return fail_memory(e, "the variances", 40.0 * (double)q->count);
    q->near = q->noise + q->count, q->exact = q->near + q->count, q->prior = q->exact + q->count;
    random_subset((random_stream){s->problem->seed, RANDOM_PROBES, UINT64_MAX - 1}, n, q->count, q->row);
    const double *added = kernel_operator_added(s->K);
    for (int64_t i = 0; i < q->count; i++) {
        q->noise[i] = added[q->row[i]] + kernel_white(h->kernel);
        kernel_diag(h->kernel, 1, s->rows->X + q->row[i] * D, D, &q->prior[i]);
    }
    return vecchia_variances_without(made, q->count, q->row, q->near, e);
}

/* w of all of them, with one product per iteration. */
static anygp_status solve(solved *q, anygp_error *e)
{
    exact_iterative *s = q->s;
    int64_t n = s->n;
    cg *c = NULL;
    double *B = mem_zeroed(n * q->count, sizeof *B);
    anygp_error before = s->failure;
    if (!B) return fail_memory(e, "the variances", 8.0 * (double)n * (double)q->count);
    anygp_status status = cg_new(s->K, s->P, q->count, ITERATIONS_MOST, &c, e);
    for (int64_t i = 0; i < q->count; i++) B[q->row[i] + i * n] = 1;
    if (!ANYGP_FAILED(status)) status = cg_begin(c, B, n, false, e);
    if (!ANYGP_FAILED(status)) status = cg_run(c, &(cg_options){ITERATIONS_MOST, no_time, known, q}, e);
    s->failure = before;
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < q->count; i++) {
        double Q = c->X[q->row[i] + i * n];
        for (int64_t k = 0; k < s->p; k++) Q -= s->W[q->row[i] + k * n] * s->W[q->row[i] + k * n];
        q->exact[i] = Q > 0 && !c->broken ? 1 / Q - q->noise[i] : -1;
    }
    cg_free(c);
    free(B);
    return status;
}

/* Whether row i says anything of the factor: w is more than the rounding of 1 / Q_ii - N_ii, and the nearest rows tell enough of f that
   1/v - 1/k** is more than rounding too. */
static bool has_factor(const solved *q, int64_t i)
{
    static const double LEAST = 1e-6; /* of the noise, and of the prior variance */
    double v = q->near[i], k = q->prior[i];
    return fmin(q->exact[i], v) > LEAST * q->noise[i] && v < (1 - LEAST) * k;
}

/* The geometric mean of the factors at the rows where there is one, and how well it does there. */
static variance_gain gain_of(const solved *q)
{
    variance_gain g = {.factor = 1};
    double sum = 0, square = 0;
    for (int64_t i = 0; i < q->count; i++) {
        double v = q->near[i], k = q->prior[i], w = fmin(q->exact[i], v);
        if (!has_factor(q, i)) continue;
        sum += log((1 / w - 1 / k) / (1 / v - 1 / k)), g.rows++;
    }
    if (g.rows == 0) return g;
    g.factor = exp(sum / g.rows);
    for (int64_t i = 0; i < q->count; i++) {
        double v = q->near[i], k = q->prior[i], w = fmin(q->exact[i], v);
        if (!has_factor(q, i)) continue;
        double off = log(gained_variance(&g, k, v) / w);
        square += off * off / g.rows;
    }
    g.spread = sqrt(square);
    return g;
}

anygp_status near_gain_find(exact_iterative *s, const hyper *h, const posterior *made, variance_gain *out,
                            anygp_error *e)
{
    solved q = {.s = s};
    *out = (variance_gain){.factor = 1};
    if (vecchia_near((const vecchia_posterior *)made) >= s->n) return ANYGP_OK; /* they are all rows */
    anygp_status status = choose(&q, h, made, e);
    if (!ANYGP_FAILED(status)) status = solve(&q, e);
    if (!ANYGP_FAILED(status)) *out = gain_of(&q);
    solved_clear(&q);
    return status;
}
