/* Text to double, correctly rounded.

   The digits are gathered into w < 10^19, so the value is w * 10^e10, and three ways lead to the nearest double:
     1. w <= 2^53 and |e10| <= 22: both factors are exact doubles, so one operation rounds once (Clinger 1990).
     2. w and 10^|e10|, |e10| <= 27, are exact in the 64-bit significand of a long double, so one operation gives
        the 64 leading bits with an error of at most half a unit.  The 11 bits below a double's 53 decide the
        rounding unless they are within one unit of the half-way pattern 10000000000.
     3. Otherwise strtod, on a text rewritten without a decimal point, so that the locale does not matter.
   More than 19 digits: if w and w+1 give the same double by ways 1 and 2, the remaining digits do not matter.

   Up to eight digits are taken at a time, by arithmetic on the bytes of a 64-bit word. */
#include "data/text/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    DIGITS_KEPT = 19,        /* 10^19 - 1 < 2^64 */
    DIGITS_DECIDING = 800,   /* more than the 767 that can ever matter to a double */
    EXPONENT_LIMIT = 1 << 24 /* saturates; such numbers are 0 or infinite, unless as many zeros stand before */
};

/* ------------------------------------------------------------------------------- decimal to binary */

static const double exact_power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if LDBL_MANT_DIG == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const long double extended_power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                             1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                             1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/* w < 10^19 and |e10| <= 27 keep the result far inside the normal range of a double. */
static bool extended_product(uint64_t w, long e10, double *x)
{
    if (e10 < -27 || e10 > 27) return false;
    long double v = e10 < 0 ? (long double)w / extended_power[-e10] : (long double)w * extended_power[e10];
    uint64_t significand;
    memcpy(&significand, &v, sizeof significand);
    *x = (double)v;
    return (significand & 0x7ff) - 0x3ff > 2;
}
#else
static bool extended_product(uint64_t w, long e10, double *x)
{
    (void)w, (void)e10, (void)x;
    return false;
}
#endif

static inline bool quick_value(uint64_t w, long e10, double *x)
{
    if (w <= (uint64_t)1 << 53 && e10 >= -22 && e10 <= 22) {
        *x = e10 < 0 ? (double)w / exact_power[-e10] : (double)w * exact_power[e10];
        return true;
    }
    if (w == 0) return *x = 0, true;
    return extended_product(w, e10, x);
}

bool decimal_to_double(unsigned long long w, long e10, double *x) { return quick_value(w, e10, x); }

/* ----------------------------------------------------------------------------------------- digits */

typedef struct decimal {
    uint64_t w;         /* the first significant digits */
    int kept;           /* how many */
    long e10;           /* value = w * 10^e10 ... */
    bool more;          /* ... plus something below one unit of w, if more */
    const char *digits; /* where the significant digits begin; they may hold one point */
} decimal;

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const uint32_t small_power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Value of the first n <= 8 digits of the word, and n.  A byte is a digit iff its high half is 3 and stays 3 when 6
   is added; bytes behind the first other one are moved out, which leaves zeros in front. */
static int leading_digits(uint64_t word, uint64_t *value)
{
    const uint64_t high = 0xf0f0f0f0f0f0f0f0, threes = 0x3030303030303030, sixes = 0x0606060606060606;
    uint64_t other = ((word & high) ^ threes) | (((word + sixes) & high) ^ threes);
    int n = other ? __builtin_ctzll(other) / 8 : 8;
    if (n == 0) return *value = 0, 0;
    word = (word & ~high) << (64 - 8 * n);
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff;
    *value = (word * 10000 + (word >> 32)) & 0xffffffff;
    return n;
}

/* Takes digits in eights while they fit. */
static const char *take_words(const char *s, const char *end, decimal *d)
{
    int n = 8;
    while (n == 8 && end - s >= 8 && d->kept <= DIGITS_KEPT - 8) {
        uint64_t word, value;
        memcpy(&word, s, 8);
        n = leading_digits(word, &value);
        d->w = d->w * small_power[n] + value;
        d->kept += n;
        s += n;
    }
    return s;
}
#else
static const char *take_words(const char *s, const char *end, decimal *d)
{
    (void)end, (void)d;
    return s;
}
#endif

/* Takes digits one by one; those that no longer fit only set `more` and are counted in *dropped. */
static const char *take_digits(const char *s, const char *end, decimal *d, long *dropped)
{
    for (; s < end && is_digit(*s) && d->kept < DIGITS_KEPT; s++, d->kept++) d->w = d->w * 10 + (uint64_t)(*s - '0');
    for (; s < end && is_digit(*s); s++) {
        d->more |= *s != '0';
        *dropped += *dropped < EXPONENT_LIMIT;
    }
    return s;
}

static const char *skip_zeros(const char *s, const char *end)
{
    while (s < end && *s == '0') s++;
    return s;
}

/* Digits with at most one point; NULL without any digit. */
static const char *scan_mantissa(const char *s, const char *end, decimal *d)
{
    const char *start = s;
    long dropped = 0, fraction = 0;
    bool point;
    s = skip_zeros(s, end);
    d->digits = s;
    s = take_digits(s, end, d, &dropped);
    point = s < end && *s == '.';
    if (point) {
        const char *after = ++s;
        if (d->kept == 0) d->digits = s = skip_zeros(s, end);
        long before = dropped;
        s = take_digits(take_words(s, end, d), end, d, &dropped);
        fraction = (long)(s - after < EXPONENT_LIMIT ? s - after : EXPONENT_LIMIT) - (dropped - before);
        dropped = before;
    }
    d->e10 = dropped - fraction;
    return s - start - point > 0 ? s : NULL;
}

/* An exponent, if one is there; an `e` without digits is left alone. */
static const char *scan_exponent(const char *s, const char *end, long *e10)
{
    if (s == end || ((*s | 0x20) != 'e' && (*s | 0x20) != 'd')) return s;
    const char *t = s + 1;
    bool negative = t < end && *t == '-';
    if (t < end && (*t == '-' || *t == '+')) t++;
    if (t == end || !is_digit(*t)) return s;
    long value = 0;
    for (; t < end && is_digit(*t); t++)
        if (value < EXPONENT_LIMIT) value = value * 10 + (*t - '0');
    *e10 += negative ? -value : value;
    return t;
}

/* -------------------------------------------------------------------------------------- the whole */

/* Way 3.  The digits that can matter, followed by a 1 for any nonzero digit left. */
static double slow_value(const decimal *d, const char *end)
{
    char text[DIGITS_DECIDING + 32];
    int n = 0;
    bool rest = false, point = false;
    for (const char *s = d->digits; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
        if (*s == '.')
            point = true;
        else if (n < DIGITS_DECIDING)
            text[n++] = *s;
        else
            rest |= *s != '0';
    }
    long e10 = d->e10 + d->kept - n;
    if (rest) text[n++] = '1', e10--;
    snprintf(text + n, sizeof text - (size_t)n, "e%ld", e10);
    return strtod(text, NULL);
}

static double decimal_value(const decimal *d, const char *end)
{
    double x, above;
    bool known = quick_value(d->w, d->e10, &x);
    if (known && d->more) known = quick_value(d->w + 1, d->e10, &above) && above == x;
    return known ? x : slow_value(d, end);
}

/* Any number: leading zeros and digits beyond the 19 are told apart. */
static const char *scan_careful(const char *s, const char *end, double *x)
{
    decimal d = {0};
    const char *stop = scan_mantissa(s, end, &d);
    if (!stop) return NULL;
    stop = scan_exponent(stop, end, &d.e10);
    *x = decimal_value(&d, end);
    return stop;
}

/* Numbers of at most 19 digits, zeros counted; NULL where there are more, or none, or the quick methods cannot decide. */
static const char *scan_short(const char *s, const char *end, double *x)
{
    decimal d = {0};
    while (s < end && is_digit(*s) && d.kept < DIGITS_KEPT) d.w = d.w * 10 + (uint64_t)(*s++ - '0'), d.kept++;
    if (s < end && *s == '.') {
        const char *after = ++s;
        s = take_words(s, end, &d);
        while (s < end && is_digit(*s) && d.kept < DIGITS_KEPT) d.w = d.w * 10 + (uint64_t)(*s++ - '0'), d.kept++;
        d.e10 = after - s;
    }
    if (d.kept == 0 || (s < end && is_digit(*s))) return NULL;
    s = scan_exponent(s, end, &d.e10);
    return quick_value(d.w, d.e10, x) ? s : NULL;
}

const char *number_scan(const char *s, const char *end, double *x)
{
    if (s == end) return NULL;
    bool negative = *s == '-';
    s += negative | (*s == '+');
    const char *stop = scan_short(s, end, x);
    if (!stop && !(stop = scan_careful(s, end, x))) return NULL;
    *x = copysign(*x, negative ? -1.0 : 1.0); /* without a branch: signs are hard to predict */
    return stop;
}

/* ------------------------------------------------------------------------------------------ cells */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

void cell_trim(const char **s, const char **end)
{
    while (*s < *end && is_blank(**s)) ++*s;
    while (*s < *end && is_blank((*end)[-1])) --*end;
}

static bool is_word(const char *s, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == n && !strncasecmp(s, *words, n)) return true;
    return false;
}

bool cell_is_missing(const char *s, const char *end)
{
    static const char *const missing[] = {"", "na", "n/a", "#n/a", "nan", "+nan", "-nan", "null", "none", "?", ".", 0};
    return end - s <= 4 && is_word(s, (size_t)(end - s), missing);
}

bool cell_in_list(const char *list, const char *s, const char *end)
{
    for (const char *p = list; p && *p; p += *p != 0) {
        const char *begin = p, *stop = p += strcspn(p, ",\n");
        cell_trim(&begin, &stop);
        if (stop - begin == end - s && stop > begin && !strncasecmp(begin, s, (size_t)(end - s))) return true;
    }
    return false;
}

cell_kind cell_classify(const char *s, const char *end, double *x)
{
    static const char *const infinite[] = {"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", 0};
    cell_trim(&s, &end);
    const char *stop = number_scan(s, end, x);
    if (stop == end && s < end) return isfinite(*x) ? CELL_NUMBER : CELL_INFINITE;
    *x = NAN;
    if (cell_is_missing(s, end)) return CELL_MISSING;
    return is_word(s, (size_t)(end - s), infinite) ? CELL_INFINITE : CELL_TEXT;
}
