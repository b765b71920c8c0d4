/* HDF5 files as libhdf5 shows them.  Only a worker calls these: damaged files can crash the library. */
#ifndef DATA_FORMATS_HDF5_FILE_H
#define DATA_FORMATS_HDF5_FILE_H

#include <string.h>

#include "data/formats/format.h"

static inline bool hdf5_sniff(const unsigned char *head, size_t n)
{
    return n >= 8 && !memcmp(head, "\x89HDF\r\n\x1a\n", 8);
}

typedef struct hdf5_file hdf5_file;

/* Fills the public half of r.  The bytes of what is not a plain file were read before: image[size].  follow: other files
   that this one leads to may be read, too. */
anygp_status hdf5_file_open(reader *r, const void *image, size_t size, bool follow, hdf5_file **out, anygp_error *e);
bool hdf5_file_rows(const hdf5_file *h, int64_t first, int64_t n, double *rows, int64_t ld);
/* Dataset k of the table: its columns, the rows of a chunk and their number; false: its numbers do not lie in the file as they are
   in memory (hdf5_plain.h).  Then the byte at which the chunk of a row begins; negative: it was never written. */
int64_t hdf5_file_sets(const hdf5_file *h);
bool hdf5_file_plain(const hdf5_file *h, int64_t k, int64_t *cols, int64_t *rows, int64_t *chunks);
int64_t hdf5_file_place(const hdf5_file *h, int64_t k, int64_t row);
void hdf5_silence(void); /* the library does not print */

#endif
