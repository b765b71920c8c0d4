/* The scores of new rows under the model before them (update_score.h). */
#include "gp/update_score.h"

#include <stdlib.h>

#include "base/memory.h"

static anygp_status open_scorers(update_score *u, const settings *s, const char *in, binding *b, anygp_error *e)
{
    int64_t T = u->m->targets;
    if (!(u->scorer = mem_zeroed(T, sizeof *u->scorer))) return fail_memory(e, "scores", 8.0 * (double)T);
    TRY(binding_score(b, e));
    TRY(block_file_open(u->m, s, settings_text(s, SET_BLOCKS_FROM), in, &u->blocks, e));
    for (int64_t t = 0; t < T; t++)
        TRY(scorer_new(u->m->gp[t], comm_self(), gp_block_budget(s) / (double)T, false, &u->scorer[t], e));
    return ANYGP_OK;
}

void update_score_open(update_score *u, const gp_set *m, const settings *s, const char *in, binding *b)
{
    u->m = m;
    u->fails = ANYGP_FAILED(open_scorers(u, s, in, b, &u->why));
}

static anygp_status take(update_score *u, const binding *b, int64_t n, int64_t first, const double *cells,
                         anygp_error *e)
{
    int64_t wide = binding_columns(b);
    TRY(block_file_next(u->blocks, n, e));
    for (int64_t t = 0; t < u->m->targets; t++) {
        const int64_t *block = block_file_of(u->blocks, t);
        for (int64_t i = 0; i < n; i++)
            TRY(scorer_take(u->scorer[t], binding_scored_units(b, t), first + i, cells + i * wide,
                            block ? block[i] : -1, e));
    }
    return ANYGP_OK;
}

void update_score_rows(update_score *u, const binding *b, int64_t n, int64_t first, const double *cells)
{
    if (u->m && !u->fails) u->fails = ANYGP_FAILED(take(u, b, n, first, cells, &u->why));
}

static void warn_of_drift(const gp_set *m, const settings *s, const gp_scores *scores)
{
    for (int64_t t = 0; t < m->targets; t++) {
        double known, now;
        if (gp_drifted(m->gp[t], &scores[t], &known, &now))
            settings_log(s, ANYGP_WARNING,
                         "the new rows were predicted much worse than those of the fit (%s %.3g, then %.3g): the data "
                         "may have drifted",
                         gp_is_class(m->gp[t]) ? "logloss" : "mnlp", known, now);
    }
}

bool update_score_finish(update_score *u, const settings *s, gp_scores *scores)
{
    for (int64_t t = 0; t < u->m->targets && !u->fails; t++)
        u->fails = ANYGP_FAILED(scorer_finish(u->scorer[t], &scores[t], &u->why));
    if (u->fails)
        settings_log(s, ANYGP_NOTE, "no score for the new rows: %.400s", u->why.text);
    else
        warn_of_drift(u->m, s, scores);
    return !u->fails;
}

void update_score_clear(update_score *u)
{
    for (int64_t t = 0; u->scorer && t < u->m->targets; t++) scorer_free(u->scorer[t]);
    free(u->scorer);
    block_file_close(u->blocks);
    *u = (update_score){0};
}
