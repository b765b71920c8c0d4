/* Models written forward on the tape against those written by hand: objective and every gradient. */
#include "rank_support.h"
#include "sparse_support.h"

#include <stdatomic.h>

#include "base/threads.h"
#include "linalg/linalg.h"
#include "model/forward_models.h"
#include "model/svgp.h"

static const double CLOSE = 1e-10;

/* ------------------------------------------------------------------------------------------- svgp */

enum { LATENTS = 3, SQUARES = M * M * LATENTS, GRADIENT = 32 + M * D };

typedef struct trial {
    const char *expression, *likelihood;
    int64_t classes;
    bool weights;
} trial;

static const trial trials[] = {
    {"rbf", "gaussian", 0, false},
    {"matern52(variance=2) + 0.5*white(variance=0.6)", "gaussian", 0, true},
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])*linear + white(variance=0.2)", "bernoulli", 2, true},
    {"matern32 + constant", "studentt", 0, true},
    {"matern52 + white(variance=0.1)", "heteroscedastic", 0, true},
    {"rbf", "softmax", LATENTS, false},
};
#define FOR_EACH_TRIAL(v) for (const trial *v = trials; v < trials + sizeof trials / sizeof *trials; v++)

/* forward_svgp, with a bit for each thread that has recorded a block. */
static atomic_int threads_seen;

static node *svgp_stat_noted(tape *t, const forward_view *g, const forward_block *b)
{
    atomic_fetch_or(&threads_seen, 1 << threads_id());
    return forward_svgp.stat(t, g, b);
}

/* Both models of the same rows, with the same q. */
typedef struct stage {
    fixture f;
    likelihood like;
    forward_svgp_model constants;
    svgp s;
    driver *d;
    double *stat, y[ROWS];
    forward_model noted;
    forward *forward;
    double m[M * LATENTS], R[SQUARES];
    forward_param own[2];
} stage;

typedef struct answer {
    double value, g[GRADIENT + M * LATENTS + SQUARES];
} answer;

static void fit_targets(stage *g)
{
    for (int i = 0; i < ROWS; i++)
        g->y[i] = g->like.ops->target == TARGET_CLASS ? (double)(i % g->like.classes) : g->f.y[i];
}

/* q number c, no special one: Lambda and theta by hand, m and the factor of V = Lambda^-1 on the tape. */
static void scatter_q(stage *g, uint64_t seed, int64_t c)
{
    double Q[M * M], Lambda[M * M] = {0}, theta[M], *R = g->R + c * M * M;
    fill_normal(seed + 100 + (uint64_t)c, M * M, Q);
    fill_normal(seed + 200 + (uint64_t)c, M, theta);
    la_syrk(LA_N, M, M, 0.7, Q, M, 0, Lambda, M);
    for (int64_t j = 0; j < M; j++) Lambda[j + j * M] += 1;
    assert_true(svgp_q_set(&g->s, &g->s.q[c], Lambda, theta));
    memcpy(g->m + c * M, g->s.q[c].m, M * sizeof(double));
    memcpy(R, g->s.q[c].F, M * M * sizeof(double));
    la_potri(M, R, M);
    assert_true(la_factor(M, R, M));
    la_zero_upper(M, R, M);
}

static void set_stage(stage *g, const trial *v, uint64_t seed)
{
    anygp_error e;
    *g = (stage){0};
    setup(&g->f, &model_dtc, v->expression, MEAN_ZERO, v->weights, true);
    model_dtc.close(g->f.state), g->f.state = NULL;
    assert_int_equal(likelihood_parse(v->likelihood, &g->like, &e), ANYGP_OK);
    assert_int_equal(likelihood_open(&g->like, v->classes, false, &e), ANYGP_OK);
    fit_targets(g);
    if (g->like.ops->start) g->like.ops->start(&g->like, ROWS, g->y, g->f.w);
    blocks_free(g->f.blocks);
    assert_int_equal(blocks_of_arrays(BLOCKS, g->f.start, D, 1, g->f.X, g->y, g->f.w, &g->f.blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_set_likelihood(&g->f.h, &g->like, 1, false, &e), ANYGP_OK);
    fill_normal(seed + 300, M * D, g->f.h.Z);
    g->f.p.blocks = g->f.blocks, g->f.p.likelihood = &g->like;
    assert_int_equal(svgp_init(&g->s, &g->f.p, &g->f.h, false, &e), ANYGP_OK);
    g->s.learn = true, g->s.random = (random_stream){.seed = seed, .use = RANDOM_TEST};
    for (int64_t c = 0; c < g->s.C; c++) scatter_q(g, seed, c);
    g->constants = (forward_svgp_model){&g->like, g->s.random};
    g->own[0] = (forward_param){M, g->s.C, g->m}, g->own[1] = (forward_param){M, M * g->s.C, g->R};
}

static void open_both(stage *g)
{
    anygp_error e;
    assert_int_equal(driver_open(&svgp_rows, g->f.p.blocks, g->f.p.comm, 0, &g->d, &e), ANYGP_OK);
    g->noted = forward_svgp, g->noted.stat = svgp_stat_noted;
    assert_int_equal(forward_open(&g->noted, &g->constants, 2, g->own, &g->f.p, &g->forward, &e), ANYGP_OK);
    g->stat = calloc((size_t)svgp_rows.stat_size(&g->s), sizeof *g->stat);
}

static void close_both(stage *g)
{
    driver_close(g->d);
    forward_close(g->forward);
    free(g->stat);
}

static void clear_stage(stage *g)
{
    svgp_clear(&g->s);
    teardown(&g->f, &model_dtc);
}

/* Gradients in m and R from b and S, which stand for dE/dm and -2 dE/dV:  b - m  and  lower(-S R) - R + diag(1 / R_ii). */
static void q_gradient(int64_t size, const double *m, const double *R, const double *b, double *S, double *gm,
                       double *gR)
{
    la_mirror(size, S, size);
    for (int64_t i = 0; i < size; i++) gm[i] = b[i] - m[i];
    la_gemm(LA_N, LA_N, size, size, size, -1, S, size, R, size, 0, gR, size);
    la_zero_upper(size, gR, size);
    la_axpy(size * size, -1, R, gR);
    for (int64_t i = 0; i < size; i++) gR[i + i * size] += 1 / R[i + i * size];
}

static void by_hand(stage *g, int64_t count, const int64_t *which, double scale, double jitter, answer *a)
{
    anygp_error e;
    int64_t P = hyper_size(&g->f.h), C = g->s.C;
    *a = (answer){0};
    assert_true(svgp_prepare(&g->s, &g->f.h, false, &jitter));
    assert_int_equal(driver_stat(g->d, &g->s, count, which, scale, g->stat, &e), ANYGP_OK);
    svgp_stat stat = svgp_stat_place(&g->s, g->stat);
    a->value = *stat.value - svgp_kl(&g->s);
    for (int64_t c = 0; c < C; c++)
        q_gradient(M, g->m + c * M, g->R + c * M * M, stat.b + c * M, stat.S + c * M * M, a->g + P + c * M,
                   a->g + P + C * M + c * M * M);
    assert_true(svgp_gradient(&g->s, &stat, a->g));
}

static void on_tape(stage *g, int64_t count, const int64_t *which, double scale, double jitter, answer *a)
{
    anygp_error e;
    *a = (answer){0};
    assert_int_equal(forward_gradient(g->forward, &g->f.h, count, which, scale, false, &jitter, &a->value, a->g, &e),
                     ANYGP_OK);
}

static void check_same(const answer *a, const answer *b)
{
    check_close(a->value, b->value, CLOSE);
    for (size_t i = 0; i < sizeof a->g / sizeof *a->g; i++) check_close(a->g[i], b->g[i], CLOSE);
}

static void svgp_on_the_tape_has_the_bound_and_gradients_of_svgp(void **unused)
{
    (void)unused;
    stage g;
    answer a, b;
    FOR_EACH_TRIAL(v)
    for (uint64_t seed = 1; seed <= 3; seed++) {
        set_stage(&g, v, seed);
        open_both(&g);
        assert_true(hyper_size(&g.f.h) <= GRADIENT && g.s.C <= LATENTS);
        for (double jitter = 1e-6; jitter < 0.1; jitter *= 1e3) {
            by_hand(&g, 0, NULL, 1, jitter, &a);
            on_tape(&g, 0, NULL, 1, jitter, &b);
            check_same(&a, &b);
        }
        close_both(&g);
        clear_stage(&g);
    }
}

static void a_sample_of_blocks_has_the_same_scaled_bound(void **unused)
{
    (void)unused;
    stage g;
    answer a, b;
    FOR_EACH_TRIAL(v)
    {
        set_stage(&g, v, 4);
        open_both(&g);
        const int64_t which[][2] = {{0, 3}, {2, 1}};
        for (int i = 0; i < 2; i++) {
            by_hand(&g, 2, which[i], BLOCKS / 2.0, 1e-4, &a);
            on_tape(&g, 2, which[i], BLOCKS / 2.0, 1e-4, &b);
            check_same(&a, &b);
        }
        close_both(&g);
        clear_stage(&g);
    }
}

/* Two ranks of two threads each; a rank has handles of its own. */
typedef struct rank_run {
    stage g;
    comm c;
    rank_thread own;
    answer by_hand, on_tape;
} rank_run;

static void *run_rank(void *at)
{
    rank_run *r = at;
    int former = threads_enter(2);
    r->g.f.p.comm = &r->c;
    open_both(&r->g);
    by_hand(&r->g, 0, NULL, 1, 1e-4, &r->by_hand);
    on_tape(&r->g, 0, NULL, 1, 1e-4, &r->on_tape);
    close_both(&r->g);
    threads_enter(former);
    return NULL;
}

static void ranks_and_threads_add_up_to_the_same(void **unused)
{
    (void)unused;
    enum { RANKS = 2 };
    static rank_run r[RANKS];
    static team t;
    pthread_t thread[RANKS];
    FOR_EACH_TRIAL(v)
    {
        stage g;
        answer alone;
        set_stage(&g, v, 5);
        open_both(&g);
        on_tape(&g, 0, NULL, 1, 1e-4, &alone);
        close_both(&g);
        threads_seen = 0;
        team_open(&t, RANKS);
        for (int i = 0; i < RANKS; i++) {
            set_stage(&r[i].g, v, 5);
            r[i].c = team_comm(&t, i, &r[i].own);
            assert_int_equal(pthread_create(&thread[i], NULL, run_rank, &r[i]), 0);
        }
        for (int i = 0; i < RANKS; i++) pthread_join(thread[i], NULL);
        assert_int_equal(threads_seen, 3);
        for (int i = 0; i < RANKS; i++) {
            check_same(&r[i].by_hand, &r[i].on_tape);
            check_same(&alone, &r[i].on_tape);
            clear_stage(&r[i].g);
        }
        team_close(&t);
        clear_stage(&g);
    }
}

/* --------------------------------------------------------------------------------- sparse models */

static const forward_model *family(const model_ops *self) { return self->family; }

static anygp_status open_forward(const model_ops *self, const problem *p, const hyper *h, void **state, anygp_error *e)
{
    (void)h;
    return forward_open(family(self), NULL, 0, NULL, p, (forward **)state, e);
}

#define ENTRY(name_, of)                                                                                               \
    {                                                                                                                  \
        .name = name_, .family = &of, .open = open_forward, .evaluate = forward_evaluate, .failure = forward_failure,  \
        .rows = forward_rows, .close = forward_close                                                                   \
    }
static const struct pair {
    const model_ops *by_hand, on_tape;
} pairs[] = {
    {&model_vfe, ENTRY("vfe-forward", forward_vfe)},
    {&model_fitc, ENTRY("fitc-forward", forward_fitc)},
    {&model_pitc, ENTRY("pitc-forward", forward_pitc)},
};
#define FOR_EACH_PAIR(q) for (const struct pair *q = pairs; q < pairs + sizeof pairs / sizeof *pairs; q++)

static const struct pair *pair_of(const model_ops *m)
{
    FOR_EACH_PAIR(q) if (q->by_hand == m) return q;
    return NULL;
}

/* A kernel and Z as they are before and after a change of both. */
static void compare_models(fixture *f, const struct pair *q, bool learn_Z)
{
    void *state;
    anygp_error e;
    double value[2], g[2][GRADIENT], jitter = 1e-5;
    assert_int_equal(q->on_tape.open(&q->on_tape, &f->p, &f->h, &state, &e), ANYGP_OK);
    assert_true(q->on_tape.rows(state) == q->by_hand->rows(f->state));
    for (int round = 0; round < 2; round++) {
        f->h.learn_Z = learn_Z;
        for (int without = 0; without < 2; without++) {
            assert_true(q->by_hand->evaluate(f->state, &f->h, false, &jitter, &value[0], without ? NULL : g[0]));
            assert_true(q->on_tape.evaluate(state, &f->h, false, &jitter, &value[1], without ? NULL : g[1]));
            check_close(value[0], value[1], CLOSE);
        }
        for (int64_t i = 0; i < hyper_size(&f->h); i++) check_close(g[0][i], g[1][i], CLOSE);
        kernel_values(f->h.kernel)[0] *= 1.3;
        f->h.Z[0] += 0.1;
    }
    q->on_tape.close(state);
}

static void sparse_models_on_the_tape_are_those_by_hand(void **unused)
{
    (void)unused;
    fixture f;
    FOR_EACH_PAIR(q)
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int learn_Z = 0; learn_Z < 2; learn_Z++) {
            setup(&f, q->by_hand, v->expression, MEAN_ZERO, v->weights, true);
            compare_models(&f, q, learn_Z);
            teardown(&f, q->by_hand);
        }
}

/* ------------------------------------------------------------------------------- many rows, threads */

enum { MANY = 12000, LARGE = 96, MANY_BLOCKS = 50 };

/* Enough work for the driver to wake a second thread. */
static void two_threads_give_what_one_gives(void **unused)
{
    (void)unused;
    static double X[MANY * D], y[MANY], Z[LARGE * D], g[3][LARGE * D + 8];
    int64_t start[MANY_BLOCKS + 1];
    fixture f;
    void *state;
    anygp_error e;
    double value[3], jitter = 1e-3;
    const struct pair *q = pair_of(&model_fitc);
    fill_normal(1, MANY * D, X);
    fill_normal(2, MANY, y);
    fill_normal(3, LARGE * D, Z);
    for (int64_t i = 0; i <= MANY_BLOCKS; i++) start[i] = MANY * i / MANY_BLOCKS;
    setup(&f, &model_fitc, "matern32", MEAN_ZERO, false, true);
    model_fitc.close(f.state);
    blocks_free(f.blocks);
    assert_int_equal(blocks_of_arrays(MANY_BLOCKS, start, D, 1, X, y, NULL, &f.blocks, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&f.h, LARGE, D, Z, true, &e), ANYGP_OK);
    f.p.blocks = f.blocks;
    for (int i = 0; i < 3; i++) {
        int former = threads_enter(i == 1 ? 1 : 2);
        const model_ops *m = i == 2 ? q->by_hand : &q->on_tape;
        assert_int_equal(m->open(m, &f.p, &f.h, i == 2 ? &f.state : &state, &e), ANYGP_OK);
        assert_true(m->evaluate(i == 2 ? f.state : state, &f.h, false, &jitter, &value[i], g[i]));
        if (i < 2) m->close(state);
        threads_enter(former);
    }
    for (int i = 0; i < 2; i++) {
        check_close(value[i], value[2], CLOSE);
        for (int64_t j = 0; j < hyper_size(&f.h); j++) check_close(g[i][j], g[2][j], CLOSE);
    }
    teardown(&f, &model_fitc);
}

/* ------------------------------------------------------------------------------------------ failure */

static void no_prepare(tape *t, forward_view *g) { (void)t, (void)g; }
static node *rows_as_statistic(tape *t, const forward_view *g, const forward_block *b)
{
    return (void)t, (void)g, b->y;
}
static node *sum_of(tape *t, const forward_view *g, node *sum) { return (void)g, tape_sum(t, sum); }

static node *shapes_that_do_not_fit(tape *t, const forward_view *g, const forward_block *b)
{
    return tape_sum(t, tape_gemm(t, LA_N, b->X, LA_N, g->v[FORWARD_Z]));
}

static void check_sentence(fixture *f, const forward_model *m, const char *part)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0;
    assert_int_equal(forward_open(m, NULL, 0, NULL, &f->p, &state, &e), ANYGP_OK);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, false, &jitter, &value, NULL, &e), ANYGP_ERR_INTERNAL);
    if (!strstr(e.text, part)) print_error("%s\n", e.text);
    assert_non_null(strstr(e.text, part));
    forward_close(state);
}

/* Two equal inducing inputs have a singular K_uu: an error without jitter, unless it may grow. */
static void check_jitter(fixture *f)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0, g[GRADIENT];
    memcpy(f->h.Z + D, f->h.Z, D * sizeof(double));
    assert_int_equal(forward_open(&forward_vfe, NULL, 0, NULL, &f->p, &state, &e), ANYGP_OK);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, false, &jitter, &value, g, &e), ANYGP_ERR_NUMERIC);
    assert_true(jitter == 0);
    assert_int_equal(forward_gradient(state, &f->h, 0, NULL, 1, true, &jitter, &value, g, &e), ANYGP_OK);
    assert_true(jitter > 0 && jitter < 1e-6);
    forward_close(state);
}

/* As a model of the table it has a gradient in hyper alone. */
static void check_own(fixture *f)
{
    forward *state;
    anygp_error e;
    double value, jitter = 0, g[GRADIENT];
    forward_param own = {1, 1, &jitter};
    assert_int_equal(forward_open(&forward_vfe, NULL, 1, &own, &f->p, &state, &e), ANYGP_OK);
    assert_false(forward_evaluate(state, &f->h, true, &jitter, &value, g));
    assert_int_equal(forward_failure(state)->status, ANYGP_ERR_INTERNAL);
    forward_close(state);
}

static void what_is_wrong_with_a_model_is_said(void **unused)
{
    (void)unused;
    fixture f;
    setup(&f, &model_vfe, "rbf", MEAN_ZERO, false, true);
    forward_model m = {.rows_alone = true, .prepare = no_prepare, .stat = rows_as_statistic, .head = sum_of};
    check_sentence(&f, &m, "the statistic of 2 rows has 2 numbers and that of one row 1");
    m.stat = shapes_that_do_not_fit;
    check_sentence(&f, &m, "the operands of gemm do not fit: 2 x 1 and 2 x 6");
    m.made = FORWARD_NODES;
    assert_int_equal(forward_open(&m, NULL, 0, NULL, &f.p, &(forward *){NULL}, NULL), ANYGP_ERR_INTERNAL);
    check_jitter(&f);
    check_own(&f);
    forward_close(NULL);
    teardown(&f, &model_vfe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svgp_on_the_tape_has_the_bound_and_gradients_of_svgp),
        cmocka_unit_test(a_sample_of_blocks_has_the_same_scaled_bound),
        cmocka_unit_test(ranks_and_threads_add_up_to_the_same),
        cmocka_unit_test(sparse_models_on_the_tape_are_those_by_hand),
        cmocka_unit_test(two_threads_give_what_one_gives),
        cmocka_unit_test(what_is_wrong_with_a_model_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
