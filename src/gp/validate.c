/* --valid: a share of the rows that is held out, or a file, and the scores on it. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/random.h"
#include "gp/fit.h"

anygp_status valid_hold_out(const table *t, const settings *s, bool **held, anygp_error *e)
{
    const char *text = settings_text(s, SET_VALID);
    char *end;
    c_locale l = c_locale_enter();
    double share = strtod(text, &end);
    c_locale_leave(l);
    int64_t left = 0;
    *held = NULL;
    if (end == text || *end) return ANYGP_OK;
    if (!(share > 0 && share < 1))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "valid: %.40s is not a file, nor a fraction between 0 and 1", text);
    if (!(*held = mem_zeroed(t->rows, sizeof **held))) return fail_memory(e, "the held-out rows", (double)t->rows);
    random_stream r = {(uint64_t)settings_integer(s, SET_SEED), RANDOM_SPLIT, 0};
    for (int64_t i = 0; i < t->rows; i++) {
        (*held)[i] = random_uniform(r, (uint64_t)i) < share;
        left += !(*held)[i];
    }
    if (left > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "valid: all %lld rows were held out; hold out a smaller share",
                     (long long)t->rows);
}

anygp_status valid_check_file(const settings *s, const bool *held, anygp_error *e)
{
    const char *path = settings_text(s, SET_VALID);
    reader *r = NULL;
    read_options o = READ_DEFAULTS;
    if (!*path || held || !strcmp(path, "-")) return ANYGP_OK;
    anygp_status status = reader_open(path, &o, &r, e);
    reader_close(r);
    return status;
}

static anygp_status score_rows(const gp *g, const table *t, int64_t weights, const bool *held, gp_scores *scores,
                               anygp_error *e)
{
    const schema *c = &g->schema;
    scorer *r = NULL;
    double *row = mem_alloc(c->inputs, sizeof *row);
    anygp_status status = row ? scorer_new(g, 1e8, false, &r, e) : fail_memory(e, "a row", 8.0 * (double)c->inputs);
    for (int64_t i = 0; i < t->rows && !ANYGP_FAILED(status); i++) {
        const double *cells = t->values + i * t->cols;
        if (!held[i]) continue;
        for (int64_t j = 0; j < c->inputs; j++) row[j] = cells[c->input[j].number];
        status = scorer_add(r, row, cells[c->target_number], weights < 0 ? 1 : cells[weights], i, e);
    }
    if (!ANYGP_FAILED(status)) status = scorer_finish(r, scores, e);
    scorer_free(r);
    free(row);
    if (!ANYGP_FAILED(status) && scores->count <= 1)
        status = fail_with(e, ANYGP_ERR_DATA, "no row with a target was held out");
    return status;
}

void valid_score_held_out(gp *g, const table *t, int64_t weights, const bool *held, const settings *s)
{
    anygp_error why;
    gp_scores scores = {0};
    if (ANYGP_FAILED(score_rows(g, t, weights, held, &scores, &why)))
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", why.text);
    else
        g->valid = scores;
}

void valid_score_file(gp_set *m, const settings *s)
{
    anygp_error why;
    gp_scores *scores = mem_zeroed(m->targets, sizeof *scores);
    if (scores && !ANYGP_FAILED(gp_eval_file(m, s, settings_text(s, SET_VALID), scores, &why)))
        for (int64_t k = 0; k < m->targets; k++) m->gp[k]->valid = scores[k];
    else
        settings_log(s, ANYGP_WARNING, "no validation scores: %s", scores ? why.text : "not enough memory");
    free(scores);
}
