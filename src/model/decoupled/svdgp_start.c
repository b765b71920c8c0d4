/* Starting values of 001, appendix B.2, from as many random rows as a minibatch of the paper has. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/decoupled/svdgp_state.h"

enum { ROWS = 1024 };

/* So many of n, of this stream's choice. */
static anygp_status some_rows(const problem *p, uint64_t stream, int64_t n, int64_t *count, int64_t **rows,
                              anygp_error *e)
{
    *count = n < ROWS ? n : ROWS;
    if (!(*rows = mem_alloc(*count, sizeof **rows))) return fail_memory(e, "the start", 8.0 * ROWS);
    random_subset((random_stream){p->seed, RANDOM_SUBSET, stream}, n, *count, *rows);
    return ANYGP_OK;
}

/* The median of the distances between n of the rows. */
static anygp_status median_distance(const merged *m, int64_t n, const int64_t *row, double *median, anygp_error *e)
{
    int64_t D = m->D;
    int64_t pairs = n * (n - 1) / 2, k = 0;
    double *square = mem_zeroed(pairs, sizeof *square);
    if (!square) return fail_memory(e, "the distances", 8.0 * (double)pairs);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++, k++)
            for (int64_t d = 0; d < D; d++) square[k] += pow(m->X[row[i] * D + d] - m->X[row[j] * D + d], 2);
    qsort(square, (size_t)pairs, sizeof *square, by_double);
    *median = pairs ? sqrt(square[pairs / 2]) : 0;
    free(square);
    return ANYGP_OK;
}

static double target_variance(const dataset *d, int64_t n, const int64_t *row, int64_t t)
{
    int64_t Q = dataset_numbers(d);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) mean += d->y[row[i] * Q + t] / (double)n;
    for (int64_t i = 0; i < n; i++) square += pow(d->y[row[i] * Q + t] - mean, 2) / (double)n;
    return square;
}

static anygp_status start_lengths(const problem *p, hyper *h, anygp_error *e)
{
    int64_t n, *row;
    double median = 0;
    TRY(some_rows(p, 0, p->rows->n, &n, &row, e));
    anygp_status status = median_distance(p->rows, n, row, &median, e);
    for (int64_t i = 0; i < hyper_kernel_params(h) && median > 0; i++) {
        const param_facts *q = hyper_facts(h, i);
        if (kernel_param_at(h->kernel, i)->role == ROLE_LENGTH && q->free && !q->given)
            hyper_set(h, i, fmax(median, 1.01 * q->lower));
    }
    free(row);
    return status;
}

static anygp_status start_noise(const problem *p, hyper *h, anygp_error *e)
{
    const dataset *d = p->rows->data;
    int64_t n, *row;
    TRY(some_rows(p, 1, d->n, &n, &row, e));
    for (int64_t t = 0; t < (p->targets > 1 ? p->targets : 1); t++) {
        const param_facts *q = hyper_facts(h, hyper_kernel_params(h) + t);
        if (q->free && !q->given)
            hyper_set(h, hyper_kernel_params(h) + t, fmax(target_variance(d, n, row, t), 1.01 * q->lower));
    }
    free(row);
    return ANYGP_OK;
}

anygp_status svdgp_median_start(const problem *p, hyper *h, anygp_error *e)
{
    TRY(start_lengths(p, h, e));
    return likelihood_is_gaussian(p->likelihood) ? start_noise(p, h, e) : ANYGP_OK;
}
