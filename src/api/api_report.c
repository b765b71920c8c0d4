/* Reports and pictures. */
#include "api/handles.h"
#include "gp/gp.h"
#include "report/report.h"

/* s may be NULL; the copy is freed by settings_free. */
static settings *own_settings(const anygp_settings *s) { return s ? settings_copy(s) : settings_new(); }

anygp_status anygp_report(const anygp_model *m, const anygp_settings *s, const char *in, const char *out,
                          anygp_error *e)
{
    NEED(m);
    settings *mine = own_settings(s);
    if (!mine) return fail_memory(e, "the settings", 0);
    int former = threads_begin(mine);
    anygp_status status = threads_end(former, report_write(m, mine, in, out, e));
    settings_free(mine);
    return status;
}

anygp_status anygp_plot(const anygp_model *m, const anygp_settings *s, const char *in, const char *what,
                        const char *out, anygp_error *e)
{
    NEED(m);
    NEED(what);
    settings *mine = own_settings(s);
    if (!mine) return fail_memory(e, "the settings", 0);
    int former = threads_begin(mine);
    anygp_status status = threads_end(former, plot_write(m, mine, in, what, out, e));
    settings_free(mine);
    return status;
}

anygp_status anygp_plot_list(const anygp_model *m, const anygp_settings *s, const char *in, char **text, anygp_error *e)
{
    NEED(m);
    NEED(text);
    *text = NULL;
    settings *mine = own_settings(s);
    if (!mine) return fail_memory(e, "the settings", 0);
    int former = threads_begin(mine);
    anygp_status status = threads_end(former, plot_list(m, mine, in, text, e));
    settings_free(mine);
    return status;
}
