/* Nearest neighbours against their definition with dense matrices: the pseudo-likelihood, leave-one-out, predictions. */
#include "dense_prior.h"
#include "model_scene.h"

enum { FEW = 5, P_MOST = 3 };

static const scene_kind plain = {"rbf(variance=1.3,lengthscale=[0.8,1.4])", NULL, MEAN_ZERO, false},
                        weighted = {"matern32(variance=0.7,lengthscale=1.1)", NULL, MEAN_ZERO, true},
                        sloping = {"matern52(variance=0.7,lengthscale=1.1)", NULL, MEAN_LINEAR, false},
                        sloping_weighted = {"matern52(variance=0.7,lengthscale=1.1)", NULL, MEAN_LINEAR, true};

static void open_near(scene *s, const scene_kind *kind, nearness near)
{
    anygp_error e;
    scene_open(s, &model_nene, kind);
    s->model->close(s->state);
    s->p.near = near;
    assert_int_equal(model_open(s->model, &s->p, &s->h, &s->state, &e), ANYGP_OK);
}

/* Without the jitter that the definitions do not have. */
static double objective(scene *s, double *gradient)
{
    double jitter = 0, value;
    assert_true(s->model->evaluate(s->state, &s->h, false, &jitter, &value, gradient));
    return value;
}

/* --------------------------------------------------------------------------------- the other road */

static real distance(const scene *s, const double *x, const double *z)
{
    double weight[D];
    real sum = 0;
    kernel_closeness(s->h.kernel, kernel_values(s->h.kernel), weight);
    for (int d = 0; d < D; d++) sum += powl(weight[d] * (x[d] - z[d]), 2);
    return sum;
}

/* The k rows nearest to x, other than row `but`. */
static void nearest(const scene *s, const double *x, int but, int k, int *near)
{
    bool taken[ROWS] = {false};
    for (int a = 0; a < k; a++) {
        int best = -1;
        for (int i = 0; i < ROWS; i++)
            if (i != but && !taken[i] && (best < 0 || distance(s, x, s->X + i * D) < distance(s, x, s->X + best * D)))
                best = i;
        taken[near[a] = best] = true;
    }
}

/* f(x) given y at n rows, without the prior mean: b[n], and what is left of its variance.  noise[n]: of each row. */
static real given(const scene *s, const double *x, int n, const int *row, const real *noise, real *b)
{
    static real K[ROWS * ROWS], k[ROWS];
    for (int i = 0; i < n; i++) {
        k[i] = kernel_reference(s->h.kernel, x, s->X + row[i] * D, false);
        for (int j = 0; j < n; j++)
            K[i * n + j] =
                kernel_reference(s->h.kernel, s->X + row[i] * D, s->X + row[j] * D, i == j) + (i == j ? noise[i] : 0);
    }
    dense_invert(n, K);
    for (int i = 0; i < n; i++) {
        b[i] = 0;
        for (int j = 0; j < n; j++) b[i] += K[i * n + j] * k[j];
    }
    real left = kernel_reference(s->h.kernel, x, x, true);
    for (int i = 0; i < n; i++) left -= b[i] * k[i];
    return left;
}

/* Row i given its nearest ones: the residual of y in e, of the mean's functions in h[p], returns the variance of y. */
static real residual(const scene *s, int i, real *e, real *h)
{
    int near[FEW];
    real noise[FEW], b[FEW];
    double H[ROWS * P_MOST];
    int p = (int)s->mean.p;
    nearest(s, s->X + i * D, i, FEW, near);
    for (int j = 0; j < FEW; j++) noise[j] = s->h.like[0] / s->w[near[j]];
    real left = given(s, s->X + i * D, FEW, near, noise, b);
    basis_fill(&s->mean, ROWS, s->X, D, H, p, 1);
    *e = s->y[i];
    for (int j = 0; j < FEW; j++) *e -= b[j] * s->y[near[j]];
    for (int a = 0; a < p; a++) {
        h[a] = H[i * p + a];
        for (int j = 0; j < FEW; j++) h[a] -= b[j] * H[near[j] * p + a];
    }
    return left + s->h.like[0] / s->w[i];
}

/* C[n,n], the covariance of n residuals e that are independent given the mean's coefficients, d of each, inverted; returns its log det. */
static real invert_residuals(const scene *s, int n, const real *d, real h[][P_MOST], real *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i * n + j] = i == j ? d[i] : 0;
            for (int a = 0; a < s->mean.p; a++) C[i * n + j] += s->mean.B * h[i][a] * h[j][a];
        }
    return dense_invert(n, C);
}

/* The residuals of all rows but one. */
static real residuals(const scene *s, int but, int *n, real *C, real *e, real h[][P_MOST])
{
    real d[ROWS];
    *n = 0;
    for (int i = 0; i < ROWS; i++)
        if (i != but) d[*n] = residual(s, i, &e[*n], h[*n]), ++*n;
    return invert_residuals(s, *n, d, h, C);
}

/* The residuals of all rows, with this one in the place of row `at`. */
static void residuals_with(const scene *s, int at, real left, real y, const real *own, int *n, real *C, real *e,
                           real h[][P_MOST])
{
    real d[ROWS];
    *n = ROWS;
    for (int i = 0; i < ROWS; i++) d[i] = residual(s, i, &e[i], h[i]);
    d[at] = left, e[at] = y;
    memcpy(h[at], own, sizeof *h);
    invert_residuals(s, ROWS, d, h, C);
}

static real weights_share(const scene *s)
{
    real sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum -= 0.5L * ((s->w[i] - 1) * logl(6.283185307179586476925L * s->h.like[0]) + logl(s->w[i]));
    return sum;
}

/* ------------------------------------------------------------------------------------------ theorems */

static void objective_is_the_sum_over_rows_given_the_nearest_others(void **unused)
{
    static real C[ROWS * ROWS], e[ROWS], h[ROWS][P_MOST];
    const scene_kind *const kinds[] = {&plain, &weighted, &sloping};
    (void)unused;
    for (int k = 0; k < 3; k++) {
        scene s;
        int n;
        open_near(&s, kinds[k], (nearness){.learn = FEW, .predict = FEW});
        real logdet = residuals(&s, -1, &n, C, e, h);
        check_close(objective(&s, NULL), (double)(dense_log_normal(n, C, logdet, e) + weights_share(&s)), 1e-9);
        scene_close(&s);
    }
}

/* Of every row, in the order of the rows. */
typedef struct left_out {
    double y[ROWS], mean[ROWS], variance[ROWS], weight[ROWS];
} left_out;

static left_out leave_out(scene *s)
{
    left_out found, out;
    leave_one_out l = {.y = found.y, .mean = found.mean, .variance = found.variance, .weight = found.weight};
    double jitter = 0;
    posterior *p = NULL;
    anygp_error e;
    assert_int_equal(s->model->posterior(s->state, &s->h, &jitter, &p, &e), ANYGP_OK);
    assert_int_equal(s->model->loo_after(p, &s->p, &l, &e), ANYGP_OK);
    assert_int_equal(l.n, ROWS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            if (found.y[j] == s->y[i])
                out.y[i] = found.y[j], out.mean[i] = found.mean[j], out.variance[i] = found.variance[j];
    p->ops->free(p);
    return out;
}

static void the_objective_is_the_leave_one_out_score(void **unused)
{
    (void)unused;
    scene s;
    double sum = 0;
    open_near(&s, &plain, (nearness){.learn = FEW, .predict = FEW});
    left_out l = leave_out(&s);
    for (int i = 0; i < ROWS; i++) {
        double d = l.y[i] - l.mean[i];
        sum -= 0.5 * (log(6.283185307179586 * l.variance[i]) + d * d / l.variance[i]);
    }
    check_close(sum, objective(&s, NULL), 1e-10);
    scene_close(&s);
}

/* One of the two rows that a row of weight 2 stands for: the other stays. */
static void a_row_of_weight_two_loses_one(void **unused)
{
    (void)unused;
    scene s;
    open_near(&s, &weighted, (nearness){.learn = FEW, .predict = FEW});
    left_out l = leave_out(&s);
    for (int i = 1; i < ROWS; i += 2) {
        int near[FEW + 1];
        real noise[FEW + 1], b[FEW + 1], mean = 0;
        nearest(&s, s.X + i * D, i, FEW, near);
        for (int j = 0; j < FEW; j++) noise[j] = s.h.like[0] / s.w[near[j]];
        near[FEW] = i, noise[FEW] = s.h.like[0];
        real left = given(&s, s.X + i * D, FEW + 1, near, noise, b);
        for (int j = 0; j <= FEW; j++) mean += b[j] * s.y[near[j]];
        check_close(l.mean[i], (double)mean, 1e-9);
        check_close(l.variance[i], (double)(left + s.h.like[0]), 1e-9);
    }
    scene_close(&s);
}

/* Row i with one less of its weight given its nearest ones and, beside them, what is left of it: the residual of the one that is left out,
   of the mean's functions in h[p], returns the variance of y. */
static real residual_of_one(const scene *s, int i, real *e, real *h)
{
    int near[FEW + 1], n = FEW, p = (int)s->mean.p;
    real noise[FEW + 1], b[FEW + 1];
    double H[ROWS * P_MOST];
    nearest(s, s->X + i * D, i, FEW, near);
    for (int j = 0; j < FEW; j++) noise[j] = s->h.like[0] / s->w[near[j]];
    if (s->w[i] > 1) near[n] = i, noise[n++] = s->h.like[0] / (s->w[i] - 1);
    real left = given(s, s->X + i * D, n, near, noise, b);
    basis_fill(&s->mean, ROWS, s->X, D, H, p, 1);
    *e = s->y[i];
    for (int j = 0; j < n; j++) *e -= b[j] * s->y[near[j]];
    for (int a = 0; a < p; a++) {
        h[a] = H[i * p + a];
        for (int j = 0; j < n; j++) h[a] -= b[j] * H[near[j] * p + a];
    }
    return left + s->h.like[0];
}

/* What the other n residuals e, of covariance C^-1 and with the mean's functions h, say of the residual r of row i, of variance d. */
static void check_left_out(const scene *s, const left_out *l, int i, real r, real d, const real *own, int n,
                           const real *C, const real *e, real h[][P_MOST])
{
    real k[ROWS], prior = d;
    for (int j = 0; j < n; j++) {
        k[j] = 0;
        for (int a = 0; a < s->mean.p; a++) k[j] += s->mean.B * own[a] * h[j][a];
    }
    for (int a = 0; a < s->mean.p; a++) prior += s->mean.B * own[a] * own[a];
    check_close(l->y[i] - l->mean[i], (double)(r - dense_quadratic(n, C, k, e)), 1e-9);
    check_close(l->variance[i], (double)(prior - dense_quadratic(n, C, k, k)), 1e-9);
}

/* The coefficients then know of a row of weight 2 what one of weight 1 tells given its nearest ones. */
static void a_row_of_weight_two_loses_one_of_the_two_that_the_mean_has_seen(void **unused)
{
    static real C[ROWS * ROWS], e[ROWS], h[ROWS][P_MOST], own[P_MOST];
    (void)unused;
    scene s;
    open_near(&s, &sloping_weighted, (nearness){.learn = FEW, .predict = FEW});
    left_out l = leave_out(&s);
    for (int i = 0; i < ROWS; i++) {
        int n;
        double weight = s.w[i];
        real r, d = residual_of_one(&s, i, &r, own);
        if (weight > 1) {
            s.w[i] = weight - 1; /* in its own conditional only: no row is its own neighbour, and others keep theirs */
            real fresh[P_MOST], y, left = residual(&s, i, &y, fresh);
            s.w[i] = weight;
            residuals_with(&s, i, left, y, fresh, &n, C, e, h);
        } else {
            residuals(&s, i, &n, C, e, h);
        }
        check_left_out(&s, &l, i, r, d, own, n, C, e, h);
    }
    scene_close(&s);
}

/* The mean's coefficients forget the row too. */
static void leave_one_out_with_a_mean_learns_it_from_the_others(void **unused)
{
    static real C[ROWS * ROWS], e[ROWS], h[ROWS][P_MOST], own[P_MOST];
    (void)unused;
    scene s;
    open_near(&s, &sloping, (nearness){.learn = FEW, .predict = FEW});
    left_out l = leave_out(&s);
    for (int i = 0; i < ROWS; i++) {
        int n;
        real r, d = residual(&s, i, &r, own);
        residuals(&s, i, &n, C, e, h);
        check_left_out(&s, &l, i, r, d, own, n, C, e, h);
    }
    scene_close(&s);
}

static void a_prediction_is_the_exact_model_of_the_nearest_rows(void **unused)
{
    (void)unused;
    scene s;
    posterior *p;
    anygp_error e;
    double X[NEW * D], mean[NEW], variance[NEW], jitter = 0;
    open_near(&s, &weighted, (nearness){.learn = FEW, .predict = FEW});
    assert_int_equal(s.model->posterior(s.state, &s.h, &jitter, &p, &e), ANYGP_OK);
    assert_null(p->ops->joint);
    fill_normal(9, NEW * D, X);
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, X, D, work, mean, variance, &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        int near[FEW];
        real noise[FEW], b[FEW], m = 0;
        nearest(&s, X + i * D, -1, FEW, near);
        for (int j = 0; j < FEW; j++) noise[j] = s.h.like[0] / s.w[near[j]];
        real left = given(&s, X + i * D, FEW, near, noise, b);
        for (int j = 0; j < FEW; j++) m += b[j] * s.y[near[j]];
        check_close(mean[i], (double)m, 1e-9);
        check_close(variance[i], (double)left, 1e-9);
    }
    free(work);
    p->ops->free(p);
    scene_close(&s);
}

/* With a mean, whose coefficients come from all rows; the new rows come in two parts. */
static void check_update(const scene_kind *kind)
{
    enum { FIRST = 30, MIDDLE = 34 };
    const nearness near = {.learn = FEW, .predict = FEW};
    const update_ops *ops = model_nene.update;
    scene s;
    posterior *all, *some, *updated;
    anygp_error e;
    update_report r;
    void *state;
    double X[NEW * D], cell[4][NEW], jitter = 0;
    open_near(&s, kind, near);
    double whole = objective(&s, NULL);
    assert_int_equal(s.model->posterior(s.state, &s.h, &jitter, &all, &e), ANYGP_OK);
    s.model->close(s.state);
    s.rows.n = s.rows.total = FIRST;
    assert_int_equal(model_open(s.model, &s.p, &s.h, &s.state, &e), ANYGP_OK);
    double before = objective(&s, NULL);
    assert_int_equal(s.model->posterior(s.state, &s.h, &jitter, &some, &e), ANYGP_OK);
    assert_int_equal(ops->open(&model_nene, some, &s.like, &state, &e), ANYGP_OK);
    assert_int_equal(ops->add(state, MIDDLE - FIRST, s.X + FIRST * D, s.y + FIRST, s.w + FIRST, NULL, &e), ANYGP_OK);
    assert_int_equal(ops->add(state, ROWS - MIDDLE, s.X + MIDDLE * D, s.y + MIDDLE, s.w + MIDDLE, NULL, &e), ANYGP_OK);
    assert_int_equal(ops->finish(state, &updated, &r, &e), ANYGP_OK);
    check_close(before + r.after, whole, 1e-9);
    check_close(r.rows, ROWS - FIRST, 0);
    fill_normal(9, NEW * D, X);
    double *work = malloc((size_t)all->ops->work_doubles(all, NEW) * sizeof *work);
    assert_int_equal(all->ops->marginal(all, NEW, X, D, work, cell[0], cell[1], &e), ANYGP_OK);
    assert_int_equal(updated->ops->marginal(updated, NEW, X, D, work, cell[2], cell[3], &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) check_close(cell[0][i], cell[2][i], 1e-9), check_close(cell[1][i], cell[3][i], 1e-9);
    free(work);
    ops->close(state);
    posteriors_free(3, (posterior *[]){all, some, updated});
    s.rows.n = ROWS;
    scene_close(&s);
}

static void an_update_equals_the_model_of_all_rows(void **unused)
{
    (void)unused;
    check_update(&plain);
    check_update(&sloping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objective_is_the_sum_over_rows_given_the_nearest_others),
        cmocka_unit_test(the_objective_is_the_leave_one_out_score),
        cmocka_unit_test(a_row_of_weight_two_loses_one),
        cmocka_unit_test(a_row_of_weight_two_loses_one_of_the_two_that_the_mean_has_seen),
        cmocka_unit_test(leave_one_out_with_a_mean_learns_it_from_the_others),
        cmocka_unit_test(a_prediction_is_the_exact_model_of_the_nearest_rows),
        cmocka_unit_test(an_update_equals_the_model_of_all_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
