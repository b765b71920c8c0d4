/* Dates to days since 1970-01-01 in the Gregorian calendar, and back. */
#include <math.h>
#include <stdio.h>

#include "data/text/notation_parts.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Between `least` and `most` digits; false if there are fewer or more. */
static bool take_digits(const char **p, const char *end, int least, int most, int *x)
{
    int n = 0;
    for (*x = 0; *p < end && is_digit(**p) && n <= most; n++) *x = 10 * *x + (*(*p)++ - '0');
    return n >= least && n <= most;
}

static bool take(const char **p, const char *end, char c)
{
    if (*p == end || **p != c) return false;
    ++*p;
    return true;
}

/* Days from 1970-01-01 to y-m-d, for years that begin in March, so that the leap day is the last of its year. */
static double days_from(int y, int m, int d)
{
    y -= m <= 2;
    int era = y / 400, of_era = y - 400 * era, of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return 146097.0 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_day(int y, int m, int d)
{
    static const int longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return y >= 1 && m >= 1 && m <= 12 && d >= 1 && d <= longest[m - 1] && (m != 2 || d < 29 || leap);
}

/* "Z", "+01", "+0100", "+01:00", or nothing: minutes to subtract. */
static bool take_zone(const char **p, const char *end, int *minutes)
{
    int h, m = 0;
    *minutes = 0;
    if (*p == end || take(p, end, 'Z') || take(p, end, 'z')) return true;
    int sign = **p == '-' ? -1 : **p == '+' ? 1 : 0;
    if (!sign) return false;
    ++*p;
    if (!take_digits(p, *p + 2 < end ? *p + 2 : end, 2, 2, &h)) return false;
    if (take(p, end, ':') || *p < end)
        if (!take_digits(p, end, 2, 2, &m)) return false;
    *minutes = sign * (60 * h + m);
    return h <= 18 && m <= 59;
}

/* HH:MM, HH:MM:SS or HH:MM:SS.fff, and a zone. */
static bool take_time(const char **p, const char *end, double *seconds)
{
    int h, m, s = 0, zone;
    double digits = 0, unit = 1;
    if (!take_digits(p, end, 1, 2, &h) || !take(p, end, ':') || !take_digits(p, end, 2, 2, &m)) return false;
    if (take(p, end, ':') && !take_digits(p, end, 2, 2, &s)) return false;
    if (take(p, end, '.') || take(p, end, ','))
        for (; *p < end && is_digit(**p); unit *= 10) digits = 10 * digits + (*(*p)++ - '0');
    while (*p < end && **p == ' ') ++*p;
    if (h > 24 || m > 59 || s > 60 || (h == 24 && m + s > 0) || !take_zone(p, end, &zone)) return false;
    *seconds = 3600.0 * h + 60.0 * (m - zone) + s + digits / unit;
    return true;
}

static bool take_day(const char **p, const char *end, cell_notation n, int *y, int *m, int *d)
{
    bool year_first = n == NOTATION_DATE;
    int *first = year_first ? y : n == NOTATION_DATE_DMY ? d : m;
    int *second = n == NOTATION_DATE_MDY ? d : m, *third = year_first ? d : y;
    if (!take_digits(p, end, year_first ? 4 : 1, year_first ? 4 : 2, first) || *p == end) return false;
    char separator = **p;
    bool known = separator == '-' || separator == '/' || (separator == '.' && !year_first);
    if (separator == '.' && n == NOTATION_DATE_MDY) return false; /* always the day first */
    ++*p;
    return known && take_digits(p, end, 1, 2, second) && take(p, end, separator) &&
           take_digits(p, end, year_first ? 1 : 4, year_first ? 2 : 4, third);
}

bool date_read(cell_notation n, const char *s, const char *end, double *x)
{
    int y, m, d;
    double seconds = 0;
    if (!take_day(&s, end, n, &y, &m, &d) || !is_day(y, m, d)) return false;
    if (s < end) {
        if (!take(&s, end, 'T') && !take(&s, end, 't') && !take(&s, end, ' ')) return false;
        if (!take_time(&s, end, &seconds)) return false;
    }
    *x = days_from(y, m, d) + seconds / 86400;
    return s == end;
}

size_t notation_date_text(double days, char *to)
{
    if (!(fabs(days) < 1e7)) return (size_t)snprintf(to, 32, "%g", days);
    double minutes = round(days * 1440), day = floor(minutes / 1440);
    long rest = (long)(minutes - 1440 * day), z = (long)day + 719468;
    long era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    long d = of_year - (153 * month + 2) / 5 + 1, m = month < 10 ? month + 3 : month - 9,
         y = year + era * 400 + (m <= 2);
    int n = snprintf(to, 32, "%04ld-%02ld-%02ld", y, m, d);
    if (rest) n += snprintf(to + n, (size_t)(32 - n), " %02ld:%02ld", rest / 60, rest % 60);
    return (size_t)n;
}
