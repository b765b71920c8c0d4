/* Fourier features (kernel/spectral.h, inducing/fourier.c) and the model over them, ssgp: against the kernel, against the weight-space
   prior written out with full matrices, and against differences. */
#include "sparse_support.h"

#include "base/special.h"
#include "inducing/inducing.h"
#include "linalg/linalg.h"

/* ------------------------------------------------------------------------------------ quantiles of gamma */

static void gamma_quantiles_invert_the_distribution_and_have_its_slope(void **unused)
{
    (void)unused;
    static const double shapes[] = {0.05, 0.3, 0.8, 1, 1.5, 2.5, 30, 900}, at[] = {1e-4, 0.02, 0.3, 0.5, 0.9, 0.9999};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t j = 0; j < sizeof at / sizeof *at; j++) {
            double slope, a = shapes[i], h = 1e-5 * a, x = gamma_quantile(a, at[j], &slope);
            check_close(gamma_upper(a, x), 1 - at[j], 1e-13);
            double up = gamma_quantile(a + h, at[j], NULL), down = gamma_quantile(a - h, at[j], NULL);
            assert_true(fabs(slope - (up - down) / (2 * h)) <= 1e-6 * fabs(slope) + 1e-9);
        }
    check_close(gamma_quantile(1, 0.3, NULL), -log1p(-0.3), 1e-15);
    check_close(gamma_quantile(0.5, 0.3, NULL), 0.5 * pow(normal_quantile(0.65), 2), 1e-14);
}

/* ------------------------------------------------------------------------------------- waves and kernels */

static kernel *parse(const char *expression)
{
    kernel_input in[D];
    kernel *k = NULL;
    anygp_error e = {.text = ""};
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    if (kernel_parse(expression, in, D, D, &k, &e)) fail_msg("%s", e.text);
    return k;
}

/* sum_i a_i^2 cos w_i'(x - x') of M waves. */
static double expansion(const spectral *s, const double *x, const double *z)
{
    double sum = 0;
    for (int64_t i = 0; i < s->M; i++) {
        double turn = 0;
        for (int d = 0; d < D; d++) turn += s->W[i * D + d] * (x[d] - z[d]);
        sum += s->amplitude[i] * s->amplitude[i] * cos(turn);
    }
    return sum;
}

/* Root mean squared error of the expansion over pairs of rows and seeds. */
static double error_of(const kernel *k, bool orthogonal, int64_t M_, uint64_t seeds)
{
    double X[8 * D], sum = 0, *Z = calloc((size_t)(M_ * D), sizeof *Z);
    spectral s;
    anygp_error e;
    fill_normal(31, 8 * D, X);
    assert_int_equal(spectral_open(&s, k, &e), ANYGP_OK);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        assert_int_equal(spectral_draw(&s, seed, orthogonal, M_, Z, &e), ANYGP_OK);
        assert_true(spectral_waves(&s, k, M_, Z));
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < i; j++) {
                double off = expansion(&s, X + i * D, X + j * D) - kernel_reference(k, X + i * D, X + j * D, false);
                sum += off * off / (28 * (double)seeds);
            }
    }
    spectral_clear(&s);
    free(Z);
    return sqrt(sum);
}

static const char *const with_waves[] = {"rbf(variance=1.3,lengthscale=[0.8,1.4])",
                                         "matern12(variance=0.7)",
                                         "matern32(lengthscale=[0.5,2])",
                                         "matern52(dims=[1])",
                                         "rq(alpha=0.4,lengthscale=0.7)",
                                         "rq(alpha=30)",
                                         "rbf + 0.5*matern32 + white + constant",
                                         "matern52(lengthscale=1.2)*rq(lengthscale=[1,3])",
                                         "(rbf(dims=[0]) + matern12)*(rbf + constant(variance=0.3))"};
#define FOR_EACH_EXPRESSION(x)                                                                                         \
    for (const char *const *x = with_waves; x < with_waves + sizeof with_waves / sizeof *with_waves; x++)

static void the_expansion_converges_to_the_kernel_at_the_rate_of_monte_carlo(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(x)
    {
        kernel *k = parse(*x);
        double few = error_of(k, false, 64, 300), many = error_of(k, false, 16 * 64, 100);
        if (!(many < few / 4 * 1.5 && many > few / 4 / 2))
            fail_msg("%s: 16 times the frequencies leave %g of the error %g", *x, many, few);
        kernel_free(k);
    }
}

/* Near by, where k = 1 - |x - x'|^2 / 2: the covariance of two orthogonal waves takes (D - 1) / (D + 2) off the variance. */
static void orthogonal_frequencies_leave_less_of_the_error(void **unused)
{
    (void)unused;
    kernel *k = parse("rbf(lengthscale=20)");
    check_close(error_of(k, true, 16, 6000) / error_of(k, false, 16, 6000), sqrt(3.0 / (D + 2)), 0.06);
    kernel_free(k);
}

static void orthogonal_frequencies_are_orthogonal_and_as_long_as_the_others(void **unused)
{
    (void)unused;
    enum { WAVES = 4000, TERMS = 2 };
    static double Z[WAVES * D];
    kernel *k = parse("rbf + matern32");
    spectral s;
    double squares = 0;
    assert_int_equal(spectral_open(&s, k, NULL), ANYGP_OK);
    assert_int_equal(s.terms, TERMS);
    assert_int_equal(spectral_draw(&s, 3, true, WAVES, Z, NULL), ANYGP_OK);
    for (int i = 0; i < WAVES; i++) {
        int within = i / TERMS % D;
        for (int b = 1; b <= within; b++) check_close(la_dot(D, Z + i * D, Z + (i - b * TERMS) * D), 0, 1e-14);
        squares += la_dot(D, Z + i * D, Z + i * D) / WAVES;
    }
    assert_true(fabs(squares - D) < 0.15);
    spectral_clear(&s);
    kernel_free(k);
}

static void a_frequency_is_a_function_of_seed_and_index(void **unused)
{
    (void)unused;
    static double few[37 * D], many[500 * D], other[37 * D];
    kernel *k = parse("matern32 + rbf*rq");
    spectral s;
    assert_int_equal(spectral_open(&s, k, NULL), ANYGP_OK);
    for (int orthogonal = 0; orthogonal < 2; orthogonal++) {
        assert_int_equal(spectral_draw(&s, 9, orthogonal, 37, few, NULL), ANYGP_OK);
        assert_int_equal(spectral_draw(&s, 9, orthogonal, 500, many, NULL), ANYGP_OK);
        assert_int_equal(spectral_draw(&s, 10, orthogonal, 37, other, NULL), ANYGP_OK);
        assert_memory_equal(few, many, sizeof few);
        assert_memory_not_equal(few, other, sizeof few);
    }
    spectral_clear(&s);
    kernel_free(k);
}

static void kernels_without_a_spectral_density_are_refused_by_name(void **unused)
{
    (void)unused;
    static const char *const none[][2] = {{"rbf + linear", "linear"},
                                          {"rbf*periodic", "periodic"},
                                          {"white", "white alone"},
                                          {"polynomial", "polynomial"},
                                          {"wendland1", "wendland1"}};
    anygp_error e;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        kernel *k = parse(none[i][0]);
        assert_int_equal(inducing_fourier.check(k, &e), ANYGP_ERR_ARGUMENT);
        assert_non_null(strstr(e.text, none[i][1]));
        kernel_free(k);
    }
    kernel *wide = parse("(rbf+rbf)*(rbf+rbf)*(rbf+rbf)*(rbf+rbf)*(rbf+rbf)*(rbf+rbf)*(rbf+rbf)"),
           *two = parse("rbf + rq");
    double Z[D];
    assert_int_equal(inducing_fourier.check(wide, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "more than 64 terms"));
    assert_int_equal(inducing_fourier.draw(two, "random", 1, 1, Z, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "2 terms"));
    kernel_free(wide);
    kernel_free(two);
}

/* -------------------------------------------------------------------------------------- inducing variables */

enum { N = NEW, KERNEL_MOST = 16, ALL = KERNEL_MOST + M * D + N * D, TWICE = 2 * M };

typedef struct world {
    fixture f;
    inducing_set v;
    double X[N * D], W[TWICE * N], w[N];
} world;

static void open_world(world *a, const char *expression)
{
    anygp_error e;
    *a = (world){0};
    setup(&a->f, &model_ssgp, expression, MEAN_ZERO, false, true);
    fill_normal(11, N * D, a->X);
    fill_normal(12, TWICE * N, a->W);
    fill_normal(13, N, a->w);
    assert_int_equal(inducing_open(&a->v, a->f.h.kind, M, D, &e), ANYGP_OK);
    assert_int_equal(a->v.M, TWICE);
}

static void close_world(world *a)
{
    inducing_clear(&a->v);
    teardown(&a->f, &model_ssgp);
}

static int64_t put(const world *a, double *x)
{
    int64_t P = kernel_count(a->f.h.kernel);
    assert_true(P <= KERNEL_MOST);
    memcpy(x, kernel_values(a->f.h.kernel), (size_t)P * sizeof *x);
    memcpy(x + P, a->f.h.Z, M * D * sizeof *x);
    memcpy(x + P + M * D, a->X, sizeof a->X);
    return P + M * D + N * D;
}

static void take(world *a, const double *x)
{
    int64_t P = kernel_count(a->f.h.kernel);
    double jitter = 1e-6;
    memcpy(kernel_values(a->f.h.kernel), x, (size_t)P * sizeof *x);
    memcpy(a->f.h.Z, x + P, M * D * sizeof *x);
    memcpy(a->X, x + P + M * D, sizeof a->X);
    assert_true(inducing_prepare(&a->v, a->f.h.kernel, hyper_set_of(&a->f.h), true, &jitter));
    assert_true(jitter == 0);
}

/* sum W A + sum w d + 0.37 times the variance of white terms; the residuals d are 0. */
static double value_at(void *ctx, const double *x)
{
    world *a = ctx;
    double A[TWICE * N], d[N];
    take(a, x);
    assert_true(a->v.ops->features(&a->v, N, a->X, D, A, TWICE));
    inducing_residual(&a->v, N, a->X, D, A, TWICE, d);
    for (int i = 0; i < N; i++) assert_true(d[i] == 0);
    return la_dot(TWICE * N, a->W, A) + 0.37 * kernel_white(a->f.h.kernel);
}

static void features_have_the_expansion_for_their_product(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(e)
    {
        world a;
        double x[ALL], A[TWICE * N];
        open_world(&a, *e);
        put(&a, x);
        take(&a, x);
        assert_true(a.v.ops->features(&a.v, N, a.X, D, A, TWICE));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                check_close(la_dot(TWICE, A + i * TWICE, A + j * TWICE),
                            expansion(&a.v.waves, a.X + i * D, a.X + j * D), 1e-12);
        close_world(&a);
    }
}

static void reverse_and_finish_equal_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_EXPRESSION(e)
    {
        world a;
        double x[ALL], g[ALL] = {0}, A[TWICE * N], Abar[TWICE * N], E[TWICE * TWICE] = {0};
        open_world(&a, *e);
        int64_t size = put(&a, x), P = kernel_count(a.f.h.kernel);
        take(&a, x);
        assert_true(a.v.ops->features(&a.v, N, a.X, D, A, TWICE));
        for (int k = 0; k < TWICE * N; k++) Abar[k] = a.W[k] - 2 * a.w[k / TWICE] * A[k];
        inducing_grad to = {g, g + P, NULL, g + P + M * D};
        assert_true(a.v.ops->reverse(&a.v, N, a.X, D, Abar, TWICE, a.w, to));
        assert_true(a.v.ops->finish(&a.v, E, 0.37, to));
        for (int64_t i = 0; i < size; i++) {
            char name[80];
            snprintf(name, sizeof name, "%.60s, %d", *e, (int)i);
            check_close_at(g[i], central_difference(value_at, &a, x, i, 1e-5), 1e-6, name, __FILE__, __LINE__);
        }
        close_world(&a);
    }
}

/* ------------------------------------------------------------------------------ ssgp by its definition */

/* The point of the sequence of factor f for wave j of a term, and tau there: of matern32 by bisection of its distribution, which has
   a closed form, erf(sqrt x) - 2 sqrt(x / pi) exp(-x) for half a chi square of 3. */
static real tau_matern32(int64_t j, real root)
{
    real u = 0.5L + j * root, low = 0, high = 100;
    u -= floorl(u);
    for (int i = 0; i < 200; i++) {
        real x = (low + high) / 2, P = erfl(sqrtl(x)) - 2 * sqrtl(x / 3.14159265358979323846264338L) * expl(-x);
        *(P < u ? &low : &high) = x;
    }
    return 1.5L / low;
}

/* rbf, or matern32 + rbf * rbf: wave i has w_d = z_d r_d, and the variance of its term over the waves of that. */
static real wave_kernel(const fixture *f, bool sum, const double *x, const double *z)
{
    const double *p = kernel_values(f->h.kernel);
    real k = 0;
    for (int i = 0; i < M; i++) {
        const double *s = f->h.Z + i * D;
        real r[D], v, turn = 0;
        if (!sum)
            v = (real)p[0] / M, r[0] = 1 / (real)p[1], r[1] = 1 / (real)p[2];
        else if (i % 2 == 0)
            v = (real)p[0] / (M / 2), r[0] = r[1] = sqrtl(tau_matern32(i / 2, sqrtl(2))) / p[1];
        else
            v = (real)p[2] * p[5] / (M / 2), r[0] = hypotl(1 / (real)p[3], 1 / (real)p[6]),
            r[1] = hypotl(1 / (real)p[4], 1 / (real)p[6]);
        for (int d = 0; d < D; d++) turn += s[d] * r[d] * ((real)x[d] - z[d]);
        k += v * cosl(turn);
    }
    return k;
}

typedef struct dense_wave {
    int n, row[OBSERVED];
    real inverse[OBSERVED * OBSERVED], y[OBSERVED], logdet;
} dense_wave;

static dense_wave *dense_of(const fixture *f, bool sum)
{
    dense_wave *g = calloc(1, sizeof *g);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < (int)f->w[i]; c++) g->y[g->n] = f->y[i], g->row[g->n++] = i;
    for (int a = 0; a < g->n; a++)
        for (int b = 0; b < g->n; b++) {
            const double *x = f->X + g->row[a] * D, *z = f->X + g->row[b] * D;
            g->inverse[a * g->n + b] =
                wave_kernel(f, sum, x, z) + basis_product(&f->mean, x, z) + (a == b ? f->h.like[0] : 0);
        }
    g->logdet = dense_invert(g->n, g->inverse);
    return g;
}

static void check_prediction(const fixture *f, bool sum, const dense_wave *g, int i, double mean, double variance)
{
    const double *x = f->new + i *D;
    real c[OBSERVED], own = wave_kernel(f, sum, x, x) + basis_product(&f->mean, x, x);
    for (int a = 0; a < g->n; a++) {
        const double *r = f->X + g->row[a] * D;
        c[a] = wave_kernel(f, sum, x, r) + basis_product(&f->mean, x, r);
    }
    check_close(mean, (double)dense_quadratic(g->n, g->inverse, c, g->y), 1e-9);
    check_close(variance, (double)(own - dense_quadratic(g->n, g->inverse, c, c)), 1e-9);
}

static void ssgp_is_the_gaussian_process_of_its_waves(void **unused)
{
    (void)unused;
    static const struct {
        const char *kernel;
        bool sum;
    } cases[] = {{"rbf(variance=1.3,lengthscale=[0.8,1.4])", false},
                 {"matern32(variance=0.7,lengthscale=1.1) + "
                  "rbf(variance=0.6,lengthscale=[0.9,2])*rbf(variance=1.5,lengthscale=1.7)",
                  true}};
    for (int c = 0; c < 2; c++)
        for (int plain = 0; plain < 2; plain++) {
            fixture f;
            double jitter = 1e-8, value, mean[NEW], variance[NEW];
            posterior *p = NULL;
            setup(&f, &model_ssgp, cases[c].kernel, plain ? MEAN_ZERO : MEAN_LINEAR, !plain, false);
            dense_wave *g = dense_of(&f, cases[c].sum);
            assert_true(model_ssgp.evaluate(f.state, &f.h, true, &jitter, &value, NULL));
            check_close(value, (double)dense_log_normal(g->n, g->inverse, g->logdet, g->y), 1e-9);
            assert_int_equal(model_ssgp.posterior(f.state, &f.h, &jitter, &p, NULL), ANYGP_OK);
            assert_int_equal(p->n, M);
            double *work = calloc((size_t)p->ops->work_doubles(p, NEW), sizeof *work);
            assert_int_equal(p->ops->marginal(p, NEW, f.new, D, work, mean, variance, NULL), ANYGP_OK);
            for (int i = 0; i < NEW; i++) check_prediction(&f, cases[c].sum, g, i, mean[i], variance[i]);
            free(work);
            free(g);
            p->ops->free(p);
            teardown(&f, &model_ssgp);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_quantiles_invert_the_distribution_and_have_its_slope),
        cmocka_unit_test(the_expansion_converges_to_the_kernel_at_the_rate_of_monte_carlo),
        cmocka_unit_test(orthogonal_frequencies_leave_less_of_the_error),
        cmocka_unit_test(orthogonal_frequencies_are_orthogonal_and_as_long_as_the_others),
        cmocka_unit_test(a_frequency_is_a_function_of_seed_and_index),
        cmocka_unit_test(kernels_without_a_spectral_density_are_refused_by_name),
        cmocka_unit_test(features_have_the_expansion_for_their_product),
        cmocka_unit_test(reverse_and_finish_equal_central_differences),
        cmocka_unit_test(ssgp_is_the_gaussian_process_of_its_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
