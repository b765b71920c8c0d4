/* Block Jacobi: the diagonal blocks of K + noise for groups of rows that are near each other, the leaves of a kd-tree one after the other.
       G_b = L_b L_b',   reverse of sum u'P v: (U_b V_b' + V_b U_b')/2,  of log|P|: G_b^-1
   Cost: n B^2 to make it, n B per vector. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/kd_tree.h"
#include "linalg/linalg.h"
#include "model/exact/precond_local.h"
#include "model/local/vecchia.h"

enum { BLOCK = 256 };

struct precond_plan {
    int64_t n;
    int64_t *row; /* n: the rows of block 0, of block 1, ... */
};

static void clear(precond_plan *plan)
{
    if (!plan) return;
    free(plan->row);
    free(plan);
}

static anygp_status plan_blocks(const precond_ops *self, const problem *p, const kernel *k, precond_plan **out,
                                anygp_error *e)
{
    (void)self;
    int64_t n = p->rows->n, d;
    kd_tree tree = {0};
    precond_plan *plan = calloc(1, sizeof *plan);
    double *places = vecchia_places(k, n, p->rows->D, p->rows->X, &d);
    anygp_status status = plan && places && (plan->row = mem_alloc(n, sizeof *plan->row))
                              ? ANYGP_OK
                              : fail_memory(e, "the preconditioner", 8.0 * (double)n);
    if (status == ANYGP_OK) plan->n = n, status = kd_tree_open(n, d, places, &tree, e);
    if (!ANYGP_FAILED(status)) memcpy(plan->row, tree.row, (size_t)n * sizeof *plan->row);
    kd_tree_clear(&tree);
    free(places);
    if (ANYGP_FAILED(status))
        clear(plan);
    else
        *out = plan;
    return status;
}

typedef struct jacobi {
    la_operator base;
    local_rows rows;
    const int64_t *row;
    int64_t blocks;
    double *L; /* the factors, BLOCK x BLOCK numbers each */
} jacobi;

static int64_t block_rows(const jacobi *a, int64_t b)
{
    return a->base.n - b * BLOCK < BLOCK ? a->base.n - b * BLOCK : BLOCK;
}

static void jacobi_free(la_operator *base)
{
    free(((jacobi *)base)->L);
    free(base);
}

typedef enum block_action { SOLVE, MULTIPLY, ROOT } block_action;

/* W = f(P) V block by block; W may be V. */
static anygp_status act(const jacobi *a, block_action what, int64_t t, const double *V, int64_t ldv, double *W,
                        int64_t ldw, anygp_error *e)
{
    bool failed = false;
    int threads = threads_max();
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(|| : failed)
    for (int64_t b = 0; b < a->blocks; b++) {
        int64_t m = block_rows(a, b), *row = (int64_t *)a->row + b * BLOCK;
        const double *L = a->L + b * BLOCK * BLOCK;
        double *B = mem_doubles(m, t);
        if (!B) {
            failed = true;
            continue;
        }
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < m; i++) B[i + k * m] = V[row[i] + k * ldv];
        if (what == SOLVE) la_trsm(LA_LEFT, LA_N, m, t, 1, L, m, B, m), la_trsm(LA_LEFT, LA_T, m, t, 1, L, m, B, m);
        if (what == MULTIPLY) la_trmm(LA_LEFT, LA_T, m, t, 1, L, m, B, m);
        if (what != SOLVE) la_trmm(LA_LEFT, LA_N, m, t, 1, L, m, B, m);
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < m; i++) W[row[i] + k * ldw] = B[i + k * m];
        free(B);
    }
    la_serial_end(threads);
    return failed ? fail_memory(e, "the preconditioner", 8.0 * BLOCK * (double)t) : ANYGP_OK;
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    return act((const jacobi *)base, MULTIPLY, t, V, ldv, W, ldw, e);
}

static anygp_status root(const la_operator *base, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e)
{
    return act((const jacobi *)base, ROOT, t, Z, ldz, W, ldw, e);
}

static anygp_status solve(const la_operator *base, int64_t t, double *B, int64_t ldb, anygp_error *e)
{
    return act((const jacobi *)base, SOLVE, t, B, ldb, B, ldb, e);
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const jacobi *a = (const jacobi *)base;
    double white = kernel_white(a->rows.k);
    (void)e;
    kernel_diag(a->rows.k, base->n, a->rows.rows->X, a->rows.rows->D, d);
    for (int64_t i = 0; i < base->n; i++) d[i] += white + a->rows.added[i];
    return ANYGP_OK;
}

static double logdet(const la_operator *base)
{
    const jacobi *a = (const jacobi *)base;
    double sum = 0;
    for (int64_t b = 0; b < a->blocks; b++) {
        int64_t m = block_rows(a, b);
        sum += la_logdet(m, a->L + b * BLOCK * BLOCK, m);
    }
    return sum;
}

/* (U_b V_b' + V_b U_b') scale / 2. */
static void pair_adjoint(int64_t m, const int64_t *row, int64_t t, const double *U, int64_t ldu, const double *V,
                         int64_t ldv, double scale, double *G)
{
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = j; i < m; i++) {
            double sum = 0;
            for (int64_t k = 0; k < t; k++)
                sum += U[row[i] + k * ldu] * V[row[j] + k * ldv] + V[row[i] + k * ldv] * U[row[j] + k * ldu];
            G[i + j * m] = scale * sum / 2;
        }
}

static void inverse_adjoint(int64_t m, const double *L, double scale, double *G)
{
    memcpy(G, L, (size_t)(m * m) * sizeof *G);
    la_potri(m, G, m);
    la_scale(m * m, scale, G);
}

/* Of sum u'P v or, where U is NULL, of log|P|; blocks in their order. */
static anygp_status reverse_all(const jacobi *a, int64_t t, const double *U, int64_t ldu, const double *V, int64_t ldv,
                                double scale, double *gp, anygp_error *e)
{
    double *X = mem_doubles(BLOCK, a->rows.rows->D), *G = mem_doubles(BLOCK, BLOCK);
    bool ok = X && G;
    for (int64_t b = 0; b < a->blocks && ok; b++) {
        int64_t m = block_rows(a, b);
        const int64_t *row = a->row + b * BLOCK;
        ok = local_gram(&a->rows, m, row, X, G); /* X */
        if (U)
            pair_adjoint(m, row, t, U, ldu, V, ldv, scale, G);
        else
            inverse_adjoint(m, a->L + b * BLOCK * BLOCK, scale, G);
        ok = ok && local_reverse(&a->rows, m, row, X, G, gp);
    }
    free(X);
    free(G);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    return reverse_all((const jacobi *)base, t, U, ldu, V, ldv, scale, gp, e);
}

static anygp_status logdet_reverse(const la_operator *base, double scale, double *gp, anygp_error *e)
{
    return reverse_all((const jacobi *)base, 0, NULL, 0, NULL, 0, scale, gp, e);
}

static const la_operator_ops jacobi_ops = {.name = "block diagonal",
                                           .multiply = multiply,
                                           .diagonal = diagonal,
                                           .columns = columns_by_products,
                                           .reverse = reverse,
                                           .free = jacobi_free,
                                           .solve = solve,
                                           .logdet = logdet,
                                           .logdet_reverse = logdet_reverse,
                                           .root = root};

/* The largest sum of absolute values in a row of a block, which no eigenvalue exceeds. */
static double largest_sum(int64_t m, double *G)
{
    double most = 0;
    la_mirror(m, G, m);
    for (int64_t j = 0; j < m; j++) {
        double sum = 0;
        for (int64_t i = 0; i < m; i++) sum += fabs(G[i + j * m]);
        most = fmax(most, sum);
    }
    return most;
}

static anygp_status make(const problem *p, const precond_plan *plan, kernel *k, const double *added, la_operator **out,
                         double *least, anygp_error *e)
{
    int64_t n = plan->n;
    jacobi *a = calloc(1, sizeof *a);
    double *X = mem_doubles(BLOCK, p->rows->D), most = 0, smallest = INFINITY;
    anygp_status status = ANYGP_OK;
    if (a) a->base = (la_operator){&jacobi_ops, n}, a->rows = (local_rows){p->rows, k, added}, a->row = plan->row;
    if (a) a->blocks = (n + BLOCK - 1) / BLOCK, a->L = mem_doubles(a->blocks, BLOCK * BLOCK);
    if (!a || !X || !a->L) status = fail_memory(e, "the preconditioner", 8.0 * BLOCK * (double)n);
    for (int64_t b = 0; status == ANYGP_OK && b < a->blocks; b++) {
        int64_t m = block_rows(a, b);
        double *L = a->L + b * BLOCK * BLOCK;
        if (!local_gram(&a->rows, m, a->row + b * BLOCK, X, L)) status = fail_memory(e, "kernel tiles", 0);
        if (status != ANYGP_OK) break;
        most = fmax(most, largest_sum(m, L));
        if (!la_factor(m, L, m))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "a block of the preconditioner is not positive definite");
    }
    for (int64_t i = 0; i < n; i++) smallest = fmin(smallest, added[i]);
    *least = (smallest + kernel_white(k)) / most;
    free(X);
    if (status != ANYGP_OK && a) jacobi_free(&a->base);
    if (status == ANYGP_OK) *out = &a->base;
    return status;
}

const precond_ops precond_jacobi = {
    .name = "jacobi", .summary = "blocks of rows near each other", .plan = plan_blocks, .clear = clear, .make = make};
