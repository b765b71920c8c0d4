/* --valid: a share of the rows that is held out, or a file, and the scores on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/intake.h"
#include "gp/fit.h"

anygp_status valid_share(const settings *s, double *share, anygp_error *e)
{
    const char *text = settings_text(s, SET_VALID);
    char *end;
    c_locale l = c_locale_enter();
    double value = strtod(text, &end);
    c_locale_leave(l);
    *share = 0;
    if (end == text || *end) return ANYGP_OK;
    if (!(value > 0 && value < 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "valid: %.40s is not a file, nor a fraction between 0 and 1", text);
    *share = value;
    return ANYGP_OK;
}

static uint64_t seed_of(const settings *s) { return (uint64_t)settings_integer(s, SET_SEED); }

anygp_status valid_hold_out(const table *t, const settings *s, double share, bool **held, anygp_error *e)
{
    int64_t left = 0;
    *held = NULL;
    if (share == 0) return ANYGP_OK;
    if (!(*held = mem_zeroed(t->rows, sizeof **held))) return fail_memory(e, "the held-out rows", (double)t->rows);
    for (int64_t i = 0; i < t->rows; i++) left += !((*held)[i] = rows_held(seed_of(s), i, share));
    if (left > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "valid: all %lld rows were held out; hold out a smaller share",
                     (long long)t->rows);
}

anygp_status valid_check_file(const settings *s, double share, anygp_error *e)
{
    const char *path = settings_text(s, SET_VALID);
    reader *r = NULL;
    read_options o = READ_DEFAULTS;
    if (!*path || share > 0 || !strcmp(path, "-")) return ANYGP_OK;
    anygp_status status = reader_open(path, &o, &r, e);
    reader_close(r);
    return status;
}

/* ------------------------------------------------------------------------------ rows held out */

/* Calls take(ctx, row) for the rows held out. */
typedef struct held_walk {
    const gp *g;
    int64_t weights;
    anygp_status (*take)(void *ctx, const labelled_row *row, anygp_error *e);
    void *ctx;
} held_walk;

/* A class that no training row had is nothing the model could have learned. */
static anygp_status walk_row(const held_walk *w, const table *t, const double *cells, int64_t number, double *inputs,
                             anygp_error *e)
{
    const schema *c = &w->g->schema;
    labelled_row r = {.row = inputs,
                      .exposure = c->exposed ? cells[c->exposure] : 1,
                      .weight = w->weights < 0 ? 1 : cells[w->weights],
                      .number = number,
                      .block = -1};
    for (int64_t j = 0; j < c->inputs; j++) inputs[j] = cells[c->input[j].number];
    TRY(label_class(c, &t->columns[c->target_number], cells[c->target_number], number, &r.y, e));
    return w->take(w->ctx, &r, e);
}

static anygp_status walk_held(const held_walk *w, const gp_data *data, const settings *s, double share, anygp_error *e)
{
    enum { CHUNK = 4096 };
    anygp_status status = ANYGP_OK;
    const table *t = data->table;
    double *row = mem_alloc(w->g->schema.inputs, sizeof *row), *room = data->file ? rows_room(data->file, CHUNK) : NULL;
    if (!row || (data->file && !room)) {
        status = fail_memory(e, "a block of rows", 8.0 * CHUNK * (double)t->cols);
        goto done;
    }
    for (int64_t i = 0; i < t->rows; i += CHUNK) {
        int64_t n = t->rows - i < CHUNK ? t->rows - i : CHUNK;
        const double *cells = data->file ? NULL : t->values + i * t->cols;
        if (data->file) TRY_DONE(rows_fetch(data->file, i, n, room, &cells, e));
        for (int64_t k = 0; k < n; k++)
            if (rows_held(seed_of(s), i + k, share)) TRY_DONE(walk_row(w, t, cells + k * t->cols, i + k, row, e));
    }
done:
    free(row);
    free(room);
    return status;
}

static anygp_status take_score(void *ctx, const labelled_row *row, anygp_error *e) { return scorer_add(ctx, row, e); }

static anygp_status score_held(const gp *g, const gp_data *data, int64_t weights, double share, const settings *s,
                               gp_scores *scores, anygp_error *e)
{
    scorer *r = NULL;
    TRY(scorer_new(g, 1e8, false, &r, e));
    held_walk w = {g, weights, take_score, r};
    anygp_status status = walk_held(&w, data, s, share, e);
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, scores, e);
    scorer_free(r);
    if (!ANYGP_FAILED(status) && scores->count <= 1)
        status = fail_with(e, ANYGP_ERR_DATA, "no row with a target was held out");
    return status;
}

void valid_score_held_out(gp *g, const gp_data *data, int64_t weights, double share, const settings *s)
{
    anygp_error why;
    gp_scores scores = {0};
    if (comm_world()->rank != 0) return;
    if (ANYGP_FAILED(score_held(g, data, weights, share, s, &scores, &why)))
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", why.text);
    else
        g->valid = scores;
}

void valid_score_file(gp_set *m, const settings *s)
{
    anygp_error why;
    gp_scores *scores = mem_zeroed(m->targets, sizeof *scores);
    if (scores && !ANYGP_FAILED(gp_eval_file(m, s, settings_text(s, SET_VALID), "", scores, &why)))
        for (int64_t k = 0; k < m->targets; k++) m->gp[k]->valid = scores[k];
    else
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", scores ? why.text : "not enough memory");
    free(scores);
}

/* -------------------------------------------------------------------------- scores on the way */

enum { VALID_MOST = 20000 };

struct valid_rows {
    int64_t n, inputs;
    int64_t offered; /* rows that could be used: VALID_MOST of them are kept, each with the same chance */
    uint64_t seed;
    const schema *schema;
    double *row, *y, *w, *exposure;
};

void valid_rows_free(valid_rows *v)
{
    if (!v) return;
    free(v->row);
    free(v->y);
    free(v->w);
    free(v->exposure);
    free(v);
}

/* Rows that cannot be predicted are for the final scores to complain of. */
static bool usable(const schema *c, const labelled_row *r)
{
    bool ok = isfinite(r->y) && r->weight > 0 && isfinite(r->weight) && !intake_exposure(r->exposure);
    for (int64_t j = 0; j < c->inputs && ok; j++)
        ok = c->input[j].position < 0 || isfinite(r->row[j]) || (c->fill_missing && isnan(r->row[j]));
    return ok;
}

/* Sampling from a stream of unknown length (Vitter 1985, algorithm R). */
static anygp_status take_row(void *ctx, const labelled_row *r, anygp_error *e)
{
    valid_rows *v = ctx;
    (void)e;
    if (!usable(v->schema, r)) return ANYGP_OK;
    int64_t k = v->offered++, place = k;
    if (k >= VALID_MOST) place = random_below((random_stream){v->seed, RANDOM_SPLIT, 1}, (uint64_t)k, k + 1);
    if (place >= VALID_MOST) return ANYGP_OK;
    memcpy(v->row + place * v->inputs, r->row, (size_t)v->inputs * sizeof *r->row);
    v->y[place] = r->y, v->w[place] = r->weight, v->exposure[place] = r->exposure;
    v->n = v->offered < VALID_MOST ? v->offered : VALID_MOST;
    return ANYGP_OK;
}

/* The rows of an open file, one by one. */
static anygp_status take_file(binding *b, int64_t weights, valid_rows *v, double *row, anygp_error *e)
{
    int64_t got = 1, target = binding_target(b, 0);
    while (got) {
        const double *cells;
        labelled_row r = {.row = row, .block = -1, .number = binding_row_number(b)};
        TRY(binding_next(b, 1, row, &cells, &got, e));
        if (!got) break;
        TRY(binding_exposure(b, 1, cells, r.number, &r.exposure, e));
        TRY(binding_label(b, 0, cells[target], r.number, &r.y, e));
        r.weight = weights < 0 ? 1 : cells[weights];
        TRY(take_row(v, &r, e));
    }
    return ANYGP_OK;
}

static anygp_status read_valid_file(const gp *g, const settings *s, valid_rows *v, anygp_error *e)
{
    gp *list[1] = {(gp *)g};
    gp_set set = {.targets = 1, .gp = list};
    anygp_status status = ANYGP_OK;
    binding *b = NULL;
    int64_t weights = -1;
    double *row = mem_alloc(v->inputs, sizeof *row);
    if (!row) return fail_memory(e, "a row", 8.0 * (double)v->inputs);
    TRY_DONE(binding_open(&set, settings_text(s, SET_VALID), s, &b, e));
    if (settings_given(s, SET_WEIGHTS)) TRY_DONE(binding_column(b, settings_text(s, SET_WEIGHTS), &weights, e));
    if (binding_target(b, 0) < 0) {
        status = fail_with(e, ANYGP_ERR_DATA, "valid: %.200s has no target column", settings_text(s, SET_VALID));
        goto done;
    }
    status = take_file(b, weights, v, row, e);
done:
    binding_close(b);
    free(row);
    return status;
}

anygp_status valid_rows_read(const gp *g, const gp_data *data, int64_t weights, double share, const settings *s,
                             valid_rows **out, anygp_error *e)
{
    *out = NULL;
    bool file = settings_given(s, SET_VALID) && strcmp(settings_text(s, SET_VALID), "-");
    if ((share <= 0 && !file) || comm_world()->rank != 0) return ANYGP_OK;
    valid_rows *v = calloc(1, sizeof *v);
    if (!v) return fail_memory(e, "the validation rows", sizeof *v);
    v->inputs = g->schema.inputs, v->schema = &g->schema, v->seed = seed_of(s);
    v->row = mem_doubles(VALID_MOST, v->inputs);
    v->y = mem_alloc(VALID_MOST, sizeof(double));
    v->w = mem_alloc(VALID_MOST, sizeof(double));
    v->exposure = mem_alloc(VALID_MOST, sizeof(double));
    anygp_status status = ANYGP_OK;
    if (!v->row || !v->y || !v->w || !v->exposure)
        status = fail_memory(e, "the validation rows", 8.0 * VALID_MOST * (double)(v->inputs + 3));
    else if (share > 0)
        status = walk_held(&(held_walk){g, weights, take_row, v}, data, s, share, e);
    else
        status = read_valid_file(g, s, v, e);
    if (ANYGP_FAILED(status) || v->n == 0)
        valid_rows_free(v);
    else
        *out = v;
    return status;
}

anygp_status valid_rows_score(const valid_rows *v, const gp *g, train_scores *out, anygp_error *e)
{
    scorer *r = NULL;
    gp_scores scores = {0};
    *out = train_scores_none();
    TRY(scorer_new(g, 1e8, false, &r, e));
    anygp_status status = ANYGP_OK;
    for (int64_t i = 0; i < v->n && !ANYGP_FAILED(status); i++)
        status = scorer_add(r, &(labelled_row){v->row + i * v->inputs, v->y[i], v->exposure[i], v->w[i], i, -1}, e);
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, &scores, e);
    scorer_free(r);
    for (int i = 0; i < scores.count; i++) {
        if (!strcmp(scores.list[i].name, "rmse")) out->rmse = scores.list[i].value;
        if (!strcmp(scores.list[i].name, "mnlp")) out->mnlp = scores.list[i].value;
        if (!strcmp(scores.list[i].name, "mell")) out->mell = scores.list[i].value;
    }
    return status;
}
