/* The KL of a posterior process to its prior, for every model that has one, by two other roads:
       where q is a Gaussian over whitened variables, from the arrays of the model file and dense inverses;
       where there are joint predictions, between prior and posterior at the places that the posterior rests on: all other rows
       are the same given these. */
#include "dense.h"
#include "models_support.h"

enum { PLACES_MOST = 64 };

static int by_arrays, by_places, without;

/* KL(N(m, V) || N(0, P)), the inverse of P at hand; V, symmetric, is used up. */
static real dense_kl(int n, const real *m, real *V, const real *P_inverse, real P_logdet)
{
    real sum = dense_quadratic(n, P_inverse, m, m) - n + P_logdet;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += P_inverse[i * n + j] * V[j * n + i];
    return 0.5L * (sum - dense_invert(n, V));
}

/* ---------------------------------------------------------------------------------------- by arrays */

/* q(v) = N(m, V) with V = R R' or V = (F F')^-1. */
static real whitened_kl(int n, const double *m, const double *factor, bool by_covariance)
{
    real *V = calloc((size_t)(n * n), sizeof *V), *I = calloc((size_t)(n * n), sizeof *I), mean[PLACES_MOST];
    for (int i = 0; i < n; i++) {
        I[i * n + i] = 1, mean[i] = m[i];
        for (int j = 0; j < n; j++)
            for (int k = 0; k <= (i < j ? i : j); k++)
                V[i * n + j] += (real)factor[i + k * n] * (real)factor[j + k * n];
    }
    if (!by_covariance) dense_invert(n, V);
    real kl = dense_kl(n, mean, V, I, 0);
    free(V);
    free(I);
    return kl;
}

static const named_array *array_under(const array_list *all, const char *path, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", path, name);
    return named_array_find(all->at, all->count, full);
}

/* The q of one layer, all its latents and sets; NaN: it is not a Gaussian over whitened variables alone. */
static real layer_kl_of(const array_list *all, const char *path)
{
    static const char *const names[] = {"F1", "F2", "F3", "B", "R"};
    const named_array *m = array_under(all, path, "m");
    real sum = 0;
    int64_t first = 0;
    if (!m || array_under(all, path, "O")) return NAN;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const named_array *F = array_under(all, path, names[k]);
        for (int64_t c = 0; F && c < m->cols; c++)
            sum += whitened_kl((int)F->rows, m->values + c * m->rows + first, F->values + c * F->rows * F->rows,
                               *names[k] == 'R');
        if (F) first += F->rows;
    }
    assert_int_equal(first, m->rows);
    return sum;
}

/* rvm: weights with precisions s of their own. */
static real weights_kl_of(const array_list *all)
{
    const named_array *s = array_under(all, "", "s"), *m = array_under(all, "", "m"), *F = array_under(all, "", "F");
    real sum = 0;
    if (!s) return NAN;
    double *scaled = malloc((size_t)(F->rows * F->rows) * sizeof *scaled), mean[PLACES_MOST];
    assert_true(F->rows <= PLACES_MOST);
    for (int64_t i = 0; i < F->rows; i++) {
        mean[i] = m->values[i] * sqrt(s->values[i]);
        for (int64_t j = 0; j < F->rows; j++) scaled[i + j * F->rows] = F->values[i + j * F->rows] / sqrt(s->values[i]);
    }
    sum = whitened_kl((int)F->rows, mean, scaled, false);
    free(scaled);
    return sum;
}

static void check_by_arrays(const subject *s, posterior *p)
{
    array_list all = arrays_of(p);
    real sum = array_under(&all, "", "s") ? weights_kl_of(&all) : layer_kl_of(&all, "");
    if (array_under(&all, "layer1/", "m")) sum += layer_kl_of(&all, "layer1/");
    if (!isnan(sum)) {
        check_close_at(posterior_kl(p), (double)sum, 1e-9, s->name, __FILE__, __LINE__);
        by_arrays++;
    }
    array_list_clear(&all);
}

/* ---------------------------------------------------------------------------------------- by places */

/* Those that are equal count once. */
static int add_places(const named_array *a, int count, double *X)
{
    for (int64_t j = 0; a && j < a->cols; j++) {
        bool known = false;
        for (int i = 0; i < count; i++) known = known || !memcmp(X + i * D, a->values + j * D, D * sizeof *X);
        assert_true(count < PLACES_MOST);
        if (!known) memcpy(X + count++ * D, a->values + j * D, D * sizeof *X);
    }
    return count;
}

static int places_of(posterior *p, double *X)
{
    static const char *const names[] = {"X", "Z", "O", "alpha", "beta"};
    array_list all = arrays_of(p);
    int count = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const named_array *a = named_array_find(all.at, all.count, names[k]);
        if (a && a->rows == D) count = add_places(a, count, X);
    }
    array_list_clear(&all);
    return count;
}

/* The prior of f: the kernel without white terms, and the functions of its mean. */
static void prior_at(const posterior *p, int n, const double *X, double *K)
{
    double H[PLACES_MOST * (D + 1)];
    assert_true(kernel_gram_sym(p->kernel, n, X, D, K, n));
    basis_fill(&p->mean, n, X, D, H, 1, n);
    for (int i = 0; i < n; i++) {
        K[i + i * n] -= kernel_white(p->kernel);
        for (int j = 0; j <= i; j++)
            for (int64_t k = 0; k < p->mean.p; k++) K[i + j * n] += p->mean.B * H[i + k * n] * H[j + k * n];
    }
}

/* A lower triangle by columns to both by rows. */
static void to_real(int n, const double *A, real *R)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) R[i * n + j] = R[j * n + i] = A[i + j * n];
}

static void check_by_places(const subject *s, posterior *p, double tolerance)
{
    static double X[PLACES_MOST * D], mean[PLACES_MOST * CLASSES], K[PLACES_MOST * PLACES_MOST],
        covariance[PLACES_MOST * PLACES_MOST * CLASSES];
    static real P[PLACES_MOST * PLACES_MOST], V[PLACES_MOST * PLACES_MOST], m[PLACES_MOST];
    int n = places_of(p, X);
    real sum = 0;
    assert_true(n > 0);
    prior_at(p, n, X, K);
    joint_at(p, n, X, mean, covariance);
    for (int64_t c = 0; c < latents_of(p); c++) {
        to_real(n, K, P);
        to_real(n, covariance + c * n * n, V);
        for (int i = 0; i < n; i++) m[i] = mean[c * n + i];
        real logdet = dense_invert(n, P);
        sum += dense_kl(n, m, V, P, logdet);
    }
    check_close_at(posterior_kl(p), (double)sum, tolerance, s->name, __FILE__, __LINE__);
    by_places++;
}

/* -------------------------------------------------------------------------------------------- tests */

/* Frequencies are no places, and the prior of a sum of kernels is not the kernel; with a prior mean, only models whose q is over f itself are determined by f at places. */
static void check_fit(const subject *s, anygp_model *m)
{
    for (int64_t t = 0; t < m->targets; t++) {
        posterior *p = m->gp[t]->posterior;
        double kl = posterior_kl(p);
        if (isnan(kl)) {
            without++;
            continue;
        }
        assert_true(kl > 0 && m->gp[t]->kl == kl);
        check_by_arrays(s, p);
        bool whole = !s->ops->subset || !strcmp(s->name, "sod");
        if (has_joint(s->ops) && !s->ops->variables && !p->ops->vectors && (whole || !p->mean.p))
            check_by_places(s, p, whole ? 1e-8 : 2e-4);
    }
}

static void has_the_kl(const subject *s)
{
    static const char *const plain[] = {"kernel", "matern12", NULL};
    static const char *const mean[] = {"kernel", "matern12 + white", "mean", "linear", NULL};
    anygp_model *m = fit_subject(s, plain);
    check_fit(s, m);
    anygp_model_free(m);
    if (strcmp(s->ops->name, "exact") && strcmp(s->ops->name, "svgp")) return;
    m = fit_subject(s, mean);
    check_fit(s, m);
    anygp_model_free(m);
}

static void the_kl_to_the_prior_is_that_of_dense_matrices(void **unused)
{
    (void)unused;
    for_each_subject(true, has_the_kl);
    assert_true(by_arrays >= 20 && by_places >= 20);
    assert_true(without >= 3); /* pic, pic+, rbcm, vecchia */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_kl_to_the_prior_is_that_of_dense_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
