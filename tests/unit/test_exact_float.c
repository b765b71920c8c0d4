/* The exact model with its factor in float against the same in double: log evidence, gradient, leave-one-out, and what it says of its error. */
#include "exact_case.h"

#include "linalg/linalg_f32.h"
#include "model/exact/exact_float.h"

enum { ROWS = 300 };

typedef struct pass {
    double value, gp[PARAMS_MOST];
    float_error said;
    double alpha[ROWS], q[ROWS];
} pass;

static void work(case_ *c, bool mixed, double jitter, pass *out)
{
    void *state;
    anygp_error e = {.text = ""};
    c->p.mixed = mixed;
    if (model_exact.open(&model_exact, &c->p, &c->h, &state, &e)) fail_msg("%s", e.text);
    assert_true(model_exact.floats->on(state) == mixed);
    assert_true(model_exact.evaluate(state, &c->h, false, &jitter, &out->value, out->gp));
    memcpy(out->alpha, ((exact *)state)->alpha, sizeof out->alpha);
    memcpy(out->q, ((exact *)state)->q, sizeof out->q);
    if (mixed) assert_int_equal(model_exact.floats->measure(state, &c->h, jitter, &out->said, &e), ANYGP_OK);
    model_exact.close(state);
}

/* The largest difference of slopes in the logarithms, per row. */
static double slope_between(case_ *c, const pass *a, const pass *b)
{
    double p[PARAMS_MOST], most = 0;
    hyper_natural(&c->h, p);
    for (int64_t i = 0; i < c->h.count; i++) most = fmax(most, fabs(p[i] * (a->gp[i] - b->gp[i])));
    return most / c->rows.total;
}

static const char *const kernels[] = {"matern52(variance=1.3,lengthscale=[0.8,1.4])", "rbf(variance=2,lengthscale=1.5)",
                                      "matern12(variance=0.5,lengthscale=2) + white(variance=0.05)",
                                      "rq(variance=1,lengthscale=1,alpha=2) * linear(variance=[0.3,0.2])",
                                      "periodic(variance=1,lengthscale=1,period=3)"};

/* From much noise to hardly any: what it says of its error holds, up to what two standard errors of few probes can miss, and where it says
   more than is allowed nothing else is promised. */
static void errors_are_as_it_says(void **state)
{
    static const double noises[] = {0.3, 1e-2, 1e-4, 1e-6};
    int narrow = 0;
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int i = 0; i < 8; i++) {
            case_ c;
            static pass whole, single;
            double jitter = i % 3 == 2 ? 1e-6 : 0;
            case_open(&c, ROWS, kernels[k], noises[i / 2], i % 2, i % 4 == 1 ? MEAN_LINEAR : MEAN_ZERO);
            work(&c, false, jitter, &whole);
            work(&c, true, jitter, &single);
            double off = fabs(single.value - whole.value) / c.rows.total, slope = slope_between(&c, &single, &whole);
            assert_true(isfinite(single.value));
            if (single.said.value <= ROUNDING_MOST) {
                narrow++;
                if (!(off <= 3 * single.said.value + 1e-9) ||
                    !(slope <= 10 * fmax(single.said.slope, single.said.value) + 1e-6))
                    fail_msg("%s, noise %g: off %g, %g; said %g, %g", kernels[k], noises[i / 2], off, slope,
                             single.said.value, single.said.slope);
                double size = la_norm(ROWS, whole.alpha);
                for (int j = 0; j < ROWS; j++) {
                    assert_true(fabs(single.alpha[j] - whole.alpha[j]) <= 1e-5 * size);
                    check_close(single.q[j], whole.q[j], 2e-2);
                }
            }
            case_close(&c);
        }
    assert_true(narrow >= 20); /* of 40 */
}

/* log|P| of the factor alone, for the matrix of double rounded to float. */
static double rounded_logdet(const double *K)
{
    float *L = malloc(ROWS * ROWS * sizeof *L);
    double sum = 0;
    la_round(ROWS * ROWS, K, L);
    assert_true(la_factor_f32(ROWS, L, ROWS));
    for (int j = 0; j < ROWS; j++) sum += 2 * log((double)L[j + j * ROWS]);
    free(L);
    return sum;
}

/* Over probes of many seeds: how far the log determinant is off on average, its standard deviation, and what it says of that. */
typedef struct spread {
    double off, deviation, said, raw; /* raw: how far log|P| is off */
} spread;

static spread over_probes(double noise)
{
    enum { SEEDS = 100 };
    case_ c;
    double sum = 0, square = 0, F2 = 0, jitter = 0, value;
    case_open(&c, ROWS, kernels[1], noise, false, MEAN_ZERO);
    c.p.mixed = true;
    double *K = field_dense(&c.f), raw = rounded_logdet(K);
    assert_true(la_factor(ROWS, K, ROWS));
    double whole = la_logdet(ROWS, K, ROWS);
    for (int i = 0; i < SEEDS; i++) {
        void *s;
        anygp_error e;
        c.p.seed = 100 + (uint64_t)i;
        assert_int_equal(model_exact.open(&model_exact, &c.p, &c.h, &s, &e), ANYGP_OK);
        assert_true(model_exact.evaluate(s, &c.h, false, &jitter, &value, NULL));
        const exact_float *f = ((struct exact *)s)->single;
        sum += (f->logdet - whole) / SEEDS, square += pow(f->logdet - whole, 2) / SEEDS, F2 += f->F2 / SEEDS;
        model_exact.close(s);
    }
    free(K);
    case_close(&c);
    double error = sqrt((square - sum * sum) / SEEDS);
    return (spread){sum / error, sqrt(square - sum * sum), sqrt(2 * F2 / FLOAT_PROBES), (raw - whole) / error};
}

/* The log determinant is that of double but for its standard error, which log|P| is not (of one matrix it can be, by luck), and varies by no more
   than it says. */
static void log_determinants_are_unbiased_over_probes(void **state)
{
    static const double noises[] = {1e-2, 4e-3, 2e-3, 1e-3, 5e-4};
    enum { NOISES = sizeof noises / sizeof *noises };
    int apart = 0;
    (void)state;
    for (int i = 0; i < NOISES; i++) {
        spread s = over_probes(noises[i]);
        assert_true(fabs(s.off) <= 4.5);
        assert_true(s.deviation <= 1.3 * s.said);
        apart += fabs(s.raw) > 4.5;
    }
    assert_true(apart >= 1);
}

/* Not a single number: float has no factor of a matrix that is singular to its eyes, and double does it all. */
static void where_float_has_no_number_it_is_double(void **state)
{
    case_ c;
    static pass whole, single;
    (void)state;
    case_open(&c, ROWS, "rbf(variance=2,lengthscale=3)", 1e-10, false, MEAN_ZERO);
    work(&c, false, 0, &whole);
    work(&c, true, 0, &single);
    assert_true(single.value == whole.value && !memcmp(single.gp, whole.gp, (size_t)c.h.count * sizeof(double)));
    assert_true(single.said.value == INFINITY);
    case_close(&c);
}

/* Numbers beyond float's range are no harm either. */
static void ranges_beyond_float_are_double(void **state)
{
    static const char *const text[] = {"rbf(variance=1e60,lengthscale=1)", "rbf(variance=1e-60,lengthscale=1)"};
    static const double noises[] = {1e58, 1e-62};
    (void)state;
    for (int i = 0; i < 2; i++) {
        case_ c;
        static pass whole, single;
        case_open(&c, ROWS, text[i], noises[i], false, MEAN_ZERO);
        work(&c, false, 0, &whole);
        work(&c, true, 0, &single);
        assert_true(isfinite(single.value));
        check_close(single.value, whole.value, 1e-6);
        case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_it_says), cmocka_unit_test(log_determinants_are_unbiased_over_probes),
        cmocka_unit_test(where_float_has_no_number_it_is_double), cmocka_unit_test(ranges_beyond_float_are_double)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
