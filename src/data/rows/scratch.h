/* Records of equal size that are written out of order and read back: in memory, or in a file in $TMPDIR that has no name and
   ends with the process.  Several threads may read at once. */
#ifndef DATA_ROWS_SCRATCH_H
#define DATA_ROWS_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct scratch scratch;

/* `records` is what there may be at most; a file takes only what is written. */
anygp_status scratch_open(bool on_disk, int64_t records, int64_t width, scratch **out, anygp_error *e);
anygp_status scratch_write(scratch *s, int64_t at, int64_t n, const void *records, anygp_error *e);
anygp_status scratch_read(const scratch *s, int64_t at, int64_t n, void *records, anygp_error *e);
const void *scratch_view(const scratch *s, int64_t at); /* in place; only of one in memory */
void scratch_free(scratch *s);                          /* accepts NULL */

#endif
