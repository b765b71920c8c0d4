#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

anygp_status fail_with(anygp_error *e, anygp_status status, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        vsnprintf(e->text, sizeof e->text, format, args);
        va_end(args);
        e->status = status;
    }
    return status;
}

anygp_status fail_memory(anygp_error *e, const char *what, double bytes)
{
    const char *units[] = {"bytes", "kB", "MB", "GB", "TB"};
    int u = 0;
    while (bytes >= 1000 && u < 4) bytes /= 1000, u++;
    return fail_with(e, ANYGP_ERR_MEMORY, "not enough memory for %s (%.3g %s)", what, bytes, units[u]);
}
