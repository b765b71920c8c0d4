/* Requests and answers.  Everything a client can send is bounded: connections, the size of heads and bodies, the time that a request may
   take to arrive.  No part of a request is ever used as the name of a file. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_guard.h"
#include "serve.h"

/* One request. */
typedef struct request {
    server *s;
    struct MHD_Connection *c;
    char *body;
    size_t size, room;
    bool too_large, working, kept; /* kept: in its connection, for the next one */
    struct timespec began;
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

typedef struct connections {
    pthread_mutex_t lock;
    connection *first;
} connections;

enum { BODY_KEPT = 65536 }; /* a larger one goes with its request */

static double seconds_since(const struct timespec *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) + 1e-9 * (double)(now.tv_nsec - t->tv_nsec);
}

/* ------------------------------------------------------------------------------------------- answers */

static void count_time(serve_counts *n, double seconds)
{
    static const double most[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};
    int k = 0;
    while (k < 7 && seconds > most[k]) k++;
    n->under[k]++;
    n->microseconds += (long long)(1e6 * seconds);
}

static enum MHD_Result send_text(request *r, int code, const char *type, const char *text, size_t size,
                                 enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *a = MHD_create_response_from_buffer(size, (void *)text, mode);
    if (!a) return MHD_NO;
    MHD_add_response_header(a, "Content-Type", type);
    if (code != 200 || !r->working) { /* predictions are numbers, and answers to POST are not kept */
        MHD_add_response_header(a, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(a, "Cache-Control", "no-store");
    }
    if (code == 401) MHD_add_response_header(a, "WWW-Authenticate", "Bearer");
    if (code == 413 || code == 503) MHD_add_response_header(a, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(r->c, (unsigned)code, a);
    MHD_destroy_response(a);
    if (code >= 500) r->s->counts->failed++;
    if (code >= 400 && code < 500) r->s->counts->refused++;
    return result;
}

static enum MHD_Result send_error(request *r, int code, const char *sentence)
{
    char text[700];
    FILE *f = fmemopen(text, sizeof text, "w");
    if (!f) return MHD_NO;
    fputs("{\"error\": ", f);
    print_json_text(f, sentence);
    fputs("}\n", f);
    long n = ftell(f);
    fclose(f);
    return send_text(r, code, "application/json", text, (size_t)n, MHD_RESPMEM_MUST_COPY);
}

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

/* -------------------------------------------------------------------------------------- other paths */

static enum MHD_Result send_metrics(request *r)
{
    static const char *const edge[] = {"0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "+Inf"};
    const serve_counts *n = r->s->counts;
    const struct {
        const char *name, *type, *help;
        long long value;
    } list[] = {{"requests_total", "counter", "requests answered", n->requests},
                {"refused_total", "counter", "requests that were refused (4xx)", n->refused},
                {"failed_total", "counter", "requests that failed here (5xx)", n->failed},
                {"rows_total", "counter", "rows predicted for JSON requests", n->rows},
                {"batches_total", "counter", "batches in which they were predicted", n->batches},
                {"reloads_total", "counter", "times that a replaced model file was loaded", n->reloads},
                {"updates_total", "counter", "updates of the model", n->updates},
                {"waiting", "gauge", "requests in the queue", n->waiting},
                {"connections", "gauge", "open connections", n->connections},
                {"uptime_seconds", "gauge", "since the start", (long long)(time(NULL) - r->s->began)}};
    char text[4096];
    FILE *f = fmemopen(text, sizeof text, "w");
    if (!f) return MHD_NO;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        fprintf(f, "# HELP anygp_%s %s\n# TYPE anygp_%s %s\nanygp_%s %lld\n", list[i].name, list[i].help, list[i].name,
                list[i].type, list[i].name, list[i].value);
    fputs("# HELP anygp_seconds time from the first byte of a request to its answer\n# TYPE anygp_seconds histogram\n",
          f);
    long long sum = 0;
    for (int k = 0; k < 8; k++) fprintf(f, "anygp_seconds_bucket{le=\"%s\"} %lld\n", edge[k], sum += n->under[k]);
    fprintf(f, "anygp_seconds_sum %.6f\nanygp_seconds_count %lld\n", 1e-6 * (double)n->microseconds, sum);
    long size = ftell(f);
    fclose(f);
    return send_text(r, 200, "text/plain; version=0.0.4", text, (size_t)size, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result send_info(request *r)
{
    served *m = shelf_take(r->s->shelf);
    enum MHD_Result result = send_text(r, 200, "application/json", m->info, strlen(m->info), MHD_RESPMEM_MUST_COPY);
    shelf_return(r->s->shelf, m);
    return result;
}

/* The inputs of the model, for the page. */
static enum MHD_Result send_inputs(request *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return MHD_NO;
    served *m = shelf_take(r->s->shelf);
    fputs("[", f);
    for (int64_t i = 0; i < m->inputs; i++) {
        double centre, spread;
        anygp_input_scale(m->model, i, &centre, &spread);
        fputs(i ? ", {\"name\": " : "{\"name\": ", f);
        print_json_text(f, anygp_input_name(m->model, i));
        fprintf(f, ", \"centre\": %.17g, \"spread\": %.17g, \"categories\": [", centre, spread);
        for (int64_t k = 0; k < anygp_input_categories(m->model, i); k++) {
            if (k) fputs(", ", f);
            print_json_text(f, anygp_input_category(m->model, i, k));
        }
        fputs("]}", f);
    }
    fputs("]\n", f);
    shelf_return(r->s->shelf, m);
    fclose(f);
    return send_text(r, 200, "application/json", text, size, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result get(request *r, const char *path)
{
    if (!strcmp(path, "/health")) return send_text(r, 200, "text/plain", "ok\n", 3, MHD_RESPMEM_PERSISTENT);
    if (!strcmp(path, "/info")) return send_info(r);
    if (!strcmp(path, "/inputs")) return send_inputs(r);
    if (!strcmp(path, "/metrics")) return send_metrics(r);
    if (!strcmp(path, "/"))
        return send_text(r, 200, "text/html; charset=utf-8", serve_page, strlen(serve_page), MHD_RESPMEM_PERSISTENT);
    if (!strcmp(path, "/predict") || !strcmp(path, "/update")) return send_error(r, 405, "use POST here");
    return send_error(r, 404, "there is nothing here; the paths are /, /predict, /update, /info, /metrics and /health");
}

/* ------------------------------------------------------------------------------------------ predictions */

static const char *name_of(const void *m, int64_t i) { return anygp_input_name(m, i); }
static int64_t categories_of(const void *m, int64_t i) { return anygp_input_categories(m, i); }
static const char *category_of(const void *m, int64_t i, int64_t k) { return anygp_input_category(m, i, k); }

static bool mentions(const request *r, const char *field, const char *what)
{
    const char *value = MHD_lookup_connection_value(r->c, MHD_HEADER_KIND, field);
    return value && strstr(value, what);
}

/* From the body to a job; else a sentence. */
static anygp_status make_job(request *r, bool update, anygp_error *e)
{
    job *j = &r->j;
    bool csv = mentions(r, "Content-Type", "csv");
    const anygp_model *m = j->of->model;
    row_shape shape = {j->of->inputs, name_of, categories_of, category_of, m};
    anygp_status status = ANYGP_OK;
    if (!r->size) return complain(e, ANYGP_ERR_DATA, "the request has no body");
    j->kind = update ? JOB_UPDATE : csv ? JOB_TABLE : JOB_ROWS;
    j->csv = csv || mentions(r, "Accept", "text/csv");
    if (csv) return j->table = r->body, j->size = r->size, ANYGP_OK;
    if (update)
        status = table_from_json(r->body, r->size, &j->rows.table, e);
    else
        status = rows_from_json(&shape, r->body, r->size, &j->rows, e);
    if (!ANYGP_FAILED(status) && j->rows.table) {
        if (!update) j->kind = JOB_TABLE;
        j->table = j->rows.table, j->size = strlen(j->table);
    }
    return status;
}

static connection *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

static void mark(request *r, int state)
{
    connections *all = r->s->connections;
    connection *c = connection_of(r->c);
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    c->state = state;
    clock_gettime(CLOCK_MONOTONIC, &c->since);
    pthread_mutex_unlock(&all->lock);
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
    mark(r, WORKING);
    if (!work_is_short(&r->j)) return give_to_worker(r);
    *r->s->last = &r->j, r->s->last = &r->j.next; /* the loop predicts it before it looks at this connection again */
    return MHD_YES;
}

/* It was predicted, or could not be. */
static enum MHD_Result answer(request *r)
{
    job *j = &r->j;
    const char *type = j->csv && j->code == 200 ? "text/csv" : "application/json";
    mark(r, ANSWERING);
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
    clock_gettime(CLOCK_MONOTONIC, &r->began);
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
    return strcmp(method, "POST") ? get(r, path) : post(r, path);
}

static void completed(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    server *s = ctx;
    request *r = *state;
    (void)c, (void)code;
    if (!r) return;
    s->counts->requests++;
    count_time(s->counts, seconds_since(&r->began));
    mark(r, WAITING);
    shelf_return(s->shelf, r->j.of);
    request_free(r);
    *state = NULL;
}

static void connected(void *ctx, struct MHD_Connection *c, void **state, enum MHD_ConnectionNotificationCode code)
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
    connections *all = calloc(1, sizeof *all);
    if (!all) return complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    pthread_mutex_init(&all->lock, NULL);
    s->connections = all;
    if (!take_address(s, &address, &more))
        return complain(e, ANYGP_ERR_ARGUMENT, "'%.80s' is not an address; use one such as 127.0.0.1, 0.0.0.0 or ::1",
                        s->address);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | more, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_HEAD_MOST, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_END);
    if (!s->daemon)
        return complain(e, ANYGP_ERR_ARGUMENT, "port %d of %.80s cannot be opened: %s", s->port, s->address,
                        strerror(errno));
    const union MHD_DaemonInfo *i = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (i && i->port) s->port = i->port;
    return loop_begin(s, e);
}

static bool is_busy(server *s)
{
    connections *all = s->connections;
    bool busy = false;
    pthread_mutex_lock(&all->lock);
    for (connection *k = all->first; k; k = k->next) busy = busy || k->state != WAITING;
    pthread_mutex_unlock(&all->lock);
    return busy;
}

void server_end(server *s)
{
    connections *all = s->connections;
    if (s->daemon) {
        loop_quiesce(s);
        while (is_busy(s)) { /* the worker comes to an end, and clients that do not read are cut off */
            server_cut_slow(s);
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        loop_end(s);
        MHD_stop_daemon(s->daemon);
        if (s->listening != MHD_INVALID_SOCKET) close(s->listening);
    }
    if (!all) return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}
