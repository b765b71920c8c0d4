/* The pass over rows of a mixture of experts (moe.h): marginals of all experts, responsibilities, and the statistics of every expert
   with rows weighted by them. */
#include <math.h>
#include <string.h>

#include "base/constants.h"
#include "model/mixture/moe.h"

static const chain *chain_of(const moe_state *s, int64_t k) { return &s->expert[k]->s; }

void moe_stat_place(const moe_state *s, double *at, moe_stat *stat)
{
    stat->value = at;
    stat->rows = at + 1;
    stat->gate = stat->rows + s->K;
    at = stat->gate + gate_stat_size(&s->gate);
    for (int64_t k = 0; k < s->K; k++) stat->expert[k] = at, at += chain_rows.stat_size(chain_of(s, k));
}

static int64_t stat_size(const void *shared)
{
    const moe_state *s = shared;
    int64_t size = 1 + s->K + gate_stat_size(&s->gate);
    for (int64_t k = 0; k < s->K; k++) size += chain_rows.stat_size(chain_of(s, k));
    return size;
}

/* n rows. */
typedef struct pieces {
    double *log_g, *a, *wr; /* n x K: log g; E + log g, later log r; w r */
    double *gate, *expert;  /* workspaces */
} pieces;

static pieces place(const moe_state *s, int64_t n, double *work)
{
    pieces p = {.log_g = work, .a = work + n * s->K, .wr = work + 2 * n * s->K, .gate = work + 3 * n * s->K};
    p.expert = p.gate + gate_work(&s->gate, n);
    return p;
}

static int64_t work_doubles(const void *shared, int64_t n)
{
    const moe_state *s = shared;
    int64_t size = 3 * n * s->K + gate_work(&s->gate, n);
    for (int64_t k = 0; k < s->K; k++) size += chain_rows.work_doubles(chain_of(s, k), n);
    return size;
}

static int64_t keep_nothing(const void *shared, int64_t n) { return (void)shared, (void)n, 0; }

/* ------------------------------------------------------------------------------------------ E-step */

/* a = E[log N(y; f_k, s_k^2)] for each expert; `to` the marginals' workspaces, which stay. */
static anygp_status forward(const moe_state *s, const row_block *b, const pieces *p, anygp_error *e)
{
    double *work = p->expert;
    for (int64_t k = 0; k < s->K; k++) {
        const double *mu, *var;
        double noise = chain_of(s, k)->like->value[0], *a = p->a + k * b->n;
        TRY(chain_marginals(chain_of(s, k), b, work, &mu, &var, e));
        for (int64_t i = 0; i < b->n; i++) {
            double r = b->y[i] - mu[i];
            a[i] = -0.5 * (LOG_2PI + log(noise) + (r * r + var[i]) / noise);
        }
        work += chain_rows.work_doubles(chain_of(s, k), b->n);
    }
    return ANYGP_OK;
}

static int64_t nearest_centre(const moe_state *s, const double *x, double y)
{
    int64_t best = 0, D = s->D;
    double least = INFINITY;
    for (int64_t k = 0; k < s->K; k++) {
        double sum = 0;
        for (int64_t j = 0; j <= D; j++) {
            double spread = s->frame[2 * j + 1];
            if (spread > 0)
                sum += pow(((j < D ? x[j] : y) - s->frame[2 * j]) / spread - s->centres[k * (D + 1) + j], 2);
        }
        if (sum < least) least = sum, best = k;
    }
    return best;
}

static int64_t largest(const moe_state *s, int64_t n, const double *a)
{
    int64_t best = 0;
    for (int64_t k = 1; k < s->K; k++)
        if (a[k * n] > a[best * n]) best = k;
    return best;
}

/* log r in the place of a = E + log g, for one row. */
static void share_out(const moe_state *s, int64_t n, int64_t only, double *a)
{
    double most = a[largest(s, n, a) * n], sum = 0;
    for (int64_t k = 0; k < s->K; k++) sum += exp(a[k * n] - most);
    for (int64_t k = 0; k < s->K; k++) a[k * n] = only < 0 ? a[k * n] - most - log(sum) : k == only ? 0 : -INFINITY;
}

/* wr, and what rows add to the value and to the experts' weights. */
static void responsibilities(const moe_state *s, const row_block *b, const pieces *p, const moe_stat *stat)
{
    int64_t n = b->n, K = s->K;
    for (int64_t k = 0; k < n * K; k++) p->a[k] += p->log_g[k];
    for (int64_t i = 0; i < n; i++) {
        int64_t only = s->by_centres  ? nearest_centre(s, b->X + i * s->D, b->y[i])
                       : s->kind.hard ? largest(s, n, p->a + i)
                                      : -1;
        share_out(s, n, only, p->a + i);
        for (int64_t k = 0; k < K; k++) {
            double wr = b->w[i] * exp(p->a[i + k * n]);
            p->wr[i + k * n] = wr;
            stat->rows[k] += wr;
            if (wr > 0) *stat->value += wr * (p->log_g[i + k * n] - p->a[i + k * n]);
        }
    }
}

/* -------------------------------------------------------------------------------------------- pass */

static anygp_status stat_rows(const void *shared, const row_block *b, double *work, double *keep, double *at,
                              anygp_error *e)
{
    const moe_state *s = shared;
    pieces p = place(s, b->n, work);
    double *room = p.expert;
    moe_stat stat;
    (void)keep;
    moe_stat_place(s, at, &stat);
    TRY(forward(s, b, &p, e));
    gate_logs(&s->gate, b->n, b->X, s->D, p.gate, p.log_g);
    responsibilities(s, b, &p, &stat);
    if (!isfinite(*stat.value))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the responsibilities of block %lld of the rows are not numbers",
                         (long long)b->index);
    gate_add(&s->gate, b->n, b->w, p.wr, p.log_g, p.gate, stat.gate);
    for (int64_t k = 0; k < s->K; k++) {
        row_block mine = *b;
        mine.w = p.wr + k * b->n;
        TRY(chain_add_rows(chain_of(s, k), &mine, room, stat.expert[k], e));
        room += chain_rows.work_doubles(chain_of(s, k), b->n);
    }
    return ANYGP_OK;
}

static double multiplications(const void *shared, int64_t n)
{
    const moe_state *s = shared;
    double sum = 0;
    for (int64_t k = 0; k < s->K; k++) sum += chain_rows.work(chain_of(s, k), n);
    return sum;
}

const block_model moe_rows = {.rows_alone = true,
                              .stat_size = stat_size,
                              .work_doubles = work_doubles,
                              .keep_doubles = keep_nothing,
                              .work = multiplications,
                              .stat = stat_rows};
