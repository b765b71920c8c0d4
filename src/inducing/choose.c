/* Where inducing inputs start (choose.h). */
#include "inducing/choose.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/kmeans.h"
#include "data/partition/select.h"
#include "inducing/greedy.h"
#include "linalg/linalg.h"

enum { MORE_ROWS = 4 }; /* looked at per new place, where there are some already */
static const double LEAST_LEFT =
    1e-6; /* of the prior variance: below that a row adds nothing to the places there are */

void greedy_rows_diag(void *ctx, double *diag)
{
    greedy_rows *g = ctx;
    kernel_diag(g->kernel, g->n, g->X, g->D, diag);
}

/* Rows row[0] .. row[count-1] of X to out[count,D]. */
static void copy_rows(int64_t D, const double *X, int64_t count, const int64_t *row, double *out)
{
    for (int64_t i = 0; i < count; i++) memcpy(out + i * D, X + row[i] * D, (size_t)D * sizeof *out);
}

void greedy_rows_columns(void *ctx, int64_t count, const int64_t *row, double *out)
{
    greedy_rows *g = ctx;
    double *Z = mem_doubles(count, g->D);
    if (Z) copy_rows(g->D, g->X, count, row, Z);
    bool ok = Z && kernel_gram(g->kernel, g->n, g->X, g->D, count, Z, g->D, out, g->n);
    if (!ok) memset(out, 0, (size_t)(count * g->n) * sizeof *out);
    g->failed |= !ok;
    free(Z);
}

/* Rows to choose from, from all over X, since they may be sorted: row[m] and their inputs some[m,D]. */
static anygp_status take_some(int64_t n, int64_t D, const double *X, uint64_t seed, int64_t m, int64_t **row,
                              double **some, anygp_error *e)
{
    *row = mem_alloc(m, sizeof **row);
    *some = mem_doubles(m, D);
    if (!*row || !*some) return fail_memory(e, "the inducing inputs", 8.0 * (double)m * (double)(D + 1));
    random_subset((random_stream){seed, RANDOM_SUBSET, 4}, n, m, *row);
    copy_rows(D, X, m, *row, *some);
    return ANYGP_OK;
}

static anygp_status choose_greedy(int64_t n, int64_t D, const double *X, const kernel *k, int64_t M, uint64_t seed,
                                  const deadline *until, int64_t *chosen, int64_t *count, anygp_error *e)
{
    int64_t m = n < CHOOSE_GREEDY_ROWS ? n : CHOOSE_GREEDY_ROWS, *row = NULL;
    double *some = NULL;
    anygp_status status = ANYGP_OK;
    TRY_DONE(take_some(n, D, X, seed, m, &row, &some, e));
    greedy_rows g = {m, D, some, k, false};
    TRY_DONE(greedy_select(m, M < m ? M : m, greedy_rows_diag, greedy_rows_columns, &g, 0, until, chosen, count, e));
    if (g.failed) status = fail_memory(e, "kernel tiles", 0);
    for (int64_t i = 0; i < *count; i++) chosen[i] = row[chosen[i]];
done:
    free(row);
    free(some);
    return status;
}

/* ------------------------------------------------------------------------------ more than there are */

/* K_xz L^-T of the rows and the places z there are, K_zz = L L': the columns of a factor of K_xx that they are pivots of. */
static anygp_status columns_of_places(const greedy_rows *r, int64_t M0, const double *Z, double **out, anygp_error *e)
{
    double added, *L = mem_doubles(M0, M0), *diag = mem_alloc(M0, sizeof *diag);
    anygp_status status = ANYGP_OK;
    *out = mem_doubles(r->n, M0);
    if (!L || !diag || !*out || !kernel_gram_sym(r->kernel, M0, Z, r->D, L, M0) ||
        !kernel_gram(r->kernel, r->n, r->X, r->D, M0, Z, r->D, *out, r->n))
        status = fail_memory(e, "the inducing inputs", 8.0 * (double)M0 * (double)(M0 + r->n));
    else if (!la_cholesky(M0, L, M0, 1e-8, diag, &added))
        status = fail_with(e, ANYGP_ERR_NUMERIC, "the inducing inputs have no finite covariance");
    else
        la_trsm(LA_RIGHT, LA_T, r->n, M0, 1, L, M0, *out, r->n);
    free(L);
    free(diag);
    return status;
}

anygp_status choose_more(int64_t n, int64_t D, const double *X, const kernel *k, int64_t M0, int64_t more,
                         uint64_t seed, double *Z, int64_t *count, anygp_error *e)
{
    int64_t m = MORE_ROWS * (M0 + more) > n ? n : MORE_ROWS * (M0 + more), *row = NULL, found = 0;
    double *some = NULL, *before = NULL;
    int64_t *chosen = mem_alloc(more, sizeof *chosen);
    anygp_status status = chosen ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)more);
    if (!chosen) goto done;
    TRY_DONE(take_some(n, D, X, seed, m, &row, &some, e));
    greedy_rows g = {m, D, some, k, false};
    TRY_DONE(columns_of_places(&g, M0, Z, &before, e));
    TRY_DONE(greedy_more(m, M0, before, more, greedy_rows_diag, greedy_rows_columns, &g, LEAST_LEFT, NULL, chosen,
                         &found, e));
    if (g.failed) status = fail_memory(e, "kernel tiles", 0);
    copy_rows(D, some, found, chosen, Z + M0 * D);
    *count = M0 + found;
done:
    free(row);
    free(some);
    free(chosen);
    free(before);
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
                             int64_t M, uint64_t seed, const deadline *until, double *Z, int64_t *count, anygp_error *e)
{
    bool centres = !strcmp(how, "kmeans");
    if (M > n) M = n;
    if (centres && !rows_only)
        return kmeans(n, D, X, D, M, &(kmeans_options){.seed = seed, .until = until}, Z, count, NULL, e);
    int64_t *chosen = mem_alloc(M, sizeof *chosen);
    anygp_status status = chosen ? ANYGP_OK : fail_memory(e, "the inducing inputs", 8.0 * (double)M);
    if (!chosen) return status;
    *count = M;
    if (centres)
        status = select_kmeans(n, D, X, D, M, seed, chosen, count, e);
    else if (!strcmp(how, "greedy"))
        status = choose_greedy(n, D, X, k, M, seed, until, chosen, count, e);
    else
        *count = select_random(n, M, seed, chosen);
    if (!ANYGP_FAILED(status)) *count = take_different(D, X, *count, chosen, Z);
    free(chosen);
    return status;
}
