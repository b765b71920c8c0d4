/* Variational nearest-neighbour GPs: the bound at its q against the definition with dense matrices, its gradient, and its place below the
   evidence of the prior that it bounds. */
#include "vecchia_support.h"

#include "model/local/vnngp.h"

typedef struct scene {
    fixture f;
    likelihood like;
    void *state;
} scene;

static const char *const kernels[] = {"rbf(variance=1.3,lengthscale=[0.5,0.9])", "matern32(lengthscale=0.9)"};

/* Rows 3 and 7 are at one place. */
static void open_scene(scene *s, const char *kernel_text, const char *like, int64_t k)
{
    anygp_error e;
    setup(&s->f, kernel_text, MEAN_ZERO, true, (nearness){.learn = FEW});
    s->f.model->close(s->f.state);
    s->f.model = &model_vnngp;
    memcpy(s->f.X + 7 * D, s->f.X + 3 * D, D * sizeof(double));
    assert_int_equal(likelihood_parse(like, &s->like, &e), ANYGP_OK);
    bool classes = s->like.ops->target == TARGET_CLASS, counts = s->like.ops->target == TARGET_COUNT;
    assert_int_equal(likelihood_open(&s->like, classes ? 3 - (s->like.ops->latents == 1) : 0, false, &e), ANYGP_OK);
    for (int i = 0; i < N; i++) {
        if (classes) s->f.y[i] = i % (int)s->like.classes;
        if (counts) s->f.y[i] = i % 4;
    }
    assert_int_equal(hyper_set_likelihood(&s->f.h, &s->like, 1, false, &e), ANYGP_OK);
    s->f.data.schema.classes = classes ? s->like.classes : 0, s->f.data.total = 2 * N;
    s->f.p.likelihood = &s->like, s->f.p.near.learn = k;
    open_rows(&s->f, N);
    s->state = s->f.state;
}

static double value_of(scene *s, double jitter, double *gradient)
{
    double value;
    assert_true(model_vnngp.evaluate(s->state, &s->f.h, false, &jitter, &value, gradient));
    return value;
}

/* ----------------------------------------------------------------------------------- the other road */

static real noisy_kernel(const scene *s, const double *x, const double *z, bool same, real added)
{
    return kernel_reference(s->f.h.kernel, x, z, same) + (same ? added : 0);
}

/* b and d of place i given the list, straight from the definition. */
static real condition_on(const scene *s, const vnngp *v, int64_t i, real *b)
{
    real K[N * N], d = noisy_kernel(s, v->X + i * D, v->X + i * D, true, (real)v->added);
    int n = v->near.count[i];
    const int32_t *near = v->near.row + i * v->k;
    for (int a = 0; a < n; a++)
        for (int c = 0; c < n; c++)
            K[a * n + c] = noisy_kernel(s, v->X + near[a] * D, v->X + near[c] * D, a == c, (real)v->added);
    dense_invert(n, K);
    for (int a = 0; a < n; a++) {
        b[a] = 0;
        for (int c = 0; c < n; c++)
            b[a] += K[a * n + c] * kernel_reference(s->f.h.kernel, v->X + near[c] * D, v->X + i * D, false);
        d -= b[a] * kernel_reference(s->f.h.kernel, v->X + near[a] * D, v->X + i * D, false);
    }
    return d;
}

/* Covariance of u under the prior, from the conditionals. */
static void prior_covariance(const scene *s, const vnngp *v, real *C)
{
    int n = (int)v->n;
    for (int i = 0; i < n; i++) {
        real b[N], d = condition_on(s, v, i, b);
        for (int j = 0; j < i; j++) {
            C[i * n + j] = 0;
            for (int a = 0; a < v->near.count[i]; a++) C[i * n + j] += b[a] * C[v->near.row[i * v->k + a] * n + j];
            C[j * n + i] = C[i * n + j];
        }
        C[i * n + i] = d;
        for (int a = 0; a < v->near.count[i]; a++) C[i * n + i] += b[a] * C[i * n + v->near.row[i * v->k + a]];
    }
}

/* KL(N(m, diag s) || N(0, C)) of one latent, with the inverse of C and its log det. */
static real divergence_of(int n, const real *inverse, real logdet, const double *m, const double *s)
{
    real sum = logdet - n, x[N];
    for (int i = 0; i < n; i++) x[i] = m[i], sum += inverse[i * n + i] * s[i] - logl(s[i]);
    return (sum + dense_quadratic(n, inverse, x, x)) / 2;
}

static real bound_of(const scene *s, const vnngp *v)
{
    static real C[N * N];
    int n = (int)v->n;
    double unused[64], mu[64], var[64], slope[2 * 64], expected = 0;
    prior_covariance(s, v, C);
    real logdet = dense_invert(n, C), kl = 0;
    for (int64_t c = 0; c < v->C; c++) kl += divergence_of(n, C, logdet, v->m + c * n, v->s + c * n);
    for (int i = 0; i < N; i++) {
        for (int64_t c = 0; c < v->C; c++) mu[c] = v->m[v->place[i] + c * n], var[c] = v->s[v->place[i] + c * n];
        expected += v->like.ops->expect(&v->like, 1, s->f.y + i, s->f.c + i, mu, var, 1,
                                        (random_stream){0, RANDOM_LIKELIHOOD, 0}, i, slope, slope + 64, unused);
    }
    return expected - kl;
}

/* -------------------------------------------------------------------------------------- theorems */

static const char *const likelihoods[] = {"gaussian", "bernoulli", "poisson", "studentt", "softmax"};
enum { LIKELIHOODS = sizeof likelihoods / sizeof *likelihoods };

static void bound_is_that_of_the_dense_prior(void **unused)
{
    (void)unused;
    for (int l = 0; l < LIKELIHOODS; l++) {
        scene s;
        open_scene(&s, kernels[l % 2], likelihoods[l], FEW);
        double value = value_of(&s, 1e-4, NULL);
        assert_int_equal(((vnngp *)s.state)->n, N - 1);
        check_close(value, (double)bound_of(&s, s.state), 1e-9);
        teardown(&s.f);
    }
}

/* No q nearby has a larger bound. */
static void q_is_at_the_maximum(void **unused)
{
    (void)unused;
    for (int l = 0; l < 3; l++) {
        scene s;
        open_scene(&s, kernels[1], likelihoods[l], FEW);
        double best = value_of(&s, 1e-4, NULL), change[2 * N];
        vnngp *v = s.state;
        fill_normal(31, 2 * N, change);
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int64_t i = 0; i < v->n; i++)
                v->m[i] += sign * 1e-3 * change[i], v->s[i] *= exp(sign * 0.02 * change[N + i]);
            assert_true(bound_of(&s, v) <= best + 1e-9);
            for (int64_t i = 0; i < v->n; i++)
                v->m[i] -= sign * 1e-3 * change[i], v->s[i] /= exp(sign * 0.02 * change[N + i]);
        }
        teardown(&s.f);
    }
}

static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    for (int l = 0; l < 4; l++) {
        scene s;
        double gradient[32];
        open_scene(&s, kernels[l % 2], likelihoods[l], FEW);
        value_of(&s, 1e-4, gradient);
        for (int64_t i = 0; i < s.f.h.count; i++) {
            double x = hyper_get(&s.f.h, i), step = 1e-5 * fmax(fabs(x), 0.1), up, down;
            if (!hyper_facts(&s.f.h, i)->free) continue;
            hyper_set(&s.f.h, i, x + step);
            up = value_of(&s, 1e-4, NULL);
            hyper_set(&s.f.h, i, x - step);
            down = value_of(&s, 1e-4, NULL);
            hyper_set(&s.f.h, i, x);
            if (l == 3) /* studentt is not log-concave: its q is not quite at the maximum */
                check_close(gradient[i], (up - down) / (2 * step), 1e-2);
            else
                check_close(gradient[i], (up - down) / (2 * step), 1e-6);
        }
        teardown(&s.f);
    }
}

/* Noise after the prior of u: log N(y; 0, C + noise / w) over places with their merged y. */
static void with_gaussian_noise_it_is_below_the_evidence_and_has_its_mean(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++) {
        scene s;
        real C[N * N], K[N * N], y[N];
        open_scene(&s, kernels[1], "gaussian", k ? N - 2 : FEW);
        double value = value_of(&s, 1e-4, NULL);
        vnngp *v = s.state;
        int n = (int)v->n;
        prior_covariance(&s, v, C);
        for (int i = 0; i < N; i++) {
            y[i] = s.f.y[i];
            for (int j = 0; j < N; j++)
                K[i * N + j] = C[v->place[i] * n + v->place[j]] + (i == j ? s.f.h.like[0] / s.f.c[i] : 0);
        }
        real logdet = dense_invert(N, K), evidence = dense_log_normal(N, K, logdet, y);
        for (int i = 0; i < N; i++)
            evidence -= 0.5L * ((s.f.c[i] - 1) * logl(6.283185307179586476925L * s.f.h.like[0]) + logl(s.f.c[i]));
        assert_true(value < evidence);
        for (int64_t p = 0; p < n; p++) {
            real c[N];
            for (int i = 0; i < N; i++) c[i] = C[p * n + v->place[i]];
            check_close(v->m[p], (double)dense_quadratic(N, K, c, y), 1e-7);
        }
        teardown(&s.f);
    }
}

/* From the nearest places and q, and far away the prior; the same after a model file. */
static void predictions_are_those_of_neighbours_under_q(void **unused)
{
    (void)unused;
    scene s;
    anygp_error e;
    posterior *p;
    double jitter = 1e-4, mean[2 * NEW], variance[2 * NEW], far[D] = {1e3, 0};
    open_scene(&s, kernels[1], "poisson", FEW);
    s.f.p.near.predict = 5;
    assert_int_equal(model_vnngp.posterior(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
    vnngp *v = s.state;
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, s.f.new, D, work, mean, variance, &e), ANYGP_OK);
    for (int j = 0; j < NEW; j++) {
        int64_t order[N];
        int near[N];
        real K[N * N], b[N], d = kernel_reference(s.f.h.kernel, s.f.new + j *D, s.f.new + j *D, false), mu = 0;
        for (int i = 0; i < v->n; i++) order[i] = i;
        int n = nearest_of((int)v->n, order, v->X, s.f.new + j *D, 5, near); /* one length-scale */
        for (int a = 0; a < n; a++)
            for (int c = 0; c < n; c++)
                K[a * n + c] = noisy_kernel(&s, v->X + near[a] * D, v->X + near[c] * D, a == c, (real)v->added);
        dense_invert(n, K);
        for (int a = 0; a < n; a++) {
            b[a] = 0;
            for (int c = 0; c < n; c++)
                b[a] += K[a * n + c] * kernel_reference(s.f.h.kernel, v->X + near[c] * D, s.f.new + j *D, false);
            d -= b[a] * kernel_reference(s.f.h.kernel, v->X + near[a] * D, s.f.new + j *D, false);
            d += b[a] * b[a] * v->s[near[a]], mu += b[a] * v->m[near[a]];
        }
        check_close(mean[j], (double)mu, 1e-9);
        check_close(variance[j], (double)d, 1e-9);
    }
    assert_int_equal(p->ops->marginal(p, 1, far, D, work, mean, variance, &e), ANYGP_OK);
    check_close(variance[0], 1, 1e-9);
    free(work);
    p->ops->free(p);
    teardown(&s.f);
}

/* ----------------------------------------------------------------------------------------- steps */

static void begin_steps(scene *s, double jitter)
{
    anygp_error e;
    assert_int_equal(vnngp_steps.begin(s->state, &s->f.h, jitter, &e), ANYGP_OK);
}

/* Both sums, over samples that are all places together. */
static void sums_of_sampled_gradients_over_all_blocks_are_the_batch_gradient(void **unused)
{
    (void)unused;
    for (int l = 0; l < LIKELIHOODS; l++) {
        scene s;
        anygp_error e;
        double batch[32], sum[32] = {0}, value = 0;
        open_scene(&s, kernels[l % 2], likelihoods[l], FEW);
        begin_steps(&s, 1e-4);
        double best = value_of(&s, 1e-4, batch);
        vnngp *v = s.state;
        for (int64_t at = 0, some; at < v->n; at += some) {
            int64_t which[N];
            double part, gradient[32];
            some = at % 2 ? 3 : 5;
            if (some > v->n - at) some = v->n - at;
            for (int64_t i = 0; i < some; i++)
                which[i] = (7 * (at + i)) % v->n; /* 7 and 23 have no divisor in common */
            assert_int_equal(vnngp_estimate(v, some, which, 1, &part, gradient, &e), ANYGP_OK);
            value += part;
            for (int64_t i = 0; i < s.f.h.count; i++) sum[i] += gradient[i];
        }
        check_close(value, best, 1e-12);
        for (int64_t i = 0; i < s.f.h.count; i++) check_close(sum[i], batch[i], 1e-10);
        teardown(&s.f);
    }
}

static double take_steps(scene *s, int steps, int64_t count)
{
    anygp_error e;
    double value = NAN;
    for (int t = 0; t < steps; t++) {
        int64_t which[N];
        vnngp *v = s->state;
        for (int64_t i = 0; i < count; i++) which[i] = (t * count + i) % v->n;
        step_context c = {.t = t, .count = count, .which = which, .scale = (double)v->n / (double)count};
        assert_int_equal(vnngp_steps.step(s->state, &s->f.h, &c, &value, &e), ANYGP_OK);
    }
    return value;
}

/* Steps of six places at a time, with the kernel as it is. */
static void steps_lead_to_the_largest_bound(void **unused)
{
    (void)unused;
    for (int l = 0; l < LIKELIHOODS; l++) {
        scene s;
        anygp_error e;
        double value, m[2 * N];
        open_scene(&s, kernels[l % 2], likelihoods[l], FEW);
        double best = value_of(&s, 1e-4, NULL);
        vnngp *v = s.state;
        memcpy(m, v->m, (size_t)v->n * sizeof *m);
        begin_steps(&s, 1e-4);
        take_steps(&s, 4, 6);
        assert_int_equal(v->seen, v->n);
        take_steps(&s, 160, 6);
        for (int64_t i = 0; l < 3 && i < v->n; i++) check_close(v->m[i], m[i], 1e-6);
        assert_int_equal(vnngp_steps.bound(s.state, &s.f.h, &value, &e), ANYGP_OK);
        check_close(value, best, 1e-9);
        teardown(&s.f);
    }
}

/* With Gaussian noise the model of the first places is that of their data alone. */
static void stopped_early_it_is_the_model_of_the_places_seen(void **unused)
{
    (void)unused;
    scene s;
    anygp_error e;
    posterior *p = NULL;
    double jitter = 1e-4;
    open_scene(&s, kernels[1], "gaussian", FEW);
    vnngp *v = s.state;
    begin_steps(&s, jitter);
    take_steps(&s, 2, 6);
    assert_int_equal(v->seen, 12);
    assert_non_null(vnngp_steps.remark(s.state));
    assert_int_equal(vnngp_steps.posteriors(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
    assert_int_equal(p->n, 12);
    real C[N * N], K[N * N], y[N];
    int n = (int)v->n, rows[N], count = 0;
    prior_covariance(&s, v, C);
    for (int i = 0; i < N; i++)
        if (v->place[i] < 12) rows[count++] = i;
    for (int i = 0; i < count; i++) {
        y[i] = s.f.y[rows[i]];
        for (int j = 0; j < count; j++)
            K[i * count + j] =
                C[v->place[rows[i]] * n + v->place[rows[j]]] + (i == j ? s.f.h.like[0] / s.f.c[rows[i]] : 0);
    }
    dense_invert(count, K);
    for (int64_t at = 0; at < 12; at++) {
        real c[N];
        for (int i = 0; i < count; i++) c[i] = C[at * n + v->place[rows[i]]];
        check_close(v->m[at], (double)dense_quadratic(count, K, c, y), 1e-6);
    }
    p->ops->free(p);
    teardown(&s.f);
}

/* ------------------------------------------------------------------------------- joint, new rows */

/* Given all training places and all companions, the joint distribution is R diag(s) R' + C of the dense prior. */
static void joint_predictions_are_those_of_the_dense_prior_under_q(void **unused)
{
    (void)unused;
    scene s;
    anygp_error e;
    posterior *p;
    double jitter = 1e-4, mean[2 * NEW], covariance[2 * NEW * NEW];
    open_scene(&s, kernels[1], "poisson", FEW);
    s.f.p.near.predict = N;
    assert_int_equal(model_vnngp.posterior(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
    vnngp *v = s.state;
    int n = (int)v->n;
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->joint(p, NEW, s.f.new, D, work, mean, covariance, NEW, &e), ANYGP_OK);
    real K[N * N], b[NEW][N], k[NEW][N];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) K[i * n + j] = noisy_kernel(&s, v->X + i * D, v->X + j * D, i == j, (real)v->added);
    dense_invert(n, K);
    for (int i = 0; i < NEW; i++) {
        for (int j = 0; j < n; j++) k[i][j] = kernel_reference(s.f.h.kernel, s.f.new + i *D, v->X + j * D, false);
        for (int j = 0; j < n; j++) {
            b[i][j] = 0;
            for (int a = 0; a < n; a++) b[i][j] += K[a * n + j] * k[i][a];
        }
    }
    for (int i = 0; i < NEW; i++) {
        real mu = 0;
        for (int j = 0; j < n; j++) mu += b[i][j] * v->m[j];
        check_close(mean[i], (double)mu, 1e-8);
        for (int h = 0; h <= i; h++) {
            real c = kernel_reference(s.f.h.kernel, s.f.new + i *D, s.f.new + h *D, false);
            for (int j = 0; j < n; j++) c += b[i][j] * (b[h][j] * v->s[j] - k[h][j]);
            check_close(covariance[i + h * NEW], (double)c, 1e-7);
        }
    }
    free(work);
    p->ops->free(p);
    teardown(&s.f);
}

static posterior *posterior_at(scene *s, double jitter)
{
    posterior *p;
    anygp_error e;
    assert_int_equal(model_vnngp.posterior(s->state, &s->f.h, &jitter, &p, &e), ANYGP_OK);
    return p;
}

/* With rows first .. end - 1; returns what they add to the bound. */
static double update_with(posterior **p, const scene *s, int first, int end)
{
    const update_ops *ops = model_vnngp.update;
    anygp_error e;
    void *state;
    posterior *out;
    update_report r;
    likelihood like = s->like;
    memcpy(like.value, s->f.h.like, (size_t)like.params * sizeof *like.value);
    assert_int_equal(ops->open(&model_vnngp, *p, &like, &state, &e), ANYGP_OK);
    assert_int_equal(ops->add(state, 1, s->f.X + first * D, s->f.y + first, s->f.c + first, NULL, &e), ANYGP_OK);
    assert_int_equal(
        ops->add(state, end - first - 1, s->f.X + (first + 1) * D, s->f.y + first + 1, s->f.c + first + 1, NULL, &e),
        ANYGP_OK);
    assert_int_equal(ops->finish(state, &out, &r, &e), ANYGP_OK);
    ops->close(state);
    (*p)->ops->free(*p);
    *p = out;
    return r.after;
}

/* With Gaussian noise to 1e-8.  Of other likelihoods the old rows keep the Gaussians that they had: close. */
static void updates_equal_a_batch_in_that_order(void **unused)
{
    (void)unused;
    enum { FIRST = 14, SECOND = 19 };
    int64_t order[N];
    for (int i = 0; i < N; i++) order[i] = i;
    for (int l = 0; l < 3; l++) {
        scene s;
        anygp_error e;
        double cell[4][NEW], near = l == 0 ? 1e-8 : 0.1, *work;
        open_scene(&s, kernels[l % 2], likelihoods[l], FEW);
        s.f.model->close(s.state);
        memcpy(s.f.X + 20 * D, s.f.X + 5 * D, D * sizeof(double));
        s.f.p.near.given = order;
        open_rows(&s.f, N);
        s.state = s.f.state;
        double all = value_of(&s, 1e-4, NULL);
        posterior *batch = posterior_at(&s, 1e-4);
        s.f.model->close(s.state);
        open_rows(&s.f, FIRST);
        s.state = s.f.state;
        double value = value_of(&s, 1e-4, NULL);
        posterior *online = posterior_at(&s, 1e-4);
        value += update_with(&online, &s, FIRST, SECOND);
        value += update_with(&online, &s, SECOND, N);
        check_close(value, all, near);
        assert_int_equal(online->n, N - 2);
        work = malloc((size_t)batch->ops->work_doubles(batch, NEW) * sizeof *work);
        assert_int_equal(batch->ops->marginal(batch, NEW, s.f.new, D, work, cell[0], cell[1], &e), ANYGP_OK);
        assert_int_equal(online->ops->marginal(online, NEW, s.f.new, D, work, cell[2], cell[3], &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++)
            check_close(cell[2][i], cell[0][i], near), check_close(cell[3][i], cell[1][i], near);
        free(work);
        batch->ops->free(batch);
        online->ops->free(online);
        teardown(&s.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_is_that_of_the_dense_prior),
        cmocka_unit_test(q_is_at_the_maximum),
        cmocka_unit_test(gradient_equals_central_differences),
        cmocka_unit_test(with_gaussian_noise_it_is_below_the_evidence_and_has_its_mean),
        cmocka_unit_test(predictions_are_those_of_neighbours_under_q),
        cmocka_unit_test(sums_of_sampled_gradients_over_all_blocks_are_the_batch_gradient),
        cmocka_unit_test(steps_lead_to_the_largest_bound),
        cmocka_unit_test(stopped_early_it_is_the_model_of_the_places_seen),
        cmocka_unit_test(joint_predictions_are_those_of_the_dense_prior_under_q),
        cmocka_unit_test(updates_equal_a_batch_in_that_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
