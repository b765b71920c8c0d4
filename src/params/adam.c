/* Kingma and Ba (2015), algorithm 1, upwards:
       first  <- b1 first  + (1 - b1) g            second <- b2 second + (1 - b2) g^2
       x += rate (first / (1 - b1^t)) / (sqrt(second / (1 - b2^t)) + eps) */
#include "params/adam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

static const double FIRST_DECAY = 0.9, SECOND_DECAY = 0.999, EPSILON = 1e-8; /* the paper's */

anygp_status adam_init(adam *a, int64_t n, anygp_error *e)
{
    *a = (adam){.n = n, .first = mem_zeroed(n, sizeof(double)), .second = mem_zeroed(n, sizeof(double))};
    if (a->first && a->second) return ANYGP_OK;
    adam_clear(a);
    return fail_memory(e, "the running means of the gradient", 16.0 * (double)n);
}

void adam_clear(adam *a)
{
    free(a->first);
    free(a->second);
    *a = (adam){0};
}

void adam_move(int64_t n, double t, double rate, const double *gradient, double scale, double *first, double *second,
               double *x)
{
    double first_weight = 1 - pow(FIRST_DECAY, t), second_weight = 1 - pow(SECOND_DECAY, t);
    for (int64_t i = 0; i < n; i++) {
        double g = gradient[i] * scale, square = g * g;
        if (!isfinite(square)) continue; /* one infinity would stop this coordinate for ever */
        first[i] = FIRST_DECAY * first[i] + (1 - FIRST_DECAY) * g;
        second[i] = SECOND_DECAY * second[i] + (1 - SECOND_DECAY) * square;
        x[i] += rate * (first[i] / first_weight) / (sqrt(second[i] / second_weight) + EPSILON);
    }
}

void adam_step(adam *a, double rate, const double *gradient, double *x)
{
    adam_move(a->n, (double)++a->t, rate, gradient, 1, a->first, a->second, x);
}

/* By Cauchy and Schwarz first^2 <= 53 second, for these decays; squares of small gradients may have underflowed. */
bool adam_means_are_sound(int64_t n, const double *first, const double *second)
{
    for (int64_t i = 0; i < n; i++)
        if (!(second[i] >= 0 && fabs(first[i]) <= 10 * sqrt(second[i]) + 1e-150)) return false;
    return true;
}

void adam_save(const adam *a, const char *name, checkpoint *to)
{
    char full[32];
    snprintf(full, sizeof full, "%s_t", name);
    checkpoint_put_integer(to, full, a->t);
    snprintf(full, sizeof full, "%s_first", name);
    checkpoint_put(to, full, a->n, a->first);
    snprintf(full, sizeof full, "%s_second", name);
    checkpoint_put(to, full, a->n, a->second);
}

bool adam_restore(adam *a, const char *name, const checkpoint *from)
{
    char full[32];
    snprintf(full, sizeof full, "%s_t", name);
    if (!checkpoint_get_counter(from, full, 0, &a->t)) return false;
    snprintf(full, sizeof full, "%s_first", name);
    if (!checkpoint_get_finite(from, full, a->n, a->first)) return false;
    snprintf(full, sizeof full, "%s_second", name);
    return checkpoint_get_finite(from, full, a->n, a->second) && adam_means_are_sound(a->n, a->first, a->second);
}
