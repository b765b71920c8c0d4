/* Numbers stored in an HDF5 file as they are in memory: whole rows of doubles, uncompressed, in one piece or in chunks.  The
   library only has to say where they are; then rows are read without it and its process, as from an .npy file. */
#ifndef DATA_FORMATS_HDF5_PLAIN_H
#define DATA_FORMATS_HDF5_PLAIN_H

#include "data/formats/format.h"

/* Chunk i of a dataset has rows i * rows .. and begins at byte place[i] of the file. */
typedef struct plain_set {
    int64_t cols, rows, chunks;
    int64_t *place;
} plain_set;

typedef struct hdf5_plain {
    int fd;
    int64_t count, rows; /* datasets side by side; rows of the table */
    plain_set *set;
    double *piece; /* rows of a dataset on their way to their columns */
} hdf5_plain;

enum { PLAIN_CHUNKS_MOST = 1 << 22 };

/* Takes over set[count].  False: a place is not in the file, or it cannot be opened; p is cleared. */
bool hdf5_plain_open(hdf5_plain *p, const char *path, int64_t count, plain_set *set, int64_t rows);
/* Rows first .. first+n-1 into rows[n, ld].  False: the file is shorter by now. */
bool hdf5_plain_rows(const hdf5_plain *p, int64_t first, int64_t n, double *rows, int64_t ld);
void hdf5_plain_clear(hdf5_plain *p);
void plain_sets_free(plain_set *set, int64_t count);

#endif
