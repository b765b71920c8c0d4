/* |x - c|^2 = |x|^2 - 2 x'c + |c|^2 with x and c measured from the centres' mean, so that data far from the origin
   lose no digits.  Blocks of 256 rows go to the threads; a row-major X is d x n column-major, so no transposing.
   Blocks do not depend on the thread count.  Products may be summed in another order at the edge of a block than inside
   it, so centres that are equally near up to rounding are compared elementwise: a row's nearest centre depends on the
   row only, not on the rows that come with it. */
#include "data/partition/distance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "linalg/linalg.h"

enum { BLOCK = 256, LANES = 8 };

const double *row_at(const row_set *s, int64_t i) { return s->X + (s->rows ? s->rows[i] : i) * s->ldx; }

/* In LANES sums, so that it vectorises and gives the same number for any vector width of the machine. */
VECTORISED double row_distance(int64_t d, const double *a, const double *b)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES)
        SIMD for (int l = 0; l < LANES; l++) lane[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
    for (int l = 0; d >= LANES && l < LANES; l++) sum += lane[l];
    for (; j < d; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* Shared by all threads: d the origin, k x d the centres from there, k their squared lengths. */
typedef struct targets {
    int64_t k, d;
    double *origin, *centres, *square;
    double longest; /* of the lengths */
} targets;

static bool targets_make(targets *g, int64_t k, int64_t d, const double *centres)
{
    *g = (targets){k, d, mem_zeroed(d, sizeof(double)), NULL, mem_alloc(k, sizeof(double)), 0};
    size_t size;
    if (size_mul(k, d, &size)) g->centres = mem_alloc((int64_t)size, sizeof(double));
    if (!g->origin || !g->centres || !g->square) return false;
    for (int64_t c = 0; c < k; c++)
        for (int64_t j = 0; j < d; j++) g->origin[j] += centres[c * d + j] / (double)k;
    for (int64_t c = 0; c < k; c++) {
        double *to = g->centres + c * d;
        for (int64_t j = 0; j < d; j++) to[j] = centres[c * d + j] - g->origin[j];
        g->square[c] = la_dot(d, to, to);
        g->longest = fmax(g->longest, sqrt(g->square[c]));
    }
    return true;
}

static void targets_free(targets *g)
{
    free(g->origin);
    free(g->centres);
    free(g->square);
}

/* One thread's workspace: b rows from the origin (d x b), and |c|^2 - 2 c'x (k x b). */
typedef struct block {
    double *rows, *cross;
} block;

static bool block_make(block *w, const targets *g)
{
    *w = (block){mem_alloc(g->d, BLOCK * sizeof(double)), mem_alloc(g->k, BLOCK * sizeof(double))};
    return w->rows && w->cross;
}

static void block_free(block *w)
{
    free(w->rows);
    free(w->cross);
}

static int64_t block_fill(block *w, const targets *g, const row_set *s, int64_t first)
{
    int64_t b = s->n - first < BLOCK ? s->n - first : BLOCK;
    for (int64_t i = 0; i < b; i++) {
        const double *x = row_at(s, first + i);
        for (int64_t j = 0; j < g->d; j++) w->rows[i * g->d + j] = x[j] - g->origin[j];
        memcpy(w->cross + i * g->k, g->square, (size_t)g->k * sizeof(double));
    }
    la_gemm(LA_T, LA_N, g->k, b, g->d, -2, g->centres, g->d, w->rows, g->d, 1, w->cross, g->k);
    return b;
}

/* In lanes, so that it vectorises. */
static double smallest(int64_t n, const double *v)
{
    double least[LANES], all = DBL_MAX;
    for (int l = 0; l < LANES; l++) least[l] = DBL_MAX;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) least[l] = v[i + l] < least[l] ? v[i + l] : least[l];
    for (int l = 0; l < LANES; l++) all = least[l] < all ? least[l] : all;
    for (; i < n; i++) all = v[i] < all ? v[i] : all;
    return all;
}

/* The nearest centre of row i of the block, which is x.  A sum of d products is off by at most (d + 2) eps of what the
   lengths allow, and so is the elementwise distance; `slack` is twice both. */
static int64_t nearest_of(const block *w, const targets *g, int64_t i, const double *x, const double *centres,
                          double *distance)
{
    const double *cross = w->cross + i * g->k, *from = w->rows + i * g->d;
    double reach = sqrt(la_dot(g->d, from, from)) + g->longest;
    double slack = 4 * (double)(g->d + 4) * DBL_EPSILON * reach * reach;
    double bound = smallest(g->k, cross) + slack;
    int64_t best = 0;
    *distance = INFINITY;
    for (int64_t c = 0; c < g->k; c++) {
        if (!(cross[c] <= bound)) continue;
        double r = row_distance(g->d, x, centres + c * g->d);
        if (r < *distance) *distance = r, best = c;
    }
    return best;
}

bool nearest_centres(const row_set *s, int64_t k, const double *centres, int64_t *nearest, double *distance)
{
    targets g;
    bool ok = targets_make(&g, k, s->d, centres);
    if (ok) {
#pragma omp parallel reduction(&& : ok) if (s->n > BLOCK)
        {
            block w;
            ok = block_make(&w, &g);
#pragma omp for schedule(static)
            for (int64_t first = 0; first < s->n; first += BLOCK) {
                int64_t b = ok ? block_fill(&w, &g, s, first) : 0;
                for (int64_t i = 0; i < b; i++) {
                    double r;
                    nearest[first + i] = nearest_of(&w, &g, i, row_at(s, first + i), centres, &r);
                    if (distance) distance[first + i] = r;
                }
            }
            block_free(&w);
        }
    }
    targets_free(&g);
    return ok;
}

/* A centre's best row so far. */
typedef struct candidate {
    double distance;
    int64_t row;
} candidate;

static void keep_nearer(candidate *best, double distance, int64_t row)
{
    if (distance < best->distance || (distance == best->distance && row < best->row))
        *best = (candidate){distance, row};
}

static void block_candidates(const block *w, int64_t d, int64_t k, int64_t first, int64_t b, candidate *best)
{
    for (int64_t i = 0; i < b; i++) {
        double square = la_dot(d, w->rows + i * d, w->rows + i * d);
        for (int64_t c = 0; c < k; c++) keep_nearer(&best[c], square + w->cross[i * k + c], first + i);
    }
}

bool nearest_rows(const row_set *s, int64_t k, const double *centres, int64_t *row)
{
    targets g;
    candidate *best = mem_alloc(k, sizeof *best);
    bool ok = targets_make(&g, k, s->d, centres) && best;
    for (int64_t c = 0; ok && c < k; c++) best[c] = (candidate){DBL_MAX, 0};
    if (ok) {
#pragma omp parallel reduction(&& : ok) if (s->n > BLOCK)
        {
            block w;
            candidate *own = mem_alloc(k, sizeof *own);
            ok = block_make(&w, &g) && own;
            if (ok) memcpy(own, best, (size_t)k * sizeof *own);
#pragma omp for schedule(static)
            for (int64_t first = 0; first < s->n; first += BLOCK)
                if (ok) block_candidates(&w, s->d, k, first, block_fill(&w, &g, s, first), own);
#pragma omp critical(anygp_nearest_rows)
            for (int64_t c = 0; ok && c < k; c++) keep_nearer(&best[c], own[c].distance, own[c].row);
            free(own);
            block_free(&w);
        }
    }
    for (int64_t c = 0; ok && c < k; c++) row[c] = best[c].row;
    free(best);
    targets_free(&g);
    return ok;
}
