/* What the sparse priors and collapsed bounds take.  An evaluation with its gradient, for M inducing variables and J rows of a block:
       operations   n 5 M^2, with a kept diagonal n 6 M^2, with kept blocks n (6 M^2 + 6 J M + 2 J^2); and 8 M^3 in the head
       entries      4 n M, or 4 n (M + J)                 4 counts a kernel entry and its reverse
       bytes        8 (8 + 3 T) M^2 for T threads, and for each thread a block and what is made of it
   A further target of the bounds that take several adds 8 n M + 2 M^3 operations; the tighter bound (tight.h) 6 n^2 M. */
#include <math.h>

#include "model/sparse/sparse_posterior.h"
#include "model/sparse/tight.h"

static const double PASS_SHARE = 0.85,
                    BLOCK_SHARE = 0.75; /* of R, which passes over rows and over whole blocks reach */

typedef struct work {
    double operations, entries, share;
} work;

static work work_of_row(sparse_kept kept, double power, double M, double J)
{
    if (kept == KEPT_BLOCK) return (work){6 * M * M + 6 * J * M + 2 * J * J, 4 * (M + J), BLOCK_SHARE};
    return (work){(kept == KEPT_DIAGONAL && power > 0 ? 6 : 5) * M * M, 4 * M, PASS_SHARE};
}

/* One model, or one term of a combination: each computes its own features. */
static void add_pass(const cost_facts *f, const cost_size *s, sparse_kept kept, double power, model_cost *c)
{
    work w = work_of_row(kept, power, s->M, s->part);
    c->rows += cost_of_work(f, w.share, f->rows * w.operations, f->rows * w.entries);
    c->head += cost_of_work(f, w.share, 8 * pow(s->M, 3), 0);
}

static bool keeps_blocks(const sparse_kind *k)
{
    bool found = k->terms.count == 0 && k->kept == KEPT_BLOCK;
    for (int64_t i = 0; i < k->terms.count; i++) found = found || k->terms.term[i].kept == KEPT_BLOCK;
    return found;
}

/* Several targets: heads of their own, which hold three more matrices. */
static void add_targets(const cost_facts *f, double M, double Mt, model_cost *c)
{
    double others = (double)(f->targets - 1);
    c->rows += cost_of_work(f, PASS_SHARE, others * 8 * f->rows * M, 0);
    c->head += cost_of_work(f, PASS_SHARE, others * 2 * M * M * M, 0);
    c->bytes += 8 * Mt * (3 * Mt + 3 * (double)f->targets);
}

/* The tighter bound, as the objective or, where that is little work, beside another at the end. */
static void add_tighter(const model_ops *self, const cost_facts *f, double Mt, model_cost *c)
{
    double n = f->rows, bytes = tight_bytes(n, (double)f->inputs, Mt);
    if (((const sparse_kind *)self->family)->tighter) {
        c->rows += cost_of_work(f, PASS_SHARE, 6 * n * n * Mt, 2 * n * n);
        c->bytes += bytes;
    } else if (self->bounds && tight_is_little(n, Mt, model_takes_targets(self) ? f->targets : 1))
        c->last = f->memory > 0 ? fmin(bytes, TIGHT_SHARE * f->memory) : bytes;
}

static double bytes_of(const cost_facts *f, const cost_size *s, bool whole)
{
    double Mt = s->M + (double)f->basis, B = s->largest, T = f->threads, rows = whole ? B : fmin(B, DRIVER_PIECE);
    double block = B * ((double)f->inputs + 2) + 3 * Mt * rows + (whole ? 2 * B * B : 0);
    return 8 * (Mt * Mt * (8 + 3 * T) + T * block);
}

model_cost sparse_cost(const model_ops *self, const cost_facts *f, const cost_size *places)
{
    const sparse_kind *k = self->family;
    bool whole = keeps_blocks(k);
    cost_size variables = *places, *s = &variables;
    if (self->variables) s->M *= (double)self->variables->each;
    double Mt = s->M + (double)f->basis, times = 1 + (double)k->order; /* that a row is looked at along a chain */
    s->part *= times, s->largest *= times;
    model_cost c = {.bytes = bytes_of(f, s, whole), .kept = 8 * (s->M + (whole ? s->part : 0))};
    for (int64_t i = 0; i < k->terms.count; i++) add_pass(f, s, k->terms.term[i].kept, k->terms.term[i].power, &c);
    if (k->terms.count == 0) add_pass(f, s, k->kept, k->power, &c);
    c.rows *= times;
    if (model_takes_targets(self) && f->targets > 1) add_targets(f, s->M, Mt, &c);
    if (model_takes_sets(self)) c.bytes += 8 * Mt * Mt;
    if (k->test == TEST_BLOCK) c.bytes += 8 * f->rows * ((double)f->inputs + 2); /* the rows are part of the model */
    add_tighter(self, f, Mt, &c);
    return c;
}
