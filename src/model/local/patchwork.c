/* Learning of patchwork (patchwork.h): the borders, sums over cells, the head, and the reverse. */
#include "model/local/patchwork.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"
#include "model/made.h"

/* ----------------------------------------------------------------------------------------- borders */

void patch_borders_clear(patch_borders *b)
{
    border_points_clear(&b->at);
    free(b->start);
    free(b->place);
    free(b->sign);
    *b = (patch_borders){0};
}

anygp_status patch_borders_index(patch_borders *b, int64_t D, int64_t P, anygp_error *e)
{
    int64_t q = b->at.count;
    b->D = D, b->cells = P;
    b->start = mem_zeroed(P + 2, sizeof *b->start);
    b->place = mem_alloc(2 * q, sizeof *b->place), b->sign = mem_alloc(2 * q, sizeof *b->sign);
    if (!b->start || !b->place || !b->sign) {
        patch_borders_clear(b);
        return fail_memory(e, "the borders of the cells", 32.0 * (double)q);
    }
    for (int64_t i = 0; i < 2 * q; i++) b->start[(int64_t)b->at.side[i] + 2]++; /* counts, then first places: */
    for (int64_t k = 0; k < P; k++) b->start[k + 2] += b->start[k + 1];
    for (int64_t i = 0; i < 2 * q; i++) {
        int64_t to = b->start[(int64_t)b->at.side[i] + 1]++;
        b->place[to] = i / 2, b->sign[to] = i % 2 ? -1 : 1;
    }
    for (int64_t k = 0; k < P; k++)
        if (patch_places(b, k) > b->largest) b->largest = patch_places(b, k);
    return ANYGP_OK;
}

void patch_places_of(const patch_borders *b, int64_t k, double *X)
{
    for (int64_t i = 0; i < patch_places(b, k); i++)
        memcpy(X + i * b->D, b->at.X + b->place[b->start[k] + i] * b->D, (size_t)b->D * sizeof *X);
}

bool patch_factor(int64_t q, double jitter, double mean, double *S)
{
    for (int64_t i = 0; i < q; i++) S[i + i * q] += jitter * mean;
    return la_factor(q, S, q);
}

/* ------------------------------------------------------------------------------------- a cell's sums */

/* What all cells share. */
typedef struct patches {
    committee c;
    patch_borders b;
    /* The head's adjoints, q x q (both triangles), q, q x q. */
    double *Sbar, *tbar, *Cbar;
} patches;

/* value, t, S, C (lower triangles). */
static int64_t places(const patches *p) { return p->b.at.count; }
static double *sum_t(const patches *p, double *stat) { return (void)p, stat + 1; }
static double *sum_S(const patches *p, double *stat) { return stat + 1 + places(p); }
static double *sum_C(const patches *p, double *stat) { return sum_S(p, stat) + places(p) * places(p); }
static int64_t stat_size(const void *shared) { return 1 + places(shared) * (1 + 2 * places(shared)); }
static int64_t adjoint_size(const void *shared) { return kernel_count(((const patches *)shared)->c.kernel) + 1; }

/* A cell in the room of a thread. */
typedef struct cell {
    int64_t n, m;             /* rows, border places */
    const int64_t *place;     /* m */
    const double *sign;       /* m */
    double *Ky, *alpha, *H;   /* n x n: later its factor; n; none */
    double *X, *Kb, *V, *Kbb; /* m x D, n x m, n x m: L^-1 K_b, m x m (both triangles) */
    double *G, *R;            /* n x n, n x m: adjoints */
    double *T, *q;            /* m x m, n */
} cell;

static int64_t work_doubles(const void *shared, int64_t n)
{
    const patches *p = shared;
    int64_t m = p->b.largest;
    return 2 * n * n + 3 * n * m + 2 * m * m + 2 * n + m * p->b.D;
}

static double work(const void *shared, int64_t n)
{
    double rows = (double)n, m = (double)((const patches *)shared)->b.largest;
    return rows * rows * (rows / 3 + m) + rows * m * m;
}

static cell cell_place(const patches *p, const row_block *b, double *room)
{
    int64_t n = b->n, m = patch_places(&p->b, b->index), at = p->b.start[b->index];
    cell c = {.n = n, .m = m, .place = p->b.place + at, .sign = p->b.sign + at, .Ky = room};
    c.G = c.Ky + n * n, c.Kb = c.G + n * n, c.V = c.Kb + n * m, c.R = c.V + n * m, c.Kbb = c.R + n * m;
    c.T = c.Kbb + m * m, c.alpha = c.T + m * m, c.q = c.alpha + n, c.X = c.q + n;
    return c;
}

/* Ky = L L', alpha = Ky^-1 y, V = L^-1 K_b, K_bb; value: the log evidence of the rows. */
static anygp_status cell_forward(const patches *p, const row_block *b, const cell *c, double *value, anygp_error *e)
{
    const expert_rows r = {b->n, b->X, b->y, b->w};
    const kernel *k = p->c.kernel;
    int64_t n = c->n, m = c->m, D = p->b.D;
    *value = 0;
    patch_places_of(&p->b, b->index, c->X);
    if (!kernel_gram(k, m, c->X, D, m, c->X, D, c->Kbb, m) ||
        (n > 0 && !kernel_gram(k, n, b->X, D, m, c->X, D, c->Kb, n)))
        return fail_memory(e, "kernel tiles", 0);
    if (n == 0) return ANYGP_OK;
    memcpy(c->alpha, b->y, (size_t)n * sizeof *c->alpha);
    TRY(expert_covariance(&p->c, &r, NULL, c->Ky, e));
    TRY(expert_solve(&p->c, &r, c->Ky, c->alpha, value, e));
    memcpy(c->V, c->Kb, (size_t)(n * m) * sizeof *c->V);
    la_trsm(LA_LEFT, LA_N, n, m, 1, c->Ky, n, c->V, n);
    return ANYGP_OK;
}

static anygp_status stat(const void *shared, const row_block *b, double *room, double *keep, double *out,
                         anygp_error *e)
{
    const patches *p = shared;
    cell c = cell_place(p, b, room);
    int64_t q = places(p), m = c.m;
    double value, *S = sum_S(p, out), *C = sum_C(p, out), *t = sum_t(p, out);
    (void)keep;
    TRY(cell_forward(p, b, &c, &value, e));
    out[0] += value;
    for (int64_t i = 0; i < m; i++) {
        double mu = la_dot(c.n, c.Kb + i * c.n, c.alpha);
        t[c.place[i]] += c.sign[i] * mu;
        for (int64_t j = 0; j < m; j++) {
            if (c.place[i] < c.place[j]) continue; /* the lower triangle */
            double s = c.sign[i] * c.sign[j], prior = c.Kbb[i + j * m];
            C[c.place[i] + c.place[j] * q] += s * prior;
            S[c.place[i] + c.place[j] * q] += s * (prior - la_dot(c.n, c.V + i * c.n, c.V + j * c.n));
        }
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------ reverse */

/* The head's adjoints of the cell's places, times their signs: of S into T, of S and C into Kbb, of t into x[m]. */
static void cell_adjoints(const patches *p, const cell *c, double *x)
{
    int64_t q = places(p), m = c->m;
    for (int64_t i = 0; i < m; i++) {
        x[i] = c->sign[i] * p->tbar[c->place[i]];
        for (int64_t j = 0; j < m; j++) {
            int64_t at = c->place[i] + c->place[j] * q;
            double s = c->sign[i] * c->sign[j];
            c->T[i + j * m] = s * p->Sbar[at], c->Kbb[i + j * m] = s * (p->Sbar[at] + p->Cbar[at]);
        }
    }
}

/* Ky bar into G (lower triangle), K_b bar into Kb; V becomes W. */
static bool rows_adjoints(const patches *p, const cell *c, const double *x)
{
    int64_t n = c->n, m = c->m;
    double trace = 0;
    la_trsm(LA_LEFT, LA_T, n, m, 1, c->Ky, n, c->V, n);            /* W */
    la_gemm(LA_N, LA_N, n, m, m, 1, c->V, n, c->T, m, 0, c->R, n); /* W Sbar */
    la_gemv(LA_N, n, m, 1, c->V, n, x, 0, c->q);                   /* W tbar */
    memcpy(c->G, c->Ky, (size_t)(n * n) * sizeof *c->G);
    if (la_potri(n, c->G, n) != 0) return false;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++)
            c->G[i + j * n] =
                0.5 * (c->alpha[i] * c->alpha[j] - c->G[i + j * n] - c->q[i] * c->alpha[j] - c->alpha[i] * c->q[j]);
    la_gemm(LA_N, LA_T, n, n, m, 1, c->R, n, c->V, n, 1, c->G, n); /* only its lower triangle is read */
    for (int64_t i = 0; i < n; i++) trace += c->G[i + i * n];
    for (int64_t i = 0; i < n; i++) c->G[i + i * n] += p->c.jitter * trace / (double)n;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++) c->Kb[i + j * n] = c->alpha[i] * x[j] - 2 * c->R[i + j * n];
    return true;
}

static anygp_status reverse(const void *shared, const row_block *b, double *room, const double *keep, double *adjoint,
                            anygp_error *e)
{
    const patches *p = shared;
    const kernel *k = p->c.kernel;
    cell c = cell_place(p, b, room);
    int64_t n = c.n, m = c.m, D = p->b.D;
    double value, *dnoise = adjoint + kernel_count(k), *x = mem_alloc(m, sizeof *x);
    anygp_status status = x ? cell_forward(p, b, &c, &value, e) : fail_memory(e, "the borders", 8.0 * (double)m);
    (void)keep;
    if (!ANYGP_FAILED(status)) {
        cell_adjoints(p, &c, x);
        bool ok = kernel_gram_reverse(k, m, c.X, D, m, c.X, D, c.Kbb, m, adjoint, NULL, 0, NULL, 0);
        if (n > 0 && !rows_adjoints(p, &c, x))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of a cell has no inverse");
        for (int64_t i = 0; i < n; i++) *dnoise += c.G[i + i * n] / b->w[i] - 0.5 * (b->w[i] - 1) / p->c.noise;
        if (n > 0)
            ok = ok && kernel_gram_sym_reverse(k, n, b->X, D, c.G, n, adjoint, NULL, 0) &&
                 kernel_gram_reverse(k, n, b->X, D, m, c.X, D, c.Kb, n, adjoint, NULL, 0, NULL, 0);
        if (!ANYGP_FAILED(status) && !ok) status = fail_memory(e, "kernel tiles", 0);
    }
    free(x);
    return status;
}

static const block_model cells_model = {.stat_size = stat_size,
                                        .adjoint_size = adjoint_size,
                                        .work_doubles = work_doubles,
                                        .work = work,
                                        .stat = stat,
                                        .reverse = reverse};

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
        q->stat = mem_alloc(stat_size(&q->p), sizeof *q->stat);
        q->adjoint = mem_alloc(adjoint_size(&q->p), sizeof *q->adjoint);
        q->p.Sbar = mem_doubles(B, B), q->p.Cbar = mem_doubles(B, B), q->p.tbar = mem_alloc(B, sizeof *q->p.tbar);
        bool ok = q->stat && q->adjoint && q->p.Sbar && q->p.Cbar && q->p.tbar;
        status = ok ? driver_open(&cells_model, p->blocks, p->comm, 0, &q->driver, e)
                    : fail_memory(e, "the borders of the cells", 32.0 * (double)B * (double)B);
    }
    if (ANYGP_FAILED(status))
        patch_close(q);
    else
        *state = q;
    return status;
}

/* ---------------------------------------------------------------------------------------------- head */

/* From the factor of A to g A^-1 in both triangles. */
static bool inverse_times(int64_t q, double g, double *A)
{
    if (la_potri(q, A, q) != 0) return false;
    for (int64_t j = 0; j < q; j++)
        for (int64_t i = j; i < q; i++) A[i + j * q] = A[j + i * q] = g * A[i + j * q];
    return true;
}

/* The borders' share of the evidence, and with `gradient` the adjoints.  False: no factor. */
static bool head(patches *p, double *sums, bool gradient, double *value)
{
    int64_t q = places(p);
    double *S = sum_S(p, sums), *C = sum_C(p, sums), *a = p->tbar, mean = 0, trace = 0;
    *value = 0;
    if (q == 0) return true;
    for (int64_t i = 0; i < q; i++) mean += C[i + i * q] / (double)q;
    if (!patch_factor(q, p->c.jitter, mean, S) || !patch_factor(q, p->c.jitter, mean, C)) return false;
    memcpy(a, sum_t(p, sums), (size_t)q * sizeof *a);
    la_trsv(LA_N, q, S, q, a);
    *value = -0.5 * (la_dot(q, a, a) + la_logdet(q, S, q) - la_logdet(q, C, q));
    if (!gradient) return true;
    la_trsv(LA_T, q, S, q, a);
    memcpy(p->Sbar, S, (size_t)(q * q) * sizeof *S);
    memcpy(p->Cbar, C, (size_t)(q * q) * sizeof *C);
    if (!inverse_times(q, -0.5, p->Sbar) || !inverse_times(q, 0.5, p->Cbar)) return false;
    for (int64_t j = 0; j < q; j++)
        for (int64_t i = 0; i < q; i++) p->Sbar[i + j * q] += 0.5 * a[i] * a[j];
    for (int64_t i = 0; i < q; i++) trace += p->Sbar[i + i * q] + p->Cbar[i + i * q];
    for (int64_t i = 0; i < q; i++) p->Cbar[i + i * q] += p->c.jitter * trace / (double)q;
    for (int64_t i = 0; i < q; i++) a[i] = -a[i];
    return true;
}

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
    if (!head(&q->p, q->stat, gp != NULL, &more))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance at the borders of cells has no Cholesky factor");
    *value = value_alone + more;
    if (!isfinite(*value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the evidence is not a number");
    if (!gp) return ANYGP_OK;
    TRY(sum_up(q, true, e));
    if (q->seen < 1) return ANYGP_TIME_LIMIT;
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    memcpy(gp, q->adjoint, (size_t)adjoint_size(&q->p) * sizeof *gp);
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
