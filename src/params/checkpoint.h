/* What a run needs to resume where it was: named arrays of doubles, integers and texts, in one file that appears whole or
   not at all.  Reading checks everything (a checkpoint may be damaged or from another run) before anything is used.

   Of large arrays few parts may change between two checkpoints.  They are put with a list of those that did, and checkpoint_save() then
   adds what has changed to a log beside the file, PATH.log; once the log would become larger than the file, the file is written anew.
   A process that is killed at any moment leaves what was saved last, or the one before. */
#ifndef PARAMS_CHECKPOINT_H
#define PARAMS_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "params/changes.h"

typedef struct checkpoint checkpoint;

checkpoint *checkpoint_new(void);    /* empty; NULL: out of memory */
void checkpoint_free(checkpoint *c); /* accepts NULL */

/* Copies; a name is at most 31 characters and given once.  Failure (that of checkpoint_new too: c may be NULL) is sticky
   and shows in checkpoint_write. */
void checkpoint_put(checkpoint *c, const char *name, int64_t count, const double *values);
void checkpoint_put_number(checkpoint *c, const char *name, double value);
void checkpoint_put_integer(checkpoint *c, const char *name, int64_t value); /* exact, all 64 bits */
void checkpoint_put_text(checkpoint *c, const char *name, const char *text);

/* An array whose parts have `each` numbers, the last one perhaps fewer; `changed` has a bit for each, which checkpoint_save() clears.
   With CHECKPOINT_LARGE numbers or more it is not copied: values must stay as they are until c is written.  Without such an array a
   checkpoint is always written whole. */
enum { CHECKPOINT_LARGE = 8192 };
void checkpoint_put_parts(checkpoint *c, const char *name, int64_t count, const double *values, int64_t each,
                          changes *changed);

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

/* All that `part` has, each name after the prefix; and the other way round: a copy of what c has under a prefix.
   NULL: no memory. */
void checkpoint_put_all(checkpoint *c, const char *prefix, const checkpoint *part);
checkpoint *checkpoint_part(const checkpoint *c, const char *prefix);

anygp_status checkpoint_write(const checkpoint *c, const char *path, anygp_error *e); /* atomically, all of it */

/* What was saved so far by one run, all zeros before. */
typedef struct checkpoint_trail {
    bool begun;
    uint64_t device, inode; /* of the file that this run has written, */
    uint64_t base;          /* its checksum, */
    int64_t whole, log;     /* its bytes and those of the log, */
    uint64_t records, last; /* the number of records there and the checksum of the last one */
} checkpoint_trail;

/* Atomically; *whole: all of it, else what has changed since the last time. */
anygp_status checkpoint_save(const checkpoint *c, checkpoint_trail *t, const char *path, bool *whole, anygp_error *e);
void checkpoint_remove(const char *path); /* with its log; nothing where there is none */

/* The file and its log.  on_disk: large arrays go to a scratch file (base/mapped.h) instead of memory. */
anygp_status checkpoint_read(const char *path, bool on_disk, checkpoint **out, anygp_error *e);
anygp_status checkpoint_read_stream(FILE *f, const char *name, checkpoint **out,
                                    anygp_error *e); /* f can seek; no log */

#endif
