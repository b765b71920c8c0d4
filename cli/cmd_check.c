/* anygp check: whether a model is still right.  Status 0: fine, 2: watch, 3: refit; 1: an error. */
#include "cli.h"

static anygp_verdict verdict;

int check_verdict(void) { return (int)verdict; }

anygp_status command_check(const options *o, anygp_error *e)
{
    anygp_model *m = NULL;
    char *text = NULL;
    notes_attach(o->settings, o->quiet);
    anygp_status status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = anygp_check_file(m, o->settings, o->path[1], o->json, &text, &verdict, e);
    anygp_model_free(m);
    if (status == ANYGP_ERR_INTERNAL) status = ANYGP_ERR_DATA; /* its exit status is a verdict here */
    if (ANYGP_FAILED(status)) return verdict = ANYGP_FINE, status;
    fputs(text, stdout);
    if (o->json) putchar('\n');
    anygp_text_free(text);
    return ANYGP_OK;
}
