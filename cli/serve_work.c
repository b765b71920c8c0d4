/* Predictions.  Requests of a few rows that are waiting are predicted together, so that batches form as they come: the more there are,
   the less each costs.  The thread that serves does that itself; what takes longer is for the worker, a thread of its own.  Tables and
   updates go through the library's own reader, from a file of a folder that belongs to this process alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

/* ------------------------------------------------------------------------------------------- batches */

/* Means alone are the cheap case: only those columns of out are filled. */
static anygp_status predict_means(const served *m, int64_t n, const double *X, double *out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    for (int64_t t = 0, c = 0; t < anygp_model_targets(m->model) && !ANYGP_FAILED(status); t++) {
        bool classes = anygp_classes(m->model, t) > 0;
        if (classes)
            return complain(e, ANYGP_ERR_DATA, "\"only\": \"mean\" is for numbers, and this target is a class");
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

/* All have the same model, which is locked, and the same wish. */
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

/* -------------------------------------------------------------------------------------------- tables */

static bool write_file(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text, 1, size, f) == size;
    return (!f || fclose(f) == 0) && ok;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        text = n >= 0 ? malloc((size_t)n + 1) : NULL;
        *size = text ? fread(text, 1, (size_t)n, f) : 0;
    }
    if (f) fclose(f);
    return text;
}

/* The names of these files are ours: sentences about them speak of the request. */
static void without_path(const worker_thread *w, anygp_error *e)
{
    char *at;
    size_t n = strlen(w->folder);
    while ((at = strstr(e->text, w->folder))) {
        char *end = at + n + strcspn(at + n, " :,;'");
        memmove(at + 11, end, strlen(end) + 1);
        memcpy(at, "the request", 11);
    }
}

static void predict_table(worker_thread *w, job *j, const char *in)
{
    char out[96];
    anygp_error e = {0};
    size_t size = 0;
    snprintf(out, sizeof out, "%s/out.csv", w->folder);
    pthread_mutex_lock(&j->of->lock);
    anygp_status status = anygp_predict_file(j->of->model, w->settings, in, out, &e);
    pthread_mutex_unlock(&j->of->lock);
    char *text = ANYGP_FAILED(status) ? NULL : read_file(out, &size);
    unlink(out);
    without_path(w, &e);
    if (text)
        j->csv = true, answer_text(j, 200, text, size);
    else
        answer_error(j, ANYGP_FAILED(status) ? &e : &(anygp_error){ANYGP_ERR_INTERNAL, "the answer was lost"});
}

/* A copy of the model that is now in use, which takes its place once it is saved: requests under way are not disturbed, and on failure
   nothing has changed. */
static anygp_status updated(worker_thread *w, const char *in, served **out, anygp_error *e)
{
    served *now = shelf_take(w->shelf);
    void *bytes = NULL;
    size_t size = 0;
    anygp_model *copy = NULL;
    pthread_mutex_lock(&now->lock);
    anygp_status status = anygp_save_bytes(now->model, &bytes, &size, e);
    pthread_mutex_unlock(&now->lock);
    shelf_return(w->shelf, now);
    if (!ANYGP_FAILED(status)) status = anygp_load_bytes(bytes, size, &copy, e);
    anygp_bytes_free(bytes);
    if (!ANYGP_FAILED(status)) status = anygp_update_file(copy, w->settings, in, e);
    if (!ANYGP_FAILED(status)) status = anygp_save(copy, w->path, e);
    if (ANYGP_FAILED(status)) return anygp_model_free(copy), status;
    return served_of(copy, out, e);
}

static void update(worker_thread *w, job *j, const char *in)
{
    anygp_error e = {0};
    served *fresh = NULL;
    ++*w->saving;
    if (!ANYGP_FAILED(updated(w, in, &fresh, &e))) shelf_replace(w->shelf, fresh), w->counts->updates++;
    ++*w->saving;
    without_path(w, &e);
    char *text = fresh ? strdup("{\"updated\": true}\n") : NULL;
    if (text)
        answer_text(j, 200, text, strlen(text));
    else
        answer_error(j, &e);
}

static void run_table(worker_thread *w, job *j)
{
    char in[96];
    snprintf(in, sizeof in, "%s/in.csv", w->folder);
    if (!write_file(in, j->table, j->size)) {
        answer_error(j, &(anygp_error){ANYGP_ERR_INTERNAL, "a temporary file cannot be written"});
    } else {
        (j->kind == JOB_UPDATE ? update : predict_table)(w, j, in);
    }
    unlink(in);
}

/* --------------------------------------------------------------------------------------------- queue */

static bool together(const job *a, const job *b)
{
    return a->kind == JOB_ROWS && b->kind == JOB_ROWS && a->of == b->of && a->rows.mean_only == b->rows.mean_only;
}

/* Waits for the next job, and takes those with it that can be predicted together; NULL: it is over. */
static job *take_batch(worker_thread *w, int64_t *n)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->ending) pthread_cond_wait(&w->wake, &w->lock);
    job *first = w->first, *last = first;
    *n = first ? first->rows.n : 0;
    if (first) w->count--;
    while (last && last->next && together(first, last->next) && *n + last->next->rows.n <= SERVE_BATCH)
        last = last->next, *n += last->rows.n, w->count--;
    if (last) {
        w->first = last->next;
        if (!w->first) w->last = &w->first;
        last->next = NULL;
    }
    w->counts->waiting = w->count;
    pthread_mutex_unlock(&w->lock);
    return first;
}

static void all_done(job *first)
{
    for (job *j = first, *next; j; j = next) {
        next = j->next;
        j->done(j);
    }
}

static void *work(void *ctx)
{
    worker_thread *w = ctx;
    int64_t n;
    for (job *first; (first = take_batch(w, &n));) {
        if (first->kind == JOB_ROWS) {
            pthread_mutex_lock(&first->of->lock);
            predict_batch(w, first, n);
            pthread_mutex_unlock(&first->of->lock);
        } else
            run_table(w, first);
        all_done(first);
    }
    return NULL;
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
