/* Tables and updates: they go through the library's own reader, from a file of a folder that belongs to this process alone. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

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
        if (text) text[*size] = 0;
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
        answer_table(j, text, size);
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

void run_table(worker_thread *w, job *j)
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
