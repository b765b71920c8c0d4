/* The kernel matrix as an operator, by tiles of its lower half (kernel_operator.h, kernel_tiles.h).

   Tile (i, j) with i > j adds K_ij V_j to W_i and K_ij' V_i to W_j.  A packed tile is read once for both.
   Reverse of sum_k u_k'K v_k: the adjoint of tile (i, j) is U_i V_j' + V_i U_j', of a diagonal tile half of that.  Of sum_ij Q_ij K_ij it is
   2 Q_ij, and Q_ii. */
#include "kernel/kernel_operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/kernel_tiles.h"
#include "linalg/linalg_f32.h"
#include "linalg/packed.h"

enum { SIDE = TILE_SIDE };

typedef struct kernel_operator {
    la_operator base;
    kernel_tiles tiles;
    double jitter;
    double *added;  /* n: to the diagonal */
    double *whole;  /* n: the diagonal with it */
    double largest; /* of the kernel's own diagonal */
} kernel_operator;

static void kernel_operator_free(la_operator *base)
{
    kernel_operator *a = (kernel_operator *)base;
    kernel_tiles_clear(&a->tiles);
    free(a->added);
    free(a->whole);
    free(a);
}

/* --------------------------------------------------------------------------------------- the product */

typedef struct product {
    const kernel_tiles *tiles;
    int64_t t, ldv;
    const double *V;
} product;

static bool add_products(void *ctx, int64_t index, const tile_place *p, double *room, double *W)
{
    const product *q = ctx;
    int64_t n = q->tiles->rows.n, ldv = q->ldv, i = p->i0, j = p->j0;
    const double *T = kernel_tile_double(q->tiles, index, p, room);
    if (!T) return false;
    la_gemm(LA_N, LA_N, p->rows, q->t, p->cols, 1, T, SIDE, q->V + j, ldv, 1, W + i, n);
    if (i != j) la_gemm(LA_T, LA_N, p->cols, q->t, p->rows, 1, T, SIDE, q->V + i, ldv, 1, W + j, n);
    return true;
}

/* Many vectors: by matrix products, for which the tile is unpacked. */
static void add_many_packed(const product *q, const tile_place *p, const int32_t *T, double *room, double *W)
{
    int64_t n = q->tiles->rows.n;
    for (int64_t j = 0; j < p->cols; j++) la_unpack(p->rows, T + j * SIDE, room + j * SIDE);
    la_gemm(LA_N, LA_N, p->rows, q->t, p->cols, 1, room, SIDE, q->V + p->j0, q->ldv, 1, W + p->i0, n);
    la_gemm(LA_T, LA_N, p->cols, q->t, p->rows, 1, room, SIDE, q->V + p->i0, q->ldv, 1, W + p->j0, n);
}

static bool add_products_packed(void *ctx, int64_t index, const tile_place *p, double *room, double *W)
{
    enum { MANY = 32 };
    const product *q = ctx;
    const int32_t *T = kernel_tile_packed(q->tiles, index, p, room);
    if (!T) return false;
    if (q->t >= MANY) return add_many_packed(q, p, T, room, W), true;
    la_both_products_packed(p->rows, p->cols, T, SIDE, q->t, q->V + p->j0, q->V + p->i0, q->ldv, W + p->i0, W + p->j0,
                            q->tiles->rows.n);
    return true;
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    kernel_operator *a = (kernel_operator *)base;
    bool packed = a->tiles.packed;
    product q = {&a->tiles, t, ldv, V};
    double *sums, unit = a->tiles.unit;
    TRY(kernel_tiles_walk(&a->tiles, packed ? add_products_packed : add_products, &q, base->n * t, &sums, e));
    a->tiles.made = true;
    for (int64_t k = 0; k < t; k++) {
        const double *v = V + k * ldv, *sum = sums + k * base->n;
        double *w = W + k * ldw;
        for (int64_t i = 0; i < base->n; i++) w[i] = packed ? unit * sum[i] + a->whole[i] * v[i] : sum[i];
    }
    free(sums);
    return ANYGP_OK;
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    (void)e;
    memcpy(d, a->whole, (size_t)base->n * sizeof *d);
    return ANYGP_OK;
}

static anygp_status columns(const la_operator *base, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    const kernel_rows *r = &a->tiles.rows;
    for (int64_t k = 0; k < count; k++) {
        int64_t j = which[k];
        if (!kernel_gram(a->tiles.k, base->n, r->X, r->D, 1, r->X + j * r->D, r->D, C + k * ldc, ldc))
            return fail_memory(e, "kernel tiles", 0);
        C[j + k * ldc] = a->whole[j];
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- the reverse */

typedef struct pairs {
    const kernel_tiles *tiles;
    int64_t t, ldu, ldv;
    const double *U, *V;
    double scale, spread; /* what the jitter adds to each element of the diagonal's adjoint */
    const float *Q;       /* n x n, lower: the adjoint has `square` times this besides; NULL: not */
    double square;
} pairs;

/* G += factor Q, of a diagonal tile the lower triangle. */
static void add_square(const pairs *q, const tile_place *p, double factor, double *G)
{
    int64_t n = q->tiles->rows.n;
    for (int64_t j = 0; j < p->cols; j++) {
        int64_t above = p->i0 == p->j0 ? j : 0;
        la_axpy_mixed(p->rows - above, factor, q->Q + p->i0 + above + (p->j0 + j) * n, G + above + j * SIDE);
    }
}

static bool reverse_tile(void *ctx, int64_t index, const tile_place *p, double *G, double *gp)
{
    const pairs *q = ctx;
    const kernel_tiles *t = q->tiles;
    const double *X = t->rows.X + p->i0 * t->rows.D, *Z = t->rows.X + p->j0 * t->rows.D;
    int64_t D = t->rows.D;
    bool diagonal_tile = p->i0 == p->j0;
    double scale = diagonal_tile ? q->scale / 2 : q->scale;
    (void)index;
    la_gemm(LA_N, LA_T, p->rows, p->cols, q->t, scale, q->U + p->i0, q->ldu, q->V + p->j0, q->ldv, 0, G, SIDE);
    la_gemm(LA_N, LA_T, p->rows, p->cols, q->t, scale, q->V + p->i0, q->ldv, q->U + p->j0, q->ldu, 1, G, SIDE);
    if (q->Q) add_square(q, p, diagonal_tile ? q->square : 2 * q->square, G);
    if (!diagonal_tile) return kernel_gram_reverse(t->k, p->rows, X, D, p->cols, Z, D, G, SIDE, gp, NULL, 0, NULL, 0);
    double *noise = gp + kernel_count(t->k);
    for (int64_t i = 0; i < p->rows; i++) {
        G[i + i * SIDE] += q->spread;
        *noise += G[i + i * SIDE] / t->rows.c[p->i0 + i];
    }
    return kernel_gram_sym_reverse(t->k, p->rows, X, D, G, SIDE, gp, NULL, 0);
}

static anygp_status reverse_all(const kernel_operator *a, pairs *q, double *gp, anygp_error *e)
{
    int64_t n = a->base.n, params = kernel_count(a->tiles.k) + 1;
    double *sums, share = a->jitter / (double)n;
    for (int64_t k = 0; a->jitter > 0 && k < q->t; k++)
        q->spread += q->scale * share * la_dot(n, q->U + k * q->ldu, q->V + k * q->ldv);
    for (int64_t i = 0; a->jitter > 0 && q->Q && i < n; i++) q->spread += q->square * share * q->Q[i + i * n];
    TRY(kernel_tiles_walk(&a->tiles, reverse_tile, q, params, &sums, e));
    la_axpy(params, 1, sums, gp);
    free(sums);
    return ANYGP_OK;
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    return reverse_all(a, &(pairs){&a->tiles, t, ldu, ldv, U, V, scale, 0, NULL, 0}, gp, e);
}

anygp_status kernel_operator_reverse_square(const la_operator *base, const float *Q, double square, int64_t t,
                                            const double *U, const double *V, double scale, double *gp, anygp_error *e)
{
    const kernel_operator *a = (const kernel_operator *)base;
    int64_t n = base->n;
    return reverse_all(a, &(pairs){&a->tiles, t, n, n, U, V, scale, 0, Q, square}, gp, e);
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
    a->added = mem_doubles(rows->n, 1), a->whole = mem_doubles(rows->n, 1);
    kernel_tiles_open(&a->tiles, rows, o);
    if (!a->added || !a->whole)
        return kernel_operator_free(&a->base), fail_memory(e, "the diagonal", 16.0 * (double)rows->n);
    *out = &a->base;
    return ANYGP_OK;
}

void kernel_operator_set(la_operator *base, const kernel *k, double noise, double jitter, bool packed)
{
    kernel_operator *a = (kernel_operator *)base;
    const kernel_rows *r = &a->tiles.rows;
    double mean = 0, white = kernel_white(k);
    a->jitter = jitter, a->largest = 0;
    kernel_diag(k, r->n, r->X, r->D, a->whole);
    for (int64_t i = 0; i < r->n; i++) {
        a->largest = fmax(a->largest, a->whole[i]);
        mean += (a->whole[i] + white + noise / r->c[i]) / (double)r->n;
    }
    for (int64_t i = 0; i < r->n; i++) {
        a->added[i] = noise / r->c[i] + jitter * mean;
        a->whole[i] += white + a->added[i];
    }
    kernel_tiles_set(&a->tiles, k, a->added, a->largest, packed);
}

double kernel_operator_mean(const la_operator *base)
{
    const kernel_operator *a = (const kernel_operator *)base;
    double sum = 0;
    for (int64_t i = 0; i < base->n; i++) sum += a->whole[i] / (double)base->n;
    return sum;
}

double kernel_operator_largest(const la_operator *base) { return ((const kernel_operator *)base)->largest; }
bool kernel_operator_packed(const la_operator *base) { return ((const kernel_operator *)base)->tiles.packed; }

const double *kernel_operator_added(const la_operator *base) { return ((const kernel_operator *)base)->added; }

double kernel_operator_kept(const la_operator *base)
{
    const kernel_tiles *t = &((const kernel_operator *)base)->tiles;
    return t->mine > 0 ? (double)t->kept / (double)t->mine : 1;
}
