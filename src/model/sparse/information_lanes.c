/* Fisher's information in blocks with rows that are given (sparse_information.c has the algebra), LANES of them side by side (given_lanes.c).

   With W = E_own L^-1, E_own the own rows of the identity, row a of T_p = L^-1 (dG / dp) L^-T is W dG L^-T up to the own row's place.
   Rows of the identity that fill up a lane stand behind all own rows, and have no part in it.

   Cost per block of n rows, o of them its own: 2 P kernel matrices and 3/2 P o n^2 operations. */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "linalg/linalg.h"
#include "model/sparse/given_lanes.h"

/* P matrices T of o x n elements, and room for a triangle. */
static int64_t parts_more(const sparse_information *f, int64_t n, int64_t o)
{
    return lanes_row(n) + f->count * o * n * LANES + LANES;
}

static int64_t work_together(const void *shared, int64_t n)
{
    const sparse_information *f = shared;
    return lanes_parts_doubles(f->s, n, n) + parts_more(f, n, n);
}

/* W, and the last own row of any lane. */
static void own_columns(const lanes_parts *p)
{
    memset(p->W, 0, (size_t)(p->o * p->n * LANES) * sizeof *p->W);
    for (int64_t a = 0; a < p->o; a++) {
        const double *own = p->own + a * LANES;
        p->last[a] = 0;
        for (int l = 0; l < LANES; l++) {
            int64_t j = (int64_t)own[l];
            if (j < 0) continue;
            p->W[(a * p->n + j) * LANES + l] = 1;
            if (j > p->last[a]) p->last[a] = j;
        }
    }
    lanes_solve(p->n, p->o, p->last, p->G, p->inverse, p->W);
}

VECTORISED static void subtract(int64_t n, const double *down, double step, double *up)
{
    SIMD for (int64_t i = 0; i < n; i++) up[i] = (up[i] - down[i]) / step;
}

/* dG / dp of kernel parameter q, its lower triangle, in p->Gbar. */
static void difference(const sparse_information *f, int64_t q, const lanes_parts *p, double *room)
{
    kernel *up = f->moved[2 * q], *down = f->moved[2 * q + 1];
    kernel_lanes_gram(up, p->n, p->X, p->Gbar, p->kernel);
    kernel_lanes_gram(down, p->n, p->X, room, p->kernel);
    subtract(lanes_row(p->n), room, kernel_values(up)[q] - kernel_values(down)[q], p->Gbar);
}

/* W dG of the noise, whose dG is 1 over the weights. */
static void noise_rows(const lanes_parts *p, double *T)
{
    int64_t row = p->n * LANES;
    for (int64_t a = 0; a < p->o; a++)
        for (int64_t j = 0; j < row; j++) T[a * row + j] = p->W[a * row + j] * p->share[j];
}

/* T from W dG: times L^-T, without what comes after each own row and with its diagonal times sqrt 1/2. */
static void finish_rows(const lanes_parts *p, double *T)
{
    lanes_forward(p->n, p->o, p->last, p->G, p->inverse, T);
    for (int64_t a = 0; a < p->o; a++)
        for (int l = 0; l < LANES; l++) {
            double *row = T + a * p->n * LANES + l;
            int64_t own = (int64_t)p->own[a * LANES + l];
            if (own >= 0) row[own * LANES] *= sqrt(0.5);
            for (int64_t j = own + 1; j < p->n; j++) row[j * LANES] = 0;
        }
}

static void count_own(const sparse_information *f, int64_t count, const row_block *b, double *stat)
{
    int64_t P = f->count;
    for (int64_t l = 0; l < count; l++)
        for (int64_t j = 0; j < b[l].n; j++) {
            if (!block_is_own(&b[l], j)) continue;
            stat[P * P - 1] += 0.5 * (b[l].w[j] - 1) / (f->s->noise * f->s->noise);
            stat[P * P] += 1;
        }
}

static anygp_status stat_together(const void *shared, int64_t count, const row_block *b, double *work, double *stat,
                                  anygp_error *e)
{
    const sparse_information *f = shared;
    int64_t P = f->count;
    lanes_parts p = lanes_parts_of(f->s, count, b, work);
    int64_t each = p.o * p.n * LANES;
    double *T = lanes_align(work + lanes_parts_doubles(f->s, p.n, p.o)), *room = T + P * each;
    TRY(lanes_given(f->s, count, b, &p, e));
    own_columns(&p);
    for (int64_t q = 0; q < f->kernel; q++) {
        difference(f, q, &p, room);
        lanes_symmetric(p.n, p.o, p.last, p.W, p.Gbar, T + q * each);
    }
    noise_rows(&p, T + f->kernel * each);
    for (int64_t q = 0; q < P; q++) finish_rows(&p, T + q * each);
    la_syrk(LA_T, P, each, 1, T, each, 1, stat, P);
    count_own(f, count, b, stat);
    return ANYGP_OK;
}

/* Less than one by one by what vectors save. */
static double multiplications(const void *shared, int64_t rows)
{
    return 0.2 * sparse_given_information.work(shared, rows);
}

const block_model sparse_lanes_information = {.stat_size = sparse_information_size,
                                              .work = multiplications,
                                              .work_together = work_together,
                                              .stat_together = stat_together};
