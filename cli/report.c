/* report and plot: a page or a picture of a model and rows. */
#include "cli.h"

#include <string.h>
#include <strings.h>

static anygp_status check_files(const options *o, anygp_error *e)
{
    const char *const files[] = {o->path[0], o->path[1], o->output};
    anygp_status status = paths_distinct(files, 2, 3, e);
    return ANYGP_FAILED(status) ? status : path_check_writable(o->output, e);
}

/* Other endings promise what is not in the file. */
anygp_status report_check_name(const char *path, anygp_error *e)
{
    static const char *const others[] = {".pdf", ".png", ".svg", ".docx", ".md", ".txt", ".json", ".csv"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t k = strlen(others[i]);
        if (n < k || strcasecmp(path + n - k, others[i])) continue;
        return complain(e, ANYGP_ERR_ARGUMENT,
                        "a report is a page, not a %s file: give it a name that ends with .html%s", others[i],
                        i == 0  ? "; a browser prints it to PDF"
                        : i < 3 ? ", or draw one picture with anygp plot"
                                : "");
    }
    return ANYGP_OK;
}

anygp_status command_report(const options *o, anygp_error *e)
{
    anygp_model *m = NULL;
    if (o->output && ANYGP_FAILED(report_check_name(o->output, e))) return e->status;
    if (!o->output) return complain(e, ANYGP_ERR_ARGUMENT, "where should the report go? Add -o report.html");
    anygp_status status = check_files(o, e);
    notes_attach(o->settings, o->quiet);
    if (!ANYGP_FAILED(status)) status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = anygp_report(m, o->settings, o->path[1], o->output, e);
    if (!ANYGP_FAILED(status) && path_is_file(o->output)) printf("wrote %s\n", o->output);
    anygp_model_free(m);
    return status;
}

static anygp_status print_list(const options *o, const anygp_model *m, anygp_error *e)
{
    char *text = NULL;
    anygp_status status = anygp_plot_list(m, o->settings, o->path[1], &text, e);
    if (!ANYGP_FAILED(status)) fputs(text, stdout);
    anygp_text_free(text);
    return status;
}

anygp_status command_plot(const options *o, anygp_error *e)
{
    const char *what = anygp_get(o->settings, "what");
    anygp_model *m = NULL;
    if (!*what)
        return complain(e, ANYGP_ERR_ARGUMENT, "which picture? Add --what NAME; --what list shows what there is");
    bool list = !strcmp(what, "list");
    anygp_status status = check_files(o, e);
    notes_attach(o->settings, o->quiet);
    if (!ANYGP_FAILED(status)) status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status))
        status = list ? print_list(o, m, e) : anygp_plot(m, o->settings, o->path[1], what, o->output, e);
    if (!ANYGP_FAILED(status) && !list && path_is_file(o->output)) printf("wrote %s\n", o->output);
    anygp_model_free(m);
    return status;
}

/* Whether --valid names a table: it is neither a word nor a number. */
static bool is_table(const char *valid)
{
    return path_is_file(valid) && strcmp(valid, "auto") && strcmp(valid, "none") &&
           strspn(valid, "0123456789.eE+-") < strlen(valid);
}

/* On the rows that the fit did not learn from: a table of its own, those held out, or else the training rows, which the page says. */
anygp_status fit_report(const options *o, const anygp_model *m, anygp_error *e)
{
    const char *path = anygp_get(o->settings, "report"), *valid = anygp_get(o->settings, "valid");
    const char *in = is_table(valid) ? valid : path_is_file(o->path[0]) ? o->path[0] : NULL;
    if (!*path) return ANYGP_OK;
    if (!in && !o->quiet) print_sentence("", "the report is without rows, since standard input can be read only once");
    anygp_status status = is_table(valid) ? ANYGP_OK : anygp_set(o->settings, "report-rows", "held", e);
    if (!ANYGP_FAILED(status)) status = anygp_report(m, o->settings, in, path, e);
    if (!ANYGP_FAILED(status) && !o->json) printf("wrote %s\n", path);
    return status;
}
