#include "model/svdgp_segment.h"

#include <math.h>
#include <stdbool.h>
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

anygp_status segment_reserve(segment *s, int64_t rows, anygp_error *e)
{
    if (rows <= s->room) return ANYGP_OK;
    int64_t used = s->rows * s->width;
    size_t size;
    bool ok = size_mul(rows, s->width, &size) && widen(&s->x, used, (int64_t)size);
    if (ok && s->age)
        ok = widen(&s->first, used, (int64_t)size) && widen(&s->second, used, (int64_t)size) &&
             widen(&s->age, s->rows, rows);
    if (!ok) return fail_memory(e, "the bases", 24.0 * (double)rows * (double)s->width);
    s->room = rows;
    return ANYGP_OK;
}

anygp_status segment_append(segment *s, int64_t rows, const double *values, anygp_error *e)
{
    int64_t wanted = s->rows + rows, at = s->rows * s->width, size = rows * s->width;
    if (wanted > s->room) TRY(segment_reserve(s, wanted < 2 * s->room ? 2 * s->room : wanted, e));
    if (size && values) memcpy(s->x + at, values, (size_t)size * sizeof(double));
    if (size && !values) memset(s->x + at, 0, (size_t)size * sizeof(double));
    for (int64_t i = at; s->age && i < at + size; i++) s->first[i] = s->second[i] = 0;
    for (int64_t r = s->rows; s->age && r < wanted; r++) s->age[r] = 0;
    s->rows = wanted;
    return ANYGP_OK;
}

anygp_status segment_begin(segment *s, anygp_error *e)
{
    if (s->age) return ANYGP_OK;
    s->first = mem_zeroed(s->room * s->width, sizeof(double));
    s->second = mem_zeroed(s->room * s->width, sizeof(double));
    s->age = mem_zeroed(s->room, sizeof(double));
    if (s->first && s->second && s->age) return ANYGP_OK;
    free(s->first), free(s->second), free(s->age);
    s->first = s->second = s->age = NULL;
    return fail_memory(e, "the bases", 16.0 * (double)s->room * (double)s->width);
}

void segment_step(segment *s, double rate, const double *gradient, double scale)
{
    for (int64_t r = 0; r < s->rows; r++) {
        double t = ++s->age[r], late = sqrt(1 - pow(SECOND_DECAY, t)), step = rate / (1 - pow(FIRST_DECAY, t));
        for (int64_t i = r * s->width; i < (r + 1) * s->width; i++) {
            double g = gradient[i] * scale, square = g * g;
            if (!isfinite(square)) continue;
            s->first[i] = FIRST_DECAY * s->first[i] + (1 - FIRST_DECAY) * g;
            s->second[i] = SECOND_DECAY * s->second[i] + (1 - SECOND_DECAY) * square;
            s->x[i] += step * s->first[i] / (sqrt(s->second[i]) / late + EPSILON);
        }
    }
}

void segment_clear(segment *s)
{
    double *const owned[] = {s->x, s->first, s->second, s->age};
    for (int i = 0; i < 4; i++) free(owned[i]);
    *s = (segment){.width = s->width};
}
