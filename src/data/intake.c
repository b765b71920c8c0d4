#include "data/intake.h"

#include <stdlib.h>

#include "base/memory.h"

/* What stands for a missing category where that is not a category of its own: equal to none. */
static const double NO_LEVEL = -1;

/* --------------------------------------------------------------------------------------- rows */

row_use intake_row(const double *row, int64_t target, int64_t weights)
{
    double w = intake_weight(row, weights);
    if (!(w >= 0 && w <= 1e15)) return ROW_BAD_WEIGHT;
    if (w == 0) return ROW_NO_WEIGHT;
    if (isnan(row[target])) return ROW_NO_TARGET;
    return fabs(row[target]) > TARGET_LARGEST ? ROW_LARGE_TARGET : ROW_USED;
}

anygp_status intake_check(row_use use, const double *row, int64_t target, int64_t weights, int64_t number,
                          anygp_error *e)
{
    if (use == ROW_BAD_WEIGHT)
        return fail_with(e, ANYGP_ERR_DATA, "row %lld has the weight %g; weights must be numbers from 0 to 1e15",
                         (long long)number + 1, intake_weight(row, weights));
    if (use == ROW_LARGE_TARGET)
        return fail_with(e, ANYGP_ERR_DATA, "row %lld: the target %g is too large (over %g); rescale the target column",
                         (long long)number + 1, row[target], TARGET_LARGEST);
    return ANYGP_OK;
}

anygp_status intake_nothing_left(int64_t rows, int64_t no_target, int64_t no_weight, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "no row is left to learn from: of %lld, %lld have no target and %lld no weight",
                     (long long)rows, (long long)no_target, (long long)no_weight);
}

anygp_status intake_missing(const input_spec *c, int64_t number, anygp_error *e)
{
    char label[96];
    return fail_with(e, ANYGP_ERR_DATA,
                     "row %lld, column %s: the input is missing; fill it, drop the row, or use --missing mean",
                     (long long)number + 1, schema_label(c, label));
}

/* ------------------------------------------------------------------------------------ columns */

static anygp_status copy_levels(const column *from, input_spec *to, anygp_error *e)
{
    to->level = mem_zeroed(from->levels, sizeof *to->level);
    if (!to->level) return fail_memory(e, "category names", 8.0 * (double)from->levels);
    to->levels = from->levels;
    for (int64_t l = 0; l < from->levels; l++)
        if (!(to->level[l] = mem_strdup(from->level[l]))) return fail_memory(e, "category names", 0);
    return ANYGP_OK;
}

static anygp_status describe_input(const column *from, int64_t j, input_spec *c, anygp_error *e)
{
    *c = (input_spec){.number = j, .position = -1, .scale = 1, .text = from->kind == COLUMN_TEXT};
    if (from->name && !(c->name = mem_strdup(from->name))) return fail_memory(e, "column names", 0);
    return c->text ? copy_levels(from, c, e) : ANYGP_OK;
}

static anygp_status check_target(const column *c, anygp_error *e)
{
    if (c->kind == COLUMN_NUMBER) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "the target column%s%.80s%s is text; a regression target must be numbers",
                     c->name ? " '" : "", c->name ? c->name : "", c->name ? "'" : "");
}

anygp_status intake_columns(const column *columns, int64_t cols, int64_t target, int64_t weights,
                            const bool *skip_column, schema *s, anygp_error *e)
{
    TRY(check_target(&columns[target], e));
    s->input = mem_zeroed(cols, sizeof *s->input);
    if (!s->input) return fail_memory(e, "the column list", (double)cols * sizeof *s->input);
    for (int64_t j = 0; j < cols; j++)
        if (j != target && j != weights && !(skip_column && skip_column[j]))
            TRY(describe_input(&columns[j], j, &s->input[s->inputs++], e));
    const char *name = columns[target].name;
    if (name && !(s->target = mem_strdup(name))) return fail_memory(e, "column names", 0);
    s->target_number = target;
    s->columns = cols;
    s->y_scale = 1;
    return ANYGP_OK;
}

/* A missing category is a category of its own when missing inputs are filled. */
static anygp_status add_missing_level(input_spec *c, anygp_error *e)
{
    char **grown = realloc(c->level, (size_t)(c->levels + 1) * sizeof *grown);
    if (!grown) return fail_memory(e, "category names", 0);
    c->level = grown;
    if (!(c->level[c->levels] = mem_strdup(""))) return fail_memory(e, "category names", 0);
    c->fill = (double)c->levels++;
    return ANYGP_OK;
}

anygp_status intake_input(schema *s, int64_t j, double mean, bool differs, bool missing, anygp_error *e)
{
    input_spec *c = &s->input[j];
    c->fill = c->text ? NO_LEVEL : mean;
    if (c->text && s->fill_missing) TRY(add_missing_level(c, e));
    if (differs || (c->text && missing)) c->position = s->D++;
    return ANYGP_OK;
}
