/* Arrays and steps of a recipe (recipe.h). */
#include "export/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define VECTOR (HAS_TO | HAS_N)
#define AT_ROWS (VECTOR | HAS_INPUT | HAS_ROWS)

const step_kind step_kinds[STEPS] = {
    [STEP_KERNEL] = {"kernel", AT_ROWS | HAS_ARRAY | HAS_KERNEL},
    [STEP_LEFT] = {"left", AT_ROWS | HAS_ARRAY | HAS_KERNEL},
    [STEP_SCALED] = {"scaled", AT_ROWS | HAS_ARRAY | HAS_OTHER | HAS_KERNEL},
    [STEP_WAVES] = {"waves", AT_ROWS | HAS_ARRAY | HAS_OTHER},
    [STEP_BASIS] = {"basis", AT_ROWS | HAS_FACTOR},
    [STEP_FRAME] = {"frame", VECTOR | HAS_ARRAY | HAS_OTHER},
    [STEP_COPY] = {"copy", VECTOR | HAS_FROM},
    [STEP_SOLVE] = {"solve", VECTOR | HAS_ARRAY | HAS_ROWS | KEEPS},
    [STEP_BACK] = {"back", VECTOR | HAS_ARRAY | KEEPS},
    [STEP_ROOT] = {"root", VECTOR | HAS_ARRAY | KEEPS},
    [STEP_TAKE] = {"take", VECTOR | HAS_ARRAY | HAS_FROM | HAS_FROM_N | KEEPS},
    [STEP_MIX] = {"mix", VECTOR | HAS_ARRAY | HAS_FROM | HAS_FROM_N | KEEPS},
    [STEP_TIMES] = {"times", VECTOR | HAS_ARRAY | HAS_FROM | HAS_FROM_N},
    [STEP_WEIGH] = {"weigh", VECTOR | HAS_ARRAY | KEEPS},
    [STEP_MEAN] = {"mean", HAS_FROM | HAS_N | HAS_ARRAY | HAS_FACTOR | HAS_SLOT},
    [STEP_SHIFT] = {"shift", HAS_FACTOR | HAS_SLOT},
    [STEP_CLEAR] = {"clear", HAS_SLOT},
    [STEP_PRIOR] = {"prior", HAS_KERNEL | HAS_INPUT | HAS_SLOT},
    [STEP_SQUARE] = {"square", HAS_FROM | HAS_N | HAS_ARRAY | HAS_FACTOR | HAS_SLOT},
    [STEP_FLOOR] = {"floor", HAS_FACTOR | HAS_SLOT | HAS_OF},
    [STEP_SAME] = {"same", HAS_SLOT | HAS_OF},
    [STEP_ROUTE] = {"route", HAS_ARRAY | HAS_N | HAS_FROM_N | HAS_OTHER},
    [STEP_NEAR] = {"near", HAS_N | HAS_FROM_N | HAS_ARRAY | HAS_OTHER | HAS_KERNEL},
    [STEP_AROUND] = {"around", HAS_N | HAS_FROM | HAS_FROM_N | HAS_ARRAY | HAS_OTHER | HAS_FACTOR},
    [STEP_DESIGN] = {"design", HAS_N | HAS_FROM_N | HAS_ARRAY | HAS_OTHER | HAS_KERNEL},
    [STEP_GATHER] = {"gather", VECTOR | HAS_FROM_N | HAS_ARRAY},
    [STEP_GRAM] = {"gram", VECTOR | HAS_ARRAY | HAS_OTHER | HAS_FACTOR | HAS_KERNEL},
    [STEP_LESS] = {"less", VECTOR | HAS_ARRAY | HAS_FROM_N | KEEPS},
    [STEP_FACTOR] = {"factor", VECTOR | KEEPS},
    [STEP_OPEN] = {"open", HAS_TO | HAS_OF | HAS_RULE | HAS_FACTOR},
    [STEP_JOIN] = {"join", HAS_TO | HAS_SLOT | HAS_OF | HAS_RULE | HAS_FACTOR | HAS_PLUS | KEEPS},
    [STEP_AGREE] = {"agree", HAS_FROM | HAS_SLOT | HAS_OF | HAS_RULE | HAS_FACTOR},
    [STEP_NESTED] = {"nested", HAS_FROM | HAS_FROM_N | HAS_ARRAY | HAS_OTHER | HAS_SLOT | HAS_OF | HAS_FACTOR |
                                   HAS_KERNEL | HAS_RULE},
    [STEP_NOISE] = {"noise", HAS_FACTOR | HAS_SLOT},
    [STEP_PASS] = {"pass", VECTOR | HAS_ARRAY | HAS_OTHER | HAS_SLOT | HAS_FACTOR | HAS_INPUT},
    [STEP_GATE] = {"gate", HAS_N | HAS_OF | HAS_FACTOR},
    [STEP_AUGMENT] = {"augment", HAS_FROM | HAS_N | HAS_SLOT | HAS_FACTOR | HAS_KERNEL},
};

const char *recipe_vector_name(int64_t vector)
{
    static const char *const names[RECIPE_VECTORS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    return names[vector];
}

const char *recipe_place_name(const recipe *r, place p)
{
    return p.in < 0 ? recipe_vector_name(-1 - p.in) : p.in > 0 ? r->arrays[p.in - 1].name : "";
}

bool recipe_has(const recipe *r, step_op op)
{
    for (int64_t i = 0; i < r->n_steps; i++)
        if (r->steps[i].op == op) return true;
    return false;
}

void recipe_clear(recipe *r)
{
    for (int64_t i = 0; i < r->n_arrays; i++) free(r->arrays[i].values);
    free(r->arrays);
    free(r->steps);
    free(r->kernels);
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

place recipe_take_array(recipe *r, const char *name, int64_t count, double *values)
{
    if (!values) r->failed = true;
    if (r->failed || !grow(r, (void **)&r->arrays, r->n_arrays, &r->room_arrays, sizeof *r->arrays))
        return free(values), (place){1, 0};
    recipe_array *a = &r->arrays[r->n_arrays];
    *a = (recipe_array){.count = count, .values = values};
    snprintf(a->name, sizeof a->name, "%.31s%.31s", name, r->at.suffix);
    return (place){++r->n_arrays, 0};
}

place recipe_add_array(recipe *r, const char *name, int64_t count, const double *values)
{
    return recipe_take_array(r, name, count, mem_copied(count, 1, values));
}

place recipe_add_lower(recipe *r, const char *name, int64_t n, const double *values, int64_t ld)
{
    double *packed = mem_alloc(n * (n + 1) / 2, sizeof *packed), *to = packed;
    for (int64_t i = 0; packed && i < n; i++)
        for (int64_t j = 0; j <= i; j++) *to++ = values[i + j * ld];
    return recipe_take_array(r, name, n * (n + 1) / 2, packed);
}

place recipe_add_turned(recipe *r, const char *name, int64_t n, int64_t m, const double *values)
{
    double *rows = mem_doubles(n, m);
    for (int64_t i = 0; rows && i < n; i++)
        for (int64_t j = 0; j < m; j++) rows[i * m + j] = values[i + j * n];
    return recipe_take_array(r, name, n * m, rows);
}

void recipe_add_kernel(recipe *r, const kernel *k, int64_t width)
{
    if (!grow(r, (void **)&r->kernels, r->n_kernels, &r->room_kernels, sizeof *r->kernels)) return;
    r->kernels[r->n_kernels] = k;
    r->at.kernel = r->n_kernels++, r->at.width = width;
}

/* The vector that a step writes to is at least that long. */
static void make_room(recipe *r, const recipe_step *s)
{
    if (s->to.in >= 0) return;
    int64_t *length = &r->vector[-1 - s->to.in], n = s->n == LISTED ? r->list : s->n;
    int64_t rows = s->rows == LISTED ? r->list : s->rows > 1 ? s->rows : 1;
    bool triangle = s->op == STEP_GRAM || s->op == STEP_LESS || s->op == STEP_FACTOR;
    bool sums = s->op == STEP_OPEN || s->op == STEP_JOIN;
    int64_t size = triangle ? n * (n + 1) / 2 : sums ? 4 : s->op == STEP_GATHER ? n * s->from_n : n * rows;
    if (s->to.at + size > *length) *length = s->to.at + size;
}

void recipe_add(recipe *r, recipe_step s)
{
    int has = step_kinds[s.op].has;
    s.part = r->at.part, s.kernel = r->at.kernel, s.width = r->at.width, s.input = r->at.input;
    if ((s.op == STEP_NEAR || s.op == STEP_AROUND) && s.n > r->list) r->list = s.n;
    if (has & HAS_SLOT) s.slot += r->at.slot;
    if (has & HAS_OF) s.of += r->at.slot;
    int64_t top = s.op == STEP_GATE ? s.of + s.n : s.op == STEP_NOISE ? 0 : s.slot + 1;
    if (top > r->slots) r->slots = top;
    make_room(r, &s);
    if (grow(r, (void **)&r->steps, r->n_steps, &r->room_steps, sizeof *r->steps)) r->steps[r->n_steps++] = s;
}

/* ------------------------------------------------------------------------------------ what is late */

/* What later steps want, for the means: vectors (by steps without a part; by those of `part`; by any) and slots' variances. */
typedef struct wanted {
    bool vector[RECIPE_VECTORS], here[RECIPE_VECTORS], any[RECIPE_VECTORS];
    bool *variance;
    int64_t part;
} wanted;

static void want(wanted *w, const recipe_step *s, place p)
{
    if (p.in >= 0) return;
    (s->part < 0 ? w->vector : w->here)[-1 - p.in] = w->any[-1 - p.in] = true;
}

static bool is_wanted(const wanted *w, const recipe_step *s)
{
    int64_t v = -1 - s->to.in;
    return s->to.in < 0 && (w->vector[v] || (s->part < 0 ? w->any : w->here)[v]);
}

static bool counts_for_means(const wanted *w, const recipe_step *s)
{
    switch (s->op) {
    case STEP_ROUTE:
    case STEP_NEAR:
    case STEP_AROUND:
    case STEP_DESIGN:
    case STEP_MEAN:
    case STEP_SHIFT:
    case STEP_CLEAR:
    case STEP_AGREE:
    case STEP_NESTED:
    case STEP_GATE: return true;
    case STEP_SAME:
    case STEP_PRIOR:
    case STEP_SQUARE:
    case STEP_FLOOR:
    case STEP_AUGMENT: return w->variance[s->slot];
    default: return is_wanted(w, s);
    }
}

static void want_inputs(wanted *w, const recipe_step *s)
{
    int has = step_kinds[s->op].has;
    const place read[] = {s->from, s->array, s->other, (place){s->input, 0}, has & KEEPS ? s->to : (place){0}};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) want(w, s, read[i]);
    if (has & HAS_OF) w->variance[s->of] = true;
    if (s->op == STEP_JOIN) w->variance[s->slot] = true;
    for (int64_t i = 0; s->op == STEP_PASS && i < s->n; i++) w->variance[s->slot + i] = true;
    for (int64_t i = 0; s->op == STEP_NESTED && i <= s->from_n; i++) w->variance[s->of + i] = true;
}

/* From the last step to the first: those that no mean rests on are late. */
void recipe_mark_late(recipe *r)
{
    wanted w = {.variance = mem_zeroed(r->slots + 1, sizeof(bool)), .part = -1};
    if (!w.variance) r->failed = true;
    for (int64_t i = r->n_steps - 1; w.variance && i >= 0; i--) {
        recipe_step *s = &r->steps[i];
        if (s->part >= 0 && s->part != w.part) memset(w.here, 0, sizeof w.here), w.part = s->part;
        s->late = !counts_for_means(&w, s);
        if (!s->late) want_inputs(&w, s);
    }
    free(w.variance);
}
