/* qsgp and qsrvm as models, and models made from expressions qsgp(...) and qsrvm(...). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "model/made.h"
#include "model/weights/qsgp_state.h"

static const qsgp_kind defaults = {.control = -1},
                       relevance = {.control = -1, .basis = CELLS_KERNEL, .relevance = true};

static const qsgp_kind *kind_of(const model_ops *m) { return m->family; }

/* What --inducing counts and the kernel has to have. */
static anygp_status check(const kernel *k, anygp_error *e) { return inducing_fourier.check(k, e); }

static anygp_status draw(const kernel *k, const char *how, uint64_t seed, int64_t M, double *Z, anygp_error *e)
{
    return inducing_fourier.draw(k, how, seed, M, Z, e);
}

#define BASIS_FUNCTIONS(...)                                                                                           \
    {                                                                                                                  \
        .name = "weights", .summary = "basis functions that are made again for every step", .noun = "basis function",  \
        .nouns = "basis functions", .each = 1, .white = true, .check = check, .draw = draw, __VA_ARGS__                \
    }

static const inducing_ops basis_functions = BASIS_FUNCTIONS(.orthogonal = false),
                          transforms = BASIS_FUNCTIONS(.orthogonal = true);

/* ------------------------------------------------------------------------------------------------- cost */

enum { TURNS_DOUBLES = 1 << 22 }; /* of qsrvm: functions that are in, at the rows of a step */

/* A step over b rows and P control rows: two tiles of each sampled cell, each feature about 10 operations, and one for each of D inputs, or
   three transforms of log D. */
static model_cost qsgp_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    const qsgp_kind *k = kind_of(self);
    double C = (double)(f->targets * f->latents), V = C * (1 + (double)k->dense), m = s->M, D = (double)f->inputs;
    double batch = (double)qsgp_batch(k, (int64_t)m), both = batch < m ? 2 : 1;
    double P = (double)qsgp_control(k, (int64_t)m), rows = fmin(f->batch, f->rows) + P;
    double features = both * batch * rows, held = (s->largest > 0 ? fmin(s->largest, rows - P) : rows - P) + P;
    double width = (double)cells_width(k->basis, f->inputs, (int64_t)batch),
           piece = (double)cells_piece(k->basis, (int64_t)held),
           inner = k->basis == CELLS_HADAMARD ? 3 * log2(D + 1) : D;
    bool blocks = batch >= m && k->rule == RULE_BLOCK && !k->relevance, places = k->basis == CELLS_KERNEL;
    double own = V * (k->rule == RULE_ADAGRAD ? 2 : 1) + C + (blocks ? C : 0) + (places ? D + 2 : 0) +
                 (k->relevance ? 2 * C : 0) + 2 / width;
    double after = V + C + (places ? D : 0) + (k->relevance ? C : 0); /* the posterior's, while there is a state */
    double state = 8 * (m * (own + after) + (blocks ? C * f->rows : 0));
    double step = (k->relevance ? TURNS_DOUBLES : 0) + both * batch * cells_doubles(k->basis, f->inputs) +
                  held * (6 * V + 2 * D + (double)f->threads * (3 * V + C)) + (double)f->threads * 2 * width * piece;
    return (model_cost){.rows = cost_of_work(f, 0.4, 2 * features * (inner + 10 + 2 * V), 0),
                        .bytes = state + 8 * step,
                        .state = state,
                        .last = 8 * m * after};
}

/* ------------------------------------------------------------------------------------------------ state */

static int64_t size(const problem *p) { return p->subset; }
static double rows_behind(const void *state) { return ((const qsgp_state *)state)->q.N; }

static void close_state(void *state)
{
    qsgp_state *q = state;
    if (!q) return;
    qsrvm_close(q);
    qsgp_pass_clear(&q->pass);
    qsgp_sample_clear(&q->sample);
    qsgp_clear(&q->q);
    ascent_clear(&q->up);
    kernel_free(q->first);
    changes_clear(&q->cells);
    changes_clear(&q->blocks);
    double *const owned[] = {q->eta, q->damping, q->gain, q->block}, *const large[] = {q->sum, q->alpha, q->step,
                                                                                       q->looked};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) mapped_free(large[i]);
    free(q);
}

static anygp_status open_blocks(qsgp_state *q, anygp_error *e)
{
    const row_blocks *b = q->problem->blocks;
    int64_t C = q->q.C, rows = b->count * b->largest;
    q->damping = mem_zeroed(C, sizeof *q->damping);
    q->gain = mem_zeroed(C, sizeof *q->gain);
    if (!q->damping || !q->gain) return fail_memory(e, "the model", 16.0 * (double)C);
    if (!qsgp_by_blocks(q) || !cells_are_waves(q->kind.basis)) return ANYGP_OK;
    TRY(mapped_doubles(q->q.on_disk, rows, C, "the rows' coefficients", &q->alpha, e));
    return mapped_doubles(q->q.on_disk, q->q.cells.m, C, "the rows' coefficients", &q->step, e);
}

static anygp_status open_state(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    qsgp_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p, q->kind = *kind_of(self);
    TRY_DONE(qsgp_init(&q->q, &q->kind, p, p->blocks->D, e));
    TRY_DONE(qsgp_control_rows(&q->q, p, e));
    q->first = kernel_copy(h->kernel);
    q->eta = mem_alloc(q->q.C, sizeof *q->eta);
    TRY_DONE(open_blocks(q, e));
    if (q->kind.relevance) TRY_DONE(qsrvm_open(q, e));
    if (!q->first || !q->eta) TRY_DONE(fail_memory(e, "the model", 8.0 * (double)q->q.C));
    if (q->kind.rule == RULE_ADAGRAD)
        TRY_DONE(mapped_doubles(q->q.on_disk, q->q.cells.m, q->q.V, "the weights", &q->sum, e));
    if (!changes_init(&q->cells, q->q.cells.count) || !changes_init(&q->blocks, p->blocks->count))
        TRY_DONE(fail_memory(e, "the model", (double)q->q.cells.count / 8));
    TRY_DONE(mapped_doubles(q->q.on_disk, q->q.cells.count, 1, "the weights", &q->looked, e));
    TRY_DONE(qsgp_pass_open(&q->pass, &q->q, &q->sample, h->kernel, q->first, e));
    q->pass.ranks = p->comm;
    status = ascent_init(&q->up, h, e);
done:
    if (ANYGP_FAILED(status))
        close_state(q);
    else
        *state = q;
    return status;
}

const model_ops model_qsgp = {.name = "qsgp",
                              .summary = "quadruply stochastic GP, many waves",
                              .objective = "lower bound",
                              .family = &defaults,
                              .needs = {.rows = ROWS_BLOCKS,
                                        .likelihoods = LIKELIHOOD_ANY,
                                        .targets = TARGETS_SEVERAL,
                                        .inducing = INDUCING_NONE,
                                        .own_rate = true,
                                        .weights = true,
                                        .joint = true},
                              .variables = &basis_functions,
                              .subset = 100000,
                              .order = "b m",
                              .admits = qsgp_admits,
                              .cost = qsgp_cost,
                              .size = size,
                              .open = open_state,
                              .rows = rows_behind,
                              .close = close_state,
                              .load = qsgp_load,
                              .steps = &qsgp_steps};

const model_ops model_qsrvm = {.name = "qsrvm",
                               .summary = "relevance vector machine by samples",
                               .objective = "lower bound",
                               .family = &relevance,
                               .needs = {.rows = ROWS_BLOCKS,
                                         .likelihoods = LIKELIHOOD_ANY,
                                         .targets = TARGETS_SEVERAL,
                                         .inducing = INDUCING_NONE,
                                         .kept = true,
                                         .own_rate = true,
                                         .weights = true,
                                         .joint = true},
                               .subset = 100000,
                               .order = "b m",
                               .admits = qsgp_admits,
                               .cost = qsgp_cost,
                               .size = size,
                               .open = open_state,
                               .rows = rows_behind,
                               .close = close_state,
                               .load = qsgp_load,
                               .steps = &qsgp_steps};

/* ------------------------------------------------------------------------------------------ expressions */

typedef struct choices {
    const model_ops *of;
    qsgp_kind kind;
    unsigned given; /* a bit for each option */
} choices;

static const char *const options[] = {"dense", "batch", "control", "basis", "steps"};
enum { DENSE, BATCH, CONTROL, BASIS, STEPS, OPTIONS };

static const char *const bases[] = {"fourier", "kernel", "hadamard", NULL},
                         *const relevance_bases[] = {"fourier", "kernel", NULL},
                         *const rules[] = {"block", "plain", "adagrad", NULL};

static anygp_status take_option(scanner *s, void *ctx)
{
    choices *c = ctx;
    int64_t n = scan_word(s);
    unsigned i = 0;
    int64_t which;
    while (i < OPTIONS && !made_is_word(s, n, options[i])) i++;
    if (i == OPTIONS)
        return scan_fail(s, s->at, "the options are dense, batch, control, basis and steps", "unknown option '%.*s'",
                         (int)(n < 40 ? n : 40), s->text + s->at);
    if (c->given >> i & 1) return scan_fail(s, s->at, NULL, "%s is given twice", options[i]);
    c->given |= 1u << i;
    s->at += n;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a value");
    if (i == DENSE) return made_count(s, 0, &c->kind.dense);
    if (i == BATCH) return made_count(s, 1, &c->kind.batch);
    if (i == CONTROL) return made_count(s, 0, &c->kind.control);
    TRY(made_word(s, i == STEPS ? rules : c->kind.relevance ? relevance_bases : bases, &which));
    if (i == BASIS)
        c->kind.basis = (cells_kind)which;
    else
        c->kind.rule = (qsgp_rule)which;
    return ANYGP_OK;
}

/* Options that are not the default's, in their order. */
static void write_name(const choices *c, char *to, size_t room)
{
    const qsgp_kind *k = &c->kind, *without = kind_of(c->of);
    char parts[OPTIONS][40] = {""};
    if (k->dense) snprintf(parts[DENSE], sizeof *parts, "dense=%lld", (long long)k->dense);
    if (k->batch) snprintf(parts[BATCH], sizeof *parts, "batch=%lld", (long long)k->batch);
    if (k->control >= 0) snprintf(parts[CONTROL], sizeof *parts, "control=%lld", (long long)k->control);
    if (k->basis != without->basis) snprintf(parts[BASIS], sizeof *parts, "basis=%s", bases[k->basis]);
    if (k->rule != without->rule) snprintf(parts[STEPS], sizeof *parts, "steps=%s", rules[k->rule]);
    size_t used = (size_t)snprintf(to, room, "%s(", c->of->name);
    for (int i = 0, written = 0; i < OPTIONS; i++)
        if (*parts[i]) used += (size_t)snprintf(to + used, room - used, "%s%s", written++ ? "," : "", parts[i]);
    snprintf(to + used, room - used, ")");
}

static anygp_status made(const model_ops *of, scanner *s, made_model **out, anygp_error *e)
{
    choices c = {.of = of, .kind = *kind_of(of)};
    TRY(scan_options(s, take_option, &c));
    TRY(scan_end(s));
    TRY(made_new(of, sizeof(*out)->kind.qsgp, out, e));
    (*out)->kind.qsgp = c.kind;
    (*out)->ops.needs.kept = c.kind.relevance || c.kind.basis != CELLS_FOURIER;
    (*out)->ops.variables = c.kind.basis == CELLS_KERNEL     ? NULL /* rows, under any kernel */
                            : c.kind.basis == CELLS_HADAMARD ? &transforms
                                                             : &basis_functions;
    write_name(&c, (*out)->name, sizeof(*out)->name);
    return ANYGP_OK;
}

anygp_status made_qsgp(scanner *s, made_model **out, anygp_error *e) { return made(&model_qsgp, s, out, e); }
anygp_status made_qsrvm(scanner *s, made_model **out, anygp_error *e) { return made(&model_qsrvm, s, out, e); }
