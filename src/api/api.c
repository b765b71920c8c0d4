/* The public entry points: argument checks and threads, nothing else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/setting_groups.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "data/text/number.h"
#include "data/formats/convert.h"
#include "gp/gp.h"
#include "gp/shares.h"
#include "io/describe.h"
#include "io/look.h"
#include "io/model_file.h"
#include "io/trace.h"
#include "linalg/linalg.h"

/* ------------------------------------------------------------------------------------ settings */

anygp_settings *anygp_settings_new(void) { return settings_new(); }
void anygp_settings_free(anygp_settings *s) { settings_free(s); }

anygp_status anygp_set(anygp_settings *s, const char *name, const char *value, anygp_error *e)
{
    NEED(s);
    NEED(name);
    NEED(value);
    return settings_set(s, name, value, e);
}

const char *anygp_get(const anygp_settings *s, const char *name)
{
    for (setting_id i = 0; s && name && i < SETTING_COUNT; i++)
        if (!strcmp(setting_at(i)->name, name)) return settings_text(s, i);
    return NULL;
}

int64_t anygp_setting_count(void) { return SETTING_COUNT; }

int64_t anygp_setting_listed(int64_t k) { return k < 0 || k >= SETTING_COUNT ? -1 : (int64_t)setting_listed(k); }

const char *anygp_setting_field(int64_t i, const char *field)
{
    static _Thread_local char bound[32];
    if (i < 0 || i >= SETTING_COUNT || !field) return NULL;
    const setting_info *t = setting_at((setting_id)i);
    const struct {
        const char *field, *value;
    } fields[] = {{"name", t->name},
                  {"type", setting_type_name(t->type)},
                  {"default", t->preset},
                  {"choices", t->choices},
                  {"argument", t->argument},
                  {"commands", t->commands},
                  {"help", api_setting_help((setting_id)i)},
                  {"group", setting_group((setting_id)i)},
                  {"brief", api_setting_brief((setting_id)i)},
                  {"common", setting_common((setting_id)i) ? "yes" : "no"}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (!strcmp(fields[k].field, field)) return fields[k].value;
    if (strcmp(field, "lower") && strcmp(field, "upper")) return NULL;
    snprintf(bound, sizeof bound, "%.17g", strcmp(field, "lower") ? t->upper : t->lower);
    return bound;
}

const char *anygp_setting_nearest(const char *name) { return name ? setting_nearest(name) : NULL; }

void anygp_on_log(anygp_settings *s, anygp_log_fn fn, void *ctx)
{
    if (s) settings_on_log(s, fn, ctx);
}

void anygp_watch_scores(anygp_settings *s, int on)
{
    if (s) settings_watch_scores(s, on != 0);
}

void anygp_on_progress(anygp_settings *s, anygp_progress_fn fn, void *ctx)
{
    if (s) settings_on_progress(s, fn, ctx);
}

void anygp_on_stop(anygp_settings *s, anygp_stop_fn fn, void *ctx)
{
    if (s) settings_on_stop(s, fn, ctx);
}

/* ---------------------------------------------------------------------------------------- data */

/* A model over blocks reads its rows from the file if the table would take more than a fraction of the memory, or if
   several processes read one file.  auto may choose such a model; with several processes only if it has to. */
static bool wants_blocks(const settings *s)
{
    bool anytime;
    const model_ops *m = model_named(settings_text(s, SET_MODEL), &anytime);
    bool blocks = m && model_over_blocks(m);
    model_free(m);
    return blocks;
}

static bool is_auto(const settings *s) { return settings_is(s, SET_MODEL, "auto"); }

static anygp_status leave_in_file(const char *path, const read_options *o, const settings *s, anygp_data *d,
                                  anygp_error *e)
{
    row_source *r = NULL;
    double memory = settings_memory(s);
    TRY(rows_open_file(path, o, &r, e));
    double bytes = 8.0 * (double)rows_count(r) * (double)rows_columns(r);
    bool few = comm_world()->size == 1 || is_auto(s);
    if (few && bytes <= TABLE_SHARE * memory) return rows_close(r), ANYGP_OK;
    if (!(d->table = calloc(1, sizeof *d->table))) return rows_close(r), fail_memory(e, "the data", sizeof *d->table);
    *d->table = (table){.rows = rows_count(r),
                        .cols = rows_columns(r),
                        .columns = (column *)rows_column(r, 0),
                        .target = rows_target(r)};
    rows_stop(r, (stop_poll){0}); /* the settings need not last as long as the data */
    d->file = r;
    return ANYGP_OK;
}

/* Into memory, or opened where the rows can stay in the file. */
static anygp_status read_data(const char *path, const settings *s, anygp_data *d, anygp_error *e)
{
    read_options o = gp_read_options(s);
    if (settings_given(s, SET_MEMORY)) o.memory = settings_number(s, SET_MEMORY);
    if ((is_auto(s) || wants_blocks(s)) && rows_can_stay(path)) TRY(leave_in_file(path, &o, s, d, e));
    return d->file ? ANYGP_OK : gp_read_table(path, &o, s, &d->table, e);
}

anygp_status anygp_data_read(const char *path, const anygp_settings *s, anygp_data **out, anygp_error *e)
{
    NEED(path);
    NEED(out);
    *out = NULL;
    anygp_data *d = calloc(1, sizeof *d);
    if (!d) return fail_memory(e, "the data", sizeof *d);
    int former = threads_begin(s);
    anygp_status status = read_data(path, s, d, e);
    if (!ANYGP_FAILED(status)) status = gp_settle_columns(d->table, d->file, s, e);
    threads_end(former, status);
    if (ANYGP_FAILED(status))
        anygp_data_free(d);
    else
        *out = d;
    return status;
}

static anygp_status check_finite(int64_t n, int64_t d, const double *X, int64_t ldx, const double *y, anygp_error *e)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++)
            if (isinf(X[i * ldx + j]))
                return fail_with(e, ANYGP_ERR_DATA, "X[%lld][%lld] is infinite", (long long)i, (long long)j);
        if (isinf(y[i])) return fail_with(e, ANYGP_ERR_DATA, "y[%lld] is infinite", (long long)i);
    }
    return ANYGP_OK;
}

anygp_status anygp_data_new(int64_t n, int64_t d, const double *X, int64_t ldx, const double *y, const double *weights,
                            anygp_data **out, anygp_error *e)
{
    NEED(y);
    NEED(out);
    *out = NULL;
    if (d > 0) NEED(X);
    if (n < 1 || d < 0 || ldx < d)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "the shape n = %lld, d = %lld, ldx = %lld is not valid", (long long)n,
                         (long long)d, (long long)ldx);
    TRY(check_finite(n, d, X, ldx, y, e));
    int64_t cols = d + 1 + (weights != NULL);
    anygp_data *data = calloc(1, sizeof *data);
    table *t = data ? data->table = calloc(1, sizeof *t) : NULL;
    bool ok = t && (t->values = mem_doubles(n, cols)) && (t->columns = mem_zeroed(cols, sizeof *t->columns));
    if (!ok) return anygp_data_free(data), fail_memory(e, "the data", 8.0 * (double)n * (double)cols);
    t->rows = n, t->cols = cols, t->target = d;
    data->weighted = weights != NULL;
    for (int64_t i = 0; i < n; i++) {
        double *row = t->values + i * cols;
        for (int64_t j = 0; j < d; j++) row[j] = X[i * ldx + j];
        row[d] = y[i];
        if (weights) row[d + 1] = weights[i];
    }
    *out = data;
    return ANYGP_OK;
}

int64_t anygp_data_rows(const anygp_data *d) { return d && d->table ? d->table->rows : 0; }
int64_t anygp_data_columns(const anygp_data *d) { return d && d->table ? d->table->cols : 0; }

void anygp_data_free(anygp_data *d)
{
    if (!d) return;
    if (d->file) { /* which owns the columns */
        free(d->table);
        rows_close(d->file);
    } else {
        table_free(d->table);
    }
    free(d);
}

/* --------------------------------------------------------------------------------------- model */

void anygp_model_free(anygp_model *m) { gp_set_free(m); }

anygp_status anygp_load(const char *path, anygp_model **out, anygp_error *e)
{
    NEED(path);
    NEED(out);
    *out = NULL;
    return model_file_read(path, 0, out, e);
}

anygp_status anygp_load_with(const char *path, const anygp_settings *s, anygp_model **out, anygp_error *e)
{
    NEED(path);
    NEED(s);
    NEED(out);
    *out = NULL;
    double memory = settings_given(s, SET_MEMORY) ? settings_number(s, SET_MEMORY) : 0;
    int former = threads_begin(s);
    return threads_end(former, model_file_read(path, memory, out, e));
}

int64_t anygp_model_targets(const anygp_model *m) { return m ? m->targets : 0; }
int64_t anygp_model_inputs(const anygp_model *m) { return m ? m->gp[0]->schema.inputs : 0; }

const char *anygp_model_target_name(const anygp_model *m, int64_t target)
{
    const char *name = m && target >= 0 && target < m->targets ? m->gp[target]->schema.target : NULL;
    return name ? name : "";
}

/* ---------------------------------------------------------------------------------------- files */

anygp_status anygp_predict_file(const anygp_model *m, const anygp_settings *s, const char *in, const char *out,
                                anygp_error *e)
{
    NEED(m);
    int former = threads_begin(s);
    return threads_end(former, gp_predict_file(m, s, comm_self(), in, out, e));
}

anygp_status anygp_predict_file_shared(const anygp_model *m, const anygp_settings *s, const char *in, const char *out,
                                       anygp_error *e)
{
    NEED(m);
    int former = threads_begin(s);
    return threads_end(former, gp_predict_file(m, s, comm_world(), in, out, e));
}

anygp_status anygp_update_file(anygp_model *m, const anygp_settings *s, const char *in, anygp_error *e)
{
    NEED(m);
    NEED(in);
    int former = threads_begin(s);
    return threads_end(former, gp_update_file(m, s, in, NULL, NULL, e));
}

anygp_status anygp_update(anygp_model *m, const anygp_settings *s, int64_t n, const double *X, int64_t ldx,
                          const double *Y, const double *weights, anygp_error *e)
{
    return anygp_update_exposed(m, s, n, X, ldx, Y, weights, NULL, e);
}

anygp_status anygp_update_exposed(anygp_model *m, const anygp_settings *s, int64_t n, const double *X, int64_t ldx,
                                  const double *Y, const double *weights, const double *exposure, anygp_error *e)
{
    TRY(api_check_rows(m, 0, n, X, ldx, 0, e));
    NEED(Y);
    TRY(api_check_own_exposure(m, n, exposure, e));
    int former = threads_begin(s);
    return threads_end(former, gp_update_rows(m, s, n, X, ldx, Y, weights, exposure, e));
}

anygp_status anygp_simulate_file(const anygp_settings *s, const char *out, anygp_error *e)
{
    int former = threads_begin(s);
    return threads_end(former, gp_simulate_file(s, out, e));
}

anygp_status anygp_convert_file(const anygp_settings *s, const char *in, const char *out, anygp_error *e)
{
    NEED(in);
    read_options o = gp_read_options(s);
    int former = threads_begin(s);
    return threads_end(former, convert_file(in, &o, out, e));
}

anygp_status anygp_look_file(const anygp_settings *s, const char *in, int json, char **text, anygp_error *e)
{
    NEED(in);
    NEED(text);
    *text = NULL;
    anygp_data *d = calloc(1, sizeof *d);
    if (!d) return fail_memory(e, "the data", sizeof *d);
    int former = threads_begin(s);
    anygp_status status = read_data(in, s, d, e);
    if (!ANYGP_FAILED(status)) status = look_text(d->table, d->file, in, s, json, text, e);
    anygp_data_free(d);
    return threads_end(former, status);
}

/* ------------------------------------------------------------------------------------------ info */

anygp_status anygp_info(const anygp_model *m, int json, char **text, anygp_error *e)
{
    NEED(m);
    NEED(text);
    *text = NULL;
    return json ? describe_json(m, text, e) : describe_text(m, text, e);
}

void anygp_text_free(char *text) { free(text); }

size_t anygp_number_text(double x, char *text) { return number_print(x, text); }

anygp_status anygp_save_trace(const anygp_model *m, const char *path, anygp_error *e)
{
    NEED(m);
    NEED(path);
    return trace_write(m, path, e);
}
