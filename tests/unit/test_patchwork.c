/* patchwork against one dense Gaussian vector: all cells' rows and the differences at their borders, conditioned on these being 0. */
#include "damage_support.h"
#include "dense.h"
#include "model_scene.h"

#include "model/local/patchwork.h"

enum { POINTS_MOST = 64, MOST = ROWS + POINTS_MOST };
static const scene_kind kinds[] = {
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])", NULL, MEAN_ZERO, false},
    {"matern32(variance=0.7,lengthscale=1.1) + white(variance=0.05)", NULL, MEAN_ZERO, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct dense {
    scene s;
    int64_t q, block[ROWS], at[NEW];
    border_points b;
    double new[NEW * D];
    real C[POINTS_MOST * POINTS_MOST], K[MOST * MOST], z[MOST]; /* inverses; the rows' y, then zeros */
    real log_C, log_K;
} dense;

static const double jitter = 1e-6;

/* Prior covariance of f in cell a at x and f in cell b at z. */
static real in_cells(const dense *d, int64_t a, const double *x, int64_t b, const double *z)
{
    return a == b ? kernel_reference(d->s.h.kernel, x, z, false) : 0;
}

/* Of f in cell a at x and difference p; of differences p and q. */
static real with_border(const dense *d, int64_t a, const double *x, int64_t p)
{
    const double *b = d->b.X + p * D, *side = d->b.side + 2 * p;
    return in_cells(d, a, x, (int64_t)side[0], b) - in_cells(d, a, x, (int64_t)side[1], b);
}

static real of_borders(const dense *d, int64_t p, int64_t q)
{
    const double *b = d->b.X + p * D, *side = d->b.side + 2 * p;
    return with_border(d, (int64_t)side[0], b, q) - with_border(d, (int64_t)side[1], b, q);
}

static real mean_diagonal(const dense *d)
{
    real sum = 0;
    for (int64_t p = 0; p < d->q; p++) sum += of_borders(d, p, p);
    return sum / d->q;
}

/* The experts' own jitter is relative to the mean diagonal that their covariance has where all weights are 1. */
static real own_jitter(const dense *d, int64_t cell)
{
    real sum = 0, n = 0;
    for (int i = 0; i < ROWS; i++) {
        if (d->block[i] != cell) continue;
        const double *x = d->s.X + i * D;
        sum += kernel_reference(d->s.h.kernel, x, x, true) + d->s.h.like[0], n++;
    }
    return jitter * sum / n;
}

static void fill(dense *d)
{
    int n = ROWS + (int)d->q;
    real nugget = jitter * mean_diagonal(d);
    for (int i = 0; i < n; i++) {
        d->z[i] = i < ROWS ? d->s.y[i] : 0;
        for (int j = 0; j < n; j++) {
            int64_t p = i - ROWS, q = j - ROWS;
            const double *x = d->s.X + i * D, *z = d->s.X + j * D;
            real k = i < ROWS && j < ROWS ? in_cells(d, d->block[i], x, d->block[j], z)
                     : i < ROWS           ? with_border(d, d->block[i], x, q)
                     : j < ROWS           ? with_border(d, d->block[j], z, p)
                                          : of_borders(d, p, q);
            if (i == j && i < ROWS)
                k += kernel_white(d->s.h.kernel) + d->s.h.like[0] / d->s.w[i] + own_jitter(d, d->block[i]);
            if (i == j && i >= ROWS) k += nugget;
            d->K[i * n + j] = k;
            if (i >= ROWS && j >= ROWS) d->C[p * d->q + q] = k;
        }
    }
    d->log_K = dense_invert(n, d->K), d->log_C = dense_invert((int)d->q, d->C);
}

static void dense_open(dense *d, const scene_kind *kind)
{
    double low[D] = {INFINITY, INFINITY}, high[D] = {-INFINITY, -INFINITY};
    anygp_error e;
    scene_open(&d->s, &model_patchwork, kind);
    for (int i = 0; i < ROWS * D; i++)
        low[i % D] = fmin(low[i % D], d->s.X[i]), high[i % D] = fmax(high[i % D], d->s.X[i]);
    assert_int_equal(router_borders(d->s.route, low, high, PATCHWORK_EACH, &d->b, &e), ANYGP_OK);
    d->q = d->b.count;
    assert_int_equal(d->q, 4 * PATCHWORK_EACH); /* a cross */
    fill_normal(9, NEW * D, d->new);
    assert_int_equal(router_route(d->s.route, ROWS, d->s.X, D, d->block, &e), ANYGP_OK);
    assert_int_equal(router_route(d->s.route, NEW, d->new, D, d->at, &e), ANYGP_OK);
    fill(d);
}

static void dense_close(dense *d)
{
    border_points_clear(&d->b);
    scene_close(&d->s);
}

static void objective_is_the_evidence_given_equal_borders(void **unused)
{
    (void)unused;
    static dense d;
    static real zero[POINTS_MOST];
    for (int k = 0; k < KINDS; k++) {
        double value, j = jitter;
        real terms = 0;
        dense_open(&d, &kinds[k]);
        for (int i = 0; i < ROWS; i++)
            if (d.s.w[i] != 1)
                terms += (d.s.w[i] - 1) * logl(2 * 3.14159265358979323846L * d.s.h.like[0]) + logl(d.s.w[i]);
        assert_true(model_patchwork.evaluate(d.s.state, &d.s.h, false, &j, &value, NULL));
        real expected = dense_log_normal(ROWS + (int)d.q, d.K, d.log_K, d.z) -
                        dense_log_normal((int)d.q, d.C, d.log_C, zero) - 0.5L * terms;
        check_close(value, (double)expected, 1e-8);
        dense_close(&d);
    }
}

static void predict(posterior *p, int64_t n, const double *X, double *mean, double *variance)
{
    anygp_error e;
    double *work = malloc((size_t)p->ops->work_doubles(p, n) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, n, X, D, work, mean, variance, &e), ANYGP_OK);
    free(work);
}

static void predictions_are_given_rows_and_borders(void **unused)
{
    (void)unused;
    static dense d;
    for (int c = 0; c < KINDS; c++) {
        posterior *p = NULL;
        double mean[NEW], variance[NEW], j = jitter;
        anygp_error e;
        dense_open(&d, &kinds[c]);
        assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
        predict(p, NEW, d.new, mean, variance);
        for (int i = 0; i < NEW; i++) {
            real k[MOST];
            const double *x = d.new + i *D;
            for (int r = 0; r < ROWS; r++) k[r] = in_cells(&d, d.at[i], x, d.block[r], d.s.X + r * D);
            for (int64_t q = 0; q < d.q; q++) k[ROWS + q] = with_border(&d, d.at[i], x, q);
            int n = ROWS + (int)d.q;
            check_close(mean[i], (double)dense_quadratic(n, d.K, k, d.z), 1e-7);
            check_close(variance[i], (double)(in_cells(&d, 0, x, 0, x) - dense_quadratic(n, d.K, k, k)), 1e-7);
        }
        p->ops->free(p);
        dense_close(&d);
    }
}

/* Of rows in all cells, and of two at the same place. */
/* A fit that has no time for factors and borders leaves them to the first prediction. */
static void cells_that_are_joined_later_are_the_same(void **unused)
{
    (void)unused;
    static dense d;
    const deadline passed = {0, 0, NULL};
    posterior *now = NULL, *then = NULL;
    double a[NEW], b[NEW], v[NEW], w[NEW], j = jitter;
    anygp_error e;
    dense_open(&d, &kinds[1]);
    assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &now, &e), ANYGP_OK);
    d.s.p.pass = &passed;
    assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &then, &e), ANYGP_OK);
    assert_true(!now->later && then->later && patch_cells(then)->later);
    assert_int_equal(posterior_ready(then, &e), ANYGP_OK);
    assert_true(!then->later && !patch_cells(then)->later);
    predict(now, NEW, d.new, a, v);
    predict(then, NEW, d.new, b, w);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(v, w, sizeof v);
    now->ops->free(now);
    then->ops->free(then);
    dense_close(&d);
}

static void joint_predictions_are_given_rows_and_borders(void **unused)
{
    (void)unused;
    static dense d;
    for (int c = 0; c < KINDS; c++) {
        posterior *p = NULL;
        double mean[NEW], single[NEW], variance[NEW], C[NEW * NEW], j = jitter;
        static real k[NEW][MOST];
        anygp_error e;
        dense_open(&d, &kinds[c]);
        for (int i = 0; i < D; i++) d.new[D + i] = d.new[i];
        assert_int_equal(router_route(d.s.route, NEW, d.new, D, d.at, &e), ANYGP_OK);
        assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)(NEW * p->ops->work_doubles(p, 1)) * sizeof *work);
        assert_int_equal(p->ops->joint(p, NEW, d.new, D, work, mean, C, NEW, &e), ANYGP_OK);
        free(work);
        predict(p, NEW, d.new, single, variance);
        for (int i = 0; i < NEW; i++) {
            int n = ROWS + (int)d.q;
            const double *x = d.new + i *D;
            for (int r = 0; r < ROWS; r++) k[i][r] = in_cells(&d, d.at[i], x, d.block[r], d.s.X + r * D);
            for (int64_t q = 0; q < d.q; q++) k[i][ROWS + q] = with_border(&d, d.at[i], x, q);
            check_close(mean[i], single[i], 1e-12);
            check_close(C[i + i * NEW], variance[i], 1e-9);
            for (int h = 0; h <= i; h++) {
                real prior = in_cells(&d, d.at[i], x, d.at[h], d.new + h *D);
                check_close(C[i + h * NEW], (double)(prior - dense_quadratic(n, d.K, k[i], k[h])), 1e-9);
            }
        }
        p->ops->free(p);
        dense_close(&d);
    }
}

/* From either side of a border, where nle jumps; and no variance is negative. */
static void neighbours_agree_at_their_borders(void **unused)
{
    (void)unused;
    static dense d;
    posterior *p = NULL;
    double j = jitter, X[2 * D], mean[2], variance[2];
    anygp_error e;
    dense_open(&d, &kinds[0]);
    assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
    for (int64_t q = 0; q < d.q; q++) {
        for (int s = 0; s < 2 * D; s++) X[s] = d.b.X[q * D + s % D] + (s < D ? -1e-9 : 1e-9);
        predict(p, 2, X, mean, variance);
        assert_true(fabs(mean[0] - mean[1]) < 1e-3);
        assert_true(fabs(variance[0] - variance[1]) < 1e-3);
        assert_true(variance[0] > 0 && variance[1] > 0);
    }
    p->ops->free(p);
    dense_close(&d);
}

/* Every fifth row comes later, but for the outermost ones, which the borders end at. */
static bool comes_later(const scene *s, int i)
{
    bool inside = i % 5 == 0;
    for (int j = 0; j < D; j++) {
        int64_t below = 0, above = 0;
        for (int r = 0; r < ROWS; r++)
            below += s->X[r * D + j]<s->X[i * D + j], above += s->X[r * D + j]> s->X[i * D + j];
        inside = inside && below > 0 && above > 0;
    }
    return inside;
}

typedef struct split_rows {
    int64_t n[2], start[BLOCKS + 1];
    double X[2][ROWS * D], y[2][ROWS], w[2][ROWS]; /* early, later */
} split_rows;

static void split(const dense *d, split_rows *a)
{
    *a = (split_rows){.n = {0, 0}};
    for (int64_t k = 0, i = 0; k < BLOCKS; k++)
        for (a->start[k] = a->n[0]; i < ROWS && d->block[i] == k; a->start[k + 1] = a->n[0], i++) {
            int late = comes_later(&d->s, (int)i);
            int64_t at = a->n[late]++;
            memcpy(a->X[late] + at * D, d->s.X + i * D, D * sizeof(double));
            a->y[late][at] = d->s.y[i], a->w[late][at] = d->s.w[i];
        }
    assert_true(a->n[1] > 3 && a->n[0] + a->n[1] == ROWS);
}

static void update_equals_all_rows_at_once(void **unused)
{
    (void)unused;
    static dense d;
    static split_rows a;
    for (int c = 0; c < KINDS; c++) {
        posterior *p[3] = {NULL};
        row_blocks *blocks;
        void *state;
        update_report r;
        double j = jitter, value[2], mean[2][NEW], variance[2][NEW];
        anygp_error e;
        dense_open(&d, &kinds[c]);
        split(&d, &a);
        assert_true(model_patchwork.evaluate(d.s.state, &d.s.h, false, &j, &value[1], NULL));
        assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &p[1], &e), ANYGP_OK);
        assert_int_equal(blocks_of_arrays(BLOCKS, a.start, D, 1, a.X[0], a.y[0], a.w[0], &blocks, &e), ANYGP_OK);
        problem early = d.s.p;
        early.blocks = blocks;
        assert_int_equal(model_open(&model_patchwork, &early, &d.s.h, &state, &e), ANYGP_OK);
        assert_true(model_patchwork.evaluate(state, &d.s.h, false, &j, &value[0], NULL));
        assert_int_equal(model_patchwork.posterior(state, &d.s.h, &j, &p[0], &e), ANYGP_OK);
        model_patchwork.close(state);
        assert_int_equal(model_patchwork.update->open(&model_patchwork, p[0], NULL, &state, &e), ANYGP_OK);
        assert_int_equal(model_patchwork.update->add(state, a.n[1], a.X[1], a.y[1], a.w[1], NULL, &e), ANYGP_OK);
        if (model_patchwork.update->finish(state, &p[2], &r, &e)) fail_msg("%s", e.text);
        model_patchwork.update->close(state);
        assert_true(isnan(r.before) && r.blocks == 0);
        check_close(value[0] + r.after, value[1], 1e-9);
        for (int k = 0; k < 2; k++) predict(p[k + 1], NEW, d.new, mean[k], variance[k]);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[1][i], mean[0][i], 1e-8);
            check_close(variance[1][i], variance[0][i], 1e-8);
        }
        for (int k = 0; k < 3; k++) p[k]->ops->free(p[k]);
        blocks_free(blocks);
        dense_close(&d);
    }
}

static void damaged_borders_are_refused(void **unused)
{
    (void)unused;
    static dense d;
    posterior *p = NULL;
    double j = jitter;
    anygp_error e;
    dense_open(&d, &kinds[0]);
    assert_int_equal(model_patchwork.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
    assert_int_equal(load_damaged(&model_patchwork, p, "none", 0, 0), ANYGP_OK);
    const struct {
        const char *name;
        int64_t at;
        double value;
    } damage[] = {{"sides", 0, -1},          {"sides", 1, BLOCKS},
                  {"sides", 2, 0.5},         {"sides", 3, NAN},
                  {"sides", COLUMN_LESS, 0}, {"borders", COLUMN_LESS, 0},
                  {"borders", 0, INFINITY},  {"sides", 1, p ? d.b.side[0] : 0}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
        if (load_damaged(&model_patchwork, p, damage[i].name, damage[i].at, damage[i].value) != ANYGP_ERR_FILE)
            fail_msg("damage %zu to %s is not seen", i, damage[i].name);
    p->ops->free(p);
    dense_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_evidence_given_equal_borders),
                                       cmocka_unit_test(predictions_are_given_rows_and_borders),
                                       cmocka_unit_test(cells_that_are_joined_later_are_the_same),
                                       cmocka_unit_test(joint_predictions_are_given_rows_and_borders),
                                       cmocka_unit_test(neighbours_agree_at_their_borders),
                                       cmocka_unit_test(update_equals_all_rows_at_once),
                                       cmocka_unit_test(damaged_borders_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
