/* The KL between two decoupled Gaussian processes under one kernel (001, theorem 1, eq. 13), q with (a, alpha, L, beta), p with a
   bar over each:
       KL = [ |mu - mu'|^2 + |L''v|^2 + log|H| - log|H'| + tr(H') - M' - (M - tr H^-1) - |W K_{beta,beta'} L'|^2 ] / 2
   where ' stands for the bar, |mu - mu'|^2 is the norm of the RKHS and v is mu - mu' at beta': nothing in it depends on the
   dimension of the space.  An update maximises E[log p] of its rows less this distance, and reports it.
   Cost: the square of the number of bases whose coefficients differ, by tiles; M_beta^3. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_posterior.h"

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

/* mu - mu' = sum_k d_k k(z_k, .), of one latent. */
typedef struct difference {
    int64_t n;
    double *Z, *C, *d; /* n x D each of the first two; n */
    bool widths;
} difference;

static bool same_rows(const param_segment *a, const param_segment *b, int64_t rows)
{
    size_t size = (size_t)(rows * a->cols);
    if (!a->rows || !b->rows) { /* no widths are widths of 1, whose logarithm is 0 */
        const param_segment *some = a->rows ? a : b;
        for (size_t i = 0; some->rows && i < size; i++)
            if (some->values[i] != 0) return false;
        return true;
    }
    return !size || !memcmp(a->values, b->values, size * sizeof(double));
}

/* Whether the bases of p are the first of q's, as after an update. */
static bool continues(const svdgp *q, const svdgp *p)
{
    int64_t n = svdgp_Ma(p);
    return n <= svdgp_Ma(q) && same_rows(&q->alpha, &p->alpha, n) && same_rows(&q->alpha_width, &p->alpha_width, n);
}

static void put_basis(difference *f, const svdgp *s, int64_t m, double d)
{
    int64_t D = s->D, at = f->n * D;
    if (d == 0) return;
    memcpy(f->Z + at, s->alpha.values + m * D, (size_t)D * sizeof(double));
    if (s->alpha_widths)
        memcpy(f->C + at, s->alpha_width.values + m * D, (size_t)D * sizeof(double));
    else
        memset(f->C + at, 0, (size_t)D * sizeof(double));
    f->d[f->n++] = d;
}

/* Bases that both have count once, with what differs; where q continues p these are few. */
static bool difference_make(const svdgp *q, const svdgp *p, int64_t c, difference *f)
{
    int64_t most = svdgp_Ma(q) + svdgp_Ma(p);
    bool shared = continues(q, p);
    f->Z = mem_doubles(most, 2 * q->D + 1), f->C = f->Z + most * q->D, f->d = f->C + most * q->D;
    f->widths = q->alpha_widths || p->alpha_widths;
    if (!f->Z) return false;
    for (int64_t m = 0; m < svdgp_Ma(q); m++) {
        double old = shared && m < svdgp_Ma(p) ? p->coefficient[m * p->C + c] : 0;
        put_basis(f, q, m, q->coefficient[m * q->C + c] - old);
    }
    for (int64_t m = 0; m < svdgp_Ma(p) && !shared; m++) put_basis(f, p, m, -p->coefficient[m * p->C + c]);
    return true;
}

/* |mu - mu'|^2 + |L''v|^2, the mean's functions first in v. */
static bool mean_part(const svdgp *q, const svdgp *p, int64_t c, double *sum)
{
    difference f = {0};
    double *v = mem_zeroed(2 * p->Mt, sizeof *v), norm = 0;
    bool ok = v && difference_make(q, p, c, &f);
    function_set set = {f.n, f.Z, f.widths ? f.C : NULL};
    ok = ok && tiles(q, set, set, f.d, 1, f.d, 1, NULL, &norm) &&
         tiles(q, svdgp_beta(p), set, f.d, 1, NULL, 0, v + p->p, NULL);
    if (ok) {
        double *t = v + p->Mt;
        for (int64_t k = 0; k < p->p; k++) v[k] = q->trend.values[k * q->C + c] - p->trend.values[k * p->C + c];
        la_gemv(LA_T, p->Mt, p->Mt, 1, p->factor[c], p->Mt, v, 0, t);
        *sum = norm + la_dot(p->p, v, v) + la_dot(p->Mt, t, t);
    }
    free(f.Z);
    free(v);
    return ok;
}

static bool same_basis(const svdgp *q, const svdgp *p, int64_t k)
{
    size_t size = (size_t)q->D * sizeof(double);
    int64_t at = k * q->D;
    if (q->D == 0) return true;
    return !memcmp(q->beta.values + at, p->beta.values + at, size) &&
           (!q->widths || !memcmp(q->beta_width.values + at, p->beta_width.values + at, size));
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
        for (int64_t k = 0; k < Mb && k < Ob; k++) /* a basis of both is one variable, jitter and all */
            if (same_basis(q, p, k)) K[q->p + k + (q->p + k) * M] += fmin(q->nugget, p->nugget);
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
