/* Statistics of a linear combination of sparse priors: each model's are computed by its own block model in a place of
   their own, and added times the coefficient.  The features A are computed once for each of the (at most three) models: a pass
   costs the sum of theirs.  Notation and equations in sparse.h. */
#include <string.h>

#include "linalg/linalg.h"
#include "model/sparse/sparse_parts.h"

static const block_model *runs(sparse_kept kept) { return kept == KEPT_BLOCK ? &sparse_whole : &sparse_rows; }

void sparse_combine(sparse *s, const sparse_terms *terms)
{
    s->terms = terms, s->prior = 0;
    for (int64_t i = 0; i < terms->count; i++) s->prior += terms->term[i].alpha;
}

/* The statistics of one term, then its workspace. */
static int64_t combined_work(const void *shared, int64_t rows)
{
    const sparse *s = shared;
    int64_t most = 0;
    for (int64_t i = 0; i < s->terms->count; i++) {
        int64_t work = runs(s->terms->term[i].kept)->work_doubles(s, rows);
        if (work > most) most = work;
    }
    return sparse_stat_size(s) + most;
}

/* No reverse could use it. */
static int64_t combined_keep(const void *shared, int64_t rows)
{
    (void)shared, (void)rows;
    return 0;
}

static double combined_multiplications(const void *shared, int64_t rows)
{
    const sparse *s = shared;
    double sum = 0;
    for (int64_t i = 0; i < s->terms->count; i++) sum += runs(s->terms->term[i].kept)->work(s, rows);
    return sum;
}

static anygp_status combined_stat(const void *shared, const row_block *b, double *work, double *keep, double *stat,
                                  anygp_error *e)
{
    const sparse *s = shared;
    int64_t size = sparse_stat_size(s);
    (void)keep;
    for (int64_t i = 0; i < s->terms->count; i++) {
        const sparse_term *t = &s->terms->term[i];
        sparse one = *s; /* the same matrices, read only */
        one.kept = t->kept, one.power = t->power;
        memset(work, 0, (size_t)size * sizeof *work);
        TRY(runs(t->kept)->stat(&one, b, work + size, NULL, work, e));
        la_axpy(size, t->alpha, work, stat);
    }
    return ANYGP_OK;
}

static const block_model combined_rows = {.rows_alone = true,
                                          .stat_size = sparse_stat_size,
                                          .adjoint_size = sparse_adjoint_size,
                                          .work_doubles = combined_work,
                                          .keep_doubles = combined_keep,
                                          .work = combined_multiplications,
                                          .stat = combined_stat};

static const block_model combined_whole = {.rows_alone = false,
                                           .stat_size = sparse_stat_size,
                                           .adjoint_size = sparse_adjoint_size,
                                           .work_doubles = combined_work,
                                           .keep_doubles = combined_keep,
                                           .work = combined_multiplications,
                                           .stat = combined_stat};

const block_model *sparse_combined(const sparse_terms *terms)
{
    for (int64_t i = 0; i < terms->count; i++)
        if (terms->term[i].kept == KEPT_BLOCK) return &combined_whole;
    return &combined_rows;
}
