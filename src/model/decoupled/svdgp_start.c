/* Starting values of 001, appendix B.2. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/decoupled/svdgp_state.h"

enum { ROWS = 300 };

/* The median of the distances between n rows. */
static anygp_status median_distance(int64_t n, int64_t D, const double *X, double *median, anygp_error *e)
{
    int64_t pairs = n * (n - 1) / 2, k = 0;
    double *square = mem_zeroed(pairs, sizeof *square);
    if (!square) return fail_memory(e, "the distances", 8.0 * (double)pairs);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++, k++)
            for (int64_t d = 0; d < D; d++) square[k] += pow(X[i * D + d] - X[j * D + d], 2);
    qsort(square, (size_t)pairs, sizeof *square, by_double);
    *median = pairs ? sqrt(square[pairs / 2]) : 0;
    free(square);
    return ANYGP_OK;
}

static double target_variance(const dataset *d, int64_t t)
{
    int64_t n = d->n < ROWS ? d->n : ROWS, Q = dataset_numbers(d);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += d->y[i * Q + t] / (double)n;
    for (int64_t i = 0; i < n; i++) square += pow(d->y[i * Q + t] - mean, 2) / (double)n;
    return square;
}

anygp_status svdgp_median_start(const problem *p, hyper *h, anygp_error *e)
{
    const merged *m = p->rows;
    int64_t n = m->n < ROWS ? m->n : ROWS, P = hyper_kernel_params(h);
    double median = 0;
    TRY(median_distance(n, m->D, m->X, &median, e));
    for (int64_t i = 0; i < P && median > 0; i++) {
        const param_facts *q = hyper_facts(h, i);
        if (kernel_param_at(h->kernel, i)->role == ROLE_LENGTH && q->free && !q->given)
            hyper_set(h, i, fmax(median, 1.01 * q->lower));
    }
    if (!likelihood_is_gaussian(p->likelihood)) return ANYGP_OK;
    for (int64_t t = 0; t < (p->targets > 1 ? p->targets : 1); t++) {
        const param_facts *q = hyper_facts(h, P + t);
        if (q->free && !q->given) hyper_set(h, P + t, fmax(target_variance(m->data, t), 1.01 * q->lower));
    }
    return ANYGP_OK;
}
