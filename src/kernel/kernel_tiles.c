/* Tiles of the lower half of a kernel matrix, and the walk over them (kernel_tiles.h). */
#include "kernel/kernel_tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "linalg/linalg.h"

enum { SIDE = TILE_SIDE, SIZE = SIDE * SIDE };

static int64_t ranks(const kernel_tiles *t) { return t->comm ? t->comm->size : 1; }
static int64_t rank(const kernel_tiles *t) { return t->comm ? t->comm->rank : 0; }

void kernel_tiles_open(kernel_tiles *t, const kernel_rows *rows, const kernel_operator_options *o)
{
    *t = (kernel_tiles){.rows = *rows, .comm = o->comm, .keep = o->keep};
    t->down = (rows->n + SIDE - 1) / SIDE;
    int64_t all = t->down * (t->down + 1) / 2;
    t->mine = all / ranks(t) + (rank(t) < all % ranks(t));
}

void kernel_tiles_clear(kernel_tiles *t)
{
    free(t->store);
    t->store = NULL, t->kept = 0;
}

/* Room for the tiles in this form. */
static void make_room(kernel_tiles *t, bool packed)
{
    size_t number = packed ? sizeof(int32_t) : sizeof(double);
    double room = t->keep / ((double)SIZE * (double)number);
    kernel_tiles_clear(t);
    t->packed = packed;
    t->kept = room >= (double)t->mine ? t->mine : room > 0 ? (int64_t)room : 0;
    if (t->kept > 0 && !(t->store = mem_alloc(t->kept * SIZE, number))) t->kept = 0;
}

void kernel_tiles_set(kernel_tiles *t, const kernel *k, const double *added, double largest, bool packed)
{
    if (!t->store || t->packed != packed) make_room(t, packed);
    t->k = k, t->added = added, t->made = false;
    t->unit = (largest > 0 ? largest : 1) / INT32_MAX;
}

static int64_t side(const kernel_tiles *t, int64_t at) { return t->rows.n - at < SIDE ? t->rows.n - at : SIDE; }

/* Column j of the lower half has down - j tiles; those before it are j down - j (j - 1) / 2. */
static tile_place place_of(const kernel_tiles *t, int64_t index)
{
    int64_t left = index * ranks(t) + rank(t);
    double d = (double)t->down + 0.5, root = d * d - 2.0 * (double)left;
    int64_t j = (int64_t)(d - sqrt(root > 0 ? root : 0)) - 1;
    if (j < 0) j = 0;
    while (j * t->down - j * (j - 1) / 2 + (t->down - j) <= left) j++;
    int64_t i = j + left - (j * t->down - j * (j - 1) / 2);
    return (tile_place){i * SIDE, j * SIDE, side(t, i * SIDE), side(t, j * SIDE)};
}

static bool make_double(const kernel_tiles *t, const tile_place *p, double *T)
{
    int64_t D = t->rows.D;
    const double *X = t->rows.X + p->i0 * D, *Z = t->rows.X + p->j0 * D;
    if (p->i0 != p->j0) return kernel_gram(t->k, p->rows, X, D, p->cols, Z, D, T, SIDE);
    if (!kernel_gram_sym(t->k, p->rows, X, D, T, SIDE)) return false;
    for (int64_t i = 0; i < p->rows; i++) T[i + i * SIDE] += t->added[p->i0 + i];
    la_mirror(p->rows, T, SIDE);
    return true;
}

const double *kernel_tile_double(const kernel_tiles *t, int64_t index, const tile_place *p, double *room)
{
    bool keeps = index < t->kept;
    double *T = keeps ? (double *)t->store + index * SIZE : room;
    if (keeps && t->made) return T;
    return make_double(t, p, T) ? T : NULL;
}

VECTORISED static void round_to(int64_t n, double unit, const double *from, int32_t *to)
{
    double per = 1 / unit;
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double v = per * from[i];
        v = v < INT32_MAX ? v : INT32_MAX;
        v = v > -INT32_MAX ? v : -INT32_MAX;
        to[i] = (int32_t)(v + (v < 0 ? -0.5 : 0.5));
    }
}

const int32_t *kernel_tile_packed(const kernel_tiles *t, int64_t index, const tile_place *p, double *room)
{
    bool keeps = index < t->kept;
    int32_t *T = keeps ? (int32_t *)t->store + index * SIZE : (int32_t *)(void *)(room + SIZE);
    if (keeps && t->made) return T;
    if (!make_double(t, p, room)) return NULL;
    for (int64_t j = 0; j < p->cols; j++) {
        int64_t above = p->i0 != p->j0 ? 0 : j + 1 < p->rows ? j + 1 : p->rows;
        memset(T + j * SIDE, 0, (size_t)above * sizeof *T);
        round_to(p->rows - above, t->unit, room + above + j * SIDE, T + above + j * SIDE);
    }
    return T;
}

/* Whether all ranks had memory: they go on together or not at all. */
static anygp_status agree(const kernel_tiles *t, bool failed, anygp_error *e)
{
    double failures = failed;
    if (ranks(t) > 1) TRY(t->comm->sum(t->comm->ctx, 1, &failures, e));
    return failures > 0 ? fail_memory(e, "kernel tiles", 0) : ANYGP_OK;
}

anygp_status kernel_tiles_walk(const kernel_tiles *t, tile_visit *visit, void *ctx, int64_t count, double **out,
                               anygp_error *e)
{
    int threads = threads_max();
    if (t->mine < threads) threads = t->mine > 0 ? (int)t->mine : 1;
    double *sums = mem_zeroed(threads * count, sizeof *sums), *room = mem_doubles(threads, 2 * SIZE);
    bool failed = !sums || !room;
    if (!failed) {
        la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(|| : failed) if (threads > 1)
        for (int h = 0; h < threads; h++)
            for (int64_t index = h; index < t->mine && !failed; index += threads) {
                tile_place p = place_of(t, index);
                failed = !visit(ctx, index, &p, room + h * 2 * SIZE, sums + h * count);
            }
        la_serial_end(threads);
    }
    free(room);
    anygp_status status = agree(t, failed, e);
    for (int h = 1; !ANYGP_FAILED(status) && h < threads; h++) la_axpy(count, 1, sums + h * count, sums);
    if (!ANYGP_FAILED(status) && ranks(t) > 1) status = t->comm->sum(t->comm->ctx, count, sums, e);
    if (ANYGP_FAILED(status))
        free(sums);
    else
        *out = sums;
    return status;
}
