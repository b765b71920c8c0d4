/* PIC's test conditional: a row is predicted from v and from the training rows of its block (000, eq. 84).  With the
   residual kernel r(x, x') = k(x, x') - a'a' and, in the block, G = r + noise = L_G L_G':
       s = L_G^-1 r(X_b, x),   c = a - A_b G^-1 r(X_b, x)
       f(x) | v, y_b  ~  N(c'v + s'L_G^-1 y_b,  r(x,x) - s's)
   and rows of different blocks are independent given v.  Along a chain of blocks (lma.c) X_b are the rows of a block and of some on
   either side of it, which stand one after the other.  K_ub and L^-T a make r without a solve per block; L_G of a block is
   computed when a row first needs it, and kept: in memory while there is room, then in the pages of a scratch file (base/mapped.h).
   Where there is no room for that either it is computed again. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_posterior.h"

struct pic_rows {
    int64_t n, D, blocks;
    double *X, *y, *w; /* n x D row-major, n, n: block after block */
    double *start;     /* blocks + 1 */
    double *ids;       /* blocks: the user's names of them */
    router *route;
    int64_t order;             /* blocks on either side that count too */
    double *place;             /* blocks: of each in the chain; NULL: 0, 1, ... */
    _Atomic(double *) *factor; /* of each block, mapped: L_G (n x n), then L_G^-1 y; NULL: not yet */
    double room;               /* bytes left for those in memory, */
    double making;             /* and bytes for what predictions work with */
    int64_t files;             /* scratch files of the others */
};

/* One part in FACTOR_SHARE of the memory is for factors, and one for those that are being made.  Each scratch file is a mapping, of which a
   process may have 65530.  A visit works on PIECE rows at a time. */
enum { FACTOR_SHARE = 4, FILES_MOST = 16384, PIECE = 256 };

void pic_rows_free(pic_rows *r)
{
    if (!r) return;
    for (int64_t b = 0; r->factor && b < r->blocks; b++) mapped_free(r->factor[b]);
    free(r->factor);
    free(r->X);
    free(r->y);
    free(r->w);
    free(r->start);
    free(r->ids);
    free(r->place);
    router_free(r->route);
    free(r);
}

static int64_t start_of(const pic_rows *r, int64_t b) { return (int64_t)r->start[b]; }

int64_t pic_rows_place(const pic_rows *r, int64_t block)
{
    return r->place && block < r->blocks ? (int64_t)r->place[block] : block;
}

/* The rows that a row of block b is predicted from: the first, and how many. */
static int64_t first_of(const pic_rows *r, int64_t b)
{
    int64_t at = pic_rows_place(r, b);
    return start_of(r, at > r->order ? at - r->order : 0);
}

static int64_t rows_of(const pic_rows *r, int64_t b)
{
    int64_t end = pic_rows_place(r, b) + r->order + 1;
    return start_of(r, end < r->blocks ? end : r->blocks) - first_of(r, b);
}

static anygp_status finish_rows(pic_rows *r, anygp_error *e)
{
    r->factor = mem_zeroed(r->blocks, sizeof *r->factor);
    r->room = r->making = (double)memory_available() / FACTOR_SHARE;
    return r->factor ? ANYGP_OK : fail_memory(e, "the blocks", 8.0 * (double)r->blocks);
}

void pic_rows_limit(pic_rows *r, double memory)
{
    r->room = fmin(r->room, memory / FACTOR_SHARE);
    r->making = fmin(r->making, memory / FACTOR_SHARE);
}

/* ---------------------------------------------------------------------------------- from row_blocks */

anygp_status pic_rows_new(row_blocks *b, const router *route, const int64_t *ids, pic_rows **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    gathered_rows g;
    pic_rows *r = calloc(1, sizeof *r);
    if (!r) return fail_memory(e, "the blocks", sizeof *r);
    r->D = b->D, r->blocks = b->count;
    TRY_DONE(blocks_gather(b, "the training rows, which pic keeps", &g, e));
    r->n = g.n, r->X = g.X, r->y = g.y, r->w = g.w, r->start = g.start;
    if (!(r->ids = mem_alloc(b->count, sizeof *r->ids))) {
        status = fail_memory(e, "the blocks", 8.0 * (double)b->count);
        goto done;
    }
    for (int64_t i = 0; i < b->count; i++) r->ids[i] = (double)(ids ? ids[i] : i);
    TRY_DONE(router_copy(route, &r->route, e));
    TRY_DONE(finish_rows(r, e));
done:
    if (ANYGP_FAILED(status))
        pic_rows_free(r);
    else
        *out = r;
    return status;
}

anygp_status pic_rows_chain(pic_rows *r, int64_t order, const int64_t *chain, anygp_error *e)
{
    if (!(r->place = mem_alloc(r->blocks, sizeof *r->place)))
        return fail_memory(e, "the blocks", 8.0 * (double)r->blocks);
    for (int64_t i = 0; i < r->blocks; i++) r->place[chain[i]] = (double)i;
    r->order = order;
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- from a file */

void pic_arrays(pic_rows *r, array_list *list)
{
    int64_t rows, cols;
    double *route = (double *)router_values(r->route, &rows, &cols);
    array_list_add(list, (named_array){"X", r->D, r->n, r->X, false});
    array_list_add(list, (named_array){"y", r->n, 1, r->y, false});
    array_list_add(list, (named_array){"w", r->n, 1, r->w, false});
    array_list_add(list, (named_array){"start", r->blocks + 1, 1, r->start, false});
    array_list_add(list, (named_array){"ids", r->blocks, 1, r->ids, false});
    array_list_add(list, (named_array){"router", rows, cols, route, false});
    if (r->place) array_list_add(list, (named_array){"place", r->blocks, 1, r->place, false});
}

int64_t pic_blocks(const pic_rows *r, const double **names)
{
    *names = r->ids;
    return r->blocks;
}

static bool names_make_sense(const named_array *ids)
{
    int64_t name;
    for (int64_t b = 0; b < ids->rows; b++)
        if (!block_name_of(ids->values[b], &name)) return false;
    return true;
}

/* Every place of the chain once. */
static bool is_chain(int64_t P, const double *place)
{
    bool *taken = mem_zeroed(P, sizeof *taken), ok = taken != NULL;
    for (int64_t b = 0; ok && b < P; b++) {
        ok = place[b] >= 0 && place[b] < (double)P && place[b] == floor(place[b]) && !taken[(int64_t)place[b]];
        if (ok) taken[(int64_t)place[b]] = true;
    }
    free(taken);
    return ok;
}

static anygp_status take_chain(pic_rows *r, int64_t order, named_array *list, int64_t count, anygp_error *e)
{
    if (order == 0) return ANYGP_OK;
    named_array *a = named_array_need(list, count, "place", e);
    if (!a) return ANYGP_ERR_FILE;
    TRY(named_array_check(a, r->blocks, 1, e));
    if (!is_chain(r->blocks, a->values))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's chain of blocks is not one; it is damaged");
    r->order = order, r->place = named_array_take(a);
    return ANYGP_OK;
}

anygp_status pic_load(int64_t D, int64_t order, named_array *list, int64_t count, pic_rows **out, anygp_error *e)
{
    static const char *const names[] = {"X", "y", "w", "start", "ids", "router"};
    named_array *a[6];
    for (int i = 0; i < 6; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[0]->cols, P = a[3]->rows - 1;
    if (a[0]->rows != D || a[1]->rows != n || a[1]->cols != 1 || a[2]->rows != n || a[2]->cols != 1 || P < 1 ||
        a[3]->cols != 1 || a[4]->rows != P || a[4]->cols != 1 || !names_make_sense(a[4]) ||
        !blocks_make_sense(P, a[3]->values, n, a[2]->values))
        return fail_with(e, ANYGP_ERR_FILE, "the model file's blocks of rows do not fit together; it is damaged");
    router *route = NULL;
    TRY(router_from_values(a[5]->rows, a[5]->cols, a[5]->values, D, &route, e));
    pic_rows *r = calloc(1, sizeof *r);
    if (!r || router_blocks(route) != P) {
        router_free(route);
        free(r);
        return r ? fail_with(e, ANYGP_ERR_FILE, "the model file's blocks and its router to them differ; it is damaged")
                 : fail_memory(e, "the blocks", sizeof *r);
    }
    *r = (pic_rows){.n = n, .D = D, .blocks = P, .route = route};
    anygp_status status = finish_rows(r, e);
    if (!ANYGP_FAILED(status)) status = take_chain(r, order, list, count, e);
    if (ANYGP_FAILED(status)) return pic_rows_free(r), status;
    r->X = a[0]->values, r->y = a[1]->values, r->w = a[2]->values, r->start = a[3]->values;
    r->ids = a[4]->values;
    for (int i = 0; i < 5; i++) a[i]->values = NULL;
    *out = r;
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------- for updates */

anygp_status pic_rows_blocks(const pic_rows *r, row_blocks **out, anygp_error *e)
{
    int64_t *start = mem_alloc(r->blocks + 1, sizeof *start);
    if (!start) return fail_memory(e, "the blocks", 8.0 * (double)r->blocks);
    for (int64_t b = 0; b <= r->blocks; b++) start[b] = start_of(r, b);
    anygp_status status = blocks_of_arrays(r->blocks, start, r->D, 1, r->X, r->y, r->w, out, e);
    free(start);
    return status;
}

const router *pic_rows_router(const pic_rows *r) { return r->route; }

/* ---------------------------------------------------------------------------------- prediction */

/* Rows of one block among those to predict: places in the batch. */
typedef struct visit {
    int64_t block, count;
    const int64_t *row;
} visit;

/* G of a block from its features A (Mt x nb), factored in place, then L_G^-1 y after it. */
static bool factor_block(const sparse_posterior *p, int64_t b, double *G)
{
    const pic_rows *r = p->rows;
    const posterior *q = &p->base;
    int64_t n = rows_of(r, b), at = first_of(r, b);
    const double *X = r->X + at * r->D;
    double white = kernel_white(q->kernel), noise = q->noise + white, *A = mem_doubles(p->Mt, n), *y = G + n * n;
    bool ok = A && !ANYGP_FAILED(basis_features(&p->u, &q->mean, n, X, q->D, A, A + q->n, NULL)) &&
              kernel_gram_sym(q->kernel, n, X, q->D, G, n);
    if (ok) {
        for (int64_t j = 0; j < n; j++) G[j + j * n] += noise / r->w[at + j] - white;
        la_syrk(LA_T, n, q->n, -1, A, p->Mt, 1, G, n);
        ok = la_factor(n, G, n);
        memcpy(y, r->y + at, (size_t)n * sizeof *y);
        if (ok) la_trsv(LA_N, n, G, n, y);
    }
    free(A);
    return ok;
}

const router *pic_rows_all(const pic_rows *r, int64_t *n, const double **X)
{
    *n = r->n, *X = r->X;
    return r->route;
}

bool pic_rows_given(const sparse_posterior *p, int64_t b, int64_t *first, int64_t *n, double **factor)
{
    *first = first_of(p->rows, b), *n = rows_of(p->rows, b);
    *factor = mem_doubles(*n, *n + 1);
    if (*factor && factor_block(p, b, *factor)) return true;
    free(*factor);
    return *factor = NULL, false;
}

/* Whether another factor goes to memory; then its bytes are taken. */
static bool take_room(pic_rows *r, double bytes)
{
    double left;
#pragma omp atomic capture
    left = r->room -= bytes;
    if (left >= 0) return true;
#pragma omp atomic
    r->room += bytes;
    return false;
}

/* Room for n x (n + 1) of a block, to be kept; NULL: nowhere. */
static double *place_of_factor(pic_rows *r, int64_t n)
{
    double *G = NULL;
    int64_t files;
    bool here = take_room(r, 8.0 * (double)n * (double)(n + 1));
    if (!here) {
#pragma omp atomic capture
        files = r->files++;
        if (files >= FILES_MOST) return NULL;
    }
    mapped_doubles(!here, n, n + 1, "the blocks", &G, NULL);
    return G;
}

/* The factor of a block, kept or in a place that the caller frees (*own).  Another prediction at the same time may make it too: the first
   is kept. */
static const double *factor_of(const sparse_posterior *p, int64_t b, double **own)
{
    pic_rows *r = p->rows;
    int64_t n = rows_of(r, b);
    double *there = atomic_load(&r->factor[b]);
    *own = NULL;
    if (there) return there;
    double *kept = place_of_factor(r, n), *G = kept ? kept : mem_doubles(n, n + 1);
    if (!G || !factor_block(p, b, G)) return kept ? mapped_free(kept) : free(G), NULL;
    if (!kept) return *own = G;
    if (atomic_compare_exchange_strong(&r->factor[b], &there, kept)) return kept;
    mapped_free(kept);
    return there;
}

/* Where the results of all visits go. */
typedef struct correction {
    const sparse_posterior *p;
    const double *X;
    int64_t ldx;
    double *A, *mean, *variance, *cov;
    int64_t ldc;
} correction;

static void gather(const correction *c, const visit *v, double *Xv, double *Av)
{
    int64_t D = c->p->base.D, Mt = c->p->Mt;
    for (int64_t j = 0; j < v->count; j++) {
        memcpy(Xv + j * D, c->X + v->row[j] * c->ldx, (size_t)D * sizeof(double));
        memcpy(Av + j * Mt, c->A + v->row[j] * Mt, (size_t)Mt * sizeof(double));
    }
}

/* r(x, x') - s's' of the visit's rows, to the variances or the covariances.  K: workspace, count^2. */
static bool leftovers(const correction *c, const visit *v, int64_t nb, const double *Xv, const double *Av,
                      const double *s, double *K)
{
    const posterior *q = &c->p->base;
    int64_t t = v->count, Mt = c->p->Mt;
    if (c->variance) {
        kernel_diag(q->kernel, t, Xv, q->D, K);
        for (int64_t j = 0; j < t; j++)
            c->variance[v->row[j]] =
                fmax(K[j] - la_dot(q->n, Av + j * Mt, Av + j * Mt) - la_dot(nb, s + j * nb, s + j * nb), 0);
    }
    if (!c->cov) return true;
    if (!kernel_gram_sym(q->kernel, t, Xv, q->D, K, t)) return false;
    la_syrk(LA_T, t, q->n, -1, Av, Mt, 1, K, t);
    if (nb) la_syrk(LA_T, t, nb, -1, s, nb, 1, K, t);
    for (int64_t j = 0; j < t; j++) {
        K[j + j * t] -= kernel_white(q->kernel);
        for (int64_t i = j; i < t; i++) { /* rows of a visit are in increasing order: the lower triangle stays one */
            c->cov[v->row[i] + v->row[j] * c->ldc] = K[i + j * t];
        }
    }
    return true;
}

/* s[nb,t] = L_G^-1 r(X_b, x);  c = a - A_b G^-1 r in place of a. */
static bool condition(const correction *c, const visit *v, const double *G, const double *Xv, double *Av, double *s,
                      double *work)
{
    const sparse_posterior *p = c->p;
    const posterior *q = &p->base;
    const pic_rows *r = p->rows;
    int64_t nb = rows_of(r, v->block), t = v->count, M = q->n, Mt = p->Mt;
    const double *Xb = r->X + first_of(r, v->block) * r->D;
    double *Kub = work, *C = Kub + Mt * nb, *g = C + Mt * t; /* K_ub over sqrt(B) h, L^-T a, G^-1 r */
    if (!p->u.ops->cross(&p->u, nb, Xb, q->D, Kub, Mt)) return false;
    if (!kernel_gram(q->kernel, nb, Xb, q->D, t, Xv, q->D, s, nb)) return false;
    for (int64_t j = 0; j < t; j++) memcpy(C + j * M, Av + j * Mt, (size_t)M * sizeof(double));
    la_trsm(LA_LEFT, LA_T, M, t, 1, p->u.L, M, C, M);
    la_gemm(LA_T, LA_N, nb, t, M, -1, Kub, Mt, C, M, 1, s, nb);
    la_trsm(LA_LEFT, LA_N, nb, t, 1, G, nb, s, nb);
    memcpy(g, s, (size_t)(nb * t) * sizeof(double));
    la_trsm(LA_LEFT, LA_T, nb, t, 1, G, nb, g, nb);
    if (q->mean.p) basis_fill(&q->mean, nb, Xb, q->D, Kub + M, Mt, 1);
    for (int64_t j = 0; q->mean.p && j < nb; j++) la_scale(q->mean.p, sqrt(q->mean.B), Kub + M + j * Mt);
    la_gemm(LA_N, LA_N, Mt, t, nb, 1, Kub, Mt, g, nb, 0, C, Mt);
    la_trsm(LA_LEFT, LA_N, M, t, 1, p->u.L, M, C, Mt);
    for (int64_t j = 0; j < t; j++) la_axpy(Mt, -1, C + j * Mt, Av + j * Mt);
    return true;
}

/* Doubles that rows of a visit take besides the factor. */
static int64_t cells_of(const correction *c, int64_t nb, int64_t t)
{
    int64_t Mt = c->p->Mt, D = c->p->base.D;
    return t * (D + 2 * Mt + 2 * nb + (c->cov ? t : 1)) + Mt * (nb + t);
}

/* All that a visit takes, where its factor is not kept. */
static double bytes_of(const correction *c, const visit *v)
{
    int64_t nb = rows_of(c->p->rows, v->block), t = c->cov || v->count < PIECE ? v->count : PIECE;
    return 8 * ((double)nb * (double)(nb + 1 + c->p->Mt) + (double)cells_of(c, nb, t));
}

/* G: the factor of the block. */
static bool run_piece(const correction *c, const visit *v, const double *G, double *cells)
{
    const sparse_posterior *p = c->p;
    int64_t nb = rows_of(p->rows, v->block), t = v->count, Mt = p->Mt, D = p->base.D;
    double *Xv = cells, *Av = Xv + t * D, *s = Av + t * Mt, *K = s + t * nb, *work = K + t * (c->cov ? t : 1);
    double *before = work + Mt * (nb + t) + nb * t; /* a, which the leftovers still need */
    gather(c, v, Xv, Av);
    memcpy(before, Av, (size_t)(t * Mt) * sizeof(double));
    if (nb > 0 && !condition(c, v, G, Xv, Av, s, work)) return false;
    if (!leftovers(c, v, nb, Xv, before, s, K)) return false;
    for (int64_t j = 0; j < t; j++) {
        if (nb) c->mean[v->row[j]] = la_dot(nb, s + j * nb, G + nb * nb);
        memcpy(c->A + v->row[j] * Mt, Av + j * Mt, (size_t)Mt * sizeof(double));
    }
    return true;
}

/* Rows of one block: all at once where their covariances are asked for. */
static bool run_visit(const correction *c, const visit *v)
{
    int64_t nb = rows_of(c->p->rows, v->block), most = c->cov || v->count < PIECE ? v->count : PIECE;
    double *own = NULL, *cells = mem_doubles(1, cells_of(c, nb, most));
    const double *G = cells && nb ? factor_of(c->p, v->block, &own) : NULL;
    bool ok = cells && (G || nb == 0);
    for (int64_t i = 0; ok && i < v->count; i += most) {
        visit some = {v->block, v->count - i < most ? v->count - i : most, v->row + i};
        ok = run_piece(c, &some, G, cells);
    }
    free(cells);
    free(own);
    return ok;
}

/* Rows sorted by block: order[n], and the visits. */
static int64_t group_rows(int64_t n, int64_t P, const int64_t *block, int64_t *count, int64_t *order, visit *v)
{
    int64_t visits = 0;
    memset(count, 0, (size_t)(P + 1) * sizeof *count);
    for (int64_t i = 0; i < n; i++) count[block[i] + 1]++;
    for (int64_t b = 0; b < P; b++) {
        if (count[b + 1]) v[visits++] = (visit){b, count[b + 1], order + count[b]};
        count[b + 1] += count[b];
    }
    for (int64_t i = 0; i < n; i++) order[count[block[i]]++] = i;
    return visits;
}

/* As many visits at once as there are threads and memory for; each with one thread of its own, so that memory does not change the bits. */
static bool run_visits(const correction *c, int64_t visits, const visit *v)
{
    int failed = 0, threads = visits < threads_max() ? (int)visits : threads_max();
    double largest = 1;
    for (int64_t i = 0; i < visits; i++) largest = fmax(largest, bytes_of(c, &v[i]));
    int at_once = (int)fmax(1, fmin(threads, c->p->rows->making / largest));
    int former = threads > at_once && at_once == 1 ? threads_enter(1) : 0;
    la_serial_begin(threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(at_once) if (at_once > 1) reduction(+ : failed)
    for (int64_t i = 0; i < visits; i++) failed += !run_visit(c, &v[i]);
    if (former) threads_enter(former);
    la_serial_end(threads);
    return failed == 0;
}

anygp_status pic_correct(const sparse_posterior *p, int64_t n, const double *X, int64_t ldx, const int64_t *given,
                         double *A, double *mean, double *variance, double *cov, int64_t ldc, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    if (!p->rows)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "only rank 0 has the rows of a pic model that was fitted over several processes; use it there");
    int64_t P = p->rows->blocks, *block = mem_alloc(n, sizeof *block), *order = mem_alloc(n, sizeof *order);
    int64_t *count = mem_alloc(P + 1, sizeof *count);
    visit *v = mem_alloc(n < P ? n : P, sizeof *v);
    if (!block || !order || !count || !v) {
        status = fail_memory(e, "the blocks of the rows", 16.0 * (double)n);
        goto done;
    }
    if (!given) TRY_DONE(router_route(p->rows->route, n, X, ldx, block, e));
    correction c = {p, X, ldx, A, mean, variance, cov, ldc};
    if (!run_visits(&c, group_rows(n, P, given ? given : block, count, order, v), v))
        status = fail_with(e, ANYGP_ERR_NUMERIC,
                           "a block of training rows has no Cholesky factor, or there is not enough memory");
done:
    free(block);
    free(order);
    free(count);
    free(v);
    return status;
}
