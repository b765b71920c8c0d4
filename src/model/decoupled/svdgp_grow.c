/* Bases from the incoming rows (001, algorithm 1, line 4).  A new basis has a = 0 and width 1: the mean stays as it is. */
#include "model/decoupled/svdgp_state.h"

static anygp_status add_alpha(svdgp *s, const gathered *g, int64_t wanted, anygp_error *e)
{
    int64_t before = svdgp_Ma(s);
    for (int64_t k = 0; k < g->n && svdgp_Ma(s) < before + wanted; k++) {
        int64_t i = g->order[k];
        if (s->newton)
            TRY(svdgp_add_row(s, g->id[i], g->X + i * s->D, e));
        else
            TRY(svdgp_add_alpha(s, 1, g->X + i * s->D, e));
    }
    return ANYGP_OK;
}

anygp_status svdgp_grow(svdgp_state *q, const step_context *c, bool *grew, anygp_error *e)
{
    svdgp *s = &q->s;
    int64_t a = q->Ma - svdgp_Ma(s), b = q->Mb - svdgp_Mb(s), N = q->problem->grow, most = N > 0 ? N : INT64_MAX;
    int64_t rows = gather_most(q->problem->blocks, c), room = 4 * (q->Ma + q->Mb);
    gathered g = {0};
    anygp_status status = ANYGP_OK;
    *grew = svdgp_Ma(s) == 0;
    if (a <= 0 && b <= 0) return ANYGP_OK;
    if (a > most) a = most;
    if (b > most) b = most;
    TRY_DONE(gather_rows(q->problem->blocks, c, room < rows ? room : rows, &g, e));
    TRY_DONE(add_alpha(s, &g, a, e));
    for (int64_t k = 0; k < b && k < g.n; k++) /* N_delta rows are bases of both kinds; else each kind has its own */
        TRY_DONE(svdgp_add_beta(s, 1, g.X + g.order[N > 0 ? k : g.n - 1 - k] * s->D, SVDGP_SMALL, e));
    *grew |= b > 0 && g.n > 0;
done:
    gathered_clear(&g);
    return status;
}
