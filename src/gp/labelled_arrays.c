#include "gp/labelled_arrays.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void labelled_arrays_close(labelled_arrays *a)
{
    row_units_clear(&a->units);
    free(a->cells);
    free(a->columns);
}

anygp_status labelled_arrays_open(labelled_arrays *a, int64_t room, anygp_error *e)
{
    a->inputs = a->m->gp[0]->schema.inputs, a->wide = a->inputs + 3, a->room = room;
    a->cells = mem_doubles(room, a->wide);
    a->columns = mem_zeroed(a->wide, sizeof *a->columns);
    return a->cells && a->columns ? ANYGP_OK : fail_memory(e, "a block of rows", 8.0 * (double)room * (double)a->wide);
}

anygp_status labelled_arrays_target(labelled_arrays *a, int64_t t, const double *y, bool scored, anygp_error *e)
{
    const gp *g = a->m->gp[t];
    column *target = &a->columns[a->inputs];
    row_places p = {.columns = a->columns,
                    .in_order = true,
                    .target = a->inputs,
                    .weights = a->inputs + 1,
                    .exposure = a->inputs + 2,
                    .scored = scored};
    *target = (column){.name = g->schema.target};
    if (g->schema.class_text) /* labels are indices, as for a fit */
        target->kind = COLUMN_TEXT, target->level = g->schema.class_name, target->levels = g->schema.classes;
    a->y = y;
    row_units_clear(&a->units);
    return gp_row_units(g, &p, &a->units, e);
}

void labelled_arrays_take(labelled_arrays *a, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double *row = a->cells + i * a->wide;
        memcpy(row, a->rows + (first + i) * a->ld, (size_t)a->inputs * sizeof *row);
        row[a->inputs] = a->y[first + i];
        row[a->inputs + 1] = a->weights ? a->weights[first + i] : 1;
        row[a->inputs + 2] = a->exposure ? a->exposure[first + i] : 1;
    }
}
