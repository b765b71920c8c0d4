/* Rows of an HDF5 file that are read without its library (hdf5_plain.h). */
#include "data/formats/hdf5_plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { PIECE_DOUBLES = 1 << 14 };

void plain_sets_free(plain_set *set, int64_t count)
{
    for (int64_t k = 0; set && k < count; k++) free(set[k].place);
    free(set);
}

void hdf5_plain_clear(hdf5_plain *p)
{
    if (p->set && p->fd >= 0) close(p->fd);
    plain_sets_free(p->set, p->count);
    free(p->piece);
    *p = (hdf5_plain){0};
}

/* The last chunk may have more rows than the table. */
static bool inside(const plain_set *s, int64_t rows, int64_t size)
{
    for (int64_t i = 0; i < s->chunks; i++) {
        int64_t n = rows - i * s->rows < s->rows ? rows - i * s->rows : s->rows;
        if (s->place[i] < 0 || n > (size - s->place[i]) / (8 * s->cols)) return false;
    }
    return true;
}

bool hdf5_plain_open(hdf5_plain *p, const char *path, int64_t count, plain_set *set, int64_t rows)
{
    struct stat file;
    *p = (hdf5_plain){.fd = open(path, O_RDONLY | O_CLOEXEC), .count = count, .rows = rows, .set = set};
    bool ok = p->fd >= 0 && !fstat(p->fd, &file);
    for (int64_t k = 0; ok && k < count; k++) ok = inside(&set[k], rows, file.st_size) && set[k].cols <= PIECE_DOUBLES;
    if (ok && count > 1) ok = (p->piece = mem_alloc(PIECE_DOUBLES, sizeof *p->piece)) != NULL;
    if (!ok) hdf5_plain_clear(p);
    return ok;
}

static bool read_all(int fd, int64_t place, int64_t count, double *values)
{
    char *to = (char *)values;
    for (int64_t left = 8 * count; left > 0;) {
        ssize_t got = pread(fd, to, (size_t)left, place);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, place += got, left -= got;
    }
    return true;
}

/* n rows from byte `place` on, into rows of ld columns. */
static bool read_piece(const hdf5_plain *p, const plain_set *s, int64_t place, int64_t n, double *rows, int64_t ld)
{
    if (s->cols == ld) return read_all(p->fd, place, n * s->cols, rows);
    for (int64_t step = PIECE_DOUBLES / s->cols, i = 0; i < n; i += step) {
        int64_t m = n - i < step ? n - i : step;
        if (!read_all(p->fd, place + 8 * i * s->cols, m * s->cols, p->piece)) return false;
        for (int64_t k = 0; k < m; k++)
            memcpy(rows + (i + k) * ld, p->piece + k * s->cols, (size_t)s->cols * sizeof *rows);
    }
    return true;
}

bool hdf5_plain_rows(const hdf5_plain *p, int64_t first, int64_t n, double *rows, int64_t ld)
{
    for (int64_t k = 0, col = 0; k < p->count; col += p->set[k++].cols)
        for (int64_t i = 0; i < n;) {
            const plain_set *s = &p->set[k];
            int64_t chunk = (first + i) / s->rows, from = (first + i) % s->rows;
            int64_t m = n - i < s->rows - from ? n - i : s->rows - from;
            if (!read_piece(p, s, s->place[chunk] + 8 * from * s->cols, m, rows + i * ld + col, ld)) return false;
            i += m;
        }
    return true;
}
