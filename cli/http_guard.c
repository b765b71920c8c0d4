#include "http_guard.h"

#include <string.h>

static bool is_local_name(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(host, names[i], n) && (!host[n] || host[n] == ':')) return true;
    }
    return false;
}

bool http_is_foreign(struct MHD_Connection *c)
{
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    if (host && !is_local_name(host)) return true;
    const char *from = origin ? strstr(origin, "://") : NULL;
    return origin && (!from || !host || strcmp(from + 3, host));
}
