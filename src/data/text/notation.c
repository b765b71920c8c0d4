/* Notations of numbers: amounts with signs and separators, yes and no, and their names. */
#include "data/text/notation.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "data/text/notation_parts.h"
#include "data/text/number.h"

typedef struct notation_text {
    const char *name, *noun, *meaning;
} notation_text;

static const notation_text texts[NOTATIONS] = {
    [NOTATION_PLAIN] = {"plain", "a number", "is read as it is"},
    [NOTATION_DATE] = {"date", "a date", "becomes days since 1970-01-01"},
    [NOTATION_DATE_DMY] = {"date-dmy", "a date, the day first", "becomes days since 1970-01-01, the day first"},
    [NOTATION_DATE_MDY] = {"date-mdy", "a date, the month first", "becomes days since 1970-01-01, the month first"},
    [NOTATION_YES_NO] = {"yes-no", "yes or no", "becomes 1 for yes or true and 0 for no or false"},
    [NOTATION_GROUPED] = {"grouped", "a number", "is read without its thousands separators"},
    [NOTATION_PERCENT] = {"percent", "a percentage", "is read without the sign: 10% is 10"},
    [NOTATION_MONEY] = {"money", "an amount", "is read without the currency sign"},
    [NOTATION_COMMA] = {"comma", "a number with a decimal comma", "is read with a decimal comma"},
    [NOTATION_PERCENT_COMMA] = {"percent-comma", "a percentage with a decimal comma",
                                "is read with a decimal comma and without the sign: 10% is 10"},
    [NOTATION_MONEY_COMMA] = {"money-comma", "an amount with a decimal comma",
                              "is read with a decimal comma and without the currency sign"},
};

const char *notation_name(cell_notation n) { return texts[n].name; }
const char *notation_meaning(cell_notation n) { return texts[n].meaning; }
const char *notation_noun(cell_notation n) { return texts[n].noun; }

bool notation_named(const char *name, cell_notation *out)
{
    for (int n = 0; n < NOTATIONS; n++)
        if (!strcmp(texts[n].name, name)) return *out = (cell_notation)n, true;
    return false;
}

cell_notation notation_with_point(cell_notation n)
{
    return n >= NOTATION_COMMA ? (cell_notation)(n - NOTATION_COMMA + NOTATION_GROUPED) : n;
}

cell_notation notation_with_comma(cell_notation n)
{
    if (n == NOTATION_PLAIN) return NOTATION_COMMA;
    bool amount = n >= NOTATION_GROUPED && n < NOTATION_COMMA;
    return amount ? (cell_notation)(n - NOTATION_GROUPED + NOTATION_COMMA) : n;
}

/* ------------------------------------------------------------------------------------------ amounts */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Copies the number with its groups joined and a decimal point; false if the groups are not of three digits, or the number
   could be meant otherwise. */
static bool join_groups(const char *s, const char *end, char decimal, char *to, size_t room)
{
    char group = decimal == '.' ? ',' : '.';
    int64_t groups = 0, run = 0; /* digits since the last separator */
    bool comma = false;
    size_t n = 0;
    for (; s < end && n + 1 < room; s++) {
        if (is_digit(*s)) {
            run++;
        } else if (*s == group && !comma) {
            if (run < 1 || run > 3 || (groups && run != 3)) return false;
            groups++, run = 0;
            continue;
        } else if (*s == decimal && !comma) {
            if (groups && run != 3) return false;
            comma = true;
        } else {
            break; /* an exponent or something else, which number_scan judges */
        }
        to[n++] = *s == decimal ? '.' : *s;
    }
    if (!comma && groups && run != 3) return false;
    if (!comma && groups == 1 && decimal == ',') return false; /* 1.234 */
    for (; s < end && n + 1 < room; s++) {
        if (*s == ',' || (*s == '.' && decimal == ',')) return false;
        to[n++] = *s;
    }
    to[n] = 0;
    return s == end && n > 0;
}

static bool read_amount(const char *s, const char *end, char decimal, double *x)
{
    char text[64];
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    if (s == end || !(is_digit(*s) || *s == decimal)) return false;
    if (!join_groups(s, end, decimal, text, sizeof text)) return false;
    const char *stop = number_scan(text, text + strlen(text), x);
    if (!stop || *stop || !isfinite(*x)) return false;
    if (negative) *x = -*x;
    return true;
}

/* ------------------------------------------------------------------------------------- signs and words */

/* The bytes of a currency sign that the text begins with (or, at_end, ends with); 0: none. */
static size_t currency(const char *s, const char *end, bool at_end)
{
    static const char *const signs[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\x80", "\xa3", "\xa5"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i]);
        if ((size_t)(end - s) > n && !memcmp(at_end ? end - n : s, signs[i], n)) return n;
    }
    return 0;
}

/* -$5, $-5, $ 5, 5 $; a number without a sign is an amount too. */
static bool read_money(const char *s, const char *end, char decimal, double *x)
{
    bool negative = s < end && *s == '-';
    size_t before = currency(s + negative, end, false), after = before ? 0 : currency(s, end, true);
    s += before ? (size_t)negative + before : 0;
    end -= after;
    cell_trim(&s, &end);
    if (!read_amount(s, end, decimal, x)) return false;
    if (before && negative) *x = -*x;
    return true;
}

static bool read_percent(const char *s, const char *end, char decimal, double *x)
{
    if (s < end && end[-1] == '%') end--;
    cell_trim(&s, &end);
    return read_amount(s, end, decimal, x);
}

static bool read_yes_no(const char *s, const char *end, double *x)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(end - s) == n && !strncasecmp(s, words[i], n)) return *x = (double)(i % 2), true;
    }
    return false;
}

bool notation_read(cell_notation n, const char *s, const char *end, double *x)
{
    cell_trim(&s, &end);
    switch (n) {
    case NOTATION_DATE:
    case NOTATION_DATE_DMY:
    case NOTATION_DATE_MDY: return date_read(n, s, end, x);
    case NOTATION_YES_NO: return read_yes_no(s, end, x);
    case NOTATION_GROUPED: return read_amount(s, end, '.', x);
    case NOTATION_COMMA: return read_amount(s, end, ',', x);
    case NOTATION_PERCENT: return read_percent(s, end, '.', x);
    case NOTATION_PERCENT_COMMA: return read_percent(s, end, ',', x);
    case NOTATION_MONEY: return read_money(s, end, '.', x);
    case NOTATION_MONEY_COMMA: return read_money(s, end, ',', x);
    case NOTATION_PLAIN:
    case NOTATIONS: break;
    }
    return cell_classify(s, end, x) == CELL_NUMBER;
}

unsigned notations_of(unsigned notations, const char *s, const char *end)
{
    double x;
    for (int n = 0; n < NOTATIONS; n++)
        if ((notations & NOTATION_BIT(n)) && !notation_read((cell_notation)n, s, end, &x))
            notations &= ~NOTATION_BIT(n);
    return notations;
}
