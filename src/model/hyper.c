/* Hyperparameters as one vector: natural and free values, priors, chain rule (hyper.h). */
#include "model/hyper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const double NOISE_FLOOR = 1e-8, NOISE_START = 0.1, NOISE_PRIOR_MEAN = -3, NOISE_PRIOR_SD = 2.5;

static hyper_param noise_param(bool learned, bool given)
{
    return (hyper_param){.lower = NOISE_FLOOR,
                         .prior_mean = NOISE_PRIOR_MEAN,
                         .prior_sd = NOISE_PRIOR_SD,
                         .scale = 1,
                         .power = 2,
                         .free = learned,
                         .given = given};
}

anygp_status hyper_init(hyper *h, kernel *k, double noise, bool fix_kernel, bool fix_noise, bool prior, anygp_error *e)
{
    int64_t P = kernel_count(k);
    *h = (hyper){.kernel = k, .likes = 1, .count = P + 1, .prior = prior, .kind = &inducing_points};
    h->param = mem_zeroed(h->count, sizeof *h->param);
    h->like = mem_alloc(1, sizeof *h->like);
    if (!h->param || !h->like) {
        hyper_clear(h);
        return fail_memory(e, "the hyperparameters", (double)P * sizeof *h->param);
    }
    h->like[0] = isnan(noise) ? NOISE_START : noise;
    for (int64_t i = 0; i < P; i++) {
        const kernel_param *p = kernel_param_at(k, i);
        h->param[i] = (hyper_param){.lower = p->lower,
                                    .prior_mean = p->prior_mean,
                                    .prior_sd = p->prior_sd,
                                    .scale = 1,
                                    .free = !fix_kernel && !p->fixed,
                                    .given = p->given};
    }
    h->param[P] = noise_param(!fix_noise, !isnan(noise));
    for (int64_t i = 0; i < h->count; i++) h->free += h->param[i].free;
    return ANYGP_OK;
}

anygp_status hyper_copy(const hyper *from, hyper *to, anygp_error *e)
{
    *to = *from;
    to->kernel = kernel_copy(from->kernel);
    to->param = mem_alloc(from->count, sizeof *to->param);
    to->Z = to->C = to->unit = NULL;
    to->like = mem_alloc(from->likes, sizeof *to->like);
    if (!to->kernel || !to->param || !to->like) {
        hyper_clear(to);
        return fail_memory(e, "the hyperparameters", (double)from->count * sizeof *to->param);
    }
    memcpy(to->param, from->param, (size_t)from->count * sizeof *to->param);
    memcpy(to->like, from->like, (size_t)from->likes * sizeof *to->like);
    to->free -= hyper_variables(from);
    to->learn_Z = false;
    if (from->unit) TRY(hyper_set_units(to, kernel_inputs(from->kernel), from->unit, e));
    if (!from->Z) return ANYGP_OK;
    TRY(hyper_set_inducing(to, from->M, from->D, from->Z, from->learn_Z, e));
    if (from->C) memcpy(to->C, from->C, (size_t)(from->M * from->D) * sizeof *to->C);
    return ANYGP_OK;
}

anygp_status hyper_gaussian(const hyper *from, double sd_y, hyper *to, anygp_error *e)
{
    hyper plain = *from;
    plain.free -= hyper_variables(from);
    plain.Z = plain.C = NULL, plain.M = 0, plain.learn_Z = false, plain.kind = &inducing_points;
    TRY(hyper_copy(&plain, to, e));
    int64_t P = hyper_kernel_params(to);
    hyper_param *param = mem_alloc(P + 1, sizeof *param);
    double *like = mem_alloc(1, sizeof *like);
    if (!param || !like) {
        free(param);
        free(like);
        hyper_clear(to);
        return fail_memory(e, "the hyperparameters", (double)(P + 1) * sizeof *param);
    }
    memcpy(param, to->param, (size_t)P * sizeof *param);
    param[P] = noise_param(true, false);
    param[P].scale = sd_y * sd_y;
    param[P].lower *= param[P].scale;
    param[P].prior_mean += log(param[P].scale);
    like[0] = NOISE_START * param[P].scale;
    free(to->param);
    free(to->like);
    to->param = param, to->like = like, to->likes = 1, to->count = P + 1, to->free = 0;
    for (int64_t i = 0; i < to->count; i++) to->free += to->param[i].free;
    return ANYGP_OK;
}

anygp_status hyper_set_units(hyper *h, int64_t D, const double *sd_x, anygp_error *e)
{
    free(h->unit);
    if (!(h->unit = mem_alloc(D, sizeof *h->unit))) return fail_memory(e, "column scales", 8.0 * (double)D);
    for (int64_t j = 0; j < D; j++) h->unit[j] = sd_x[j] > 0 ? sd_x[j] : 1;
    return ANYGP_OK;
}

/* Of the variables that stay where they were. */
static void keep_widths(const hyper *h, int64_t M, const double *Z, double *widths)
{
    size_t bytes = (size_t)h->D * sizeof *Z;
    for (int64_t i = 0; h->C && i < M && i < h->M; i++)
        if (!memcmp(Z + i * h->D, h->Z + i * h->D, bytes)) memcpy(widths + i * h->D, h->C + i * h->D, bytes);
}

anygp_status hyper_set_inducing(hyper *h, int64_t M, int64_t D, const double *Z, bool learn, anygp_error *e)
{
    double *copy = mem_doubles(M, D), *widths = h->kind->widths ? mem_zeroed(M * D, sizeof *widths) : NULL;
    if (!copy || (h->kind->widths && !widths)) {
        free(copy);
        return fail_memory(e, "the inducing inputs", 8.0 * (double)M * (double)D);
    }
    memcpy(copy, Z, (size_t)(M * D) * sizeof *copy);
    if (widths && h->D == D) keep_widths(h, M, Z, widths);
    h->free -= hyper_variables(h);
    free(h->Z);
    free(h->C);
    h->Z = copy, h->C = widths, h->M = M, h->D = D, h->learn_Z = learn;
    h->free += hyper_variables(h);
    return ANYGP_OK;
}

anygp_status hyper_set_kind(hyper *h, const inducing_ops *kind, anygp_error *e)
{
    if (kind->check) TRY(kind->check(h->kernel, e));
    h->kind = kind;
    return ANYGP_OK;
}

inducing_grad hyper_grad(const hyper *h, double *gp, double *g)
{
    return (inducing_grad){gp, h->learn_Z ? g : NULL, h->learn_Z && h->C ? g + h->M * h->D : NULL, NULL};
}

anygp_status hyper_set_likelihood(hyper *h, const likelihood *l, int64_t sets, bool fix, anygp_error *e)
{
    int64_t P = h->count - h->likes, likes = sets * l->params;
    hyper_param *param = mem_zeroed(P + likes, sizeof *param);
    double *like = mem_alloc(likes, sizeof *like);
    if (!param || !like) {
        free(param);
        free(like);
        return fail_memory(e, "the hyperparameters", (double)(P + likes) * sizeof *param);
    }
    memcpy(param, h->param, (size_t)P * sizeof *param);
    for (int64_t i = P; i < h->count; i++) h->free -= h->param[i].free;
    for (int64_t i = 0; i < likes; i++) {
        const likelihood_param *p = &l->param[i % l->params];
        param[P + i] = (hyper_param){.lower = p->lower,
                                     .prior_mean = p->prior_mean,
                                     .prior_sd = p->prior_sd,
                                     .scale = 1,
                                     .power = p->power,
                                     .free = !fix && !p->fixed,
                                     .real = p->real,
                                     .given = p->given};
        like[i] = l->value[i % l->params];
        h->free += param[P + i].free;
    }
    free(h->param);
    free(h->like);
    h->param = param, h->like = like, h->likes = likes, h->count = P + likes;
    return ANYGP_OK;
}

int64_t hyper_size(const hyper *h) { return h->count + hyper_variables(h); }

void hyper_clear(hyper *h)
{
    kernel_free(h->kernel);
    free(h->param);
    free(h->like);
    free(h->Z);
    free(h->C);
    free(h->unit);
    *h = (hyper){0};
}

double hyper_get(const hyper *h, int64_t i)
{
    int64_t P = h->count - h->likes;
    return i < P ? kernel_values(h->kernel)[i] : h->like[i - P];
}

void hyper_set(hyper *h, int64_t i, double value)
{
    int64_t P = h->count - h->likes;
    if (i < P)
        kernel_values(h->kernel)[i] = value;
    else
        h->like[i - P] = value;
}

/* The unit of a length that all columns share: the root of their mean variance. */
static double shared_spread(int64_t D, const double *sd_x)
{
    double norm = la_norm(D, sd_x);
    return norm > 0 ? norm / sqrt((double)D) : 1;
}

void hyper_defaults(hyper *h, const double *sd_x, double sd_y)
{
    int64_t P = h->count - h->likes;
    double shared = shared_spread(kernel_inputs(h->kernel), sd_x);
    for (int64_t i = 0; i < h->count; i++) {
        hyper_param *p = &h->param[i];
        const kernel_param *k = i < P ? kernel_param_at(h->kernel, i) : NULL;
        p->scale = k ? kernel_param_unit(k, k->dim < 0 ? shared : sd_x[k->dim], sd_y) : pow(sd_y, p->power);
        if (p->real) continue;
        p->lower *= p->scale;
        p->prior_mean += log(p->scale);
        if (!p->given) hyper_set(h, i, hyper_get(h, i) * p->scale);
        double floor = p->lower * 1.01;
        if (p->free && hyper_get(h, i) < floor) hyper_set(h, i, floor);
    }
}

/* Places come first, then widths. */
static double unit_of(const hyper *h, int64_t k) { return h->unit && k < h->M * h->D ? h->unit[k % h->D] : 1; }
static double *variable(const hyper *h, int64_t k) { return k < h->M * h->D ? h->Z + k : h->C + (k - h->M * h->D); }

void hyper_pack(const hyper *h, double *u)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) u[f++] = h->param[i].real ? hyper_get(h, i) : log(hyper_get(h, i) - h->param[i].lower);
    for (int64_t k = 0; k < hyper_variables(h); k++) u[f + k] = *variable(h, k) / unit_of(h, k);
}

/* Never at the floor itself, which a file or the logarithm would not take; without one, an underflow is left to be noticed. */
static double above(double lower, double more)
{
    return lower > 0 && lower + more == lower ? nextafter(lower, INFINITY) : lower + more;
}

void hyper_unpack(hyper *h, const double *u)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) hyper_set(h, i, h->param[i].real ? u[f] : above(h->param[i].lower, exp(u[f]))), f++;
    for (int64_t k = 0; k < hyper_variables(h); k++) *variable(h, k) = u[f + k] * unit_of(h, k);
}

/* What was given stays as it is: a noise of 0 may be. */
bool hyper_is_sound(const hyper *h)
{
    for (int64_t i = 0; i < h->count; i++) {
        double value = hyper_get(h, i);
        if (!isfinite(value) || (h->param[i].free && !h->param[i].real && !(value > 0))) return false;
    }
    for (int64_t k = 0; k < h->M * h->D * (h->C ? 2 : 1); k++)
        if (!isfinite(*variable(h, k))) return false;
    return true;
}

void hyper_begin(hyper *h, double *u)
{
    hyper_pack(h, u);
    hyper_unpack(h, u);
}

void hyper_natural(const hyper *h, double *p)
{
    for (int64_t i = 0; i < h->count; i++) p[i] = hyper_get(h, i);
}

/* dp/du = exp(u) = p - lower; of real ones 1 */
void hyper_chain(const hyper *h, const double *gp, double *gu)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) gu[f++] = gp[i] * (h->param[i].real ? 1 : hyper_get(h, i) - h->param[i].lower);
    for (int64_t k = 0; k < hyper_variables(h); k++) gu[f + k] = gp[h->count + k] * unit_of(h, k);
}

double hyper_log_prior(const hyper *h, double *gu)
{
    static const double HALF_LOG_2PI = 0.918938533204672741780;
    double sum = 0;
    int64_t f = 0;
    for (int64_t i = 0; h->prior && i < h->count; i++) {
        const hyper_param *q = &h->param[i];
        if (!q->free) continue;
        double p = hyper_get(h, i), z = ((q->real ? p : log(p)) - q->prior_mean) / q->prior_sd;
        sum -= 0.5 * z * z + log(q->prior_sd) + HALF_LOG_2PI;
        if (gu) gu[f] -= z / q->prior_sd * (q->real ? 1 : (p - q->lower) / p);
        f++;
    }
    return sum;
}
