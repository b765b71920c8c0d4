/* What the blocks of a variational model share, and its head; notation and equations in svgp.h, the pass over rows in
   svgp_rows.c. */
#include "model/svgp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/svgp_orthogonal.h"

enum { HALVINGS_MOST = 40, BESIDE_THREADS = 4, BESIDE_SIZE = 1536 };
static const double ROUNDING = 4e-16;

/* ---------------------------------------------------------------------------------------- state */

static void copy(int64_t n, const double *from, double *to) { memcpy(to, from, (size_t)n * sizeof *to); }

/* Squares of thousands: memory is faster with more threads than one. */
static void copy_square(int64_t M, const double *from, double *to)
{
    int threads = threads_for(8.0 * (double)M * (double)M);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t j = 0; j < M; j++) copy(M, from + j * M, to + j * M);
}

static void set_to_prior(svgp_q *q)
{
    int64_t M = q->M;
    memset(q->Lambda, 0, (size_t)(M * M) * sizeof(double));
    for (int64_t i = 0; i < M; i++) q->Lambda[i + i * M] = 1;
    copy(M * M, q->Lambda, q->F);
    la_trsm_prepare(M, q->F, M, q->T);
    memset(q->theta, 0, (size_t)M * sizeof(double));
    q->trace = (double)M;
}

/* Room for a precision of which steps write the lower triangle alone; a checkpoint has all of it. */
static double *new_Lambda(int64_t room) { return mem_zeroed(room, (size_t)room * sizeof(double)); }

/* room: of the squares, which change places with the spare ones. */
static bool q_init(svgp_q *q, int64_t M, int64_t room, double *m)
{
    *q = (svgp_q){.M = M,
                  .Lambda = new_Lambda(room),
                  .F = mem_doubles(room, room),
                  .T = mem_alloc(la_trsm_size(M), sizeof(double)),
                  .theta = mem_alloc(M, sizeof(double)),
                  .m = m};
    if (!q->Lambda || !q->F || !q->T || !q->theta) return false;
    set_to_prior(q);
    return true;
}

/* With as many q as threads or many more each thread moves its own; else they move one after the other, by all threads, but
   for the only one there is, of a size at which few threads are not much faster than one: beside the gradient. */
static bool spares_init(svgp *s, int64_t room)
{
    int64_t count = s->C * s->K, threads = threads_max();
    s->spares = count == threads || count >= 2 * threads ? (int)threads : 1;
    s->beside = count == 1 && s->Mt <= BESIDE_SIZE && threads > 1 && threads <= BESIDE_THREADS;
    if (!(s->spare = mem_zeroed(s->spares, sizeof *s->spare))) return false;
    for (int t = 0; t < s->spares; t++) {
        s->spare[t] = (svgp_spare){new_Lambda(room), mem_doubles(room, room), mem_doubles(room, 3)};
        if (!s->spare[t].Lambda || !s->spare[t].F || !s->spare[t].work) return false;
    }
    return true;
}

static void place_sets(svgp *s, const problem *p)
{
    s->K = p->set_count > 1 && s->O == 0 ? p->set_count : 1;
    for (int64_t k = 1; k < s->K; k++) s->set[k] = s->set[k - 1] + p->sets[k - 1] + (k == 1 ? s->p : 0);
    s->set[s->K] = s->Mt;
}

/* The likelihoods of all targets, as they are before h is known. */
static bool place_likelihoods(svgp *s, const problem *p)
{
    if (!(s->like = mem_zeroed(s->T, sizeof *s->like))) return false;
    for (int64_t t = 0; t < s->T; t++) s->like[t] = *p->likelihood;
    s->each = p->likelihood->latents;
    s->C = s->T * s->each;
    s->Q = s->T * p->likelihood->columns;
    s->gaussian = likelihood_is_gaussian(p->likelihood);
    return true;
}

anygp_status svgp_init(svgp *s, const problem *p, const hyper *h, bool orthogonal, anygp_error *e)
{
    int64_t O = orthogonal && p->set_count > 1 ? h->M - p->sets[0] : 0, M = h->M - O, Mt = M + p->mean->p;
    *s = (svgp){
        .mean = p->mean, .h = h, .T = p->targets > 1 ? p->targets : 1, .M = M, .p = p->mean->p, .Mt = Mt, .D = h->D};
    bool ok = place_likelihoods(s, p);
    s->O = O;
    place_sets(s, p);
    s->rows = p->blocks->largest;
    if (ok && ANYGP_FAILED(inducing_open(&s->u, h->kind, s->M, s->D, e))) return svgp_clear(s), ANYGP_ERR_MEMORY;
    s->m = ok ? mem_zeroed(Mt * s->C, sizeof(double)) : NULL;
    s->q = ok ? mem_zeroed(s->C * s->K, sizeof *s->q) : NULL;
    s->work = mem_doubles(Mt, 4);
    int64_t room = 0;
    for (int64_t k = 0; k < s->K; k++) room = s->set[k + 1] - s->set[k] > room ? s->set[k + 1] - s->set[k] : room;
    ok = ok && s->m && s->q && s->work && spares_init(s, room);
    for (int64_t i = 0; ok && i < s->C * s->K; i++) {
        int64_t c = i / s->K, k = i % s->K;
        ok = q_init(&s->q[i], s->set[k + 1] - s->set[k], room, s->m + c * Mt + s->set[k]);
    }
    s->mean_m = s->m;
    if (ok && O > 0 && ANYGP_FAILED(orthogonal_init(s, e))) return svgp_clear(s), ANYGP_ERR_MEMORY;
    if (ok) return ANYGP_OK;
    double bytes = 8.0 * (double)Mt * (double)Mt * (3.0 * (double)s->C + 4);
    svgp_clear(s);
    return fail_memory(e, "the distribution of the inducing variables", bytes);
}

void svgp_clear(svgp *s)
{
    orthogonal_clear(s);
    for (int64_t i = 0; s->q && i < s->C * s->K; i++) {
        double *const owned[] = {s->q[i].Lambda, s->q[i].F, s->q[i].T, s->q[i].theta, s->q[i].V};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
    }
    inducing_clear(&s->u);
    double *const owned[] = {s->m, s->work};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
    for (int t = 0; s->spare && t < s->spares; t++) {
        free(s->spare[t].Lambda);
        free(s->spare[t].F);
        free(s->spare[t].work);
    }
    free(s->spare);
    free(s->q);
    free(s->like);
    *s = (svgp){0};
}

/* -------------------------------------------------------------------------------------- prepare */

void svgp_take_values(svgp *s, const hyper *h)
{
    s->h = h;
    s->white = kernel_white(h->kernel);
    for (int64_t t = 0; t < s->T; t++) {
        likelihood *l = &s->like[t];
        for (int64_t i = 0; i < l->params; i++) l->value[i] = h->like[t * l->params + i];
        if (s->gaussian) l->value[0] += s->white;
    }
}

bool svgp_prepare(svgp *s, const hyper *h, bool grow, double *jitter)
{
    function_set all = hyper_set_of(h);
    svgp_take_values(s, h);
    if (!inducing_prepare(&s->u, h->kernel, functions_part(all, s->D, 0, s->M), grow, jitter)) return false;
    s->o = inducing_part(&s->u, all, s->M, s->O);
    return true;
}

void svgp_take_factor(svgp *s, const hyper *h, const double *L)
{
    function_set all = hyper_set_of(h);
    svgp_take_values(s, h);
    inducing_set_factor(&s->u, h->kernel, functions_part(all, s->D, 0, s->M), L);
    s->o = inducing_part(&s->u, all, s->M, s->O);
}

/* --------------------------------------------------------------------------------------- q moves */

static bool all_finite(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

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

/* The factor and mean of Lambda and theta in F and m; false: they are no distribution. */
static bool complete(int64_t M, double *Lambda, const double *theta, double *F, double *m)
{
    if (!factor(M, Lambda, F)) return false;
    la_zero_upper(M, F, M);
    copy(M, theta, m);
    la_trsv(LA_N, M, F, M, m);
    la_trsv(LA_T, M, F, M, m);
    return all_finite(M, theta) && all_finite(M, m);
}

static void swap(double **a, double **b)
{
    double *t = *a;
    *a = *b, *b = t;
}

/* V, where it is held, and its trace; `square` is workspace and may change places with V. */
static void take_inverse(svgp_q *q, double **square)
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

/* q becomes what stands in the spare arrays and in theta, m. */
static void adopt(svgp_q *q, svgp_spare *spare, const double *theta, const double *m)
{
    int64_t M = q->M;
    swap(&q->Lambda, &spare->Lambda);
    swap(&q->F, &spare->F);
    copy(M, theta, q->theta);
    copy(M, m, q->m);
    la_trsm_prepare(M, q->F, M, q->T);
    take_inverse(q, &spare->F);
}

/* The threads that make the factors of one q, the same in a step and from a checkpoint, so that they have the same bits: a
   thread makes its own, or all make each.  Of `beside` that is one also in steps without a gradient, which are a little slower
   for it. */
static int q_threads(const svgp *s) { return s->beside || s->spares > 1 ? 1 : threads_max(); }

/* The trace again, as it is made with V or without. */
static void inverse_again(svgp *s)
{
    int former = la_threads(q_threads(s));
    take_inverse(s->q, &s->spare->F);
    la_threads(former);
}

bool svgp_hold_V(svgp *s)
{
    if (s->q->V) return true;
    if (!(s->q->V = mem_doubles(s->q->M, s->q->M))) return false;
    inverse_again(s);
    return true;
}

void svgp_drop_V(svgp *s)
{
    if (!s->q->V) return;
    free(s->q->V);
    s->q->V = NULL;
    inverse_again(s);
}

/* q from theta and the Lambda in `spare`. */
static bool take_spare(svgp_q *q, svgp_spare *spare, const double *theta)
{
    double *m = spare->work, *kept = m + q->M;
    if (!complete(q->M, spare->Lambda, theta, spare->F, m)) return false;
    copy(q->M, theta, kept);
    adopt(q, spare, kept, m);
    return true;
}

bool svgp_q_set(svgp *s, svgp_q *q, const double *Lambda, const double *theta)
{
    int former = la_threads(q_threads(s));
    copy_square(q->M, Lambda, s->spare->Lambda);
    bool ok = take_spare(q, s->spare, theta);
    la_threads(former);
    return ok;
}

/* Natural parameters of the prior of one q; Lambda NULL: N(0, I). */
typedef struct prior_q {
    const double *Lambda, *theta;
} prior_q;

/* (1 - rho) Lambda + rho (Lambda_prior + S) and (1 - rho) theta + rho (theta_prior + b + S m). */
static void next_q(const svgp_q *q, prior_q p, double rho, const double *S, const double *b, double *Lambda,
                   double *theta)
{
    int64_t M = q->M;
    int threads = threads_for(8.0 * (double)M * (double)M);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 32)
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) {
            double prior = p.Lambda ? p.Lambda[i + j * M] : i == j;
            Lambda[i + j * M] = (1 - rho) * q->Lambda[i + j * M] + rho * (S[i + j * M] + prior);
        }
    copy(M, b, theta);
    la_symm(LA_LEFT, M, 1, 1, S, M, q->m, M, 1, theta, M);
    for (int64_t i = 0; i < M; i++) theta[i] = (1 - rho) * q->theta[i] + rho * (theta[i] + (p.Lambda ? p.theta[i] : 0));
}

static bool move_one(svgp_q *q, svgp_spare *spare, prior_q p, double rho, const double *S, const double *b)
{
    double *theta = spare->work + 2 * q->M;
    for (int k = 0; k < HALVINGS_MOST; k++, rho *= 0.5) {
        next_q(q, p, rho, S, b, spare->Lambda, theta);
        if (take_spare(q, spare, theta)) return true;
    }
    return false;
}

/* q number i; squares and vectors of those before it come first in S, Lambda and theta. */
static bool move_at(svgp *s, int64_t i, svgp_spare *spare, double rho, const svgp_stat *stat, prior_q p)
{
    svgp_q *q = &s->q[i];
    int64_t squares = 0, vectors = 0;
    for (int64_t j = 0; j < i; j++) squares += s->q[j].M * s->q[j].M, vectors += s->q[j].M;
    if (p.Lambda) p.Lambda += squares, p.theta += vectors;
    return move_one(q, spare, p, rho, stat->S + squares, stat->b + (q->m - s->m));
}

bool svgp_move_from(svgp *s, const svgp_stat *stat, double rho, const double *Lambda, const double *theta)
{
    bool ok = true;
    int wanted = threads_for((double)(s->C * s->K) * pow((double)s->q->M, 3));
    int threads = wanted < s->spares ? wanted : s->spares, former = la_threads(q_threads(s));
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(&& : ok)
    for (int64_t i = 0; i < s->C * s->K; i++)
        ok = move_at(s, i, &s->spare[threads > 1 ? threads_id() : 0], rho, stat, (prior_q){Lambda, theta}) && ok;
    la_serial_end(threads);
    la_threads(former);
    return ok;
}

bool svgp_move(svgp *s, const svgp_stat *stat, double rho) { return svgp_move_from(s, stat, rho, NULL, NULL); }

double svgp_kl(const svgp *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->C * s->K; i++) {
        const svgp_q *q = &s->q[i];
        sum += 0.5 * (q->trace + la_dot(q->M, q->m, q->m) - (double)q->M + la_logdet(q->M, q->F, q->M));
    }
    return sum + (s->O ? orthogonal_kl(s) : 0);
}

/* ------------------------------------------------------------------------------------- gradient */

void svgp_E(const svgp *s, svgp_stat *stat)
{
    int64_t M = s->M, Mt = s->Mt, p = s->p;
    const double *m = s->m + p, *b = stat->b + p, *S = stat->S + p * Mt;
    la_mirror(Mt, stat->S, Mt);
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) stat->E[i + j * M] = m[i] * b[j] + S[p + i + j * Mt];
    la_gemm_lower(LA_N, LA_N, M, Mt, -1, s->q->V + p, Mt, S, Mt, 1, stat->E, M);
}

bool svgp_gradient(svgp *s, svgp_stat *stat, double *gp)
{
    int64_t P = hyper_kernel_params(s->h);
    double white = *stat->white;
    for (int64_t t = 0; s->gaussian && t < s->T; t++) white += stat->like[t];
    if (!s->u.ops->finish(&s->u, stat->E, white, svgp_grad(s, stat))) return false;
    copy(P, stat->kernel, gp);
    copy(s->h->likes, stat->like, gp + P);
    copy(hyper_variables(s->h), stat->variables, gp + s->h->count);
    return true;
}
