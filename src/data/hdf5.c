/* HDF5 files, read by libhdf5 in a worker (base/worker.h): a damaged file may crash the library, and the end of the worker is
   a sentence.  hdf5_file.c is what runs there.  Numbers come through the worker's window, a block of rows at a time; while the
   caller works on one, the worker reads the next. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/worker.h"
#include "data/hdf5_file.h"

/* The window has room for two blocks.  One should stay in the processor's cache between the two processes; a row of the widest
   table has to fit. */
enum { BLOCK_BYTES = 1 << 19, ROOM_BYTES = 1 << 25, WINDOW_BYTES = 2 * ROOM_BYTES };

typedef enum question { ASK_TABLE, ASK_NAMES, ASK_ROWS } question;

/* Rows first .. first+n-1 in one half of the window. */
typedef struct row_block {
    int64_t first, n;
    int room;
} row_block;

typedef struct hdf5_state {
    worker *worker;
    int64_t place;
    row_block here; /* its rows are in the window */
    row_block due;  /* asked for in advance; n = 0: nothing was */
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

static void serve_rows(const served *s, worker_message *m, char *window)
{
    void *rows = window + m->number[2] * ROOM_BYTES;
    m->number[0] = hdf5_file_rows(s->file, m->number[0], m->number[1], rows, s->r->cols);
}

static void serve(void *ctx, worker_message *m, void *window)
{
    served *s = ctx;
    switch ((question)m->what) {
    case ASK_TABLE: serve_table(s, m); break;
    case ASK_NAMES: serve_names(s, m, window); break;
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

/* ------------------------------------------------------------------------------------------------- rows */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static anygp_status request(reader *r, int64_t first, int64_t n, anygp_error *e)
{
    hdf5_state *h = r->state;
    h->due = (row_block){first, least(n, r->rows - first), 1 - h->here.room};
    if (h->due.n == 0) return ANYGP_OK;
    worker_message m = {.what = ASK_ROWS, .number = {first, h->due.n, h->due.room}};
    return worker_send(h->worker, &m) ? ANYGP_OK : lost(r, e);
}

/* What was asked for is here. */
static anygp_status arrive(reader *r, anygp_error *e)
{
    hdf5_state *h = r->state;
    row_block b = h->due;
    worker_message m;
    h->due.n = h->here.n = 0;
    TRY(answer(r, &m, e));
    if (m.number[0] != 1)
        return fail_with(e, ANYGP_ERR_DATA, "rows %lld to %lld of %s cannot be read; the file is damaged",
                         (long long)b.first + 1, (long long)(b.first + b.n), input_name(r->in));
    h->here = b;
    return ANYGP_OK;
}

/* What was asked for in advance and is not wanted.  A failure of it is nobody's concern. */
static void drain(reader *r)
{
    hdf5_state *h = r->state;
    worker_message m;
    if (h->due.n > 0) worker_receive(h->worker, &m, &r->stop);
    h->due.n = 0;
}

/* A block that begins with the row at the place.  Rows out of order are read as they are asked for; who goes on where he
   stopped gets a whole block, and the next one is asked for in advance. */
static anygp_status fetch_block(reader *r, int64_t max_rows, anygp_error *e)
{
    hdf5_state *h = r->state;
    int64_t block = BLOCK_BYTES / (8 * r->cols) + 1;
    bool onward = h->here.n > 0 && h->place == h->here.first + h->here.n;
    TRY(stop_check(&r->stop, e));
    if (h->due.n == 0 || h->due.first != h->place) {
        drain(r);
        TRY(request(r, h->place, onward ? block : least(block, max_rows), e));
    }
    TRY(arrive(r, e));
    return onward ? request(r, h->place + h->here.n, block, e) : ANYGP_OK;
}

static anygp_status hdf5_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    hdf5_state *h = r->state;
    *got = 0;
    if (max_rows == 0 || h->place == r->rows) return ANYGP_OK;
    if (h->place < h->here.first || h->place >= h->here.first + h->here.n) TRY(fetch_block(r, max_rows, e));
    const double *room = (const double *)((const char *)worker_window(h->worker) + h->here.room * (size_t)ROOM_BYTES);
    *got = least(max_rows, h->here.first + h->here.n - h->place);
    memcpy(rows, room + (h->place - h->here.first) * r->cols, (size_t)(*got * r->cols) * sizeof *rows);
    h->place += *got;
    return ANYGP_OK;
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
    free(h);
}

static bool hdf5_sniff(const unsigned char *head, size_t n) { return n >= 8 && !memcmp(head, "\x89HDF\r\n\x1a\n", 8); }

static const char *const endings[] = {".h5", ".hdf5", ".hdf", NULL};
const format format_hdf5 = {"hdf5",     endings, hdf5_sniff,    hdf5_open, hdf5_next,
                            hdf5_close, true,    hdf5_can_seek, hdf5_seek};
