/* The trace of training as a table: iteration,seconds,objective,rmse,mnlp,mell (.csv, or .jsonl by its ending). */
#ifndef IO_TRACE_H
#define IO_TRACE_H

#include "gp/gp.h"

anygp_status trace_write(const gp_set *m, const char *path, anygp_error *e);

#endif
