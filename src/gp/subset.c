/* A random subset of the training rows in memory, and the evidence of exact models of it: to choose what a fit of all rows begins with, a
   transform of the target (transform.c) or one length-scale for two coordinates (isotropic.c).  Rows of the subset are those that would be
   held out last, so that held-out rows are not among them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

enum { SUBSET = 250, ITERATIONS = 25 };

/* -------------------------------------------------------------------------------------------- rows */

static anygp_status count_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    fit_subset *u = ctx;
    double y = row[u->columns.target[0]];
    (void)e;
    u->labelled += !isnan(y);
    if (u->not_positive < 0 && !isnan(y) && !(y > 0)) u->not_positive = number;
    return ANYGP_OK;
}

/* Rows that are incomplete are passed over: the fit says what is wrong with them. */
static bool is_whole(const fit_subset *u, const double *row)
{
    const fit_columns *c = &u->columns;
    if (isnan(row[c->target[0]]) || (c->weights >= 0 && !(row[c->weights] > 0))) return false;
    for (int64_t j = 0; j < u->rows.cols; j++)
        if (!c->skip[j] && !isfinite(row[j])) return false;
    return true;
}

static anygp_status take_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    fit_subset *u = ctx;
    table *t = &u->rows;
    double most = 1 - fmin(SUBSET / u->labelled, 1);
    (void)e;
    if (t->rows == u->room || rows_held((uint64_t)settings_integer(u->quiet, SET_SEED), number, most)) return ANYGP_OK;
    if (is_whole(u, row)) memcpy(t->values + t->rows++ * t->cols, row, (size_t)t->cols * sizeof *row);
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- settings */

/* Those of the fit that say what the model of the subset is. */
static anygp_status quiet_settings(const settings *s, settings *quiet, anygp_error *e)
{
    static const setting_id kept[] = {SET_KERNEL,  SET_MEAN, SET_PRIOR,  SET_STANDARDIZE,
                                      SET_MISSING, SET_SEED, SET_MEMORY, SET_THREADS};
    TRY(settings_set(quiet, "model", "exact", e));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (settings_changed(s, kept[i]))
            TRY(settings_set(quiet, setting_at(kept[i])->name, settings_text(s, kept[i]), e));
    return ANYGP_OK;
}

static anygp_status fill(const gp_data *data, const settings *s, fit_subset *u, anygp_error *e)
{
    TRY(quiet_settings(s, u->quiet, e));
    TRY(gp_data_walk(data, count_row, u, e));
    return gp_data_walk(data, take_row, u, e);
}

anygp_status fit_subset_take(const gp_data *data, const settings *s, const fit_columns *c, int64_t target,
                             fit_subset *u, anygp_error *e)
{
    *u = (fit_subset){.columns = *c, .not_positive = -1, .room = 2 * SUBSET};
    u->columns.targets = 1, u->columns.target = c->target + target, u->columns.balance = NULL;
    u->rows = (table){.cols = data->table->cols, .columns = data->table->columns, .target = -1};
    u->quiet = settings_new();
    u->rows.values = mem_doubles(u->room, u->rows.cols);
    bool ok = u->quiet && u->rows.values;
    anygp_status status = ok ? fill(data, s, u, e) : fail_memory(e, "a subset of the rows", 8.0 * (double)u->room);
    if (ANYGP_FAILED(status)) fit_subset_clear(u);
    return status;
}

void fit_subset_clear(fit_subset *u)
{
    if (u->start) u->start->ops->free(u->start);
    settings_free(u->quiet);
    free(u->rows.values);
    *u = (fit_subset){0};
}

/* ---------------------------------------------------------------------------------------- evidence */

anygp_status fit_subset_kernel(fit_subset *u, const char *text, anygp_error *e)
{
    if (u->start) u->start->ops->free(u->start);
    u->start = NULL;
    return settings_set(u->quiet, "kernel", text, e);
}

/* In the units of the data. */
static double log_density_of(const gp *g)
{
    const schema *s = &g->schema;
    return g->objective + g->rows * (s->y_log_slope - log(s->y_scale));
}

double fit_subset_evidence(fit_subset *u, const warp *g)
{
    warp own = *g;
    bool told = false;
    anygp_error why;
    gp *fitted = NULL;
    double found = NAN;
    fit_columns one = u->columns;
    gp_data data = {.table = &u->rows};
    one.warp = warp_is(&own) ? &own : NULL;
    fit_task f = {.data = &data,
                  .columns = &one,
                  .together = 1,
                  .s = u->quiet,
                  .later = u->quiet,
                  .limit = INFINITY,
                  .iterations = ITERATIONS,
                  .start = u->start,
                  .told_unsaved = &told};
    if (ANYGP_FAILED(choice_parse(u->quiet, &f.choice, &why))) return NAN;
    if (!ANYGP_FAILED(fit_some(&f, &fitted, &why))) {
        found = log_density_of(fitted), u->total = fitted->rows;
        if (u->start) u->start->ops->free(u->start);
        u->start = fitted->posterior, fitted->posterior = NULL;
    }
    gp_free(fitted);
    model_free(f.choice.model);
    return found;
}
