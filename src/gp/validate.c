/* --valid: the scores on rows held out, or on a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "gp/fit.h"

static const double SCORER_BYTES = 1e8;

static uint64_t seed_of(const settings *s) { return (uint64_t)settings_integer(s, SET_SEED); }

void valid_score_file(gp_set *m, const settings *s)
{
    anygp_error why;
    gp_scores *scores = mem_zeroed(m->targets, sizeof *scores);
    if (scores && !ANYGP_FAILED(gp_eval_file(m, s, comm_self(), settings_text(s, SET_VALID), "", scores, NULL, &why)))
        for (int64_t k = 0; k < m->targets; k++) m->gp[k]->valid = scores[k];
    else
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", scores ? why.text : "not enough memory");
    free(scores);
}

/* ------------------------------------------------------------------------------ rows of the training file */

/* The conversion of those rows of the data whose number is from hold_out up to below. */
static anygp_status units_of_part(const gp *g, const gp_data *data, int64_t weights, uint64_t seed, double hold_out,
                                  double below, row_units *u, anygp_error *e)
{
    row_places p = {.columns = data->table->columns,
                    .target = g->schema.target_number,
                    .weights = weights,
                    .exposure = g->schema.exposure,
                    .scored = true,
                    .hold_out = hold_out,
                    .below = below,
                    .seed = seed};
    return gp_row_units(g, &p, u, e);
}

typedef struct part_score {
    row_units units;
    scorer *scorer;
    int64_t *scored; /* or NULL */
} part_score;

static anygp_status score_row(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    part_score *p = ctx;
    if (p->scored) {
        if (row_units_use(&p->units, number, row) != ROW_USED) return ANYGP_OK;
        ++*p->scored;
    }
    return scorer_take(p->scorer, &p->units, number, row, -1, e);
}

anygp_status valid_score_part(const gp *g, const gp_data *data, int64_t weights, uint64_t seed, double hold_out,
                              double below, int64_t *scored, gp_scores *out, anygp_error *e)
{
    part_score p = {.scored = scored};
    anygp_status status;
    if (scored) *scored = 0;
    TRY(units_of_part(g, data, weights, seed, hold_out, below, &p.units, e));
    TRY_DONE(scorer_new(g, comm_self(), SCORER_BYTES, false, &p.scorer, e));
    TRY_DONE(gp_data_walk(data, score_row, &p, e));
    TRY_DONE(scorer_finish(p.scorer, out, e));
done:
    scorer_free(p.scorer);
    row_units_clear(&p.units);
    return status;
}

/* -------------------------------------------------------------------------- scores on the way */

enum { VALID_MOST = 20000, FIRST_PIECE = 32 };

struct valid_rows {
    int64_t n, D;
    int64_t offered; /* rows that could be used: VALID_MOST of them are kept, each with the same chance */
    uint64_t seed;
    double *X, *y, *w, *exposure; /* X in model units, y in data units */
    int64_t *number;              /* of the row, from 0 */
};

void valid_rows_free(valid_rows *v)
{
    if (!v) return;
    free(v->X);
    free(v->y);
    free(v->w);
    free(v->exposure);
    free(v->number);
    free(v);
}

/* Sampling from a stream of unknown length (Vitter 1985, algorithm R).  Rows that cannot be predicted are left for the final scores
   to report. */
static void offer_row(valid_rows *v, const row_units *u, int64_t number, const double *row)
{
    double y[2] = {0, 1};
    if (row_units_use(u, number, row) != ROW_USED) return;
    int64_t k = v->offered++, place = k;
    if (k >= VALID_MOST) place = random_below((random_stream){v->seed, RANDOM_SPLIT, 1}, (uint64_t)k, k + 1);
    if (place >= VALID_MOST) return;
    row_units_convert(u, row, v->X + place * v->D, y, v->w + place);
    v->y[place] = y[0], v->exposure[place] = y[1], v->number[place] = number;
    v->n = v->offered < VALID_MOST ? v->offered : VALID_MOST;
}

typedef struct row_offer {
    valid_rows *rows;
    row_units units;
} row_offer;

static anygp_status offer(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    row_offer *o = ctx;
    (void)e;
    offer_row(o->rows, &o->units, number, row);
    return ANYGP_OK;
}

static anygp_status take_share(const gp *g, const gp_data *data, int64_t weights, double share, valid_rows *v,
                               anygp_error *e)
{
    row_offer o = {.rows = v};
    TRY(units_of_part(g, data, weights, v->seed, 0, share, &o.units, e));
    anygp_status status = gp_data_walk(data, offer, &o, e);
    row_units_clear(&o.units);
    return status;
}

static anygp_status take_file(const gp *g, const settings *s, valid_rows *v, anygp_error *e)
{
    enum { CHUNK = 256 };
    gp *list[1] = {(gp *)g};
    gp_set set = {.targets = 1, .gp = list};
    anygp_status status = ANYGP_OK;
    binding *b = NULL;
    int64_t got = 1;
    TRY(binding_open(&set, settings_text(s, SET_VALID), s, &b, e));
    TRY_DONE(binding_labels(b, true, "to score against", e));
    while (got) {
        const double *cells;
        int64_t first = binding_row_number(b);
        TRY_DONE(binding_next(b, CHUNK, &cells, &got, e));
        for (int64_t i = 0; i < got; i++) offer_row(v, binding_units(b, 0), first + i, cells + i * binding_columns(b));
    }
done:
    binding_close(b);
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
    v->D = g->schema.D, v->seed = seed_of(s);
    v->X = mem_doubles(VALID_MOST, v->D);
    v->y = mem_alloc(VALID_MOST, sizeof(double));
    v->w = mem_alloc(VALID_MOST, sizeof(double));
    v->exposure = mem_alloc(VALID_MOST, sizeof(double));
    v->number = mem_alloc(VALID_MOST, sizeof *v->number);
    anygp_status status = ANYGP_OK;
    if (!v->X || !v->y || !v->w || !v->exposure || !v->number)
        status = fail_memory(e, "the validation rows", 8.0 * VALID_MOST * (double)(v->D + 4));
    else
        status = share > 0 ? take_share(g, data, weights, share, v, e) : take_file(g, s, v, e);
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
            TRY(scorer_add(r, &(labelled_row){v->X + j * v->D, v->y[j], v->exposure[j], v->w[j], v->number[j], -1}, e));
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
    TRY(scorer_new(g, comm_self(), SCORER_BYTES, false, &r, e));
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
                          gp_score_named(&scores, "mell"), gp_score_named(&scores, "coverage95")};
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- the last score */

/* All rows that rows_held() takes, in their order. */
static anygp_status score_all(const fit_task *f, const gp *g, double share, gp_scores *scores, anygp_error *e)
{
    return valid_score_part(g, f->data, f->columns->weights, seed_of(f->s), 0, share, NULL, scores, e);
}

/* In a run with a time limit, those that there is time for. */
static anygp_status score_in_time(const fit_task *f, const gp *g, double share, gp_scores *scores, anygp_error *e)
{
    valid_rows *v = NULL;
    int64_t scored = 0;
    deadline until = {f->began, f->limit, NULL};
    TRY(valid_rows_read(g, f->data, f->columns->weights, share, f->s, &v, e));
    anygp_status status = v ? score_some(v, g, &until, scores, &scored, e) : ANYGP_OK;
    if (v && !ANYGP_FAILED(status) && scored < v->n)
        settings_log(f->s, ANYGP_NOTE, "there was time to score %lld of %lld rows, taken at random", (long long)scored,
                     (long long)v->n);
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
    g->held_out = f->hold_out;
    if (comm_world()->rank != 0) return;
    if (f->hold_out > 0 && score_share(f, g, f->hold_out, &g->valid)) return;
    if (f->valid == VALID_AUTO && g->loo.count == 0) score_share(f, g, fmin(1, VALID_AUTO_MOST / n), &g->training);
}
