/* hier against its prior written out with dense matrices: kernel and local kernel inside a block, what inducing inputs carry of the
   kernel alone between blocks. */
#include "dense_prior.h"
#include "model_scene.h"

#define WIDE "matern32(variance=0.7,lengthscale=[1.1,1.9])"
#define LOCAL "(rbf(variance=0.4,lengthscale=[0.5,0.6]) + linear(variance=[0.2,0.1]))"

static const scene_kind kinds[] = {{NULL, WIDE " + " LOCAL, MEAN_ZERO, false},
                                   {NULL, WIDE " + " LOCAL, MEAN_LINEAR, true},
                                   {NULL, WIDE " + white(variance=0.1)", MEAN_ZERO, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct dense {
    scene s;
    kernel *wide;
    real Kuu[M * M]; /* its inverse */
    int64_t block[ROWS + NEW];
    const double *x[ROWS + NEW]; /* training rows, then new ones */
    double new[NEW * D];
} dense;

static void dense_open(dense *d, const scene_kind *kind)
{
    kernel_input in[D];
    anygp_error e;
    scene_open(&d->s, &model_hier, kind);
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(WIDE, in, D, D, &d->wide, &e), ANYGP_OK);
    fill_normal(9, NEW * D, d->new);
    for (int i = 0; i < ROWS; i++) d->x[i] = d->s.X + i * D;
    for (int i = 0; i < NEW; i++) d->x[ROWS + i] = d->new + i *D;
    assert_int_equal(router_route(d->s.route, ROWS, d->s.X, D, d->block, &e), ANYGP_OK);
    assert_int_equal(router_route(d->s.route, NEW, d->new, D, d->block + ROWS, &e), ANYGP_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            d->Kuu[i * M + j] = kernel_reference(d->wide, d->s.h.Z + i * D, d->s.h.Z + j * D, false);
    dense_invert(M, d->Kuu);
}

static void dense_close(dense *d)
{
    kernel_free(d->wide);
    scene_close(&d->s);
}

/* Prior covariance of f at rows i and j; white terms are noise. */
static real prior(const dense *d, int i, int j)
{
    const double *x = d->x[i], *z = d->x[j];
    real ki[M], kj[M];
    if (d->block[i] == d->block[j]) return dense_prior(d->s.h.kernel, &d->s.mean, D, x, z, false);
    for (int m = 0; m < M; m++) {
        ki[m] = kernel_reference(d->wide, d->s.h.Z + m * D, x, false);
        kj[m] = kernel_reference(d->wide, d->s.h.Z + m * D, z, false);
    }
    kernel *none = d->wide; /* the mean's functions are all that is left of dense_prior() */
    real mean = dense_prior(none, &d->s.mean, D, x, z, false) - kernel_reference(none, x, z, false);
    return dense_quadratic(M, d->Kuu, ki, kj) + mean;
}

static real noise_of(const dense *d) { return d->s.h.like[0] + kernel_white(d->s.h.kernel); }

/* The inverse of the covariance of the training rows, and its log determinant. */
static real invert_rows(const dense *d, real *K)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) K[i * ROWS + j] = prior(d, i, j) + (i == j ? noise_of(d) / d->s.w[i] : 0);
    return dense_invert(ROWS, K);
}

static void objective_is_the_evidence_of_the_prior(void **unused)
{
    (void)unused;
    static real K[ROWS * ROWS], y[ROWS];
    for (int k = 0; k < KINDS; k++) {
        dense d;
        double value, jitter = 0;
        dense_open(&d, &kinds[k]);
        real logdet = invert_rows(&d, K), terms = 0;
        for (int i = 0; i < ROWS; i++) {
            y[i] = d.s.y[i];
            if (d.s.w[i] != 1)
                terms += (d.s.w[i] - 1) * logl(2 * 3.14159265358979323846L * noise_of(&d)) + logl(d.s.w[i]);
        }
        assert_true(model_hier.evaluate(d.s.state, &d.s.h, false, &jitter, &value, NULL));
        check_close(value, (double)(dense_log_normal(ROWS, K, logdet, y) - 0.5L * terms), 1e-9);
        dense_close(&d);
    }
}

static void predictions_are_those_of_the_prior(void **unused)
{
    (void)unused;
    static real K[ROWS * ROWS], y[ROWS], k[NEW][ROWS];
    for (int c = 0; c < KINDS; c++) {
        dense d;
        posterior *p = NULL;
        double jitter = 0, mean[NEW], variance[NEW], together[NEW], covariance[NEW * NEW];
        anygp_error e;
        dense_open(&d, &kinds[c]);
        invert_rows(&d, K);
        assert_int_equal(model_hier.posterior(d.s.state, &d.s.h, &jitter, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, d.new, D, work, mean, variance, &e), ANYGP_OK);
        assert_int_equal(p->ops->joint(p, NEW, d.new, D, work, together, covariance, NEW, &e), ANYGP_OK);
        for (int i = 0; i < ROWS; i++) y[i] = d.s.y[i];
        for (int i = 0; i < NEW; i++)
            for (int j = 0; j < ROWS; j++) k[i][j] = prior(&d, ROWS + i, j);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)dense_quadratic(ROWS, K, k[i], y), 1e-8);
            check_close(together[i], mean[i], 1e-8);
            for (int j = 0; j <= i; j++) {
                double v = (double)(prior(&d, ROWS + i, ROWS + j) - dense_quadratic(ROWS, K, k[i], k[j]));
                assert_true(fabs(covariance[i + j * NEW] - v) < 1e-8);
                if (i == j) check_close(variance[i], v, 1e-8);
            }
        }
        free(work);
        p->ops->free(p);
        dense_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_evidence_of_the_prior),
                                       cmocka_unit_test(predictions_are_those_of_the_prior)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
