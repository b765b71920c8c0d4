/* A parameter that grows, with Adam's state (svdgp_segment.h). */
#include "model/decoupled/svdgp_segment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "params/adam.h"

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
    for (int64_t r = 0, at = 0; r < s->rows; r++, at += s->width)
        adam_move(s->width, ++s->age[r], rate, gradient + at, scale, s->first + at, s->second + at, s->x + at);
}

void segment_clear(segment *s)
{
    double *const owned[] = {s->x, s->first, s->second, s->age};
    for (int i = 0; i < 4; i++) free(owned[i]);
    *s = (segment){.width = s->width};
}
