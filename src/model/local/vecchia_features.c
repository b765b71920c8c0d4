/* Features L^-1 k_u of training rows, which predictions with inducing inputs need for all neighbours of each row to predict (vecchia_posterior.c).
   A row is a neighbour of many: its features are made once, with those of the others that are asked for together, and kept.  The memory
   is only claimed row by row as it is written to. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/local/vecchia_posterior.h"

static const double MOST = 1 << 30; /* bytes */

struct feature_store {
    double *F;  /* M x n */
    bool *made; /* n */
};

anygp_status feature_store_new(const inducing_set *u, int64_t n, feature_store **out, anygp_error *e)
{
    double bytes = 8.0 * (double)n * (double)u->M;
    if (bytes > MOST) return ANYGP_OK;
    feature_store *s = calloc(1, sizeof *s);
    if (s) s->F = mem_zeroed(n * u->M, sizeof *s->F), s->made = mem_zeroed(n, sizeof *s->made);
    if (s && s->F && s->made) {
        *out = s;
        return ANYGP_OK;
    }
    feature_store_free(s);
    return fail_memory(e, "the features of the rows", bytes);
}

void feature_store_free(feature_store *s)
{
    if (!s) return;
    free(s->F);
    free(s->made);
    free(s);
}

const double *vecchia_features_of(const vecchia_posterior *p, int64_t row)
{
    return p->features ? p->features->F + row * p->u.M : NULL;
}

/* Of n rows; room: n x (D + M). */
static bool make_some(const vecchia_posterior *p, int64_t n, const int32_t *list, double *room)
{
    int64_t D = p->base.D, M = p->u.M;
    double *X = room, *F = X + n * D;
    for (int64_t i = 0; i < n; i++) memcpy(X + i * D, p->X + list[i] * D, (size_t)D * sizeof *X);
    if (!p->u.ops->features(&p->u, n, X, D, F, M)) return false;
    for (int64_t i = 0; i < n; i++) {
        memcpy(p->features->F + list[i] * M, F + i * M, (size_t)M * sizeof *F);
        p->features->made[list[i]] = true;
    }
    return true;
}

/* The rows in the lists that have none yet, each once; how many. */
static int64_t missing(const feature_store *s, int64_t n, int64_t k, const int32_t *rows, const int32_t *count,
                       bool *listed, int32_t *list)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < count[i]; j++) {
            int32_t row = rows[i * k + j];
            if (s->made[row] || listed[row]) continue;
            listed[row] = true, list[found++] = row;
        }
    return found;
}

static bool make_missing(const vecchia_posterior *p, int64_t n, int64_t k, const int32_t *rows, const int32_t *count)
{
    enum { ROWS = 256 };
    int64_t D = p->base.D, M = p->u.M, all = p->base.n;
    bool *listed = mem_zeroed(all, sizeof *listed), ok = true;
    int32_t *list = mem_alloc(all, sizeof *list);
    double *room = mem_doubles(ROWS, D + M);
    int64_t found = listed && list && room ? missing(p->features, n, k, rows, count, listed, list) : -1;
    for (int64_t i = 0; ok && i < found; i += ROWS)
        ok = make_some(p, found - i < ROWS ? found - i : ROWS, list + i, room);
    free(listed);
    free(list);
    free(room);
    return ok && found >= 0;
}

anygp_status vecchia_make_features(const vecchia_posterior *p, int64_t n, int64_t k, const int32_t *rows,
                                   const int32_t *count, anygp_error *e)
{
    bool ok = true;
    if (!p->features) return ANYGP_OK;
#pragma omp critical(vecchia_features)
    ok = make_missing(p, n, k, rows, count);
    return ok ? ANYGP_OK : fail_memory(e, "the features of the rows", 8.0 * (double)p->base.n);
}
