/* Comparisons of models, and whether a model is still right. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/handles.h"
#include "io/check_page.h"
#include "io/compare_page.h"
#include "io/model_file.h"
#include "report/report.h"

/* Bytes of the model file; NaN: it could not be made. */
static double file_bytes(const gp_set *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NAN;
    anygp_status status = model_file_write_stream(m, f, NULL);
    bool whole = fclose(f) == 0 && !ANYGP_FAILED(status);
    free(text);
    return whole ? (double)size : NAN;
}

anygp_status anygp_compare(const anygp_settings *s, const anygp_data *data, int json, char **text, anygp_model **best,
                           anygp_error *e)
{
    settings *mine;
    gp_compare c = {.file_bytes = file_bytes, .keep = best != NULL};
    NEED(data);
    NEED(text);
    *text = NULL;
    if (best) *best = NULL;
    TRY(api_settings_for(s, data, &mine, e));
    int former = threads_begin(mine);
    anygp_status status = gp_compare_run(&(gp_data){data->table, data->file}, mine, &c, e);
    if (!ANYGP_FAILED(status)) {
        const char *report = settings_text(mine, SET_REPORT);
        anygp_status written = compare_page(&c, json, text, e);
        if (!ANYGP_FAILED(written) && *report) written = compare_report_write(&c, report, e);
        if (ANYGP_FAILED(written)) status = written;
        if (best && !ANYGP_FAILED(status)) *best = c.best, c.best = NULL;
        gp_compare_clear(&c);
    }
    settings_free(mine);
    return threads_end(former, status);
}

anygp_status anygp_check_file(const anygp_model *m, const anygp_settings *s, const char *in, int json, char **text,
                              anygp_verdict *verdict, anygp_error *e)
{
    gp_check c;
    NEED(m);
    NEED(in);
    NEED(text);
    *text = NULL;
    settings *mine = s ? settings_copy(s) : settings_new();
    if (!mine) return fail_memory(e, "the settings", 0);
    int former = threads_begin(mine);
    anygp_status status = gp_check_file(m, mine, in, &c, e);
    if (!ANYGP_FAILED(status)) {
        status = check_page(&c, json, text, e);
        if (verdict) *verdict = c.verdict;
        gp_check_clear(&c);
    }
    settings_free(mine);
    return threads_end(former, status);
}
