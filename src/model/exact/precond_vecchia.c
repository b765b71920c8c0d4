/* Vecchia's factor as a preconditioner: P^-1 = U U' (local/vecchia.h; Schaefer, Katzfuss and Owhadi 2021).  Rows in maximin order; for row
   i and its nearest earlier rows N, with G the matrix of (N, i) in K + noise,
       g = G^-1 e_i,   gamma = g_i,   u_i = g / sqrt(gamma),          log|P| = -sum_i log gamma_i,   P = R R', R = U^-T.
   Reverse.  d(a'u_i u_i'b) with c = G^-1 a:  -[(g'b) g'dG c_a + (g'a) g'dG c_b] / gamma + (g'a)(g'b) g'dG g / gamma^2, and
       d sum_k u_k'P v_k = - sum_k sum_i d((P u_k)'u_i u_i'(P v_k)),     d log|P| = sum_i g'dG g / gamma.
   Over k pairs, c is needed of one combined vector only.
   Cost: n k^3 to make it, n k per vector. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/neighbours.h"
#include "data/neighbours/order.h"
#include "linalg/linalg.h"
#include "model/exact/precond_local.h"
#include "model/local/vecchia.h"

enum { NEAR = VECCHIA_NEAR };

struct precond_plan {
    int64_t n;
    int64_t *order;
    near_rows near;
};

static void clear(precond_plan *plan)
{
    if (!plan) return;
    free(plan->order);
    near_rows_clear(&plan->near);
    free(plan);
}

static anygp_status plan_lists(const precond_ops *self, const problem *p, const kernel *k, precond_plan **out,
                               anygp_error *e)
{
    (void)self;
    int64_t n = p->rows->n, d;
    near_metric by = vecchia_metric(k, n);
    precond_plan *plan = calloc(1, sizeof *plan);
    double *places = vecchia_places(k, n, p->rows->D, p->rows->X, &d);
    anygp_status status = plan && places && (plan->order = mem_alloc(n, sizeof *plan->order))
                              ? ANYGP_OK
                              : fail_memory(e, "the preconditioner", 8.0 * (double)n);
    if (status == ANYGP_OK) {
        plan->n = n;
        status = vecchia_order(p, n, d, places, &by, NULL, plan->order, e);
    }
    if (!ANYGP_FAILED(status))
        status = neighbours_in_order(n, d, places, &by, plan->order, NEAR, comm_self(), &plan->near, e);
    free(places);
    if (ANYGP_FAILED(status))
        clear(plan);
    else
        *out = plan;
    return status;
}

typedef struct sparse_factor {
    la_operator base;
    local_rows rows;
    const precond_plan *plan;
    double *u; /* (NEAR + 1) x n: for place i of the order, u at its neighbours, then at itself */
} sparse_factor;

static void sparse_free(la_operator *base)
{
    free(((sparse_factor *)base)->u);
    free(base);
}

/* The rows of list i, itself last; how many. */
static int64_t list_rows(const precond_plan *plan, int64_t i, int64_t *row)
{
    int64_t m = plan->near.count[i];
    for (int64_t j = 0; j < m; j++) row[j] = plan->order[plan->near.row[i * plan->near.k + j]];
    row[m] = plan->order[i];
    return m + 1;
}

/* L of G, and g = G^-1 e_last.  False: no memory or no factor. */
static bool find_column(const sparse_factor *a, int64_t m, const int64_t *row, double *X, double *G, double *g)
{
    if (!local_gram(&a->rows, m, row, X, G) || !la_factor(m, G, m)) return false;
    memset(g, 0, (size_t)m * sizeof *g);
    g[m - 1] = 1 / G[m * m - 1];
    la_trsv(LA_T, m, G, m, g);
    return true;
}

/* ----------------------------------------------------------------------------- one vector, v by rows */

/* u_i'v */
static double column_dot(const sparse_factor *a, int64_t i, const double *v)
{
    int64_t row[NEAR + 1], m = list_rows(a->plan, i, row);
    const double *u = a->u + i * (NEAR + 1);
    double sum = 0;
    for (int64_t j = 0; j < m; j++) sum += u[j] * v[row[j]];
    return sum;
}

static void column_add(const sparse_factor *a, int64_t i, double times, double *v)
{
    int64_t row[NEAR + 1], m = list_rows(a->plan, i, row);
    const double *u = a->u + i * (NEAR + 1);
    for (int64_t j = 0; j < m; j++) v[row[j]] += times * u[j];
}

static double pivot(const sparse_factor *a, int64_t i) { return a->u[i * (NEAR + 1) + a->plan->near.count[i]]; }

/* w = U^-T z: u_i'w = z_i, first places first; z by rows. */
static void forward(const sparse_factor *a, const double *z, double *w)
{
    for (int64_t i = 0; i < a->base.n; i++) {
        int64_t row = a->plan->order[i];
        w[row] = 0;
        double rest = column_dot(a, i, w), target = z[row];
        w[row] = (target - rest) / pivot(a, i);
    }
}

/* x = U^-1 v in place of v: last places first. */
static void backward(const sparse_factor *a, double *v)
{
    for (int64_t i = a->base.n - 1; i >= 0; i--) {
        int64_t row = a->plan->order[i];
        double x = v[row] / pivot(a, i);
        column_add(a, i, -x, v); /* also at itself, to 0 */
        v[row] = x;
    }
}

/* U U'r in place of r; room[n]. */
static void solve_one(const sparse_factor *a, double *r, double *room)
{
    for (int64_t i = 0; i < a->base.n; i++) room[i] = column_dot(a, i, r);
    memset(r, 0, (size_t)a->base.n * sizeof *r);
    for (int64_t i = 0; i < a->base.n; i++) column_add(a, i, room[i], r);
}

/* -------------------------------------------------------------------------------------- the operator */

static anygp_status solve(const la_operator *base, int64_t t, double *B, int64_t ldb, anygp_error *e)
{
    const sparse_factor *a = (const sparse_factor *)base;
    double *room = mem_doubles(base->n, t);
    if (!room) return fail_memory(e, "a solve", 8.0 * (double)(base->n * t));
#pragma omp parallel for schedule(static, 1)
    for (int64_t k = 0; k < t; k++) solve_one(a, B + k * ldb, room + k * base->n);
    free(room);
    return ANYGP_OK;
}

static anygp_status root(const la_operator *base, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e)
{
    const sparse_factor *a = (const sparse_factor *)base;
    (void)e;
#pragma omp parallel for schedule(static, 1)
    for (int64_t k = 0; k < t; k++) forward(a, Z + k * ldz, W + k * ldw);
    return ANYGP_OK;
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    const sparse_factor *a = (const sparse_factor *)base;
    double *room = mem_doubles(base->n, t);
    if (!room) return fail_memory(e, "a product", 8.0 * (double)(base->n * t));
#pragma omp parallel for schedule(static, 1)
    for (int64_t k = 0; k < t; k++) {
        memcpy(room + k * base->n, V + k * ldv, (size_t)base->n * sizeof *room);
        backward(a, room + k * base->n);
        forward(a, room + k * base->n, W + k * ldw);
    }
    free(room);
    return ANYGP_OK;
}

/* By columns: nobody needs it often. */
static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    double *one = mem_doubles(base->n, 1);
    anygp_status status = one ? ANYGP_OK : fail_memory(e, "a diagonal", 8.0 * (double)base->n);
    for (int64_t i = 0; status == ANYGP_OK && i < base->n; i++) {
        status = columns_by_products(base, 1, &i, one, base->n, e);
        if (status == ANYGP_OK) d[i] = one[i];
    }
    free(one);
    return status;
}

static double logdet(const la_operator *base)
{
    const sparse_factor *a = (const sparse_factor *)base;
    double sum = 0;
    for (int64_t i = 0; i < base->n; i++) sum -= 2 * log(pivot(a, i)); /* u_ii = sqrt(gamma) */
    return sum;
}

/* ------------------------------------------------------------------------------------------- reverse */

/* t pairs a = P u, b = P v, by rows; t = 0: log|P|. */
typedef struct adjoints {
    int64_t t;
    const double *a, *b; /* n x t */
    double scale;
} adjoints;

/* Of list i: Gbar, lower, from g and the factor L; s[m] is workspace. */
static void list_adjoint(const adjoints *q, int64_t n, int64_t m, const int64_t *row, const double *L, const double *g,
                         double *s, double *Gbar)
{
    double gamma = g[m - 1], square = 0;
    memset(s, 0, (size_t)m * sizeof *s);
    for (int64_t k = 0; k < q->t; k++) {
        const double *a = q->a + k * n, *b = q->b + k * n;
        double ga = 0, gb = 0;
        for (int64_t j = 0; j < m; j++) ga += g[j] * a[row[j]], gb += g[j] * b[row[j]];
        for (int64_t j = 0; j < m; j++) s[j] += gb * a[row[j]] + ga * b[row[j]];
        square += ga * gb;
    }
    if (q->t > 0) la_trsv(LA_N, m, L, m, s), la_trsv(LA_T, m, L, m, s);
    double own = q->t > 0 ? -square / (gamma * gamma) : 1 / gamma, cross = q->t > 0 ? 0.5 / gamma : 0;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = j; i < m; i++)
            Gbar[i + j * m] = q->scale * (own * g[i] * g[j] + cross * (g[i] * s[j] + s[i] * g[j]));
}

/* Every threads-th list. */
static bool reverse_share(const sparse_factor *a, const adjoints *q, int id, int threads, double *gp)
{
    enum { M = NEAR + 1 };
    int64_t row[M], n = a->base.n;
    double *X = mem_doubles(M, a->rows.rows->D + 2 * M + 2), *G = X + M * a->rows.rows->D, *Gbar = G + M * M,
           *g = Gbar + M * M, *s = g + M;
    bool ok = X != NULL;
    for (int64_t i = id; ok && i < n; i += threads) {
        int64_t m = list_rows(a->plan, i, row);
        ok = find_column(a, m, row, X, G, g);
        if (!ok) break;
        list_adjoint(q, n, m, row, G, g, s, Gbar);
        ok = local_reverse(&a->rows, m, row, X, Gbar, gp);
    }
    free(X);
    return ok;
}

static anygp_status reverse_all(const sparse_factor *a, const adjoints *q, double *gp, anygp_error *e)
{
    int threads = threads_max();
    int64_t params = kernel_count(a->rows.k) + 1;
    double *sums = mem_zeroed(threads * params, sizeof *sums);
    bool failed = !sums;
    if (!failed) {
        la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(|| : failed)
        for (int h = 0; h < threads; h++) failed = !reverse_share(a, q, h, threads, sums + h * params);
        la_serial_end(threads);
    }
    for (int h = 0; !failed && h < threads; h++) la_axpy(params, 1, sums + h * params, gp);
    free(sums);
    return failed ? fail_memory(e, "kernel tiles", 0) : ANYGP_OK;
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    int64_t n = base->n;
    double *PU = mem_doubles(n, t), *PV = mem_doubles(n, t);
    anygp_status status = PU && PV ? ANYGP_OK : fail_memory(e, "a gradient", 16.0 * (double)(n * t));
    if (status == ANYGP_OK) status = multiply(base, t, U, ldu, PU, n, e);
    if (status == ANYGP_OK) status = multiply(base, t, V, ldv, PV, n, e);
    if (status == ANYGP_OK) status = reverse_all((const sparse_factor *)base, &(adjoints){t, PU, PV, scale}, gp, e);
    free(PU);
    free(PV);
    return status;
}

static anygp_status logdet_reverse(const la_operator *base, double scale, double *gp, anygp_error *e)
{
    return reverse_all((const sparse_factor *)base, &(adjoints){.scale = scale}, gp, e);
}

static const la_operator_ops sparse_ops = {.name = "sparse factor of the inverse",
                                           .multiply = multiply,
                                           .diagonal = diagonal,
                                           .columns = columns_by_products,
                                           .reverse = reverse,
                                           .free = sparse_free,
                                           .solve = solve,
                                           .logdet = logdet,
                                           .logdet_reverse = logdet_reverse,
                                           .root = root};

static bool fill(sparse_factor *a)
{
    enum { M = NEAR + 1 };
    bool failed = false;
    int threads = threads_max();
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) reduction(|| : failed)
    {
        int64_t row[M];
        double *X = mem_doubles(M, a->rows.rows->D + M), *G = X + M * a->rows.rows->D;
        failed = !X;
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < a->base.n; i++) {
            int64_t m = list_rows(a->plan, i, row);
            double *u = a->u + i * M;
            if (failed || !find_column(a, m, row, X, G, u)) {
                failed = true;
                continue;
            }
            double scale = 1 / sqrt(u[m - 1]);
            for (int64_t j = 0; j < m; j++) u[j] *= scale;
        }
        free(X);
    }
    la_serial_end(threads);
    return !failed;
}

static anygp_status make(const problem *p, const precond_plan *plan, kernel *k, const double *added, la_operator **out,
                         double *least, anygp_error *e)
{
    sparse_factor *a = calloc(1, sizeof *a);
    if (!a) return fail_memory(e, "the preconditioner", sizeof *a);
    *a = (sparse_factor){.base = {&sparse_ops, plan->n}, .rows = {p->rows, k, added}, .plan = plan};
    if (!(a->u = mem_doubles(plan->n, NEAR + 1))) {
        sparse_free(&a->base);
        return fail_memory(e, "the preconditioner", 8.0 * (double)(plan->n * (NEAR + 1)));
    }
    if (!fill(a)) {
        sparse_free(&a->base);
        return fail_with(e, ANYGP_ERR_NUMERIC, "the rows near another one have no factor");
    }
    *out = &a->base, *least = 0;
    return ANYGP_OK;
}

const precond_ops precond_vecchia = {.name = "vecchia",
                                     .summary = "each row given its nearest earlier rows",
                                     .plan = plan_lists,
                                     .clear = clear,
                                     .make = make};
