/* Texts: how wide they are about, how they are cut, and how they are written in XML.
   The fonts of the reader are not known, so widths are those of a wide one (DejaVu Sans); what fits by them fits in Arial too. */
#include <stdlib.h>
#include <string.h>

#include "draw/draw.h"

/* One character from UTF-8; bytes that are none count one by one. */
static unsigned next_character(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    unsigned code = more == 3 ? s[0] & 7u : more == 2 ? s[0] & 15u : more == 1 ? s[0] & 31u : s[0];
    int i = 1;
    for (; i <= more && (s[i] & 0xc0) == 0x80; i++) code = code << 6 | (s[i] & 63u);
    *text += i;
    return code;
}

/* Of a size of 1. */
static double character_width(unsigned code)
{
    if (code >= 0x1100) return 1.05; /* Hangul, Chinese, Japanese, pictures */
    if (code >= 128) return 0.7;
    if (strchr("ijl'|", (int)code)) return 0.32;
    if (strchr("fIt.,:;!()[]{}-/\\ r", (int)code)) return 0.42;
    if (strchr("mwMW@%", (int)code)) return 0.98;
    if (code >= 'A' && code <= 'Z') return 0.73;
    return 0.64;
}

double text_width(const char *text, double size)
{
    double width = 0;
    while (*text) width += character_width(next_character(&text));
    return width * size;
}

const char *text_fitted(const char *text, double size, double width, char *to, size_t room)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    const char *at = text, *cut = text;
    double used = 0, dots = text_width(ellipsis, size);
    if (text_width(text, size) <= width && strlen(text) < room) return text;
    while (*at) {
        used += size * character_width(next_character(&at));
        if (used + dots > width || (size_t)(at - text) + sizeof ellipsis > room) break;
        cut = at;
    }
    size_t n = (size_t)(cut - text);
    memcpy(to, text, n);
    memcpy(to + n, ellipsis, sizeof ellipsis);
    return to;
}

void text_escaped(FILE *f, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        case '"': fputs("&quot;", f); break;
        case '\'': fputs("&#39;", f); break;
        default: fputc((unsigned char)*text < 32 || *text == 127 ? ' ' : *text, f);
        }
    }
}
