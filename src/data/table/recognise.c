/* Texts to numbers, from all levels of a column (recognise.h). */
#include "data/table/recognise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { NEW_LEAST = 20 }; /* a column of so few texts is not judged by how many of them are new */

/* Of `notations`, those that all texts of the column are of. */
static unsigned common_notations(const column *c, unsigned notations)
{
    for (int64_t l = 0; l < c->levels && notations; l++)
        notations = notations_of(notations, c->level[l], c->level[l] + strlen(c->level[l]));
    return c->levels > 0 ? notations : 0;
}

/* Both words of one pair occur: a column that says only yes, and else nothing, is better as it is. */
static bool is_yes_no(const column *c)
{
    static const char *const pairs[][2] = {{"yes", "no"}, {"true", "false"}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        bool seen[2] = {false, false}, other = false;
        for (int64_t l = 0; l < c->levels && !other; l++) {
            int which = !strcasecmp(c->level[l], pairs[p][0]) ? 0 : !strcasecmp(c->level[l], pairs[p][1]) ? 1 : -1;
            other = which < 0;
            if (!other) seen[which] = true;
        }
        if (!other && seen[0] && seen[1]) return true;
    }
    return false;
}

static cell_notation date_order(const column *c, cell_notation dates)
{
    unsigned both = NOTATION_BIT(NOTATION_DATE_DMY) | NOTATION_BIT(NOTATION_DATE_MDY);
    unsigned may = common_notations(c, dates == NOTATION_PLAIN ? both : NOTATION_BIT(dates));
    if (may == NOTATION_BIT(NOTATION_DATE_DMY)) return NOTATION_DATE_DMY;
    return may == NOTATION_BIT(NOTATION_DATE_MDY) ? NOTATION_DATE_MDY : NOTATION_PLAIN;
}

/* The first text whose unit is not that of the very first; -1: all have one unit, or not all have one. */
int64_t recognise_other_unit(const column *c)
{
    char first[UNIT_ROOM], unit[UNIT_ROOM];
    int64_t other = -1;
    for (int64_t l = 0; l < c->levels; l++) {
        const char *s = c->level[l], *end = s + strlen(s);
        if (!notations_of(NOTATIONS_UNIT, s, end) || !notation_unit(s, end, l ? unit : first)) return -1;
        if (l && other < 0 && strcmp(unit, first)) other = l;
    }
    return other;
}

column_doubt recognise_doubt(const column *c, cell_notation dates)
{
    unsigned orders = NOTATION_BIT(NOTATION_DATE_DMY) | NOTATION_BIT(NOTATION_DATE_MDY);
    if (c->kind != COLUMN_TEXT) return DOUBT_NONE;
    if (dates == NOTATION_PLAIN && common_notations(c, orders) == orders) return DOUBT_DAY_OR_MONTH;
    if (recognise_other_unit(c) >= 0) return DOUBT_UNITS;
    unsigned common = common_notations(c, NOTATIONS_POINT | NOTATIONS_COMMA | NOTATIONS_UNIT);
    for (cell_notation n = NOTATION_GROUPED; n <= NOTATION_UNIT; n++)
        if ((common & NOTATION_BIT(n)) && (common & NOTATION_BIT(notation_with_comma(n)))) return DOUBT_COMMA;
    return DOUBT_NONE;
}

/* The texts give way to what they mean. */
static anygp_status to_numbers(table *t, int64_t j, cell_notation n, anygp_error *e)
{
    column *c = &t->columns[j];
    double *value = mem_alloc(c->levels, sizeof *value);
    if (!value) return fail_memory(e, "a column", 8.0 * (double)c->levels);
    for (int64_t l = 0; l < c->levels; l++)
        notation_read(n, NULL, c->level[l], c->level[l] + strlen(c->level[l]), &value[l]);
    c->shown_row = -1;
    for (int64_t i = 0; i < t->rows; i++) {
        double *cell = &t->values[i * t->cols + j];
        if (isnan(*cell)) continue;
        if (c->shown_row < 0) c->shown_row = i;
        *cell = value[(int64_t)*cell];
    }
    free(value);
    c->shown = c->level[0]; /* the first one in the file */
    for (int64_t l = 1; l < c->levels; l++) free(c->level[l]);
    free(c->level);
    c->level = NULL, c->levels = 0;
    c->kind = COLUMN_NUMBER, c->notation = n;
    return ANYGP_OK;
}

static int64_t present(const table *t, int64_t j)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->rows; i++) n += !isnan(t->values[i * t->cols + j]);
    return n;
}

anygp_status recognise_texts(table *t, int64_t j, cell_notation dates, anygp_error *e)
{
    column *c = &t->columns[j];
    cell_notation n = is_yes_no(c) ? NOTATION_YES_NO : date_order(c, dates);
    if (n != NOTATION_PLAIN) return to_numbers(t, j, n, e);
    int64_t texts = present(t, j);
    if (texts > NEW_LEAST && 2 * c->levels > texts) c->left_out = COLUMN_ALL_NEW;
    return ANYGP_OK;
}

static bool in_list(const char *name, size_t n, const char *const *names)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

bool recognise_row_label(const char *name)
{
    static const char *const names[] = {"",   "Unnamed: 0", "index", "rownames", "row.names",
                                        "id", "ID",         "Id",    "rowid",    "row_id"};
    return !name || in_list(name, sizeof names / sizeof *names, names);
}

bool recognise_row_name(const char *name, bool named)
{
    static const char *const names[] = {"X", "row"};
    return name ? recognise_row_label(name) || in_list(name, sizeof names / sizeof *names, names) : named;
}
