/* Rows in float in a climb (model_ops.floats): what they cost, and double from where it is too much.

   An objective in float is one function as long as nothing changes, so L-BFGS works on it as on any other; it is measured between
   iterations only, and after a change the climb begins again where it is.  Its gradients are rough, so that it may end too early: then it
   goes on in double, unless rounding is worth less than a tenth of a nat in all.  The posterior and the value that is reported are always those
   of double.  All ranks take rank 0's decision; a checkpoint has it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/climb.h"

static bool is_on(const climb *c)
{
    const float_ops *f = c->r.model->floats;
    return f && f->on(c->r.state);
}

/* The best point of the climbs so far is worth what double says. */
static bool evaluate_best_again(climb *c)
{
    int64_t n = c->r.h->free;
    double f, *at = mem_doubles(n, 2);
    if (!at) return fail_memory(&c->error, "the gradient", 16.0 * (double)n), false;
    memcpy(at, c->best_u, (size_t)n * sizeof *at);
    bool found = isfinite(c->best);
    c->best = -INFINITY;
    if (found) climb_evaluate(c, at, &f, at + n);
    free(at);
    return !ANYGP_FAILED(c->error.status);
}

/* Nats per row: of the value, and what the optimum loses by slopes that are off by s: s^2 / (2 c) for a curvature of c per row.  That of the
   log noise is 1/2; those of kernel parameters are less, and a tenth of it is assumed. */
static double cost_of(float_error error)
{
    static const double CURVATURE = 0.05;
    return fmax(error.value, error.slope * error.slope / (2 * CURVATURE));
}

bool climb_leaves_float(climb *c)
{
    run *r = &c->r;
    double of[2];
    float_error error = {0, 0};
    anygp_error why; /* float may have no number, which is no failure */
    if (!is_on(c)) return false;
    hyper_unpack(r->h, c->u);
    anygp_status status = r->model->floats->measure(r->state, r->h, r->jitter, &error, &why);
    int late = status == ANYGP_TIME_LIMIT;
    if (ANYGP_FAILED(status)) c->error = why;
    of[0] = error.value, of[1] = cost_of(error);
    if (ANYGP_FAILED(c->error.status) || ANYGP_FAILED(train_agree(r->p, &late, &c->error)) || late ||
        ANYGP_FAILED(train_share(r->p, 2, of, &c->error)))
        return false;
    c->noise = of[0] * r->model->rows(r->state), c->lost = of[1] * r->model->rows(r->state);
    if (isfinite(of[1])) c->rounding.error = fmax(c->rounding.error, of[1]);
    if (!(of[1] > ROUNDING_MOST)) return climb_grant(c), false;
    r->model->floats->leave(r->state);
    c->rounding.left = true, c->noise = 0;
    train_tell(r->p, r->o, ANYGP_WARNING,
               "rounding to float moved the objective by more than %g nats per row: after iteration %lld rows were in "
               "double",
               ROUNDING_MOST, (long long)(r->t + (c->optimiser != NULL)));
    c->first = true;
    return evaluate_best_again(c);
}

bool climb_ends_in_double(climb *c)
{
    static const double LITTLE = 0.1; /* nats */
    if (!is_on(c) || c->lost <= LITTLE) return false;
    c->r.model->floats->leave(c->r.state);
    c->noise = 0, c->first = true;
    return evaluate_best_again(c);
}

void climb_grant(const climb *c)
{
    if (c->optimiser) lbfgs_grant(c->optimiser, c->noise);
}

void climb_rounding_once(climb *c)
{
    if (!is_on(c)) return;
    c->r.model->floats->leave(c->r.state);
    c->rounding.error = NAN;
    train_tell(c->r.p, c->r.o, ANYGP_NOTE,
               "--precision mixed has no effect where nothing is learned: the only pass over the rows was in double");
}

/* ------------------------------------------------------------------------------------- checkpoints */

void climb_rounding_save(const climb *c, checkpoint *to)
{
    if (isnan(c->rounding.error)) return;
    checkpoint_put_integer(to, "in_float", is_on(c));
    checkpoint_put_integer(to, "left_float", c->rounding.left);
    checkpoint_put_number(to, "rounding", c->rounding.error);
    checkpoint_put_number(to, "noise", c->noise);
}

bool climb_rounding_restore(climb *c, const checkpoint *from)
{
    int64_t on, left;
    if (isnan(c->rounding.error)) return true;
    if (!checkpoint_get_counter(from, "in_float", 0, &on) || !checkpoint_get_counter(from, "left_float", 0, &left) ||
        !checkpoint_get_finite(from, "rounding", 1, &c->rounding.error) ||
        !checkpoint_get_finite(from, "noise", 1, &c->noise))
        return false;
    c->rounding.left = left > 0;
    if (!on) c->r.model->floats->leave(c->r.state);
    return true;
}

/* ----------------------------------------------------------------------------------------- the end */

void climb_rounding_before(climb *c)
{
    c->in_float = is_on(c);
    if (c->in_float) c->r.model->floats->leave(c->r.state);
}

void climb_rounding_after(climb *c, train_result *result)
{
    const run *r = &c->r;
    result->rounding = c->rounding;
    if (!c->in_float || (r->model->seen && r->model->seen(r->state) < 1)) return;
    double value = r->model->floats->value(r->state), error = fabs(value - result->objective) / result->rows;
    if (!isfinite(value)) return;
    result->objective = value;
    if (!isfinite(error)) return;
    result->rounding.error = fmax(c->rounding.error, error);
    if (error > ROUNDING_MOST)
        train_tell(r->p, r->o, ANYGP_WARNING,
                   "rounding to float moved the objective by %.1g nats per row in the end; --precision double avoids "
                   "it",
                   error);
}
