/* Length-scales that an expert starts from: those of all rows, which see regimes that lie over each other as noise, or shorter or longer
   ones, whichever have the largest exact evidence on some rows of its cluster, at the best of some noises.  The noise itself stays that
   of all rows: an expert with little noise takes no row where it is not certain, E being less by var / 2 s^2, and clusters that cut a
   regime in two would stay as they are.  Steps reduce it soon enough. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/mixture/moe.h"

enum { ROWS_MOST = 200, ROWS_JOINED = 100 };
static const double lengths[] = {1, 0.125, 0.25, 0.5, 2, 4}, noises[] = {1, 0.1, 0.01};

static bool movable(const hyper *h, int64_t i)
{
    const param_facts *f = hyper_facts(h, i);
    return f->free && !f->given;
}

/* All length-scales and the noise as multiples of what they were. */
static void scale(hyper *h, const double *former, double length, double noise)
{
    for (int64_t i = 0; i < h->count; i++) {
        bool is_noise = i >= hyper_kernel_params(h);
        bool is_length = !is_noise && kernel_param_at(h->kernel, i)->role == ROLE_LENGTH;
        double lower = hyper_facts(h, i)->lower, factor = is_noise ? noise : is_length ? length : 1;
        if (movable(h, i)) hyper_set(h, i, factor == 1 ? former[i] : fmax(factor * former[i], 1.01 * lower));
    }
}

static double scan(void *exact, hyper *h, double *former)
{
    double best = -INFINITY, best_length = 1;
    hyper_natural(h, former);
    for (size_t a = 0; a < sizeof lengths / sizeof *lengths; a++)
        for (size_t b = 0; b < sizeof noises / sizeof *noises; b++) {
            double jitter = 0, value;
            scale(h, former, lengths[a], noises[b]);
            if (!model_exact.evaluate(exact, h, true, &jitter, &value, NULL)) continue;
            value += hyper_log_prior(h, NULL);
            if (value > best) best = value, best_length = lengths[a];
        }
    scale(h, former, best_length, 1);
    return best;
}

/* Distinct rows of cluster k, at most `most` of them at random; how many. */
static int64_t choose_rows(const moe_state *s, int64_t k, const int64_t *cluster, int64_t most, bool *seen,
                           int64_t *chosen)
{
    const merged *m = s->problem->rows;
    int64_t n = m->data->n, count = 0;
    random_stream order = {s->problem->seed, RANDOM_SUBSET, 100 + (uint64_t)k};
    for (int64_t g = 0; g < m->n; g++) seen[g] = false;
    for (int64_t i = 0; i < n && count < most; i++) {
        int64_t row = random_shuffled(order, n, i), g = m->group[row];
        if (cluster[row] != k || g < 0 || seen[g]) continue;
        seen[g] = true, chosen[count++] = g;
    }
    return count;
}

anygp_status moe_scale_start(const moe_state *s, int64_t k, const int64_t *cluster, hyper *h, double *evidence,
                             anygp_error *e)
{
    const problem *p = s->problem;
    anygp_status status = ANYGP_OK;
    void *exact = NULL;
    merged few = {0};
    int64_t chosen[ROWS_MOST];
    bool *seen = mem_alloc(p->rows->n, sizeof *seen);
    double *former = mem_alloc(h->count, sizeof *former);
    if (!seen || !former) {
        status = fail_memory(e, "the clusters", (double)p->rows->n);
        goto done;
    }
    int64_t count = choose_rows(s, k, cluster, ROWS_MOST, seen, chosen);
    TRY_DONE(merged_select(p->rows, count, chosen, &few, e));
    problem small = *p;
    small.rows = &few, small.comm = comm_self();
    TRY_DONE(model_exact.open(&model_exact, &small, h, &exact, e));
    *evidence = scan(exact, h, former) / few.total;
    model_exact.close(exact);
done:
    merged_clear(&few);
    free(seen);
    free(former);
    return status;
}

/* A place that rows of both have is taken once, with all of its rows. */
static int64_t unite(int64_t first, int64_t second, int64_t *chosen)
{
    int64_t count = first;
    for (int64_t i = first; i < first + second; i++) {
        bool known = false;
        for (int64_t j = 0; j < first && !known; j++) known = chosen[j] == chosen[i];
        if (!known) chosen[count++] = chosen[i];
    }
    return count;
}

anygp_status moe_evidence(const moe_state *s, int64_t a, int64_t b, const int64_t *cluster, const hyper *h,
                          double *value, anygp_error *e)
{
    const problem *p = s->problem;
    anygp_status status = ANYGP_OK;
    void *exact = NULL;
    double jitter = 0;
    merged few = {0};
    int64_t chosen[2 * ROWS_JOINED];
    bool *seen = mem_alloc(p->rows->n, sizeof *seen);
    if (!seen) return fail_memory(e, "the clusters", (double)p->rows->n);
    int64_t count = choose_rows(s, a, cluster, ROWS_JOINED, seen, chosen);
    if (b != a) count = unite(count, choose_rows(s, b, cluster, ROWS_JOINED, seen, chosen + count), chosen);
    *value = count > 0 ? -INFINITY : 0;
    if (count == 0) goto done;
    TRY_DONE(merged_select(p->rows, count, chosen, &few, e));
    problem small = *p;
    small.rows = &few, small.comm = comm_self();
    TRY_DONE(model_exact.open(&model_exact, &small, h, &exact, e));
    if (!model_exact.evaluate(exact, h, true, &jitter, value, NULL)) *value = -INFINITY;
    model_exact.close(exact);
done:
    merged_clear(&few);
    free(seen);
    return status;
}
