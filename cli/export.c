/* anygp export: a model as C or JSON. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { HEADER };
const own_option export_options[] = {
    {"header", "FILE", "for C: a file for the declarations; default: they are in the source file"}, {NULL, NULL, NULL}};

static const char *header_of(const options *o) { return o->own[HEADER]; }

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file's name without its ending, as an identifier: what the functions begin with. */
static void name_of(const char *path, char name[64])
{
    int n = 0;
    for (const char *c = base_name(path); *c && *c != '.' && n < 63; c++) {
        bool fits = isalpha((unsigned char)*c) || (n > 0 && (isdigit((unsigned char)*c) || *c == '_'));
        if (n == 0 && !fits) name[n++] = 'm', name[n++] = '_';
        name[n++] = fits || isdigit((unsigned char)*c) ? *c : '_';
    }
    name[n] = 0;
}

static anygp_status write_text(const char *path, const char *text, anygp_error *e)
{
    FILE *f = path_is_file(path) ? fopen(path, "w") : stdout;
    if (!f) return complain(e, ANYGP_ERR_FILE, "%.300s cannot be written: %s", path, strerror(errno));
    bool ok = fputs(text, f) != EOF;
    ok = (f == stdout ? fflush(f) : fclose(f)) == 0 && ok;
    return ok ? ANYGP_OK : complain(e, ANYGP_ERR_FILE, "%.300s cannot be written: %s", path, strerror(errno));
}

static anygp_status export_as_c(const options *o, const anygp_model *m, anygp_error *e)
{
    char name[64], *source = NULL, *declarations = NULL;
    name_of(o->output, name);
    anygp_status status = anygp_export_c(m, name, header_of(o) ? base_name(header_of(o)) : NULL, &source,
                                         header_of(o) ? &declarations : NULL, e);
    if (!ANYGP_FAILED(status)) status = write_text(o->output, source, e);
    if (!ANYGP_FAILED(status) && header_of(o)) status = write_text(header_of(o), declarations, e);
    anygp_text_free(source);
    anygp_text_free(declarations);
    return status;
}

static anygp_status export_as_json(const options *o, const anygp_model *m, anygp_error *e)
{
    char *text = NULL;
    anygp_status status = anygp_export_json(m, &text, e);
    if (!ANYGP_FAILED(status)) status = write_text(o->output, text, e);
    anygp_text_free(text);
    return status;
}

static anygp_status check(const options *o, anygp_error *e)
{
    const char *const files[] = {o->path[0], o->output, header_of(o)};
    if (!o->output) return complain(e, ANYGP_ERR_ARGUMENT, "where should it go? Add -o FILE.c or -o FILE.json");
    if (!ends_with(o->output, ".c") && !ends_with(o->output, ".json"))
        return complain(e, ANYGP_ERR_ARGUMENT,
                        "a model is exported as C or as JSON, and '%.80s' ends in neither .c nor .json", o->output);
    if (header_of(o) && !ends_with(o->output, ".c"))
        return complain(e, ANYGP_ERR_ARGUMENT, "--header is for C, and '%.80s' is JSON", o->output);
    anygp_status status = paths_distinct(files, 1, header_of(o) ? 3 : 2, e);
    if (!ANYGP_FAILED(status)) status = path_check_writable(o->output, e);
    return ANYGP_FAILED(status) || !header_of(o) ? status : path_check_writable(header_of(o), e);
}

anygp_status command_export(const options *o, anygp_error *e)
{
    anygp_model *m = NULL;
    anygp_status status = check(o, e);
    if (!ANYGP_FAILED(status)) status = anygp_load(o->path[0], &m, e);
    if (!ANYGP_FAILED(status)) status = (ends_with(o->output, ".c") ? export_as_c : export_as_json)(o, m, e);
    if (!ANYGP_FAILED(status))
        printf("wrote %s%s%s\n", o->output, header_of(o) ? " and " : "", header_of(o) ? header_of(o) : "");
    anygp_model_free(m);
    return status;
}
