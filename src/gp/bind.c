/* Matching a file's columns to the inputs a model was trained on.
   - Both have a header: by name, in any order; other columns (the target, too) are ignored.
   - Otherwise by position: a file as wide as the training file, or one that has the inputs alone.
   Categories are matched by their text; one that the model has not seen becomes a new level, with one warning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/formats/live.h"
#include "data/text/name_table.h"
#include "gp/bind_live.h"

struct binding {
    const gp_set *m;
    const schema *schema; /* of the first target: names, numbers and kinds of the inputs are those of all */
    const settings *s;
    reader *reader;
    name_places columns; /* of the file, by name */
    name_places inputs;  /* of the model, by name */
    int64_t *numbered;   /* columns of the training file: the input that stood there, or -1 */
    name_places *known;  /* inputs: text: the categories of the model; made when they are needed */
    int64_t *column;     /* inputs: column of the file */
    double **level;      /* inputs: text: level of the file -> level of the model; NULL for numbers */
    int64_t *levels;     /* inputs: how many are mapped so far */
    int64_t *unseen;     /* inputs: categories the model has not seen */
    bool warned, by_name;
    bool fill;        /* --missing mean, for a model that was trained without; else the model knows what to do */
    bool unexposed;   /* the note that the file has no exposure has been given */
    row_units *units; /* targets: how a row of the file gets into their units, */
    row_units *score; /* and how one that is scored too does; or NULL */
    double *cells;
    int64_t capacity;
};

void binding_close(binding *b)
{
    if (!b) return;
    for (int64_t j = 0; b->level && j < b->schema->inputs; j++) free(b->level[j]);
    for (int64_t j = 0; b->known && j < b->schema->inputs; j++) name_places_free(&b->known[j]);
    for (int64_t t = 0; b->units && t < b->m->targets; t++) row_units_clear(&b->units[t]);
    for (int64_t t = 0; b->score && t < b->m->targets; t++) row_units_clear(&b->score[t]);
    free(b->units);
    free(b->score);
    name_places_free(&b->columns);
    name_places_free(&b->inputs);
    free(b->known);
    free(b->numbered);
    free(b->level);
    free(b->levels);
    free(b->unseen);
    free(b->column);
    free(b->cells);
    reader_close(b->reader);
    free(b);
}

/* Names and numbers of the model's inputs, to find them by. */
static anygp_status list_inputs(binding *b, anygp_error *e)
{
    const schema *s = b->schema;
    bool ok = name_places_make(&b->inputs, s->inputs) && (b->numbered = mem_alloc(s->columns, sizeof *b->numbered));
    for (int64_t j = 0; ok && j < s->columns; j++) b->numbered[j] = -1;
    for (int64_t i = 0; ok && i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        if (c->name) ok = name_places_add(&b->inputs, c->name, i);
        if (c->number >= 0 && c->number < s->columns) b->numbered[c->number] = i;
    }
    return ok ? ANYGP_OK : fail_memory(e, "the columns", 24.0 * (double)s->columns);
}

static anygp_status list_columns(binding *b, anygp_error *e)
{
    int64_t n = reader_columns(b->reader);
    bool ok = name_places_make(&b->columns, n);
    for (int64_t j = 0; ok && j < n; j++) {
        const char *name = reader_column(b->reader, j)->name;
        if (name) ok = name_places_add(&b->columns, name, j);
    }
    return ok ? ANYGP_OK : fail_memory(e, "the columns", 24.0 * (double)n);
}

/* The input that column j of the file is: by name or, where one of the two has none, by position; -1: none. */
static int64_t input_at(const binding *b, const char *name, int64_t j)
{
    const schema *s = b->schema;
    int64_t i = name ? name_places_find(&b->inputs, name) : -1;
    if (i >= 0) return i;
    i = j < s->columns ? b->numbered[j] : -1;
    return i >= 0 && name && s->input[i].name ? -1 : i;
}

/* As the model's column is written, or with the decimal sign that the settings name.  Amounts may change their signs from
   file to file: 10% and 10 are the same number. */
static column_wish wish_number(const binding *b, cell_notation n, const char *unit)
{
    bool fixed = notation_is_date(n) || n == NOTATION_TIME || n == NOTATION_YES_NO;
    if (fixed) return (column_wish){COLUMN_NUMBER, NOTATION_BIT(n), NULL};
    if (settings_is(b->s, SET_DECIMAL, ".")) n = notation_with_point(n);
    if (settings_is(b->s, SET_DECIMAL, ",")) n = notation_with_comma(n);
    return (column_wish){COLUMN_NUMBER, n ? NOTATION_BIT(n) : NOTATIONS_POINT | NOTATIONS_COMMA, unit};
}

/* A column called `name` has the target's name or, where there are no names, its place behind the inputs. */
static bool is_target(const schema *s, const char *name, int64_t j)
{
    bool last = j == s->target_number && j == s->columns - 1;
    return name && s->target ? !strcmp(name, s->target) : !name && last;
}

/* The kind a column of the file must have: that of the model's input of the same name or position. */
static column_wish wish_for(const binding *b, const char *name, int64_t j)
{
    const schema *s = b->schema;
    int64_t i = input_at(b, name, j);
    const input_spec *c = i >= 0 ? &s->input[i] : NULL;
    if (c) return c->text ? (column_wish){COLUMN_TEXT, 0, NULL} : wish_number(b, c->notation, c->unit);
    if (s->classes == 0 && is_target(s, name, j) && s->target_notation)
        return wish_number(b, s->target_notation, s->target_unit);
    bool labels = s->class_text && is_target(s, name, j);
    return (column_wish){labels ? COLUMN_TEXT : -1, labels ? 0 : NOTATIONS_POINT | NOTATIONS_COMMA, NULL};
}

static anygp_status wish_for_model(const void *ctx, const column *columns, int64_t cols, column_wish *wish,
                                   anygp_error *e)
{
    (void)e;
    for (int64_t j = 0; j < cols; j++) wish[j] = wish_for(ctx, columns[j].name, j);
    return ANYGP_OK;
}

/* Among columns with the same name, the one at the position it had in training, else the first.  One without a name, in a file
   where others have them, keeps its position. */
static int64_t column_named(const binding *b, const char *name, int64_t start)
{
    bool there = start >= 0 && start < reader_columns(b->reader);
    const char *has = there ? reader_column(b->reader, start)->name : NULL;
    if (!name) return there && !has ? start : -1;
    return has && !strcmp(has, name) ? start : name_places_find(&b->columns, name);
}

static bool has_names(const reader *r)
{
    for (int64_t j = 0; j < reader_columns(r); j++)
        if (reader_column(r, j)->name) return true;
    return false;
}

static bool inputs_have_names(const schema *s)
{
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].name) return true;
    return false;
}

/* A column may be constant, and so left out, for one target and not for another. */
static bool is_used(const binding *b, int64_t i)
{
    for (int64_t t = 0; t < b->m->targets; t++)
        if (b->m->gp[t]->schema.input[i].position >= 0) return true;
    return false;
}

static bool is_absent(const binding *b, int64_t i) { return b->column[i] < 0 && is_used(b, i); }

/* "'a', 'b', 'c'" or "'a', 'b' and 98 others". */
static void list_absent(const binding *b, int64_t absent, char *to, size_t size)
{
    size_t used = 0;
    for (int64_t i = 0, told = 0; i < b->schema->inputs; i++) {
        char label[96];
        if (!is_absent(b, i)) continue;
        schema_label(&b->schema->input[i], label);
        if (used + strlen(label) + sizeof " and 1234567890 others" > size) {
            snprintf(to + used, size - used, " and %lld others", (long long)(absent - told));
            return;
        }
        used += (size_t)snprintf(to + used, size - used, "%s%s", told++ ? ", " : "", label);
    }
}

static anygp_status match_by_name(binding *b, anygp_error *e)
{
    const schema *s = b->schema;
    int64_t absent = 0, used = 0;
    char list[240] = "";
    b->by_name = true;
    for (int64_t i = 0; i < s->inputs; i++) {
        b->column[i] = column_named(b, s->input[i].name, s->input[i].number);
        absent += is_absent(b, i), used += is_used(b, i);
    }
    if (absent == 0) return ANYGP_OK;
    list_absent(b, absent, list, sizeof list);
    return fail_with(e, ANYGP_ERR_DATA, "%.200s has no column%s %s, which the model was trained on%s",
                     reader_name(b->reader), absent == 1 ? "" : "s", list,
                     absent == used ? " (where lines of text precede the table, use --skip or --comment)" : "");
}

static anygp_status match_by_position(binding *b, anygp_error *e)
{
    const schema *s = b->schema;
    int64_t wide = reader_columns(b->reader);
    for (int64_t i = 0; i < s->inputs; i++) b->column[i] = wide == s->columns ? s->input[i].number : i;
    if (wide == s->columns || wide == s->inputs) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "%s has %lld columns; the model needs its %lld inputs, or the %lld columns it was trained on",
                     reader_name(b->reader), (long long)wide, (long long)s->inputs, (long long)s->columns);
}

static anygp_status check_kinds(const binding *b, anygp_error *e)
{
    char label[96];
    for (int64_t i = 0; i < b->schema->inputs; i++) {
        const input_spec *c = &b->schema->input[i];
        if (!is_used(b, i) || b->column[i] < 0) continue;
        bool text = reader_column(b->reader, b->column[i])->kind == COLUMN_TEXT;
        if (text != c->text)
            return fail_with(e, ANYGP_ERR_DATA, "%s: column %s has %s, but the model was trained on %s",
                             reader_name(b->reader), schema_label(c, label), text ? "text" : "numbers",
                             c->text ? "text" : "numbers");
    }
    return ANYGP_OK;
}

/* Column of the file, or -1. */
static int64_t exposure_column(const binding *b, const schema *s)
{
    if (!s->exposed) return -1;
    if (b->by_name && s->exposure_name) return column_named(b, s->exposure_name, s->exposure);
    return reader_columns(b->reader) == s->columns ? s->exposure : -1;
}

/* ------------------------------------------------------------------------------------------- units */

/* For target t, replacing any earlier ones. */
static anygp_status make_units(binding *b, int64_t t, const row_places *places, row_units *u, anygp_error *e)
{
    row_places p = *places;
    p.columns = reader_column(b->reader, 0), p.input = b->column;
    row_units_clear(u);
    TRY(gp_row_units(b->m->gp[t], &p, u, e));
    for (int64_t j = 0; b->fill && j < u->D; j++) u->x[j].fill = b->schema->input[u->x[j].input].fill;
    u->fill_missing = u->fill_missing || b->fill;
    return ANYGP_OK;
}

static anygp_status units_of_inputs(binding *b, anygp_error *e)
{
    int64_t T = b->m->targets;
    if (!(b->units = mem_zeroed(T, sizeof *b->units)))
        return fail_memory(e, "the columns", (double)T * sizeof *b->units);
    for (int64_t t = 0; t < T; t++) {
        int64_t exposure = exposure_column(b, &b->m->gp[t]->schema);
        TRY(make_units(b, t, &(row_places){.target = -1, .weights = -1, .exposure = exposure}, &b->units[t], e));
    }
    return ANYGP_OK;
}

const row_units *binding_units(const binding *b, int64_t target) { return &b->units[target]; }
const row_units *binding_scored_units(const binding *b, int64_t target) { return &b->score[target]; }

anygp_status binding_open(const gp_set *m, const char *path, const settings *s, binding **out, anygp_error *e)
{
    const schema *c = &m->gp[0]->schema;
    binding *b = calloc(1, sizeof *b);
    anygp_status status = ANYGP_OK;
    if (!b) return fail_memory(e, "the columns", sizeof *b);
    b->m = m, b->schema = c, b->s = s;
    b->fill = settings_is(s, SET_MISSING, "mean") && !c->fill_missing;
    b->column = mem_alloc(c->inputs, sizeof *b->column);
    b->level = mem_zeroed(c->inputs, sizeof *b->level);
    b->levels = mem_zeroed(c->inputs, sizeof *b->levels);
    b->unseen = mem_zeroed(c->inputs, sizeof *b->unseen);
    b->known = mem_zeroed(c->inputs, sizeof *b->known);
    if (!b->column || !b->level || !b->levels || !b->unseen || !b->known) {
        status = fail_memory(e, "the columns", 32.0 * (double)c->inputs);
        goto done;
    }
    TRY_DONE(list_inputs(b, e));
    read_options o = gp_read_options(s);
    o.width = c->inputs;
    if (!o.comment) o.comment = settings_text(m->settings, SET_COMMENT)[0];
    if (!*o.na) o.na = settings_text(m->settings, SET_NA);
    o.wishes = wish_for_model;
    o.wishes_ctx = b;
    TRY_DONE(reader_open(path, &o, &b->reader, e));
    if (settings_is(s, SET_BAD, "skip")) reader_forgive(b->reader);
    TRY_DONE(list_columns(b, e));
    bool named = has_names(b->reader) && inputs_have_names(c);
    TRY_DONE(named ? match_by_name(b, e) : match_by_position(b, e));
    TRY_DONE(check_kinds(b, e));
    TRY_DONE(units_of_inputs(b, e));
done:
    if (ANYGP_FAILED(status))
        binding_close(b);
    else
        *out = b;
    return status;
}

static anygp_status list_levels(const input_spec *c, name_places *known, anygp_error *e)
{
    if (known->place) return ANYGP_OK;
    bool ok = name_places_make(known, c->levels);
    for (int64_t k = 0; ok && k < c->levels; k++) ok = name_places_add(known, c->level[k], k);
    return ok ? ANYGP_OK : fail_memory(e, "category names", 24.0 * (double)c->levels);
}

/* Extends the map of levels to all the file has shown so far. */
static anygp_status map_levels(binding *b, int64_t i, anygp_error *e)
{
    const column *from = reader_column(b->reader, b->column[i]);
    const input_spec *to = &b->schema->input[i];
    if (from->levels == b->levels[i]) return ANYGP_OK;
    double *grown = realloc(b->level[i], (size_t)from->levels * sizeof *grown);
    if (!grown) return fail_memory(e, "category names", 8.0 * (double)from->levels);
    b->level[i] = grown;
    TRY(list_levels(to, &b->known[i], e));
    for (int64_t l = b->levels[i]; l < from->levels; l++) {
        int64_t k = name_places_find(&b->known[i], from->level[l]);
        grown[l] = (double)(k < 0 ? to->levels + b->unseen[i]++ : k);
    }
    b->levels[i] = from->levels;
    if (b->unseen[i] && !b->warned) {
        char label[96];
        settings_log(b->s, ANYGP_WARNING, "column %s has categories the model has not seen; each counts as a new level",
                     schema_label(to, label));
        b->warned = true;
    }
    return ANYGP_OK;
}

/* The texts that the file has shown so far. */
static anygp_status follow_texts(const binding *b, int64_t t, row_units *u, anygp_error *e)
{
    for (int64_t j = 0; j < u->D; j++) u->x[j].level = b->level[u->x[j].input];
    return row_units_follow(u, &b->m->gp[t]->schema, e);
}

static anygp_status learn_texts(binding *b, anygp_error *e)
{
    for (int64_t i = 0; i < b->schema->inputs; i++)
        if (b->schema->input[i].text && is_used(b, i)) TRY(map_levels(b, i, e));
    for (int64_t t = 0; t < b->m->targets; t++) {
        TRY(follow_texts(b, t, &b->units[t], e));
        if (b->score) TRY(follow_texts(b, t, &b->score[t], e));
    }
    return ANYGP_OK;
}

static anygp_status next_rows(binding *b, int64_t max_rows, bool some, const double **cells, int64_t *got,
                              anygp_error *e)
{
    if (max_rows > b->capacity) {
        free(b->cells);
        b->capacity = 0;
        b->cells = mem_doubles(max_rows, reader_columns(b->reader));
        if (!b->cells)
            return fail_memory(e, "a block of rows", 8.0 * (double)max_rows * (double)reader_columns(b->reader));
        b->capacity = max_rows;
    }
    TRY(some ? reader_available(b->reader, max_rows, b->cells, got, e)
             : reader_next(b->reader, max_rows, b->cells, got, e));
    *cells = b->cells;
    return learn_texts(b, e);
}

anygp_status binding_next(binding *b, int64_t max_rows, const double **cells, int64_t *got, anygp_error *e)
{
    return next_rows(b, max_rows, false, cells, got, e);
}

anygp_status binding_available(binding *b, int64_t max_rows, const double **cells, int64_t *got, anygp_error *e)
{
    return next_rows(b, max_rows, true, cells, got, e);
}

const column *binding_columns_list(const binding *b) { return reader_column(b->reader, 0); }
bool binding_is_live(const binding *b) { return reader_is_live(b->reader); }
void binding_forgive(binding *b) { reader_forgive(b->reader); }
int64_t binding_forgiven(const binding *b, const char **first) { return reader_forgiven(b->reader, first); }

int64_t binding_row_number(const binding *b) { return reader_row_number(b->reader); }
int64_t binding_columns(const binding *b) { return reader_columns(b->reader); }

/* ----------------------------------------------------------------------------- targets and the like */

/* Column of the file, or -1. */
static int64_t target_column(const binding *b, int64_t target)
{
    const schema *s = &b->m->gp[target]->schema;
    if (b->by_name && s->target) return column_named(b, s->target, 0);
    return reader_columns(b->reader) == s->columns ? s->target_number : -1;
}

int64_t binding_target_column(const binding *b, int64_t target) { return target_column(b, target); }
int64_t binding_input_column(const binding *b, int64_t i) { return b->column[i]; }

static bool is_text(const binding *b, int64_t j) { return reader_column(b->reader, j)->kind == COLUMN_TEXT; }

static void note_unexposed(binding *b, const schema *s)
{
    if (!s->exposed || b->unexposed) return;
    b->unexposed = true;
    settings_log(b->s, ANYGP_NOTE, "%s has no column of exposures%s%.80s%s; every row counts as exposed to 1",
                 reader_name(b->reader), s->exposure_name ? " '" : "", s->exposure_name ? s->exposure_name : "",
                 s->exposure_name ? "'" : "");
}

void binding_exposure(binding *b, int64_t n, const double *cells, double *exposure)
{
    int64_t j = exposure_column(b, b->schema), wide = reader_columns(b->reader);
    if (j < 0) note_unexposed(b, b->schema);
    for (int64_t i = 0; i < n; i++) exposure[i] = j < 0 ? 1 : cells[i * wide + j];
}

static anygp_status weights_column(const binding *b, int64_t *j, anygp_error *e)
{
    *j = -1;
    if (!settings_given(b->s, SET_WEIGHTS)) return ANYGP_OK;
    TRY(column_find(reader_column(b->reader, 0), reader_columns(b->reader), settings_text(b->s, SET_WEIGHTS), j, e));
    return is_text(b, *j)
               ? fail_with(e, ANYGP_ERR_DATA, "%.200s: the column of weights is text; weights must be numbers",
                           reader_name(b->reader))
               : ANYGP_OK;
}

/* Only classes may be texts. */
static anygp_status check_target(const binding *b, const schema *s, int64_t j, const char *what_for, anygp_error *e)
{
    bool text = j >= 0 && is_text(b, j) && s->classes == 0;
    if (j >= 0 && !text) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "%.200s has no target column%s%.80s%s %s%s", reader_name(b->reader),
                     s->target ? " '" : "", s->target ? s->target : "", s->target ? "'" : "", text ? "of numbers " : "",
                     what_for);
}

static row_places places_of_labels(const binding *b, int64_t t, int64_t weights, bool scored)
{
    int64_t exposure = exposure_column(b, &b->m->gp[t]->schema);
    return (row_places){.target = target_column(b, t), .weights = weights, .exposure = exposure, .scored = scored};
}

anygp_status binding_labels(binding *b, bool scored, const char *what_for, anygp_error *e)
{
    int64_t weights;
    for (int64_t t = 0; t < b->m->targets; t++)
        TRY(check_target(b, &b->m->gp[t]->schema, target_column(b, t), what_for, e));
    TRY(weights_column(b, &weights, e));
    for (int64_t t = 0; t < b->m->targets; t++) {
        row_places p = places_of_labels(b, t, weights, scored);
        if (p.exposure < 0) note_unexposed(b, &b->m->gp[t]->schema);
        TRY(make_units(b, t, &p, &b->units[t], e));
    }
    return ANYGP_OK;
}

anygp_status binding_score(binding *b, anygp_error *e)
{
    int64_t weights, T = b->m->targets;
    if (!b->score && !(b->score = mem_zeroed(T, sizeof *b->score))) return fail_memory(e, "the columns", 0);
    TRY(weights_column(b, &weights, e));
    for (int64_t t = 0; t < T; t++) {
        row_places p = places_of_labels(b, t, weights, true);
        TRY(make_units(b, t, &p, &b->score[t], e));
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- new categories */

/* The names of the unseen levels of input i, behind those that c has. */
static bool append_levels(const binding *b, int64_t i, input_spec *c)
{
    const column *from = reader_column(b->reader, b->column[i]);
    double first = (double)c->levels;
    char **grown = realloc(c->level, (size_t)(c->levels + b->unseen[i]) * sizeof *grown);
    if (!grown) return false;
    c->level = grown;
    for (int64_t l = 0; l < b->levels[i]; l++) { /* unseen ones got their indices in the order of the file's */
        if (b->level[i][l] < first) continue;
        if (!(c->level[c->levels] = mem_strdup(from->level[l]))) return false;
        c->levels++;
    }
    return true;
}

static void drop_levels(input_spec *c, int64_t keep)
{
    while (c->levels > keep) free(c->level[--c->levels]);
}

anygp_status binding_keep_levels(const binding *b, gp_set *m, anygp_error *e)
{
    int64_t inputs = b->schema->inputs, *before = mem_alloc(inputs, sizeof *before);
    bool ok = before != NULL;
    for (int64_t i = 0; ok && i < inputs; i++) before[i] = b->schema->input[i].levels;
    for (int64_t t = 0; ok && t < m->targets; t++)
        for (int64_t i = 0; ok && i < inputs; i++)
            if (b->unseen[i]) ok = append_levels(b, i, &m->gp[t]->schema.input[i]);
    for (int64_t t = 0; before && !ok && t < m->targets; t++)
        for (int64_t i = 0; i < inputs; i++) drop_levels(&m->gp[t]->schema.input[i], before[i]);
    free(before);
    return ok ? ANYGP_OK : fail_memory(e, "category names", 0);
}
