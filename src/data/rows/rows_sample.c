/* A sample of the usable rows, as raw cells.  Row numbers come from a random bijection of all of them, so that neither time
   nor memory grows with the file; those that cannot be used are replaced by the next ones. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "data/rows/rows_inside.h"

enum { SAMPLE_STREAM = 2, TRIES = 8 }; /* at most this many times the wanted rows are tried before fewer are accepted */

static void sort_numbers(int64_t n, int64_t *number) { qsort(number, (size_t)n, sizeof *number, by_integer); }

typedef void (*row_visitor)(void *ctx, int64_t i, const double *row);

/* number[n] increases.  Neighbours are read together: never more than the whole file once, nor more often than n times. */
static anygp_status visit(row_source *r, int64_t n, const int64_t *number, double *room, row_visitor see, void *ctx,
                          anygp_error *e)
{
    int64_t chunk = rows_chunk(r);
    for (int64_t i = 0, j; i < n; i = j) {
        const double *at;
        int64_t first = number[i]; /* the visitor may write over those it has seen */
        for (j = i + 1; j < n && number[j] - first < chunk;) j++;
        TRY(rows_fetch(r, first, number[j - 1] - first + 1, room, &at, e));
        for (int64_t k = i; k < j; k++) see(ctx, k, at + (number[k] - first) * r->cols);
    }
    return ANYGP_OK;
}

typedef struct choice {
    const row_units *u;
    int64_t *number; /* the usable ones move to the front */
    int64_t found, next, looked_at;
} choice;

static void keep_if_usable(void *ctx, int64_t i, const double *row)
{
    choice *c = ctx;
    int64_t number = c->number[i];
    if (row_units_use(c->u, number, row) == ROW_USED) c->number[c->found++] = number;
}

/* Fills number[found .. wanted-1] with the next candidates; returns how many there are. */
static int64_t draw_numbers(choice *c, int64_t count, int64_t wanted)
{
    const rows_part *part = &c->u->part;
    random_stream s = {part->seed, RANDOM_SUBSET, SAMPLE_STREAM};
    int64_t have = c->found;
    for (; have < wanted && c->next < count; c->next++) {
        int64_t i = wanted == count ? c->next : random_shuffled(s, count, c->next);
        if (!rows_held(part->seed, i, part->hold_out)) c->number[have++] = i;
    }
    return have;
}

static anygp_status choose(row_source *r, choice *c, int64_t wanted, double *room, anygp_error *e)
{
    while (c->found < wanted && c->next < r->count && (c->looked_at < TRIES * wanted || c->found == 0)) {
        int64_t from = c->found, have = draw_numbers(c, r->count, wanted);
        choice round = {.u = c->u, .number = c->number + from};
        sort_numbers(have - from, round.number);
        TRY(visit(r, have - from, round.number, room, keep_if_usable, &round, e));
        c->found += round.found;
        c->looked_at += have - from;
    }
    sort_numbers(c->found, c->number);
    return ANYGP_OK;
}

typedef struct copy_target {
    double *cells;
    int64_t cols;
} copy_target;

static void copy_row(void *ctx, int64_t i, const double *row)
{
    const copy_target *t = ctx;
    memcpy(t->cells + i * t->cols, row, (size_t)t->cols * sizeof *row);
}

anygp_status rows_sample(row_source *r, const row_units *u, int64_t wanted, int64_t *n, double **cells,
                         int64_t **number, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    if (wanted < 1) wanted = 1;
    if (wanted > r->count) wanted = r->count;
    choice c = {.u = u, .number = mem_alloc(wanted, sizeof *c.number)};
    double *room = rows_room(r, rows_chunk(r));
    *cells = NULL, *number = NULL;
    if (!c.number || !room) {
        status = fail_memory(e, "a sample of the rows", 8.0 * (double)wanted);
        goto done;
    }
    TRY_DONE(choose(r, &c, wanted, room, e));
    *n = c.found;
    if (!(*cells = mem_doubles(*n, r->cols))) {
        status = fail_memory(e, "a sample of the rows", 8.0 * (double)*n * (double)r->cols);
        goto done;
    }
    copy_target to = {*cells, r->cols};
    TRY_DONE(visit(r, *n, c.number, room, copy_row, &to, e));
done:
    free(room);
    if (ANYGP_FAILED(status))
        free(*cells), *cells = NULL, free(c.number);
    else
        *number = c.number;
    return status;
}
