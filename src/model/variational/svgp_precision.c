/* Rows in float (gauss/layer_f32.h), and what that costs.  The bound's sum over a sample of blocks is computed in float and in double, at
   steps 1, 2, 4, 8, ... and at the end.  Where the two differ by more than ROUNDING_MOST nats per row, or one is not a number, rows are in
   double from there on.  All ranks see the same sums and so do the same; a checkpoint knows what was decided. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gauss/layer_f32.h"
#include "gauss/orthogonal.h"
#include "model/variational/svgp_state.h"

enum { SAMPLE = 4 }; /* blocks */

void svgp_precision_begin(svgp_state *q)
{
    q->rounding = (rounding){.error = NAN};
    if (!q->problem->mixed) return;
    q->in_float = q->s.L == 1 && layer_f32_fits(q->s.f);
    if (q->in_float)
        q->rounding.error = 0;
    else
        snprintf(q->remark, sizeof q->remark,
                 "--precision mixed has no effect on inducing variables of the kind '%s': rows were in double",
                 q->s.f->u.ops->name);
}

static anygp_status prepare(svgp_state *q, bool factors, anygp_error *e)
{
    layer *f = q->s.f;
    if (f->single) f->single->on = q->in_float;
    if (!q->in_float) return ANYGP_OK;
    if (!f->single && !layer_f32_open(f)) {
        layer_f32_close(f);
        return fail_memory(e, "copies in float", 4.0 * (double)(f->Mt * f->Mt) * (double)(f->C + 5));
    }
    f->single->on = true;
    layer_f32_prepare(f, factors);
    return ANYGP_OK;
}

anygp_status svgp_precision_prepare(svgp_state *q, anygp_error *e) { return prepare(q, q->s.value_only, e); }

/* The sum over the sample, as rows are now; in float the way that steps take. */
static anygp_status sample_value(svgp_state *q, int64_t count, const int64_t *which, double *value, anygp_error *e)
{
    anygp_status status = prepare(q, false, e);
    *value = NAN;
    if (!ANYGP_FAILED(status)) status = driver_stat(q->driver, &q->s, count, which, 1, q->stat, e);
    if (!ANYGP_FAILED(status)) *value = q->stat[0];
    return status == ANYGP_ERR_NUMERIC ? ANYGP_OK : status;
}

/* *error: nats per row.  Infinite where float gives no number and double does. */
static anygp_status measure(svgp_state *q, double *error, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t count = b->count < SAMPLE ? b->count : SAMPLE, which[SAMPLE];
    double narrow, whole;
    for (int64_t i = 0; i < count; i++) which[i] = i * b->count / count;
    q->s.value_only = true;
    anygp_status status = sample_value(q, count, which, &narrow, e);
    q->in_float = false;
    if (!ANYGP_FAILED(status)) status = sample_value(q, count, which, &whole, e);
    q->in_float = true, q->s.value_only = false;
    if (ANYGP_FAILED(status)) return status;
    *error = fabs(narrow - whole) / (b->total * (double)count / (double)b->count);
    if (!isfinite(*error)) *error = isfinite(whole) ? INFINITY : 0;
    return ANYGP_OK;
}

anygp_status svgp_precision_check(svgp_state *q, const hyper *h, const step_context *c, anygp_error *e)
{
    double error;
    if (!q->in_float || c->t <= 0 || (c->t & (c->t - 1))) return ANYGP_OK;
    TRY(svgp_before_rows(q, h, c, c->learn && h->free > 0, e));
    TRY(measure(q, &error, e));
    if (isfinite(error)) q->rounding.error = fmax(q->rounding.error, error);
    if (error <= ROUNDING_MOST) return ANYGP_OK;
    q->in_float = false, q->rounding.left = true;
    snprintf(q->remark, sizeof q->remark,
             "rounding to float moved the bound by more than %g nats per row: from step %lld on rows were in double",
             ROUNDING_MOST, (long long)c->t);
    return ANYGP_OK;
}

anygp_status svgp_precision_end(svgp_state *q, anygp_error *e)
{
    double error;
    if (!q->in_float || !q->driver) return ANYGP_OK;
    TRY(measure(q, &error, e));
    if (isfinite(error)) q->rounding.error = fmax(q->rounding.error, error);
    if (!(error <= ROUNDING_MOST))
        snprintf(q->remark, sizeof q->remark,
                 "rounding to float moves the bound by %.1g nats per row in the end; --precision double avoids it",
                 error);
    return ANYGP_OK;
}

rounding svgp_rounding(const void *state) { return ((const svgp_state *)state)->rounding; }

const char *svgp_remark(const void *state)
{
    const svgp_state *q = state;
    return *q->remark ? q->remark : NULL;
}
