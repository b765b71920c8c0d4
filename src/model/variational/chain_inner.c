/* Inner layers of a chain: their segments, and the gradient of a q by covariance (chain.h).
   R = diag(exp r_ii) (I + strictly lower r_ij) is stored by r, column after column: rows of R in units of their diagonal, so that steps
   of one size suit all of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/variational/chain.h"

/* At the start an inner layer is close to the identity: q is narrow, and the prior's variance small beside the inputs'. */
static const double START_LOG_R = -5.75, START_VARIANCE = 0.01;

#define SPREADS "spreads"

typedef struct segment_name {
    char text[SEGMENT_NAME];
} segment_name;

/* Layers count from 1 in names. */
static segment_name name_of(int64_t i, const char *what)
{
    segment_name n;
    snprintf(n.text, sizeof n.text, "layer%d.%.8s", (int)i + 1, what);
    return n;
}

static param_segment *find(const hyper *h, int64_t i, const char *what)
{
    return params_find(&h->all, name_of(i, what).text);
}

int64_t chain_layers(const hyper *h)
{
    int64_t L = 1;
    while (find(h, L - 1, HYPER_KERNEL)) L++;
    return L;
}

/* ---------------------------------------------------------------------------------------- define */

/* The kernel's variance has no unit here; its lengths have those of h's. */
static anygp_status define_kernel(hyper *h, int64_t i, anygp_error *e)
{
    kernel *k = kernel_copy(h->kernel);
    if (!k) return fail_memory(e, "a kernel", 0);
    for (int64_t j = 0; j < kernel_count(k); j++) {
        const kernel_param *q = kernel_param_at(k, j);
        if (q->role == ROLE_VARIANCE && !q->fixed) kernel_values(k)[j] = fmax(START_VARIANCE, 1.01 * q->lower);
    }
    TRY(params_put_kernel(&h->all, name_of(i, HYPER_KERNEL).text, k, false, e));
    param_facts *facts = find(h, i, HYPER_KERNEL)->facts;
    for (int64_t j = 0; j < kernel_count(k); j++) {
        bool variance = kernel_param_at(k, j)->role == ROLE_VARIANCE, moves = hyper_facts(h, j)->free;
        if (!variance) facts[j] = *hyper_facts(h, j);
        facts[j].free = moves;
    }
    return ANYGP_OK;
}

static anygp_status define_spreads(hyper *h, const problem *p, anygp_error *e)
{
    const schema *columns = p->rows ? &p->rows->data->schema : NULL;
    double *spread = mem_alloc(h->D, sizeof *spread);
    if (!spread) return fail_memory(e, "column scales", 8.0 * (double)h->D);
    for (int64_t j = 0; j < h->D; j++) spread[j] = h->unit ? h->unit[j] : 1;
    for (int64_t i = 0; columns && i < columns->inputs; i++)
        if (columns->input[i].text && columns->input[i].position >= 0) spread[columns->input[i].position] = 0;
    anygp_status status = params_put_bulk(&h->all, SPREADS, 1, h->D, spread, NULL, false, e);
    free(spread);
    return status;
}

static anygp_status define_q(hyper *h, int64_t i, anygp_error *e)
{
    int64_t M = h->M, C = h->D, triangle = M * (M + 1) / 2;
    double *zeros = mem_zeroed(C * triangle, sizeof *zeros);
    if (!zeros) return fail_memory(e, "an inner layer", 8.0 * (double)(C * triangle));
    anygp_status status = params_put_bulk(&h->all, name_of(i, "m").text, C, M, zeros, NULL, true, e);
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0, at = c * triangle; j < M; at += M - j, j++) zeros[at] = START_LOG_R;
    if (!ANYGP_FAILED(status))
        status = params_put_bulk(&h->all, name_of(i, "R").text, C, triangle, zeros, NULL, true, e);
    free(zeros);
    return status;
}

anygp_status chain_define(hyper *h, const problem *p, int64_t L, anygp_error *e)
{
    if (L > 1) TRY(define_spreads(h, p, e));
    for (int64_t i = 0; i < L - 1; i++) {
        TRY(define_kernel(h, i, e));
        TRY(params_put_bulk(&h->all, name_of(i, HYPER_PLACES).text, h->M, h->D, h->Z, h->unit, h->learn_Z, e));
        TRY(define_q(h, i, e));
    }
    hyper_bind(h);
    return ANYGP_OK;
}

const double *chain_spreads(const hyper *h)
{
    const param_segment *s = params_find(&h->all, SPREADS);
    return s ? s->values : NULL;
}

/* ----------------------------------------------------------------------------------------- values */

chain_prior chain_prior_of(const hyper *h, int64_t i)
{
    const param_segment *k = find(h, i, HYPER_KERNEL), *Z = find(h, i, HYPER_PLACES);
    if (!k) return (chain_prior){h->kernel, hyper_set_of(h), h->learn_Z, 0, h->count};
    return (chain_prior){k->kernel, (function_set){Z->rows, Z->values, NULL}, Z->learned, params_place(&h->all, k),
                         params_place(&h->all, Z)};
}

void chain_take_inner(chain *s, const hyper *h, int64_t i)
{
    layer *l = &s->at[i];
    int64_t M = l->Mt;
    const double *from = find(h, i, "R")->values, *m = find(h, i, "m")->values;
    for (int64_t k = 0; k < M * l->C; k++) l->m[k] = m[k];
    for (int64_t c = 0; c < l->C; c++) {
        double *R = s->R[i] + c * M * M;
        for (int64_t j = 0; j < M; j++)
            for (int64_t k = j; k < M; k++, from++) R[k + j * M] = k == j ? exp(*from) : *from;
        for (int64_t j = 0; j < M; j++)
            for (int64_t k = j + 1; k < M; k++) R[k + j * M] *= R[k + k * M];
    }
}

/* ------------------------------------------------------------------------------------------ gradient */

bool chain_inner_gradient(const chain *s, int64_t i, const layer_stat *stat, double *gp)
{
    const layer *l = &s->at[i];
    int64_t M = l->Mt;
    double *m = gp + params_place(&s->h->all, find(s->h, i, "m"));
    double *to = gp + params_place(&s->h->all, find(s->h, i, "R")), *SR = mem_doubles(M, M + 1), *diagonal = SR + M * M;
    if (!SR) return false;
    for (int64_t k = 0; k < M * l->C; k++) m[k] = stat->b[k] - l->m[k];
    for (int64_t c = 0; c < l->C; c++) {
        const double *R = s->R[i] + c * M * M;
        la_symm(LA_LEFT, M, M, 1, stat->S + c * M * M, M, R, M, 0, SR, M);
        for (int64_t k = 0; k < M; k++) diagonal[k] = 1; /* of log det V / 2 */
        for (int64_t j = 0; j < M; j++)
            for (int64_t k = j; k < M; k++, to++) {
                double bar = -SR[k + j * M] - R[k + j * M];
                diagonal[k] += bar * R[k + j * M];
                *to = bar * R[k + k * M];
            }
        to -= M * (M + 1) / 2;
        for (int64_t j = 0; j < M; to += M - j, j++) *to = diagonal[j];
    }
    free(SR);
    return true;
}
