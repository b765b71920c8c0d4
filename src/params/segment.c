/* One segment of parameters (params.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "params/params.h"

param_segment segment_that_grows(const char *name, int64_t cols)
{
    param_segment s = {.cols = cols, .learned = true, .grows = true};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

void segment_clear(param_segment *s)
{
    if (s->kernel)
        kernel_free(s->kernel);
    else
        free(s->values);
    free(s->facts);
    free(s->unit);
    adam_clear(&s->adam);
    *s = (param_segment){0};
}

anygp_status segment_copy(const param_segment *s, param_segment *to, anygp_error *e)
{
    int64_t n = param_segment_size(s);
    *to = *s;
    to->adam = (adam){0}, to->room = s->rows;
    to->kernel = s->kernel ? kernel_copy(s->kernel) : NULL;
    to->values = !s->kernel ? mem_copied(n, 1, s->values) : to->kernel ? kernel_values(to->kernel) : NULL;
    to->facts = s->facts ? mem_alloc(n, sizeof *to->facts) : NULL;
    to->unit = s->unit ? mem_copied(s->cols, 1, s->unit) : NULL;
    if (to->facts) memcpy(to->facts, s->facts, (size_t)n * sizeof *to->facts);
    if (to->values && (to->facts || !s->facts) && (to->unit || !s->unit)) return ANYGP_OK;
    segment_clear(to);
    return fail_memory(e, "the parameters", 8.0 * (double)n);
}

void segment_follow(param_segment *s)
{
    for (int64_t i = 0; s->tied && i < param_segment_size(s); i++)
        if (s->facts[i].follows) s->values[i] = s->values[s->facts[i].follows - 1];
}

/* ------------------------------------------------------------------------------------------- growth */

static anygp_status reserve(param_segment *s, int64_t rows, anygp_error *e)
{
    size_t size;
    if (rows <= s->room) return ANYGP_OK;
    if (rows < 2 * s->room) rows = 2 * s->room;
    double *larger = size_mul(rows, s->cols, &size) ? mem_zeroed((int64_t)size, sizeof *larger) : NULL;
    if (!larger) return fail_memory(e, "the parameters", 8.0 * (double)rows * (double)s->cols);
    if (s->rows) memcpy(larger, s->values, (size_t)param_segment_size(s) * sizeof *larger);
    free(s->values);
    s->values = larger, s->room = rows;
    return ANYGP_OK;
}

anygp_status segment_append(param_segment *s, int64_t rows, const double *values, anygp_error *e)
{
    int64_t at = param_segment_size(s), size = rows * s->cols;
    if (!s->grows) return fail_with(e, ANYGP_ERR_INTERNAL, "the parameters '%s' cannot grow", s->name);
    TRY(reserve(s, s->rows + rows, e));
    if (s->adam.first) TRY(adam_grow(&s->adam, s->rows + rows, s->cols, e));
    if (size && values) memcpy(s->values + at, values, (size_t)size * sizeof(double));
    if (size && !values) memset(s->values + at, 0, (size_t)size * sizeof(double));
    s->rows += rows;
    return ANYGP_OK;
}

anygp_status segment_step(param_segment *s, double rate, const double *gradient, double scale, anygp_error *e)
{
    if (!s->adam.first) TRY(adam_grow(&s->adam, s->rows, s->cols, e));
    adam_move(&s->adam, 0, s->rows, rate, gradient, scale, s->values);
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------- checkpoints */

void segment_save(const param_segment *s, checkpoint *to)
{
    checkpoint_put(to, s->name, param_segment_size(s), s->values);
    if (s->adam.first) adam_save(&s->adam, s->name, to);
}

bool segment_restore(param_segment *s, const checkpoint *from)
{
    anygp_error unused;
    char age[SEGMENT_NAME + 8];
    int64_t size = checkpoint_count(from, s->name);
    snprintf(age, sizeof age, "%s_age", s->name);
    if (size < 0 || s->cols < 1 || size % s->cols) return false;
    adam_clear(&s->adam);
    s->rows = 0;
    if (ANYGP_FAILED(segment_append(s, size / s->cols, NULL, &unused)) ||
        !checkpoint_get_finite(from, s->name, size, s->values))
        return false;
    if (checkpoint_count(from, age) < 0) return true;
    return !ANYGP_FAILED(adam_grow(&s->adam, s->rows, s->cols, &unused)) && adam_restore(&s->adam, s->name, from);
}
