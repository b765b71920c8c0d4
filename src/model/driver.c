/* Blocks over threads and ranks.  Rank r takes blocks r, r + R, ... of the list; on a rank, thread t takes pieces t, t + T,
   ... with BLAS on one thread, and adds them to a vector of its own; vectors are added in the order of the threads, then of
   the ranks.  So the same seed, machine and thread count give the same bits, and rank counts agree to rounding.
   Where there are fewer blocks than threads a block is cut into pieces if the model allows it; else threads go to BLAS.  Small
   passes, such as a step over one small block, run on one thread, straight into the caller's vector. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/lanes.h"
#include "linalg/linalg.h"
#include "model/block_model.h"

/* Multiplications that are not worth waking a thread for, with M^2 numbers to add up. */
static const double SMALL = 1e8;

typedef struct worker {
    block_buffer buffer[LANES]; /* of the blocks that are processed together */
    double *work, *sum;
    int64_t work_size, sum_size;
    int64_t done; /* pieces of the pass */
    anygp_status status;
    anygp_error error;
} worker;

struct driver {
    const block_model *model;
    row_blocks *blocks;
    const comm *comm;
    double keep_left; /* bytes */
    double **kept;    /* of each block; NULL where nothing is kept */
    bool expects;     /* a reverse follows */
    const deadline *until;
    double *seen; /* with it: the share of the pieces that the last pass has done */
    int workers;
    worker *worker;
};

anygp_status driver_open(const block_model *m, row_blocks *b, const comm *c, double keep, driver **out, anygp_error *e)
{
    driver *d = calloc(1, sizeof *d);
    if (!d) return fail_memory(e, "the driver", sizeof *d);
    *d = (driver){.model = m, .blocks = b, .comm = c, .keep_left = keep};
    d->workers = threads_max();
    d->worker = calloc((size_t)d->workers, sizeof *d->worker);
    d->kept = keep > 0 ? mem_zeroed(b->count, sizeof *d->kept) : NULL;
    if (!d->worker || (keep > 0 && !d->kept)) {
        driver_close(d);
        return fail_memory(e, "the driver", 8.0 * (double)b->count);
    }
    *out = d;
    return ANYGP_OK;
}

void driver_close(driver *d)
{
    if (!d) return;
    for (int t = 0; d->worker && t < d->workers; t++) {
        for (int i = 0; i < LANES; i++) block_buffer_clear(&d->worker[t].buffer[i]);
        free(d->worker[t].work);
        free(d->worker[t].sum);
    }
    for (int64_t i = 0; d->kept && i < d->blocks->count; i++) free(d->kept[i]);
    free(d->kept);
    free(d->worker);
    free(d);
}

void driver_expect_reverse(driver *d, bool expected) { d->expects = expected; }

void driver_until(driver *d, const deadline *until, double *seen)
{
    d->until = d->comm->size == 1 ? until : NULL;
    d->seen = seen;
    if (seen) *seen = 1;
}

/* ------------------------------------------------------------------------------------ one pass */

/* What a pass does: stat (reverse = false) or reverse, over the blocks of this rank. */
typedef struct pass {
    driver *d;
    const void *shared;
    bool reverse;
    int64_t count;        /* blocks of the list, all ranks */
    const int64_t *which; /* NULL: block i is i */
    int64_t size;         /* of the vector */
    int cuts;             /* pieces a block is cut into so that every thread has work */
    int64_t together;     /* or blocks that make a piece */
    int64_t mine;         /* blocks of this rank */
} pass;

static bool grow(double **array, int64_t *size, int64_t wanted)
{
    if (wanted <= *size) return true;
    free(*array);
    *array = mem_alloc(wanted, sizeof **array);
    *size = *array ? wanted : 0;
    return *array != NULL;
}

static bool apply(const pass *p, worker *w, const row_block *b, double *keep)
{
    const block_model *m = p->d->model;
    w->status = p->reverse ? m->reverse(p->shared, b, w->work, keep, w->sum, &w->error)
                           : m->stat(p->shared, b, w->work, keep, w->sum, &w->error);
    return !ANYGP_FAILED(w->status);
}

/* Room to keep what the whole block leaves, once; NULL where there is none. */
static double *keep_for(const pass *p, const row_block *b)
{
    driver *d = p->d;
    if (!d->kept || !d->expects) return NULL;
    if (d->kept[b->index] || p->reverse) return d->kept[b->index];
    double bytes = 8.0 * (double)d->model->keep_doubles(p->shared, b->n), left;
    if (bytes <= 0) return NULL;
#pragma omp atomic capture
    left = d->keep_left -= bytes;
    if (left >= 0) return d->kept[b->index] = mem_alloc((int64_t)(bytes / 8), sizeof(double));
#pragma omp atomic
    d->keep_left += bytes;
    return NULL;
}

/* Rows first .. first + n - 1 of a block, in pieces that fit the workspace. */
static bool run_rows(const pass *p, worker *w, const row_block *b, int64_t first, int64_t n, double *keep)
{
    const block_model *m = p->d->model;
    int64_t D = p->d->blocks->D, Q = p->d->blocks->Q, most = m->rows_alone && n > DRIVER_PIECE ? DRIVER_PIECE : n;
    if (!grow(&w->work, &w->work_size, m->work_doubles(p->shared, most))) {
        w->status = fail_memory(&w->error, "a block's workspace", 8.0 * (double)m->work_doubles(p->shared, most));
        return false;
    }
    for (int64_t i = first; i < first + n; i += most) {
        int64_t k = first + n - i < most ? first + n - i : most;
        row_block piece = {b->index, k, b->X + i * D, b->y + i * Q, b->w + i, i, b->own ? b->own + i : NULL};
        if (!apply(p, w, &piece, keep ? keep + m->keep_doubles(p->shared, i) : NULL)) return false;
    }
    return true;
}

/* Block i of this rank's. */
static bool get_block(const pass *p, worker *w, int64_t i, block_buffer *buffer, row_block *b)
{
    int64_t place = p->d->comm->rank + i * p->d->comm->size;
    w->status = blocks_get(p->d->blocks, p->which ? p->which[place] : place, buffer, b, &w->error);
    return !ANYGP_FAILED(w->status);
}

/* Several blocks at once. */
static bool run_together(const pass *p, worker *w, int64_t index)
{
    const block_model *m = p->d->model;
    row_block b[LANES];
    int64_t first = index * p->together, left = p->mine - first, count = left < p->together ? left : p->together;
    int64_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!get_block(p, w, first + i, &w->buffer[i], &b[i])) return false;
        if (b[i].n > largest) largest = b[i].n;
    }
    if (!grow(&w->work, &w->work_size, m->work_together(p->shared, largest))) {
        w->status =
            fail_memory(&w->error, "the workspace of blocks", 8.0 * (double)m->work_together(p->shared, largest));
        return false;
    }
    w->status = (p->reverse ? m->reverse_together : m->stat_together)(p->shared, count, b, w->work, w->sum, &w->error);
    return !ANYGP_FAILED(w->status);
}

/* Piece `index` of this rank's pieces. */
static bool run_piece(const pass *p, worker *w, int64_t index)
{
    int64_t cut = index % p->cuts;
    row_block b;
    if (p->together > 1) return run_together(p, w, index);
    if (!get_block(p, w, index / p->cuts, &w->buffer[0], &b)) return false;
    int64_t first = b.n * cut / p->cuts, end = b.n * (cut + 1) / p->cuts;
    return end == first || run_rows(p, w, &b, first, end - first, p->cuts == 1 ? keep_for(p, &b) : NULL);
}

static bool worker_begin(const pass *p, worker *w)
{
    w->status = ANYGP_OK, w->done = 0;
    if (!grow(&w->sum, &w->sum_size, p->size)) {
        w->status = fail_memory(&w->error, "a thread's sums", 8.0 * (double)p->size);
        return false;
    }
    memset(w->sum, 0, (size_t)p->size * sizeof(double));
    return true;
}

/* Pieces first, first + step, ... as long as there is time. */
static void run_some(const pass *p, worker *w, int64_t first, int64_t step, int64_t pieces)
{
    for (int64_t i = first; i < pieces; i += step, w->done++)
        if ((i > first && deadline_passed(p->d->until)) || !run_piece(p, w, i)) return;
}

static void note_seen(const pass *p, int64_t pieces, int threads)
{
    int64_t done = 0;
    for (int t = 0; t < threads; t++) done += p->d->worker[t].done;
    if (p->d->seen) *p->d->seen = pieces > 0 ? (double)done / (double)pieces : 1;
}

static void run_pieces(const pass *p, int64_t pieces, int threads)
{
    driver *d = p->d;
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        int t = threads > 1 ? threads_id() : 0;
        worker *w = &d->worker[t];
        if (worker_begin(p, w)) run_some(p, w, t, threads, pieces);
    }
    la_serial_end(threads);
    note_seen(p, pieces, threads);
}

/* How a thread or a rank ended a pass: numbers that broke down can be tried again elsewhere, anything worse ends the run. */
enum { FLAG_NUMBERS = 1, FLAG_OTHER };

static int flag_of(anygp_status status)
{
    return !ANYGP_FAILED(status) ? 0 : status == ANYGP_ERR_NUMERIC ? FLAG_NUMBERS : FLAG_OTHER;
}

/* The worst status of this rank's threads, and the error of the first of those; after the sums each rank has a flag. */
static int raise_flag(const pass *p, int threads, anygp_error *said)
{
    int worst = 0;
    for (int t = 0; t < threads; t++) {
        const worker *w = &p->d->worker[t];
        if (flag_of(w->status) <= worst) continue;
        worst = flag_of(w->status);
        *said = w->error;
    }
    return worst;
}

/* out = scale times the sum over threads, in their order, (added to out with `more`). */
static void add_workers(const pass *p, int threads, double scale, bool more, double *out)
{
    const driver *d = p->d;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < p->size; i++) {
        double sum = d->worker[0].sum[i];
        for (int t = 1; t < threads; t++) sum += d->worker[t].sum[i];
        out[i] = scale * sum + (more ? out[i] : 0);
    }
}

/* From the summed flags, the same on every rank: a rank that returned alone would leave the others waiting. */
static anygp_status agree(const pass *p, const double *flags, anygp_error *said, anygp_error *e)
{
    const comm *c = p->d->comm;
    for (int flag = FLAG_OTHER; flag > 0; flag--)
        for (int rank = 0; rank < c->size; rank++) {
            if (flags[rank] != flag) continue;
            TRY(c->broadcast(c->ctx, rank, sizeof *said, said, e));
            return fail_with(e, said->status, "%s", said->text);
        }
    return ANYGP_OK;
}

/* On one thread in one process: straight into out, without copies of M^2 numbers. */
static anygp_status run_alone(pass *p, int64_t pieces, double scale, bool more, double *out, anygp_error *e)
{
    worker *w = &p->d->worker[0];
    double *own = w->sum;
    int former = la_threads(1);
    if (!more) memset(out, 0, (size_t)p->size * sizeof *out);
    w->sum = out, w->status = ANYGP_OK, w->done = 0;
    run_some(p, w, 0, 1, pieces);
    w->sum = own;
    note_seen(p, pieces, 1);
    la_threads(former);
    if (ANYGP_FAILED(w->status)) return fail_with(e, w->status, "%s", w->error.text);
    if (scale != 1) la_scale(p->size, scale, out);
    return ANYGP_OK;
}

/* Over ranks: sums and flags in one message. */
static anygp_status add_ranks(pass *p, int threads, double scale, bool more, double *out, anygp_error *e)
{
    const comm *c = p->d->comm;
    anygp_error said = {0};
    double *sum = mem_zeroed(p->size + c->size, sizeof *sum);
    if (!sum) return fail_memory(e, "the sums", 8.0 * (double)p->size);
    int flag = raise_flag(p, threads, &said);
    sum[p->size + c->rank] = flag;
    if (!flag) add_workers(p, threads, 1, false, sum);
    anygp_status status = c->sum(c->ctx, p->size + c->size, sum, e);
    if (!ANYGP_FAILED(status)) status = agree(p, sum + p->size, &said, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < p->size; i++) out[i] = scale * sum[i] + (more ? out[i] : 0);
    free(sum);
    return status;
}

static anygp_status run_threads(pass *p, int64_t pieces, int threads, double scale, bool more, double *out,
                                anygp_error *e)
{
    anygp_error said = {0};
    worker *first = &p->d->worker[0];
    double *own = first->sum;
    int64_t own_size = first->sum_size;
    bool straight = p->d->comm->size == 1 && !more; /* the first thread's sums need no place of their own */
    if (straight) first->sum = out, first->sum_size = p->size;
    run_pieces(p, pieces, threads);
    if (p->d->comm->size > 1) return add_ranks(p, threads, scale, more, out, e);
    anygp_status status = ANYGP_OK;
    if (raise_flag(p, threads, &said)) status = fail_with(e, said.status, "%s", said.text);
    if (!ANYGP_FAILED(status)) add_workers(p, threads, scale, more, out);
    if (straight) first->sum = own, first->sum_size = own_size;
    return status;
}

/* more: adds to out. */
static anygp_status run(pass *p, double scale, bool more, double *out, anygp_error *e)
{
    driver *d = p->d;
    const comm *c = d->comm;
    int64_t mine = (p->count - c->rank + c->size - 1) / c->size;
    int threads = d->workers < threads_max() ? d->workers : threads_max();
    double work = (double)mine * d->model->work(p->shared, d->blocks->largest);
    p->mine = mine, p->together = d->model->stat_together ? LANES : 1;
    int64_t pieces = (mine + p->together - 1) / p->together;
    if (c->size == 1 && (work < SMALL || threads == 1) && (scale == 1 || !more))
        return run_alone(p, pieces, scale, more, out, e);
    p->cuts = d->model->rows_alone && mine < 2 * threads && threads > 1 ? threads : 1;
    pieces *= p->cuts;
    if (pieces < threads) threads = 1; /* blocks one after the other, threads for BLAS */
    return run_threads(p, pieces, threads, scale, more, out, e);
}

anygp_status driver_stat(driver *d, const void *shared, int64_t count, const int64_t *which, double scale, double *stat,
                         anygp_error *e)
{
    pass p = {d, shared, false, which ? count : d->blocks->count, which, d->model->stat_size(shared), 1, 1, 0};
    return run(&p, scale, false, stat, e);
}

anygp_status driver_stat_more(driver *d, const void *shared, int64_t count, const int64_t *which, double scale,
                              double *stat, anygp_error *e)
{
    pass p = {d, shared, false, which ? count : d->blocks->count, which, d->model->stat_size(shared), 1, 1, 0};
    return run(&p, scale, true, stat, e);
}

anygp_status driver_reverse(driver *d, const void *shared, int64_t count, const int64_t *which, double scale,
                            double *adjoint, anygp_error *e)
{
    pass p = {d, shared, true, which ? count : d->blocks->count, which, d->model->adjoint_size(shared), 1, 1, 0};
    return run(&p, scale, false, adjoint, e);
}
