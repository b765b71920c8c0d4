/* --sphere: which two columns are the longitude and the latitude of a place. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "gp/fit.h"

static const char *const longitudes[] = {"lon", "long", "lng", "longitude"};
static const char *const latitudes[] = {"lat", "latitude"};

/* The name, or the name with something after it that is no letter: lat_deg, Longitude (WGS84). */
static bool is_called(const char *text, const char *name)
{
    size_t n = strlen(name);
    return !strncasecmp(text, name, n) && !isalnum((unsigned char)text[n]);
}

/* The first column that has one of these names; -1: none. */
static int64_t column_named(const table *t, const bool *skip, int names, const char *const *name)
{
    for (int64_t j = 0; j < t->cols; j++) {
        const column *c = &t->columns[j];
        for (int i = 0; i < names && c->name && c->kind == COLUMN_NUMBER && !skip[j]; i++)
            if (is_called(c->name, name[i])) return j;
    }
    return -1;
}

bool fit_looks_like_sphere(const table *t, const bool *skip, int64_t found[2])
{
    found[0] = column_named(t, skip, sizeof longitudes / sizeof *longitudes, longitudes);
    found[1] = column_named(t, skip, sizeof latitudes / sizeof *latitudes, latitudes);
    return found[0] >= 0 && found[1] >= 0;
}

/* Two names with a comma between; names may have commas in them, so every comma is tried. */
static bool two_columns(const table *t, const char *text, int64_t found[2])
{
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        char first[512];
        size_t n = (size_t)(comma - text);
        if (n >= sizeof first) return false;
        memcpy(first, text, n);
        first[n] = 0;
        if (!ANYGP_FAILED(column_find(t->columns, t->cols, first, &found[0], NULL)) &&
            !ANYGP_FAILED(column_find(t->columns, t->cols, comma + 1, &found[1], NULL)))
            return true;
    }
    return false;
}

static anygp_status check_columns(const table *t, const fit_columns *c, anygp_error *e)
{
    char label[96];
    for (int i = 0; i < 2; i++) {
        int64_t j = c->sphere[i];
        schema_label(&(input_spec){.name = t->columns[j].name, .number = j}, label);
        if (t->columns[j].kind != COLUMN_NUMBER || c->category[j])
            return fail_with(e, ANYGP_ERR_ARGUMENT, "sphere: column %s is text; it must hold degrees as numbers",
                             label);
        if (c->skip[j] || j == c->weights)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "sphere: column %s is not an input", label);
    }
    if (c->sphere[0] != c->sphere[1]) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "sphere: longitude and latitude are the same column; write --sphere LON,LAT");
}

anygp_status fit_find_sphere(const table *t, const settings *s, fit_columns *c, anygp_error *e)
{
    const char *text = settings_text(s, SET_SPHERE);
    if (!*text) return ANYGP_OK;
    bool guess = !strcmp(text, "auto");
    if (guess && !fit_looks_like_sphere(t, c->skip, c->sphere))
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "sphere: no columns are called longitude and latitude, lon and lat or the like; write --sphere "
            "LON,LAT");
    if (!guess && !two_columns(t, text, c->sphere))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "sphere: '%.80s' does not name two columns; write --sphere LON,LAT, longitude first", text);
    TRY(check_columns(t, c, e));
    if (guess)
        settings_log(s, ANYGP_NOTE, "sphere: '%s' and '%s' are longitude and latitude", t->columns[c->sphere[0]].name,
                     t->columns[c->sphere[1]].name);
    return ANYGP_OK;
}
