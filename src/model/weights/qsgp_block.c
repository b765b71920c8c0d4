/* mu by blocks of rows, for Gaussian noise and S = I, where a step has all basis functions.

   The optimum is mu = Phi'alpha with (K + s I) alpha = y, K = Phi Phi'.  A step takes the rows b of its sample and solves for their
   coefficients while the others stay:
       delta = (K_bb + s I)^-1 (y_b - f_b - s alpha_b)       alpha_b += delta       mu += Phi_b'delta
   which is block coordinate ascent on the dual bound, also known as alternating projections: it needs no step size, its cost does not depend
   on n, and unlike gradients it is not held back by the largest eigenvalue of K.  K_bb is taken from the kernel itself instead of
   from b^2 m products of features; with m random waves the two agree to a factor of (1 +- sqrt(b/m))^2, which delta is divided by, so that
   it never goes too far.  A row of weight w has noise s / w.
   Kernels at all rows have S = K = Phi, and the optimum is mu = alpha: the same steps, over rows of the basis, without the last line.
   alpha, a number for each row, belongs to the basis functions that mu was made with.  Where the kernel has moved meanwhile, mu is
   made again from alpha once learning has ended: as many features as the steps before had, at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum { ROWS_MOST = 2048 }; /* of a block that is solved for */

bool qsgp_by_blocks(const qsgp_state *q)
{
    bool all = q->kind.rule == RULE_BLOCK && q->q.gaussian && q->q.per == q->q.cells.count;
    return all && (q->q.cells.kind == CELLS_FOURIER || (q->q.Yz && q->q.K == 0));
}

/* Kernels at all rows: mu are the coefficients themselves. */
static double *coefficients(qsgp_state *q) { return q->alpha ? q->alpha : q->q.v; }

bool qsgp_block_fits(const qsgp_state *q) { return q->sample.n <= ROWS_MOST; }

/* One target: delta in place of R, in both halves and their sum. */
static anygp_status solve(qsgp_state *q, int64_t c, const double *K, double *L, anygp_error *e)
{
    qsgp_pass *p = &q->pass;
    const qsgp_sample *s = &q->sample;
    int64_t n = s->n, rows = s->rows, k = c * (1 + q->q.K), size = rows * q->q.V;
    double noise = qsgp_noise(&q->q, c), *R = p->R + 2 * size + k * rows,
           far = 1 + sqrt((double)n / (double)q->q.cells.m);
    memcpy(L, K, (size_t)(n * n) * sizeof *L);
    for (int64_t i = 0; i < n; i++) {
        double *a = &coefficients(q)[s->place[i] * q->q.C + c];
        L[i + i * n] += noise / s->w[i];
        R[i] = s->y[i * s->Q + c] - p->F[k * rows + i] - noise / s->w[i] * *a;
    }
    if (!la_factor(n, L, n))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the kernel's matrix at the rows of a step has no Cholesky factor");
    la_trsv(LA_N, n, L, n, R);
    la_trsv(LA_T, n, L, n, R);
    la_scale(n, q->relax / (far * far), R);
    for (int64_t i = 0; i < n; i++) coefficients(q)[s->place[i] * q->q.C + c] += R[i];
    return ANYGP_OK;
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
    int64_t size = 2 * q->sample.n * q->sample.n;
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
    renewal r = {mem_zeroed(m->cells.m * m->C, sizeof(double)), q};
    anygp_status status = ANYGP_OK;
    if (!r.mu) return fail_memory(e, "the weights", 8.0 * (double)(m->cells.m * m->C));
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
    free(r.mu);
    return status;
}
