/* Scores: of files, of arrays, of the fit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "gp/gp.h"

struct anygp_scores {
    int64_t targets;
    gp_scores *list;
    gp_class_scores *by_class; /* after those of the list */
};

static anygp_scores *scores_new(int64_t targets)
{
    anygp_scores *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->list = mem_zeroed(targets, sizeof *s->list);
    s->by_class = mem_zeroed(targets, sizeof *s->by_class);
    s->targets = targets;
    if (s->list && s->by_class) return s;
    anygp_scores_free(s);
    return NULL;
}

void anygp_scores_free(anygp_scores *s)
{
    if (!s) return;
    for (int64_t t = 0; s->by_class && t < s->targets; t++) gp_class_scores_clear(&s->by_class[t]);
    free(s->by_class);
    free(s->list);
    free(s);
}

/* The handle, if they could be had. */
static anygp_status give(anygp_status status, anygp_scores *r, anygp_scores **out)
{
    if (ANYGP_FAILED(status))
        anygp_scores_free(r);
    else
        *out = r;
    return status;
}

static anygp_status eval_file(const anygp_model *m, const anygp_settings *s, const comm *c, const char *in,
                              anygp_scores **out, anygp_error *e)
{
    NEED(m);
    NEED(in);
    NEED(out);
    *out = NULL;
    anygp_scores *r = scores_new(m->targets);
    if (!r) return fail_memory(e, "scores", 0);
    int former = threads_begin(s);
    anygp_status status = gp_eval_file(m, s, c, in, settings_text(s, SET_BLOCKS_FROM), r->list, r->by_class, e);
    return give(threads_end(former, status), r, out);
}

anygp_status anygp_eval_file(const anygp_model *m, const anygp_settings *s, const char *in, anygp_scores **out,
                             anygp_error *e)
{
    return eval_file(m, s, comm_self(), in, out, e);
}

anygp_status anygp_eval_file_shared(const anygp_model *m, const anygp_settings *s, const char *in, anygp_scores **out,
                                    anygp_error *e)
{
    return eval_file(m, s, comm_world(), in, out, e);
}

anygp_status anygp_update_scored(anygp_model *m, const anygp_settings *s, const char *in, anygp_scores **before,
                                 anygp_error *e)
{
    NEED(m);
    NEED(in);
    NEED(before);
    *before = NULL;
    anygp_scores *r = scores_new(m->targets);
    bool scored = false;
    if (!r) return fail_memory(e, "scores", 0);
    int former = threads_begin(s);
    anygp_status status = threads_end(former, gp_update_file(m, s, in, r->list, &scored, e));
    if (!ANYGP_FAILED(status) && scored)
        *before = r;
    else
        anygp_scores_free(r);
    return status;
}

anygp_status anygp_eval(const anygp_model *m, const anygp_settings *s, int64_t n, const double *X, int64_t ldx,
                        const double *Y, const double *weights, const double *exposure, anygp_scores **out,
                        anygp_error *e)
{
    NEED(out);
    *out = NULL;
    TRY(api_check_rows(m, 0, n, X, ldx, 0, e));
    TRY(api_check_own_exposure(m, n, exposure, e));
    NEED(Y);
    anygp_scores *r = scores_new(m->targets);
    if (!r) return fail_memory(e, "scores", 0);
    int former = threads_begin(s);
    anygp_status status = gp_eval_rows(m, s, n, X, ldx, Y, weights, exposure, r->list, r->by_class, e);
    return give(threads_end(former, status), r, out);
}

anygp_status anygp_model_scores(const anygp_model *m, const char *kind, anygp_scores **out, anygp_error *e)
{
    NEED(m);
    NEED(kind);
    NEED(out);
    *out = NULL;
    bool loo = !strcmp(kind, "leave_one_out"), training = !strcmp(kind, "training");
    if (!loo && !training && strcmp(kind, "valid"))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "kind: '%.40s' is not one of: leave_one_out, valid, training", kind);
    if (!(*out = scores_new(m->targets))) return fail_memory(e, "scores", 0);
    for (int64_t t = 0; t < m->targets; t++) {
        const gp *g = m->gp[t];
        (*out)->list[t] = loo ? g->loo : training ? g->training : g->valid;
    }
    return ANYGP_OK;
}

static const gp_scores *scores_of(const anygp_scores *s, int64_t target)
{
    return s && target >= 0 && target < s->targets ? &s->list[target] : NULL;
}

int64_t anygp_scores_count(const anygp_scores *s, int64_t target)
{
    return scores_of(s, target) ? scores_of(s, target)->count + s->by_class[target].count : 0;
}

const char *anygp_scores_name(const anygp_scores *s, int64_t target, int64_t i)
{
    if (i < 0 || i >= anygp_scores_count(s, target)) return NULL;
    int64_t own = s->list[target].count;
    return i < own ? s->list[target].list[i].name : s->by_class[target].name[i - own];
}

double anygp_scores_value(const anygp_scores *s, int64_t target, int64_t i)
{
    if (i < 0 || i >= anygp_scores_count(s, target)) return 0;
    int64_t own = s->list[target].count;
    return i < own ? s->list[target].list[i].value : s->by_class[target].value[i - own];
}

int anygp_drifted(const anygp_model *m, const anygp_scores *scores, int64_t target, double *then, double *now)
{
    double before = NAN, after = NAN;
    const gp_scores *s = m && target >= 0 && target < m->targets ? scores_of(scores, target) : NULL;
    bool drifted = s && gp_drifted(m->gp[target], s, &before, &after);
    if (then) *then = before;
    if (now) *now = after;
    return drifted;
}
