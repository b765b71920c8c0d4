/* A request of `anygp serve` on its way, and the connection that it came by: what serve_http.c, serve_paths.c and serve_connections.c
   share. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <microhttpd.h>

#include "serve.h"

/* One request. */
typedef struct request {
    server *s;
    struct MHD_Connection *c;
    char *body;
    size_t size, room;
    bool too_large, working, kept; /* kept: in its connection, for the next one */
    struct timespec began;         /* at the latest */
    job j;
} request;

/* One connection, from when it is made. */
typedef struct connection {
    int fd;
    enum { WAITING, WORKING, ANSWERING } state;
    struct timespec since; /* of its last sign of completion */
    request own;           /* the one under way, with the memory of its body */
    struct connection *next, *former;
} connection;

static inline double seconds_since(const struct timespec *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) + 1e-9 * (double)(now.tv_nsec - t->tv_nsec);
}

/* Answers [serve_paths.c]. */
enum MHD_Result send_text(request *r, int code, const char *type, const char *text, size_t size,
                          enum MHD_ResponseMemoryMode mode);
enum MHD_Result send_error(request *r, int code, const char *sentence);
enum MHD_Result send_path(request *r, const char *path); /* GET */
enum MHD_Result send_metrics(request *r);                /* [serve_metrics.c] */

/* All connections that are open [serve_connections.c]. */
anygp_status connections_begin(server *s, anygp_error *e);
void connections_notice(void *ctx, struct MHD_Connection *c, void **state, enum MHD_ConnectionNotificationCode code);
connection *connection_of(struct MHD_Connection *c); /* NULL: there was no memory for it */
void connection_mark(request *r, int state);
bool connections_busy(server *s);
void connections_end(server *s);

#endif
