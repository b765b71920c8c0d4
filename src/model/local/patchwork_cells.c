/* Cells of patchwork: their sums, the head, and the reverse (patchwork.h). */
#include "model/local/patchwork_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

/* --------------------------------------------------------------------------------------------- sums */

static int64_t stat_size(const void *shared) { return 1 + patches_places(shared) * (1 + 2 * patches_places(shared)); }
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
    int64_t q = patches_places(p), m = c.m;
    double value, *S = patches_S(p, out), *C = patches_C(p, out), *t = patches_t(p, out);
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
    int64_t q = patches_places(p), m = c->m;
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
static bool rows_adjoints(const cell *c, const double *x)
{
    int64_t n = c->n, m = c->m;
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
        if (n > 0 && !rows_adjoints(&c, x))
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of a cell has no inverse");
        if (n > 0 && !ANYGP_FAILED(status)) *dnoise += expert_diagonal_adjoint(&p->c, n, b->w, c.G);
        if (n > 0)
            ok = ok && kernel_gram_sym_reverse(k, n, b->X, D, c.G, n, adjoint, NULL, 0) &&
                 kernel_gram_reverse(k, n, b->X, D, m, c.X, D, c.Kb, n, adjoint, NULL, 0, NULL, 0);
        if (!ANYGP_FAILED(status) && !ok) status = fail_memory(e, "kernel tiles", 0);
    }
    free(x);
    return status;
}

const block_model patches_model = {.stat_size = stat_size,
                                   .adjoint_size = adjoint_size,
                                   .work_doubles = work_doubles,
                                   .work = work,
                                   .stat = stat,
                                   .reverse = reverse};

/* ---------------------------------------------------------------------------------------------- head */

/* From the factor of A to g A^-1 in both triangles. */
static bool inverse_times(int64_t q, double g, double *A)
{
    if (la_potri(q, A, q) != 0) return false;
    for (int64_t j = 0; j < q; j++)
        for (int64_t i = j; i < q; i++) A[i + j * q] = A[j + i * q] = g * A[i + j * q];
    return true;
}

bool patches_head(patches *p, double *sums, bool gradient, double *value)
{
    int64_t q = patches_places(p);
    double *S = patches_S(p, sums), *C = patches_C(p, sums), *a = p->tbar, mean = 0, trace = 0;
    *value = 0;
    if (q == 0) return true;
    for (int64_t i = 0; i < q; i++) mean += C[i + i * q] / (double)q;
    if (!patch_factor(q, p->c.jitter, mean, S) || !patch_factor(q, p->c.jitter, mean, C)) return false;
    memcpy(a, patches_t(p, sums), (size_t)q * sizeof *a);
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
