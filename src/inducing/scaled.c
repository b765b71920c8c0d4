/* scaled: generalised SE functions (functions.h), places with widths of their own; under a single rbf only.  At width 1 they are
   points. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "inducing/inducing.h"
#include "inducing/whiten.h"
#include "linalg/linalg.h"

enum { PIECE = 256 }; /* rows whose features are made at a time */

static anygp_status check(const kernel *k, anygp_error *e)
{
    int64_t *length = mem_alloc(kernel_inputs(k), sizeof *length);
    if (!length) return fail_memory(e, "the inducing functions", 8.0 * (double)kernel_inputs(k));
    bool ok = kernel_as_rbf(k, length);
    free(length);
    if (ok) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "inducing-kind: scaled inducing variables need a single rbf kernel; use --kernel rbf, or points");
}

static void bind(inducing_set *v)
{
    if (v->M > 0) functions_prepare(&v->f, v->kernel, v->set.Z);
}

/* ------------------------------------------------------------------------------- with other variables */

/* Room for the workspace of the covariances of a and b variables, `squares` of these, and the kernel's gradient. */
static double *pair_room(const inducing_set *v, int64_t a, int64_t b, int squares)
{
    size_t cells;
    if (!size_mul(a, b * squares, &cells)) return NULL;
    return mem_alloc(functions_work(&v->f, a, b) + (int64_t)cells + kernel_count(v->kernel), sizeof(double));
}

static bool pair(const inducing_set *v, function_set o, double *K, int64_t ldk)
{
    double *room = pair_room(v, v->M, o.M, 1);
    if (!room) return false;
    double *made = room + functions_work(&v->f, v->M, o.M);
    functions_pair(&v->f, o, v->set, room, made);
    for (int64_t j = 0; j < o.M; j++) memcpy(K + j * ldk, made + j * v->M, (size_t)v->M * sizeof *K);
    free(room);
    return true;
}

static void transpose(int64_t rows, int64_t cols, const double *A, double *B)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) B[j + i * cols] = A[i + j * rows];
}

/* One side after the other: functions_pair_reverse handles only one. */
static bool pair_reverse(const inducing_set *v, function_set o, double *G, int64_t ldg, inducing_grad g,
                         inducing_grad go)
{
    int64_t M = v->M, P = kernel_count(v->kernel);
    double *room = pair_room(v, M, o.M, 4);
    if (!room) return false;
    double *K = room + functions_work(&v->f, M, o.M), *W = K + M * o.M, *K_t = W + M * o.M, *W_t = K_t + M * o.M,
           *once = W_t + M * o.M;
    for (int64_t j = 0; j < o.M; j++) memcpy(W + j * M, G + j * ldg, (size_t)M * sizeof *W);
    functions_pair(&v->f, o, v->set, room, K);
    transpose(M, o.M, K, K_t);
    transpose(M, o.M, W, W_t);
    memset(once, 0, (size_t)P * sizeof *once); /* the kernel got its share from the other side */
    functions_pair_reverse(&v->f, o, v->set, K, W, room, g.kernel, go.Z, go.C);
    if (g.Z || g.C) functions_pair_reverse(&v->f, v->set, o, K_t, W_t, room, once, g.Z, g.C);
    free(room);
    return true;
}

/* --------------------------------------------------------------------------------- prepare, finish */

static bool prepare(inducing_set *v, bool grow, double *jitter)
{
    return pair(v, v->set, v->L, v->M) && whiten_factor(v, grow, jitter);
}

/* Both places of an element move, and functions_pair_reverse handles only one of them: twice the adjoint, half for the kernel. */
static bool finish(const inducing_set *v, double *E, double white, inducing_grad g)
{
    int64_t M = v->M, P = kernel_count(v->kernel);
    double *room = pair_room(v, M, M, 1);
    (void)white; /* a single rbf has no white */
    if (!room) return false;
    double *K = room + functions_work(&v->f, M, M), *gp = K + M * M;
    whiten_bar(v, E);
    la_mirror(M, E, M);
    la_scale(M * M, 2, E);
    memset(gp, 0, (size_t)P * sizeof *gp);
    functions_pair(&v->f, v->set, v->set, room, K);
    functions_pair_reverse(&v->f, v->set, v->set, K, E, room, gp, g.Z, g.C);
    la_axpy(P, 0.5, gp, g.kernel);
    free(room);
    return true;
}

/* ------------------------------------------------------------------------------------------- rows */

static bool cross(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *K, int64_t ldk)
{
    int64_t piece = n < PIECE ? n : PIECE, work = functions_cross_work(&v->f, piece, v->M);
    int threads = n > PIECE ? threads_for((double)n * (double)v->M * (double)(2 * v->D + 16)) : 1;
    double *room = mem_doubles(threads, work);
    if (!room) return false;
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < n; i += PIECE)
        functions_cross(&v->f, v->set, n - i < PIECE ? n - i : PIECE, X + i * ldx, ldx,
                        room + (threads > 1 ? threads_id() : 0) * work, K + i * ldk, ldk);
    la_serial_end(threads);
    free(room);
    return true;
}

static bool cross_reverse(const inducing_set *v, int64_t n, const double *X, int64_t ldx, double *G, int64_t ldg,
                          inducing_grad g)
{
    int64_t piece = n < PIECE ? n : PIECE, work = functions_cross_work(&v->f, piece, v->M);
    double *room = mem_alloc(work + piece * v->M, sizeof *room);
    if (!room) return false;
    for (int64_t i = 0; i < n; i += PIECE)
        functions_cross_reverse(&v->f, v->set, n - i < PIECE ? n - i : PIECE, X + i * ldx, ldx, G + i * ldg, ldg, room,
                                room + work, g.kernel, g.Z, g.C, g.X ? g.X + i * v->D : NULL);
    free(room);
    return true;
}

const inducing_ops inducing_scaled = {.name = "scaled",
                                      .summary = "places with widths of their own, under an rbf",
                                      .noun = "inducing input",
                                      .nouns = "inducing inputs",
                                      .each = 1,
                                      .widths = true,
                                      .check = check,
                                      .bind = bind,
                                      .prepare = prepare,
                                      .features = whiten_features,
                                      .reverse = whiten_reverse,
                                      .finish = finish,
                                      .cross = cross,
                                      .cross_reverse = cross_reverse,
                                      .pair = pair,
                                      .pair_reverse = pair_reverse};
