/* Fitting and saving, with the checkpoint between the two: it is written beside the model that the caller will write
   (the setting `output`), and removed once that model is there and the run has completed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handles.h"
#include "base/temporary.h"
#include "comm/comm.h"
#include "gp/gp.h"
#include "io/model_file.h"
#include "io/trace.h"

/* What the hooks of a fit go by. */
typedef struct outputs {
    const char *model;
    trace_file *trace; /* NULL: none is asked for, or this is not rank 0 */
} outputs;

static anygp_status save_so_far(void *ctx, const gp_set *m, anygp_error *e)
{
    return model_file_write(m, ((outputs *)ctx)->model, e);
}

static void add_to_trace(void *ctx, int64_t targets, int64_t target, const train_step *s)
{
    const outputs *to = ctx;
    if (to->trace) trace_add(to->trace, targets, target, s);
}

static anygp_status open_trace(const settings *s, trace_file **out, anygp_error *e)
{
    const char *path = settings_text(s, SET_TRACE);
    if (!*path || !strcmp(path, "-") || comm_world()->rank > 0) return ANYGP_OK;
    return trace_open(path, settings_number(s, SET_RESUME) == 1, out, e);
}

/* A model is worth more than its trace: what is wrong with that is a warning. */
static void close_trace(trace_file *t, const gp_set *m, const settings *s)
{
    anygp_error why;
    if (ANYGP_FAILED(trace_close(t, m, &why)))
        settings_log(s, ANYGP_WARNING, "the trace is not complete: %s", why.text);
}

static bool uses_checkpoint(const settings *s)
{
    return settings_given(s, SET_CHECKPOINT) || settings_number(s, SET_RESUME) == 1;
}

/* The caller frees it; NULL: out of memory. */
static char *checkpoint_path(const settings *s)
{
    const char *model = settings_text(s, SET_OUTPUT);
    size_t size = strlen(model) + sizeof ".checkpoint";
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s.checkpoint", model);
    return path;
}

static anygp_status fit_with_hooks(const gp_data *data, const settings *s, gp_set **out, anygp_error *e)
{
    const char *model = settings_text(s, SET_OUTPUT);
    bool wanted = uses_checkpoint(s);
    if (wanted && !*model)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "checkpoint and resume need to know where the model goes: set output");
    char *path = checkpoint_path(s);
    if (!path) return fail_memory(e, "the checkpoint's name", (double)strlen(model));
    outputs to = {.model = model};
    gp_hooks hooks = {.checkpoint = wanted ? path : NULL, .save = save_so_far, .ctx = &to, .step = add_to_trace};
    anygp_status status = open_trace(s, &to.trace, e);
    if (!ANYGP_FAILED(status)) status = gp_fit(data, s, &hooks, out, e);
    close_trace(to.trace, ANYGP_FAILED(status) ? NULL : *out, s);
    free(path);
    return status;
}

static bool has_name(const table *t, const char *name)
{
    for (int64_t j = 0; j < t->cols; j++)
        if (t->columns[j].name && !strcmp(t->columns[j].name, name)) return true;
    return false;
}

/* The number of the last column, with zeros in front as long as another column has that for a name. */
static void number_of_last(const table *t, char *to, size_t size)
{
    for (int width = 1; width < (int)size; width++) {
        snprintf(to, size, "%0*lld", width, (long long)t->cols - 1);
        if (!has_name(t, to)) return;
    }
}

anygp_status api_settings_for(const settings *s, const anygp_data *data, settings **out, anygp_error *e)
{
    char last[64];
    *out = s ? settings_copy(s) : settings_new();
    if (!*out) return fail_memory(e, "the settings", 0);
    number_of_last(data->table, last, sizeof last);
    anygp_status status = data->weighted ? settings_set(*out, "weights", last, e) : ANYGP_OK;
    if (ANYGP_FAILED(status)) settings_free(*out), *out = NULL;
    return status;
}

anygp_status anygp_fit(const anygp_settings *s, const anygp_data *data, anygp_model **out, anygp_error *e)
{
    settings *mine;
    NEED(data);
    NEED(out);
    *out = NULL;
    TRY(api_settings_for(s, data, &mine, e));
    int former = threads_begin(mine);
    anygp_status status = fit_with_hooks(&(gp_data){data->table, data->file}, mine, out, e);
    settings_free(mine);
    return threads_end(former, status);
}

/* A run that was stopped can still be continued from its checkpoint; after a run that completed it is no longer needed.  The
   model is saved by then, so a file that cannot be removed is not a failure. */
static void remove_checkpoint(const gp_set *m)
{
    for (int64_t t = 0; t < m->targets; t++)
        if (m->gp[t]->status != ANYGP_OK) return;
    char *first = checkpoint_path(m->settings);
    size_t size = first ? strlen(first) + 24 : 0;
    char *path = first ? malloc(size) : NULL;
    for (int64_t t = 0; path && t < m->targets; t++) {
        gp_checkpoint_name(first, t, path, size);
        checkpoint_remove(path);
        temporary_remove_stale(path);
    }
    free(path);
    free(first);
}

anygp_status anygp_save(const anygp_model *m, const char *path, anygp_error *e)
{
    NEED(m);
    NEED(path);
    TRY(model_file_write(m, path, e));
    if (uses_checkpoint(m->settings) && !strcmp(settings_text(m->settings, SET_OUTPUT), path)) remove_checkpoint(m);
    return ANYGP_OK;
}

static bool has_checkpoint(const settings *s)
{
    char *path = uses_checkpoint(s) ? checkpoint_path(s) : NULL;
    bool there = path && access(path, F_OK) == 0;
    free(path);
    return there;
}

anygp_status anygp_advice(const anygp_model *m, int64_t target, char **text, anygp_error *e)
{
    NEED(m);
    NEED(text);
    *text = NULL;
    if (target < 0 || target >= m->targets)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "the model has %lld targets, so there is no target %lld",
                         (long long)m->targets, (long long)target);
    return gp_advice(m->gp[target], m->settings, has_checkpoint(m->settings), text, e);
}
