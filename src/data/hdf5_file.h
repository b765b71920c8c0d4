/* HDF5 files as libhdf5 shows them.  Only a worker calls these: damaged files can crash the library. */
#ifndef DATA_HDF5_FILE_H
#define DATA_HDF5_FILE_H

#include "data/format.h"

typedef struct hdf5_file hdf5_file;

/* Fills the public half of r.  The bytes of what is not a plain file were read before: image[size].  follow: other files
   that this one leads to may be read, too. */
anygp_status hdf5_file_open(reader *r, const void *image, size_t size, bool follow, hdf5_file **out, anygp_error *e);
bool hdf5_file_rows(const hdf5_file *h, int64_t first, int64_t n, double *rows, int64_t ld);
void hdf5_silence(void); /* the library does not print */

#endif
