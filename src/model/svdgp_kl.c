/* The KL between two decoupled Gaussian processes under one kernel (001, theorem 1, eq. 13), q with (a, alpha, L, beta), p with a
   bar over each:
       KL = [ |mu - mu'|^2 + |L''v|^2 + log|H| - log|H'| + tr(H') - M' - (M - tr H^-1) - |W K_{beta,beta'} L'|^2 ] / 2
   where ' stands for the bar, |mu - mu'|^2 = a'K a - 2 a'K a' + a''K a' is the norm of the RKHS and v = K_{beta',alpha} a -
   K_{beta',alpha'} a': nothing in it depends on the dimension of the space.  It is what holds an update to what was learned
   before.  Cost: (M_alpha + M_alpha')^2, by tiles; M_beta^3. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/svdgp_posterior.h"

/* K[rows.M, s.M] by tiles: out[c] += K x, or the bilinear form sum y'K x where out is NULL. */
static bool tiles(const svdgp *s, function_set left, function_set right, const double *x, int64_t ldx, const double *y,
                  int64_t ldy, double *out, double *form)
{
    int64_t most = SVDGP_TILE;
    double *K = mem_doubles(most, most), *work = mem_alloc(functions_work(&s->f, most, most), sizeof *work),
           sum[SVDGP_TILE];
    bool ok = K && work;
    for (int64_t j = 0; ok && j < right.M; j += most)
        for (int64_t i = 0; ok && i < left.M; i += most) {
            int64_t cols = right.M - j < most ? right.M - j : most, rows = left.M - i < most ? left.M - i : most;
            function_set l = functions_part(left, s->D, i, rows), r = functions_part(right, s->D, j, cols);
            ok = functions_pair(&s->f, r, l, work, K);
            for (int64_t k = 0; k < rows; k++) sum[k] = 0;
            for (int64_t k = 0; k < cols; k++) la_axpy(rows, x[(j + k) * ldx], K + k * rows, sum);
            for (int64_t k = 0; k < rows && out; k++) out[i + k] += sum[k];
            for (int64_t k = 0; k < rows && form; k++) *form += y[(i + k) * ldy] * sum[k];
        }
    free(K);
    free(work);
    return ok;
}

/* a'K a of two processes. */
static bool bilinear(const svdgp *s, const svdgp *t, int64_t c, double *form)
{
    return tiles(s, svdgp_alpha(s), svdgp_alpha(t), t->coefficient + c, t->C, s->coefficient + c, s->C, NULL, form);
}

/* v of the head comment, the mean's functions first. */
static bool difference_at(const svdgp *q, const svdgp *p, int64_t c, double *v)
{
    double *old = mem_zeroed(p->Mt, sizeof *old);
    bool ok = old != NULL;
    memset(v, 0, (size_t)p->Mt * sizeof *v);
    for (int64_t k = 0; k < p->p; k++) v[k] = q->trend.x[k * q->C + c] - p->trend.x[k * p->C + c];
    ok = ok && tiles(q, svdgp_beta(p), svdgp_alpha(q), q->coefficient + c, q->C, NULL, 0, v + p->p, NULL) &&
         tiles(q, svdgp_beta(p), svdgp_alpha(p), p->coefficient + c, p->C, NULL, 0, old, NULL);
    for (int64_t k = 0; ok && k < svdgp_Mb(p); k++) v[p->p + k] -= old[k];
    free(old);
    return ok;
}

static bool mean_part(const svdgp *q, const svdgp *p, int64_t c, double *sum)
{
    double own = 0, cross = 0, old = 0, *v = mem_alloc(2 * p->Mt, sizeof *v);
    bool ok = v && bilinear(q, q, c, &own) && bilinear(q, p, c, &cross) && bilinear(p, p, c, &old) &&
              difference_at(q, p, c, v);
    if (ok) {
        double *t = v + p->Mt;
        la_gemv(LA_T, p->Mt, p->Mt, 1, p->factor[c], p->Mt, v, 0, t);
        *sum = own - 2 * cross + old + la_dot(p->p, v, v) + la_dot(p->Mt, t, t);
    }
    free(v);
    return ok;
}

/* |W K_{beta,beta'} L'|^2 */
static bool overlap(const svdgp *q, const svdgp *p, int64_t c, double *sum)
{
    int64_t M = q->Mt, O = p->Mt, Mb = svdgp_Mb(q), Ob = svdgp_Mb(p);
    double *K = mem_zeroed(M * O, sizeof *K), *T = mem_doubles(M, O), *pairs = mem_doubles(Mb, Ob);
    double *work = mem_alloc(functions_work(&q->f, Mb, Ob), sizeof *work);
    bool ok = K && T && pairs && work && functions_pair(&q->f, svdgp_beta(p), svdgp_beta(q), work, pairs);
    if (ok) {
        for (int64_t k = 0; k < q->p; k++) K[k + k * M] = 1;
        for (int64_t j = 0; j < Ob; j++)
            if (Mb) memcpy(K + q->p + (q->p + j) * M, pairs + j * Mb, (size_t)Mb * sizeof *K);
        la_gemm(LA_N, LA_N, M, O, O, 1, K, M, p->factor[c], O, 0, T, M);
        la_gemm(LA_N, LA_N, M, O, M, 1, q->W[c], M, T, M, 0, K, M);
        *sum = la_dot(M * O, K, K);
    }
    free(K);
    free(T);
    free(pairs);
    free(work);
    return ok;
}

double svdgp_kl(const svdgp *q, const svdgp *p, int64_t c)
{
    double mean = 0, common = 0;
    if (!mean_part(q, p, c, &mean) || !overlap(q, p, c, &common)) return NAN;
    double trace = la_dot(p->Mt * p->Mt, p->J[c], p->J[c]) - (double)p->Mt, old = la_logdet(p->Mt, p->J[c], p->Mt);
    return svdgp_kl_latent(q, c) + 0.5 * (mean + trace - old - common);
}
