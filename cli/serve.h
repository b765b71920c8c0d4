/* anygp serve, inside.
       serve.c          the command: options, loading and reloading, the end
       serve_http.c     requests by libmicrohttpd; who may ask; limits
       serve_paths.c    answers, and what GET is answered with
       serve_metrics.c  counts and times of requests, as GET /metrics shows them
       serve_connections.c  the open connections; slow ones are cut off
       serve_loop.c     the thread that serves: it reads what has come, predicts small requests together, and answers
       serve_work.c     predictions in batches, and the thread for what takes longer: tables, updates, many rows, long bodies
       serve_table.c    tables and updates, by the library's own reader
       serve_answer.c   predictions as JSON or CSV
       serve_rows.c     JSON to rows; with serve_scan.c, plain numbers without a tree of values, the only part that reads what strangers
                        write, besides the library's own reader
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
    SERVE_HEAD_MOST = 8192, /* of its head, with what the library keeps beside it, which it clears for every request */
    SERVE_ROWS_MOST = 100000,  /* of a JSON request */
    SERVE_BATCH = 64,          /* rows of short requests that are predicted at a time */
    SERVE_BODY_SHORT = 16384,  /* bytes that the loop reads itself: a millisecond at most */
    SERVE_WAITING_MOST = 4096, /* requests in the queue; more are told to come back */
    SERVE_CONNECTIONS = 1024,
    ROW_FEW = 32,    /* numbers of a request that need no memory of their own */
    SERVE_EDGES = 17 /* of the histogram of times */
};

/* ------------------------------------------------------------------------------------- the model in use */

typedef struct served {
    anygp_model *model;
    pthread_mutex_t lock; /* of the model: it is for one thread at a time */
    char *info;           /* JSON */
    int64_t inputs, outputs;
    char (*output)[96]; /* names */
    char *
        head[2]
            [2]; /* of an answer: JSON or CSV, all columns or means; of no use where there are texts among the values */
    bool texts;  /* a target is a class */
    int references; /* under the lock of the shelf */
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
    double *X; /* n x inputs; `few`, or its own */
    double few[ROW_FEW];
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
/* The same for what is nothing but numbers, [[1, 2], ...] alone or as the "rows" of an object with at most "only" beside it; false: it is
   something else, or wrong, and *out is empty.  [serve_scan.c] */
bool rows_from_numbers(int64_t inputs, const char *body, size_t size, row_request *out);
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
    anygp_status (*read)(struct job *j,
                         anygp_error *e); /* NULL, or to be called by the worker: a body that is long to read */
    int code;                             /* HTTP; 0: not answered yet */
    bool postponed;                       /* by the loop, since the worker has the model in use */
    char *answer;                         /* freed by free() */
    size_t answer_size;
    void (*done)(struct job *j); /* called by the worker, from its thread */
    void *ctx;
    struct job *next;
} job;

typedef struct serve_counts {
    atomic_llong requests, refused, failed, rows, batches, reloads, updates, waiting, connections;
    atomic_llong took[SERVE_EDGES + 1],
        nanoseconds; /* requests by their time, in the buckets of serve_metrics.c; its sum */
} serve_counts;

void count_request(serve_counts *n, double seconds); /* [serve_metrics.c] */

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
/* Whether the caller may as well do it itself: it is short. */
static inline bool work_is_short(const job *j) { return j->kind == JOB_ROWS && !j->read && j->rows.n <= SERVE_BATCH; }
/* A list of short jobs by the caller's thread, in batches; those whose model the worker has in use are postponed. */
void work_now(worker_thread *w, job *list);

void run_table(worker_thread *w, job *j); /* a table or an update [serve_table.c] */

/* From predictions, rows first .. first + j->rows.n - 1 of out[ld, outputs], or from an error, to the answer [serve_answer.c]. */
void answer_rows(job *j, const double *out, int64_t first, int64_t ld);
void answer_table(job *j, char *text, size_t size); /* the same from a CSV file of the library, which it takes */
void answer_error(job *j, const anygp_error *e);
anygp_status answer_heads(served *m, anygp_error *e);        /* once for a model */
void answer_text(job *j, int code, char *text, size_t size); /* takes the text */

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
    pthread_t loop;
    job *first, **last; /* short jobs that the last look at the connections found; the loop's own, as are the next */
    struct timespec look, since; /* when the look under way began, or woke; how old what it reads can be */
    bool waits, seen;            /* this look may sleep, and has not woken yet; it found something */
    atomic_int end;              /* 0: go on; 1: no new connections; 2: come to an end */
    int listening;               /* the socket, once there are no new connections; -1: there is none */
} server;

anygp_status server_begin(server *s, anygp_error *e);
anygp_status loop_begin(server *s, anygp_error *e); /* [serve_loop.c] */
void loop_end(server *s);
void loop_found(server *s);      /* the look under way has something; from then on `since` is right */
void loop_quiesce(server *s);    /* no new connections */
void server_cut_slow(server *s); /* connections that have waited too long; called now and then */
void server_end(server *s);      /* no new requests; waits for those under way */

extern const char serve_page[];

#endif
