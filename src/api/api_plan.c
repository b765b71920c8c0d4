/* What a fit would cost. */
#include "api/handles.h"
#include "io/plan_page.h"

anygp_status anygp_plan(const anygp_settings *s, const anygp_data *data, int json, char **text, anygp_error *e)
{
    settings *mine;
    gp_plan plan;
    NEED(data);
    NEED(text);
    *text = NULL;
    TRY(api_settings_for(s, data, &mine, e));
    int former = threads_begin(mine);
    anygp_status status = gp_plan_make(&(gp_data){data->table, data->file}, mine, &plan, e);
    if (!ANYGP_FAILED(status)) {
        status = plan_page(&plan, json, text, e);
        gp_plan_clear(&plan);
    }
    settings_free(mine);
    return threads_end(former, status);
}
