/* Double to the shortest text that reads back.

   x = m * 10^k with m an integer of 15, then 16, then 17 digits, rounded from x * 10^-k in long double; the first m
   that decimal_to_double() turns back into x is the answer (17 always can: 10^16 > 2^53).  A number that
   has a shorter decimal has it among the 15-digit ones, with zeros at the end.  If the quick methods cannot decide,
   snprintf and strtod decide. */
#include "data/text/number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_LEAST = -5, PLAIN_MOST = 16 }; /* decimal exponents written without an e */

static const long double power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                    1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                    1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

static size_t put_integer(uint64_t m, char *to)
{
    char reversed[20];
    size_t n = 0;
    do reversed[n++] = (char)('0' + m % 10);
    while (m /= 10);
    for (size_t i = 0; i < n; i++) to[i] = reversed[n - 1 - i];
    return n;
}

/* floor(log10 x) or one more or less: the caller looks at what came out. */
static int decimal_exponent(double x) { return (int)floor(log10(x)); }

/* The integer nearest to x * 10^-k. */
static bool scaled(double x, int k, uint64_t *m)
{
    if (k < -27 || k > 27) return false;
    long double v = k < 0 ? (long double)x * power[-k] : (long double)x / power[k];
    if (v >= 1e18L) return false;
    *m = (uint64_t)(v + 0.5L);
    return true;
}

/* x = *m * 10^*k with as few digits as possible; false if arithmetic cannot decide. */
static bool shortest(double x, uint64_t *m, int *k)
{
    int e10 = decimal_exponent(x);
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        *k = e10 + 1 - digits;
        if (!scaled(x, *k, m) || !decimal_to_double(*m, *k, &back)) return false;
        if (back == x) return true;
    }
    return false;
}

/* The same by the C library; its decimal point may be anything, so the text is taken apart as d?ddd...e+xx. */
static void shortest_slow(double x, uint64_t *m, int *k)
{
    char text[64];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        if (strtod(text, NULL) == x) break;
    }
    const char *c = text;
    int fraction = -1;
    *m = 0;
    for (; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9') *m = *m * 10 + (uint64_t)(*c - '0'), fraction++;
    *k = atoi(c + 1) - fraction;
}

static size_t put_exponent(int e10, char *to)
{
    size_t n = 0;
    to[n++] = 'e';
    if (e10 < 0) to[n++] = '-';
    return n + put_integer((uint64_t)abs(e10), to + n);
}

/* The digits of m with a point after the first `whole` of them; whole <= 0 puts zeros in front. */
static size_t put_point(const char *digits, int n, int whole, char *to)
{
    char *t = to;
    if (whole <= 0) {
        *t++ = '0', *t++ = '.';
        for (; whole < 0; whole++) *t++ = '0';
    }
    for (int i = 0; i < n || i < whole; i++) {
        if (i > 0 && i == whole) *t++ = '.';
        *t++ = i < n ? digits[i] : '0';
    }
    return (size_t)(t - to);
}

static size_t put_decimal(uint64_t m, int k, char *to)
{
    char digits[20];
    while (m % 10 == 0) m /= 10, k++;
    int n = (int)put_integer(m, digits), e10 = n - 1 + k;
    if (e10 >= PLAIN_LEAST && e10 <= PLAIN_MOST) return put_point(digits, n, e10 + 1, to);
    size_t length = put_point(digits, n, 1, to);
    return length + put_exponent(e10, to + length);
}

static size_t put_word(const char *word, char *to)
{
    size_t n = strlen(word);
    memcpy(to, word, n);
    return n;
}

size_t number_print(double x, char *to)
{
    if (isnan(x)) return put_word("nan", to);
    size_t sign = signbit(x) ? 1 : 0;
    if (sign) *to++ = '-', x = -x;
    if (isinf(x)) return sign + put_word("inf", to);
    if (x < 1e15 && x == (double)(uint64_t)x) return sign + put_integer((uint64_t)x, to);
    uint64_t m;
    int k;
    if (!shortest(x, &m, &k)) shortest_slow(x, &m, &k);
    return sign + put_decimal(m, k, to);
}
