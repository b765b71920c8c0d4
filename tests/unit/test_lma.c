/* Blocks along a chain against their definition with dense matrices, row by row: each given all rows before it in its block and in the blocks
   before that. */
#include "vecchia_support.h"

#include "data/rows/rows.h"

enum { P = 6 };

typedef struct scene {
    fixture f;
    const model_ops *model;
    row_blocks *blocks;
    router *route;
    problem p;
    void *state;
    int64_t start[P + 1];
    int place[P]; /* of a block in the chain */
} scene;

/* By the definition: from the mean farthest from that of all, always to the nearest that is left. */
static void find_chain(scene *s)
{
    double mean[P][D] = {{0}}, centre[D] = {0}, at[D];
    bool taken[P] = {false};
    for (int b = 0; b < P; b++)
        for (int d = 0; d < D; d++) {
            for (int64_t i = s->start[b]; i < s->start[b + 1]; i++) mean[b][d] += s->f.X[i * D + d];
            mean[b][d] /= (double)(s->start[b + 1] - s->start[b]), centre[d] += mean[b][d] / P;
        }
    memcpy(at, centre, sizeof at);
    for (int i = 0; i < P; i++) {
        int best = -1;
        double least = 0;
        for (int b = 0; b < P; b++) {
            double distance = 0;
            for (int d = 0; d < D; d++) distance += pow(mean[b][d] - at[d], 2);
            if (i == 0) distance = -distance;
            if (!taken[b] && (best < 0 || distance < least)) best = b, least = distance;
        }
        taken[best] = true, s->place[best] = i;
        memcpy(at, mean[best], sizeof at);
    }
}

static void open_scene(scene *s, const char *model, const char *expression, mean_kind mean, bool weights)
{
    anygp_error e;
    *s = (scene){.model = NULL};
    setup(&s->f, expression, mean, weights, (nearness){.learn = FEW});
    for (int b = 0; b <= P; b++) s->start[b] = b * N / P - (b % 2); /* of different sizes */
    s->start[P] = N;
    s->f.rows.SS = 0;
    assert_int_equal(strchr(model, '(') ? model_make(model, &s->model, &e) : ANYGP_OK, ANYGP_OK);
    if (!s->model) s->model = model_find(model);
    assert_int_equal(hyper_set_inducing(&s->f.h, PLACES, D, places, true, &e), ANYGP_OK);
    assert_int_equal(blocks_of_arrays(P, s->start, D, 1, s->f.X, s->f.y, s->f.c, &s->blocks, &e), ANYGP_OK);
    assert_int_equal(rows_route_by_means(s->blocks, &s->route, &e), ANYGP_OK);
    s->p = (problem){.mean = &s->f.mean, .comm = comm_self(), .blocks = s->blocks, .route = s->route};
    assert_int_equal(s->model->open(s->model, &s->p, &s->f.h, &s->state, &e), ANYGP_OK);
    find_chain(s);
}

static void close_scene(scene *s)
{
    s->model->close(s->state);
    model_free(s->model);
    router_free(s->route);
    blocks_free(s->blocks);
    teardown(&s->f);
}

static int block_of(const scene *s, int row)
{
    int b = 0;
    while (row >= s->start[b + 1]) b++;
    return b;
}

/* Rows of blocks at places first .. last of the chain, but in the last only those before `end`. */
static int rows_between(const scene *s, int first, int last, int end, int *near)
{
    int n = 0;
    for (int b = 0; b < P; b++)
        for (int i = (int)s->start[b]; i < s->start[b + 1]; i++)
            if (s->place[b] >= first && (s->place[b] < last || (s->place[b] == last && i < end))) near[n++] = i;
    return n;
}

static void make_dense(const scene *s, int order, dense *g)
{
    int near[N];
    dense_begin(&s->f, g);
    for (int k = 0; k < P; k++)
        for (int i = 0; i < N; i++)
            if (s->place[block_of(s, i)] == k) {
                int n = rows_between(s, k - order, k, i, near);
                dense_add(&s->f, g, i, n, near);
            }
    dense_finish(&s->f, g);
}

/* Each given its block and as many on either side. */
static void make_new(const scene *s, int order, dense *g)
{
    int near[N];
    int64_t block[NEW];
    anygp_error e;
    assert_int_equal(router_route(s->route, NEW, s->f.new, D, block, &e), ANYGP_OK);
    for (int j = 0; j < NEW; j++) {
        int k = s->place[block[j]], n = rows_between(s, k - order, k + order, N, near);
        dense_new(&s->f, g, j, n, near);
    }
}

static double value_of(scene *s, double *gradient)
{
    double value, jitter = 0;
    assert_true(s->model->evaluate(s->state, &s->f.h, false, &jitter, &value, gradient));
    return value;
}

static const char *const names[] = {"lma(order=0)", "lma", "lma(order=2)"};

/* ---------------------------------------------------------------------------------------- theorems */

static void evidence_and_predictions_are_those_of_the_dense_chain(void **unused)
{
    (void)unused;
    static dense g;
    for (int order = 0; order < 3; order++) FOR_EACH_VARIANT(v)
        {
            scene s;
            posterior *p;
            anygp_error e;
            double jitter = 0;
            open_scene(&s, names[order], v->kernel, v->mean, v->weights);
            make_dense(&s, order, &g);
            make_new(&s, order, &g);
            check_close(value_of(&s, NULL), (double)dense_evidence(&s.f, &g), 1e-9);
            assert_int_equal(s.model->posterior(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
            check_new_rows(&s.f, p, &g);
            p->ops->free(p);
            close_scene(&s);
        }
}

static void gradient_equals_central_differences(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene s;
        double gradient[32];
        open_scene(&s, "lma", v->kernel, v->mean, v->weights);
        value_of(&s, gradient);
        for (int64_t i = 0; i < hyper_size(&s.f.h); i++) {
            bool is_place = i >= s.f.h.count;
            double x = is_place ? s.f.h.Z[i - s.f.h.count] : hyper_get(&s.f.h, i), step = is_place ? 1e-5 : 1e-5 * x,
                   side[2];
            for (int k = 0; k < 3; k++) { /* up, down, back */
                double at = k == 0 ? x + step : k == 1 ? x - step : x;
                if (is_place)
                    s.f.h.Z[i - s.f.h.count] = at;
                else
                    hyper_set(&s.f.h, i, at);
                if (k < 2) side[k] = value_of(&s, NULL);
            }
            check_close(gradient[i], (side[0] - side[1]) / (2 * step), 1e-6);
        }
        close_scene(&s);
    }
}

static void order_0_is_pic_and_a_chain_that_reaches_all_blocks_is_exact(void **unused)
{
    (void)unused;
    FOR_EACH_VARIANT(v)
    {
        scene none, pic, all;
        open_scene(&none, "lma(order=0)", v->kernel, v->mean, v->weights);
        open_scene(&pic, "pic", v->kernel, v->mean, v->weights);
        open_scene(&all, "lma(order=5)", v->kernel, v->mean, v->weights);
        check_close(value_of(&none, NULL), value_of(&pic, NULL), 1e-13);
        check_close(value_of(&all, NULL), (double)exact_evidence(&all.f), 1e-9);
        close_scene(&none);
        close_scene(&pic);
        close_scene(&all);
    }
}

/* New rows in three of the blocks: the same chain with blocks that had them from the start. */
static void an_update_equals_the_chain_with_those_rows(void **unused)
{
    (void)unused;
    scene s;
    anygp_error e;
    posterior *p, *q;
    void *state;
    update_report r;
    row_blocks *grown;
    router *route;
    double jitter = 0, cell[4][NEW], X[NEW * D], y[NEW], w[NEW], value;
    int64_t block[NEW];
    open_scene(&s, "lma", variants[1].kernel, MEAN_CONSTANT, true);
    fill_normal(9, NEW * D, X);
    fill_normal(10, NEW, y);
    for (int i = 0; i < NEW; i++) w[i] = 1 + i % 2, block[i] = i % 3;
    value_of(&s, NULL);
    assert_int_equal(s.model->posterior(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
    assert_int_equal(s.model->update->open(s.model, p, NULL, &state, &e), ANYGP_OK);
    assert_int_equal(s.model->update->add(state, NEW, X, y, w, block, &e), ANYGP_OK);
    assert_int_equal(s.model->update->finish(state, &q, &r, &e), ANYGP_OK);
    s.model->update->close(state);
    p->ops->free(p);

    s.model->close(s.state);
    assert_int_equal(blocks_join(s.blocks, P, D, 1, NEW, X, y, w, block, &grown, &e), ANYGP_OK);
    grown->total = s.blocks->total;
    for (int i = 0; i < NEW; i++) grown->total += w[i];
    assert_int_equal(rows_route_by_means(grown, &route, &e), ANYGP_OK);
    int64_t chain[P], names_of[P]; /* the same places: the chain by names */
    for (int b = 0; b < P; b++) chain[s.place[b]] = b;
    for (int b = 0; b < P; b++) names_of[chain[b]] = b;
    s.p.blocks = grown, s.p.route = route, s.p.block_ids = names_of;
    assert_int_equal(s.model->open(s.model, &s.p, &s.f.h, &s.state, &e), ANYGP_OK);
    value = value_of(&s, NULL);
    assert_int_equal(s.model->posterior(s.state, &s.f.h, &jitter, &p, &e), ANYGP_OK);
    check_close(r.after, value, 1e-8);
    double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
    assert_int_equal(p->ops->marginal(p, NEW, s.f.new, D, work, cell[0], cell[1], &e), ANYGP_OK);
    assert_int_equal(q->ops->marginal(q, NEW, s.f.new, D, work, cell[2], cell[3], &e), ANYGP_OK);
    for (int i = 0; i < NEW; i++) check_close(cell[0][i], cell[2][i], 1e-8), check_close(cell[1][i], cell[3][i], 1e-8);
    free(work);
    p->ops->free(p);
    q->ops->free(q);
    s.model->close(s.state);
    s.state = NULL;
    router_free(route);
    blocks_free(grown);
    model_free(s.model);
    router_free(s.route);
    blocks_free(s.blocks);
    teardown(&s.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evidence_and_predictions_are_those_of_the_dense_chain),
                                       cmocka_unit_test(gradient_equals_central_differences),
                                       cmocka_unit_test(order_0_is_pic_and_a_chain_that_reaches_all_blocks_is_exact),
                                       cmocka_unit_test(an_update_equals_the_chain_with_those_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
