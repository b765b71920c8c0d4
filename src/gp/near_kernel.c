/* How smooth the function is, for models of neighbours where no kernel is given: rows next to each other tell that, and these models
   condition on nothing else.  matern12, matern32 and matern52 each learn briefly from the log densities of some rows given the rows
   nearest to them (model_near_trial), and the one with the highest sum is the kernel; matern52 unless another gains clearly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gp/fit.h"
#include "model/local/vecchia.h"

enum { ROWS_LEAST = 1000, ITERATIONS = 20 };
static const char *const SMOOTHNESS[] = {"matern52", "matern32", "matern12"}; /* the first is the default */
enum { TRIED = sizeof SMOOTHNESS / sizeof *SMOOTHNESS };
static const double CLEAR = 0.002, PATIENT = 20; /* nats per row; seconds of a limit */

static bool is_open(const fit_task *f, const dataset *d)
{
    const model_ops *m = f->choice.model;
    bool default_kernel = !settings_given(f->s, SET_KERNEL) && !strcmp(gp_default_kernel(&d->schema), SMOOTHNESS[0]);
    return default_kernel && m && model_has_neighbours(m) && model_whole_loo(m) && likelihood_is_gaussian(f->like) &&
           !f->choice.fix_kernel && !f->started && !f->start_only && f->limit >= PATIENT && d->n >= ROWS_LEAST;
}

/* The sum for one kernel. */
static anygp_status try_kernel(const fit_task *f, const dataset *d, const merged *rows, const char *text, double *value,
                               anygp_error *e)
{
    const model_ops *m = &model_near_trial;
    anygp_status status = ANYGP_OK;
    hyper h = {0};
    basis mean = {0};
    kernel *k = NULL;
    posterior *made = NULL;
    train_result result = {0};
    train_options o = {.iterations = ITERATIONS,
                       .jitter = m->jitter,
                       .time_limit = INFINITY,
                       .began = clock_seconds(),
                       .save_every = INFINITY};
    TRY(gp_parse_kernel(text, &d->schema, &k, e));
    TRY_DONE(fit_hyper(f, d, k, &h, &mean, e));
    problem p = {.rows = rows,
                 .mean = &mean,
                 .seed = (uint64_t)settings_integer(f->s, SET_SEED),
                 .likelihood = f->like,
                 .comm = comm_self()};
    TRY_DONE(train(m, &p, &h, &o, &result, &made, e));
    *value = result.objective + result.log_prior;
done:
    if (made) made->ops->free(made);
    train_result_clear(&result);
    basis_clear(&mean);
    hyper_clear(&h);
    return status;
}

/* Rank 0 decides: on the others last bits may differ. */
static anygp_status agree(int64_t *best, anygp_error *e)
{
    const comm *c = comm_world();
    return c->size > 1 ? c->broadcast(c->ctx, 0, sizeof *best, best, e) : ANYGP_OK;
}

anygp_status fit_choose_kernel(const fit_task *f, const dataset *d, const merged *rows, kernel **k, anygp_error *e)
{
    double value[TRIED];
    int64_t best = 0;
    anygp_error why;
    if (!is_open(f, d)) return ANYGP_OK;
    double some = fmin((double)NEAR_TRIAL_ROWS, (double)rows->n);
    for (int64_t i = 0; i < TRIED; i++) {
        if (ANYGP_FAILED(try_kernel(f, d, rows, SMOOTHNESS[i], &value[i], &why))) value[i] = -INFINITY;
        if (value[i] > value[best] + CLEAR * some) best = i;
    }
    TRY(agree(&best, e));
    if (best == 0) return ANYGP_OK;
    kernel_free(*k);
    *k = NULL;
    settings_log(f->s, ANYGP_NOTE,
                 "kernel: %s, since rows given their nearest ones are %.2g more likely per row (log density) than with "
                 "%s; --kernel %s keeps the default",
                 SMOOTHNESS[best], (value[best] - value[0]) / some, SMOOTHNESS[0], SMOOTHNESS[0]);
    return gp_parse_kernel(SMOOTHNESS[best], &d->schema, k, e);
}
