/* Rows to predict, wherever they come from. */
#include "gp/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

static anygp_status check_source(const settings *s, const char *in, bool on_grid, anygp_error *e)
{
    if (!on_grid && !in)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "an argument is missing: name a table to predict, or use --grid");
    if (on_grid && in)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "grid: the places to predict are those of %.200s or those of the grid; leave one of them out",
                         in);
    if (on_grid && settings_given(s, SET_BLOCKS_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "grid: the places of a grid have no blocks; leave --blocks-from out");
    return ANYGP_OK;
}

anygp_status feed_open(feed *f, const gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    bool on_grid = settings_given(s, SET_GRID);
    TRY(check_source(s, in, on_grid, e));
    TRY(on_grid ? grid_new(m, settings_text(s, SET_GRID), &f->grid, e) : binding_open(m, in, s, &f->binding, e));
    f->columns = on_grid ? m->gp[0]->schema.inputs : binding_columns(f->binding);
    return ANYGP_OK;
}

void feed_close(feed *f)
{
    binding_close(f->binding);
    grid_free(f->grid);
    free(f->cells);
    *f = (feed){0};
}

anygp_status feed_next(feed *f, int64_t most, bool live, const double **cells, int64_t *got, anygp_error *e)
{
    if (f->binding && live) return binding_available(f->binding, most, cells, got, e);
    if (f->binding) return binding_next(f->binding, most, cells, got, e);
    if (most > f->room) {
        free(f->cells);
        f->cells = mem_doubles(most, f->columns);
        f->room = f->cells ? most : 0;
        if (!f->cells) return fail_memory(e, "a block of rows", 8.0 * (double)most * (double)f->columns);
    }
    *got = grid_next(f->grid, most, f->cells);
    *cells = f->cells;
    return ANYGP_OK;
}

int64_t feed_row_number(const feed *f)
{
    return f->binding ? binding_row_number(f->binding) : grid_row_number(f->grid);
}

bool feed_is_live(const feed *f) { return f->binding && binding_is_live(f->binding); }

const row_units *feed_units(const feed *f, int64_t target)
{
    return f->binding ? binding_units(f->binding, target) : NULL;
}

void feed_exposure(feed *f, int64_t n, const double *cells, double *exposure)
{
    if (f->binding) binding_exposure(f->binding, n, cells, exposure);
    for (int64_t i = 0; !f->binding && i < n; i++) exposure[i] = 1;
}

const column *feed_columns(const feed *f)
{
    return f->binding ? binding_columns_list(f->binding) : grid_columns(f->grid);
}

int64_t feed_column_number(const feed *f, int64_t j) { return f->binding ? j : grid_column_number(f->grid, j); }

/* "all" is every column, unless one has that name. */
anygp_status feed_kept(const feed *f, const settings *s, bool *mark, anygp_error *e)
{
    const table head = {.cols = f->columns, .columns = (column *)feed_columns(f)};
    int64_t j;
    for (j = 0; f->grid && j < f->columns; j++) mark[j] = grid_has(f->grid, j);
    if (!settings_given(s, SET_KEEP)) return ANYGP_OK;
    memset(mark, 0, (size_t)f->columns * sizeof *mark);
    bool all = settings_is(s, SET_KEEP, "all") && ANYGP_FAILED(column_find(head.columns, head.cols, "all", &j, NULL));
    for (j = 0; all && j < f->columns; j++) mark[j] = true;
    return all ? ANYGP_OK : fit_mark_listed(&head, s, SET_KEEP, mark, e);
}
