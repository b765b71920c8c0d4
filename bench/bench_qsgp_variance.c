/* What control rows do for the variance of qsgp's estimate of mu'Phi'Phi mu / s (002, figure 1): mu from the prior, m = 10^4 waves, samples of
   500 functions, twice, and of 500 rows, 1000 estimates for each rank.  Control rows and their weights are those of qsgp_control.c: centres of
   k-means, and kernel quadrature.  Rows: D inputs with commas between them, and what follows is ignored,
   on standard input after a line of names; they are used as they are.  Usage: bench_qsgp_variance KERNEL < FILE */
#include "support.h"

#include <string.h>

#include "data/partition/kmeans.h"
#include "model/weights/cells.h"

enum { WAVES = 10000, TAKEN = 500, ROWS = 500, ESTIMATES = 1000, RANKS = 8 };
static const int64_t rank[RANKS] = {0, 10, 30, 100, 300, 500, 1000, 2000};
enum { CONTROL = 3940, ALL = ROWS + CONTROL }; /* control rows of all ranks, one after the other */

typedef struct sums {
    double value, squares, *g, *gg; /* m each: of the gradient and its squares */
} sums;

static double *read_rows(int64_t *n)
{
    char line[4096];
    int64_t room = 1 << 16;
    double *X = mem_doubles(room, D);
    if (!X || !fgets(line, sizeof line, stdin)) exit(2);
    for (*n = 0; *n < room && fgets(line, sizeof line, stdin); ++*n) {
        char *at = line;
        for (int d = 0; d < D; d++) X[*n * D + d] = strtod(at, &at), at += *at == ',';
    }
    if (*n < ALL) fprintf(stderr, "%d rows at least\n", (int)ALL), exit(1);
    return X;
}

static void fill(const cells_hand *h, int64_t slot, int64_t n, const double *X, double *XT, double *T)
{
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < D; d++) XT[i + d * n] = X[i * D + d];
    cell_rows r = {n, D, X, XT, n};
    if (!cells_fill(h, slot, &r, T, n)) exit(2);
}

/* w[P] of the control rows Xp: those of kernel quadrature for k^2, with which Phi_p'W Phi_p is as near to Phi'Phi / n as P rows allow. */
static double *weights(const kernel *k, int64_t P, const double *Xp, int64_t n, const double *rows)
{
    enum { SEEN = 2000 };
    double *K = mem_doubles(P, P), *w = mem_zeroed(P, sizeof *w), *column = mem_doubles(P, 1);
    if (!kernel_gram(k, P, Xp, D, P, Xp, D, K, P)) exit(2);
    for (int64_t i = 0; i < P * P; i++) K[i] *= K[i];
    for (int64_t i = 0; i < P; i++) K[i + i * P] *= 1 + 1e-6;
    for (int64_t i = 0; i < SEEN; i++) {
        int64_t row = random_shuffled((random_stream){1, RANDOM_TEST, 1}, n, i);
        if (!kernel_gram(k, P, Xp, D, 1, rows + row * D, D, column, P)) exit(2);
        for (int64_t p = 0; p < P; p++) w[p] += column[p] * column[p] / SEEN;
    }
    if (!la_factor(P, K, P)) exit(2);
    la_trsv(LA_N, P, K, P, w);
    la_trsv(LA_T, P, K, P, w);
    free(K);
    free(column);
    return w;
}

static double *weight[RANKS];

/* Xp[P,D]: centres of ten rows for each, inputs over length-scales. */
static void centres(cells_hand *h, int64_t n, const double *rows, int64_t P, double *Xp)
{
    int64_t seen = 10 * P < n ? 10 * P : n, found, cell = 0;
    double *X = mem_doubles(seen, D);
    anygp_error e;
    if (!X || cells_hand_take(h, 1, &cell, &e)) exit(2);
    for (int64_t i = 0; i < seen; i++)
        for (int64_t d = 0, row = random_shuffled((random_stream){1, RANDOM_TEST, 2}, n, i); d < D; d++)
            X[i * D + d] = rows[row * D + d] * h->waves.root[d];
    if (kmeans(seen, D, X, D, P, &(kmeans_options){.seed = 1, .iterations = 10}, Xp, &found, NULL, &e) || found < P)
        exit(2);
    for (int64_t i = 0; i < P * D; i++) Xp[i] /= h->waves.root[i % D];
    free(X);
}

/* One estimate for every rank: cell[2 per] are those of i, then of j; F[ALL, 2], a[CONTROL]. */
static void estimate(const cells *c, cells_hand *h, int64_t per, const int64_t *cell, const double *X, const double *mu,
                     const double *a, double **T, double *XT, double *F, sums *s)
{
    double over = (double)c->count / (double)per, one[CELL_WIDTH], other[ALL];
    anygp_error e;
    if (cells_hand_take(h, 2 * per, cell, &e)) exit(2);
    memset(F, 0, 2 * ALL * sizeof *F);
    for (int64_t k = 0; k < 2 * per; k++) {
        fill(h, k, ALL, X, XT, T[k]);
        la_gemv(LA_N, ALL, cell_size(c, cell[k]), over, T[k], ALL, mu + cell_first(c, cell[k]), 1, F + k / per * ALL);
    }
    for (int64_t r = 0, at = 0; r < RANKS; at += rank[r++]) {
        double value = la_dot(ROWS, F, F + ALL) / ROWS, *g = mem_zeroed(c->m, sizeof *g);
        const double *Fp = F + ROWS + at;
        if (!g) exit(2);
        for (int64_t i = 0; i < rank[r]; i++) value -= weight[r][i] * (Fp[i] * Fp[i + ALL] - a[at + i] * a[at + i]);
        s[r].value += value, s[r].squares += value * value;
        for (int64_t k = 0; k < 2 * per; k++) {
            const double *from = F + (1 - k / per) * ALL;
            int64_t size = cell_size(c, cell[k]);
            for (int64_t i = 0; i < ROWS; i++) other[i] = from[i] / ROWS;
            for (int64_t i = 0; i < rank[r]; i++) other[ROWS + i] = (a[at + i] - from[ROWS + at + i]) * weight[r][i];
            la_gemv(LA_T, ROWS, size, over, T[k], ALL, other, 0, one);
            if (rank[r]) la_gemv(LA_T, rank[r], size, over, T[k] + ROWS + at, ALL, other + ROWS, 1, one);
            la_axpy(size, 1, one, g + cell_first(c, cell[k]));
        }
        for (int64_t j = 0; j < c->m; j++) s[r].g[j] += g[j], s[r].gg[j] += g[j] * g[j];
        free(g);
    }
}

int main(int count, char **words)
{
    if (count != 2) fprintf(stderr, "bench_qsgp_variance KERNEL < FILE\n"), exit(1);
    int64_t n, width = cells_width(CELLS_FOURIER, D, TAKEN);
    kernel *k = parse(words[1]);
    double *rows = read_rows(&n), *mu = normals(1, WAVES), *X = mem_doubles(ALL, D), *XT = mem_doubles(ALL, D);
    double *F = mem_doubles(ALL, 2), *a = mem_zeroed(CONTROL, sizeof *a);
    cells c = {.kind = CELLS_FOURIER,
               .m = WAVES,
               .D = D,
               .width = width,
               .count = (WAVES + width - 1) / width,
               .orthogonal = true};
    int64_t per = (TAKEN + width - 1) / width, *cell = mem_alloc(2 * per, sizeof *cell);
    double **T = mem_alloc(2 * per, sizeof *T);
    cells_hand h;
    anygp_error e;
    sums s[RANKS] = {{0}};
    for (int64_t i = 0; i < 2 * per; i++) T[i] = mem_doubles(ALL, width);
    for (int r = 0; r < RANKS; r++)
        s[r].g = mem_zeroed(WAVES, sizeof(double)), s[r].gg = mem_zeroed(WAVES, sizeof(double));
    if (cells_hand_open(&h, &c, k, &e)) fprintf(stderr, "%s\n", e.text), exit(1);
    for (int64_t r = 1, at = ROWS; r < RANKS; at += rank[r++]) { /* the same for all estimates */
        centres(&h, n, rows, rank[r], X + at * D);
        weight[r] = weights(k, rank[r], X + at * D, n, rows);
    }
    for (int64_t one = 0; one < c.count; one++) {
        if (cells_hand_take(&h, 1, &one, &e)) exit(2);
        fill(&h, 0, CONTROL, X + ROWS * D, XT, T[0]);
        la_gemv(LA_N, CONTROL, cell_size(&c, one), 1, T[0], CONTROL, mu + cell_first(&c, one), 1, a);
    }
    for (uint64_t t = 0; t < ESTIMATES; t++) {
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t row = random_shuffled((random_stream){1, RANDOM_TEST, 3 + 3 * t}, n, i);
            memcpy(X + i * D, rows + row * D, D * sizeof *X);
        }
        for (int64_t i = 0; i < 2 * per; i++)
            cell[i] =
                random_shuffled((random_stream){1, RANDOM_TEST, 4 + 3 * t + (uint64_t)(i / per)}, c.count, i % per);
        estimate(&c, &h, per, cell, X, mu, a, T, XT, F, s);
    }
    double first = 0, slope = 0;
    printf("rank   variance of the estimate   of its gradient, both relative to rank 0\n");
    for (int r = 0; r < RANKS; r++) {
        double E = ESTIMATES, value = s[r].squares / E - pow(s[r].value / E, 2), gradient = 0;
        for (int64_t j = 0; j < WAVES; j++) gradient += s[r].gg[j] / E - pow(s[r].g[j] / E, 2);
        if (r == 0) first = value, slope = gradient;
        printf("%4d   %24.4f   %15.4f\n", (int)rank[r], value / first, gradient / slope);
    }
    return 0;
}
