/* With pivots p_1 .. p_m and L[n,m] the factor so far, the variance left is v_i = K_ii - sum_j L_ij^2; a new pivot p
   adds the column  l = (K_:p - L L_p:') / sqrt(v_p).
   Column by column that reads all of L each time.  So the columns of a few rows with the largest v are made at once, by one
   matrix product, and used as long as the next pivot is among them: the pivots are the same. */
#include "inducing/greedy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

enum {
    AHEAD = 48, /* columns at once, */
    PLAIN = 96  /* from so many pivots on: before, L is small, and each pivot changes the order of the rest */
};
static const double ROUNDING = 1e-14; /* of the largest K_ii: what is left below that is noise */

static int64_t largest(int64_t n, const double *v)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[best]) best = i;
    return best;
}

/* The factorisation under way. */
typedef struct greedy {
    int64_t n, k;
    greedy_columns *columns;
    void *ctx;
    double *L;    /* n x k */
    double *left; /* n: v, and -infinity for the pivots */
    double *row;  /* scratch: the larger of n and AHEAD k */
    int64_t m;    /* columns of L so far, */
    int64_t done; /* and how many of them the columns of R are without */
    double *R;    /* n x AHEAD: columns of K - L L' of rows that will be pivots soon, most likely */
    int64_t ahead[AHEAD], count;
} greedy;

static int64_t find_ahead(const greedy *g, int64_t p)
{
    for (int64_t j = 0; j < g->count; j++)
        if (g->ahead[j] == p) return j;
    return -1;
}

/* The rows with the most variance left, p first. */
static void look_ahead(greedy *g, int64_t p)
{
    int64_t most = g->m < PLAIN ? 1 : AHEAD;
    double *v = g->row;
    memcpy(v, g->left, (size_t)g->n * sizeof *v);
    for (g->count = 0; g->count < most && v[p] > -INFINITY; p = largest(g->n, v)) {
        g->ahead[g->count++] = p;
        v[p] = -INFINITY;
    }
}

/* Their columns, from which one product takes off all pivots so far. */
static void fill_ahead(greedy *g)
{
    int64_t n = g->n, m = g->m;
    double *some = g->row; /* count x m */
    g->columns(g->ctx, g->count, g->ahead, g->R);
    g->done = m;
    for (int64_t j = 0; j < g->count && m > 0; j++)
        for (int64_t i = 0; i < m; i++) some[j + i * g->count] = g->L[g->ahead[j] + i * n];
    if (m > 0) la_gemm(LA_N, LA_T, n, g->count, m, -1, g->L, n, some, g->count, 1, g->R, n);
}

/* A column of L for pivot p, and the variances after it. */
static void add_pivot(greedy *g, int64_t p)
{
    int64_t n = g->n, j = find_ahead(g, p);
    if (j < 0) {
        look_ahead(g, p);
        fill_ahead(g);
        j = 0;
    }
    double *l = g->L + g->m * n, scale = 1 / sqrt(g->left[p]);
    int64_t since = g->m - g->done;
    memcpy(l, g->R + j * n, (size_t)n * sizeof *l);
    for (int64_t i = 0; i < since; i++) g->row[i] = g->L[p + (g->done + i) * n];
    if (since > 0) la_gemv(LA_N, n, since, -1, g->L + g->done * n, n, g->row, 1, l);
    for (int64_t i = 0; i < n; i++) {
        l[i] *= scale;
        g->left[i] -= l[i] * l[i];
    }
    g->left[p] = -INFINITY; /* never again */
    g->ahead[j] = -1;
    g->m++;
}

static bool greedy_init(greedy *g)
{
    size_t size;
    int64_t scratch = g->n > AHEAD * g->k ? g->n : AHEAD * g->k;
    g->L = size_mul(g->n, g->k, &size) ? mem_alloc((int64_t)size, sizeof *g->L) : NULL;
    g->R = mem_doubles(g->n, AHEAD);
    g->row = mem_alloc(scratch, sizeof *g->row);
    g->left = mem_alloc(g->n, sizeof *g->left);
    return g->L && g->R && g->row && g->left;
}

/* Pivots from elsewhere. */
static void take_before(greedy *g, int64_t m, const double *before)
{
    if (m > 0) memcpy(g->L, before, (size_t)(g->n * m) * sizeof *before);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < g->n; i++) g->left[i] -= before[i + j * g->n] * before[i + j * g->n];
    g->m = m;
}

anygp_status greedy_more(int64_t n, int64_t m, const double *before, int64_t k, greedy_diag *diag,
                         greedy_columns *columns, void *ctx, double tolerance, const deadline *until, int64_t *chosen,
                         int64_t *count, anygp_error *e)
{
    *count = 0;
    if (k > n) k = n;
    if (k < 1) return ANYGP_OK;
    greedy g = {.n = n, .k = m + k, .columns = columns, .ctx = ctx};
    anygp_status status = ANYGP_OK;
    if (!greedy_init(&g)) {
        status = fail_memory(e, "the greedy choice of rows", 8.0 * (double)n * (double)(m + k));
        goto done;
    }
    diag(ctx, g.left);
    double least = fmax(tolerance, ROUNDING) * g.left[largest(n, g.left)];
    take_before(&g, m, before);
    while (*count < k) {
        int64_t p = largest(n, g.left);
        if (!(g.left[p] > least)) break;
        if (deadline_passed(until))
            g.left[p] = -INFINITY;
        else
            add_pivot(&g, p);
        chosen[(*count)++] = p;
    }
done:
    free(g.L);
    free(g.R);
    free(g.row);
    free(g.left);
    return status;
}

anygp_status greedy_select(int64_t n, int64_t k, greedy_diag *diag, greedy_columns *columns, void *ctx,
                           double tolerance, const deadline *until, int64_t *chosen, int64_t *count, anygp_error *e)
{
    return greedy_more(n, 0, NULL, k, diag, columns, ctx, tolerance, until, chosen, count, e);
}
