/* Good numbers for an axis: multiples of 1, 2 or 5 times a power of ten; and numbers as people write them. */
#include <math.h>
#include <string.h>

#include "draw/draw.h"

/* Takes zeros and a plus sign out of an exponent: 1e+06 becomes 1e6. */
static void tidy_exponent(char *text)
{
    char *e = strchr(text, 'e'), *from = e ? e + 1 : NULL, *to = from;
    if (!e) return;
    if (*from == '-') to++, from++;
    if (*from == '+') from++;
    while (*from == '0' && from[1]) from++;
    memmove(to, from, strlen(from) + 1);
}

/* Digits after the point that tell `step` from 0. */
static int decimals_of(double step)
{
    int d = (int)ceil(-log10(step) - 1e-9);
    return d > 0 ? d : 0;
}

/* Where numbers are large or small, with an exponent, and all with the digits that the step needs. */
static void label_tick(double x, double step, double largest, char *to)
{
    if (fabs(x) < step / 1e6) x = 0;
    if (largest < 1e6 && step >= 1e-5)
        snprintf(to, TICK_LABEL, "%.*f", decimals_of(step), x);
    else if (x == 0)
        snprintf(to, TICK_LABEL, "0");
    else {
        double digits = ceil(log10(fabs(x) / step) - 1e-9);
        snprintf(to, TICK_LABEL, "%.*e", digits > 0 ? digits < 12 ? (int)digits : 12 : 0, x);
        char *point = strchr(to, '.'), *e = strchr(to, 'e');
        if (point && e) { /* zeros before the exponent say nothing */
            char *end = e;
            while (end > point && (end[-1] == '0' || end[-1] == '.')) end--;
            memmove(end, e, strlen(e) + 1);
        }
        tidy_exponent(to);
    }
}

/* The smallest good step with at most `most` multiples within the range. */
static double good_step(double low, double high, int most)
{
    static const double steps[] = {1, 2, 5};
    double range = high - low, power = pow(10, floor(log10(range / (most > 1 ? most : 1))) - 1);
    for (int decade = 0; decade < 5; decade++, power *= 10)
        for (int i = 0; i < 3; i++) {
            double step = steps[i] * power;
            if (floor(high / step + 1e-9) - ceil(low / step - 1e-9) + 1 <= most) return step;
        }
    return range;
}

/* Where one multiple of a good step lies within the range, nothing shows the scale: two ticks then, a good number apart, and not both of them
   its multiples. */
static void two_ticks(double low, double high, ticks *t)
{
    static const double apart[] = {5, 2, 1}, unit[] = {1, 1, 0.5};
    double power = pow(10, floor(log10(high - low) + 1e-9));
    for (int decade = 0; decade < 2; decade++, power /= 10)
        for (int i = 0; i < 3; i++) {
            double from = ceil(low / (unit[i] * power) - 1e-9) * unit[i] * power, to = from + apart[i] * power;
            if (to > high + 1e-9 * power) continue;
            t->count = 2, t->at[0] = from, t->at[1] = to;
            for (int k = 0; k < 2; k++) label_tick(t->at[k], unit[i] * power, fmax(fabs(low), fabs(high)), t->label[k]);
            return;
        }
}

void ticks_linear(double low, double high, int most, ticks *t)
{
    t->count = 0;
    if (!(high > low) || !isfinite(high - low)) return;
    if (most > TICKS_MOST) most = TICKS_MOST;
    double step = good_step(low, high, most), first = ceil(low / step - 1e-9);
    double largest = fmax(fabs(low), fabs(high));
    for (int i = 0; i < most; i++) {
        double x = (first + i) * step;
        if (x > high + 1e-9 * step) break;
        t->at[t->count] = fabs(x) < step / 1e6 ? 0 : x;
        label_tick(x, step, largest, t->label[t->count++]);
    }
    if (t->count < 2 && most > 1) two_ticks(low, high, t);
}

void ticks_log(double low, double high, int most, ticks *t)
{
    static const double parts[] = {1, 2, 5};
    t->count = 0;
    if (!(low > 0 && high > low) || !isfinite(high)) return;
    if (most > TICKS_MOST) most = TICKS_MOST;
    double first = ceil(log10(low) - 1e-9), last = floor(log10(high) + 1e-9);
    int decades = (int)(last - first) + 1, per = 3 * (decades + 1) <= most ? 3 : 1;
    int every = decades > most ? (decades + most - 1) / most : 1;
    for (int d = per == 3 ? -1 : 0; d <= decades; d += every)
        for (int i = 0; i < per && t->count < most; i++) {
            double x = parts[i] * pow(10, first + d);
            if (x < low * (1 - 1e-9) || x > high * (1 + 1e-9)) continue;
            t->at[t->count] = x;
            number_text(x, 1, t->label[t->count], TICK_LABEL);
            t->count++;
        }
    if (t->count < 2) ticks_linear(low, high, most, t);
}

void number_text(double x, int digits, char *to, size_t room)
{
    double size = fabs(x);
    if (!isfinite(x)) {
        snprintf(to, room, "\xe2\x80\x93");
        return;
    }
    int before = size >= 1 ? (int)floor(log10(size)) + 1 : 1;
    if (before > digits && size < 1e7)
        snprintf(to, room, "%.0f", x);
    else {
        snprintf(to, room, "%.*g", digits, x);
        tidy_exponent(to);
    }
}
