/* Settings by name: the table in settings_list.h, their values as texts, checked when they are set. */
#include "base/settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/nearest.h"

static const setting_info table[] = {
#define X(id, name, type, preset, lower, upper, choices, argument, commands, help)                                     \
    {name, SETTING_##type, preset, lower, upper, choices, argument, commands, help},
#include "base/settings_list.h"
#undef X
};

struct anygp_settings {
    char *text[SETTING_COUNT]; /* NULL: the default */
    anygp_log_fn log;
    void *log_ctx;
    anygp_progress_fn progress;
    bool scores;
    void *progress_ctx;
    stop_poll stop;
};

const setting_info *setting_at(setting_id id) { return id < SETTING_COUNT ? &table[id] : NULL; }

const char *setting_type_name(setting_type type)
{
    static const char *const names[] = {"text", "list",    "choice", "flag",  "integer",
                                        "real", "seconds", "bytes",  "counts"};
    return names[type];
}

settings *settings_new(void) { return calloc(1, sizeof(settings)); }

void settings_free(settings *s)
{
    if (!s) return;
    for (int i = 0; i < SETTING_COUNT; i++) free(s->text[i]);
    free(s);
}

settings *settings_copy(const settings *s)
{
    settings *c = settings_new();
    if (c && s)
        c->log = s->log, c->log_ctx = s->log_ctx, c->progress = s->progress, c->progress_ctx = s->progress_ctx,
        c->scores = s->scores;
    if (c && s) c->stop = s->stop;
    for (int i = 0; c && s && i < SETTING_COUNT; i++)
        if (s->text[i] && !(c->text[i] = mem_strdup(s->text[i]))) return settings_free(c), NULL;
    return c;
}

void settings_on_log(settings *s, anygp_log_fn fn, void *ctx) { s->log = fn, s->log_ctx = ctx; }
void settings_watch_scores(settings *s, bool on) { s->scores = on; }
bool settings_scores_watched(const settings *s) { return s->scores || settings_given(s, SET_TRACE); }
void settings_on_progress(settings *s, anygp_progress_fn fn, void *ctx) { s->progress = fn, s->progress_ctx = ctx; }
void settings_on_stop(settings *s, anygp_stop_fn fn, void *ctx) { s->stop = (stop_poll){fn, ctx}; }
anygp_status settings_check_stop(const settings *s, anygp_error *e) { return s ? stop_check(&s->stop, e) : ANYGP_OK; }
stop_poll settings_stop(const settings *s) { return s ? s->stop : (stop_poll){0}; }

void settings_log(const settings *s, anygp_log_level level, const char *format, ...)
{
    if (!s || !s->log) return;
    char text[1024]; /* twice what an error's sentence may have */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->log(s->log_ctx, level, text);
}

int settings_progress(const settings *s, const anygp_progress *p)
{
    return s && s->progress ? s->progress(s->progress_ctx, p) : 0;
}

/* ------------------------------------------------------------------------------- nearest name */

static const char *table_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return table[i].name;
}

const char *setting_nearest(const char *name) { return nearest_name(name, SETTING_COUNT, table_name, NULL); }

/* ------------------------------------------------------------------------------------- checks */

/* A number and the suffix after it. */
static bool parse_number(const char *text, double *value, const char **suffix)
{
    char *end;
    c_locale l = c_locale_enter();
    *value = strtod(text, &end);
    c_locale_leave(l);
    *suffix = end;
    return end != text && isfinite(*value);
}

static bool scale_suffix(setting_type type, const char *suffix, double *value)
{
    static const struct {
        const char *suffix;
        double seconds, bytes;
    } scales[] = {{"", 1, 1},     {"s", 1, 0},        {"m", 60, 1e6},        {"min", 60, 0},
                  {"h", 3600, 0}, {"d", 86400, 0},    {"ms", 1e-3, 0},       {"k", 0, 1e3},
                  {"K", 0, 1e3},  {"M", 0, 1e6},      {"G", 0, 1e9},         {"T", 0, 1e12},
                  {"kB", 0, 1e3}, {"MB", 0, 1e6},     {"GB", 0, 1e9},        {"TB", 0, 1e12},
                  {"g", 0, 1e9},  {"KiB", 0, 1024.0}, {"MiB", 0, 1048576.0}, {"GiB", 0, 1073741824.0}};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        double factor = type == SETTING_SECONDS ? scales[i].seconds : type == SETTING_BYTES ? scales[i].bytes : i == 0;
        if (factor > 0 && !strcmp(suffix, scales[i].suffix)) return *value *= factor, true;
    }
    return false;
}

static bool flag_value(const char *text, double *value)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i])) return *value = (double)(i % 2), true;
    return false;
}

static bool number_of(const setting_info *t, const char *text, double *value)
{
    const char *suffix;
    if (t->type == SETTING_FLAG) return flag_value(text, value);
    if (!parse_number(text, value, &suffix)) return false;
    return (t->type == SETTING_COUNTS && *suffix == ',') || scale_suffix(t->type, suffix, value);
}

static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);
    for (const char *c = choices; n && (c = strstr(c, word)); c += n)
        if ((c == choices || c[-1] == ' ') && (c[n] == ' ' || c[n] == 0)) return true;
    return false;
}

static anygp_status check_number(const setting_info *t, const char *text, anygp_error *e)
{
    double v;
    if (!number_of(t, text, &v))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "%s: '%.80s' is not %s", t->name, text,
                         t->type == SETTING_SECONDS ? "a time such as 90s, 5m or 2h"
                         : t->type == SETTING_BYTES ? "a size such as 500M or 2G"
                         : t->type == SETTING_FLAG  ? "yes or no"
                                                    : "a number");
    if ((t->type == SETTING_INTEGER || t->type == SETTING_COUNTS) && v != floor(v))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "%s: '%.80s' is not a whole number", t->name, text);
    if (t->type != SETTING_FLAG && !(v >= t->lower && v <= t->upper))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "%s: %.80s is not between %g and %g", t->name, text, t->lower,
                         t->upper);
    return ANYGP_OK;
}

/* Each number by itself, with a comma between two of them. */
static anygp_status check_counts(const setting_info *t, const char *text, anygp_error *e)
{
    int64_t count = 0;
    for (const char *at = text; at; count++) {
        if (count == SETTING_COUNTS_MOST)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "%s: '%.80s' has more than %d numbers", t->name, text,
                             SETTING_COUNTS_MOST);
        TRY(check_number(t, at, e));
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return ANYGP_OK;
}

static anygp_status append_item(char **list, const char *item, anygp_error *e)
{
    size_t old = *list ? strlen(*list) + 1 : 0, extra = strlen(item) + 1;
    char *grown = realloc(*list, old + extra);
    if (!grown) return fail_memory(e, "a setting", (double)(old + extra));
    if (old) grown[old - 1] = '\n';
    memcpy(grown + old, item, extra);
    *list = grown;
    return ANYGP_OK;
}

anygp_status settings_set(settings *s, const char *name, const char *value, anygp_error *e)
{
    int i = 0;
    while (i < SETTING_COUNT && strcmp(table[i].name, name) != 0) i++;
    if (i == SETTING_COUNT) {
        const char *near = setting_nearest(name);
        return fail_with(e, ANYGP_ERR_ARGUMENT, "there is no setting '%.80s'%s%s%s", name,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    const setting_info *t = &table[i];
    if (t->type == SETTING_CHOICE && !is_choice(t->choices, value))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "%s: '%.80s' is not one of: %s", t->name, value, t->choices);
    if (t->type == SETTING_COUNTS)
        TRY(check_counts(t, value, e));
    else if (t->type >= SETTING_FLAG)
        TRY(check_number(t, value, e));
    if (t->type == SETTING_LIST) return append_item(&s->text[i], value, e);
    char *copy = mem_strdup(value);
    if (!copy) return fail_memory(e, "a setting", (double)strlen(value));
    free(s->text[i]);
    s->text[i] = copy;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- values */

bool settings_changed(const settings *s, setting_id id) { return s && s->text[id]; }
const char *settings_text(const settings *s, setting_id id)
{
    return settings_changed(s, id) ? s->text[id] : table[id].preset;
}
bool settings_given(const settings *s, setting_id id) { return settings_text(s, id)[0] != 0; }

double settings_number(const settings *s, setting_id id)
{
    double v = NAN;
    return settings_given(s, id) && number_of(&table[id], settings_text(s, id), &v) ? v : NAN;
}

int64_t settings_integer(const settings *s, setting_id id)
{
    double v = settings_number(s, id);
    return v == v ? (int64_t)v : 0;
}

int64_t settings_counts(const settings *s, setting_id id, int64_t *out)
{
    int64_t count = 0;
    double v;
    const char *at = settings_given(s, id) ? settings_text(s, id) : NULL;
    for (; at && count < SETTING_COUNTS_MOST && number_of(&table[id], at, &v); at = at ? at + 1 : NULL) {
        out[count++] = (int64_t)v;
        at = strchr(at, ',');
    }
    return count;
}

bool settings_is(const settings *s, setting_id id, const char *choice) { return !strcmp(settings_text(s, id), choice); }

double settings_memory(const settings *s)
{
    return settings_given(s, SET_MEMORY) ? settings_number(s, SET_MEMORY) : (double)memory_available();
}
