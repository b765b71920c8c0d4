/* As much of zip as an .npz needs: the entries of the central directory (also zip64), stored or deflated. */
#ifndef DATA_FORMATS_ZIP_H
#define DATA_FORMATS_ZIP_H

#include "data/formats/input.h"

typedef struct zip_entry {
    char *name;
    int64_t offset; /* of the local head */
    int64_t packed; /* bytes */
    unsigned flags, method;
} zip_entry;

/* Lists a random-access input; the caller frees with zip_free. */
anygp_status zip_list(input *in, zip_entry **entries, int64_t *count, anygp_error *e);
anygp_status zip_open(input *in, const zip_entry *entry, const char *name, input **out, anygp_error *e);
void zip_free(zip_entry *entries, int64_t count); /* accepts NULL */

#endif
