/* Checkpoints of a variational model: Adam's state, and the natural parameters of all q, each under a name of its own. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/svgp_state.h"

typedef struct q_names {
    char Lambda[32], theta[32];
} q_names;

static q_names names_of(int64_t i)
{
    q_names n;
    snprintf(n.Lambda, sizeof n.Lambda, "Lambda%lld", (long long)i);
    snprintf(n.theta, sizeof n.theta, "theta%lld", (long long)i);
    return n;
}

anygp_status svgp_save(void *state, checkpoint *to, anygp_error *e)
{
    svgp_state *q = state;
    (void)e;
    checkpoint_put_number(to, "model_jitter", q->jitter);
    checkpoint_put_integer(to, "approved", q->approved);
    ascent_save(&q->up, to);
    if (q->s.O) {
        checkpoint_put(to, "a", q->adam_a.n, q->s.a);
        adam_save(&q->adam_a, "adam_a", to);
    }
    for (int64_t i = 0; i < q->s.C * q->s.K; i++) {
        const svgp_q *one = &q->s.q[i];
        q_names name = names_of(i);
        checkpoint_put(to, name.Lambda, one->M * one->M, one->Lambda);
        checkpoint_put(to, name.theta, one->M, one->theta);
    }
    return ANYGP_OK;
}

static bool restore_q(svgp_state *q, const checkpoint *from)
{
    int64_t most = q->s.Mt;
    double *Lambda = mem_doubles(most, most), *theta = mem_alloc(most, sizeof *theta);
    bool ok = Lambda && theta;
    for (int64_t i = 0; ok && i < q->s.C * q->s.K; i++) {
        svgp_q *one = &q->s.q[i];
        q_names name = names_of(i);
        ok = checkpoint_get_finite(from, name.Lambda, one->M * one->M, Lambda) &&
             checkpoint_get_finite(from, name.theta, one->M, theta) && svgp_q_set(&q->s, one, Lambda, theta);
    }
    free(Lambda);
    free(theta);
    return ok;
}

bool svgp_restore(void *state, hyper *h, const checkpoint *from)
{
    svgp_state *q = state;
    q->prepared = false;
    return checkpoint_get_jitter(from, "model_jitter", &q->jitter) &&
           checkpoint_get_counter(from, "approved", 0, &q->approved) && restore_q(q, from) &&
           (!q->s.O ||
            (checkpoint_get_finite(from, "a", q->adam_a.n, q->s.a) && adam_restore(&q->adam_a, "adam_a", from))) &&
           ascent_restore(&q->up, h, from);
}
