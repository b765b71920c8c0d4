/* Active dims: columns by number as in the file, by bare name (up to the next , or ]), or by quoted name. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "kernel/parser.h"

typedef struct word {
    int64_t at, length; /* of the name itself */
    bool quoted;
} word;

static anygp_status take_quoted(parser *p, word *w)
{
    char quote = p->s.text[p->s.at];
    const char *end = strchr(p->s.text + p->s.at + 1, quote);
    if (!end) return scan_fail(&p->s, p->s.at, NULL, "this quote is never closed");
    *w = (word){p->s.at + 1, end - (p->s.text + p->s.at + 1), true};
    p->s.at = end - p->s.text + 1;
    return ANYGP_OK;
}

static anygp_status take_word(parser *p, bool in_list, word *w)
{
    char c = scan_peek(&p->s);
    if (c == '\'' || c == '"') return take_quoted(p, w);
    int64_t first = p->s.at;
    const char *stop = in_list ? ",]" : ",)";
    while (p->s.at < p->s.length && !strchr(stop, p->s.text[p->s.at])) p->s.at++;
    int64_t last = p->s.at;
    while (last > first && scan_is_blank(p->s.text[last - 1])) last--;
    if (last == first) return scan_fail(&p->s, first, NULL, "a column name or number is missing");
    *w = (word){first, last - first, false};
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- look up */

static int compare_names(const void *a, const void *b)
{
    const kernel_input *x = *(const kernel_input *const *)a, *y = *(const kernel_input *const *)b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x > y) - (x < y);
}

static bool sort_names(parser *p)
{
    p->by_name = mem_alloc(p->n_in, sizeof *p->by_name);
    if (!p->by_name) return false;
    for (int64_t i = 0; i < p->n_in; i++)
        if (p->in[i].name) p->by_name[p->n_names++] = &p->in[i];
    qsort(p->by_name, (size_t)p->n_names, sizeof *p->by_name, compare_names);
    return true;
}

static int compare_word(const char *name, const char *wanted, int64_t length)
{
    int c = strncmp(name, wanted, (size_t)length);
    return c ? c : name[length] != 0;
}

/* The first column of this name, or -1. */
static int64_t find_name(const parser *p, const char *name, int64_t length)
{
    int64_t low = 0, high = p->n_names;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (compare_word(p->by_name[mid]->name, name, length) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == p->n_names || compare_word(p->by_name[low]->name, name, length)) return -1;
    return p->by_name[low] - p->in;
}

/* The column of this number, or -1.  Inputs come in the order of the file, so the search from the number itself, or
   what is left of the list, is short. */
static int64_t find_number(const parser *p, const char *digits, int64_t length)
{
    int64_t number = 0;
    for (int64_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)digits[i]) || number > INT64_MAX / 10 - 1) return -1;
        number = 10 * number + (digits[i] - '0');
    }
    int64_t guess = number < p->n_in ? number : p->n_in - 1;
    for (int64_t i = guess; i >= 0; i--)
        if (p->in[i].number == number) return i;
    for (int64_t i = guess + 1; i < p->n_in; i++)
        if (p->in[i].number == number) return i;
    return -1;
}

static const char *listed_name(int64_t i, const void *p) { return ((const parser *)p)->by_name[i]->name; }

static anygp_status complain_column(parser *p, word w)
{
    char hint[120];
    const char *near = nearest_to(p->s.text + w.at, w.length, p->n_names, listed_name, p);
    if (near)
        snprintf(hint, sizeof hint, "did you mean '%.60s'?", near);
    else
        snprintf(hint, sizeof hint, "inputs are columns by name, or by number counted from 0, without the target");
    return scan_fail(&p->s, w.at, hint, "there is no input column '%.*s'", (int)(w.length < 60 ? w.length : 60),
                     p->s.text + w.at);
}

static anygp_status add_column(parser *p, word w)
{
    if (!p->by_name && !sort_names(p)) return complain_memory(p);
    int64_t i = w.quoted ? -1 : find_number(p, p->s.text + w.at, w.length);
    if (i < 0) i = find_name(p, p->s.text + w.at, w.length);
    if (i < 0) return complain_column(p, w);
    if (p->named[i]) return scan_fail(&p->s, w.at, NULL, "this column is in dims twice");
    p->named[i] = true;
    if (!make_room(&p->listed, &p->listed_capacity, p->n_listed + 1, sizeof *p->listed)) return complain_memory(p);
    p->listed[p->n_listed++] = i;
    return ANYGP_OK;
}

anygp_status parse_dims(parser *p)
{
    word w = {0};
    bool list = scan_take(&p->s, '[');
    do {
        TRY(take_word(p, list, &w));
        TRY(add_column(p, w));
    } while (list && scan_take(&p->s, ','));
    if (list && !scan_take(&p->s, ']')) return scan_fail(&p->s, p->s.at, NULL, "expected , or ]");
    return ANYGP_OK;
}

void forget_dims(parser *p)
{
    for (int64_t i = 0; i < p->n_listed; i++) p->named[p->listed[i]] = false;
    p->n_listed = 0;
}
