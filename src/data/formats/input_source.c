/* The sources without arithmetic: a file descriptor, a block of memory, a slice of another input. */
#include "data/formats/input_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

/* -------------------------------------------------------------------------------------------- memory */

typedef struct memory_state {
    const char *bytes;
    void *owned; /* freed on close; NULL where the caller keeps the bytes */
    int64_t place;
} memory_state;

static anygp_status memory_read_at(input *in, int64_t offset, void *to, size_t n, size_t *got, anygp_error *e)
{
    (void)e;
    const memory_state *m = in->state;
    size_t left = offset >= 0 && offset < in->size ? (size_t)(in->size - offset) : 0;
    *got = n < left ? n : left;
    if (*got) memcpy(to, m->bytes + offset, *got);
    return ANYGP_OK;
}

static anygp_status memory_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    memory_state *m = in->state;
    TRY(memory_read_at(in, m->place, to, n, got, e));
    m->place += (int64_t)*got;
    return ANYGP_OK;
}

static anygp_status memory_rewind(input *in, anygp_error *e)
{
    (void)e;
    ((memory_state *)in->state)->place = 0;
    return ANYGP_OK;
}

static void memory_close(input *in)
{
    memory_state *m = in->state;
    if (m) free(m->owned);
    free(m);
    in->state = NULL;
}

const input_source source_memory = {memory_read, memory_rewind, memory_read_at, memory_close, NULL};

anygp_status memory_attach(input *in, const void *bytes, size_t size, void *owned, anygp_error *e)
{
    in->source = &source_memory;
    memory_state *m = in->state = malloc(sizeof *m);
    if (!m) {
        free(owned);
        return fail_memory(e, "a reader", sizeof *m);
    }
    *m = (memory_state){.bytes = bytes, .owned = owned};
    in->size = (int64_t)size;
    return ANYGP_OK;
}

const void *memory_bytes(const input *in) { return ((const memory_state *)in->state)->bytes; }

/* --------------------------------------------------------------------------------------------- slice */

typedef struct slice_state {
    input *base; /* not owned */
    int64_t offset, place;
} slice_state;

static anygp_status slice_read_at(input *in, int64_t offset, void *to, size_t n, size_t *got, anygp_error *e)
{
    const slice_state *s = in->state;
    int64_t left = offset >= 0 && offset < in->size ? in->size - offset : 0;
    if ((uint64_t)left < n) n = (size_t)left;
    *got = n;
    return n ? input_read_at(s->base, s->offset + offset, to, n, e) : ANYGP_OK;
}

static anygp_status slice_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    slice_state *s = in->state;
    TRY(slice_read_at(in, s->place, to, n, got, e));
    s->place += (int64_t)*got;
    return ANYGP_OK;
}

static anygp_status slice_rewind(input *in, anygp_error *e)
{
    (void)e;
    ((slice_state *)in->state)->place = 0;
    return ANYGP_OK;
}

static void slice_close(input *in)
{
    free(in->state);
    in->state = NULL;
}

const input_source source_slice = {slice_read, slice_rewind, slice_read_at, slice_close, NULL};

anygp_status slice_attach(input *in, input *base, int64_t offset, int64_t size, anygp_error *e)
{
    in->source = &source_slice;
    slice_state *s = in->state = malloc(sizeof *s);
    if (!s) return fail_memory(e, "a reader", sizeof *s);
    *s = (slice_state){.base = base, .offset = offset};
    in->size = size;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------------- file */

typedef struct file_state {
    int fd;
    char *path;     /* NULL for standard input */
    int64_t origin; /* where the input begins: standard input may be redirected from the middle of a file */
    int64_t place;
} file_state;

/* In one call: what a slow disk reads in less than a second.  If nothing arrives, stop is asked this often. */
enum { READ_MOST = 1 << 24, POLL_MS = 100 };

static anygp_status read_failed(const input *in, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "%s cannot be read: %s", in->name, strerror(errno));
}

static anygp_status file_read_at(input *in, int64_t offset, void *to, size_t n, size_t *got, anygp_error *e)
{
    const file_state *f = in->state;
    ssize_t k;
    TRY(stop_check(&in->stop, e));
    do k = pread(f->fd, to, n < READ_MOST ? n : READ_MOST, f->origin + offset);
    while (k < 0 && errno == EINTR);
    if (k < 0) return read_failed(in, e);
    *got = (size_t)k;
    return ANYGP_OK;
}

static anygp_status file_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    file_state *f = in->state;
    TRY(file_read_at(in, f->place, to, n, got, e));
    f->place += (int64_t)*got;
    return ANYGP_OK;
}

static anygp_status pipe_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    const file_state *f = in->state;
    struct pollfd p = {.fd = f->fd, .events = POLLIN};
    ssize_t k;
    do TRY(stop_check(&in->stop, e));
    while (in->stop.asked && poll(&p, 1, POLL_MS) <= 0);
    do k = read(f->fd, to, n < READ_MOST ? n : READ_MOST);
    while (k < 0 && errno == EINTR);
    if (k < 0) return read_failed(in, e);
    *got = (size_t)k;
    return ANYGP_OK;
}

static bool pipe_ready(const input *in)
{
    struct pollfd p = {.fd = ((const file_state *)in->state)->fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static anygp_status file_rewind(input *in, anygp_error *e)
{
    (void)e;
    ((file_state *)in->state)->place = 0;
    return ANYGP_OK;
}

static void file_close(input *in)
{
    file_state *f = in->state;
    if (!f) return;
    if (f->fd > 0) close(f->fd);
    free(f->path);
    free(f);
    in->state = NULL;
}

const input_source source_file = {file_read, file_rewind, file_read_at, file_close, NULL};
static const input_source source_pipe = {pipe_read, NULL, NULL, file_close, pipe_ready};

const char *file_path(const input *in) { return ((const file_state *)in->state)->path; }

static anygp_status file_measure(input *in, anygp_error *e)
{
    file_state *f = in->state;
    struct stat st;
    if (fstat(f->fd, &st)) return read_failed(in, e);
    if (S_ISDIR(st.st_mode)) return fail_with(e, ANYGP_ERR_FILE, "%s is a directory; name a data file in it", in->name);
    if (!S_ISREG(st.st_mode)) {
        in->source = &source_pipe;
        return ANYGP_OK;
    }
    if (!f->path) f->origin = lseek(f->fd, 0, SEEK_CUR);
    if (f->origin < 0) f->origin = 0;
    in->size = st.st_size > f->origin ? st.st_size - f->origin : 0;
    return ANYGP_OK;
}

anygp_status file_attach(input *in, const char *path, anygp_error *e)
{
    in->source = &source_file;
    file_state *f = in->state = calloc(1, sizeof *f);
    if (!f) return fail_memory(e, "a reader", sizeof *f);
    if (strcmp(path, "-")) {
        if (!(f->path = mem_strdup(path))) return fail_memory(e, "a path", (double)strlen(path));
        f->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (f->fd < 0 && errno == EINTR) TRY(stop_check(&in->stop, e)); /* a pipe without a writer */
        if (f->fd < 0) return fail_with(e, ANYGP_ERR_FILE, "%s cannot be opened: %s", path, strerror(errno));
    }
    return file_measure(in, e);
}
