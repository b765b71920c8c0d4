/* Rows of arrays stored in a file as plain numbers: .npy, the members of .npz, idx. */
#include "data/formats/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"

enum { BLOCK_BYTES = 1 << 18 };

/* -------------------------------------------------------------------------------------------- scalars */

/* Called with constant kind and size, these become one load and one conversion. */
INLINE uint64_t load(int size, bool big, const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 0; i < size; i++) v |= (uint64_t)p[i] << (big ? 8 * (size - 1 - i) : 8 * i);
    return v;
}

INLINE double as_float(uint64_t bits, int size)
{
    double d;
    float f;
    uint32_t low = (uint32_t)bits;
    if (size == 8) return memcpy(&d, &bits, sizeof d), d;
    memcpy(&f, &low, sizeof f);
    return f;
}

INLINE double as_signed(uint64_t bits, int size)
{
    int shift = 64 - 8 * size;
    return (double)((int64_t)(bits << shift) >> shift);
}

INLINE double as_double(scalar_kind kind, int size, uint64_t bits)
{
    switch (kind) {
    case SCALAR_SIGNED: return as_signed(bits, size);
    case SCALAR_FLOAT: return as_float(bits, size);
    case SCALAR_BOOL: return bits != 0;
    case SCALAR_UNSIGNED: break;
    }
    return (double)bits;
}

INLINE void decode(scalar_kind kind, int size, bool big, const unsigned char *from, int64_t n, double *to, int64_t by)
{
    if (big)
        for (int64_t i = 0; i < n; i++) to[i * by] = as_double(kind, size, load(size, true, from + i * size));
    else
        for (int64_t i = 0; i < n; i++) to[i * by] = as_double(kind, size, load(size, false, from + i * size));
}

static bool is_native_double(scalar s)
{
    return s.kind == SCALAR_FLOAT && s.size == 8 && s.big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void scalar_decode(scalar s, const unsigned char *from, int64_t n, double *to, int64_t stride)
{
    if (is_native_double(s) && stride == 1) {
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    }
    switch (16 * s.kind + (unsigned)s.size) {
    case 16 * SCALAR_SIGNED + 1: decode(SCALAR_SIGNED, 1, s.big, from, n, to, stride); break;
    case 16 * SCALAR_SIGNED + 2: decode(SCALAR_SIGNED, 2, s.big, from, n, to, stride); break;
    case 16 * SCALAR_SIGNED + 4: decode(SCALAR_SIGNED, 4, s.big, from, n, to, stride); break;
    case 16 * SCALAR_SIGNED + 8: decode(SCALAR_SIGNED, 8, s.big, from, n, to, stride); break;
    case 16 * SCALAR_UNSIGNED + 1: decode(SCALAR_UNSIGNED, 1, s.big, from, n, to, stride); break;
    case 16 * SCALAR_UNSIGNED + 2: decode(SCALAR_UNSIGNED, 2, s.big, from, n, to, stride); break;
    case 16 * SCALAR_UNSIGNED + 4: decode(SCALAR_UNSIGNED, 4, s.big, from, n, to, stride); break;
    case 16 * SCALAR_UNSIGNED + 8: decode(SCALAR_UNSIGNED, 8, s.big, from, n, to, stride); break;
    case 16 * SCALAR_FLOAT + 4: decode(SCALAR_FLOAT, 4, s.big, from, n, to, stride); break;
    case 16 * SCALAR_FLOAT + 8: decode(SCALAR_FLOAT, 8, s.big, from, n, to, stride); break;
    case 16 * SCALAR_BOOL + 1: decode(SCALAR_BOOL, 1, s.big, from, n, to, stride); break;
    }
}

/* --------------------------------------------------------------------------------------------- arrays */

anygp_status array_check(const array *a, anygp_error *e)
{
    size_t count, bytes;
    if (!size_mul(a->rows, a->cols, &count) || !size_mul((int64_t)count, a->type.size, &bytes))
        return fail_with(e, ANYGP_ERR_DATA, "%s claims %lld x %lld numbers, which no file can hold; it is damaged",
                         input_name(a->in), (long long)a->rows, (long long)a->cols);
    int64_t size = input_size(a->in);
    if (size >= 0 && (size < a->offset || (uint64_t)(size - a->offset) < bytes))
        return fail_with(e, ANYGP_ERR_DATA, "%s claims %lld x %lld numbers but is too short for them; it was cut short",
                         input_name(a->in), (long long)a->rows, (long long)a->cols);
    return ANYGP_OK;
}

/* n whole rows at `bytes` to doubles, ld doubles from row to row. */
static void decode_rows(const array *a, const unsigned char *bytes, int64_t n, double *out, int64_t ld)
{
    int64_t width = a->cols * a->type.size;
    if (ld == a->cols)
        scalar_decode(a->type, bytes, n * a->cols, out, 1);
    else if (a->cols == 1)
        scalar_decode(a->type, bytes, n, out, ld);
    else
        for (int64_t i = 0; i < n; i++) scalar_decode(a->type, bytes + i * width, a->cols, out + i * ld, 1);
}

/* n bytes of rows, `done` bytes after the current position: from there, or just the next ones of a stream. */
static anygp_status take_bytes(const array *a, int64_t done, void *to, int64_t n, anygp_error *e)
{
    if (!input_is_random(a->in)) return input_read_all(a->in, to, (size_t)n, e);
    return input_read_at(a->in, a->offset + a->place * a->cols * a->type.size + done, to, (size_t)n, e);
}

/* Row `i` after the current position, longer than the block of bytes. */
static anygp_status read_long_row(const array *a, unsigned char *bytes, int64_t i, double *out, anygp_error *e)
{
    int64_t cells = BLOCK_BYTES / a->type.size;
    for (int64_t j = 0; j < a->cols; j += cells) {
        int64_t k = a->cols - j < cells ? a->cols - j : cells;
        TRY(take_bytes(a, (i * a->cols + j) * a->type.size, bytes, k * a->type.size, e));
        scalar_decode(a->type, bytes, k, out + j, 1);
    }
    return ANYGP_OK;
}

/* Row by row in the file. */
static anygp_status read_by_rows(const array *a, unsigned char *bytes, int64_t n, double *out, int64_t ld,
                                 anygp_error *e)
{
    int64_t width = a->cols * a->type.size, block = width ? BLOCK_BYTES / width : n;
    if (is_native_double(a->type) && ld == a->cols) return take_bytes(a, 0, out, n * width, e);
    for (int64_t i = 0; i < n && block == 0; i++) TRY(read_long_row(a, bytes, i, out + i * ld, e));
    for (int64_t i = 0; i < n && block > 0; i += block) {
        int64_t k = n - i < block ? n - i : block;
        TRY(take_bytes(a, i * width, bytes, k * width, e));
        decode_rows(a, bytes, k, out + i * ld, ld);
    }
    return ANYGP_OK;
}

/* Stored column by column: a piece of every column, from its position. */
static anygp_status read_by_columns(const array *a, unsigned char *bytes, int64_t n, double *out, int64_t ld,
                                    anygp_error *e)
{
    int64_t cells = BLOCK_BYTES / a->type.size;
    for (int64_t j = 0; j < a->cols; j++)
        for (int64_t i = 0; i < n; i += cells) {
            int64_t k = n - i < cells ? n - i : cells;
            int64_t at = a->offset + (j * a->rows + a->place + i) * a->type.size;
            TRY(input_read_at(a->in, at, bytes, (size_t)(k * a->type.size), e));
            scalar_decode(a->type, bytes, k, out + i * ld + j, ld);
        }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- side by side */

array_set *array_set_new(int64_t count)
{
    array_set *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->arrays = mem_zeroed(count, sizeof *s->arrays);
    s->bytes = malloc(BLOCK_BYTES);
    if (s->arrays && s->bytes) return s->count = count, s;
    free(s->arrays);
    free(s->bytes);
    free(s);
    return NULL;
}

static anygp_status check_widths(reader *r, int64_t *cols, anygp_error *e)
{
    const array_set *s = r->state;
    *cols = 0;
    for (int64_t k = 0; k < s->count; k++) {
        if (s->arrays[k].rows != s->arrays[0].rows)
            return fail_with(e, ANYGP_ERR_DATA,
                             "%s holds arrays of %lld and of %lld rows; all must have the same number of rows",
                             input_name(r->in), (long long)s->arrays[0].rows, (long long)s->arrays[k].rows);
        if (__builtin_add_overflow(*cols, s->arrays[k].cols, cols)) *cols = INT64_MAX;
    }
    return ANYGP_OK;
}

/* Fortran order needs random access; for a stream, everything after the header is kept. */
static anygp_status keep_in_memory(array *a, anygp_error *e)
{
    if (input_is_random(a->in)) return ANYGP_OK;
    TRY(input_make_random(a->in, e));
    a->offset = 0;
    return array_check(a, e);
}

anygp_status arrays_ready(reader *r, anygp_error *e)
{
    const array_set *s = r->state;
    int64_t cols, likely = INT64_MAX;
    TRY(check_widths(r, &cols, e));
    for (int64_t k = 0; k < s->count; k++) {
        array *a = &s->arrays[k];
        if (a->fortran) TRY(keep_in_memory(a, e));
        if (input_size(a->in) < 0) likely = 0; /* a packed file may claim any size */
    }
    r->rows = s->arrays[0].rows;
    r->likely_rows = likely < r->rows ? likely : r->rows;
    return reader_make_columns(r, cols, e);
}

anygp_status arrays_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    array_set *s = r->state;
    int64_t left = r->rows - s->arrays[0].place, n = max_rows < left ? max_rows : left, col = 0;
    *got = n;
    if (n == 0) return ANYGP_OK;
    for (int64_t k = 0; k < s->count; k++) {
        array *a = &s->arrays[k];
        TRY((a->fortran ? read_by_columns : read_by_rows)(a, s->bytes, n, rows + col, r->cols, e));
        a->place += n;
        col += a->cols;
    }
    return ANYGP_OK;
}

bool arrays_can_seek(const reader *r)
{
    const array_set *s = r->state;
    bool can = true;
    for (int64_t k = 0; k < s->count; k++) can &= input_is_random(s->arrays[k].in);
    return can;
}

void arrays_seek(reader *r, int64_t row)
{
    const array_set *s = r->state;
    for (int64_t k = 0; k < s->count; k++) s->arrays[k].place = row;
}

void arrays_close(reader *r)
{
    array_set *s = r->state;
    if (!s) return;
    for (int64_t k = 0; k < s->count; k++) input_close(s->arrays[k].in);
    free(s->arrays);
    free(s->bytes);
    free(s);
    r->state = NULL;
}
