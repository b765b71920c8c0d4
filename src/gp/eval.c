/* A labelled file to scores, a block at a time: memory does not grow with the rows. */
#include <stdlib.h>

#include "base/memory.h"
#include "gp/gp.h"

enum { CHUNK = 256 };

typedef struct evaluation {
    const gp_set *m;
    const settings *s;
    binding *binding;
    block_file *blocks;
    scorer **scorer; /* targets */
} evaluation;

static void evaluation_close(evaluation *v)
{
    for (int64_t k = 0; v->scorer && k < v->m->targets; k++) scorer_free(v->scorer[k]);
    free(v->scorer);
    binding_close(v->binding);
    block_file_close(v->blocks);
}

static anygp_status evaluation_open(evaluation *v, const settings *s, const char *in, const char *blocks,
                                    anygp_error *e)
{
    int64_t T = v->m->targets;
    v->scorer = mem_zeroed(T, sizeof *v->scorer);
    if (!v->scorer) return fail_memory(e, "scores", 8.0 * (double)T);
    TRY(binding_open(v->m, in, s, &v->binding, e));
    TRY(block_file_open(v->m, s, blocks, in, &v->blocks, e));
    TRY(binding_labels(v->binding, true, "to score against; anygp predict needs none", e));
    for (int64_t k = 0; k < T; k++)
        TRY(scorer_new(v->m->gp[k], gp_block_budget(s) / (double)T, settings_number(s, SET_LATENT) == 1, &v->scorer[k],
                       e));
    return ANYGP_OK;
}

/* Rows of the file to the scorer of target k. */
static anygp_status score_chunk(evaluation *v, int64_t k, int64_t n, int64_t first, const double *cells, anygp_error *e)
{
    const row_units *units = binding_units(v->binding, k);
    const int64_t *in = block_file_of(v->blocks, k), wide = binding_columns(v->binding);
    for (int64_t i = 0; i < n; i++)
        TRY(scorer_take(v->scorer[k], units, first + i, cells + i * wide, in ? in[i] : -1, e));
    return ANYGP_OK;
}

static anygp_status score_file(evaluation *v, anygp_error *e)
{
    int64_t got;
    do {
        const double *cells;
        int64_t first = binding_row_number(v->binding);
        TRY(settings_check_stop(v->s, e));
        TRY(binding_next(v->binding, CHUNK, &cells, &got, e));
        TRY(block_file_next(v->blocks, got, e));
        for (int64_t k = 0; k < v->m->targets; k++) TRY(score_chunk(v, k, got, first, cells, e));
    } while (got > 0);
    return block_file_end(v->blocks, e);
}

anygp_status gp_eval_file(const gp_set *m, const settings *s, const char *in, const char *blocks, gp_scores *scores,
                          anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    evaluation v = {.m = m, .s = s};
    TRY_DONE(evaluation_open(&v, s, in, blocks, e));
    TRY_DONE(score_file(&v, e));
    for (int64_t k = 0; k < m->targets; k++) {
        TRY_DONE(scorer_finish(v.scorer[k], &scores[k], e));
        if (scores[k].count > 1) continue;
        status = fail_with(e, ANYGP_ERR_DATA, "%.200s has no row with a target to score", in);
        goto done;
    }
done:
    evaluation_close(&v);
    return status;
}
