/* anygp compare: several models, or kernels, on the same rows. */
#include <string.h>

#include "cli.h"

/* What can be checked before an hour of training. */
static anygp_status check_compare(const options *o, anygp_error *e)
{
    const char *report = anygp_get(o->settings, "report");
    const char *const files[] = {o->path[0], anygp_get(o->settings, "test"), anygp_get(o->settings, "inducing-from"),
                                 o->output, report};
    if (o->output && *anygp_get(o->settings, "folds"))
        return complain(e, ANYGP_ERR_ARGUMENT,
                        "-o: with --folds no model is fitted to all rows; leave one of the two out, and fit the best "
                        "one by anygp fit");
    anygp_status status = paths_distinct(files, 3, 5, e);
    if (!ANYGP_FAILED(status)) status = path_check_writable(o->output, e);
    return ANYGP_FAILED(status) ? status : path_check_writable(report, e);
}

static anygp_status print_result(const options *o, char *text, const anygp_model *best, anygp_error *e)
{
    anygp_status status = o->output && best ? anygp_save(best, o->output, e) : ANYGP_OK;
    if (ANYGP_FAILED(status)) return status;
    fputs(text, stdout);
    if (o->json) putchar('\n');
    if (o->output && best && !o->json) printf("wrote %s\n", o->output);
    if (path_is_file(anygp_get(o->settings, "report")) && !o->json)
        printf("wrote %s\n", anygp_get(o->settings, "report"));
    return ANYGP_OK;
}

anygp_status command_compare(const options *o, anygp_error *e)
{
    anygp_data *data = NULL;
    anygp_model *best = NULL;
    char *text = NULL;
    anygp_status status = check_compare(o, e);
    if (ANYGP_FAILED(status)) return status;
    progress_attach(o->settings, o->quiet);
    status = anygp_data_read(o->path[0], o->settings, &data, e);
    if (!ANYGP_FAILED(status)) status = anygp_compare(o->settings, data, o->json, &text, o->output ? &best : NULL, e);
    progress_end();
    anygp_data_free(data);
    if (!ANYGP_FAILED(status)) status = print_result(o, text, best, e);
    anygp_text_free(text);
    anygp_model_free(best);
    return status;
}
