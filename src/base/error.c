/* A failure is a status and one sentence. */
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

const char *anygp_status_text(anygp_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                                                 \
    case ANYGP_##name: return text;
        ANYGP_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "an unknown status";
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *anygp_version(void) { return VERSION_TEXT(ANYGP_VERSION_MAJOR, ANYGP_VERSION_MINOR, ANYGP_VERSION_PATCH); }
