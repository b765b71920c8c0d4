/* Predictions of variational nearest-neighbour GPs: x is given the values at its nearest rows, and q of these is mean-field:
       f(x) ~ N(b m_N, d + sum_k b_k^2 s_k)
   for each latent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/local/vnngp.h"
#include "model/local/vnngp_posterior.h"

static void vnngp_free(posterior *base)
{
    vnngp_posterior *p = (vnngp_posterior *)base;
    if (!p) return;
    free(p->m);
    free(p->s);
    vecchia_free(base);
}

static int64_t vnngp_work(const posterior *base, int64_t n)
{
    return n * (vecchia_near((const vecchia_posterior *)base) + 1); /* lists of 32-bit numbers, generously */
}

void vnngp_conditional_begin(const vnngp_posterior *p, int64_t count, const int32_t *rows, conditional *c)
{
    double added = kernel_white(p->near.base.kernel) + p->near.facts[FACT_JITTER];
    conditional_begin(&p->near, count, rows, c);
    for (int64_t j = 0; j < count; j++) c->noise[j] = added, c->y[j] = 0;
}

/* Row i of n. */
static anygp_status predict_row(const vnngp_posterior *p, int64_t count, const int32_t *rows, const double *x,
                                conditional *c, int64_t i, int64_t n, double *mean, double *variance, anygp_error *e)
{
    const posterior *b = &p->near.base;
    vnngp_conditional_begin(p, count, rows, c);
    TRY(conditional_find(&p->near, x, c, e));
    la_trsv(LA_T, count, c->G, count + 1, c->row); /* b */
    for (int64_t l = 0; l < b->latents; l++) {
        const double *m = p->m + l * b->n, *s = p->s + l * b->n;
        double mu = 0, v = c->variance;
        for (int64_t j = 0; j < count; j++) mu += c->row[j] * m[rows[j]], v += c->row[j] * c->row[j] * s[rows[j]];
        mean[i + l * n] = mu;
        if (variance) variance[i + l * n] = v;
    }
    return ANYGP_OK;
}

static anygp_status vnngp_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work,
                                   double *mean, double *variance, anygp_error *e)
{
    const vnngp_posterior *p = (const vnngp_posterior *)base;
    int64_t k = vecchia_near(&p->near), size = conditional_doubles(&p->near, k);
    int32_t *count = (int32_t *)work, *rows = count + n;
    int threads = threads_for((double)n * (double)k * (double)k * (double)k);
    anygp_status status = ANYGP_OK;
    TRY(vecchia_around(&p->near, n, X, ldx, k, rows, count, NULL, NULL, e));
    la_serial_begin(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        anygp_error why = {0};
        double *room = mem_alloc(size, sizeof *room);
        anygp_status mine = room ? ANYGP_OK : fail_memory(&why, "prediction", 8.0 * (double)size);
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < n; i++) {
            if (ANYGP_FAILED(mine)) continue;
            conditional c = conditional_place(&p->near, k, room);
            mine = predict_row(p, count[i], rows + i * k, X + i * ldx, &c, i, n, mean, variance, &why);
        }
#pragma omp critical(vnngp_status)
        if (ANYGP_FAILED(mine)) status = fail_with(e, mine, "%s", why.text);
        free(room);
    }
    la_serial_end(threads);
    return status;
}

static void vnngp_arrays(posterior *base, array_list *list)
{
    vnngp_posterior *p = (vnngp_posterior *)base;
    vecchia_arrays(base, list);
    array_list_add(list, (named_array){"q_mean", base->n, base->latents, p->m, false});
    array_list_add(list, (named_array){"q_variance", base->n, base->latents, p->s, false});
}

static const posterior_ops vnngp_posterior_ops = {.work_doubles = vnngp_work,
                                                  .marginal = vnngp_marginal,
                                                  .joint = vnngp_joint,
                                                  .arrays = vnngp_arrays,
                                                  .free = vnngp_free};
static const posterior_form vnngp_form = {&vnngp_posterior_ops, sizeof(vnngp_posterior)};

/* The first n of each column of x[of,C]. */
static double *first_rows(int64_t n, int64_t of, int64_t C, const double *x)
{
    double *out = mem_doubles(n, C);
    for (int64_t c = 0; out && c < C; c++) memcpy(out + c * n, x + c * of, (size_t)n * sizeof *out);
    return out;
}

anygp_status vnngp_posterior_new(const vnngp *v, posterior **out, anygp_error *e)
{
    const nearness *near = &v->problem->near;
    static const basis none = {0};
    int64_t predict = v->rows.D < VECCHIA_WIDE ? VECCHIA_PREDICT : VECCHIA_PREDICT_WIDE;
    vecchia_rows rows = {.n = v->seen,
                         .D = v->rows.D,
                         .X = v->X,
                         .y = v->m,
                         .w = v->one,
                         .near = near->predict > 0 ? near->predict : predict,
                         .learned = v->k,
                         .jitter = v->added};
    double noise = likelihood_is_gaussian(&v->like) ? v->h->like[0] : 0;
    TRY(vecchia_posterior_new(&vnngp_form, v->h->kernel, noise, &none, &rows, v->m, v->m, out, e));
    vnngp_posterior *p = (vnngp_posterior *)*out;
    p->near.base.latents = v->C;
    p->m = first_rows(v->seen, v->n, v->C, v->m), p->s = first_rows(v->seen, v->n, v->C, v->s);
    if (p->m && p->s) return ANYGP_OK;
    vnngp_free(*out);
    *out = NULL;
    return fail_memory(e, "the posterior", 16.0 * (double)v->n * (double)v->C);
}

static anygp_status find_q(named_array *list, int64_t count, named_array **m, named_array **s, anygp_error *e)
{
    const named_array *X = named_array_need(list, count, "X", e);
    if (!X || !(*m = named_array_need(list, count, "q_mean", e))) return ANYGP_ERR_FILE;
    if (!(*s = named_array_need(list, count, "q_variance", e))) return ANYGP_ERR_FILE;
    TRY(named_array_check(*m, X->cols, (*m)->cols, e));
    TRY(named_array_check(*s, X->cols, (*m)->cols, e));
    bool ok = (*m)->cols >= 1 && (*m)->cols <= LIKELIHOOD_LATENTS;
    for (int64_t i = 0; ok && i < (*s)->rows * (*s)->cols; i++) ok = (*s)->values[i] > 0;
    return ok ? ANYGP_OK : fail_with(e, ANYGP_ERR_FILE, "the model file's variances are not valid; it is damaged");
}

anygp_status vnngp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e)
{
    named_array *m, *s;
    (void)self;
    TRY(find_q(list, count, &m, &s, e));
    TRY(vecchia_load_as(&vnngp_form, k, noise, mean, D, list, count, out, e));
    vnngp_posterior *p = (vnngp_posterior *)*out;
    p->near.base.latents = m->cols;
    p->m = named_array_take(m), p->s = named_array_take(s);
    return ANYGP_OK;
}
