/* Subset of data: the exact model on M of the n rows (003, section III-A), chosen at random, as the rows nearest to
   k-means centres, or greedily by the largest conditional variance under the starting kernel.
   Cost: M^3 per step whatever n is; choosing costs n M D (k-means) or n M^2 (greedy) once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/select.h"
#include "inducing/choose.h"
#include "inducing/greedy.h"
#include "model/exact/exact.h"

static int64_t subset_size(const problem *p) { return p->subset < p->rows->n ? p->subset : p->rows->n; }

static model_cost sod_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    (void)self;
    double M = fmin(s->M, f->distinct);
    model_cost c = exact_cost_of(f, M);
    if (f->greedy) c.bytes = fmax(c.bytes, 8 * M * f->distinct);
    return c;
}

static anygp_status choose(const problem *p, const hyper *h, int64_t *k, int64_t *chosen, anygp_error *e)
{
    const merged *m = p->rows;
    if (*k == m->n) {
        for (int64_t i = 0; i < *k; i++) chosen[i] = i;
        return ANYGP_OK;
    }
    if (!strcmp(p->select, "kmeans")) return select_kmeans(m->n, m->D, m->X, m->D, *k, p->seed, chosen, k, e);
    if (!strcmp(p->select, "greedy")) {
        greedy_rows g = {m->n, m->D, m->X, h->kernel, false};
        TRY(greedy_select(m->n, *k, greedy_rows_diag, greedy_rows_columns, &g, 0, NULL, chosen, k, e));
        return g.failed ? fail_memory(e, "kernel tiles", 0) : ANYGP_OK;
    }
    *k = select_random(m->n, *k, p->seed, chosen);
    return ANYGP_OK;
}

static anygp_status sod_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)self;
    int64_t k = subset_size(p), *chosen = mem_alloc(k, sizeof *chosen);
    if (!chosen) return fail_memory(e, "the subset", 8.0 * (double)k);
    merged subset;
    anygp_status status = choose(p, h, &k, chosen, e);
    if (!ANYGP_FAILED(status)) status = merged_select(p->rows, k, chosen, &subset, e);
    free(chosen);
    return ANYGP_FAILED(status) ? status : exact_open_rows(NULL, &subset, p->mean, state, e);
}

const model_ops model_sod = {
    .name = "sod",
    .summary = "exact, on a subset of the rows",
    .objective = "log evidence of the subset",
    .needs = {.rows = ROWS_ALL, .mean = true, .weights = true, .joint = true},
    .order = "m^3",
    .subset = 2000,
    .cost = sod_cost,
    .size = subset_size,
    .open = sod_open,
    .evaluate = exact_evaluate,
    .loo = exact_loo,
    .posterior = exact_to_posterior,
    .rows = exact_rows,
    .close = exact_close,
    .load = exact_load,
};
