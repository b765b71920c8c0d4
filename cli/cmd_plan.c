/* anygp plan: what each model would cost. */
#include "cli.h"

anygp_status command_plan(const options *o, anygp_error *e)
{
    anygp_data *data = NULL;
    char *text = NULL;
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_data_read(o->path[0], o->settings, &data, e);
    if (!ANYGP_FAILED(status)) status = anygp_plan(o->settings, data, o->json, &text, e);
    anygp_data_free(data);
    if (ANYGP_FAILED(status)) return status;
    fputs(text, stdout);
    if (o->json) putchar('\n');
    anygp_text_free(text);
    return ANYGP_OK;
}
