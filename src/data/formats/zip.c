/* A zip file is read from its end: the end record points at the central directory, whose entries point at local
   heads, behind which the data lies.  In zip64 files the 32-bit fields that overflow hold all ones and the real ones
   stand in a second end record and in an extra field of the entry.  Every offset is checked against the file. */
#include "data/formats/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    END_SIZE = 22,
    END_SEARCH = END_SIZE + 65535, /* a comment may follow it */
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    DIRECTORY_MOST = 1 << 26,
    FLAG_ENCRYPTED = 1,
    STORED = 0,
    DEFLATED = 8,
    EXTRA_ZIP64 = 1
};

static const uint32_t ones32 = 0xffffffff;

static uint64_t number_at(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static anygp_status damaged(const input *in, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "%s is not a zip file, or it is damaged or cut short; create or copy it again",
                     input_name(in));
}

/* ---------------------------------------------------------------------------------------- end records */

typedef struct directory {
    uint64_t offset, size;
} directory;

static anygp_status read_end64(input *in, int64_t end, directory *d, anygp_error *e)
{
    unsigned char b[END64_SIZE];
    if (end < LOCATOR_SIZE) return damaged(in, e);
    TRY(input_read_at(in, end - LOCATOR_SIZE, b, LOCATOR_SIZE, e));
    uint64_t at = number_at(b + 8, 8);
    if (memcmp(b, "PK\6\7", 4) || at > (uint64_t)end) return damaged(in, e);
    TRY(input_read_at(in, (int64_t)at, b, END64_SIZE, e));
    if (memcmp(b, "PK\6\6", 4)) return damaged(in, e);
    *d = (directory){.size = number_at(b + 40, 8), .offset = number_at(b + 48, 8)};
    return ANYGP_OK;
}

/* The last place where an end record whose comment reaches the end of the file begins. */
static const unsigned char *find_end(const unsigned char *tail, int64_t n)
{
    for (int64_t i = n - END_SIZE; i >= 0; i--)
        if (!memcmp(tail + i, "PK\5\6", 4) && (int64_t)number_at(tail + i + 20, 2) <= n - END_SIZE - i) return tail + i;
    return NULL;
}

static anygp_status find_directory(input *in, directory *d, anygp_error *e)
{
    int64_t size = input_size(in), n = size < END_SEARCH ? size : END_SEARCH;
    unsigned char *tail = mem_alloc(n, 1);
    if (!tail) return fail_memory(e, "the end of a zip file", (double)n);
    anygp_status status = input_read_at(in, size - n, tail, (size_t)n, e);
    const unsigned char *end = ANYGP_FAILED(status) ? NULL : find_end(tail, n);
    if (end) {
        *d = (directory){.size = number_at(end + 12, 4), .offset = number_at(end + 16, 4)};
        bool zip64 = number_at(end + 10, 2) == 0xffff || d->size == ones32 || d->offset == ones32;
        if (zip64) status = read_end64(in, size - n + (end - tail), d, e);
    } else if (!ANYGP_FAILED(status)) {
        status = damaged(in, e);
    }
    free(tail);
    if (!ANYGP_FAILED(status) && (d->offset > (uint64_t)size || d->size > (uint64_t)size - d->offset))
        status = damaged(in, e);
    return status;
}

/* -------------------------------------------------------------------------------------------- entries */

/* The fields that are all ones, in the fixed order: size, packed size, offset. */
static bool take_zip64(const unsigned char *extra, size_t n, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
    uint64_t *fields[] = {size, packed, offset};
    while (n >= 4) {
        size_t id = number_at(extra, 2), length = number_at(extra + 2, 2), used = 0;
        if (length > n - 4) return false;
        for (int k = 0; id == EXTRA_ZIP64 && k < 3; k++) {
            if (*fields[k] != ones32) continue;
            if (length - used < 8) return false;
            *fields[k] = number_at(extra + 4 + used, 8);
            used += 8;
        }
        extra += 4 + length;
        n -= 4 + length;
    }
    return true;
}

/* The entry at p, of at most `left` bytes; returns its length, 0 if it is damaged or memory is out. */
static size_t scan_entry(const unsigned char *p, size_t left, int64_t file_size, zip_entry *z)
{
    if (left < ENTRY_SIZE || memcmp(p, "PK\1\2", 4)) return 0;
    size_t name = number_at(p + 28, 2), extra = number_at(p + 30, 2), comment = number_at(p + 32, 2);
    size_t length = ENTRY_SIZE + name + extra + comment;
    if (length > left) return 0;
    uint64_t packed = number_at(p + 20, 4), size = number_at(p + 24, 4), offset = number_at(p + 42, 4);
    if (!take_zip64(p + ENTRY_SIZE + name, extra, &size, &packed, &offset)) return 0;
    if (packed > (uint64_t)file_size || offset > (uint64_t)file_size) return 0;
    *z = (zip_entry){.offset = (int64_t)offset, .packed = (int64_t)packed};
    z->flags = (unsigned)number_at(p + 8, 2);
    z->method = (unsigned)number_at(p + 10, 2);
    if (!(z->name = malloc(name + 1))) return 0;
    memcpy(z->name, p + ENTRY_SIZE, name);
    z->name[name] = 0;
    return length;
}

static anygp_status scan_directory(input *in, const unsigned char *p, size_t n, zip_entry **entries, int64_t *count,
                                   anygp_error *e)
{
    zip_entry *list = mem_zeroed((int64_t)(n / ENTRY_SIZE) + 1, sizeof *list);
    if (!list) return fail_memory(e, "the directory of a zip file", (double)n);
    *entries = list;
    for (*count = 0; n > 0; ++*count) {
        size_t length = scan_entry(p, n, input_size(in), &list[*count]);
        if (length == 0) return damaged(in, e);
        p += length;
        n -= length;
    }
    return ANYGP_OK;
}

anygp_status zip_list(input *in, zip_entry **entries, int64_t *count, anygp_error *e)
{
    directory d = {0};
    *entries = NULL;
    *count = 0;
    TRY(find_directory(in, &d, e));
    if (d.size > DIRECTORY_MOST) return damaged(in, e);
    unsigned char *bytes = mem_alloc((int64_t)d.size, 1);
    if (!bytes) return fail_memory(e, "the directory of a zip file", (double)d.size);
    anygp_status status = input_read_at(in, (int64_t)d.offset, bytes, d.size, e);
    if (!ANYGP_FAILED(status)) status = scan_directory(in, bytes, d.size, entries, count, e);
    free(bytes);
    return status;
}

anygp_status zip_open(input *in, const zip_entry *z, const char *name, input **out, anygp_error *e)
{
    unsigned char b[LOCAL_SIZE];
    *out = NULL;
    if ((z->flags & FLAG_ENCRYPTED) || (z->method != STORED && z->method != DEFLATED))
        return fail_with(e, ANYGP_ERR_DATA, "%s is encrypted or packed in an unusual way; save it with numpy.savez",
                         name);
    TRY(input_read_at(in, z->offset, b, LOCAL_SIZE, e));
    if (memcmp(b, "PK\3\4", 4)) return damaged(in, e);
    int64_t at = z->offset + LOCAL_SIZE + (int64_t)number_at(b + 26, 2) + (int64_t)number_at(b + 28, 2);
    if (at > input_size(in) - z->packed) return damaged(in, e);
    return input_slice(in, name, at, z->packed, z->method == DEFLATED, out, e);
}

void zip_free(zip_entry *entries, int64_t count)
{
    for (int64_t k = 0; entries && k < count; k++) free(entries[k].name);
    free(entries);
}
