/* Bases from the incoming rows (001, algorithm 1, line 4).  A new basis has a = 0 and width 1: the mean stays as it is. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/decoupled/svdgp_state.h"

/* Rows of the sample, at most `room` of them, and their numbers. */
typedef struct gathered {
    int64_t n, room;
    double *X;
    int64_t *id, *order;
} gathered;

static void gathered_clear(gathered *g)
{
    free(g->X);
    free(g->id);
    free(g->order);
}

static anygp_status gather(const svdgp_state *q, const step_context *c, gathered *g, anygp_error *e)
{
    row_blocks *b = q->problem->blocks;
    block_buffer buffer = {0};
    row_block one;
    anygp_status status = ANYGP_OK;
    g->X = mem_doubles(g->room, b->D);
    g->id = mem_alloc(g->room, sizeof *g->id), g->order = mem_alloc(g->room, sizeof *g->order);
    if (!g->X || !g->id || !g->order) return fail_memory(e, "new bases", 8.0 * (double)g->room * (double)b->D);
    for (int64_t k = 0; k < (c->which ? c->count : b->count) && g->n < g->room; k++) {
        TRY_DONE(blocks_get(b, c->which ? c->which[k] : k, &buffer, &one, e));
        for (int64_t i = 0; i < one.n && g->n < g->room; i++) {
            memcpy(g->X + g->n * b->D, one.X + i * b->D, (size_t)b->D * sizeof(double));
            g->id[g->n++] = svdgp_row(one.index, i);
        }
    }
    random_permutation((random_stream){c->seed, RANDOM_BASES, (uint64_t)c->t << 20}, g->n, g->order);
done:
    block_buffer_clear(&buffer);
    return status;
}

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
    int64_t rows = (c->which ? c->count : q->problem->blocks->count) * q->problem->blocks->largest;
    gathered g = {.room = 4 * (q->Ma + q->Mb)};
    anygp_status status = ANYGP_OK;
    if (g.room > rows) g.room = rows;
    *grew = svdgp_Ma(s) == 0;
    if (a <= 0 && b <= 0) return ANYGP_OK;
    if (a > most) a = most;
    if (b > most) b = most;
    TRY_DONE(gather(q, c, &g, e));
    TRY_DONE(add_alpha(s, &g, a, e));
    for (int64_t k = 0; k < b && k < g.n; k++) /* N_delta rows are bases of both kinds; else each kind has its own */
        TRY_DONE(svdgp_add_beta(s, 1, g.X + g.order[N > 0 ? k : g.n - 1 - k] * s->D, SVDGP_SMALL, e));
    *grew |= b > 0 && g.n > 0;
done:
    gathered_clear(&g);
    return status;
}
