/* Predictions of qsgp: one pass over all m basis functions in tiles, O(m) for a row.
       mean = phi'mu     variance = sum_r (phi'c_r)^2 over dense columns + sum_j phi_j^2 c_jj^2 over the others
   A basis of kernels at the training rows has a function more at each new row (proposition 4), as if it had been there, which adds
   s k^2 / (|k(x)|^2 + s k), k = k(x, x): nothing near the rows, and the prior variance far away.
   Weights with precisions of their own (qsrvm) that are pinned to 0 are left out; kernels at their places too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp.h"

enum { HAND = 32, PIECE = 512, HEAD = 8 }; /* cells that are made at a time; rows; numbers of "basis" in the file */

typedef struct qsgp_posterior {
    posterior base; /* base.n = m */
    cells cells;
    int64_t K, V;            /* of one target: V = latents (1 + K) */
    double *v, *d;           /* m x V and m x latents, row-major: as qsgp.h has them, c_jj^2 */
    double *Z;               /* kernels: m x D */
    double *s;               /* m x latents: precisions; NULL: S is that of the basis */
    double *mu;              /* m: the first latent's, where there are precisions */
    void (*release)(void *); /* of these arrays but mu */
    double rows;             /* behind it */
    double head[HEAD];
} qsgp_posterior;

static void posterior_free(posterior *base)
{
    qsgp_posterior *p = (qsgp_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    double *const large[] = {p->v, p->d, p->Z, p->s};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) p->release(large[i]);
    free(p->mu);
    free(p);
}

/* ------------------------------------------------------------------------------------------ predictions */

static bool is_augmented(const qsgp_posterior *p) { return p->cells.kind == CELLS_KERNEL && !p->s; }

qsgp_basis qsgp_posterior_basis(const posterior *base)
{
    const qsgp_posterior *p = (const qsgp_posterior *)base;
    return (qsgp_basis){p->cells, p->K, p->v, p->d, is_augmented(p)};
}

static int64_t work_doubles(const posterior *p, int64_t n) { return (void)p, (void)n, 1; }

/* What a thread adds up over its cells: F[n,V], S[n,C], |phi|^2. */
typedef struct sums {
    double *F, *S, *squares, *T;
} sums;

static int64_t sum_size(const qsgp_posterior *p, int64_t n) { return n * (p->V + p->base.latents + 1); }

static bool add_cell(const qsgp_posterior *p, const cells_hand *h, int64_t slot, const cell_rows *r, bool variance,
                     const sums *s)
{
    const cells *c = &p->cells;
    int64_t first = cell_first(c, h->cell[slot]), size = cell_size(c, h->cell[slot]), C = p->base.latents;
    for (int64_t at = 0, piece = cells_piece(c->kind, r->n); at < r->n; at += piece) {
        int64_t n = r->n - at < piece ? r->n - at : piece;
        cell_rows some = {n, r->D, r->X + at * r->D, r->XT + at, r->ld};
        if (!cells_fill(h, slot, &some, s->T, n)) return false;
        la_gemm(LA_N, LA_T, n, p->V, size, 1, s->T, n, p->v + first * p->V, p->V, 1, s->F + at, r->n);
        for (int64_t f = 0; variance && f < size; f++) {
            for (int64_t k = 0; k < C; k++)
                cells_add_squares(n, p->d[(first + f) * C + k], s->T + f * n, s->S + k * r->n + at);
            if (is_augmented(p)) cells_add_squares(n, 1, s->T + f * n, s->squares + at);
        }
    }
    return true;
}

/* Cells begin, begin + step, ... in handfuls. */
static bool add_cells(const qsgp_posterior *p, const cell_rows *r, bool variance, int64_t begin, int64_t step,
                      const sums *s)
{
    cells_hand h = {0};
    int64_t list[HAND];
    bool ok = !ANYGP_FAILED(cells_hand_open(&h, &p->cells, p->base.kernel, NULL));
    for (int64_t first = begin * HAND; ok && first < p->cells.count; first += step * HAND) {
        int64_t count = p->cells.count - first < HAND ? p->cells.count - first : HAND;
        for (int64_t i = 0; i < count; i++) list[i] = first + i;
        ok = !ANYGP_FAILED(cells_hand_take(&h, count, list, NULL));
        for (int64_t i = 0; ok && i < count; i++) ok = add_cell(p, &h, i, r, variance, s);
    }
    cells_hand_clear(&h);
    return ok;
}

/* All cells, over threads; the sums are those of the first. */
static bool add_all(const qsgp_posterior *p, const cell_rows *r, bool variance, double *room, int threads)
{
    int64_t n = r->n, size = sum_size(p, n), each = size + cells_piece(p->cells.kind, n) * p->cells.width;
    bool ok = true;
    memset(room, 0, (size_t)(threads * each) * sizeof *room);
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : ok) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        double *at = room + t * each;
        sums s = {at, at + n * p->V, at + n * (p->V + p->base.latents), at + size};
        ok = add_cells(p, r, variance, t, threads, &s) && ok;
    }
    la_serial_end(threads);
    for (int t = 1; t < threads; t++) la_axpy(size, 1, room + t * each, room);
    return ok;
}

/* Proposition 4. */
static void augment(const qsgp_posterior *p, const cell_rows *r, const double *squares, double *variance)
{
    double noise = p->base.noise + kernel_white(p->base.kernel);
    for (int64_t i = 0; i < r->n; i++) {
        double k;
        kernel_diag(p->base.kernel, 1, r->X + i * r->D, r->D, &k);
        double below = squares[i] + noise * k;
        if (below > 0) variance[i] += noise * k * k / below;
    }
}

static bool piece(const qsgp_posterior *p, int64_t n, int64_t all, const double *X, int64_t ldx, int threads,
                  double *mean, double *variance)
{
    int64_t D = p->cells.D, C = p->base.latents;
    int64_t each = sum_size(p, n) + cells_piece(p->cells.kind, n) * p->cells.width;
    double *XT = mem_doubles(n, 2 * D), *room = mem_doubles(threads, each), *own = XT ? XT + n * D : NULL;
    bool ok = XT && room;
    for (int64_t i = 0; ok && i < n; i++)
        for (int64_t d = 0; d < D; d++) XT[i + d * n] = own[i * D + d] = X[i * ldx + d];
    cell_rows r = {n, D, own, XT, n};
    ok = ok && add_all(p, &r, variance != NULL, room, threads);
    for (int64_t c = 0; ok && c < C; c++) {
        const double *F = room + c * (1 + p->K) * n, *S = room + n * (p->V + c);
        memcpy(mean + c * all, F, (size_t)n * sizeof *mean);
        for (int64_t i = 0; variance && i < n; i++) {
            variance[c * all + i] = S[i];
            for (int64_t k = 1; k <= p->K; k++) variance[c * all + i] += F[i + k * n] * F[i + k * n];
        }
        if (variance && is_augmented(p)) augment(p, &r, room + n * (p->V + C), variance + c * all);
    }
    free(XT);
    free(room);
    return ok;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const qsgp_posterior *p = (const qsgp_posterior *)base;
    int threads = threads_for((double)n * (double)p->cells.m * 10);
    (void)work;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t rows = n - i < PIECE ? n - i : PIECE;
        if (!piece(p, rows, n, X + i * ldx, ldx, threads, mean + i, variance ? variance + i : NULL))
            return fail_memory(e, "the basis functions", 8.0 * (double)(rows * p->cells.width));
    }
    return ANYGP_OK;
}

/* cov += T D T' of a cell, T[n,size], which is used up. */
static void add_covariance(const qsgp_posterior *p, int64_t cell, int64_t n, double *T, double *U, double *covariance,
                           int64_t ldc)
{
    int64_t first = cell_first(&p->cells, cell), size = cell_size(&p->cells, cell), C = p->base.latents;
    for (int64_t c = 0; c < C; c++) {
        for (int64_t f = 0; f < size; f++) {
            memcpy(U + f * n, T + f * n, (size_t)n * sizeof *U);
            la_scale(n, sqrt(p->d[(first + f) * C + c]), U + f * n);
        }
        la_syrk(LA_N, n, size, 1, U, n, 1, covariance + c * ldc * n, ldc);
    }
}

static anygp_status joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e)
{
    const qsgp_posterior *p = (const qsgp_posterior *)base;
    int64_t D = p->cells.D, C = base->latents;
    double *XT = mem_doubles(n, 2 * D), *own = XT ? XT + n * D : NULL, *T = mem_doubles(n, 2 * p->cells.width),
           *F = mem_doubles(n, p->V + 2 * C), *U = T ? T + n * p->cells.width : NULL;
    cells_hand h = {0};
    anygp_status status = ANYGP_OK;
    (void)work;
    if (!XT || !T || !F) TRY_DONE(fail_memory(e, "the basis functions", 8.0 * (double)(n * p->cells.width)));
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < n; j++) memset(covariance + c * ldc * n + j * ldc, 0, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++) XT[i + d * n] = own[i * D + d] = X[i * ldx + d];
    memset(F, 0, (size_t)(n * p->V) * sizeof *F);
    TRY_DONE(cells_hand_open(&h, &p->cells, base->kernel, e));
    cell_rows r = {n, D, own, XT, n};
    for (int64_t cell = 0; cell < p->cells.count; cell++) {
        int64_t size = cell_size(&p->cells, cell), first = cell_first(&p->cells, cell);
        TRY_DONE(cells_hand_take(&h, 1, &cell, e));
        if (!cells_fill(&h, 0, &r, T, n)) TRY_DONE(fail_memory(e, "kernel tiles", 0));
        la_gemm(LA_N, LA_T, n, p->V, size, 1, T, n, p->v + first * p->V, p->V, 1, F, n);
        add_covariance(p, cell, n, T, U, covariance, ldc);
    }
    for (int64_t c = 0; c < C && p->K; c++)
        la_syrk(LA_N, n, p->K, 1, F + (c * (1 + p->K) + 1) * n, n, 1, covariance + c * ldc * n, ldc);
    for (int64_t c = 0; c < C; c++) memcpy(mean + c * n, F + c * (1 + p->K) * n, (size_t)n * sizeof *mean);
    if (is_augmented(p)) { /* what augments is on the diagonal alone: marginals have it */
        double *m = F + n * p->V, *variance = m + n * C;
        TRY_DONE(marginal(base, n, X, ldx, NULL, m, variance, e));
        for (int64_t c = 0; c < C; c++)
            for (int64_t i = 0; i < n; i++) covariance[c * ldc * n + i * (ldc + 1)] = variance[c * n + i];
    }
done:
    cells_hand_clear(&h);
    free(XT);
    free(T);
    free(F);
    return status;
}

/* ----------------------------------------------------------------------------------------------- arrays */

static void write_head(qsgp_posterior *p)
{
    const cells *c = &p->cells;
    const double head[HEAD] = {(double)c->kind,
                               (double)c->width,
                               (double)(c->seed >> 32),
                               (double)(uint32_t)c->seed,
                               c->orthogonal,
                               (double)p->K,
                               p->rows,
                               1};
    memcpy(p->head, head, sizeof head);
}

static void arrays(posterior *base, array_list *list)
{
    qsgp_posterior *p = (qsgp_posterior *)base;
    array_list_add(list, (named_array){"weights", p->V, p->cells.m, p->v, false});
    array_list_add(list, (named_array){"variances", base->latents, p->cells.m, p->d, false});
    array_list_add(list, (named_array){"basis", HEAD, 1, p->head, false});
    if (p->Z) array_list_add(list, (named_array){"Z", p->cells.D, p->cells.m, p->Z, false});
    if (p->s) array_list_add(list, (named_array){"s", base->latents, p->cells.m, p->s, false});
}

/* One function stays where all are out. */
static int64_t vectors(const posterior *base, const double **X, const double **s, const double **m)
{
    const qsgp_posterior *p = (const qsgp_posterior *)base;
    *X = p->Z, *s = p->s, *m = p->mu;
    return p->s[0] < QSRVM_OUT ? p->cells.m : 0;
}

static const posterior_ops qsgp_posterior_ops = {
    .work_doubles = work_doubles, .marginal = marginal, .joint = joint, .arrays = arrays, .free = posterior_free};
static const posterior_ops relevance_posterior_ops = {.work_doubles = work_doubles,
                                                      .marginal = marginal,
                                                      .joint = joint,
                                                      .arrays = arrays,
                                                      .free = posterior_free,
                                                      .vectors = vectors};

/* -------------------------------------------------------------------------------------------------- new */

/* Where there are precisions: kernels of one latent are relevance vectors. */
static anygp_status know_vectors(qsgp_posterior *p, anygp_error *e)
{
    if (!p->s || !p->Z || p->base.latents != 1) return ANYGP_OK;
    p->mu = mem_alloc(p->cells.m, sizeof *p->mu);
    if (!p->mu) return fail_memory(e, "the posterior", 8.0 * (double)p->cells.m);
    for (int64_t j = 0; j < p->cells.m; j++) p->mu[j] = p->v[j * p->V];
    p->base.ops = &relevance_posterior_ops;
    return ANYGP_OK;
}

/* Of target t: a weight with a precision of its own that pins it to 0, s above 1e4 (002, appendix I.3) in units in which the targets have mean
   square 1 and the largest value of the function is 1. */
static bool is_out(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t c)
{
    static const double MOST = 1e4;
    double peak = q->cells.kind == CELLS_KERNEL ? cells_prior(h, slot, f) : sqrt(cells_scale(h, slot, f));
    return q->s && qsgp_prior(q, h, slot, f, c) * q->power[c] > MOST * peak * peak;
}

/* Function f of a cell becomes function `to`. */
static void copy_function(const qsgp *q, const cells_hand *h, int64_t slot, int64_t f, int64_t t, int64_t to,
                          qsgp_posterior *p)
{
    int64_t C = p->base.latents, V = p->V, D = q->cells.D, from = cell_first(&q->cells, h->cell[slot]) + f;
    memcpy(p->v + to * V, q->v + from * q->V + t * V, (size_t)V * sizeof *p->v);
    if (p->Z && D) memcpy(p->Z + to * D, q->cells.Z + from * D, (size_t)D * sizeof *p->Z);
    for (int64_t c = 0; c < C; c++) {
        p->d[to * C + c] = qsgp_diagonal(q, h, slot, f, t * C + c);
        if (p->s) p->s[to * C + c] = q->s[from * q->C + t * C + c];
        if (!is_out(q, h, slot, f, t * C + c)) continue;
        p->d[to * C + c] = 0, p->s[to * C + c] = QSRVM_OUT;
        memset(p->v + to * V + c * (1 + p->K), 0, (size_t)(1 + p->K) * sizeof *p->v);
    }
}

/* Those that are in, for kernels; one of them at least.  Waves are known by their numbers, and all stay. */
static int64_t copy_cell(const qsgp *q, const cells_hand *h, int64_t t, int64_t to, qsgp_posterior *p)
{
    int64_t size = cell_size(&q->cells, h->cell[0]), C = p->base.latents;
    bool last = h->cell[0] == q->cells.count - 1;
    for (int64_t f = 0; f < size; f++) {
        bool in = !q->s || cells_are_waves(q->cells.kind) || (last && f == size - 1 && to == 0);
        for (int64_t c = 0; c < C; c++) in = in || !is_out(q, h, 0, f, t * C + c);
        if (in) copy_function(q, h, 0, f, t, to++, p);
    }
    return to;
}

static anygp_status copy_parameters(const qsgp *q, const kernel *k, int64_t t, qsgp_posterior *p, anygp_error *e)
{
    cells_hand h = {0};
    anygp_status status = ANYGP_OK;
    TRY_DONE(cells_hand_open(&h, &q->cells, k, e));
    p->cells.m = 0;
    for (int64_t cell = 0; cell < q->cells.count; cell++) {
        TRY_DONE(cells_hand_take(&h, 1, &cell, e));
        p->cells.m = copy_cell(q, &h, t, p->cells.m, p);
    }
    p->base.n = p->cells.m, p->cells.count = (p->cells.m + p->cells.width - 1) / p->cells.width;
    status = know_vectors(p, e);
done:
    cells_hand_clear(&h);
    return status;
}

static anygp_status make(const cells *c, int64_t latents, int64_t K, double noise, qsgp_posterior **out, anygp_error *e)
{
    qsgp_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &qsgp_posterior_ops, .noise = noise, .D = c->D, .n = c->m, .latents = latents};
    p->cells = *c, p->cells.Z = NULL, p->K = K, p->V = latents * (1 + K), p->release = free;
    *out = p;
    return ANYGP_OK;
}

anygp_status qsgp_posterior_new(const qsgp *q, const hyper *h, int64_t t, posterior **out, anygp_error *e)
{
    qsgp_posterior *p = NULL;
    anygp_status status;
    TRY_DONE(make(&q->cells, q->each, q->K, q->gaussian ? h->like[t] : 0, &p, e));
    p->rows = q->N, p->release = mapped_free;
    TRY_DONE(mapped_doubles(q->on_disk, q->cells.m, p->V, "the posterior", &p->v, e));
    TRY_DONE(mapped_doubles(q->on_disk, q->cells.m, q->each, "the posterior", &p->d, e));
    if (q->cells.Z) TRY_DONE(mapped_doubles(q->on_disk, q->cells.m, q->cells.D, "the posterior", &p->Z, e));
    if (q->s) TRY_DONE(mapped_doubles(q->on_disk, q->cells.m, q->each, "the posterior", &p->s, e));
    p->cells.Z = p->Z;
    p->base.kernel = kernel_copy(h->kernel);
    if (!p->base.kernel) TRY_DONE(fail_memory(e, "the posterior", 0));
    TRY_DONE(copy_parameters(q, h->kernel, t, p, e));
    write_head(p);
done:
    if (ANYGP_FAILED(status))
        posterior_free((posterior *)p);
    else
        *out = &p->base;
    return status;
}

/* ------------------------------------------------------------------------------------------ from a file */

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE,
                     "the model file's array 'basis' does not describe basis functions; it is damaged");
}

static const qsgp_kind *kind_of(const model_ops *m) { return m->family; }

static bool is_whole(double x, double least, double most) { return x >= least && x <= most && x == floor(x); }

static anygp_status read_head(const named_array *head, int64_t m, int64_t D, cells *c, double *K, double *rows,
                              anygp_error *e)
{
    TRY(named_array_check(head, HEAD, 1, e));
    const double *x = head->values;
    bool hadamard = x[0] == CELLS_HADAMARD;
    double least = hadamard ? (double)cells_width(CELLS_HADAMARD, D, m) : 1, most = hadamard ? least : CELL_WIDTH;
    if (!is_whole(x[0], 0, CELLS_HADAMARD) || !is_whole(x[1], least, most) || !is_whole(x[2], 0, UINT32_MAX) ||
        !is_whole(x[3], 0, UINT32_MAX) || !is_whole(x[4], 0, 1) || !is_whole(x[5], 0, INT32_MAX) || !(x[6] >= 0) ||
        x[7] != 1 || (x[0] != CELLS_KERNEL && (m % 2 || fmod(x[1], 2) > 0)))
        return damaged(e);
    *c = (cells){.kind = (cells_kind)x[0],
                 .m = m,
                 .D = D,
                 .width = (int64_t)x[1],
                 .seed = (uint64_t)x[2] << 32 | (uint64_t)x[3],
                 .orthogonal = x[4] > 0};
    c->count = (m + c->width - 1) / c->width;
    *K = x[5], *rows = x[6];
    return ANYGP_OK;
}

anygp_status qsgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e)
{
    named_array *v = named_array_need(list, count, "weights", e),
                *d = v ? named_array_need(list, count, "variances", e) : NULL,
                *head = d ? named_array_need(list, count, "basis", e) : NULL, *Z = NULL,
                *s = kind_of(self)->relevance && head ? named_array_need(list, count, "s", e) : NULL;
    qsgp_posterior *p = NULL;
    cells c;
    cells_hand h = {0};
    double K = 0, rows = 0;
    anygp_status status;
    if (!head || (kind_of(self)->relevance && !s)) return ANYGP_ERR_FILE;
    int64_t m = d->cols;
    if (m < 1 || d->rows < 1) return damaged(e);
    TRY(read_head(head, m, D, &c, &K, &rows, e));
    TRY(named_array_check(v, d->rows * (1 + (int64_t)K), m, e));
    if (c.kind == CELLS_KERNEL) {
        if (!(Z = named_array_need(list, count, "Z", e))) return ANYGP_ERR_FILE;
        TRY(named_array_check(Z, D, m, e));
    }
    if (s) TRY(named_array_check(s, d->rows, m, e));
    for (int64_t i = 0; i < m * d->rows; i++)
        if (!(d->values[i] >= 0) || (s && !(s->values[i] > 0))) return damaged(e);
    TRY_DONE(make(&c, d->rows, (int64_t)K, noise, &p, e));
    TRY_DONE(cells_hand_open(&h, &c, k, e)); /* the kernel has such functions */
    TRY_DONE(basis_copy(mean, &p->base.mean, e));
    p->v = named_array_take(v), p->d = named_array_take(d), p->rows = rows;
    if (Z) p->cells.Z = p->Z = named_array_take(Z);
    if (s) p->s = named_array_take(s);
    TRY_DONE(know_vectors(p, e));
    p->base.kernel = k;
    write_head(p);
    basis_clear(mean);
done:
    cells_hand_clear(&h);
    if (ANYGP_FAILED(status))
        posterior_free((posterior *)p);
    else
        *out = &p->base;
    return status;
}
