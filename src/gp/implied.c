/* What the data imply where the settings are silent: a target of texts is a class. */
#include <string.h>

#include "data/text/number.h"
#include "gp/fit.h"

enum { IMPLIED_MOST = 100 }; /* classes; more texts than that are rather names than labels */

static bool is_number(const char *text)
{
    double x;
    return cell_classify(text, text + strlen(text), &x) == CELL_NUMBER;
}

/* No label that a person wrote has control characters. */
static bool is_garbage(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != 127) text++;
    return *text;
}

/* Texts that are labels by their looks: none of them is a number, and they occur twice or more on average. */
static bool are_labels(const column *c, int64_t rows)
{
    if (c->kind != COLUMN_TEXT || c->levels > IMPLIED_MOST || 2 * c->levels > rows) return false;
    for (int64_t k = 0; k < c->levels; k++)
        if (is_number(c->level[k]) || is_garbage(c->level[k])) return false;
    return true;
}

anygp_status fit_implied(const table *t, const fit_columns *c, const settings *s, settings **out, anygp_error *e)
{
    int64_t most = 0;
    *out = NULL;
    if (settings_changed(s, SET_LIKELIHOOD)) return ANYGP_OK;
    for (int64_t k = 0; k < c->targets; k++) {
        const column *target = &t->columns[c->target[k]];
        if (!are_labels(target, t->rows)) return ANYGP_OK; /* it is a number, or refused later on */
        most = target->levels > most ? target->levels : most;
    }
    const char *name = most == 2 ? "bernoulli" : "softmax";
    if (!(*out = settings_copy(s))) return fail_memory(e, "the settings", 0);
    settings_log(s, ANYGP_NOTE, "the target is text, so it is taken as %s: --likelihood %s",
                 most == 2 ? "two classes" : "classes", name);
    return settings_set(*out, "likelihood", name, e);
}
