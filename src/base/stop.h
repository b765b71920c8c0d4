/* Whether the caller wants the current work to end.  Long work asks now and then; a NULL stop_poll is never asked. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>

#include "base/error.h"

typedef struct stop_poll {
    int (*asked)(void *ctx); /* nonzero: end; NULL: never */
    void *ctx;
} stop_poll;

static inline bool stop_asked(const stop_poll *s) { return s && s->asked && s->asked(s->ctx); }

/* For work on several threads: the one that the caller waits in asks, and all hear of it. */
typedef struct stop_watch {
    stop_poll poll;
    int heard;
} stop_watch;

bool stop_heard(stop_watch *w); /* accepts NULL [deadline.c] */

/* The sentence for it. */
static inline anygp_status fail_stopped(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_STOPPED, "stopped before there was a result; nothing was written");
}

/* For a TRY(). */
static inline anygp_status stop_check(const stop_poll *s, anygp_error *e)
{
    return stop_asked(s) ? fail_stopped(e) : ANYGP_OK;
}

#endif
