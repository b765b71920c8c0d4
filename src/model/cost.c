#include "model/cost.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "model/model.h"

double cost_of_work(const cost_facts *f, double share, double operations, double entries)
{
    if (!(f->products > 0 && f->entries > 0)) return INFINITY;
    return operations / (share * f->products) + entries / f->entries;
}

static double rows_of(const problem *p)
{
    return (double)(p->rows ? p->rows->data->used : p->blocks->count * p->blocks->largest);
}

static cost_facts facts_of(const problem *p)
{
    double rows = rows_of(p);
    return (cost_facts){.rows = rows,
                        .distinct = p->rows ? (double)p->rows->n : rows,
                        .inputs = p->blocks ? p->blocks->D : p->rows->D,
                        .basis = p->mean->p,
                        .targets = p->targets > 1 ? p->targets : 1,
                        .latents = p->likelihood->latents,
                        .batch = rows,
                        .threads = threads_max(),
                        .greedy = p->select && !strcmp(p->select, "greedy"),
                        .memory = p->memory};
}

/* For a pair p->subset counts only the second set. */
static cost_size size_of(const model_ops *m, const problem *p)
{
    cost_size s = {.M = (double)p->subset,
                   .experts = (double)(model_finds_experts(m) ? p->experts.most : p->experts.count),
                   .first = p->set_count > 1 ? (double)p->sets[0] : 0};
    if (model_takes_pair(m)) {
        s.first = (double)(p->set_count > 0 ? p->sets[0] : p->subset);
        s.M = s.first + (double)(p->set_count > 1 ? p->sets[1] : MODEL_COVARIANCE_BASES);
    }
    if (p->blocks) {
        s.part = rows_of(p) / (double)p->blocks->count;
        s.largest = (double)p->blocks->largest;
    }
    return s;
}

double model_bytes(const model_ops *m, const problem *p)
{
    cost_facts f = facts_of(p);
    cost_size s = size_of(m, p);
    model_cost c = m->cost(m, &f, &s);
    return c.bytes - (p->on_disk ? c.state : 0);
}

int64_t model_blocks_within(const model_ops *m, const problem *p, double oversize, double least, double bytes)
{
    cost_facts f = facts_of(p);
    cost_size s = size_of(m, p);
    double all = f.rows, uneven = fmax(s.largest / fmax(s.part, 1), oversize);
    for (double P = 2 * (double)p->blocks->count; least * P <= all; P *= 2) {
        s.part = all / P, s.largest = fmax(1, uneven * all / P);
        model_cost c = m->cost(m, &f, &s);
        if (c.bytes <= bytes) return (int64_t)P;
    }
    return 0;
}
