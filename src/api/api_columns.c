/* Names and categories of columns that came from arrays: what a file says in its header and its cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/memory.h"
#include "data/text/utf8.h"

static anygp_status find_column(const anygp_data *data, int64_t j, column **out, anygp_error *e)
{
    int64_t named = data->table->cols - data->weighted;
    if (j < 0 || j >= named)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "there is no column %lld; the data has %lld", (long long)j,
                         (long long)named);
    *out = &data->table->columns[j];
    return ANYGP_OK;
}

/* As for texts of a file: converted to UTF-8. */
static char *copy_text(const char *text)
{
    size_t n = strlen(text);
    char *copy = mem_alloc((int64_t)n + 1, 2);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[utf8_from_any(copy, n)] = 0;
    return copy;
}

anygp_status anygp_data_name(anygp_data *data, int64_t column_number, const char *name, anygp_error *e)
{
    column *c = NULL;
    NEED(data);
    NEED(name);
    TRY(find_column(data, column_number, &c, e));
    char *copy = copy_text(name);
    if (!copy) return fail_memory(e, "a name", 0);
    free(c->name);
    c->name = copy;
    return ANYGP_OK;
}

/* Every cell is a category or missing. */
static anygp_status check_cells(const table *t, int64_t j, int64_t count, anygp_error *e)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double x = t->values[i * t->cols + j];
        if (!isnan(x) && !(x >= 0 && x < (double)count && x == floor(x)))
            return fail_with(e, ANYGP_ERR_DATA, "X[%lld][%lld] is %g, which is not the index of one of %lld categories",
                             (long long)i, (long long)j, x, (long long)count);
    }
    return ANYGP_OK;
}

static anygp_status copy_names(int64_t count, const char *const *names, char ***out, anygp_error *e)
{
    char **copy = mem_zeroed(count, sizeof *copy);
    int64_t k = 0;
    while (copy && k < count && names[k] && (copy[k] = copy_text(names[k]))) k++;
    if (copy && k == count) return *out = copy, ANYGP_OK;
    anygp_status status = copy && !names[k] ? fail_with(e, ANYGP_ERR_ARGUMENT, "category %lld is NULL", (long long)k)
                                            : fail_memory(e, "category names", 8.0 * (double)count);
    for (int64_t i = 0; i < k; i++) free(copy[i]);
    free(copy);
    return status;
}

anygp_status anygp_data_categories(anygp_data *data, int64_t column_number, int64_t count, const char *const *names,
                                   anygp_error *e)
{
    column *c = NULL;
    NEED(data);
    NEED(names);
    TRY(find_column(data, column_number, &c, e));
    if (c->kind == COLUMN_TEXT || count < 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "column %lld cannot be given %lld categories: it has them already",
                         (long long)column_number, (long long)count);
    TRY(check_cells(data->table, column_number, count, e));
    TRY(copy_names(count, names, &c->level, e));
    c->levels = count;
    c->kind = COLUMN_TEXT;
    return ANYGP_OK;
}
