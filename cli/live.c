/* fit --live: a page on this machine while a model is trained (docs/serve.md).  It shows what the progress callback reports, and its
   button ends the training with the best model so far, as Ctrl-C does. */
#define _GNU_SOURCE /* open_memstream */
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_guard.h"
#include "progress_line.h"

enum { POINTS = 512 };

typedef struct point {
    double seconds, objective, rmse, mnlp, coverage;
} point;

/* What the page is told; the training writes it, the thread of the server reads it. */
static struct {
    pthread_mutex_t lock;
    struct MHD_Daemon *daemon;
    atomic_bool stop;
    bool begun;
    char stage[40];
    anygp_progress last;
    point trace[POINTS];
    int count, every, skipped; /* points kept, and of how many reports one is */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .every = 1};

/* ---------------------------------------------------------------------------------------- the training */

/* When the trace is full every second point goes, and from then on half as many come. */
static void keep_point(const anygp_progress *p)
{
    if (isnan(p->objective) || ++live.skipped < live.every) return;
    live.skipped = 0;
    if (live.count == POINTS) {
        for (int i = 0; i < POINTS / 2; i++) live.trace[i] = live.trace[2 * i];
        live.count = POINTS / 2, live.every *= 2;
    }
    live.trace[live.count++] = (point){p->seconds, p->objective, p->rmse, p->mnlp, p->coverage};
}

/* Curves are those of one stage: objectives of another, of fewer rows, would set their scale. */
bool live_report(const anygp_progress *p)
{
    if (!live.daemon) return false;
    pthread_mutex_lock(&live.lock);
    if (!live.begun || strcmp(live.stage, p->stage)) live.count = live.skipped = 0, live.every = 1;
    live.begun = true, live.last = *p;
    snprintf(live.stage, sizeof live.stage, "%s", p->stage);
    keep_point(p);
    pthread_mutex_unlock(&live.lock);
    return live.stop;
}

/* --------------------------------------------------------------------------------------------- answers */

static void put_number(FILE *f, const char *name, double x)
{
    if (isfinite(x))
        fprintf(f, "\"%s\": %.17g, ", name, x);
    else
        fprintf(f, "\"%s\": null, ", name);
}

static void put_status(FILE *f)
{
    const anygp_progress *p = &live.last;
    fprintf(f, "{\"stage\": \"%s\", \"iteration\": %lld, \"iterations\": %lld, ", live.begun ? live.stage : "reading",
            (long long)p->iteration, (long long)p->iterations);
    put_number(f, "objective", live.begun ? p->objective : NAN);
    put_number(f, "rmse", live.begun ? p->rmse : NAN);
    put_number(f, "mnlp", live.begun ? p->mnlp : NAN);
    put_number(f, "coverage", live.begun ? p->coverage : NAN);
    put_number(f, "seconds", live.begun ? p->seconds : NAN);
    put_number(f, "seconds_left", live.begun ? progress_seconds_left(p) : NAN);
    fprintf(f, "\"stopping\": %s, \"trace\": [", live.stop ? "true" : "false");
    for (int i = 0; i < live.count; i++) {
        const point *t = &live.trace[i];
        fprintf(f, "%s{", i ? ", " : "");
        put_number(f, "objective", t->objective);
        put_number(f, "rmse", t->rmse);
        put_number(f, "mnlp", t->mnlp);
        put_number(f, "coverage", t->coverage);
        fprintf(f, "\"seconds\": %.6g}", t->seconds);
    }
    fputs("]}\n", f);
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned code, const char *type, const char *text,
                                 size_t size, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *a = MHD_create_response_from_buffer(size, (void *)text, mode);
    if (!a) return MHD_NO;
    MHD_add_response_header(a, "Content-Type", type);
    MHD_add_response_header(a, "Cache-Control", "no-store");
    enum MHD_Result result = MHD_queue_response(c, code, a);
    MHD_destroy_response(a);
    return result;
}

static enum MHD_Result send_status(struct MHD_Connection *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return MHD_NO;
    pthread_mutex_lock(&live.lock);
    put_status(f);
    pthread_mutex_unlock(&live.lock);
    fclose(f);
    return send_text(c, 200, "application/json", text, size, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_sentence(struct MHD_Connection *c, unsigned code, const char *text)
{
    return send_text(c, code, "text/plain", text, strlen(text), MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    static char seen; /* a mark: the head of the request was looked at */
    bool post = !strcmp(method, "POST");
    (void)ctx, (void)version, (void)data;
    if (!*state) return *state = &seen, MHD_YES;
    if (*size) return *size = 0, MHD_YES; /* bodies are not needed */
    if (http_is_foreign(c)) return send_sentence(c, 403, "requests of other sites are not answered\n");
    if (post && !strcmp(path, "/stop")) {
        live.stop = true;
        return send_sentence(c, 200, "stopping\n");
    }
    if (post) return send_sentence(c, 404, "POST goes to /stop\n");
    if (!strcmp(path, "/status")) return send_status(c);
    if (!strcmp(path, "/"))
        return send_text(c, 200, "text/html; charset=utf-8", live_page, strlen(live_page), MHD_RESPMEM_PERSISTENT);
    return send_sentence(c, 404, "the paths are /, /status and /stop\n");
}

/* ------------------------------------------------------------------------------------------ begin, end */

anygp_status live_begin(const char *text, anygp_error *e)
{
    char *end;
    long port = *text ? strtol(text, &end, 10) : 0;
    if (*text && (*end || port < 0 || port > 65535))
        return complain(e, ANYGP_ERR_ARGUMENT, "--live: '%.40s' is not a port from 0 to 65535", text);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    live.daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, NULL,
                                   MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, 64u,
                                   MHD_OPTION_CONNECTION_TIMEOUT, 20u, MHD_OPTION_END);
    if (!live.daemon)
        return complain(e, ANYGP_ERR_ARGUMENT, "--live: port %ld cannot be opened: %s", port, strerror(errno));
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(live.daemon, MHD_DAEMON_INFO_BIND_PORT);
    fprintf(stderr, "anygp: the training can be watched at http://127.0.0.1:%d/\n", i ? i->port : (int)port);
    return ANYGP_OK;
}

void live_end(void)
{
    if (live.daemon) MHD_stop_daemon(live.daemon);
    live.daemon = NULL;
}
