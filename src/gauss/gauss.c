/* q(v) by its natural parameters: steps, factors, KL (gauss.h). */
#include "gauss/gauss.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

static const double ROUNDING = 4e-16;

static void copy(int64_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof *to); }

/* Squares with thousands of rows: memory is faster with more than one thread. */
static void copy_square(int64_t M, const double *from, double *to)
{
    int threads = threads_for(8.0 * (double)M * (double)M);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t j = 0; j < M; j++) copy(M, from + j * M, to + j * M);
}

static void swap(double **a, double **b)
{
    double *t = *a;
    *a = *b, *b = t;
}

/* ------------------------------------------------------------------------------------- init, clear */

/* Room for a precision of which steps write only the lower triangle; a checkpoint has all of it. */
static double *new_Lambda(int64_t room) { return mem_zeroed(room, (size_t)room * sizeof(double)); }

static void set_to_prior(gauss *q)
{
    int64_t M = q->M;
    memset(q->Lambda, 0, (size_t)(M * M) * sizeof(double));
    for (int64_t i = 0; i < M; i++) q->Lambda[i + i * M] = 1;
    copy(M * M, q->Lambda, q->F);
    if (q->T) la_trsm_prepare(M, q->F, M, q->T);
    memset(q->theta, 0, (size_t)M * sizeof(double));
    memset(q->m, 0, (size_t)M * sizeof(double));
    q->trace = (double)M;
}

bool gauss_init_part(gauss *q, int64_t M, int64_t room, double *m)
{
    *q = (gauss){.M = M,
                 .Lambda = new_Lambda(room),
                 .F = mem_doubles(room, room),
                 .T = mem_alloc(la_trsm_size(M), sizeof(double)),
                 .theta = mem_alloc(M, sizeof(double)),
                 .m = m};
    if (!q->Lambda || !q->F || !q->T || !q->theta) return false;
    set_to_prior(q);
    return true;
}

anygp_status gauss_init(gauss *q, int64_t M, anygp_error *e)
{
    *q = (gauss){.M = M,
                 .Lambda = new_Lambda(M),
                 .F = mem_doubles(M, M),
                 .theta = mem_alloc(M, sizeof(double)),
                 .m = mem_alloc(M, sizeof(double))};
    if (q->Lambda && q->F && q->theta && q->m && gauss_spare_init(&q->own, M)) return set_to_prior(q), ANYGP_OK;
    gauss_clear(q);
    return fail_memory(e, "the distribution of the inducing variables", 8.0 * (double)M * (4.0 * (double)M + 5));
}

void gauss_clear(gauss *q)
{
    double *const owned[] = {q->Lambda, q->F, q->T, q->theta, q->V, q->own.Lambda ? q->m : NULL};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    gauss_spare_clear(&q->own);
    *q = (gauss){0};
}

bool gauss_spare_init(gauss_spare *s, int64_t room)
{
    *s = (gauss_spare){new_Lambda(room), mem_doubles(room, room), mem_doubles(room, 3)};
    return s->Lambda && s->F && s->work;
}

void gauss_spare_clear(gauss_spare *s)
{
    free(s->Lambda);
    free(s->F);
    free(s->work);
    *s = (gauss_spare){0};
}

/* ------------------------------------------------------------------------------------ the next q */

/* The factor of Lambda in F.  Where rounding alone is in the way, at conditions near 1 / epsilon, the diagonal is enlarged by as
   much: a share of each of its elements, since they may differ by many orders of magnitude. */
static bool factor(int64_t M, double *Lambda, double *F)
{
    copy_square(M, Lambda, F);
    if (la_factor(M, F, M)) return true;
    for (int64_t i = 0; i < M; i++) Lambda[i + i * M] *= 1 + ROUNDING * (double)M;
    copy_square(M, Lambda, F);
    return la_factor(M, F, M);
}

/* The factor and mean of Lambda and theta in F and m; false: they are not a distribution. */
static bool complete(int64_t M, double *Lambda, const double *theta, double *F, double *m)
{
    if (!factor(M, Lambda, F)) return false;
    la_zero_upper(M, F, M);
    copy(M, theta, m);
    la_trsv(LA_N, M, F, M, m);
    la_trsv(LA_T, M, F, M, m);
    return la_all_finite(M, theta) && la_all_finite(M, m);
}

/* V, where it is held, and its trace; `square` is workspace and may change places with V. */
static void take_inverse(gauss *q, double **square)
{
    int64_t M = q->M;
    if (!q->V) {
        q->trace = la_inverse_norm2(M, q->F, M, *square);
        return;
    }
    copy_square(M, q->F, *square);
    la_potri(M, *square, M);
    la_mirror(M, *square, M);
    q->trace = 0;
    for (int64_t i = 0; i < M; i++) q->trace += (*square)[i + i * M];
    swap(&q->V, square);
}

/* q from theta and the Lambda in `spare`. */
static bool take_spare(gauss *q, gauss_spare *spare, const double *theta)
{
    int64_t M = q->M;
    double *m = spare->work;
    if (!complete(M, spare->Lambda, theta, spare->F, m)) return false;
    swap(&q->Lambda, &spare->Lambda);
    swap(&q->F, &spare->F);
    if (theta != q->theta) copy(M, theta, q->theta);
    copy(M, m, q->m);
    q->stale = false;
    if (!q->T) return true;
    la_trsm_prepare(M, q->F, M, q->T);
    take_inverse(q, &spare->F);
    return true;
}

bool gauss_take_next(gauss *q, const double *theta) { return take_spare(q, &q->own, theta); }

static gauss_spare *room_of(gauss *q, gauss_spare *spare) { return spare ? spare : &q->own; }

bool gauss_set(gauss *q, gauss_spare *spare, const double *Lambda, const double *theta)
{
    spare = room_of(q, spare);
    copy_square(q->M, Lambda, spare->Lambda);
    if (!q->T) la_zero_upper(q->M, spare->Lambda, q->M);
    return take_spare(q, spare, theta);
}

bool gauss_ready(gauss *q)
{
    if (!q->stale) return true;
    copy_square(q->M, q->Lambda, q->own.Lambda);
    return take_spare(q, &q->own, q->theta);
}

/* ------------------------------------------------------------------------------- natural gradient */

/* at_mean: S and b are derivatives at the mean, and S m belongs to b. */
static void next_q(const gauss *q, gauss_prior p, double rho, bool at_mean, const double *S, const double *b,
                   double *Lambda, double *theta)
{
    int64_t M = q->M;
    int threads = threads_for(8.0 * (double)M * (double)M);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 32)
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) {
            double prior = p.Lambda ? p.Lambda[i + j * M] : i == j ? p.scale : 0;
            Lambda[i + j * M] = (1 - rho) * q->Lambda[i + j * M] + rho * (S[i + j * M] + prior);
        }
    copy(M, b, theta);
    if (at_mean) la_symm(LA_LEFT, M, 1, 1, S, M, q->m, M, 1, theta, M);
    for (int64_t i = 0; i < M; i++) theta[i] = (1 - rho) * q->theta[i] + rho * (theta[i] + (p.Lambda ? p.theta[i] : 0));
}

bool gauss_move(gauss *q, gauss_spare *spare, gauss_prior prior, double rho, int halvings, const double *S,
                const double *b)
{
    spare = room_of(q, spare);
    double *theta = spare->work + 2 * q->M;
    for (int k = 0; k <= halvings; k++, rho *= 0.5) {
        next_q(q, prior, rho, true, S, b, spare->Lambda, theta);
        if (take_spare(q, spare, theta)) return true;
    }
    return false;
}

/* The step in place: Lambda stays positive definite, since S and the prior are. */
static bool natural_step_lazily(gauss *q, double rho, double prior, const double *S, const double *b)
{
    int64_t M = q->M;
    double sum = 0; /* of sizes: squares of usable numbers may not be finite */
    for (int64_t j = 0; j < M; j++) {
        sum += fabs(b[j]);
        for (int64_t i = j; i < M; i++) sum += fabs(S[i + j * M]);
    }
    if (!isfinite(sum)) return false;
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = j, k = j + j * M; i < M; i++, k++) q->Lambda[k] += rho * (S[k] - q->Lambda[k]);
        q->Lambda[j + j * M] += rho * prior;
        q->theta[j] += rho * (b[j] - q->theta[j]);
    }
    return q->stale = true;
}

bool natural_step(gauss *q, double rho, double prior, const double *S, const double *b)
{
    double *theta = q->own.work + 2 * q->M;
    if (q->lazy) return natural_step_lazily(q, rho, prior, S, b);
    next_q(q, (gauss_prior){.scale = prior}, rho, false, S, b, q->own.Lambda, theta);
    return take_spare(q, &q->own, theta);
}

/* ------------------------------------------------------------------------------------ V and its root */

void gauss_half(const gauss *q, int64_t n, double *U, int64_t ldu)
{
    if (q->R)
        la_trmm(LA_LEFT, LA_T, q->M, n, 1, q->R, q->M, U, ldu);
    else
        la_trsm_prepared(LA_LEFT, LA_N, q->M, n, q->F, q->M, q->T, U, ldu);
}

void gauss_other_half(const gauss *q, int64_t n, double *U, int64_t ldu)
{
    if (q->R)
        la_trmm(LA_LEFT, LA_N, q->M, n, 1, q->R, q->M, U, ldu);
    else
        la_trsm_prepared(LA_LEFT, LA_T, q->M, n, q->F, q->M, q->T, U, ldu);
}

void gauss_covariance(const gauss *q, double *V)
{
    copy(q->M * q->M, q->F, V);
    la_potri(q->M, V, q->M);
    la_mirror(q->M, V, q->M);
}

/* (tr V + m'm - M - log det V) / 2 */
double gauss_kl(const gauss *q)
{
    int64_t M = q->M;
    double trace = q->trace, log_det = 0;
    if (!q->R && !q->T) trace = la_inverse_norm2(M, q->F, M, q->own.F);
    if (q->R) {
        trace = 0;
        for (int64_t j = 0; j < M; j++) {
            trace += la_dot(M - j, q->R + j + j * M, q->R + j + j * M);
            log_det -= 2 * log(q->R[j + j * M]);
        }
    } else {
        log_det = la_logdet(M, q->F, M);
    }
    return 0.5 * (trace + la_dot(M, q->m, q->m) - (double)M + log_det);
}

bool gauss_hold_V(gauss *q, gauss_spare *spare)
{
    if (q->V) return true;
    if (!(q->V = mem_doubles(q->M, q->M))) return false;
    take_inverse(q, &room_of(q, spare)->F);
    return true;
}

void gauss_drop_V(gauss *q, gauss_spare *spare)
{
    if (!q->V) return;
    free(q->V);
    q->V = NULL;
    take_inverse(q, &room_of(q, spare)->F);
}

/* ------------------------------------------------------------------------------------ kept and saved */

void gauss_keep(const gauss *q, double *kept)
{
    copy(q->M * q->M, q->Lambda, kept);
    copy(q->M, q->theta, kept + q->M * q->M);
}

typedef struct saved_names {
    char Lambda[32], theta[32];
} saved_names;

static saved_names names_of(const char *name)
{
    saved_names n;
    snprintf(n.Lambda, sizeof n.Lambda, "Lambda%s", name);
    snprintf(n.theta, sizeof n.theta, "theta%s", name);
    return n;
}

void gauss_save(const gauss *q, const char *name, checkpoint *to)
{
    saved_names n = names_of(name);
    checkpoint_put(to, n.Lambda, q->M * q->M, q->Lambda);
    checkpoint_put(to, n.theta, q->M, q->theta);
}

bool gauss_restore(gauss *q, gauss_spare *spare, const char *name, const checkpoint *from)
{
    saved_names n = names_of(name);
    double *Lambda = mem_doubles(q->M, q->M), *theta = mem_alloc(q->M, sizeof *theta);
    bool ok = Lambda && theta && checkpoint_get_finite(from, n.Lambda, q->M * q->M, Lambda) &&
              checkpoint_get_finite(from, n.theta, q->M, theta) && gauss_set(q, spare, Lambda, theta);
    free(Lambda);
    free(theta);
    return ok;
}
