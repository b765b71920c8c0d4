/* New rows for a fitted model, chunk by chunk: a file of any length in flat memory, but for the rows that the model itself has
   to hold (model/sparse_update.c).  A target takes the rows that have it; the others it leaves out.  All targets are computed
   before one is replaced, so that a failure at any row leaves the model as it was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "data/intake.h"
#include "gp/fit.h"

enum { CHUNK_LEAST = 256, CHUNK_MOST = 8192, OVERSIZE = 2 };
static const double CHUNK_BYTES = 64e6;

/* Rows of all inputs in data units, with the cells of one target; the steps lie between two rows. */
typedef struct labelled_rows {
    int64_t n, first; /* the first one's number, for sentences */
    const double *rows;
    int64_t ld;
    const double *y, *w; /* w may be NULL */
    int64_t y_step, w_step;
    const int64_t *ids;     /* of their blocks, or NULL */
    const binding *in;      /* of a file, whose labels it knows; NULL: arrays */
    const double *exposure; /* n, or NULL: ones */
    int64_t target;         /* which of the model's */
} labelled_rows;

typedef struct target_update {
    gp *g;
    void *state;
    int64_t used, no_target, no_weight;
    posterior *made;
    update_report report;
} target_update;

typedef struct update {
    gp_set *m;
    const settings *s;
    target_update *target; /* targets */
    int64_t chunk;         /* rows at a time */
    /* The used rows of a chunk: as they were read, in model units, and their numbers. */
    double *raw, *X, *y, *w; /* y has the columns of the likelihood */
    int64_t *number, *ids;
} update;

static void update_clear(update *u)
{
    for (int64_t t = 0; u->target && t < u->m->targets; t++) {
        target_update *k = &u->target[t];
        if (k->state) k->g->model->update->close(k->state);
        if (k->made) k->made->ops->free(k->made);
    }
    void *const owned[] = {u->target, u->raw, u->X, u->y, u->w, u->number, u->ids};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* ------------------------------------------------------------------------------------------- begin */

static bool takes_rows(const model_ops *m) { return m->update; }

static anygp_status no_updates(const gp *g, anygp_error *e)
{
    char *list = model_names(takes_rows, " or ");
    fail_with(e, ANYGP_ERR_ARGUMENT,
              "a model of the kind %s cannot take new rows; fit again with all of them, or use %s", g->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status check_models(const gp_set *m, bool weights, anygp_error *e)
{
    for (int64_t t = 0; t < m->targets; t++) {
        const gp *g = m->gp[t];
        if (!g->model->update) return no_updates(g, e);
        if (weights && kernel_has_white(g->posterior->kernel))
            return fail_with(e, ANYGP_ERR_ARGUMENT,
                             "a white kernel tells equal rows apart, so it cannot be used with --weights");
    }
    return ANYGP_OK;
}

static int64_t chunk_rows(const update *u)
{
    double bytes = fmin(choice_memory(u->s) / 4, CHUNK_BYTES), row = 0;
    for (int64_t t = 0; t < u->m->targets; t++) row = fmax(row, (double)u->m->gp[t]->schema.D);
    row = 8 * (row + 3 * (double)u->m->gp[0]->schema.inputs + 8);
    return bytes / row < CHUNK_LEAST ? CHUNK_LEAST : bytes / row > CHUNK_MOST ? CHUNK_MOST : (int64_t)(bytes / row);
}

static anygp_status make_room(update *u, anygp_error *e)
{
    int64_t D = 0, inputs = u->m->gp[0]->schema.inputs, n = u->chunk = chunk_rows(u);
    for (int64_t t = 0; t < u->m->targets; t++)
        if (u->m->gp[t]->schema.D > D) D = u->m->gp[t]->schema.D;
    u->raw = mem_doubles(n, inputs);
    u->X = mem_doubles(n, D);
    u->y = mem_alloc(2 * n, sizeof *u->y);
    u->w = mem_alloc(n, sizeof *u->w);
    u->number = mem_alloc(n, sizeof *u->number);
    u->ids = mem_alloc(n, sizeof *u->ids);
    if (u->raw && u->X && u->y && u->w && u->number && u->ids) return ANYGP_OK;
    return fail_memory(e, "a block of rows", 8.0 * (double)n * (double)(inputs + D + 4));
}

static anygp_status begin(update *u, gp_set *m, const settings *s, bool weights, anygp_error *e)
{
    *u = (update){.m = m, .s = s};
    TRY(check_models(m, weights, e));
    TRY(make_room(u, e));
    if (!(u->target = mem_zeroed(m->targets, sizeof *u->target))) return fail_memory(e, "the update", 0);
    for (int64_t t = 0; t < m->targets; t++) {
        target_update *k = &u->target[t];
        k->g = m->gp[t];
        TRY(k->g->model->update->open(k->g->model, k->g->posterior, k->g->likelihood, &k->state, e));
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- rows */

/* The class of a label, from 0; other targets are what they are. */
static anygp_status take_label(const labelled_rows *r, const schema *c, int64_t i, double *y, anygp_error *e)
{
    const column number = {.kind = COLUMN_NUMBER};
    if (r->in) return binding_label(r->in, r->target, *y, r->first + i, y, e);
    return label_class(c, &number, *y, r->first + i, y, e);
}

/* Copies row i to place `at` of the chunk if target k can use it. */
static anygp_status take_row(update *u, target_update *k, const labelled_rows *r, int64_t i, int64_t at, bool *taken,
                             anygp_error *e)
{
    int64_t inputs = k->g->schema.inputs, columns = k->g->likelihood ? k->g->likelihood->columns : 1;
    const schema *c = &k->g->schema;
    double cells[2] = {r->y[i * r->y_step], r->w ? r->w[i * r->w_step] : 1};
    const target_columns y = {.targets = 1,
                              .target = (const int64_t[]){0},
                              .weights = 1,
                              .exposure = -1,
                              .objection = k->g->likelihood ? fit_objection : NULL,
                              .objection_ctx = k->g->likelihood};
    TRY(take_label(r, c, i, &cells[0], e));
    const column names[2] = {{.name = c->target}, {.name = NULL}};
    row_use use = intake_row(cells, &y);
    TRY(intake_check(use, cells, &y, names, r->first + i, e));
    k->no_target += use == ROW_NO_TARGET, k->no_weight += use == ROW_NO_WEIGHT;
    *taken = use == ROW_USED;
    if (!*taken) return ANYGP_OK;
    if (inputs) memcpy(u->raw + at * inputs, r->rows + i * r->ld, (size_t)inputs * sizeof(double));
    u->y[at * columns] = schema_scale(cells[0], c->y_shift, c->y_scale);
    if (columns > 1) u->y[at * columns + 1] = r->exposure ? r->exposure[i] : 1;
    u->w[at] = cells[1];
    u->number[at] = r->first + i;
    u->ids[at] = r->ids ? r->ids[i] : 0;
    return ANYGP_OK;
}

/* At most a chunk of rows to one target. */
static anygp_status add_rows(update *u, target_update *k, const labelled_rows *r, anygp_error *e)
{
    const gp *g = k->g;
    const update_ops *ops = g->model->update;
    int64_t n = 0;
    for (int64_t i = 0; i < r->n; i++) {
        bool taken;
        TRY(take_row(u, k, r, i, n, &taken, e));
        n += taken;
    }
    TRY(gp_scale_rows(g, n, u->raw, g->schema.inputs, &(row_numbers){0, u->number}, u->X, e));
    TRY(ops->add(k->state, n, u->X, u->y, u->w, r->ids ? u->ids : NULL, e));
    k->used += n;
    double held = 0;
    for (int64_t t = 0; t < u->m->targets; t++) held += ops->held(u->target[t].state);
    if (held <= choice_memory(u->s)) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_MEMORY,
                     "the new rows, which %s has to hold, need more than %s %.3g GB; update in several steps", g->name,
                     settings_given(u->s, SET_MEMORY) ? "the --memory of" : "the", choice_memory(u->s) / 1e9);
}

/* ------------------------------------------------------------------------------------------ finish */

static void say(const update *u, const target_update *k)
{
    const settings *s = u->s;
    const update_report *r = &k->report;
    const char *name = u->m->targets > 1 ? k->g->schema.target : NULL; /* of several, the one that is meant */
    char without[96];
    snprintf(without, sizeof without, "without %.80s", name ? name : "a target");
    note_left_out(s, k->no_target, without);
    note_left_out(s, k->no_weight, "of weight 0");
    if (k->used == 0) settings_log(s, ANYGP_NOTE, "%.80s has no new row and stays as it is", name ? name : "a target");
    if (r->moved > 0)
        settings_log(s, ANYGP_NOTE, "%s%.80s%sthe new rows moved the process by %.4g nats (its KL to the one before)",
                     name ? "'" : "", name ? name : "", name ? "': " : "", r->moved);
    if (r->largest > 0 && r->biggest > OVERSIZE * r->largest)
        settings_log(
            s, ANYGP_WARNING,
            "block %lld has grown to %lld rows, more than twice the %lld of the largest before; its cost is the "
            "cube of that, and a new fit would cut it",
            (long long)r->biggest_id, (long long)r->biggest, (long long)r->largest);
}

/* The objective of an anytime run is a running estimate, to which the new rows add what they are worth. */
static void replace(target_update *k)
{
    gp *g = k->g;
    const update_report *r = &k->report;
    g->posterior->ops->free(g->posterior);
    g->posterior = k->made;
    k->made = NULL;
    if (g->model->steps) g->estimate = true;
    g->objective = g->estimate && isfinite(g->objective) ? g->objective + (r->after - r->before) : r->after;
    g->objective_rows += r->rows;
    g->bounds = (evidence_bounds){NAN, g->estimate ? NAN : r->upper, NAN};
    g->rows += r->rows;
    if (g->model->decoupled) g->inducing = g->posterior->n; /* the new rows are among the mean's bases */
    g->blocks += r->blocks;
    g->loo.count = g->valid.count = g->training.count = 0; /* they were of the model before */
}

/* in: where new categories come from; NULL: there are none. */
static anygp_status finish(update *u, const binding *in, int64_t rows, anygp_error *e)
{
    int64_t T = u->m->targets, used = 0, no_target = 0, no_weight = 0;
    for (int64_t t = 0; t < T; t++) {
        const target_update *k = &u->target[t];
        used += k->used, no_weight = k->no_weight;
        if (t == 0 || k->no_target < no_target) no_target = k->no_target;
    }
    if (used == 0) return intake_nothing_left(rows, no_target, no_weight, e);
    for (int64_t t = 0; t < T; t++) {
        target_update *k = &u->target[t];
        if (k->used) TRY(k->g->model->update->finish(k->state, &k->made, &k->report, e));
    }
    if (in) TRY(binding_keep_levels(in, u->m, e));
    for (int64_t t = 0; t < T; t++) {
        say(u, &u->target[t]);
        if (u->target[t].made) replace(&u->target[t]);
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- from arrays */

/* A category without a name could not be told from the next such one. */
static anygp_status check_levels(const schema *s, int64_t n, const double *rows, int64_t ld, anygp_error *e)
{
    for (int64_t j = 0; j < s->inputs; j++) {
        const input_spec *c = &s->input[j];
        for (int64_t i = 0; c->text && i < n; i++) {
            double x = rows[i * ld + j];
            if (!isnan(x) && !(x >= 0 && x < (double)c->levels && x == floor(x)))
                return fail_with(e, ANYGP_ERR_DATA,
                                 "X[%lld][%lld] is %g, which is not the index of one of %lld categories", (long long)i,
                                 (long long)j, x, (long long)c->levels);
        }
    }
    return ANYGP_OK;
}

anygp_status gp_update_rows(gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld, const double *Y,
                            const double *weights, anygp_error *e)
{
    update u = {.m = m};
    anygp_status status;
    TRY_DONE(begin(&u, m, s, weights != NULL, e));
    TRY_DONE(check_levels(&m->gp[0]->schema, n, rows, ld, e));
    for (int64_t i = 0; i < n; i += u.chunk)
        for (int64_t t = 0; t < m->targets; t++) {
            labelled_rows r = {.n = n - i < u.chunk ? n - i : u.chunk,
                               .first = i,
                               .rows = rows + i * ld,
                               .ld = ld,
                               .y = Y + t * n + i,
                               .w = weights ? weights + i : NULL,
                               .y_step = 1,
                               .w_step = 1,
                               .target = t};
            TRY_DONE(add_rows(&u, &u.target[t], &r, e));
        }
    TRY_DONE(finish(&u, NULL, n, e));
done:
    update_clear(&u);
    return status;
}

/* ------------------------------------------------------------------------------------- from a file */

typedef struct update_file {
    update u;
    binding *in;
    int64_t *column, weights; /* of the targets, and -1: none */
    double *rows;             /* a chunk of inputs */
    double *exposure;         /* of them; ones where there is none */
    reader *blocks;           /* --blocks-from, read in step with the rows; or NULL */
    double *block;            /* a chunk of it */
    int64_t *ids;
} update_file;

static void update_file_clear(update_file *f)
{
    update_clear(&f->u);
    binding_close(f->in);
    reader_close(f->blocks);
    free(f->column);
    free(f->rows);
    free(f->exposure);
    free(f->block);
    free(f->ids);
}

static anygp_status find_columns(update_file *f, const char *path, anygp_error *e)
{
    const gp_set *m = f->u.m;
    f->weights = -1;
    for (int64_t t = 0; t < m->targets; t++) {
        const char *name = m->gp[t]->schema.target;
        f->column[t] = binding_target(f->in, t);
        bool text = f->column[t] >= 0 && binding_is_text(f->in, f->column[t]);
        if (f->column[t] >= 0 && (!text || m->gp[t]->schema.classes)) continue;
        return fail_with(e, ANYGP_ERR_DATA, "%.200s has no target column%s%.80s%s of numbers to learn from", path,
                         name ? " '" : "", name ? name : "", name ? "'" : "");
    }
    if (!settings_given(f->u.s, SET_WEIGHTS)) return ANYGP_OK;
    TRY(binding_column(f->in, settings_text(f->u.s, SET_WEIGHTS), &f->weights, e));
    return binding_is_text(f->in, f->weights)
               ? fail_with(e, ANYGP_ERR_DATA, "%.200s: the column of weights is text; weights must be numbers", path)
               : ANYGP_OK;
}

static anygp_status open_blocks(update_file *f, anygp_error *e)
{
    const char *path = settings_text(f->u.s, SET_BLOCKS_FROM);
    if (!*path) return ANYGP_OK;
    read_options o = gp_side_options(f->u.s);
    TRY(reader_open(path, &o, &f->blocks, e));
    if (reader_columns(f->blocks) == 1 && reader_column(f->blocks, 0)->kind == COLUMN_NUMBER) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "%.200s needs one column of numbers, the block of each row of the data", path);
}

static anygp_status open_file(update_file *f, gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    TRY(begin(&f->u, m, s, settings_given(s, SET_WEIGHTS), e));
    TRY(binding_open(m, in, s, &f->in, e));
    int64_t n = f->u.chunk;
    f->column = mem_alloc(m->targets, sizeof *f->column);
    f->rows = mem_doubles(n, m->gp[0]->schema.inputs);
    f->block = mem_alloc(n + 1, sizeof *f->block);
    f->exposure = mem_alloc(n, sizeof *f->exposure);
    f->ids = mem_alloc(n, sizeof *f->ids);
    if (!f->column || !f->rows || !f->exposure || !f->block || !f->ids) return fail_memory(e, "a block of rows", 0);
    TRY(find_columns(f, in, e));
    return open_blocks(f, e);
}

static anygp_status wrong_length(const update_file *f, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "%.200s must have as many rows as the data, the block of each",
                     reader_name(f->blocks));
}

/* The blocks of the next n rows; at the end (n = 0) there must be none left. */
static anygp_status next_blocks(update_file *f, int64_t n, int64_t first, anygp_error *e)
{
    int64_t got = 0;
    if (!f->blocks) return ANYGP_OK;
    TRY(reader_next(f->blocks, n > 0 ? n : 1, f->block, &got, e));
    if (got != n) return wrong_length(f, e);
    return block_names_of(n, f->block, reader_name(f->blocks), first, f->ids, e);
}

static anygp_status next_rows(update_file *f, int64_t *got, anygp_error *e)
{
    update *u = &f->u;
    const double *cells;
    int64_t wide = binding_columns(f->in), inputs = u->m->gp[0]->schema.inputs, first = binding_row_number(f->in);
    TRY(binding_next(f->in, u->chunk, f->rows, &cells, got, e));
    TRY(next_blocks(f, *got, first, e));
    TRY(binding_exposure(f->in, *got, cells, first, f->exposure, e));
    for (int64_t t = 0; t<u->m->targets && * got> 0; t++) {
        labelled_rows r = {.n = *got,
                           .first = first,
                           .rows = f->rows,
                           .ld = inputs,
                           .y = cells + f->column[t],
                           .w = f->weights < 0 ? NULL : cells + f->weights,
                           .y_step = wide,
                           .w_step = wide,
                           .ids = f->blocks ? f->ids : NULL,
                           .in = f->in,
                           .exposure = f->exposure,
                           .target = t};
        TRY(add_rows(u, &u->target[t], &r, e));
    }
    return ANYGP_OK;
}

anygp_status gp_update_file(gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    update_file f = {.u = {.m = m}};
    anygp_status status;
    int64_t got;
    TRY_DONE(open_file(&f, m, s, in, e));
    do {
        TRY_DONE(settings_check_stop(s, e));
        TRY_DONE(next_rows(&f, &got, e));
    } while (got > 0);
    TRY_DONE(finish(&f.u, f.in, binding_row_number(f.in), e));
done:
    update_file_clear(&f);
    return status;
}
