/* --order-from: the order in which rows are conditioned on earlier ones, a table of one column with the number of the row, from 0, that
   comes at each place.  Rows that the model does not take are passed over. */
#include <stdlib.h>

#include "base/memory.h"
#include "gp/fit.h"

/* The place in the data of each row of the dataset, as rows are met. */
typedef struct used_rows {
    const row_units *units;
    int64_t *number; /* for each row of the file: its number in the dataset, or -1 */
    int64_t count;
} used_rows;

static anygp_status see(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    used_rows *u = ctx;
    (void)e;
    u->number[number] = row_units_use(u->units, number, row) == ROW_USED ? u->count++ : -1;
    return ANYGP_OK;
}

/* A table of one column and n rows. */
static anygp_status read_column(const char *path, const settings *s, int64_t n, table **out, anygp_error *e)
{
    read_options o = gp_side_options(s);
    TRY(table_read(path, &o, out, e));
    if ((*out)->cols == 1 && (*out)->rows == n) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_DATA,
        "%.200s has %lld rows and %lld columns; it needs one column and %lld rows, the number of the row of "
        "the data, from 0, that comes at each place",
        path, (long long)(*out)->rows, (long long)(*out)->cols, (long long)n);
}

/* Whether it is a permutation; order[n]. */
static anygp_status check_permutation(const char *path, int64_t n, const double *values, int64_t *order, anygp_error *e)
{
    int64_t *place = mem_alloc(n, sizeof *place);
    anygp_status status = place ? ANYGP_OK : fail_memory(e, "the order of the rows", 8.0 * (double)n);
    for (int64_t i = 0; place && i < n; i++) place[i] = -1;
    for (int64_t i = 0; i < n && !ANYGP_FAILED(status); i++) {
        int64_t row = -1;
        if (!block_name_of(values[i], &row) || row < 0 || row >= n)
            status = fail_with(e, ANYGP_ERR_DATA, "%.200s, row %lld: %g is not the number of a row, from 0 to %lld",
                               path, (long long)i + 1, values[i], (long long)n - 1);
        else if (place[row] >= 0)
            status =
                fail_with(e, ANYGP_ERR_DATA, "%.200s, row %lld: row %lld of the data was there before, in row %lld",
                          path, (long long)i + 1, (long long)row, (long long)place[row] + 1);
        else
            order[i] = row, place[row] = i;
    }
    free(place);
    return status;
}

/* From rows of the file to those of the dataset, in place. */
static anygp_status take_used(const fit_task *f, const dataset *d, const rows_part *part, int64_t n, int64_t *order,
                              anygp_error *e)
{
    row_units units = {0};
    used_rows u = {.units = &units, .number = mem_alloc(n, sizeof *u.number)};
    anygp_status status = u.number ? row_units_make(d, part, f->data->table->columns, NULL, &units, e)
                                   : fail_memory(e, "the order of the rows", 8.0 * (double)n);
    if (!ANYGP_FAILED(status)) status = gp_data_walk(f->data, see, &u, e);
    for (int64_t i = 0, at = 0; !ANYGP_FAILED(status) && i < n; i++)
        if (u.number[order[i]] >= 0) order[at++] = u.number[order[i]];
    row_units_clear(&units);
    free(u.number);
    return status;
}

anygp_status fit_order(const fit_task *f, const dataset *d, const rows_part *part, int64_t **out, anygp_error *e)
{
    const char *path = settings_text(f->s, SET_ORDER_FROM);
    int64_t n = f->data->table->rows;
    table *t = NULL;
    *out = NULL;
    if (!*path || !model_has_order(f->choice.model)) return ANYGP_OK;
    int64_t *order = mem_alloc(n, sizeof *order);
    anygp_status status = order ? ANYGP_OK : fail_memory(e, "the order of the rows", 8.0 * (double)n);
    if (!ANYGP_FAILED(status)) status = read_column(path, f->s, n, &t, e);
    if (!ANYGP_FAILED(status)) status = check_permutation(path, n, t->values, order, e);
    if (!ANYGP_FAILED(status)) status = take_used(f, d, part, n, order, e);
    table_free(t);
    if (ANYGP_FAILED(status))
        free(order);
    else
        *out = order;
    return status;
}

anygp_status fit_distinct_order(const merged *m, const int64_t *rows, int64_t **out, anygp_error *e)
{
    bool *taken = mem_zeroed(m->n, sizeof *taken);
    int64_t at = 0;
    *out = NULL;
    if (!taken || !(*out = mem_alloc(m->n, sizeof **out))) {
        free(taken);
        return fail_memory(e, "the order of the rows", 8.0 * (double)m->n);
    }
    for (int64_t i = 0; i < m->data->n; i++) {
        int64_t g = m->group[rows[i]];
        if (!taken[g]) taken[g] = true, (*out)[at++] = g;
    }
    free(taken);
    return ANYGP_OK;
}
