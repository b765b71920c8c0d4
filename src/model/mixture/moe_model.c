/* moe as a model: the table, and the expressions that make further ones (moe.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/made.h"
#include "model/mixture/moe.h"
#include "model/mixture/moe_posterior.h"
#include "model/variational/svgp_posterior.h"

static const chain_kind plain = {0};
static const double FEWEST = 1; /* weight of the rows of an expert that is part of the model */
static const moe_kind soft = {.gate = GATE_LINEAR};

/* K times those of svgp, whose table knows them. */
static model_cost moe_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    double K = s->experts > 0 ? s->experts : moe_finds(self->family) ? MOE_EXPERTS_FOUND : MOE_EXPERTS;
    model_cost c = model_svgp.cost(&model_svgp, f, s);
    c.rows *= K, c.head *= K, c.bytes *= K;
    return c;
}

static int64_t moe_size(const problem *p) { return p->subset; }
static double moe_rows_behind(const void *state) { return ((const moe_state *)state)->problem->blocks->total; }

static void moe_close(void *state)
{
    moe_state *s = state;
    if (!s) return;
    for (int64_t k = 0; s->expert && k < s->K; k++) svgp_close(s->expert[k]);
    for (int64_t k = 0; s->h && k < s->K; k++) hyper_clear(&s->h[k]);
    svgp_close(s->spare);
    hyper_clear(&s->spare_h);
    gate_clear(&s->gate);
    driver_close(s->driver);
    void *const owned[] = {s->expert, s->h, s->centres, s->frame, s->halves, s->stat, s->rows, s->usual, s->name, s};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static anygp_status allocate(moe_state *s, anygp_error *e)
{
    int64_t wide = s->D + 1;
    s->expert = mem_zeroed(s->K, sizeof *s->expert);
    s->h = mem_zeroed(s->K, sizeof *s->h);
    s->centres = mem_doubles(s->K, wide);
    s->frame = mem_doubles(2, wide);
    s->halves = mem_zeroed(2 * wide, sizeof *s->halves);
    s->rows = mem_zeroed(s->K, sizeof *s->rows);
    s->usual = mem_zeroed(s->K, sizeof *s->usual);
    s->name = mem_alloc(s->K, sizeof *s->name);
    for (int64_t k = 0; s->name && k < s->K; k++) s->name[k] = k;
    return s->expert && s->h && s->centres && s->frame && s->halves && s->rows && s->usual && s->name
               ? ANYGP_OK
               : fail_memory(e, "the experts", 8.0 * (double)(s->K * wide));
}

/* As large as the other experts. */
static anygp_status open_spare(moe_state *s, anygp_error *e)
{
    if (!moe_finds(&s->kind) || s->K == 1) return ANYGP_OK;
    TRY(hyper_copy(&s->h[0], &s->spare_h, e));
    return svgp_state_open(s->problem, &s->spare_h, &plain, &s->spare, e);
}

/* Room for the longest sums. */
static anygp_status allocate_sums(moe_state *s, anygp_error *e)
{
    for (int64_t k = 0; k < s->K; k++) chain_learn(&s->expert[k]->s, true);
    s->looking = true;
    int64_t size = moe_rows.stat_size(s);
    s->looking = false;
    s->stat = mem_alloc(size, sizeof *s->stat);
    return s->stat ? ANYGP_OK : fail_memory(e, "the sums", 8.0 * (double)size);
}

/* Rows are given to exact experts where all are in one memory. */
static anygp_status check_exact(const model_ops *self, const problem *p, anygp_error *e)
{
    const dataset *d = p->rows->data;
    if (!((const moe_kind *)self->family)->exact) return ANYGP_OK;
    if (d->used <= d->n) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "%s is for at most %lld rows, and there are %lld; leave exact out",
                     self->name, (long long)d->n, (long long)d->used);
}

static anygp_status moe_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t K = moe_experts(p, self->family);
    if (K > MOE_EXPERTS_MOST)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "blocks: a mixture has at most %d experts, and %lld are asked for",
                         MOE_EXPERTS_MOST, (long long)K);
    TRY(check_exact(self, p, e));
    moe_state *s = calloc(1, sizeof *s);
    if (!s) return fail_memory(e, "the model", sizeof *s);
    *s = (moe_state){.problem = p, .kind = *(const moe_kind *)self->family, .K = K, .D = p->blocks->D};
    TRY_DONE(allocate(s, e));
    for (int64_t k = 0; k < s->K; k++) TRY_DONE(hyper_copy(h, &s->h[k], e));
    TRY_DONE(moe_start(s, e));
    for (int64_t k = 0; k < s->K; k++) TRY_DONE(svgp_state_open(p, &s->h[k], &plain, &s->expert[k], e));
    TRY_DONE(open_spare(s, e));
    TRY_DONE(allocate_sums(s, e));
    TRY_DONE(driver_open(&moe_rows, p->blocks, p->comm, 0, &s->driver, e));
done:
    if (ANYGP_FAILED(status))
        moe_close(s);
    else
        *state = s;
    return status;
}

static const char *moe_remark(const void *state)
{
    const moe_state *s = state;
    return *s->remark ? s->remark : NULL;
}

/* Experts that have rows, by what the last steps saw: kept[K]; how many.  The first is kept in any case: its values are the run's. */
static int64_t find_kept(moe_state *s, int64_t *kept)
{
    int64_t count = 0;
    double all = 0;
    for (int64_t k = 0; k < s->K; k++) all += s->usual[k];
    for (int64_t k = 0; k < s->K; k++)
        if (k == 0 || s->usual[k] >= FEWEST || all == 0) kept[count++] = k;
    *s->remark = 0;
    if (moe_finds(&s->kind))
        snprintf(s->remark, sizeof s->remark, "%lld expert%s found%s", (long long)count, count == 1 ? " was" : "s were",
                 count < s->K ? "" : ", as many as there may be; --experts-most allows more");
    else if (count < s->K)
        snprintf(
            s->remark, sizeof s->remark,
            "%lld of the %lld experts had no rows left and are no part of the model; fewer --blocks take less time",
            (long long)(s->K - count), (long long)s->K);
    return count;
}

/* The most probable expert of each row in memory. */
static anygp_status assign(moe_state *s, const hyper *h, int64_t **out, anygp_error *e)
{
    const dataset *d = s->problem->rows->data;
    const step_context now = {.seed = s->problem->seed, .scale = 1};
    int64_t *of = mem_alloc(d->n, sizeof *of);
    double *residual = mem_alloc(d->n, sizeof *residual);
    anygp_status status = of && residual ? ANYGP_OK : fail_memory(e, "the rows of experts", 16.0 * (double)d->n);
    for (int64_t k = 0; k < s->K && !ANYGP_FAILED(status); k++)
        status = svgp_before_rows(s->expert[k], k == 0 ? h : &s->h[k], &now, false, e);
    if (!ANYGP_FAILED(status)) status = moe_assign(s, d, 0, of, residual, e);
    free(residual);
    if (ANYGP_FAILED(status))
        free(of);
    else
        *out = of;
    return status;
}

/* As exact ones where that is asked for and possible, counted in *left where it is not. */
static anygp_status posterior_of(moe_state *s, int64_t k, const hyper *h, const int64_t *of, double *jitter,
                                 int64_t *left, posterior **out, anygp_error *e)
{
    double own = 0;
    TRY(svgp_state_prepare(s->expert[k], h, e));
    if (of) TRY(moe_exact(s, k, of, h, &own, out, e));
    *jitter = fmax(*jitter, *out ? own : s->expert[k]->jitter);
    if (*out) return ANYGP_OK;
    *left += of != NULL;
    return svgp_posterior_new(&s->expert[k]->s, 0, out, e);
}

static void remark_sparse(moe_state *s, int64_t left)
{
    size_t used = strlen(s->remark);
    if (left > 0)
        snprintf(s->remark + used, sizeof s->remark - used,
                 "%s%lld of the experts stay%s sparse, as exact ones have from 1 to %d different rows; more --blocks "
                 "make them smaller",
                 used ? "; " : "", (long long)left, left == 1 ? "s" : "", MOE_EXACT_MOST);
}

static anygp_status moe_posteriors(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    moe_state *s = state;
    anygp_status status = ANYGP_OK;
    posterior *at[MOE_EXPERTS_MOST] = {NULL};
    int64_t kept[MOE_EXPERTS_MOST], count = find_kept(s, kept), left = 0, *of = NULL;
    *jitter = 0;
    if (s->kind.exact) TRY(assign(s, h, &of, e));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = kept[i];
        TRY_DONE(posterior_of(s, k, k == 0 ? h : &s->h[k], of, jitter, &left, &at[i], e));
    }
    remark_sparse(s, left);
    TRY_DONE(moe_posterior_new(count, kept, at, &s->gate, out, e));
done:
    posteriors_free(count, at);
    free(of);
    return status;
}

static const step_ops moe_steps = {.begin = moe_begin,
                                   .step = moe_step,
                                   .bound = moe_bound,
                                   .posteriors = moe_posteriors,
                                   .save = moe_save,
                                   .restore = moe_restore,
                                   .remark = moe_remark};

const model_ops model_moe = {.name = "moe",
                             .summary = "mixture of sparse GP experts with gates",
                             .objective = "lower bound",
                             .family = &soft,
                             .needs = {.rows = ROWS_BLOCKS,
                                       .local = true,
                                       .inducing = INDUCING_ONE,
                                       .learned = true,
                                       .mean = true,
                                       .weights = true,
                                       .joint = true,
                                       .mixture = true},
                             .jitter = 1e-8,
                             .subset = 128,
                             .order = "k (b m^2+m^3)",
                             .cost = moe_cost,
                             .size = moe_size,
                             .open = moe_open,
                             .rows = moe_rows_behind,
                             .close = moe_close,
                             .load = moe_load,
                             .steps = &moe_steps,
                             .update = &moe_updates};

/* ------------------------------------------------------------------------------------- expressions */

static const char *const gates[] = {"linear", "square", "generative", "gp", "stick", NULL};

typedef struct wishes {
    moe_kind kind;
    bool gate, hard, exact; /* given */
} wishes;

/* gate=NAME, hard, or exact. */
static anygp_status take_option(scanner *s, void *ctx)
{
    wishes *w = ctx;
    int64_t n = scan_word(s), which;
    if (made_is_word(s, n, "hard")) {
        if (w->hard) return scan_fail(s, s->at, NULL, "hard is given twice");
        s->at += n, w->hard = w->kind.hard = true;
        return ANYGP_OK;
    }
    if (made_is_word(s, n, "exact")) {
        if (w->exact) return scan_fail(s, s->at, NULL, "exact is given twice");
        s->at += n, w->exact = w->kind.exact = true;
        return ANYGP_OK;
    }
    if (!made_is_word(s, n, "gate"))
        return scan_fail(s, s->at, "moe takes gate, hard and exact", "unknown option '%.*s'", (int)(n < 40 ? n : 40),
                         s->text + s->at);
    if (w->gate) return scan_fail(s, s->at, NULL, "gate is given twice");
    s->at += n, w->gate = true;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a name");
    TRY(made_word(s, gates, &which));
    w->kind.gate = (gate_kind)which;
    return ANYGP_OK;
}

anygp_status made_moe(scanner *s, made_model **out, anygp_error *e)
{
    wishes w = {.kind = soft};
    TRY(scan_options(s, take_option, &w));
    TRY(scan_end(s));
    if (w.exact && !w.hard)
        return scan_fail(s, s->at, NULL, "exact experts have rows of their own: write moe(hard,exact)");
    if (!w.gate && !w.hard)
        return scan_fail(s, s->at, NULL, "expected gate=linear, square, generative, gp or stick, or hard");
    TRY(made_new(&model_moe, sizeof(*out)->kind.moe, out, e));
    (*out)->kind.moe = w.kind;
    (*out)->ops.needs.finds = moe_finds(&w.kind);
    snprintf((*out)->name, sizeof(*out)->name, "moe(%s%s%s%s%s)", w.gate ? "gate=" : "",
             w.gate ? gates[w.kind.gate] : "", w.gate && w.hard ? "," : "", w.hard ? "hard" : "",
             w.exact ? ",exact" : "");
    return ANYGP_OK;
}
