/* Steps of a variational nearest-neighbour GP, each over a sample of its places (vnngp.h).

   Both parts of the bound are sums over places, so those of a sample, times n over their number, tell it without bias, and its gradient
   in the hyperparameters:
       bound = sum_j (E_j - KL_j),    E_j = sum of w_i E_q log p(y_i | u_j) over the data of place j
   What a step finds of a place lasts until its next turn: b_j and d_j, and the Gaussian in u_j that its data are worth at the q at hand,
   lambda_j = -2 dE/dvar and site_j = dE/dmu + lambda_j m_j, of which a step takes a share (a natural gradient step of E_j: Khan and Lin
   2017).  q is then that of
       (P + diag(lambda)) m = site,     1 / s_j = P_jj + lambda_j
   by a few conjugate gradients from the m at hand; at its end the bound is largest where E_j and KL_j are those of the q at hand.

   The first steps take the places in their order.  A place is conditioned on earlier ones alone, so a run that ends early leaves the
   model of those that it has seen, which in maximin order are spread over all the data.  After that places are sampled, and hyperparameters move. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/jitter.h"
#include "model/local/vnngp.h"

enum { CHUNK = 64 };
static const double SHARE = 0.5, RATE = 0.05; /* of a site, where noise is not Gaussian; Adam's, to begin with */

typedef struct vnngp_run {
    int64_t *start, *list; /* n + 1, N: the data of a distinct row */
    int64_t *turn;         /* n: places of a step */
    double *site;          /* n x C */
    double *chunks;        /* n / CHUNK + 1 times 1 + params */
    double *made;          /* the kernel's parameters that the order was made with */
    ascent up;
    bool kernel_moves;
    bool moved; /* by the last step: hyperparameters */
    char *text; /* of remark */
} vnngp_run;

void vnngp_run_free(vnngp *v)
{
    vnngp_run *r = v->run;
    if (!r) return;
    ascent_clear(&r->up);
    void *const owned[] = {r->start, r->list, r->turn, r->site, r->chunks, r->made, r->text};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(r);
    v->run = NULL;
}

/* The data of each distinct row. */
static void list_data(const vnngp *v, vnngp_run *r)
{
    memset(r->start, 0, (size_t)(v->n + 1) * sizeof *r->start);
    for (int64_t i = 0; i < v->N; i++) r->start[v->rows.group[i] + 1]++;
    for (int64_t i = 0; i < v->n; i++) r->start[i + 1] += r->start[i], r->turn[i] = r->start[i];
    for (int64_t i = 0; i < v->N; i++) r->list[r->turn[v->rows.group[i]]++] = i;
}

static anygp_status run_new(vnngp *v, const hyper *h, anygp_error *e)
{
    vnngp_run *r = v->run = calloc(1, sizeof *r);
    int64_t P = hyper_kernel_params(h);
    if (!r) return fail_memory(e, "the steps", sizeof *r);
    r->start = mem_alloc(v->n + 1, sizeof *r->start), r->list = mem_alloc(v->N, sizeof *r->list);
    r->turn = mem_alloc(v->n, sizeof *r->turn), r->site = mem_doubles(v->n, v->C);
    r->chunks = mem_doubles(v->n / CHUNK + 1, 1 + v->like.params), r->made = mem_alloc(P, sizeof *r->made);
    if (!r->start || !r->list || !r->turn || !r->site || !r->chunks || !r->made)
        return fail_memory(e, "the steps", 8.0 * (double)v->n * (double)(3 + v->C));
    memcpy(r->made, kernel_values(h->kernel), (size_t)P * sizeof *r->made);
    for (int64_t i = 0; i < P; i++) r->kernel_moves |= hyper_facts(h, i)->free;
    list_data(v, r);
    return ascent_init(&r->up, h, e);
}

static anygp_status begin(void *state, hyper *h, double jitter, anygp_error *e)
{
    vnngp *v = state;
    vnngp_run_free(v);
    TRY(run_new(v, h, e));
    v->seen = 0, v->jitter = jitter;
    double *const zeros[] = {v->m, v->s, v->lambda, v->run->site};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        memset(zeros[i], 0, (size_t)(v->n * v->C) * sizeof(double));
    memset(v->b, 0, (size_t)(v->n * v->k) * sizeof *v->b);
    memset(v->d, 0, (size_t)v->n * sizeof *v->d);
    return ascent_begin(&v->run->up, h, e);
}

/* ------------------------------------------------------------------------------------ the sample's sums */

/* E_j of a place; its g and lambda go where those of find_q are, the latter to `slower`.  Adds to bar. */
static double expectation(vnngp *v, int64_t at, double *bar)
{
    const dataset *d = &v->data;
    const likelihood *l = &v->like;
    const vnngp_run *r = v->run;
    int64_t C = v->C, n = v->n, Q = dataset_numbers(d), row = v->order[at];
    double mu[LIKELIHOOD_LATENTS], var[LIKELIHOOD_LATENTS], dmu[LIKELIHOOD_LATENTS], dvar[LIKELIHOOD_LATENTS], sum = 0;
    for (int64_t c = 0; c < C; c++) {
        mu[c] = v->m[at + c * n], var[c] = v->s[at + c * n];
        v->g[at + c * n] = v->slower[at + c * n] = 0;
    }
    for (int64_t j = r->start[row]; j < r->start[row + 1]; j++) {
        int64_t i = r->list[j];
        sum += l->ops->expect(l, 1, d->y + i * Q, d->w + i, mu, var, 1,
                              (random_stream){v->problem->seed, RANDOM_LIKELIHOOD, 0}, i, dmu, dvar, bar);
        for (int64_t c = 0; c < C; c++) v->g[at + c * n] += dmu[c], v->slower[at + c * n] -= 2 * dvar[c];
    }
    for (int64_t c = 0; c < C; c++) v->slower[at + c * n] = fmax(v->slower[at + c * n], 0);
    return sum;
}

/* sum of E_j - KL_j; leaves like_bar, both times `scale`. */
static double sum_over(vnngp *v, int64_t count, const int64_t *which, double scale)
{
    int64_t params = v->like.params, each = 1 + params, chunks = (count + CHUNK - 1) / CHUNK;
    double *sum = v->run->chunks, value = 0;
    int threads = threads_for(200.0 * (double)count);
    memset(sum, 0, (size_t)(chunks * each) * sizeof *sum);
    memset(v->like_bar, 0, (size_t)params * sizeof *v->like_bar);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < chunks; k++)
        for (int64_t i = k * CHUNK; i < count && i < (k + 1) * CHUNK; i++) {
            int64_t at = which ? which[i] : i;
            sum[k * each] += expectation(v, at, sum + k * each + 1);
            for (int64_t c = 0; c < v->C; c++) sum[k * each] -= vnngp_divergence(v, c, at);
        }
    for (int64_t k = 0; k < chunks; k++) {
        value += scale * sum[k * each];
        for (int64_t i = 0; i < params; i++) v->like_bar[i] += scale * sum[k * each + 1 + i];
    }
    return value;
}

anygp_status vnngp_estimate(vnngp *v, int64_t count, const int64_t *which, double scale, double *value, double *gp,
                            anygp_error *e)
{
    *value = sum_over(v, which ? count : v->n, which, scale);
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
    return gp ? vnngp_gradient(v, which ? count : 0, which, scale, gp, e) : ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------- steps */

/* b and d of these places at h, with more jitter where they need it. */
static anygp_status condition(vnngp *v, const hyper *h, int64_t count, const int64_t *which, anygp_error *e)
{
    vnngp_look_at(v, h, v->jitter);
    anygp_status status = vnngp_condition(v, count, which, e);
    while (status == ANYGP_ERR_NUMERIC && v->jitter < JITTER_MOST) {
        vnngp_look_at(v, h, jitter_next(v->jitter));
        status = vnngp_condition(v, count, which, e);
    }
    return status;
}

static void take_sites(vnngp *v, int64_t count, const int64_t *which, double share)
{
    for (int64_t c = 0; c < v->C; c++)
        for (int64_t i = 0; i < count; i++) {
            int64_t at = (which ? which[i] : i) + c * v->n;
            double lambda = v->slower[at], site = v->g[at] + lambda * v->m[at];
            v->lambda[at] = share == 1 ? lambda : v->lambda[at] + share * (lambda - v->lambda[at]);
            v->run->site[at] = share == 1 ? site : v->run->site[at] + share * (site - v->run->site[at]);
        }
}

static void climb(vnngp *v, hyper *h, const step_context *c)
{
    ascent *up = &v->run->up;
    double rate = c->rate > 0 ? c->rate : RATE;
    ascent_keep(up);
    ascent_slope(up, h);
    ascent_step(up, rate * (1 - 0.95 * fmin(c->share, 1)));
    hyper_unpack(h, up->u);
    v->run->moved = true;
}

/* A step over these places; `share`: of their sites. */
static anygp_status look(vnngp *v, int64_t count, const int64_t *which, double share, double *value, double *gp,
                         anygp_error *e)
{
    TRY(vnngp_estimate(v, count, which, (double)v->n / (double)count, value, gp, e));
    take_sites(v, count, which, share);
    return ANYGP_OK;
}

static anygp_status first_turn(vnngp *v, const hyper *h, int64_t most, double *value, anygp_error *e)
{
    int64_t left = v->n - v->seen, count = most < left ? most : left;
    for (int64_t i = 0; i < count; i++) v->run->turn[i] = v->seen + i;
    TRY(condition(v, h, count, v->run->turn, e));
    vnngp_begin_places(v, v->seen, count);
    TRY(look(v, count, v->run->turn, 1, value, NULL, e));
    v->seen += count;
    return ANYGP_OK;
}

static anygp_status another_turn(vnngp *v, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    vnngp_run *r = v->run;
    int64_t count = c->which ? c->count : v->n;
    double share = likelihood_is_gaussian(&v->like) ? 1 : SHARE;
    if (r->kernel_moves)
        TRY(condition(v, h, count, c->which, e));
    else
        vnngp_look_at(v, h, v->jitter);
    TRY(look(v, count, c->which, share, value, c->learn ? r->up.gp : NULL, e));
    r->moved = false;
    if (c->learn) climb(v, h, c);
    return ANYGP_OK;
}

static anygp_status step(void *state, hyper *h, const step_context *c, double *value, anygp_error *e)
{
    vnngp *v = state;
    anygp_status status = v->seen < v->n ? first_turn(v, h, c->count, value, e) : another_turn(v, h, c, value, e);
    if (status == ANYGP_ERR_NUMERIC && v->run->moved) ascent_back(&v->run->up, h), v->run->moved = false;
    if (!ANYGP_FAILED(status)) vnngp_settle(v, v->run->site);
    return status;
}

/* At its maximum over q, which the steps have come close to. */
static anygp_status whole_bound(void *state, const hyper *h, double *value, anygp_error *e)
{
    vnngp *v = state;
    if (v->seen < v->n) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound of rows that were not seen is not known");
    if (v->run->kernel_moves)
        TRY(condition(v, h, 0, NULL, e));
    else
        vnngp_look_at(v, h, v->jitter);
    TRY(vnngp_find_q(v, true, e));
    *value = v->value;
    return ANYGP_OK;
}

static anygp_status posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    vnngp *v = state;
    vnngp_look_at(v, h, v->jitter);
    *jitter = v->jitter;
    return vnngp_posterior_new(v, out, e);
}

static const char *remark(const void *state)
{
    enum { TEXT = 200 };
    const vnngp *v = state;
    if (v->seen == v->n) return NULL;
    free(v->run->text);
    if (!(v->run->text = malloc(TEXT))) return NULL;
    snprintf(v->run->text, TEXT,
             "the run ended before it had seen all rows: the model rests on the first %lld of %lld distinct rows in "
             "their order; give it more --time or --iters",
             (long long)v->seen, (long long)v->n);
    return v->run->text;
}

/* ------------------------------------------------------------------------------------------- checkpoints */

static int64_t blocks(const void *state) { return ((const vnngp *)state)->n; }

static anygp_status save(void *state, checkpoint *to, anygp_error *e)
{
    const vnngp *v = state;
    const vnngp_run *r = v->run;
    int64_t cells = v->n * v->C;
    (void)e;
    checkpoint_put_integer(to, "seen", v->seen);
    checkpoint_put_number(to, "model_jitter", v->jitter);
    checkpoint_put(to, "made", hyper_kernel_params(v->h), r->made);
    checkpoint_put(to, "kernel", hyper_kernel_params(v->h), kernel_values(v->h->kernel));
    checkpoint_put(to, "likelihood", v->like.params, v->h->like);
    checkpoint_put(to, "q_m", cells, v->m);
    checkpoint_put(to, "q_s", cells, v->s);
    checkpoint_put(to, "lambda", cells, v->lambda);
    checkpoint_put(to, "site", cells, r->site);
    checkpoint_put(to, "b", v->n * v->k, v->b);
    checkpoint_put(to, "d", v->n, v->d);
    ascent_save(&r->up, to);
    return ANYGP_OK;
}

static bool all_positive(int64_t n, const double *x)
{
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) ok = x[i] > 0;
    return ok;
}

/* Values of parameters that are not learned are nowhere else. */
static bool restore_values(vnngp *v, hyper *h, const checkpoint *from)
{
    int64_t P = hyper_kernel_params(h);
    double *made = v->run->made, *values = kernel_values(h->kernel);
    bool ok =
        checkpoint_get_finite(from, "made", P, made) && checkpoint_get_finite(from, "likelihood", h->likes, h->like);
    if (!ok) return false;
    memcpy(values, made, (size_t)P * sizeof *values);
    if (!hyper_is_sound(h) || ANYGP_FAILED(vnngp_arrange(v, h->kernel, NULL))) return false;
    return checkpoint_get_finite(from, "kernel", P, values) && hyper_is_sound(h);
}

static bool restore(void *state, hyper *h, const checkpoint *from)
{
    vnngp *v = state;
    vnngp_run *r = v->run;
    int64_t cells = v->n * v->C, seen;
    bool ok = restore_values(v, h, from) && checkpoint_get_counter(from, "seen", 1, &seen) && seen <= v->n &&
              checkpoint_get_jitter(from, "model_jitter", &v->jitter) &&
              checkpoint_get_finite(from, "q_m", cells, v->m) && checkpoint_get_finite(from, "q_s", cells, v->s) &&
              checkpoint_get_finite(from, "lambda", cells, v->lambda) &&
              checkpoint_get_finite(from, "site", cells, r->site) &&
              checkpoint_get_finite(from, "b", v->n * v->k, v->b) && checkpoint_get_finite(from, "d", v->n, v->d);
    if (!ok || !all_positive(seen, v->d)) return false;
    for (int64_t c = 0; c < v->C; c++)
        if (!all_positive(seen, v->s + c * v->n)) return false;
    v->seen = seen;
    return ascent_restore(&r->up, h, from);
}

const step_ops vnngp_steps = {.frozen = 1e-9,
                              .blocks = blocks,
                              .begin = begin,
                              .step = step,
                              .bound = whole_bound,
                              .posteriors = posteriors,
                              .save = save,
                              .restore = restore,
                              .remark = remark};
