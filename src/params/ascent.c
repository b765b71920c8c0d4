/* Adam on the free parameters (ascent.h). */
#include "params/ascent.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

anygp_status ascent_init(ascent *a, const hyper *h, anygp_error *e)
{
    *a = (ascent){.n = h->free,
                  .u = mem_alloc(h->free, sizeof(double)),
                  .before = mem_alloc(h->free, sizeof(double)),
                  .gp = mem_alloc(hyper_size(h), sizeof(double)),
                  .gu = mem_alloc(h->free, sizeof(double))};
    if (a->u && a->before && a->gp && a->gu) return ANYGP_OK;
    ascent_clear(a);
    return fail_memory(e, "the steps", 32.0 * (double)hyper_size(h));
}

void ascent_clear(ascent *a)
{
    double *const owned[] = {a->u, a->before, a->gp, a->gu};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *a = (ascent){0};
}

anygp_status ascent_begin(ascent *a, hyper *h, anygp_error *e)
{
    a->list = &h->all;
    hyper_begin(h, a->u);
    return params_step_begin(&h->all, e);
}

anygp_status ascent_extend(ascent *a, hyper *h, anygp_error *e)
{
    ascent_clear(a);
    TRY(ascent_init(a, h, e));
    a->list = &h->all;
    hyper_begin(h, a->u);
    return ANYGP_OK;
}

void ascent_slope(ascent *a, const hyper *h)
{
    hyper_chain(h, a->gp, a->gu);
    hyper_log_prior(h, a->gu);
}

void ascent_keep(ascent *a) { memcpy(a->before, a->u, (size_t)a->n * sizeof *a->u); }
void ascent_step(ascent *a, double rate) { params_step(a->list, rate, a->gu, a->u); }

void ascent_back(ascent *a, hyper *h)
{
    memcpy(a->u, a->before, (size_t)a->n * sizeof *a->u);
    hyper_unpack(h, a->u);
}

void ascent_save(const ascent *a, checkpoint *to)
{
    checkpoint_put(to, "u", a->n, a->u);
    params_step_save(a->list, to);
}

bool ascent_restore(ascent *a, hyper *h, const checkpoint *from)
{
    if (!checkpoint_get_finite(from, "u", a->n, a->u) || !params_step_restore(a->list, from)) return false;
    hyper_unpack(h, a->u);
    return true;
}
