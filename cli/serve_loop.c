/* The thread that serves.  It looks at all connections that have something, which puts requests of a few rows into a list; predicts the
   list in batches; and looks again, which sends the answers.  So a batch is what came while the last one was predicted, nobody waits for
   a batch to fill, and no request changes threads.  A request that was read and has no answer yet is looked at again by libmicrohttpd
   with every look, so that it need not be suspended, which would cost two calls of the system. */
#include <microhttpd.h>
#include <stdlib.h>

#include "serve.h"

enum { LOOK_MOST = 100 }; /* milliseconds of waiting, after which it looks whether it should end */

static void *serve(void *ctx)
{
    server *s = ctx;
    bool open = true;
    while (s->end < 2) {
        MHD_run_wait(s->daemon, s->first ? 0 : LOOK_MOST);
        job *list = s->first;
        s->first = NULL, s->last = &s->first;
        work_now(s->work, list);
        if (s->end && open) s->listening = MHD_quiesce_daemon(s->daemon), open = false;
    }
    return NULL;
}

anygp_status loop_begin(server *s, anygp_error *e)
{
    s->last = &s->first, s->listening = MHD_INVALID_SOCKET;
    if (!pthread_create(&s->loop, NULL, serve, s)) return ANYGP_OK;
    return complain(e, ANYGP_ERR_MEMORY, "a thread cannot be started");
}

void loop_quiesce(server *s) { s->end = 1; }

void loop_end(server *s)
{
    s->end = 2;
    pthread_join(s->loop, NULL);
}
