/* Predictions of decoupled models (svdgp_posterior.h). */
#include "model/decoupled/svdgp_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "linalg/linalg.h"

enum { PIECE = 256, SHARES = 8 }; /* rows a thread looks at together; threads there is workspace for */

static void posterior_free(posterior *base)
{
    svdgp_posterior *p = (svdgp_posterior *)base;
    if (!p) return;
    svdgp_clear(&p->s);
    free(p->L);
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    free(p);
}

/* For one piece: mean and variance, and what svdgp_marginal needs. */
static int64_t share_doubles(const svdgp *s, int64_t n)
{
    int64_t piece = n < PIECE ? n : PIECE;
    return svdgp_marginal_work(s, piece) + 2 * piece * s->C;
}

static int64_t shares_of(int64_t n)
{
    int64_t pieces = (n + PIECE - 1) / PIECE;
    return pieces < SHARES ? pieces : SHARES;
}

static int64_t work_doubles(const posterior *base, int64_t n)
{
    const svdgp *s = &((const svdgp_posterior *)base)->s;
    int64_t marginals = shares_of(n) * share_doubles(s, n);
    int64_t joint = n * s->Mt * 2 + functions_features_size(&s->f, n) + functions_work(&s->f, n, s->Mt);
    return marginals > joint ? marginals : joint;
}

/* Rows i .. i + PIECE - 1 of n. */
static bool piece(const svdgp *s, int64_t n, int64_t i, const double *X, int64_t ldx, double *work, double *mean,
                  double *variance)
{
    int64_t k = n - i < PIECE ? n - i : PIECE;
    double *m = work, *v = m + k * s->C;
    if (!svdgp_marginal(s, k, X + i * ldx, ldx, v + k * s->C, m, variance ? v : NULL)) return false;
    for (int64_t c = 0; c < s->C; c++) {
        memcpy(mean + i + c * n, m + c * k, (size_t)k * sizeof *m);
        if (variance) memcpy(variance + i + c * n, v + c * k, (size_t)k * sizeof *v);
    }
    return true;
}

static anygp_status marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                             double *variance, anygp_error *e)
{
    const svdgp *s = &((const svdgp_posterior *)base)->s;
    int threads = threads_max() < shares_of(n) ? threads_max() : (int)shares_of(n);
    int64_t share = share_doubles(s, n);
    bool ok = true;
    if (n == 0) return ANYGP_OK;
    la_serial_begin(threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : ok) if (threads > 1)
    for (int64_t i = 0; i < n; i += PIECE)
        ok = piece(s, n, i, X, ldx, work + (threads > 1 ? threads_id() : 0) * share, mean, variance) && ok;
    la_serial_end(threads);
    return ok ? ANYGP_OK : fail_memory(e, "kernel tiles", 0);
}

bool svdgp_fill_Kb(const svdgp *s, int64_t n, const double *X, int64_t ldx, double *work, double *Kb)
{
    return svdgp_fill(s, svdgp_beta(s), n, X, ldx, work + functions_work(&s->f, n, s->Mt), work, Kb);
}

static anygp_status joint(const posterior *base, int64_t n, const double *X, int64_t ldx, double *work, double *mean,
                          double *covariance, int64_t ldc, anygp_error *e)
{
    const svdgp *s = &((const svdgp_posterior *)base)->s;
    double *Kb = work, *V = Kb + n * s->Mt;
    TRY(marginal(base, n, X, ldx, work, mean, NULL, e));
    if (!svdgp_fill_Kb(s, n, X, ldx, V + n * s->Mt, Kb)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t c = 0; c < s->C; c++) {
        double *cov = covariance + c * ldc * n;
        if (!kernel_gram_sym(base->kernel, n, X, ldx, cov, ldc)) return fail_memory(e, "kernel tiles", 0);
        if (s->p) la_syrk(LA_N, n, s->p, 1, Kb, n, 1, cov, ldc);
        la_gemm(LA_N, LA_T, n, s->Mt, s->Mt, 1, Kb, n, s->W[c], s->Mt, 0, V, n);
        la_syrk(LA_N, n, s->Mt, -1, V, n, 1, cov, ldc);
    }
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------- arrays */

static void arrays(posterior *base, array_list *list)
{
    svdgp_posterior *p = (svdgp_posterior *)base;
    svdgp *s = &p->s;
    for (int64_t i = 0; i < SVDGP_TABLES; i++) {
        const param_segment *g = svdgp_table(s, i);
        if (g->rows) array_list_add(list, (named_array){g->name, g->cols, g->rows, g->values, false});
    }
    if (s->Mt) array_list_add(list, (named_array){"L", s->L[0].rows, s->C, p->L, false});
    array_list_add(list, (named_array){"rows", 1, 1, &p->rows, false});
    array_list_add(list, (named_array){"jitter", 1, 1, &s->jitter, false});
}

/* 001, eq. 9 */
static double kl(const posterior *base)
{
    const svdgp *s = &((const svdgp_posterior *)base)->s;
    double mean;
    return svdgp_kl_mean(s, 0, NULL, 1, &mean, NULL, NULL) ? mean + svdgp_kl_covariance(s) : NAN;
}

static const posterior_ops svdgp_posterior_ops = {.work_doubles = work_doubles,
                                                  .marginal = marginal,
                                                  .joint = joint,
                                                  .arrays = arrays,
                                                  .free = posterior_free,
                                                  .kl = kl};

/* ------------------------------------------------------------------------------------------- new */

anygp_status svdgp_posterior_make(const basis *mean, int64_t D, int64_t C, double noise, bool rbf,
                                  svdgp_posterior **out, anygp_error *e)
{
    svdgp_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    *out = p;
    p->base = (posterior){.ops = &svdgp_posterior_ops, .noise = noise, .D = D, .latents = C};
    TRY(basis_copy(mean, &p->base.mean, e));
    return svdgp_init_bare(&p->s, &p->base.mean, D, C, rbf, e);
}

anygp_status svdgp_posterior_complete(svdgp_posterior *p, anygp_error *e)
{
    svdgp *s = &p->s;
    TRY(svdgp_prepare(s, p->base.kernel, 0, NULL, e));
    p->base.n = svdgp_Ma(s);
    free(p->L);
    if (!(p->L = mem_doubles(s->L[0].rows, s->C))) return fail_memory(e, "the posterior", 8.0 * (double)s->L[0].rows);
    for (int64_t c = 0; c < s->C && s->Mt; c++)
        memcpy(p->L + c * s->L[0].rows, s->L[c].values, (size_t)s->L[0].rows * sizeof *p->L);
    return ANYGP_OK;
}

static anygp_status take_columns(param_segment *to, const param_segment *from, int64_t first, double scale,
                                 anygp_error *e)
{
    int64_t count = to->cols;
    to->rows = 0;
    TRY(segment_append(to, from->rows, NULL, e));
    for (int64_t i = 0; i < from->rows; i++)
        for (int64_t c = 0; c < count; c++)
            to->values[i * count + c] = from->values[i * from->cols + first + c] / scale;
    return ANYGP_OK;
}

anygp_status svdgp_copy_parameters(svdgp *to, const svdgp *from, int64_t first, anygp_error *e)
{
    const param_segment *const places[] = {&from->alpha, &from->alpha_width, &from->beta, &from->beta_width};
    TRY(take_columns(&to->a, &from->a, first, from->scale, e));
    TRY(take_columns(&to->trend, &from->trend, first, 1, e));
    for (int i = 0; i < 4; i++) TRY(take_columns(svdgp_table(to, 2 + i), places[i], 0, 1, e));
    for (int64_t c = 0; c < to->C; c++) TRY(take_columns(&to->L[c], &from->L[first + c], 0, from->scale, e));
    to->jitter = from->jitter;
    return ANYGP_OK;
}

anygp_status svdgp_posterior_new(const svdgp *s, const hyper *h, int64_t t, double factor, double rows, posterior **out,
                                 anygp_error *e)
{
    int64_t C = s->C / s->targets, likes = s->likes / s->targets;
    bool noise = likes > 0 && likelihood_is_gaussian(s->likelihood);
    svdgp_posterior *p = NULL;
    anygp_status status;
    TRY_DONE(svdgp_posterior_make(s->mean, s->D, C, noise ? h->like[t * likes] : 0, s->widths, &p, e));
    p->rows = rows, p->s.alpha_widths = s->alpha_widths;
    if (!(p->base.kernel = kernel_copy(h->kernel))) TRY_DONE(fail_memory(e, "the kernel", 0));
    TRY_DONE(svdgp_copy_parameters(&p->s, s, t * C, e));
    la_scale(param_segment_size(&p->s.a), factor, p->s.a.values);
    la_scale(param_segment_size(&p->s.trend), factor, p->s.trend.values);
    TRY_DONE(svdgp_posterior_complete(p, e));
done:
    if (ANYGP_FAILED(status))
        posterior_free((posterior *)p);
    else
        *out = &p->base;
    return status;
}

/* ------------------------------------------------------------------------------------ from a file */

static anygp_status bad_shape(const char *name, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's array '%s' has not the size of the others; it is damaged",
                     name);
}

/* An array that may not be there where it would be empty. */
static anygp_status load_segment(param_segment *g, const named_array *list, int64_t count, anygp_error *e)
{
    const named_array *a = named_array_find(list, count, g->name);
    if (a && a->rows != g->cols) return bad_shape(g->name, e);
    g->rows = 0;
    return a ? segment_append(g, a->cols, a->values, e) : ANYGP_OK;
}

static anygp_status load_parameters(svdgp *s, const named_array *list, int64_t count, anygp_error *e)
{
    for (int64_t i = 0; i < SVDGP_TABLES; i++) TRY(load_segment(svdgp_table(s, i), list, count, e));
    s->alpha_widths = s->alpha_width.rows > 0;
    if (s->alpha.rows != s->a.rows || s->trend.rows != s->p) return bad_shape("a", e);
    if (s->alpha_widths && (!s->widths || s->alpha_width.rows != s->a.rows)) return bad_shape("alpha_width", e);
    if (s->beta_width.rows != (s->widths ? s->beta.rows : 0)) return bad_shape("beta_width", e);
    int64_t Mt = s->p + s->beta.rows, triangle = Mt * (Mt + 1) / 2;
    const named_array *L = named_array_find(list, count, "L");
    if (Mt && (!L || L->rows != triangle || L->cols != s->C)) return bad_shape("L", e);
    for (int64_t c = 0; c < s->C; c++) {
        s->L[c].rows = 0;
        TRY(segment_append(&s->L[c], triangle, Mt ? L->values + c * triangle : NULL, e));
    }
    return ANYGP_OK;
}

anygp_status svdgp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e)
{
    const named_array *a = named_array_find(list, count, "a"), *rows = named_array_find(list, count, "rows"),
                      *jitter = named_array_find(list, count, "jitter");
    svdgp_posterior *p = NULL;
    anygp_status status;
    int64_t *unused = mem_alloc(D, sizeof *unused);
    (void)self;
    if (!unused) return fail_memory(e, "the posterior", 8.0 * (double)D);
    bool rbf = kernel_as_rbf(k, unused);
    free(unused);
    if (!a || !rows || rows->rows * rows->cols != 1 || a->rows < 1) return bad_shape("a", e);
    if (jitter && !(jitter->rows * jitter->cols == 1 && jitter->values[0] >= 0 && jitter->values[0] <= 1))
        return bad_shape("jitter", e);
    TRY_DONE(svdgp_posterior_make(mean, D, a->rows, noise, rbf, &p, e));
    TRY_DONE(load_parameters(&p->s, list, count, e));
    p->rows = rows->values[0];
    p->s.jitter = jitter ? jitter->values[0] : 0; /* older files have none */
    p->base.kernel = k;
    TRY_DONE(svdgp_posterior_complete(p, e));
done:
    if (ANYGP_FAILED(status)) {
        if (p) p->base.kernel = NULL; /* still the caller's */
        posterior_free((posterior *)p);
        return status;
    }
    basis_clear(mean);
    *out = &p->base;
    return status;
}

/* ------------------------------------------------------------------------------------- held out */

anygp_status svdgp_held_out(const posterior *p, const likelihood *l, int64_t n, const double *X, int64_t ldx,
                            const double *Y, const double *w, double *score, anygp_error *e)
{
    int64_t C = p->latents ? p->latents : 1;
    double *room = mem_doubles(n, 4 * C), *work = mem_alloc(p->ops->work_doubles(p, n), sizeof *work), weight = 0;
    double *mu = room, *var = mu + n * C, params[LIKELIHOOD_PARAMS] = {0};
    likelihood gaussian;
    anygp_status status = ANYGP_OK;
    if (!l) TRY_DONE(likelihood_with_noise(p->noise, &gaussian, e));
    if (!room || !work) TRY_DONE(fail_memory(e, "the score", 32.0 * (double)n * (double)C));
    TRY_DONE(p->ops->marginal(p, n, X, ldx, work, mu, var, e));
    for (int64_t i = 0; i < n; i++) weight += w ? w[i] : 1;
    if (!l) l = &gaussian;
    *score = l->ops->expect(l, n, Y, w, mu, var, n, (random_stream){0, RANDOM_STEP, 0}, 0, var + n * C, var + 2 * n * C,
                            params) /
             weight;
done:
    free(room);
    free(work);
    return status;
}
