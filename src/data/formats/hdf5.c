/* HDF5 files, read by libhdf5 in a worker (base/worker.h): a damaged file may crash the library, and the end of the worker is
   reported as an error.  hdf5_file.c is what runs there.  Numbers come through the worker's window, a block of rows at a time; while the
   caller works on one, the worker reads the next.  Numbers stored in the file as they are in memory are read directly, once the
   worker has said where they are (hdf5_plain.h). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/worker.h"
#include "data/formats/hdf5_file.h"
#include "data/formats/hdf5_plain.h"

/* The window has two halves, each for the rows of a batch, followed by the list of the requested runs.  A block
   should stay in the processor's cache between the two processes; a row of the widest table has to fit. */
enum { BLOCK_BYTES = 1 << 19, ROOM_BYTES = 1 << 25, RUNS_MOST = 64 };
enum { WINDOW_BYTES = 2 * ROOM_BYTES + RUNS_MOST * sizeof(row_run) };

typedef enum question { ASK_TABLE, ASK_NAMES, ASK_PLAIN, ASK_PLACES, ASK_ROWS } question;

/* Runs of rows that are requested together; they arrive one after another in one half of the window. */
typedef struct batch {
    row_run run[RUNS_MOST];
    int count; /* 0: nothing */
    int room;
} batch;

typedef struct hdf5_state {
    worker *worker;
    bool looked; /* whether the numbers are plain */
    hdf5_plain plain;
    int64_t place;
    batch here; /* its rows are in the window */
    batch due;  /* requested, and not yet arrived */
} hdf5_state;

/* ------------------------------------------------------------------------------------------ in the worker */

typedef struct served {
    reader *r; /* the worker's copy */
    const void *image;
    size_t size;
    bool follow;
    hdf5_file *file;
} served;

static void serve_table(served *s, worker_message *m)
{
    reader *r = s->r;
    hdf5_silence();
    hdf5_file_open(r, s->image, s->size, s->follow, &s->file, &m->error);
    m->number[0] = r->rows, m->number[1] = r->cols, m->number[2] = r->target, m->number[3] = r->likely_rows;
}

/* Names from column number[0] on, as many as fit: each a byte that says whether there is one, then its text and a zero. */
static void serve_names(const served *s, worker_message *m, char *window)
{
    size_t used = 0;
    int64_t j = m->number[0];
    for (; j < s->r->cols; j++) {
        const char *name = s->r->columns[j].name;
        size_t n = name ? strnlen(name, WINDOW_BYTES / 2) : 0;
        if (used + n + 2 > WINDOW_BYTES) break;
        window[used++] = name != NULL;
        if (n) memcpy(window + used, name, n);
        window[used + n] = 0;
        used += n + 1;
    }
    m->number[0] = j;
}

/* number[0] runs of the list into half number[1]. */
static void serve_rows(const served *s, worker_message *m, char *window)
{
    const row_run *run = (const row_run *)(window + 2 * ROOM_BYTES);
    double *rows = (double *)(window + m->number[1] * ROOM_BYTES);
    bool done = true;
    for (int64_t k = 0; done && k < m->number[0]; rows += run[k++].n * s->r->cols)
        done = hdf5_file_rows(s->file, run[k].first, run[k].n, rows, s->r->cols);
    m->number[0] = done;
}

/* Dataset number[0]: its columns, rows of a chunk, chunks, or no chunks; and how many datasets there are. */
static void serve_plain(const served *s, worker_message *m)
{
    int64_t k = m->number[0];
    m->number[3] = hdf5_file_sets(s->file);
    if (!hdf5_file_plain(s->file, k, &m->number[0], &m->number[1], &m->number[2])) m->number[2] = 0;
}

/* Those of chunks number[1] .. of dataset number[0], number[2] of them, each of number[3] rows. */
static void serve_places(const served *s, const worker_message *m, char *window)
{
    int64_t *place = (int64_t *)window;
    for (int64_t i = 0; i < m->number[2]; i++)
        place[i] = hdf5_file_place(s->file, m->number[0], (m->number[1] + i) * m->number[3]);
}

static void serve(void *ctx, worker_message *m, void *window)
{
    served *s = ctx;
    switch ((question)m->what) {
    case ASK_TABLE: serve_table(s, m); break;
    case ASK_NAMES: serve_names(s, m, window); break;
    case ASK_PLAIN: serve_plain(s, m); break;
    case ASK_PLACES: serve_places(s, m, window); break;
    case ASK_ROWS: serve_rows(s, m, window); break;
    }
}

/* ------------------------------------------------------------------------------------------ in the parent */

static anygp_status lost(const reader *r, anygp_error *e)
{
    const hdf5_state *h = r->state;
    const char *how = worker_loss(h->worker);
    if (!how) return fail_stopped(e);
    return fail_with(e, ANYGP_ERR_DATA, "%.200s cannot be read: the HDF5 library %s on it; the file is damaged",
                     input_name(r->in), how);
}

static anygp_status answer(const reader *r, worker_message *m, anygp_error *e)
{
    const hdf5_state *h = r->state;
    if (!worker_receive(h->worker, m, &r->stop)) return lost(r, e);
    return ANYGP_FAILED(m->error.status) ? fail_with(e, m->error.status, "%s", m->error.text) : ANYGP_OK;
}

static anygp_status ask(const reader *r, worker_message *m, anygp_error *e)
{
    const hdf5_state *h = r->state;
    return worker_send(h->worker, m) ? answer(r, m, e) : lost(r, e);
}

/* The worker may be wrong about anything once a damaged file has been at its memory. */
static anygp_status take_table(reader *r, const worker_message *m, anygp_error *e)
{
    int64_t cols = m->number[1];
    TRY(reader_make_columns(r, cols, e));
    if (m->number[0] < 0 || m->number[2] < -1 || m->number[2] >= cols || m->number[3] < 0)
        return fail_with(e, ANYGP_ERR_DATA, "%s has an impossible shape; it is damaged", input_name(r->in));
    r->rows = m->number[0], r->target = m->number[2], r->likely_rows = m->number[3];
    return ANYGP_OK;
}

/* Columns first .. end-1 from the window. */
static anygp_status take_names(reader *r, const char *window, int64_t first, int64_t end, anygp_error *e)
{
    size_t at = 0;
    for (int64_t j = first; j < end && at < WINDOW_BYTES - 1; j++) {
        bool named = window[at++];
        size_t n = strnlen(window + at, WINDOW_BYTES - at - 1);
        if (named && !(r->columns[j].name = malloc(n + 1))) return fail_memory(e, "column names", (double)n);
        if (named) memcpy(r->columns[j].name, window + at, n), r->columns[j].name[n] = 0;
        at += n + 1;
    }
    return ANYGP_OK;
}

static anygp_status ask_names(reader *r, anygp_error *e)
{
    const hdf5_state *h = r->state;
    for (int64_t done = 0; done < r->cols;) {
        worker_message m = {.what = ASK_NAMES, .number = {done}};
        TRY(ask(r, &m, e));
        if (m.number[0] <= done || m.number[0] > r->cols)
            return fail_with(e, ANYGP_ERR_DATA, "the columns of %s cannot be named; it is damaged", input_name(r->in));
        TRY(take_names(r, worker_window(h->worker), done, m.number[0], e));
        done = m.number[0];
    }
    return ANYGP_OK;
}

/* Seconds of processor time for one answer: a chunk or a list of names may be most of the file, packed a thousandfold. */
static int patience(int64_t bytes) { return bytes < 1 << 30 ? 2 + (int)(bytes >> 20) : 1024; }

static anygp_status hdf5_open(reader *r, const read_options *o, anygp_error *e)
{
    served s = {.r = r, .follow = o->follow};
    worker_message m = {.what = ASK_TABLE};
    hdf5_state *h = calloc(1, sizeof *h);
    if (!h) return fail_memory(e, "a reader", sizeof *h);
    r->state = h;
    if (!input_path(r->in)) TRY(input_bytes(r->in, &s.image, &s.size, e));
    worker_job job = {serve, &s, WINDOW_BYTES, patience(input_size(r->in))};
    TRY(worker_start(&job, &h->worker, e));
    TRY(ask(r, &m, e));
    TRY(take_table(r, &m, e));
    return ask_names(r, e);
}

/* ----------------------------------------------------------------------------- numbers as in memory */

enum { SETS_MOST = 4096, PLACES_AT_ONCE = 1 << 14 };

static anygp_status ask_places(const reader *r, int64_t k, plain_set *s, anygp_error *e)
{
    const hdf5_state *h = r->state;
    if (!(s->place = mem_alloc(s->chunks, sizeof *s->place)))
        return fail_memory(e, "a reader", 8.0 * (double)s->chunks);
    for (int64_t i = 0; i < s->chunks; i += PLACES_AT_ONCE) {
        int64_t n = s->chunks - i < PLACES_AT_ONCE ? s->chunks - i : PLACES_AT_ONCE;
        worker_message m = {.what = ASK_PLACES, .number = {k, i, n, s->rows}};
        TRY(ask(r, &m, e));
        memcpy(s->place + i, worker_window(h->worker), (size_t)n * sizeof *s->place);
    }
    return ANYGP_OK;
}

/* *plain: all datasets are. */
static anygp_status ask_sets(const reader *r, plain_set **set, int64_t *count, bool *plain, anygp_error *e)
{
    int64_t cols = 0;
    *plain = true;
    for (int64_t k = 0; *plain && (k == 0 || k < *count); k++) {
        worker_message m = {.what = ASK_PLAIN, .number = {k}};
        TRY(ask(r, &m, e));
        if (k == 0) {
            *count = m.number[3] > 0 && m.number[3] <= SETS_MOST ? m.number[3] : 0;
            if (!(*set = mem_zeroed(*count, sizeof **set))) return fail_memory(e, "a reader", (double)*count);
        }
        plain_set s = {.cols = m.number[0], .rows = m.number[1], .chunks = m.number[2]};
        *plain = *count > 0 && s.cols > 0 && s.cols <= r->cols - cols && s.rows > 0 && s.chunks > 0 &&
                 s.chunks <= PLAIN_CHUNKS_MOST && s.chunks == (r->rows - 1) / s.rows + 1;
        if (!*plain) break;
        (*set)[k] = s, cols += s.cols;
        TRY(ask_places(r, k, &(*set)[k], e));
    }
    *plain = *plain && cols == r->cols;
    return ANYGP_OK;
}

/* Once, before the first rows; from then on the worker is not needed. */
static anygp_status look_for_plain(reader *r, anygp_error *e)
{
    hdf5_state *h = r->state;
    plain_set *set = NULL;
    int64_t count = 0;
    bool plain = false;
    h->looked = true;
    if (!input_path(r->in)) return ANYGP_OK;
    anygp_status status = ask_sets(r, &set, &count, &plain, e);
    if (ANYGP_FAILED(status) || !plain || !hdf5_plain_open(&h->plain, input_path(r->in), count, set, r->rows)) {
        if (ANYGP_FAILED(status) || !plain) plain_sets_free(set, count);
        return status;
    }
    worker_end(h->worker);
    h->worker = NULL;
    return ANYGP_OK;
}

static anygp_status read_plain(reader *r, int64_t n, double *rows, anygp_error *e)
{
    hdf5_state *h = r->state;
    TRY(stop_check(&r->stop, e));
    if (!hdf5_plain_rows(&h->plain, h->place, n, rows, r->cols)) return input_cut_short(r->in, e);
    h->place += n;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- rows */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Asks for h->due. */
static anygp_status request(reader *r, anygp_error *e)
{
    hdf5_state *h = r->state;
    h->due.room = 1 - h->here.room;
    worker_message m = {.what = ASK_ROWS, .number = {h->due.count, h->due.room}};
    memcpy((char *)worker_window(h->worker) + 2 * ROOM_BYTES, h->due.run, (size_t)h->due.count * sizeof *h->due.run);
    return worker_send(h->worker, &m) ? ANYGP_OK : lost(r, e);
}

static anygp_status request_run(reader *r, int64_t first, int64_t n, anygp_error *e)
{
    hdf5_state *h = r->state;
    row_run run = {first, least(n, r->rows - first)};
    if (run.n == 0) return ANYGP_OK;
    h->due.run[0] = run, h->due.count = 1;
    return request(r, e);
}

/* What was requested has arrived. */
static anygp_status arrive(reader *r, anygp_error *e)
{
    hdf5_state *h = r->state;
    worker_message m;
    int count = h->due.count;
    h->due.count = h->here.count = 0;
    TRY(answer(r, &m, e));
    if (m.number[0] != 1)
        return fail_with(e, ANYGP_ERR_DATA,
                         "row %lld of %s, or one of the next to be read, cannot be read; the file is damaged",
                         (long long)h->due.run[0].first + 1, input_name(r->in));
    h->here = h->due, h->here.count = count;
    return ANYGP_OK;
}

/* What was requested in advance and is not needed.  A failure of it does not matter. */
static void drain(reader *r)
{
    hdf5_state *h = r->state;
    worker_message m;
    if (h->due.count > 0) worker_receive(h->worker, &m, &r->stop);
    h->due.count = 0;
}

/* The run of a batch that has row `row`; its cells in the window; NULL: none. */
static const row_run *run_with(const hdf5_state *h, int64_t cols, const batch *b, int64_t row, const double **cells)
{
    const double *at = (const double *)((const char *)worker_window(h->worker) + b->room * (size_t)ROOM_BYTES);
    for (int k = 0; k < b->count; at += b->run[k++].n * cols)
        if (row >= b->run[k].first && row < b->run[k].first + b->run[k].n) {
            *cells = at + (row - b->run[k].first) * cols;
            return &b->run[k];
        }
    return NULL;
}

/* A block that begins with the row at the place.  Rows out of order are read as requested; a caller who continues
   where he stopped gets a whole block, and the next one is requested in advance. */
static anygp_status fetch_block(reader *r, int64_t max_rows, anygp_error *e)
{
    hdf5_state *h = r->state;
    const row_run *last = h->here.run;
    int64_t block = BLOCK_BYTES / (8 * r->cols) + 1;
    bool onward = h->here.count == 1 && h->place == last->first + last->n;
    TRY(stop_check(&r->stop, e));
    if (h->due.count != 1 || h->due.run[0].first != h->place) {
        drain(r);
        TRY(request_run(r, h->place, onward ? block : least(block, max_rows), e));
    }
    TRY(arrive(r, e));
    return onward ? request_run(r, h->place + h->here.run[0].n, block, e) : ANYGP_OK;
}

static anygp_status hdf5_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    hdf5_state *h = r->state;
    const double *cells;
    *got = 0;
    if (max_rows == 0 || h->place == r->rows) return ANYGP_OK;
    if (!h->looked) TRY(look_for_plain(r, e));
    if (h->plain.set) return *got = least(max_rows, r->rows - h->place), read_plain(r, *got, rows, e);
    const row_run *run = run_with(h, r->cols, &h->here, h->place, &cells);
    if (!run) {
        TRY(fetch_block(r, max_rows, e));
        run = run_with(h, r->cols, &h->here, h->place, &cells);
    }
    *got = least(max_rows, run->first + run->n - h->place);
    memcpy(rows, cells, (size_t)(*got * r->cols) * sizeof *rows);
    h->place += *got;
    return ANYGP_OK;
}

/* As many runs as fit in one half and are in the file.  A single one is left to next(). */
static anygp_status hdf5_expect(reader *r, int count, const row_run *runs, int *prepared, anygp_error *e)
{
    hdf5_state *h = r->state;
    int64_t room = ROOM_BYTES / (8 * r->cols); /* rows */
    int k = 0;
    if (count > RUNS_MOST) count = RUNS_MOST;
    while (k < count && runs[k].n <= room && runs[k].n <= r->rows - runs[k].first) room -= runs[k++].n;
    if (!h->looked) TRY(look_for_plain(r, e));
    *prepared = h->plain.set ? count : k > 1 ? k : 1;
    if (h->plain.set || k < 2) return ANYGP_OK;
    TRY(stop_check(&r->stop, e));
    drain(r);
    memcpy(h->due.run, runs, (size_t)k * sizeof *runs);
    h->due.count = k;
    TRY(request(r, e));
    return arrive(r, e);
}

static bool hdf5_can_seek(const reader *r)
{
    (void)r;
    return true;
}

static void hdf5_seek(reader *r, int64_t row) { ((hdf5_state *)r->state)->place = row; }

static void hdf5_close(reader *r)
{
    hdf5_state *h = r->state;
    if (!h) return;
    worker_end(h->worker);
    hdf5_plain_clear(&h->plain);
    free(h);
}

static const char *const endings[] = {".h5", ".hdf5", ".hdf", NULL};
const format format_hdf5 = {"hdf5",     endings, hdf5_sniff,    hdf5_open, hdf5_next,
                            hdf5_close, true,    hdf5_can_seek, hdf5_seek, hdf5_expect};
