/* mu by blocks of rows, for Gaussian noise, where a step has all basis functions.

   With S = I the optimum is mu = Phi'alpha with (K + s I) alpha = y, K = Phi Phi'.  A step takes the rows b of its sample and moves their
   coefficients while the others stay:
       r = y_b - f_b - s alpha_b      delta = (K_bb + (s + d) I)^-1 r      p = Phi_b'delta
       alpha_b += t delta             mu += t p                            t = delta'r / (|p|^2 + s |delta|^2)
   which with d = 0 and t = 1 is block coordinate ascent on the dual bound, also known as alternating projections: unlike gradients it is
   not held back by the largest eigenvalue of K, and its cost does not depend on n.  Phi_b Phi_b' would take b^2 m operations, so K_bb is
   that of the kernel itself; t is the exact maximum along delta under Phi Phi', so that the dual never falls however far the two are apart.
   Single waves of high frequency, such as Matern kernels have, can be where the kernel's matrix is small and hold t down: then the damping d
   grows, and it shrinks again where t comes near 1.  t is also made smaller along the run, from all of it to a twentieth: a block fits
   the noise of its own rows, which later steps then average.  A row of weight w has noise s / w.
   Kernels at all rows have S = K = Phi, and the optimum is mu = alpha: the same steps over rows of the basis, with d = 0 and t = 1.
   alpha, a number for each row, belongs to the basis functions that mu was made with.  Where the kernel has moved meanwhile, mu is
   made again from alpha once learning has ended: as many features as the steps before had, at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum { ROWS_MOST = 2048 }; /* of a block that is solved for */

bool qsgp_by_blocks(const qsgp_state *q)
{
    bool all = q->kind.rule == RULE_BLOCK && !q->kind.relevance && q->q.each == 1 && q->q.per == q->q.cells.count;
    return all && (cells_are_waves(q->q.cells.kind) || (q->q.Yz && q->q.K == 0));
}

/* Kernels at all rows: mu are the coefficients themselves. */
static double *coefficients(qsgp_state *q) { return q->alpha ? q->alpha : q->q.v; }

bool qsgp_block_fits(const qsgp_state *q) { return q->sample.n <= ROWS_MOST; }

static double *direction(const qsgp_state *q, int64_t c)
{
    return q->pass.R + (2 * q->q.V + c * (1 + q->q.K)) * q->sample.rows;
}

/* One target: delta in place of the sum of R_i and R_j. */
static anygp_status solve_gaussian(qsgp_state *q, int64_t c, const double *K, double *L, anygp_error *e)
{
    const qsgp_sample *s = &q->sample;
    int64_t n = s->n, k = c * (1 + q->q.K);
    double noise = qsgp_noise(&q->q, c), *r = direction(q, c);
    memcpy(L, K, (size_t)(n * n) * sizeof *L);
    for (int64_t i = 0; i < n; i++) {
        L[i + i * n] += noise / s->w[i] + q->damping[c];
        r[i] = s->y[i * s->Q + c] - q->pass.F[k * s->rows + i] -
               noise / s->w[i] * coefficients(q)[s->place[i] * q->q.C + c];
    }
    if (!la_factor(n, L, n))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the kernel's matrix at the rows of a step has no Cholesky factor");
    la_trsv(LA_N, n, L, n, r);
    q->gain[c] = la_dot(n, r, r);
    la_trsv(LA_T, n, L, n, r);
    return ANYGP_OK;
}

static anygp_status solve(qsgp_state *q, int64_t c, double *K, double *L, anygp_error *e)
{
    const qsgp_sample *s = &q->sample;
    int64_t n = s->n;
    double *delta = direction(q, c);
    if (q->q.gaussian) {
        TRY(solve_gaussian(q, c, K, L, e));
    } else {
        for (int64_t i = 0; i < n; i++) K[i + i * n] += q->damping[c];
        TRY(qsgp_newton_solve(&q->pass, c, coefficients(q), K, L, L + n * n, delta, &q->gain[c], e));
        for (int64_t i = 0; i < n; i++) K[i + i * n] -= q->damping[c];
    }
    for (int64_t i = 0; !q->alpha && i < n; i++) q->q.v[s->place[i]] += q->relax * delta[i];
    return ANYGP_OK;
}

/* More damping where a step had to be shortened, less where it had not. */
static void adapt(qsgp_state *q, int64_t c, double t)
{
    static const double SHORT = 0.4, WHOLE = 0.7, GROW = 2, SHRINK = 0.7, FIRST = 0.1;
    double noise = qsgp_noise(&q->q, c), *d = &q->damping[c];
    if (t < SHORT) *d = fmax(GROW * *d, FIRST * noise);
    if (t > WHOLE) *d = *d < FIRST * noise ? 0 : SHRINK * *d;
}

void qsgp_block_finish(qsgp_state *q)
{
    qsgp *m = &q->q;
    const qsgp_sample *s = &q->sample;
    for (int64_t c = 0; c < m->C; c++) {
        const double *delta = direction(q, c);
        double below = 0, noise = qsgp_noise(m, c);
        for (int64_t j = 0; j < m->cells.m; j++) below += q->step[j * m->C + c] * q->step[j * m->C + c];
        for (int64_t i = 0; m->gaussian && i < s->n; i++) below += noise / s->w[i] * delta[i] * delta[i];
        if (!(below > 0)) continue;
        double t = q->gain[c] / below;
        if (!m->gaussian) t = fmin(fmax(t, 0), 1);
        double times = q->relax * t;
        for (int64_t j = 0; j < m->cells.m; j++) m->v[j * m->V + c * (1 + m->K)] += times * q->step[j * m->C + c];
        for (int64_t i = 0; i < s->n; i++) {
            q->alpha[s->place[i] * m->C + c] += times * delta[i];
            changes_mark(&q->blocks, s->place[i] / q->problem->blocks->largest);
        }
        adapt(q, c, t);
    }
}

/* -mu'S mu / 2 of kernels, S mu = f, from the places of the sample. */
static double prior_of_places(const qsgp_state *q)
{
    const qsgp_sample *s = &q->sample;
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) sum += q->q.v[s->place[i]] * q->pass.F[i];
    return -0.5 * sum * (double)q->q.cells.m / (double)s->n;
}

static anygp_status make_room(qsgp_state *q, anygp_error *e)
{
    int64_t n = q->sample.n, size = 2 * n * n + qsgp_newton_doubles(n);
    if (size <= q->block_room) return ANYGP_OK;
    free(q->block);
    q->block = mem_alloc(size, sizeof *q->block);
    q->block_room = q->block ? size : 0;
    return q->block ? ANYGP_OK : fail_memory(e, "the rows of a step", 8.0 * (double)size);
}

anygp_status qsgp_block_turn(qsgp_pass *p, void *ctx, anygp_error *e)
{
    qsgp_state *q = *(qsgp_state **)ctx; /* what moves is told begins with it */
    const qsgp_sample *s = p->s;
    TRY(make_room(q, e));
    double *L = q->block + s->n * s->n;
    if (!kernel_gram(p->now.kernel, s->n, s->X, q->q.cells.D, s->n, s->X, q->q.cells.D, q->block, s->n))
        return fail_memory(e, "kernel tiles", 0);
    if (!q->alpha) p->value += prior_of_places(q);
    for (int64_t c = 0; c < q->q.C; c++) TRY(solve(q, c, q->block, L, e));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ mu from alpha */

static void add(qsgp *q, const qsgp_pass *p, int64_t slot, const double *G, void *ctx)
{
    int64_t first = cell_first(&q->cells, p->s->cell[slot]), size = cell_size(&q->cells, p->s->cell[slot]);
    double *mu = *(double **)ctx;
    for (int64_t f = 0; f < size; f++)
        for (int64_t c = 0; c < q->C; c++) {
            int64_t k = c * (1 + q->K);
            mu[(first + f) * q->C + c] += G[k + f * q->V] + q->v[(first + f) * q->V + k];
        }
}

typedef struct renewal {
    double *mu; /* m x C, new */
    qsgp_state *q;
} renewal;

static anygp_status take_alpha(qsgp_pass *p, void *ctx, anygp_error *e)
{
    const qsgp_state *q = ((renewal *)ctx)->q;
    const qsgp_sample *s = p->s;
    (void)e;
    for (int64_t c = 0; c < q->q.C; c++)
        for (int64_t i = 0; i < s->n; i++)
            p->R[2 * s->rows * q->q.V + c * (1 + q->q.K) * s->rows + i] = q->alpha[s->place[i] * q->q.C + c];
    return ANYGP_OK;
}

static bool was_met(const qsgp_state *q, int64_t block)
{
    int64_t size = q->problem->blocks->largest * q->q.C;
    const double *a = q->alpha + block * size;
    bool met = false;
    for (int64_t i = 0; i < size; i++) met = met || a[i] != 0;
    return met;
}

anygp_status qsgp_block_renew(qsgp_state *q, const hyper *h, anygp_error *e)
{
    qsgp *m = &q->q;
    renewal r = {.q = q};
    anygp_status status = ANYGP_OK;
    TRY(mapped_doubles(m->on_disk, m->cells.m, m->C, "the weights", &r.mu, e));
    qsgp_take_values(m, h);
    q->pass.now.kernel = h->kernel, q->pass.turn = take_alpha;
    for (int64_t i = 0; i < q->problem->blocks->count; i++) {
        if (!was_met(q, i)) continue;
        TRY_DONE(qsgp_sample_cells(m, 0, 0, true, &q->sample, e));
        TRY_DONE(qsgp_sample_rows(m, q->problem->blocks, 1, &i, 1, false, &q->sample, e));
        TRY_DONE(qsgp_run_pass(&q->pass, add, &r, false, h, NULL, e));
    }
    for (int64_t j = 0; j < m->cells.m; j++)
        for (int64_t c = 0; c < m->C; c++) m->v[j * m->V + c * (1 + m->K)] = r.mu[j * m->C + c];
    q->stale = false;
done:
    mapped_free(r.mu);
    return status;
}
