/* What the model says about the rows of a scene, and about other places. */
#include "report/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/special.h"

/* n rows of the scene as the model has them: X itself, or a copy that is there until the next call. */
static anygp_status to_model(scene *c, int64_t n, const double *X, const double **out, anygp_error *e)
{
    const schema *s = &c->g->schema;
    *out = X;
    if (!s->sphere.on) return ANYGP_OK;
    if (n > c->model_rows) {
        free(c->model_X);
        c->model_X = mem_doubles(n, s->D), c->model_rows = c->model_X ? n : 0;
        if (!c->model_X) return fail_memory(e, "a block of rows", 8.0 * (double)n * (double)s->D);
    }
    for (int64_t i = 0; i < n; i++) scene_to_model(c, X + i * c->D, c->model_X + i * s->D);
    *out = c->model_X;
    return ANYGP_OK;
}

static anygp_status batch_of(scene *c, int64_t first, int64_t n, row_batch *b, anygp_error *e)
{
    *b = (row_batch){
        .n = n, .number = {0, c->number + first}, .exposure = c->g->schema.exposed ? c->exposure + first : NULL};
    return to_model(c, n, c->X + first * c->D, &b->X, e);
}

/* ---------------------------------------------------------------------------- the rows themselves */

/* The mean over components of the variance of the first latent, over the prior's. */
static void note_unexplained(scene *c, int64_t first, const double *X, const latents *f)
{
    const kernel *k = c->g->posterior->kernel;
    double *out = c->unexplained + first;
    kernel_diag(k, f->n, X, c->g->schema.D, out);
    for (int64_t i = 0; i < f->n; i++) {
        double variance = 0;
        for (int64_t s = 0; s < f->components; s++)
            variance += f->variance[i + s * f->stride] *
                        (f->weight ? f->weight[i + s * f->stride] : 1.0 / (double)f->components);
        out[i] = out[i] > 0 ? fmin(variance / out[i], 1) : 0;
    }
}

static anygp_status predict_normal(scene *c, int64_t first, int64_t n, anygp_error *e)
{
    row_batch b;
    target_scale unit = gp_target_unit(c->g);
    double *noise = c->low + first, *prior = c->unexplained + first; /* before they are what they are called */
    double *mean = c->mean + first, *variance = c->variance + first;
    TRY(batch_of(c, first, n, &b, e));
    TRY(predictor_run_noise(c->predictor, &b, false, mean, variance, noise, e));
    kernel_diag(c->g->posterior->kernel, n, b.X, c->g->schema.D, prior);
    for (int64_t i = 0; i < n; i++) {
        double sd = sqrt(variance[i]), v = unit_variance(unit, prior[i]);
        prior[i] = v > 0 ? fmin(fmax(variance[i] - noise[i], 0) / v, 1) : 0;
        c->low[first + i] = mean[i] - Z95 * sd, c->high[first + i] = mean[i] + Z95 * sd;
        if (!c->labelled) continue;
        double y = c->y[first + i], z = sd > 0 ? (y - mean[i]) / sd : 0;
        c->below[first + i] = c->up_to[first + i] = normal_cdf(z);
        c->log_density[first + i] = log_normal_density(y - mean[i], fmax(variance[i], 1e-300));
    }
    return ANYGP_OK;
}

static anygp_status predict_labels(scene *c, const observer *o, const latents *f, int64_t first, anygp_error *e)
{
    int64_t n = f->n, columns = o->like->columns;
    const double *exposure = c->g->schema.exposed ? c->exposure + first : NULL;
    double *Y = mem_doubles(n, columns + 1), *y = Y + n * columns;
    if (!Y) return fail_memory(e, "a block of rows", 8.0 * (double)n * (double)columns);
    for (int64_t i = 0; i < n; i++) observe_target(o, c->y[first + i], c->exposure[first + i], Y + i * columns);
    observe_density(o, f, Y, c->log_density + first);
    for (int64_t i = 0; i < n; i++) y[i] = Y[i * columns];
    observe_cdf(o, f, y, exposure, c->up_to + first);
    memcpy(c->below + first, c->up_to + first, (size_t)n * sizeof *y);
    if (scene_is_count(c)) {
        for (int64_t i = 0; i < n; i++) y[i]--;
        observe_cdf(o, f, y, exposure, c->below + first);
        for (int64_t i = 0; i < n; i++)
            if (y[i] < 0) c->below[first + i] = 0;
    }
    free(Y);
    return ANYGP_OK;
}

static anygp_status predict_observed(scene *c, int64_t first, int64_t n, anygp_error *e)
{
    row_batch b;
    observer o = gp_observer(c->g, false);
    latents f;
    const posterior *q = c->g->posterior;
    bool apart = kernel_white(q->kernel) > 0 || q->noises || q->ops->marginal_noise; /* y sees more than f */
    TRY(batch_of(c, first, n, &b, e));
    TRY(predictor_latents(c->predictor, &b, !apart, &f, e));
    note_unexplained(c, first, b.X, &f);
    if (apart) TRY(predictor_latents(c->predictor, &b, true, &f, e));
    if (scene_is_class(c)) {
        observe_classes(&o, &f, c->P + first, c->n);
        for (int64_t k = 0; k < c->g->schema.classes; k++) TRY(predictor_check(&b, n, c->P + first + k * c->n, e));
        return ANYGP_OK;
    }
    observe_moments(&o, &f, b.exposure, c->mean + first, c->variance + first);
    TRY(predictor_check(&b, n, c->mean + first, e));
    TRY(predictor_check(&b, n, c->variance + first, e));
    observe_quantile(&o, &f, b.exposure, 0.025, c->low + first);
    observe_quantile(&o, &f, b.exposure, 0.975, c->high + first);
    return c->labelled ? predict_labels(c, &o, &f, first, e) : ANYGP_OK;
}

static anygp_status room_for_predictions(scene *c, anygp_error *e)
{
    double **const numbers[] = {&c->mean, &c->variance, &c->low, &c->high},
                   **const labels[] = {&c->below, &c->up_to, &c->log_density};
    bool class = scene_is_class(c), ok = (c->unexplained = mem_alloc(c->n, sizeof(double))) != NULL;
    for (int i = 0; i < 4 && !class; i++) ok = (*numbers[i] = mem_alloc(c->n, sizeof(double))) && ok;
    for (int i = 0; i < 3 && !class && c->labelled; i++) ok = (*labels[i] = mem_alloc(c->n, sizeof(double))) && ok;
    if (class) ok = (c->P = mem_doubles(c->n, c->g->schema.classes)) && ok;
    return ok ? ANYGP_OK : fail_memory(e, "the predictions of a report", 64.0 * (double)c->n);
}

anygp_status scene_predict(scene *c, anygp_error *e)
{
    int64_t block = predictor_block(c->predictor);
    TRY(room_for_predictions(c, e));
    for (int64_t i = 0; i < c->n; i += block) {
        int64_t n = c->n - i < block ? c->n - i : block;
        TRY(settings_check_stop(c->s, e));
        TRY(gp_is_normal(c->g) ? predict_normal(c, i, n, e) : predict_observed(c, i, n, e));
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ other places */

bool scene_band_is_latent(const scene *c)
{
    return !scene_is_class(c) && !scene_is_count(c) && gp_latents(c->g) == 1 && !warp_is(&c->g->schema.warp);
}

static anygp_status ask_band(scene *c, const row_batch *b, double *low, double *high, anygp_error *e)
{
    const double at[2] = {0.025, 0.975};
    double *both = mem_doubles(b->n, 2);
    if (!both) return fail_memory(e, "a band", 16.0 * (double)b->n);
    anygp_status status = predictor_quantiles(c->predictor, b, scene_band_is_latent(c), 2, at, both, e);
    if (!ANYGP_FAILED(status)) {
        memcpy(low, both, (size_t)b->n * sizeof *low);
        memcpy(high, both + b->n, (size_t)b->n * sizeof *high);
    }
    free(both);
    return status;
}

anygp_status scene_ask(scene *c, int64_t n, const double *X, double *mean, double *low, double *high, anygp_error *e)
{
    row_batch b = {.n = n};
    TRY(settings_check_stop(c->s, e));
    TRY(to_model(c, n, X, &b.X, e));
    TRY(predictor_run(c->predictor, &b, false, mean, NULL, e));
    return low ? ask_band(c, &b, low, high, e) : ANYGP_OK;
}

anygp_status scene_ask_classes(scene *c, int64_t n, const double *X, double *P, anygp_error *e)
{
    row_batch b = {.n = n};
    TRY(settings_check_stop(c->s, e));
    TRY(to_model(c, n, X, &b.X, e));
    return predictor_classes(c->predictor, &b, P, n, e);
}

anygp_status scene_ask_counts(scene *c, int64_t m, const int64_t *rows, double k, double *out, anygp_error *e)
{
    int64_t D = c->D, block = predictor_block(c->predictor);
    int64_t most = m < block ? m : block;
    double *X = mem_doubles(most, D + 2), *exposure = X + most * D, *y = exposure + most;
    anygp_status status = X ? ANYGP_OK : fail_memory(e, "a block of rows", 8.0 * (double)most * (double)(D + 2));
    observer o = gp_observer(c->g, false);
    for (int64_t i = 0; i < m && !ANYGP_FAILED(status); i += block) {
        latents f;
        int64_t n = m - i < block ? m - i : block;
        for (int64_t r = 0; r < n; r++) {
            memcpy(X + r * D, c->X + rows[i + r] * D, (size_t)D * sizeof *X);
            exposure[r] = c->exposure[rows[i + r]], y[r] = k;
        }
        row_batch b = {.n = n, .exposure = c->g->schema.exposed ? exposure : NULL};
        status = to_model(c, n, X, &b.X, e);
        if (!ANYGP_FAILED(status)) status = predictor_latents(c->predictor, &b, true, &f, e);
        if (!ANYGP_FAILED(status)) observe_cdf(&o, &f, y, b.exposure, out + i);
    }
    free(X);
    return status;
}
