/* A layer's inducing variables and q; notation and equations in layer.h, the rows in layer_rows.c. */
#include "gauss/layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "gauss/layer_f32.h"
#include "gauss/orthogonal.h"
#include "linalg/linalg.h"

enum { HALVINGS_MOST = 40, BESIDE_THREADS = 4, BESIDE_SIZE = 1536 };

/* ---------------------------------------------------------------------------------------- state */

/* With as many q as threads, or many more, each thread moves its own.  Otherwise they move one after the other, by all threads.
    The exception is a single q of a size at which a few threads are not much faster than one: it moves beside the gradient. */
static bool spares_init(layer *l, int64_t room)
{
    int64_t count = l->C * l->K, threads = threads_max();
    l->spares = count == threads || count >= 2 * threads ? (int)threads : 1;
    l->beside = count == 1 && l->Mt <= BESIDE_SIZE && threads > 1 && threads <= BESIDE_THREADS;
    if (!(l->spare = mem_zeroed(l->spares, sizeof *l->spare))) return false;
    for (int t = 0; t < l->spares; t++)
        if (!gauss_spare_init(&l->spare[t], room)) return false;
    return true;
}

/* The largest of the sets. */
static int64_t place_sets(layer *l, const layer_shape *s)
{
    int64_t room = 0;
    l->K = s->set_count > 1 && s->O == 0 ? s->set_count : 1;
    for (int64_t k = 1; k < l->K; k++) l->set[k] = l->set[k - 1] + s->sets[k - 1] + (k == 1 ? l->p : 0);
    l->set[l->K] = l->Mt;
    for (int64_t k = 0; k < l->K; k++) room = l->set[k + 1] - l->set[k] > room ? l->set[k + 1] - l->set[k] : room;
    return room;
}

static bool q_init(layer *l, const layer_shape *s, int64_t room)
{
    if (!s->R && !spares_init(l, room)) return false;
    for (int64_t i = 0; i < l->C * l->K; i++) {
        int64_t c = i / l->K, k = i % l->K;
        double *m = l->m + c * l->Mt + l->set[k];
        if (s->R)
            l->q[i] = (gauss){.M = l->Mt, .m = m, .R = s->R + c * l->Mt * l->Mt};
        else if (!gauss_init_part(&l->q[i], l->set[k + 1] - l->set[k], room, m))
            return false;
    }
    return true;
}

anygp_status layer_init(layer *l, const layer_shape *s, anygp_error *e)
{
    int64_t p = s->mean->p, Mt = s->M + p;
    *l = (layer){.mean = s->mean, .C = s->C, .M = s->M, .p = p, .Mt = Mt, .D = s->D, .O = s->O};
    l->params = s->params, l->widths = s->kind->widths, l->noisy = s->noisy;
    l->variables = s->learned ? (s->M + s->O) * s->D * (l->widths ? 2 : 1) : 0;
    int64_t room = place_sets(l, s);
    if (ANYGP_FAILED(inducing_open(&l->u, s->kind, l->M, l->D, e))) return layer_clear(l), ANYGP_ERR_MEMORY;
    l->m = mem_zeroed(Mt * l->C, sizeof(double));
    l->q = mem_zeroed(l->C * l->K, sizeof *l->q);
    l->work = mem_doubles(Mt, 4);
    l->mean_m = l->m;
    bool ok = l->m && l->q && l->work && q_init(l, s, room);
    if (ok && l->O > 0 && ANYGP_FAILED(orthogonal_init(l, e))) return layer_clear(l), ANYGP_ERR_MEMORY;
    if (ok) return ANYGP_OK;
    double bytes = 8.0 * (double)Mt * (double)Mt * (3.0 * (double)l->C + 4);
    layer_clear(l);
    return fail_memory(e, "the distribution of the inducing variables", bytes);
}

void layer_clear(layer *l)
{
    orthogonal_clear(l);
    layer_f32_close(l);
    for (int64_t i = 0; l->q && i < l->C * l->K; i++) gauss_clear(&l->q[i]);
    for (int t = 0; l->spare && t < l->spares; t++) gauss_spare_clear(&l->spare[t]);
    inducing_clear(&l->u);
    free(l->m);
    free(l->work);
    free(l->spare);
    free(l->q);
    *l = (layer){0};
}

/* -------------------------------------------------------------------------------------- prepare */

bool layer_prepare(layer *l, kernel *k, function_set all, bool grow, double *jitter)
{
    l->white = kernel_white(k);
    if (!inducing_prepare(&l->u, k, functions_part(all, l->D, 0, l->M), grow, jitter)) return false;
    l->o = inducing_part(&l->u, all, l->M, l->O);
    return true;
}

void layer_take_factor(layer *l, kernel *k, function_set all, const double *L)
{
    l->white = kernel_white(k);
    inducing_set_factor(&l->u, k, functions_part(all, l->D, 0, l->M), L);
    l->o = inducing_part(&l->u, all, l->M, l->O);
}

/* --------------------------------------------------------------------------------------- q moves */

/* The threads that make the factors of one q, the same in a step and from a checkpoint, so that they have the same bits: a
   thread makes its own, or all make each.  For `beside` that is one thread even in steps without a gradient, which are a little
   slower for it. */
int layer_threads(const layer *l) { return l->beside || l->spares > 1 ? 1 : threads_max(); }

bool layer_hold_V(layer *l)
{
    int former = la_threads(layer_threads(l));
    bool ok = gauss_hold_V(l->q, l->spare);
    la_threads(former);
    return ok;
}

void layer_drop_V(layer *l)
{
    int former = la_threads(layer_threads(l));
    gauss_drop_V(l->q, l->spare);
    la_threads(former);
}

bool layer_q_set(layer *l, gauss *q, const double *Lambda, const double *theta)
{
    int former = la_threads(layer_threads(l));
    bool ok = gauss_set(q, l->spare, Lambda, theta);
    la_threads(former);
    return ok;
}

/* q number i; squares and vectors of those before it come first in S, Lambda and theta. */
static bool move_at(layer *l, int64_t i, gauss_spare *spare, double rho, const layer_stat *stat, gauss_prior p)
{
    gauss *q = &l->q[i];
    int64_t squares = 0, vectors = 0;
    for (int64_t j = 0; j < i; j++) squares += l->q[j].M * l->q[j].M, vectors += l->q[j].M;
    if (p.Lambda) p.Lambda += squares, p.theta += vectors;
    return gauss_move(q, spare, p, rho, HALVINGS_MOST - 1, stat->S + squares, stat->b + (q->m - l->m));
}

bool layer_move(layer *l, const layer_stat *stat, double rho, const double *Lambda, const double *theta)
{
    bool ok = true;
    int wanted = threads_for((double)(l->C * l->K) * pow((double)l->q->M, 3));
    int threads = wanted < l->spares ? wanted : l->spares, former = la_threads(layer_threads(l));
    gauss_prior prior = {Lambda, theta, 1};
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(&& : ok)
    for (int64_t i = 0; i < l->C * l->K; i++)
        ok = move_at(l, i, &l->spare[threads > 1 ? threads_id() : 0], rho, stat, prior) && ok;
    la_serial_end(threads);
    la_threads(former);
    return ok;
}

double layer_kl(const layer *l)
{
    double sum = 0;
    for (int64_t i = 0; i < l->C * l->K; i++) sum += gauss_kl(&l->q[i]);
    return sum + (l->O ? orthogonal_kl(l) : 0);
}

/* ------------------------------------------------------------------------------------- gradient */

void layer_E(const layer *l, layer_stat *stat)
{
    int64_t M = l->M, Mt = l->Mt, p = l->p;
    const double *m = l->m + p, *b = stat->b + p, *S = stat->S + p * Mt;
    if (l->single && l->single->on) {
        layer_E_f32(l, stat);
        return;
    }
    la_mirror(Mt, stat->S, Mt);
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = j; i < M; i++) stat->E[i + j * M] = m[i] * b[j] + S[p + i + j * Mt];
    la_gemm_lower(LA_N, LA_N, M, Mt, -1, l->q->V + p, Mt, S, Mt, 1, stat->E, M);
}

bool layer_finish(layer *l, layer_stat *stat, double white)
{
    return l->u.ops->finish(&l->u, stat->E, white, layer_grad(l, stat));
}
