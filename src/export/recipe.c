/* Arrays and steps of a recipe (recipe.h). */
#include "export/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *step_name(step_op op)
{
    static const char *const names[] = {
        [STEP_KERNEL] = "kernel", [STEP_LEFT] = "left", [STEP_SCALED] = "scaled", [STEP_WAVES] = "waves",
        [STEP_BASIS] = "basis",   [STEP_COPY] = "copy", [STEP_SOLVE] = "solve",   [STEP_ROOT] = "root",
        [STEP_TAKE] = "take",     [STEP_MEAN] = "mean", [STEP_PRIOR] = "prior",   [STEP_SQUARE] = "square",
        [STEP_FLOOR] = "floor",   [STEP_SAME] = "same"};
    return names[op];
}

const char *recipe_vector_name(int vector)
{
    static const char *const names[RECIPE_VECTORS] = {"a", "b", "c", "d"};
    return names[vector];
}

void recipe_clear(recipe *r)
{
    for (int64_t i = 0; i < r->n_arrays; i++) free(r->arrays[i].values);
    free(r->arrays);
    free(r->steps);
    *r = (recipe){0};
}

/* Room for one more of them. */
static bool grow(recipe *r, void **list, int64_t count, int64_t *room, size_t size)
{
    if (count < *room) return true;
    void *grown = realloc(*list, (size_t)(2 * *room + 8) * size);
    if (!grown) return r->failed = true, false;
    *list = grown, *room = 2 * *room + 8;
    return true;
}

static int take_array(recipe *r, const char *name, int64_t count, int64_t columns, double *values)
{
    if (!values) r->failed = true;
    if (r->failed || !grow(r, (void **)&r->arrays, r->n_arrays, &r->room_arrays, sizeof *r->arrays))
        return free(values), -1;
    recipe_array *a = &r->arrays[r->n_arrays];
    *a = (recipe_array){.count = count, .columns = columns, .values = values};
    snprintf(a->name, sizeof a->name, "%s", name);
    return (int)r->n_arrays++;
}

int recipe_add_array(recipe *r, const char *name, int64_t count, int64_t columns, const double *values)
{
    return take_array(r, name, count, columns, mem_copied(count, 1, values));
}

int recipe_add_lower(recipe *r, const char *name, int64_t n, const double *values, int64_t ld)
{
    double *packed = mem_alloc(n * (n + 1) / 2, sizeof *packed), *to = packed;
    for (int64_t i = 0; packed && i < n; i++)
        for (int64_t j = 0; j <= i; j++) *to++ = values[i + j * ld];
    return take_array(r, name, n * (n + 1) / 2, n, packed);
}

void recipe_add(recipe *r, recipe_step s)
{
    bool works = s.op != STEP_MEAN && s.op != STEP_PRIOR && s.op != STEP_SQUARE && s.op != STEP_FLOOR;
    if (s.op == STEP_MEAN) r->mean_steps = r->n_steps + 1;
    if (works && s.op != STEP_SAME && s.at + s.n > r->vector[s.vector]) r->vector[s.vector] = s.at + s.n;
    if (grow(r, (void **)&r->steps, r->n_steps, &r->room_steps, sizeof *r->steps)) r->steps[r->n_steps++] = s;
}
