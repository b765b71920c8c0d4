#include "base/quantity.h"

#include <math.h>
#include <stdio.h>

#include "base/plain.h"

/* With two digits at least, all before the point, and no exponent. */
static void short_quantity(double x, const char *unit, char *to, size_t size)
{
    if (x > 0 && x < 0.01)
        snprintf(to, size, "<0.01 %s", unit);
    else
        snprintf(to, size, "%.*g %s", plain_digits(x, 2), x, unit);
}

void quantity_seconds(double seconds, char *to, size_t size)
{
    static const double MINUTE = 60, HOUR = 3600, DAY = 86400;
    if (seconds < 10 * MINUTE)
        short_quantity(seconds, "s", to, size);
    else if (seconds < 3 * HOUR)
        short_quantity(seconds / MINUTE, "min", to, size);
    else if (seconds < 3 * DAY)
        short_quantity(seconds / HOUR, "h", to, size);
    else if (seconds < 1e4 * DAY)
        short_quantity(seconds / DAY, "days", to, size);
    else
        snprintf(to, size, "years");
}

void quantity_bytes(double bytes, char *to, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int k = 0;
    while (k < 4 && bytes >= 999.5) bytes /= 1000, k++;
    if (bytes < 1e4)
        short_quantity(bytes, units[k], to, size);
    else
        snprintf(to, size, ">10000 TB");
}
