/* Checkpoints of a variational model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/svgp_state.h"

/* Natural parameters of all q, each under a name of its own. */
anygp_status svgp_save(void *state, state_writer put, void *ctx, anygp_error *e)
{
    svgp_state *q = state;
    char name[32];
    q->numbers[SVGP_NUMBER_ADAM] = (double)q->adam.t, q->numbers[SVGP_NUMBER_JITTER] = q->jitter;
    q->numbers[SVGP_NUMBER_ADAM_A] = (double)q->adam_a.t, q->numbers[SVGP_NUMBER_APPROVED] = (double)q->approved;
    put(ctx, "numbers", SVGP_NUMBERS, q->numbers);
    put(ctx, "u", q->adam.n, q->u);
    put(ctx, "adam_first", q->adam.n, q->adam.first);
    put(ctx, "adam_second", q->adam.n, q->adam.second);
    if (q->s.O) {
        put(ctx, "a", q->adam_a.n, q->s.a);
        put(ctx, "adam_a_first", q->adam_a.n, q->adam_a.first);
        put(ctx, "adam_a_second", q->adam_a.n, q->adam_a.second);
    }
    for (int64_t i = 0; i < q->s.C * q->s.K; i++) {
        const svgp_q *one = &q->s.q[i];
        snprintf(name, sizeof name, "Lambda%lld", (long long)i);
        put(ctx, name, one->M * one->M, one->Lambda);
        snprintf(name, sizeof name, "theta%lld", (long long)i);
        put(ctx, name, one->M, one->theta);
    }
    (void)e;
    return ANYGP_OK;
}

static bool restore_q(svgp_state *q, state_reader get, const void *ctx)
{
    int64_t most = q->s.Mt;
    char name[32];
    double *Lambda = mem_doubles(most, most), *theta = mem_alloc(most, sizeof *theta);
    bool ok = Lambda && theta;
    for (int64_t i = 0; ok && i < q->s.C * q->s.K; i++) {
        svgp_q *one = &q->s.q[i];
        snprintf(name, sizeof name, "Lambda%lld", (long long)i);
        ok = get(ctx, name, one->M * one->M, Lambda);
        snprintf(name, sizeof name, "theta%lld", (long long)i);
        ok = ok && get(ctx, name, one->M, theta) && svgp_q_set(&q->s, one, Lambda, theta);
    }
    free(Lambda);
    free(theta);
    return ok;
}

/* Counters and a relative jitter. */
static bool numbers_are_sound(const double *numbers)
{
    static const int counters[] = {SVGP_NUMBER_ADAM, SVGP_NUMBER_ADAM_A, SVGP_NUMBER_APPROVED};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        double x = numbers[counters[i]];
        if (!(x >= 0 && x <= 0x1p50 && x == floor(x))) return false;
    }
    return numbers[SVGP_NUMBER_JITTER] >= 0 && numbers[SVGP_NUMBER_JITTER] <= 1;
}

bool svgp_restore(void *state, hyper *h, state_reader get, const void *ctx)
{
    svgp_state *q = state;
    bool ok = get(ctx, "numbers", SVGP_NUMBERS, q->numbers) && get(ctx, "u", q->adam.n, q->u) &&
              get(ctx, "adam_first", q->adam.n, q->adam.first) && get(ctx, "adam_second", q->adam.n, q->adam.second) &&
              restore_q(q, get, ctx);
    if (ok && q->s.O)
        ok = get(ctx, "a", q->adam_a.n, q->s.a) && get(ctx, "adam_a_first", q->adam_a.n, q->adam_a.first) &&
             get(ctx, "adam_a_second", q->adam_a.n, q->adam_a.second);
    if (!ok || !numbers_are_sound(q->numbers)) return false;
    q->adam_a.t = (int64_t)q->numbers[SVGP_NUMBER_ADAM_A], q->approved = (int64_t)q->numbers[SVGP_NUMBER_APPROVED];
    q->adam.t = (int64_t)q->numbers[SVGP_NUMBER_ADAM], q->jitter = q->numbers[SVGP_NUMBER_JITTER];
    hyper_unpack(h, q->u);
    q->prepared = false;
    return adam_is_sound(&q->adam) && (!q->s.O || adam_is_sound(&q->adam_a));
}
