/* Committees that are sums over experts, against their definitions with dense matrices (experts_support.h). */
#include "experts_support.h"

#include "base/random.h"

/* The rules as 003 has them: eq. 27 to 29. */
typedef enum weights { ONE, ENTROPY, ENTROPY_NORMALISED, EQUAL } weights;
static const struct rule {
    const char *model;
    weights beta;
    bool prior, communication;
} rules[] = {{"poe", ONE, false, false},
             {"gpoe", ENTROPY_NORMALISED, false, false},
             {"gpoe(beta=norm)", ENTROPY_NORMALISED, false, false},
             {"gpoe(beta=entropy)", ENTROPY, false, false},
             {"gpoe(uniform)", EQUAL, false, false},
             {"bcm", ONE, true, false},
             {"rbcm", ENTROPY, true, false},
             {"grbcm", ENTROPY, true, true}};
#define FOR_EACH_RULE(r) for (const struct rule *r = rules; r < rules + sizeof rules / sizeof *rules; r++)
static const expert_choice plain = {.communication = 0};

/* ---------------------------------------------------------------------------------------- objective */

static void objective_is_the_sum_of_the_experts_evidences(void **unused)
{
    (void)unused;
    FOR_EACH_RULE(r) FOR_EACH_VARIANT(v)
    {
        scene f, parts;
        double value, half[2], jitter = 0;
        real sum = 0;
        anygp_error e;
        scene_set(&f, r->model, v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        scene_set(&parts, "poe", v->kernel, v->mean, v->weights, BLOCKS, some_blocks,
                  plain); /* all rows in their parts */
        for (int64_t k = 0; k < BLOCKS; k++) {
            dense_rows rows = rows_of_expert(&parts, k);
            if (rows.n) sum += dense_log_normal(rows.n, rows.K, rows.logdet, rows.y);
        }
        assert_true(f.model->evaluate(f.state, &f.h, false, &jitter, &value, NULL));
        check_close(value, (double)sum, 1e-11);
        /* over samples of the blocks */
        const int64_t first[] = {0, 3}, second[] = {1, 2};
        assert_int_equal(f.model->sum->estimate(f.state, &f.h, 0, 2, first, 2, half, NULL, &e), ANYGP_OK);
        assert_int_equal(f.model->sum->estimate(f.state, &f.h, 0, 2, second, 2, half + 1, NULL, &e), ANYGP_OK);
        check_close((half[0] + half[1]) / 2, value, 1e-12);
        scene_clear(&parts);
        scene_clear(&f);
    }
}

/* --------------------------------------------------------------------------------------- predictions */

typedef struct prediction {
    real mean, variance;
} prediction;

/* Expert k, with the rows of the communication expert where there is one, and added noise. */
static prediction of_expert(scene *f, const struct rule *r, int64_t k, const double *x, real noise)
{
    dense_rows rows = {.n = 0};
    if (r->communication) add_rows_of(scene_posterior(f), 0, &rows);
    if (k > 0 || !r->communication) add_rows_of(scene_posterior(f), k, &rows);
    invert_rows(f, &rows);
    return (prediction){mean_given(f, &rows, x), covariance_given(f, &rows, x, x) + noise};
}

static prediction by_definition(scene *f, const struct rule *r, const double *x, real noise)
{
    const experts_posterior *p = scene_posterior(f);
    prediction prior = {0, scene_prior(f, x, x, false) + noise};
    real total = 0, precision = 0, sum = 0;
    int used = 0;
    if (r->communication) prior = of_expert(f, r, 0, x, noise);
    for (int64_t k = r->communication; k < p->count; k++) {
        if (expert_at(p, k).n == 0) continue;
        prediction o = of_expert(f, r, k, x, noise);
        real entropy = 0.5L * logl(prior.variance / o.variance);
        real beta = r->beta == ONE || r->beta == EQUAL || (r->communication && used == 0) ? 1 : entropy;
        total += beta, precision += beta / o.variance, sum += beta * o.mean / o.variance, used++;
    }
    if (r->prior) precision += (1 - total) / prior.variance, sum += (1 - total) * prior.mean / prior.variance;
    if (r->beta == EQUAL || r->beta == ENTROPY_NORMALISED) precision /= total, sum /= total;
    return (prediction){sum / precision, 1 / precision};
}

static void predictions_are_those_of_the_definitions(void **unused)
{
    (void)unused;
    FOR_EACH_RULE(r) FOR_EACH_VARIANT(v) for (int observed = 0; observed < 2; observed++)
    {
        scene f;
        double mean[NEW], variance[NEW];
        scene_set(&f, r->model, v->kernel, v->mean, v->weights, BLOCKS, some_blocks,
                  (expert_choice){.observed = observed, .communication = 4});
        real noise = observed ? f.h.like[0] + kernel_white(f.h.kernel) : 0;
        scene_predict(&f, NEW, f.new, mean, variance);
        /* far away entropies are rounding, which a product divides by: far_from_all_rows_is_the_prior_but_for_the_product */
        for (int i = r->prior ? 0 : 1; i < NEW; i++) {
            const double *x = f.new + i *D;
            prediction o = by_definition(&f, r, x, noise);
            check_close(mean[i], (double)o.mean, 1e-9);
            check_close(variance[i], fmax(0, (double)(o.variance - noise)), 1e-9);
            if (r->prior) assert_true(variance[i] <= (double)scene_prior(&f, x, x, false) * (1 + 1e-12));
        }
        scene_clear(&f);
    }
}

static void one_expert_is_exact_unless_its_weight_is_its_entropy(void **unused)
{
    (void)unused;
    const int64_t one[] = {0, ROWS};
    FOR_EACH_RULE(r) FOR_EACH_VARIANT(v)
    {
        scene f;
        double mean[NEW], variance[NEW];
        if (r->beta == ENTROPY && !r->communication) continue;
        scene_set(&f, r->model, v->kernel, v->mean, v->weights, 1, one, (expert_choice){.communication = 4});
        dense_rows all = all_rows_of(&f);
        scene_predict(&f, NEW, f.new, mean, variance);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)mean_given(&f, &all, f.new + i *D), 1e-9);
            check_close(variance[i], (double)covariance_given(&f, &all, f.new + i *D, f.new + i *D), 1e-9);
        }
        scene_clear(&f);
    }
}

static void grbcm_with_all_rows_in_the_communication_expert_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene f;
        double mean[NEW], variance[NEW];
        scene_set(&f, "grbcm", v->kernel, v->mean, v->weights, BLOCKS, some_blocks,
                  (expert_choice){.communication = ROWS});
        dense_rows all = all_rows_of(&f);
        scene_predict(&f, NEW, f.new, mean, variance);
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)mean_given(&f, &all, f.new + i *D), 1e-9);
            check_close(variance[i], (double)covariance_given(&f, &all, f.new + i *D, f.new + i *D), 1e-9);
        }
        scene_clear(&f);
    }
}

static void far_from_all_rows_is_the_prior_but_for_the_product(void **unused)
{
    (void)unused;
    FOR_EACH_RULE(r)
    {
        scene f;
        double mean, variance;
        scene_set(&f, r->model, variants[0].kernel, MEAN_ZERO, false, BLOCKS, some_blocks, plain);
        scene_predict(&f, 1, f.new, &mean, &variance);
        double divided = r->prior || r->beta == EQUAL || r->beta == ENTROPY_NORMALISED ? 1
                         : r->beta == ONE                                              ? 3
                                                                                       : 3e-16; /* of three experts */
        check_close(mean, 0, 1e-12);
        check_close(variance * divided, 1.3, 1e-12);
        scene_clear(&f);
    }
}

static void a_tree_of_sums_is_the_flat_sum(void **unused)
{
    (void)unused;
    enum { N = 3, EXPERTS = 5 };
    double v0[N] = {1, 2, 0.5}, m[EXPERTS][N], v[EXPERTS][N], noise[EXPERTS * N];
    fill_normal(8, EXPERTS * N, noise);
    for (int k = 0; k < EXPERTS; k++)
        for (int j = 0; j < N; j++) m[k][j] = noise[k * N + j], v[k][j] = v0[j] / (1.5 + k + j);
    FOR_EACH_RULE(r)
    {
        const model_ops *model = model_by_name(r->model);
        const aggregation *g = model->family;
        double flat[3][N], top[3][N], mean[2][N], variance[2][N];
        expert_sums all = {flat[0], flat[1], flat[2]}, tree = {top[0], top[1], top[2]};
        sums_begin(g, N, v0, &all);
        sums_begin(g, N, v0, &tree);
        for (int k = 0; k < EXPERTS; k++) sums_add(g, k == 0, N, v0, m[k], v[k], &all, NULL);
        for (int group = 0; group < 2; group++) {
            double part[3][N] = {{0}};
            expert_sums sums = {part[0], part[1], part[2]};
            for (int k = group ? 2 : 0; k < (group ? EXPERTS : 2); k++)
                sums_add(g, k == 0, N, v0, m[k], v[k], &sums, NULL);
            for (int i = 0; i < 3 * N; i++) top[i / N][i % N] += part[i / N][i % N];
        }
        sums_finish(g, N, v0, &all, mean[0], variance[0]);
        sums_finish(g, N, v0, &tree, mean[1], variance[1]);
        for (int j = 0; j < N; j++) {
            check_close(mean[1][j], mean[0][j], 1e-12);
            check_close(variance[1][j], variance[0][j], 1e-12);
        }
        model_free(model);
    }
}

/* With a linear kernel f(0) is 0. */
static void a_row_whose_f_is_known_leaves_the_others_alone(void **unused)
{
    (void)unused;
    FOR_EACH_RULE(r)
    {
        scene f;
        double X[2 * D] = {0, 0, 0.4, -0.3}, mean[2], variance[2], alone[2];
        scene_set(&f, r->model, "linear(variance=[0.3,0.2])", MEAN_ZERO, false, BLOCKS, some_blocks, plain);
        scene_predict(&f, 2, X, mean, variance);
        scene_predict(&f, 1, X + D, alone, alone + 1);
        check_close(mean[0], 0, 1e-12);
        check_close(variance[0], 0, 1e-12);
        check_close(mean[1], alone[0], 1e-12);
        check_close(variance[1], alone[1], 1e-12);
        scene_clear(&f);
    }
}

/* Predictions from mean, variance and weight of each expert, and the prior's where it is not an expert's. */
static void opinions_and_their_weights_make_the_prediction(void **unused)
{
    (void)unused;
    enum { M = BLOCKS + 1 };
    FOR_EACH_RULE(r) FOR_EACH_VARIANT(v)
    {
        scene f;
        anygp_error e;
        double mean[NEW], variance[NEW], m[NEW * M], s[NEW * M], w[NEW * M];
        scene_set(&f, r->model, v->kernel, v->mean, v->weights, BLOCKS, some_blocks, plain);
        scene_predict(&f, NEW - 1, f.new + D, mean, variance);
        double *work = malloc((size_t)f.q->ops->work_doubles(f.q, NEW - 1) * sizeof *work);
        assert_int_equal(f.q->ops->experts(f.q), BLOCKS + r->communication);
        assert_int_equal(f.q->ops->opinions(f.q, NEW - 1, f.new + D, D, work, m, s, w, &e), ANYGP_OK);
        for (int i = 0; i < NEW - 1; i++) {
            double total = 0, precision = 0, sum = 0,
                   v0 = (double)scene_prior(&f, f.new + (i + 1) * D, f.new + (i + 1) * D, false);
            for (int k = 0; k < BLOCKS + r->communication; k++) {
                int at = i + k * (NEW - 1);
                total += w[at], precision += w[at] / s[at], sum += w[at] * m[at] / s[at];
            }
            if (r->prior) precision += (1 - total) / v0;
            check_close(variance[i], 1 / precision, 1e-9);
            check_close(mean[i], sum / precision, 1e-9);
            if (r->communication || r->beta == ENTROPY_NORMALISED || r->beta == EQUAL) check_close(total, 1, 1e-12);
        }
        free(work);
        scene_clear(&f);
    }
}

/* ------------------------------------------------------------------------------------- leave-one-out */

static void leave_one_out_is_the_committee_without_the_row(void **unused)
{
    (void)unused;
    FOR_EACH_RULE(r) for (int observed = 0; observed < 2; observed++) for (int v = 0; v < 2; v++)
    {
        scene f;
        anygp_error e;
        double y[ROWS], mean[ROWS], variance[ROWS], weight[ROWS], m, c;
        leave_one_out out = {.y = y, .mean = mean, .variance = variance, .weight = weight};
        scene_set(&f, r->model, variants[v].kernel, variants[v].mean, variants[v].weights, BLOCKS, some_blocks,
                  (expert_choice){.observed = observed, .communication = 4});
        const experts_posterior *p = scene_posterior(&f);
        int64_t first = r->communication ? (int64_t)p->start[1] : 0, rows = ROWS - first;
        assert_int_equal(f.model->loo_after(f.q, &f.p, &out, &e), ANYGP_OK);
        assert_int_equal(out.n, rows);
        posterior *all = f.q;
        for (int64_t j = 0; j < rows; j++) {
            int64_t i = first + random_shuffled((random_stream){f.p.seed, RANDOM_LEFT_OUT, 0}, rows, j);
            f.q = committee_without(p, i);
            scene_predict(&f, 1, p->X + i * D, &m, &c);
            check_close(y[j], p->y[i], 1e-15);
            check_close(mean[j], m, 1e-8);
            check_close(variance[j], c + f.h.like[0], 1e-8);
            f.q->ops->free(f.q);
        }
        f.q = all;
        scene_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_sum_of_the_experts_evidences),
                                       cmocka_unit_test(predictions_are_those_of_the_definitions),
                                       cmocka_unit_test(one_expert_is_exact_unless_its_weight_is_its_entropy),
                                       cmocka_unit_test(grbcm_with_all_rows_in_the_communication_expert_is_exact),
                                       cmocka_unit_test(far_from_all_rows_is_the_prior_but_for_the_product),
                                       cmocka_unit_test(a_tree_of_sums_is_the_flat_sum),
                                       cmocka_unit_test(a_row_whose_f_is_known_leaves_the_others_alone),
                                       cmocka_unit_test(opinions_and_their_weights_make_the_prediction),
                                       cmocka_unit_test(leave_one_out_is_the_committee_without_the_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
