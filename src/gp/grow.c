/* --inducing auto; see fit_blocks.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/plain.h"
#include "gp/auto.h"
#include "gp/fit_blocks.h"
#include "gp/shares.h"
#include "inducing/choose.h"

static const double CLOSE = 0.01, /* nats per row: a smaller gain or gap counts as none */
    PART =
        0.25, /* of a climb, from places that are good already, is better than none; steps begin anew, and need all of it */
    DEARER = 4.5; /* times the seconds of a stage are needed for the next */

/* ---------------------------------------------------------------------------------------- decision */

static bool ends_by_value(const grow_stage *before, const grow_stage *now, char *why, size_t size)
{
    if (now->gap < CLOSE) return snprintf(why, size, "the bound is within %.2g per row of the log evidence", now->gap);
    if (before && now->value - before->value < CLOSE)
        return snprintf(why, size, "the last ones gained %.2g per row", now->value - before->value);
    return false;
}

static bool ends_by_budget(const grow_stage *now, char *why, size_t size)
{
    double next = DEARER * now->seconds;
    if (now->inducing >= GROW_MOST) return snprintf(why, size, "that is the most auto goes to");
    if (now->inducing >= now->places) return snprintf(why, size, "the rows have no more different places");
    if (now->bytes > now->allowed)
        return snprintf(why, size, "twice as many would need %.2g GB, more than there is", now->bytes / 1e9);
    if (now->worth * next > now->left)
        return snprintf(why, size, "twice as many would take about %.*g s, and %.*g s are left", plain_digits(next, 3),
                        next, plain_digits(now->left, 3), fmax(now->left, 0));
    return false;
}

bool grow_ends(const grow_stage *before, const grow_stage *now, char *why, size_t size)
{
    if (now->stopped) return snprintf(why, size, "the run was ended");
    return ends_by_value(before, now, why, size) || ends_by_budget(now, why, size);
}

/* ------------------------------------------------------------------------------------------ stages */

/* Rows the objective is a total of, once for each target. */
static double rows_of(const block_fit *b) { return b->result.rows * (double)b->f->together; }

/* Log density per held-out row, or else the objective per row. */
static double value_of(const block_fit *b)
{
    train_scores held;
    if (b->valid && !ANYGP_FAILED(valid_rows_score(b->valid, b->g, NULL, &held, NULL)) && isfinite(held.mnlp))
        return -held.mnlp;
    return b->result.objective / rows_of(b);
}

/* The upper bound of all targets on the objective per row and target; NaN: there is none. */
static double gap_of(const block_fit *b)
{
    double upper = 0;
    for (int64_t t = 0; t < b->f->together; t++) upper += b->all[t]->bounds.upper;
    return (upper - b->result.objective) / rows_of(b);
}

static double bytes_of_twice(const block_fit *b)
{
    problem p = {.rows = &b->distinct,
                 .mean = &b->mean,
                 .subset = 2 * b->M,
                 .likelihood = b->f->like,
                 .targets = b->f->together,
                 .blocks = b->blocks};
    return model_bytes(b->g->model, &p);
}

/* Places drawn are functions of their number: the first M of them are those there were, unless these have been learned. */
static anygp_status draw_more(block_fit *b, int64_t twice, double *Z, int64_t *count, anygp_error *e)
{
    const hyper *h = &b->h;
    TRY(h->kind->draw(h->kernel, choice_select(&b->f->choice, b->f->s), b->part.seed, *count = twice, Z, e));
    memcpy(Z, h->Z, (size_t)(h->M * h->D) * sizeof *Z);
    return ANYGP_OK;
}

static int64_t places_there_are(const block_fit *b) { return b->h.kind->draw ? INT64_MAX : b->distinct.n; }

static grow_stage look_at(const block_fit *b, double began)
{
    double now = clock_seconds();
    return (grow_stage){.inducing = b->M,
                        .value = value_of(b),
                        .gap = gap_of(b),
                        .seconds = now - began,
                        .worth = b->g->model->steps ? 1 : PART,
                        .left = b->f->limit - (now - b->f->began),
                        .bytes = bytes_of_twice(b),
                        .allowed = (1 - ROWS_SHARE) * settings_memory(b->f->s),
                        .places = places_there_are(b),
                        .stopped = b->result.status != ANYGP_OK};
}

/* Twice the inducing inputs; *grew: or as many as there are places for. */
static anygp_status add_places(block_fit *b, bool *grew, anygp_error *e)
{
    const merged *m = &b->distinct;
    int64_t M = b->h.M, D = m->D, most = places_there_are(b), twice = 2 * M < most ? 2 * M : most, count = M;
    double *Z = mem_doubles(twice, D);
    if (!Z) return fail_memory(e, "the inducing inputs", 8.0 * (double)twice * (double)D);
    memcpy(Z, b->h.Z, (size_t)(M * D) * sizeof *Z);
    anygp_status status = b->h.kind->draw
                              ? draw_more(b, twice, Z, &count, e)
                              : choose_more(m->n, D, m->X, b->h.kernel, M, twice - M, b->part.seed, Z, &count, e);
    *grew = !ANYGP_FAILED(status) && count > M;
    if (*grew) status = hyper_set_inducing(&b->h, count, D, Z, !b->f->choice.fix_inducing, e);
    b->M = count;
    free(Z);
    return status;
}

/* What the next stage makes anew. */
static void forget(block_fit *b)
{
    train_result_clear(&b->result);
    for (int64_t t = 0; t < b->f->together; t++) {
        gp *g = b->all[t];
        if (g->posterior) g->posterior->ops->free(g->posterior), g->posterior = NULL;
        schema_clear(&g->schema);
        free(g->likelihood), g->likelihood = NULL;
        free(g->trace), g->trace = NULL, g->steps = 0;
    }
}

static void tell(const block_fit *b, const grow_stage *before, const grow_stage *now)
{
    char gain[48] = "";
    if (before) snprintf(gain, sizeof gain, ", %.2g more", now->value - before->value);
    settings_log(b->f->s, ANYGP_NOTE, "inducing auto: %lld %s, %s %.4g per row%s, %.*g s", (long long)now->inducing,
                 b->h.kind->nouns, b->valid ? "log density of held-out rows" : "objective", now->value, gain,
                 plain_digits(now->seconds, 3), now->seconds);
}

/* Rank 0 decides: it has the clock and the held-out rows. */
static anygp_status decide(const block_fit *b, const grow_stage *before, const grow_stage *now, bool *ends,
                           anygp_error *e)
{
    const comm *c = comm_world();
    char why[120];
    *ends = grow_ends(before, now, why, sizeof why);
    if (c->rank == 0) tell(b, before, now);
    if (c->rank == 0 && *ends)
        settings_log(b->f->s, ANYGP_NOTE, "inducing auto: it stops at %lld, since %s", (long long)now->inducing, why);
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, sizeof *ends, ends, e);
}

anygp_status grow_run(block_fit *b, anygp_error *e)
{
    grow_stage before = {0}, now;
    if (!isfinite(b->f->limit)) b->f->limit = auto_seconds_default();
    for (bool first = true, ends = false, grew = true; grew; first = false, before = now) {
        double began = clock_seconds();
        TRY(block_fit_train(b, e));
        b->M = b->h.M;
        now = look_at(b, began);
        TRY(decide(b, first ? NULL : &before, &now, &ends, e));
        if (ends) return ANYGP_OK;
        TRY(add_places(b, &grew, e));
        if (grew) forget(b);
        b->f->started = true;
    }
    return ANYGP_OK;
}
