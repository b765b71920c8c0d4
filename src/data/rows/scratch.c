/* Records that are written out of order and read back, in memory or in a file without a name. */
#include "data/rows/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"

enum { CALL_MOST = 1 << 30 }; /* the system takes no more than 2 GiB in one call */

struct scratch {
    char *memory; /* or NULL, and then: */
    int fd;
    int64_t width;
};

static anygp_status failed(const char *what, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "a scratch file in %.200s cannot be %s: %s; name another directory in TMPDIR",
                     temporary_directory(), what, strerror(errno ? errno : EIO));
}

static anygp_status open_file(scratch *s, anygp_error *e)
{
    s->fd = temporary_nameless();
    return s->fd < 0 ? failed("made", e) : ANYGP_OK;
}

static anygp_status open_memory(scratch *s, int64_t records, anygp_error *e)
{
    s->memory = mem_alloc(records, (size_t)s->width);
    return s->memory ? ANYGP_OK : fail_memory(e, "the row list", (double)records * (double)s->width);
}

anygp_status scratch_open(bool on_disk, int64_t records, int64_t width, scratch **out, anygp_error *e)
{
    *out = NULL;
    scratch *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the row list", sizeof *s);
    s->fd = -1;
    s->width = width;
    anygp_status status = on_disk ? open_file(s, e) : open_memory(s, records, e);
    if (ANYGP_FAILED(status)) {
        scratch_free(s);
        return status;
    }
    *out = s;
    return ANYGP_OK;
}

void scratch_free(scratch *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    free(s->memory);
    free(s);
}

anygp_status scratch_write(scratch *s, int64_t at, int64_t n, const void *records, anygp_error *e)
{
    const char *from = records;
    int64_t offset = at * s->width, left = n * s->width;
    if (s->memory && left > 0) memcpy(s->memory + offset, from, (size_t)left);
    while (!s->memory && left > 0) {
        ssize_t k = pwrite(s->fd, from, (size_t)(left < CALL_MOST ? left : CALL_MOST), offset);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return failed("written", e);
        from += k, offset += k, left -= k;
    }
    return ANYGP_OK;
}

anygp_status scratch_read(const scratch *s, int64_t at, int64_t n, void *records, anygp_error *e)
{
    char *to = records;
    int64_t offset = at * s->width, left = n * s->width;
    if (s->memory && left > 0) memcpy(to, s->memory + offset, (size_t)left);
    while (!s->memory && left > 0) {
        ssize_t k = pread(s->fd, to, (size_t)(left < CALL_MOST ? left : CALL_MOST), offset);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return failed("read", e);
        to += k, offset += k, left -= k;
    }
    return ANYGP_OK;
}

const void *scratch_view(const scratch *s, int64_t at) { return s->memory + at * s->width; }
