/* The trace of a run as a table of text. */
#include "io/trace.h"

#include <math.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/c_locale.h"
#include "io/trace_row.h"

static const char header[] = "iteration,seconds,objective,rmse,mnlp,mell\n";

bool trace_is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 6 && !strcmp(path + n - 6, ".jsonl");
}

void trace_header(FILE *f, bool json, bool several)
{
    if (!json) fprintf(f, "%s%s", several ? "target," : "", header);
}

bool trace_has_header(const char *text, bool json, bool several)
{
    const char *first = json ? several ? "{\"target\": " : "{\"iteration\": " : several ? "target," : header;
    return !strncmp(text, first, strlen(first));
}

static void cell(FILE *f, bool json, const char *name, double value, bool last)
{
    if (json) fprintf(f, "\"%s\": ", name);
    if (isfinite(value))
        fprintf(f, "%.10g", value);
    else if (json)
        fputs("null", f);
    fputs(last ? json ? "}\n" : "\n" : json ? ", " : ",", f);
}

void trace_row(FILE *f, bool json, int64_t target, const train_step *s)
{
    static const char *const names[] = {"iteration", "seconds", "objective", "rmse", "mnlp", "mell"};
    const double values[] = {(double)s->iteration, s->seconds,     s->objective,
                             s->scores.rmse,       s->scores.mnlp, s->scores.mell};
    c_locale l = c_locale_enter();
    if (json) fputc('{', f);
    if (target >= 0) cell(f, json, "target", (double)target, false);
    for (int c = 0; c < 6; c++) cell(f, json, names[c], values[c], c == 5);
    c_locale_leave(l);
}

anygp_status trace_write(const gp_set *m, const char *path, anygp_error *e)
{
    bool json = trace_is_json(path), several = m->targets > 1;
    atomic_file *file;
    TRY(atomic_open(path, &file, e));
    FILE *f = atomic_stream(file);
    trace_header(f, json, several);
    for (int64_t t = 0; t < m->targets; t++)
        for (int64_t i = 0; i < m->gp[t]->steps; i++) trace_row(f, json, several ? t : -1, &m->gp[t]->trace[i]);
    return atomic_commit(file, e);
}
