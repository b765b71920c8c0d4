/* The sums over rows (svdgp.h): expected log likelihood, and all of its gradients that rows have a share in.

   Twice over the bases of the mean, a tile at a time: once for mu = K a, and once the likelihood has answered with g and h.
   Covariances of a piece of rows with all bases are kept in between where they take no more than KEPT_MOST numbers, and computed again
   where they would.
   In newton the second time is over the block of bases that moves alone, unless the kernel learns.  With a direction p the second time
   is for K_{alpha,x} Lambda K_{x,alpha} p in the place of K_{alpha,x} g. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp.h"

enum { KEPT_MOST = 1 << 22 };

svdgp_layout svdgp_layout_of(const svdgp *s)
{
    svdgp_layout o = {0};
    int64_t Ma = svdgp_Ma(s), Mb = svdgp_Mb(s), at = 1, learn = s->gradient && s->learn,
            places = s->gradient && s->places;
    o.like = at, at += s->likes;
    o.kernel = at, at += s->params;
    o.trend = at, at += s->p * s->C;
    o.S = at, at += s->gradient ? s->C * s->Mt * s->Mt : 0;
    o.beta = at, at += learn * Mb * s->D;
    o.beta_width = at, at += learn * s->widths * Mb * s->D;
    o.a = at, at += s->gradient && !s->newton ? Ma * s->C : 0;
    o.alpha = at, at += places * Ma * s->D;
    o.alpha_width = at, at += places * s->alpha_widths * Ma * s->D;
    o.block = at, at += s->gradient && s->newton ? s->block.n * s->C : 0;
    o.witness = at, at += s->gradient && s->newton ? s->witness.seats * svdgp_witness_width(s) : 0;
    o.size = at;
    return o;
}

static int64_t stat_size(const void *shared) { return svdgp_layout_of(shared).size; }

/* The workspace of n rows. */
typedef struct rows_work {
    double *F, *K, *G, *tile; /* features; a tile of covariances, of adjoints; of functions.h */
    double *kept;             /* n x M_alpha: all tiles; NULL: they are made again */
    double *Kb, *V, *Gb;      /* n x Mt: covariances with beta, K W', adjoints */
    double *mu, *var, *g, *h; /* n x C */
    double *along;            /* n x C: k_{x,alpha} p of the direction; NULL: there is none */
    double *diag, *Y;         /* n, n x columns */
} rows_work;

/* work NULL: nothing but the size. */
static double *slice(double *work, int64_t *at, int64_t size)
{
    double *here = work ? work + *at : NULL;
    *at += size;
    return here;
}

/* Whether a pass comes back to the covariances with all bases of the mean. */
static bool returns(const svdgp *s) { return s->gradient && (s->learn || !s->newton); }

static int64_t divide(const svdgp *s, int64_t n, double *work, rows_work *w)
{
    int64_t columns = s->likelihood ? s->likelihood->columns : 1, most = SVDGP_TILE > s->Mt ? SVDGP_TILE : s->Mt;
    int64_t at = 0;
    w->F = slice(work, &at, functions_features_size(&s->f, n));
    w->K = slice(work, &at, n * SVDGP_TILE);
    w->G = slice(work, &at, n * SVDGP_TILE);
    w->tile = slice(work, &at, functions_work(&s->f, n, most));
    w->kept = returns(s) && n * svdgp_Ma(s) <= KEPT_MOST ? slice(work, &at, n * svdgp_Ma(s)) : NULL;
    double **const squares[] = {&w->Kb, &w->V, &w->Gb}, **const latents[] = {&w->mu, &w->var, &w->g, &w->h};
    for (int i = 0; i < 3; i++) *squares[i] = slice(work, &at, n * s->Mt);
    for (int i = 0; i < 4; i++) *latents[i] = slice(work, &at, n * s->C);
    w->along = s->direction ? slice(work, &at, n * s->C) : NULL;
    w->diag = slice(work, &at, n);
    w->Y = slice(work, &at, n * columns);
    return at;
}

static int64_t work_doubles(const void *shared, int64_t rows)
{
    rows_work w;
    return divide(shared, rows, NULL, &w);
}

static int64_t keep_doubles(const void *shared, int64_t rows) { return (void)shared, (void)rows, 0; }

/* ------------------------------------------------------------------------------------- forward */

/* mu = K_{x,alpha} a + sqrt(s) h'trend; with a direction p the same of p. */
static bool means(const svdgp *s, int64_t n, const double *X, int64_t ldx, const rows_work *w)
{
    int64_t Ma = svdgp_Ma(s), C = s->C;
    memset(w->mu, 0, (size_t)(n * C) * sizeof *w->mu);
    if (w->along) memset(w->along, 0, (size_t)(n * C) * sizeof *w->along);
    for (int64_t m = 0; m < Ma; m += SVDGP_TILE) {
        int64_t count = Ma - m < SVDGP_TILE ? Ma - m : SVDGP_TILE;
        function_set part = functions_part(svdgp_alpha(s), s->D, m, count);
        double *K = w->kept ? w->kept + m * n : w->K;
        if (!functions_gram(&s->f, part, n, X, ldx, w->F, w->tile, K)) return false;
        la_gemm(LA_N, LA_T, n, C, count, 1, K, n, s->coefficient + m * C, C, 1, w->mu, n);
        if (w->along) la_gemm(LA_N, LA_T, n, C, count, 1, K, n, s->direction + m * C, C, 1, w->along, n);
    }
    if (s->p) la_gemm(LA_N, LA_T, n, C, s->p, 1, w->Kb, n, s->trend.values, C, 1, w->mu, n);
    if (s->p && w->along) la_gemm(LA_N, LA_T, n, C, s->p, 1, w->Kb, n, s->direction_trend, C, 1, w->along, n);
    return true;
}

bool svdgp_fill(const svdgp *s, function_set set, int64_t n, const double *X, int64_t ldx, double *F, double *tile,
                double *out)
{
    basis_fill(s->mean, n, X, ldx, out, 1, n);
    la_scale(n * s->p, sqrt(s->mean->B), out);
    functions_features(&s->f, n, X, ldx, F);
    return functions_gram(&s->f, set, n, X, ldx, F, tile, out + n * s->p);
}

/* Features, Kb = (sqrt(s) h, K_{x,beta}) and the diagonal of the prior. */
static bool covariances(const svdgp *s, int64_t n, const double *X, int64_t ldx, const rows_work *w)
{
    bool ok = svdgp_fill(s, svdgp_beta(s), n, X, ldx, w->F, w->tile, w->Kb);
    kernel_diag(s->kernel, n, X, ldx, w->diag);
    for (int64_t j = 0; j < s->p; j++)
        for (int64_t i = 0; i < n; i++) w->diag[i] += w->Kb[i + j * n] * w->Kb[i + j * n];
    return ok;
}

/* V = Kb W' of one latent. */
static void project(const svdgp *s, int64_t c, int64_t n, const rows_work *w)
{
    la_gemm(LA_N, LA_T, n, s->Mt, s->Mt, 1, w->Kb, n, s->W[c], s->Mt, 0, w->V, n);
}

static void variances(const svdgp *s, int64_t n, const rows_work *w)
{
    for (int64_t c = 0; c < s->C; c++) {
        double *var = w->var + c * n;
        memcpy(var, w->diag, (size_t)n * sizeof *var);
        project(s, c, n, w);
        for (int64_t j = 0; j < s->Mt; j++)
            for (int64_t i = 0; i < n; i++) var[i] -= w->V[i + j * n] * w->V[i + j * n];
        for (int64_t i = 0; i < n; i++) var[i] = fmax(var[i], 0);
    }
}

/* The sum over rows; g, h and the likelihoods' gradients. */
static double expect(const svdgp *s, const row_block *b, const rows_work *w, double *like)
{
    double sum = 0;
    for (int64_t t = 0; t < s->targets; t++) {
        const likelihood *l = &s->likelihood[t];
        int64_t at = t * l->latents * b->n, Q = s->targets * l->columns;
        for (int64_t i = 0; i < b->n; i++)
            memcpy(w->Y + i * l->columns, b->y + i * Q + t * l->columns, (size_t)l->columns * sizeof(double));
        sum += l->ops->expect(l, b->n, w->Y, b->w, w->mu + at, w->var + at, b->n, s->random,
                              gathered_id(b->index, b->first), w->g + at, w->h + at, like + t * l->params);
    }
    return sum;
}

/* -------------------------------------------------------------------------------------- reverse */

/* The mean's functions, S of each latent, and beta's share of the kernel's gradient. */
static bool pull_covariances(const svdgp *s, const row_block *b, const rows_work *w, const svdgp_layout *o,
                             double *stat)
{
    int64_t n = b->n, Mt = s->Mt;
    if (s->p) la_gemm(LA_T, LA_N, s->C, s->p, n, 1, w->g, n, w->Kb, n, 1, stat + o->trend, s->C);
    memset(w->Gb, 0, (size_t)(n * Mt) * sizeof *w->Gb);
    for (int64_t c = 0; c < s->C; c++) {
        const double *h = w->h + c * n;
        if (s->C > 1 && s->learn) project(s, c, n, w);
        if (s->learn) {
            for (int64_t j = 0; j < Mt; j++)
                for (int64_t i = 0; i < n; i++) w->V[i + j * n] *= -2 * h[i];
            la_gemm(LA_N, LA_N, n, Mt, Mt, 1, w->V, n, s->W[c], Mt, 1, w->Gb, n);
        }
        for (int64_t j = 0; j < Mt; j++)
            for (int64_t i = 0; i < n; i++) w->V[i + j * n] = (s->newton ? fmin(h[i], 0) : h[i]) * w->Kb[i + j * n];
        la_gemm(LA_T, LA_N, Mt, Mt, n, 1, w->V, n, w->Kb, n, 1, stat + o->S + c * Mt * Mt, Mt);
    }
    if (!s->learn) return true;
    memset(w->diag, 0, (size_t)n * sizeof *w->diag);
    for (int64_t c = 0; c < s->C; c++) la_axpy(n, 1, w->h + c * n, w->diag);
    kernel_diag_reverse(s->kernel, n, b->X, s->D, w->diag, stat + o->kernel, NULL, 0);
    return functions_gram_reverse(&s->f, svdgp_beta(s), n, b->X, s->D, w->F, w->Kb + n * s->p, w->Gb + n * s->p,
                                  w->tile, stat + o->kernel, stat + o->beta, s->widths ? stat + o->beta_width : NULL);
}

/* a, alpha and the kernel from g. */
static bool pull_means(const svdgp *s, const row_block *b, const rows_work *w, const svdgp_layout *o, double *stat)
{
    int64_t n = b->n, Ma = svdgp_Ma(s);
    for (int64_t m = 0; m < Ma && returns(s); m += SVDGP_TILE) {
        int64_t count = Ma - m < SVDGP_TILE ? Ma - m : SVDGP_TILE, at = m * s->D;
        function_set part = functions_part(svdgp_alpha(s), s->D, m, count);
        const double *a = s->coefficient + m * s->C, *K = w->kept ? w->kept + m * n : w->K;
        if (!w->kept && !functions_gram(&s->f, part, n, b->X, s->D, w->F, w->tile, w->K)) return false;
        if (!s->newton) la_gemm(LA_T, LA_N, s->C, count, n, 1, w->g, n, K, n, 1, stat + o->a + m * s->C, s->C);
        if (!s->learn && !s->places) continue;
        la_gemm(LA_N, LA_N, n, count, s->C, 1, w->g, n, a, s->C, 0, w->G, n);
        if (!functions_gram_reverse(&s->f, part, n, b->X, s->D, w->F, K, w->G, w->tile, stat + o->kernel,
                                    s->places ? stat + o->alpha + at : NULL,
                                    s->places && s->alpha_widths ? stat + o->alpha_width + at : NULL))
            return false;
    }
    return true;
}

/* newton: the gradient of the block that moves. */
static bool pull_block(const svdgp *s, const row_block *b, const rows_work *w, double *out)
{
    const function_set all = {s->block.n, s->block.Z, NULL};
    for (int64_t m = 0; m < all.M; m += SVDGP_TILE) {
        int64_t count = all.M - m < SVDGP_TILE ? all.M - m : SVDGP_TILE, n = b->n;
        if (!functions_gram(&s->f, functions_part(all, s->D, m, count), n, b->X, s->D, w->F, w->tile, w->K))
            return false;
        la_gemm(LA_T, LA_N, s->C, count, n, 1, w->g, n, w->K, n, 1, out + m * s->C, s->C);
    }
    return true;
}

/* newton: rows that have a seat take it. */
static void seat_rows(const svdgp *s, const row_block *b, const rows_work *w, double *seats)
{
    const svdgp_witness *k = &s->witness;
    int64_t block = k->position ? id_table_find(k->position, b->index) : b->index;
    for (int64_t i = 0; i < b->n && k->seats > 0; i++) {
        int64_t place = block * k->largest + b->first + i;
        if (place % k->stride) continue;
        double *seat = seats + place / k->stride * svdgp_witness_width(s);
        seat[0] += 1, seat[1] += b->w[i];
        la_axpy(s->D, 1, b->X + i * s->D, seat + 2);
        for (int64_t c = 0; c < s->C; c++) seat[2 + s->D + c] += fmax(-2 * w->h[i + c * b->n], 0);
    }
}

static anygp_status no_tiles(anygp_error *e) { return fail_memory(e, "kernel tiles", 0); }

static anygp_status rows_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                              anygp_error *e)
{
    const svdgp *s = shared;
    svdgp_layout o = svdgp_layout_of(s);
    rows_work w;
    (void)keep;
    divide(s, b->n, work, &w);
    if (!covariances(s, b->n, b->X, s->D, &w) || !means(s, b->n, b->X, s->D, &w)) return no_tiles(e);
    variances(s, b->n, &w);
    stat[o.value] += expect(s, b, &w, stat + o.like);
    if (!isfinite(stat[o.value]))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the expected log likelihood of block %lld of the rows is not a number",
                         (long long)b->index);
    if (!s->gradient) return ANYGP_OK;
    if (s->newton) seat_rows(s, b, &w, stat + o.witness);
    for (int64_t i = 0; w.along && i < b->n * s->C; i++) w.g[i] = fmax(-2 * w.h[i], 0) * w.along[i];
    if (!pull_covariances(s, b, &w, &o, stat) || !pull_means(s, b, &w, &o, stat)) return no_tiles(e);
    return !s->newton || pull_block(s, b, &w, stat + o.block) ? ANYGP_OK : no_tiles(e);
}

/* Covariances with the bases of the mean, once and for the gradient again with its reverse; W K of each latent, its S and adjoints. */
static double multiplications(const void *shared, int64_t n)
{
    const svdgp *s = shared;
    double C = (double)s->C, tile = (double)(2 * s->D + 1) + C, square = (double)(s->Mt * s->Mt);
    return (double)n * ((double)svdgp_Ma(s) * tile * (returns(s) ? 3 : 1) + (double)s->block.n * tile +
                        C * square * (1 + s->gradient + (s->gradient && s->learn)));
}

/* -------------------------------------------------------------------------------------- marginals */

int64_t svdgp_marginal_work(const svdgp *s, int64_t n) { return work_doubles(s, n); }

bool svdgp_marginal(const svdgp *s, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                    double *variance)
{
    rows_work w;
    divide(s, n, work, &w);
    if (!covariances(s, n, X, ldx, &w) || !means(s, n, X, ldx, &w)) return false;
    memcpy(mean, w.mu, (size_t)(n * s->C) * sizeof *mean);
    if (!variance) return true;
    variances(s, n, &w);
    memcpy(variance, w.var, (size_t)(n * s->C) * sizeof *variance);
    return true;
}

const block_model svdgp_rows = {.rows_alone = true,
                                .stat_size = stat_size,
                                .work_doubles = work_doubles,
                                .keep_doubles = keep_doubles,
                                .work = multiplications,
                                .stat = rows_stat};
