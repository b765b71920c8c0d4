/* Learning of patchwork (patchwork.h): the run, its places in the time there is, and the table. */
#include "model/local/patchwork_cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/made.h"

/* --------------------------------------------------------------------------------------------- state */

typedef struct patch_state {
    patches p;
    const problem *problem;
    driver *driver;
    double *stat, *adjoint;
    anygp_error failure;
    double seen; /* of the cells, by the last pass */
    double rate; /* multiplications per second of a factor; infinite without a time limit */
    char remark[200];
} patch_state;

static void patch_close(void *state)
{
    patch_state *q = state;
    if (!q) return;
    driver_close(q->driver);
    patch_borders_clear(&q->p.b);
    double *const owned[] = {q->stat, q->adjoint, q->p.Sbar, q->p.tbar, q->p.Cbar};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(q);
}

/* Least and largest of each input. */
static anygp_status find_extent(row_blocks *all, double *low, double *high, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    block_buffer buffer = {0};
    row_block b;
    for (int64_t j = 0; j < all->D; j++) low[j] = INFINITY, high[j] = -INFINITY;
    for (int64_t i = 0; i < all->count; i++) {
        TRY_DONE(blocks_get(all, i, &buffer, &b, e));
        for (int64_t k = 0; k < b.n * all->D; k++) {
            int64_t j = k % all->D;
            low[j] = fmin(low[j], b.X[k]), high[j] = fmax(high[j], b.X[k]);
        }
    }
done:
    block_buffer_clear(&buffer);
    return status;
}

static anygp_status patch_admits(const model_ops *self, const model_scope *q, anygp_error *e)
{
    (void)self;
    if (q->D > PATCHWORK_INPUTS)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "model: patchwork takes at most %d inputs, since borders grow with each, and there are %lld; "
                         "use --model pic or vecchia",
                         PATCHWORK_INPUTS, (long long)q->D);
    if (q->D == 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "model: patchwork needs an input to cut by; use --model exact");
    for (int64_t j = 0; q->inputs && j < q->inputs->D; j++)
        if (schema_at(q->inputs, j)->text)
            return fail_with(e, ANYGP_ERR_ARGUMENT,
                             "model: patchwork takes numbers only, since categories have no borders; use --model pic");
    return ANYGP_OK;
}

/* Multiplications per second of a factor, by a small one. */
static double find_rate(void)
{
    enum { SMALL = 400 };
    double *A = mem_zeroed(SMALL * SMALL, sizeof *A), rate = 1e9;
    for (int64_t i = 0; A && i < SMALL; i++) A[i + i * SMALL] = 1;
    double began = clock_seconds();
    if (A && la_potrf(SMALL, A, SMALL) == 0) rate = pow(SMALL, 3) / 6 / fmax(clock_seconds() - began, 1e-6);
    free(A);
    return rate;
}

/* Seconds of head() with its adjoints: two factors and their inverses. */
static double head_seconds(const patch_state *q) { return pow((double)q->p.b.at.count, 3) / q->rate; }

/* Seconds of the posterior once the cells have their factors: L^-1 K_b, the factor of S and its inverse. */
static double join_seconds(const patch_state *q)
{
    const row_blocks *all = q->problem->blocks;
    double rows = (double)all->count * (double)all->largest, m = (double)q->p.b.largest;
    return (0.5 * pow((double)q->p.b.at.count, 3) + rows * m * (0.5 * (double)all->largest + m)) / q->rate;
}

/* Places along a border, with a time limit no more than a head has time for, of which a run has several. */
static anygp_status find_places(patch_state *q, const double *low, const double *high, int64_t each, anygp_error *e)
{
    static const double SHARE = 0.15;
    const problem *p = q->problem;
    double left = deadline_left(p->pass);
    int64_t wanted = each;
    for (;; each--) {
        TRY(router_borders(p->route, low, high, each, &q->p.b.at, e));
        if (each == 1 || left == INFINITY || p->comm->size > 1 || head_seconds(q) <= SHARE * fmax(left, 0)) break;
        border_points_clear(&q->p.b.at);
    }
    if (each < wanted)
        snprintf(q->remark, sizeof q->remark,
                 "borders of cells have %lld places along each side instead of %lld, since there was no time for more; "
                 "give it more --time, or fewer cells (--blocks)",
                 (long long)each, (long long)wanted);
    return ANYGP_OK;
}

static anygp_status find_borders(patch_state *q, int64_t each, anygp_error *e)
{
    const problem *p = q->problem;
    double low[PATCHWORK_INPUTS], high[PATCHWORK_INPUTS];
    TRY(find_extent(p->blocks, low, high, e));
    TRY(find_places(q, low, high, each, e));
    return patch_borders_index(&q->p.b, p->blocks->D, p->blocks->count, e);
}

static anygp_status patch_open(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    patch_state *q = calloc(1, sizeof *q);
    if (!q) return fail_memory(e, "the model", sizeof *q);
    q->problem = p, q->rate = deadline_left(p->pass) == INFINITY ? INFINITY : find_rate();
    q->p.c = (committee){.kernel = h->kernel, .mean = p->mean, .D = p->blocks->D};
    anygp_status status = find_borders(q, ((const patch_kind *)self->family)->each, e);
    int64_t B = q->p.b.at.count;
    if (!ANYGP_FAILED(status)) {
        q->stat = mem_alloc(patches_model.stat_size(&q->p), sizeof *q->stat);
        q->adjoint = mem_alloc(patches_model.adjoint_size(&q->p), sizeof *q->adjoint);
        q->p.Sbar = mem_doubles(B, B), q->p.Cbar = mem_doubles(B, B), q->p.tbar = mem_alloc(B, sizeof *q->p.tbar);
        bool ok = q->stat && q->adjoint && q->p.Sbar && q->p.Cbar && q->p.tbar;
        status = ok ? driver_open(&patches_model, p->blocks, p->comm, 0, &q->driver, e)
                    : fail_memory(e, "the borders of the cells", 32.0 * (double)B * (double)B);
    }
    if (ANYGP_FAILED(status))
        patch_close(q);
    else
        *state = q;
    return status;
}

/* --------------------------------------------------------------------------------------- evaluations */

/* Over all cells, or over those that there is time for. */
static anygp_status sum_up(patch_state *q, bool reverse, anygp_error *e)
{
    driver_until(q->driver, q->problem->pass, &q->seen);
    anygp_status status = reverse ? driver_reverse(q->driver, &q->p, 0, NULL, 1, q->adjoint, e)
                                  : driver_stat(q->driver, &q->p, 0, NULL, 1, q->stat, e);
    driver_until(q->driver, NULL, NULL);
    return status;
}

static anygp_status pass(patch_state *q, const hyper *h, double jitter, double *value, double *gp, anygp_error *e)
{
    double more;
    q->p.c.kernel = h->kernel, q->p.c.noise = h->like[0], q->p.c.jitter = jitter;
    TRY(sum_up(q, false, e));
    if (q->seen < 1 || !(q->problem->comm->size > 1 || deadline_fits(q->problem->pass, head_seconds(q))))
        return ANYGP_TIME_LIMIT;
    double value_alone = q->stat[0];
    if (!patches_head(&q->p, q->stat, gp != NULL, &more))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance at the borders of cells has no Cholesky factor");
    *value = value_alone + more;
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the evidence is not a number");
    if (!gp) return ANYGP_OK;
    TRY(sum_up(q, true, e));
    if (q->seen < 1) return ANYGP_TIME_LIMIT;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    memcpy(gp, q->adjoint, (size_t)patches_model.adjoint_size(&q->p) * sizeof *gp);
    return ANYGP_OK;
}

static bool patch_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp)
{
    patch_state *q = state;
    anygp_error why = {0};
    anygp_status status = pass(q, h, *jitter, value, gp, &why);
    while (status == ANYGP_ERR_NUMERIC && grow && *jitter < JITTER_MOST) {
        *jitter = jitter_next(*jitter);
        status = pass(q, h, *jitter, value, gp, &why);
    }
    q->failure = model_failure(status, &why);
    return status == ANYGP_OK;
}

static const anygp_error *patch_failure(const void *state) { return &((const patch_state *)state)->failure; }
static const char *patch_remark(const void *state)
{
    const patch_state *q = state;
    return *q->remark ? q->remark : NULL;
}
static double patch_rows(const void *state) { return ((const patch_state *)state)->problem->blocks->total; }

/* ----------------------------------------------------------------------------------------- posterior */

static const aggregation alone = {.alone = true};

static anygp_status make_cells(const problem *p, const hyper *h, double jitter, posterior **out, anygp_error *e)
{
    int64_t P = p->blocks->count;
    double *names = mem_alloc(P, sizeof *names);
    if (!names) return fail_memory(e, "the cells", 8.0 * (double)P);
    for (int64_t k = 0; k < P; k++) names[k] = (double)k;
    experts_source s = {.rule = &alone,
                        .kernel = h->kernel,
                        .mean = p->mean,
                        .noise = h->like[0],
                        .jitter = jitter,
                        .memory = p->memory,
                        .until = p->pass,
                        .D = p->blocks->D,
                        .count = P,
                        .route = p->route,
                        .names = names};
    anygp_status status = blocks_gather(p->blocks, "the cells' rows", &s.rows, e);
    if (!ANYGP_FAILED(status)) status = experts_new(&s, out, e);
    free(names);
    return status;
}

/* Cells and borders to the posterior; what there is no time for is made before the first prediction. */
static anygp_status patch_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e)
{
    patch_state *q = state;
    anygp_status status;
    do {
        posterior *made = NULL;
        status = make_cells(q->problem, h, *jitter, &made, e);
        bool later = made && (made->later || !deadline_fits(q->problem->pass, join_seconds(q)));
        if (!ANYGP_FAILED(status)) status = patch_posterior_new(made, &q->p.b, later, out, e);
        if (ANYGP_FAILED(status)) experts_free(made);
    } while (status == ANYGP_ERR_NUMERIC && *jitter < JITTER_MOST && (*jitter = jitter_next(*jitter)) > 0);
    return status;
}

/* --------------------------------------------------------------------------------------------- table */

static model_cost patch_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.5; /* of R */
    double J = s->part, L = s->largest, D = (double)f->inputs;
    double side = pow((double)((const patch_kind *)self->family)->each, D - 1), B = 2 * D * side; /* places of a cell */
    double q = f->rows / fmax(J, 1) * B / 2;
    return (model_cost){.rows = cost_of_work(f, SHARE, 2 * f->rows * J * (J + B), 4 * f->rows * J),
                        .head = cost_of_work(f, SHARE, 2 * q * q * q, 0), /* factors and inverses of S and C */
                        .bytes = 8 * (f->threads * (2 * L * L + 2 * q * q) + 4 * q * q + f->rows * (D + 3)),
                        .last = 8 * (f->rows * (L + B) + q * q)};
}

static const patch_kind defaults = {.each = PATCHWORK_EACH};

const model_ops model_patchwork = {
    .name = "patchwork",
    .summary = "exact in cells, equal at borders",
    .objective = "log evidence",
    .family = &defaults,
    .needs = {.rows = ROWS_PARTS, .local = true, .weights = true, .joint = true, .cells = true},
    .order = "n j^2+q^3",
    .jitter = 1e-8,
    .admits = patch_admits,
    .cost = patch_cost,
    .size = experts_size,
    .open = patch_open,
    .evaluate = patch_evaluate,
    .failure = patch_failure,
    .posterior = patch_to_posterior,
    .rows = patch_rows,
    .remark = patch_remark,
    .close = patch_close,
    .load = patch_load,
    .load_within = patch_load_within,
    .update = &patch_update_ops,
};

/* ----------------------------------------------------------------------------------------- expressions */

anygp_status made_patchwork(scanner *s, made_model **out, anygp_error *e)
{
    static const made_option options[] = {{"points", NULL}};
    int64_t value[1];
    TRY(made_options(s, "patchwork", 1, options, value));
    TRY(scan_end(s));
    TRY(made_new(&model_patchwork, sizeof(*out)->kind.patch, out, e));
    if (value[0] > 0) (*out)->kind.patch.each = value[0];
    made_write("patchwork", 1, options, value, (*out)->name, sizeof(*out)->name);
    return ANYGP_OK;
}
