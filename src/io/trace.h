/* The trace of training as a table: iteration,seconds,objective,rmse,mnlp,mell (.csv, or .jsonl by its ending); of several targets each
   row begins with the target's number. */
#ifndef IO_TRACE_H
#define IO_TRACE_H

#include "gp/gp.h"

/* All of it at once, completely or not at all. */
anygp_status trace_write(const gp_set *m, const char *path, anygp_error *e);

/* While the run goes on: each row is in the file when trace_add returns, so a file of a run that was killed has whole lines up to its
   last one.  The file is not touched before the first row. */
typedef struct trace_file trace_file;

/* resumed: rows that a run before this one wrote stay, up to the first that is computed again. */
anygp_status trace_open(const char *path, bool resumed, trace_file **out, anygp_error *e);
void trace_add(trace_file *t, int64_t targets, int64_t target, const train_step *s);
/* m: what was fitted, whose trace is in the file in the end; it may be less than was added, where several sizes were tried.  NULL: the
   run failed.  Always frees t, which may be NULL. */
anygp_status trace_close(trace_file *t, const gp_set *m, anygp_error *e);

#endif
