/* Cells of a table to the classes of a model, and back to what a table of predictions shows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/classes.h"
#include "data/number.h"
#include "gp/gp.h"

/* "a, b, c" or "a, b, ...". */
static void list_classes(const schema *s, char *to, size_t size)
{
    size_t used = 0;
    for (int64_t k = 0; k < s->classes; k++) {
        const char *name = s->class_name[k];
        bool fits = used + strlen(name) + sizeof ", ..." + 1 < size;
        used += (size_t)snprintf(to + used, size - used, "%s%s", k ? ", " : "", fits ? name : "...");
        if (!fits) return;
    }
}

static anygp_status unknown_class(const schema *s, const char *name, int64_t row, anygp_error *e)
{
    char list[200] = "";
    list_classes(s, list, sizeof list);
    return fail_with(e, ANYGP_ERR_DATA, "row %lld: the model does not know the label '%.80s'; its classes are %s",
                     (long long)row + 1, name, list);
}

anygp_status label_class(const schema *s, const column *c, double cell, int64_t row, double *y, anygp_error *e)
{
    char printed[NUMBER_TEXT_MOST + 1];
    *y = cell;
    if (s->classes == 0 || isnan(cell)) return ANYGP_OK;
    int64_t k = class_index(s, c, cell);
    *y = (double)k;
    if (k >= 0) return ANYGP_OK;
    printed[number_print(cell, printed)] = 0;
    return unknown_class(s, c->kind == COLUMN_TEXT ? c->level[(int64_t)cell] : printed, row, e);
}

double label_cell(const schema *s, int64_t k)
{
    const char *name = s->class_name[k];
    double x;
    if (!s->class_text && cell_classify(name, name + strlen(name), &x) == CELL_NUMBER) return x;
    return (double)k;
}
