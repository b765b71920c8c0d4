/* Fisher's information about the parameters in blocks with rows that are given (sparse_given.c; Guinness 2019).

   With G = L L' over a block and T_p = L^-1 (dG / dp) L^-T, the rows up to i have 1/2 tr(T_p T_q) over their leading part, and own row i given
   those before it the difference:
       I_pq = sum over own rows i of  1/2 (T_p)_ii (T_q)_ii + sum_{b < i} (T_p)_ib (T_q)_ib
   Only own rows of T_p are made: W = L^-T E_own, then W' dG L^-T.  dG is a central difference of the kernel, which leaves it half of its
   digits: enough for a step of an optimiser.  Without inducing inputs; a mean's coefficients are left out.

   Cost per block of n rows, o of them its own: 2 P kernel matrices and 3/2 P o n^2 operations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

static const double STEP = 1e-5; /* of a parameter, relative */

void sparse_information_clear(sparse_information *f)
{
    for (int64_t i = 0; i < 2 * INFORMATION_MOST; i++) kernel_free(f->moved[i]);
    *f = (sparse_information){0};
}

anygp_status sparse_information_open(const sparse *s, sparse_information *f, anygp_error *e)
{
    int64_t count = hyper_kernel_params(s->h);
    *f = (sparse_information){.s = s, .kernel = count, .count = count + 1};
    for (int64_t i = 0; i < 2 * count; i++) {
        if (!(f->moved[i] = kernel_copy(s->h->kernel))) {
            sparse_information_clear(f);
            return fail_memory(e, "the kernel", 0);
        }
        double *value = kernel_values(f->moved[i]) + i / 2;
        *value += (i % 2 ? -STEP : STEP) * *value;
    }
    return ANYGP_OK;
}

/* dG / dp of kernel parameter p, both triangles; `room` n^2. */
static anygp_status difference(const sparse_information *f, const row_block *b, int64_t p, double *dG, double *room,
                               anygp_error *e)
{
    int64_t n = b->n, D = f->s->D;
    kernel *up = f->moved[2 * p], *down = f->moved[2 * p + 1];
    double step = kernel_values(up)[p] - kernel_values(down)[p], white = kernel_white(up) - kernel_white(down);
    if (!kernel_gram_sym(up, n, b->X, D, dG, n) || !kernel_gram_sym(down, n, b->X, D, room, n))
        return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) dG[i + j * n] = (dG[i + j * n] - room[i + j * n]) / step;
        dG[j + j * n] += (1 / b->w[j] - 1) * white / step;
    }
    la_mirror(n, dG, n);
    return ANYGP_OK;
}

/* W = L^-T E_own: n x o. */
static int64_t own_columns(const row_block *b, const double *G, double *W)
{
    int64_t n = b->n, o = 0;
    for (int64_t i = 0; i < n; i++) {
        if (b->own && !b->own[i]) continue;
        memset(W + o * n, 0, (size_t)n * sizeof *W);
        W[i + o++ * n] = 1;
    }
    la_trsm(LA_LEFT, LA_T, n, o, 1, G, n, W, n);
    return o;
}

/* T[o,n] = W'dG so far, to T L^-T, without what comes after each own row and with its diagonal times sqrt 1/2. */
static void finish_rows(const row_block *b, const double *G, int64_t o, double *T)
{
    int64_t n = b->n;
    la_trsm(LA_RIGHT, LA_T, o, n, 1, G, n, T, o);
    for (int64_t i = 0, a = 0; i < n; i++) {
        if (b->own && !b->own[i]) continue;
        T[a + i * o] *= sqrt(0.5);
        for (int64_t j = i + 1; j < n; j++) T[a + j * o] = 0;
        a++;
    }
}

static anygp_status information_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                                     anygp_error *e)
{
    const sparse_information *f = shared;
    int64_t n = b->n, P = f->count;
    whole_parts w = whole_place(f->s, n, work);
    double *W = work + whole_keep(f->s, n), *dG = W + n * n, *room = dG + n * n, *T = room + n * n;
    (void)keep;
    TRY(whole_forward(f->s, b, &w, e));
    int64_t o = own_columns(b, w.G, W);
    for (int64_t p = 0; p < f->kernel; p++) {
        TRY(difference(f, b, p, dG, room, e));
        la_gemm(LA_T, LA_N, o, n, n, 1, W, n, dG, n, 0, T + p * o * n, o);
    }
    for (int64_t j = 0; j < n; j++) /* the noise, whose dG is 1 over the weights */
        for (int64_t a = 0; a < o; a++) T[f->kernel * o * n + a + j * o] = W[j + a * n] / b->w[j];
    for (int64_t p = 0; p < P; p++) finish_rows(b, w.G, o, T + p * o * n);
    la_syrk(LA_T, P, o * n, 1, T, o * n, 1, stat, P);
    for (int64_t j = 0; j < n; j++)
        if (!b->own || b->own[j]) {
            stat[P * P - 1] += 0.5 * (b->w[j] - 1) / (f->s->noise * f->s->noise);
            stat[P * P] += 1;
        }
    return ANYGP_OK;
}

int64_t sparse_information_size(const void *shared)
{
    int64_t P = ((const sparse_information *)shared)->count;
    return P * P + 1;
}

static int64_t information_work(const void *shared, int64_t n)
{
    const sparse_information *f = shared;
    return whole_keep(f->s, n) + (3 + f->count) * n * n;
}

static double information_multiplications(const void *shared, int64_t rows)
{
    const sparse_information *f = shared;
    double n = (double)rows, P = (double)f->count;
    return n * n * (n * (1 + 1.5 * P) + 2 * P * (double)f->s->D);
}

const block_model sparse_given_information = {.stat_size = sparse_information_size,
                                              .work_doubles = information_work,
                                              .work = information_multiplications,
                                              .stat = information_stat};
