/* Predictions as JSON or CSV.  Numbers are written as `anygp predict` writes them: the shortest that read back as the same. */
#define _GNU_SOURCE /* open_memstream */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

void answer_text(job *j, int code, char *text, size_t size) { j->code = code, j->answer = text, j->answer_size = size; }

/* {"error": "..."} with a code that says whose fault it is. */
void answer_error(job *j, const anygp_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool ours = e->status == ANYGP_ERR_MEMORY || e->status == ANYGP_ERR_INTERNAL;
    if (f) {
        fputs("{\"error\": ", f);
        print_json_text(f, e->text);
        fputs("}\n", f);
        fclose(f);
    }
    j->csv = false;
    answer_text(j, ours ? 500 : 400, text, size);
}

/* Which columns of the output are wanted: all, or those that are means. */
static bool wanted(const served *m, const row_request *r, int64_t c)
{
    size_t n = strlen(m->output[c]);
    return !r->mean_only || (n >= 4 && !strcmp(m->output[c] + n - 4, "mean"));
}

/* ------------------------------------------------------------------------------------------- with texts */

static void put_names(FILE *f, const job *j)
{
    const served *m = j->of;
    bool first = true;
    for (int64_t c = 0; c < m->outputs; c++) {
        if (!wanted(m, &j->rows, c)) continue;
        if (!first) fputs(j->csv ? "," : ", ", f);
        first = false;
        if (j->csv)
            fputs(m->output[c], f);
        else
            print_json_text(f, m->output[c]);
    }
}

static size_t put_number(double x, bool csv, char *to)
{
    if (isfinite(x)) return anygp_number_text(x, to);
    memcpy(to, csv ? "nan" : "null", 4);
    return csv ? 3 : 4;
}

static void put_cell(FILE *f, const job *j, int64_t c, double x)
{
    char text[ANYGP_NUMBER_TEXT];
    const char *label = anygp_output_text(j->of->model, 0, c, x);
    if (label)
        (j->csv ? put_csv_text : print_json_text)(f, label);
    else
        fwrite(text, 1, put_number(x, j->csv, text), f);
}

static void put_rows(FILE *f, const job *j, const double *out, int64_t first, int64_t ld)
{
    const served *m = j->of;
    for (int64_t i = 0; i < j->rows.n; i++) {
        bool begun = false;
        if (!j->csv) fputs(i ? ", [" : "[", f);
        for (int64_t c = 0; c < m->outputs; c++) {
            if (!wanted(m, &j->rows, c)) continue;
            if (begun) fputs(j->csv ? "," : ", ", f);
            begun = true;
            put_cell(f, j, c, out[first + i + c * ld]);
        }
        fputs(j->csv ? "\n" : "]", f);
    }
}

static void answer_with_texts(job *j, const double *out, int64_t first, int64_t ld)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        answer_error(j, &(anygp_error){ANYGP_ERR_MEMORY, "not enough memory"});
        return;
    }
    if (!j->csv) fputs("{\"columns\": [", f);
    put_names(f, j);
    fputs(j->csv ? "\n" : "], \"rows\": [", f);
    put_rows(f, j, out, first, ld);
    if (!j->csv) fputs("]}\n", f);
    if (fclose(f)) free(text), text = NULL, size = 0;
    answer_text(j, text ? 200 : 500, text, size);
}

/* --------------------------------------------------------------------------------------- numbers alone */

/* What stands before the rows, and which columns they have. */
anygp_status answer_heads(served *m, anygp_error *e)
{
    for (int csv = 0; csv < 2; csv++)
        for (int mean_only = 0; mean_only < 2; mean_only++) {
            job j = {.of = m, .csv = csv, .rows.mean_only = mean_only};
            size_t size;
            FILE *f = open_memstream(&m->head[csv][mean_only], &size);
            if (!f) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
            if (!csv) fputs("{\"columns\": [", f);
            put_names(f, &j);
            fputs(csv ? "\n" : "], \"rows\": [", f);
            if (fclose(f)) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
        }
    for (int64_t t = 0; t < anygp_model_targets(m->model); t++) m->texts = m->texts || anygp_classes(m->model, t) > 0;
    return ANYGP_OK;
}

void answer_rows(job *j, const double *out, int64_t first, int64_t ld)
{
    const served *m = j->of;
    const char *head = m->head[j->csv][j->rows.mean_only];
    if (m->texts) {
        answer_with_texts(j, out, first, ld);
        return;
    }
    char *text = malloc(strlen(head) + (size_t)j->rows.n * (size_t)(m->outputs * (ANYGP_NUMBER_TEXT + 2) + 8) + 8),
         *at = text;
    if (!text) {
        answer_error(j, &(anygp_error){ANYGP_ERR_MEMORY, "not enough memory"});
        return;
    }
    at = stpcpy(at, head);
    for (int64_t i = 0; i < j->rows.n; i++) {
        bool begun = false;
        at = stpcpy(at, j->csv ? "" : i ? ", [" : "[");
        for (int64_t c = 0; c < m->outputs; c++) {
            if (!wanted(m, &j->rows, c)) continue;
            at = stpcpy(at, !begun ? "" : j->csv ? "," : ", ");
            begun = true;
            at += put_number(out[first + i + c * ld], j->csv, at);
        }
        at = stpcpy(at, j->csv ? "\n" : "]");
    }
    at = stpcpy(at, j->csv ? "" : "]}\n");
    answer_text(j, 200, text, (size_t)(at - text));
}

/* ---------------------------------------------------------------------------------------- from a table */

/* A cell of a table that the library wrote, without its quotes, which it loses in place; *mark is what ends it. */
static char *take_cell(char *at, char **next, char *mark)
{
    char *to = at, *from = at;
    if (*from == '"') {
        for (from++; *from && (*from != '"' || from[1] == '"'); *to++ = *from++) from += *from == '"';
        from += *from == '"';
    } else {
        while (*from && *from != ',' && *from != '\n') to++, from++;
    }
    *mark = *from, *next = from + (*from != 0);
    *to = 0;
    return at;
}

static void put_table_cell(FILE *f, const job *j, int64_t c, const char *cell)
{
    bool label = anygp_output_text(j->of->model, 0, c, 0) != NULL;
    if (label)
        (j->csv ? put_csv_text : print_json_text)(f, cell);
    else
        fputs(!strcmp(cell, "nan") && !j->csv ? "null" : cell, f);
}

static void put_table_rows(FILE *f, const job *j, char *text)
{
    const served *m = j->of;
    char mark, *at = text;
    for (int64_t c = 0; c < m->outputs; c++) take_cell(at, &at, &mark); /* the names */
    for (bool first = true; *at; first = false) {
        bool begun = false;
        if (!j->csv) fputs(first ? "[" : ", [", f);
        for (int64_t c = 0; c < m->outputs; c++) {
            const char *cell = take_cell(at, &at, &mark);
            if (!wanted(m, &j->rows, c)) continue;
            if (begun) fputs(j->csv ? "," : ", ", f);
            begun = true;
            put_table_cell(f, j, c, cell);
        }
        fputs(j->csv ? "\n" : "]", f);
    }
}

void answer_table(job *j, char *text, size_t size)
{
    char *answer = NULL;
    size_t length = 0;
    if (j->csv && !j->rows.mean_only) {
        answer_text(j, 200, text, size); /* as it is */
        return;
    }
    FILE *f = open_memstream(&answer, &length);
    if (!f) {
        free(text);
        answer_error(j, &(anygp_error){ANYGP_ERR_MEMORY, "not enough memory"});
        return;
    }
    fputs(j->of->head[j->csv][j->rows.mean_only], f);
    put_table_rows(f, j, text);
    if (!j->csv) fputs("]}\n", f);
    free(text);
    if (fclose(f)) free(answer), answer = NULL, length = 0;
    answer_text(j, answer ? 200 : 500, answer, length);
}
