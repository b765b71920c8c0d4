/* Rows that show the function at every scale.  Rows taken at random are far apart where there are many of them, and what varies
   in between looks like noise; rows next to each other show nothing of a slow trend.  So half of them are taken at random, and
   half around a few of these, at each: some of the nearest of 3/4 of all rows, of 3/16, of 3/64, ... down to about as few as are
   taken at random.  The levels of the rows are a function of the seed. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "run/start.h"

enum { CENTRE_ROWS = 30, LEVELS_MOST = 16, RANDOM_ROWS = 1, RANDOM_LEVELS = 2 };

anygp_status start_subset(const problem *p, int64_t size, merged *out, anygp_error *e)
{
    int64_t k = size < p->rows->n ? size : p->rows->n, *chosen = mem_alloc(k, sizeof *chosen);
    if (!chosen) return fail_memory(e, "a subset", 8.0 * (double)k);
    random_subset((random_stream){p->seed, RANDOM_SUBSET, RANDOM_ROWS}, p->rows->n, k, chosen);
    anygp_status status = merged_select(p->rows, k, chosen, out, e);
    free(chosen);
    return status;
}

typedef struct neighbour {
    double distance;
    int64_t row;
} neighbour;

typedef struct choice {
    const merged *m;
    const double *unit; /* of each column; NULL: 1 */
    uint64_t seed;
    int levels;
    int64_t each; /* rows of a level, around a centre */
    uint8_t *level;
    bool *taken;
    neighbour *nearest; /* levels x each, the nearest first */
} choice;

static double distance_of_rows(const choice *c, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t j = 0; j < c->m->D; j++) {
        double d = (a[j] - b[j]) / (c->unit ? c->unit[j] : 1);
        sum += schema_at(&c->m->data->schema, j)->text ? (a[j] != b[j]) : d * d;
    }
    return sum;
}

/* Into an ordered list of at most `most`; what is further away than all of them is dropped. */
static void offer(neighbour *list, int64_t most, neighbour one)
{
    if (most < 1 || !(one.distance < list[most - 1].distance)) return;
    int64_t i = most - 1;
    for (; i > 0 && one.distance < list[i - 1].distance; i--) list[i] = list[i - 1];
    list[i] = one;
}

static void take_around(const choice *c, int64_t centre)
{
    const merged *m = c->m;
    int64_t room = c->levels * c->each;
    for (int64_t i = 0; i < room; i++) c->nearest[i] = (neighbour){INFINITY, -1};
    for (int64_t i = 0; i < m->n; i++)
        if (!c->taken[i])
            offer(c->nearest + c->level[i] * c->each, c->each,
                  (neighbour){distance_of_rows(c, m->X + centre * m->D, m->X + i * m->D), i});
    for (int64_t i = 0; i < room; i++)
        if (c->nearest[i].row >= 0) c->taken[c->nearest[i].row] = true;
}

/* Level 0 has 3/4 of the rows, each further one a quarter as many, the last one all that are left. */
static void make_levels(const choice *c)
{
    random_stream s = {c->seed, RANDOM_SUBSET, RANDOM_LEVELS};
    for (int64_t i = 0; i < c->m->n; i++) {
        uint64_t bits = random_bits(s, (uint64_t)i);
        c->level[i] = 0;
        for (; c->level[i] < c->levels - 1 && (bits & 3) == 0; bits >>= 2) c->level[i]++;
    }
}

/* chosen[size] in increasing order; returns how many there are. */
static int64_t choose(const choice *c, int64_t size, int64_t *chosen)
{
    int64_t n = c->m->n, random = size / 2, centres = (size - random) / CENTRE_ROWS, count = 0;
    random_subset((random_stream){c->seed, RANDOM_SUBSET, RANDOM_ROWS}, n, random, chosen);
    for (int64_t i = 0; i < random; i++) c->taken[chosen[i]] = true;
    for (int64_t k = 0; k < centres; k++) take_around(c, chosen[k * random / centres]);
    for (int64_t i = 0; i < n; i++)
        if (c->taken[i]) chosen[count++] = i;
    return count;
}

anygp_status start_rows(const problem *p, int64_t size, const double *unit, merged *out, anygp_error *e)
{
    const merged *m = p->rows;
    if (m->n <= size || size < 2 * CENTRE_ROWS) return start_subset(p, size, out, e);
    int levels = 1 + (int)ceil(log2((double)m->n / (0.5 * (double)size)) / 2);
    choice c = {.m = m, .unit = unit, .seed = p->seed, .levels = levels < LEVELS_MOST ? levels : LEVELS_MOST};
    c.each = CENTRE_ROWS / c.levels;
    c.level = mem_alloc(m->n, sizeof *c.level);
    c.taken = mem_zeroed(m->n, sizeof *c.taken);
    c.nearest = mem_alloc(c.levels * c.each, sizeof *c.nearest);
    int64_t *chosen = mem_alloc(size, sizeof *chosen);
    anygp_status status = ANYGP_OK;
    if (c.level && c.taken && c.nearest && chosen) {
        make_levels(&c);
        int64_t count = choose(&c, size, chosen);
        status = merged_select(m, count, chosen, out, e);
    } else
        status = fail_memory(e, "a subset", 10.0 * (double)m->n);
    free(c.level);
    free(c.taken);
    free(c.nearest);
    free(chosen);
    return status;
}
