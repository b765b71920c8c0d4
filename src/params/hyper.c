/* Hyperparameters: the segments that models share, and their defaults (hyper.h). */
#include "params/hyper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const double NOISE_FLOOR = 1e-8, NOISE_START = 0.1, NOISE_PRIOR_MEAN = -3, NOISE_PRIOR_SD = 2.5;

void hyper_bind(hyper *h)
{
    const param_segment *k = params_find(&h->all, HYPER_KERNEL), *l = params_find(&h->all, HYPER_LIKELIHOOD);
    const param_segment *Z = params_find(&h->all, HYPER_PLACES), *C = params_find(&h->all, HYPER_WIDTHS);
    h->kernel = k ? k->kernel : NULL;
    h->like = l ? l->values : NULL;
    h->likes = l ? l->rows : 0;
    h->count = (k ? k->rows : 0) + h->likes;
    h->Z = Z ? Z->values : NULL;
    h->M = Z ? Z->rows : 0, h->D = Z ? Z->cols : 0;
    h->learn_Z = Z && Z->learned;
    h->C = C ? C->values : NULL;
    h->free = params_free(&h->all);
}

/* ------------------------------------------------------------------------------------- likelihoods */

/* The segment of the likelihood's parameters. */
static anygp_status put_likelihood(hyper *h, int64_t likes, const param_facts *facts, const double *values,
                                   anygp_error *e)
{
    param_segment s = {.name = HYPER_LIKELIHOOD,
                       .rows = likes,
                       .cols = 1,
                       .values = mem_copied(likes, 1, values),
                       .facts = mem_alloc(likes, sizeof *facts)};
    if (!s.values || !s.facts) {
        free(s.values);
        free(s.facts);
        return fail_memory(e, "the hyperparameters", (double)likes * sizeof *facts);
    }
    memcpy(s.facts, facts, (size_t)likes * sizeof *facts);
    TRY(params_put(&h->all, s, e));
    hyper_bind(h);
    return ANYGP_OK;
}

static param_facts noise_facts(bool learned, bool given)
{
    return (param_facts){.lower = NOISE_FLOOR,
                         .prior_mean = NOISE_PRIOR_MEAN,
                         .prior_sd = NOISE_PRIOR_SD,
                         .scale = 1,
                         .power = 2,
                         .free = learned,
                         .given = given};
}

anygp_status hyper_set_likelihood(hyper *h, const likelihood *l, int64_t sets, bool fix, anygp_error *e)
{
    int64_t likes = sets * l->params;
    param_facts *facts = mem_zeroed(likes, sizeof *facts);
    double *values = mem_alloc(likes, sizeof *values);
    anygp_status status = facts && values ? ANYGP_OK : fail_memory(e, "the hyperparameters", 8.0 * (double)likes);
    for (int64_t i = 0; i < likes && !ANYGP_FAILED(status); i++) {
        const likelihood_param *p = &l->param[i % l->params];
        facts[i] = (param_facts){.lower = p->lower,
                                 .prior_mean = p->prior_mean,
                                 .prior_sd = p->prior_sd,
                                 .scale = 1,
                                 .power = p->power,
                                 .free = !fix && !p->fixed,
                                 .real = p->real,
                                 .given = p->given};
        values[i] = l->value[i % l->params];
    }
    if (!ANYGP_FAILED(status)) status = put_likelihood(h, likes, facts, values, e);
    free(facts);
    free(values);
    return status;
}

/* ------------------------------------------------------------------------------------- init, copy */

anygp_status hyper_init(hyper *h, kernel *k, double noise, bool fix_kernel, bool fix_noise, bool prior, anygp_error *e)
{
    param_facts facts = noise_facts(!fix_noise, !isnan(noise));
    double value = isnan(noise) ? NOISE_START : noise;
    *h = (hyper){.all = {.prior = prior}, .kind = &inducing_points};
    anygp_status status = params_put_kernel(&h->all, HYPER_KERNEL, k, fix_kernel, e);
    if (!ANYGP_FAILED(status)) status = put_likelihood(h, 1, &facts, &value, e);
    if (ANYGP_FAILED(status)) hyper_clear(h);
    return status;
}

anygp_status hyper_copy(const hyper *from, hyper *to, anygp_error *e)
{
    *to = (hyper){.kind = from->kind};
    anygp_status status = params_copy(&from->all, &to->all, e);
    if (!ANYGP_FAILED(status)) hyper_bind(to);
    if (!ANYGP_FAILED(status) && from->unit) status = hyper_set_units(to, kernel_inputs(from->kernel), from->unit, e);
    if (ANYGP_FAILED(status)) hyper_clear(to);
    return status;
}

anygp_status hyper_gaussian(const hyper *from, double sd_y, hyper *to, anygp_error *e)
{
    param_facts facts = noise_facts(true, false);
    double scale = sd_y * sd_y, value = NOISE_START * scale;
    hyper plain = *from;
    plain.all.count = 1; /* the kernel */
    TRY(hyper_copy(&plain, to, e));
    to->kind = &inducing_points;
    facts.scale = scale;
    facts.lower *= scale;
    facts.prior_mean += log(scale);
    anygp_status status = put_likelihood(to, 1, &facts, &value, e);
    if (ANYGP_FAILED(status)) hyper_clear(to);
    return status;
}

void hyper_clear(hyper *h)
{
    params_clear(&h->all);
    free(h->unit);
    *h = (hyper){0};
}

/* ----------------------------------------------------------------------------- inducing variables */

anygp_status hyper_set_units(hyper *h, int64_t D, const double *sd_x, anygp_error *e)
{
    param_segment *Z = params_find(&h->all, HYPER_PLACES);
    free(h->unit);
    if (!(h->unit = mem_alloc(D, sizeof *h->unit))) return fail_memory(e, "column scales", 8.0 * (double)D);
    for (int64_t j = 0; j < D; j++) h->unit[j] = sd_x[j] > 0 ? sd_x[j] : 1;
    if (!Z) return ANYGP_OK;
    free(Z->unit);
    Z->unit = mem_copied(D, 1, h->unit);
    return Z->unit ? ANYGP_OK : fail_memory(e, "column scales", 8.0 * (double)D);
}

/* For the variables that stay where they were. */
static void keep_widths(const hyper *h, int64_t M, const double *Z, double *widths)
{
    size_t bytes = (size_t)h->D * sizeof *Z;
    for (int64_t i = 0; h->C && i < M && i < h->M; i++)
        if (!memcmp(Z + i * h->D, h->Z + i * h->D, bytes)) memcpy(widths + i * h->D, h->C + i * h->D, bytes);
}

static bool is_inducing(const param_segment *s)
{
    return !strcmp(s->name, HYPER_PLACES) || !strcmp(s->name, HYPER_WIDTHS);
}

anygp_status hyper_set_inducing(hyper *h, int64_t M, int64_t D, const double *Z, bool learn, anygp_error *e)
{
    double *widths = h->kind->widths ? mem_zeroed(M * D, sizeof *widths) : NULL;
    if (h->kind->widths && !widths) return fail_memory(e, "the inducing inputs", 8.0 * (double)M * (double)D);
    if (widths && h->D == D) keep_widths(h, M, Z, widths);
    anygp_status status = params_put_bulk(&h->all, HYPER_PLACES, M, D, Z, h->kind->draw ? NULL : h->unit, learn, e);
    if (!ANYGP_FAILED(status) && widths) status = params_put_bulk(&h->all, HYPER_WIDTHS, M, D, widths, NULL, learn, e);
    free(widths);
    hyper_bind(h);
    for (int64_t i = 0; i < h->all.count; i++)
        if (is_inducing(&h->all.at[i])) h->all.at[i].grows = true;
    return status;
}

anygp_status hyper_add_inducing(hyper *h, int64_t count, const double *Z, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    for (int64_t i = 0; i < h->all.count && !ANYGP_FAILED(status); i++) {
        param_segment *s = &h->all.at[i];
        if (is_inducing(s)) status = segment_append(s, count, !strcmp(s->name, HYPER_PLACES) ? Z : NULL, e);
    }
    hyper_bind(h);
    return status;
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

/* ------------------------------------------------------------------------------- kernel, likelihood */

param_facts *hyper_facts(const hyper *h, int64_t i)
{
    int64_t P = hyper_kernel_params(h);
    return i < P ? &params_find(&h->all, HYPER_KERNEL)->facts[i]
                 : &params_find(&h->all, HYPER_LIKELIHOOD)->facts[i - P];
}

double hyper_get(const hyper *h, int64_t i)
{
    int64_t P = h->count - h->likes;
    return i < P ? kernel_values(h->kernel)[i] : h->like[i - P];
}

void hyper_set(hyper *h, int64_t i, double value)
{
    int64_t P = h->count - h->likes;
    param_segment *k = params_find(&h->all, HYPER_KERNEL);
    if (i < P && !k->facts[i].follows) {
        kernel_values(h->kernel)[i] = value;
        segment_follow(k);
    } else if (i >= P)
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
        param_facts *p = hyper_facts(h, i);
        const kernel_param *k = i < P ? kernel_param_at(h->kernel, i) : NULL;
        p->scale = k ? kernel_param_unit(k, k->dim < 0 ? shared : sd_x[k->dim], sd_y) : pow(sd_y, p->power);
        if (p->real || p->follows) continue;
        p->lower *= p->scale;
        p->prior_mean += log(p->scale);
        if (!p->given) hyper_set(h, i, hyper_get(h, i) * p->scale);
        double floor = p->lower * 1.01;
        if (p->free && hyper_get(h, i) < floor) hyper_set(h, i, floor);
    }
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
