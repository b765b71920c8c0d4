/* A separate process for code that must not end this one: a library that a damaged file can crash, send into an endless
   loop or cause to print.  It is forked, answers one message after another, and shares a window of memory with the process
   that started it.

       worker *w;
       TRY(worker_start(&(worker_job){.serve = serve, .ctx = file, .window = bytes, .cpu_seconds = 60}, &w, e));
       if (!worker_ask(w, &message, NULL)) ... worker_loss(w) says how it ended ...
       worker_end(w);

   In the worker
   - memory is a copy of what it was when the worker was started: serve() may use it and change it freely;
   - there is one thread, so no OpenMP and no BLAS;
   - standard output and standard error lead nowhere, other files of the parent are closed;
   - Ctrl-C and SIGTERM, which go to a whole group of processes, are handled by the parent: the worker ends when its parent has
     closed the channel or has died, within a second even if it is in a loop. */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stop.h"

typedef struct worker_message {
    int64_t what;      /* to the worker: what is asked for */
    int64_t number[4]; /* there and back */
    anygp_error error; /* back */
} worker_message;

typedef struct worker_job {
    void (*serve)(void *ctx, worker_message *m, void *window);
    void *ctx;
    size_t window;   /* bytes; only those that are touched count as memory */
    int cpu_seconds; /* of processor time that one answer may take: more counts as an endless loop */
} worker_job;

typedef struct worker worker;

anygp_status worker_start(const worker_job *job, worker **out, anygp_error *e);

/* Sends m and waits for its answer.  false: there is none and never will be, because the worker has ended or `stop` asked
   for an end. */
bool worker_ask(worker *w, worker_message *m, const stop_poll *stop);
/* The two halves of it, for a caller who has other things to do meanwhile; one answer may be due at a time. */
bool worker_send(worker *w, const worker_message *m);
bool worker_receive(worker *w, worker_message *m, const stop_poll *stop);
void *worker_window(worker *w);

/* How a worker ended: "crashed (Segmentation fault)", "did not finish".  NULL: it was ended because `stop` asked. */
const char *worker_loss(const worker *w);

void worker_end(worker *w); /* accepts NULL */

#endif
