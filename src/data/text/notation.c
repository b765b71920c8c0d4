/* Notations of numbers: amounts with signs, separators and units, yes and no, and their names. */
#include "data/text/notation.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "data/text/notation_parts.h"
#include "data/text/number.h"
#include "data/text/utf8.h"

typedef struct notation_text {
    const char *name, *noun, *meaning;
} notation_text;

static const notation_text texts[NOTATIONS] = {
    [NOTATION_PLAIN] = {"plain", "a number", "is read as it is"},
    [NOTATION_DATE] = {"date", "a date", "becomes days since 1970-01-01"},
    [NOTATION_DATE_DMY] = {"date-dmy", "a date, the day first", "becomes days since 1970-01-01, the day first"},
    [NOTATION_DATE_MDY] = {"date-mdy", "a date, the month first", "becomes days since 1970-01-01, the month first"},
    [NOTATION_MONTH] = {"month", "a month", "becomes days since 1970-01-01, of the first day of the month"},
    [NOTATION_TIME] = {"time", "a time of day", "becomes hours since midnight"},
    [NOTATION_YES_NO] = {"yes-no", "yes or no", "becomes 1 for yes or true and 0 for no or false"},
    [NOTATION_GROUPED] = {"grouped", "a number", "is read without its thousands separators"},
    [NOTATION_PERCENT] = {"percent", "a percentage", "is read without the sign: 10% is 10"},
    [NOTATION_MONEY] = {"money", "an amount", "is read without the currency sign"},
    [NOTATION_UNIT] = {"unit", "a number with that unit", "is read without its unit"},
    [NOTATION_COMMA] = {"comma", "a number with a decimal comma", "is read with a decimal comma"},
    [NOTATION_PERCENT_COMMA] = {"percent-comma", "a percentage with a decimal comma",
                                "is read with a decimal comma and without the sign: 10% is 10"},
    [NOTATION_MONEY_COMMA] = {"money-comma", "an amount with a decimal comma",
                              "is read with a decimal comma and without the currency sign"},
    [NOTATION_UNIT_COMMA] = {"unit-comma", "a number with a decimal comma and that unit",
                             "is read with a decimal comma and without its unit"},
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

/* The one of these signs that the text begins with (or, at_end, ends with), in bytes; 0: none. */
static size_t sign_at(const char *const *signs, const char *s, const char *end, bool at_end)
{
    for (; *signs; signs++) {
        size_t n = strlen(*signs);
        if ((size_t)(end - s) >= n && !memcmp(at_end ? end - n : s, *signs, n)) return n;
    }
    return 0;
}

/* Signs between groups of three digits that are no decimal sign: blanks and apostrophes, in UTF-8 and Latin-1. */
static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xa0", NULL};
static const char *const apostrophes[] = {"'", "\xe2\x80\x99", NULL};

static size_t quiet_separator(const char *s, const char *end)
{
    size_t n = sign_at(blanks, s, end, false);
    return n ? n : sign_at(apostrophes, s, end, false);
}

/* Blanks of all kinds. */
static void trim_wide(const char **s, const char **end)
{
    size_t n;
    cell_trim(s, end);
    while ((n = sign_at(blanks, *s, *end, false))) *s += n;
    while ((n = sign_at(blanks, *s, *end, true))) *end -= n;
    cell_trim(s, end);
}

/* Copies the number with its groups joined and a decimal point; false if the groups are not of three digits, are separated by
   different signs, or the number could be meant otherwise. */
static bool join_groups(const char *s, const char *end, char decimal, char *to, size_t room)
{
    char group = decimal == '.' ? ',' : '.';
    const char *separator = NULL;
    int64_t groups = 0, run = 0; /* digits since the last separator */
    bool comma = false;
    size_t n = 0, bytes = 0;
    for (; s < end && n + 1 < room; s++) {
        size_t here = *s == group ? 1 : quiet_separator(s, end);
        if (is_digit(*s)) {
            run++;
        } else if (here && !comma) {
            if (run < 1 || run > 3 || (groups && run != 3)) return false;
            if (!groups && to[0] == '0') return false; /* 0,167: nobody groups so */
            if (separator && (here != bytes || memcmp(separator, s, bytes))) return false;
            separator = s, bytes = here;
            groups++, run = 0;
            s += here - 1;
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
    if (!comma && groups == 1 && *separator == '.') return false; /* 1.234 */
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

/* (5): what stands in parentheses is negative, and has no sign of its own. */
static bool take_parentheses(const char **s, const char **end)
{
    if (*end - *s < 3 || **s != '(' || (*end)[-1] != ')') return false;
    const char *inner = *s + 1, *stop = *end - 1;
    trim_wide(&inner, &stop);
    if (inner == stop || *inner == '-' || *inner == '+') return false;
    *s = inner, *end = stop;
    return true;
}

static const char *const currencies[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\x80", "\xa3", "\xa5", NULL};

/* -$5, $-5, $ 5, 5 $; a number without a sign is an amount too. */
static bool read_money(const char *s, const char *end, char decimal, double *x)
{
    bool negative = s < end && *s == '-';
    size_t before = sign_at(currencies, s + negative, end, false);
    size_t after = before ? 0 : sign_at(currencies, s, end, true);
    s += before ? (size_t)negative + before : 0;
    end -= after;
    trim_wide(&s, &end);
    if (!read_amount(s, end, decimal, x)) return false;
    if (before && negative) *x = -*x;
    return true;
}

static bool read_percent(const char *s, const char *end, char decimal, double *x)
{
    if (s < end && end[-1] == '%') end--;
    trim_wide(&s, &end);
    return read_amount(s, end, decimal, x);
}

static bool read_unit(const char *unit, const char *s, const char *end, char decimal, double *x)
{
    const char *begin = unit_begin(s, end);
    size_t n = begin ? (size_t)(end - begin) : 0;
    if (n >= UNIT_ROOM || (n && unit && (strlen(unit) != n || memcmp(unit, begin, n)))) return false;
    end -= n;
    trim_wide(&s, &end);
    return read_amount(s, end, decimal, x);
}

bool notation_unit(const char *s, const char *end, char unit[UNIT_ROOM])
{
    trim_wide(&s, &end);
    take_parentheses(&s, &end);
    const char *begin = unit_begin(s, end);
    if (!begin || end - begin >= UNIT_ROOM) return false;
    memcpy(unit, begin, (size_t)(end - begin));
    unit[end - begin] = 0;
    return utf8_valid(unit, (size_t)(end - begin));
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

static bool read_signed(cell_notation n, const char *unit, const char *s, const char *end, double *x)
{
    switch (n) {
    case NOTATION_GROUPED: return read_amount(s, end, '.', x);
    case NOTATION_COMMA: return read_amount(s, end, ',', x);
    case NOTATION_PERCENT: return read_percent(s, end, '.', x);
    case NOTATION_PERCENT_COMMA: return read_percent(s, end, ',', x);
    case NOTATION_MONEY: return read_money(s, end, '.', x);
    case NOTATION_MONEY_COMMA: return read_money(s, end, ',', x);
    case NOTATION_UNIT: return read_unit(unit, s, end, '.', x);
    case NOTATION_UNIT_COMMA: return read_unit(unit, s, end, ',', x);
    default: return false;
    }
}

static bool read_amounts(cell_notation n, const char *unit, const char *s, const char *end, double *x)
{
    trim_wide(&s, &end);
    bool negative = take_parentheses(&s, &end);
    if (!read_signed(n, unit, s, end, x)) return false;
    if (negative) *x = 0 - *x;
    return true;
}

bool notation_read(cell_notation n, const char *unit, const char *s, const char *end, double *x)
{
    cell_trim(&s, &end);
    switch (n) {
    case NOTATION_DATE:
    case NOTATION_DATE_DMY:
    case NOTATION_DATE_MDY: return date_read(n, s, end, x);
    case NOTATION_MONTH: return month_read(s, end, x) || date_read(NOTATION_DATE, s, end, x);
    case NOTATION_TIME: return time_read(s, end, x);
    case NOTATION_YES_NO: return read_yes_no(s, end, x);
    case NOTATION_PLAIN: return cell_classify(s, end, x) == CELL_NUMBER;
    default: return read_amounts(n, unit, s, end, x);
    }
}

unsigned notations_of(unsigned notations, const char *s, const char *end)
{
    double x;
    for (int n = 0; n < NOTATIONS; n++)
        if ((notations & NOTATION_BIT(n)) && !notation_read((cell_notation)n, NULL, s, end, &x))
            notations &= ~NOTATION_BIT(n);
    return notations;
}
