/* Quadruply stochastic Gaussian processes (model/weights): every estimate averaged over every choice of rows and cells equals the bound
   written with full matrices, in value and gradient; control variates; theorem 3; exact posteriors in the limits. */
#include "qsgp_stage.h"

/* ------------------------------------------------------------------------------------- every choice of sample */

static void estimates_average_to_the_bound_and_its_gradient(void **unused)
{
    (void)unused;
    stage g;
    double d[FUNCTIONS], slope[FUNCTIONS * V_MOST] = {0}, mean = 0, without = 0, count = 0;
    set_stage(&g, "qsgp(batch=2,dense=2,control=5)", FUNCTIONS, NULL);
    qsgp *q = &g.q->q;
    assert_int_equal(q->cells.count, 3);
    assert_int_equal(q->per, 1);
    scatter(q);
    control_of(&g, q->a);
    for (int64_t j = 0; j < FUNCTIONS; j++) d[j] = diagonal(&g, j);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            for (int64_t block = 0; block < BLOCKS; block++, count++) {
                mean += estimate(&g, i, j, block, true, slope, NULL);
                without += estimate(&g, i, j, block, false, NULL, NULL);
            }
    check_close(mean / count, bound_by_matrices(&g, d), 1e-11);
    check_close(without / count, bound_by_matrices(&g, d), 1e-11);
    for (int64_t i = 0; i < FUNCTIONS * q->V; i++) {
        double v = q->v[i], up;
        if (v == 0) continue; /* above the diagonal */
        q->v[i] = v + 1e-5, up = bound_by_matrices(&g, d);
        q->v[i] = v - 1e-5;
        check_close(slope[i] / count, (up - bound_by_matrices(&g, d)) / 2e-5, 1e-6);
        q->v[i] = v;
    }
    clear_stage(&g);
}

static void diagonal_columns_are_at_their_optimum(void **unused)
{
    (void)unused;
    stage g;
    double d[FUNCTIONS], Phi[ROWS * FUNCTIONS];
    set_stage(&g, "qsgp(dense=2)", FUNCTIONS, NULL);
    for (int t = 0; t < 3; t++) scene_step(&g.s, t, 0.5, 1e-3, false); /* all rows: their means are exact */
    features(&g, ROWS, g.s.X, Phi);
    for (int64_t j = 0; j < FUNCTIONS; j++) {
        double squares = 0;
        d[j] = diagonal(&g, j);
        for (int i = 0; i < ROWS; i++) squares += g.s.w[i] * pow(Phi[i + j * ROWS], 2);
        if (j >= 2) check_close(d[j], 1 / (1 + squares / g.s.h.like[0]), 1e-12); /* proposition 1 */
    }
    double best = bound_by_matrices(&g, d);
    for (int64_t j = 2; j < FUNCTIONS; j++)
        for (double factor = 0.9; factor < 1.2; factor += 0.2) {
            double kept = d[j];
            d[j] *= factor;
            assert_true(bound_by_matrices(&g, d) < best);
            d[j] = kept;
        }
    clear_stage(&g);
}

static void control_rows_follow_the_weights(void **unused)
{
    (void)unused;
    stage g;
    double a[7 * 2];
    set_stage(&g, "qsgp(batch=4,dense=1,control=7,steps=plain)", 2 * FUNCTIONS, NULL);
    qsgp *q = &g.q->q;
    assert_true(q->P == 7 && q->per < q->cells.count);
    for (int t = 0; t < 30; t++) scene_step(&g.s, t, 0.5, 0.3, false);
    control_of(&g, a);
    for (int64_t i = 0; i < q->P * q->V; i++) check_close(q->a[i], a[i], 1e-12);
    assert_true(la_norm(q->P, a) > 0.1);
    clear_stage(&g);
}

/* |sum_p w_p phi_p phi_p' - mean of phi phi'|^2 in expectation over features, but for a constant: w'(K_pp o K_pp)w - 2 w'z. */
static double distance_of_control(const stage *g, const double *w)
{
    const qsgp *q = &g->q->q;
    double sum = 0, total = 0;
    for (int i = 0; i < ROWS; i++) total += g->s.w[i];
    for (int64_t p = 0; p < q->P; p++) {
        double k;
        for (int64_t r = 0; r < q->P; r++) {
            assert_true(kernel_gram(g->s.h.kernel, 1, q->Xp + p * D, D, 1, q->Xp + r * D, D, &k, 1));
            sum += w[p] * w[r] * k * k;
        }
        for (int i = 0; i < ROWS; i++) {
            assert_true(kernel_gram(g->s.h.kernel, 1, q->Xp + p * D, D, 1, g->s.X + i * D, D, &k, 1));
            sum -= 2 * w[p] * g->s.w[i] / total * k * k;
        }
    }
    return sum;
}

static void weights_of_control_rows_are_the_best(void **unused)
{
    (void)unused;
    enum { P = 7 };
    stage g;
    double w[P], least;
    set_stage(&g, "qsgp(batch=4,control=7)", 2 * FUNCTIONS, NULL);
    const qsgp *q = &g.q->q;
    least = distance_of_control(&g, q->wp);
    for (int p = 0; p < P; p++) w[p] = 1.0 / P;
    assert_true(distance_of_control(&g, w) > least + 1e-4);
    for (int p = 0; p < P; p++)
        for (int sign = -1; sign <= 1; sign += 2) {
            memcpy(w, q->wp, sizeof w);
            w[p] += 1e-3 * sign;
            assert_true(distance_of_control(&g, w) > least);
        }
    clear_stage(&g);
}

/* ---------------------------------------------------------------------------------- gradients of one estimate */

static void check_gradient_of_estimate(const char *expression, const char *like)
{
    stage g;
    double gp[SIZE_MOST] = {0}, slope[FUNCTIONS * V_MOST] = {0};
    set_stage(&g, expression, FUNCTIONS, like);
    qsgp *q = &g.q->q;
    scatter(q);
    bool one = !q->gaussian; /* other likelihoods have one sample, which is i and j */
    estimate(&g, 1, one ? 1 : 2, 2, false, slope, gp);
    for (int64_t i = 0; i < g.s.h.count; i++) {
        double x = hyper_get(&g.s.h, i), d[2];
        for (int k = 0; k < 2; k++) { /* at the c_rr of x, which have no slope only where they are the optimum */
            double before[FUNCTIONS];
            for (int64_t j = 0; j < FUNCTIONS; j++) before[j] = diagonal(&g, j);
            hyper_set(&g.s.h, i, x * (k ? 1 - 1e-5 : 1 + 1e-5));
            qsgp_take_values(q, &g.s.h);
            double kept[FUNCTIONS];
            memcpy(kept, q->square, sizeof kept);
            for (int64_t j = q->K; j < FUNCTIONS; j++) q->square[j] *= (1 / before[j] - 1) / (1 / diagonal(&g, j) - 1);
            d[k] = estimate(&g, 1, one ? 1 : 2, 2, false, NULL, NULL);
            memcpy(q->square, kept, sizeof kept);
            hyper_set(&g.s.h, i, x);
            qsgp_take_values(q, &g.s.h);
        }
        check_close(gp[i], (d[0] - d[1]) / (2e-5 * x), 1e-5);
    }
    for (int64_t i = 0; one && i < FUNCTIONS; i++) {
        double v = q->v[i], up;
        q->v[i] = v + 1e-5, up = estimate(&g, 1, 1, 2, false, NULL, NULL);
        q->v[i] = v - 1e-5;
        check_close(slope[i], (up - estimate(&g, 1, 1, 2, false, NULL, NULL)) / 2e-5, 1e-6);
        q->v[i] = v;
    }
    clear_stage(&g);
}

static void gradients_in_kernel_and_noise_are_differences_of_the_estimate(void **unused)
{
    (void)unused;
    check_gradient_of_estimate("qsgp(batch=2,dense=2)", NULL);
    check_gradient_of_estimate("qsgp(batch=2)", "bernoulli");
    check_gradient_of_estimate("qsgp(batch=2)", "laplace");
}

/* ---------------------------------------------------------------------------------------------- theorem 3 */

/* Where variances are 0, as theorem 3 takes them to be given. */
static void samples_of_functions_bound_a_log_concave_likelihood_from_below(void **unused)
{
    (void)unused;
    static const char *const likes[] = {"bernoulli", "bernoulli(probit)", "laplace"};
    for (size_t k = 0; k < sizeof likes / sizeof *likes; k++) {
        stage g;
        double mean = 0, exact = 0, kl = 0;
        anygp_error e;
        set_stage(&g, "qsgp(batch=2)", FUNCTIONS, likes[k]);
        qsgp *q = &g.q->q;
        scatter(q);
        for (int64_t j = 0; j < FUNCTIONS; j++) q->square[j] = 1e12;
        for (int64_t i = 0; i < 3; i++)
            for (int64_t block = 0; block < BLOCKS; block++) mean += estimate(&g, i, i, block, false, NULL, NULL) / 12;
        int64_t all[3] = {0, 1, 2};
        uint8_t in[3] = {3, 3, 3};
        for (int64_t block = 0; block < BLOCKS; block++) {
            assert_int_equal(qsgp_sample_given(q, 3, all, in, 1, &g.q->sample, &e), 0);
            assert_int_equal(qsgp_sample_rows(q, g.s.blocks, 1, &block, BLOCKS, false, &g.q->sample, &e), 0);
            assert_int_equal(qsgp_run_pass(&g.q->pass, NULL, NULL, false, &g.s.h, NULL, &e), 0);
            exact += g.q->pass.value / BLOCKS;
        }
        /* the same by hand, without quadrature */
        double Phi[ROWS * FUNCTIONS], by_hand = 0;
        features(&g, ROWS, g.s.X, Phi);
        for (int i = 0; i < ROWS; i++) {
            double f = 0;
            for (int j = 0; j < FUNCTIONS; j++) f += Phi[i + j * ROWS] * q->v[j];
            by_hand += g.s.w[i] * q->like->ops->density(q->like, &g.s.y[i], &f);
        }
        for (int64_t j = 0; j < FUNCTIONS; j++)
            kl += 0.5 * (diagonal(&g, j) - 1 - log(diagonal(&g, j)) + q->v[j] * q->v[j]);
        check_close(exact, by_hand - kl, 1e-6);
        assert_true(mean < exact - 1);
        clear_stage(&g);
    }
}

/* ------------------------------------------------------------------------------------------------- limits */

/* (Phi'W Phi / s + I)^-1, and its product with Phi'W y / s. */
static void exact_posterior(const stage *g, double *mean, double *covariance)
{
    double Phi[ROWS * FUNCTIONS], A[FUNCTIONS * FUNCTIONS], b[FUNCTIONS], s = g->s.h.like[0];
    int64_t m = FUNCTIONS;
    features(g, ROWS, g->s.X, Phi);
    for (int64_t i = 0; i < m; i++) {
        b[i] = 0;
        for (int64_t l = 0; l < ROWS; l++) b[i] += g->s.w[l] * Phi[l + i * ROWS] * g->s.y[l] / s;
        for (int64_t j = 0; j < m; j++) {
            A[i + j * m] = i == j;
            for (int64_t l = 0; l < ROWS; l++) A[i + j * m] += g->s.w[l] * Phi[l + i * ROWS] * Phi[l + j * ROWS] / s;
        }
    }
    assert_true(la_factor(m, A, m));
    assert_int_equal(la_potri(m, A, m), 0);
    la_mirror(m, A, m);
    memcpy(covariance, A, sizeof A);
    la_gemv(LA_N, m, m, 1, A, m, b, 0, mean);
}

static void dense_columns_reach_the_exact_posterior(void **unused)
{
    (void)unused;
    stage g;
    double mean[FUNCTIONS], covariance[FUNCTIONS * FUNCTIONS];
    set_stage(&g, "qsgp(dense=6,steps=plain)", FUNCTIONS, NULL);
    hyper_set(&g.s.h, hyper_kernel_params(&g.s.h), 2);
    const qsgp *q = &g.q->q;
    for (int t = 0; t < 3000; t++) scene_step(&g.s, t, 0.5, 0.9, false);
    exact_posterior(&g, mean, covariance);
    for (int64_t i = 0; i < FUNCTIONS; i++) {
        check_close(q->v[i * q->V], mean[i], 1e-8);
        for (int64_t j = 0; j < FUNCTIONS; j++) {
            double sum = 0;
            for (int64_t r = 0; r < q->K; r++) sum += q->v[i * q->V + 1 + r] * q->v[j * q->V + 1 + r];
            assert_true(fabs(sum - covariance[i + j * FUNCTIONS]) < 1e-8);
        }
    }
    clear_stage(&g);
}

static void blocks_of_rows_reach_the_exact_mean(void **unused)
{
    (void)unused;
    stage g;
    double mean[FUNCTIONS], covariance[FUNCTIONS * FUNCTIONS], value;
    anygp_error e;
    set_stage(&g, "qsgp()", FUNCTIONS, NULL);
    assert_non_null(g.q->alpha);
    hyper_set(&g.s.h, hyper_kernel_params(&g.s.h), 0.5);
    for (int64_t t = 0; t < 6000; t++) {
        int64_t block = t % BLOCKS;
        step_context c = {.seed = 5, .t = t, .steps = 6000, .count = 1, .which = &block, .scale = BLOCKS};
        assert_int_equal(g.made->steps->step(g.s.state, &g.s.h, &c, &value, &e), ANYGP_OK);
    }
    exact_posterior(&g, mean, covariance);
    for (int64_t i = 0; i < FUNCTIONS; i++) check_close(g.q->q.v[i], mean[i], 1e-6);
    /* At another kernel mu is made again of the rows' coefficients. */
    double Phi[ROWS * FUNCTIONS];
    hyper_set(&g.s.h, 1, 1.7 * hyper_get(&g.s.h, 1));
    assert_int_equal(qsgp_block_renew(g.q, &g.s.h, &e), ANYGP_OK);
    features(&g, ROWS, g.s.X, Phi);
    for (int64_t j = 0; j < FUNCTIONS; j++) {
        double sum = 0;
        for (int64_t b = 0, l = 0; b < BLOCKS; b++) {
            block_buffer buffer = {0};
            row_block r;
            assert_int_equal(blocks_get(g.s.blocks, b, &buffer, &r, &e), ANYGP_OK);
            for (int64_t i = 0; i < r.n; i++, l++) sum += Phi[l + j * ROWS] * g.q->alpha[b * g.s.blocks->largest + i];
            block_buffer_clear(&buffer);
        }
        check_close(g.q->q.v[j], sum, 1e-10);
    }
    clear_stage(&g);
}

/* At the optimum Phi'g'(f) = mu, f = Phi mu, with the slopes g' of the expected log likelihood under q's variances, which are held. */
static void blocks_of_rows_reach_the_optimum_of_other_likelihoods(void **unused)
{
    (void)unused;
    static const char *const model[] = {"qsgp()", "qsgp(basis=hadamard)"}, *const like[] = {"bernoulli", "laplace"};
    for (int k = 0; k < 3; k++) { /* with six waves instead of a kernel, steps for laplace are short */
        stage g;
        anygp_error e;
        double Phi[ROWS * FUNCTIONS], f[ROWS], S[ROWS] = {0}, slope[ROWS], curve[ROWS], unused_slope[LIKELIHOOD_PARAMS],
                                               value;
        set_stage(&g, model[k % 2], FUNCTIONS, like[k / 2]);
        assert_non_null(g.q->alpha);
        const qsgp *q = &g.q->q;
        for (int64_t t = 0; t < (k < 2 ? 3000 : 8000); t++) {
            int64_t block = t % BLOCKS;
            step_context c = {
                .seed = 5, .t = t, .steps = 3000, .count = 1, .which = &block, .scale = BLOCKS, .rate = 1};
            assert_int_equal(g.made->steps->step(g.s.state, &g.s.h, &c, &value, &e), ANYGP_OK);
            for (int64_t j = 0; j < FUNCTIONS; j++) q->square[j] = 0.3;
        }
        features(&g, ROWS, g.s.X, Phi);
        la_gemv(LA_N, ROWS, FUNCTIONS, 1, Phi, ROWS, q->v, 0, f);
        for (int64_t j = 0; j < FUNCTIONS; j++)
            for (int i = 0; i < ROWS; i++) S[i] += diagonal(&g, j) * Phi[i + j * ROWS] * Phi[i + j * ROWS];
        const likelihood *l = &q->like[0];
        l->ops->expect(l, ROWS, g.s.y, g.s.w, f, S, ROWS, (random_stream){0}, 0, slope, curve, unused_slope);
        for (int64_t j = 0; j < FUNCTIONS; j++) check_close(q->v[j], la_dot(ROWS, Phi + j * ROWS, slope), 1e-6);
        clear_stage(&g);
    }
}

/* -------------------------------------------------------------------------------- Nystrom's control variate */

/* Mean, variance of the value, and mean squared length of the gradient of mu over every choice of cells, for one block of rows. */
typedef struct spread {
    double mean, variance, gradient, slope[ROWS];
} spread;

static spread over_every_choice(stage *g)
{
    spread s = {0};
    int64_t all = g->q->q.cells.count, m = g->q->q.cells.m;
    double count = (double)(all * all), squares = 0, lengths = 0, one[ROWS];
    for (int64_t i = 0; i < all; i++)
        for (int64_t j = 0; j < all; j++) {
            memset(one, 0, sizeof one);
            double value = estimate(g, i, j, 1, true, one, NULL);
            s.mean += value / count, squares += value * value / count;
            for (int64_t k = 0; k < m; k++) s.slope[k] += one[k] / count;
            lengths += la_dot(m, one, one) / count;
        }
    s.variance = squares - s.mean * s.mean;
    s.gradient = lengths - la_dot(m, s.slope, s.slope);
    return s;
}

static void nystroms_control_variate_changes_no_expectation_and_lowers_the_variance(void **unused)
{
    (void)unused;
    enum { PLACES = 32 };
    stage g;
    double v[PLACES];
    set_stage(&g, "qsgp(batch=4,control=20,basis=kernel,steps=plain)", PLACES, NULL);
    hyper_set(&g.s.h, hyper_kernel_params(&g.s.h), 50); /* so that the prior's term counts */
    qsgp *q = &g.q->q;
    assert_true(q->per < q->cells.count && q->Lpp && q->P == 20);
    fill_normal(77, PLACES, v);
    memcpy(q->v, v, sizeof v);
    control_of(&g, q->a);
    spread with = over_every_choice(&g);
    double *kept = q->Lpp;
    q->Lpp = NULL;
    spread without = over_every_choice(&g);
    q->Lpp = kept;
    check_close(with.mean, without.mean, 1e-10);
    for (int64_t k = 0; k < PLACES; k++)
        assert_true(fabs(with.slope[k] - without.slope[k]) < 1e-9 * (1 + fabs(without.slope[k])));
    if (!(with.variance < 0.5 * without.variance && with.gradient < 0.5 * without.gradient))
        fail_msg("variance of the value %g, without %g; of the gradient %g, without %g", with.variance,
                 without.variance, with.gradient, without.gradient);
    clear_stage(&g);
}

/* ----------------------------------------------------------------------------------------- kernels at rows */

/* The exact GP's mean at new rows, with noise s / w. */
static void exact_mean(const stage *g, int64_t n, const double *X, double *mean)
{
    double K[ROWS * ROWS], C[NEW * ROWS], a[ROWS], s = g->s.h.like[0];
    assert_true(kernel_gram(g->s.h.kernel, ROWS, g->s.X, D, ROWS, g->s.X, D, K, ROWS));
    assert_true(kernel_gram(g->s.h.kernel, n, X, D, ROWS, g->s.X, D, C, n));
    for (int i = 0; i < ROWS; i++) K[i + i * ROWS] += s / g->s.w[i];
    memcpy(a, g->s.y, sizeof a);
    assert_true(la_factor(ROWS, K, ROWS));
    la_trsv(LA_N, ROWS, K, ROWS, a);
    la_trsv(LA_T, ROWS, K, ROWS, a);
    la_gemv(LA_N, n, ROWS, 1, C, n, a, 0, mean);
}

static void predict_at(stage *g, double *X, double *mean, double *variance)
{
    posterior *p = NULL;
    double jitter;
    anygp_error e;
    assert_int_equal(g->made->steps->posteriors(g->s.state, &g->s.h, &jitter, &p, &e), ANYGP_OK);
    assert_int_equal(p->ops->marginal(p, NEW, X, D, NULL, mean, variance, &e), ANYGP_OK);
    posteriors_free(1, &p);
}

static void check_kernel_basis(const char *expression, double noise, int steps, double rate, double tolerance)
{
    stage g;
    double X[NEW * D], mean[NEW], variance[NEW], exact[NEW];
    set_stage(&g, expression, ROWS, NULL);
    hyper_set(&g.s.h, hyper_kernel_params(&g.s.h), noise);
    for (int t = 0; t < steps; t++) {
        double value;
        int64_t block = t % BLOCKS;
        step_context c = {
            .seed = 5, .t = t, .steps = steps, .count = 1, .which = &block, .scale = BLOCKS, .rate = rate};
        anygp_error e;
        if (rate > 0) c.which = NULL, c.count = BLOCKS, c.scale = 1;
        assert_int_equal(g.made->steps->step(g.s.state, &g.s.h, &c, &value, &e), ANYGP_OK);
    }
    fill_normal(75, NEW * D, X);
    X[0] = 60; /* far away */
    predict_at(&g, X, mean, variance);
    exact_mean(&g, NEW, X, exact);
    for (int i = 0; i < NEW; i++)
        if (!(fabs(mean[i] - exact[i]) < tolerance)) fail_msg("%s: %g instead of %g", expression, mean[i], exact[i]);
    double k, noise_k = hyper_get(&g.s.h, hyper_kernel_params(&g.s.h));
    kernel_diag(g.s.h.kernel, 1, X, D, &k);
    check_close(variance[0], k, 1e-12); /* proposition 4: the prior's */
    for (int i = 0; i < NEW; i++) {
        double c[ROWS], squares = 0, plain = 0;
        assert_true(kernel_gram(g.s.h.kernel, 1, X + i * D, D, ROWS, g.q->q.Z, D, c, 1));
        for (int64_t j = 0; j < ROWS; j++) squares += c[j] * c[j], plain += c[j] * c[j] * diagonal(&g, j);
        check_close(variance[i], plain + noise_k * k * k / (squares + noise_k * k), 1e-10);
        assert_true(variance[i] >= plain);
    }
    clear_stage(&g);
}

static void kernels_at_all_rows_have_the_exact_mean_and_the_prior_variance_far_away(void **unused)
{
    (void)unused;
    check_kernel_basis("qsgp(basis=kernel)", 0.07, 400, 0, 1e-6);
    check_kernel_basis("qsgp(basis=kernel,steps=plain)", 2, 3000, 0.9,
                       0.05); /* of values near 0.5: gradients are slow here */
}

/* --------------------------------------------------------------------------------------------------- cells */

static void features_are_made_again_with_the_same_bits(void **unused)
{
    (void)unused;
    enum { MANY = 400, N = 9 };
    stage g;
    double X[N * D], XT[N * D], T[3][N * CELL_WIDTH];
    anygp_error e;
    set_stage(&g, "qsgp()", MANY, NULL);
    assert_int_equal(g.q->q.cells.width, 24);
    const cells *c = &g.q->q.cells;
    fill_normal(73, N * D, X);
    for (int i = 0; i < N; i++)
        for (int d = 0; d < D; d++) XT[i + d * N] = X[i * D + d];
    cell_rows r = {N, D, X, XT, N};
    cells_hand h[2];
    int64_t list[] = {7, 2, 5, 11}, alone = 5;
    for (int k = 0; k < 2; k++) assert_int_equal(cells_hand_open(&h[k], c, g.s.h.kernel, &e), ANYGP_OK);
    assert_int_equal(cells_hand_take(&h[0], 4, list, &e), ANYGP_OK);
    assert_true(cells_fill(&h[0], 2, &r, T[0], N));
    assert_int_equal(cells_hand_take(&h[1], 1, &alone, &e), ANYGP_OK);
    assert_true(cells_fill(&h[1], 0, &r, T[1], N));
    assert_memory_equal(T[0], T[1], (size_t)(N * c->width) * sizeof(double));
    for (int64_t k = 0, waves = c->width / 2; k < waves; k++) /* by their definition */
        for (int i = 0; i < N; i++) {
            double turn = la_dot(D, h[1].waves.W + k * D, X + i * D), a = h[1].waves.amplitude[k];
            assert_true(fabs(T[1][i + k * N] - a * cos(turn)) < 1e-14);
            assert_true(fabs(T[1][i + (waves + k) * N] - a * sin(turn)) < 1e-14);
        }
    for (int k = 0; k < 2; k++) cells_hand_clear(&h[k]);
    clear_stage(&g);
}

/* Root mean squared error of phi'phi against the kernel. */
static double kernel_error(int64_t m, const char *select)
{
    enum { N = 12 };
    stage g;
    double X[N * D], K[N * N], *Phi = calloc((size_t)(N * m), sizeof *Phi), sum = 0;
    set_stage(&g, strcmp(select, "hadamard") ? "qsgp()" : "qsgp(basis=hadamard)", m, NULL);
    g.q->q.cells.orthogonal = !strcmp(select, "orthogonal");
    fill_normal(74, N * D, X);
    features(&g, N, X, Phi);
    assert_true(kernel_gram(g.s.h.kernel, N, X, D, N, X, D, K, N));
    la_gemm(LA_N, LA_T, N, N, m, 1, Phi, N, Phi, N, -1, K, N);
    for (int i = 0; i < N * N; i++) sum += K[i] * K[i] / (N * N);
    free(Phi);
    clear_stage(&g);
    return sqrt(sum);
}

static void the_expansion_converges_to_the_kernel_at_the_monte_carlo_rate(void **unused)
{
    (void)unused;
    static const char *const how[] = {"random", "orthogonal", "hadamard"};
    for (int k = 0; k < 3; k++) {
        double few = 0, many = 0;
        for (int64_t i = 0; i < 8; i++)
            few += kernel_error(100 + 2 * i, how[k]) / 8; /* other cells, other waves of the last */
        many = kernel_error(20000, how[k]);
        assert_true(many < few / 5 && many > few / 60);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_average_to_the_bound_and_its_gradient),
        cmocka_unit_test(diagonal_columns_are_at_their_optimum),
        cmocka_unit_test(control_rows_follow_the_weights),
        cmocka_unit_test(weights_of_control_rows_are_the_best),
        cmocka_unit_test(gradients_in_kernel_and_noise_are_differences_of_the_estimate),
        cmocka_unit_test(samples_of_functions_bound_a_log_concave_likelihood_from_below),
        cmocka_unit_test(dense_columns_reach_the_exact_posterior),
        cmocka_unit_test(blocks_of_rows_reach_the_exact_mean),
        cmocka_unit_test(blocks_of_rows_reach_the_optimum_of_other_likelihoods),
        cmocka_unit_test(kernels_at_all_rows_have_the_exact_mean_and_the_prior_variance_far_away),
        cmocka_unit_test(nystroms_control_variate_changes_no_expectation_and_lowers_the_variance),
        cmocka_unit_test(features_are_made_again_with_the_same_bits),
        cmocka_unit_test(the_expansion_converges_to_the_kernel_at_the_monte_carlo_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
