/* Factors of the variances that vary over the inputs (gp.h).

   With e_j the leave-one-out residual of row j, s_j the variance of its y and r2_j = e_j^2 / s_j, the factor at x comes from N(x), the k
   rows left out that are nearest to x in units of the kernel, shrunk to 1 as if a further rows were there with r2 = 1:
       c(x) = (a + sum_{j in N(x)} w_j r2_j) / (a + sum_{j in N(x)} w_j)
   It multiplies the variance of f and that of the noise; covariances are multiplied by the roots of both rows' factors.  Means stay.

   k and a have the highest mean log density of rows left out,  mean of -(log c_i + r2_i / c_i) / 2.  Residuals of rows next to each other
   share their neighbours' noise, and so are alike also where errors do not vary: for this choice the BUFFER rows nearest to row i are
   passed over.  Factors of 1, that is a = infinity, are among the candidates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "gp/fit.h"
#include "model/local/vecchia.h"

enum { BUFFER = 4, ROWS_LEAST = 200, NEAR_MOST = 64, TRIED_MOST = 5000 };
static const int64_t NEAR[] = {8, 16, 32, NEAR_MOST};
static const double SHRINK[] = {0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
static const double CERTAIN = 2; /* standard errors that the gain of the best has to exceed */

void local_scale_free(local_scale *l)
{
    if (!l) return;
    near_search_clear(&l->search);
    double *const owned[] = {l->X, l->r2, l->weight, l->places};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(l);
}

anygp_status local_scale_new(const kernel *k, int64_t n, int64_t D, double *X, double *r2, double *weight, int64_t near,
                             double shrink, local_scale **out, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    local_scale *l = calloc(1, sizeof *l);
    if (!l) {
        free(X), free(r2), free(weight);
        return fail_memory(e, "the calibration", sizeof *l);
    }
    *l = (local_scale){.n = n, .D = D, .X = X, .r2 = r2, .weight = weight, .near = near, .shrink = shrink};
    l->places = vecchia_places(k, n, D, X, &l->d);
    status = l->places ? near_search_open(n, l->d, l->places, NULL, &l->search, e)
                       : fail_memory(e, "the calibration", 8.0 * (double)n * (double)D);
    if (ANYGP_FAILED(status))
        local_scale_free(l);
    else
        *out = l;
    return status;
}

/* The factor from `count` rows. */
static double factor_of(const local_scale *l, const int32_t *rows, int64_t count, double shrink)
{
    double squares = shrink, weight = shrink;
    for (int64_t j = 0; j < count; j++) {
        squares += l->weight[rows[j]] * l->r2[rows[j]];
        weight += l->weight[rows[j]];
    }
    return squares / weight;
}

anygp_status local_scale_at(const local_scale *l, const kernel *k, int64_t n, const double *X, double *scale,
                            anygp_error *e)
{
    int64_t d;
    double *places = vecchia_places(k, n, l->D, X, &d);
    int32_t *rows = mem_alloc(n, (size_t)l->near * sizeof *rows), *count = mem_alloc(n, sizeof *count);
    anygp_status status = places && rows && count ? ANYGP_OK : fail_memory(e, "the calibration", 0);
    if (!ANYGP_FAILED(status)) status = near_search_find(&l->search, n, places, NULL, l->near, rows, count, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < n; i++)
        scale[i] = factor_of(l, rows + i * l->near, count[i], l->shrink);
    free(places);
    free(rows);
    free(count);
    return status;
}

/* ------------------------------------------------------------------------------------------ learning */

/* Lists of the rows nearest to each of the first m rows of l, without the row itself: list[m,k]. */
static anygp_status lists_without_self(const local_scale *l, int64_t m, int64_t k, int32_t *list, int32_t *count,
                                       anygp_error *e)
{
    TRY(near_search_find(&l->search, m, l->places, NULL, k, list, count, e));
    for (int64_t i = 0; i < m; i++) {
        int32_t *own = list + i * k, kept = 0;
        for (int32_t j = 0; j < count[i]; j++)
            if (own[j] != i) own[kept++] = own[j];
        count[i] = kept < k - 1 ? kept : (int32_t)(k - 1);
    }
    return ANYGP_OK;
}

/* The mean gain in log density with these, over the first m rows, and its standard error. */
static double gain_of(const local_scale *l, int64_t m, int64_t k, const int32_t *list, const int32_t *count,
                      int64_t near, double shrink, double *error)
{
    double sum = 0, squares = 0, weight = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t some = count[i] - BUFFER < near ? count[i] - BUFFER : near;
        if (some < 1) continue;
        double c = factor_of(l, list + i * k + BUFFER, some, shrink);
        double gain = 0.5 * (l->r2[i] - l->r2[i] / c - log(c));
        sum += l->weight[i] * gain, squares += l->weight[i] * gain * gain, weight += l->weight[i];
    }
    double mean = weight > 0 ? sum / weight : 0;
    *error = weight > 0 ? sqrt(fmax(squares / weight - mean * mean, 0) / (double)m) : INFINITY;
    return mean;
}

/* Sets near and shrink to the best; shrink INFINITY: nothing is better than factors of 1. */
static anygp_status choose(local_scale *l, anygp_error *e)
{
    int64_t m = l->n < TRIED_MOST ? l->n : TRIED_MOST, k = NEAR_MOST + BUFFER + 1;
    double best = 0, error;
    int32_t *list = mem_alloc(m, (size_t)k * sizeof *list), *count = mem_alloc(m, sizeof *count);
    anygp_status status = list && count ? ANYGP_OK : fail_memory(e, "the calibration", 4.0 * (double)(m * k));
    if (!ANYGP_FAILED(status)) status = lists_without_self(l, m, k, list, count, e);
    l->shrink = INFINITY;
    for (size_t a = 0; a < sizeof NEAR / sizeof *NEAR && !ANYGP_FAILED(status); a++)
        for (size_t b = 0; b < sizeof SHRINK / sizeof *SHRINK; b++) {
            double gain = gain_of(l, m, k, list, count, NEAR[a], SHRINK[b], &error);
            if (gain > best && gain > CERTAIN * error) best = gain, l->near = NEAR[a], l->shrink = SHRINK[b];
        }
    free(list);
    free(count);
    return status;
}

/* Each row by those around it without itself: the effect on the variances, and the mean gain. */
static anygp_status apply(const local_scale *l, leave_one_out *loo, double *gain, anygp_error *e)
{
    int64_t k = l->near + 1;
    double sum = 0, weight = 0;
    int32_t *list = mem_alloc(l->n, (size_t)k * sizeof *list), *count = mem_alloc(l->n, sizeof *count);
    anygp_status status = list && count ? ANYGP_OK : fail_memory(e, "the calibration", 4.0 * (double)(l->n * k));
    if (!ANYGP_FAILED(status)) status = lists_without_self(l, l->n, k, list, count, e);
    for (int64_t i = 0; !ANYGP_FAILED(status) && i < l->n; i++) {
        double c = factor_of(l, list + i * k, count[i], l->shrink);
        loo->variance[i] *= c;
        sum += l->weight[i] * 0.5 * (l->r2[i] - l->r2[i] / c - log(c)), weight += l->weight[i];
    }
    *gain = weight > 0 ? sum / weight : 0;
    free(list);
    free(count);
    return status;
}

/* No more rows than CALIBRATE_ROWS, drawn at random. */
static anygp_status thin(uint64_t seed, leave_one_out *l, anygp_error *e)
{
    if (l->n <= CALIBRATE_ROWS) return ANYGP_OK;
    int64_t *chosen = mem_alloc(CALIBRATE_ROWS, sizeof *chosen);
    if (!chosen) return fail_memory(e, "the calibration", 8.0 * CALIBRATE_ROWS);
    random_subset((random_stream){seed, RANDOM_LEFT_OUT, 0}, l->n, CALIBRATE_ROWS, chosen);
    qsort(chosen, CALIBRATE_ROWS, sizeof *chosen, by_integer);
    for (int64_t i = 0; i < CALIBRATE_ROWS; i++) { /* ascending, so that none is overwritten before it is read */
        int64_t j = chosen[i];
        l->y[i] = l->y[j], l->mean[i] = l->mean[j], l->variance[i] = l->variance[j], l->weight[i] = l->weight[j];
        memmove(l->X + i * l->D, l->X + j * l->D, (size_t)l->D * sizeof *l->X);
    }
    l->n = CALIBRATE_ROWS;
    free(chosen);
    return ANYGP_OK;
}

static bool copy_rows(const leave_one_out *l, double **X, double **r2, double **weight)
{
    *X = mem_doubles(l->n, l->D), *r2 = mem_doubles(l->n, 1), *weight = mem_doubles(l->n, 1);
    if (!*X || !*r2 || !*weight) return free(*X), free(*r2), free(*weight), false;
    memcpy(*X, l->X, (size_t)(l->n * l->D) * sizeof **X);
    for (int64_t i = 0; i < l->n; i++) {
        double off = l->y[i] - l->mean[i];
        (*r2)[i] = off * off / l->variance[i], (*weight)[i] = l->weight[i];
    }
    return true;
}

anygp_status local_scale_learn(const kernel *k, uint64_t seed, leave_one_out *l, local_scale **out, double *gain,
                               anygp_error *e)
{
    double *X, *r2, *weight;
    *out = NULL, *gain = 0;
    if (l->n < ROWS_LEAST) return ANYGP_OK;
    TRY(thin(seed, l, e));
    if (!copy_rows(l, &X, &r2, &weight)) return fail_memory(e, "the calibration", 8.0 * (double)l->n * (double)l->D);
    TRY(local_scale_new(k, l->n, l->D, X, r2, weight, 1, INFINITY, out, e));
    anygp_status status = choose(*out, e);
    if (!ANYGP_FAILED(status) && isfinite((*out)->shrink)) status = apply(*out, l, gain, e);
    if (ANYGP_FAILED(status) || !isfinite((*out)->shrink)) local_scale_free(*out), *out = NULL;
    return status;
}
