/* What a run needs to resume where it was: named arrays of doubles, integers and texts, in one file that appears whole or
   not at all.  Reading checks everything (a checkpoint may be damaged or from another run) before anything is used. */
#ifndef PARAMS_CHECKPOINT_H
#define PARAMS_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

typedef struct checkpoint checkpoint;

checkpoint *checkpoint_new(void);    /* empty; NULL: out of memory */
void checkpoint_free(checkpoint *c); /* accepts NULL */

/* Copies; a name is at most 31 characters and given once.  Failure (that of checkpoint_new too: c may be NULL) is sticky
   and shows in checkpoint_write. */
void checkpoint_put(checkpoint *c, const char *name, int64_t count, const double *values);
void checkpoint_put_number(checkpoint *c, const char *name, double value);
void checkpoint_put_integer(checkpoint *c, const char *name, int64_t value); /* exact, all 64 bits */
void checkpoint_put_text(checkpoint *c, const char *name, const char *text);

/* `count` numbers into values; false if there is no such array of that size.  Each is read as what it was put as. */
bool checkpoint_get(const checkpoint *c, const char *name, int64_t count, double *values);
bool checkpoint_get_number(const checkpoint *c, const char *name, double *value);
bool checkpoint_get_integer(const checkpoint *c, const char *name, int64_t *value);
/* The same, limited to what a run can have: a counter from `least` to 2^50, so that a run can go on counting; finite numbers; a
   relative jitter. */
bool checkpoint_get_counter(const checkpoint *c, const char *name, int64_t least, int64_t *value);
bool checkpoint_get_finite(const checkpoint *c, const char *name, int64_t count, double *values);
bool checkpoint_get_jitter(const checkpoint *c, const char *name, double *value);
int64_t checkpoint_count(const checkpoint *c, const char *name);    /* -1: no such array */
const char *checkpoint_text(const checkpoint *c, const char *name); /* NULL: none */

anygp_status checkpoint_write(const checkpoint *c, const char *path, anygp_error *e); /* atomically */
anygp_status checkpoint_read(const char *path, checkpoint **out, anygp_error *e);
anygp_status checkpoint_read_stream(FILE *f, const char *name, checkpoint **out, anygp_error *e); /* f can seek */

#endif
