/* Steps by blocks of rows where noise is not Gaussian (qsgp_block.c has those where it is), for likelihoods with one latent function.

   The optimum is mu = Phi'alpha again, with alpha_i = g_i'(f_i), g_i(f) the expected log likelihood of row i at mean f under q's variance
   there.  A step takes its rows b, keeps the others' alpha, and finds the mode under the kernel's own matrix,
       f = f_b + K_bb delta,   alpha_b + delta = g'(f)
   by Newton's steps with W = -g'' (Rasmussen and Williams 2006, algorithm 3.1).  Then alpha_b += t delta, mu += t Phi_b'delta.
   The dual bound has the slope sum_i delta_i (h_i(alpha_i + t delta_i) - f_bi) - t |Phi_b'delta|^2 along delta, h the inverse of g', which
   falls: at t <= 1 it is at least delta'(f - f_b) - t |Phi_b'delta|^2.  So t = min(1, delta'(f - f_b) / |Phi_b'delta|^2) never lowers the dual,
   however far Phi Phi' and the kernel are apart, and wherever Newton's steps have stopped.  Kernels at all rows have t = 1. */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/weights/qsgp_state.h"

enum { STEPS_MOST = 20, HALVINGS_MOST = 10 };
static const double SMALL = 1e-9; /* a gain that ends the steps, relative to the objective */

/* A row's numbers, of n each. */
enum { F, F_ALONE, FIRST, DELTA, TO, CHANGE, SLOPE, CURVE, ALPHA, WORK, VECTORS };

int64_t qsgp_newton_doubles(int64_t n) { return VECTORS * n; }

typedef struct mode {
    qsgp_pass *p;
    int64_t t, n;
    const double *K; /* n x n, with its damping */
    double *B;       /* n x n: room */
    double *x[VECTORS];
    double value;
} mode;

/* g', -g'' and the objective sum g(f) - alpha'K delta - delta'K delta / 2 at f = f_b + K delta, of x[TO] and x[CHANGE] = K x[TO]. */
static double objective(mode *m)
{
    const qsgp_sample *s = m->p->s;
    const qsgp *q = m->p->q;
    const likelihood *l = &q->like[m->t];
    double unused[LIKELIHOOD_PARAMS] = {0};
    for (int64_t i = 0; i < m->n; i++) m->x[F][i] = m->x[FIRST][i] + m->x[CHANGE][i];
    double sum = l->ops->expect(l, m->n, m->p->Y, s->w, m->x[F], m->p->S + m->t * m->n, m->n, m->p->random, s->index,
                                m->x[SLOPE], m->x[CURVE], unused);
    for (int64_t i = 0; i < m->n; i++) {
        m->x[CURVE][i] = fmax(-2 * m->x[CURVE][i], 0);
        sum -= (m->x[ALPHA][i] + 0.5 * m->x[TO][i]) * m->x[CHANGE][i];
    }
    return sum;
}

/* x[TO] = (I + W K)^-1 (g' - alpha + W K delta), by I + W^1/2 K W^1/2, which is never near singular. */
static bool newton_step(mode *m)
{
    int64_t n = m->n;
    double *root = m->x[WORK], *b = m->x[TO], *c = m->x[CHANGE];
    for (int64_t i = 0; i < n; i++) {
        root[i] = sqrt(m->x[CURVE][i]);
        b[i] = m->x[SLOPE][i] - m->x[ALPHA][i] + m->x[CURVE][i] * (m->x[F][i] - m->x[FIRST][i]);
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) m->B[i + j * n] = root[i] * root[j] * m->K[i + j * n];
        m->B[j + j * n] += 1;
    }
    if (!la_factor(n, m->B, n)) return false;
    la_gemv(LA_N, n, n, 1, m->K, n, b, 0, c);
    for (int64_t i = 0; i < n; i++) c[i] *= root[i];
    la_trsv(LA_N, n, m->B, n, c);
    la_trsv(LA_T, n, m->B, n, c);
    for (int64_t i = 0; i < n; i++) b[i] -= root[i] * c[i];
    la_gemv(LA_N, n, n, 1, m->K, n, b, 0, c);
    return true;
}

/* From delta towards x[TO], half the way and half again where the whole of it gains nothing.  False: there is nothing more to gain. */
static bool go(mode *m)
{
    int64_t n = m->n;
    double *delta = m->x[DELTA], *K_delta = m->x[F_ALONE], before = m->value;
    for (int halving = 0; halving < HALVINGS_MOST; halving++) {
        m->value = objective(m);
        if (m->value >= before) { /* never for a number that is none */
            memcpy(delta, m->x[TO], (size_t)n * sizeof *delta);
            memcpy(K_delta, m->x[CHANGE], (size_t)n * sizeof *delta);
            return m->value - before > SMALL * (1 + fabs(before));
        }
        for (int64_t i = 0; i < n; i++) {
            m->x[TO][i] = 0.5 * (m->x[TO][i] + delta[i]);
            m->x[CHANGE][i] = 0.5 * (m->x[CHANGE][i] + K_delta[i]);
        }
    }
    memcpy(m->x[TO], delta, (size_t)n * sizeof *delta);
    memcpy(m->x[CHANGE], K_delta, (size_t)n * sizeof *delta);
    m->value = objective(m);
    return false;
}

static void take_targets(const mode *m)
{
    const qsgp_sample *s = m->p->s;
    int64_t columns = m->p->q->like[m->t].columns;
    for (int64_t i = 0; i < m->n; i++)
        memcpy(m->p->Y + i * columns, s->y + i * s->Q + m->t * columns, (size_t)columns * sizeof *m->p->Y);
}

anygp_status qsgp_newton_solve(qsgp_pass *p, int64_t t, const double *alpha, const double *K, double *B, double *room,
                               double *delta, double *gain, anygp_error *e)
{
    int64_t n = p->s->n;
    mode m = {.p = p, .t = t, .n = n, .K = K, .B = B};
    for (int i = 0; i < VECTORS; i++) m.x[i] = room + i * n;
    memset(room, 0, (size_t)(VECTORS * n) * sizeof *room);
    memcpy(m.x[FIRST], p->F + t * p->s->rows, (size_t)n * sizeof *room);
    for (int64_t i = 0; i < n; i++) m.x[ALPHA][i] = alpha[p->s->place[i] * p->q->C + t];
    take_targets(&m);
    m.value = objective(&m);
    if (!isfinite(m.value)) return fail_with(e, ANYGP_ERR_NUMERIC, "the bound of a step is not a number");
    bool further = true;
    for (int step = 0; further && step < STEPS_MOST; step++) further = newton_step(&m) && go(&m);
    *gain = 0;
    for (int64_t i = 0; i < n; i++) {
        delta[i] = m.x[SLOPE][i] - m.x[ALPHA][i];
        *gain += delta[i] * m.x[CHANGE][i];
    }
    return ANYGP_OK;
}
