/* One row of a trace as text. */
#ifndef IO_TRACE_ROW_H
#define IO_TRACE_ROW_H

#include <inttypes.h>
#include <stdio.h>

#include "gp/gp.h"

bool trace_is_json(const char *path);
void trace_header(FILE *f, bool json, bool several);
bool trace_has_header(const char *text, bool json, bool several);        /* whether a file that begins so has one */
void trace_row(FILE *f, bool json, int64_t target, const train_step *s); /* target -1: there is one only */

#endif
