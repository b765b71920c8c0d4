/* What the fuzz targets of the readers share: read everything, in blocks of an odd size that the input's last byte
   chooses, and hold the promises of reader.h: a sentence with every failure, no infinity, categories that exist. */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/formats/reader.h"

enum { FUZZ_VALUES = 1 << 22 };

static inline void fuzz_check_rows(const reader *r, const double *rows, int64_t n)
{
    int64_t cols = reader_columns(r);
    for (int64_t k = 0; k < n * cols; k++) {
        const column *c = reader_column(r, k % cols);
        if (isinf(rows[k])) abort();
        if (c->kind == COLUMN_TEXT && !isnan(rows[k]) && !(rows[k] >= 0 && rows[k] < (double)c->levels)) abort();
    }
}

static inline void fuzz_read_rows(reader *r, int64_t block)
{
    double *rows = malloc((size_t)(block * reader_columns(r)) * sizeof *rows);
    int64_t got = rows ? 1 : 0;
    anygp_error e = {.text = ""};
    /* A sparse row of a few bytes may be a million cells wide: enough is enough. */
    for (int64_t cells = 0; got > 0 && cells <= FUZZ_VALUES; cells += got * reader_columns(r)) {
        if (ANYGP_FAILED(reader_next(r, block, rows, &got, &e))) {
            if (!e.text[0]) abort();
            break;
        }
        if (got > block) abort();
        fuzz_check_rows(r, rows, got);
    }
    free(rows);
}

static inline int fuzz_reader(const uint8_t *data, size_t size, const char *name)
{
    reader *r;
    anygp_error e = {.text = ""};
    int64_t block = size ? 1 + 2 * (data[size - 1] % 8) : 1;
    if (ANYGP_FAILED(reader_open_memory(data, size, name, NULL, &r, &e))) {
        if (!e.text[0] || r) abort();
        return 0;
    }
    if (reader_columns(r) * block <= FUZZ_VALUES) fuzz_read_rows(r, block);
    reader_close(r);
    return 0;
}

#endif
