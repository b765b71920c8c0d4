/* Units behind numbers: 12.5 kg.  Behind a blank any word is one; without a blank only units in general use are, since 4WD and
   2nd are names. */
#include <string.h>

#include "data/text/notation_parts.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80; }

static bool in_list(const char *const *list, const char *s, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(*list, s, n)) return true;
    return false;
}

/* Without a prefix, or with one of the prefixes: kg, mm, \xc2\xb5s. */
static bool is_common(const char *s, size_t n)
{
    static const char *const alone[] = {"lb",
                                        "lbs",
                                        "oz",
                                        "ft",
                                        "yd",
                                        "mi",
                                        "mph",
                                        "kn",
                                        "kt",
                                        "kts",
                                        "psi",
                                        "rpm",
                                        "bpm",
                                        "min",
                                        "hr",
                                        "hrs",
                                        "sec",
                                        "secs",
                                        "mins",
                                        "day",
                                        "days",
                                        "yr",
                                        "yrs",
                                        "px",
                                        "ppm",
                                        "ppb",
                                        "dB",
                                        "deg",
                                        "ha",
                                        "gal",
                                        "\xc2\xb0",
                                        "\xc2\xb0"
                                        "C",
                                        "\xc2\xb0"
                                        "F",
                                        "atm",
                                        "inch",
                                        "knots",
                                        "miles",
                                        "years",
                                        NULL};
    static const char *const with_prefix[] = {"m",  "g",  "s", "A", "V",  "W",        "Wh",  "J",   "N",
                                              "Pa", "Hz", "L", "l", "eV", "B",        "bar", "mol", "cal",
                                              "VA", "h",  "t", "T", "F",  "\xce\xa9", NULL};
    static const char *const prefixes[] = {"\xc2\xb5", "\xce\xbc", "u", "n", "m", "c", "d", "h", "k", "M", "G", NULL};
    if (in_list(alone, s, n) || in_list(with_prefix, s, n)) return true;
    for (int i = 0; prefixes[i]; i++) {
        size_t p = strlen(prefixes[i]);
        if (n > p && !memcmp(s, prefixes[i], p) && in_list(with_prefix, s + p, n - p)) return true;
    }
    return false;
}

/* m, m2, km/h, W/m^2: parts divided by slashes, each with a power. */
static bool is_known(const char *s, const char *end)
{
    while (s < end) {
        const char *stop = memchr(s, '/', (size_t)(end - s));
        const char *next = stop ? stop + 1 : end;
        const char *p = stop ? stop : end;
        if (p - s > 2 && (!memcmp(p - 2, "\xc2\xb2", 2) || !memcmp(p - 2, "\xc2\xb3", 2)))
            p -= 2;
        else if (p - s > 1 && (p[-1] == '2' || p[-1] == '3'))
            p -= 1 + (p - s > 2 && p[-2] == '^');
        if (p == s || !is_common(s, (size_t)(p - s)) || (stop && next == end)) return false;
        s = next;
    }
    return true;
}

const char *unit_begin(const char *s, const char *end)
{
    const char *p = end;
    while (p > s && !(p[-1] == ' ' || (p - s > 1 && p[-2] == '\xc2' && p[-1] == '\xa0'))) p--;
    if (p > s) { /* a word behind a blank */
        if (p == end || !is_letter(*p)) return NULL;
        for (const char *q = p; q < end; q++)
            if (!is_letter(*q) && !is_digit(*q) && !strchr("/^%.*-", *q)) return NULL;
        return p;
    }
    while (p < end && (is_digit(*p) || *p == '.' || *p == ',' || *p == '-' || *p == '+' || *p == '\'')) p++;
    return p > s && p < end && is_known(p, end) ? p : NULL;
}
