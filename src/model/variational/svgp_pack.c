/* Checkpoints of a variational model: Adam's state, and the natural parameters of the last layer's q; those of inner layers are among
   the parameters. */
#include "model/variational/svgp_state.h"

anygp_status svgp_save(void *state, checkpoint *to, anygp_error *e)
{
    svgp_state *q = state;
    (void)e;
    checkpoint_put_number(to, "model_jitter", q->jitter);
    checkpoint_put_integer(to, "approved", q->approved);
    ascent_save(&q->up, to);
    layer_save(q->s.f, to);
    if (!q->s.f->O) return ANYGP_OK;
    checkpoint_put(to, "a", q->adam_a.cols, q->s.f->a);
    adam_save(&q->adam_a, "adam_a", to);
    return ANYGP_OK;
}

bool svgp_restore(void *state, hyper *h, const checkpoint *from)
{
    svgp_state *q = state;
    q->prepared = false;
    return checkpoint_get_jitter(from, "model_jitter", &q->jitter) &&
           checkpoint_get_counter(from, "approved", 0, &q->approved) && layer_restore(q->s.f, from) &&
           (!q->s.f->O || (checkpoint_get_finite(from, "a", q->adam_a.cols, q->s.f->a) &&
                           adam_restore(&q->adam_a, "adam_a", from))) &&
           ascent_restore(&q->up, h, from);
}
