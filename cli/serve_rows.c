/* Rows from JSON: {"rows": [[1, 2, "red"], ...]}, {"rows": [{"size": 1, ...}, ...]}, the list alone, or one row as an object,
   {"size": 1, ...}.  "only": "mean" beside "rows" leaves the variance out.  null is a missing value; a text is a category of its input, or of a notation that the library's reader knows (a date,
   a percentage): then the rows become a table for it. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

void row_request_clear(row_request *r)
{
    if (r->X != r->few) free(r->X);
    free(r->table);
    r->n = 0, r->X = NULL, r->table = NULL, r->mean_only = false;
}

/* ---------------------------------------------------------------------------------------- the document */

/* An object that is a row itself: it becomes the only one of a list. */
static json_t *alone(json_t *row)
{
    json_t *list = json_array();
    if (json_array_append_new(list, row)) json_decref(list), list = NULL; /* it takes the row in any case */
    return list;
}

/* *root is what the caller has to give back, *rows the list in it; the same, if there is nothing but the list. */
static anygp_status parse(const char *body, size_t size, json_t **root, json_t **rows, anygp_error *e)
{
    json_error_t why;
    *root = json_loadb(body, size, JSON_REJECT_DUPLICATES, &why);
    if (!*root)
        return complain(e, ANYGP_ERR_DATA, "the body is not JSON: %.160s (line %d, column %d)", why.text, why.line,
                        why.column);
    if (json_object_size(*root) > 0 && !json_object_get(*root, "rows") && !(*root = alone(*root)))
        return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    *rows = json_is_array(*root) ? *root : json_object_get(*root, "rows");
    if (!json_is_array(*rows))
        return complain(
            e, ANYGP_ERR_DATA,
            "the rows should be a list, each row a list or an object: {\"rows\": [[...], ...]}, [[...], ...] or "
            "[{\"column\": value, ...}, ...]; one row may be an object alone, {\"column\": value, ...}");
    if (json_array_size(*rows) == 0) return complain(e, ANYGP_ERR_DATA, "there are no rows");
    if (json_array_size(*rows) > SERVE_ROWS_MOST)
        return complain(e, ANYGP_ERR_DATA, "%zu rows are more than the %d of one request", json_array_size(*rows),
                        SERVE_ROWS_MOST);
    return ANYGP_OK;
}

static anygp_status take_only(const json_t *root, row_request *out, anygp_error *e)
{
    const json_t *only = json_is_object(root) ? json_object_get(root, "only") : NULL;
    if (!only) return ANYGP_OK;
    if (!json_is_string(only) || strcmp(json_string_value(only), "mean"))
        return complain(e, ANYGP_ERR_DATA, "\"only\" can be \"mean\"");
    out->mean_only = true;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- one row */

/* Every name of the object is an input. */
static anygp_status check_names(const row_shape *s, json_t *row, size_t number, anygp_error *e)
{
    const char *key;
    json_t *cell;
    json_object_foreach(row, key, cell)
    {
        bool known = false;
        for (int64_t i = 0; i < s->inputs && !known; i++) known = !strcmp(s->name(s->ctx, i), key);
        if (!known) return complain(e, ANYGP_ERR_DATA, "row %zu: the model has no input '%.80s'", number + 1, key);
    }
    return ANYGP_OK;
}

static anygp_status check_row(const row_shape *s, json_t *row, size_t number, anygp_error *e)
{
    if (json_is_object(row)) return check_names(s, row, number, e);
    if (!json_is_array(row)) return complain(e, ANYGP_ERR_DATA, "row %zu is neither a list nor an object", number + 1);
    if (json_array_size(row) != (size_t)s->inputs)
        return complain(e, ANYGP_ERR_DATA, "row %zu has %zu values, and the model has %lld inputs", number + 1,
                        json_array_size(row), (long long)s->inputs);
    return ANYGP_OK;
}

static json_t *cell_of(const row_shape *s, json_t *row, int64_t i)
{
    return json_is_array(row) ? json_array_get(row, (size_t)i) : json_object_get(row, s->name(s->ctx, i));
}

/* False: it is a text that has to go through the library's reader. */
static bool plain_cell(const row_shape *s, int64_t i, const json_t *cell, double *x)
{
    int64_t K = s->categories(s->ctx, i);
    if (json_is_null(cell)) return *x = NAN, true;
    if (json_is_number(cell) && K == 0) return *x = json_number_value(cell), true;
    for (int64_t k = 0; json_is_string(cell) && k < K; k++)
        if (!strcmp(json_string_value(cell), s->category(s->ctx, i, k))) return *x = (double)k, true;
    return false;
}

static anygp_status take_row(const row_shape *s, json_t *row, size_t number, double *x, bool *plain, anygp_error *e)
{
    for (int64_t i = 0; i < s->inputs; i++) {
        const json_t *cell = cell_of(s, row, i);
        if (!cell)
            return complain(e, ANYGP_ERR_DATA, "row %zu lacks the input '%.80s'; null is a missing value", number + 1,
                            s->name(s->ctx, i));
        if (json_is_array(cell) || json_is_object(cell))
            return complain(e, ANYGP_ERR_DATA, "row %zu, input %lld: a value should be a number, a text or null",
                            number + 1, (long long)i + 1);
        if (!plain_cell(s, i, cell, &x[i])) *plain = false;
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- as a table */

void put_csv_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

static void put_cell(FILE *f, const json_t *cell)
{
    if (json_is_string(cell))
        put_csv_text(f, json_string_value(cell));
    else if (json_is_boolean(cell))
        fputs(json_is_true(cell) ? "true" : "false", f);
    else if (json_is_number(cell))
        fprintf(f, "%.17g", json_number_value(cell));
}

static void put_row(FILE *f, const row_shape *s, json_t *row)
{
    for (int64_t i = 0; i < s->inputs; i++) {
        if (i) fputc(',', f);
        if (row)
            put_cell(f, cell_of(s, row, i));
        else
            put_csv_text(f, s->name(s->ctx, i));
    }
    fputc('\n', f);
}

static anygp_status rows_to_table(const row_shape *s, json_t *rows, char **text, anygp_error *e)
{
    size_t size, index;
    json_t *row;
    FILE *f = open_memstream(text, &size);
    if (!f) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    if (s->inputs && *s->name(s->ctx, 0)) put_row(f, s, NULL);
    json_array_foreach(rows, index, row) put_row(f, s, row);
    if (fclose(f) == 0) return ANYGP_OK;
    free(*text);
    *text = NULL;
    return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
}

/* ------------------------------------------------------------------------------------------- requests */

static anygp_status take_rows(const row_shape *s, json_t *rows, row_request *out, anygp_error *e)
{
    size_t index;
    json_t *row;
    bool plain = true;
    out->n = (int64_t)json_array_size(rows);
    out->X = calloc((size_t)(out->n * s->inputs) + 1, sizeof *out->X);
    if (!out->X) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    json_array_foreach(rows, index, row)
    {
        anygp_status status = check_row(s, row, index, e);
        if (!ANYGP_FAILED(status)) status = take_row(s, row, index, out->X + (int64_t)index * s->inputs, &plain, e);
        if (ANYGP_FAILED(status)) return status;
    }
    return plain ? ANYGP_OK : rows_to_table(s, rows, &out->table, e);
}

/* Any document, from the tree of its values. */
static anygp_status rows_from_tree(const row_shape *s, const char *body, size_t size, row_request *out, anygp_error *e)
{
    json_t *root, *rows;
    out->n = 0, out->X = NULL, out->mean_only = false, out->table = NULL;
    anygp_status status = parse(body, size, &root, &rows, e);
    if (!ANYGP_FAILED(status)) status = take_only(root, out, e);
    if (!ANYGP_FAILED(status)) status = take_rows(s, rows, out, e);
    json_decref(root);
    if (ANYGP_FAILED(status)) row_request_clear(out);
    return status;
}

anygp_status rows_from_json(const row_shape *s, const char *body, size_t size, row_request *out, anygp_error *e)
{
    bool texts = false;
    for (int64_t i = 0; i < s->inputs; i++) texts = texts || s->categories(s->ctx, i) > 0;
    if (!texts && rows_from_numbers(s->inputs, body, size, out)) return ANYGP_OK;
    return rows_from_tree(s, body, size, out, e);
}

/* Names come from the first row, which the others have to share. */
static const char *key_at(const void *ctx, int64_t i) { return ((const char *const *)ctx)[i]; }

static anygp_status keys_of(json_t *first, const char ***keys, int64_t *count, anygp_error *e)
{
    const char *key;
    json_t *cell;
    *count = 0;
    if (!json_is_object(first) || json_object_size(first) == 0)
        return complain(e, ANYGP_ERR_DATA,
                        "the rows of an update should be objects: {\"rows\": [{\"x\": 1, \"y\": 2}]}");
    if (!(*keys = calloc(json_object_size(first), sizeof **keys)))
        return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    json_object_foreach(first, key, cell)(*keys)[(*count)++] = key;
    return ANYGP_OK;
}

anygp_status table_from_json(const char *body, size_t size, char **text, anygp_error *e)
{
    json_t *root, *rows, *row;
    const char **keys = NULL;
    size_t index;
    row_shape s = {.name = key_at};
    *text = NULL;
    anygp_status status = parse(body, size, &root, &rows, e);
    if (!ANYGP_FAILED(status)) status = keys_of(json_array_get(rows, 0), &keys, &s.inputs, e);
    s.ctx = keys;
    json_array_foreach(ANYGP_FAILED(status) ? NULL : rows, index, row)
    {
        bool same = json_is_object(row) && json_object_size(row) == (size_t)s.inputs;
        if (!same && !ANYGP_FAILED(status))
            status = complain(e, ANYGP_ERR_DATA, "row %zu does not have the names of the first", index + 1);
        if (!ANYGP_FAILED(status)) status = check_names(&s, row, index, e);
    }
    if (!ANYGP_FAILED(status)) status = rows_to_table(&s, rows, text, e);
    free(keys);
    json_decref(root);
    return status;
}
