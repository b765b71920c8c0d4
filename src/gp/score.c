#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/gp.h"

struct scorer {
    predictor *predictor;
    const gp *g;
    bool latent;
    int64_t filled, block, *number;
    int64_t *in; /* block of each row */
    bool routed; /* blocks are not given */
    double *rows, *y, *w, *mean, *variance;
    regression_scores acc;
};

void scorer_free(scorer *r)
{
    if (!r) return;
    predictor_free(r->predictor);
    double *const owned[] = {r->rows, r->y, r->w, r->mean, r->variance};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(r->number);
    free(r->in);
    free(r);
}

anygp_status scorer_new(const gp *g, double bytes, bool latent, scorer **out, anygp_error *e)
{
    scorer *r = calloc(1, sizeof *r);
    if (!r) return fail_memory(e, "scores", sizeof *r);
    r->g = g, r->latent = latent;
    regression_scores_begin(&r->acc, g->schema.y_mean, g->schema.y_sd);
    anygp_status status = predictor_new(g, bytes, &r->predictor, e);
    if (!ANYGP_FAILED(status)) {
        r->block = predictor_block(r->predictor);
        r->rows = mem_alloc(r->block * g->schema.inputs, sizeof(double));
        double **const columns[] = {&r->y, &r->w, &r->mean, &r->variance};
        r->number = mem_alloc(r->block, sizeof *r->number);
        r->in = mem_alloc(r->block, sizeof *r->in);
        bool ok = r->rows && r->number && r->in;
        for (int i = 0; i < 4; i++) ok = (*columns[i] = mem_alloc(r->block, sizeof(double))) && ok;
        if (!ok) status = fail_memory(e, "scores", 8.0 * (double)r->block * (double)(g->schema.inputs + 4));
    }
    if (ANYGP_FAILED(status))
        scorer_free(r);
    else
        *out = r;
    return status;
}

static anygp_status flush(scorer *r, anygp_error *e)
{
    int64_t inputs = r->g->schema.inputs;
    TRY(predictor_run(r->predictor, r->filled, r->rows, inputs, &(row_numbers){0, r->number}, r->routed ? NULL : r->in,
                      r->latent, r->mean, r->variance, e));
    regression_scores_add(&r->acc, r->filled, r->y, r->mean, r->variance, r->w);
    r->filled = 0;
    return ANYGP_OK;
}

anygp_status scorer_add(scorer *r, const double *row, double y, double weight, int64_t row_number, int64_t block,
                        anygp_error *e)
{
    int64_t inputs = r->g->schema.inputs;
    if (isnan(y) || weight == 0) return ANYGP_OK;
    if (!(weight > 0 && isfinite(weight)))
        return fail_with(e, ANYGP_ERR_DATA, "row %lld has the weight %g", (long long)row_number + 1, weight);
    r->number[r->filled] = row_number;
    r->in[r->filled] = block, r->routed = block < 0;
    if (inputs) memcpy(r->rows + r->filled * inputs, row, (size_t)inputs * sizeof(double));
    r->y[r->filled] = y;
    r->w[r->filled++] = weight;
    return r->filled == r->block ? flush(r, e) : ANYGP_OK;
}

anygp_status scorer_finish(scorer *r, gp_scores *out, anygp_error *e)
{
    if (r->filled) TRY(flush(r, e));
    out->count = regression_scores_list(&r->acc, out->list);
    return ANYGP_OK;
}
