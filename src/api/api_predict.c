/* Prediction from arrays, and what a target is. */
#include <math.h>
#include <stdlib.h>

#include "api/handles.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/table/intake.h"
#include "gp/labelled_arrays.h"
#include "linalg/linalg.h"

anygp_status api_check_rows(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                            unsigned flags, anygp_error *e)
{
    NEED(m);
    if (target < 0 || target >= m->targets)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "there is no target %lld; the model has %lld", (long long)target,
                         (long long)m->targets);
    if (n < 0 || ldx < m->gp[target]->schema.inputs)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "n = %lld rows with ldx = %lld do not fit a model of %lld inputs",
                         (long long)n, (long long)ldx, (long long)m->gp[target]->schema.inputs);
    if (flags & ~ANYGP_LATENT) return fail_with(e, ANYGP_ERR_ARGUMENT, "unknown flags %#x", flags);
    if (m->gp[target]->schema.inputs > 0 && n > 0) NEED(X);
    return ANYGP_OK;
}

anygp_status api_check_exposure(const anygp_model *m, int64_t target, int64_t n, const double *exposure, anygp_error *e)
{
    if (exposure && !m->gp[target]->likelihood->ops->exposure)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "the exposure is for counts, and the target of a %s likelihood is not one",
                         m->gp[target]->likelihood->ops->name);
    for (int64_t i = 0; exposure && i < n; i++)
        if (intake_exposure(exposure[i]))
            return fail_with(e, ANYGP_ERR_DATA, "exposure[%lld] %s", (long long)i, intake_exposure(exposure[i]));
    return ANYGP_OK;
}

anygp_status api_check_own_exposure(const anygp_model *m, int64_t n, const double *exposure, anygp_error *e)
{
    for (int64_t t = 0; t < m->targets; t++) {
        TRY(api_check_exposure(m, t, n, exposure, e));
        if (exposure && !m->gp[t]->schema.exposed)
            return fail_with(
                e, ANYGP_ERR_ARGUMENT,
                "the model was fitted without exposures and cannot take them; fit again with an exposure of "
                "1 for each of its rows");
    }
    return ANYGP_OK;
}

static anygp_status open_predictor(const gp *g, int64_t n, predictor **out, anygp_error *e)
{
    int64_t rows = n < 2048 ? n : 2048;
    return predictor_new(g, fmin((double)rows * predictor_row_bytes(g), 256e6), out, e);
}

anygp_status api_session_begin(const anygp_model *m, int64_t target, const row_batch *b, bool variances,
                               api_session *out, anygp_error *e)
{
    const gp *g = m->gp[target];
    bool alone = threads_for(predictor_work(g, b->n, variances)) == 1;
    *out = (api_session){.kept = predictor_keeps(b), .former = alone ? la_threads(1) : threads_begin(m->settings)};
    return out->kept ? predictor_take_kept(g, &out->p, e) : open_predictor(g, b->n, &out->p, e);
}

anygp_status api_session_end(api_session *s, anygp_status status)
{
    (s->kept ? predictor_give_back : predictor_free)(s->p);
    return threads_end(s->former, status);
}

static anygp_status predict_rows(const anygp_model *m, int64_t target, const row_batch *b, unsigned flags, double *mean,
                                 double *variance, anygp_error *e)
{
    api_session s;
    anygp_status status = api_session_begin(m, target, b, variance != NULL, &s, e);
    if (!ANYGP_FAILED(status)) status = predictor_run(s.p, b, flags & ANYGP_LATENT, mean, variance, e);
    return api_session_end(&s, status);
}

anygp_status anygp_prepare(const anygp_model *m, anygp_error *e)
{
    NEED(m);
    int former = threads_begin(m->settings);
    anygp_status status = ANYGP_OK;
    for (int64_t t = 0; t < m->targets && !ANYGP_FAILED(status); t++) status = predictor_prepare(m->gp[t], e);
    return threads_end(former, status);
}

anygp_status anygp_predict_target(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                  unsigned flags, double *mean, double *variance, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    NEED(mean);
    return predict_rows(m, target, &(row_batch){.n = n, .rows = X, .ld = ldx}, flags, mean, variance, e);
}

anygp_status anygp_predict_exposed(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                   const double *exposure, unsigned flags, double *mean, double *variance,
                                   anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    TRY(api_check_exposure(m, target, n, exposure, e));
    NEED(mean);
    row_batch b = {.n = n, .rows = X, .ld = ldx, .exposure = exposure};
    return predict_rows(m, target, &b, flags, mean, variance, e);
}

static anygp_status check_probabilities(int64_t count, const double *p, anygp_error *e)
{
    for (int64_t k = 0; k < count; k++)
        if (!(p[k] > 0 && p[k] < 1))
            return fail_with(e, ANYGP_ERR_ARGUMENT, "a quantile is asked for at %g, which is not between 0 and 1",
                             p[k]);
    return ANYGP_OK;
}

anygp_status anygp_predict_quantiles(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                     const double *exposure, unsigned flags, int64_t count, const double *probability,
                                     double *quantiles, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    TRY(api_check_exposure(m, target, n, exposure, e));
    NEED(quantiles);
    NEED(probability);
    TRY(check_probabilities(count, probability, e));
    row_batch b = {.n = n, .rows = X, .ld = ldx, .exposure = exposure};
    api_session s;
    anygp_status status = api_session_begin(m, target, &b, true, &s, e);
    if (!ANYGP_FAILED(status))
        status = predictor_quantiles(s.p, &b, flags & ANYGP_LATENT, count, probability, quantiles, e);
    return api_session_end(&s, status);
}

anygp_status anygp_predict_density(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                   const double *exposure, const double *y, double *log_density, double *cdf,
                                   anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, 0, e));
    TRY(api_check_exposure(m, target, n, exposure, e));
    NEED(y);
    if (!log_density && !cdf)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "log_density and cdf are both NULL; there is nothing to compute");
    row_batch b = {.n = n, .rows = X, .ld = ldx, .exposure = exposure};
    labelled_arrays a = {.m = m, .n = n, .ld = ldx, .rows = X, .exposure = exposure};
    api_session s;
    anygp_status status = api_session_begin(m, target, &b, true, &s, e);
    if (!ANYGP_FAILED(status)) status = labelled_arrays_open(&a, predictor_block(s.p), e);
    if (!ANYGP_FAILED(status)) status = labelled_arrays_target(&a, target, y, true, e);
    if (!ANYGP_FAILED(status)) status = predictor_density(s.p, m->gp[target], &a, log_density, cdf, e);
    labelled_arrays_close(&a);
    return api_session_end(&s, status);
}

anygp_status anygp_predict_blocks(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                  const int64_t *block, unsigned flags, double *mean, double *variance, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    block_map *map = NULL;
    int64_t *index = NULL;
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    NEED(mean);
    NEED(block);
    TRY_DONE(block_map_new(m->gp[target], &map, e));
    if (!(index = mem_alloc(n, sizeof *index))) {
        status = fail_memory(e, "the blocks of the rows", 8.0 * (double)n);
        goto done;
    }
    TRY_DONE(block_map_find(map, n, block, 0, index, e));
    status =
        predict_rows(m, target, &(row_batch){.n = n, .rows = X, .ld = ldx, .block = index}, flags, mean, variance, e);
done:
    free(index);
    block_map_free(map);
    return status;
}

anygp_status anygp_predict(const anygp_model *m, int64_t n, const double *X, int64_t ldx, unsigned flags, double *mean,
                           double *variance, anygp_error *e)
{
    return anygp_predict_target(m, 0, n, X, ldx, flags, mean, variance, e);
}

anygp_status anygp_predict_joint(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                 unsigned flags, double *mean, double *covariance, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    NEED(mean);
    NEED(covariance);
    row_batch b = {.n = n, .rows = X, .ld = ldx};
    int former = threads_begin(m->settings);
    return threads_end(former, gp_joint(m->gp[target], &b, flags & ANYGP_LATENT, mean, covariance, e));
}

anygp_status anygp_sample(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx, unsigned flags,
                          uint64_t seed, int64_t S, double *draws, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    NEED(draws);
    if (S < 0) return fail_with(e, ANYGP_ERR_ARGUMENT, "S = %lld is not a number of draws", (long long)S);
    row_batch b = {.n = n, .rows = X, .ld = ldx};
    int former = threads_begin(m->settings);
    return threads_end(former, gp_sample(m->gp[target], &b, flags & ANYGP_LATENT, seed, S, draws, e));
}

/* -------------------------------------------------------------------------------------- classes */

static const gp *target_of(const anygp_model *m, int64_t target)
{
    return m && target >= 0 && target < m->targets ? m->gp[target] : NULL;
}

int64_t anygp_classes(const anygp_model *m, int64_t target)
{
    const gp *g = target_of(m, target);
    return g ? g->schema.classes : 0;
}

const char *anygp_class_name(const anygp_model *m, int64_t target, int64_t i)
{
    const gp *g = target_of(m, target);
    return g && i >= 0 && i < g->schema.classes ? g->schema.class_name[i] : NULL;
}

anygp_status anygp_predict_proba(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                 double *probabilities, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, 0, e));
    NEED(probabilities);
    row_batch b = {.n = n, .rows = X, .ld = ldx};
    api_session s;
    anygp_status status = api_session_begin(m, target, &b, true, &s, e);
    if (!ANYGP_FAILED(status)) status = predictor_classes(s.p, &b, probabilities, n, e);
    return api_session_end(&s, status);
}

/* -------------------------------------------------------------------------------------- experts */

int64_t anygp_experts(const anygp_model *m, int64_t target)
{
    const gp *g = target_of(m, target);
    return g ? gp_experts(g) : 0;
}

anygp_status anygp_predict_experts(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                                   unsigned flags, double *opinions, anygp_error *e)
{
    TRY(api_check_rows(m, target, n, X, ldx, flags, e));
    NEED(opinions);
    predictor *p = NULL;
    TRY(gp_check_experts(m->gp[target], e));
    int former = threads_begin(m->settings);
    anygp_status status = open_predictor(m->gp[target], n, &p, e);
    if (!ANYGP_FAILED(status))
        status = predictor_opinions(p, &(row_batch){.n = n, .rows = X, .ld = ldx}, flags & ANYGP_LATENT, opinions, e);
    predictor_free(p);
    return threads_end(former, status);
}
