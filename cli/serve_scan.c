/* Rows that are nothing but numbers, read without building a tree of values: what a busy client sends.  Everything else, and everything
   wrong, is left to serve_rows.c, which has the sentences. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

typedef struct scan {
    const char *at, *end;
} scan;

static void scan_space(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) s->at++;
}

/* The next character but for space is this one. */
static bool scan_take(scan *s, char c)
{
    scan_space(s);
    return s->at < s->end && *s->at == c ? s->at++, true : false;
}

static bool scan_word(scan *s, const char *word)
{
    size_t n = strlen(word);
    scan_space(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n)) return false;
    s->at += n;
    return true;
}

static int64_t scan_digits(scan *s, uint64_t *value)
{
    const char *from = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (s->at - from < 18) *value = 10 * *value + (uint64_t)(*s->at - '0');
    return s->at - from;
}

/* As strtod, of the characters from `from` to `to`; false: they are too many, or the locale has no decimal point. */
static bool scan_slow_number(const char *from, const char *to, double *x)
{
    char text[64];
    size_t n = (size_t)(to - from);
    if (n >= sizeof text || strcmp(localeconv()->decimal_point, ".")) return false;
    memcpy(text, from, n);
    text[n] = 0;
    *x = strtod(text, NULL);
    return isfinite(*x);
}

/* A number of JSON.  With at most 15 digits and a power of ten of at most 22 both are exact in a double, and so is the result's rounding. */
static bool scan_number(scan *s, double *x)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t value = 0, exponent = 0;
    scan_space(s);
    const char *from = s->at;
    bool minus = s->at < s->end && *s->at == '-', below = false;
    if (minus) s->at++;
    const char *first = s->at;
    int64_t whole = scan_digits(s, &value), behind = 0, digits;
    if (whole == 0 || (whole > 1 && *first == '0')) return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        const char *point = s->at;
        while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
            if (whole + (s->at - point) < 18) value = 10 * value + (uint64_t)(*s->at - '0');
            s->at++;
        }
        if ((behind = s->at - point) == 0) return false;
    }
    digits = whole + behind;
    bool integer = behind == 0 && (s->at == s->end || (*s->at != 'e' && *s->at != 'E'));
    if (integer && digits > 18) return false; /* more than an integer of JSON's reader has */
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-')) below = *s->at++ == '-';
        int64_t n = scan_digits(s, &exponent);
        if (n == 0) return false;
        if (n > 4) return scan_slow_number(from, s->at, x);
    }
    int64_t scale = (below ? -1 : 1) * (int64_t)exponent - behind;
    if (digits > 15 || scale > 22 || scale < -22) return scan_slow_number(from, s->at, x);
    double d = (double)value;
    d = scale < 0 ? d / power[-scale] : d * power[scale];
    *x = minus && !(integer && value == 0) ? -d : d;
    return true;
}

/* Room for one more row. */
static bool scan_grow(row_request *r, int64_t inputs, int64_t *room)
{
    if ((r->n + 1) * inputs <= *room) return true;
    int64_t more = 2 * (r->n + 1) * inputs;
    double *X = r->X == r->few ? malloc((size_t)more * sizeof *X) : realloc(r->X, (size_t)more * sizeof *X);
    if (!X) return false;
    if (r->X == r->few) memcpy(X, r->few, sizeof r->few);
    r->X = X, *room = more;
    return true;
}

static bool scan_rows(scan *s, int64_t inputs, row_request *r)
{
    int64_t room = ROW_FEW;
    if (!scan_take(s, '[')) return false;
    do {
        if (r->n == SERVE_ROWS_MOST || !scan_grow(r, inputs, &room) || !scan_take(s, '[')) return false;
        for (int64_t i = 0; i < inputs; i++)
            if ((i && !scan_take(s, ',')) || !scan_number(s, &r->X[r->n * inputs + i])) return false;
        if (!scan_take(s, ']')) return false;
        r->n++;
    } while (scan_take(s, ','));
    return scan_take(s, ']');
}

static bool scan_body(scan *s, int64_t inputs, row_request *r)
{
    if (!scan_take(s, '{')) return scan_rows(s, inputs, r);
    if (!scan_word(s, "\"rows\"") || !scan_take(s, ':') || !scan_rows(s, inputs, r)) return false;
    if (scan_take(s, ',')) {
        if (!scan_word(s, "\"only\"") || !scan_take(s, ':') || !scan_word(s, "\"mean\"")) return false;
        r->mean_only = true;
    }
    return scan_take(s, '}');
}

bool rows_from_numbers(int64_t inputs, const char *body, size_t size, row_request *out)
{
    scan s = {body, body + size};
    out->n = 0, out->X = out->few, out->mean_only = false, out->table = NULL;
    bool ok = inputs > 0 && scan_body(&s, inputs, out);
    scan_space(&s);
    if (ok && s.at == s.end) return true;
    row_request_clear(out);
    return false;
}
