/* Ranks share the cells of a step of qsgp (threads as ranks): the same numbers on any number of them, and the same bits on each. */
#include "model_scene.h"
#include "rank_support.h"

#include "model/weights/qsgp_state.h"

enum { FUNCTIONS = 40, STEPS = 12, RANKS_MOST = 4, NUMBERS_MOST = 400 };

static const scene_kind plain_kind = {"rbf(variance=1.3,lengthscale=[0.8,1.4])",
                                      "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, true};

/* A run of one rank, and what it ends with. */
typedef struct member {
    const model_ops *made;
    comm c;
    rank_thread rank;
    scene s;
    qsgp_state *q;
    double result[NUMBERS_MOST];
    int64_t count;
} member;

static void put(member *m, int64_t n, const double *x)
{
    assert_true(m->count + n <= NUMBERS_MOST);
    memcpy(m->result + m->count, x, (size_t)n * sizeof *x);
    m->count += n;
}

/* Before the threads begin: asserts and the tables are for one thread. */
static void open_member(member *m, const comm *c)
{
    anygp_error e = {.text = ""};
    scene_open(&m->s, m->made, &plain_kind);
    m->s.model->close(m->s.state);
    m->s.p.subset = FUNCTIONS, m->s.p.comm = c;
    if (model_open(m->made, &m->s.p, &m->s.h, &m->s.state, &e)) fail_msg("%s", e.text);
    m->q = m->s.state, m->count = 0;
    scene_begin(&m->s);
}

static void *run_member(void *ctx)
{
    member *m = ctx;
    const qsgp *q = &m->q->q;
    for (int t = 0; t < STEPS; t++) {
        double value = scene_step(&m->s, t, 0.5, 0.3, t >= 2);
        put(m, 1, &value);
    }
    put(m, q->cells.m * q->V, q->v);
    put(m, q->cells.m * q->C, q->square);
    put(m, q->cells.count, q->seen);
    put(m, q->P * q->V, q->a);
    put(m, hyper_kernel_params(&m->s.h), kernel_values(m->s.h.kernel));
    return NULL;
}

static void close_member(member *m) { scene_close(&m->s); }

static void check_ranks(const char *expression)
{
    static member m[1 + RANKS_MOST];
    static team t;
    anygp_error e = {.text = ""};
    const model_ops *made;
    if (model_make(expression, &made, &e)) fail_msg("%s", e.text);
    m[0].made = made;
    open_member(&m[0], comm_self());
    run_member(&m[0]);
    for (int size = 2; size <= RANKS_MOST; size++) {
        pthread_t thread[RANKS_MOST];
        team_open(&t, size);
        for (int r = 0; r < size; r++) {
            m[1 + r].made = made;
            m[1 + r].c = team_comm(&t, r, &m[1 + r].rank);
            open_member(&m[1 + r], &m[1 + r].c);
        }
        for (int r = 0; r < size; r++) assert_int_equal(pthread_create(&thread[r], NULL, run_member, &m[1 + r]), 0);
        for (int r = 0; r < size; r++) pthread_join(thread[r], NULL);
        for (int r = 0; r < size; r++) {
            assert_int_equal(m[1 + r].count, m[0].count);
            assert_memory_equal(m[1 + r].result, m[1].result, (size_t)m[0].count * sizeof(double));
        }
        for (int64_t i = 0; i < m[0].count; i++) check_close(m[1].result[i], m[0].result[i], 1e-10);
        for (int r = 0; r < size; r++) close_member(&m[1 + r]);
        team_close(&t);
    }
    close_member(&m[0]);
    model_free(made);
}

static void steps_are_the_same_on_any_number_of_ranks(void **state)
{
    (void)state;
    check_ranks("qsgp(batch=12,control=5,dense=1,steps=plain)");
    check_ranks("qsgp(batch=12,control=5,steps=adagrad)");
    check_ranks("qsgp(batch=4)"); /* fewer cells than ranks, now and then */
    check_ranks("qsgp(steps=block)");
    check_ranks("qsgp(batch=4,basis=kernel,steps=plain)");
}

/* A group in which nobody else works: cells of the others stay where they are. */
static anygp_status sum_of_one(void *ctx, int64_t n, double *x, anygp_error *e)
{
    return (void)ctx, (void)n, (void)x, (void)e, ANYGP_OK;
}

static void a_rank_works_on_its_own_cells(void **state)
{
    (void)state;
    anygp_error e = {.text = ""};
    const comm half = {.rank = 0, .size = 2, .sum = sum_of_one};
    member m = {0};
    if (model_make("qsgp(steps=plain)", &m.made, &e)) fail_msg("%s", e.text);
    open_member(&m, &half);
    scene_step(&m.s, 0, 0.5, 0.3, false);
    int64_t own = m.q->q.cells.count / 2 * m.q->q.cells.width;
    for (int64_t i = 0; i < FUNCTIONS; i++)
        if (i < own) assert_true(fabs(m.q->q.v[i]) > 0);
    for (int64_t i = own; i < FUNCTIONS; i++) assert_true(m.q->q.v[i] == 0);
    close_member(&m);
    model_free(m.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_same_on_any_number_of_ranks),
        cmocka_unit_test(a_rank_works_on_its_own_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
