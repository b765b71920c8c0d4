/* JSON lines, one flat object per line, as the text of a CSV table.  The keys of the first object are the columns; a later
   object may lack some of them, but has no others.  null is a missing cell. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/format.h"
#include "data/formats/input_source.h"
#include "data/text/number.h"
#include "data/text/text_buffer.h"

typedef struct jsonl_state {
    input *from;
    text_buffer lines;
    char **key; /* columns */
    int64_t keys;
    char *text; /* CSV not yet taken: text[taken .. held-1] */
    size_t held, taken, room;
} jsonl_state;

static anygp_status bad_line(const input *in, const char *what, const char *name, anygp_error *e)
{
    const jsonl_state *s = in->state;
    return fail_with(e, ANYGP_ERR_DATA, "%.200s, line %lld: %s%s%.80s%s", in->name, (long long)s->lines.line + 1, what,
                     name ? " '" : "", name ? name : "", name ? "'" : "");
}

/* -------------------------------------------------------------------------------------------- CSV text */

static bool put(jsonl_state *s, const char *text, size_t n)
{
    if (s->held + n > s->room) {
        size_t room = 2 * (s->held + n) + 4096;
        char *grown = realloc(s->text, room);
        if (!grown) return false;
        s->text = grown, s->room = room;
    }
    if (n) memcpy(s->text + s->held, text, n);
    s->held += n;
    return true;
}

static bool put_quoted(jsonl_state *s, const char *text)
{
    bool ok = put(s, "\"", 1);
    for (; *text && ok; text++) ok = put(s, text, 1) && (*text != '"' || put(s, text, 1));
    return ok && put(s, "\"", 1);
}

/* *known: false for lists and objects. */
static bool put_value(jsonl_state *s, const json_t *v, bool *known)
{
    char number[NUMBER_TEXT_MOST + 1];
    *known = true;
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_NULL: return true;
    case JSON_TRUE: return put(s, "true", 4);
    case JSON_FALSE: return put(s, "false", 5);
    case JSON_STRING: return put_quoted(s, json_string_value(v));
    case JSON_INTEGER:
        return put(s, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(v)));
    case JSON_REAL: return put(s, number, number_print(json_real_value(v), number));
    case JSON_OBJECT:
    case JSON_ARRAY: break;
    }
    *known = false;
    return true;
}

static anygp_status no_memory(anygp_error *e) { return fail_memory(e, "a line of JSON", 0); }

static anygp_status put_object(input *in, const json_t *o, anygp_error *e)
{
    jsonl_state *s = in->state;
    size_t found = 0;
    for (int64_t j = 0; j < s->keys; j++) {
        const json_t *v = json_object_get(o, s->key[j]);
        bool known;
        found += v != NULL;
        if ((j && !put(s, ",", 1)) || !put_value(s, v, &known)) return no_memory(e);
        if (!known) return bad_line(in, "a row must be flat, but there is a list or an object in", s->key[j], e);
        if (s->keys == 1 && !v && !put(s, "NA", 2)) return no_memory(e); /* an empty line would be no row */
    }
    if (found < json_object_size(o)) {
        const char *name = NULL;
        json_t *v;
        json_object_foreach((json_t *)o, name, v)
        {
            bool known = false;
            for (int64_t j = 0; j < s->keys && !known; j++) known = !strcmp(s->key[j], name);
            if (!known) return bad_line(in, "the first line does not have the key (give it null there):", name, e);
        }
    }
    return put(s, "\n", 1) ? ANYGP_OK : no_memory(e);
}

static anygp_status put_header(input *in, const json_t *o, anygp_error *e)
{
    jsonl_state *s = in->state;
    const char *name;
    json_t *v;
    if (json_object_size(o) == 0) return bad_line(in, "the object has no keys", NULL, e);
    if (!(s->key = mem_zeroed((int64_t)json_object_size(o), sizeof *s->key))) return no_memory(e);
    json_object_foreach((json_t *)o, name, v)
    {
        if (!(s->key[s->keys] = mem_strdup(name))) return no_memory(e);
        if ((s->keys++ && !put(s, ",", 1)) || !put_quoted(s, name)) return no_memory(e);
    }
    return put(s, "\n", 1) ? ANYGP_OK : no_memory(e);
}

/* ---------------------------------------------------------------------------------------------- lines */

static bool is_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p == end;
}

static anygp_status take_line(input *in, const char *p, const char *end, anygp_error *e)
{
    jsonl_state *s = in->state;
    json_error_t wrong;
    if (is_blank(p, end)) return ANYGP_OK;
    json_t *o = json_loadb(p, (size_t)(end - p), JSON_REJECT_DUPLICATES, &wrong);
    anygp_status status =
        json_is_object(o) ? ANYGP_OK : bad_line(in, "every line must be one JSON object, such as {\"x\": 1}", NULL, e);
    if (!ANYGP_FAILED(status) && !s->key) status = put_header(in, o, e);
    if (!ANYGP_FAILED(status)) status = put_object(in, o, e);
    json_decref(o);
    return status;
}

/* Lines until there is CSV text to give, or the end. */
static anygp_status more_text(input *in, anygp_error *e)
{
    jsonl_state *s = in->state;
    text_buffer *b = &s->lines;
    s->held = s->taken = 0;
    while (s->held == 0) {
        const char *begin = b->bytes + b->begin,
                   *eol = b->end > b->begin ? memchr(begin, b->eol, b->end - b->begin) : NULL;
        if (!eol && b->finished) return ANYGP_OK;
        if (!eol) {
            TRY(text_fill(b, e));
            continue;
        }
        TRY(take_line(in, begin, eol, e));
        text_advance(b, eol + 1, 1);
    }
    return ANYGP_OK;
}

static anygp_status jsonl_read(input *in, void *to, size_t n, size_t *got, anygp_error *e)
{
    jsonl_state *s = in->state;
    if (s->taken == s->held) TRY(more_text(in, e));
    size_t left = s->held - s->taken;
    *got = n < left ? n : left;
    if (*got) memcpy(to, s->text + s->taken, *got);
    s->taken += *got;
    return ANYGP_OK;
}

static void jsonl_close(input *in)
{
    jsonl_state *s = in->state;
    if (!s) return;
    text_free(&s->lines);
    for (int64_t j = 0; s->key && j < s->keys; j++) free(s->key[j]);
    free(s->key);
    free(s->text);
    input_close(s->from);
    free(s);
    in->state = NULL;
}

static const input_source source_jsonl = {jsonl_read, NULL, NULL, jsonl_close, NULL};

anygp_status jsonl_as_csv(input **in, anygp_error *e)
{
    input *view = NULL, *from = *in;
    TRY(input_new(from->name, &view, e)); /* which leaves *in to its owner */
    jsonl_state *s = calloc(1, sizeof *s);
    if (!s) {
        input_close(view);
        return fail_memory(e, "a reader", sizeof *s);
    }
    s->from = s->lines.in = from;
    view->source = &source_jsonl, view->state = s;
    *in = view;
    return ANYGP_OK;
}
