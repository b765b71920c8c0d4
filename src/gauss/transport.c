/* q carried over to new places (transport.h). */
#include "gauss/transport.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

/* W[Mt,Mt]: the identity for the basis functions, whose prior does not move. */
static bool make_W(const layer *l, function_set old, const double *L, double *W)
{
    int64_t M = l->M, Mt = l->Mt;
    double *W_u = W + l->p * (Mt + 1);
    memset(W, 0, (size_t)(Mt * Mt) * sizeof *W);
    for (int64_t i = 0; i < l->p; i++) W[i + i * Mt] = 1;
    if (!l->u.ops->pair(&l->u, old, W_u, Mt)) return false;
    la_trsm_prepared(LA_LEFT, LA_N, M, M, l->u.L, M, l->u.T, W_u, Mt);
    la_trsm(LA_RIGHT, LA_T, M, M, 1, L, M, W_u, Mt);
    return true;
}

/* Lambda and theta; R: Mt x Mt. */
static void carry(const gauss *q, const double *W, double *R, double *Lambda, double *theta)
{
    int64_t M = q->M;
    memcpy(Lambda, q->Lambda, (size_t)(M * M) * sizeof *Lambda);
    for (int64_t i = 0; i < M; i++) Lambda[i + i * M] -= 1;
    la_symm(LA_RIGHT, M, M, 1, Lambda, M, W, M, 0, R, M);
    la_gemm_lower(LA_N, LA_T, M, M, 1, R, M, W, M, 0, Lambda, M);
    for (int64_t i = 0; i < M; i++) Lambda[i + i * M] += 1;
    la_gemv(LA_N, M, M, 1, W, M, q->theta, 0, theta);
}

bool layer_transport(layer *l, function_set old, const double *L)
{
    int64_t Mt = l->Mt;
    double *W = mem_doubles(Mt, Mt), *R = mem_doubles(Mt, Mt), *next = mem_doubles(Mt, Mt + 1);
    bool ok = W && R && next && make_W(l, old, L, W);
    for (int64_t c = 0; ok && c < l->C; c++) {
        carry(&l->q[c], W, R, next, next + Mt * Mt);
        layer_q_set(l, &l->q[c], next, next + Mt * Mt);
    }
    free(W);
    free(R);
    free(next);
    return ok;
}
