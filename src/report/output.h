/* Where pages and pictures go: a file that appears whole or not at all, or standard output. */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include <stdio.h>

#include "base/atomic_file.h"
#include "report/scene.h"

typedef struct output_file {
    atomic_file *file; /* NULL: standard output */
    FILE *stream;
    char *text; /* for standard output, what is still to be written: nothing is, if making it fails */
    size_t size;
} output_file;

anygp_status output_open(const char *path, output_file *o, anygp_error *e);
/* status: how the making of it went, which is returned if it failed. */
anygp_status output_close(output_file *o, anygp_status status, anygp_error *e);

/* The scene of a target, with the rows that the settings ask for. */
anygp_status report_target(const gp_set *m, int64_t target, const settings *s, const char *in, scene **out,
                           anygp_error *e);

#endif
