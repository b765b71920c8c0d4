/* What becomes of columns and rows before a model sees them (intake.h). */
#include "data/table/intake.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/table/recognise.h"

/* The value of a missing category that is not a category of its own: equal to none. */
static const double NO_LEVEL = -1;

/* --------------------------------------------------------------------------------------- rows */

static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);

uint64_t intake_digest_begin(int64_t number) { return (uint64_t)number + 1; }

uint64_t intake_digest_cell(uint64_t h, double cell)
{
    uint64_t bits;
    double x = isnan(cell) ? NAN : cell + 0.0;
    memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * ODD;
    return h ^ h >> 32;
}

uint64_t intake_digest_end(uint64_t h) { return h * ODD; }

uint64_t intake_digest(const double *row, int64_t cols, int64_t number)
{
    uint64_t h = intake_digest_begin(number);
    for (int64_t j = 0; j < cols; j++) h = intake_digest_cell(h, row[j]);
    return intake_digest_end(h);
}

const char *intake_exposure(double x)
{
    if (isnan(x)) return "is missing";
    if (!(x > 0)) return "is not above 0";
    return x < EXPOSURE_LEAST || x > EXPOSURE_LARGEST ? "is outside 1e-100 to 1e100" : NULL;
}

/* "'age'" or "2" where there is no name. */
static const char *label_of(const column *columns, int64_t j, char *buffer)
{
    return schema_label(&(input_spec){.name = columns[j].name, .number = j}, buffer);
}

anygp_status intake_nothing_left(int64_t rows, int64_t no_target, int64_t no_weight, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "no row is left to learn from: of %lld, %lld have no target and %lld no weight",
                     (long long)rows, (long long)no_target, (long long)no_weight);
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
    c->notation = c->text ? NOTATION_PLAIN : from->notation;
    memcpy(c->unit, from->unit, sizeof c->unit);
    if (from->name && !(c->name = mem_strdup(from->name))) return fail_memory(e, "column names", 0);
    return c->text ? copy_levels(from, c, e) : ANYGP_OK;
}

static bool is_calendar(const column *c)
{
    const unsigned known = NOTATIONS_DATES | NOTATION_BIT(NOTATION_TIME);
    return c->levels > 0 && notations_of(known, c->level[0], c->level[0] + strlen(c->level[0]));
}

static anygp_status check_target(const column *columns, int64_t j, bool classes, anygp_error *e)
{
    char label[96];
    if (classes || columns[j].kind == COLUMN_NUMBER) return ANYGP_OK;
    if (is_calendar(&columns[j]))
        return fail_with(
            e, ANYGP_ERR_DATA,
            "the target column %s holds dates or times ('%.40s'), which are inputs only; name the column to "
            "predict with --target, or write this one as numbers, such as days",
            label_of(columns, j, label), columns[j].level[0]);
    if (recognise_doubt(&columns[j], NOTATION_PLAIN) == DOUBT_COMMA)
        return fail_with(e, ANYGP_ERR_DATA,
                         "the target column %s is text: the comma of '%.40s' may be a decimal sign or a thousands "
                         "separator; use --decimal , or --decimal .",
                         label_of(columns, j, label), columns[j].level[0]);
    return fail_with(
        e, ANYGP_ERR_DATA,
        "the target column %s is text; a regression target must be numeric, and classes that do not look like "
        "labels need --likelihood bernoulli, softmax, robustmax or ordinal",
        label_of(columns, j, label));
}

static anygp_status take_exposure(const column *columns, int64_t j, schema *s, anygp_error *e)
{
    char label[96];
    if (columns[j].kind != COLUMN_NUMBER)
        return fail_with(e, ANYGP_ERR_DATA, "the exposure column %s is text; it must hold numbers above 0",
                         label_of(columns, j, label));
    s->exposed = true;
    s->exposure = j;
    if (columns[j].name && !(s->exposure_name = mem_strdup(columns[j].name))) return fail_memory(e, "column names", 0);
    return ANYGP_OK;
}

anygp_status intake_target(const column *columns, int64_t cols, const target_columns *y, int64_t t, schema *s,
                           anygp_error *e)
{
    int64_t j = y->target[t];
    TRY(check_target(columns, j, y->classes, e));
    if (columns[j].name && !(s->target = mem_strdup(columns[j].name))) return fail_memory(e, "column names", 0);
    s->target_number = j;
    s->target_notation = columns[j].notation;
    memcpy(s->target_unit, columns[j].unit, sizeof s->target_unit);
    s->columns = cols;
    s->warp = target_warp(y, t);
    s->y_scale = 1;
    return y->exposure < 0 ? ANYGP_OK : take_exposure(columns, y->exposure, s, e);
}

static bool is_input(int64_t j, const target_columns *y, const bool *skip_column)
{
    for (int64_t t = 0; t < y->targets; t++)
        if (j == y->target[t]) return false;
    return j != y->weights && j != y->exposure && !(skip_column && skip_column[j]);
}

anygp_status intake_columns(const column *columns, int64_t cols, const target_columns *y, const bool *skip_column,
                            schema *s, anygp_error *e)
{
    TRY(intake_target(columns, cols, y, 0, s, e));
    s->input = mem_zeroed(cols, sizeof *s->input);
    if (!s->input) return fail_memory(e, "the column list", (double)cols * sizeof *s->input);
    for (int64_t j = 0; j < cols; j++)
        if (is_input(j, y, skip_column)) TRY(describe_input(&columns[j], j, &s->input[s->inputs++], e));
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
