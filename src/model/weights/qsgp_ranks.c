/* The cells of a step shared out to the ranks.  Each rank has all parameters and all rows of the sample, and makes the features of its cells
   alone; F and the sums of the value are sums over ranks.  Gradients and squares of a cell go to the others, who move it as it was moved
   here: with the same numbers, so that the parameters have the same bits on every rank. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/weights/qsgp.h"

bool qsgp_is_shared(const qsgp_pass *p) { return p->ranks && p->ranks->size > 1; }

static int64_t slots_before(const qsgp_pass *p, int rank) { return p->s->count * rank / p->ranks->size; }

int64_t qsgp_slots_begin(const qsgp_pass *p) { return qsgp_is_shared(p) ? slots_before(p, p->ranks->rank) : 0; }

int64_t qsgp_slots_end(const qsgp_pass *p)
{
    return qsgp_is_shared(p) ? slots_before(p, p->ranks->rank + 1) : p->s->count;
}

anygp_status qsgp_sum_over_ranks(const qsgp_pass *p, int64_t n, double *x, anygp_error *e)
{
    return qsgp_is_shared(p) ? p->ranks->sum(p->ranks->ctx, n, x, e) : ANYGP_OK;
}

/* Numbers of a cell. */
static int64_t share_size(const qsgp_pass *p) { return p->q->cells.width * (p->q->V + p->q->C); }

anygp_status qsgp_share_begin(qsgp_pass *p, anygp_error *e)
{
    int64_t size = p->s->count * share_size(p);
    if (!qsgp_is_shared(p)) return ANYGP_OK;
    if (size > p->found_room) {
        free(p->found);
        p->found = mem_alloc(size, sizeof *p->found);
        p->found_room = p->found ? size : 0;
    }
    if (!p->found) return fail_memory(e, "a step", 8.0 * (double)size);
    memset(p->found, 0, (size_t)size * sizeof *p->found);
    return ANYGP_OK;
}

double *qsgp_shared(const qsgp_pass *p, int64_t slot, double **squares)
{
    double *G = p->found + slot * share_size(p);
    *squares = G + p->q->cells.width * p->q->V;
    return G;
}

void qsgp_share(const qsgp_pass *p, int64_t slot, const double *G, const double *squares)
{
    int64_t size = cell_size(&p->q->cells, p->s->cell[slot]);
    double *to_squares, *to = qsgp_shared(p, slot, &to_squares);
    memcpy(to, G, (size_t)(size * p->q->V) * sizeof *to);
    memcpy(to_squares, squares, (size_t)(size * p->q->C) * sizeof *to);
}

anygp_status qsgp_share_finish(const qsgp_pass *p, anygp_error *e)
{
    return qsgp_sum_over_ranks(p, p->s->count * share_size(p), p->found, e);
}
