/* Adam on the free parameters (ascent.h). */
#include "params/ascent.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

anygp_status ascent_init(ascent *a, const hyper *h, anygp_error *e)
{
    *a = (ascent){.u = mem_alloc(h->free, sizeof(double)),
                  .before = mem_alloc(h->free, sizeof(double)),
                  .gp = mem_alloc(hyper_size(h), sizeof(double)),
                  .gu = mem_alloc(h->free, sizeof(double))};
    if (a->u && a->before && a->gp && a->gu) return adam_init(&a->adam, h->free, e);
    ascent_clear(a);
    return fail_memory(e, "the steps", 32.0 * (double)hyper_size(h));
}

void ascent_clear(ascent *a)
{
    double *const owned[] = {a->u, a->before, a->gp, a->gu};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    adam_clear(&a->adam);
    *a = (ascent){0};
}

void ascent_begin(ascent *a, hyper *h) { hyper_begin(h, a->u); }

void ascent_slope(ascent *a, const hyper *h)
{
    hyper_chain(h, a->gp, a->gu);
    hyper_log_prior(h, a->gu);
}

void ascent_keep(ascent *a) { memcpy(a->before, a->u, (size_t)a->adam.n * sizeof *a->u); }
void ascent_step(ascent *a, double rate) { adam_step(&a->adam, rate, a->gu, a->u); }

void ascent_back(ascent *a, hyper *h)
{
    memcpy(a->u, a->before, (size_t)a->adam.n * sizeof *a->u);
    hyper_unpack(h, a->u);
}

void ascent_save(const ascent *a, checkpoint *to)
{
    checkpoint_put(to, "u", a->adam.n, a->u);
    adam_save(&a->adam, "adam", to);
}

bool ascent_restore(ascent *a, hyper *h, const checkpoint *from)
{
    if (!checkpoint_get_finite(from, "u", a->adam.n, a->u) || !adam_restore(&a->adam, "adam", from)) return false;
    hyper_unpack(h, a->u);
    return true;
}
