/* P = A'A + D, with A[M,n] and D diagonal and positive; M is small.  Woodbury's identities:
       S = I + A D^-1 A' = L L'                                     M x M
       P^-1 = D^-1 - D^-1 A' S^-1 A D^-1,      log|P| = log|S| + sum log d
       R = D^1/2 (I + B C B'),   B = D^-1/2 A',   B'B = Q diag(s) Q',   C = Q diag((sqrt(1 + s) - 1) / s) Q'
   R R' = P since (I + B C B')^2 = I + B B'.
   Reverse:  sum_k u_k'P v_k    Abar = (A V) U' + (A U) V',   dbar_i = sum_k u_ik v_ik
             log|P|             Abar = 2 S^-1 A D^-1,         dbar_i = 1/d_i - |L^-1 a_i|^2 / d_i^2
   Cost: n M^2 to make it, n M per vector. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "linalg/operators/operator.h"

typedef struct low_rank {
    la_operator base;
    int64_t M;
    double *A, *d;
    double *L;     /* of S */
    double *Q, *c; /* M x M, M: eigenvectors of B'B, and the diagonal of C in them */
    low_rank_owner owner;
} low_rank;

enum { COLUMNS = 1024 }; /* of an adjoint that is made at a time */

static void low_rank_free(la_operator *base)
{
    low_rank *p = (low_rank *)base;
    double *const owned[] = {p->A, p->d, p->L, p->Q, p->c};
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

static anygp_status root(const la_operator *base, int64_t t, const double *Z, int64_t ldz, double *W, int64_t ldw,
                         anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M;
    double *Y = mem_doubles(n, t), *X = mem_doubles(M, t), *T = mem_doubles(M, t);
    anygp_status status = X && Y && T ? ANYGP_OK : fail_memory(e, "a root", 8.0 * (double)n * (double)t);
    if (status == ANYGP_OK) {
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) Y[i + k * n] = Z[i + k * ldz] / sqrt(p->d[i]);
        la_gemm(LA_N, LA_N, M, t, n, 1, p->A, M, Y, n, 0, X, M); /* B'Z */
        la_gemm(LA_T, LA_N, M, t, M, 1, p->Q, M, X, M, 0, T, M);
        for (int64_t k = 0; k < t; k++)
            for (int64_t j = 0; j < M; j++) T[j + k * M] *= p->c[j];
        la_gemm(LA_N, LA_N, M, t, M, 1, p->Q, M, T, M, 0, X, M);
        for (int64_t k = 0; k < t; k++)
            for (int64_t i = 0; i < n; i++) W[i + k * ldw] = sqrt(p->d[i]) * Z[i + k * ldz];
        la_gemm(LA_T, LA_N, n, t, M, 1, p->A, M, X, M, 1, W, ldw);
    }
    free(Y);
    free(X);
    free(T);
    return status;
}

static anygp_status reverse(const la_operator *base, int64_t t, const double *U, int64_t ldu, const double *V,
                            int64_t ldv, double scale, double *gp, anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M, some = n < COLUMNS ? n : COLUMNS;
    double *AU = mem_doubles(M, t), *AV = mem_doubles(M, t), *Abar = mem_doubles(M, some), *dbar = mem_doubles(some, 1);
    anygp_status status = AU && AV && Abar && dbar ? ANYGP_OK : fail_memory(e, "a gradient", 8.0 * (double)(M * some));
    if (status != ANYGP_OK) goto done;
    la_gemm(LA_N, LA_N, M, t, n, scale, p->A, M, U, ldu, 0, AU, M);
    la_gemm(LA_N, LA_N, M, t, n, scale, p->A, M, V, ldv, 0, AV, M);
    for (int64_t i0 = 0; i0 < n; i0 += some) {
        int64_t count = n - i0 < some ? n - i0 : some;
        la_gemm(LA_N, LA_T, M, count, t, 1, AV, M, U + i0, ldu, 0, Abar, M);
        la_gemm(LA_N, LA_T, M, count, t, 1, AU, M, V + i0, ldv, 1, Abar, M);
        for (int64_t i = 0; i < count; i++) {
            dbar[i] = 0;
            for (int64_t k = 0; k < t; k++) dbar[i] += scale * U[i0 + i + k * ldu] * V[i0 + i + k * ldv];
        }
        TRY_DONE(p->owner.columns(p->owner.ctx, i0, count, Abar, dbar, gp, e));
    }
    TRY_DONE(p->owner.done(p->owner.ctx, gp, e));
done:
    free(AU);
    free(AV);
    free(Abar);
    free(dbar);
    return status;
}

static anygp_status logdet_reverse(const la_operator *base, double scale, double *gp, anygp_error *e)
{
    const low_rank *p = (const low_rank *)base;
    int64_t n = base->n, M = p->M, some = n < COLUMNS ? n : COLUMNS;
    double *Abar = mem_doubles(M, some), *dbar = mem_doubles(some, 1);
    anygp_status status = Abar && dbar ? ANYGP_OK : fail_memory(e, "a gradient", 8.0 * (double)(M * some));
    if (status != ANYGP_OK) goto done;
    for (int64_t i0 = 0; i0 < n; i0 += some) {
        int64_t count = n - i0 < some ? n - i0 : some;
        memcpy(Abar, p->A + i0 * M, (size_t)(M * count) * sizeof *Abar);
        la_trsm(LA_LEFT, LA_N, M, count, 1, p->L, M, Abar, M);
        for (int64_t i = 0; i < count; i++) {
            double d = p->d[i0 + i], *a = Abar + i * M;
            dbar[i] = scale * (1 / d - la_dot(M, a, a) / (d * d));
            la_scale(M, 2 * scale / d, a);
        }
        la_trsm(LA_LEFT, LA_T, M, count, 1, p->L, M, Abar, M);
        TRY_DONE(p->owner.columns(p->owner.ctx, i0, count, Abar, dbar, gp, e));
    }
    TRY_DONE(p->owner.done(p->owner.ctx, gp, e));
done:
    free(Abar);
    free(dbar);
    return status;
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
                                             .root = root};

/* (sqrt(1 + s) - 1) / s without cancellation. */
static double root_coefficient(double s) { return s > 0 ? 1 / (1 + sqrt(1 + s)) : 0.5; }

/* L and Q, c from A and d; blocks of A over sqrt(d) on the way. */
static anygp_status prepare(low_rank *p, anygp_error *e)
{
    int64_t n = p->base.n, M = p->M, some = n < COLUMNS ? n : COLUMNS;
    double *B = mem_doubles(M, some), *work = mem_alloc(la_eigh_work(M), sizeof *work);
    if (!B || !work) return free(B), free(work), fail_memory(e, "a factor", 8.0 * (double)(M * some));
    memset(p->Q, 0, (size_t)(M * M) * sizeof *p->Q);
    for (int64_t i0 = 0; i0 < n; i0 += some) {
        int64_t count = n - i0 < some ? n - i0 : some;
        for (int64_t i = 0; i < count; i++) {
            double scale = 1 / sqrt(p->d[i0 + i]);
            for (int64_t j = 0; j < M; j++) B[j + i * M] = scale * p->A[j + (i0 + i) * M];
        }
        la_syrk(LA_N, M, count, 1, B, M, 1, p->Q, M);
    }
    memcpy(p->L, p->Q, (size_t)(M * M) * sizeof *p->L);
    for (int64_t j = 0; j < M; j++) p->L[j + j * M] += 1;
    bool ok = la_factor(M, p->L, M) && la_eigh(M, p->Q, M, p->c, work) == 0;
    for (int64_t j = 0; ok && j < M; j++) p->c[j] = root_coefficient(p->c[j]);
    free(B);
    free(work);
    return ok ? ANYGP_OK : fail_with(e, ANYGP_ERR_NUMERIC, "a low-rank matrix broke down");
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
    p->L = mem_doubles(M, M), p->Q = mem_doubles(M, M), p->c = mem_doubles(M, 1);
    anygp_status status = p->L && p->Q && p->c ? prepare(p, e) : fail_memory(e, "a factor", 16.0 * (double)(M * M));
    if (ANYGP_FAILED(status))
        low_rank_free(&p->base);
    else
        *out = &p->base;
    return status;
}
