#include "model/hyper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const double NOISE_FLOOR = 1e-8, NOISE_START = 0.1, NOISE_PRIOR_MEAN = -3, NOISE_PRIOR_SD = 2.5;

anygp_status hyper_init(hyper *h, kernel *k, double noise, bool fix_kernel, bool fix_noise, bool prior, anygp_error *e)
{
    int64_t P = kernel_count(k);
    *h = (hyper){.kernel = k, .count = P + 1, .prior = prior, .noise = isnan(noise) ? NOISE_START : noise};
    if (!(h->param = mem_zeroed(h->count, sizeof *h->param))) {
        hyper_clear(h);
        return fail_memory(e, "the hyperparameters", (double)P * sizeof *h->param);
    }
    for (int64_t i = 0; i < P; i++) {
        const kernel_param *p = kernel_param_at(k, i);
        h->param[i] = (hyper_param){p->lower, p->prior_mean, p->prior_sd, 1, !fix_kernel && !p->fixed, p->given};
    }
    h->param[P] = (hyper_param){NOISE_FLOOR, NOISE_PRIOR_MEAN, NOISE_PRIOR_SD, 1, !fix_noise, !isnan(noise)};
    for (int64_t i = 0; i < h->count; i++) h->free += h->param[i].free;
    return ANYGP_OK;
}

anygp_status hyper_copy(const hyper *from, hyper *to, anygp_error *e)
{
    *to = *from;
    to->kernel = kernel_copy(from->kernel);
    to->param = mem_alloc(from->count, sizeof *to->param);
    to->Z = NULL;
    if (!to->kernel || !to->param) {
        hyper_clear(to);
        return fail_memory(e, "the hyperparameters", (double)from->count * sizeof *to->param);
    }
    memcpy(to->param, from->param, (size_t)from->count * sizeof *to->param);
    to->free -= from->learn_Z ? from->M * from->D : 0;
    to->learn_Z = false;
    return from->Z ? hyper_set_inducing(to, from->M, from->D, from->Z, from->learn_Z, e) : ANYGP_OK;
}

anygp_status hyper_set_inducing(hyper *h, int64_t M, int64_t D, const double *Z, bool learn, anygp_error *e)
{
    double *copy = mem_doubles(M, D);
    if (!copy) return fail_memory(e, "the inducing inputs", 8.0 * (double)M * (double)D);
    memcpy(copy, Z, (size_t)(M * D) * sizeof *copy);
    h->free += (learn ? M * D : 0) - (h->learn_Z ? h->M * h->D : 0);
    free(h->Z);
    h->Z = copy, h->M = M, h->D = D, h->learn_Z = learn;
    return ANYGP_OK;
}

int64_t hyper_size(const hyper *h) { return h->count + (h->learn_Z ? h->M * h->D : 0); }

void hyper_clear(hyper *h)
{
    kernel_free(h->kernel);
    free(h->param);
    free(h->Z);
    *h = (hyper){0};
}

double hyper_get(const hyper *h, int64_t i) { return i < h->count - 1 ? kernel_values(h->kernel)[i] : h->noise; }

void hyper_set(hyper *h, int64_t i, double value)
{
    if (i < h->count - 1)
        kernel_values(h->kernel)[i] = value;
    else
        h->noise = value;
}

void hyper_defaults(hyper *h, const double *sd_x, double sd_y)
{
    int64_t P = h->count - 1;
    for (int64_t i = 0; i < h->count; i++) {
        hyper_param *p = &h->param[i];
        const kernel_param *k = i < P ? kernel_param_at(h->kernel, i) : NULL;
        p->scale = k ? kernel_param_unit(k, k->column < 0 ? 1 : sd_x[k->column], sd_y) : sd_y * sd_y;
        p->lower *= p->scale;
        p->prior_mean += log(p->scale);
        if (!p->given) hyper_set(h, i, hyper_get(h, i) * p->scale);
        double floor = p->lower * 1.01;
        if (p->free && hyper_get(h, i) < floor) hyper_set(h, i, floor);
    }
}

void hyper_pack(const hyper *h, double *u)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) u[f++] = log(hyper_get(h, i) - h->param[i].lower);
    if (h->learn_Z) memcpy(u + f, h->Z, (size_t)(h->M * h->D) * sizeof *u);
}

void hyper_unpack(hyper *h, const double *u)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) hyper_set(h, i, h->param[i].lower + exp(u[f++]));
    if (h->learn_Z) memcpy(h->Z, u + f, (size_t)(h->M * h->D) * sizeof *u);
}

void hyper_natural(const hyper *h, double *p)
{
    for (int64_t i = 0; i < h->count; i++) p[i] = hyper_get(h, i);
}

/* dp/du = exp(u) = p - lower */
void hyper_chain(const hyper *h, const double *gp, double *gu)
{
    int64_t f = 0;
    for (int64_t i = 0; i < h->count; i++)
        if (h->param[i].free) gu[f++] = gp[i] * (hyper_get(h, i) - h->param[i].lower);
    if (h->learn_Z) memcpy(gu + f, gp + h->count, (size_t)(h->M * h->D) * sizeof *gu);
}

double hyper_log_prior(const hyper *h, double *gu)
{
    static const double HALF_LOG_2PI = 0.918938533204672741780;
    double sum = 0;
    int64_t f = 0;
    for (int64_t i = 0; h->prior && i < h->count; i++) {
        const hyper_param *q = &h->param[i];
        if (!q->free) continue;
        double p = hyper_get(h, i), z = (log(p) - q->prior_mean) / q->prior_sd;
        sum -= 0.5 * z * z + log(q->prior_sd) + HALF_LOG_2PI;
        if (gu) gu[f] -= z / q->prior_sd * (p - q->lower) / p;
        f++;
    }
    return sum;
}
