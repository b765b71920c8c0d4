/* New rows for patchwork: they join the cells that they lie in, as in nle, and the cells are made equal at the same places again.  C, the
   prior covariance at these, stays, so that the evidence changes by that of the cells and by patch_border_value(). */
#include <math.h>
#include <stdlib.h>

#include "model/local/patchwork.h"

typedef struct patch_rows {
    const posterior *from;
    void *cells; /* of experts_update */
} patch_rows;

static void update_close(void *state)
{
    patch_rows *u = state;
    if (!u) return;
    if (u->cells) experts_update.close(u->cells);
    free(u);
}

static anygp_status update_open(const model_ops *self, const posterior *p, const likelihood *l, void **state,
                                anygp_error *e)
{
    patch_rows *u = calloc(1, sizeof *u);
    (void)self;
    if (!u) return fail_memory(e, "the update", sizeof *u);
    u->from = p;
    anygp_status status = posterior_ready(p, e);
    if (!ANYGP_FAILED(status)) status = experts_update.open(&model_nle, patch_cells(p), l, &u->cells, e);
    if (!ANYGP_FAILED(status)) experts_keep_parts(u->cells);
    if (ANYGP_FAILED(status))
        update_close(u);
    else
        *state = u;
    return status;
}

static anygp_status update_add(void *state, int64_t n, const double *X, const double *y, const double *w,
                               const int64_t *ids, anygp_error *e)
{
    return experts_update.add(((patch_rows *)state)->cells, n, X, y, w, ids, e);
}

static double update_held(const void *state) { return experts_update.held(((const patch_rows *)state)->cells); }

static anygp_status update_finish(void *state, posterior **out, update_report *r, anygp_error *e)
{
    patch_rows *u = state;
    posterior *cells = NULL;
    TRY(experts_update.finish(u->cells, &cells, r, e));
    anygp_status status = patch_posterior_new(cells, patch_borders_of(u->from), false, out, e);
    if (ANYGP_FAILED(status)) return experts_free(cells), status;
    r->after += patch_border_value(*out) - r->before - patch_border_value(u->from);
    r->before = NAN;
    return ANYGP_OK;
}

const update_ops patch_update_ops = {
    .open = update_open, .add = update_add, .held = update_held, .finish = update_finish, .close = update_close};
