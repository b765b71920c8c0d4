#include "inducing/choose.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/kmeans.h"
#include "data/select.h"
#include "inducing/greedy.h"

enum { GREEDY_ROWS = 10000 }; /* of the sample: time rows M^2, memory rows M */

void greedy_rows_diag(void *ctx, double *diag)
{
    greedy_rows *g = ctx;
    kernel_diag(g->kernel, g->n, g->X, g->D, diag);
}

void greedy_rows_column(void *ctx, int64_t j, double *out)
{
    greedy_rows *g = ctx;
    g->failed |= !kernel_gram(g->kernel, g->n, g->X, g->D, 1, g->X + j * g->D, g->D, out, g->n);
}

static anygp_status choose_greedy(int64_t n, int64_t D, const double *X, const kernel *k, int64_t M, uint64_t seed,
                                  int64_t *chosen, int64_t *count, anygp_error *e)
{
    int64_t m = n < GREEDY_ROWS ? n : GREEDY_ROWS, *row = mem_alloc(m, sizeof *row);
    double *some = mem_doubles(m, D);
    anygp_status status = ANYGP_OK;
    greedy_rows g = {m, D, some, k, false};
    if (!row || !some) {
        status = fail_memory(e, "the inducing inputs", 8.0 * (double)m * (double)(D + 1));
        goto done;
    }
    random_subset((random_stream){seed, RANDOM_SUBSET, 4}, n, m, row); /* from all over: the rows may be sorted */
    for (int64_t i = 0; i < m; i++) memcpy(some + i * D, X + row[i] * D, (size_t)D * sizeof *some);
    TRY_DONE(greedy_select(m, M < m ? M : m, greedy_rows_diag, greedy_rows_column, &g, 0, chosen, count, e));
    if (g.failed) status = fail_memory(e, "kernel tiles", 0);
    for (int64_t i = 0; i < *count; i++) chosen[i] = row[chosen[i]];
done:
    free(row);
    free(some);
    return status;
}

/* Different rows only: equal inducing inputs make K_uu singular. */
static int64_t take_different(int64_t D, const double *X, int64_t count, const int64_t *chosen, double *Z)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        const double *x = X + chosen[i] * D;
        bool seen = false;
        for (int64_t j = 0; j < kept && !seen; j++) seen = !memcmp(Z + j * D, x, (size_t)D * sizeof *x);
        if (!seen) memcpy(Z + kept++ * D, x, (size_t)D * sizeof *x);
    }
    return kept;
}

anygp_status choose_inducing(const char *how, int64_t n, int64_t D, const double *X, bool rows_only, const kernel *k,
                             int64_t M, uint64_t seed, double *Z, int64_t *count, anygp_error *e)
{
    bool centres = !strcmp(how, "kmeans");
    if (M > n) M = n;
    if (centres && !rows_only) return kmeans(n, D, X, D, M, &(kmeans_options){.seed = seed}, Z, count, NULL, e);
    int64_t *chosen = mem_alloc(M, sizeof *chosen);
    anygp_status status = chosen ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)M);
    if (!chosen) return status;
    *count = M;
    if (centres)
        status = select_kmeans(n, D, X, D, M, seed, chosen, count, e);
    else if (!strcmp(how, "greedy"))
        status = choose_greedy(n, D, X, k, M, seed, chosen, count, e);
    else
        *count = select_random(n, M, seed, chosen);
    if (!ANYGP_FAILED(status)) *count = take_different(D, X, *count, chosen, Z);
    free(chosen);
    return status;
}
