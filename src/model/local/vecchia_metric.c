/* Nearness of rows in the eyes of a kernel (vecchia.h): inputs over length-scales, or correlation where there are none, and orders by it.

   Correlation: 1 - |k(x, z)| / sqrt(k(x, x) k(z, z)); 1 where a row has no variance.  It is rounded to a grid far coarser than the rounding
   errors of a kernel, so that rows equally far away are a tie, which their numbers decide. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/neighbours/order.h"
#include "model/local/vecchia.h"

enum {
    MAXIMIN_ROWS = 1000000, /* rows up to which maximin is the order, */
    MAXIMIN_WIDE = 100000,  /* beyond WIDE inputs, */
    WIDE = 16,
    MAXIMIN_CORRELATION = 20000 /* and by correlation, which takes n^2 steps */
};
static const double GRID = 0x1p36;

/* ----------------------------------------------------------------------------------------- correlation */

static double apart(double covariance, double a, double b)
{
    if (!(a > 0 && b > 0)) return 1;
    double d = 1 - fabs(covariance) / (sqrt(a) * sqrt(b));
    return d > 0 ? rint(d * GRID) / GRID : 0;
}

static double correlation_distance(const void *ctx, const double *z, const double *x)
{
    const kernel *k = ctx;
    return apart(kernel_reference(k, z, x, false), kernel_reference(k, z, z, false), kernel_reference(k, x, x, false));
}

static bool correlation_tile(const void *ctx, int64_t n, const double *Z, int64_t m, const double *x, double *D,
                             int64_t ld)
{
    const kernel *k = ctx;
    int64_t inputs = kernel_inputs(k);
    double *variance = mem_alloc(n + m, sizeof *variance);
    bool ok = variance && kernel_gram(k, n, Z, inputs, m, x, inputs, D, ld);
    if (ok) kernel_diag(k, n, Z, inputs, variance);
    if (ok) kernel_diag(k, m, x, inputs, variance + n);
    for (int64_t q = 0; ok && q < m; q++)
        for (int64_t j = 0; j < n; j++) D[j + q * ld] = apart(D[j + q * ld], variance[j], variance[n + q]);
    free(variance);
    return ok;
}

static bool has_length_scales(const kernel *k)
{
    for (int64_t i = 0; i < kernel_count(k); i++)
        if (kernel_param_at(k, i)->role == ROLE_LENGTH) return true;
    return false;
}

bool vecchia_ignores_correlation(const kernel *k, int64_t n) { return n > CORRELATION_ROWS && !has_length_scales(k); }

near_metric vecchia_metric(const kernel *k, int64_t n)
{
    if (n > CORRELATION_ROWS || has_length_scales(k)) return (near_metric){0};
    return (near_metric){k, correlation_distance, correlation_tile, 4 / GRID};
}

/* ------------------------------------------------------------------------------------ places and orders */

int64_t vecchia_weights(const kernel *k, int64_t D, double *weight)
{
    int64_t d = 0;
    kernel_closeness(k, kernel_values((kernel *)k), weight);
    for (int64_t j = 0; j < D; j++) d += weight[j] > 0;
    for (int64_t j = 0; d == 0 && j < D; j++) weight[j] = 1;
    return d ? d : D;
}

double *vecchia_places(const kernel *k, int64_t n, int64_t D, const double *X, int64_t *d)
{
    double *weight = mem_alloc(D, sizeof *weight), *places = NULL;
    if (!weight) return NULL;
    *d = vecchia_weights(k, D, weight);
    if ((places = mem_doubles(n, *d)))
        for (int64_t i = 0, at = 0; i < n; i++)
            for (int64_t j = 0; j < D; j++)
                if (weight[j] > 0) places[at++] = weight[j] * X[i * D + j];
    free(weight);
    return places;
}

anygp_status vecchia_order(const problem *p, int64_t n, int64_t d, const double *places, const near_metric *by,
                           stop_watch *stop, int64_t *order, anygp_error *e)
{
    const char *how = p->near.order;
    bool many = n > MAXIMIN_ROWS || (d > WIDE && n > MAXIMIN_WIDE) ||
                (!near_metric_is_euclidean(by) && n > MAXIMIN_CORRELATION);
    if (how && !strcmp(how, "coordinate")) return order_coordinate(n, d, places, order, e);
    if (how ? !strcmp(how, "maximin") : !many) return order_maximin(n, d, places, by, stop, order, e);
    order_random(n, p->seed, order);
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------------- changes */

int64_t vecchia_mark_count(const kernel *k) { return kernel_inputs(k) + kernel_count(k); }

void vecchia_marks(const kernel *k, double *marks)
{
    int64_t D = kernel_inputs(k), P = kernel_count(k);
    const double *values = kernel_values((kernel *)k);
    bool by_values = !has_length_scales(k);
    kernel_closeness(k, values, marks);
    for (int64_t i = 0; i < P; i++) marks[D + i] = by_values ? values[i] : 0;
}

bool vecchia_moved_apart(int64_t count, const double *was, const double *now, double moved)
{
    double least = INFINITY, most = 0;
    for (int64_t j = 0; j < count; j++) {
        if ((was[j] > 0) != (now[j] > 0)) return true;
        if (was[j] > 0) least = fmin(least, now[j] / was[j]), most = fmax(most, now[j] / was[j]);
    }
    return most > (1 + moved) * least && isfinite(least);
}
