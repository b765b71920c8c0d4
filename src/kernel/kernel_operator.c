/* The kernel matrix as an operator, by tiles of its lower half (kernel_operator.h).

   Tile (i, j) with i > j adds K_ij V_j to W_i and K_ij' V_i to W_j.  Thread h of T takes every T-th tile, has sums of its own, and these are
   added in the order of the threads: same thread count, same bits.
   Reverse of sum_k u_k'K v_k: the adjoint of tile (i, j) is U_i V_j' + V_i U_j', of a diagonal tile half of that. */
#include "kernel/kernel_operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

enum { SIDE = 256 }; /* of a tile: half a megabyte, which stays in the second-level cache */

typedef struct kernel_operator {
    la_operator base;
    kernel_rows rows;
    const comm *comm;
    const kernel *k;
    double jitter;
    double *added;
    int64_t down;       /* tiles per side */
    int64_t mine, kept; /* tiles of this rank, and how many of them, the first ones, are kept */
    bool single, made;  /* kept tiles are at k */
    float *low;         /* the kept tiles, one after the other, */
    double *high;       /* in one precision or the other */
} kernel_operator;

typedef struct place {
    int64_t i0, j0, rows, cols;
} place;

static void kernel_operator_free(la_operator *base)
{
    kernel_operator *a = (kernel_operator *)base;
    free(a->added);
    free(a->low);
    free(a->high);
    free(a);
}

static int64_t side(const kernel_operator *a, int64_t at) { return a->base.n - at < SIDE ? a->base.n - at : SIDE; }

/* Tile `index` of this rank.  Ranks take every size-th one of all tiles, in the order of columns of the lower half. */
static place tile_at(const kernel_operator *a, int64_t index)
{
    int64_t left = index * (a->comm ? a->comm->size : 1) + (a->comm ? a->comm->rank : 0), j = 0;
    /* column j of the lower half has down - j tiles */
    double d = (double)a->down + 0.5;
    double root = d * d - 2.0 * (double)left;
    j = (int64_t)(d - sqrt(root > 0 ? root : 0)) - 1;
    if (j < 0) j = 0;
    while (j * a->down - j * (j - 1) / 2 + (a->down - j) <= left) j++;
    int64_t i = j + left - (j * a->down - j * (j - 1) / 2);
    return (place){i * SIDE, j * SIDE, side(a, i * SIDE), side(a, j * SIDE)};
}

static int64_t tiles_of_rank(const kernel_operator *a)
{
    int64_t all = a->down * (a->down + 1) / 2, size = a->comm ? a->comm->size : 1, rank = a->comm ? a->comm->rank : 0;
    return all / size + (rank < all % size);
}

/* T[rows,cols], leading dimension SIDE; a diagonal tile is whole, with `added`. */
static bool make_tile(const kernel_operator *a, const place *p, double *T)
{
    int64_t D = a->rows.D;
    const double *X = a->rows.X + p->i0 * D, *Z = a->rows.X + p->j0 * D;
    if (p->i0 != p->j0) return kernel_gram(a->k, p->rows, X, D, p->cols, Z, D, T, SIDE);
    if (!kernel_gram_sym(a->k, p->rows, X, D, T, SIDE)) return false;
    for (int64_t i = 0; i < p->rows; i++) T[i + i * SIDE] += a->added[p->i0 + i];
    la_mirror(p->rows, T, SIDE);
    return true;
}

/* The tile, from where it is kept or made in `room`.  NULL: no memory. */
static const double *find_tile(const kernel_operator *a, int64_t index, const place *p, double *room)
{
    enum { SIZE = SIDE * SIDE };
    bool keeps = index < a->kept;
    double *T = keeps && !a->single ? a->high + index * SIZE : room;
    if (keeps && a->made && !a->single) return T;
    if (keeps && a->made) {
        const float *from = a->low + index * SIZE;
        for (int64_t i = 0; i < p->cols * SIDE; i++) T[i] = from[i];
        return T;
    }
    if (!make_tile(a, p, T)) return NULL;
    if (keeps && a->single) {
        float *to = a->low + index * SIZE;
        for (int64_t j = 0; j < p->cols; j++)
            for (int64_t i = 0; i < p->rows; i++) to[i + j * SIDE] = (float)T[i + j * SIDE];
    }
    return T;
}

static void add_products(const place *p, const double *T, int64_t t, const double *V, int64_t ldv, double *W,
                         int64_t ldw)
{
    la_gemm(LA_N, LA_N, p->rows, t, p->cols, 1, T, SIDE, V + p->j0, ldv, 1, W + p->i0, ldw);
    if (p->i0 != p->j0) la_gemm(LA_T, LA_N, p->cols, t, p->rows, 1, T, SIDE, V + p->i0, ldv, 1, W + p->j0, ldw);
}

/* Sums of the threads, [threads][n t], into the first; then over the ranks. */
static anygp_status gather(const kernel_operator *a, int threads, int64_t count, double *sums, anygp_error *e)
{
    for (int h = 1; h < threads; h++) la_axpy(count, 1, sums + h * count, sums);
    return a->comm && a->comm->size > 1 ? a->comm->sum(a->comm->ctx, count, sums, e) : ANYGP_OK;
}

static int threads_of(const kernel_operator *a)
{
    int most = threads_max();
    return a->mine < most ? (int)(a->mine > 0 ? a->mine : 1) : most;
}

/* Whether all ranks had memory: they go on together or not at all. */
static anygp_status agree(const kernel_operator *a, bool failed, anygp_error *e)
{
    double failures = failed;
    if (a->comm && a->comm->size > 1) TRY(a->comm->sum(a->comm->ctx, 1, &failures, e));
    return failures > 0 ? fail_memory(e, "kernel tiles", 0) : ANYGP_OK;
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    kernel_operator *a = (kernel_operator *)base;
    int threads = threads_of(a);
    int64_t n = base->n, count = n * t;
    double *sums = mem_zeroed(threads * count, sizeof *sums), *room = mem_doubles(threads, SIDE * SIDE);
    bool failed = !sums || !room;
    if (!failed) {
        la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(|| : failed) if (threads > 1)
        for (int h = 0; h < threads; h++)
            for (int64_t index = h; index < a->mine && !failed; index += threads) {
                place p = tile_at(a, index);
                const double *T = find_tile(a, index, &p, room + h * SIDE * SIDE);
                if (!T)
                    failed = true;
                else
                    add_products(&p, T, t, V, ldv, sums + h * count, n);
            }
        la_serial_end(threads);
    }
    anygp_status status = agree(a, failed, e);
    if (!ANYGP_FAILED(status)) status = gather(a, threads, count, sums, e);
    if (!ANYGP_FAILED(status)) {
        a->made = true;
        for (int64_t k = 0; k < t; k++) memcpy(W + k * ldw, sums + k * n, (size_t)n * sizeof *W);
    }
    free(sums);
    free(room);
    return status;
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    double white = kernel_white(a->k);
    (void)e;
    kernel_diag(a->k, base->n, a->rows.X, a->rows.D, d);
    for (int64_t i = 0; i < base->n; i++) d[i] += white + a->added[i];
    return ANYGP_OK;
}

static anygp_status columns(const la_operator *base, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    int64_t D = a->rows.D;
    for (int64_t k = 0; k < count; k++) {
        int64_t j = which[k];
        if (!kernel_gram(a->k, base->n, a->rows.X, D, 1, a->rows.X + j * D, D, C + k * ldc, ldc))
            return fail_memory(e, "kernel tiles", 0);
        C[j + k * ldc] += kernel_white(a->k) + a->added[j];
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- the reverse */

typedef struct pairs {
    int64_t t, ldu, ldv;
    const double *U, *V;
    double scale, spread; /* what the jitter adds to each element of the diagonal's adjoint */
} pairs;

static bool reverse_tile(const kernel_operator *a, const place *p, const pairs *q, double *G, double *gp)
{
    int64_t D = a->rows.D;
    bool diagonal_tile = p->i0 == p->j0;
    double scale = diagonal_tile ? q->scale / 2 : q->scale;
    la_gemm(LA_N, LA_T, p->rows, p->cols, q->t, scale, q->U + p->i0, q->ldu, q->V + p->j0, q->ldv, 0, G, SIDE);
    la_gemm(LA_N, LA_T, p->rows, p->cols, q->t, scale, q->V + p->i0, q->ldv, q->U + p->j0, q->ldu, 1, G, SIDE);
    if (!diagonal_tile)
        return kernel_gram_reverse(a->k, p->rows, a->rows.X + p->i0 * D, D, p->cols, a->rows.X + p->j0 * D, D, G, SIDE,
                                   gp, NULL, 0, NULL, 0);
    double *noise = gp + kernel_count(a->k);
    for (int64_t i = 0; i < p->rows; i++) {
        G[i + i * SIDE] += q->spread;
        *noise += G[i + i * SIDE] / a->rows.c[p->i0 + i];
    }
    return kernel_gram_sym_reverse(a->k, p->rows, a->rows.X + p->i0 * D, D, G, SIDE, gp, NULL, 0);
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    int threads = threads_of(a);
    int64_t n = base->n, params = kernel_count(a->k) + 1;
    double *sums = mem_zeroed(threads * params, sizeof *sums), *room = mem_doubles(threads, SIDE * SIDE);
    pairs q = {t, ldu, ldv, U, V, scale, 0};
    for (int64_t k = 0; a->jitter > 0 && k < t; k++)
        q.spread += scale * a->jitter / (double)n * la_dot(n, U + k * ldu, V + k * ldv);
    bool failed = !sums || !room;
    if (!failed) {
        la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(|| : failed) if (threads > 1)
        for (int h = 0; h < threads; h++)
            for (int64_t index = h; index < a->mine && !failed; index += threads) {
                place p = tile_at(a, index);
                failed = !reverse_tile(a, &p, &q, room + h * SIDE * SIDE, sums + h * params);
            }
        la_serial_end(threads);
    }
    anygp_status status = agree(a, failed, e);
    if (!ANYGP_FAILED(status)) status = gather(a, threads, params, sums, e);
    if (!ANYGP_FAILED(status)) la_axpy(params, 1, sums, gp);
    free(sums);
    free(room);
    return status;
}

static const la_operator_ops kernel_operator_ops = {.name = "kernel tiles",
                                                    .multiply = multiply,
                                                    .diagonal = diagonal,
                                                    .columns = columns,
                                                    .reverse = reverse,
                                                    .free = kernel_operator_free};

anygp_status kernel_operator_new(const kernel_rows *rows, const kernel_operator_options *o, la_operator **out,
                                 anygp_error *e)
{
    kernel_operator *a = calloc(1, sizeof *a);
    if (!a) return fail_memory(e, "the covariance matrix", sizeof *a);
    a->base = (la_operator){&kernel_operator_ops, rows->n};
    a->rows = *rows, a->comm = o->comm, a->single = o->single;
    a->down = (rows->n + SIDE - 1) / SIDE;
    a->mine = tiles_of_rank(a);
    double tile = (double)(SIDE * SIDE) * (o->single ? sizeof(float) : sizeof(double)), room = o->keep / tile;
    a->kept = room >= (double)a->mine ? a->mine : room > 0 ? (int64_t)room : 0;
    a->added = mem_doubles(rows->n, 1);
    if (a->kept > 0) {
        void *tiles = mem_alloc(a->kept * SIDE * SIDE, o->single ? sizeof(float) : sizeof(double));
        if (!tiles) a->kept = 0;
        *(o->single ? (void **)&a->low : (void **)&a->high) = tiles;
    }
    if (!a->added) return kernel_operator_free(&a->base), fail_memory(e, "the diagonal", 8.0 * (double)rows->n);
    *out = &a->base;
    return ANYGP_OK;
}

void kernel_operator_set(la_operator *base, const kernel *k, double noise, double jitter)
{
    kernel_operator *a = (kernel_operator *)base;
    int64_t n = base->n;
    double mean = 0, white = kernel_white(k);
    a->k = k, a->jitter = jitter, a->made = false;
    kernel_diag(k, n, a->rows.X, a->rows.D, a->added);
    for (int64_t i = 0; i < n; i++) mean += (a->added[i] + white + noise / a->rows.c[i]) / (double)n;
    for (int64_t i = 0; i < n; i++) a->added[i] = noise / a->rows.c[i] + jitter * mean;
}

const double *kernel_operator_added(const la_operator *base) { return ((const kernel_operator *)base)->added; }

double kernel_operator_kept(const la_operator *base)
{
    const kernel_operator *a = (const kernel_operator *)base;
    return a->mine > 0 ? (double)a->kept / (double)a->mine : 1;
}
