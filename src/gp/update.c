/* New rows for a fitted model, chunk by chunk: a file of any length in flat memory, but for the rows that the model itself has
   to hold (model/sparse/sparse_update.c).  A target takes the rows that have it; the others it leaves out.  All targets are computed
   before one is replaced, so that a failure at any row leaves the model as it was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "data/table/intake.h"
#include "gp/fit.h"
#include "gp/labelled_arrays.h"
#include "gp/seen.h"
#include "gp/update_score.h"

enum { CHUNK_LEAST = 256, CHUNK_MOST = 8192, OVERSIZE = 2 };
static const double CHUNK_BYTES = 64e6;

/* Raw rows for one target. */
typedef struct new_rows {
    int64_t n, first; /* the first one's number, for messages */
    const double *cells;
    int64_t ld;
    const row_units *units;
    const int64_t *ids; /* of their blocks, or NULL */
} new_rows;

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
    double *X, *y, *w;     /* the used rows of a chunk in model units; y has the columns of the likelihood */
    int64_t *ids;
} update;

static void update_clear(update *u)
{
    for (int64_t t = 0; u->target && t < u->m->targets; t++) {
        target_update *k = &u->target[t];
        if (k->state) k->g->model->update->close(k->state);
        if (k->made) k->made->ops->free(k->made);
    }
    void *const owned[] = {u->target, u->X, u->y, u->w, u->ids};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

/* ------------------------------------------------------------------------------------------- begin */

static anygp_status no_updates(const gp *g, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "a model of the kind %s cannot take new rows; fit again with all of them, or with a model that "
                     "can, such as vfe or svgp (anygp models shows which)",
                     g->name);
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
    double bytes = fmin(settings_memory(u->s) / 4, CHUNK_BYTES), row = 0;
    for (int64_t t = 0; t < u->m->targets; t++) row = fmax(row, (double)u->m->gp[t]->schema.D);
    row = 8 * (row + 3 * (double)u->m->gp[0]->schema.inputs + 8);
    return bytes / row < CHUNK_LEAST ? CHUNK_LEAST : bytes / row > CHUNK_MOST ? CHUNK_MOST : (int64_t)(bytes / row);
}

static anygp_status make_room(update *u, anygp_error *e)
{
    int64_t D = 0, n = u->chunk = chunk_rows(u);
    for (int64_t t = 0; t < u->m->targets; t++)
        if (u->m->gp[t]->schema.D > D) D = u->m->gp[t]->schema.D;
    u->X = mem_doubles(n, D);
    u->y = mem_alloc(2 * n, sizeof *u->y);
    u->w = mem_alloc(n, sizeof *u->w);
    u->ids = mem_alloc(n, sizeof *u->ids);
    if (u->X && u->y && u->w && u->ids) return ANYGP_OK;
    return fail_memory(e, "a block of rows", 8.0 * (double)n * (double)(D + 4));
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
        predictor_free(atomic_exchange(&k->g->kept, NULL)); /* of the posterior before */
        const update_ops *ops = k->g->model->update;
        TRY(ops->open(k->g->model, k->g->posterior, k->g->likelihood, &k->state, e));
        if (ops->given) ops->given(k->state, k->g->jitter, settings_memory(s), settings_stop(s));
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------------- rows */

/* At most a chunk of rows, for one target. */
static anygp_status add_rows(update *u, target_update *k, const new_rows *r, anygp_error *e)
{
    const gp *g = k->g;
    const update_ops *ops = g->model->update;
    int64_t n = 0, D = r->units->D, Q = r->units->Q;
    for (int64_t i = 0; i < r->n; i++) {
        row_use use;
        TRY(row_units_take(r->units, &g->schema, r->first + i, r->cells + i * r->ld, u->X + n * D, u->y + n * Q,
                           u->w + n, &use, e));
        k->no_target += use == ROW_NO_TARGET, k->no_weight += use == ROW_NO_WEIGHT;
        u->ids[n] = r->ids ? r->ids[i] : 0;
        n += use == ROW_USED;
    }
    TRY(ops->add(k->state, n, u->X, u->y, u->w, r->ids ? u->ids : NULL, e));
    k->used += n;
    double held = 0;
    for (int64_t t = 0; t < u->m->targets; t++) held += ops->held(u->target[t].state);
    if (held <= settings_memory(u->s)) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_MEMORY,
        "the new rows, which %s has to hold, need %.3g GB, more than %s %.3g GB; give them more memory, or "
        "update in several steps",
        g->name, held / 1e9, settings_given(u->s, SET_MEMORY) ? "the --memory of" : "the", settings_memory(u->s) / 1e9);
}

/* ------------------------------------------------------------------------------------------ finish */

static void say(const update *u, const target_update *k)
{
    const settings *s = u->s;
    const update_report *r = &k->report;
    const char *name =
        u->m->targets > 1 ? k->g->schema.target : NULL; /* where there are several, the one that is meant */
    char without[96];
    snprintf(without, sizeof without, "without %.80s", name ? name : "a target");
    note_left_out(s, k->no_target, without);
    note_left_out(s, k->no_weight, "of weight 0");
    if (k->used == 0) settings_log(s, ANYGP_NOTE, "%.80s has no new row and stays as it is", name ? name : "a target");
    if (r->opened > 0)
        settings_log(s, ANYGP_NOTE, "%s%.80s%s%lld %s opened for new rows that no centre of an expert is near to",
                     name ? "'" : "", name ? name : "", name ? "': " : "", (long long)r->opened,
                     r->opened > 1 ? "experts were" : "expert was");
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

/* The objective of an anytime run is a running estimate, to which the new rows add their share. */
static void replace(target_update *k)
{
    gp *g = k->g;
    const update_report *r = &k->report;
    predictor_free(atomic_exchange(&g->kept, NULL)); /* of the posterior before */
    g->posterior->ops->free(g->posterior);
    g->posterior = k->made;
    g->kl = posterior_kl(g->posterior);
    k->made = NULL;
    if (g->model->steps) g->estimate = true;
    if (!r->kept)
        g->objective = isnan(r->before)                        ? g->objective + r->after
                       : g->estimate && isfinite(g->objective) ? g->objective + (r->after - r->before)
                                                               : r->after;
    if (!r->kept) g->objective_rows += r->rows;
    g->bounds = (evidence_bounds){NAN, g->estimate ? NAN : r->upper, NAN};
    g->rows += r->rows;
    if (model_takes_pair(g->model) || !model_has_inducing(g->model))
        g->inducing = g->posterior->n; /* the new rows are among the mean's bases, or among those that are kept */
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

/* The rows of one target, chunk by chunk. */
static anygp_status add_arrays(update *u, labelled_arrays *a, int64_t t, anygp_error *e)
{
    for (int64_t first = 0, got; first < a->n; first += got) {
        got = a->n - first < u->chunk ? a->n - first : u->chunk;
        labelled_arrays_take(a, first, got);
        new_rows r = {.n = got, .first = first, .cells = a->cells, .ld = a->wide, .units = &a->units};
        TRY(add_rows(u, &u->target[t], &r, e));
    }
    return ANYGP_OK;
}

anygp_status gp_update_rows(gp_set *m, const settings *s, int64_t n, const double *rows, int64_t ld, const double *Y,
                            const double *weights, const double *exposure, anygp_error *e)
{
    update u = {.m = m};
    labelled_arrays a = {.m = m, .n = n, .ld = ld, .rows = rows, .weights = weights, .exposure = exposure};
    anygp_status status;
    TRY_DONE(begin(&u, m, s, weights != NULL, e));
    TRY_DONE(labelled_arrays_open(&a, u.chunk, e));
    TRY_DONE(check_levels(&m->gp[0]->schema, n, rows, ld, e));
    for (int64_t t = 0; t < m->targets; t++) {
        TRY_DONE(labelled_arrays_target(&a, t, Y + t * n, false, e));
        TRY_DONE(add_arrays(&u, &a, t, e));
    }
    TRY_DONE(finish(&u, NULL, n, e));
done:
    update_clear(&u);
    labelled_arrays_close(&a);
    return status;
}

/* ------------------------------------------------------------------------------------- from a file */

typedef struct update_file {
    update u;
    binding *in;
    reader *blocks; /* --blocks-from, read in step with the rows; or NULL */
    double *block;  /* a chunk of it */
    int64_t *ids;
    uint64_t digest; /* of the rows so far */
    update_score before;
} update_file;

static void update_file_clear(update_file *f)
{
    update_clear(&f->u);
    update_score_clear(&f->before);
    binding_close(f->in);
    reader_close(f->blocks);
    free(f->block);
    free(f->ids);
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
    f->block = mem_alloc(n + 1, sizeof *f->block);
    f->ids = mem_alloc(n, sizeof *f->ids);
    if (!f->block || !f->ids) return fail_memory(e, "the blocks of the rows", 16.0 * (double)n);
    TRY(binding_labels(f->in, false, "to learn from", e));
    return open_blocks(f, e);
}

/* Rows that the model has learned from before are learned again: nobody asked whether they may be. */
static anygp_status note_seen(const update_file *f, gp_set *m, const settings *s, const char *in, anygp_error *e)
{
    if (!seen_has(m, f->digest)) return seen_add(m, f->digest, e);
    settings_log(s, ANYGP_WARNING, "the model has learned from the rows of %.200s before: they count twice now",
                 strcmp(in, "-") ? in : "standard input");
    return ANYGP_OK;
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
    int64_t first = binding_row_number(f->in);
    TRY(binding_next(f->in, u->chunk, &cells, got, e));
    f->digest += seen_rows(u->m, f->in, *got, cells);
    update_score_rows(&f->before, f->in, *got, first, cells);
    TRY(next_blocks(f, *got, first, e));
    for (int64_t t = 0; t<u->m->targets && * got> 0; t++) {
        new_rows r = {.n = *got,
                      .first = first,
                      .cells = cells,
                      .ld = binding_columns(f->in),
                      .units = binding_units(f->in, t),
                      .ids = f->blocks ? f->ids : NULL};
        TRY(add_rows(u, &u->target[t], &r, e));
    }
    return ANYGP_OK;
}

anygp_status gp_update_file(gp_set *m, const settings *s, const char *in, gp_scores *scores, bool *scored,
                            anygp_error *e)
{
    update_file f = {.u = {.m = m}};
    anygp_status status;
    int64_t got;
    TRY_DONE(open_file(&f, m, s, in, e));
    if (scores) update_score_open(&f.before, m, s, in, f.in);
    do {
        TRY_DONE(settings_check_stop(s, e));
        TRY_DONE(next_rows(&f, &got, e));
    } while (got > 0);
    if (scores) *scored = update_score_finish(&f.before, s, scores);
    update_score_clear(&f.before);
    TRY_DONE(finish(&f.u, f.in, binding_row_number(f.in), e));
    TRY_DONE(note_seen(&f, m, s, in, e));
done:
    update_file_clear(&f);
    return status;
}
