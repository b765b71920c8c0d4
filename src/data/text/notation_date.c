/* Dates to days since 1970-01-01 in the Gregorian calendar, and back; months and times of day. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static void skip_blanks(const char **p, const char *end)
{
    while (*p < end && **p == ' ') ++*p;
}

/* "am" or "pm" after an hour from 1 to 12, which becomes one from 0 to 23; or nothing. */
static bool take_half_of_day(const char **p, const char *end, int *hour)
{
    bool am = end - *p >= 2 && !strncasecmp(*p, "am", 2), pm = end - *p >= 2 && !strncasecmp(*p, "pm", 2);
    if (!am && !pm) return true;
    *p += 2;
    if (*hour < 1 || *hour > 12) return false;
    *hour = *hour % 12 + (pm ? 12 : 0);
    return true;
}

/* HH:MM, HH:MM:SS or HH:MM:SS.fff, am or pm, and a zone. */
static bool take_time(const char **p, const char *end, double *seconds)
{
    int h, m, s = 0, zone;
    double digits = 0, unit = 1;
    if (!take_digits(p, end, 1, 2, &h) || !take(p, end, ':') || !take_digits(p, end, 2, 2, &m)) return false;
    if (take(p, end, ':') && !take_digits(p, end, 2, 2, &s)) return false;
    if (take(p, end, '.') || take(p, end, ','))
        for (; *p < end && is_digit(**p); unit *= 10) digits = 10 * digits + (*(*p)++ - '0');
    skip_blanks(p, end);
    if (!take_half_of_day(p, end, &h)) return false;
    skip_blanks(p, end);
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

/* "Feb", "February", "Feb.", in upper or lower case: 1 to 12. */
static bool take_month_name(const char **p, const char *end, int *m)
{
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    const char *begin = *p;
    while (*p < end && ((**p >= 'a' && **p <= 'z') || (**p >= 'A' && **p <= 'Z'))) ++*p;
    size_t n = (size_t)(*p - begin);
    for (*m = 1; *m <= 12; ++*m) {
        const char *name = names[*m - 1];
        bool usual = n == 3 || n == strlen(name) || (*m == 9 && n == 4); /* Sept */
        if (usual && !strncasecmp(begin, name, n)) break;
    }
    take(p, end, '.');
    return *m <= 12;
}

/* What stands between the parts of a date with a name in it: blanks, a hyphen, or a comma and blanks. */
static bool take_gap(const char **p, const char *end, bool comma)
{
    const char *begin = *p;
    if (comma) take(p, end, ',');
    skip_blanks(p, end);
    if (*p == begin) take(p, end, '-');
    return *p > begin;
}

/* 11 Feb 2023, 11-Feb-2023, Feb 11, 2023, February 11 2023. */
static bool take_named_day(const char **p, const char *end, int *y, int *m, int *d)
{
    bool day_first = *p < end && is_digit(**p);
    if (day_first && !(take_digits(p, end, 1, 2, d) && take_gap(p, end, false))) return false;
    if (!take_month_name(p, end, m) || !take_gap(p, end, day_first)) return false;
    if (!day_first && !(take_digits(p, end, 1, 2, d) && take_gap(p, end, true))) return false;
    return take_digits(p, end, 4, 4, y);
}

/* As the notation has it or, whatever that is, in a way that can be read only as one day. */
static bool take_any_day(const char **p, const char *end, cell_notation n, int *y, int *m, int *d)
{
    const char *begin = *p;
    if (take_day(p, end, n, y, m, d)) return true;
    *p = begin;
    if (n != NOTATION_DATE && take_day(p, end, NOTATION_DATE, y, m, d)) return true;
    *p = begin;
    return take_named_day(p, end, y, m, d);
}

bool month_read(const char *s, const char *end, double *x)
{
    int y, m;
    bool number = s < end && is_digit(*s);
    if (number && !(take_digits(&s, end, 4, 4, &y) && take(&s, end, '-') && take_digits(&s, end, 2, 2, &m)))
        return false;
    if (!number && !(take_month_name(&s, end, &m) && take_gap(&s, end, true) && take_digits(&s, end, 4, 4, &y)))
        return false;
    if (s != end || !is_day(y, m, 1)) return false;
    *x = days_from(y, m, 1);
    return true;
}

/* A time of no day has no zone. */
bool time_read(const char *s, const char *end, double *x)
{
    double seconds;
    if (end > s && (end[-1] == 'Z' || end[-1] == 'z')) return false;
    if (memchr(s, '+', (size_t)(end - s)) || memchr(s, '-', (size_t)(end - s))) return false;
    if (!take_time(&s, end, &seconds) || s != end) return false;
    *x = seconds / 3600;
    return true;
}

bool date_read(cell_notation n, const char *s, const char *end, double *x)
{
    int y, m, d;
    double seconds = 0;
    if (!take_any_day(&s, end, n, &y, &m, &d) || !is_day(y, m, d)) return false;
    if (s < end) {
        take(&s, end, ',');
        if (!take(&s, end, 'T') && !take(&s, end, 't') && !take(&s, end, ' ')) return false;
        if (!take_time(&s, end, &seconds)) return false;
    }
    *x = days_from(y, m, d) + seconds / 86400;
    return s == end;
}

/* Days since 1970-01-01 to a day of the calendar. */
static int day_text(long day, bool month_alone, char *to)
{
    long z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    long d = of_year - (153 * month + 2) / 5 + 1, m = month < 10 ? month + 3 : month - 9,
         y = year + era * 400 + (m <= 2);
    if (month_alone && d == 1) return snprintf(to, 20, "%04ld-%02ld", y, m);
    return snprintf(to, 20, "%04ld-%02ld-%02ld", y, m, d);
}

size_t notation_date_text(double days, char *to)
{
    if (!(fabs(days) < 1e7)) return (size_t)snprintf(to, 32, "%g", days);
    double minutes = round(days * 1440), day = floor(minutes / 1440);
    long rest = (long)(minutes - 1440 * day);
    int n = day_text((long)day, false, to);
    if (rest) n += snprintf(to + n, (size_t)(32 - n), " %02ld:%02ld", rest / 60, rest % 60);
    return (size_t)n;
}

/* 14:30, 14:30:05, 14:30:05.25, from microseconds. */
static int clock_text(long long micro, char *to)
{
    long long seconds = micro / 1000000, part = micro % 1000000;
    int n = snprintf(to, 24, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    if (seconds % 60 || part) n += snprintf(to + n, 24 - (size_t)n, ":%02d", (int)(seconds % 60));
    if (!part) return n;
    n += snprintf(to + n, 24 - (size_t)n, ".%06d", (int)part);
    while (to[n - 1] == '0') n--;
    return n;
}

size_t notation_calendar_text(cell_notation n, double x, char *to)
{
    static const double MICRO = 1e6; /* in a second */
    if (n == NOTATION_TIME) return x >= 0 && x <= 24 ? (size_t)clock_text(llround(x * 3600 * MICRO), to) : 0;
    if (!notation_is_date(n) || !(x >= -719162 && x <= 2932896)) return 0; /* the years 1 to 9999 */
    double day = floor(x);
    long long micro = llround((x - day) * 86400 * MICRO);
    if (micro >= 86400000000LL) micro = 0, day++;
    int used = day_text((long)day, n == NOTATION_MONTH && micro == 0, to);
    if (micro) {
        to[used++] = ' ';
        used += clock_text(micro, to + used);
    }
    return (size_t)used;
}
