/* Joint distributions of many rows, and draws from them.  The C latents are independent of each other, so their joint
   distribution is C means and C covariances; a draw of y is a draw of every latent and then one of y given them:
       f_c = mean_c + chol(covariance_c) z_c,   y ~ p(y | f)
   A mixture has S such distributions: a draw is from one of them, taken at random for all rows and latents, and the covariance is
   that of all draws, (1/S) sum of the covariances + that of the means.
   Where components have weights g_s of each row, as experts have, a draw is one of every component, independent of the others, and
   every row takes that of the component it draws by its weights: two rows have the covariance sum_s g_s g_s' cov_s, a row by itself
   that of its mixture.
   Cost n^3/3 per latent and component, n^2 C S numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "gp/gp.h"
#include "linalg/linalg.h"

double gp_joint_bytes(const gp *g, int64_t n)
{
    const posterior *q = g->posterior;
    double squares = (double)n * (double)gp_latents(g) * (double)gp_components(g);
    return 8.0 * (double)n * (squares + (double)q->ops->work_doubles(q, 1) + (double)g->schema.D);
}

typedef struct joint {
    int64_t n, C, S;
    double *mean;       /* n x C x S, model units */
    double *covariance; /* C S squares: lower triangles */
    bool borrowed;      /* it is the caller's */
    double *weight;     /* n x S, where components have weights; else NULL */
    double *diag;       /* n */
    double prior;       /* mean prior variance of f */
    double *scale;      /* n: factors of the variances that vary over the inputs; NULL: none */
} joint;

static void joint_clear(joint *j)
{
    free(j->mean);
    free(j->weight);
    free(j->scale);
    if (!j->borrowed) free(j->covariance);
    free(j->diag);
}

/* For latent c by component s. */
static double *mean_of(const joint *j, int64_t s, int64_t c) { return j->mean + (s * j->C + c) * j->n; }
static double *square_of(const joint *j, int64_t s, int64_t c) { return j->covariance + (s * j->C + c) * j->n * j->n; }

/* square: room for one covariance, or NULL. */
static anygp_status joint_alloc(const gp *g, int64_t n, double *square, joint *j, anygp_error *e)
{
    size_t squares;
    *j = (joint){.n = n, .C = gp_latents(g), .S = gp_components(g)};
    int64_t count = j->C * j->S;
    j->borrowed = square && count == 1;
    j->mean = mem_doubles(n, count);
    j->diag = mem_doubles(n, 1);
    if (g->local) j->scale = mem_doubles(n, 1);
    bool weighted = g->posterior->ops->weights && j->S > 1;
    if (weighted) j->weight = mem_doubles(n, j->S);
    if (j->borrowed)
        j->covariance = square;
    else if (size_mul(n, count, &squares))
        j->covariance = mem_doubles(n, (int64_t)squares);
    if (j->mean && j->diag && j->covariance && (j->weight || !weighted) && (j->scale || !g->local)) return ANYGP_OK;
    joint_clear(j);
    *j = (joint){0};
    return fail_memory(e, "the joint distribution", gp_joint_bytes(g, n));
}

/* The part of column k on and below the diagonal. */
static anygp_status check_column(const row_batch *b, int64_t k, int64_t n, const double *cells, anygp_error *e)
{
    row_batch rest = *b;
    rest.number.first += k;
    if (rest.number.number) rest.number.number += k;
    return predictor_check(&rest, n - k, cells + k, e);
}

static anygp_status no_joint(const gp *g, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "a model of the kind %s has no joint distribution of several rows, and no draws from one; ask for "
                     "the mean and variance of each row",
                     g->name);
}

/* Covariances times the roots of both rows' factors. */
static void scale_square(const joint *j, double *square)
{
    for (int64_t k = 0; k < j->n; k++)
        for (int64_t i = k; i < j->n; i++) square[i + k * j->n] *= sqrt(j->scale[i] * j->scale[k]);
}

/* For f; variances on the diagonals are not negative. */
static anygp_status joint_of_f(const gp *g, const row_batch *b, joint *j, anygp_error *e)
{
    const posterior *q = g->posterior;
    int64_t n = b->n, D = g->schema.D;
    anygp_status status = ANYGP_OK;
    if (b->block ? !q->ops->joint_in : !q->ops->joint) return no_joint(g, e);
    TRY(posterior_ready(q, e));
    double *X = mem_doubles(n, D), *work = mem_doubles(n, q->ops->work_doubles(q, 1));
    if (!X || !work) {
        status = fail_memory(e, "the joint distribution", gp_joint_bytes(g, n));
        goto done;
    }
    TRY_DONE(gp_take_inputs(g, b, X, e));
    kernel_diag(q->kernel, n, X, D, j->mean);
    for (int64_t i = 0; i < n; i++) j->prior += j->mean[i] / (double)n;
    TRY_DONE(b->block ? q->ops->joint_in(q, n, X, D, b->block, work, j->mean, j->covariance, n, e)
                      : q->ops->joint(q, n, X, D, work, j->mean, j->covariance, n, e));
    if (j->weight) q->ops->weights(q, n, X, D, work, j->weight);
    double factor = gp_calibration(g);
    if (j->scale) TRY_DONE(local_scale_at(g->local, q->kernel, n, X, j->scale, e));
    for (int64_t c = 0; c < j->C * j->S; c++) {
        double *square = square_of(j, 0, c);
        for (int64_t k = 0; factor != 1 && k < n; k++) la_scale(n - k, factor, square + k * n + k);
        if (j->scale) scale_square(j, square);
        TRY_DONE(predictor_check(b, n, j->mean + c * n, e));
        for (int64_t k = 0; k < n; k++) TRY_DONE(check_column(b, k, n, square + k * n, e));
        for (int64_t i = 0; i < n; i++) square[i + i * n] = fmax(square[i + i * n], 0);
    }
done:
    free(X);
    free(work);
    return status;
}

/* gaussian: the noise of each component. */
static void add_noise(const gp *g, joint *j)
{
    for (int64_t c = 0; c < j->C * j->S; c++)
        for (int64_t i = 0; i < j->n; i++)
            square_of(j, 0, c)[i + i * j->n] += gp_noise_by(g, c / j->C) * (j->scale ? j->scale[i] : 1);
}

static void add_to_diagonals(joint *j, double added)
{
    for (int64_t c = 0; c < j->C * j->S; c++)
        for (int64_t i = 0; i < j->n; i++) square_of(j, 0, c)[i + i * j->n] += added;
}

static anygp_status first_to_data(const gp *g, const row_batch *b, double *mean, anygp_error *e)
{
    unit_means(gp_latent_unit(g, 0), b->n, mean, mean);
    return predictor_check(b, b->n, mean, e);
}

/* ---------------------------------------------------------------------------- joint covariance */

static anygp_status check_joint(const gp *g, bool latent, anygp_error *e)
{
    if (latent && gp_latents(g) > 1)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "the model has %lld latent functions, and a joint distribution is of one",
                         (long long)gp_latents(g));
    if (!latent && !gp_is_gaussian(g) && g->likelihood->ops->target != TARGET_REAL)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "with the likelihood %s the joint covariance of y is not known; ask for that of f",
                         g->likelihood->ops->name);
    return ANYGP_OK;
}

/* Real targets are f plus noise that is independent from row to row: only the diagonal is not f's own. */
static anygp_status noise_on_diagonal(const gp *g, joint *j, anygp_error *e)
{
    const likelihood *l = g->likelihood;
    int64_t n = j->n;
    double white = kernel_white(g->posterior->kernel), *variance = mem_doubles(n, j->C), *mean = mem_alloc(n, 8);
    bool ok = variance && mean;
    for (int64_t s = 0; ok && s < j->S; s++) {
        double *first = square_of(j, s, 0);
        for (int64_t c = 0; c < j->C; c++)
            for (int64_t i = 0; i < n; i++) variance[i + c * n] = square_of(j, s, c)[i + i * n] + white;
        l->ops->moments(l, n, NULL, mean_of(j, s, 0), variance, n, mean, j->diag);
        for (int64_t i = 0; i < n; i++) mean_of(j, s, 0)[i] = mean[i], first[i + i * n] = j->diag[i];
    }
    free(variance);
    free(mean);
    return ok ? ANYGP_OK : fail_memory(e, "the joint distribution", gp_joint_bytes(g, n));
}

/* Mean and covariance of all draws, of the first latent, in the place of the first component's. */
static void merge_components(joint *j)
{
    int64_t n = j->n;
    double *mean = j->diag, *all = square_of(j, 0, 0), S = (double)j->S;
    for (int64_t i = 0; i < n; i++) {
        mean[i] = 0;
        for (int64_t s = 0; s < j->S; s++) mean[i] += mean_of(j, s, 0)[i] / S;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k; i < n; i++) {
            double sum = 0;
            for (int64_t s = 0; s < j->S; s++) {
                const double *m = mean_of(j, s, 0);
                sum += (square_of(j, s, 0)[i + k * n] + (m[i] - mean[i]) * (m[k] - mean[k])) / S;
            }
            all[i + k * n] = sum;
        }
    memcpy(j->mean, mean, (size_t)n * sizeof *mean);
}

/* The same where every row takes a component of its own. */
static void merge_weighted(joint *j)
{
    int64_t n = j->n;
    double *mean = j->diag, *all = square_of(j, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        mean[i] = 0;
        for (int64_t s = 0; s < j->S; s++) mean[i] += j->weight[i + s * n] * mean_of(j, s, 0)[i];
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k; i < n; i++) {
            double sum = 0;
            for (int64_t s = 0; s < j->S; s++) {
                const double *m = mean_of(j, s, 0), *g = j->weight + s * n;
                double cell = square_of(j, s, 0)[i + k * n];
                sum += i == k ? g[i] * (cell + (m[i] - mean[i]) * (m[i] - mean[i])) : g[i] * g[k] * cell;
            }
            all[i + k * n] = sum;
        }
    memcpy(j->mean, mean, (size_t)n * sizeof *mean);
}

/* From g(y) in model units to y, component by component. */
static anygp_status joint_of_y(const gp *g, joint *j, anygp_error *e)
{
    target_scale unit = gp_latent_unit(g, 0);
    for (int64_t s = 0; s < j->S; s++) {
        double *mean = mean_of(j, s, 0), *square = square_of(j, s, 0);
        la_mirror(j->n, square, j->n);
        unit_means(unit, j->n, mean, mean);
        unit_variances(unit, j->n * j->n, square, square);
        TRY(gp_joint_warp(&g->schema.warp, j->n, mean, square, e));
    }
    return ANYGP_OK;
}

anygp_status gp_joint(const gp *g, const row_batch *b, bool latent, double *mean, double *covariance, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    int64_t n = b->n;
    bool warped = !latent && warp_is(&g->schema.warp);
    target_scale unit = warped ? (target_scale){.scale = 1} : gp_latent_unit(g, 0);
    joint j = {0};
    TRY(check_joint(g, latent, e));
    TRY(joint_alloc(g, n, covariance, &j, e));
    TRY_DONE(joint_of_f(g, b, &j, e));
    if (!latent && gp_is_gaussian(g)) add_noise(g, &j);
    if (!latent && !gp_is_gaussian(g)) TRY_DONE(noise_on_diagonal(g, &j, e));
    if (warped) TRY_DONE(joint_of_y(g, &j, e));
    if (j.S > 1) (j.weight ? merge_weighted : merge_components)(&j);
    la_mirror(n, j.covariance, n);
    unit_variances(unit, n * n, j.covariance, covariance);
    unit_means(unit, n, j.mean, mean);
    TRY_DONE(predictor_check(b, n, mean, e));
    for (int64_t k = 0; k < n; k++) TRY_DONE(predictor_check(b, n, covariance + k * n, e));
done:
    joint_clear(&j);
    return status;
}

/* --------------------------------------------------------------------------------------- draws */

/* The factor of the covariance in place.  That of a posterior is a difference, often singular, with rounding errors of the
   prior's size: jitter grows from there. */
static anygp_status factor_square(int64_t n, double *covariance, double prior, double *diag, anygp_error *e)
{
    double jitter;
    bool certain = true; /* every draw is the mean */
    for (int64_t i = 0; i < n && certain; i++) certain = covariance[i + i * n] == 0;
    if (certain)
        memset(covariance, 0, (size_t)(n * n) * sizeof *covariance);
    else if (!la_cholesky_scaled(n, covariance, n, prior, 1e-14, diag, &jitter))
        return fail_with(e, ANYGP_ERR_NUMERIC, "the joint covariance of %lld rows has no Cholesky factor",
                         (long long)n);
    return ANYGP_OK;
}

/* The component that draw k is from. */
static int64_t component_of(const joint *j, uint64_t seed, int64_t k)
{
    return j->S > 1 ? random_below((random_stream){seed, RANDOM_COMPONENT, 0}, (uint64_t)k, j->S) : 0;
}

/* How many draws from k on are all from component s, or all not. */
static int64_t draws_alike(const joint *j, uint64_t seed, int64_t s, int64_t k, int64_t end)
{
    int64_t count = 1;
    bool is = component_of(j, seed, k) == s;
    while (k + count < end && (component_of(j, seed, k + count) == s) == is) count++;
    return count;
}

/* Draws k .. k+count-1 of latent c by component s, whose square is factored: mean + factor z.  Normal i of latent c and draw k is
   number i + c n of stream k; components that are drawn together have their own. */
static void draw_some(const joint *j, int64_t s, int64_t c, uint64_t seed, int64_t k, int64_t count, double *out)
{
    int64_t n = j->n, lane = j->weight ? s * j->C + c : c;
    for (int64_t d = 0; d < count; d++)
        for (int64_t i = 0; i < n; i++)
            out[i + d * n] =
                random_normal((random_stream){seed, RANDOM_SAMPLE, (uint64_t)(k + d)}, (uint64_t)(i + lane * n));
    la_trmm(LA_LEFT, LA_N, n, count, 1, square_of(j, s, c), n, out, n);
    for (int64_t d = 0; d < count; d++) la_axpy(n, 1, mean_of(j, s, c), out + d * n);
}

/* The component that row i of draw k is from, by the row's weights. */
static int64_t component_at(const joint *j, uint64_t seed, int64_t k, int64_t i)
{
    double u = random_uniform((random_stream){seed, RANDOM_COMPONENT, (uint64_t)k + 1}, (uint64_t)i), sum = 0;
    int64_t last = 0;
    for (int64_t s = 0; s < j->S; s++) {
        if (!(j->weight[i + s * j->n] > 0)) continue;
        last = s, sum += j->weight[i + s * j->n];
        if (u < sum) break;
    }
    return last;
}

static anygp_status draw_weighted(joint *j, int64_t c, uint64_t seed, int64_t draws, double *out, anygp_error *e)
{
    int64_t n = j->n;
    anygp_status status = ANYGP_OK;
    double *one = mem_alloc(n, sizeof *one);
    int32_t *from = mem_alloc(n * draws, sizeof *from);
    if (!one || !from) TRY_DONE(fail_memory(e, "the draws", 4.0 * (double)n * (double)(draws + 2)));
    for (int64_t k = 0; k < draws; k++)
        for (int64_t i = 0; i < n; i++) from[i + k * n] = (int32_t)component_at(j, seed, k, i);
    for (int64_t s = 0; s < j->S; s++) {
        TRY_DONE(factor_square(n, square_of(j, s, c), j->prior, j->diag, e));
        for (int64_t k = 0; k < draws; k++) {
            draw_some(j, s, c, seed, k, 1, one);
            for (int64_t i = 0; i < n; i++)
                if (from[i + k * n] == s) out[i + k * n] = one[i];
        }
    }
done:
    free(one);
    free(from);
    return status;
}

/* `draws` of latent c in model units. */
static anygp_status draw_latent(joint *j, int64_t c, uint64_t seed, int64_t draws, double *out, anygp_error *e)
{
    if (j->weight) return draw_weighted(j, c, seed, draws, out, e);
    for (int64_t s = 0; s < j->S; s++) {
        bool factored = false;
        for (int64_t k = 0, count; k < draws; k += count) {
            count = draws_alike(j, seed, s, k, draws);
            if (component_of(j, seed, k) != s) continue;
            if (!factored) TRY(factor_square(j->n, square_of(j, s, c), j->prior, j->diag, e));
            factored = true;
            draw_some(j, s, c, seed, k, count, out + k * j->n);
        }
    }
    return ANYGP_OK;
}

/* y given draws of the latents F[n, S] each, one after the other.  Its stream is not theirs: ~k. */
static void draw_targets(const gp *g, const row_batch *b, uint64_t seed, int64_t S, const double *F, double *out)
{
    const likelihood *l = g->likelihood;
    for (int64_t k = 0; k < S; k++)
        l->ops->draw(l, b->n, b->exposure, F + k * b->n, b->n * S, (random_stream){seed, RANDOM_SAMPLE, ~(uint64_t)k},
                     out + k * b->n);
}

static anygp_status sample_observed(const gp *g, const row_batch *b, joint *j, uint64_t seed, int64_t S, double *out,
                                    anygp_error *e)
{
    size_t wide;
    double *F = size_mul(S, j->C, &wide) ? mem_doubles(b->n, (int64_t)wide) : NULL;
    anygp_status status = F ? ANYGP_OK : fail_memory(e, "the draws", 8.0 * (double)b->n * (double)S * (double)j->C);
    for (int64_t c = 0; c < j->C && !ANYGP_FAILED(status); c++)
        status = draw_latent(j, c, seed, S, F + c * b->n * S, e);
    if (!ANYGP_FAILED(status)) draw_targets(g, b, seed, S, F, out);
    free(F);
    return status;
}

anygp_status gp_sample(const gp *g, const row_batch *b, bool latent, uint64_t seed, int64_t S, double *out,
                       anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    joint j = {0};
    bool gaussian = gp_is_gaussian(g);
    double added = latent ? 0 : gaussian ? gp_observation_variance(g) : kernel_white(g->posterior->kernel);
    if (latent && gp_latents(g) > 1)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "the model has %lld latent functions, and draws are of one number per row; draw y instead of f",
            (long long)gp_latents(g));
    TRY(joint_alloc(g, b->n, NULL, &j, e));
    TRY_DONE(joint_of_f(g, b, &j, e));
    if (gaussian && !latent)
        add_noise(g, &j);
    else
        add_to_diagonals(&j, added);
    j.prior += added;
    TRY_DONE(latent || gaussian ? draw_latent(&j, 0, seed, S, out, e) : sample_observed(g, b, &j, seed, S, out, e));
    bool scaled = latent || gaussian || g->likelihood->ops->target == TARGET_REAL;
    for (int64_t k = 0; k < S; k++) {
        if (scaled) TRY_DONE(first_to_data(g, b, out + k * b->n, e));
        for (int64_t i = 0; i < b->n && !latent && warp_is(&g->schema.warp); i++)
            out[i + k * b->n] = warp_inverse(&g->schema.warp, out[i + k * b->n]);
        TRY_DONE(predictor_check(b, b->n, out + k * b->n, e));
    }
done:
    joint_clear(&j);
    return status;
}
