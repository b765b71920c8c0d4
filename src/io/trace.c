/* The trace of a run as a CSV file. */
#include "io/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/c_locale.h"

static void cell(FILE *f, bool json, const char *name, double value, bool last)
{
    if (json) fprintf(f, "\"%s\": ", name);
    if (isfinite(value))
        fprintf(f, "%.10g", value);
    else if (json)
        fputs("null", f);
    fputs(last ? json ? "}\n" : "\n" : json ? ", " : ",", f);
}

anygp_status trace_write(const gp_set *m, const char *path, anygp_error *e)
{
    static const char *const names[] = {"iteration", "seconds", "objective", "rmse", "mnlp", "mell"};
    size_t n = strlen(path);
    bool json = n > 6 && !strcmp(path + n - 6, ".jsonl"), several = m->targets > 1;
    atomic_file *file;
    TRY(atomic_open(path, &file, e));
    FILE *f = atomic_stream(file);
    c_locale l = c_locale_enter();
    if (!json) fprintf(f, "%siteration,seconds,objective,rmse,mnlp,mell\n", several ? "target," : "");
    for (int64_t t = 0; t < m->targets; t++)
        for (int64_t i = 0; i < m->gp[t]->steps; i++) {
            const train_step *s = &m->gp[t]->trace[i];
            const double values[] = {(double)s->iteration, s->seconds,     s->objective,
                                     s->scores.rmse,       s->scores.mnlp, s->scores.mell};
            if (json) fputc('{', f);
            if (several) cell(f, json, "target", (double)t, false);
            for (int c = 0; c < 6; c++) cell(f, json, names[c], values[c], c == 5);
        }
    c_locale_leave(l);
    return atomic_commit(file, e);
}
