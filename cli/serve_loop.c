/* The thread that serves.  It looks at all connections that have something, which puts requests of a few rows into a list; predicts the
   list in batches; and looks again, which sends the answers.  So a batch is what came while the last one was predicted, nobody waits for
   a batch to fill, and no request changes threads.  A request that was read and has no answer yet is looked at again by libmicrohttpd
   with every look, so that it need not be suspended, which would cost two calls of the system.

   A look sleeps only if the one before found nothing.  What a look without sleep reads has come since the look before, which would have
   read it otherwise; what one with sleep reads has just woken it. */
#define _GNU_SOURCE /* syscall */
#include <microhttpd.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve.h"

enum {
    LOOK_MOST = 100, /* milliseconds of sleep, after which it looks whether it should end */
    SLICE = 500000   /* nanoseconds: what a batch takes with reading and answering it */
};

/* A thread that wakes while others compute waits for the end of the slice that the kernel has given one of them, up to 4 ms and more.
   With shorter slices of its own it has the earlier deadline, and comes first as long as it takes no more than its share (Linux 6.12;
   older ones ignore this).  Where it cannot be done nothing is lost. */
static void take_short_slices(void)
{
#if defined SYS_sched_getattr && defined SYS_sched_setattr
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } a = {0}; /* of the kernel's interface, its first version */
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy != SCHED_OTHER) return;
    if (a.runtime > 0 && a.runtime <= SLICE) return;
    a.size = sizeof a, a.runtime = SLICE;
    syscall(SYS_sched_setattr, 0, &a, 0);
#endif
}

void loop_found(server *s)
{
    s->seen = true;
    if (!s->waits) return;
    s->waits = false;
    clock_gettime(CLOCK_MONOTONIC, &s->look);
    s->since = s->look;
}

static void look(server *s)
{
    s->waits = !s->seen;
    s->seen = false;
    if (!s->waits) {
        s->since = s->look;
        clock_gettime(CLOCK_MONOTONIC, &s->look);
    }
    MHD_run_wait(s->daemon, s->waits ? LOOK_MOST : 0);
}

static void *serve(void *ctx)
{
    server *s = ctx;
    bool open = true;
    take_short_slices();
    while (s->end < 2) {
        look(s);
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
