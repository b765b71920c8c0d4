/* A pass over a sample of rows and cells: forward, the likelihood, and back (qsgp.h has the equations). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "inducing/whiten.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp.h"

static const double LEAST_SHARE = 0.05; /* of a new look at a curvature, which moves with q */

/* ------------------------------------------------------------------------------------------------- room */

/* Where a thread adds up: F of three kinds of cells and S going forward; the moves of a, and sums of the value, going back.  One more says
   whether memory was short. */
static int64_t sum_size(const qsgp_pass *p)
{
    const qsgp *q = p->q;
    int64_t forward = p->s->rows * (q->V * 3 + q->C), back = p->s->rows * q->V + 1 + q->T;
    return 1 + (forward > back ? forward : back);
}

/* Rows of a tile. */
static int64_t piece_of(const qsgp_pass *p) { return cells_piece(p->q->cells.kind, p->s->rows); }

/* A tile, its adjoint, G, the old v and squares. */
static int64_t tile_size(const qsgp_pass *p)
{
    const qsgp *q = p->q;
    return q->cells.width * (2 * piece_of(p) + 2 * q->V + 2 * q->C);
}

anygp_status qsgp_pass_open(qsgp_pass *p, qsgp *q, qsgp_sample *s, const kernel *now, const kernel *first,
                            anygp_error *e)
{
    *p = (qsgp_pass){.q = q, .s = s, .threads = threads_max()};
    p->like = mem_zeroed(q->T * q->like->params, sizeof *p->like);
    if (!p->like) return fail_memory(e, "the model", 8.0 * (double)(q->T * q->like->params));
    TRY(cells_hand_open(&p->now, &q->cells, now, e));
    return cells_hand_open(&p->first, &q->cells, first, e);
}

void qsgp_pass_clear(qsgp_pass *p)
{
    double *const owned[] = {p->F, p->R, p->S, p->weight, p->Y, p->sums, p->tile, p->Wbar, p->like, p->found};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    cells_hand_clear(&p->now);
    cells_hand_clear(&p->first);
    *p = (qsgp_pass){0};
}

static anygp_status make_room(qsgp_pass *p, anygp_error *e)
{
    const qsgp *q = p->q;
    int64_t rows = p->s->rows;
    if (rows <= p->room) return ANYGP_OK;
    double **const array[] = {&p->F, &p->R, &p->S, &p->weight, &p->Y, &p->sums, &p->tile};
    const int64_t size[] = {
        3 * rows * q->V,          3 * rows * q->V,          rows * q->C, rows * q->C, rows * q->like->columns,
        p->threads * sum_size(p), p->threads * tile_size(p)};
    bool ok = true;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        free(*array[i]);
        ok = (*array[i] = mem_alloc(size[i], sizeof(double))) && ok;
    }
    p->room = ok ? rows : 0;
    return ok ? ANYGP_OK : fail_memory(e, "a step", 8.0 * (double)(size[0] + size[5] + size[6]));
}

static int threads_of(const qsgp_pass *p)
{
    double work = (double)p->s->count * (double)p->q->cells.width * (double)p->s->rows * 10;
    int threads = threads_for(work);
    return threads < p->threads ? threads : p->threads;
}

/* Features T[n,size] of a cell at rows from `at` on: a piece of them, or all. */
typedef struct tile {
    int64_t at, n;
    double *T;
} tile;

/* Those of control rows under the first kernel, which has moved only where all rows are one piece. */
static bool fill(const qsgp_pass *p, int64_t slot, const tile *t)
{
    const qsgp_sample *s = p->s;
    int64_t D = p->q->cells.D;
    double *T = t->T;
    if (!p->apart || s->P == 0)
        return cells_fill(&p->now, slot, &(cell_rows){t->n, D, s->X + t->at * D, s->XT + t->at, s->rows}, T, t->n);
    cell_rows l = {s->n, D, s->X, s->XT, s->rows}, rest = {s->rows - s->n, D, s->X + s->n * D, s->XT + s->n, s->rows};
    return cells_fill(&p->now, slot, &l, T, s->rows) && cells_fill(&p->first, slot, &rest, T + s->n, s->rows);
}

/* The piece that begins at row `at`. */
static tile piece_at(const qsgp_pass *p, int64_t at, double *T)
{
    int64_t most = piece_of(p), left = p->s->rows - at;
    return (tile){at, left < most ? left : most, T};
}

/* How many of the rows of a piece are among the first n of all. */
static int64_t rows_among(const tile *t, int64_t n)
{
    int64_t rows = n - t->at;
    return rows < 0 ? 0 : rows < t->n ? rows : t->n;
}

static double *vectors(const qsgp_pass *p, int64_t slot)
{
    return p->q->v + cell_first(&p->q->cells, p->s->cell[slot]) * p->q->V;
}

static double share_of(const qsgp_pass *p, int64_t slot) { return p->s->in[slot] == 3 ? 1 : 0.5; }

/* ---------------------------------------------------------------------------------------------- forward */

/* out[rows,V] += over T v' */
static void project(const qsgp_pass *p, int64_t slot, const tile *t, double *out)
{
    const qsgp *q = p->q;
    int64_t size = cell_size(&q->cells, p->s->cell[slot]);
    out += t->at;
    if (q->V == 1)
        la_gemv(LA_N, t->n, size, p->s->over, t->T, t->n, vectors(p, slot), 1, out);
    else
        la_gemm(LA_N, LA_T, t->n, q->V, size, p->s->over, t->T, t->n, vectors(p, slot), q->V, 1, out, p->s->rows);
}

/* Cells over ranks and threads, each of which has a tile of its own; the first `used` of p->sums are their sums. */
static anygp_status over_cells(qsgp_pass *p, int64_t used,
                               bool (*work)(qsgp_pass *p, int64_t slot, const void *ctx, double *tile, double *sum),
                               const void *ctx, anygp_error *e)
{
    int64_t each = sum_size(p);
    int threads = threads_of(p);
    bool ok = true;
    for (int t = 0; t < threads; t++) memset(p->sums + t * each, 0, (size_t)used * sizeof *p->sums);
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : ok) if (threads > 1)
    for (int64_t i = qsgp_slots_begin(p); i < qsgp_slots_end(p); i++) {
        int id = threads > 1 ? threads_id() : 0;
        ok = work(p, i, ctx, p->tile + id * tile_size(p), p->sums + id * each) && ok;
    }
    la_serial_end(threads);
    for (int t = 1; t < threads; t++) la_axpy(used, 1, p->sums + t * each, p->sums);
    p->sums[used] = !ok;
    TRY(qsgp_sum_over_ranks(p, used + 1, p->sums, e));
    return p->sums[used] > 0 ? fail_memory(e, "kernel tiles", 0) : ANYGP_OK;
}

static bool forward_cell(qsgp_pass *p, int64_t slot, const void *ctx, double *T, double *sum)
{
    (void)ctx;
    const qsgp *q = p->q;
    int64_t size = cell_size(&q->cells, p->s->cell[slot]), n = p->s->n, rows = p->s->rows, in = p->s->in[slot];
    double *d = T + q->cells.width * piece_of(p), times = p->s->over * share_of(p, slot);
    for (int64_t f = 0; !q->gaussian && f < size; f++)
        for (int64_t c = 0; c < q->C; c++) d[f * q->C + c] = times * qsgp_diagonal(q, &p->now, slot, f, c);
    for (int64_t at = 0; at < rows; at += piece_of(p)) {
        tile t = piece_at(p, at, T);
        if (!fill(p, slot, &t)) return false;
        project(p, slot, &t, sum + (in - 1) * rows * q->V);
        for (int64_t f = 0; !q->gaussian && f < size; f++)
            for (int64_t c = 0; c < q->C; c++)
                cells_add_squares(rows_among(&t, n), d[f * q->C + c], T + f * t.n, sum + 3 * rows * q->V + c * n + at);
    }
    return true;
}

static anygp_status forward(qsgp_pass *p, anygp_error *e)
{
    const qsgp *q = p->q;
    int64_t size = p->s->rows * q->V, used = 3 * size + p->s->n * q->C;
    TRY(over_cells(p, used, forward_cell, NULL, e));
    for (int64_t i = 0; i < size; i++) {
        p->F[i] = p->sums[i] + p->sums[2 * size + i];
        p->F[size + i] = p->sums[size + i] + p->sums[2 * size + i];
    }
    memcpy(p->S, p->sums + 3 * size, (size_t)(p->s->n * q->C) * sizeof *p->S);
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- back */

/* What a cell at work has: its place, and sums of its thread. */
typedef struct cell_work {
    int64_t slot, size, first; /* functions; the first of them */
    tile t;                    /* at a piece of the rows; */
    double *T, *Tbar, *G, *old, *d, *squares;
    double *moved;          /* P x V: of a */
    double *value, *spread; /* the bound's; T: variances of the rows */
    int64_t places;         /* kernels: where the cell's places begin among the rows */
} cell_work;

/* c_rr^2 */
static void diagonal_of_cell(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    for (int64_t c = 0; c < q->C; c++)
        for (int64_t f = 0; f < w->size; f++) w->d[f + c * w->size] = qsgp_diagonal(q, &p->now, w->slot, f, c);
    memset(w->squares, 0, (size_t)(q->C * w->size) * sizeof *w->squares);
}

/* Its squares over the rows of the piece. */
static void add_squares(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    int64_t n = rows_among(&w->t, p->s->n);
    for (int64_t c = 0; c < q->C; c++)
        for (int64_t f = 0; f < w->size; f++)
            w->squares[f + c * w->size] += cells_weigh_squares(n, p->weight + c * p->s->n + w->t.at, w->T + f * w->t.n);
}

/* -KL's share of the cell, and with Gaussian noise what variances take from the value. */
static void value_of_cell(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    double times = p->s->over * share_of(p, w->slot), sum = 0;
    for (int64_t f = 0; f < w->size; f++) {
        int64_t j = w->first + f;
        const double *v = q->v + j * q->V;
        for (int64_t c = 0; c < q->C; c++) {
            double s = qsgp_prior(q, &p->now, w->slot, f, c), d = w->d[f + c * w->size],
                   own = j < q->K ? v[c * (1 + q->K) + 1 + j] : 0;
            sum -= j < q->K ? -1 - 2 * log(own) - log(s) : s * d - 1 - log(s * d);
            if (q->gaussian) *w->value -= 0.5 * times * d * w->squares[f + c * w->size] / qsgp_noise(q, c);
            if (q->gaussian) w->spread[c] += times * d * w->squares[f + c * w->size];
        }
        for (int64_t k = 0; k < q->V && qsgp_diagonal_prior(q); k++)
            sum -= qsgp_prior(q, &p->now, w->slot, f, k / (1 + q->K)) * v[k] * v[k];
    }
    *w->value += 0.5 * times * sum;
}

/* Kernels: S = K_zz, so that S v at the cell's places is F there, from the other sample. */
static void prior_of_kernels(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    int64_t rows = p->s->rows, size = rows * q->V, in = p->s->in[w->slot];
    for (int64_t k = 0; k < q->V; k++)
        for (int64_t f = 0; f < w->size; f++) {
            int64_t at = w->places + f + k * rows;
            double other = 0.5 * p->s->over * ((in & 1 ? p->F[size + at] : 0) + (in & 2 ? p->F[at] : 0));
            w->G[k + f * q->V] -= other;
            *w->value -= 0.5 * other * q->v[(w->first + f) * q->V + k];
        }
}

/* G = over R'T, piece by piece. */
static void add_gradient(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    int64_t V = q->V, rows = p->s->rows, used = rows_among(&w->t, p->s->n + p->s->P);
    const double *R = p->R + (p->s->in[w->slot] - 1) * rows * V + w->t.at;
    double before = w->t.at > 0;
    if (V == 1)
        la_gemv(LA_T, used, w->size, p->s->over, w->T, w->t.n, R, before, w->G);
    else
        la_gemm(LA_T, LA_N, V, w->size, used, p->s->over, R, rows, w->T, w->t.n, before, w->G, V);
}

/* Less the prior's share; nothing above the diagonal of dense columns. */
static void finish_gradient(const qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    int64_t V = q->V;
    double times = p->s->over * share_of(p, w->slot);
    if (p->s->R) prior_of_kernels(p, w);
    for (int64_t f = 0; f < w->size; f++)
        for (int64_t k = 0; k < V; k++) {
            int64_t j = w->first + f, c = k / (1 + q->K), r = k % (1 + q->K) - 1; /* the dense column, or -1: mu */
            double *g = &w->G[k + f * V], v = q->v[j * V + k];
            *g -= times * (qsgp_diagonal_prior(q) ? qsgp_prior(q, &p->now, w->slot, f, c) : 0) * v;
            if (r == j) *g += times / v;
            if (r > j) *g = 0;
        }
}

/* Tbar = over R v' + 2 T vbar d, at rows l; the sum of R_i and R_j may have become something else. */
static void reverse_cell(qsgp_pass *p, const cell_work *w)
{
    const qsgp *q = p->q;
    int64_t V = q->V, rows = p->s->rows, n = p->s->n, D = q->cells.D, waves = q->cells.width / 2,
            in = p->s->in[w->slot];
    double times = p->s->over * share_of(p, w->slot);
    for (int64_t k = 0; k < 2; k++)
        if (in >> k & 1)
            la_gemm(LA_N, LA_N, n, w->size, V, p->s->over, p->R + k * rows * V, rows, q->v + w->first * V, V,
                    k == 1 && in == 3, w->Tbar, rows);
    for (int64_t c = 0; c < q->C; c++)
        for (int64_t f = 0; f < w->size; f++) {
            double d = times * w->d[f + c * w->size] / qsgp_noise(q, c), *bar = w->Tbar + f * rows;
            const double *t = w->T + f * rows, *curve = p->weight + c * n;
            for (int64_t i = 0; i < n; i++) bar[i] -= d * curve[i] * t[i];
        }
    cell_rows l = {n, D, p->s->X, p->s->XT, rows};
    cells_reverse(&p->now, w->slot, &l, w->T, rows, w->Tbar, p->Wbar + w->slot * waves * D,
                  p->Wbar + p->s->count * waves * D + w->slot * waves);
}

/* All looks count alike with Gaussian noise; else old ones are forgotten. */
void qsgp_keep_squares(qsgp *q, const cells_hand *now, int64_t slot, const double *squares)
{
    int64_t cell = now->cell[slot], size = cell_size(&q->cells, cell), first = cell_first(&q->cells, cell);
    double *seen = &q->seen[cell], rho = 1 / (1 + *seen);
    if (!q->gaussian && rho < LEAST_SHARE) rho = LEAST_SHARE;
    for (int64_t f = 0; f < size; f++)
        for (int64_t c = 0; c < q->C; c++) {
            double *square = &q->square[(first + f) * q->C + c], scale = q->N * cells_scale(now, slot, f);
            if (scale > 0) *square += rho * (squares[f + c * size] / scale - *square);
        }
    *seen += 1;
}

/* a += Phi_p (v - old): where rows come in pieces, the last of them is at hand, and those before are made again. */
static bool follow(const qsgp_pass *p, cell_work *w)
{
    const qsgp *q = p->q;
    const double *v = q->v + w->first * q->V;
    int64_t P = p->s->P, first = p->s->n;
    for (int64_t i = 0; i < w->size * q->V; i++) w->old[i] = v[i] - w->old[i];
    for (int64_t at = first / piece_of(p) * piece_of(p); at < first + P; at += piece_of(p)) {
        tile t = piece_at(p, at, w->T);
        int64_t skip = at < first ? first - at : 0, n = rows_among(&t, first + P) - skip;
        if (t.at != w->t.at && !fill(p, w->slot, &t)) return false;
        w->t = t;
        la_gemm(LA_N, LA_T, n, q->V, w->size, 1, w->T + skip, t.n, w->old, q->V, 1, w->moved + at + skip - first, P);
    }
    return true;
}

typedef struct back_task {
    qsgp_move *move;
    void *ctx;
    bool means, learn;
} back_task;

/* Of Wbar. */
static int64_t wave_numbers(const qsgp_pass *p) { return p->s->count * (p->q->cells.width / 2) * (p->q->cells.D + 1); }

/* What the other ranks found of their cells moves these here too: every rank has all parameters. */
static anygp_status move_others(qsgp_pass *p, const back_task *task, anygp_error *e)
{
    qsgp *q = p->q;
    if (!qsgp_is_shared(p)) return ANYGP_OK;
    TRY(qsgp_share_finish(p, e));
    if (task->learn) TRY(qsgp_sum_over_ranks(p, wave_numbers(p), p->Wbar, e));
    for (int64_t slot = 0; slot < p->s->count; slot++) {
        double *squares, *G = qsgp_shared(p, slot, &squares);
        if (slot >= qsgp_slots_begin(p) && slot < qsgp_slots_end(p)) continue;
        if (task->means) qsgp_keep_squares(q, &p->now, slot, squares);
        if (task->move) task->move(q, p, slot, G, task->ctx);
    }
    return ANYGP_OK;
}

static bool back_cell(qsgp_pass *p, int64_t slot, const void *ctx, double *room, double *sum)
{
    const back_task *task = ctx;
    qsgp *q = p->q;
    int64_t width = q->cells.width, rows = piece_of(p), P = p->s->P * q->V;
    cell_work w = {.slot = slot,
                   .size = cell_size(&q->cells, p->s->cell[slot]),
                   .first = cell_first(&q->cells, p->s->cell[slot]),
                   .T = room,
                   .Tbar = room + width * rows,
                   .G = room + 2 * width * rows,
                   .old = room + width * (2 * rows + q->V),
                   .d = room + width * (2 * rows + 2 * q->V),
                   .squares = room + width * (2 * rows + 2 * q->V + q->C),
                   .moved = sum,
                   .value = sum + P,
                   .spread = sum + P + 1,
                   /* only the last cell of all has fewer functions */
                   .places = p->s->n + p->s->P + slot * width};
    diagonal_of_cell(p, &w);
    bool wanted = task->move || task->learn || task->means; /* else the value, whose share here may be without rows */
    if (!wanted && !q->gaussian && !p->s->R) return value_of_cell(p, &w), true;
    for (int64_t at = 0; at < p->s->rows; at += rows) {
        w.t = piece_at(p, at, w.T);
        if (!fill(p, slot, &w.t)) return false;
        add_squares(p, &w);
        add_gradient(p, &w);
    }
    value_of_cell(p, &w);
    finish_gradient(p, &w);
    if (task->learn) reverse_cell(p, &w);
    if (qsgp_is_shared(p)) qsgp_share(p, slot, w.G, w.squares);
    if (task->means) qsgp_keep_squares(q, &p->now, slot, w.squares);
    if (!task->move) return true;
    memcpy(w.old, q->v + w.first * q->V, (size_t)(w.size * q->V) * sizeof *w.old);
    task->move(q, p, slot, w.G, task->ctx);
    return p->s->P == 0 || follow(p, &w);
}

static anygp_status back(qsgp_pass *p, const back_task *task, anygp_error *e)
{
    qsgp *q = p->q;
    int64_t P = p->s->P * q->V, used = P + 1 + q->T;
    TRY(qsgp_share_begin(p, e));
    TRY(over_cells(p, used, back_cell, task, e));
    TRY(move_others(p, task, e));
    if (P && task->move) la_axpy(P, 1, p->sums, q->a);
    p->value += p->sums[P];
    for (int64_t t = 0; t < q->T && q->gaussian; t++)
        p->like[t] += 0.5 * p->sums[P + 1 + t] / (qsgp_noise(q, t) * qsgp_noise(q, t));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- pass */

static anygp_status learn_room(qsgp_pass *p, anygp_error *e)
{
    int64_t size = wave_numbers(p);
    if (size > p->Wbar_room) {
        free(p->Wbar);
        p->Wbar = mem_alloc(size, sizeof *p->Wbar);
        p->Wbar_room = p->Wbar ? size : 0;
    }
    if (!p->Wbar) return fail_memory(e, "a step", 8.0 * (double)size);
    memset(p->Wbar, 0, (size_t)size * sizeof *p->Wbar);
    return ANYGP_OK;
}

/* The gradient in the kernel, and in its white terms. */
static bool kernel_gradient(qsgp_pass *p, const hyper *h, double *gp)
{
    const qsgp *q = p->q;
    int64_t waves = p->s->count * (q->cells.width / 2);
    double white = p->white;
    for (int64_t t = 0; t < q->T && q->gaussian; t++) white += p->like[t];
    spectral_reverse(&p->now.waves, h->kernel, p->now.Z, p->Wbar, p->Wbar + waves * q->cells.D, gp, NULL);
    return white_reverse(&(inducing_set){.kernel = h->kernel, .set = {1, p->s->X, NULL}, .D = q->cells.D}, white, gp);
}

anygp_status qsgp_run_pass(qsgp_pass *p, qsgp_move *move, void *ctx, bool means, const hyper *h, double *gp,
                           anygp_error *e)
{
    back_task task = {.move = move, .ctx = ctx, .means = means, .learn = gp != NULL};
    TRY(make_room(p, e));
    TRY(cells_hand_take(&p->now, p->s->count, p->s->cell, e));
    if (p->apart && p->s->P) TRY(cells_hand_take(&p->first, p->s->count, p->s->cell, e));
    if (gp) TRY(learn_room(p, e));
    TRY(forward(p, e));
    qsgp_expect(p);
    if (!isfinite(p->value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound of a step is not a number");
    if (p->turn && move) TRY(p->turn(p, ctx, e));
    TRY(back(p, &task, e));
    if (gp && !kernel_gradient(p, h, gp)) return fail_memory(e, "kernel tiles", 0);
    if (gp) memcpy(gp + hyper_kernel_params(h), p->like, (size_t)h->likes * sizeof *gp);
    return ANYGP_OK;
}
