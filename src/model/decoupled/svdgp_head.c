/* The KL of a decoupled Gaussian process to its prior (001, eq. 9) and its gradients (svdgp.h).

   K_alpha's columns.  With P the sampled ones and s = M_alpha / |P|
       value  s sum_{j in P} a_j (K a)_j / 2          a bar_i  s sum_{j in P} k_ij a_j          alpha_i bar  the same with a_i dk_ij/di
   each unbiased; the last two are one-sided: the derivative of the value would have half of it in the rows of P alone, with
   s times the noise. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp.h"

/* ----------------------------------------------------------------------------------- covariance */

/* log|H| / 2 - (Mt - tr H^-1) / 2; H^-1 = J^-T J^-1. */
double svdgp_kl_latent(const svdgp *s, int64_t c)
{
    int64_t Mt = s->Mt;
    double *inverse = s->work[0], trace = 0;
    memset(inverse, 0, (size_t)(Mt * Mt) * sizeof *inverse);
    for (int64_t i = 0; i < Mt; i++) inverse[i + i * Mt] = 1;
    la_trsm(LA_LEFT, LA_N, Mt, Mt, 1, s->J[c], Mt, inverse, Mt);
    trace = la_dot(Mt * Mt, inverse, inverse);
    return 0.5 * (la_logdet(Mt, s->J[c], Mt) - (double)Mt + trace);
}

double svdgp_kl_covariance(const svdgp *s)
{
    double sum = 0.5 * la_dot(s->p * s->C, s->trend.values, s->trend.values);
    for (int64_t c = 0; c < s->C; c++) sum += svdgp_kl_latent(s, c);
    return sum;
}

/* Adds R (S - K / 2) R = W'(W (S - K / 2) W') W to Kbar, both triangles. */
static void add_Kbar(const svdgp *s, int64_t c, const double *S, double *Kbar)
{
    int64_t Mt = s->Mt;
    const double *W = s->W[c];
    double *T = s->work[1], *Q = s->work[2];
    for (int64_t i = 0; i < Mt * Mt; i++) T[i] = S[i] - 0.5 * s->K[i];
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, W, Mt, T, Mt, 0, Q, Mt);
    la_gemm(LA_N, LA_T, Mt, Mt, Mt, 1, Q, Mt, W, Mt, 0, T, Mt);
    la_gemm(LA_T, LA_N, Mt, Mt, Mt, 1, W, Mt, T, Mt, 0, Q, Mt);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, Q, Mt, W, Mt, 1, Kbar, Mt);
}

/* L's gradient into S's place: with Y = L H^-1, T = S Y and Q = K Y it is -2 P'T - Q (I - H^-1), and P'T = T - Q L'T,
   I - H^-1 = L'Q. */
static void pull_L(const svdgp *s, int64_t c, double *S)
{
    int64_t Mt = s->Mt;
    const double *L = s->factor[c], *J = s->J[c];
    double *Y = s->work[0], *T = s->work[1], *Q = s->work[2];
    memcpy(Y, L, (size_t)(Mt * Mt) * sizeof *Y);
    la_trsm(LA_RIGHT, LA_T, Mt, Mt, 1, J, Mt, Y, Mt);
    la_trsm(LA_RIGHT, LA_N, Mt, Mt, 1, J, Mt, Y, Mt);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, S, Mt, Y, Mt, 0, T, Mt);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, s->K, Mt, Y, Mt, 0, Q, Mt);
    memcpy(S, T, (size_t)(Mt * Mt) * sizeof *S);
    la_gemm(LA_T, LA_N, Mt, Mt, Mt, 2, L, Mt, T, Mt, 0, Y, Mt);
    la_gemm(LA_T, LA_N, Mt, Mt, Mt, -1, L, Mt, Q, Mt, 1, Y, Mt);
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, Q, Mt, Y, Mt, -2, S, Mt);
}

/* Kbar to beta and the kernel, with the share of the jitter, which is relative to the mean diagonal; the mean's bases have a
   constant K. */
static bool pull_K(const svdgp *s, const double *Kbar, double *stat)
{
    svdgp_layout o = svdgp_layout_of(s);
    int64_t Mb = svdgp_Mb(s), P = s->params;
    double *K = s->work[0], *G = s->work[1], *work = mem_alloc(functions_work(&s->f, Mb, Mb) + P, sizeof *work);
    if (!work) return false;
    double *gp = work + functions_work(&s->f, Mb, Mb), trace = 0;
    memset(gp, 0, (size_t)P * sizeof *gp);
    for (int64_t j = 0; j < Mb; j++)
        for (int64_t i = 0; i < Mb; i++) {
            int64_t at = s->p + i + (s->p + j) * s->Mt, turned = s->p + j + (s->p + i) * s->Mt;
            K[i + j * Mb] = s->K[at] - (i == j ? s->nugget : 0);
            G[i + j * Mb] = Kbar[at] + Kbar[turned]; /* twice: the reverse is one-sided */
        }
    for (int64_t i = 0; i < Mb; i++) trace += G[i + i * Mb];
    for (int64_t i = 0; i < Mb && s->mean_diagonal > 0; i++) G[i + i * Mb] += s->jitter * trace / (double)Mb;
    bool ok = functions_pair_reverse(&s->f, svdgp_beta(s), svdgp_beta(s), K, G, work, gp, stat + o.beta,
                                     s->widths ? stat + o.beta_width : NULL);
    la_axpy(P, 0.5, gp, stat + o.kernel);
    free(work);
    return ok;
}

bool svdgp_head(svdgp *s, double *stat)
{
    svdgp_layout o = svdgp_layout_of(s);
    stat[o.value] -= svdgp_kl_covariance(s);
    if (!s->gradient) return true;
    la_axpy(s->p * s->C, -1, s->trend.values, stat + o.trend);
    double *Kbar = s->work[3];
    memset(Kbar, 0, (size_t)(s->Mt * s->Mt) * sizeof *Kbar);
    for (int64_t c = 0; c < s->C; c++) {
        double *S = stat + o.S + c * s->Mt * s->Mt;
        if (s->learn) add_Kbar(s, c, S, Kbar);
        if (!s->newton) pull_L(s, c, S);
    }
    return !s->learn || pull_K(s, Kbar, stat);
}

void svdgp_pull_scale(const svdgp *s, double *stat)
{
    svdgp_layout o = svdgp_layout_of(s);
    double sum = la_dot(svdgp_Ma(s) * s->C, s->coefficient, stat + o.a);
    for (int64_t c = 0; c < s->C; c++)
        for (int64_t j = 0; j < s->Mt; j++)
            sum += la_dot(s->Mt - j, s->factor[c] + j + j * s->Mt, stat + o.S + c * s->Mt * s->Mt + j + j * s->Mt);
    double g = s->widths ? -0.5 * sum / (s->scale * s->scale) : -sum / s->scale; /* scale is k(x, x) or its root */
    kernel_diag_reverse(s->kernel, 1, s->f.origin, s->D, &g, stat + o.kernel, NULL, 0);
}

/* ----------------------------------------------------------------------------------------- mean */

/* The sampled bases: places, widths and coefficients, C of each. */
typedef struct columns {
    function_set set;
    double *Z, *C, *a; /* a: count x C, column-major */
    double scale;
} columns;

static bool gather(const svdgp *s, int64_t count, const int64_t *which, columns *k)
{
    int64_t D = s->D;
    function_set all = svdgp_alpha(s);
    k->Z = mem_doubles(count, 2 * D + s->C);
    if (!k->Z) return false;
    k->C = k->Z + count * D, k->a = k->C + count * D;
    for (int64_t j = 0; j < count; j++) {
        int64_t m = which ? which[j] : j;
        memcpy(k->Z + j * D, all.Z + m * D, (size_t)D * sizeof(double));
        if (all.C) memcpy(k->C + j * D, all.C + m * D, (size_t)D * sizeof(double));
        for (int64_t c = 0; c < s->C; c++) k->a[j + c * count] = s->coefficient[m * s->C + c];
    }
    k->set = (function_set){count, k->Z, all.C ? k->C : NULL};
    return true;
}

/* Workspace of one thread: K, G (rows x tile), of functions.h, gp, pull (NULL: not wanted), value. */
typedef struct share {
    double *K, *G, *tile, *gp, *pull, value;
} share;

/* A tile of bases against SVDGP_TILE columns; gradients go to their own places in stat. */
static bool pull_tile(const svdgp *s, int64_t first, int64_t count, const columns *k, int64_t j, int64_t n,
                      const svdgp_layout *o, double *stat, share *w)
{
    function_set part = functions_part(svdgp_alpha(s), s->D, first, count);
    const double *own = s->coefficient + first * s->C;
    function_set cols = functions_part(k->set, s->D, j, n);
    const double *a = k->a + j;
    int64_t at = first * s->D, lda = k->set.M;
    if (!functions_pair(&s->f, part, cols, w->tile, w->K)) return false;
    if (w->pull) la_gemm(LA_N, LA_T, s->C, n, count, 1, own, s->C, w->K, n, 1, w->pull + j * s->C, s->C);
    la_gemm(LA_N, LA_N, n, count, s->C, k->scale, a, lda, own, s->C, 0, w->G, n);
    w->value += 0.5 * la_dot(n * count, w->K, w->G);
    if (!stat) return true;
    if (!s->newton)
        la_gemm(LA_T, LA_N, s->C, count, n, -k->scale, a, lda, w->K, n, 1, stat + o->a + first * s->C, s->C);
    if (!s->learn && !s->places) return true;
    la_scale(n * count, -1, w->G);
    return functions_pair_reverse(&s->f, part, cols, w->K, w->G, w->tile, w->gp,
                                  s->places ? stat + o->alpha + at : NULL,
                                  s->places && s->alpha_widths ? stat + o->alpha_width + at : NULL);
}

static bool pull_share(const svdgp *s, const columns *k, int id, int threads, const svdgp_layout *o, double *stat,
                       share *w)
{
    int64_t Ma = svdgp_Ma(s), turn = 0;
    for (int64_t m = 0; m < Ma; m += SVDGP_TILE) {
        if (turn++ % threads != id) continue;
        int64_t count = Ma - m < SVDGP_TILE ? Ma - m : SVDGP_TILE;
        for (int64_t j = 0; j < k->set.M; j += SVDGP_TILE) {
            int64_t n = k->set.M - j < SVDGP_TILE ? k->set.M - j : SVDGP_TILE;
            if (!pull_tile(s, m, count, k, j, n, o, stat, w)) return false;
        }
    }
    return true;
}

static int64_t share_size(const svdgp *s, int64_t pulls)
{
    return 2 * SVDGP_TILE * SVDGP_TILE + functions_work(&s->f, SVDGP_TILE, SVDGP_TILE) + s->params + pulls;
}

static share share_of(const svdgp *s, int64_t pulls, double *buffer)
{
    share w = {.K = buffer, .G = buffer + SVDGP_TILE * SVDGP_TILE, .tile = buffer + 2 * SVDGP_TILE * SVDGP_TILE};
    w.gp = w.tile + functions_work(&s->f, SVDGP_TILE, SVDGP_TILE);
    memset(w.gp, 0, (size_t)(s->params + pulls) * sizeof *w.gp);
    w.pull = pulls ? w.gp + s->params : NULL;
    return w;
}

/* Tiles over threads, each with its own places in stat; what they share is summed in the order of the threads. */
static bool pull_all(const svdgp *s, const columns *k, double *value, double *stat, double *pull)
{
    enum { THREADS_MOST = 64 };
    svdgp_layout o = svdgp_layout_of(s);
    int64_t pulls = pull ? k->set.M * s->C : 0, size = share_size(s, pulls);
    int threads = threads_max() < THREADS_MOST ? threads_max() : THREADS_MOST;
    double *buffer = mem_alloc(threads * size, sizeof *buffer);
    share w[THREADS_MOST];
    bool ok[THREADS_MOST], all = true;
    if (!buffer) return false;
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (int id = 0; id < threads; id++) {
        w[id] = share_of(s, pulls, buffer + id * size);
        ok[id] = pull_share(s, k, id, threads, &o, stat, &w[id]);
    }
    la_serial_end(threads);
    *value = 0;
    if (pull) memset(pull, 0, (size_t)pulls * sizeof *pull);
    for (int id = 0; id < threads; id++) {
        all &= ok[id];
        la_axpy(pulls, 1, w[id].pull, pull);
        *value += w[id].value;
        if (stat) la_axpy(s->params, 0.5, w[id].gp, stat + o.kernel);
    }
    free(buffer);
    return all;
}

bool svdgp_kl_mean(const svdgp *s, int64_t count, const int64_t *which, double scale, double *value, double *stat,
                   double *pull)
{
    columns k = {.scale = which ? scale : 1};
    if (!which) count = svdgp_Ma(s);
    *value = 0;
    if (count == 0) return true;
    bool ok = gather(s, count, which, &k) && pull_all(s, &k, value, stat, pull);
    if (ok && stat) stat[svdgp_layout_of(s).value] -= *value;
    free(k.Z);
    return ok;
}
