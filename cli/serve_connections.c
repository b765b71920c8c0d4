/* The list of open connections: which of them have been silent for too long, and whether one is still at work. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>

#include "serve_request.h"

typedef struct connections {
    pthread_mutex_t lock;
    connection *first;
} connections;

anygp_status connections_begin(server *s, anygp_error *e)
{
    connections *all = calloc(1, sizeof *all);
    if (!all) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    pthread_mutex_init(&all->lock, NULL);
    s->connections = all;
    return ANYGP_OK;
}

connection *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

void connection_mark(request *r, int state)
{
    connections *all = r->s->connections;
    connection *c = connection_of(r->c);
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    c->state = state;
    clock_gettime(CLOCK_MONOTONIC, &c->since);
    pthread_mutex_unlock(&all->lock);
}

void connections_notice(void *ctx, struct MHD_Connection *c, void **state, enum MHD_ConnectionNotificationCode code)
{
    server *s = ctx;
    connections *all = s->connections;
    connection *k = *state;
    pthread_mutex_lock(&all->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED && (k = calloc(1, sizeof *k))) {
        const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        k->fd = i ? i->connect_fd : -1;
        clock_gettime(CLOCK_MONOTONIC, &k->since);
        k->next = all->first;
        if (k->next) k->next->former = k;
        all->first = k;
        s->counts->connections++;
        *state = k;
    } else if (code == MHD_CONNECTION_NOTIFY_CLOSED && k) {
        *(k->former ? &k->former->next : &all->first) = k->next;
        if (k->next) k->next->former = k->former;
        s->counts->connections--;
        free(k->own.body);
        free(k);
        *state = NULL;
    }
    pthread_mutex_unlock(&all->lock);
}

void server_cut_slow(server *s)
{
    connections *all = s->connections;
    pthread_mutex_lock(&all->lock);
    for (connection *k = all->first; k; k = k->next)
        if (k->state != WORKING && seconds_since(&k->since) > s->timeout) shutdown(k->fd, SHUT_RDWR);
    pthread_mutex_unlock(&all->lock);
}

bool connections_busy(server *s)
{
    connections *all = s->connections;
    bool busy = false;
    pthread_mutex_lock(&all->lock);
    for (connection *k = all->first; k; k = k->next) busy = busy || k->state != WAITING;
    pthread_mutex_unlock(&all->lock);
    return busy;
}

void connections_end(server *s)
{
    connections *all = s->connections;
    if (!all) return;
    pthread_mutex_destroy(&all->lock);
    free(all);
    s->connections = NULL;
}
