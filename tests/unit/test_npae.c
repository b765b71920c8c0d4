/* npae against its definition with dense matrices (experts_support.h). */
#include "experts_support.h"

enum { EXPERTS_MOST = ROWS };
static const expert_choice plain = {.near = 0};

/* Covariances of the experts' means, of the experts listed. */
typedef struct dense_nest {
    int M;
    real mean[EXPERTS_MOST], k[EXPERTS_MOST], K[EXPERTS_MOST * EXPERTS_MOST];
} dense_nest;

static void solve_for(const dense_rows *r, const real *k, real *u)
{
    for (int i = 0; i < r->n; i++) {
        u[i] = 0;
        for (int j = 0; j < r->n; j++) u[i] += r->K[i * r->n + j] * k[j];
    }
}

static dense_nest nest_of(scene *f, int M, const int64_t *which, const double *x)
{
    static dense_rows rows[EXPERTS_MOST];
    real k[MOST], u[EXPERTS_MOST][MOST];
    dense_nest n = {.M = M};
    for (int a = 0; a < M; a++) {
        rows[a] = rows_of_expert(f, which[a]);
        covariances_with(f, &rows[a], x, k);
        solve_for(&rows[a], k, u[a]);
        for (int i = 0; i < rows[a].n; i++) n.k[a] += u[a][i] * k[i], n.mean[a] += u[a][i] * rows[a].y[i];
        for (int b = 0; b < a; b++) {
            real sum = 0;
            for (int i = 0; i < rows[a].n; i++)
                for (int j = 0; j < rows[b].n; j++)
                    sum += u[a][i] * u[b][j] * scene_prior(f, rows[a].x[i], rows[b].x[j], false);
            n.K[a * M + b] = n.K[b * M + a] = sum;
        }
        n.K[a * M + a] = n.k[a];
    }
    return n;
}

/* lambda = K^-1 k over members first .. first + m - 1. */
static void best_weights(const dense_nest *n, int first, int m, real *lambda)
{
    real K[EXPERTS_MOST * EXPERTS_MOST];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) K[i * m + j] = n->K[(first + i) * n->M + first + j];
    dense_invert(m, K);
    for (int i = 0; i < m; i++) {
        lambda[i] = 0;
        for (int j = 0; j < m; j++) lambda[i] += K[i * m + j] * n->k[first + j];
    }
}

static void check_against(scene *f, const dense_nest *n, const double *x, double mean, double variance)
{
    real lambda[EXPERTS_MOST], m = 0, v = scene_prior(f, x, x, false);
    best_weights(n, 0, n->M, lambda);
    for (int i = 0; i < n->M; i++) m += lambda[i] * n->mean[i], v -= lambda[i] * n->k[i];
    check_close(mean, (double)m, 1e-9);
    check_close(variance, (double)v, 1e-9);
}

static const int64_t with_rows[] = {0, 2, 3}; /* experts of some_blocks */

static void predictions_are_the_best_linear_ones_given_the_experts(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double mean[NEW], variance[NEW];
        scene_set(&f, "npae", v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        scene_predict(&f, NEW - 1, f.new + D, mean, variance);
        for (int i = 0; i < NEW - 1; i++) {
            dense_nest n = nest_of(&f, 3, with_rows, f.new + (i + 1) * D);
            check_against(&f, &n, f.new + (i + 1) * D, mean[i], variance[i]);
        }
        scene_clear(&f);
    }
}

/* Rows of one expert far from those of the others: its centre is the nearest one there. */
static void the_nearest_experts_alone_are_asked(void **unused)
{
    (void)unused;
    scene f;
    double mean[NEW], variance[NEW];
    const int64_t start[] = {0, 4, 9, ROWS};
    scene_set(&f, "npae", variants[0].kernel, MEAN_ZERO, false, 3, start, (expert_choice){.near = 2});
    const experts_posterior *p = scene_posterior(&f);
    scene_predict(&f, NEW - 1, f.new + D, mean, variance);
    for (int i = 0; i < NEW - 1; i++) {
        const double *x = f.new + (i + 1) * D, length[D] = {0.8, 1.4};
        double far = -1;
        int64_t out = -1, asked[2], c = 0;
        for (int64_t k = 0; k < 3; k++) {
            expert o = expert_at(p, k);
            double r = 0;
            for (int d = 0; d < D; d++) {
                double centre = 0;
                for (int64_t j = 0; j < o.n; j++) centre += o.X[j * D + d] / (double)o.n;
                r += pow((x[d] - centre) / length[d], 2);
            }
            if (r > far) far = r, out = k;
        }
        for (int64_t k = 0; k < 3; k++)
            if (k != out) asked[c++] = k;
        dense_nest n = nest_of(&f, 2, asked, x);
        check_against(&f, &n, x, mean[i], variance[i]);
    }
    scene_clear(&f);
}

static void experts_of_one_row_and_one_expert_are_the_exact_process(void **unused)
{
    (void)unused;
    int64_t single[ROWS + 1], one[] = {0, ROWS};
    for (int i = 0; i <= ROWS; i++) single[i] = i;
    FOR_EACH_VARIANT(v) for (int alone = 0; alone < 2; alone++)
    {
        scene f;
        double mean[NEW], variance[NEW], same[NEW], C[NEW * NEW];
        scene_set(&f, "npae", v->kernel, v->mean, v->weights, alone ? ROWS : 1, alone ? single : one, plain);
        dense_rows all = all_rows_of(&f);
        scene_predict(&f, NEW, f.new, mean, variance);
        scene_joint(&f, NEW, f.new, same, C);
        for (int i = 0; i < NEW; i++) {
            const double *x = f.new + i *D;
            check_close(mean[i], (double)mean_given(&f, &all, x), 1e-9);
            check_close(variance[i], (double)covariance_given(&f, &all, x, x), 1e-9);
            check_close(same[i], mean[i], 1e-12);
            for (int j = 0; j <= i; j++)
                check_close(C[i + j * NEW], (double)covariance_given(&f, &all, x, f.new + j *D), 1e-8);
        }
        scene_clear(&f);
    }
}

/* Experts 0 to 3, 4 to 7, 8 to 9 are the groups of ten. */
static void two_levels_are_the_best_linear_ones_of_groups(void **unused)
{
    (void)unused;
    enum { M = 10, SIZE = 4, GROUPS = 3 };
    int64_t start[M + 1], all[M];
    for (int i = 0; i <= M; i++) start[i] = i + i / 2;
    for (int i = 0; i < M; i++) all[i] = i;
    FOR_EACH_VARIANT(v)
    {
        scene f, flat;
        double mean[NEW], variance[NEW], best[NEW], least[NEW];
        scene_set(&f, "npae(levels=2)", v->kernel, v->mean, v->weights, M, start, plain);
        scene_set(&flat, "npae", v->kernel, v->mean, v->weights, M, start, plain);
        scene_predict(&f, NEW - 1, f.new + D, mean, variance);
        scene_predict(&flat, NEW - 1, f.new + D, best, least);
        for (int i = 0; i < NEW - 1; i++) {
            dense_nest n = nest_of(&f, M, all, f.new + (i + 1) * D), top = {.M = GROUPS};
            real lambda[M];
            for (int g = 0; g < GROUPS; g++) best_weights(&n, g * SIZE, g < 2 ? SIZE : 2, lambda + g * SIZE);
            for (int a = 0; a < M; a++) {
                top.mean[a / SIZE] += lambda[a] * n.mean[a], top.k[a / SIZE] += lambda[a] * n.k[a];
                for (int b = 0; b < M; b++)
                    top.K[a / SIZE * GROUPS + b / SIZE] += lambda[a] * lambda[b] * n.K[a * M + b];
            }
            check_against(&f, &top, f.new + (i + 1) * D, mean[i], variance[i]);
            assert_true(variance[i] >= least[i] * (1 - 1e-9));
        }
        scene_clear(&f);
        scene_clear(&flat);
    }
}

/* Joint distributions by the exact process of the rows, where its mean is another one's: the weights of all rows by differences. */
static void joint_covariances_are_those_of_the_errors(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double mean[NEW], C[NEW * NEW], other[NEW];
        double weight[NEW][ROWS];
        scene_set(&f, "npae", v->kernel, v->mean, false, BLOCKS, some_blocks, plain);
        scene_joint(&f, NEW, f.new, mean, C);
        for (int r = 0; r < ROWS; r++) { /* the mean is linear in y */
            scene g;
            scene_set(&g, "npae", v->kernel, v->mean, false, BLOCKS, some_blocks, plain);
            g.y[r] += 1;
            scene_joint(&g, NEW, g.new, other, (double[NEW * NEW]){0});
            for (int i = 0; i < NEW; i++) weight[i][r] = other[i] - mean[i];
            scene_clear(&g);
        }
        for (int i = 0; i < NEW; i++)
            for (int j = 0; j <= i; j++) {
                real c = scene_prior(&f, f.new + i *D, f.new + j *D, false);
                for (int r = 0; r < ROWS; r++) {
                    c -= weight[i][r] * scene_prior(&f, f.X + r * D, f.new + j *D, false);
                    c -= weight[j][r] * scene_prior(&f, f.X + r * D, f.new + i *D, false);
                    for (int s = 0; s < ROWS; s++)
                        c += weight[i][r] * weight[j][s] *
                             (scene_prior(&f, f.X + r * D, f.X + s * D, r == s) + (r == s ? f.h.like[0] : 0));
                }
                check_close(C[i + j * NEW], (double)c, 1e-9);
            }
        scene_clear(&f);
    }
}

/* ------------------------------------------------------------------------------------- leave-one-out */

static void leave_one_out_is_the_committee_without_the_row(void **unused)
{
    (void)unused;
    int64_t start[ROWS + 1] = {0, 1, 2,  5,
                               5, 9, 11, ROWS}; /* an expert of one row leaves nothing, and may say nothing then */
    const char *const names[] = {"npae", "npae(levels=2)"};
    FOR_EACH_VARIANT(v) for (int levels = 0; levels < 2; levels++)
    {
        scene f;
        anygp_error e;
        double y[ROWS], mean[ROWS], variance[ROWS], weight[ROWS], m, c;
        leave_one_out out = {.y = y, .mean = mean, .variance = variance, .weight = weight};
        scene_set(&f, names[levels], v->kernel, v->mean, v->weights, 7, start, plain);
        const experts_posterior *p = scene_posterior(&f);
        assert_int_equal(f.model->loo_after(f.q, &f.p, &out, &e), ANYGP_OK);
        assert_int_equal(out.n, ROWS);
        posterior *all = f.q;
        for (int64_t j = 0; j < ROWS; j++) {
            int64_t i = random_shuffled((random_stream){f.p.seed, RANDOM_LEFT_OUT, 0}, ROWS, j);
            f.q = committee_without(p, i);
            scene_predict(&f, 1, p->X + i * D, &m, &c);
            check_close(y[j], p->y[i], 1e-15);
            check_close(mean[j], m, 1e-9);
            check_close(variance[j], c + f.h.like[0] + kernel_white(f.h.kernel), 1e-9);
            f.q->ops->free(f.q);
        }
        f.q = all;
        scene_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leave_one_out_is_the_committee_without_the_row),
                                       cmocka_unit_test(predictions_are_the_best_linear_ones_given_the_experts),
                                       cmocka_unit_test(the_nearest_experts_alone_are_asked),
                                       cmocka_unit_test(experts_of_one_row_and_one_expert_are_the_exact_process),
                                       cmocka_unit_test(two_levels_are_the_best_linear_ones_of_groups),
                                       cmocka_unit_test(joint_covariances_are_those_of_the_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
