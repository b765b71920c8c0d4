#include "base/scanner.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"

enum { EXCERPT = 80, MESSAGE = 200 };

scanner scan_text(const char *what, const char *text, anygp_error *e)
{
    return (scanner){.what = what, .text = text, .length = (int64_t)strlen(text), .e = e};
}

/* ---------------------------------------------------------------------------------------- pieces */

bool scan_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool scan_starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void scan_blanks(scanner *s)
{
    while (s->at < s->length && scan_is_blank(s->text[s->at])) s->at++;
}

char scan_peek(scanner *s)
{
    scan_blanks(s);
    return s->text[s->at];
}

bool scan_take(scanner *s, char c)
{
    if (scan_peek(s) != c) return false;
    s->at++;
    return true;
}

int64_t scan_word(scanner *s)
{
    if (!scan_starts_word(scan_peek(s))) return 0;
    int64_t n = 1;
    while (scan_starts_word(s->text[s->at + n]) || isdigit((unsigned char)s->text[s->at + n])) n++;
    return n;
}

static bool starts_number(const char *s)
{
    return isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]));
}

anygp_status scan_number(scanner *s, double *v)
{
    scan_blanks(s);
    const char *start = s->text + s->at, *digits = start + (*start == '-' || *start == '+');
    if (!starts_number(digits)) return scan_fail(s, s->at, NULL, "expected a number");
    char *end;
    c_locale c = c_locale_enter();
    *v = strtod(start, &end);
    c_locale_leave(c);
    s->at = end - s->text;
    return ANYGP_OK;
}

anygp_status scan_end(scanner *s)
{
    return scan_peek(s) ? scan_fail(s, s->at, NULL, "expected nothing more") : ANYGP_OK;
}

anygp_status scan_options(scanner *s, anygp_status (*option)(scanner *s, void *ctx), void *ctx)
{
    if (!scan_take(s, '(') || scan_take(s, ')')) return ANYGP_OK;
    do TRY(option(s, ctx));
    while (scan_take(s, ','));
    return scan_take(s, ')') ? ANYGP_OK : scan_fail(s, s->at, NULL, "expected , or )");
}

/* ------------------------------------------------------------------------------------- sentences */

static bool continues_character(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* The number of the character at byte `at`, counted from 1. */
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
static void excerpt(const scanner *s, int64_t at, char out[EXCERPT + 8])
{
    int64_t first = s->length <= EXCERPT || at < EXCERPT / 2 ? 0 : at - EXCERPT / 2;
    while (first > 0 && continues_character(s->text[first])) first--;
    int64_t last = first + EXCERPT - 4 < s->length && s->length > EXCERPT ? first + EXCERPT - 4 : s->length;
    while (last > first && last < s->length && continues_character(s->text[last])) last--;
    snprintf(out, EXCERPT + 8, "%s%.*s%s", first ? "..." : "", (int)(last - first), s->text + first,
             last < s->length ? "..." : "");
    one_line(out);
}

anygp_status scan_fail(const scanner *s, int64_t at, const char *hint, const char *format, ...)
{
    char shown[EXCERPT + 8], message[MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    one_line(message);
    excerpt(s, at, shown);
    if (!hint) hint = s->hint;
    return fail_with(s->e, ANYGP_ERR_ARGUMENT, "%s '%s': %s at character %lld%s%s", s->what, shown, message,
                     (long long)character(s->text, at), hint ? "; " : "", hint ? hint : "");
}
