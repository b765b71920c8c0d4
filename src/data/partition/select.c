/* Subsets of rows: random, and by k-means (select.h). */
#include "data/partition/select.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/distance.h"
#include "data/partition/kmeans.h"

static int64_t at_most(int64_t n, int64_t k) { return k < 0 ? 0 : k < n ? k : n; }

int64_t select_random(int64_t n, int64_t k, uint64_t seed, int64_t *chosen)
{
    k = at_most(n, k);
    random_subset((random_stream){seed, RANDOM_SUBSET, 0}, n, k, chosen);
    return k;
}

/* The nearest row that is not taken yet; O(n d), for the few centres that share their nearest row. */
static int64_t nearest_free(const row_set *s, const double *centre, const bool *taken)
{
    int64_t best = -1;
    double least = DBL_MAX;
    for (int64_t i = 0; i < s->n; i++) {
        double r = taken[i] ? DBL_MAX : row_distance(s->d, row_at(s, i), centre);
        if (!taken[i] && (best < 0 || r < least)) best = i, least = r;
    }
    return best;
}

/* Marks k rows: each centre's nearest, then the first free ones. */
static void take_rows(const row_set *s, int64_t found, const double *centres, const int64_t *row, int64_t k,
                      bool *taken)
{
    for (int64_t c = 0; c < found; c++)
        taken[taken[row[c]] ? nearest_free(s, centres + c * s->d, taken) : row[c]] = true;
    for (int64_t i = 0, left = k - found; left > 0; i++)
        if (!taken[i]) taken[i] = true, left--;
}

static void list_taken(int64_t n, const bool *taken, int64_t *chosen)
{
    for (int64_t i = 0; i < n; i++)
        if (taken[i]) *chosen++ = i;
}

anygp_status select_kmeans(int64_t n, int64_t d, const double *X, int64_t ldx, int64_t k, uint64_t seed,
                           int64_t *chosen, int64_t *count, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    row_set s = {n, d, X, ldx, NULL};
    int64_t found;
    size_t size = 0;
    *count = k = at_most(n, k);
    double *centres = size_mul(k, d, &size) ? mem_alloc((int64_t)size, sizeof *centres) : NULL;
    int64_t *row = mem_alloc(k, sizeof *row);
    bool *taken = mem_zeroed(n, sizeof *taken);
    bool ok = centres && row && taken;
    if (ok) TRY_DONE(kmeans(n, d, X, ldx, k, &(kmeans_options){.seed = seed}, centres, &found, NULL, e));
    if (ok && found > 0) ok = nearest_rows(&s, found, centres, row);
    if (!ok) {
        status = fail_memory(e, "choosing rows by k-means", 8.0 * (double)k * (double)d);
        goto done;
    }
    take_rows(&s, found, centres, row, k, taken);
    list_taken(n, taken, chosen);
done:
    free(centres);
    free(row);
    free(taken);
    return status;
}
