/* lagp: designs against a plain recomputation of every candidate in every round, predictions against dense matrices. */
#include "dense_prior.h"
#include "model_scene.h"

#include "model/local/lagp.h"
#include "model/local/lagp_posterior.h"

enum { CANDIDATES = 100, SIZE = 14, BEGIN = 4 };
#define KERNEL "matern32(variance=1.3,lengthscale=[0.5,0.9])"

/* --------------------------------------------------------------------------- designs, the plain way */

typedef struct field {
    kernel *kernel[LAGP_KERNELS];
    double X[CANDIDATES * D], y[CANDIDATES], noise[CANDIDATES], weight[D], x[D];
    lagp_near near;
} field;

static void field_open(field *f, uint64_t seed)
{
    kernel_input in[D];
    anygp_error e;
    *f = (field){.x = {0.1, -0.2}};
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(KERNEL, in, D, D, &f->kernel[0], &e), ANYGP_OK);
    f->kernel[1] = lagp_stretched(f->kernel[0], exp(-LAGP_STEP));
    f->kernel[2] = lagp_stretched(f->kernel[0], exp(LAGP_STEP));
    fill_normal(seed, CANDIDATES * D, f->X);
    fill_normal(seed + 1, CANDIDATES, f->y);
    kernel_closeness(f->kernel[0], kernel_values(f->kernel[0]), f->weight);
    for (int i = 0; i < CANDIDATES; i++) f->noise[i] = 0.02 * (1 + i % 3);
    for (int i = 0; i < CANDIDATES; i++) { /* nearest first */
        int best = i;
        for (int j = i; j < CANDIDATES; j++) {
            double to = 0, least = 0;
            for (int a = 0; a < D; a++) {
                to += pow(f->weight[a] * (f->X[j * D + a] - f->x[a]), 2);
                least += pow(f->weight[a] * (f->X[best * D + a] - f->x[a]), 2);
            }
            if (to < least) best = j;
        }
        for (int a = 0; a < D; a++) {
            double swap = f->X[i * D + a];
            f->X[i * D + a] = f->X[best * D + a], f->X[best * D + a] = swap;
        }
    }
    f->near =
        (lagp_near){{f->kernel[0], f->kernel[1], f->kernel[2]}, CANDIDATES, D, f->X, f->y, f->noise, f->weight, f->x};
}

static void field_close(field *f)
{
    for (int i = 0; i < LAGP_KERNELS; i++) kernel_free(f->kernel[i]);
}

/* The rows of a design under kernel k: G^-1, y, their covariances with f(x). */
typedef struct rows_of {
    const field *f;
    const kernel *kernel;
    int n;
    const int32_t *row;
    real G[SIZE * SIZE], y[SIZE], kx[SIZE], log_density;
} rows_of;

static rows_of invert(const field *f, int k, int n, const int32_t *row)
{
    rows_of r = {.f = f, .kernel = f->kernel[k], .n = n, .row = row};
    for (int i = 0; i < n; i++) {
        const double *a = f->X + row[i] * D;
        r.y[i] = f->y[row[i]], r.kx[i] = kernel_reference(r.kernel, a, f->x, false);
        for (int j = 0; j < n; j++)
            r.G[i * n + j] = kernel_reference(r.kernel, a, f->X + row[j] * D, i == j) + (i == j ? f->noise[row[i]] : 0);
    }
    real logdet = dense_invert(n, r.G);
    r.log_density = dense_log_normal(n, r.G, logdet, r.y);
    return r;
}

/* f at z given them: its variance, its mean, its covariance with f(x). */
typedef struct known {
    real variance, mean, with_x;
} known;

static known given(const rows_of *r, const double *z)
{
    real kz[SIZE];
    for (int i = 0; i < r->n; i++) kz[i] = kernel_reference(r->kernel, r->f->X + r->row[i] * D, z, false);
    return (known){.variance = kernel_reference(r->kernel, z, z, true) - dense_quadratic(r->n, r->G, kz, kz),
                   .mean = dense_quadratic(r->n, r->G, kz, r->y),
                   .with_x = kernel_reference(r->kernel, z, r->f->x, false) - dense_quadratic(r->n, r->G, kz, r->kx)};
}

static real gain_of(const rows_of *r, const double *z, real noise)
{
    known c = given(r, z);
    return c.with_x * c.with_x / (c.variance + noise);
}

static bool contains(int n, const int32_t *row, int i)
{
    bool there = false;
    for (int j = 0; j < n; j++) there |= row[j] == i;
    return there;
}

static int plain_alc(const field *f, int n, const int32_t *row)
{
    int best = -1;
    real most = -1;
    rows_of r = invert(f, 0, n, row);
    for (int i = 0; i < CANDIDATES; i++) {
        if (contains(n, row, i)) continue;
        real gain = gain_of(&r, f->X + i * D, f->noise[i]);
        if (gain > most) best = i, most = gain;
    }
    return best;
}

static int plain_mspe(const field *f, int n, const int32_t *row)
{
    real l[3], mu[3], h = LAGP_STEP, least = INFINITY;
    int best = -1;
    rows_of r[3];
    for (int k = 0; k < 3; k++) r[k] = invert(f, k, n, row), l[k] = r[k].log_density, mu[k] = given(&r[k], f->x).mean;
    real information = fmaxl(0, -(l[2] - 2 * l[0] + l[1]) / (h * h)), dmean = (mu[2] - mu[1]) / (2 * h);
    real variance = given(&r[0], f->x).variance;
    for (int i = 0; i < CANDIDATES; i++) {
        if (contains(n, row, i)) continue;
        known c[3];
        for (int k = 0; k < 3; k++) c[k] = given(&r[k], f->X + i * D);
        real t = c[0].variance + f->noise[i], dt = (c[2].variance - c[1].variance) / (2 * h) / t;
        real dmu = (c[2].mean - c[1].mean) / (2 * h), with = information + dt * dt / 2 + dmu * dmu / t;
        real error = variance - c[0].with_x * c[0].with_x / t + dmean * dmean / with;
        if (error < least) best = i, least = error;
    }
    return best;
}

static void point_at(const field *f, int from, real far, double *z)
{
    for (int a = 0; a < D; a++) z[a] = f->X[from * D + a] + (double)far * (f->X[from * D + a] - f->x[a]);
}

static int plain_ray(const field *f, int n, const int32_t *row)
{
    int rank = (n - BEGIN) % (int)sqrt(n), from = 0, best = -1;
    double z[D], golden = (sqrt(5) - 1) / 2, low = 0, high = 10;
    rows_of r = invert(f, 0, n, row);
    for (;; from++)
        if (!contains(n, row, from) && rank-- == 0) break;
    for (int i = 0; i < 11; i++) { /* twelve looks, of which two are there at the start */
        double a = high - golden * (high - low), b = low + golden * (high - low);
        point_at(f, from, a, z);
        real ga = gain_of(&r, z, f->noise[from]);
        point_at(f, from, b, z);
        real gb = gain_of(&r, z, f->noise[from]);
        point_at(f, from, ga >= gb ? a : b, z);
        if (ga >= gb)
            high = b;
        else
            low = a;
    }
    real least = INFINITY;
    for (int i = 0; i < CANDIDATES; i++) {
        real sum = 0;
        for (int a = 0; a < D; a++) sum += powl(f->weight[a] * (f->X[i * D + a] - z[a]), 2);
        if (!contains(n, row, i) && sum < least) best = i, least = sum;
    }
    return best;
}

static void check_designs(lagp_design kind, int (*plain)(const field *f, int n, const int32_t *row))
{
    lagp_kind k = {.design = kind, .start = BEGIN, .close = CANDIDATES};
    double *room = malloc((size_t)design_doubles(&k, CANDIDATES, D, SIZE) * sizeof *room);
    int other = 0;
    for (uint64_t seed = 1; seed < 8; seed += 2) {
        field f;
        int32_t chosen[SIZE];
        int64_t count;
        anygp_error e;
        field_open(&f, seed);
        assert_int_equal(design_choose(&k, &f.near, SIZE, room, chosen, &count, &e), ANYGP_OK);
        assert_int_equal(count, SIZE);
        for (int n = 0; n < SIZE; n++) assert_int_equal(chosen[n], n < BEGIN ? n : plain(&f, n, chosen));
        for (int n = 0; n < SIZE; n++) other += chosen[n] >= SIZE;
        field_close(&f);
    }
    assert_true(other > 3); /* it does not just take the nearest */
    free(room);
}

static void alc_leaves_the_least_variance_in_every_round(void **unused)
{
    (void)unused;
    check_designs(DESIGN_ALC, plain_alc);
}

static void mspe_has_the_least_error_in_every_round(void **unused)
{
    (void)unused;
    check_designs(DESIGN_MSPE, plain_mspe);
}

static void rays_end_at_the_candidate_nearest_to_their_best_place(void **unused)
{
    (void)unused;
    check_designs(DESIGN_RAY, plain_ray);
}

/* ------------------------------------------------------------------------------------------ predictions */

static const scene_kind weighted = {"matern32(variance=0.7,lengthscale=1.1)", NULL, MEAN_ZERO, true};

enum { COMPONENTS = 64 };

typedef struct predictions {
    double X[NEW * D], mean[NEW * COMPONENTS], variance[NEW * COMPONENTS];
    double noise[NEW * COMPONENTS], weight[NEW * COMPONENTS];
    int components; /* where weights and noise are known, else 1 */
} predictions;

static predictions predict(const char *expression, nearness near, scene *s)
{
    predictions p;
    posterior *q;
    anygp_error e;
    double jitter = 0;
    const model_ops *m;
    assert_int_equal(model_make(expression, &m, &e), ANYGP_OK);
    scene_open(s, m, &weighted);
    m->close(s->state);
    s->p.near = near;
    assert_int_equal(m->open(m, &s->p, &s->h, &s->state, &e), ANYGP_OK);
    assert_int_equal(m->posterior(s->state, &s->h, &jitter, &q, &e), ANYGP_OK);
    assert_null(q->ops->joint);
    fill_normal(9, NEW * D, p.X);
    double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
    p.components = q->components > 1 ? (int)q->components : 1;
    assert_in_range(p.components, 1, COMPONENTS);
    assert_int_equal(q->ops->marginal(q, NEW, p.X, D, work, p.mean, p.variance, &e), ANYGP_OK);
    if (p.components > 1) {
        assert_int_equal(q->ops->marginal_noise(q, NEW, p.X, D, NULL, work, p.mean, p.variance, p.noise, &e), ANYGP_OK);
        q->ops->weights(q, NEW, p.X, D, work, p.weight);
    }
    free(work);
    q->ops->free(q);
    scene_close(s);
    s->model = NULL;
    model_free(m);
    return p;
}

/* By all rows, with factors of the length-scale and the noise: mean, variance, y'G^-1 y, log det. */
typedef struct whole {
    real mean, variance, psi, logdet;
} whole;

static whole by_all_rows(const scene *s, const double *x, real l, real g)
{
    static real G[ROWS * ROWS], y[ROWS], k[ROWS];
    real length = 1.1L * expl(l), noise = 0.07L * expl(g), root3 = sqrtl(3);
    for (int i = 0; i < ROWS; i++) {
        real r = root3 * hypotl(s->X[i * D] - x[0], s->X[i * D + 1] - x[1]) / length;
        k[i] = 0.7L * (1 + r) * expl(-r), y[i] = s->y[i];
        for (int j = 0; j < ROWS; j++) {
            r = root3 * hypotl(s->X[i * D] - s->X[j * D], s->X[i * D + 1] - s->X[j * D + 1]) / length;
            G[i * ROWS + j] = 0.7L * (1 + r) * expl(-r) + (i == j ? noise / s->w[i] : 0);
        }
    }
    real logdet = dense_invert(ROWS, G);
    return (whole){dense_quadratic(ROWS, G, k, y), 0.7L - dense_quadratic(ROWS, G, k, k),
                   dense_quadratic(ROWS, G, y, y), logdet};
}

static void a_design_of_all_rows_is_exact(void **unused)
{
    (void)unused;
    scene s;
    predictions p = predict("lagp()", (nearness){.learn = ROWS - 1, .predict = ROWS}, &s);
    for (int i = 0; i < NEW; i++) {
        whole w = by_all_rows(&s, p.X + i * D, 0, 0);
        check_close(p.mean[i], (double)w.mean, 1e-9);
        check_close(p.variance[i], (double)w.variance, 1e-9);
    }
}

/* Density of Student's t, and of row i of a mixture; noise: of y, else of f. */
static real student_density(real x, real m, real scale)
{
    real z = x / scale;
    return expl(lgammal((m + 1) / 2) - lgammal(m / 2) - (m + 1) / 2 * log1pl(z * z / m)) /
           (sqrtl(m * acosl(-1)) * scale);
}

static real mixture_density(const predictions *p, int i, real x, bool noise)
{
    real sum = 0;
    for (int s = 0; s < p->components; s++) {
        int at = i + s * NEW;
        real v = p->variance[at] + (noise ? p->noise[at] : 0), d = x - p->mean[at];
        sum += p->weight[at] * expl(-d * d / (2 * v)) / sqrtl(2 * acosl(-1) * v);
    }
    return sum;
}

/* Gramacy and Apley 2015, eq. 4: at the centre and far out in the tails, and its variance. */
static void an_integrated_scale_gives_students_t(void **unused)
{
    (void)unused;
    scene s;
    predictions p = predict("lagp(scale=integrated)", (nearness){.learn = ROWS - 1, .predict = ROWS}, &s);
    for (int i = 0; i < NEW; i++) {
        whole w = by_all_rows(&s, p.X + i * D, 0, 0);
        real of_f = sqrtl(w.psi / ROWS * w.variance), of_y = sqrtl(w.psi / ROWS * (w.variance + 0.07L)), moment = 0;
        for (int z = -12; z <= 12; z++) {
            real f = student_density(z * of_f, ROWS, of_f), y = student_density(z * of_y, ROWS, of_y);
            check_close((double)(mixture_density(&p, i, w.mean + z * of_f, false) / f), 1, 1e-6);
            check_close((double)(mixture_density(&p, i, w.mean + z * of_y, true) / y), 1, 1e-6);
        }
        for (int j = 0; j < p.components; j++) moment += p.weight[i + j * NEW] * p.variance[i + j * NEW];
        check_close(p.mean[i], (double)w.mean, 1e-9);
        check_close((double)moment, (double)(w.psi / (ROWS - 2) * w.variance), 1e-6);
    }
}

/* The hardest cases: few degrees of freedom. */
static void students_t_is_a_mixture_of_normals(void **unused)
{
    (void)unused;
    for (int m = STUDENT_LEAST; m < 80; m += m < 10 ? 1 : 7) {
        double variance[STUDENT_MOST], weight[STUDENT_MOST];
        int S = (int)student_count(m);
        real all = 0, moment = 0;
        student_components(m, S, variance, weight);
        for (int s = 0; s < S; s++) all += weight[s], moment += weight[s] * variance[s];
        check_close((double)all, 1, 1e-14);
        check_close((double)moment, (double)m / (m - 2), 1e-5);
        for (int z = 0; z <= 12; z++) {
            real sum = 0;
            for (int s = 0; s < S; s++)
                sum += weight[s] * expl(-(real)(z * z) / (2 * variance[s])) / sqrtl(2 * acosl(-1) * variance[s]);
            check_close((double)(sum / student_density(z, m, 1)), 1, 1e-5);
        }
    }
}

/* The largest log evidence and prior of the two factors, by halving steps along each of them. */
static void plain_factors(const scene *s, real *l, real *g)
{
    real at[2] = {0, 0}, best = -INFINITY;
    for (real step = 0.5L; step > 1e-4L;) {
        bool moved = false;
        for (int i = 0; i < 4; i++) {
            real to[2] = {at[0], at[1]};
            to[i / 2] += i % 2 ? step : -step;
            whole w = by_all_rows(s, s->X, to[0], to[1]);
            real value = -(w.psi + w.logdet + to[0] * to[0] + to[1] * to[1]) / 2;
            if (value > best) best = value, at[0] = to[0], at[1] = to[1], moved = true;
        }
        if (!moved) step /= 2;
    }
    *l = at[0], *g = at[1];
}

static void local_factors_are_those_of_the_largest_evidence(void **unused)
{
    (void)unused;
    scene s;
    real l, g;
    predictions p = predict("lagp(local=yes)", (nearness){.learn = ROWS - 1, .predict = ROWS}, &s);
    plain_factors(&s, &l, &g);
    for (int i = 0; i < NEW; i++) {
        whole w = by_all_rows(&s, p.X + i * D, l, g);
        check_close(p.mean[i], (double)w.mean, 1e-4);
        check_close(p.variance[i], (double)w.variance, 1e-4);
    }
}

static void predictions_rest_on_the_design(void **unused)
{
    (void)unused;
    scene s;
    predictions nn = predict("lagp(design=nn)", (nearness){.learn = 8}, &s),
                alc = predict("lagp(start=3)", (nearness){.learn = 8}, &s);
    double more = 0;
    for (int i = 0; i < NEW; i++) more += nn.variance[i] - alc.variance[i]; /* alc leaves less */
    assert_true(more > 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alc_leaves_the_least_variance_in_every_round),
                                       cmocka_unit_test(mspe_has_the_least_error_in_every_round),
                                       cmocka_unit_test(rays_end_at_the_candidate_nearest_to_their_best_place),
                                       cmocka_unit_test(a_design_of_all_rows_is_exact),
                                       cmocka_unit_test(an_integrated_scale_gives_students_t),
                                       cmocka_unit_test(students_t_is_a_mixture_of_normals),
                                       cmocka_unit_test(local_factors_are_those_of_the_largest_evidence),
                                       cmocka_unit_test(predictions_rest_on_the_design)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
