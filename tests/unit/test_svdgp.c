/* Decoupled Gaussian processes (model/decoupled/svdgp.h) against dense algebra, differences and expectations over all samples. */
#include "svdgp_support.h"

#include "model/decoupled/svdgp_posterior.h"

static const variant variants[] = {
    {"rbf(ard)", MEAN_ZERO, false, 1}, {"rbf", MEAN_LINEAR, true, 1}, {"matern52 + linear", MEAN_CONSTANT, false, 2}};

#define FOR_EACH_VARIANT(v) for (const variant *v = variants; v < variants + sizeof variants / sizeof *variants; v++)

/* ------------------------------------------------------------------------------ inducing functions */

static const double v0 = 1.7, s0[D] = {0.8, 1.9};

/* 001, eq. 15 with l = s c, times the variance. */
static real generalised(const double *x, const double *cx, const double *z, const double *cz)
{
    real k = v0;
    for (int d = 0; d < D; d++) {
        real l = s0[d] * expl(cx ? cx[d] : 0), m = s0[d] * expl(cz ? cz[d] : 0), u = x[d] - z[d];
        k *= sqrtl(2 * l * m / (l * l + m * m)) * expl(-u * u / (l * l + m * m));
    }
    return k;
}

static void generalised_functions_equal_their_definition_and_the_kernel_at_width_one(void **unused)
{
    (void)unused;
    enum { N = 7, M = 5 };
    double X[N * D], Z[M * D], CX[N * D], CZ[M * D], K[N * M], plain[N * M], F[N * 5], work[400];
    kernel *k = parse_kernel("rbf(variance=1.7,lengthscale=[0.8,1.9])");
    functions f;
    anygp_error e;
    fill_normal(1, N * D, X), fill_normal(2, M * D, Z), fill_normal(3, N * D, CX), fill_normal(4, M * D, CZ);
    assert_int_equal(functions_init(&f, D, &e), ANYGP_OK);
    functions_prepare(&f, k, Z);
    assert_true(f.rbf && functions_work(&f, N, M) <= 400);
    functions_features(&f, N, X, D, F);
    assert_true(kernel_gram(k, N, X, D, M, Z, D, plain, N));
    assert_true(functions_gram(&f, (function_set){M, Z, NULL}, N, X, D, F, work, K));
    for (int i = 0; i < N * M; i++) check_close(K[i], plain[i], 1e-14);
    assert_true(functions_gram(&f, (function_set){M, Z, CZ}, N, X, D, F, work, K));
    for (int i = 0; i < N * M; i++)
        check_close(K[i], (double)generalised(X + i % N * D, NULL, Z + i / N * D, CZ + i / N * D), 1e-13);
    assert_true(functions_pair(&f, (function_set){M, Z, CZ}, (function_set){N, X, CX}, work, K));
    for (int i = 0; i < N * M; i++)
        check_close(K[i], (double)generalised(X + i % N * D, CX + i % N * D, Z + i / N * D, CZ + i / N * D), 1e-13);
    assert_true(functions_pair(&f, (function_set){M, Z, NULL}, (function_set){N, X, CX}, work, K));
    for (int i = 0; i < N * M; i++)
        check_close(K[i], (double)generalised(X + i % N * D, CX + i % N * D, Z + i / N * D, NULL), 1e-13);
    functions_clear(&f);
    kernel_free(k);
}

/* ---------------------------------------------------------------------------------------- the bound */

/* Everything of latent c by explicit inverses, in extended precision. */
typedef struct dense {
    int Mt;
    real K[36], R[36], B[36]; /* of beta and the mean's functions */
    real logdet;              /* log|I + K B| */
} dense;

static real prior_K(const fixture *f, const double *x, const double *cx, const double *z, const double *cz)
{
    if (!f->s.widths) return kernel_reference(f->h.kernel, x, z, false);
    double *p = kernel_values(f->h.kernel);
    real k = p[0];
    for (int d = 0; d < D; d++) {
        real s = p[f->s.f.length[d]], l = s * expl(cx ? cx[d] : 0), m = s * expl(cz ? cz[d] : 0), u = x[d] - z[d];
        k *= sqrtl(2 * l * m / (l * l + m * m)) * expl(-u * u / (l * l + m * m));
    }
    return k;
}

static const double *width_of(const param_segment *g, int64_t m) { return g->rows ? g->values + m * D : NULL; }

static dense *dense_new(const fixture *f, int64_t c)
{
    const svdgp *s = &f->s;
    dense *g = calloc(1, sizeof *g);
    int M = g->Mt = (int)s->Mt, p = (int)s->p;
    assert_true(M <= 6);
    real L[36] = {0};
    for (int i = 0, at = 0; i < M; i++)
        for (int j = 0; j <= i; j++) L[i * M + j] = s->L[c].values[at++] / s->scale;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            for (int k = 0; k < M; k++) g->B[i * M + j] += L[i * M + k] * L[j * M + k];
            g->K[i * M + j] = i == j;
            if (i >= p && j >= p)
                g->K[i * M + j] = prior_K(f, s->beta.values + (i - p) * D, width_of(&s->beta_width, i - p),
                                          s->beta.values + (j - p) * D, width_of(&s->beta_width, j - p));
            else if (i != j)
                g->K[i * M + j] = 0;
        }
    real diagonal = 0;
    for (int i = p; i < M; i++) diagonal += g->K[i * M + i] / (M - p);
    for (int i = p; i < M; i++) g->K[i * M + i] += s->jitter * diagonal;
    real inverse[36], sum[36];
    memcpy(inverse, g->B, sizeof inverse);
    g->logdet = dense_invert(M, inverse);
    for (int i = 0; i < M * M; i++) sum[i] = inverse[i] + g->K[i];
    g->logdet += dense_invert(M, sum);
    memcpy(g->R, sum, sizeof sum);
    return g;
}

/* (sqrt(s) h(x), k(x, beta)) and k(x, x) + s |h|^2 */
static real dense_row(const fixture *f, const double *x, real *k)
{
    const svdgp *s = &f->s;
    double h[4];
    real diag = kernel_reference(f->h.kernel, x, x, false);
    basis_fill(&f->mean, 1, x, D, h, 1, 1);
    for (int j = 0; j < s->p; j++) k[j] = sqrtl(f->mean.B) * h[j], diag += k[j] * k[j];
    for (int j = 0; j < svdgp_Mb(s); j++)
        k[s->p + j] = prior_K(f, x, NULL, s->beta.values + j * D, width_of(&s->beta_width, j));
    return diag;
}

static void dense_marginal(const fixture *f, const dense *g, int64_t c, const double *x, double *mu, double *var)
{
    const svdgp *s = &f->s;
    real k[8], diag = dense_row(f, x, k), m = 0;
    for (int64_t j = 0; j < svdgp_Ma(s); j++)
        m += prior_K(f, x, NULL, s->alpha.values + j * D, width_of(&s->alpha_width, j)) * s->a.values[j * s->C + c] /
             s->scale;
    for (int64_t j = 0; j < s->p; j++) m += k[j] * s->trend.values[j * s->C + c];
    *mu = (double)m, *var = (double)(diag - dense_quadratic(g->Mt, g->R, k, k));
}

/* 001, eq. 9, with the mean's functions. */
static real dense_kl(const fixture *f, const dense *g, int64_t c)
{
    const svdgp *s = &f->s;
    real kl = g->logdet / 2;
    for (int i = 0; i < g->Mt; i++)
        for (int j = 0; j < g->Mt; j++) kl -= g->K[i * g->Mt + j] * g->R[j * g->Mt + i] / 2;
    for (int64_t i = 0; i < s->p; i++) kl += powl(s->trend.values[i * s->C + c], 2) / 2;
    for (int64_t i = 0; i < MA; i++)
        for (int64_t j = 0; j < MA; j++)
            kl += prior_K(f, s->alpha.values + i * D, width_of(&s->alpha_width, i), s->alpha.values + j * D,
                          width_of(&s->alpha_width, j)) *
                  s->a.values[i * s->C + c] * s->a.values[j * s->C + c] / (2 * s->scale * s->scale);
    return kl;
}

static double dense_bound(const fixture *f)
{
    const svdgp *s = &f->s;
    double mu[ROWS * 2], var[ROWS * 2], unused[ROWS * 4], sum = 0, q;
    for (int64_t c = 0; c < s->C; c++) {
        dense *g = dense_new(f, c);
        for (int i = 0; i < ROWS; i++) dense_marginal(f, g, c, f->X + i * D, &mu[i + c * ROWS], &var[i + c * ROWS]);
        sum -= (double)dense_kl(f, g, c);
        free(g);
    }
    if (!svdgp_quadratic(s))
        return sum + pair_expect(s->likelihood, ROWS, f->y, f->w, mu, var, ROWS, (random_stream){0}, 0, unused,
                                 unused + 2 * ROWS, &q);
    for (int64_t c = 0; c < s->C; c++)
        for (int i = 0; i < ROWS; i++) {
            double r = f->y[i * s->C + c] - mu[i + c * ROWS], noise = f->h.like[c];
            sum -= 0.5 * f->w[i] * (log(6.283185307179586477 * noise) + (r * r + var[i + c * ROWS]) / noise);
        }
    return sum;
}

static void bound_equals_the_definition_by_explicit_inverses(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        setup(&f, v, false);
        for (int i = 0; i < 2; i++) {
            f.s.jitter = 0.05 * i;
            double value = objective(&f, 0, NULL, NULL);
            check_close(value, dense_bound(&f), 1e-11);
        }
        teardown(&f);
    }
}

/* 001, section 3.4: with alpha = beta the objective is that of a shared basis (eq. 3, 6) at m = K a, S = K - K R K. */
static void kl_equals_that_of_inducing_variables_when_the_bases_are_shared(void **unused)
{
    (void)unused;
    fixture f;
    real S[9], P[9], m[3] = {0}, kl = -3;
    setup(&f, &variants[0], false);
    svdgp *s = &f.s;
    s->alpha.rows = s->alpha_width.rows = s->a.rows = MB;
    memcpy(s->alpha.values, s->beta.values, MB * D * sizeof(double));
    memcpy(s->alpha_width.values, s->beta_width.values, MB * D * sizeof(double));
    prepare(&f);
    dense *g = dense_new(&f, 0);
    for (int i = 0; i < 9; i++) {
        S[i] = P[i] = g->K[i];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) S[i] -= g->K[i / 3 * 3 + a] * g->R[a * 3 + b] * g->K[b * 3 + i % 3];
        m[i / 3] += g->K[i] * s->coefficient[i % 3];
    }
    real before = dense_invert(3, P), product[9], after;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) kl += P[i * 3 + j] * S[j * 3 + i];
    memcpy(product, S, sizeof S);
    after = dense_invert(3, product);
    kl = (kl + before - after + dense_quadratic(3, P, m, m)) / 2;
    double mean;
    assert_true(svdgp_kl_mean(s, 0, NULL, 1, &mean, NULL, NULL));
    check_close(mean + svdgp_kl_covariance(s), (double)kl, 1e-11);
    free(g);
    teardown(&f);
}

/* ------------------------------------------------------------------------------------- differences */

typedef struct along {
    fixture *f;
    double *x; /* the number that moves */
} along;

static double at(void *ctx, const double *x)
{
    along *a = ctx;
    *a->x = *x;
    return objective(a->f, 0, NULL, NULL);
}

static double difference(fixture *f, double *x)
{
    double here = *x, slope = central_difference(at, &(along){f, x}, &here, 0, 1e-5);
    *x = here;
    return slope;
}

static void check_gradient(fixture *f, int64_t n, double *x, const double *gradient, const char *what)
{
    for (int64_t i = 0; i < n; i++) check_close_at(gradient[i], difference(f, &x[i]), 2e-7, what, __FILE__, __LINE__);
}

/* The sums' gradients are those in a and L themselves: the preconditioner is off. */
static void gradients_equal_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        double *g;
        setup(&f, v, false);
        svdgp *s = &f.s;
        s->precondition = false;
        s->jitter = 0.05; /* so much that it would be seen */
        objective(&f, 0, NULL, &g);
        svdgp_layout o = svdgp_layout_of(s);
        check_gradient(&f, MA * s->C, s->a.values, g + o.a, "a");
        check_gradient(&f, s->p * s->C, s->trend.values, g + o.trend, "trend");
        check_gradient(&f, MA * D, s->alpha.values, g + o.alpha, "alpha");
        check_gradient(&f, MB * D, s->beta.values, g + o.beta, "beta");
        if (s->widths) check_gradient(&f, MA * D, s->alpha_width.values, g + o.alpha_width, "alpha's widths");
        if (s->widths) check_gradient(&f, MB * D, s->beta_width.values, g + o.beta_width, "beta's widths");
        check_gradient(&f, kernel_count(f.h.kernel), kernel_values(f.h.kernel), g + o.kernel, "kernel");
        check_gradient(&f, f.h.likes, f.h.like, g + o.like, "likelihood");
        for (int64_t c = 0; c < s->C; c++)
            for (int64_t i = 0, k = 0; i < s->Mt; i++)
                for (int64_t j = 0; j <= i; j++, k++)
                    check_gradient(&f, 1, s->L[c].values + k, g + o.S + c * s->Mt * s->Mt + i + j * s->Mt, "L");
        free(g);
        teardown(&f);
    }
}

static void preconditioner_has_its_share_of_the_kernels_gradient(void **unused)
{
    (void)unused;
    const struct {
        const char *kernel;
        double scale; /* the functions of the paper's appendix B.1 are those of an rbf over the root of its variance */
    } of[] = {{"rbf(ard,variance=1.4)", sqrt(1.4)}, {"matern32(variance=1.4)", 1.4}};
    for (int i = 0; i < 2; i++) {
        fixture f;
        double *g;
        setup(&f, &(variant){of[i].kernel, MEAN_ZERO, false, 1}, false);
        objective(&f, 0, NULL, &g);
        assert_true(f.s.precondition && f.s.scale == of[i].scale);
        svdgp_pull_scale(&f.s, g);
        check_gradient(&f, kernel_count(f.h.kernel), kernel_values(f.h.kernel), g + svdgp_layout_of(&f.s).kernel,
                       "kernel");
        free(g);
        teardown(&f);
    }
}

/* ------------------------------------------------------------------------------------ expectations */

static void sampled_columns_are_unbiased_over_all_samples(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        double *full, *part, samples = 0;
        setup(&f, v, false);
        objective(&f, 0, NULL, &full);
        svdgp_layout o = svdgp_layout_of(&f.s);
        double *mean = calloc((size_t)o.size, sizeof *mean);
        for (int64_t i = 0; i < MA; i++)
            for (int64_t j = 0; j < i; j++, samples++) {
                objective(&f, 2, (int64_t[]){j, i}, &part);
                for (int64_t k = 0; k < o.size; k++) mean[k] += part[k];
                free(part);
            }
        for (int64_t k = 0; k < o.size; k++) check_close(mean[k] / samples, full[k], 1e-11);
        free(full);
        free(mean);
        teardown(&f);
    }
}

static void sampled_blocks_are_unbiased_over_all_samples(void **unused)
{
    (void)unused;
    for (int newton = 0; newton < 2; newton++) {
        fixture f;
        anygp_error e;
        double Z[2 * D] = {0.1, 0.2, -0.3, 0.4};
        setup(&f, &variants[1], newton);
        if (newton) f.s.block.n = 2, f.s.block.Z = memcpy(malloc(sizeof Z), Z, sizeof Z);
        svdgp_layout o = svdgp_layout_of(&f.s);
        double *full = malloc((size_t)o.size * sizeof *full), *part = malloc((size_t)o.size * sizeof *part);
        double *mean = calloc((size_t)o.size, sizeof *mean);
        assert_int_equal(driver_stat(f.driver, &f.s, 0, NULL, 1, full, &e), ANYGP_OK);
        for (int64_t i = 0; i < BLOCKS; i++)
            for (int64_t j = 0; j < i; j++) {
                int64_t which[] = {i, j};
                assert_int_equal(driver_stat(f.driver, &f.s, 2, which, BLOCKS / 2.0, part, &e), ANYGP_OK);
                for (int64_t k = 0; k < o.size; k++) mean[k] += part[k] / 3;
            }
        for (int64_t k = 0; k < o.size; k++) check_close(mean[k], full[k], 1e-12);
        free(full), free(part), free(mean);
        teardown(&f);
    }
}

/* ----------------------------------------------------------------------------------------- growth */

static void new_bases_leave_the_function_as_it_is(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f;
        anygp_error e;
        setup(&f, v, false);
        int64_t C = f.s.C;
        double before[4 * ROWS], after[4 * ROWS], Z[3 * D];
        double *work = malloc((size_t)svdgp_marginal_work(&f.s, ROWS) * 4 * sizeof *work);
        fill_normal(30, 3 * D, Z);
        assert_true(svdgp_marginal(&f.s, ROWS, f.X, D, work, before, before + C * ROWS));
        assert_int_equal(svdgp_add_alpha(&f.s, 3, Z, &e), ANYGP_OK);
        assert_int_equal(svdgp_add_beta(&f.s, 3, Z, 1e-6, &e), ANYGP_OK);
        prepare(&f);
        assert_true(svdgp_marginal(&f.s, ROWS, f.X, D, work, after, after + C * ROWS));
        for (int64_t i = 0; i < 2 * C * ROWS; i++) check_close(before[i], after[i], 1e-10);
        free(work);
        teardown(&f);
    }
}

/* ------------------------------------------------------------------- what the paper prints, and theorem 1 */

/* 001, proposition 3, in e = sum E[log p] alone, as printed: with widths of 1, h = de/ds and Omega = R K_{beta,x}. */
typedef struct printed {
    double h[ROWS], omega[MB][ROWS], kx[MB][ROWS];
    double square[MB][MB]; /* Omega diag(h) Omega' */
    real K[MB * MB], R[MB * MB];
} printed;

static printed printed_of(const fixture *f)
{
    printed t = {0};
    dense *g = dense_new(f, 0);
    memcpy(t.K, g->K, sizeof t.K), memcpy(t.R, g->R, sizeof t.R);
    for (int i = 0; i < ROWS; i++) {
        real k[8];
        dense_row(f, f->X + i * D, k);
        t.h[i] = -0.5 * f->w[i] / f->h.like[0];
        for (int m = 0; m < MB; m++) {
            t.kx[m][i] = (double)k[m];
            for (int j = 0; j < MB; j++) t.omega[m][i] += (double)(t.R[m * MB + j] * k[j]);
        }
        for (int a = 0; a < MB; a++)
            for (int b = 0; b < MB; b++) t.square[a][b] += t.omega[a][i] * t.h[i] * t.omega[b][i];
    }
    free(g);
    return t;
}

static double *sums_of_rows(fixture *f)
{
    anygp_error e;
    prepare(f);
    double *stat = malloc((size_t)svdgp_layout_of(&f->s).size * sizeof *stat);
    assert_int_equal(driver_stat(f->driver, &f->s, 0, NULL, 1, stat, &e), ANYGP_OK);
    return stat;
}

static double rows_value(void *ctx, const double *x)
{
    along *a = ctx;
    *a->x = *x;
    double *stat = sums_of_rows(a->f), value = stat[0];
    free(stat);
    return value;
}

static void plain_widths(fixture *f)
{
    setup(f, &variants[0], false);
    f->s.precondition = false;
    memset(f->s.alpha_width.values, 0, MA * D * sizeof(double));
    memset(f->s.beta_width.values, 0, MB * D * sizeof(double));
    prepare(f);
}

/* beta: -2 (Omega .* dK_{beta,x}) h + 2 (dK_beta .* Omega diag(h) Omega') 1 */
static void proposition_3_is_right_about_beta(void **unused)
{
    (void)unused;
    fixture f;
    plain_widths(&f);
    printed t = printed_of(&f);
    svdgp *s = &f.s;
    for (int m = 0; m < MB * D; m++) {
        double l = kernel_values(f.h.kernel)[s->f.length[m % D]], sum = 0, x = s->beta.values[m];
        for (int i = 0; i < ROWS; i++)
            sum -= 2 * t.omega[m / D][i] * t.h[i] * t.kx[m / D][i] * (f.X[i * D + m % D] - x) / (l * l);
        for (int j = 0; j < MB; j++)
            sum += 2 * t.square[m / D][j] * (double)t.K[m / D * MB + j] * (s->beta.values[j * D + m % D] - x) / (l * l);
        double here = x, slope = central_difference(rows_value, &(along){&f, &s->beta.values[m]}, &here, 0, 1e-5);
        s->beta.values[m] = x;
        check_close(sum, slope, 1e-7);
    }
    teardown(&f);
}

/* A length-scale s: the printed form lacks 1'(dK_beta/ds .* Omega diag(h) Omega')1, for the widths are s c. */
static void proposition_3_forgets_a_length_scales_share_of_the_bases(void **unused)
{
    (void)unused;
    fixture f;
    plain_widths(&f);
    printed t = printed_of(&f);
    svdgp *s = &f.s;
    double *stat = sums_of_rows(&f);
    for (int d = 0; d < D; d++) {
        double *l = &kernel_values(f.h.kernel)[s->f.length[d]], here = *l, missing = 0;
        for (int k = 0; k < MB * MB; k++)
            missing += t.square[k / MB][k % MB] * (double)t.K[k] *
                       pow(s->beta.values[k / MB * D + d] - s->beta.values[k % MB * D + d], 2) / pow(here, 3);
        double slope = central_difference(rows_value, &(along){&f, l}, &here, 0, 1e-5);
        *l = here;
        check_close(stat[svdgp_layout_of(s).kernel + s->f.length[d]] + missing, slope, 1e-7);
        assert_true(fabs(missing) > 1e-3);
    }
    free(stat);
    teardown(&f);
}

/* q and p as Gaussians over the weights of a linear kernel, k(x, z) = v x'z. */
typedef struct weights {
    real mean[D], precision[D * D];
} weights;

static weights weights_of(const svdgp *s, double v)
{
    weights w = {{0}, {1, 0, 0, 1}};
    int M = (int)svdgp_Mb(s);
    for (int64_t m = 0; m < svdgp_Ma(s); m++)
        for (int d = 0; d < D; d++) w.mean[d] += sqrt(v) * s->alpha.values[m * D + d] * s->coefficient[m];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            real B = 0;
            for (int k = 0; k < M; k++) B += s->factor[0][i + k * M] * s->factor[0][j + k * M];
            for (int d = 0; d < D * D; d++)
                w.precision[d] += v * s->beta.values[i * D + d / D] * B * s->beta.values[j * D + d % D];
        }
    return w;
}

static real weights_kl(const weights *q, const weights *p)
{
    real cov[D * D], old[D * D], kl = -D, u[D];
    memcpy(cov, q->precision, sizeof cov), memcpy(old, p->precision, sizeof old);
    kl += dense_invert(D, cov) - dense_invert(D, old);
    for (int i = 0; i < D; i++) {
        u[i] = q->mean[i] - p->mean[i];
        for (int j = 0; j < D; j++) kl += p->precision[i * D + j] * cov[j * D + i];
    }
    return (kl + dense_quadratic(D, p->precision, u, u)) / 2;
}

static void theorem_1_equals_the_kl_of_dense_gaussians(void **unused)
{
    (void)unused;
    fixture f, g;
    const variant linear = {"linear(variance=0.7)", MEAN_ZERO, false, 1};
    setup(&f, &linear, false), setup(&g, &linear, false);
    scatter(&g.s.a, 40, 0.4), scatter(&g.s.alpha, 41, 1), scatter(&g.s.beta, 42, 1), scatter(&g.s.L[0], 43, 0.6);
    g.s.beta.rows = 2, g.s.L[0].rows = 3;
    prepare(&g);
    double v = kernel_values(f.h.kernel)[0];
    weights q = weights_of(&f.s, v), p = weights_of(&g.s, v);
    check_close(svdgp_kl(&f.s, &g.s, 0), (double)weights_kl(&q, &p), 1e-11);
    check_close(svdgp_kl(&g.s, &f.s, 0), (double)weights_kl(&p, &q), 1e-11);
    teardown(&f), teardown(&g);
}

static void theorem_1_is_zero_at_itself_and_equation_9_at_the_prior(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        fixture f, prior;
        double mean;
        setup(&f, v, false), setup(&prior, v, false);
        for (int64_t c = 0; c < f.s.C; c++) {
            scatter(&prior.s.L[c], 9, 0);
            check_close(svdgp_kl(&f.s, &f.s, c), 0, 1e-11);
        }
        scatter(&prior.s.a, 9, 0), scatter(&prior.s.trend, 9, 0);
        prepare(&prior);
        double sum = 0;
        for (int64_t c = 0; c < f.s.C; c++) sum += svdgp_kl(&f.s, &prior.s, c);
        assert_true(svdgp_kl_mean(&f.s, 0, NULL, 1, &mean, NULL, NULL));
        check_close(sum, mean + svdgp_kl_covariance(&f.s), 1e-11);
        teardown(&f), teardown(&prior);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generalised_functions_equal_their_definition_and_the_kernel_at_width_one),
        cmocka_unit_test(bound_equals_the_definition_by_explicit_inverses),
        cmocka_unit_test(kl_equals_that_of_inducing_variables_when_the_bases_are_shared),
        cmocka_unit_test(gradients_equal_central_differences),
        cmocka_unit_test(preconditioner_has_its_share_of_the_kernels_gradient),
        cmocka_unit_test(sampled_columns_are_unbiased_over_all_samples),
        cmocka_unit_test(sampled_blocks_are_unbiased_over_all_samples),
        cmocka_unit_test(new_bases_leave_the_function_as_it_is),
        cmocka_unit_test(proposition_3_is_right_about_beta),
        cmocka_unit_test(proposition_3_forgets_a_length_scales_share_of_the_bases),
        cmocka_unit_test(theorem_1_equals_the_kl_of_dense_gaussians),
        cmocka_unit_test(theorem_1_is_zero_at_itself_and_equation_9_at_the_prior),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
