/* Anytime runs against batch: what q is after some steps, after an epoch, and what learning on the way is worth. */
#include "sparse_support.h"

#include "base/clock.h"
#include "run/walk.h"

static const char *const EXPRESSION = "rbf(variance=1.3,lengthscale=[0.8,1.4])";

/* The rows as a sample in memory too, which pitc and pic start from. */
typedef struct sampled {
    fixture f;
    dataset data;
    merged rows;
} sampled;

static void begin(sampled *s, const model_ops *model)
{
    *s = (sampled){0};
    setup(&s->f, model, EXPRESSION, MEAN_CONSTANT, true, false);
    s->data = (dataset){.n = ROWS, .D = D, .X = s->f.X, .y = s->f.y, .w = s->f.w};
    assert_int_equal(dataset_merge(&s->data, false, &s->rows, NULL), ANYGP_OK);
    s->f.p.rows = &s->rows;
    s->f.p.seed = 5;
}

static void end(sampled *s, const model_ops *model)
{
    merged_clear(&s->rows);
    teardown(&s->f, model);
}

static train_options options(int64_t steps, int64_t sample, double rho, bool learn)
{
    return (train_options){.jitter = 1e-8,
                           .time_limit = INFINITY,
                           .began = clock_seconds(),
                           .save_every = INFINITY,
                           .anytime = {.on = true,
                                       .learn = learn,
                                       .sample = sample,
                                       .steps = steps,
                                       .rho = rho,
                                       .tau = NAN,
                                       .kappa = NAN,
                                       .step = NAN}};
}

static posterior *walk_of(sampled *s, const model_ops *model, const train_options *o, train_result *r)
{
    posterior *q = NULL;
    anygp_error e;
    if (walk_run(model, s->f.state, &s->f.p, &s->f.h, o, ANYGP_OK, r, &q, &e)) fail_msg("%s", e.text);
    return q;
}

static void check_same(const fixture *f, posterior *a, posterior *b, double tolerance)
{
    double mean[2][NEW], variance[2][NEW], *work = malloc((size_t)a->ops->work_doubles(a, NEW) * sizeof *work);
    assert_int_equal(a->ops->marginal(a, NEW, f->new, D, work, mean[0], variance[0], NULL), ANYGP_OK);
    assert_int_equal(b->ops->marginal(b, NEW, f->new, D, work, mean[1], variance[1], NULL), ANYGP_OK);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], tolerance);
        check_close(variance[0][i], variance[1][i], tolerance);
    }
    free(work);
    a->ops->free(a);
    b->ops->free(b);
}

/* The batch posterior of these blocks alone. */
static posterior *batch_of(const sampled *s, const model_ops *model, int64_t count, const int64_t *which)
{
    const fixture *f = &s->f;
    double X[ROWS * D], y[ROWS], w[ROWS], jitter = 1e-8;
    int64_t start[BLOCKS + 1] = {0};
    row_blocks *blocks;
    void *state;
    posterior *q;
    for (int64_t k = 0; k < count; k++) {
        int64_t from = f->start[which[k]], n = f->start[which[k] + 1] - from, to = start[k];
        memcpy(X + to * D, f->X + from * D, (size_t)(n * D) * sizeof *X);
        memcpy(y + to, f->y + from, (size_t)n * sizeof *y);
        memcpy(w + to, f->w + from, (size_t)n * sizeof *w);
        start[k + 1] = to + n;
    }
    assert_int_equal(blocks_of_arrays(count, start, D, 1, X, y, w, &blocks, NULL), ANYGP_OK);
    problem p = f->p;
    p.blocks = blocks;
    assert_int_equal(model->open(model, &p, &f->h, &state, NULL), ANYGP_OK);
    assert_int_equal(model->posterior(state, &f->h, &jitter, &q, NULL), ANYGP_OK);
    model->close(state);
    blocks_free(blocks);
    return q;
}

static void q_is_the_batch_posterior_of_the_rows_seen_so_far(void **unused)
{
    (void)unused;
    const model_ops *models[] = {&model_sor, &model_dtc, &model_fitc, &model_fic};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++)
        for (int64_t t = 1; t <= BLOCKS; t++) {
            sampled s;
            train_result r;
            int64_t seen[BLOCKS];
            begin(&s, models[k]);
            for (int64_t i = 0; i < t; i++) seen[i] = random_shuffled((random_stream){5, RANDOM_STEP, 0}, BLOCKS, i);
            train_options o = options(t, 1, NAN, false);
            posterior *q = walk_of(&s, models[k], &o, &r);
            assert_true(r.exact == (t == BLOCKS));
            check_same(&s.f, q, batch_of(&s, models[k], t, seen), 1e-10);
            end(&s, models[k]);
        }
}

/* Also where the sample does not divide the number of blocks, and after further epochs; the objective is the evidence. */
static void an_epoch_is_the_batch_result(void **unused)
{
    (void)unused;
    static const int64_t all[BLOCKS] = {0, 1, 2, 3};
    for (const definition *d = definitions; d < definitions + DEFINITIONS; d++)
        for (int64_t sample = 1; sample <= BLOCKS; sample++)
            for (int epochs = 1; epochs <= (BLOCKS % sample ? 1 : 3); epochs++) {
                sampled s;
                train_result r;
                double evidence, jitter = 1e-8;
                begin(&s, d->model);
                assert_true(d->model->evaluate(s.f.state, &s.f.h, true, &jitter, &evidence, NULL));
                train_options o = options((BLOCKS + sample - 1) / sample * epochs, sample, NAN, false);
                posterior *q = walk_of(&s, d->model, &o, &r);
                if (epochs == 1) check_close(r.objective, evidence, 1e-9);
                posterior *batch;
                if (d->model == &model_pic)
                    assert_int_equal(model_pic.posterior(s.f.state, &s.f.h, &jitter, &batch, NULL), ANYGP_OK);
                else
                    batch = batch_of(&s, d->model, BLOCKS, all);
                check_same(&s.f, q, batch, 1e-9);
                end(&s, d->model);
            }
}

/* Equations 24 to 26 with rho = 1 and every block in the sample. */
static void one_natural_step_of_size_1_over_all_blocks_is_the_batch_result(void **unused)
{
    (void)unused;
    for (const definition *d = definitions; d < definitions + DEFINITIONS; d++) {
        sampled s;
        train_result r;
        posterior *batch;
        double jitter = 1e-8;
        begin(&s, d->model);
        train_options o = options(1, BLOCKS, 1, false);
        posterior *q = walk_of(&s, d->model, &o, &r);
        assert_int_equal(d->model->posterior(s.f.state, &s.f.h, &jitter, &batch, NULL), ANYGP_OK);
        check_same(&s.f, q, batch, 1e-10);
        end(&s, d->model);
    }
}

/* From poor hyperparameters, steps that see one block each find better ones: the evidence of all rows rises. */
static void learning_on_the_way_raises_the_evidence(void **unused)
{
    (void)unused;
    for (const definition *d = definitions; d < definitions + DEFINITIONS; d++) {
        sampled s;
        train_result r;
        double before, after, jitter = 1e-8;
        begin(&s, d->model);
        s.f.h.like[0] = 1e-3;
        assert_true(d->model->evaluate(s.f.state, &s.f.h, true, &jitter, &before, NULL));
        train_options o = options(400, 1, NAN, true);
        posterior *q = walk_of(&s, d->model, &o, &r);
        q->ops->free(q);
        assert_true(d->model->evaluate(s.f.state, &s.f.h, true, &jitter, &after, NULL));
        assert_true(after > before + 1);
        end(&s, d->model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q_is_the_batch_posterior_of_the_rows_seen_so_far),
        cmocka_unit_test(an_epoch_is_the_batch_result),
        cmocka_unit_test(one_natural_step_of_size_1_over_all_blocks_is_the_batch_result),
        cmocka_unit_test(learning_on_the_way_raises_the_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
