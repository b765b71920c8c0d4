/* Requests and answers.  Everything a client can send is bounded: connections, the size of heads and bodies, the time that a request may
   take to arrive.  No part of a request is ever used as the name of a file. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_guard.h"
#include "serve_request.h"

enum { BODY_KEPT = 65536 }; /* a larger one goes with its request */

/* ---------------------------------------------------------------------------------------- who may ask */

/* In a time that does not depend on where they differ. */
static bool same_text(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned differ = n != m;
    for (size_t i = 0; i < n; i++) differ |= (unsigned char)a[i] ^ (unsigned char)b[m ? i % m : 0];
    return !differ;
}

static bool has_token(const request *r)
{
    const char *given = MHD_lookup_connection_value(r->c, MHD_HEADER_KIND, "Authorization");
    return given && !strncmp(given, "Bearer ", 7) && same_text(given + 7, r->s->token);
}

/* With a token it does not matter what a browser shows: other sites do not know it. */
static bool is_foreign(const request *r) { return !r->s->token && http_is_foreign(r->c); }

/* ------------------------------------------------------------------------------------------ predictions */

static const char *name_of(const void *m, int64_t i) { return anygp_input_name(m, i); }
static int64_t categories_of(const void *m, int64_t i) { return anygp_input_categories(m, i); }
static const char *category_of(const void *m, int64_t i, int64_t k) { return anygp_input_category(m, i, k); }

static bool mentions(const request *r, const char *field, const char *what)
{
    const char *value = MHD_lookup_connection_value(r->c, MHD_HEADER_KIND, field);
    return value && strstr(value, what);
}

/* From JSON to rows, or to a table; else a sentence. */
static anygp_status read_json(job *j, anygp_error *e)
{
    const request *r = j->ctx;
    bool update = j->kind == JOB_UPDATE;
    row_shape shape = {j->of->inputs, name_of, categories_of, category_of, j->of->model};
    anygp_status status;
    if (update)
        status = table_from_json(r->body, r->size, &j->rows.table, e);
    else
        status = rows_from_json(&shape, r->body, r->size, &j->rows, e);
    if (!ANYGP_FAILED(status) && j->rows.mean_only && j->of->texts)
        status =
            complain(e, ANYGP_ERR_DATA, "\"only\": \"mean\" is for numbers, and a target of this model is a class");
    if (!ANYGP_FAILED(status) && j->rows.table) {
        if (!update) j->kind = JOB_TABLE;
        j->table = j->rows.table, j->size = strlen(j->table);
    }
    return status;
}

/* From the body to a job; else a sentence.  What is long is left for the worker: meanwhile nobody else would be answered. */
static anygp_status make_job(request *r, bool update, anygp_error *e)
{
    job *j = &r->j;
    bool csv = mentions(r, "Content-Type", "csv");
    if (!r->size) return complain(e, ANYGP_ERR_DATA, "the request has no body");
    j->kind = update ? JOB_UPDATE : csv ? JOB_TABLE : JOB_ROWS;
    j->csv = mentions(r, "Accept", "text/csv") || (csv && !mentions(r, "Accept", "application/json"));
    if (csv) return j->table = r->body, j->size = r->size, ANYGP_OK;
    if (r->size <= SERVE_BODY_SHORT) return read_json(j, e);
    j->read = read_json;
    return ANYGP_OK;
}

static void done(job *j)
{
    request *r = j->ctx;
    MHD_resume_connection(r->c);
}

/* Suspended before the worker can resume it. */
static enum MHD_Result give_to_worker(request *r)
{
    r->j.postponed = false;
    MHD_suspend_connection(r->c);
    if (work_add(r->s->work, &r->j)) return MHD_YES;
    r->j.code = 503;
    MHD_resume_connection(r->c);
    return MHD_YES;
}

static enum MHD_Result post(request *r, const char *path)
{
    bool update = !strcmp(path, "/update");
    anygp_error e = {0};
    if (!update && strcmp(path, "/predict")) return send_error(r, 404, "POST goes to /predict or /update");
    if (update && !r->s->writable) return send_error(r, 403, "the model cannot be updated here; start with --writable");
    if (r->too_large) return send_error(r, 413, "the request is larger than 8 MB; send it in several parts");
    r->j = (job){.of = shelf_take(r->s->shelf), .done = done, .ctx = r};
    if (ANYGP_FAILED(make_job(r, update, &e))) return send_error(r, 400, e.text);
    r->working = true;
    connection_mark(r, WORKING);
    if (!work_is_short(&r->j)) return give_to_worker(r);
    *r->s->last = &r->j, r->s->last = &r->j.next; /* the loop predicts it before it looks at this connection again */
    return MHD_YES;
}

/* It was predicted, or could not be. */
static enum MHD_Result answer(request *r)
{
    job *j = &r->j;
    const char *type = j->csv && j->code == 200 ? "text/csv" : "application/json";
    connection_mark(r, ANSWERING);
    if (!j->answer) return send_error(r, j->code == 503 ? 503 : 500, "too busy; try again later");
    char *text = j->answer;
    j->answer = NULL;
    return send_text(r, j->code, type, text, j->answer_size, MHD_RESPMEM_MUST_FREE);
}

/* A request that was read is looked at again: it is answered, is still in the list of the loop, or is one for the worker after all. */
static enum MHD_Result look_again(request *r)
{
    if (r->j.code) return answer(r);
    return r->j.postponed ? give_to_worker(r) : MHD_YES;
}

/* ---------------------------------------------------------------------------------------------- MHD */

/* More of the body; beyond the limit it is only counted. */
static void take_body(request *r, const char *data, size_t size)
{
    if (r->too_large || r->size + size > SERVE_BODY_MOST) {
        r->too_large = true;
        return;
    }
    if (r->size + size + 1 > r->room) {
        size_t room = 2 * (r->size + size) + 256;
        char *body = realloc(r->body, room);
        if (!body) {
            r->too_large = true;
            return;
        }
        r->body = body, r->room = room;
    }
    memcpy(r->body + r->size, data, size);
    r->size += size;
}

/* Refused before its body is read; 0: go on. */
static enum MHD_Result refuse(request *r, const char *method, const char *path, bool *refused)
{
    const char *length = MHD_lookup_connection_value(r->c, MHD_HEADER_KIND, "Content-Length");
    *refused = true;
    if (is_foreign(r)) return send_error(r, 403, "requests of other sites are not answered");
    if (r->s->token && strcmp(path, "/health") && !has_token(r))
        return send_error(r, 401, "a token is needed: Authorization: Bearer TOKEN");
    if (strcmp(method, "GET") && strcmp(method, "HEAD") && strcmp(method, "POST"))
        return send_error(r, 405, "use GET or POST");
    if (length && strtod(length, NULL) > SERVE_BODY_MOST)
        return send_error(r, 413, "the request is larger than 8 MB; send it in several parts");
    *refused = false;
    return MHD_YES;
}

/* That of the connection, with the memory of the one before. */
static request *request_new(server *s, struct MHD_Connection *c)
{
    connection *k = connection_of(c);
    request *r = k ? &k->own : calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (request){.s = s, .c = c, .body = r->body, .room = r->room, .kept = k != NULL};
    r->began = s->since;
    return r;
}

static void request_free(request *r)
{
    row_request_clear(&r->j.rows);
    free(r->j.answer);
    r->j.answer = NULL;
    if (!r->kept || r->room > BODY_KEPT) free(r->body), r->body = NULL, r->room = 0;
    if (!r->kept) free(r);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    server *s = ctx;
    request *r = *state;
    (void)version;
    loop_found(s);
    if (!r) {
        bool refused;
        if (!(*state = r = request_new(s, c))) return MHD_NO;
        return refuse(r, method, path, &refused);
    }
    if (*size > 0) {
        take_body(r, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (r->working) return look_again(r);
    return strcmp(method, "POST") ? send_path(r, path) : post(r, path);
}

static void completed(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    server *s = ctx;
    request *r = *state;
    (void)c, (void)code;
    loop_found(s);
    if (!r) return;
    count_request(s->counts, seconds_since(&r->began));
    connection_mark(r, WAITING);
    shelf_return(s->shelf, r->j.of);
    request_free(r);
    *state = NULL;
}

/* ---------------------------------------------------------------------------------------- begin, end */

static bool take_address(const server *s, struct sockaddr_storage *a, unsigned *more)
{
    struct sockaddr_in *four = (struct sockaddr_in *)a;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;
    memset(a, 0, sizeof *a);
    *more = 0;
    if (inet_pton(AF_INET, s->address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET, four->sin_port = htons((uint16_t)s->port);
        return true;
    }
    if (inet_pton(AF_INET6, s->address, &six->sin6_addr) != 1) return false;
    six->sin6_family = AF_INET6, six->sin6_port = htons((uint16_t)s->port);
    *more = MHD_USE_IPv6;
    return true;
}

anygp_status server_begin(server *s, anygp_error *e)
{
    struct sockaddr_storage address;
    unsigned more;
    anygp_status status = connections_begin(s, e);
    if (ANYGP_FAILED(status)) return status;
    if (!take_address(s, &address, &more))
        return complain(e, ANYGP_ERR_ARGUMENT, "'%.80s' is not an address; use one such as 127.0.0.1, 0.0.0.0 or ::1",
                        s->address);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | more, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_HEAD_MOST, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, connections_notice, s, MHD_OPTION_END);
    if (!s->daemon)
        return complain(e, ANYGP_ERR_ARGUMENT, "port %d of %.80s cannot be opened: %s", s->port, s->address,
                        strerror(errno));
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (i && i->port) s->port = i->port;
    return loop_begin(s, e);
}

void server_end(server *s)
{
    if (s->daemon) {
        loop_quiesce(s);
        while (connections_busy(s)) { /* the worker comes to an end, and clients that do not read are cut off */
            server_cut_slow(s);
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        loop_end(s);
        MHD_stop_daemon(s->daemon);
        if (s->listening != MHD_INVALID_SOCKET) close(s->listening);
    }
    connections_end(s);
}
