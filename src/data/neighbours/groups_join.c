/* Groups of rows that share neighbours (groups.h; Guinness 2018, section 3).  Every row begins as a group of its own, with its neighbours in
   the list.  In the order of the neighbours, the nearest first, and of the rows, the groups of a row and of its neighbour become one where
   that saves work and the group does not grow too long.

   Very many rows are cut into cells of some thousands, which lie together in space: runs of near_rows.walk.  Groups join within a cell, by
   one thread, in memory that stays in its cache; rows at the borders of cells have smaller groups.  The cells depend on the rows alone, and
   so do the groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/groups.h"

/* LISTS_MOST: a group's list is at most so many times as long as a row's.  The first rows of an order that covers the space have each other as
   neighbours and would all become one group, whose cube is a third of the work on 10 000 rows. */
enum { CELL_ROWS = 16384, REFUSALS = 4096, LISTS_MOST = 6 };

/* Ascending row numbers. */
typedef struct list {
    int32_t *row;
    int64_t n;
} list;

/* The cells: the rows of cell c are row[start[c]] .. row[start[c + 1] - 1], ascending; row r is row[place[r]]. */
typedef struct cells {
    int64_t count, *start;
    int32_t *row, *place;
} cells;

/* Two groups that did not join, and the lengths of their lists then: as long as those are the same, so are the lists. */
typedef struct refusal {
    int32_t a, b;
    int64_t na, nb;
} refusal;

/* Groups of a cell as they join: each is named by one of its own rows.  Rows are numbered by their places in the cell. */
typedef struct union_find {
    const near_rows *near;
    const cells *cells;
    int64_t first, n;     /* the cell's rows among those of all cells */
    int32_t *parent;      /* n */
    list *lists;          /* n: of the names; empty for other rows */
    int32_t *lists_first; /* n x each: where they begin; a list that was joined has memory of its own */
    int64_t each;
    refusal *refused; /* REFUSALS, by a hash of the two; a = b: none */
} union_find;

/* What becomes of a cell: groups one after the other.  Of a row that is a group's own, -1 - r is written. */
typedef struct joined_cell {
    int64_t count, total;
    int32_t *name, *length, *own, *row;
} joined_cell;

/* -------------------------------------------------------------------------------------------- cells */

static void cells_clear(cells *c)
{
    free(c->start);
    free(c->row);
    free(c->place);
}

/* Which cell each place of the walk is in, by halving, as the tree is made. */
static void number_cells(const near_rows *near, int64_t cell, int64_t count, int64_t first, int64_t end, cells *c)
{
    if (count > 1) {
        int64_t middle = first + (end - first) / 2;
        number_cells(near, cell, count / 2, first, middle, c);
        number_cells(near, cell + count / 2, count / 2, middle, end, c);
        return;
    }
    c->start[cell] = first;
    for (int64_t i = first; i < end; i++) c->place[near->walk ? near->walk[i] : i] = (int32_t)cell;
}

static anygp_status cells_open(const near_rows *near, cells *c, anygp_error *e)
{
    int64_t n = near->n;
    *c = (cells){.count = 1};
    while (near->walk && n / c->count > CELL_ROWS) c->count *= 2;
    c->start = mem_alloc(c->count + 1, sizeof *c->start);
    c->row = mem_alloc(n, sizeof *c->row), c->place = mem_alloc(n, sizeof *c->place);
    int64_t *next = mem_alloc(c->count, sizeof *next);
    bool ok = c->start && c->row && c->place && next;
    if (ok) {
        number_cells(near, 0, c->count, 0, n, c);
        c->start[c->count] = n;
        memcpy(next, c->start, (size_t)c->count * sizeof *next);
        for (int64_t r = 0; r < n; r++) {
            int64_t at = next[c->place[r]]++;
            c->row[at] = (int32_t)r, c->place[r] = (int32_t)at;
        }
    }
    free(next);
    return ok ? ANYGP_OK : fail_memory(e, "the groups of rows", 8.0 * (double)n);
}

/* ------------------------------------------------------------------------------------------ joining */

static int32_t name_of(union_find *u, int32_t row)
{
    while (u->parent[row] != row) row = u->parent[row] = u->parent[u->parent[row]];
    return row;
}

static void list_free(const union_find *u, int32_t *row)
{
    if (row < u->lists_first || row >= u->lists_first + u->n * u->each) free(row);
}

static void union_clear(union_find *u)
{
    for (int64_t i = 0; u->lists && u->lists_first && i < u->n; i++) list_free(u, u->lists[i].row);
    mapped_free(u->lists_first);
    free(u->refused);
    free(u->lists);
    free(u->parent);
}

/* Short lists. */
static void sort_rows(int64_t n, int32_t *row)
{
    for (int64_t i = 1; i < n; i++) {
        int32_t x = row[i];
        int64_t j = i;
        for (; j > 0 && row[j - 1] > x; j--) row[j] = row[j - 1];
        row[j] = x;
    }
}

static anygp_status union_open(const near_rows *near, const cells *c, int64_t cell, union_find *u, anygp_error *e)
{
    *u = (union_find){.near = near, .cells = c, .first = c->start[cell], .each = near->k + 1};
    u->n = c->start[cell + 1] - u->first;
    u->parent = mem_alloc(u->n, sizeof *u->parent), u->lists = mem_zeroed(u->n, sizeof *u->lists);
    u->refused = mem_zeroed(REFUSALS, sizeof *u->refused);
    if (!u->parent || !u->lists || !u->refused) return fail_memory(e, "the groups of rows", 20.0 * (double)u->n);
    TRY(mapped_alloc(near->on_disk && c->count == 1, u->n, (size_t)u->each * sizeof *u->lists_first,
                     "the groups of rows", (void **)&u->lists_first, e));
    for (int64_t i = 0; i < u->n; i++) {
        int64_t r = c->row[u->first + i], k = near->count[r];
        int32_t *row = u->lists_first + i * u->each;
        memcpy(row, near->row + r * near->k, (size_t)k * sizeof *row);
        sort_rows(k, row);
        row[k] = (int32_t)r; /* the others come before it */
        u->lists[i] = (list){row, k + 1}, u->parent[i] = (int32_t)i;
    }
    return ANYGP_OK;
}

/* The number of rows of both lists together, or INT64_MAX as soon as it cannot be `most` or less. */
static int64_t union_size(const list *a, const list *b, int64_t most)
{
    int64_t i = 0, j = 0, common = 0, both = a->n + b->n;
    while (i < a->n && j < b->n) {
        int32_t x = a->row[i], y = b->row[j];
        i += x <= y, j += y <= x, common += x == y;
        int64_t left = a->n - i < b->n - j ? a->n - i : b->n - j;
        if (both - common - left > most) return INT64_MAX;
    }
    return both - common;
}

static bool join(union_find *u, int32_t to, int32_t from, int64_t size)
{
    list *a = &u->lists[to], *b = &u->lists[from];
    int32_t *row = malloc((size_t)size * sizeof *row);
    if (!row) return false;
    int64_t i = 0, j = 0;
    for (int64_t k = 0; k < size; k++) {
        int32_t x = i < a->n ? a->row[i] : INT32_MAX, y = j < b->n ? b->row[j] : INT32_MAX;
        row[k] = x < y ? x : y, i += x <= y, j += y <= x;
    }
    list_free(u, a->row);
    list_free(u, b->row);
    *a = (list){row, size}, *b = (list){0};
    u->parent[from] = to;
    return true;
}

/* Two groups become one where that saves work; false: no memory. */
static bool consider(union_find *u, int32_t one, int32_t other)
{
    int32_t a = name_of(u, one), b = name_of(u, other);
    if (a == b) return true;
    refusal now = {a, b, u->lists[a].n, u->lists[b].n},
            *was = &u->refused[((uint32_t)a * 2654435761u ^ (uint32_t)b * 2246822519u) >> 20];
    if (was->a == a && was->b == b && was->na == now.na && was->nb == now.nb) return true;
    double na = (double)now.na, nb = (double)now.nb;
    int64_t most = (int64_t)ceil(sqrt(na * na + nb * nb)) - 1; /* whose square is less */
    if (most > LISTS_MOST * u->each) most = LISTS_MOST * u->each;
    int64_t size = union_size(&u->lists[a], &u->lists[b], most);
    if (size <= most) return join(u, a, b, size);
    *was = now;
    return true;
}

static bool join_all(union_find *u)
{
    const near_rows *near = u->near;
    const int32_t *row = u->cells->row + u->first;
    for (int64_t j = 0; j < near->k; j++)
        for (int64_t i = 0; i < u->n; i++) {
            if (j >= near->count[row[i]]) continue;
            int64_t other = u->cells->place[near->row[row[i] * near->k + j]] - u->first;
            if (other >= 0 && other < u->n && !consider(u, (int32_t)i, (int32_t)other)) return false;
        }
    return true;
}

static void joined_clear(joined_cell *c)
{
    free(c->name);
    free(c->length);
    free(c->own);
    free(c->row);
}

static bool keep_groups(union_find *u, joined_cell *c)
{
    const int32_t *number = u->cells->row + u->first;
    for (int64_t i = 0; i < u->n; i++) c->count += u->lists[i].n > 0, c->total += u->lists[i].n;
    c->name = mem_alloc(c->count, sizeof *c->name), c->length = mem_alloc(c->count, sizeof *c->length);
    c->own = mem_alloc(c->count, sizeof *c->own), c->row = mem_alloc(c->total, sizeof *c->row);
    if (!c->name || !c->length || !c->own || !c->row) return false;
    int32_t *to = c->row;
    for (int64_t i = 0, k = 0; i < u->n; i++) {
        const list *l = &u->lists[i];
        if (l->n == 0) continue;
        int32_t own = 0;
        for (int64_t j = 0; j < l->n; j++) {
            int64_t at = u->cells->place[l->row[j]] - u->first;
            bool mine = at >= 0 && at < u->n && name_of(u, (int32_t)at) == i;
            *to++ = mine ? -1 - l->row[j] : l->row[j], own += mine;
        }
        c->name[k] = number[i], c->length[k] = (int32_t)l->n, c->own[k++] = own;
    }
    return true;
}

static anygp_status join_cell(const near_rows *near, const cells *c, int64_t cell, joined_cell *out, anygp_error *e)
{
    union_find u;
    anygp_status status = union_open(near, c, cell, &u, e);
    if (!ANYGP_FAILED(status) && !(join_all(&u) && keep_groups(&u, out)))
        status = fail_memory(e, "the groups of rows", 0);
    union_clear(&u);
    return status;
}

static anygp_status join_cells(const near_rows *near, const cells *c, joined_cell *out, anygp_error *e)
{
    int threads = c->count > 1 ? threads_max() : 1;
    anygp_status status = ANYGP_OK;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        anygp_error why = {0};
        anygp_status mine = ANYGP_OK;
#pragma omp for schedule(dynamic)
        for (int64_t cell = 0; cell < c->count; cell++) {
            if (!ANYGP_FAILED(mine) && stop_heard(near->stop)) mine = fail_stopped(&why);
            if (!ANYGP_FAILED(mine)) mine = join_cell(near, c, cell, &out[cell], &why);
        }
#pragma omp critical
        if (ANYGP_FAILED(mine)) status = fail_with(e, mine, "%s", why.text);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ writing */

/* A group by its lengths; where it stands in its cell. */
typedef struct measured {
    int32_t rows, own, cell, name;
    const int32_t *row;
} measured;

static int by_length(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    if (x->rows != y->rows) return (x->rows > y->rows) - (x->rows < y->rows);
    if (x->own != y->own) return (x->own > y->own) - (x->own < y->own);
    if (x->cell != y->cell) return (x->cell > y->cell) - (x->cell < y->cell);
    return (x->name > y->name) - (x->name < y->name);
}

/* Groups of equal lengths one after the other, since their matrices are processed side by side; of those, the ones that lie together. */
static measured *in_order(int64_t number, const joined_cell *c, int64_t count)
{
    measured *m = mem_alloc(count, sizeof *m);
    for (int64_t i = 0, k = 0; m && i < number; i++) {
        const int32_t *row = c[i].row;
        for (int64_t j = 0; j < c[i].count; row += c[i].length[j++])
            m[k++] = (measured){c[i].length[j], c[i].own[j], (int32_t)i, c[i].name[j], row};
    }
    if (m) qsort(m, (size_t)count, sizeof *m, by_length);
    return m;
}

static anygp_status write_groups(int64_t number, const joined_cell *c, bool on_disk, row_groups *g, anygp_error *e)
{
    int64_t total = 0, at = 0;
    *g = (row_groups){.on_disk = on_disk};
    for (int64_t i = 0; i < number; i++) g->count += c[i].count, total += c[i].total;
    TRY(row_groups_allocate(g, total, e));
    measured *m = in_order(number, c, g->count);
    if (!m) {
        row_groups_clear(g);
        return fail_memory(e, "the groups of rows", 24.0 * (double)g->count);
    }
    for (int64_t k = 0; k < g->count; k++) {
        g->start[k] = at;
        if (m[k].rows > g->largest) g->largest = m[k].rows;
        for (int64_t j = 0; j < m[k].rows; j++, at++) {
            int32_t r = m[k].row[j];
            g->own[at] = r < 0, g->row[at] = r < 0 ? -1 - r : r;
        }
    }
    g->start[g->count] = total;
    free(m);
    return ANYGP_OK;
}

anygp_status groups_joined(const near_rows *near, row_groups *out, anygp_error *e)
{
    cells c;
    joined_cell *joined = NULL;
    anygp_status status = cells_open(near, &c, e);
    if (!ANYGP_FAILED(status) && !(joined = mem_zeroed(c.count, sizeof *joined)))
        status = fail_memory(e, "the groups of rows", 0);
    if (!ANYGP_FAILED(status)) status = join_cells(near, &c, joined, e);
    if (!ANYGP_FAILED(status)) status = write_groups(c.count, joined, near->on_disk, out, e);
    for (int64_t i = 0; joined && i < c.count; i++) joined_clear(&joined[i]);
    free(joined);
    cells_clear(&c);
    return status;
}
