/* Short fits of the candidates, on all rows but a few, which they are scored on.  A random subset would thin the rows, and be unfair
   to models that live on near neighbours; so there are all rows, few inducing inputs and few iterations.  One search for
   hyperparameters on a subset serves all of them.  The work is fixed: with the same seed the scores are the same to the last bit,
   whatever else the machine does; the limit of time is far off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "gp/auto.h"

typedef struct race {
    const fit_task *f;
    const auto_facts *facts;
    const auto_race *plan;
    settings *quiet; /* those of the fit, but nobody is told */
    double ends;     /* by the clock */
    bool stopped;    /* by the caller */
    posterior *of[AUTO_ENTRANTS_MOST];
    auto_outcome *out;
} race;

/* ------------------------------------------------------------------------------------------ scores */

/* Share of all rows that short fits do not see: the user's, and of the rest the race's. */
static double hidden(const race *r) { return r->f->hold_out + (1 - r->f->hold_out) * r->plan->held; }

/* In the race's share, but not in the user's: those are for the scores of the result. */
static bool held(const race *r, int64_t row)
{
    uint64_t seed = (uint64_t)settings_integer(r->f->s, SET_SEED);
    return rows_held(seed, row, hidden(r)) && !rows_held(seed, row, r->f->hold_out);
}

/* Rows that cannot be predicted do not count. */
static bool usable(const schema *c, const labelled_row *r, const double *inputs)
{
    bool ok = isfinite(r->y) && isfinite(r->weight) && r->weight > 0;
    for (int64_t j = 0; j < c->inputs && ok; j++)
        ok = c->input[j].position < 0 || isfinite(inputs[j]) || (c->fill_missing && isnan(inputs[j]));
    return ok;
}

static anygp_status score_row(const race *r, const schema *c, const double *cells, int64_t number, double *inputs,
                              scorer *s, anygp_error *e)
{
    int64_t weights = r->f->columns->weights;
    labelled_row row = {.row = inputs,
                        .y = cells[c->target_number],
                        .exposure = 1,
                        .weight = weights < 0 ? 1 : cells[weights],
                        .number = number,
                        .block = -1};
    for (int64_t j = 0; j < c->inputs; j++) inputs[j] = cells[c->input[j].number];
    if (!usable(c, &row, inputs)) return ANYGP_OK;
    r->out->held++;
    return scorer_add(s, &row, e);
}

static anygp_status score_rows(const race *r, const gp *g, scorer *s, anygp_error *e)
{
    enum { CHUNK = 4096 };
    const gp_data *data = r->f->data;
    const table *t = data->table;
    anygp_status status = ANYGP_OK;
    double *inputs = mem_alloc(g->schema.inputs, sizeof *inputs);
    double *room = data->file ? rows_room(data->file, CHUNK) : NULL;
    if (!inputs || (data->file && !room)) {
        status = fail_memory(e, "a block of rows", 8.0 * CHUNK * (double)t->cols);
        goto done;
    }
    r->out->held = 0;
    for (int64_t i = 0; i < t->rows; i += CHUNK) {
        int64_t n = t->rows - i < CHUNK ? t->rows - i : CHUNK;
        const double *cells = data->file ? NULL : t->values + i * t->cols;
        if (data->file) TRY_DONE(rows_fetch(data->file, i, n, room, &cells, e));
        for (int64_t k = 0; k < n; k++)
            if (held(r, i + k)) TRY_DONE(score_row(r, &g->schema, cells + k * t->cols, i + k, inputs, s, e));
    }
done:
    free(inputs);
    free(room);
    return status;
}

static anygp_status score_fit(const race *r, const gp *g, auto_score *out, anygp_error *e)
{
    scorer *s = NULL;
    gp_scores scores = {0};
    TRY(scorer_new(g, 1e8, false, &s, e));
    anygp_status status = score_rows(r, g, s, e);
    if (!ANYGP_FAILED(status)) status = scorer_finish(s, &scores, e);
    scorer_free(s);
    for (int i = 0; i < scores.count; i++) {
        if (!strcmp(scores.list[i].name, "rmse")) out->rmse = scores.list[i].value;
        if (!strcmp(scores.list[i].name, "mnlp")) out->mnlp = scores.list[i].value;
    }
    return status;
}

/* Rank 0 has the predictions; all go by its scores.  What cannot be scored has failed. */
static anygp_status agree_on_score(const race *r, const gp *g, auto_score *out, anygp_error *e)
{
    const comm *c = comm_world();
    anygp_error why;
    if (c->rank == 0 && ANYGP_FAILED(score_fit(r, g, out, &why))) out->mnlp = NAN;
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, sizeof *out, out, e);
}

/* -------------------------------------------------------------------------------------- short fits */

/* One short fit of p's model from the hyperparameters of `start`, or, where that is NULL, from a search for them alone. */
static anygp_status short_fit(race *r, const auto_plan *p, int64_t passes, posterior *start, gp **g, anygp_error *e)
{
    fit_task some = *r->f;
    auto_plan small = *p;
    small.sets[0] = r->plan->inducing, small.sets[1] = 0, small.set_count = 1;
    small.part = p->model->partition ? r->plan->part : 0;
    some.s = r->quiet, some.hooks = NULL, some.target = 0, some.together = 1;
    some.hold_out = hidden(r);
    some.start = start, some.start_only = !start;
    auto_apply(&some, &small);
    some.iterations = start ? auto_race_iterations(r->facts, p->model, passes) : 0; /* the search has its own */
    some.limit = fmax(r->ends - clock_seconds(), 0);
    return fit_some(&some, g, e);
}

/* The hyperparameters all begin with: of a model that does not move its noise to make up for few inducing inputs. */
static anygp_status find_start(race *r, gp **g, anygp_error *e)
{
    return short_fit(r, &(auto_plan){.model = &model_fitc}, 0, NULL, g, e);
}

/* What a short fit leaves behind: its posterior, instead of a former one. */
static void keep_posterior(race *r, gp *g, posterior **at)
{
    if (*at) (*at)->ops->free(*at);
    *at = g->posterior, g->posterior = NULL;
    r->out->cut |= g->status != ANYGP_OK;
    r->stopped |= g->status == ANYGP_INTERRUPTED;
    gp_free(g);
}

/* A fit that fails is out of the race, whatever the reason: the others may do. */
static anygp_status enter(race *r, const auto_plan *list, int i, posterior *start, anygp_error *e)
{
    gp *g = NULL;
    anygp_error why;
    auto_score *mine = &r->out->score[i];
    int64_t passes = auto_candidate_of(list[i].model)->race_passes;
    *mine = (auto_score){NAN, NAN};
    if (r->stopped || ANYGP_FAILED(short_fit(r, &list[i], passes, start, &g, &why))) return ANYGP_OK;
    anygp_status status = agree_on_score(r, g, mine, e);
    keep_posterior(r, g, &r->of[i]);
    return status;
}

/* The winner learns on at that size, where that costs little. */
static void polish(race *r, const auto_plan *winner, posterior **start)
{
    gp *g = NULL;
    anygp_error why;
    int64_t passes = auto_polish_passes(r->facts, r->plan, winner->model);
    if (passes > 0 && !r->out->cut && !ANYGP_FAILED(short_fit(r, winner, passes, *start, &g, &why)))
        keep_posterior(r, g, start);
}

/* All of them from one start.  Where there is no telling, the first is taken. */
static anygp_status run(race *r, const auto_plan *list, int count, const gp *start, anygp_error *e)
{
    for (int i = 0; i < count; i++) TRY(enter(r, list, i, start->posterior, e));
    int winner = auto_winner(r->out->score, count, r->out->held);
    if (winner < 0) return ANYGP_OK;
    r->out->ran = true, r->out->winner = winner;
    polish(r, &list[winner], &r->of[winner]);
    r->out->start = r->of[winner], r->of[winner] = NULL;
    return ANYGP_OK;
}

anygp_status auto_race_run(const fit_task *f, const auto_facts *a, const auto_race *plan, const auto_plan *list,
                           int count, double seconds, auto_outcome *out, anygp_error *e)
{
    race r = {f, a, plan, settings_copy(f->s), clock_seconds() + seconds, .out = out};
    gp *start = NULL;
    anygp_error why;
    anygp_status status = ANYGP_OK;
    *out = (auto_outcome){.winner = 0};
    if (!r.quiet) return fail_memory(e, "the settings", 0);
    settings_on_log(r.quiet, NULL, NULL);
    /* Data that no model can take are for the fit to complain of. */
    if (!ANYGP_FAILED(find_start(&r, &start, &why))) status = run(&r, list, count, start, e);
    for (int i = 0; i < count; i++)
        if (r.of[i]) r.of[i]->ops->free(r.of[i]);
    gp_free(start);
    settings_free(r.quiet);
    return status;
}
