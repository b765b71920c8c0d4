/* The state of a run in a checkpoint: its segments and those of its system over all rows under their names, Adam's state of the
   hyperparameters, the rows that are bases, and the numbers in between. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/decoupled/svdgp_state.h"

enum { GAMMA, JITTER, OLDEST, STAGE, BLOCKS, ITERATIONS, BEGUN, SUM_VALUE, VALUE, HAS_VALUE, NUMBERS, OWN = 6 };

/* All segments but those of the hyperparameters. */
static param_segment *segment_at(svdgp_state *q, int64_t i)
{
    param_segment *const own[OWN] = {&q->witness, &q->base, &q->residual, &q->direction, &q->sum, &q->rz};
    return i < OWN ? own[i] : svdgp_table(&q->s, i - OWN);
}

static int64_t segment_count(const svdgp_state *q) { return OWN + SVDGP_TABLES + q->s.C; }

/* Of each row its block and its place there. */
static anygp_status save_rows(const id_table *rows, checkpoint *to, anygp_error *e)
{
    double *pairs = mem_doubles(rows->count, 2);
    if (!pairs) return fail_memory(e, "a checkpoint", 16.0 * (double)rows->count);
    for (int64_t m = 0; m < rows->count; m++)
        pairs[2 * m] = (double)(rows->id[m] >> 32), pairs[2 * m + 1] = (double)(rows->id[m] & UINT32_MAX);
    checkpoint_put(to, "basis_rows", 2 * rows->count, pairs);
    free(pairs);
    return ANYGP_OK;
}

anygp_status svdgp_save(void *state, checkpoint *to, anygp_error *e)
{
    svdgp_state *q = state;
    const svdgp_solve *v = &q->solve;
    double number[NUMBERS] = {q->gamma,         q->s.jitter,       (double)q->oldest,
                              v->stage,         (double)v->blocks, (double)v->iterations,
                              (double)v->begun, v->sum_value,      isnan(v->value) ? 0 : v->value,
                              !isnan(v->value)};
    checkpoint_put(to, "svdgp", NUMBERS, number);
    ascent_save(&q->up, to);
    for (int64_t i = 0; i < segment_count(q); i++) segment_save(segment_at(q, i), to);
    return save_rows(&q->s.rows, to, e);
}

static bool is_whole(double x, double most) { return x >= 0 && x <= most && x == floor(x); }

static bool restore_numbers(svdgp_state *q, const checkpoint *from)
{
    double x[NUMBERS];
    if (!checkpoint_get_finite(from, "svdgp", NUMBERS, x) || !(x[GAMMA] >= 0) || !(x[JITTER] >= 0 && x[JITTER] <= 1) ||
        !is_whole(x[OLDEST], 1e15) || !is_whole(x[STAGE], SOLVE_PRODUCT) ||
        !is_whole(x[BLOCKS], (double)q->problem->blocks->count) || !is_whole(x[ITERATIONS], 1e9) ||
        !is_whole(x[BEGUN], 1e15))
        return false;
    q->gamma = x[GAMMA], q->s.jitter = x[JITTER], q->oldest = (int64_t)x[OLDEST];
    q->solve = (svdgp_solve){(int)x[STAGE],     (int64_t)x[BLOCKS], (int64_t)x[ITERATIONS],
                             (int64_t)x[BEGUN], x[SUM_VALUE],       x[HAS_VALUE] != 0 ? x[VALUE] : NAN};
    return true;
}

static bool restore_rows(svdgp_state *q, const checkpoint *from)
{
    int64_t count = checkpoint_count(from, "basis_rows"), index;
    double *pairs = count >= 0 ? mem_alloc(count, sizeof *pairs) : NULL;
    anygp_error unused;
    bool ok = pairs && count % 2 == 0 && checkpoint_get_finite(from, "basis_rows", count, pairs);
    id_table_clear(&q->s.rows);
    for (int64_t m = 0; ok && m < count / 2; m++)
        ok = is_whole(pairs[2 * m], (double)q->problem->blocks->count - 1) && is_whole(pairs[2 * m + 1], UINT32_MAX) &&
             !ANYGP_FAILED(id_table_index(&q->s.rows, gathered_id((int64_t)pairs[2 * m], (int64_t)pairs[2 * m + 1]),
                                          &index, &unused)) &&
             index == m;
    free(pairs);
    return ok;
}

/* Sizes that the rest of the state takes for granted. */
static bool consistent(const svdgp_state *q)
{
    const svdgp *s = &q->s;
    const param_segment *const solve[] = {&q->base, &q->residual, &q->direction, &q->sum};
    int64_t Ma = s->a.rows, Mb = s->beta.rows, Mt = s->p + Mb;
    bool ok = s->alpha.rows == Ma && s->alpha_width.rows == (s->alpha_widths ? Ma : 0) && s->trend.rows == s->p &&
              s->beta_width.rows == (s->widths ? Mb : 0) && s->rows.count <= Ma && q->oldest <= q->witness.rows;
    for (int i = 0; q->solve.stage != SOLVE_NONE && i < 4; i++) ok &= solve[i]->rows == q->base.rows;
    ok &= q->solve.stage == SOLVE_NONE || (q->rz.rows == 2 && q->base.rows >= s->p);
    for (int64_t c = 0; c < s->C; c++) ok &= s->L[c].rows == Mt * (Mt + 1) / 2;
    return ok;
}

bool svdgp_restore(void *state, hyper *h, const checkpoint *from)
{
    svdgp_state *q = state;
    svdgp_solve_drop(q);
    for (int64_t i = 0; i < segment_count(q); i++)
        if (!segment_restore(segment_at(q, i), from)) return false;
    return restore_numbers(q, from) && restore_rows(q, from) && consistent(q) && ascent_restore(&q->up, h, from);
}
