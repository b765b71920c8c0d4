/* What rows in float (sparse_f32.c) do to the objective of a sparse model.

   The head is not a sum over rows, but at m and V its derivatives in the statistics are those of the bound at q(v) = N(m, V), which is
   (sparse.h): for statistics of float and of double over a sample of blocks, the difference of that bound is to first order
   the sample's share in the error of the objective.  Its gradients, both ways at the same m and V, give the error of the slopes; times the
   parameter they are per unit of its logarithm.  Places of inducing inputs, which have no unit of their own, are left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/sparse/sparse_state.h"

enum { SAMPLE = 4 }; /* blocks */

anygp_status sparse_precision_begin(sparse_state *q, const model_ops *self, anygp_error *e)
{
    if (!q->problem->mixed || !self->floats) return ANYGP_OK;
    if (inducing_f32_fits(&q->s.u)) return sparse_f32_open(&q->s, e);
    snprintf(q->remark, sizeof q->remark,
             "--precision mixed has no effect on inducing variables of the kind '%s': rows were in double",
             q->s.u.ops->name);
    return ANYGP_OK;
}

static bool is_on(const void *state) { return sparse_in_float(&((const sparse_state *)state)->s); }

static void leave(void *state)
{
    sparse_state *q = state;
    if (q->s.single) q->s.single->on = false;
    q->at[0] = q->value = NAN;
}

static double last_value(const void *state) { return ((const sparse_state *)state)->value; }

/* ------------------------------------------------------------------------------------------ measuring */

/* Of a sample of blocks: its share of the objective, and the gradient of that in all natural parameters. */
typedef struct share {
    double value, *gradient;
} share;

static anygp_status sum_share(sparse_state *q, int64_t count, const int64_t *which, share *out, anygp_error *e)
{
    TRY(driver_stat(q->driver, &q->s, count, which, 1, q->stat, e));
    out->value = sparse_rows_bound(&q->s, q->stat, true);
    TRY(driver_reverse(q->driver, &q->s, count, which, 1, q->adjoint, e));
    return sparse_finish(&q->s, q->adjoint, out->gradient) ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status share_of(sparse_state *q, bool in_float, int64_t count, const int64_t *which, share *out,
                             anygp_error *e)
{
    q->s.single->on = in_float;
    anygp_status status = sum_share(q, count, which, out, e);
    q->s.single->on = true;
    if (status != ANYGP_ERR_NUMERIC) return status;
    out->value = NAN;
    return ANYGP_OK;
}

static const float_error no_number = {INFINITY, INFINITY}, no_error = {0, 0};

/* h gives the values of the parameters. */
static float_error error_of(const sparse_state *q, const hyper *h, double rows, const share *narrow, const share *whole)
{
    float_error error = {fabs(narrow->value - whole->value) / rows, 0};
    double *p = q->now;
    if (!isfinite(whole->value)) return no_error;
    if (!isfinite(error.value)) return no_number;
    hyper_natural(h, p);
    for (int64_t i = 0; i < h->count; i++) {
        double slope = fabs(p[i] * (narrow->gradient[i] - whole->gradient[i])) / rows;
        if (!isfinite(slope)) return isfinite(whole->gradient[i]) ? no_number : no_error;
        error.slope = fmax(error.slope, slope);
    }
    return error;
}

static anygp_status measure_sample(sparse_state *q, const hyper *h, float_error *error, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t count = b->count < SAMPLE ? b->count : SAMPLE, which[SAMPLE];
    double rows = b->total * (double)count / (double)b->count, *room = mem_doubles(hyper_size(h), 2);
    if (!room) return fail_memory(e, "the gradient", 16.0 * (double)hyper_size(h));
    share narrow = {0, room}, whole = {0, room + hyper_size(h)};
    for (int64_t i = 0; i < count; i++) which[i] = i * b->count / count;
    q->at[0] = NAN; /* its sums are gone */
    driver_expect_reverse(q->driver, false);
    anygp_status status = share_of(q, true, count, which, &narrow, e);
    if (!ANYGP_FAILED(status)) status = share_of(q, false, count, which, &whole, e);
    if (!ANYGP_FAILED(status)) *error = error_of(q, h, rows, &narrow, &whole);
    free(room);
    return status;
}

/* Whether double has an objective at h. */
static anygp_status has_number(sparse_state *q, const hyper *h, double jitter, bool *has, anygp_error *e)
{
    double value;
    q->s.single->on = false;
    anygp_status status = sparse_state_evidence(q, h, false, &jitter, false, false, &value, e);
    q->s.single->on = true;
    q->at[0] = NAN;
    *has = status == ANYGP_OK;
    return status == ANYGP_ERR_NUMERIC || status == ANYGP_TIME_LIMIT ? ANYGP_OK : status;
}

static anygp_status measure(void *state, const hyper *h, double jitter, float_error *error, anygp_error *e)
{
    sparse_state *q = state;
    double value;
    bool has;
    anygp_status status = ANYGP_OK;
    if (!q->coefficients || !sparse_state_is_at(q, h, jitter))
        status = sparse_state_evidence(q, h, false, &jitter, true, false, &value, e);
    if (status == ANYGP_TIME_LIMIT) return status;
    if (status == ANYGP_ERR_NUMERIC) {
        TRY(has_number(q, h, jitter, &has, e));
        *error = has ? no_number : no_error;
        return ANYGP_OK;
    }
    return ANYGP_FAILED(status) ? status : measure_sample(q, h, error, e);
}

const float_ops sparse_floats = {.on = is_on, .measure = measure, .leave = leave, .value = last_value};
