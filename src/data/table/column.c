/* Columns by name or number, with help when there is no such column. */
#include "data/formats/reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"

void columns_free(column *columns, int64_t n)
{
    for (int64_t j = 0; columns && j < n; j++) {
        for (int64_t k = 0; k < columns[j].levels; k++) free(columns[j].level[k]);
        free(columns[j].level);
        free(columns[j].name);
        free(columns[j].shown);
    }
    free(columns);
}

enum { LIST_BYTES = 240 };

static const char *column_name(int64_t j, const void *columns) { return ((const column *)columns)[j].name; }

/* "a, b, c" or "a, b, ... (100000 in all)". */
static void list_names(const column *columns, int64_t n, char *to)
{
    int used = 0;
    for (int64_t j = 0; j < n; j++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)j);
        const char *name = columns[j].name ? columns[j].name : number;
        if (used + (int)strlen(name) + 2 > LIST_BYTES - 40) {
            snprintf(to + used, (size_t)(LIST_BYTES - used), "%s... (%lld in all)", j ? ", " : "", (long long)n);
            return;
        }
        used += snprintf(to + used, (size_t)(LIST_BYTES - used), "%s%s", j ? ", " : "", name);
    }
}

static bool parse_index(const char *spec, int64_t n, int64_t *index)
{
    char *end;
    errno = 0;
    long long k = strtoll(spec, &end, 10);
    if (errno || end == spec || *end) return false;
    *index = k < 0 ? k + n : k;
    return true;
}

anygp_status column_find(const column *columns, int64_t n, const char *spec, int64_t *index, anygp_error *e)
{
    for (int64_t j = 0; j < n; j++)
        if (columns[j].name && !strcmp(columns[j].name, spec)) return *index = j, ANYGP_OK;
    if (parse_index(spec, n, index)) {
        if (*index >= 0 && *index < n) return ANYGP_OK;
        return fail_with(e, ANYGP_ERR_DATA,
                         "there is no column %.40s; the %lld columns are numbered from 0, or from -1 at the end", spec,
                         (long long)n);
    }
    char names[LIST_BYTES] = "";
    const char *guess = nearest_name(spec, n, column_name, columns);
    list_names(columns, n, names);
    return fail_with(e, ANYGP_ERR_DATA, "there is no column '%.60s'%s%s%s The columns are: %s", spec,
                     guess ? "; did you mean '" : ".", guess ? guess : "", guess ? "'?" : "", names);
}

/* ------------------------------------------------------------------------------------ several at once */

static void look_for(const column *columns, int64_t n, const char *name, size_t length, absent_columns *a)
{
    char spec[64];
    int64_t index;
    while (length > 0 && *name == ' ') name++, length--;
    while (length > 0 && name[length - 1] == ' ') length--;
    snprintf(spec, sizeof spec, "%.*s", (int)(length < 60 ? length : 60), name);
    if (length >= 60 || column_find(columns, n, spec, &index, NULL) == ANYGP_OK) return;
    size_t used = strlen(a->names);
    if (used + length + 8 < sizeof a->names)
        snprintf(a->names + used, sizeof a->names - used, "%s'%s'", used ? ", " : "", spec);
    a->count++;
}

void columns_look_for(const column *columns, int64_t n, const char *item, size_t length, bool commas, absent_columns *a)
{
    char whole[512];
    int64_t index;
    if (length >= sizeof whole) return;
    memcpy(whole, item, length);
    whole[length] = 0;
    if (column_find(columns, n, whole, &index, NULL) == ANYGP_OK) return;
    for (const char *p = whole;; p++) {
        size_t to = commas ? strcspn(p, ",") : strlen(p);
        look_for(columns, n, p, to, a);
        p += to;
        if (!*p) return;
    }
}

anygp_status columns_absent(const column *columns, int64_t n, const absent_columns *a, anygp_error *e)
{
    char names[LIST_BYTES] = "";
    list_names(columns, n, names);
    return fail_with(e, ANYGP_ERR_DATA, "there are no columns %s. The columns are: %s", a->names, names);
}
