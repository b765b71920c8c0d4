/* Predictions.  Requests of a few rows that are waiting are predicted together, so that batches form as they come: the more there are,
   the less each costs.  The thread that serves does that itself; what takes longer is for the worker, a thread of its own.  It predicts
   many rows in parts, between which it does the short jobs that found the model in use, so that they do not wait for all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

enum { PART_MOST = 8192 };                /* rows of a long request that are predicted at a time */
static const double PART_SECONDS = 0.005; /* that this should take: so long a short request can wait for the model */

/* ------------------------------------------------------------------------------------------- batches */

/* Means alone are the cheap case: only those columns of out are filled. */
static anygp_status predict_means(const served *m, int64_t n, const double *X, double *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    for (int64_t t = 0, c = 0; t < anygp_model_targets(m->model) && !ANYGP_FAILED(status); t++) {
        status = anygp_predict_target(m->model, t, n, X, m->inputs, 0, out + c * n, NULL, e);
        c += 4;
    }
    return status;
}

static anygp_status predict(const served *m, bool mean_only, int64_t n, const double *X, double *out, anygp_error *e)
{
    if (mean_only) return predict_means(m, n, X, out, e);
    return anygp_predict_output(m->model, n, X, m->inputs, NULL, 0, out, e);
}

/* The requests of a batch one by one: one of them has a row that cannot be predicted. */
static void predict_apart(job *first, double *out)
{
    for (job *j = first; j; j = j->next) {
        anygp_error e = {0};
        if (ANYGP_FAILED(predict(j->of, j->rows.mean_only, j->rows.n, j->rows.X, out, &e)))
            answer_error(j, &e);
        else
            answer_rows(j, out, 0, j->rows.n);
    }
}

/* All are short, and have the same model, which is locked, and the same wish. */
static void predict_batch(worker_thread *w, job *first, int64_t n)
{
    const served *m = first->of;
    anygp_error e = {0};
    double *X = calloc((size_t)(n * m->inputs) + 1, sizeof *X),
           *out = calloc((size_t)(n * m->outputs) + 1, sizeof *out);
    int64_t at = 0;
    for (job *j = first; X && j; at += j->rows.n, j = j->next)
        memcpy(X + at * m->inputs, j->rows.X, (size_t)(j->rows.n * m->inputs) * sizeof *X);
    if (!X || !out) {
        complain(&e, ANYGP_ERR_MEMORY, "not enough memory");
        for (job *j = first; j; j = j->next) answer_error(j, &e);
    } else if (ANYGP_FAILED(predict(m, first->rows.mean_only, n, X, out, &e))) {
        predict_apart(first, out);
    } else {
        at = 0;
        for (job *j = first; j; at += j->rows.n, j = j->next) answer_rows(j, out, at, n);
    }
    w->counts->rows += n;
    w->counts->batches++;
    free(X);
    free(out);
}

/* --------------------------------------------------------------------------------------------- queue */

static bool together(const job *a, const job *b)
{
    return work_is_short(a) && work_is_short(b) && a->of == b->of && a->rows.mean_only == b->rows.mean_only;
}

/* Waits for the next job; NULL: it is over. */
static job *take_job(worker_thread *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->ending) pthread_cond_wait(&w->wake, &w->lock);
    job *j = w->first;
    if (j) {
        w->first = j->next, j->next = NULL;
        if (!w->first) w->last = &w->first;
        w->count--;
    }
    w->counts->waiting = w->count;
    pthread_mutex_unlock(&w->lock);
    return j;
}

/* All short jobs of the queue, out of turn, as a list. */
static job *take_short(worker_thread *w)
{
    job *list = NULL, **end = &list;
    pthread_mutex_lock(&w->lock);
    w->last = &w->first;
    for (job *j = w->first, *next; j; j = next) {
        next = j->next, j->next = NULL;
        if (work_is_short(j))
            *end = j, end = &j->next, w->count--;
        else
            *w->last = j, w->last = &j->next;
    }
    *w->last = NULL;
    w->counts->waiting = w->count;
    pthread_mutex_unlock(&w->lock);
    return list;
}

static void all_done(job *first)
{
    for (job *j = first, *next; j; j = next) {
        next = j->next;
        j->done(j);
    }
}

/* The jobs at the head of the list that can be predicted together, cut off from it: *n rows. */
static job *cut_batch(job **list, int64_t *n)
{
    job *first = *list, *last = first;
    *n = first->rows.n;
    while (last->next && together(first, last->next) && *n + last->next->rows.n <= SERVE_BATCH)
        last = last->next, *n += last->rows.n;
    *list = last->next, last->next = NULL;
    return first;
}

static void run_short(worker_thread *w, job *list)
{
    int64_t n;
    while (list) {
        job *first = cut_batch(&list, &n);
        pthread_mutex_lock(&first->of->lock);
        predict_batch(w, first, n);
        pthread_mutex_unlock(&first->of->lock);
        all_done(first);
    }
}

/* Rows at .. at + n - 1 of a job, from `part`[n, outputs] into out[j->rows.n, outputs]. */
static void take_part(const job *j, int64_t at, int64_t n, const double *part, double *out)
{
    for (int64_t c = 0; c < j->of->outputs; c++)
        memcpy(out + at + c * j->rows.n, part + c * n, (size_t)n * sizeof *out);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Many rows, in parts that take about PART_SECONDS each: between two of them come the short jobs that found the model in use. */
static anygp_status predict_parts(worker_thread *w, const job *j, double *part, double *out, anygp_error *e)
{
    const served *m = j->of;
    const row_request *r = &j->rows;
    anygp_status status = ANYGP_OK;
    for (int64_t at = 0, n, size = SERVE_BATCH; at < r->n && !ANYGP_FAILED(status); at += n) {
        n = size < r->n - at ? size : r->n - at;
        pthread_mutex_lock(&j->of->lock);
        double began = seconds();
        status = predict(m, r->mean_only, n, r->X + at * m->inputs, part, e);
        double took = seconds() - began;
        pthread_mutex_unlock(&j->of->lock);
        if (!ANYGP_FAILED(status)) take_part(j, at, n, part, out);
        w->counts->batches++;
        run_short(w, take_short(w));
        if (took < 0.5 * PART_SECONDS && size < PART_MOST) size *= 2;
        if (took > 2 * PART_SECONDS && size > SERVE_BATCH) size /= 2;
    }
    return status;
}

static void predict_many(worker_thread *w, job *j)
{
    anygp_error e = {0};
    size_t width = (size_t)j->of->outputs;
    double *part = calloc(PART_MOST * width + 1, sizeof *part),
           *out = calloc((size_t)j->rows.n * width + 1, sizeof *out);
    anygp_status status = ANYGP_ERR_MEMORY;
    if (!part || !out) {
        complain(&e, status, "not enough memory");
    } else if (ANYGP_FAILED(
                   status = predict_parts(w, j, part, out, &e))) { /* all rows: a sentence counts them from the first */
        pthread_mutex_lock(&j->of->lock);
        status = predict(j->of, j->rows.mean_only, j->rows.n, j->rows.X, out, &e);
        pthread_mutex_unlock(&j->of->lock);
    }
    if (ANYGP_FAILED(status))
        answer_error(j, &e);
    else
        answer_rows(j, out, 0, j->rows.n);
    w->counts->rows += j->rows.n;
    free(part);
    free(out);
}

static void run_long(worker_thread *w, job *j)
{
    anygp_error e = {0};
    anygp_status status = j->read ? j->read(j, &e) : ANYGP_OK;
    j->read = NULL;
    if (ANYGP_FAILED(status))
        answer_error(j, &e);
    else
        (j->kind == JOB_ROWS ? predict_many : run_table)(w, j);
    j->done(j);
}

/* Short jobs, which came here because the model was in use, go first. */
static void *work(void *ctx)
{
    worker_thread *w = ctx;
    for (job *j; (j = take_job(w));) {
        bool is_short = work_is_short(j);
        if (is_short) j->next = take_short(w);
        run_short(w, is_short ? j : take_short(w));
        if (!is_short) run_long(w, j);
    }
    return NULL;
}

void work_now(worker_thread *w, job *list)
{
    int64_t n;
    while (list) {
        job *first = cut_batch(&list, &n);
        served *m = first->of;
        if (pthread_mutex_trylock(&m->lock)) { /* the worker has a table to predict */
            for (job *j = first; j; j = j->next) j->postponed = true;
            continue;
        }
        predict_batch(w, first, n);
        pthread_mutex_unlock(&m->lock);
    }
}

anygp_status work_begin(worker_thread *w, anygp_error *e)
{
    const char *place = getenv("TMPDIR");
    snprintf(w->folder, sizeof w->folder, "%.32s/anygp-serve.XXXXXX", place && strlen(place) < 32 ? place : "/tmp");
    if (!mkdtemp(w->folder))
        return complain(e, ANYGP_ERR_FILE, "no folder for temporary files can be made as %s: %s", w->folder,
                        strerror(errno));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->last = &w->first;
    if (!pthread_create(&w->thread, NULL, work, w)) return ANYGP_OK;
    rmdir(w->folder);
    return complain(e, ANYGP_ERR_MEMORY, "a thread cannot be started");
}

bool work_add(worker_thread *w, job *j)
{
    pthread_mutex_lock(&w->lock);
    bool room = w->count < SERVE_WAITING_MOST && !w->ending;
    j->next = NULL;
    if (room) *w->last = j, w->last = &j->next, w->count++;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return room;
}

void work_end(worker_thread *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    rmdir(w->folder);
}
