/* The parameters of a decoupled Gaussian process, how they grow, and what all rows share. */
#include "model/decoupled/svdgp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/jitter.h"
#include "linalg/linalg.h"

/* ----------------------------------------------------------------------------------- open, clear */

static anygp_status init_latents(svdgp *s, anygp_error *e)
{
    s->L = calloc((size_t)s->C, sizeof *s->L);
    s->factor = calloc((size_t)s->C, sizeof *s->factor);
    s->J = calloc((size_t)s->C, sizeof *s->J);
    s->W = calloc((size_t)s->C, sizeof *s->W);
    if (!s->L || !s->factor || !s->J || !s->W) return fail_memory(e, "the latent functions", 64.0 * (double)s->C);
    for (int64_t c = 0; c < s->C; c++) {
        char name[24];
        snprintf(name, sizeof name, "L%lld", (long long)c);
        s->L[c] = segment_that_grows(name, 1);
    }
    return ANYGP_OK;
}

param_segment *svdgp_table(svdgp *s, int64_t i)
{
    param_segment *const list[SVDGP_TABLES] = {&s->a, &s->trend, &s->alpha, &s->alpha_width, &s->beta, &s->beta_width};
    return i < SVDGP_TABLES ? list[i] : &s->L[i - SVDGP_TABLES];
}

anygp_status svdgp_init_bare(svdgp *s, const basis *mean, int64_t D, int64_t C, bool rbf, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    *s = (svdgp){.mean = mean, .D = D, .p = mean->p, .C = C, .targets = 1, .widths = rbf};
    TRY_DONE(functions_init(&s->f, D, e));
    TRY_DONE(init_latents(s, e));
    static const char *const names[SVDGP_TABLES] = {"a", "trend", "alpha", "alpha_width", "beta", "beta_width"};
    for (int64_t i = 0; i < SVDGP_TABLES; i++) *svdgp_table(s, i) = segment_that_grows(names[i], i < 2 ? C : D);
    TRY_DONE(segment_append(&s->trend, s->p, NULL, e));
    for (int64_t c = 0; c < C; c++) TRY_DONE(segment_append(&s->L[c], s->p * (s->p + 1) / 2, NULL, e));
done:
    if (ANYGP_FAILED(status)) svdgp_clear(s);
    return status;
}

static anygp_status init_likelihoods(svdgp *s, const problem *p, anygp_error *e)
{
    s->likelihood = mem_alloc(s->targets, sizeof *s->likelihood);
    if (!s->likelihood) return fail_memory(e, "the likelihoods", (double)s->targets * sizeof *s->likelihood);
    for (int64_t t = 0; t < s->targets; t++) s->likelihood[t] = *p->likelihood;
    return ANYGP_OK;
}

anygp_status svdgp_init(svdgp *s, const problem *p, const kernel *k, bool newton, anygp_error *e)
{
    int64_t targets = p->targets > 0 ? p->targets : 1, latents = p->likelihood->latents;
    *s = (svdgp){0};
    TRY(svdgp_init_bare(s, p->mean, kernel_inputs(k), targets * latents, false, e));
    s->targets = targets, s->newton = newton;
    s->widths = kernel_as_rbf(k, s->f.length);
    s->alpha_widths = s->widths && !newton;
    s->precondition = !newton && kernel_stationary(k);
    anygp_status status = init_likelihoods(s, p, e);
    if (ANYGP_FAILED(status)) svdgp_clear(s);
    return status;
}

static void free_squares(svdgp *s)
{
    for (int64_t c = 0; c < s->C && s->W; c++) {
        double **const squares[] = {&s->factor[c], &s->J[c], &s->W[c]};
        for (int i = 0; i < 3; i++) free(*squares[i]), *squares[i] = NULL;
    }
    for (int i = 0; i < 4; i++) free(s->work[i]), s->work[i] = NULL;
    free(s->K);
    free(s->T);
    s->K = s->T = NULL, s->room = 0;
}

void svdgp_clear(svdgp *s)
{
    for (int64_t i = 0; i < SVDGP_TABLES + (s->L ? s->C : 0); i++) segment_clear(svdgp_table(s, i));
    free_squares(s);
    id_table_clear(&s->rows);
    functions_clear(&s->f);
    void *const owned[] = {s->block.which, s->block.Z, s->L, s->factor, s->J, s->W, s->likelihood, s->coefficient};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *s = (svdgp){0};
}

/* -------------------------------------------------------------------------------------- growth */

anygp_status svdgp_add_alpha(svdgp *s, int64_t count, const double *Z, anygp_error *e)
{
    TRY(segment_append(&s->alpha, count, Z, e));
    if (s->alpha_widths) TRY(segment_append(&s->alpha_width, count, NULL, e));
    return segment_append(&s->a, count, NULL, e);
}

anygp_status svdgp_add_row(svdgp *s, int64_t id, const double *x, anygp_error *e)
{
    int64_t index, before = s->rows.count;
    TRY(id_table_index(&s->rows, id, &index, e));
    if (s->rows.count == before) return ANYGP_OK;
    return svdgp_add_alpha(s, 1, x, e);
}

/* Rows of a lower triangle at its end: zeros, and `small` on the diagonal. */
static anygp_status extend_triangle(param_segment *L, int64_t from, int64_t count, double small, anygp_error *e)
{
    for (int64_t i = from; i < from + count; i++) {
        TRY(segment_append(L, i + 1, NULL, e));
        L->values[L->rows - 1] = small;
    }
    return ANYGP_OK;
}

anygp_status svdgp_add_beta(svdgp *s, int64_t count, const double *Z, double small, anygp_error *e)
{
    int64_t Mt = s->p + svdgp_Mb(s);
    TRY(segment_append(&s->beta, count, Z, e));
    if (s->widths) TRY(segment_append(&s->beta_width, count, NULL, e));
    for (int64_t c = 0; c < s->C; c++) TRY(extend_triangle(&s->L[c], Mt, count, small, e));
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------- prepare */

static anygp_status reserve_squares(svdgp *s, anygp_error *e)
{
    if (s->Mt <= s->room && s->K) return ANYGP_OK;
    free_squares(s);
    s->K = mem_doubles(s->Mt, s->Mt), s->T = mem_doubles(s->Mt, s->Mt);
    bool ok = s->K && s->T;
    for (int i = 0; i < 4; i++) ok = (s->work[i] = mem_doubles(s->Mt, s->Mt)) && ok;
    for (int64_t c = 0; c < s->C; c++) {
        double **const squares[] = {&s->factor[c], &s->J[c], &s->W[c]};
        for (int i = 0; i < 3; i++) ok = (*squares[i] = mem_doubles(s->Mt, s->Mt)) && ok;
    }
    if (!ok) return fail_memory(e, "the covariance's factors", 8.0 * (double)(s->Mt * s->Mt) * (double)(6 + 3 * s->C));
    s->room = s->Mt;
    return ANYGP_OK;
}

/* a by the preconditioner, in one array that the passes read. */
static anygp_status scale_coefficients(svdgp *s, anygp_error *e)
{
    int64_t size = s->a.rows * s->C;
    if (size > s->coefficient_room) {
        free(s->coefficient);
        s->coefficient_room = s->a.room * s->C;
        if (!(s->coefficient = mem_alloc(s->coefficient_room, sizeof(double)))) {
            s->coefficient_room = 0;
            return fail_memory(e, "the mean's coefficients", 8.0 * (double)size);
        }
    }
    for (int64_t i = 0; i < size; i++) s->coefficient[i] = s->a.values[i] / s->scale;
    return ANYGP_OK;
}

/* That much of it in K; where the kernel is 0 at all bases, relative to 1. */
void svdgp_set_jitter(svdgp *s, double jitter)
{
    double nugget = jitter * (s->mean_diagonal > 0 ? s->mean_diagonal : 1);
    for (int64_t i = s->p; i < s->Mt; i++) s->K[i + i * s->Mt] += nugget - s->nugget;
    s->jitter = jitter, s->nugget = nugget;
}

/* K_beta: the identity for the mean's bases, which are uncorrelated with the others. */
static anygp_status fill_K(svdgp *s, anygp_error *e)
{
    int64_t Mt = s->Mt, Mb = svdgp_Mb(s), p = s->p;
    double *packed = s->work[0], *work = mem_alloc(functions_work(&s->f, Mb, Mb), sizeof *work);
    if (!work || !functions_pair(&s->f, svdgp_beta(s), svdgp_beta(s), work, packed)) {
        free(work);
        return fail_memory(e, "kernel tiles", 0);
    }
    free(work);
    memset(s->K, 0, (size_t)(Mt * Mt) * sizeof *s->K);
    for (int64_t j = 0; j < p; j++) s->K[j + j * Mt] = 1;
    for (int64_t j = 0; j < Mb; j++) /* either triangle has its own rounding: one of them for both */
        for (int64_t i = j; i < Mb; i++) s->K[p + i + (p + j) * Mt] = s->K[p + j + (p + i) * Mt] = packed[i + j * Mb];
    s->mean_diagonal = s->nugget = 0;
    for (int64_t i = 0; i < Mb; i++) s->mean_diagonal += packed[i + i * Mb] / (double)Mb;
    svdgp_set_jitter(s, s->jitter);
    return ANYGP_OK;
}

/* T from the Cholesky factor F of K with its bases in the other order: T = F', turned round in both directions. */
static bool factor_K(svdgp *s)
{
    int64_t Mt = s->Mt, last = Mt - 1;
    double *F = s->work[0];
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = j; i < Mt; i++) F[i + j * Mt] = s->K[last - i + (last - j) * Mt];
    s->whitened = Mt > 0 && la_factor(Mt, F, Mt);
    if (!s->whitened) return false;
    memset(s->T, 0, (size_t)(Mt * Mt) * sizeof *s->T);
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = j; i < Mt; i++) s->T[last - j + (last - i) * Mt] = F[i + j * Mt];
    return true;
}

bool svdgp_more_jitter(svdgp *s)
{
    while (s->Mt > 0 && s->jitter <= JITTER_MOST) {
        svdgp_set_jitter(s, jitter_next(s->jitter));
        if (factor_K(s)) return true;
    }
    return false;
}

bool svdgp_whiten(svdgp *s)
{
    const double given = s->jitter;
    if (factor_K(s) || svdgp_more_jitter(s)) return true;
    svdgp_set_jitter(s, given);
    return false;
}

/* L'K L; with K's factor it is positive semi-definite whatever the rounding. */
static void project_K(const svdgp *s, const double *L, double *out)
{
    int64_t Mt = s->Mt;
    double *KL = s->work[0];
    la_gemm(LA_N, LA_N, Mt, Mt, Mt, 1, s->whitened ? s->T : s->K, Mt, L, Mt, 0, KL, Mt);
    la_gemm(LA_T, LA_N, Mt, Mt, Mt, 1, s->whitened ? KL : L, Mt, KL, Mt, 0, out, Mt);
}

/* From the triangle by rows: L, J = chol(I + L'K L), W = J^-1 L'. */
static bool factor_latent(svdgp *s, int64_t c)
{
    int64_t Mt = s->Mt, at = 0;
    double *L = s->factor[c], *J = s->J[c], *W = s->W[c];
    memset(L, 0, (size_t)(Mt * Mt) * sizeof *L);
    for (int64_t i = 0; i < Mt; i++)
        for (int64_t j = 0; j <= i; j++) L[i + j * Mt] = s->L[c].values[at++] / s->scale;
    project_K(s, L, J);
    for (int64_t i = 0; i < Mt; i++) J[i + i * Mt] += 1;
    if (!la_factor(Mt, J, Mt)) return false;
    la_zero_upper(Mt, J, Mt);
    for (int64_t j = 0; j < Mt; j++)
        for (int64_t i = 0; i < Mt; i++) W[i + j * Mt] = L[j + i * Mt];
    la_trsm(LA_LEFT, LA_N, Mt, Mt, 1, J, Mt, W, Mt);
    return true;
}

static void take_likelihood(svdgp *s, const double *like)
{
    int64_t each = s->likelihood ? s->likelihood->params : 0;
    for (int64_t t = 0; like && each && t < s->targets; t++)
        memcpy(s->likelihood[t].value, like + t * each, (size_t)each * sizeof(double));
}

anygp_status svdgp_prepare(svdgp *s, kernel *k, int64_t likes, const double *like, anygp_error *e)
{
    s->kernel = k, s->params = kernel_count(k), s->likes = likes;
    s->Mt = s->p + svdgp_Mb(s);
    const double *anywhere = svdgp_Ma(s) ? s->alpha.values : svdgp_Mb(s) ? s->beta.values : s->f.origin;
    functions_prepare(&s->f, k, anywhere);
    take_likelihood(s, like);
    s->scale = 1;
    if (s->precondition) kernel_diag(k, 1, anywhere, s->D, &s->scale);
    if (s->precondition && s->widths) s->scale = sqrt(s->scale);
    TRY(scale_coefficients(s, e));
    TRY(reserve_squares(s, e));
    TRY(fill_K(s, e));
    if (s->newton)
        svdgp_whiten(s); /* its steps need T; without, they fail */
    else
        factor_K(s);
    for (int64_t c = 0; c < s->C; c++)
        if (!factor_latent(s, c)) return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance's factor is not finite");
    return ANYGP_OK;
}
