/* P = A'A + D, with A[M,n] and D diagonal and positive; M is small.  Woodbury's identities:
       S = I + A D^-1 A' = L L'                                     M x M
       P^-1 = D^-1 - D^-1 A' S^-1 A D^-1,      log|P| = log|S| + sum log d
       R = D^1/2 (I + B C B'),   B = D^-1/2 A',   C + C' + C B'B C' = I
   so that (I + B C B')(I + B C B')' = I + B B' and R R' = P.  With B'B = T T' and I + T'T = N N':  C = T^-T (N - I) T^-1, which loses
   digits where B'B is nearly singular; there, with B'B = Q diag(s) Q':  C = Q diag((sqrt(1 + s) - 1) / s) Q'.  Either is made when the first
   root is asked for.
   Reverse:  sum_k u_k'P v_k    Abar = (A V) U' + (A U) V',   dbar_i = sum_k u_ik v_ik,   Abar A' = (A V) (A U)' + (A U) (A V)'
             log|P|             Abar = 2 S^-1 A D^-1,         dbar_i = 1/d_i - |L^-1 a_i|^2 / d_i^2,   Abar A' = 2 (I - S^-1)
   Cost: n M^2 to make it, n M per vector. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "linalg/operators/operator.h"

/* C: by factors, or by eigenvectors. */
typedef struct low_rank_root {
    bool made;
    double *T, *N; /* M x M: B'B; once made, factors, N less I; or eigenvectors and NULL */
    double *c;     /* M: the diagonal of C in these */
} low_rank_root;

typedef struct low_rank {
    la_operator base;
    int64_t M;
    double *A, *d;
    double *L; /* of S */
    low_rank_root root;
    low_rank_owner owner;
} low_rank;

enum { COLUMNS = 1024 }; /* of an adjoint that is made at a time */

static void low_rank_free(la_operator *base)
{
    low_rank *p = (low_rank *)base;
    double *const owned[] = {p->A, p->d, p->L, p->root.T, p->root.N, p->root.c};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    if (p->owner.free) p->owner.free(p->owner.ctx);
    free(p);
}

static anygp_status multiply(const la_operator *base, int64_t t, const double *V, int64_t ldv, double *W, int64_t ldw,
                             anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M;
    double *AV = mem_doubles(M, t);
    if (!AV) return fail_memory(e, "a product", 8.0 * (double)M * (double)t);
    for (int64_t k = 0; k < t; k++)
        for (int64_t i = 0; i < n; i++) W[i + k * ldw] = p->d[i] * V[i + k * ldv];
    la_gemm(LA_N, LA_N, M, t, n, 1, p->A, M, V, ldv, 0, AV, M);
    la_gemm(LA_T, LA_N, n, t, M, 1, p->A, M, AV, M, 1, W, ldw);
    free(AV);
    return ANYGP_OK;
}

static anygp_status diagonal(const la_operator *base, double *d, anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    (void)e;
    for (int64_t i = 0; i < base->n; i++) d[i] = p->d[i] + la_dot(p->M, p->A + i * p->M, p->A + i * p->M);
    return ANYGP_OK;
}

static anygp_status columns(const la_operator *base, int64_t count, const int64_t *which, double *C, int64_t ldc,
                            anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    (void)e;
    for (int64_t k = 0; k < count; k++) {
        la_gemv(LA_T, p->M, base->n, 1, p->A, p->M, p->A + which[k] * p->M, 0, C + k * ldc);
        C[which[k] + k * ldc] += p->d[which[k]];
    }
    return ANYGP_OK;
}

static anygp_status solve(const la_operator *base, int64_t t, double *B, int64_t ldb, anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M;
    double *X = mem_doubles(M, t), *Y = mem_doubles(n, t);
    anygp_status status = X && Y ? ANYGP_OK : fail_memory(e, "a solve", 8.0 * (double)n * (double)t);
    if (status == ANYGP_OK) {
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) B[i + k * ldb] /= p->d[i];
        la_gemm(LA_N, LA_N, M, t, n, 1, p->A, M, B, ldb, 0, X, M);
        la_trsm(LA_LEFT, LA_N, M, t, 1, p->L, M, X, M);
        la_trsm(LA_LEFT, LA_T, M, t, 1, p->L, M, X, M);
        la_gemm(LA_T, LA_N, n, t, M, 1, p->A, M, X, M, 0, Y, n);
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) B[i + k * ldb] -= Y[i + k * n] / p->d[i];
    }
    free(X);
    free(Y);
    return status;
}

static double logdet(const la_operator *base)
{
    const low_rank *p = (const low_rank *)base;
    double sum = la_logdet(p->M, p->L, p->M);
    for (int64_t i = 0; i < base->n; i++) sum += log(p->d[i]);
    return sum;
}

/* T and N - I from B'B in T; false: B'B is too near to a singular matrix. */
static bool root_by_factors(int64_t M, double *T, double *N)
{
    static const double RATIO = 3e3; /* of the diagonal of T; digits are lost by its square */
    double least = INFINITY, most = 0;
    if (!la_factor(M, T, M)) return false;
    for (int64_t j = 0; j < M; j++) least = fmin(least, T[j + j * M]), most = fmax(most, T[j + j * M]);
    if (!(most <= RATIO * least)) return false;
    la_zero_upper(M, T, M);
    la_syrk(LA_T, M, M, 1, T, M, 0, N, M);
    for (int64_t j = 0; j < M; j++) N[j + j * M] += 1;
    if (!la_factor(M, N, M)) return false;
    for (int64_t j = 0; j < M; j++) N[j + j * M] -= 1;
    return true;
}

/* (sqrt(1 + s) - 1) / s without cancellation. */
static double root_coefficient(double s) { return s > 0 ? 1 / (1 + sqrt(1 + s)) : 0.5; }

/* Eigenvectors of B'B in T, which has its lower triangle, and the diagonal of C in c. */
static anygp_status root_by_eigenvectors(int64_t M, double *T, double *c, anygp_error *e)
{
    double *work = mem_alloc(la_eigh_work(M), sizeof *work);
    if (!work) return fail_memory(e, "a root", 8.0 * (double)la_eigh_work(M));
    bool ok = la_eigh(M, T, M, c, work) == 0;
    for (int64_t j = 0; ok && j < M; j++) c[j] = root_coefficient(c[j]);
    free(work);
    return ok ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "a low-rank matrix broke down");
}

static anygp_status make_root(low_rank *p, anygp_error *e)
{
    low_rank_root *r = &p->root;
    int64_t M = p->M;
    if (r->made) return ANYGP_OK;
    double *gram = mem_copied(M, M, r->T);
    r->N = mem_doubles(M, M), r->c = mem_doubles(M, 1);
    anygp_status status = gram && r->N && r->c ? ANYGP_OK : fail_memory(e, "a root", 16.0 * (double)(M * M));
    if (status == ANYGP_OK && !root_by_factors(M, r->T, r->N)) {
        memcpy(r->T, gram, (size_t)(M * M) * sizeof *gram);
        free(r->N);
        r->N = NULL;
        status = root_by_eigenvectors(M, r->T, r->c, e);
    }
    free(gram);
    r->made = status == ANYGP_OK;
    return status;
}

/* X = C X; room[M,t]. */
static void apply_root(const low_rank *p, int64_t t, double *X, double *room)
{
    const low_rank_root *r = &p->root;
    int64_t M = p->M;
    if (r->N) {
        la_trsm(LA_LEFT, LA_N, M, t, 1, r->T, M, X, M);
        la_trmm(LA_LEFT, LA_N, M, t, 1, r->N, M, X, M);
        la_trsm(LA_LEFT, LA_T, M, t, 1, r->T, M, X, M);
        return;
    }
    la_gemm(LA_T, LA_N, M, t, M, 1, r->T, M, X, M, 0, room, M);
    for (int64_t k = 0; k < t; k++)
        for (int64_t j = 0; j < M; j++) room[j + k * M] *= r->c[j];
    la_gemm(LA_N, LA_N, M, t, M, 1, r->T, M, room, M, 0, X, M);
}

static anygp_status root(const la_operator *base, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e)
{
    low_rank *p = (low_rank *)base;
    int64_t n = base->n, M = p->M;
    TRY(make_root(p, e));
    double *Y = mem_doubles(n, t), *X = mem_doubles(M, t), *room = mem_doubles(M, t);
    anygp_status status = X && Y && room ? ANYGP_OK : fail_memory(e, "a root", 8.0 * (double)n * (double)t);
    if (status == ANYGP_OK) {
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) Y[i + k * n] = Z[i + k * ldz] / sqrt(p->d[i]);
        la_gemm(LA_N, LA_N, M, t, n, 1, p->A, M, Y, n, 0, X, M); /* B'Z */
        apply_root(p, t, X, room);
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) W[i + k * ldw] = sqrt(p->d[i]) * Z[i + k * ldz];
        la_gemm(LA_T, LA_N, n, t, M, 1, p->A, M, X, M, 1, W, ldw);
    }
    free(Y);
    free(X);
    free(room);
    return status;
}

/* E += 2 scale (I - S^-1), its lower triangle. */
static bool add_log_products(const low_rank *p, double scale, double *E)
{
    enum { AT_ONCE = 64 };
    int64_t M = p->M;
    double *R = mem_zeroed(M * M, sizeof *R); /* L^-1 */
    if (!R) return false;
    for (int64_t j = 0; j < M; j++) R[j + j * M] = 1, E[j + j * M] += 2 * scale;
    for (int64_t j = 0; j < M; j += AT_ONCE) {
        int64_t at = j + j * M, count = M - j < AT_ONCE ? M - j : AT_ONCE;
        la_trsm(LA_LEFT, LA_N, M - j, count, 1, p->L + at, M, R + at, M);
    }
    la_syrk(LA_T, M, M, -2 * scale, R, M, 1, E, M);
    free(R);
    return true;
}

/* What scale sum_k u_k'P v_k adds; AU and AV have scale in them. */
typedef struct pairs {
    int64_t t, ldu, ldv;
    const double *U, *V;
    double *AU, *AV; /* M x t */
    double scale;
} pairs;

static bool pairs_open(pairs *q, const low_rank *p, double *E)
{
    int64_t n = p->base.n, M = p->M;
    if (q->t == 0) return true;
    q->AU = mem_doubles(M, q->t), q->AV = mem_doubles(M, q->t);
    if (!q->AU || !q->AV) return false;
    la_gemm(LA_N, LA_N, M, q->t, n, q->scale, p->A, M, q->U, q->ldu, 0, q->AU, M);
    la_gemm(LA_N, LA_N, M, q->t, n, 1, p->A, M, q->V, q->ldv, 0, q->AV, M);
    la_gemm_lower(LA_N, LA_T, M, q->t, 1, q->AV, M, q->AU, M, 1, E, M);
    la_gemm_lower(LA_N, LA_T, M, q->t, 1, q->AU, M, q->AV, M, 1, E, M);
    la_scale(M * q->t, q->scale, q->AV);
    return true;
}

static void pairs_columns(const pairs *q, int64_t M, int64_t i0, int64_t count, double *Abar, double *dbar)
{
    const double *U = q->U + i0, *V = q->V + i0;
    la_gemm(LA_N, LA_T, M, count, q->t, 1, q->AV, M, U, q->ldu, 1, Abar, M);
    la_gemm(LA_N, LA_T, M, count, q->t, 1, q->AU, M, V, q->ldv, 1, Abar, M);
    for (int64_t k = 0; k < q->t; k++)
        for (int64_t i = 0; i < count; i++) dbar[i] += q->scale * U[i + k * q->ldu] * V[i + k * q->ldv];
}

/* Columns i0 .. i0 + count - 1 of scale log|P|. */
static void log_columns(const low_rank *p, int64_t i0, int64_t count, double scale, double *Abar, double *dbar)
{
    int64_t M = p->M;
    memcpy(Abar, p->A + i0 * M, (size_t)(M * count) * sizeof *Abar);
    la_trsm(LA_LEFT, LA_N, M, count, 1, p->L, M, Abar, M);
    for (int64_t i = 0; i < count; i++) {
        double d = p->d[i0 + i], *a = Abar + i * M;
        dbar[i] = scale * (1 / d - la_dot(M, a, a) / (d * d));
        la_scale(M, 2 * scale / d, a);
    }
    la_trsm(LA_LEFT, LA_T, M, count, 1, p->L, M, Abar, M);
}

static anygp_status both_reverse(const la_operator *base, double logdet_scale, int64_t t, const double *U, int64_t ldu,
                                 const double *V, int64_t ldv, double scale, double *gp, anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M, some = n < COLUMNS ? n : COLUMNS;
    pairs q = {.t = t, .ldu = ldu, .ldv = ldv, .U = U, .V = V, .scale = scale};
    double *E = mem_zeroed(M * M, sizeof *E), *Abar = mem_doubles(M, some), *dbar = mem_doubles(some, 1);
    bool ok = E && Abar && dbar && (logdet_scale == 0 || add_log_products(p, logdet_scale, E)) && pairs_open(&q, p, E);
    anygp_status status = ok ? ANYGP_OK : fail_memory(e, "a gradient", 8.0 * (double)(M * (some + M)));
    for (int64_t i0 = 0; status == ANYGP_OK && i0 < n; i0 += some) {
        int64_t count = n - i0 < some ? n - i0 : some;
        if (logdet_scale != 0)
            log_columns(p, i0, count, logdet_scale, Abar, dbar);
        else
            memset(Abar, 0, (size_t)(M * count) * sizeof *Abar), memset(dbar, 0, (size_t)count * sizeof *dbar);
        if (t > 0) pairs_columns(&q, M, i0, count, Abar, dbar);
        status = p->owner.columns(p->owner.ctx, i0, count, Abar, dbar, gp, e);
    }
    if (status == ANYGP_OK) status = p->owner.done(p->owner.ctx, E, gp, e);
    free(q.AU);
    free(q.AV);
    free(E);
    free(Abar);
    free(dbar);
    return status;
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    return both_reverse(base, 0, t, U, ldu, V, ldv, scale, gp, e);
}

static anygp_status logdet_reverse(const la_operator *base, double scale, double *gp, anygp_error *e)
{
    return both_reverse(base, scale, 0, NULL, 0, NULL, 0, 0, gp, e);
}

static const la_operator_ops low_rank_ops = {.name = "low rank plus diagonal",
                                             .multiply = multiply,
                                             .diagonal = diagonal,
                                             .columns = columns,
                                             .reverse = reverse,
                                             .free = low_rank_free,
                                             .solve = solve,
                                             .logdet = logdet,
                                             .logdet_reverse = logdet_reverse,
                                             .both_reverse = both_reverse,
                                             .root = root};

/* B'B, for the root, and L; blocks of A over sqrt(d) on the way. */
static anygp_status prepare(low_rank *p, anygp_error *e)
{
    int64_t n = p->base.n, M = p->M, some = n < COLUMNS ? n : COLUMNS;
    double *B = mem_doubles(M, some), *gram = p->root.T;
    if (!B) return fail_memory(e, "a factor", 8.0 * (double)(M * some));
    memset(gram, 0, (size_t)(M * M) * sizeof *gram);
    for (int64_t i0 = 0; i0 < n; i0 += some) {
        int64_t count = n - i0 < some ? n - i0 : some;
        for (int64_t i = 0; i < count; i++) {
            double scale = 1 / sqrt(p->d[i0 + i]);
            for (int64_t j = 0; j < M; j++) B[j + i * M] = scale * p->A[j + (i0 + i) * M];
        }
        la_syrk(LA_N, M, count, 1, B, M, 1, gram, M);
    }
    free(B);
    memcpy(p->L, gram, (size_t)(M * M) * sizeof *p->L);
    for (int64_t j = 0; j < M; j++) p->L[j + j * M] += 1;
    return la_factor(M, p->L, M) ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "a low-rank matrix broke down");
}

anygp_status low_rank_operator_new(int64_t n, int64_t M, double *A, double *d, const low_rank_owner *owner,
                                   la_operator **out, anygp_error *e)
{
    low_rank *p = calloc(1, sizeof *p);
    if (!p) {
        free(A);
        free(d);
        if (owner->free) owner->free(owner->ctx);
        return fail_memory(e, "a factor", sizeof *p);
    }
    *p = (low_rank){.base = {&low_rank_ops, n}, .M = M, .A = A, .d = d, .owner = *owner};
    p->L = mem_doubles(M, M), p->root.T = mem_doubles(M, M);
    anygp_status status = p->L && p->root.T ? prepare(p, e) : fail_memory(e, "a factor", 16.0 * (double)(M * M));
    if (ANYGP_FAILED(status))
        low_rank_free(&p->base);
    else
        *out = &p->base;
    return status;
}
