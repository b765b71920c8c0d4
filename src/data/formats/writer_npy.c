/* NumPy's .npy, version 1.0: a head of 128 bytes with the shape, which is written again in the end when the number of
   rows is known, then little-endian doubles, row by row.  Names have no place in it. */
#include "data/formats/writer_format.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

enum { HEAD = 128, PREFIX = 10 };

static anygp_status put_head(writer *w, anygp_error *e)
{
    char head[HEAD + 1] = "\x93NUMPY\x01";
    head[8] = HEAD - PREFIX;
    int n = snprintf(head + PREFIX, HEAD - PREFIX, "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld, %lld), }",
                     (long long)w->rows, (long long)w->cols);
    memset(head + PREFIX + n, ' ', (size_t)(HEAD - PREFIX - n - 1));
    head[HEAD - 1] = '\n';
    return writer_put(w, head, HEAD, e);
}

static anygp_status npy_begin(writer *w, const char *const *names, anygp_error *e)
{
    (void)names;
    if (fseek(w->stream, 0, SEEK_CUR))
        return fail_with(e, ANYGP_ERR_FILE, "%s is not a file, and .npy cannot be written to a pipe; use .csv",
                         w->path);
    return put_head(w, e);
}

static anygp_status npy_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return writer_put(w, rows, (size_t)(n * w->cols) * sizeof *rows, e);
#else
    for (int64_t i = 0; i < n * w->cols; i++) {
        uint64_t bits;
        memcpy(&bits, rows + i, sizeof bits);
        bits = __builtin_bswap64(bits);
        TRY(writer_put(w, &bits, sizeof bits, e));
    }
    return ANYGP_OK;
#endif
}

static anygp_status npy_end(writer *w, anygp_error *e)
{
    return fseek(w->stream, 0, SEEK_SET) ? writer_failed(w, e) : put_head(w, e);
}

static void npy_close(writer *w) { (void)w; }

static const char *const endings[] = {".npy", NULL};
const writer_format writer_npy = {endings, npy_begin, npy_rows, npy_end, npy_close, false};
