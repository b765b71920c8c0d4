/* Predictions of a committee as sums over its experts (003, section IV-C).  Expert k predicts N(m_k, v_k) for f(x), the prior
   N(0, v_0).  With weights b_k
       product       1/v = sum_k b_k / v_k                          m = v sum_k b_k m_k / v_k         (eq. 27)
       with prior    1/v = 1/v_0 + sum_k b_k (1/v_k - 1/v_0)        the same m                        (eq. 28)
   and a weight is 1, or the entropy that the expert's rows took away, (log v_0 - log v_k) / 2, so that experts far from x have none.

       poe             product, weights 1                           (Hinton 2002)
       gpoe            product, entropies divided by their sum      (Cao and Fleet 2014); beta=entropy: not divided;
                                                                    beta=uniform: weights 1 / M
       bcm             with prior, weights 1                        (Tresp 2000)
       rbcm            with prior, entropies                        (Deisenroth and Ng 2015)
       grbcm           rbcm, with the posterior of the communication expert in the place of the prior, and weight 1 for the first
                       of the other experts                         (eq. 29; Liu et al. 2018)
   Sums of sums are sums: a tree of experts (Ng and Deisenroth 2014) would predict the same.  Leave-one-out: the row's own expert without the
   row, in closed form, beside the others as they are; rows of the communication expert, whom all others build on, are not left out.

   f is aggregated, and noise added afterwards; where the user wants it the other way, each expert and the prior predict y.  Experts with
   hyperparameters of their own have priors v_0 of their own, and the noise of y at x is their mean with the weights b_k / v_k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "linalg/linalg.h"
#include "model/exact/exact.h"
#include "model/local/npae.h"

/* An entropy is a difference of logarithms and known to rounding.  In a product, where no prior stands beside the experts, it is at
   least that: where nobody knows anything all are equal, and the variance is finite. */
static const double ENTROPY_LEAST = 1e-16;

/* ------------------------------------------------------------------------------------------ the sums */

static double start_of(const aggregation *g, double v0) { return !g->prior ? 0 : v0 > 0 ? 1 / v0 : INFINITY; }

void sums_begin(const aggregation *g, int64_t n, const double *v0, const expert_sums *s)
{
    for (int64_t j = 0; j < n; j++) s->weight[j] = s->mean[j] = 0, s->precision[j] = start_of(g, v0[j]);
}

static double weight_of(const aggregation *g, bool first, double v0, double v)
{
    if (!g->entropy || (first && g->communication)) return 1;
    double entropy = 0.5 * (log(v0) - log(v));
    return g->prior ? entropy : fmax(entropy, ENTROPY_LEAST);
}

void sums_add(const aggregation *g, bool first, int64_t n, const double *v0, const double *m, const double *v,
              const expert_sums *s, double *weights)
{
    for (int64_t j = 0; j < n; j++) {
        double b = v0[j] > 0 ? weight_of(g, first, v0[j], v[j]) : 0;
        if (weights) weights[j] = b;
        if (!(v0[j] > 0)) continue; /* f(x) is known to be the prior's mean */
        s->weight[j] += b;
        s->precision[j] += b * (1 / v[j] - start_of(g, v0[j]));
        s->mean[j] += b * m[j] / v[j];
    }
}

void sums_finish(const aggregation *g, int64_t n, const double *v0, const expert_sums *s, double *mean,
                 double *variance)
{
    for (int64_t j = 0; j < n; j++) {
        bool known = !(v0[j] > 0);
        mean[j] = known ? 0 : s->mean[j] / s->precision[j];
        if (variance) variance[j] = known ? 0 : (g->normalised ? s->weight[j] : 1) / s->precision[j];
    }
}

/* ------------------------------------------------------------------------------------------ marginals */

static int64_t posterior_work(const posterior *base, int64_t n)
{
    const experts_posterior *p = (const experts_posterior *)base;
    return query_doubles(p, n) + n * (p->largest + base->D + 10) + p->largest * base->mean.p;
}

/* What is added to the variances of an expert, and of the prior, before they are aggregated. */
static double observed_noise(const experts_posterior *p, const expert *x)
{
    return p->asked[EXPERTS_OBSERVED] ? x->noise + kernel_white(x->kernel) : 0;
}

static double prior_noise(const experts_posterior *p)
{
    return observed_noise(p, &(expert){.kernel = p->base.kernel, .noise = p->base.noise});
}

/* Rows of experts: which one each of them is of, and what that predicts for f without it, no difference from anything. */
typedef struct left_out {
    const int64_t *expert;
    const double *m, *v;
} left_out;

/* In the room of posterior_work(). */
typedef struct hearing {
    double *m, *v;              /* n: of one expert */
    double *v0;                 /* n: the prior's, of what is aggregated */
    double *first;              /* n of room */
    double *row, *variance, *X; /* n, n, D x n: rows that an expert is asked about */
    double *H, *k;              /* largest x p, largest x n */
    double *noise, *before;     /* n: of y, summed with the weights of the means; n of room */
    expert_sums s;
    expert_query q;
    const left_out *left; /* NULL: the rows are none of anybody's */
} hearing;

static anygp_status hearing_begin(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, double *room,
                                  double *mean, hearing *a, anygp_error *e)
{
    *a = (hearing){.m = room, .v = room + n, .v0 = room + 2 * n, .first = room + 5 * n};
    a->row = room + 6 * n, a->variance = room + 7 * n, a->X = room + 8 * n, a->H = a->X + n * p->base.D;
    a->k = a->H + p->largest * p->base.mean.p;
    a->noise = a->k + n * p->largest, a->before = a->noise + n;
    a->s = (expert_sums){room + 3 * n, room + 4 * n, mean};
    TRY(query_prepare(p, n, X, ldx, a->H, a->before + n, &a->q, e));
    for (int64_t j = 0; j < n; j++) a->v0[j] = a->q.variance[j] + prior_noise(p), a->noise[j] = 0;
    sums_begin(&p->rule, n, a->v0, &a->s);
    return ANYGP_OK;
}

/* Predictions of c rows to their places among n; those that were not asked for are the prior's. */
static void put_back(int64_t c, const double *row, int64_t n, const double *prior, double *m, double *v)
{
    for (int64_t j = n - 1; j >= 0; j--) {
        bool asked = c > 0 && row[c - 1] == (double)j;
        if (asked) c--;
        m[j] = asked ? m[c] : 0, v[j] = asked ? v[c] : prior[j];
    }
}

/* The rows that expert k is near enough to. */
static expert_query near_rows(const experts_posterior *p, int64_t k, const hearing *a)
{
    const expert_query *q = &a->q;
    int64_t c = 0, D = p->base.D;
    expert_query some = *q;
    for (int64_t j = 0; j < q->n; j++) {
        if (expert_is_far(p, k, q->X + j * q->ldx, q->variance[j])) continue;
        memcpy(a->X + c * D, q->X + j * q->ldx, (size_t)D * sizeof *a->X);
        a->variance[c] = q->variance[j], a->row[c++] = (double)j;
    }
    some.n = c, some.X = a->X, some.ldx = D, some.variance = a->variance;
    return some;
}

/* The prior by the kernel of an expert with hyperparameters of its own: v0 is of what is aggregated. */
static expert_query own_prior(const experts_posterior *p, const expert *x, const hearing *a, double *v0)
{
    expert_query q = a->q;
    q.variance = a->variance;
    expert_prior(p, x, &q, q.variance);
    for (int64_t j = 0; j < q.n; j++) v0[j] = q.variance[j] + observed_noise(p, x);
    return q;
}

/* What expert k has just predicted for its own rows, without them.  A variance is between what an expert can know and the prior's: of a row
   that hardly counts, 1 / C_ii less the noise is a difference of two very large numbers. */
static void leave_out(int64_t k, const hearing *a)
{
    for (int64_t j = 0; a->left && j < a->q.n; j++)
        if (a->left->expert[j] == k) {
            a->m[j] = a->left->m[j] - a->q.mean[j];
            a->v[j] = fmin(fmax(a->left->v[j], EXPERT_LEAST * a->q.variance[j]), a->q.variance[j]);
        }
}

/* Noise is averaged over the experts as the means are, with weights b_k / v_k. */
static void add_noise(const experts_posterior *p, int64_t k, const hearing *a)
{
    double noise = experts_noise_of(&p->base, k);
    for (int64_t j = 0; j < a->q.n; j++) a->noise[j] += (a->s.precision[j] - a->before[j]) * noise;
}

static anygp_status hear_own(const experts_posterior *p, int64_t k, hearing *a, double *weights, anygp_error *e)
{
    int64_t n = a->q.n;
    expert x = expert_at(p, k);
    expert_query q = own_prior(p, &x, a, a->row);
    TRY(expert_ask(p, &x, &q, a->H, a->k, a->m, a->v, e));
    leave_out(k, a);
    for (int64_t j = 0; j < n; j++) a->v[j] += observed_noise(p, &x), a->before[j] = a->s.precision[j];
    sums_add(&p->rule, false, n, a->row, a->m, a->v, &a->s, weights);
    add_noise(p, k, a);
    return ANYGP_OK;
}

/* The prediction of expert k joins the sums.  all: for every row, also where the expert is too far away to matter. */
static anygp_status hear(const experts_posterior *p, int64_t k, bool first, bool all, hearing *a, double *weights,
                         anygp_error *e)
{
    int64_t n = a->q.n;
    if (p->own) return hear_own(p, k, a, weights, e);
    expert x = expert_at(p, k);
    expert_query asked = all || !p->reach ? a->q : near_rows(p, k, a);
    if (asked.n > 0) TRY(expert_ask(p, &x, asked.n == n ? &a->q : &asked, a->H, a->k, a->m, a->v, e));
    if (asked.n < n) put_back(asked.n, a->row, n, a->q.variance, a->m, a->v);
    leave_out(k, a);
    for (int64_t j = 0; j < n; j++) a->v[j] += observed_noise(p, &x);
    sums_add(&p->rule, first, n, a->v0, a->m, a->v, &a->s, weights);
    return ANYGP_OK;
}

static void hearing_end(const experts_posterior *p, const hearing *a, double *mean, double *variance)
{
    sums_finish(&p->rule, a->q.n, a->v0, &a->s, mean, variance);
    for (int64_t j = 0; j < a->q.n; j++) {
        double all = a->s.precision[j], same = p->base.noise + kernel_white(p->base.kernel);
        if (p->own) a->noise[j] = all > 0 && isfinite(all) ? a->noise[j] / all : same;
        double noise = p->own ? a->noise[j] : same;
        if (p->rule.communication) mean[j] += a->q.mean[j];
        if (variance && p->asked[EXPERTS_OBSERVED]) variance[j] = fmax(variance[j] - noise, 0);
    }
}

static anygp_status hear_all(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, const left_out *left,
                             double *room, double *mean, double *variance, double *noise, anygp_error *e)
{
    hearing a;
    bool first = true;
    TRY(hearing_begin(p, n, X, ldx, room, mean, &a, e));
    a.left = left;
    for (int64_t k = p->rule.communication; k < p->count; k++) {
        if (expert_at(p, k).n == 0) continue;
        TRY(hear(p, k, first, false, &a, NULL, e));
        first = false;
    }
    hearing_end(p, &a, mean, variance);
    if (noise) memcpy(noise, a.noise, (size_t)n * sizeof *noise);
    return ANYGP_OK;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room, double *mean,
                             double *variance, anygp_error *e)
{
    return hear_all((const experts_posterior *)base, n, X, ldx, NULL, room, mean, variance, NULL, e);
}

/* For experts with noise of their own. */
static anygp_status marginal_noise(const posterior *base, int64_t n, const double *X, int64_t ldx, const int64_t *block,
                                   double *room, double *mean, double *variance, double *noise, anygp_error *e)
{
    (void)block;
    return hear_all((const experts_posterior *)base, n, X, ldx, NULL, room, mean, variance, noise, e);
}

/* -------------------------------------------------------------------------------------- leave-one-out */

/* Rows at a time, if memory allows; and at most, since one costs as much as J rows of an evaluation do.  With npae it costs more: as many as NESTED_WORK
   multiplications take, but not less than NESTED_LEAST. */
enum { LEFT_PIECE = 128, LEFT_MOST = 2000, NESTED_LEAST = 128 };
static const double NESTED_WORK = 2e11;

typedef struct leaving {
    const experts_posterior *p;
    int64_t row[LEFT_PIECE], expert[LEFT_PIECE];
    double m[LEFT_PIECE], v[LEFT_PIECE], mean[LEFT_PIECE], variance[LEFT_PIECE], noise[LEFT_PIECE];
    double *X, *unit, *room; /* D x piece; largest; posterior_work() */
} leaving;

/* f at row i of expert x by its other rows: y_i - alpha_i / C_ii, and 1 / C_ii less the noise, with C = (L L')^-1.  Where there is a
   communication expert, C and alpha are of what that leaves. */
static void predict_without(const leaving *l, const expert *x, int64_t i, double *m, double *v)
{
    double off, *u = l->unit;
    memset(u, 0, (size_t)x->n * sizeof *u);
    u[i] = 1;
    la_trsv(LA_N, x->n, x->L, x->n, u);
    exact_leave_out(x->w[i], fmin(1, x->w[i]), 0, x->noise, la_dot(x->n, u, u), x->alpha[i], &off, v);
    *m = x->y[i] - off, *v -= x->noise + kernel_white(x->kernel);
}

/* The sums at n rows, each of which is taken from its own expert. */
static anygp_status hear_without(leaving *l, int64_t n, anygp_error *e)
{
    const experts_posterior *p = l->p;
    const left_out left = {l->expert, l->m, l->v};
    for (int64_t j = 0; j < n; j++) {
        int64_t k = 0;
        while (p->start[k + 1] <= (double)l->row[j]) k++;
        expert x = expert_at(p, k);
        predict_without(l, &x, l->row[j] - x.first, &l->m[j], &l->v[j]);
        l->expert[j] = k;
    }
    return hear_all(p, n, l->X, p->base.D, &left, l->room, l->mean, l->variance, l->noise, e);
}

/* The committee at n of its rows, each without itself. */
static anygp_status leave_piece(leaving *l, int64_t n, leave_one_out *out, anygp_error *e)
{
    const experts_posterior *p = l->p;
    int64_t D = p->base.D;
    for (int64_t j = 0; j < n; j++) memcpy(l->X + j * D, p->X + l->row[j] * D, (size_t)D * sizeof *l->X);
    TRY(p->rule.levels ? npae_predict(p, l->row, n, l->X, D, l->room, l->mean, l->variance, e) : hear_without(l, n, e));
    for (int64_t j = 0; j < n; j++, out->n++) {
        double noise = p->own ? l->noise[j] : experts_noise_of(&p->base, 0);
        out->y[out->n] = p->y[l->row[j]], out->weight[out->n] = p->w[l->row[j]];
        out->mean[out->n] = l->mean[j], out->variance[out->n] = l->variance[j] + noise;
        if (out->X) memcpy(out->X + out->n * D, l->X + j * D, (size_t)D * sizeof *out->X);
    }
    return ANYGP_OK;
}

/* Of so many rows that may be left out. */
static int64_t rows_to_leave(const experts_posterior *p, int64_t piece, int64_t rows)
{
    double near = p->asked[EXPERTS_NEAR] > 0 ? p->asked[EXPERTS_NEAR] * (double)p->largest : (double)p->base.n;
    double most = p->rule.levels ? fmax(NESTED_WORK / pow(fmin(near, (double)p->base.n), 2), NESTED_LEAST) : LEFT_MOST;
    most = fmin(most, LEFT_MOST);
    if (p->rule.levels && piece < LEFT_PIECE)
        most = fmax(most * (double)piece / LEFT_PIECE, NESTED_LEAST); /* tiles are made for each piece */
    return (int64_t)fmin(most, (double)rows);
}

/* As many at a time as a share of the memory holds. */
static int64_t rows_at_once(const posterior *base, double memory)
{
    static const double SHARE = 1.0 / 4;
    int64_t n = LEFT_PIECE;
    while (n > 1 && memory > 0 && 8 * (double)base->ops->work_doubles(base, n) > SHARE * memory) n /= 2;
    return n;
}

anygp_status committee_loo(const posterior *base, const problem *q, leave_one_out *out, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    int64_t first = p->rule.communication ? (int64_t)p->start[1] : 0, rows = base->n - first, seen = 0,
            piece = rows_at_once(base, q->memory), most = rows_to_leave(p, piece, rows),
            room = base->ops->work_doubles(base, piece);
    leaving *l = calloc(1, sizeof *l);
    out->n = 0;
    if (!l) return fail_memory(e, "leave-one-out", sizeof *l);
    l->p = p, l->X = mem_doubles(LEFT_PIECE, base->D), l->unit = mem_doubles(p->largest, 1);
    l->room = mem_doubles(room, 1);
    anygp_status status = l->X && l->unit && l->room ? ANYGP_OK : fail_memory(e, "leave-one-out", 8.0 * (double)room);
    while (!ANYGP_FAILED(status) && seen < most && (seen == 0 || !deadline_passed(q->pass))) {
        int64_t n = 0;
        for (; n < piece && seen < most; n++, seen++)
            l->row[n] = first + random_shuffled((random_stream){q->seed, RANDOM_LEFT_OUT, 0}, rows, seen);
        status = leave_piece(l, n, out, e);
    }
    free(l->X);
    free(l->unit);
    free(l->room);
    free(l);
    return status;
}

/* ------------------------------------------------------------------------------------------- opinions */

int64_t experts_count(const posterior *base) { return ((const experts_posterior *)base)->count; }

/* What is left for the communication expert, whose posterior is the prior; weights that are divided by their sum. */
static void weights_end(const experts_posterior *p, const hearing *a, double *weight)
{
    int64_t n = a->q.n;
    for (int64_t j = 0; p->rule.communication && j < n; j++) weight[j] = 1 - a->s.weight[j];
    for (int64_t i = 0; p->rule.normalised && i < n * p->count; i++)
        if (a->s.weight[i % n] > 0) weight[i] /= a->s.weight[i % n];
}

static anygp_status opinions(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room, double *mean,
                             double *variance, double *weight, anygp_error *e)
{
    const experts_posterior *p = (const experts_posterior *)base;
    hearing a;
    bool first = true;
    TRY(hearing_begin(p, n, X, ldx, room, mean, &a, e)); /* its sums of means end where the first expert's mean goes */
    for (int64_t k = 0; k < p->count; k++) {
        bool common = k == 0 && p->rule.communication, asked = expert_at(p, k).n > 0 && !common;
        double *v = variance + k * n, *w = weight + k * n;
        for (int64_t j = 0; j < n; j++) a.m[j] = 0, a.v[j] = a.v0[j], w[j] = 0;
        if (asked) TRY(hear(p, k, first, true, &a, w, e));
        first = first && !asked;
        expert x = expert_at(p, k);
        for (int64_t j = 0; j < n; j++) v[j] = a.v[j] - (asked ? observed_noise(p, &x) : prior_noise(p));
        if (k > 0) memcpy(mean + k * n, a.m, (size_t)n * sizeof *mean);
        if (k == 0) memcpy(a.first, a.m, (size_t)n * sizeof *mean);
    }
    memcpy(mean, a.first, (size_t)n * sizeof *mean);
    for (int64_t i = 0; i < n * p->count; i++) mean[i] += a.q.mean[i % n];
    weights_end(p, &a, weight);
    return ANYGP_OK;
}

const posterior_ops bcm_ops = {.make = experts_make,
                               .work_doubles = posterior_work,
                               .marginal = marginal,
                               .joint = bcm_joint,
                               .arrays = experts_arrays,
                               .free = experts_free,
                               .experts = experts_count,
                               .opinions = opinions};

#define AGGREGATE                                                                                                      \
    .make = experts_make, .work_doubles = posterior_work, .marginal = marginal, .arrays = experts_arrays,              \
    .free = experts_free, .experts = experts_count, .opinions = opinions

const posterior_ops aggregate_ops = {AGGREGATE};
const posterior_ops aggregate_own_ops = {AGGREGATE, .marginal_noise = marginal_noise, .expert_noise = experts_noise_of};
