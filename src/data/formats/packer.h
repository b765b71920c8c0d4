/* gzip on the way out.  A library built without zlib refuses it (zlib_absent.c). */
#ifndef DATA_FORMATS_PACKER_H
#define DATA_FORMATS_PACKER_H

#include "data/formats/writer_format.h"

typedef struct packer packer;

anygp_status packer_begin(const writer *w, packer **out, anygp_error *e);
anygp_status packer_put(packer *p, writer *w, const void *bytes, size_t n, anygp_error *e);
anygp_status packer_end(packer *p, writer *w, anygp_error *e); /* the last bytes */
void packer_free(packer *p);                                   /* NULL is accepted */

#endif
