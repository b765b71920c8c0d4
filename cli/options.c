#include "cli.h"

#include <stdarg.h>
#include <string.h>

anygp_status complain(anygp_error *e, anygp_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return e->status = status;
}

void options_free(options *o) { anygp_settings_free(o->settings); }

bool command_takes(const command *c, int64_t i) { return strpbrk(anygp_setting_field(i, "commands"), c->letters); }

/* The setting called `name` that command c takes, or -1. */
static int64_t setting_for(const command *c, const char *name)
{
    for (int64_t i = 0; i < anygp_setting_count(); i++)
        if (!strcmp(anygp_setting_field(i, "name"), name) && command_takes(c, i)) return i;
    return -1;
}

static bool is_flag(int64_t setting) { return !strcmp(anygp_setting_field(setting, "type"), "flag"); }

/* --json, --quiet, --help, --help-all and their short forms. */
static bool switch_word(const command *c, const char *word, options *o)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return o->help = true;
    if (!strcmp(word, "--help-all")) return o->help = o->help_all = true;
    if (!strcmp(word, "--quiet") || !strcmp(word, "-q")) return o->quiet = true;
    if (!strcmp(word, "--json") && c->json) return o->json = true;
    return false;
}

/* The letters of help in another order, or one of them wrong: there are settings that are as near. */
static bool is_help(const char *name)
{
    static const char help[] = "help";
    int64_t wrong = 0, seen = 0;
    if (strlen(name) != 4 || name[0] != 'h') return false;
    for (int i = 0; i < 4; i++) wrong += name[i] != help[i], seen += strchr(name, help[i]) != NULL;
    return wrong == 1 || seen == 4;
}

static anygp_status unknown_option(const command *c, const char *name, anygp_error *e)
{
    const char *near = anygp_setting_nearest(name);
    if (is_help(name)) near = "help";
    if (near && !strcmp(near, "help"))
        return complain(e, ANYGP_ERR_ARGUMENT, "unknown option --%.60s; did you mean --help? See anygp %s --help", name,
                        c->name);
    if (near && strcmp(near, name) && setting_for(c, near) >= 0)
        return complain(e, ANYGP_ERR_ARGUMENT, "unknown option --%.60s; did you mean --%s? See anygp %s --help", name,
                        near, c->name);
    return complain(e, ANYGP_ERR_ARGUMENT, "anygp %s has no option --%.60s; see anygp %s --help", c->name, name,
                    c->name);
}

static anygp_status take_output(const command *c, const char *value, options *o, anygp_error *e)
{
    if (!c->writes) return complain(e, ANYGP_ERR_ARGUMENT, "anygp %s writes no file; -o does not apply", c->name);
    if (!value || !*value) return complain(e, ANYGP_ERR_ARGUMENT, "-o needs a file name");
    if (o->output) return complain(e, ANYGP_ERR_ARGUMENT, "-o is given twice");
    o->output = value;
    return ANYGP_OK;
}

const own_option *command_own(const command *c)
{
    static const struct {
        const char *name;
        const own_option *own;
    } list[] = {{"fit", fit_options}, {"export", export_options}, {"serve", serve_options}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!strcmp(c->name, list[i].name)) return list[i].own;
    return NULL;
}

/* One of the command's own. */
static anygp_status take_own(const own_option *own, const char *value, const char *next, const char **to, int *used,
                             anygp_error *e)
{
    bool flag = !*own->argument, optional = *own->argument == '[';
    bool number = next && *next && strspn(next, "0123456789") == strlen(next);
    if (flag && value) return complain(e, ANYGP_ERR_ARGUMENT, "--%s takes no value", own->name);
    if (!value && (flag || (optional && !number)))
        value = "";
    else if (!value)
        value = next, *used = 1;
    if (!value) return complain(e, ANYGP_ERR_ARGUMENT, "--%s needs a value: %s", own->name, own->help);
    *to = value;
    return ANYGP_OK;
}

/* --name value, --name=value, or --flag; *used counts the further word taken. */
static anygp_status take_setting(const command *c, const char *word, const char *next, options *o, int *used,
                                 anygp_error *e)
{
    char name[64];
    size_t n = strcspn(word + 2, "=");
    if (n >= sizeof name) return unknown_option(c, "...", e);
    memcpy(name, word + 2, n);
    name[n] = 0;
    const char *value = word[2 + n] == '=' ? word + 3 + n : NULL;
    if (!strcmp(name, "output")) {
        *used = !value;
        return take_output(c, value ? value : next, o, e);
    }
    const own_option *own = command_own(c);
    for (int k = 0; own && own[k].name; k++)
        if (!strcmp(name, own[k].name)) return take_own(&own[k], value, next, &o->own[k], used, e);
    int64_t i = setting_for(c, name);
    if (i < 0) return unknown_option(c, name, e);
    if (!value && is_flag(i)) value = "yes";
    if (!value) value = next, *used = 1;
    if (!value) return complain(e, ANYGP_ERR_ARGUMENT, "--%s needs a value: %s", name, anygp_setting_field(i, "help"));
    return anygp_set(o->settings, name, value, e);
}

static anygp_status take_path(const command *c, const char *word, options *o, anygp_error *e)
{
    if (o->paths == c->most)
        return complain(e, ANYGP_ERR_ARGUMENT, "'%.80s' is one argument too many; usage: anygp %s", word, c->usage);
    o->path[o->paths++] = word;
    return ANYGP_OK;
}

anygp_status options_parse(const command *c, int argc, char **argv, options *o, anygp_error *e)
{
    bool plain = false; /* after -- */
    if (!(o->settings = anygp_settings_new())) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        int used = 0;
        anygp_status status = ANYGP_OK;
        if (plain || word[0] != '-' || !word[1])
            status = take_path(c, word, o, e);
        else if (!strcmp(word, "--"))
            plain = true;
        else if (switch_word(c, word, o))
            continue;
        else if (!strcmp(word, "-o"))
            used = 1, status = take_output(c, next, o, e);
        else if (word[1] == '-')
            status = take_setting(c, word, next, o, &used, e);
        else
            status = complain(e, ANYGP_ERR_ARGUMENT, "unknown option %.40s; see anygp %s --help", word, c->name);
        if (ANYGP_FAILED(status)) return status;
        i += used;
    }
    if (!o->help && o->paths < c->least)
        return complain(e, ANYGP_ERR_ARGUMENT, "an argument is missing; usage: anygp %s", c->usage);
    return ANYGP_OK;
}
