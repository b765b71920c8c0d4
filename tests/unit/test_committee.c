/* What committees do besides predicting row by row: experts that are too far to be asked, several rows at once, new rows. */
#include "damage_support.h"
#include "experts_support.h"

static const expert_choice plain = {.near = 0};
static const char *const committees[] = {"poe", "gpoe", "bcm", "rbcm", "grbcm", "npae"};
#define FOR_EACH_COMMITTEE(c)                                                                                          \
    for (const char *const *c = committees; c < committees + sizeof committees / sizeof *committees; c++)

/* ------------------------------------------------------------------------------------------- far away */

/* Parts along a line, each a few length-scales from the next: at any place most experts are far. */
enum { PARTS = 12, PART_ROWS = 5, LINE = PARTS * PART_ROWS, PLACES = 40 };

static void line_rows(double *X, double *y, int64_t *start)
{
    fill_normal(31, LINE * D, X);
    fill_normal(32, LINE, y);
    for (int i = 0; i < LINE; i++) X[i * D] += 20.0 * (i / PART_ROWS);
    for (int k = 0; k <= PARTS; k++) start[k] = k * PART_ROWS;
}

static void skipping_far_experts_changes_nothing(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"rbf(variance=1.3,lengthscale=[0.8,1.4])",
                                          "matern52(lengthscale=0.5) + 0.4 * matern12(lengthscale=0.9)",
                                          "wendland2(lengthscale=3) + white(variance=0.01)"};
    double X[LINE * D], y[LINE], places[PLACES * D], mean[2][PLACES], variance[2][PLACES];
    int64_t start[PARTS + 1];
    line_rows(X, y, start);
    fill_normal(33, PLACES * D, places);
    for (int i = 0; i < PLACES; i++) places[i * D] = 20.0 * PARTS * i / PLACES + places[i * D];
    for (int r = 0; r < 2; r++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            scene f;
            anygp_error e;
            int skipped = 0;
            scene_set(&f, r ? "rbcm" : "bcm", kernels[k], MEAN_ZERO, false, BLOCKS, some_blocks, plain);
            blocks_free(f.blocks);
            f.model->close(f.state);
            assert_int_equal(blocks_of_arrays(PARTS, start, D, 1, X, y, NULL, &f.blocks, &e), ANYGP_OK);
            f.p.blocks = f.blocks;
            assert_int_equal(f.model->open(f.model, &f.p, &f.h, &f.state, &e), ANYGP_OK);
            experts_posterior *p = (experts_posterior *)scene_posterior(&f);
            assert_non_null(p->reach);
            for (int i = 0; i < PLACES; i++)
                for (int64_t j = 0; j < PARTS; j++)
                    skipped += expert_is_far(p, j, places + i * D, (double)scene_prior(&f, places, places, false));
            assert_true(skipped > PLACES * PARTS / 2);
            scene_predict(&f, PLACES, places, mean[0], variance[0]);
            free(p->reach);
            p->reach = NULL;
            scene_predict(&f, PLACES, places, mean[1], variance[1]);
            for (int i = 0; i < PLACES; i++) {
                check_close(mean[0][i], mean[1][i], 1e-10);
                check_close(variance[0][i], variance[1][i], 1e-10);
            }
            scene_clear(&f);
        }
}

static void experts_are_skipped_only_where_their_weight_vanishes(void **unused)
{
    (void)unused;
    FOR_EACH_COMMITTEE(c) FOR_EACH_VARIANT(v)
    {
        scene f;
        scene_set(&f, *c, v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        bool fades = v == variants && (!strcmp(*c, "bcm") || !strcmp(*c, "rbcm")); /* the others have a prior mean */
        assert_true((scene_posterior(&f)->reach != NULL) == fades);
        scene_clear(&f);
    }
}

/* ---------------------------------------------------------------------------------------- several rows */

static void joint_predictions_of_bcm_are_tresps(void **unused)
{
    (void)unused;
    enum { N = NEW - 1 };
    FOR_EACH_VARIANT(v) for (int observed = 0; observed < 2; observed++)
    {
        scene f;
        double mean[N], C[N * N];
        real prior[N * N], precision[N * N], sum[N] = {0};
        scene_set(&f, "bcm", v->kernel, v->mean, v->weights, BLOCKS, some_blocks,
                  (expert_choice){.observed = observed});
        const double *x = f.new + D;
        real noise = observed ? f.h.like[0] + kernel_white(f.h.kernel) : 0;
        for (int i = 0; i < N * N; i++)
            prior[i] = scene_prior(&f, x + i / N * D, x + i % N * D, false) + (i / N == i % N ? noise : 0);
        dense_invert(N, prior);
        memcpy(precision, prior, sizeof prior);
        for (int64_t k = 0; k < BLOCKS; k++) {
            dense_rows rows = rows_of_expert(&f, k);
            real one[N * N];
            for (int i = 0; i < N * N; i++)
                one[i] = covariance_given(&f, &rows, x + i / N * D, x + i % N * D) + (i / N == i % N ? noise : 0);
            dense_invert(N, one);
            for (int i = 0; i < N * N; i++) {
                precision[i] += one[i] - prior[i];
                sum[i / N] += one[i] * mean_given(&f, &rows, x + i % N * D);
            }
        }
        dense_invert(N, precision);
        scene_joint(&f, N, x, mean, C);
        for (int i = 0; i < N; i++) {
            real m = 0;
            for (int j = 0; j < N; j++) m += precision[i * N + j] * sum[j];
            check_close(mean[i], (double)m, 1e-9);
            for (int j = 0; j < i; j++) check_close(C[i + j * N], (double)precision[i * N + j], 1e-9);
            check_close(C[i + i * N], fmax(0, (double)(precision[i * N + i] - noise)), 1e-9);
        }
        scene_clear(&f);
    }
}

static void one_row_together_with_no_other_is_the_row_alone(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double mean[NEW], variance[NEW], m, c;
        scene_set(&f, "bcm", v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        scene_predict(&f, NEW, f.new, mean, variance);
        for (int i = 0; i < NEW; i++) {
            scene_joint(&f, 1, f.new + i *D, &m, &c);
            check_close(m, mean[i], 1e-10);
            check_close(c, variance[i], 1e-10);
        }
        scene_clear(&f);
    }
}

/* -------------------------------------------------------------------------------------------- new rows */

enum { OLD = 10, LATER = ROWS - OLD }; /* the last rows of the scene are new */
static const int64_t old_blocks[] = {0, 4, 4, 7, OLD};

static posterior *updated(scene *f, update_report *r)
{
    void *state;
    posterior *out;
    anygp_error e;
    const update_ops *u = f->model->update;
    (void)scene_posterior(f);
    assert_int_equal(u->open(f->model, f->q, NULL, &state, &e), ANYGP_OK);
    assert_int_equal(u->add(state, 2, f->X + OLD * D, f->y + OLD, f->w + OLD, NULL, &e), ANYGP_OK);
    assert_int_equal(u->add(state, LATER - 2, f->X + (OLD + 2) * D, f->y + OLD + 2, f->w + OLD + 2, NULL, &e),
                     ANYGP_OK);
    if (u->finish(state, &out, r, &e)) fail_msg("%s", e.text);
    u->close(state);
    return out;
}

/* From all rows of the same parts at once. */
static posterior *made_at_once(const experts_posterior *p)
{
    anygp_error e;
    posterior *out;
    experts_source s = {.rule = &p->rule, .kernel = p->base.kernel, .mean = &p->base.mean, .noise = p->base.noise};
    size_t starts = (size_t)(p->count + 1) * sizeof(double);
    s.D = D, s.count = p->count;
    s.rows = (gathered_rows){ROWS, malloc(ROWS * D * sizeof(double)), malloc(ROWS * sizeof(double)),
                             malloc(ROWS * sizeof(double)), malloc(starts)};
    memcpy(s.rows.X, p->X, ROWS * D * sizeof(double));
    memcpy(s.rows.y, p->y, ROWS * sizeof(double));
    memcpy(s.rows.w, p->w, ROWS * sizeof(double));
    memcpy(s.rows.start, p->start, starts);
    if (experts_new(&s, &out, &e)) fail_msg("%s", e.text);
    return out;
}

/* Sum of log evidences of the experts, by dense matrices. */
static real evidences(scene *f, const experts_posterior *p)
{
    real sum = 0;
    for (int64_t k = 0; k < p->count; k++) {
        dense_rows rows = {.n = 0};
        add_rows_of(p, k, &rows);
        invert_rows(f, &rows);
        if (rows.n) sum += dense_log_normal(rows.n, rows.K, rows.logdet, rows.y);
    }
    return sum;
}

/* The last two rows are far from all others: one new expert has both. */
static void new_rows_give_what_a_fit_with_the_same_parts_gives(void **unused)
{
    (void)unused;
    FOR_EACH_COMMITTEE(c) FOR_EACH_VARIANT(v)
    {
        scene f;
        update_report r;
        double mean[2][NEW], variance[2][NEW];
        scene_set(&f, *c, v->kernel, v->mean, v->weights, BLOCKS, old_blocks, plain);
        for (int i = ROWS - 2; i < ROWS; i++) f.X[i * D] = 60 + 0.1 * i, f.X[i * D + 1] = 0;
        posterior *made = updated(&f, &r), *old = f.q, *again = made_at_once((experts_posterior *)made);
        const experts_posterior *p = (experts_posterior *)made;
        int64_t common = p->rule.communication;
        assert_int_equal(p->count, BLOCKS + common + 1);
        assert_int_equal(made->n, ROWS);
        assert_int_equal(expert_at(p, p->count - 1).n, 2);
        assert_int_equal(expert_at(p, 1 + common).n, 0); /* an expert without rows has no centre */
        check_close(r.rows, f.w[10] + f.w[11] + f.w[12] + f.w[13] + f.w[14], 1e-15);
        assert_int_equal(r.blocks, 1);
        check_close(r.before, (double)evidences(&f, (experts_posterior *)old), 1e-10);
        check_close(r.after, (double)evidences(&f, p), 1e-10);
        f.q = made;
        scene_predict(&f, NEW, f.new, mean[0], variance[0]);
        f.q = again;
        scene_predict(&f, NEW, f.new, mean[1], variance[1]);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[0][i], mean[1][i], 1e-8);
            check_close(variance[0][i], variance[1][i], 1e-8);
        }
        posteriors_free(2, (posterior *[]){old, made});
        scene_clear(&f);
    }
}

/* --------------------------------------------------------------------------------------- leave-one-out */

/* One of the observations of row i of the block, by all others of it. */
static void leave_out_by_definition(scene *f, int64_t block, int64_t i, double *mean, double *variance)
{
    const experts_posterior *p = scene_posterior(f);
    expert x = expert_at(p, block);
    dense_rows rows = {.n = 0}, rest = {.n = 0};
    bool gone = false, alone;
    add_rows_of(p, block, &rows);
    for (int j = 0; j < rows.n; j++) {
        if (!gone && rows.x[j] == x.X + i * D) {
            gone = true;
            continue;
        }
        rest.x[rest.n] = rows.x[j], rest.y[rest.n++] = rows.y[j];
    }
    invert_rows(f, &rest);
    real k[MOST];
    for (int j = 0; j < rest.n; j++) k[j] = scene_prior(f, x.X + i * D, rest.x[j], rest.x[j] == x.X + i * D);
    alone = rest.n == 0;
    *mean = alone ? 0 : (double)dense_quadratic(rest.n, rest.K, k, rest.y);
    *variance = (double)(scene_prior(f, x.X + i * D, x.X + i * D, true) + (real)f->h.like[0] -
                         (alone ? 0 : dense_quadratic(rest.n, rest.K, k, k)));
}

static void leave_one_out_is_each_row_by_the_rest_of_its_expert(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double value, jitter = 0, gp[32], mean, variance;
        scene_set(&f, "poe", v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &value, gp));
        const leave_one_out *l = f.model->loo(f.state, &f.h);
        assert_int_equal(l->n, ROWS);
        for (int64_t k = 0; k < BLOCKS; k++)
            for (int64_t i = some_blocks[k]; i < some_blocks[k + 1]; i++) {
                leave_out_by_definition(&f, k, i - some_blocks[k], &mean, &variance);
                check_close(l->mean[i], mean, 1e-9);
                check_close(l->variance[i], variance, 1e-9);
                check_close(l->y[i], f.y[i], 0);
                check_close(l->weight[i], f.w[i], 0);
            }
        scene_clear(&f);
    }
}

/* ------------------------------------------------------------------------------------------- model file */

/* Where there is no memory for them. */
static void factors_on_disk_predict_the_same_bits(void **unused)
{
    (void)unused;
    FOR_EACH_COMMITTEE(c)
    {
        double mean[2][NEW], variance[2][NEW];
        for (int on_disk = 0; on_disk < 2; on_disk++) {
            scene f;
            scene_set(&f, *c, "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, true, BLOCKS, some_blocks, plain);
            f.p.memory = on_disk ? 1 : 0;
            assert_int_equal(scene_posterior(&f)->on_disk, on_disk);
            scene_predict(&f, NEW, f.new, mean[on_disk], variance[on_disk]);
            scene_clear(&f);
        }
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    }
}

static void damaged_arrays_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int64_t at;
        double value;
    } damage[] = {{"start", 1, 7.5},      {"start", 2, -1},   {"start", 0, 1},   {"start", 3, NAN},
                  {"start", ROW_LESS, 0}, {"w", 3, 0},        {"w", 2, NAN},     {"y", ROW_LESS, 0},
                  {"X", ROW_LESS, 0},     {"w", ROW_LESS, 0}, {"jitter", 0, 2},  {"jitter", 0, NAN},
                  {"asked", 0, 0.5},      {"asked", 1, -1},   {"asked", 1, 1.5}, {"asked", 0, NAN},
                  {"asked", ROW_LESS, 0}};
    FOR_EACH_COMMITTEE(c)
    {
        scene f;
        scene_set(&f, *c, variants[0].kernel, MEAN_ZERO, true, BLOCKS, some_blocks,
                  (expert_choice){.observed = true, .near = 2});
        (void)scene_posterior(&f);
        assert_int_equal(load_damaged(f.model, f.q, "none", 0, 0), ANYGP_OK);
        for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
            if (load_damaged(f.model, f.q, damage[i].name, damage[i].at, damage[i].value) != ANYGP_ERR_FILE)
                fail_msg("%s: damage %zu to %s is not seen", *c, i, damage[i].name);
        scene_clear(&f);
    }
}

/* ---------------------------------------------------------------------------------------------- memory */

/* Where the file is read with little memory, factors are on disk, and predictions have the same bits. */
static void factors_beyond_the_memory_are_on_disk(void **unused)
{
    (void)unused;
    const char *const names[] = {"poe", "grbcm", "npae"};
    for (int i = 0; i < 3; i++)
        for (int little = 0; little < 2; little++) {
            scene f;
            posterior *again = NULL;
            array_list list = {0};
            double a[NEW], b[NEW], v[NEW], w[NEW];
            scene_set(&f, names[i], variants[0].kernel, MEAN_ZERO, false, BLOCKS, some_blocks,
                      (expert_choice){.communication = 4});
            scene_predict(&f, NEW, f.new, a, v);
            f.q->ops->arrays(f.q, &list);
            assert_int_equal(scene_load(&f, &list, little ? 8 : 1e6, &again), ANYGP_OK);
            assert_int_equal(((const experts_posterior *)again)->on_disk, little);
            posterior *first = f.q;
            f.q = again;
            scene_predict(&f, NEW, f.new, b, w);
            f.q = first;
            assert_memory_equal(a, b, sizeof a);
            assert_memory_equal(v, w, sizeof v);
            again->ops->free(again);
            array_list_clear(&list);
            scene_clear(&f);
        }
}

/* A fit that has no time for the factors leaves them to the first prediction. */
static void factors_that_are_made_later_are_the_same(void **unused)
{
    (void)unused;
    const deadline passed = {0, 0, NULL};
    double a[NEW], b[NEW], v[NEW], w[NEW];
    FOR_EACH_COMMITTEE(c)
    {
        scene f;
        anygp_error e;
        scene_set(&f, *c, "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, true, BLOCKS, some_blocks,
                  (expert_choice){.communication = 4});
        scene_predict(&f, NEW, f.new, a, v);
        f.q->ops->free(f.q), f.q = NULL;
        f.p.pass = &passed;
        const experts_posterior *p = scene_posterior(&f);
        assert_true(f.q->later && !p->L && !p->alpha);
        assert_int_equal(posterior_ready(f.q, &e), ANYGP_OK);
        assert_true(!f.q->later && p->L);
        scene_predict(&f, NEW, f.new, b, w);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_equal(v, w, sizeof v);
        scene_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_beyond_the_memory_are_on_disk),
                                       cmocka_unit_test(skipping_far_experts_changes_nothing),
                                       cmocka_unit_test(experts_are_skipped_only_where_their_weight_vanishes),
                                       cmocka_unit_test(joint_predictions_of_bcm_are_tresps),
                                       cmocka_unit_test(one_row_together_with_no_other_is_the_row_alone),
                                       cmocka_unit_test(new_rows_give_what_a_fit_with_the_same_parts_gives),
                                       cmocka_unit_test(leave_one_out_is_each_row_by_the_rest_of_its_expert),
                                       cmocka_unit_test(factors_on_disk_predict_the_same_bits),
                                       cmocka_unit_test(factors_that_are_made_later_are_the_same),
                                       cmocka_unit_test(damaged_arrays_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
