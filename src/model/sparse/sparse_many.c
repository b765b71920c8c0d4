/* Several targets over one K_uu and one K_uf, each with its noise; notation and equations in sparse.h.  The heads are those of
   one target, which get the statistics of one target after the other: O(M^3) each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

anygp_status sparse_share(sparse *s, int64_t T, anygp_error *e)
{
    int64_t Mt = s->Mt;
    sparse_many *k = &s->many;
    double *m = mem_doubles(Mt, T);
    k->noise = mem_alloc(T, sizeof *k->noise);
    k->bar = mem_zeroed(T, sizeof *k->bar);
    k->stat = mem_alloc(Mt * Mt + Mt + 2, sizeof *k->stat);
    k->V = mem_doubles(Mt, Mt);
    k->E = mem_doubles(Mt, Mt);
    if (!m || !k->noise || !k->bar || !k->stat || !k->V || !k->E) {
        free(m);
        return fail_memory(e, "the targets", 8.0 * (double)Mt * (double)(3 * Mt + T));
    }
    free(s->m);
    s->m = m, s->targets = T;
    return ANYGP_OK;
}

void sparse_share_clear(sparse *s)
{
    sparse_many *k = &s->many;
    double *const owned[] = {k->noise, k->bar, k->stat, k->V, k->E};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *k = (sparse_many){0};
}

bool sparse_share_prepare(sparse *s, const hyper *h)
{
    sparse_many *k = &s->many;
    k->shares = 0;
    for (int64_t t = 0; t < s->targets; t++) {
        k->noise[t] = h->like[t] + kernel_white(h->kernel);
        if (!(k->noise[t] > 0)) return false;
        k->shares += s->noise / k->noise[t];
    }
    return true;
}

/* ------------------------------------------------------------------------------------- the heads */

double sparse_share_of(const sparse *s, int64_t t) { return s->targets > 1 ? s->noise / s->many.noise[t] : 1; }

sparse sparse_target(const sparse *s, const double *stat, int64_t t, const double **out)
{
    int64_t Mt = s->Mt;
    sparse one = *s;
    *out = stat;
    if (s->targets == 1) return one;
    double *sums = (double *)stat, *to = s->many.stat, rho = sparse_share_of(s, t);
    one.targets = 1, one.target = t, one.noise = s->many.noise[t], one.m = s->m + t * Mt;
    one.V = s->many.V, one.E = s->many.E;
    for (int64_t i = 0; i < Mt * Mt; i++) to[i] = rho * sums[i];
    for (int64_t i = 0; i < Mt; i++) stat_b(&one, to)[i] = rho * stat_b(s, sums)[t * Mt + i];
    *stat_l(&one, to) = s->total * log(one.noise) + rho * fmax(*stat_l(s, sums) - s->total * log(s->noise), 0);
    *stat_q(&one, to) = rho * stat_q(s, sums)[t];
    *out = to;
    return one;
}

/* With m at its maximum m'S m = m'b - m'm; with V there too, tr(S V) = M - tr V. */
static double noise_bar(const sparse *one, const double *stat)
{
    double *sums = (double *)stat, traced = *stat_l(one, sums) - one->total * log(one->noise), trace = 0;
    for (int64_t i = 0; i < one->Mt; i++) trace += 1 - one->V[i + i * one->Mt];
    double errors = *stat_q(one, sums) - la_dot(one->Mt, one->m, stat_b(one, sums)) - la_dot(one->Mt, one->m, one->m);
    return 0.5 * (trace + errors - one->total + traced) / one->noise;
}

bool sparse_evidence_many(sparse *s, const double *stat, bool gradient, double *value)
{
    int64_t size = s->Mt * s->Mt;
    if (s->targets == 1) return sparse_evidence(s, stat, gradient, value);
    *value = 0;
    if (gradient) memset(s->V, 0, (size_t)size * sizeof(double)), memset(s->E, 0, (size_t)size * sizeof(double));
    for (int64_t t = 0; t < s->targets; t++) {
        const double *sums;
        double of_target;
        sparse one = sparse_target(s, stat, t, &sums);
        if (!sparse_evidence(&one, sums, gradient, &of_target)) return false;
        *value += of_target;
        if (!gradient) continue;
        la_axpy(size, sparse_share_of(s, t), one.V, s->V);
        la_axpy(size, 1, one.E, s->E);
        s->many.bar[t] = noise_bar(&one, sums);
    }
    return true;
}

/* -------------------------------------------------------------------------------------- the rows */

/* A and y are scaled by (w / s_0)^1/2 throughout. */
void rows_adjoints_many(const sparse *s, const row_block *b, const rows_parts *r, double *R, double *Abar, double *dbar)
{
    int64_t Mt = s->Mt, n = b->n, T = s->targets;
    memcpy(R, r->y, (size_t)(n * T) * sizeof *R);
    la_gemm(LA_T, LA_N, n, T, Mt, -1, r->A, Mt, s->m, Mt, 1, R, n);
    for (int64_t t = 0; t < T; t++) la_scale(n, sparse_share_of(s, t), R + t * n);
    la_gemm(LA_N, LA_N, Mt, n, Mt, -1, s->V, Mt, r->A, Mt, 0, Abar, Mt);
    la_gemm(LA_N, LA_T, Mt, n, T, 1, s->m, Mt, R, n, 1, Abar, Mt);
    for (int64_t j = 0; j < n; j++) {
        double root = sqrt(b->w[j] / r->g[j]);
        dbar[j] = -0.5 * s->many.shares * b->w[j] / r->g[j];
        la_scale(Mt, root, Abar + j * Mt);
        la_axpy(s->M, -2 * dbar[j] / root, r->A + j * Mt, Abar + j * Mt);
    }
}
