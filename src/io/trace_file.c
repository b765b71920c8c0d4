/* The trace of a run that is under way: rows are appended to the file itself. */
#define _GNU_SOURCE /* memrchr */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "io/trace.h"
#include "io/trace_row.h"

struct trace_file {
    char *path;
    FILE *stream; /* NULL before the first row */
    bool resumed, json;
    int64_t rows; /* added */
    int failed;   /* errno of the first failure; 0: none */
};

anygp_status trace_open(const char *path, bool resumed, trace_file **out, anygp_error *e)
{
    trace_file *t = calloc(1, sizeof *t);
    if (t) t->path = mem_strdup(path), t->resumed = resumed, t->json = trace_is_json(path);
    if (!t || !t->path) {
        free(t);
        return fail_memory(e, "the trace", 0);
    }
    *out = t;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ resuming */

/* The number after the name, in a row of JSON. */
static bool json_number(const char *row, const char *name, int64_t *value)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(row, key);
    return at && sscanf(at + strlen(key), "%" SCNd64, value) == 1;
}

/* Target and iteration of a row; false: it is the header, or no row of a trace. */
static bool place_of(const trace_file *t, bool several, const char *row, int64_t *target, int64_t *iteration)
{
    *target = 0;
    if (t->json) return (!several || json_number(row, "target", target)) && json_number(row, "iteration", iteration);
    return several ? sscanf(row, "%" SCNd64 ",%" SCNd64 ",", target, iteration) == 2
                   : sscanf(row, "%" SCNd64 ",", iteration) == 1;
}

/* How much of text[size] stays: whole lines, without those at the end that come at or after this row. */
static size_t kept(const trace_file *t, bool several, char *text, size_t size, int64_t target, int64_t iteration)
{
    const char *end = memrchr(text, '\n', size);
    size = end ? (size_t)(end - text) + 1 : 0;
    while (size > 0) {
        const char *before = memrchr(text, '\n', size - 1);
        size_t begin = before ? (size_t)(before - text) + 1 : 0;
        int64_t its_target, its_iteration;
        text[size - 1] = 0;
        bool row = place_of(t, several, text + begin, &its_target, &its_iteration);
        text[size - 1] = '\n';
        if (!row || its_target < target || (its_target == target && its_iteration < iteration)) break;
        size = begin;
    }
    return size;
}

/* Cuts the file of the run before, which is open for reading and writing, to what stays; *size: of that.  A file that does not begin as
   this one would is another kind of file, and is written anew. */
static bool cut_back(const trace_file *t, bool several, const train_step *s, int64_t target, size_t *size)
{
    struct stat st;
    char *text = NULL;
    bool ok = !fstat(fileno(t->stream), &st) && S_ISREG(st.st_mode) && (text = malloc((size_t)st.st_size + 1));
    *size = ok ? fread(text, 1, (size_t)st.st_size, t->stream) : 0;
    if (ok) text[*size] = 0, ok = trace_has_header(text, t->json, several);
    *size = ok ? kept(t, several, text, *size, target, s->iteration) : 0;
    free(text);
    return !S_ISREG(st.st_mode) || (!ftruncate(fileno(t->stream), (off_t)*size) && !fseek(t->stream, 0, SEEK_END));
}

/* ---------------------------------------------------------------------------------------------- rows */

static bool begin(trace_file *t, int64_t targets, int64_t target, const train_step *s)
{
    size_t size = 0;
    if (t->resumed && (t->stream = fopen(t->path, "r+")) && !cut_back(t, targets > 1, s, target, &size)) return false;
    if (!t->stream && !(t->stream = fopen(t->path, "w"))) return false;
    if (size == 0) trace_header(t->stream, t->json, targets > 1);
    return true;
}

void trace_add(trace_file *t, int64_t targets, int64_t target, const train_step *s)
{
    if (t->failed) return;
    errno = 0;
    bool ok = t->stream || begin(t, targets, target, s);
    if (ok) trace_row(t->stream, t->json, targets > 1 ? target : -1, s);
    if (!ok || fflush(t->stream) || ferror(t->stream)) t->failed = errno ? errno : EIO;
    t->rows++;
}

anygp_status trace_close(trace_file *t, const gp_set *m, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t rows = 0;
    if (!t) return ANYGP_OK;
    if (t->stream && fclose(t->stream) && !t->failed) t->failed = errno;
    for (int64_t i = 0; m && i < m->targets; i++) rows += m->gp[i]->steps;
    bool whole = !t->failed && t->stream && (t->resumed || rows == t->rows);
    if (m && !whole && !(t->resumed && t->stream))
        status = trace_write(m, t->path, e);
    else if (t->failed)
        errno = t->failed, status = fail_write(t->path, e);
    free(t->path);
    free(t);
    return status;
}
