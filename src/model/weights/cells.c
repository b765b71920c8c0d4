/* Cells of basis functions, made again from their numbers (cells.h). */
#include "model/weights/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "model/weights/hadamard.h"

/* PIECE: pairs of normal numbers that are made at a time; the third: rows of a tile of hadamard. */
enum { CELLS_OF_A_SAMPLE = 16, PIECE = 32, TILE_ROWS = 32 };

int64_t cells_width(cells_kind kind, int64_t D, int64_t batch)
{
    int64_t width = batch / CELLS_OF_A_SAMPLE;
    if (kind == CELLS_HADAMARD) return 2 * hadamard_size(D);
    if (width > CELL_WIDTH) width = CELL_WIDTH;
    if (kind == CELLS_FOURIER) return width < 2 ? 2 : width - width % 2;
    return width < 1 ? 1 : width;
}

int64_t cells_piece(cells_kind kind, int64_t rows)
{
    return kind == CELLS_HADAMARD && rows > TILE_ROWS ? TILE_ROWS : rows;
}

double cells_doubles(cells_kind kind, int64_t D)
{
    return kind == CELLS_HADAMARD ? 0.5 : kind == CELLS_FOURIER ? 3 * (double)D + 4 : 0;
}

static int64_t waves_at_most(const cells *c) { return c->width / 2; }

/* ----------------------------------------------------------------------------------------------- draws */

/* Box and Muller: pairs of uniform numbers u[n], v[n] become normal ones.  Sine and cosine of one argument in one loop would become a
   call that has no vector form. */
VECTORISED static void make_normal(int64_t n, double *u, double *v, double *room)
{
    SIMD for (int64_t i = 0; i < n; i++) room[i] = sqrt(-2 * log(u[i]));
    SIMD for (int64_t i = 0; i < n; i++) u[i] = room[i] * cos(2 * PI * v[i]);
    SIMD for (int64_t i = 0; i < n; i++) v[i] = room[i] * sin(2 * PI * v[i]);
}

static double open_unit(uint64_t bits) { return ((double)(bits >> 12) + 0.5) * 0x1p-52; }

/* D standard normal numbers of wave `number`, those of its direction or of its length: a function of (seed, number).  Their squares'
   sum is returned. */
static double draw_wave(const cells *c, bool lengths, int64_t number, double *z)
{
    random_stream s = {c->seed, RANDOM_CELLS, (uint64_t)lengths};
    uint64_t each = (uint64_t)((c->D + 3) / 4), bits[4];
    double u[PIECE], v[PIECE], room[PIECE], squares = 0;
    for (int64_t d = 0; d < c->D; d += 2 * PIECE) {
        int64_t left = (c->D - d + 3) / 4 * 4, count = left < 2 * PIECE ? left : 2 * PIECE;
        for (int64_t k = 0; k < count / 4; k++) {
            random_words(s, (uint64_t)number * each + (uint64_t)(d / 4 + k), bits);
            for (int i = 0; i < 2; i++) u[2 * k + i] = open_unit(bits[i]), v[2 * k + i] = open_unit(bits[2 + i]);
        }
        make_normal(count / 2, u, v, room);
        for (int64_t k = 0; k < count && d + k < c->D; k++) {
            double x = k < count / 2 ? u[k] : v[k - count / 2];
            squares += x * x;
            if (z) z[d + k] = x;
        }
    }
    return squares;
}

/* Gram and Schmidt, twice, against `count` vectors of length 1 that are `step` apart; z is left of length 1. */
static void make_orthogonal(int64_t D, int64_t count, const double *before, int64_t step, double *z)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t b = 0; b < count; b++) la_axpy(D, -la_dot(D, before + b * step, z), before + b * step, z);
    double norm = la_norm(D, z);
    if (norm > 0) la_scale(D, 1 / norm, z);
}

/* The waves of a cell that belong to one term of the kernel are `terms` apart. */
static void draw_cell(const cells *c, int64_t terms, int64_t cell, double *Z)
{
    int64_t D = c->D, waves = cell_size(c, cell) / 2, first = cell_first(c, cell) / 2;
    for (int64_t i = 0; i < waves; i++) {
        double *z = Z + i * D;
        int64_t before = i / terms % (D > 0 ? D : 1);
        draw_wave(c, false, first + i, z);
        if (c->orthogonal) make_orthogonal(D, before, z - before * terms * D, terms * D, z);
    }
    for (int64_t i = 0; c->orthogonal && i < waves; i++)
        la_scale(D, sqrt(draw_wave(c, true, first + i, NULL)), Z + i * D);
}

/* ------------------------------------------------------------------------------------------------ hand */

anygp_status cells_hand_open(cells_hand *h, const cells *c, const kernel *k, anygp_error *e)
{
    *h = (cells_hand){.of = c, .kernel = k};
    if (!cells_are_waves(c->kind)) return ANYGP_OK;
    TRY(spectral_open(&h->waves, k, e));
    if (c->kind == CELLS_HADAMARD && !spectral_is_one(&h->waves))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: basis=hadamard is for one of rbf, matern12, matern32, matern52 and rq, with or "
                         "without white; use basis=fourier for sums and products");
    if (c->m / 2 >= h->waves.terms) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_ARGUMENT,
        "inducing: the kernel has %lld terms, and %lld basis functions are fewer than two for each; give more",
        (long long)h->waves.terms, (long long)c->m);
}

void cells_hand_clear(cells_hand *h)
{
    spectral_clear(&h->waves);
    free(h->Z);
    free(h->number);
    free(h->scale);
    free(h->over);
    *h = (cells_hand){0};
}

static bool make_room(cells_hand *h, int64_t count)
{
    if (count <= h->room) return true;
    int64_t waves = count * waves_at_most(h->of);
    free(h->Z);
    free(h->number);
    h->Z = mem_zeroed(waves * h->of->D, sizeof *h->Z);
    h->number = mem_alloc(waves, sizeof *h->number);
    h->room = h->Z && h->number ? count : 0;
    return h->room > 0;
}

/* A last cell with fewer waves has others in their places, which are not used. */
static void draw_all(cells_hand *h)
{
    const cells *c = h->of;
    int64_t each = waves_at_most(c), most = c->m / 2 - 1;
    for (int64_t i = 0; i < h->count; i++)
        for (int64_t k = 0; k < each; k++) {
            int64_t number = h->cell[i] * each + k;
            h->number[i * each + k] = number < most ? number : most;
        }
    int threads = threads_for((double)(h->count * each * c->D) * 100);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < h->count; i++) draw_cell(c, h->waves.terms, h->cell[i], h->Z + i * each * c->D);
}

/* Lengths of all waves at hand. */
static anygp_status take_transforms(cells_hand *h, anygp_error *e)
{
    const cells *c = h->of;
    int64_t each = waves_at_most(c);
    if (h->count > h->room) {
        free(h->scale);
        free(h->over);
        h->scale = mem_alloc(h->count * each, sizeof *h->scale);
        h->over = mem_alloc(c->D, sizeof *h->over);
        h->room = h->scale && h->over ? h->count : 0;
    }
    if (!h->room) return fail_memory(e, "the frequencies", 8.0 * (double)(h->count * each));
    h->amplitude = spectral_one(&h->waves, h->kernel, c->m / 2, h->over);
    int threads = threads_for((double)(h->count * each) * 100);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < h->count; i++)
        for (int64_t k = 0; k < each; k++)
            h->scale[i * each + k] = 0.5 / PI * hadamard_length(c->seed, each, h->cell[i], k) *
                                     sqrt(spectral_one_precision(&h->waves, h->kernel, h->cell[i] * each + k));
    return ANYGP_OK;
}

anygp_status cells_hand_take(cells_hand *h, int64_t count, const int64_t *cell, anygp_error *e)
{
    h->count = count, h->cell = cell;
    if (h->of->kind == CELLS_HADAMARD) return take_transforms(h, e);
    if (h->of->kind != CELLS_FOURIER) return ANYGP_OK;
    int64_t waves = count * waves_at_most(h->of);
    bool ok = make_room(h, count);
    if (ok) draw_all(h);
    ok = ok && spectral_waves_some(&h->waves, h->kernel, h->of->m / 2, waves, h->number, h->Z);
    return ok ? ANYGP_OK : fail_memory(e, "the frequencies", 8.0 * (double)waves * (double)h->of->D);
}

/* ---------------------------------------------------------------------------------------------- features */

/* p[n] = sum_d w_d XT_d / 2 pi: phases in turns. */
VECTORISED static void phases(int64_t n, int64_t D, const double *w, const double *XT, int64_t ld, double *p)
{
    int64_t d = 0;
    memset(p, 0, (size_t)n * sizeof *p);
    for (; d + 4 <= D; d += 4) {
        const double *x = XT + d * ld, *y = x + ld, *z = y + ld, *t = z + ld;
        double a = w[d] * (0.5 / PI), b = w[d + 1] * (0.5 / PI), c = w[d + 2] * (0.5 / PI), f = w[d + 3] * (0.5 / PI);
        SIMD for (int64_t i = 0; i < n; i++) p[i] += a * x[i] + b * y[i] + (c * z[i] + f * t[i]);
    }
    for (; d < D; d++) {
        const double *x = XT + d * ld;
        double a = w[d] * (0.5 / PI);
        SIMD for (int64_t i = 0; i < n; i++) p[i] += a * x[i];
    }
}

/* From phases in turns in c[n] to a cos and a sin of them.  Half the angle that is left beside a whole number of half turns lies in
   [-pi/4, pi/4], where the polynomials of fdlibm hold; then sin 2y = 2 sin y cos y, cos 2y = 1 - 2 sin^2 y.  Nothing here depends on a
   comparison, so that the loop becomes vector code. */
VECTORISED static void turn(int64_t n, double a, double *restrict c, double *restrict s)
{
    SIMD for (int64_t i = 0; i < n; i++)
    {
        double u = c[i], q = rint(2 * u), y = PI * (u - 0.5 * q), z = y * y, odd = q - 2 * rint(0.5 * q);
        double p = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10;
        p = 2.75573137070700676789e-06 + z * p;
        p = -1.98412698298579493134e-04 + z * p;
        p = 8.33333333332248946124e-03 + z * p;
        p = -1.66666666666666324348e-01 + z * p;
        double r = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11;
        r = -2.75573143513906633035e-07 + z * r;
        r = 2.48015872894767294178e-05 + z * r;
        r = -1.38888888888741095749e-03 + z * r;
        r = 4.16666666666666019037e-02 + z * r;
        double sine = y + y * z * p, cosine = 1 - 0.5 * z + z * z * r, sign = a - 2 * a * odd * odd;
        s[i] = 2 * sign * sine * cosine;
        c[i] = sign - 2 * sign * sine * sine;
    }
}

static bool fill_transform(const cells_hand *h, int64_t slot, const cell_rows *r, double *T, int64_t ldt)
{
    const cells *c = h->of;
    int64_t P = waves_at_most(c), waves = cell_size(c, h->cell[slot]) / 2;
    double *room = mem_alloc(hadamard_doubles(P), sizeof *room);
    if (!room) return false;
    hadamard_products(c->seed, P, h->cell[slot], r->n, c->D, r->X, h->over, waves, h->scale + slot * P, T, ldt, room);
    if (ldt == r->n)
        turn(waves * ldt, h->amplitude, T, T + waves * ldt);
    else
        for (int64_t k = 0; k < waves; k++) turn(r->n, h->amplitude, T + k * ldt, T + (waves + k) * ldt);
    free(room);
    return true;
}

/* A transform is linear: its frequencies are its products with the unit vectors, in turns. */
static bool transform_waves(const cells_hand *h, int64_t slot, double *W, double *amplitude)
{
    const cells *c = h->of;
    int64_t P = waves_at_most(c), waves = cell_size(c, h->cell[slot]) / 2, D = c->D;
    double *room = mem_alloc(hadamard_doubles(P), sizeof *room), *unit = mem_zeroed(D * D, sizeof *unit);
    double *T = mem_doubles(waves, D);
    bool ok = room && unit && T;
    for (int64_t d = 0; ok && d < D; d++) unit[d * D + d] = 1;
    if (ok) hadamard_products(c->seed, P, h->cell[slot], D, D, unit, h->over, waves, h->scale + slot * P, T, D, room);
    for (int64_t k = 0; ok && k < waves; k++) {
        amplitude[k] = h->amplitude;
        for (int64_t d = 0; d < D; d++) W[k * D + d] = 2 * PI * T[k * D + d];
    }
    free(room);
    free(unit);
    free(T);
    return ok;
}

bool cells_waves(const cells_hand *h, int64_t slot, double *W, double *amplitude)
{
    const cells *c = h->of;
    int64_t waves = cell_size(c, h->cell[slot]) / 2, first = slot * waves_at_most(c);
    if (c->kind == CELLS_HADAMARD) return transform_waves(h, slot, W, amplitude);
    memcpy(W, h->waves.W + first * c->D, (size_t)(waves * c->D) * sizeof *W);
    memcpy(amplitude, h->waves.amplitude + first, (size_t)waves * sizeof *amplitude);
    return true;
}

bool cells_fill(const cells_hand *h, int64_t slot, const cell_rows *r, double *T, int64_t ldt)
{
    if (h->of->kind == CELLS_HADAMARD) return fill_transform(h, slot, r, T, ldt);
    const cells *c = h->of;
    int64_t cell = h->cell[slot], size = cell_size(c, cell);
    if (c->kind == CELLS_KERNEL)
        return kernel_gram(h->kernel, r->n, r->X, r->D, size, c->Z + cell_first(c, cell) * c->D, c->D, T, ldt);
    for (int64_t k = 0, first = slot * waves_at_most(c); k < size / 2; k++) {
        double *column = T + k * ldt;
        phases(r->n, c->D, h->waves.W + (first + k) * c->D, r->XT, r->ld, column);
        turn(r->n, h->waves.amplitude[first + k], column, column + size / 2 * ldt);
    }
    return true;
}

VECTORISED void cells_add_squares(int64_t n, double d, const double *t, double *S)
{
    SIMD for (int64_t i = 0; i < n; i++) S[i] += d * t[i] * t[i];
}

VECTORISED double cells_weigh_squares(int64_t n, const double *w, const double *t)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++) sum += w[i] * t[i] * t[i];
    return sum;
}

double cells_scale(const cells_hand *h, int64_t slot, int64_t f)
{
    const cells *c = h->of;
    if (c->kind == CELLS_KERNEL) return 1;
    if (c->kind == CELLS_HADAMARD) return h->amplitude * h->amplitude;
    double a = h->waves.amplitude[slot * waves_at_most(c) + f % (cell_size(c, h->cell[slot]) / 2)];
    return a * a;
}

double cells_prior(const cells_hand *h, int64_t slot, int64_t f)
{
    const cells *c = h->of;
    double s = 1;
    if (c->kind == CELLS_KERNEL) kernel_diag(h->kernel, 1, c->Z + (cell_first(c, h->cell[slot]) + f) * c->D, c->D, &s);
    return s;
}

/* ----------------------------------------------------------------------------------------------- reverse */

/* With phase p: cos' = -sin, sin' = cos; pbar in place of cbar. */
VECTORISED static double turn_back(int64_t n, const double *c, const double *s, double *cbar, const double *sbar)
{
    double sum = 0;
    SIMD_SUM(sum) for (int64_t i = 0; i < n; i++)
    {
        sum += c[i] * cbar[i] + s[i] * sbar[i];
        cbar[i] = c[i] * sbar[i] - s[i] * cbar[i];
    }
    return sum;
}

void cells_reverse(const cells_hand *h, int64_t slot, const cell_rows *r, const double *T, int64_t ldt, double *Tbar,
                   double *Wbar, double *abar)
{
    const cells *c = h->of;
    int64_t waves = cell_size(c, h->cell[slot]) / 2, first = slot * waves_at_most(c);
    for (int64_t k = 0; k < waves; k++) {
        double *pbar = Tbar + k * ldt, a = h->waves.amplitude[first + k];
        double sum = turn_back(r->n, T + k * ldt, T + (waves + k) * ldt, pbar, Tbar + (waves + k) * ldt);
        abar[k] += a > 0 ? sum / a : 0;
        for (int64_t d = 0; d < c->D; d++) Wbar[k * c->D + d] += la_dot(r->n, pbar, r->XT + d * r->ld);
    }
}
