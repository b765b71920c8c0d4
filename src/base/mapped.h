/* Large arrays that are in memory or, where that is too small, in the pages of a scratch file (temporary.h): the system reads and writes
   them as they are used, and a pointer is a pointer either way.  The space of a file is reserved when the array is made, so that a full
   disk is a sentence then and not a signal later. */
#ifndef BASE_MAPPED_H
#define BASE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* `count` things of `size` bytes, all zero, 64-byte aligned; `what` is for the sentence where there is no room.  Freed by mapped_free(). */
anygp_status mapped_alloc(bool on_disk, int64_t count, size_t size, const char *what, void **out, anygp_error *e);
/* rows*cols zeros; the same otherwise. */
anygp_status mapped_doubles(bool on_disk, int64_t rows, int64_t cols, const char *what, double **out, anygp_error *e);
/* The same for values that are given. */
anygp_status mapped_copied(bool on_disk, int64_t rows, int64_t cols, const double *from, const char *what, double **out,
                           anygp_error *e);
void mapped_free(void *p); /* accepts NULL */

/* Whether short pieces in any order will be used, so that nothing beside them should be read ahead.  In memory: nothing to do. */
void mapped_expect(void *p, bool scattered);

#endif
