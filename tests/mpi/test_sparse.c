/* The sparse models over the ranks of this run against the same on each rank alone, and what happens when one rank alone
   meets an error. */
#include "support.h"

#include <string.h>

#include "model/block_model.h"
#include "model/model.h"
#include "model/sparse/sparse.h"

enum { ROWS = 90, D = 2, BLOCKS = 7, M = 8, FREE_MOST = 64 };

typedef struct fixture {
    basis mean;
    hyper h;
    row_blocks *blocks;
    router *route;
    double X[ROWS * D], y[ROWS], w[ROWS], Z[M * D];
} fixture;

static void setup(fixture *f)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    int64_t start[BLOCKS + 1];
    double centres[BLOCKS * D];
    kernel *k;
    anygp_error e;
    *f = (fixture){0};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS, f->y);
    fill_normal(3, M * D, f->Z);
    fill_normal(4, BLOCKS * D, centres);
    for (int i = 0; i < ROWS; i++) f->w[i] = 1 + i % 2;
    for (int b = 0; b <= BLOCKS; b++) start[b] = b * b * ROWS / (BLOCKS * BLOCKS); /* of different sizes, one small */
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse("rbf(lengthscale=[0.7,1.3]) + linear", in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&f->h, M, D, f->Z, true, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, MEAN_LINEAR, &s, 2.5, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(BLOCKS, start, D, 1, f->X, f->y, f->w, &f->blocks, &e), ANYGP_OK);
    assert_int_equal(router_means(BLOCKS, D, centres, &f->route, &e), ANYGP_OK);
}

static void teardown(fixture *f)
{
    blocks_free(f->blocks);
    router_free(f->route);
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

static problem problem_of(const fixture *f, const comm *c)
{
    return (problem){.mean = &f->mean, .blocks = f->blocks, .route = f->route, .comm = c, .keep = 1e6};
}

/* -------------------------------------------------------------------------------------- numbers */

static double evidence_and_gradient(fixture *f, const model_ops *model, const comm *c, double *g)
{
    problem p = problem_of(f, c);
    anygp_error e;
    void *state;
    double value, jitter = 1e-8;
    assert_int_equal(model->open(model, &p, &f->h, &state, &e), ANYGP_OK);
    assert_true(model->evaluate(state, &f->h, true, &jitter, &value, g));
    model->close(state);
    return value;
}

static void check_model(const model_ops *model)
{
    fixture f;
    double together[FREE_MOST], alone[FREE_MOST], most = 0;
    setup(&f);
    if (!model->needs.mean) basis_clear(&f.mean);
    int64_t n = hyper_size(&f.h);
    assert_true(n <= FREE_MOST);
    double value = evidence_and_gradient(&f, model, comm_world(), together);
    check_close(value, evidence_and_gradient(&f, model, comm_self(), alone), 1e-12);
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(alone[i]));
    for (int64_t i = 0; i < n; i++) assert_true(fabs(together[i] - alone[i]) <= 1e-11 * most);
    teardown(&f);
}

static void evidence_and_gradient_do_not_depend_on_the_ranks(void **state)
{
    (void)state;
    static const model_ops *const models[] = {&model_sor,  &model_dtc, &model_fitc, &model_fic,
                                              &model_pitc, &model_pic, &model_tree};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) check_model(models[i]);
}

/* Fewer blocks than ranks too: some have nothing to add. */
static void statistics_of_a_sample_do_not_depend_on_the_ranks(void **state)
{
    (void)state;
    static const int64_t which[] = {5, 2, 6, 1, 3};
    const model_ops *model = &model_pitc;
    fixture f;
    anygp_error e;
    void *together, *alone;
    double jitter = 1e-8;
    setup(&f);
    problem p = problem_of(&f, comm_world()), q = problem_of(&f, comm_self());
    assert_int_equal(model->open(model, &p, &f.h, &together, &e), ANYGP_OK);
    assert_int_equal(model->open(model, &q, &f.h, &alone, &e), ANYGP_OK);
    assert_true(model->anytime->prepare(together, &f.h, true, &jitter));
    assert_true(model->anytime->prepare(alone, &f.h, true, &jitter));
    for (int64_t count = 1; count <= 5; count++) {
        const double *S, *b, *S1, *b1;
        assert_int_equal(model->anytime->stat(together, count, which, 1.5, &S, &b, &e), ANYGP_OK);
        assert_int_equal(model->anytime->stat(alone, count, which, 1.5, &S1, &b1, &e), ANYGP_OK);
        int64_t Mt = model->anytime->size(alone);
        for (int64_t j = 0; j < Mt; j++) {
            check_close(b[j], b1[j], 1e-10);
            for (int64_t i = j; i < Mt; i++) assert_true(fabs(S[i + j * Mt] - S1[i + j * Mt]) <= 1e-11 * S1[0]);
        }
    }
    model->close(together);
    model->close(alone);
    teardown(&f);
}

/* --------------------------------------------------------------------------------------- errors */

/* Blocks of which one rank cannot read some. */
typedef struct torn_blocks {
    row_blocks base;
    row_blocks *inner;
    int bad_rank;
} torn_blocks;

static anygp_status torn_get(row_blocks *b, int64_t i, block_buffer *buffer, row_block *out, anygp_error *e)
{
    torn_blocks *t = (torn_blocks *)b;
    if (comm_world()->rank == t->bad_rank)
        return fail_with(e, ANYGP_ERR_DATA, "the file of rank %d is torn", t->bad_rank);
    return blocks_get(t->inner, i, buffer, out, e);
}

static void torn_free(row_blocks *b) { (void)b; }

static void an_error_of_one_rank_is_that_of_all(void **state)
{
    (void)state;
    static const blocks_ops ops = {torn_get, torn_free};
    fixture f;
    setup(&f);
    for (int bad = 0; bad < comm_world()->size; bad++) {
        torn_blocks torn = {*f.blocks, f.blocks, bad};
        problem p = problem_of(&f, comm_world());
        anygp_error e = {0};
        posterior *out = NULL;
        double jitter = 1e-8, one = 1;
        char sentence[64];
        void *model;
        torn.base.ops = &ops;
        p.blocks = &torn.base;
        snprintf(sentence, sizeof sentence, "the file of rank %d is torn", bad);
        assert_int_equal(model_fitc.open(&model_fitc, &p, &f.h, &model, &e), ANYGP_OK);
        assert_int_equal(model_fitc.posterior(model, &f.h, &jitter, &out, &e), ANYGP_ERR_DATA);
        assert_string_equal(e.text, sentence);
        model_fitc.close(model);
        assert_int_equal(comm_world()->sum(comm_world()->ctx, 1, &one, &e), ANYGP_OK); /* no rank is left behind */
        assert_true(one == comm_world()->size);
    }
    teardown(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_and_gradient_do_not_depend_on_the_ranks),
        cmocka_unit_test(statistics_of_a_sample_do_not_depend_on_the_ranks),
        cmocka_unit_test(an_error_of_one_rank_is_that_of_all),
    };
    anygp_error e = {0};
    if (ANYGP_FAILED(comm_world_begin(&argc, &argv, &e))) return fprintf(stderr, "%s\n", e.text), 1;
    if (comm_world()->rank > 0 && !freopen("/dev/null", "w", stdout)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    comm_world_end();
    return failed;
}
