/* The steps of q(v) against the formulas of natural_support.h. */
#include "natural_support.h"

#include "run/plan.h"

/* ------------------------------------------------------------------------------- natural gradient */

static void full_natural_step_of_one_is_the_optimum(void **state)
{
    (void)state;
    const int sizes[] = {1, 2, 5, 33, M_MOST};
    const double priors[] = {1, 0.7};
    static problem p;
    double S[SQUARE], b[M_MOST];
    gauss q;
    for (int k = 0; k < 5; k++)
        for (int l = 0; l < 2; l++) {
            make_problem(&p, sizes[k], 5);
            start(&p, &q);
            gather_all(&p, S, b);
            assert_true(natural_step(&q, 1, priors[l], S, b));
            check_optimum(&q, priors[l], S, b, 1e-11);
            check_consistent(&q, 1e-11);
            gauss_clear(&q);
        }
}

static void natural_step_is_a_mixture_of_natural_parameters(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], Lambda[SQUARE], theta1[M_MOST];
    gauss q;
    make_problem(&p, 5, 4);
    start(&p, &q);
    gather_all(&p, S, b);
    memcpy(Lambda, q.Lambda, 25 * sizeof *Lambda);
    memcpy(theta1, q.theta, 5 * sizeof *theta1);
    assert_true(natural_step(&q, 0.3, 1.2, S, b));
    check_consistent(&q, 1e-12);
    for (int i = 0; i < 5; i++) {
        check_close(q.theta[i], 0.7 * theta1[i] + 0.3 * b[i], 1e-14);
        for (int j = 0; j <= i; j++)
            check_close(q.Lambda[i + j * 5], 0.7 * Lambda[i + j * 5] + 0.3 * ((i == j) * 1.2 + S[i + j * 5]), 1e-14);
    }
    gauss_clear(&q);
}

/* ------------------------------------------------------------------------------------ expectations */

/* Sums over samples of what a step from the same start arrives at. */
typedef struct average {
    const problem *p;
    bool plain;
    int samples;
    real theta1[M_MOST], Lambda[SQUARE]; /* natural */
    moments u;                           /* plain */
} average;

static void add_step(average *a, double c, int count, const int *block)
{
    enum { PLAIN_PERCENT = 1, NATURAL_PERCENT = 35 };
    const problem *p = a->p;
    int M = p->M;
    double S[SQUARE], b[M_MOST], rho = (a->plain ? PLAIN_PERCENT : NATURAL_PERCENT) / 100.0, taken = rho;
    gauss q;
    moments u;
    start(p, &q);
    gather(p, c, count, block, S, b);
    assert_true(a->plain ? plain_step(&q, rho, 1, p->L, LDL, S, b, &taken) : natural_step(&q, rho, 1, S, b));
    assert_true(taken == rho);
    moments_of(p, &q, &u);
    for (int i = 0; i < M; i++) a->theta1[i] += q.theta[i], a->u.mu[i] += u.mu[i];
    for (int k = 0; k < M * M; k++) a->Lambda[k] += q.Lambda[k], a->u.Sigma[k] += u.Sigma[k];
    a->samples++;
    gauss_clear(&q);
}

/* Every ordered tuple of `size` blocks. */
static void add_tuples(average *a, int size)
{
    int block[P_MOST], P = a->p->P, tuples = 1;
    for (int i = 0; i < size; i++) tuples *= P;
    for (int k = 0; k < tuples; k++) {
        for (int i = 0, rest = k; i < size; i++, rest /= P) block[i] = rest % P;
        add_step(a, (double)P / size, size, block);
    }
}

/* Every set of `size` blocks. */
static void add_sets(average *a, int size)
{
    int block[P_MOST], P = a->p->P;
    for (int set = 0; set < 1 << P; set++) {
        int count = 0;
        for (int i = 0; i < P; i++)
            if (set >> i & 1) block[count++] = i;
        if (count == size) add_step(a, (double)P / size, size, block);
    }
}

static void check_average(const average *a, const average *full)
{
    int M = a->p->M;
    double n = a->samples;
    assert_true(a->samples > 1 || a->p->P == 1);
    for (int i = 0; i < M; i++) {
        if (a->plain)
            check_close((double)a->u.mu[i] / n, (double)full->u.mu[i], 1e-12);
        else
            check_close((double)a->theta1[i] / n, (double)full->theta1[i], 1e-12);
    }
    for (int k = 0; k < M * M; k++) {
        if (a->plain)
            check_close((double)a->u.Sigma[k] / n, (double)full->u.Sigma[k], 1e-12);
        else
            check_close((double)a->Lambda[k] / n, (double)full->Lambda[k], 1e-12);
    }
}

/* Theorems 5 and 6 of 000: over every possible sample the mean of the step is the step with all data. */
static void check_unbiased(bool plain, int P)
{
    static problem p;
    const int all[P_MOST] = {0, 1, 2, 3, 4};
    make_problem(&p, 4, P);
    average full = {.p = &p, .plain = plain};
    add_step(&full, 1, P, all);
    for (int size = 1; size < P; size++) {
        average sets = {.p = &p, .plain = plain}, tuples = sets;
        add_sets(&sets, size);
        check_average(&sets, &full);
        if (size > 3) continue; /* 4^3 of them are enough */
        add_tuples(&tuples, size);
        check_average(&tuples, &full);
    }
}

static void natural_steps_are_unbiased_over_every_sample(void **state)
{
    (void)state;
    check_unbiased(false, 4);
    check_unbiased(false, 5);
}

static void plain_steps_are_unbiased_over_every_sample(void **state)
{
    (void)state;
    check_unbiased(true, 4);
    check_unbiased(true, 5);
}

/* --------------------------------------------------------------------------------- plain gradient */

static void plain_step_is_the_gradient_step_of_the_mean_and_covariance_of_u(void **state)
{
    (void)state;
    const int sizes[] = {1, 4, 9, 40};
    const double priors[] = {1, 0.6};
    static problem p;
    double S[SQUARE], b[M_MOST], taken;
    gauss q;
    moments expected, u;
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 2; l++) {
            make_problem(&p, sizes[k], 3);
            start(&p, &q);
            gather_all(&p, S, b);
            moments_of(&p, &q, &expected);
            dense_plain(&p, 1e-3L, priors[l], S, b, &expected);
            assert_true(plain_step(&q, 1e-3, priors[l], p.L, LDL, S, b, &taken));
            assert_true(taken == 1e-3);
            moments_of(&p, &q, &u);
            check_moments(p.M, &u, &expected, 1e-11);
            check_consistent(&q, 1e-10);
            gauss_clear(&q);
        }
}

static void small_plain_steps_converge_to_the_optimum(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], taken;
    gauss q;
    make_problem(&p, 3, 4);
    start(&p, &q);
    gather_all(&p, S, b);
    for (int t = 0; t < 4000; t++) assert_true(plain_step(&q, 0.01, 1, p.L, LDL, S, b, &taken) && taken == 0.01);
    check_optimum(&q, 1, S, b, 1e-10);
    gauss_clear(&q);
}

/* Positive definite: every pivot of an elimination without exchange is positive. */
static bool is_positive_definite(int M, const real *Sigma)
{
    real A[SQUARE];
    memcpy(A, Sigma, (size_t)(M * M) * sizeof *A);
    for (int k = 0; k < M; k++) {
        if (!(A[k * M + k] > 0)) return false;
        for (int i = k + 1; i < M; i++)
            for (int j = k + 1; j < M; j++) A[i * M + j] -= A[i * M + k] * A[k * M + j] / A[k * M + k];
    }
    return true;
}

static void huge_plain_step_is_halved_until_sigma_is_positive_definite(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], taken, rho = 1e6;
    gauss q;
    moments expected, u, beyond;
    make_problem(&p, 5, 4);
    start(&p, &q);
    gather_all(&p, S, b);
    moments_of(&p, &q, &expected);
    beyond = expected;
    assert_true(plain_step(&q, rho, 1, p.L, LDL, S, b, &taken));
    assert_true(taken < rho && log2(rho / taken) == floor(log2(rho / taken)));
    dense_plain(&p, taken, 1, S, b, &expected);
    dense_plain(&p, 2 * taken, 1, S, b, &beyond);
    moments_of(&p, &q, &u);
    check_moments(p.M, &u, &expected, 1e-10);
    check_consistent(&q, 1e-10);
    assert_true(is_positive_definite(p.M, u.Sigma));
    assert_false(is_positive_definite(p.M, beyond.Sigma));
    gauss_clear(&q);
}

/* ------------------------------------------------------------------------------------- both of them */

/* L(q) up to a constant: b'm - tr((I + S)(V + m m')) / 2 + log det V / 2 */
static double lower_bound(const gauss *q, const double *S, const double *b)
{
    int M = (int)q->M;
    double V[SQUARE], f = 0;
    gauss_covariance(q, V);
    for (int i = 0; i < M; i++) {
        f += b[i] * q->m[i] - log(q->F[i + i * M]);
        for (int j = 0; j < M; j++)
            f -= 0.5 * ((double)lower(S, M, i, j) + (i == j)) * (V[i + j * M] + q->m[i] * q->m[j]);
    }
    return f;
}

static void steps_with_all_data_improve_the_bound(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], taken;
    gauss q;
    make_problem(&p, 5, 4);
    gather_all(&p, S, b);
    for (int plain = 0; plain < 2; plain++) {
        start(&p, &q);
        double before = lower_bound(&q, S, b);
        for (int t = 0; t < 10; t++) {
            assert_true(plain ? plain_step(&q, 0.001, 1, p.L, LDL, S, b, &taken) : natural_step(&q, 0.2, 1, S, b));
            double after = lower_bound(&q, S, b);
            assert_true(after > before);
            before = after;
        }
        gauss_clear(&q);
    }
}

static void check_same(const gauss *a, const gauss *b)
{
    size_t vector = (size_t)a->M * sizeof(double), matrix = (size_t)a->M * vector;
    assert_memory_equal(a->theta, b->theta, vector);
    assert_memory_equal(a->m, b->m, vector);
    assert_memory_equal(a->Lambda, b->Lambda, matrix);
    assert_memory_equal(a->F, b->F, matrix);
}

static void check_refused_by_both(const problem *p, const double *S, const double *b)
{
    gauss q, before;
    double taken = -1;
    start(p, &q);
    start(p, &before);
    assert_false(natural_step(&q, 0.5, 1, S, b));
    check_same(&q, &before);
    assert_false(plain_step(&q, 0.001, 1, p->L, LDL, S, b, &taken));
    assert_true(taken == 0);
    check_same(&q, &before);
    gauss_clear(&q);
    gauss_clear(&before);
}

/* Near the optimum of the covariance nothing but the bound keeps a long step from carrying the mean away. */
static void plain_steps_of_any_size_do_not_lower_the_bound(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], taken;
    gauss q;
    make_problem(&p, 5, 4);
    gather_all(&p, S, b);
    start(&p, &q);
    double before = lower_bound(&q, S, b);
    for (int t = 0; t < 200; t++) {
        assert_true(plain_step(&q, t % 2 ? 1e3 : 1, 1, p.L, LDL, S, b, &taken));
        double after = lower_bound(&q, S, b);
        assert_true(after >= before - 1e-9 * fabs(before));
        before = after;
    }
    gauss_clear(&q);
}

static void number_that_is_not_finite_leaves_q_alone(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    static problem p;
    double S[SQUARE], b[M_MOST];
    make_problem(&p, 5, 4);
    gather_all(&p, S, b);
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 5; j++)
            for (int i = j; i < 5; i++) {
                double kept = S[i + j * 5];
                S[i + j * 5] = bad[k];
                check_refused_by_both(&p, S, b);
                S[i + j * 5] = kept;
            }
        for (int i = 0; i < 5; i++) {
            double kept = b[i];
            b[i] = bad[k];
            check_refused_by_both(&p, S, b);
            b[i] = kept;
        }
    }
}

static void precision_that_is_not_positive_definite_leaves_q_alone(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], taken;
    gauss q, before;
    make_problem(&p, 5, 4);
    gather_all(&p, S, b);
    for (int k = 0; k < 25; k++) S[k] = -S[k];
    start(&p, &q);
    start(&p, &before);
    assert_false(natural_step(&q, 1, 1, S, b));
    check_same(&q, &before);
    for (int k = 0; k < 25; k++) S[k] = -S[k];
    assert_false(plain_step(&q, 1e200, 1, p.L, LDL, S, b, &taken)); /* 60 halvings are not enough */
    check_same(&q, &before);
    gauss_clear(&q);
    gauss_clear(&before);
}

/* ------------------------------------------------------------------------------------------ the rest */

static void kl_from_the_prior_is_that_of_the_dense_formula(void **state)
{
    (void)state;
    static problem p;
    gauss q;
    for (int M = 1; M <= 20; M += 6) {
        make_problem(&p, M, 4);
        anygp_error e;
        assert_int_equal(gauss_init(&q, M, &e), ANYGP_OK);
        assert_true(gauss_kl(&q) == 0);
        check_consistent(&q, 0);
        gauss_clear(&q);
        start(&p, &q);
        real V[SQUARE], expected = -M;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) V[i * M + j] = lower(q.Lambda, M, i, j);
        expected += dense_invert(M, V);
        for (int i = 0; i < M; i++) expected += V[i * M + i] + (real)q.m[i] * q.m[i];
        check_close(gauss_kl(&q), (double)expected / 2, 1e-12);
        gauss_clear(&q);
    }
}

static void precision_and_theta1_alone_restore_the_bits(void **state)
{
    (void)state;
    static problem p;
    double S[SQUARE], b[M_MOST], Lambda[SQUARE], taken;
    anygp_error e;
    gauss q, back;
    make_problem(&p, 40, 4);
    gather_all(&p, S, b);
    start(&p, &q);
    assert_true(plain_step(&q, 1e-4, 1, p.L, LDL, S, b, &taken));
    assert_true(natural_step(&q, 0.1, 1, p.S[2], p.b[2]));
    assert_int_equal(gauss_init(&back, 40, &e), ANYGP_OK);
    for (int k = 0; k < 1600; k++) Lambda[k] = k % 40 < k / 40 ? NAN : q.Lambda[k];
    assert_true(gauss_set(&back, NULL, Lambda, q.theta));
    check_same(&q, &back);
    assert_true(plain_step(&q, 1e-4, 1, p.L, LDL, S, b, &taken));
    assert_true(plain_step(&back, 1e-4, 1, p.L, LDL, S, b, &taken));
    check_same(&q, &back);
    Lambda[0] = -1;
    assert_false(gauss_set(&back, NULL, Lambda, q.theta));
    check_same(&q, &back);
    gauss_clear(&q);
    gauss_clear(&back);
    gauss_clear(&back);
}

static void step_sizes_follow_the_schedule(void **state)
{
    (void)state;
    assert_true(step_size(0.5, 1, 0.9, 0) == 0.5);
    assert_true(step_size(0.5, 0, 0.9, 1000) == 0.5);
    check_close(step_size(0.5, 2, 1, 3), 0.125, 1e-15);
    check_close(step_size(0.2, 5, 0.5, 15), 0.05, 1e-15);
    for (int64_t t = 0; t < 100; t++) assert_true(step_size(1, 0.1, 0.6, t + 1) < step_size(1, 0.1, 0.6, t));
}

static void too_large_a_size_is_refused(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    gauss q;
    assert_int_equal(gauss_init(&q, INT64_C(1) << 60, &e), ANYGP_ERR_MEMORY);
    assert_true(e.text[0] && !q.m);
    gauss_clear(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_natural_step_of_one_is_the_optimum),
        cmocka_unit_test(natural_step_is_a_mixture_of_natural_parameters),
        cmocka_unit_test(natural_steps_are_unbiased_over_every_sample),
        cmocka_unit_test(plain_steps_are_unbiased_over_every_sample),
        cmocka_unit_test(plain_step_is_the_gradient_step_of_the_mean_and_covariance_of_u),
        cmocka_unit_test(small_plain_steps_converge_to_the_optimum),
        cmocka_unit_test(huge_plain_step_is_halved_until_sigma_is_positive_definite),
        cmocka_unit_test(steps_with_all_data_improve_the_bound),
        cmocka_unit_test(plain_steps_of_any_size_do_not_lower_the_bound),
        cmocka_unit_test(number_that_is_not_finite_leaves_q_alone),
        cmocka_unit_test(precision_that_is_not_positive_definite_leaves_q_alone),
        cmocka_unit_test(kl_from_the_prior_is_that_of_the_dense_formula),
        cmocka_unit_test(precision_and_theta1_alone_restore_the_bits),
        cmocka_unit_test(step_sizes_follow_the_schedule),
        cmocka_unit_test(too_large_a_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
