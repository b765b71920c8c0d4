/* Text of any encoding as valid UTF-8. */
#include "data/text/utf8.h"

#include <stdint.h>

/* The least code point that needs so many bytes: a shorter form of it would be valid, so a longer one is not. */
static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};

static size_t bytes_of(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
}

/* Bytes of the character at s, of which n are there; 0: none that is valid. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t k = bytes_of(*s);
    if (k <= 1) return k;
    if (k > n) return 0;
    uint32_t code = *s & (0x7fu >> k);
    for (size_t i = 1; i < k; i++) {
        if (s[i] >> 6 != 2) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < LEAST[k] || code > 0x10ffff || surrogate ? 0 : k;
}

bool utf8_valid(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0, k; i < n; i += k)
        if (!(k = character(s + i, n - i))) return false;
    return true;
}

size_t utf8_from_any(char *text, size_t n)
{
    if (utf8_valid(text, n)) return n;
    size_t extra = 0;
    for (size_t i = 0; i < n; i++) extra += (unsigned char)text[i] >= 0x80;
    for (size_t i = n, to = n + extra; i-- > 0;) { /* from the end, so that nothing is overwritten before it is read */
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) text[--to] = (char)(0x80 | (c & 0x3f)), c = (unsigned char)(0xc0 | c >> 6);
        text[--to] = (char)c;
    }
    return n + extra;
}
