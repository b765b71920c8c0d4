/* What every local model needs of its rows (needs.h): some that can be told apart, and parts of more than one.  A single row, or rows at one
   place, has a posterior of course, but not one to which neighbours, experts or cells add anything: that is the exact model's, which says so
   in its name.  Blocks of one row are refused where the user gives them; those that a partition leaves around outliers are as they are. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "gp/fit.h"

anygp_status fit_admits_rows(const model_ops *m, const dataset *d, anygp_error *e)
{
    if (!model_is_local(m) || (d->used > 1 && d->D > 0)) return ANYGP_OK;
    if (d->used < 2)
        return fail_with(e, ANYGP_ERR_DATA,
                         "model: %s learns from rows that are near each other, and there is only one row; use --model "
                         "exact",
                         m->name);
    return fail_with(e, ANYGP_ERR_DATA,
                     "model: %s tells rows apart by their inputs, and all rows have the same ones; use --model exact",
                     m->name);
}

anygp_status fit_admits_kernel(const fit_task *f, const model_ops *m, const kernel *k, const dataset *d, anygp_error *e)
{
    return model_admits(m, &(model_scope){.kernel = k, .likelihood = &f->choice.like, .D = d->D, .inputs = &d->schema},
                        e);
}

anygp_status fit_admits_neighbours(const model_ops *m, int64_t neighbours, int64_t distinct, anygp_error *e)
{
    if (!model_has_neighbours(m) || neighbours < distinct) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "--neighbors %lld, but there are %lld distinct rows; use fewer%s",
                     (long long)neighbours, (long long)distinct,
                     model_takes_likelihoods(m) ? "" : ", or --model exact, which conditions each row on all others");
}

static bool cuts_rows(const model_ops *m) { return model_is_local(m) && model_over_parts(m); }

anygp_status fit_admits_blocks(const model_ops *m, int64_t blocks, int64_t rows, anygp_error *e)
{
    if (!cuts_rows(m) || 2 * blocks <= rows) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_ARGUMENT,
        "blocks: %lld blocks of %lld rows would leave some with one row, from which %s learns nothing; use "
        "at most %lld",
        (long long)blocks, (long long)rows, m->name, (long long)(rows / 2));
}

/* In a sorted list: one that differs from those beside it. */
static const int64_t *find_single(int64_t n, const int64_t *sorted)
{
    for (int64_t i = 0; i < n; i++)
        if ((i == 0 || sorted[i - 1] != sorted[i]) && (i == n - 1 || sorted[i + 1] != sorted[i])) return sorted + i;
    return NULL;
}

anygp_status fit_admits_given_blocks(const model_ops *m, const char *path, int64_t n, const int64_t *ids,
                                     anygp_error *e)
{
    if (!cuts_rows(m) && !model_is_mixture(m)) return ANYGP_OK;
    int64_t *sorted = mem_alloc(n, sizeof *sorted);
    if (!sorted) return fail_memory(e, "the blocks of the rows", 8.0 * (double)n);
    memcpy(sorted, ids, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_integer);
    const int64_t *single = find_single(n, sorted);
    anygp_status status =
        single ? fail_with(e, ANYGP_ERR_DATA,
                           "%.200s: block %lld has one row, from which %s learns nothing; put the row into another "
                           "block",
                           path, (long long)*single, m->name)
               : ANYGP_OK;
    free(sorted);
    return status;
}
