#include "kernel/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/edits.h"

enum { EXCERPT = 80, MESSAGE = 200, LONGEST_WORD = 32 };

static bool continues_character(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Characters up to and with the one at byte `at`, counted from 1. */
static int64_t character(const char *text, int64_t at)
{
    int64_t n = 1;
    for (int64_t i = 0; i < at; i++)
        if (!continues_character(text[i + 1])) n++;
    return n;
}

static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127) *s = ' ';
}

/* The text around byte `at`, in one line. */
static void excerpt(const parser *p, int64_t at, char out[EXCERPT + 8])
{
    int64_t first = p->length <= EXCERPT || at < EXCERPT / 2 ? 0 : at - EXCERPT / 2;
    while (first > 0 && continues_character(p->text[first])) first--;
    int64_t last = first + EXCERPT - 4 < p->length && p->length > EXCERPT ? first + EXCERPT - 4 : p->length;
    while (last > first && last < p->length && continues_character(p->text[last])) last--;
    snprintf(out, EXCERPT + 8, "%s%.*s%s", first ? "..." : "", (int)(last - first), p->text + first,
             last < p->length ? "..." : "");
    one_line(out);
}

anygp_status complain(parser *p, int64_t at, const char *hint, const char *format, ...)
{
    char shown[EXCERPT + 8], message[MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    one_line(message);
    excerpt(p, at, shown);
    return fail_with(p->e, ANYGP_ERR_ARGUMENT, "kernel '%s': %s at character %lld%s%s", shown, message,
                     (long long)character(p->text, at), hint ? "; " : "", hint ? hint : "");
}

anygp_status complain_memory(parser *p) { return fail_memory(p->e, "the kernel expression", (double)p->length); }

nearest nearest_to(const char *word, int64_t length)
{
    return (nearest){.word = word, .length = length, .distance = length / 3 + 2};
}

void nearest_offer(nearest *n, const char *candidate)
{
    int64_t length = (int64_t)strlen(candidate);
    if (n->length > LONGEST_WORD || length > LONGEST_WORD) return;
    int64_t distance = edits(n->word, n->length, candidate, length, false);
    if (distance < n->distance && distance < length) n->best = candidate, n->distance = distance;
}
