/* Short fits of the candidates, on all rows but a few, which they are scored on.  A random subset would thin the rows, and be
   unfair to models that live on near neighbours; so there are all rows, few inducing inputs and few iterations.  One search for
   hyperparameters on a subset serves all of them.  The work is fixed: with the same seed the scores are the same to the last bit,
   whatever else the machine does; the time limit is far off. */
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

/* Share of all rows that short fits do not see: the user's, and the race's of the rest. */
static double hidden(const race *r) { return r->f->hold_out + (1 - r->f->hold_out) * r->plan->held; }

/* On rows of the race's share that are not in the user's: those are for the scores of the result. */
static anygp_status score_fit(const race *r, const gp *g, auto_score *out, anygp_error *e)
{
    const fit_task *f = r->f;
    gp_scores scores = {0};
    anygp_status status = valid_score_part(g, f->data, f->columns->weights, (uint64_t)settings_integer(f->s, SET_SEED),
                                           f->hold_out, hidden(r), &r->out->held, &scores, e);
    *out = (auto_score){.rmse = gp_score_named(&scores, "rmse"), .mnlp = gp_score_named(&scores, "mnlp")};
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

/* One short fit of p's model from the hyperparameters of `start`, or, where that is NULL, from a search for them only. */
static anygp_status short_fit(race *r, const auto_plan *p, int64_t passes, posterior *start, gp **g, anygp_error *e)
{
    fit_task some = *r->f;
    auto_plan small = *p;
    small.sets[0] = r->plan->inducing, small.sets[1] = 0, small.set_count = model_has_inducing(p->model);
    small.part = model_over_parts(p->model) ? r->plan->part : 0;
    some.s = r->quiet, some.hooks = NULL, some.target = 0, some.together = 1;
    some.hold_out = hidden(r);
    some.start = start, some.start_only = !start;
    auto_apply(&some, &small);
    some.iterations = start ? auto_race_iterations(r->facts, p->model, passes) : 0; /* the search has its own */
    some.limit = fmax(r->ends - clock_seconds(), 0);
    return fit_some(&some, g, e);
}

/* The hyperparameters all begin with: from a model that does not move its noise to make up for few inducing inputs. */
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
    /* Data that no model can take are left for the fit to report. */
    if (!ANYGP_FAILED(find_start(&r, &start, &why))) status = run(&r, list, count, start, e);
    for (int i = 0; i < count; i++)
        if (r.of[i]) r.of[i]->ops->free(r.of[i]);
    gp_free(start);
    settings_free(r.quiet);
    return status;
}
