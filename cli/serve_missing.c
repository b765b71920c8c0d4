/* anygp serve and fit --live where libmicrohttpd was not there when the program was built. */
#include "cli.h"

bool live_report(const anygp_progress *p) { return (void)p, false; }
void live_end(void) {}

static anygp_status missing(const char *what, anygp_error *e)
{
    return complain(e, ANYGP_ERR_ARGUMENT,
                    "this anygp was built without libmicrohttpd, which %s needs; install libmicrohttpd-dev and build "
                    "again",
                    what);
}

anygp_status live_begin(const char *text, anygp_error *e)
{
    (void)text;
    return missing("--live", e);
}

const own_option serve_options[] = {{NULL, NULL, NULL}};

anygp_status command_serve(const options *o, anygp_error *e)
{
    (void)o;
    return missing("serve", e);
}
