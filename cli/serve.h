/* anygp serve, inside.
       serve.c          the command: options, loading and reloading, the end
       serve_http.c     requests and answers by libmicrohttpd; who may ask; limits
       serve_work.c     the one thread that uses the model: predictions in batches as they come, updates
       serve_rows.c     JSON to rows, rows to JSON; the only part that reads what strangers write, besides the library's own reader
       serve_page.c     the page to try a row by hand
   Requests hold a reference to the model that they were read for, so that a new one can take its place at any time. */
#ifndef SERVE_H
#define SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cli.h"

enum {
    SERVE_BODY_MOST = 8 << 20, /* bytes of a request */
    SERVE_ROWS_MOST = 100000,  /* of a JSON request */
    SERVE_BATCH = 64,          /* rows that are predicted at a time */
    SERVE_WAITING_MOST = 4096, /* requests in the queue; more are told to come back */
    SERVE_CONNECTIONS = 1024
};

/* ------------------------------------------------------------------------------------- the model in use */

typedef struct served {
    anygp_model *model;
    char *info; /* JSON */
    int64_t inputs, outputs;
    char (*output)[96]; /* names */
    int references;     /* under the lock of the shelf */
} served;

typedef struct shelf {
    pthread_mutex_t lock;
    served *now;
} shelf;

anygp_status served_new(const char *path, served **out, anygp_error *e);
anygp_status served_of(anygp_model *m, served **out, anygp_error *e); /* takes it, also on failure */
served *shelf_take(shelf *s);                                         /* a reference */
void shelf_return(shelf *s, served *m);                               /* accepts NULL */
void shelf_replace(shelf *s, served *fresh);                          /* requests under way keep the one they have */

/* ------------------------------------------------------------------------------- rows [serve_rows.c] */

typedef struct row_request {
    int64_t n;
    double *X;      /* n x inputs */
    bool mean_only; /* as "only": "mean" says */
    char *table;    /* instead of X: as CSV, where a cell is a text that is no category */
} row_request;

/* The inputs that rows are read for: what serve_rows.c needs of a model. */
typedef struct row_shape {
    int64_t inputs;
    const char *(*name)(const void *ctx, int64_t i);
    int64_t (*categories)(const void *ctx, int64_t i);
    const char *(*category)(const void *ctx, int64_t i, int64_t k);
    const void *ctx;
} row_shape;

anygp_status rows_from_json(const row_shape *s, const char *body, size_t size, row_request *out, anygp_error *e);
/* The rows of an update, which have targets too: always a table. */
anygp_status table_from_json(const char *body, size_t size, char **table, anygp_error *e);
void row_request_clear(row_request *r);
void put_csv_text(FILE *f, const char *text); /* quoted */

/* ------------------------------------------------------------------------------- work [serve_work.c] */

typedef enum job_kind { JOB_ROWS, JOB_TABLE, JOB_UPDATE } job_kind;

typedef struct job {
    job_kind kind;
    served *of;
    row_request rows;  /* JOB_ROWS */
    const char *table; /* the others: CSV, */
    size_t size;       /* the caller's */
    bool csv;          /* the answer */
    int code;          /* HTTP */
    char *answer;      /* freed by free() */
    size_t answer_size;
    void (*done)(struct job *j); /* called by the worker */
    void *ctx;
    struct job *next;
} job;

typedef struct serve_counts {
    atomic_llong requests, refused, failed, rows, batches, reloads, updates, waiting, connections;
    atomic_llong under[8]; /* requests that took at most 0.1, 0.3, 1, 3, 10, 30, 100 ms, or longer */
    atomic_llong microseconds;
} serve_counts;

typedef struct worker_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    job *first, **last;
    int64_t count;
    bool ending;
    shelf *shelf;
    const char *path; /* of the model: where updates are saved */
    char folder[64];  /* for tables, of this process alone */
    const anygp_settings *settings;
    serve_counts *counts;
    atomic_llong *saving; /* odd while the worker may be writing the model file itself */
} worker_thread;

anygp_status work_begin(worker_thread *w, anygp_error *e);
bool work_add(worker_thread *w, job *j); /* false: too many are waiting */
void work_end(worker_thread *w);         /* after what is in the queue */

/* ------------------------------------------------------------------------------- http [serve_http.c] */

typedef struct server {
    shelf *shelf;
    worker_thread *work;
    serve_counts *counts;
    const char *token; /* NULL: none is asked for */
    bool writable, loopback;
    int timeout; /* seconds for a request to arrive, or the next one of a connection, and for an answer to be read */
    int port;    /* 0: any; the one it has, once it runs */
    const char *address;
    time_t began;
    void *daemon, *connections;
} server;

anygp_status server_begin(server *s, anygp_error *e);
void server_cut_slow(server *s); /* connections that have waited too long; called now and then */
void server_end(server *s);      /* no new requests; waits for those under way */

extern const char serve_page[];

#endif
