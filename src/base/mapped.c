/* Arrays in memory or in the pages of a scratch file.  What mapped_free() has to know lies before the array: on the heap in MEM_ALIGN
   bytes of their own, in a file at the end of its first page. */
#define _GNU_SOURCE /* madvise */
#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"

typedef struct label {
    void *begin;  /* what was allocated or mapped, */
    size_t bytes; /* and how much of it; 0: on the heap */
} label;

enum { HUGE_PAGE = 1 << 21, HUGE_LEAST = 2 * HUGE_PAGE };

_Static_assert(sizeof(label) <= MEM_ALIGN, "a label has its place before the array");

static label *label_of(void *p) { return (label *)(void *)((char *)p - MEM_ALIGN); }

static void *place(void *begin, size_t before, size_t bytes)
{
    char *p = (char *)begin + before;
    *label_of(p) = (label){begin, bytes};
    return p;
}

/* Pages of 2 MB, where the system has them: steps that touch 500 bytes here and there among gigabytes then seldom wait for the place of a
   page, and there are fewer of them to be made at first. */
static void *huge_alloc(size_t bytes)
{
    size_t rounded = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *begin = aligned_alloc(HUGE_PAGE, rounded);
#ifdef MADV_HUGEPAGE
    if (begin) madvise(begin, rounded, MADV_HUGEPAGE);
#endif
    return begin;
}

static anygp_status on_heap(size_t bytes, const char *what, void **out, anygp_error *e)
{
    size_t all = bytes + MEM_ALIGN;
    void *begin = all < HUGE_LEAST ? mem_alloc((int64_t)all, 1) : huge_alloc(all);
    if (!begin) return fail_memory(e, what, (double)bytes);
    memset(begin, 0, all);
    *out = place(begin, MEM_ALIGN, 0);
    return ANYGP_OK;
}

/* Without the reservation a full disk would show as a signal, at the first touch of a page that has no place. */
static int reserve(int fd, size_t bytes)
{
    int why;
    do why = posix_fallocate(fd, 0, (off_t)bytes);
    while (why == EINTR);
    return why;
}

static anygp_status no_room(const char *what, size_t bytes, int why, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE,
                     "%s: a scratch file of %.3g GB cannot be made in %.200s: %s; name a directory on a larger disk in "
                     "TMPDIR, or give more --memory",
                     what, (double)bytes / 1e9, temporary_directory(), strerror(why));
}

static anygp_status in_file(size_t bytes, const char *what, void **out, anygp_error *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = page + bytes;
    int fd = temporary_nameless(), why = fd < 0 ? errno : reserve(fd, all);
    void *begin = why ? MAP_FAILED : mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!why && begin == MAP_FAILED) why = errno;
    if (fd >= 0) close(fd); /* the pages hold it */
    if (why) return no_room(what, all, why, e);
    *out = place(begin, page, all);
    return ANYGP_OK;
}

anygp_status mapped_alloc(bool on_disk, int64_t count, size_t size, const char *what, void **out, anygp_error *e)
{
    size_t bytes;
    *out = NULL;
    if (!size_mul(count, (int64_t)size, &bytes)) return fail_memory(e, what, (double)count * (double)size);
    return on_disk ? in_file(bytes, what, out, e) : on_heap(bytes, what, out, e);
}

anygp_status mapped_doubles(bool on_disk, int64_t rows, int64_t cols, const char *what, double **out, anygp_error *e)
{
    size_t count;
    void *p = NULL;
    *out = NULL;
    if (!size_mul(rows, cols, &count)) return fail_memory(e, what, 8.0 * (double)rows * (double)cols);
    TRY(mapped_alloc(on_disk, (int64_t)count, sizeof **out, what, &p, e));
    *out = p;
    return ANYGP_OK;
}

anygp_status mapped_copied(bool on_disk, int64_t rows, int64_t cols, const double *from, const char *what, double **out,
                           anygp_error *e)
{
    TRY(mapped_doubles(on_disk, rows, cols, what, out, e));
    memcpy(*out, from, (size_t)(rows * cols) * sizeof **out);
    return ANYGP_OK;
}

void mapped_free(void *p)
{
    if (!p) return;
    label l = *label_of(p);
    if (l.bytes)
        munmap(l.begin, l.bytes);
    else
        free(l.begin);
}

void mapped_expect(void *p, bool scattered)
{
    const label *l = p ? label_of(p) : NULL;
    if (l && l->bytes) madvise(l->begin, l->bytes, scattered ? MADV_RANDOM : MADV_NORMAL);
}
