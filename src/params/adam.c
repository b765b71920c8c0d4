/* Kingma and Ba (2015), algorithm 1, upwards:
       first  <- b1 first  + (1 - b1) g            second <- b2 second + (1 - b2) g^2
       x += rate (first / (1 - b1^t)) / (sqrt(second / (1 - b2^t)) + eps) */
#include "params/adam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const double FIRST_DECAY = 0.9, SECOND_DECAY = 0.999, EPSILON = 1e-8; /* the paper's */

static bool widen(double **array, int64_t used, int64_t size)
{
    double *larger = mem_zeroed(size, sizeof *larger);
    if (!larger) return false;
    if (used) memcpy(larger, *array, (size_t)used * sizeof *larger);
    free(*array);
    *array = larger;
    return true;
}

anygp_status adam_grow(adam *a, int64_t rows, int64_t cols, anygp_error *e)
{
    int64_t used = a->rows * cols, room = rows < 2 * a->room ? 2 * a->room : rows;
    a->cols = cols;
    if (rows > a->room || !a->first) {
        if (!widen(&a->first, used, room * cols) || !widen(&a->second, used, room * cols) ||
            !widen(&a->age, a->rows, room))
            return fail_memory(e, "the running means of the gradient", 16.0 * (double)room * (double)cols);
        a->room = room;
    }
    a->rows = rows;
    return ANYGP_OK;
}

anygp_status adam_init(adam *a, int64_t n, anygp_error *e)
{
    *a = (adam){0};
    anygp_status status = adam_grow(a, 1, n, e);
    if (ANYGP_FAILED(status)) adam_clear(a);
    return status;
}

void adam_clear(adam *a)
{
    free(a->first);
    free(a->second);
    free(a->age);
    *a = (adam){0};
}

/* What the running means of an age are divided by. */
typedef struct weights {
    double age, first, second;
} weights;

static weights weights_at(double age) { return (weights){age, 1 - pow(FIRST_DECAY, age), 1 - pow(SECOND_DECAY, age)}; }

static void move_row(int64_t n, const weights *w, double rate, const double *gradient, double scale, double *first,
                     double *second, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        double g = gradient[i] * scale, square = g * g;
        if (!isfinite(square)) continue; /* one infinity would stop this coordinate for ever */
        first[i] = FIRST_DECAY * first[i] + (1 - FIRST_DECAY) * g;
        second[i] = SECOND_DECAY * second[i] + (1 - SECOND_DECAY) * square;
        x[i] += rate * (first[i] / w->first) / (sqrt(second[i] / w->second) + EPSILON);
    }
}

void adam_move(adam *a, int64_t first, int64_t count, double rate, const double *gradient, double scale, double *x)
{
    int64_t n = a->cols;
    weights w = {0};
    for (int64_t r = first; r < first + count; r++, gradient += n, x += n) {
        if (++a->age[r] != w.age) w = weights_at(a->age[r]);
        move_row(n, &w, rate, gradient, scale, a->first + r * n, a->second + r * n, x);
    }
}

/* Whether steps can have led to these running means: no mean of squares is negative, or small beside the square of the mean.  By
   Cauchy and Schwarz first^2 <= 53 second, for these decays; squares of small gradients may have underflowed. */
static bool are_sound(const adam *a)
{
    for (int64_t i = 0; i < a->rows * a->cols; i++)
        if (!(a->second[i] >= 0 && fabs(a->first[i]) <= 10 * sqrt(a->second[i]) + 1e-150)) return false;
    for (int64_t r = 0; r < a->rows; r++)
        if (!(a->age[r] >= 0 && a->age[r] < 1e15)) return false;
    return true;
}

typedef struct saved_names {
    char first[48], second[48], age[48];
} saved_names;

static saved_names names_of(const char *name)
{
    saved_names n;
    snprintf(n.first, sizeof n.first, "%s_first", name);
    snprintf(n.second, sizeof n.second, "%s_second", name);
    snprintf(n.age, sizeof n.age, "%s_age", name);
    return n;
}

void adam_save(const adam *a, const char *name, checkpoint *to)
{
    saved_names n = names_of(name);
    checkpoint_put(to, n.first, a->rows * a->cols, a->first);
    checkpoint_put(to, n.second, a->rows * a->cols, a->second);
    checkpoint_put(to, n.age, a->rows, a->age);
}

bool adam_restore(adam *a, const char *name, const checkpoint *from)
{
    saved_names n = names_of(name);
    return checkpoint_get_finite(from, n.first, a->rows * a->cols, a->first) &&
           checkpoint_get_finite(from, n.second, a->rows * a->cols, a->second) &&
           checkpoint_get_finite(from, n.age, a->rows, a->age) && are_sound(a);
}
