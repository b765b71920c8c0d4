/* Conformance of every operator with a matrix: products, diagonal, columns, gradients; solve, log determinant and root where it has them. */
#include "operator_support.h"
#include "rank_support.h"

enum { N = 300, T = 3 };

/* Each entry, made for a field at its present parameters. */
typedef struct entry {
    const char *name;
    double keep;
    bool packed, is_kernel; /* the matrix is K + noise itself */
    const precond_ops *precond;
    const precond_plan *plan;
    bool sum, dense;
} entry;

typedef struct made {
    la_operator *a, *tiles;
    double least;
} made;

static made make(field *f, const entry *t)
{
    anygp_error e = {.text = ""};
    made m = {.tiles = field_tiles(f, t->keep, t->packed)};
    m.a = m.tiles;
    if (t->dense) {
        double *K = field_dense(f);
        assert_int_equal(dense_operator_new(N, K, N, &m.a, &e), ANYGP_OK);
        free(K);
    }
    if (t->precond)
        if (t->precond->make(&f->p, t->plan, f->k, kernel_operator_added(m.tiles), &m.a, &m.least, &e))
            fail_msg("%s: %s", t->name, e.text);
    if (t->sum) {
        la_operator *terms[2] = {m.a, field_tiles(f, 0, false)};
        assert_int_equal(sum_operator_new(2, terms, &m.a, &e), ANYGP_OK);
        if (m.tiles == terms[0]) m.tiles = m.a;
    }
    return m;
}

static void unmake(made *m)
{
    if (m->tiles != m->a) la_operator_free(m->tiles);
    la_operator_free(m->a);
}

/* All of it, by products with the unit vectors. */
static double *whole(const la_operator *a)
{
    anygp_error e;
    double *unit = mem_zeroed(N * N, sizeof *unit), *A = mem_doubles(N, N);
    for (int i = 0; i < N; i++) unit[i + i * N] = 1;
    assert_int_equal(a->ops->multiply(a, N, unit, N, A, N, &e), ANYGP_OK);
    free(unit);
    return A;
}

static void check_entries(const la_operator *a, const double *A, double tolerance)
{
    anygp_error e;
    int64_t which[2] = {7, N - 2};
    double d[N], C[2 * N], V[T * N], W[T * N];
    fill_normal(11, T * N, V);
    assert_int_equal(a->ops->diagonal(a, d, &e), ANYGP_OK);
    assert_int_equal(a->ops->columns(a, 2, which, C, N, &e), ANYGP_OK);
    assert_int_equal(a->ops->multiply(a, T, V, N, W, N, &e), ANYGP_OK);
    for (int i = 0; i < N; i++) {
        check_close(d[i], A[i + i * N], tolerance);
        for (int k = 0; k < 2; k++) check_close(C[i + k * N], A[i + which[k] * N], tolerance);
        for (int j = 0; j < i; j++) check_close(A[i + j * N], A[j + i * N], tolerance);
        for (int k = 0; k < T; k++) {
            double sum = 0;
            for (int j = 0; j < N; j++) sum += A[i + j * N] * V[j + k * N];
            check_close(W[i + k * N], sum, 20 * tolerance);
        }
    }
}

static void check_optional(const la_operator *a, const double *A)
{
    anygp_error e;
    double *R = mem_doubles(N, N), *unit = mem_zeroed(N * N, sizeof *unit), B[2 * N], X[2 * N];
    real *inverse = malloc(N * N * sizeof *inverse);
    if (a->ops->solve) {
        for (int i = 0; i < N * N; i++) inverse[i] = A[i];
        check_close(a->ops->logdet(a), (double)dense_invert(N, inverse), 1e-9);
        fill_normal(12, 2 * N, B);
        memcpy(X, B, sizeof B);
        assert_int_equal(a->ops->solve(a, 2, X, N, &e), ANYGP_OK);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < N; i++) {
                real sum = 0;
                for (int j = 0; j < N; j++) sum += inverse[i * N + j] * B[j + k * N];
                check_close(X[i + k * N], (double)sum, 1e-7);
            }
        for (int i = 0; i < N; i++) unit[i + i * N] = 1;
        assert_int_equal(a->ops->root(a, N, unit, N, R, N, &e), ANYGP_OK);
        la_gemm(LA_N, LA_T, N, N, N, 1, R, N, R, N, 0, unit, N);
        for (int i = 0; i < N * N; i++) check_close(unit[i], A[i], 1e-9);
    }
    free(R);
    free(unit);
    free(inverse);
}

/* sum_k u_k'A v_k and log|A| at the present parameters. */
static void forms(field *f, const entry *t, const double *U, const double *V, double *pairs, double *logdet)
{
    anygp_error e;
    double W[T * N];
    made m = make(f, t);
    assert_int_equal(m.a->ops->multiply(m.a, T, V, N, W, N, &e), ANYGP_OK);
    *pairs = la_dot(T * N, U, W);
    *logdet = m.a->ops->logdet ? m.a->ops->logdet(m.a) : 0;
    unmake(&m);
}

static void check_gradients(field *f, const entry *t)
{
    anygp_error e;
    double U[T * N], V[T * N], gp[PARAMS_MOST] = {0}, gl[PARAMS_MOST] = {0}, both[PARAMS_MOST] = {0};
    made m = make(f, t);
    fill_normal(13, T * N, U);
    fill_normal(14, T * N, V);
    if (m.a->ops->reverse) assert_int_equal(m.a->ops->reverse(m.a, T, U, N, V, N, 1.5, gp, &e), ANYGP_OK);
    if (m.a->ops->logdet_reverse) assert_int_equal(m.a->ops->logdet_reverse(m.a, 1.5, gl, &e), ANYGP_OK);
    if (m.a->ops->both_reverse) {
        assert_int_equal(m.a->ops->both_reverse(m.a, -3, T, U, N, V, N, 1.5, both, &e), ANYGP_OK);
        for (int64_t i = 0; i < field_params(f); i++) check_close(both[i], gp[i] - 2 * gl[i], 1e-9);
    }
    bool differentiable = m.a->ops->reverse != NULL;
    entry smooth = *t; /* rounded elements are no smooth functions: gradients are those of what is rounded */
    smooth.packed = false;
    unmake(&m);
    for (int64_t i = 0; differentiable && i < field_params(f); i++) {
        double *p = field_param(f, i), p0 = *p, h = 1e-5 * p0, up[2], down[2];
        *p = p0 + h;
        forms(f, &smooth, U, V, &up[0], &up[1]);
        *p = p0 - h;
        forms(f, &smooth, U, V, &down[0], &down[1]);
        *p = p0;
        check_close(gp[i], 1.5 * (up[0] - down[0]) / (2 * h), 2e-6);
        check_close(gl[i], 1.5 * (up[1] - down[1]) / (2 * h), 2e-6);
    }
}

/* No eigenvalue of P^-1 K is below what the preconditioner says. */
static void check_least(const made *m, const double *P, const double *K)
{
    double *L = mem_copied(N, N, P), *A = mem_copied(N, N, K), *w = mem_doubles(N, 1),
           *work = mem_alloc(la_eigh_work(N), sizeof *work);
    assert_true(la_factor(N, L, N));
    la_trsm(LA_LEFT, LA_N, N, N, 1, L, N, A, N);
    la_trsm(LA_RIGHT, LA_T, N, N, 1, L, N, A, N);
    assert_int_equal(la_eigh(N, A, N, w, work), 0);
    assert_true(w[0] >= m->least * (1 - 1e-9));
    free(L);
    free(A);
    free(w);
    free(work);
}

/* Rounded to integers: off the diagonal by half a unit at most, on it not at all. */
static void check_packed(const la_operator *a, const double *A, const double *K)
{
    double most = PACKED_ERROR * kernel_operator_largest(a), worst = 0;
    assert_true(kernel_operator_packed(a));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            assert_true(fabs(A[i + j * N] - K[i + j * N]) <= (i == j ? 1e-14 : 1.001 * most + 1e-14));
            worst = fmax(worst, fabs(A[i + j * N] - K[i + j * N]));
        }
    assert_true(worst > 0.5 * most); /* they are rounded */
}

static void check_entry(field *f, const entry *t)
{
    made m = make(f, t);
    double *A = whole(m.a), *K = field_dense(f), tolerance = t->packed ? 1e-9 : 1e-11;
    for (int i = 0; t->is_kernel && i < N * N; i++) check_close(A[i], K[i], tolerance);
    if (t->packed) check_packed(m.a, A, K);
    check_entries(m.a, A, tolerance);
    check_optional(m.a, A);
    if (t->precond && !t->sum) check_least(&m, A, K);
    unmake(&m);
    free(A);
    free(K);
    check_gradients(f, t);
}

static void every_operator_is_its_matrix(void **state)
{
    static const char *const kernels[] = {
        "matern52(variance=1.3,lengthscale=[0.8,1.4])",
        "matern32(variance=0.7,lengthscale=1.1) + linear(variance=[0.3,0.2]) + white(variance=0.05)"};
    (void)state;
    for (int c = 0; c < 2; c++) {
        field f;
        anygp_error e;
        field_open(&f, N, kernels[c], 0.2, c == 1);
        const entry plain[] = {
            {.name = "tiles", .is_kernel = true},
            {.name = "one tile kept", .keep = 8.0 * 256 * 256, .is_kernel = true},
            {.name = "all tiles kept", .keep = 1e9, .is_kernel = true},
            {.name = "packed", .packed = true, .is_kernel = true},
            {.name = "packed, one tile kept", .keep = 4.0 * 256 * 256, .packed = true, .is_kernel = true},
            {.name = "packed and kept", .keep = 1e9, .packed = true, .is_kernel = true},
            {.name = "dense", .dense = true, .is_kernel = true},
            {.name = "sum", .sum = true}};
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) check_entry(&f, &plain[i]);
        f.jitter = 1e-3;
        check_entry(&f, &plain[0]);
        f.jitter = 0;
        for (int64_t i = 0; i < precond_count(); i++) {
            precond_plan *plan = NULL;
            const precond_ops *ops = precond_at(i);
            if (!ops->plan) continue;
            assert_int_equal(ops->plan(ops, &f.p, f.k, &plan, &e), ANYGP_OK);
            check_entry(&f, &(entry){.name = ops->name, .precond = ops, .plan = plan});
            check_entry(&f, &(entry){.name = ops->name, .precond = ops, .plan = plan, .sum = true});
            ops->clear(plan);
        }
        field_close(&f);
    }
}

/* With as many pivots, neighbours or rows in a block as there are rows, a preconditioner is the matrix itself. */
static void preconditioners_of_few_rows_are_exact(void **state)
{
    enum { FEW = 20 };
    field f;
    anygp_error e;
    (void)state;
    field_open(&f, FEW, "matern52(variance=1.3,lengthscale=[0.8,1.4])", 0.2, true);
    la_operator *tiles = field_tiles(&f, 0, false), *P;
    double *K = field_dense(&f), least;
    for (int64_t i = 1; i < precond_count(); i++) {
        precond_plan *plan = NULL;
        double unit[FEW * FEW] = {0}, A[FEW * FEW];
        assert_int_equal(precond_at(i)->plan(precond_at(i), &f.p, f.k, &plan, &e), ANYGP_OK);
        assert_int_equal(precond_at(i)->make(&f.p, plan, f.k, kernel_operator_added(tiles), &P, &least, &e), ANYGP_OK);
        for (int j = 0; j < FEW; j++) unit[j + j * FEW] = 1;
        assert_int_equal(P->ops->multiply(P, FEW, unit, FEW, A, FEW, &e), ANYGP_OK);
        for (int j = 0; j < FEW * FEW; j++) check_close(A[j], K[j], 1e-6);
        la_operator_free(P);
        precond_at(i)->clear(plan);
    }
    la_operator_free(tiles);
    free(K);
    field_close(&f);
}

/* A'A + D with A'A far from singular and, where rows of A are repeated, singular: the root has two ways (low_rank.c). */
static void roots_of_low_rank_are_roots(void **state)
{
    enum { M = 6, FEW = 40 };
    (void)state;
    for (int repeated = 0; repeated < 2; repeated++) {
        anygp_error e;
        double *A = mem_doubles(M, FEW), *d = mem_doubles(FEW, 1), P[FEW * FEW] = {0}, unit[FEW * FEW] = {0},
               R[FEW * FEW];
        la_operator *a;
        fill_normal(71, M * FEW, A);
        for (int i = 0; i < FEW; i++) {
            d[i] = 0.1 + 0.01 * i, unit[i + i * FEW] = 1;
            if (repeated) A[4 + i * M] = A[5 + i * M] = A[i * M];
        }
        for (int i = 0; i < FEW; i++)
            for (int j = 0; j < FEW; j++) {
                P[i + j * FEW] = i == j ? d[i] : 0;
                for (int k = 0; k < M; k++) P[i + j * FEW] += A[k + i * M] * A[k + j * M];
            }
        assert_int_equal(low_rank_operator_new(FEW, M, A, d, &(low_rank_owner){0}, &a, &e), ANYGP_OK);
        assert_int_equal(a->ops->root(a, FEW, unit, FEW, R, FEW, &e), ANYGP_OK);
        for (int i = 0; i < FEW; i++)
            for (int j = 0; j < FEW; j++) {
                double sum = 0;
                for (int k = 0; k < FEW; k++) sum += R[i + k * FEW] * R[j + k * FEW];
                check_close(sum, P[i + j * FEW], 1e-10);
            }
        la_operator_free(a);
    }
}

/* Ranks: each makes its share of the tiles, and all have the same product and gradient. */
typedef struct share {
    field *f;
    bool packed;
    comm c;
    rank_thread own;
    double W[T * N], gp[PARAMS_MOST];
} share;

static const double *pairs_of(int which)
{
    static double U[2][T * N];
    fill_normal(61 + (uint64_t)which, T * N, U[which]);
    return U[which];
}

static void *work_as_rank(void *ctx)
{
    share *s = ctx;
    la_operator *a;
    anygp_error e;
    const double *U = pairs_of(0), *V = pairs_of(1);
    kernel_rows rows = {N, D, s->f->X, s->f->c};
    assert_int_equal(kernel_operator_new(&rows, &(kernel_operator_options){1e9, &s->c}, &a, &e), ANYGP_OK);
    kernel_operator_set(a, s->f->k, s->f->noise, 0, s->packed);
    for (int twice = 0; twice < 2; twice++) assert_int_equal(a->ops->multiply(a, T, V, N, s->W, N, &e), ANYGP_OK);
    assert_int_equal(a->ops->reverse(a, T, U, N, V, N, 1, s->gp, &e), ANYGP_OK);
    la_operator_free(a);
    return NULL;
}

static void ranks_share_the_tiles(void **state)
{
    field f;
    anygp_error e;
    double W[T * N], gp[PARAMS_MOST] = {0};
    (void)state;
    field_open(&f, N, "matern32(variance=0.7,lengthscale=1.1) + white(variance=0.05)", 0.2, true);
    la_operator *a = field_tiles(&f, 0, false);
    const double *U = pairs_of(0), *V = pairs_of(1);
    assert_int_equal(a->ops->multiply(a, T, V, N, W, N, &e), ANYGP_OK);
    assert_int_equal(a->ops->reverse(a, T, U, N, V, N, 1, gp, &e), ANYGP_OK);
    for (int which = 0; which < 8; which++) {
        int size = 1 + which / 2;
        bool packed = which % 2;
        static team t;
        static share list[4];
        pthread_t threads[4];
        team_open(&t, size);
        for (int r = 0; r < size; r++) {
            list[r] = (share){.f = &f, .packed = packed};
            list[r].c = team_comm(&t, r, &list[r].own);
            assert_int_equal(pthread_create(&threads[r], NULL, work_as_rank, &list[r]), 0);
        }
        for (int r = 0; r < size; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < T * N; i++) check_close(list[r].W[i], W[i], packed ? 1e-7 : 1e-12);
            for (int64_t i = 0; i < field_params(&f); i++) check_close(list[r].gp[i], gp[i], 1e-11);
            assert_memory_equal(list[r].W, list[0].W, sizeof W);
        }
        team_close(&t);
    }
    la_operator_free(a);
    field_close(&f);
}

/* sum_ij Q_ij A_ij = sum_k e_k'A Q e_k, and pairs besides. */
static void a_square_is_its_pairs(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        field f;
        anygp_error e;
        double gp[PARAMS_MOST] = {0}, pairs[PARAMS_MOST] = {0}, *unit = mem_zeroed(N * N, sizeof *unit),
               *whole = mem_doubles(N, N);
        float *Q = malloc(N * N * sizeof *Q);
        const double *U = pairs_of(0), *V = pairs_of(1);
        field_open(&f, N, "matern32(variance=0.7,lengthscale=1.1) + white(variance=0.05)", 0.2, true);
        f.jitter = c == 1 ? 1e-2 : 0;
        la_operator *a = field_tiles(&f, 0, false);
        fill_normal(65, N * N, whole);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                Q[i + j * N] = i >= j ? (float)whole[i + j * N] : NAN; /* above the diagonal nothing is read */
                unit[i + j * N] = i == j;
            }
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) whole[i + j * N] = i >= j ? Q[i + j * N] : Q[j + i * N];
        assert_int_equal(kernel_operator_reverse_square(a, Q, -0.7, T, U, V, 1.5, gp, &e), ANYGP_OK);
        assert_int_equal(a->ops->reverse(a, N, unit, N, whole, N, -0.7, pairs, &e), ANYGP_OK);
        assert_int_equal(a->ops->reverse(a, T, U, N, V, N, 1.5, pairs, &e), ANYGP_OK);
        for (int64_t i = 0; i < field_params(&f); i++) check_close(gp[i], pairs[i], 1e-10);
        la_operator_free(a);
        free(unit), free(whole), free(Q);
        field_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_its_matrix), cmocka_unit_test(preconditioners_of_few_rows_are_exact),
        cmocka_unit_test(roots_of_low_rank_are_roots), cmocka_unit_test(ranks_share_the_tiles),
        cmocka_unit_test(a_square_is_its_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
