/* Dates on an axis, whose numbers are days since 1970-01-01 00:00 UTC: ticks at seconds, minutes, hours, days, months or years, as the range
   asks.  Steps up to days are multiples of their length from midnight; months and years are those of the Gregorian calendar. */
#include <math.h>

#include "draw/draw.h"

typedef struct date_step {
    double days; /* its length; 0: of months */
    int64_t months;
    enum { SHOW_YEAR, SHOW_MONTH, SHOW_DAY, SHOW_MINUTE, SHOW_SECOND } show;
} date_step;

#define SECOND (1.0 / 86400)
static const date_step steps[] = {
    {SECOND, 0, SHOW_SECOND},
    {5 * SECOND, 0, SHOW_SECOND},
    {15 * SECOND, 0, SHOW_SECOND},
    {30 * SECOND, 0, SHOW_SECOND},
    {1.0 / 1440, 0, SHOW_MINUTE},
    {5.0 / 1440, 0, SHOW_MINUTE},
    {15.0 / 1440, 0, SHOW_MINUTE},
    {30.0 / 1440, 0, SHOW_MINUTE},
    {1.0 / 24, 0, SHOW_MINUTE},
    {3.0 / 24, 0, SHOW_MINUTE},
    {6.0 / 24, 0, SHOW_MINUTE},
    {12.0 / 24, 0, SHOW_MINUTE},
    {1, 0, SHOW_DAY},
    {2, 0, SHOW_DAY},
    {7, 0, SHOW_DAY},
    {0, 1, SHOW_MONTH},
    {0, 3, SHOW_MONTH},
    {0, 6, SHOW_MONTH},
    {0, 12, SHOW_YEAR},
    {0, 24, SHOW_YEAR},
    {0, 60, SHOW_YEAR},
    {0, 120, SHOW_YEAR},
    {0, 240, SHOW_YEAR},
    {0, 600, SHOW_YEAR},
    {0, 1200, SHOW_YEAR},
    {0, 6000, SHOW_YEAR},
    {0, 12000, SHOW_YEAR},
};
enum { STEPS = sizeof steps / sizeof *steps };

/* Years begin in March here, so that a leap day is the last of its year; 400 years have 146097 days. */
static double days_of(int64_t months) /* since January of year 0, to its first day */
{
    double year = floor((double)(months - 2) / 12), month = (double)(months - 2) - 12 * year; /* March is 0 */
    double days = 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400);
    return days + floor((153 * month + 2) / 5) - 719468;
}

/* The month that a day is in, in months since January of year 0. */
static int64_t month_of(double days)
{
    int64_t months = (int64_t)floor((days + 719528) / 30.436875);
    while (days_of(months) > days) months--;
    while (days_of(months + 1) <= days) months++;
    return months;
}

void date_text(double days, int parts, char *to, size_t room)
{
    double day = floor(days + 0.5 * SECOND), seconds = round((days - day) * 86400);
    int64_t months = month_of(day), year = (int64_t)floor((double)months / 12);
    int d = (int)(day - days_of(months)) + 1, m = (int)(months - 12 * year) + 1, s = (int)fmax(seconds, 0);
    int n = snprintf(to, room, "%lld", (long long)year);
    if (parts >= SHOW_MONTH) n += snprintf(to + n, room - (size_t)n, "-%02d", m);
    if (parts >= SHOW_DAY) n += snprintf(to + n, room - (size_t)n, "-%02d", d);
    if (parts >= SHOW_MINUTE) n += snprintf(to + n, room - (size_t)n, " %02d:%02d", s / 3600, s / 60 % 60);
    if (parts >= SHOW_SECOND) snprintf(to + n, room - (size_t)n, ":%02d", s % 60);
}

/* Tick i from the first one at or above low. */
static double tick_at(const date_step *s, double low, int i)
{
    if (s->days > 0) return (ceil(low / s->days - 1e-9) + i) * s->days;
    int64_t first = month_of(low);
    first -= ((first % s->months) + s->months) % s->months;
    while (days_of(first) < low - 1e-9) first += s->months;
    return days_of(first + i * s->months);
}

/* The first and the last of the ticks of a step that has too many: one alone would not show the scale. */
static void ends_of(const date_step *s, double low, double high, ticks *t)
{
    int last = 0;
    while (tick_at(s, low, last + 1) <= high) last++;
    t->count = 2, t->at[0] = tick_at(s, low, 0), t->at[1] = tick_at(s, low, last);
    for (int k = 0; k < 2; k++) date_text(t->at[k], s->show, t->label[k], TICK_LABEL);
}

void ticks_dates(double low, double high, int most, ticks *t)
{
    static const double FAR = 3.6e6; /* days: ten thousand years */
    const date_step *s = steps;
    t->count = 0;
    if (most > TICKS_MOST) most = TICKS_MOST;
    if (!(high > low) || !(low > -FAR) || !(high < FAR) || high - low < 2 * SECOND) {
        ticks_linear(low, high, most, t);
        return;
    }
    while (s < steps + STEPS - 1 && tick_at(s, low, most) <= high) s++;
    for (int i = 0; i < most; i++) {
        double x = tick_at(s, low, i);
        if (x > high) break;
        t->at[t->count] = x;
        date_text(x, s->show, t->label[t->count++], TICK_LABEL);
    }
    if (t->count < 2 && most > 1 && s > steps) ends_of(s - 1, low, high, t);
}
