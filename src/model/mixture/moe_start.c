/* Where a mixture of experts begins (moe.h): clusters of (x, y) by k-means over the rows in memory, from each of which one expert gets its
   inducing inputs and length-scales, and the gate what it starts from.  A function of the rows and the seed, so that a run that is resumed has the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/kmeans.h"
#include "inducing/choose.h"
#include "model/mixture/moe.h"

/* Means and spreads of the columns and of y; those of text do not count, and neither do constants. */
static void fill_frame(const dataset *d, double *frame)
{
    int64_t Q = dataset_numbers(d);
    for (int64_t j = 0; j <= d->D; j++) {
        double mean = 0, square = 0;
        bool text = j < d->D && schema_at(&d->schema, j)->text;
        for (int64_t i = 0; i < d->n; i++) {
            double x = j < d->D ? d->X[i * d->D + j] : d->y[i * Q], from = x - mean;
            mean += from / (double)(i + 1);
            square += from * (x - mean);
        }
        double spread = sqrt(square / (double)d->n);
        frame[2 * j] = mean, frame[2 * j + 1] = !text && isfinite(spread) ? spread : 0;
    }
}

/* (x, y) of the rows, in the frame: F[n, D + 1]. */
static void fill_rows(const dataset *d, const double *frame, double *F)
{
    int64_t Q = dataset_numbers(d);
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t j = 0; j <= d->D; j++) {
            double x = j < d->D ? d->X[i * d->D + j] : d->y[i * Q], spread = frame[2 * j + 1];
            *F++ = spread > 0 ? (x - frame[2 * j]) / spread : 0;
        }
}

static anygp_status too_many(const moe_state *s, int64_t found, anygp_error *e)
{
    const char *setting = moe_finds(&s->kind) ? "experts-most" : "blocks";
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%s: %lld experts need at least as many different rows, and there are %lld; use fewer --%s",
                     setting, (long long)s->K, (long long)found, setting);
}

/* Clusters and the gate that they start, with y counted `emphasis` times; *found of them, at most K. */
static anygp_status find_clusters(moe_state *s, double emphasis, int64_t *cluster, int64_t *found, anygp_error *e)
{
    const dataset *d = s->problem->rows->data;
    int64_t wide = s->D + 1;
    double *F = mem_doubles(d->n, wide);
    if (!F) return fail_memory(e, "the clusters", 8.0 * (double)d->n * (double)wide);
    s->frame[2 * s->D + 1] = emphasis > 0 ? s->spread / emphasis : 0;
    fill_rows(d, s->frame, F);
    anygp_status status =
        kmeans(d->n, wide, F, wide, s->K, &(kmeans_options){.seed = s->problem->seed}, s->centres, found, cluster, e);
    free(F);
    if (ANYGP_FAILED(status) || *found < s->K) return status;
    return gate_start(&s->gate, d->n, d->X, cluster, s->problem->blocks->total, e);
}

/* ------------------------------------------------------------------------------- which clusters to take */

/* Sum of log g over the rows, each for its cluster. */
static anygp_status gate_score(const moe_state *s, const int64_t *cluster, double *sum, anygp_error *e)
{
    enum { PIECE = 256 };
    const dataset *d = s->problem->rows->data;
    double *work = mem_alloc(gate_work(&s->gate, PIECE) + PIECE * s->K, sizeof *work);
    if (!work) return fail_memory(e, "the gate", 8.0 * PIECE * (double)s->K);
    double *logs = work + gate_work(&s->gate, PIECE);
    *sum = 0;
    for (int64_t i = 0; i < d->n; i += PIECE) {
        int64_t n = d->n - i < PIECE ? d->n - i : PIECE;
        gate_logs(&s->gate, n, d->X + i * s->D, s->D, work, logs);
        for (int64_t k = 0; k < n; k++) *sum += logs[k + cluster[i + k] * n];
    }
    free(work);
    return ANYGP_OK;
}

/* About the log likelihood of the rows if each were its cluster's: the gate's and, from some rows of each, the evidence. */
static anygp_status score(moe_state *s, const int64_t *cluster, const double *values, double *sum, anygp_error *e)
{
    const dataset *d = s->problem->rows->data;
    TRY(gate_score(s, cluster, sum, e));
    for (int64_t k = 0; k < s->K; k++) {
        double evidence, rows = 0;
        TRY(moe_scale_start(s, k, cluster, &s->h[k], &evidence, e));
        for (int64_t i = 0; i < s->h[k].count; i++) hyper_set(&s->h[k], i, values[i]);
        for (int64_t i = 0; i < d->n; i++) rows += cluster[i] == k ? d->w[i] : 0;
        *sum += rows * evidence;
    }
    return ANYGP_OK;
}

/* Of the blocks that the user gives; each needs rows in the sample. */
static anygp_status given_clusters(moe_state *s, int64_t *cluster, anygp_error *e)
{
    const dataset *d = s->problem->rows->data;
    int64_t *rows = mem_zeroed(s->K, sizeof *rows), empty = 0;
    if (!rows) return fail_memory(e, "the clusters", 8.0 * (double)s->K);
    memcpy(cluster, s->problem->experts.start, (size_t)d->n * sizeof *cluster);
    memset(s->centres, 0, (size_t)(s->K * (s->D + 1)) * sizeof *s->centres);
    for (int64_t i = 0; i < d->n; i++)
        if (cluster[i] < s->K) rows[cluster[i]]++;
    for (int64_t k = 0; k < s->K; k++) empty += rows[k] == 0;
    free(rows);
    if (empty > 0)
        return fail_with(e, ANYGP_ERR_DATA,
                         "blocks-from: %lld of the %lld blocks have no row among the %lld that a fit begins with; put "
                         "their rows into other blocks",
                         (long long)empty, (long long)s->K, (long long)d->n);
    return gate_start(&s->gate, d->n, d->X, cluster, s->problem->blocks->total, e);
}

/* Regimes in different places are clusters of x, regimes over each other clusters of y: of three the best by their score. */
static anygp_status choose_clusters(moe_state *s, int64_t *cluster, anygp_error *e)
{
    static const double emphases[] = {1, 4, 0};
    const dataset *d = s->problem->rows->data;
    double best = -INFINITY, emphasis = NAN, *values = mem_alloc(s->h[0].count, sizeof *values);
    int64_t found = 0, most = 0;
    anygp_status status = values ? ANYGP_OK : fail_memory(e, "the hyperparameters", 8.0 * (double)s->h[0].count);
    if (values) hyper_natural(&s->h[0], values);
    for (int k = 0; k < 3 && !ANYGP_FAILED(status) && s->K <= d->n; k++) {
        double sum = -INFINITY;
        TRY_DONE(find_clusters(s, emphases[k], cluster, &found, e));
        if (found == s->K) TRY_DONE(score(s, cluster, values, &sum, e));
        if (isnan(emphasis) ? found == s->K : sum > best) best = sum, emphasis = emphases[k];
        most = found > most ? found : most;
    }
    if (ANYGP_FAILED(status)) goto done;
    status =
        isnan(emphasis) ? too_many(s, s->K > d->n ? d->n : most, e) : find_clusters(s, emphasis, cluster, &found, e);
done:
    free(values);
    return status;
}

anygp_status moe_choose_places(const moe_state *s, int64_t k, const int64_t *cluster, double *Z, int64_t *count,
                               anygp_error *e)
{
    const problem *p = s->problem;
    const dataset *d = p->rows->data;
    const char *how = p->select && strcmp(p->select, "best") ? p->select : "kmeans";
    int64_t n = 0, D = s->D;
    bool text = false;
    double *X = mem_doubles(d->n, D > 0 ? D : 1);
    if (!X) return fail_memory(e, "the inducing inputs", 8.0 * (double)(d->n * D));
    for (int64_t j = 0; j < D; j++) text |= schema_at(&d->schema, j)->text;
    for (int64_t i = 0; i < d->n; i++)
        if (cluster[i] == k) memcpy(X + n++ * D, d->X + i * D, (size_t)D * sizeof *X);
    *count = 0;
    anygp_status status =
        n > 0 ? choose_inducing(how, n, D, X, text, s->h[k].kernel, p->subset, p->seed, NULL, Z, count, e) : ANYGP_OK;
    free(X);
    return status;
}

anygp_status moe_fill_places(const moe_state *s, int64_t k, const int64_t *cluster, double *Z, int64_t *count,
                             anygp_error *e)
{
    const problem *p = s->problem;
    const dataset *d = p->rows->data;
    int64_t wanted = p->subset < p->rows->n ? p->subset : p->rows->n;
    random_stream others = {p->seed, RANDOM_SUBSET, 200 + (uint64_t)k};
    TRY(moe_choose_places(s, k, cluster, Z, count, e));
    for (int64_t i = 0; i < d->n && *count < wanted; i++) {
        int64_t row = random_shuffled(others, d->n, i);
        if (cluster[row] != k) memcpy(Z + (*count)++ * s->D, d->X + row * s->D, (size_t)s->D * sizeof *Z);
    }
    return ANYGP_OK;
}

anygp_status moe_share(const comm *c, int64_t count, void *at, anygp_error *e)
{
    return c->size > 1 ? c->broadcast(c->ctx, 0, count * 8, at, e) : ANYGP_OK;
}

static anygp_status share_values(const comm *c, hyper *h, anygp_error *e)
{
    if (c->size == 1) return ANYGP_OK;
    double *values = mem_alloc(h->count, sizeof *values);
    if (!values) return fail_memory(e, "the hyperparameters", 8.0 * (double)h->count);
    hyper_natural(h, values);
    anygp_status status = moe_share(c, h->count, values, e);
    for (int64_t i = 0; i < h->count && !ANYGP_FAILED(status); i++) hyper_set(h, i, values[i]);
    free(values);
    return status;
}

static anygp_status place_experts(moe_state *s, const int64_t *cluster, anygp_error *e)
{
    const problem *p = s->problem;
    int64_t D = s->D;
    double *Z = mem_doubles(p->subset, D > 0 ? D : 1);
    anygp_status status = Z ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)(p->subset * D));
    for (int64_t k = 0; k < s->K && !ANYGP_FAILED(status); k++) {
        int64_t count = 0;
        double evidence;
        bool chooses = p->comm->rank == 0 && !p->places_given;
        if (chooses && moe_finds(&s->kind)) TRY_DONE(moe_fill_places(s, k, cluster, Z, &count, e));
        if (chooses && !moe_finds(&s->kind)) TRY_DONE(moe_choose_places(s, k, cluster, Z, &count, e));
        if (p->comm->rank == 0) TRY_DONE(moe_scale_start(s, k, cluster, &s->h[k], &evidence, e));
        TRY_DONE(share_values(p->comm, &s->h[k], e));
        TRY_DONE(moe_share(p->comm, 1, &count, e));
        TRY_DONE(moe_share(p->comm, count * D, Z, e));
        if (count > 0) status = hyper_set_inducing(&s->h[k], count, D, Z, s->h[k].learn_Z, e);
    }
done:
    free(Z);
    return status;
}

anygp_status moe_agree(const comm *c, anygp_status status, anygp_error *e)
{
    double failed = ANYGP_FAILED(status);
    if (c->size == 1) return status;
    TRY(c->sum(c->ctx, 1, &failed, e));
    return failed > 0 && !ANYGP_FAILED(status) ? fail_with(e, ANYGP_ERR_ARGUMENT, "another process cannot go on")
                                               : status;
}

anygp_status moe_start(moe_state *s, anygp_error *e)
{
    const problem *p = s->problem;
    const comm *c = p->comm;
    const dataset *d = p->rows->data;
    anygp_status status = ANYGP_OK;
    fill_frame(d, s->frame);
    s->spread = s->frame[2 * s->D + 1];
    TRY(moe_share(c, 2 * (s->D + 1), s->frame, e));
    int64_t places = d->n < GATE_PLACES ? d->n : GATE_PLACES;
    TRY(moe_share(c, 1, &places, e));
    TRY(gate_init(&s->gate, s->kind.gate, s->K, s->D, s->frame, places, e));
    if (s->K == 1) return ANYGP_OK;
    int64_t *cluster = mem_alloc(d->n, sizeof *cluster);
    status = cluster ? ANYGP_OK : fail_memory(e, "the clusters", 8.0 * (double)d->n);
    if (c->rank == 0 && cluster) status = gate_place(&s->gate, d->n, d->X, p->seed, e);
    if (c->rank == 0 && !ANYGP_FAILED(status))
        status = p->experts.start ? given_clusters(s, cluster, e) : choose_clusters(s, cluster, e);
    TRY_DONE(moe_agree(c, status, e));
    TRY_DONE(moe_share(c, s->K * (s->D + 1), s->centres, e));
    TRY_DONE(moe_share(c, 2 * (s->D + 1), s->frame, e));
    TRY_DONE(moe_share(c, s->gate.ops->size(&s->gate), s->gate.value, e));
    TRY_DONE(moe_share(c, gate_stat_size(&s->gate), s->gate.sums, e));
    TRY_DONE(moe_share(c, 1, &s->gate.seen, e));
    TRY_DONE(gate_ready(&s->gate, e));
    status = place_experts(s, cluster, e);
done:
    free(cluster);
    return status;
}
