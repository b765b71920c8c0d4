/* Settings by name.  settings_list.h is the table; a `settings` holds one checked text per entry. */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stop.h"

typedef enum setting_id {
#define X(id, ...) SET_##id,
#include "base/settings_list.h"
#undef X
    SETTING_COUNT
} setting_id;

typedef enum setting_type {
    SETTING_TEXT,
    SETTING_LIST, /* repeatable; items are kept separated by newlines */
    SETTING_CHOICE,
    SETTING_FLAG,
    SETTING_INTEGER,
    SETTING_REAL,
    SETTING_SECONDS,
    SETTING_BYTES,
    SETTING_COUNTS /* a whole number, or several separated by commas */
} setting_type;

typedef struct setting_info {
    const char *name;
    setting_type type;
    const char *preset; /* default, as text; "" = not set */
    double lower, upper;
    const char *choices;  /* separated by blanks */
    const char *argument; /* what follows the flag in --help */
    const char *commands;
    const char *help;
} setting_info;

typedef struct anygp_settings settings;

const setting_info *setting_at(setting_id id);
const char *setting_type_name(setting_type type);

settings *settings_new(void);
settings *settings_copy(const settings *s);
void settings_free(settings *s);

const char *setting_nearest(const char *name); /* the setting probably meant, or NULL */

/* Checks and sets.  For an unknown name the message suggests the nearest known one. */
anygp_status settings_set(settings *s, const char *name, const char *value, anygp_error *e);

/* Values; numbers were checked when they were set. */
bool settings_given(const settings *s, setting_id id);       /* set by the user, or has a default */
bool settings_changed(const settings *s, setting_id id);     /* set by the user */
const char *settings_text(const settings *s, setting_id id); /* "" when not set */
double settings_number(const settings *s,
                       setting_id id); /* integers, reals, seconds, bytes, flags, the first of counts;
                                                             NaN when not set */
int64_t settings_integer(const settings *s, setting_id id); /* the same, as an integer; 0 when not set */
/* The numbers of a SETTING_COUNTS, at most SETTING_COUNTS_MOST; how many. */
enum { SETTING_COUNTS_MOST = 16 };
int64_t settings_counts(const settings *s, setting_id id, int64_t *out);
bool settings_is(const settings *s, setting_id id, const char *choice);

double settings_memory(const settings *s); /* --memory, or what the machine has left */

/* Callbacks live in the settings too, so that every call that takes them can report. */
void settings_on_log(settings *s, anygp_log_fn fn, void *ctx);
void settings_on_progress(settings *s, anygp_progress_fn fn, void *ctx);
/* Held-out scores along the way are wanted: by the trace, or by who watches the progress. */
void settings_watch_scores(settings *s, bool on);
bool settings_scores_watched(const settings *s);
void settings_on_stop(settings *s, anygp_stop_fn fn, void *ctx);
void settings_log(const settings *s, anygp_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int settings_progress(const settings *s, const anygp_progress *p); /* nonzero: stop */
stop_poll settings_stop(const settings *s);                        /* for the time before there is a result */
anygp_status settings_check_stop(const settings *s, anygp_error *e);

#endif
