/* anygp serve: predictions over HTTP (docs/serve.md). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve.h"

enum { PORT, LISTEN, TOKEN_FILE, WRITABLE, TIMEOUT };
const own_option serve_options[] = {
    {"port", "N", "the port; 0: any that is free [8080]"},
    {"listen", "ADDRESS", "an address of this machine other than 127.0.0.1, such as 0.0.0.0; needs --token-file"},
    {"token-file", "FILE", "requests need the token that is the first line of FILE: Authorization: Bearer TOKEN"},
    {"writable", "", "POST /update adds rows to the model, and saves it"},
    {"timeout", "SECONDS", "for a request to arrive, and for an answer to be read [20]"},
    {NULL, NULL, NULL}};

/* -------------------------------------------------------------------------------------- the model in use */

static void served_free(served *m)
{
    if (!m) return;
    anygp_model_free(m->model);
    pthread_mutex_destroy(&m->lock);
    anygp_text_free(m->info);
    free(m->output);
    for (int i = 0; i < 4; i++) free(m->head[i / 2][i % 2]);
    free(m);
}

anygp_status served_of(anygp_model *model, served **out, anygp_error *e)
{
    served *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return anygp_model_free(model), complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    m->model = model, m->references = 1;
    pthread_mutex_init(&m->lock, NULL);
    m->inputs = anygp_model_inputs(model), m->outputs = anygp_output_count(model, 0);
    m->output = calloc((size_t)m->outputs, sizeof *m->output);
    anygp_status status = m->output ? ANYGP_OK : complain(e, ANYGP_ERR_MEMORY, "not enough memory");
    for (int64_t i = 0; m->output && i < m->outputs; i++)
        anygp_output_name(model, 0, i, m->output[i], sizeof m->output[i]);
    if (!ANYGP_FAILED(status)) status = answer_heads(m, e);
    if (!ANYGP_FAILED(status)) status = anygp_info(model, 1, &m->info, e);
    if (!ANYGP_FAILED(status)) status = anygp_prepare(model, e);
    if (ANYGP_FAILED(status))
        served_free(m);
    else
        *out = m;
    return status;
}

anygp_status served_new(const char *path, served **out, anygp_error *e)
{
    anygp_model *model = NULL;
    anygp_status status = anygp_load(path, &model, e);
    return ANYGP_FAILED(status) ? status : served_of(model, out, e);
}

served *shelf_take(shelf *s)
{
    pthread_mutex_lock(&s->lock);
    served *m = s->now;
    m->references++;
    pthread_mutex_unlock(&s->lock);
    return m;
}

void shelf_return(shelf *s, served *m)
{
    if (!m) return;
    pthread_mutex_lock(&s->lock);
    bool last = --m->references == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) served_free(m);
}

void shelf_replace(shelf *s, served *fresh)
{
    pthread_mutex_lock(&s->lock);
    served *former = s->now;
    s->now = fresh;
    pthread_mutex_unlock(&s->lock);
    shelf_return(s, former);
}

/* ----------------------------------------------------------------------------------------- the model file */

typedef struct watch {
    const char *path;
    struct stat seen;
    atomic_llong saving; /* odd while the worker may be writing it */
    long long seen_saving;
} watch;

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that cannot be read is left alone, with one warning, until it changes again: perhaps it is still being written. */
static void reload_if_replaced(watch *w, server *s)
{
    struct stat now;
    anygp_error e = {0};
    served *fresh = NULL;
    long long saving = w->saving;
    if (saving % 2 || stat(w->path, &now)) return;
    if (saving != w->seen_saving) { /* our own update: the model is in use already */
        w->seen_saving = saving, w->seen = now;
        return;
    }
    if (same_file(&now, &w->seen)) return;
    w->seen = now;
    if (ANYGP_FAILED(served_new(w->path, &fresh, &e))) {
        fprintf(stderr, "anygp: warning: the new model file is not used: %s\n", e.text);
        return;
    }
    shelf_replace(s->shelf, fresh);
    s->counts->reloads++;
}

/* ------------------------------------------------------------------------------------------------ options */

static bool is_loopback(const char *address) { return !strncmp(address, "127.", 4) || !strcmp(address, "::1"); }

/* A whole number between least and most; text NULL: *n stays. */
static anygp_status take_number(const char *option, const char *text, long least, long most, int *n, anygp_error *e)
{
    char *end;
    if (!text) return ANYGP_OK;
    long x = strtol(text, &end, 10);
    if (end == text || *end || x < least || x > most)
        return complain(e, ANYGP_ERR_ARGUMENT, "--%s: '%.40s' is not a whole number from %ld to %ld", option, text,
                        least, most);
    *n = (int)x;
    return ANYGP_OK;
}

static anygp_status take_token(const char *path, char *token, size_t size, anygp_error *e)
{
    FILE *f = fopen(path, "r");
    if (!f) return complain(e, ANYGP_ERR_FILE, "the token file %.200s cannot be read: %s", path, strerror(errno));
    bool got = fgets(token, (int)size, f) != NULL;
    fclose(f);
    if (got) token[strcspn(token, "\r\n")] = 0;
    if (!got || strlen(token) < 16)
        return complain(e, ANYGP_ERR_DATA, "the first line of %.200s should be a token of at least 16 characters",
                        path);
    return ANYGP_OK;
}

static anygp_status take_options(const options *o, server *s, char *token, size_t size, anygp_error *e)
{
    s->port = 8080, s->timeout = 20;
    anygp_status status = take_number("port", o->own[PORT], 0, 65535, &s->port, e);
    if (!ANYGP_FAILED(status)) status = take_number("timeout", o->own[TIMEOUT], 1, 3600, &s->timeout, e);
    s->address = o->own[LISTEN] ? o->own[LISTEN] : "127.0.0.1";
    if (!strcmp(s->address, "localhost")) s->address = "127.0.0.1";
    s->loopback = is_loopback(s->address);
    s->writable = o->own[WRITABLE] != NULL;
    if (ANYGP_FAILED(status)) return status;
    if (!s->loopback && !o->own[TOKEN_FILE])
        return complain(e, ANYGP_ERR_ARGUMENT,
                        "--listen %.80s can be reached from other machines: give a secret with --token-file FILE",
                        s->address);
    if (o->own[TOKEN_FILE]) status = take_token(o->own[TOKEN_FILE], token, size, e);
    s->token = o->own[TOKEN_FILE] ? token : NULL;
    return status;
}

/* -------------------------------------------------------------------------------------------- the command */

static void serve_until_signalled(const options *o, server *s, watch *w)
{
    bool six = strchr(s->address, ':') != NULL;
    printf("serving %s at http://%s%s%s:%d/\n", o->path[0], six ? "[" : "", s->address, six ? "]" : "", s->port);
    fflush(stdout);
    while (!signal_received()) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        reload_if_replaced(w, s);
        server_cut_slow(s);
    }
    if (!o->quiet) fprintf(stderr, "anygp: no new requests; waiting for those under way\n");
}

anygp_status command_serve(const options *o, anygp_error *e)
{
    char token[512] = "";
    serve_counts counts = {0};
    shelf models = {.lock = PTHREAD_MUTEX_INITIALIZER};
    watch w = {.path = o->path[0]};
    worker_thread work = {
        .shelf = &models, .path = o->path[0], .settings = o->settings, .counts = &counts, .saving = &w.saving};
    server s = {.shelf = &models, .work = &work, .counts = &counts, .began = time(NULL)};
    anygp_status status = take_options(o, &s, token, sizeof token, e);
    if (!ANYGP_FAILED(status) && s.writable) status = path_check_writable(o->path[0], e);
    if (!ANYGP_FAILED(status) && stat(w.path, &w.seen) == 0) w.seen_saving = 0;
    if (!ANYGP_FAILED(status)) status = served_new(o->path[0], &models.now, e);
    if (ANYGP_FAILED(status)) return status;
    notes_attach(o->settings, true);
    anygp_on_stop(o->settings, NULL, NULL); /* requests under way are finished */
    status = work_begin(&work, e);
    if (!ANYGP_FAILED(status)) {
        status = server_begin(&s, e);
        if (!ANYGP_FAILED(status)) serve_until_signalled(o, &s, &w);
        server_end(&s);
        work_end(&work);
    }
    shelf_return(&models, models.now);
    return status;
}
