/* Relevance: precisions s of the weights, learned with them (002, section 2.3 and appendix I.3).

   The bound depends on mu_r, c_rr and s_r of one function, while all others stay, as
       b mu - (h + s)(mu^2 + c^2) / 2 + (log s + log c^2) / 2,     b = phi_r'W (y - F_-r),   h = phi_r'W phi_r,   W = I / noise
   F_-r being the function without r.  Its maximum over all three is known in closed form:
       b^2 > h:   s = h^2 / (b^2 - h),   c^2 = 1 / (s + h),   mu = b / (s + h) = b / h - 1 / b
       else       s is infinite and mu = 0: function r is out
   It is where s = 1 / (mu^2 + c^2) and MacKay's s = (1 - s c^2) / mu^2 settle; those take steps towards infinity that shrink, this takes one.

   A step takes its rows, all functions that are in and a sample of the others.  F at these rows is exact: weights that are 0 need not be
   sampled.  Those of the sample have their turn one after the other, and what one explains is taken away before the next one looks, so that few
   come in.  Neighbouring kernels are much alike, and turns are slow to settle which of two has to go.  So those that are in are solved for
   together, in rounds:
       mu = (Phi'W Phi + diag(s))^-1 Phi'W (y - F of the others),     then s at this mu:  s (s + h) = h / mu^2
   Where two functions are equal the ratio of their weights is squared in each round.  At last each has a turn, by which it may go.
   With all rows nothing of this lowers the bound.
   From a part of the rows, b is an average over steps, b += rho (b_now - b), with rho = 2 / (1 + looks) down to half the share of
   rows, which falls to a twentieth of that along the run.  Its
   variance is about e h, e = (all rows / rows of the step) rho / (2 - rho), where that of all rows would be h.  While e > 1 it takes its place,
       b^2 > e h:   s = e h^2 / (b^2 - e h),   mu = b / h - e / b
   else the noise of a sample would let most functions in.  The solution is taken for rho of the way, in one round.
   Other likelihoods: W has their curvatures, slopes follow it to first order within a step, rho is at most a half, and no move changes a latent
   function by more than 1 at a row of the step: where a likelihood is nearly flat its curvature promises too much.

   steps=plain and steps=adagrad are the paper's: qsgp's, with samples i and j and control rows.  s stays for the first third of a run and then moves,
   as a geometric mean, to the best one at this mu, s (s + h) = h / mu^2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum {
    ROUNDS = 8,
    SOLVED_MOST = 1000,
    KEPT_DOUBLES = 1 << 22
};                                   /* of functions that are in; room for these at the rows of a step */
static const double SETTLED = 1e-12; /* a change of mu^2 h below which a round was the last */
static const double HALF_ROWS = 0.5, LEAST_LEFT = 0.05, OTHER_RHO = 0.5, MOVE_MOST = 1, FROZEN = 1.0 / 3, DRIFT = 0.05;

/* -------------------------------------------------------------------------------------------------- state */

anygp_status qsrvm_open(qsgp_state *q, anygp_error *e)
{
    const cells *c = &q->q.cells;
    qsrvm_turns *r = &q->turns;
    r->b = mem_zeroed(c->m * q->q.C, sizeof *r->b);
    r->cell = mem_alloc(2 * c->count, sizeof *r->cell);
    r->both = mem_alloc(c->count, sizeof *r->both);
    if (!r->b || !r->cell || !r->both) return fail_memory(e, "the precisions", 8.0 * (double)(c->m * q->q.C));
    memset(r->both, 3, (size_t)c->count);
    return ANYGP_OK;
}

void qsrvm_close(qsgp_state *q)
{
    qsrvm_turns *r = &q->turns;
    void *const owned[] = {r->b, r->cell, r->both, r->T, r->tile, r->squares, r->at, r->look, r->U, r->G};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status make_room(qsgp_state *q, anygp_error *e)
{
    qsrvm_turns *r = &q->turns;
    int64_t n = q->sample.n, width = q->q.cells.width, C = q->q.C, room = KEPT_DOUBLES / (n > 0 ? n : 1);
    r->count = 0;
    if (n <= r->rows) return ANYGP_OK;
    if (room > q->q.cells.m) room = q->q.cells.m;
    void *const owned[] = {r->T, r->tile, r->squares, r->at, r->look};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    r->T = mem_doubles(n, room), r->tile = mem_doubles(n, width), r->squares = mem_doubles(width, C);
    r->at = mem_alloc(2 * room, sizeof *r->at), r->solved = r->at + room,
    r->look = mem_alloc((room + 1) * C, sizeof *r->look);
    bool ok = r->T && r->tile && r->squares && r->at && r->look;
    r->room = ok ? room : 0, r->rows = ok ? n : 0;
    return ok ? ANYGP_OK : fail_memory(e, "a step", 8.0 * (double)(n * (room + width)));
}

/* -------------------------------------------------------------------------------------------------- cells */

static bool function_is_in(const qsgp *q, int64_t j)
{
    bool in = false;
    for (int64_t c = 0; c < q->C; c++) in = in || q->s[j * q->C + c] < QSRVM_OUT;
    return in;
}

static bool cell_is_in(const qsgp *q, int64_t cell)
{
    bool in = false;
    for (int64_t f = 0; f < cell_size(&q->cells, cell); f++)
        in = in || function_is_in(q, cell_first(&q->cells, cell) + f);
    return in;
}

anygp_status qsrvm_sample_cells(qsgp_state *q, uint64_t seed, uint64_t t, anygp_error *e)
{
    qsgp_sample *s = &q->sample;
    qsrvm_turns *r = &q->turns;
    int64_t count = q->q.cells.count, *in = r->cell + count, ins = 0, drawn = 0;
    TRY(qsgp_sample_cells(&q->q, seed, t, true, s, e));
    r->cells = 0;
    for (int64_t cell = 0; cell < count; cell++) {
        bool of_sample = drawn < s->count && s->cell[drawn] == cell, of_model = cell_is_in(&q->q, cell);
        drawn += of_sample;
        if (of_model) in[ins++] = cell;
        if (of_model || of_sample) r->cell[r->cells++] = cell;
    }
    return qsgp_sample_given(&q->q, ins, in, r->both, 1, s, e);
}

/* -------------------------------------------------------------------------------------------------- turns */

/* R -= delta W t */
VECTORISED static void lower(int64_t n, double delta, const double *w, const double *t, double *R)
{
    SIMD for (int64_t i = 0; i < n; i++) R[i] -= delta * w[i] * t[i];
}

/* s (s + h) = e h / mu^2 */
static double best_precision(double mu, const qsrvm_look *at)
{
    double ratio = at->edge / (mu * mu);
    return at->h > 0 ? fmin(2 * ratio / (1 + sqrt(1 + 4 * ratio / at->h)), QSRVM_OUT) : QSRVM_OUT;
}

static double largest(int64_t n, const double *t)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(t[i]));
    return most;
}

/* Function j for latent c. */
static void take_turn(qsgp_state *q, int64_t j, int64_t c, const double *t, const qsrvm_look *at)
{
    qsgp *m = &q->q;
    const qsgp_sample *s = &q->sample;
    double *R = q->pass.R + (2 * m->V + c) * s->rows, *mu = &m->v[j * m->V + c], now = 0, precision = QSRVM_OUT;
    double b = at->b + at->rho * (la_dot(s->n, t, R) + at->curve * *mu - at->b), more = b * b - at->edge * at->h;
    if (more > 0 && at->h > 0) precision = at->edge * at->h * at->h / more, now = more / (b * at->h);
    if (!(precision < QSRVM_OUT)) precision = QSRVM_OUT, now = 0;
    double delta = now - *mu, most = m->gaussian || delta == 0 ? 0 : fabs(delta) * largest(s->n, t);
    if (most > MOVE_MOST) now = *mu + delta / most * MOVE_MOST, precision = best_precision(now, at), delta = now - *mu;
    if (delta != 0) lower(s->n, delta / qsgp_noise(m, c), q->pass.weight + c * s->n, t, R);
    *mu = now, m->s[j * m->C + c] = precision, q->turns.b[j * m->C + c] = b;
}

/* For what comes after the turns; where there is no room for another function it has had its turn and that is all. */
static void keep(qsgp_state *q, int64_t j, const double *t)
{
    qsrvm_turns *r = &q->turns;
    if (!function_is_in(&q->q, j) || r->count == r->room) return;
    memcpy(r->T + r->count * q->sample.n, t, (size_t)q->sample.n * sizeof *t);
    r->at[r->count++] = j;
}

/* Looks of function f of a cell go behind those of functions that are kept. */
static void take_cell(qsgp_state *q, int64_t slot, bool all, double least, double rate)
{
    qsgp *m = &q->q;
    qsrvm_turns *r = &q->turns;
    const cells_hand *hand = &q->pass.now;
    int64_t n = q->sample.n, cell = hand->cell[slot], size = cell_size(&m->cells, cell),
            first = cell_first(&m->cells, cell);
    for (int64_t c = 0; c < m->C; c++)
        for (int64_t f = 0; f < size; f++)
            r->squares[f + c * size] = fmax(0, cells_weigh_squares(n, q->pass.weight + c * n, r->tile + f * n));
    qsgp_keep_squares(m, hand, slot, r->squares);
    double scale = q->sample.scale, rho = fmin(1, fmax(2 / (1 + m->seen[cell]), least));
    if (all) rho = 1;
    if (!m->gaussian) rho = fmin(rho, OTHER_RHO);
    if (rate > 0) rho = fmin(1, rate);
    for (int64_t f = 0; f < size; f++) {
        bool waits = function_is_in(m, first + f) && r->count < r->room;
        qsrvm_look *look = r->look + r->count * m->C;
        for (int64_t c = 0; c < m->C; c++) {
            double curve = r->squares[f + c * size] / qsgp_noise(m, c), h = qsgp_information(m, hand, slot, f, c);
            look[c] = (qsrvm_look){.b = r->b[(first + f) * m->C + c],
                                   .h = h + rho * fmax(0, curve - h), /* no less than b has of it */
                                   .curve = curve,
                                   .rho = rho,
                                   .edge = all ? 1 : fmax(1, scale * rho / (2 - rho))};
            if (!waits) take_turn(q, first + f, c, r->tile + f * n, &look[c]);
        }
        keep(q, first + f, r->tile + f * n);
    }
}

/* ------------------------------------------------------------------------------------------------ together */

/* Room for a functions at n rows, and for two squares and five vectors of them. */
static anygp_status solve_room(qsrvm_turns *r, int64_t n, int64_t a, anygp_error *e)
{
    if (n * a > r->U_room) {
        free(r->U);
        r->U = mem_doubles(n, a), r->U_room = r->U ? n * a : 0;
    }
    if (a > r->G_room) {
        free(r->G);
        r->G = mem_doubles(a, 2 * a + 5), r->G_room = r->G ? a : 0;
    }
    return r->U_room && r->G_room ? ANYGP_OK : fail_memory(e, "a step", 8.0 * (double)(a * (n + 2 * a)));
}

VECTORISED static void scale_by_root(int64_t n, const double *w, const double *t, double *u)
{
    SIMD for (int64_t i = 0; i < n; i++) u[i] =
        sqrt(w[i] > 0 ? w[i] : 0) * t[i]; /* below 0 by the noise of draws alone */
}

/* The functions that are in for one latent. */
typedef struct together {
    int64_t a;
    double *G, *A;                   /* a x a: Phi'W Phi; room */
    double *beta, *old, *mu, *s, *x; /* a each: Phi'W (y - F of the others); mu before; now; precisions; room */
} together;

static const qsrvm_look *look_of(const qsgp_state *q, int64_t i, int64_t c)
{
    return &q->turns.look[q->turns.solved[i] * q->q.C + c];
}

/* One round: how far mu moved, as a change of mu^2 h; -1: there is no solution. */
static double solve_once(const qsgp_state *q, int64_t c, const together *g)
{
    double moved = 0;
    int64_t a = g->a;
    memcpy(g->A, g->G, (size_t)(a * a) * sizeof *g->A);
    memcpy(g->x, g->beta, (size_t)a * sizeof *g->x);
    for (int64_t i = 0; i < a; i++) g->A[i + i * a] += g->s[i];
    if (!la_factor(a, g->A, a)) return -1;
    la_trsv(LA_N, a, g->A, a, g->x);
    la_trsv(LA_T, a, g->A, a, g->x);
    for (int64_t i = 0; i < a; i++) {
        const qsrvm_look *at = look_of(q, i, c);
        double now = g->old[i] + at->rho * (g->x[i] - g->old[i]);
        moved = fmax(moved, (now - g->mu[i]) * (now - g->mu[i]) * at->h);
        g->mu[i] = now;
        g->s[i] = best_precision(now, at);
    }
    return moved;
}

/* Their columns times the root of the weights, G and beta, at the weights of now. */
static void gather(qsgp_state *q, int64_t c, const together *g)
{
    const qsgp_sample *s = &q->sample;
    const qsgp *m = &q->q;
    qsrvm_turns *r = &q->turns;
    const double *R = q->pass.R + (2 * m->V + c) * s->rows;
    for (int64_t i = 0; i < g->a; i++) {
        const double *t = r->T + r->solved[i] * s->n;
        int64_t j = r->at[r->solved[i]];
        scale_by_root(s->n, q->pass.weight + c * s->n, t, r->U + i * s->n);
        g->old[i] = g->mu[i] = m->v[j * m->V + c], g->s[i] = m->s[j * m->C + c];
        g->beta[i] = la_dot(s->n, t, R);
    }
    la_syrk(LA_T, g->a, s->n, 1 / qsgp_noise(m, c), r->U, s->n, 0, g->G, g->a);
    la_mirror(g->a, g->G, g->a);
    la_gemv(LA_N, g->a, g->a, 1, g->G, g->a, g->mu, 1, g->beta);
}

/* mu, s and b as they are now, and what that leaves of the slopes. */
static void put_back(qsgp_state *q, int64_t c, const together *g)
{
    qsgp *m = &q->q;
    qsrvm_turns *r = &q->turns;
    int64_t n = q->sample.n;
    double *R = q->pass.R + (2 * m->V + c) * q->sample.rows;
    for (int64_t i = 0; i < g->a; i++) {
        int64_t k = r->solved[i], j = r->at[k];
        qsrvm_look *at = &r->look[k * m->C + c];
        lower(n, (g->mu[i] - g->old[i]) / qsgp_noise(m, c), q->pass.weight + c * n, r->T + k * n, R);
        m->v[j * m->V + c] = g->mu[i], m->s[j * m->C + c] = g->s[i];
        at->b = r->b[j * m->C + c] = g->mu[i] * (g->s[i] + at->h);
    }
}

/* Where noise is not Gaussian; U is used up. */
static void shorten(qsgp_state *q, int64_t c, const together *g)
{
    const qsrvm_turns *r = &q->turns;
    int64_t n = q->sample.n;
    double *f = r->U;
    memset(f, 0, (size_t)n * sizeof *f);
    for (int64_t i = 0; i < g->a; i++) la_axpy(n, g->mu[i] - g->old[i], r->T + r->solved[i] * n, f);
    double most = largest(n, f);
    for (int64_t i = 0; i < g->a && most > MOVE_MOST; i++) {
        g->mu[i] = g->old[i] + (g->mu[i] - g->old[i]) / most * MOVE_MOST;
        g->s[i] = best_precision(g->mu[i], look_of(q, i, c));
    }
}

static anygp_status solve(qsgp_state *q, int64_t c, bool all, anygp_error *e)
{
    qsrvm_turns *r = &q->turns;
    int64_t a = 0, n = q->sample.n;
    for (int64_t k = 0; k < r->count; k++)
        if (q->q.s[r->at[k] * q->q.C + c] < QSRVM_OUT) r->solved[a++] = k;
    if (a == 0 || a > SOLVED_MOST) return ANYGP_OK; /* too many: turns alone */
    TRY(solve_room(r, n, a, e));
    double *v = r->G + 2 * a * a, moved = INFINITY;
    together g = {a, r->G, r->G + a * a, v, v + a, v + 2 * a, v + 3 * a, v + 4 * a};
    gather(q, c, &g);
    for (int round = 0; round < (all ? ROUNDS : 1) && moved > SETTLED; round++) moved = solve_once(q, c, &g);
    if (!q->q.gaussian) shorten(q, c, &g);
    if (moved >= 0) put_back(q, c, &g);
    return ANYGP_OK;
}

static void last_turns(qsgp_state *q)
{
    const qsrvm_turns *r = &q->turns;
    for (int64_t k = 0; k < r->count; k++)
        for (int64_t c = 0; c < q->q.C; c++)
            take_turn(q, r->at[k], c, r->T + k * q->sample.n, &r->look[k * q->q.C + c]);
}

anygp_status qsrvm_take_turns(qsgp_state *q, const step_context *c, anygp_error *e)
{
    const qsgp_sample *s = &q->sample;
    const row_blocks *b = q->problem->blocks;
    bool all = c->which == NULL || c->count == b->count;
    cell_rows rows = {s->n, q->q.cells.D, s->X, s->XT, s->rows};
    TRY(make_room(q, e));
    TRY(cells_hand_take(&q->pass.now, q->turns.cells, q->turns.cell, e));
    for (int64_t slot = 0; slot < q->turns.cells; slot++) {
        if (!cells_fill(&q->pass.now, slot, &rows, q->turns.tile, s->n)) return fail_memory(e, "kernel tiles", 0);
        take_cell(q, slot, all, fmax(1 - c->share, LEAST_LEFT) * HALF_ROWS / s->scale, c->rate);
    }
    for (int64_t k = 0; k < q->q.C; k++) TRY(solve(q, k, all, e));
    last_turns(q);
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- the paper's steps */

void qsrvm_start(qsgp_state *q, const kernel *k)
{
    qsgp *m = &q->q;
    double one = 0, s = 1;
    if (m->cells.kind == CELLS_KERNEL) kernel_diag(k, 1, m->cells.Z, m->cells.D, &one);
    if (one > 0) s = q->size / one; /* f has the kernel's variance */
    for (int64_t i = 0; i < m->cells.m * m->C; i++) m->s[i] = s;
}

void qsrvm_move_precisions(qsgp *q, const cells_hand *hand, int64_t slot, double share)
{
    int64_t first = cell_first(&q->cells, hand->cell[slot]), size = cell_size(&q->cells, hand->cell[slot]);
    if (share < FROZEN) return;
    for (int64_t f = 0; f < size; f++)
        for (int64_t c = 0; c < q->C; c++) {
            int64_t j = first + f;
            const double *v = q->v + j * q->V + c * (1 + q->K);
            double *s = &q->s[j * q->C + c], h = qsgp_information(q, hand, slot, f, c), best;
            double squares = la_dot(1 + q->K, v, v), mu = v[0] * v[0];
            if (j < q->K)
                best = 1 / squares;
            else /* of s^2 + h s = h / mu^2 */
                best = 2 / (mu + sqrt(mu * (mu + 4 / h)));
            if (best > 0) *s = fmin(QSRVM_OUT, *s * pow(fmin(best, QSRVM_OUT) / *s, DRIFT));
        }
}
