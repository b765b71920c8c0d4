/* svgp written forward on the tape against the one written by hand: bound and every gradient, over all blocks, a sample, threads
   and ranks. */
#include "rank_support.h"
#include "chain_stage.h"

#include <stdatomic.h>

#include "base/threads.h"
#include "model/reference/forward_models.h"

static const double CLOSE = 1e-10;

enum { LATENTS = 3, MOST = M + D + 1, SQUARES = MOST * MOST * LATENTS, GRADIENT = 32 + M * D };

typedef struct trial {
    const char *expression, *likelihood;
    int64_t classes;
    mean_kind mean;
    bool weights;
} trial;

static const trial trials[] = {
    {"rbf", "gaussian", 0, MEAN_ZERO, false},
    {"matern52(variance=2) + 0.5*white(variance=0.6)", "gaussian", 0, MEAN_LINEAR, true},
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])*linear + white(variance=0.2)", "bernoulli", 2, MEAN_CONSTANT, true},
    {"matern32 + constant", "studentt", 0, MEAN_ZERO, true},
    {"matern52 + white(variance=0.1)", "heteroscedastic", 0, MEAN_LINEAR, true},
    {"rbf", "softmax", LATENTS, MEAN_CONSTANT, false},
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
    chain s;
    driver *d;
    double *stat, y[ROWS];
    forward_model noted;
    forward *forward;
    double m[MOST * LATENTS], R[SQUARES];
    forward_param own[2];
} stage;

typedef struct answer {
    double value, g[GRADIENT + MOST * LATENTS + SQUARES];
} answer;

/* q number c, no special one: Lambda and theta by hand, m and the factor of V = Lambda^-1 on the tape. */
static void scatter_q(stage *g, uint64_t seed, int64_t c)
{
    int64_t n = g->s.f->Mt;
    double Q[MOST * MOST], Lambda[MOST * MOST] = {0}, theta[MOST], *R = g->R + c * n * n;
    fill_normal(seed + 100 + (uint64_t)c, n * n, Q);
    fill_normal(seed + 200 + (uint64_t)c, n, theta);
    la_syrk(LA_N, n, n, 0.7, Q, n, 0, Lambda, n);
    for (int64_t j = 0; j < n; j++) Lambda[j + j * n] += 1;
    assert_true(layer_q_set(g->s.f, &g->s.f->q[c], Lambda, theta));
    memcpy(g->m + c * n, g->s.f->q[c].m, (size_t)n * sizeof(double));
    memcpy(R, g->s.f->q[c].F, (size_t)(n * n) * sizeof(double));
    la_potri(n, R, n);
    assert_true(la_factor(n, R, n));
    la_zero_upper(n, R, n);
}

static void set_stage(stage *g, const trial *v, uint64_t seed)
{
    anygp_error e;
    *g = (stage){0};
    stage_rows(&g->f, &g->like, g->y, v->expression, v->likelihood, v->classes, v->mean, v->weights);
    fill_normal(seed + 300, M * D, g->f.h.Z);
    assert_int_equal(chain_init(&g->s, &g->f.p, &g->f.h, false, &e), ANYGP_OK);
    g->s.f->learn = true, g->s.random = (random_stream){.seed = seed, .use = RANDOM_TEST};
    for (int64_t c = 0; c < g->s.f->C; c++) scatter_q(g, seed, c);
    g->constants = (forward_svgp_model){&g->like, g->s.random};
    g->own[0] = (forward_param){g->s.f->Mt, g->s.f->C, g->m};
    g->own[1] = (forward_param){g->s.f->Mt, g->s.f->Mt * g->s.f->C, g->R};
}

static void open_both(stage *g)
{
    anygp_error e;
    assert_int_equal(driver_open(&chain_rows, g->f.p.blocks, g->f.p.comm, 0, &g->d, &e), ANYGP_OK);
    g->noted = forward_svgp, g->noted.stat = svgp_stat_noted;
    assert_int_equal(forward_open(&g->noted, &g->constants, 2, g->own, &g->f.p, &g->forward, &e), ANYGP_OK);
    g->stat = calloc((size_t)chain_rows.stat_size(&g->s), sizeof *g->stat);
}

static void close_both(stage *g)
{
    driver_close(g->d);
    forward_close(g->forward);
    free(g->stat);
}

static void clear_stage(stage *g)
{
    chain_clear(&g->s);
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
    int64_t P = hyper_size(&g->f.h), C = g->s.f->C, n = g->s.f->Mt;
    *a = (answer){0};
    assert_true(chain_prepare(&g->s, &g->f.h, false, &jitter));
    assert_int_equal(driver_stat(g->d, &g->s, count, which, scale, g->stat, &e), ANYGP_OK);
    chain_stat stat;
    chain_stat_place(&g->s, g->stat, &stat);
    a->value = *stat.value - chain_kl(&g->s);
    for (int64_t c = 0; c < C; c++)
        q_gradient(n, g->m + c * n, g->R + c * n * n, stat.f->b + c * n, stat.f->S + c * n * n, a->g + P + c * n,
                   a->g + P + C * n + c * n * n);
    assert_true(chain_gradient(&g->s, &stat, a->g));
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
        assert_true(hyper_size(&g.f.h) <= GRADIENT && g.s.f->C <= LATENTS && g.s.f->Mt <= MOST);
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
        assert_int_equal(threads_seen, threads_built() ? 3 : 1);
        for (int i = 0; i < RANKS; i++) {
            check_same(&r[i].by_hand, &r[i].on_tape);
            check_same(&alone, &r[i].on_tape);
            clear_stage(&r[i].g);
        }
        team_close(&t);
        clear_stage(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svgp_on_the_tape_has_the_bound_and_gradients_of_svgp),
        cmocka_unit_test(a_sample_of_blocks_has_the_same_scaled_bound),
        cmocka_unit_test(ranks_and_threads_add_up_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
