/* Checkpoints of a variational model: Adam's state, and the natural parameters of the last layer's q; those of inner layers are among
   the parameters. */
#include <math.h>

#include "model/variational/svgp_state.h"

anygp_status svgp_save(void *state, checkpoint *to, anygp_error *e)
{
    svgp_state *q = state;
    (void)e;
    checkpoint_put_number(to, "model_jitter", q->jitter);
    checkpoint_put_integer(to, "approved", q->approved);
    if (q->problem->mixed) {
        checkpoint_put_integer(to, "in_float", q->in_float);
        checkpoint_put_integer(to, "left_float", q->rounding.left);
        checkpoint_put_number(to, "rounding", isnan(q->rounding.error) ? 0 : q->rounding.error);
    }
    ascent_save(&q->up, to);
    layer_save(q->s.f, to);
    if (!q->s.f->O) return ANYGP_OK;
    checkpoint_put(to, "a", q->adam_a.cols, q->s.f->a);
    adam_save(&q->adam_a, "adam_a", to);
    return ANYGP_OK;
}

/* A state in float goes on in float only where it was: the others have nothing to say about it. */
static bool restore_precision(svgp_state *q, const checkpoint *from)
{
    int64_t on, left;
    double error;
    if (!q->problem->mixed) return true;
    if (!checkpoint_get_counter(from, "in_float", 0, &on) || !checkpoint_get_counter(from, "left_float", 0, &left) ||
        !checkpoint_get_finite(from, "rounding", 1, &error))
        return false;
    q->in_float = q->in_float && on > 0;
    q->rounding.left = left > 0;
    if (!isnan(q->rounding.error)) q->rounding.error = error;
    return true;
}

bool svgp_restore(void *state, hyper *h, const checkpoint *from)
{
    svgp_state *q = state;
    q->prepared = false;
    return checkpoint_get_jitter(from, "model_jitter", &q->jitter) &&
           checkpoint_get_counter(from, "approved", 0, &q->approved) && restore_precision(q, from) &&
           layer_restore(q->s.f, from) &&
           (!q->s.f->O || (checkpoint_get_finite(from, "a", q->adam_a.cols, q->s.f->a) &&
                           adam_restore(&q->adam_a, "adam_a", from))) &&
           ascent_restore(&q->up, h, from);
}
