/* qsgp and qsrvm over the rows of a scene: weights anywhere, features and the bound as full matrices, and estimates of it from given samples. */
#ifndef TEST_QSGP_STAGE_H
#define TEST_QSGP_STAGE_H

#include "model_scene.h"

#include "base/special.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum { FUNCTIONS = 6, V_MOST = 4 };

static const scene_kind plain_kind = {"rbf(variance=1.3,lengthscale=[0.8,1.4])",
                                      "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, true};

typedef struct stage {
    scene s;
    qsgp_state *q;
    const model_ops *made;
} stage;

/* An expression over m functions; NULL: gaussian. */
static inline void set_stage(stage *g, const char *expression, int64_t m, const char *like)
{
    anygp_error e = {.text = ""};
    if (model_make(expression, &g->made, &e)) fail_msg("%s", e.text);
    scene_open(&g->s, g->made, &plain_kind);
    g->s.model->close(g->s.state);
    g->s.p.subset = m;
    if (like) {
        assert_int_equal(likelihood_parse(like, &g->s.like, &e), ANYGP_OK);
        assert_int_equal(likelihood_open(&g->s.like, 2, false, &e), ANYGP_OK);
        for (int i = 0; i < ROWS; i++) g->s.y[i] = g->s.y[i] > 0;
        hyper_clear(&g->s.h);
        scene_hyper(&g->s, &plain_kind);
        assert_int_equal(likelihood_parse(like, &g->s.like, &e), ANYGP_OK);
        assert_int_equal(likelihood_open(&g->s.like, 2, false, &e), ANYGP_OK);
        assert_int_equal(hyper_set_likelihood(&g->s.h, &g->s.like, 1, false, &e), ANYGP_OK);
    }
    if (model_open(g->made, &g->s.p, &g->s.h, &g->s.state, &e)) fail_msg("%s", e.text);
    g->q = g->s.state;
    scene_begin(&g->s);
}

static inline void clear_stage(stage *g)
{
    scene_close(&g->s);
    model_free(g->made);
}

/* Weights and squares that are no special place. */
static inline void scatter(qsgp *q)
{
    double x[FUNCTIONS * V_MOST * 2], u[FUNCTIONS * V_MOST];
    fill_normal(71, q->cells.m * q->V, x);
    fill_normal(72, q->cells.m * q->C, u);
    for (int64_t i = 0; i < q->cells.m * q->C; i++) q->square[i] = 0.1 + 0.2 * u[i] * u[i];
    for (int64_t j = 0; j < q->cells.m; j++)
        for (int64_t k = 0; k < q->V; k++) {
            int64_t r = k % (1 + q->K) - 1;
            q->v[j * q->V + k] = r == j ? 0.3 + 0.1 * fabs(x[j * q->V + k]) : r > j ? 0 : 0.5 * x[j * q->V + k];
        }
}

/* Phi[n,m], column-major, of n rows. */
static inline void features(const stage *g, int64_t n, const double *X, double *Phi)
{
    const cells *c = &g->q->q.cells;
    double *XT = calloc((size_t)(n * D), sizeof *XT);
    cells_hand h;
    anygp_error e;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < D; d++) XT[i + d * n] = X[i * D + d];
    cell_rows r = {n, D, X, XT, n};
    assert_int_equal(cells_hand_open(&h, c, g->s.h.kernel, &e), ANYGP_OK);
    for (int64_t cell = 0; cell < c->count; cell++) {
        assert_int_equal(cells_hand_take(&h, 1, &cell, &e), ANYGP_OK);
        assert_true(cells_fill(&h, 0, &r, Phi + cell_first(c, cell) * n, n));
    }
    cells_hand_clear(&h);
    free(XT);
}

/* a = Phi_p v, from the start. */
static inline void control_of(const stage *g, double *a)
{
    const qsgp *q = &g->q->q;
    double *Phi = calloc((size_t)(q->P * q->cells.m) + 1, sizeof *Phi);
    features(g, q->P, q->Xp, Phi);
    la_gemm(LA_N, LA_T, q->P, q->V, q->cells.m, 1, Phi, q->P, q->v, q->V, 0, a, q->P);
    free(Phi);
}

static inline double diagonal(const stage *g, int64_t j)
{
    const qsgp *q = &g->q->q;
    cells_hand h;
    anygp_error e;
    int64_t cell = j / q->cells.width;
    assert_int_equal(cells_hand_open(&h, &q->cells, g->s.h.kernel, &e), ANYGP_OK);
    assert_int_equal(cells_hand_take(&h, 1, &cell, &e), ANYGP_OK);
    double d = qsgp_diagonal(q, &h, 0, j % q->cells.width, 0);
    cells_hand_clear(&h);
    return d;
}

/* Eq. 2 with S = I, or diag(s), from Sigma as a full matrix. */
static inline double bound_by_matrices(const stage *g, const double *d)
{
    const qsgp *q = &g->q->q;
    double Phi[ROWS * FUNCTIONS], Sigma[FUNCTIONS * FUNCTIONS] = {0}, L[FUNCTIONS * FUNCTIONS], s = g->s.h.like[0],
                                                    sum = 0;
    int64_t m = q->cells.m;
    features(g, ROWS, g->s.X, Phi);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            Sigma[i + j * m] = i == j && j >= q->K ? d[j] : 0;
            for (int64_t r = 0; r < q->K; r++) Sigma[i + j * m] += q->v[i * q->V + 1 + r] * q->v[j * q->V + 1 + r];
        }
    memcpy(L, Sigma, sizeof L);
    assert_true(la_factor(m, L, m));
    for (int64_t i = 0; i < ROWS; i++) {
        double f = 0, var = 0;
        for (int64_t a = 0; a < m; a++) {
            f += Phi[i + a * ROWS] * q->v[a * q->V];
            for (int64_t b = 0; b < m; b++) var += Phi[i + a * ROWS] * Sigma[a + b * m] * Phi[i + b * ROWS];
        }
        sum -= 0.5 * g->s.w[i] * (LOG_2PI + log(s) + (pow(g->s.y[i] - f, 2) + var) / s);
    }
    for (int64_t j = 0; j < m; j++) {
        double precision = q->s ? q->s[j] : 1;
        sum -= 0.5 * (precision * (Sigma[j + j * m] + pow(q->v[j * q->V], 2)) - 1 - log(precision));
    }
    return sum + 0.5 * la_logdet(m, L, m);
}

typedef struct collected {
    double *g; /* m x V */
} collected;

static inline void collect(qsgp *q, const qsgp_pass *p, int64_t slot, const double *G, void *ctx)
{
    int64_t first = cell_first(&q->cells, p->s->cell[slot]), size = cell_size(&q->cells, p->s->cell[slot]);
    for (int64_t i = 0; i < size * q->V; i++) ((collected *)ctx)->g[first * q->V + i] += G[i];
}

/* The estimate from cells i and j (single ones) and one block, its gradient added to g. */
static inline double estimate(stage *g, int64_t i, int64_t j, int64_t block, bool control, double *gradient,
                              double *slope)
{
    qsgp_state *q = g->q;
    anygp_error e = {.text = ""};
    int64_t list[2] = {i < j ? i : j, i < j ? j : i};
    uint8_t in[2] = {i == j ? 3 : i < j ? 1 : 2, i < j ? 2 : 1};
    q->pass.now.kernel = g->s.h.kernel, q->pass.turn = NULL;
    qsgp_take_values(&q->q, &g->s.h);
    assert_int_equal(qsgp_sample_given(&q->q, i == j ? 1 : 2, list, in, (double)q->q.cells.count, &q->sample, &e), 0);
    assert_int_equal(qsgp_sample_rows(&q->q, g->s.blocks, 1, &block, BLOCKS, control, &q->sample, &e), 0);
    collected c = {gradient};
    if (qsgp_run_pass(&q->pass, gradient ? collect : NULL, &c, false, &g->s.h, slope, &e)) fail_msg("%s", e.text);
    return q->pass.value;
}

#endif
