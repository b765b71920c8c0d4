/* A model as source text. */
#include <ctype.h>
#include <string.h>

#include "api/handles.h"
#include "export/export.h"

static bool is_identifier(const char *name)
{
    bool ok = isalpha((unsigned char)*name) && strlen(name) <= 64;
    for (const char *c = name; *c; c++) ok = ok && (isalnum((unsigned char)*c) || *c == '_');
    return ok;
}

anygp_status anygp_export_c(const anygp_model *m, const char *name, const char *header, char **source,
                            char **declarations, anygp_error *e)
{
    NEED(m);
    NEED(name);
    NEED(source);
    *source = NULL;
    if (declarations) *declarations = NULL;
    if (!is_identifier(name))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "'%.80s' cannot begin the names of C functions; use letters, digits and _, at most 64", name);
    return export_c(m, name, header, source, declarations, e);
}

anygp_status anygp_export_json(const anygp_model *m, char **text, anygp_error *e)
{
    NEED(m);
    NEED(text);
    return export_json(m, text, e);
}
