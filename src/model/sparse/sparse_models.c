/* The sparse priors and the collapsed bounds as models: what G keeps in training, what the test conditional keeps (sparse.h,
   sparse_posterior.h), and one state for all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_posterior.h"
#include "model/sparse/sparse_state.h"
#include "model/sparse/tight.h"

static const block_model *runs(const sparse_kind *k)
{
    if (k->terms.count) return sparse_combined(&k->terms);
    if (k->order > 0) return &sparse_given;
    return k->kept == KEPT_BLOCK ? &sparse_whole : &sparse_rows;
}

/* --------------------------------------------------------------------------------------- sizes */

static int64_t targets_of(const problem *p) { return p->targets > 1 ? p->targets : 1; }
static int64_t sparse_size(const problem *p) { return p->subset; }
static double sparse_seen(const void *state) { return ((const sparse_state *)state)->seen; }
static double sparse_rows_behind(const void *state) { return ((const sparse_state *)state)->s.total; }

/* --------------------------------------------------------------------------------------- state */

static void sparse_state_close(void *state)
{
    sparse_state *q = state;
    if (!q) return;
    sparse_clear(&q->s);
    driver_close(q->driver);
    blocks_free(q->chained);
    free(q->chain);
    free(q->stat);
    free(q->adjoint);
    free(q->at);
    free(q->now);
    tight_close(q->tight);
    free(q);
}

/* Where an evidence is: hyperparameters and inducing variables. */
static int64_t point_size(const hyper *h) { return h->count + h->M * h->D * (h->C ? 2 : 1); }

static void put_point(const hyper *h, double *at)
{
    size_t variables = (size_t)(h->M * h->D);
    hyper_natural(h, at);
    memcpy(at + h->count, h->Z, variables * sizeof *at);
    if (h->C) memcpy(at + h->count + variables, h->C, variables * sizeof *at);
}

static anygp_status open_blocks(sparse_state *q, anygp_error *e)
{
    const problem *p = q->problem;
    if (q->kind->order > 0) {
        TRY(lma_chain(p->blocks, p->block_ids, &q->chain, e));
        TRY(blocks_chain(p->blocks, q->chain, q->kind->order, &q->chained, e));
    }
    return driver_open(runs(q->kind), q->chained ? q->chained : p->blocks, p->comm, p->keep, &q->driver, e);
}

static anygp_status sparse_state_open(const model_ops *self, const problem *p, const hyper *h, void **state,
                                      anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    sparse_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->kind = self->family, q->problem = p, q->seen = 1;
    TRY_DONE(sparse_init(&q->s, q->kind->kept, p->mean, h, p->blocks->total, e));
    q->s.power = q->kind->power;
    int64_t all = h->M;
    TRY_DONE(sparse_divide(&q->s, q->kind->form, p->sets ? p->set_count : 1, p->sets ? p->sets : &all, e));
    if (q->kind->terms.count) sparse_combine(&q->s, &q->kind->terms);
    if (targets_of(p) > 1) TRY_DONE(sparse_share(&q->s, p->targets, e));
    TRY_DONE(open_blocks(q, e));
    q->s.h = h;
    TRY_DONE(sparse_precision_begin(q, self, e));
    if (q->kind->tighter) TRY_DONE(tight_open(p, &q->s, &q->tight, e));
    q->stat = mem_alloc(runs(q->kind)->stat_size(&q->s), sizeof(double));
    q->adjoint = mem_alloc(runs(q->kind)->adjoint_size(&q->s), sizeof(double));
    q->at = mem_alloc(point_size(h), sizeof(double));
    q->now = mem_alloc(point_size(h), sizeof(double));
    if (q->at) q->at[0] = NAN;
    if (!q->stat || !q->adjoint || !q->at || !q->now)
        status = fail_memory(e, "the sums", 16.0 * pow((double)q->s.Mt, 2));
done:
    if (ANYGP_FAILED(status))
        sparse_state_close(q);
    else
        *state = q;
    return status;
}

bool sparse_state_is_at(sparse_state *q, const hyper *h, double jitter)
{
    if (q->s.u.jitter != jitter) return false;
    put_point(h, q->now);
    return !memcmp(q->now, q->at, (size_t)point_size(h) * sizeof(double));
}

static anygp_status add_gain(sparse_state *q, bool gradient, double *value, anygp_error *e)
{
    double gain;
    if (!q->kind->tighter) return ANYGP_OK;
    TRY(tight_gain(q->tight, &q->s, q->stat, gradient, &gain, e));
    *value += gain;
    return ANYGP_OK;
}

anygp_status sparse_state_evidence(sparse_state *q, const hyper *h, bool grow, double *jitter, bool gradient,
                                   bool partly, double *value, anygp_error *e)
{
    q->at[0] = q->value = NAN, q->coefficients = false;
    if (!sparse_prepare(&q->s, h, grow, jitter)) return inducing_no_factor(e);
    driver_expect_reverse(q->driver, gradient);
    driver_until(q->driver, q->problem->pass, &q->seen);
    anygp_status status = driver_stat(q->driver, &q->s, 0, NULL, 1, q->stat, e);
    driver_until(q->driver, NULL, NULL);
    if (ANYGP_FAILED(status)) return status;
    if (q->seen < 1 && !partly) return ANYGP_TIME_LIMIT;
    if (!sparse_evidence_many(&q->s, q->stat, gradient, value))
        return fail_with(e, ANYGP_ERR_NUMERIC,
                         q->kind->terms.count ? "the combined precision of the inducing variables is not positive "
                                                "definite; use other coefficients"
                                              : "the log evidence is not a number");
    TRY(add_gain(q, gradient, value, e));
    if (gradient && sparse_in_float(&q->s)) sparse_f32_head(&q->s);
    put_point(h, q->at);
    q->value = *value, q->coefficients = gradient;
    return ANYGP_OK;
}

static anygp_status evidence_and_gradient(sparse_state *q, const hyper *h, bool grow, double *jitter, double *value,
                                          double *gp, anygp_error *e)
{
    anygp_status status = sparse_state_evidence(q, h, grow, jitter, gp != NULL, false, value, e);
    if (status != ANYGP_OK || !gp) return status;
    driver_until(q->driver, q->problem->pass, &q->seen);
    status = driver_reverse(q->driver, &q->s, 0, NULL, 1, q->adjoint, e);
    driver_until(q->driver, NULL, NULL);
    if (ANYGP_FAILED(status)) return status;
    bool whole = q->seen == 1;
    q->seen = 1; /* the sums of the posterior are whole */
    if (!whole) return ANYGP_TIME_LIMIT;
    if (q->kind->tighter) TRY(tight_reverse(q->tight, &q->s, q->adjoint, e));
    return sparse_finish(&q->s, q->adjoint, gp) ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static bool sparse_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    sparse_state *q = state;
    anygp_error why;
    anygp_status status = evidence_and_gradient(q, h, grow, jitter, value, gp, &why);
    q->failure = model_failure(status, &why);
    return status == ANYGP_OK;
}

static const anygp_error *sparse_failure(const void *state) { return &((const sparse_state *)state)->failure; }

static const char *sparse_remark(const void *state)
{
    const sparse_state *q = state;
    return *q->remark ? q->remark : NULL;
}

/* In the order of the chain. */
static anygp_status add_chain(const sparse_state *q, pic_rows **rows, anygp_error *e)
{
    const problem *of = q->problem;
    row_blocks *ordered = NULL;
    TRY(blocks_chain(of->blocks, q->chain, 0, &ordered, e));
    anygp_status status = pic_rows_new(ordered, of->route, of->block_ids, rows, e);
    blocks_free(ordered);
    return ANYGP_FAILED(status) ? status : pic_rows_chain(*rows, q->kind->order, q->chain, e);
}

/* pic keeps its rows; only rank 0 predicts. */
static anygp_status add_rows(const sparse_state *q, posterior *p, anygp_error *e)
{
    const problem *of = q->problem;
    pic_rows **rows = &((sparse_posterior *)p)->rows;
    if (q->kind->test != TEST_BLOCK || of->comm->rank != 0) return ANYGP_OK;
    TRY(q->chain ? add_chain(q, rows, e) : pic_rows_new(of->blocks, of->route, of->block_ids, rows, e));
    if (of->memory > 0) pic_rows_limit(*rows, of->memory);
    return ANYGP_OK;
}

/* s: for one target, and its statistics. */
static anygp_status make_posterior(const sparse_state *q, const sparse *s, const double *stat, const double *m,
                                   const double *B, posterior **out, anygp_error *e)
{
    double *from = (double *)stat;
    const double sums[3] = {*stat_l(s, from), *stat_q(s, from), s->total};
    TRY(sparse_posterior_new(q->kind, s, m, B, sums, out, e));
    anygp_status status = add_rows(q, *out, e);
    if (ANYGP_FAILED(status)) (*out)->ops->free(*out), *out = NULL;
    return status;
}

static anygp_status head_again(sparse *s, const double *stat, double *value, anygp_error *e)
{
    return sparse_evidence(s, stat, false, value) ? ANYGP_OK
                                                  : fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
}

static anygp_status sparse_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    sparse_state *q = state;
    double value;
    if (!sparse_state_is_at(q, h, *jitter)) TRY(sparse_state_evidence(q, h, true, jitter, false, true, &value, e));
    for (int64_t t = 0; t < q->s.targets; t++) {
        const double *stat;
        sparse one = sparse_target(&q->s, q->stat, t, &stat);
        if (q->s.targets > 1) TRY(head_again(&one, stat, &value, e));
        TRY(make_posterior(q, &one, stat, one.m, one.B, &out[t], e));
    }
    return ANYGP_OK;
}

/* Leaves what an evidence leaves. */
static anygp_status sparse_bounds(void *state, const hyper *h, double *jitter, evidence_bounds *out, anygp_error *e)
{
    sparse_state *q = state;
    double value;
    bool quick = !q->kind->tighter && tight_is_quick(q->problem, &q->s);
    if (!sparse_state_is_at(q, h, *jitter)) TRY(sparse_state_evidence(q, h, true, jitter, false, true, &value, e));
    for (int64_t t = 0; t < q->s.targets; t++) {
        const double *stat;
        sparse one = sparse_target(&q->s, q->stat, t, &stat);
        out[t] = evidence_bounds_none();
        if (q->s.targets > 1) TRY(head_again(&one, stat, &out[t].own, e));
        if (!sparse_upper(&one, stat, &out[t].upper)) out[t].upper = NAN;
        if (quick) TRY(tight_bound(q->problem, &one, stat, &out[t].tighter, e));
        TRY(head_again(&one, stat, &value, e));
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- anytime */

static int64_t anytime_size(const void *state) { return ((const sparse_state *)state)->s.Mt; }

static double anytime_prior(const void *state) { return ((const sparse_state *)state)->s.prior; }

static bool anytime_prepare(void *state, const hyper *h, bool grow, double *jitter)
{
    return sparse_prepare(&((sparse_state *)state)->s, h, grow, jitter);
}

static anygp_status anytime_stat(void *state, int64_t count, const int64_t *which, double scale, const double **S,
                                 const double **b, anygp_error *e)
{
    sparse_state *q = state;
    q->at[0] = NAN;
    TRY(driver_stat(q->driver, &q->s, count, which, scale, q->stat, e));
    *S = stat_S(&q->s, q->stat), *b = stat_b(&q->s, q->stat);
    return ANYGP_OK;
}

static anygp_status anytime_bound(void *state, const double *m, const double *V, double kl, int64_t count,
                                  const int64_t *which, double scale, double times, double *value, double *gp,
                                  anygp_error *e)
{
    sparse_state *q = state;
    if (!sparse_bound(&q->s, q->stat, times, m, V, kl, gp != NULL, value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the bound is not a number");
    if (!gp) return ANYGP_OK;
    TRY(driver_reverse(q->driver, &q->s, count, which, scale, q->adjoint, e));
    return sparse_finish(&q->s, q->adjoint, gp) ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

static void anytime_root(const void *state, double *L) { sparse_root(&((const sparse_state *)state)->s, L); }

static anygp_status anytime_posterior(void *state, const double *m, const double *factor, posterior **out,
                                      anygp_error *e)
{
    sparse_state *q = state;
    return make_posterior(q, &q->s, q->stat, m, factor, out, e);
}

static anygp_status anytime_absorb(void *state, int64_t count, const int64_t *which, bool first, anygp_error *e)
{
    sparse_state *q = state;
    q->at[0] = NAN;
    return (first ? driver_stat : driver_stat_more)(q->driver, &q->s, count, which, 1, q->stat, e);
}

static void anytime_absorbed(const void *state, const double **S, const double **b)
{
    const sparse_state *q = state;
    *S = stat_S(&q->s, q->stat), *b = stat_b(&q->s, q->stat);
}

static double *anytime_sums(void *state, int64_t *size)
{
    sparse_state *q = state;
    *size = runs(q->kind)->stat_size(&q->s);
    return q->stat;
}

/* Like fitc, unless rows stand alone anyway: rows from all over the space have no block in common. */
static anygp_status anytime_start(void *state, int64_t n, const double *X, const double *y, const double *w, double *S,
                                  double *b, anygp_error *e)
{
    enum { PIECES = 8 };
    sparse s = ((sparse_state *)state)->s;
    int64_t start[PIECES + 1], Mt = s.Mt;
    row_blocks *pieces = NULL;
    driver *d = NULL;
    anygp_status status = ANYGP_OK;
    double *stat = mem_alloc(sparse_rows.stat_size(&s), sizeof *stat);
    if (!stat) return fail_memory(e, "the start", 8.0 * (double)(Mt * Mt));
    if (s.kept != KEPT_DIAGONAL) s.kept = KEPT_DIAGONAL, s.power = 1;
    for (int64_t i = 0; i <= PIECES; i++) start[i] = n * i / PIECES;
    TRY_DONE(blocks_of_arrays(PIECES, start, s.D, 1, X, y, w, &pieces, e));
    TRY_DONE(driver_open(&sparse_rows, pieces, comm_self(), 0, &d, e));
    TRY_DONE(driver_stat(d, &s, 0, NULL, 1, stat, e));
    memcpy(S, stat_S(&s, stat), (size_t)(Mt * Mt) * sizeof *S);
    memcpy(b, stat_b(&s, stat), (size_t)Mt * sizeof *b);
done:
    driver_close(d);
    blocks_free(pieces);
    free(stat);
    return status;
}

static const anytime_ops sparse_anytime = {.size = anytime_size,
                                           .prior = anytime_prior,
                                           .prepare = anytime_prepare,
                                           .stat = anytime_stat,
                                           .bound = anytime_bound,
                                           .root = anytime_root,
                                           .posterior = anytime_posterior,
                                           .absorb = anytime_absorb,
                                           .absorbed = anytime_absorbed,
                                           .sums = anytime_sums,
                                           .start = anytime_start};

/* ---------------------------------------------------------------------------------- the models */

#define SPARSE_OPS(id, text)                                                                                           \
    .name = #id, .summary = text, .family = &kind_##id, .subset = 512, .cost = sparse_cost, .size = sparse_size,       \
    .open = sparse_state_open, .evaluate = sparse_evaluate, .failure = sparse_failure,                                 \
    .posterior = sparse_to_posterior, .rows = sparse_rows_behind, .seen = sparse_seen, .remark = sparse_remark,        \
    .close = sparse_state_close, .load = sparse_load, .load_within = sparse_load_within, .update = &sparse_updates
#define SPARSE_NEEDS .mean = true, .weights = true, .joint = true

#define SPARSE_PRIOR(id, text, kept_, test_, rows_, order_)                                                            \
    static const sparse_kind kind_##id = {.kept = kept_, .power = 1, .test = test_};                                   \
    const model_ops model_##id = {                                                                                     \
        SPARSE_OPS(id, text),                                                                                          \
        .objective = "log evidence",                                                                                   \
        .needs = {SPARSE_NEEDS, .rows = rows_, .inducing = INDUCING_ONE},                                              \
        .jitter = 1e-8,                                                                                                \
        .order = order_,                                                                                               \
        .anytime = &sparse_anytime,                                                                                    \
        .floats = &sparse_floats,                                                                                      \
    };

SPARSE_PRIOR(sor, "subset of regressors", KEPT_NOTHING, TEST_NOTHING, ROWS_BLOCKS, "n m^2")
SPARSE_PRIOR(dtc, "deterministic training conditional", KEPT_NOTHING, TEST_EXACT, ROWS_BLOCKS, "n m^2")
SPARSE_PRIOR(fitc, "fully independent training conditional", KEPT_DIAGONAL, TEST_EXACT, ROWS_BLOCKS, "n m^2")
SPARSE_PRIOR(fic, "fully independent conditional", KEPT_DIAGONAL, TEST_DIAGONAL, ROWS_BLOCKS, "n m^2")
SPARSE_PRIOR(pitc, "partially independent training conditional", KEPT_BLOCK, TEST_EXACT, ROWS_PARTS, "n (m+j)^2")
SPARSE_PRIOR(pic, "partially independent conditional", KEPT_BLOCK, TEST_BLOCK, ROWS_PARTS, "n (m+j)^2")

static const sparse_kind kind_lma = {.kept = KEPT_BLOCK, .power = 1, .test = TEST_BLOCK, .order = 1};

/* pic along a chain of blocks [lma.c]. */
const model_ops model_lma = {
    SPARSE_OPS(lma, "low-rank and Markov: blocks in a chain"),
    .objective = "log evidence",
    .needs = {SPARSE_NEEDS, .rows = ROWS_PARTS, .local = true, .inducing = INDUCING_ONE},
    .jitter = 1e-8,
    .order = "n (m+j)^2",
    .anytime = &sparse_anytime,
};

static const sparse_kind kind_hier = {.kept = KEPT_BLOCK, .power = 1, .test = TEST_BLOCK};

/* pic whose inducing variables are values of one term of the kernel [local/hier.c]. */
const model_ops model_hier = {
    SPARSE_OPS(hier, "pic with a local kernel in each block"),
    .objective = "log evidence",
    .needs = {SPARSE_NEEDS, .rows = ROWS_PARTS, .local = true, .inducing = INDUCING_ONE, .centres = true},
    .variables = &inducing_left,
    .local = "matern32",
    .jitter = 1e-8,
    .order = "n (m+j)^2",
    .anytime = &sparse_anytime,
};

static const sparse_kind kind_ssgp = {.kept = KEPT_NOTHING, .power = 1, .test = TEST_NOTHING};

/* The sparse spectrum model: sor over waves, whose evidence is exact for a prior of this many waves (003, section III-C1). */
const model_ops model_ssgp = {
    SPARSE_OPS(ssgp, "sparse spectrum, random frequencies"),
    .objective = "log evidence",
    .needs = {SPARSE_NEEDS, .rows = ROWS_BLOCKS, .inducing = INDUCING_ONE},
    .variables = &inducing_fourier,
    .order = "n m^2",
    .anytime = &sparse_anytime,
};

/* A bound is there to be maximised over the inducing inputs too. */
#define SPARSE_BOUND(id, text, objective_, power_)                                                                     \
    static const sparse_kind kind_##id = {.kept = KEPT_DIAGONAL, .power = power_, .test = TEST_EXACT};                 \
    const model_ops model_##id = {                                                                                     \
        SPARSE_OPS(id, text),                                                                                          \
        .objective = objective_,                                                                                       \
        .needs = {SPARSE_NEEDS, .rows = ROWS_BLOCKS, .inducing = INDUCING_ONE, .learned = true,                        \
                  .targets = power_ > 0 ? TARGETS_ONE : TARGETS_SEVERAL},                                              \
        .jitter = 1e-8,                                                                                                \
        .order = "n m^2",                                                                                              \
        .anytime = &sparse_anytime,                                                                                    \
        .bounds = power_ > 0 ? NULL : sparse_bounds,                                                                   \
        .floats = &sparse_floats,                                                                                      \
    };

SPARSE_BOUND(vfe, "variational free energy", "lower bound", 0)
SPARSE_BOUND(pep, "power expectation propagation", "approximate log evidence", 0.5)

/* Its q(v) has another form than that of the anytime steps. */
#define SPARSE_FORM(id, text, inducing_, order_, floats_, ...)                                                         \
    static const sparse_kind kind_##id = {.kept = KEPT_DIAGONAL, .power = 0, .test = TEST_EXACT, __VA_ARGS__};         \
    const model_ops model_##id = {                                                                                     \
        SPARSE_OPS(id, text),                                                                                          \
        .objective = "lower bound",                                                                                    \
        .needs = {SPARSE_NEEDS, .rows = ROWS_BLOCKS, .inducing = inducing_, .learned = true},                          \
        .jitter = 1e-8,                                                                                                \
        .order = order_,                                                                                               \
        .bounds = sparse_bounds,                                                                                       \
        .floats = floats_,                                                                                             \
    };

SPARSE_FORM(vfe_tight, "vfe with a tighter bound, for moderate n", INDUCING_ONE, "n^2 m", NULL, .tighter = true)
SPARSE_FORM(solve_collapsed, "solve for gaussian noise, q in closed form", INDUCING_SETS, "n m^2", &sparse_floats,
            .form = FORM_BLOCKS)
SPARSE_FORM(odvgp_collapsed, "odvgp for gaussian noise, q in closed form", INDUCING_SETS, "n m^2", &sparse_floats,
            .form = FORM_MEANS)
