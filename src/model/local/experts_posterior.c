/* What the experts of a committee know (experts.h): their rows, factors and weights, the model file, and the prediction of one of
   them.

   With a communication expert c, which is the first (003, eq. 29), every other expert i predicts from its own rows and those of c.
   The rows of c are factored once, and an expert works on what they leave:
       a = L_c^-1 k_c*,  B_i = L_c^-1 K_ci,  K_i - B_i'B_i = L_i L_i',  alpha_i = (L_i L_i')^-1 (y_i - B_i'L_c^-1 y_c)
       r = k_i* - B_i'a,  mean m_c + r'alpha_i,  variance v_c - |L_i^-1 r|^2
   That is 3 J^2 operations per row and expert, where rows of both in one matrix would take 4. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mapped.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"
#include "model/local/vecchia.h"

void experts_free(posterior *base)
{
    experts_posterior *p = (experts_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    mapped_free(p->L);
    mapped_free(p->B);
    double *const owned[] = {p->X, p->y, p->w, p->start, p->jitter, p->asked, p->alpha, p->reach, p->names, p->opened};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p->at);
    router_free(p->route);
    expert_hyper_free(p->own);
    free(p);
}

static int64_t first_of(const experts_posterior *p, int64_t k) { return (int64_t)p->start[k]; }
static int64_t rows_of(const experts_posterior *p, int64_t k) { return first_of(p, k + 1) - first_of(p, k); }
static int64_t common_rows(const experts_posterior *p) { return p->rule.communication ? rows_of(p, 0) : 0; }

expert expert_at(const experts_posterior *p, int64_t k)
{
    int64_t first = first_of(p, k);
    return (expert){.first = first,
                    .n = rows_of(p, k),
                    .X = p->X + first * p->base.D,
                    .y = p->y + first,
                    .w = p->w + first,
                    .alpha = p->alpha ? p->alpha + first : NULL,
                    .L = p->L ? p->L + p->at[k] : NULL,
                    .B = p->B && k > 0 ? p->B + first * common_rows(p) : NULL,
                    .kernel = p->own ? p->own->kernel[k] : p->base.kernel,
                    .noise = p->own ? expert_hyper_noise(p->own, k) : p->base.noise};
}

/* ----------------------------------------------------------------------------------------- factors */

/* B_i, and what the communication expert leaves of the covariance in K and of y in alpha. */
static anygp_status take_common(const experts_posterior *p, const expert *x, double *K, double *alpha, anygp_error *e)
{
    expert c = expert_at(p, 0);
    double *B = (double *)x->B, *H = mem_doubles(c.n + x->n, p->base.mean.p);
    anygp_status status = H ? experts_between(p, c.n, c.X, x->n, x->X, H, B, e)
                            : fail_memory(e, "the experts", 8.0 * (double)(c.n + x->n));
    free(H);
    if (ANYGP_FAILED(status)) return status;
    la_gemv(LA_T, c.n, x->n, -1, B, c.n, c.alpha, 1, alpha);
    la_trsm(LA_LEFT, LA_N, c.n, x->n, 1, c.L, c.n, B, c.n);
    la_syrk(LA_T, x->n, c.n, -1, B, c.n, 1, K, x->n);
    return ANYGP_OK;
}

/* As expert x sees them. */
static committee committee_of(const experts_posterior *p, const expert *x)
{
    const posterior *b = &p->base;
    return (committee){.kernel = x->kernel, .mean = &b->mean, .noise = x->noise, .jitter = *p->jitter, .D = b->D};
}

/* The factor of an expert that has not changed; false: it has. */
static bool factor_kept(experts_posterior *p, const experts_posterior *from, int64_t k)
{
    if (!from || k >= from->count || *from->jitter != *p->jitter) return false;
    expert x = expert_at(p, k), old = expert_at(from, k);
    if (x.n != old.n) return false;
    memcpy((double *)x.L, old.L, (size_t)(x.n * x.n) * sizeof *x.L);
    memcpy((double *)x.alpha, old.alpha, (size_t)x.n * sizeof *x.alpha);
    if (x.B) memcpy((double *)x.B, old.B, (size_t)(common_rows(p) * x.n) * sizeof *x.B);
    return true;
}

static anygp_status factor_one(experts_posterior *p, int64_t k, double *H, anygp_error *e)
{
    expert x = expert_at(p, k);
    committee c = committee_of(p, &x);
    const expert_rows r = {x.n, x.X, x.y, x.w};
    double *K = (double *)x.L, *alpha = (double *)x.alpha;
    if (x.n == 0) return ANYGP_OK;
    memcpy(alpha, x.y, (size_t)x.n * sizeof *alpha);
    TRY(expert_covariance(&c, &r, H, K, e));
    if (x.B) TRY(take_common(p, &x, K, alpha, e));
    TRY(expert_solve(&c, &r, K, alpha, NULL, e));
    la_zero_upper(x.n, K, x.n);
    return ANYGP_OK;
}

/* In memory, or in the pages of a scratch file: predictions then read one expert after the other, and the system keeps those there is room for. */
static anygp_status room_for_factors(experts_posterior *p, double size, double memory, anygp_error *e)
{
    double common = (double)common_rows(p) * (double)p->base.n;
    p->on_disk = 8 * (size + common) > 0.5 * (memory > 0 ? memory : (double)memory_available());
    TRY(mapped_doubles(p->on_disk, (int64_t)size, 1, "the experts", &p->L, e));
    if (p->rule.communication) TRY(mapped_doubles(p->on_disk, common_rows(p), p->base.n, "the experts", &p->B, e));
    return ANYGP_OK;
}

/* Where the factors will be. */
static anygp_status place_factors(experts_posterior *p, double *size, anygp_error *e)
{
    *size = 0;
    if (!p->at && !(p->at = mem_alloc(p->count, sizeof *p->at)))
        return fail_memory(e, "the experts", 8.0 * (double)p->count);
    for (int64_t k = 0; k < p->count; k++) {
        int64_t n = rows_of(p, k);
        p->at[k] = (int64_t)*size, *size += (double)n * (double)n;
        if (n > p->largest) p->largest = n;
    }
    return ANYGP_OK;
}

static anygp_status evidence_again(const experts_posterior *p, const expert *x, double *value, anygp_error *e)
{
    committee c = committee_of(p, x);
    const expert_rows r = {x->n, x->X, x->y, x->w};
    double *K = mem_doubles(x->n, x->n), *H = mem_doubles(x->n, p->base.mean.p + 1), *alpha = H;
    anygp_status status = K && H ? expert_covariance(&c, &r, H + x->n, K, e)
                                 : fail_memory(e, "the evidence of an expert", 8.0 * (double)x->n * (double)x->n);
    if (!ANYGP_FAILED(status)) {
        memcpy(alpha, x->y, (size_t)x->n * sizeof *alpha);
        status = expert_solve(&c, &r, K, alpha, value, e);
    }
    free(K);
    free(H);
    return status;
}

/* Whether all factors can be there in time, by what the largest takes: with a communication expert three times as much. */
static bool is_affordable(const experts_posterior *p, const deadline *until)
{
    expert x = {.n = -1};
    double value, began = clock_seconds();
    if (deadline_left(until) == INFINITY) return true;
    for (int64_t k = 0; k < p->count; k++)
        if (rows_of(p, k) > x.n) x = expert_at(p, k);
    if (deadline_passed(until) || x.n <= 0 || ANYGP_FAILED(evidence_again(p, &x, &value, NULL))) return false;
    double one = clock_seconds() - began, rows = (double)p->base.n / (double)x.n;
    return deadline_fits(until, (p->rule.communication ? 3 : 1) * one * rows);
}

static void drop_factors(experts_posterior *p)
{
    mapped_free(p->L), mapped_free(p->B), free(p->alpha);
    p->L = p->B = p->alpha = NULL;
}

/* The factors of all experts, from their rows; ANYGP_TIME_LIMIT: there was no time, and they are not there. */
static anygp_status factorize(experts_posterior *p, const deadline *until, const experts_posterior *from,
                              anygp_error *e)
{
    const posterior *b = &p->base;
    double size;
    TRY(place_factors(p, &size, e));
    if (!is_affordable(p, until)) return ANYGP_TIME_LIMIT;
    TRY(room_for_factors(p, size, p->memory, e));
    p->alpha = mem_doubles(b->n, 1);
    double *H = mem_doubles(p->largest, b->mean.p);
    anygp_status status = p->alpha && H ? ANYGP_OK : fail_memory(e, "the experts", 8.0 * (double)b->n);
    for (int64_t k = 0; status == ANYGP_OK && k < p->count; k++) {
        if (!factor_kept(p, from, k)) status = factor_one(p, k, H, e);
        if (status == ANYGP_OK && k + 1 < p->count && deadline_passed(until)) status = ANYGP_TIME_LIMIT;
    }
    free(H);
    if (status != ANYGP_OK) drop_factors(p);
    return status;
}

static anygp_status make_now(experts_posterior *p, anygp_error *e)
{
    anygp_status status = factorize(p, NULL, NULL, e);
    while (status == ANYGP_ERR_NUMERIC && *p->jitter < JITTER_MOST) {
        *p->jitter = jitter_next(*p->jitter);
        status = factorize(p, NULL, NULL, e);
    }
    if (!ANYGP_FAILED(status) && !p->rule.alone) status = experts_find_reach(p, e);
    if (!ANYGP_FAILED(status)) p->base.later = false;
    return status;
}

bool experts_more_jitter(experts_posterior *p)
{
    if (!(*p->jitter < JITTER_MOST)) return false;
    drop_factors(p);
    *p->jitter = jitter_next(*p->jitter), p->base.later = true;
    return true;
}

anygp_status experts_make(posterior *base, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
#pragma omp critical(experts_make)
    if (base->later) status = make_now((experts_posterior *)base, e);
    return status;
}

/* How nle finds the expert of a row. */
static anygp_status take_parts(experts_posterior *p, const experts_source *s, anygp_error *e)
{
    if (!(p->names = mem_copied(s->count, 1, s->names))) return fail_memory(e, "the parts", 8.0 * (double)s->count);
    if (s->opened) {
        int64_t d;
        double *one = vecchia_places(p->base.kernel, 1, p->base.D, p->X, &d);
        p->opened = one ? mem_copied(d + 1, s->count, s->opened) : NULL;
        free(one);
        if (!p->opened) return fail_memory(e, "the parts", 8.0 * (double)s->count);
    }
    return router_copy(s->route, &p->route, e);
}

static const posterior_ops *ops_of(const experts_source *s)
{
    const aggregation *g = s->rule;
    if (g->alone) return s->own ? &nle_own_ops : &nle_ops;
    if (g->levels) return &npae_ops;
    if (g->prior && !g->entropy) return &bcm_ops;
    return s->own ? &aggregate_own_ops : &aggregate_ops;
}

anygp_status experts_new(const experts_source *s, posterior **out, anygp_error *e)
{
    gathered_rows rows = s->rows;
    experts_posterior *p = calloc(1, sizeof *p);
    if (!p) return gathered_rows_clear(&rows), fail_memory(e, "the posterior", sizeof *p);
    *p = (experts_posterior){.base = {.noise = s->noise, .D = s->D, .n = rows.n}, .rule = *s->rule, .count = s->count};
    p->base.ops = ops_of(s);
    p->X = rows.X, p->y = rows.y, p->w = rows.w, p->start = rows.start;
    p->base.kernel = kernel_copy(s->kernel);
    p->jitter = mem_alloc(1, sizeof *p->jitter);
    p->asked = mem_alloc(EXPERTS_ASKED, sizeof *p->asked);
    bool ok = p->base.kernel && p->jitter && p->asked;
    anygp_status status = ok ? basis_copy(s->mean, &p->base.mean, e) : fail_memory(e, "the posterior", sizeof *p);
    if (!ANYGP_FAILED(status) && s->own)
        status = expert_hyper_new(s->kernel, s->noise, s->count, s->own_count, s->own, &p->own, e);
    if (!ANYGP_FAILED(status)) {
        *p->jitter = s->jitter;
        memcpy(p->asked, s->asked, sizeof s->asked);
        p->memory = s->memory;
        status = factorize(p, s->until, s->from, e);
    }
    p->base.later = status == ANYGP_TIME_LIMIT;
    if (p->base.later) status = ANYGP_OK;
    if (!ANYGP_FAILED(status) && s->rule->alone) status = take_parts(p, s, e);
    if (!ANYGP_FAILED(status) && !s->rule->alone && !p->base.later) status = experts_find_reach(p, e);
    if (ANYGP_FAILED(status))
        experts_free(&p->base);
    else
        *out = &p->base;
    return status;
}

double experts_noise_of(const posterior *base, int64_t k)
{
    expert x = expert_at((const experts_posterior *)base, k);
    return x.noise + kernel_white(x.kernel);
}

/* From the factor of an expert that stands alone. */
static double evidence_of(const expert *x)
{
    double more = 0;
    for (int64_t i = 0; i < x->n; i++) more += expert_row_terms(x->w[i], x->noise);
    return -0.5 * (la_dot(x->n, x->y, x->alpha) + la_logdet(x->n, x->L, x->n) + more);
}

anygp_status experts_total(const experts_posterior *p, double *value, anygp_error *e)
{
    double sum = 0, one = 0;
    for (int64_t k = 0; k < p->count; k++) {
        expert x = expert_at(p, k);
        if (x.n == 0) continue;
        if (x.B)
            TRY(evidence_again(p, &x, &one, e));
        else
            one = evidence_of(&x);
        sum += one;
    }
    *value = sum;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- predictions */

int64_t query_doubles(const experts_posterior *p, int64_t n) { return n * (2 + p->base.mean.p + common_rows(p)); }

static void prior_variances(const kernel *k, int64_t p, const expert_query *q, double *variance)
{
    kernel_diag(k, q->n, q->X, q->ldx, variance);
    for (int64_t j = 0; j < q->n; j++) variance[j] += la_dot(p, q->h + j * p, q->h + j * p);
}

/* The prior at the rows: variance, and the mean's functions times sqrt(B), p x n. */
static void prior_of(const posterior *b, const expert_query *q)
{
    int64_t p = b->mean.p;
    basis_fill(&b->mean, q->n, q->X, q->ldx, q->h, p, 1);
    for (int64_t i = 0; i < q->n * p; i++) q->h[i] *= sqrt(b->mean.B);
    prior_variances(b->kernel, p, q, q->variance);
}

void expert_prior(const experts_posterior *p, const expert *x, const expert_query *q, double *variance)
{
    prior_variances(x->kernel, p->base.mean.p, q, variance);
}

anygp_status query_prepare(const experts_posterior *p, int64_t n, const double *X, int64_t ldx, double *H, double *room,
                           expert_query *q, anygp_error *e)
{
    *q = (expert_query){.n = n, .X = X, .ldx = ldx, .variance = room, .mean = room + n, .h = room + 2 * n};
    double *a = q->h + n * p->base.mean.p;
    prior_of(&p->base, q);
    for (int64_t j = 0; j < n; j++) q->mean[j] = 0;
    if (common_rows(p) == 0) return ANYGP_OK;
    expert c = expert_at(p, 0);
    TRY(expert_ask(p, &c, q, H, a, q->mean, q->variance, e));
    q->a = a;
    return ANYGP_OK;
}

anygp_status expert_covariances(const experts_posterior *p, const expert *x, const expert_query *q, double *H,
                                double *k, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t n = q->n, m = b->mean.p, c = common_rows(p);
    if (!kernel_gram(x->kernel, x->n, x->X, b->D, n, q->X, q->ldx, k, x->n)) return fail_memory(e, "kernel tiles", 0);
    if (m) {
        basis_fill(&b->mean, x->n, x->X, b->D, H, 1, x->n);
        la_gemm(LA_N, LA_N, x->n, n, m, sqrt(b->mean.B), H, x->n, q->h, m, 1, k, x->n);
    }
    if (q->a) la_gemm(LA_T, LA_N, x->n, n, c, -1, x->B, c, q->a, c, 1, k, x->n);
    return ANYGP_OK;
}

anygp_status expert_ask(const experts_posterior *p, const expert *x, const expert_query *q, double *H, double *k,
                        double *m, double *v, anygp_error *e)
{
    TRY(expert_covariances(p, x, q, H, k, e));
    la_gemv(LA_T, x->n, q->n, 1, k, x->n, x->alpha, 0, m);
    la_trsm(LA_LEFT, LA_N, x->n, q->n, 1, x->L, x->n, k, x->n);
    for (int64_t j = 0; j < q->n; j++) {
        const double *a = k + j * x->n;
        v[j] = fmax(q->variance[j] - la_dot(x->n, a, a), EXPERT_LEAST * q->variance[j]);
    }
    return ANYGP_OK;
}

anygp_status experts_between(const experts_posterior *p, int64_t n, const double *X, int64_t m, const double *Z,
                             double *H, double *C, anygp_error *e)
{
    const posterior *b = &p->base;
    const basis *mean = &b->mean;
    double *Hz = H + n * mean->p;
    if (!kernel_gram(b->kernel, n, X, b->D, m, Z, b->D, C, n)) return fail_memory(e, "kernel tiles", 0);
    if (mean->p == 0) return ANYGP_OK;
    basis_fill(mean, n, X, b->D, H, 1, n);
    basis_fill(mean, m, Z, b->D, Hz, 1, m);
    la_gemm(LA_N, LA_T, n, m, mean->p, mean->B, H, n, Hz, m, 1, C, n);
    return ANYGP_OK;
}
