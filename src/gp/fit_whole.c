/* Models that have all rows in memory: rows, kernel and likelihood in model units, then a trained posterior. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "gp/fit.h"
#include "gp/shares.h"
#include "model/local/vecchia.h"

static anygp_status check_noise(const hyper *h, const merged *rows, anygp_error *e)
{
    if (h->like[0] > 0 || rows->plain) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "noise 0 is fixed, but without noise rows with equal inputs or with weights have no density; "
                     "give a positive --noise");
}

static nearness fit_nearness(const settings *s, const int64_t *order)
{
    return (nearness){.given = order,
                      .learn = settings_given(s, SET_NEIGHBORS) ? settings_integer(s, SET_NEIGHBORS) : 0,
                      .predict =
                          settings_given(s, SET_PREDICT_NEIGHBORS) ? settings_integer(s, SET_PREDICT_NEIGHBORS) : 0,
                      .order = settings_given(s, SET_ORDER) ? settings_text(s, SET_ORDER) : NULL,
                      .apart = settings_is(s, SET_GROUP, "no")};
}

/* Inducing inputs to choose, at most one for each distinct row, or those of the file, which go into h. */
static anygp_status find_inducing(const fit_task *f, const dataset *d, const merged *rows, hyper *h, int64_t *M,
                                  anygp_error *e)
{
    const model_ops *m = f->choice.model;
    *M = choice_subset(&f->choice);
    if (!model_has_inducing(m)) return ANYGP_OK;
    if (settings_given(f->s, SET_INDUCING_FROM)) return fit_read_inducing(f, d, h, M, e);
    if (*M <= rows->n) return ANYGP_OK;
    *M = rows->n;
    settings_log(f->s, ANYGP_NOTE, "the rows have only %lld different place%s for inducing inputs", (long long)*M,
                 *M == 1 ? "" : "s");
    return ANYGP_OK;
}

/* Rows and kernel in model units to a trained posterior.  Takes the kernel over. */
static anygp_status learn(fit_task *f, gp *g, const dataset *d, kernel *k, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    merged distinct = {0};
    hyper h = {0};
    basis mean = {0};
    train_result result = {0};
    int64_t *order = NULL, subset;
    bool merge = !kernel_has_white(k);
    status = dataset_merge(d, merge, &distinct, e);
    if (!ANYGP_FAILED(status)) status = fit_choose_kernel(f, d, &distinct, &k, e);
    if (ANYGP_FAILED(status)) kernel_free(k);
    TRY_DONE(status);
    TRY_DONE(fit_hyper(f, d, k, &h, &mean, e));
    if (likelihood_is_gaussian(f->like)) TRY_DONE(check_noise(&h, &distinct, e));
    TRY_DONE(find_inducing(f, d, &distinct, &h, &subset, e));
    if (f->order) TRY_DONE(fit_distinct_order(&distinct, f->order, &order, e));
    problem p = {.rows = &distinct,
                 .mean = &mean,
                 .seed = (uint64_t)settings_integer(f->s, SET_SEED),
                 .subset = subset,
                 .learn_inducing = model_has_inducing(g->model) && !f->choice.fix_inducing,
                 .select = choice_select(&f->choice, f->s),
                 .near = fit_nearness(f->s, order),
                 .fix = settings_text(f->s, SET_FIX),
                 .likelihood = f->like,
                 .comm = comm_self()};
    TRY_DONE(fit_admits_neighbours(g->model, p.near.learn, distinct.n, e));
    TRY_DONE(fit_solver(f, &h, &p, &g->model, e));
    model_choice settled = f->choice;
    settled.model = g->model;
    choice_note_unused(&settled, f->s);
    p.mixed = settings_is(f->s, SET_PRECISION, "mixed") && choice_can_float(&settled);
    if (model_has_neighbours(g->model) || g->model->needs.iterative) p.comm = comm_world();
    p.leave_out_inputs = fit_leaves_inputs(f), p.leave_out = p.leave_out_inputs ? CALIBRATE_ROWS : 0;
    TRY_DONE(fit_check_memory(f, g->model, &p, 0, e));
    double memory = settings_memory(f->s);
    p.keep = fmin(KEEP_SHARE * memory, memory - model_bytes(g->model, &p));
    if (model_has_neighbours(g->model) && vecchia_ignores_correlation(k, distinct.n))
        settings_log(f->s, ANYGP_NOTE,
                     "the kernel has no length-scales, and there are too many rows to compare their correlations: rows "
                     "are near by their inputs as they are");
    if (distinct.n < d->n)
        settings_log(f->s, ANYGP_NOTE,
                     "rows with equal inputs are combined, and each still counts: %lld rows, %lld distinct",
                     (long long)d->n, (long long)distinct.n);
    TRY_DONE(fit_train(f, &g, d, &p, &h, NULL, &result, e));
    TRY_DONE(fit_describe(f, d, &h, 0, g, e));
    TRY_DONE(fit_calibrate(f, g, &result.loo, e));
    fit_keep_result(g, d, &result, 0);
    if (g->jitter > g->model->jitter)
        settings_log(f->s, ANYGP_NOTE, "the covariance matrix needed jitter: %.1g of its mean diagonal was added",
                     g->jitter);
done:
    train_result_clear(&result);
    basis_clear(&mean);
    hyper_clear(&h);
    merged_clear(&distinct);
    free(order);
    return status;
}

static anygp_status needs_all_rows(const model_ops *m, anygp_error *e)
{
    char *list = model_names(model_over_blocks, " or ");
    fail_with(e, ANYGP_ERR_MEMORY,
              "the file is larger than the memory there is, and %s needs all rows at once; use --model %s", m->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_MEMORY;
}

anygp_status fit_whole(const fit_task *task, gp *g, anygp_error *e)
{
    fit_task mine_task = *task, *f = &mine_task;
    anygp_status status = ANYGP_OK;
    dataset d = {0};
    kernel *k = NULL;
    likelihood like;
    rows_part part = {.y = fit_columns_some(f->columns, f->target, 1, &f->choice.like),
                      .skip_column = f->columns->skip,
                      .sphere = fit_columns_sphere(f->columns),
                      .hold_out = f->hold_out,
                      .seed = (uint64_t)settings_integer(f->s, SET_SEED)};
    row_source *rows = NULL;
    int64_t *order = NULL;
    if (f->data->file) return needs_all_rows(g->model, e);
    TRY_DONE(rows_open_table(f->data->table, &rows, e));
    TRY_DONE(rows_scan(rows, &part, settings_is(f->s, SET_MISSING, "mean"), rows_count(rows), comm_self(), &d, e));
    TRY_DONE(fit_admits_rows(g->model, &d, e));
    bool equal = d.n > 1;
    for (int64_t i = 1; i < d.n && equal; i++) equal = d.y[i] == d.y[0];
    fit_note_what_was_left_out(f, &d, equal);
    TRY_DONE(fit_kernel(f, &d, &k, e));
    TRY_DONE(fit_admits_kernel(f, g->model, k, &d, e));
    TRY_DONE(fit_likelihood(f, &d, part.y.exposure >= 0, &like, e));
    TRY_DONE(fit_order(f, &d, &part, &order, e));
    f->order = order;
    kernel *mine = k;
    k = NULL; /* learn() takes it over */
    TRY_DONE(learn(f, g, &d, mine, e));
done:
    dataset_clear(&d);
    kernel_free(k);
    free(order);
    rows_close(rows);
    return status;
}
