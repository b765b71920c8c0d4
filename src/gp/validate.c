/* --valid: a share of the rows that is held out, or a file, and the scores on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/intake.h"
#include "gp/fit.h"

static uint64_t seed_of(const settings *s) { return (uint64_t)settings_integer(s, SET_SEED); }

anygp_status valid_parse(const settings *s, valid_kind *kind, double *share, anygp_error *e)
{
    const char *text = settings_text(s, SET_VALID);
    char *end;
    c_locale l = c_locale_enter();
    double value = strtod(text, &end);
    c_locale_leave(l);
    *share = 0;
    *kind = !strcmp(text, "auto") ? VALID_AUTO : !*text || !strcmp(text, "none") ? VALID_NONE : VALID_FILE;
    if (*kind != VALID_FILE || end == text || *end) return ANYGP_OK;
    if (!(value >= 0 && value < 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "valid: %.40s is not a file, nor a fraction between 0 and 1", text);
    *kind = value > 0 ? VALID_SHARE : VALID_NONE, *share = value;
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------- what auto holds out */

enum { AUTO_LEAST = 50, AUTO_MOST = 1000, AUTO_SOME = 100 };
static const double GROW_HELD = 0.05; /* of the rows */

double valid_auto_rows(double n)
{
    if (n < AUTO_LEAST) return 0;
    return n < 10 * AUTO_SOME ? n / 10 : fmin(AUTO_MOST, fmax(AUTO_SOME, n / 20));
}

/* Rows that have a target, or of a file all. */
static double rows_with_target(const fit_task *f)
{
    const table *t = f->data->table;
    double count = 0;
    if (f->data->file) return (double)rows_count(f->data->file);
    for (int64_t i = 0; i < t->rows; i++) count += !isnan(t->values[i * t->cols + f->columns->target[0]]);
    return count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether every class that a held-out row of the table has is left among the others: a model would not know it else. */
static anygp_status classes_stay(const fit_task *f, double share, bool *stay, anygp_error *e)
{
    const table *t = f->data->table;
    int64_t held = 0, found = 0;
    bool *seen = mem_zeroed(t->rows, sizeof *seen);
    double *label = mem_alloc(t->rows, sizeof *label);
    anygp_status status = seen && label ? ANYGP_OK : fail_memory(e, "the held-out rows", 9.0 * (double)t->rows);
    for (int pass = 0; pass < 2 && !ANYGP_FAILED(status); pass++) {
        for (int64_t i = 0; i < t->rows; i++) {
            double y = t->values[i * t->cols + f->columns->target[f->target]];
            bool out = rows_held(seed_of(f->s), i, share);
            if (isnan(y) || out != (pass == 0)) continue;
            double *at = pass == 0 ? NULL : bsearch(&y, label, (size_t)held, sizeof y, by_value);
            if (pass == 0) label[held++] = y;
            if (at) found += !seen[at - label], seen[at - label] = true;
        }
        if (pass > 0) break;
        qsort(label, (size_t)held, sizeof *label, by_value);
        int64_t different = 0;
        for (int64_t k = 0; k < held; k++)
            if (k == 0 || label[k] != label[different - 1]) label[different++] = label[k];
        held = different;
    }
    *stay = found == held;
    free(seen);
    free(label);
    return status;
}

/* A block that the user named must not lose its last row, nor a class: then nothing is held out. */
static anygp_status settle_auto(fit_task *f, anygp_error *e)
{
    double n = rows_with_target(f), share = n > 0 ? valid_auto_rows(n) / n : 0;
    bool classes = f->choice.like.ops->target == TARGET_CLASS && !f->data->file, stay = true;
    if (f->choice.model->loo || settings_given(f->s, SET_BLOCKS_FROM)) return ANYGP_OK;
    for (f->target = 0; classes && share > 0 && stay && f->target < f->columns->targets; f->target++)
        TRY(classes_stay(f, share, &stay, e));
    f->target = 0;
    if (!stay)
        settings_log(f->s, ANYGP_NOTE,
                     "no rows are held out for a score, since a class would have none left to learn from");
    else
        f->hold_out = share;
    return ANYGP_OK;
}

/* What grows by steps has to be scored on the way. */
static void settle_growth(fit_task *f)
{
    if (!f->choice.grow || !f->choice.model->steps || f->valid == VALID_FILE || f->valid == VALID_SHARE) return;
    f->hold_out = GROW_HELD;
    settings_log(f->s, ANYGP_NOTE, "%.0f %% of the rows are held out to see how many inducing inputs are enough",
                 100 * GROW_HELD);
}

anygp_status valid_settle(fit_task *f, anygp_error *e)
{
    if (f->valid == VALID_AUTO) TRY(settle_auto(f, e));
    settle_growth(f);
    return f->data->file ? ANYGP_OK : valid_hold_out(f->data->table, f->s, f->hold_out, &f->held, e);
}

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

anygp_status valid_check_file(const settings *s, anygp_error *e)
{
    const char *path = settings_text(s, SET_VALID);
    reader *r = NULL;
    read_options o = gp_side_options(s);
    if (!strcmp(path, "-")) return ANYGP_OK;
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

enum { VALID_MOST = 20000, FIRST_PIECE = 32 };

struct valid_rows {
    int64_t n, inputs;
    int64_t offered; /* rows that could be used: VALID_MOST of them are kept, each with the same chance */
    uint64_t seed;
    const schema *schema;
    double *row, *y, *w, *exposure;
    int64_t *number; /* of the row, from 0 */
};

void valid_rows_free(valid_rows *v)
{
    if (!v) return;
    free(v->row);
    free(v->y);
    free(v->w);
    free(v->exposure);
    free(v->number);
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
    v->y[place] = r->y, v->w[place] = r->weight, v->exposure[place] = r->exposure, v->number[place] = r->number;
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
    valid_kind kind;
    double given;
    TRY(valid_parse(s, &kind, &given, e));
    bool file = kind == VALID_FILE && strcmp(settings_text(s, SET_VALID), "-");
    if ((share <= 0 && !file) || comm_world()->rank != 0) return ANYGP_OK;
    valid_rows *v = calloc(1, sizeof *v);
    if (!v) return fail_memory(e, "the validation rows", sizeof *v);
    v->inputs = g->schema.inputs, v->schema = &g->schema, v->seed = seed_of(s);
    v->row = mem_doubles(VALID_MOST, v->inputs);
    v->y = mem_alloc(VALID_MOST, sizeof(double));
    v->w = mem_alloc(VALID_MOST, sizeof(double));
    v->exposure = mem_alloc(VALID_MOST, sizeof(double));
    v->number = mem_alloc(VALID_MOST, sizeof *v->number);
    anygp_status status = ANYGP_OK;
    if (!v->row || !v->y || !v->w || !v->exposure || !v->number)
        status = fail_memory(e, "the validation rows", 8.0 * VALID_MOST * (double)(v->inputs + 4));
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

/* In growing pieces of rows, in a random order, as long as the next one ends in time; the first one always does. */
static anygp_status score_rows(const valid_rows *v, scorer *r, const deadline *until, int64_t *scored, anygp_error *e)
{
    random_stream order = {v->seed, RANDOM_SPLIT, 2};
    bool limited = isfinite(deadline_left(until));
    double row = 0; /* seconds */
    for (int64_t i = 0, piece = limited ? FIRST_PIECE : v->n, n; i < v->n; i += n, piece *= 2) {
        double began = clock_seconds(), fit = i > 0 ? deadline_left(until) / row : (double)v->n;
        if (fit < (double)(FIRST_PIECE / 2)) break;
        n = fmin((double)(v->n - i < piece ? v->n - i : piece), fit);
        for (int64_t k = i; k < i + n; k++) {
            int64_t j = limited ? random_shuffled(order, v->n, k) : k;
            TRY(scorer_add(
                r, &(labelled_row){v->row + j * v->inputs, v->y[j], v->exposure[j], v->w[j], v->number[j], -1}, e));
        }
        if (limited) TRY(scorer_flush(r, e));
        *scored = i + n;
        row = (clock_seconds() - began) / (double)n;
    }
    return ANYGP_OK;
}

static anygp_status score_some(const valid_rows *v, const gp *g, const deadline *until, gp_scores *scores,
                               int64_t *scored, anygp_error *e)
{
    scorer *r = NULL;
    TRY(scorer_new(g, 1e8, false, &r, e));
    anygp_status status = score_rows(v, r, until, scored, e);
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, scores, e);
    scorer_free(r);
    return status;
}

anygp_status valid_rows_score(const valid_rows *v, const gp *g, const deadline *until, train_scores *out,
                              anygp_error *e)
{
    gp_scores scores = {0};
    int64_t scored = 0;
    *out = train_scores_none();
    TRY(score_some(v, g, until, &scores, &scored, e));
    *out = (train_scores){gp_score_named(&scores, "rmse"), gp_score_named(&scores, "mnlp"),
                          gp_score_named(&scores, "mell")};
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- the last score */

static anygp_status take_score(void *ctx, const labelled_row *row, anygp_error *e) { return scorer_add(ctx, row, e); }

/* All of the rows that rows_held() takes, as they come. */
static anygp_status score_all(const fit_task *f, const gp *g, double share, gp_scores *scores, anygp_error *e)
{
    scorer *r = NULL;
    TRY(scorer_new(g, 1e8, false, &r, e));
    held_walk w = {g, f->columns->weights, take_score, r};
    anygp_status status = walk_held(&w, f->data, f->s, share, e);
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, scores, e);
    scorer_free(r);
    return status;
}

/* Of a run with a time limit those that it has time for. */
static anygp_status score_in_time(const fit_task *f, const gp *g, double share, gp_scores *scores, anygp_error *e)
{
    valid_rows *v = NULL;
    int64_t scored = 0;
    deadline until = {f->began, f->limit};
    TRY(valid_rows_read(g, f->data, f->columns->weights, share, f->s, &v, e));
    anygp_status status = v ? score_some(v, g, &until, scores, &scored, e) : ANYGP_OK;
    if (v && !ANYGP_FAILED(status) && scored < v->n)
        settings_log(f->s, ANYGP_NOTE, "the time sufficed to score %lld of %lld rows, taken at random",
                     (long long)scored, (long long)v->n);
    valid_rows_free(v);
    return status;
}

static bool score_share(const fit_task *f, const gp *g, double share, gp_scores *out)
{
    anygp_error why;
    gp_scores scores = {0};
    anygp_status status = (isfinite(f->limit) ? score_in_time : score_all)(f, g, share, &scores, &why);
    if (!ANYGP_FAILED(status) && scores.count <= 1)
        status = fail_with(&why, ANYGP_ERR_DATA, "no row with a target was held out");
    if (ANYGP_FAILED(status))
        settings_log(f->s, ANYGP_WARNING, "no validation scores: %s", why.text);
    else
        *out = scores;
    return !ANYGP_FAILED(status);
}

void valid_score(const fit_task *f, gp *g)
{
    double n = (double)f->data->table->rows;
    if (comm_world()->rank != 0) return;
    if (f->hold_out > 0 && score_share(f, g, f->hold_out, &g->valid)) return;
    if (f->valid == VALID_AUTO && g->loo.count == 0) score_share(f, g, fmin(1, AUTO_MOST / n), &g->training);
}
