/* Newton steps of the bound for a block of the mean's coefficients.

   In a the bound is  sum_i E_i(f_i) - a'K_alpha a / 2,  f_i = k_{i,alpha} a + sqrt(s) h(x_i)'t,  less |t|^2 / 2 for the
   coefficients t of the prior mean.  With g_i = dE_i/df_i and lambda_i = -2 dE_i/dvar_i, which for Gaussian noise is 1 / noise,
       gradient          r = K_{alpha,x} g - K_alpha a                                 (of t:  sqrt(s) H'g - t)
       system            (K_alpha + K_{alpha,x} Lambda K_{x,alpha}) d = r
   For Gaussian noise that is the mean of dtc and of vfe with alpha as inducing inputs; with all rows as bases that of the exact model.
   A step moves the t and a random block J of the a by
       A_J d = r_J,     A_J = P_J + Phi' Lambda Phi,     P_J = diag(I, K_JJ),  Phi = (sqrt(s) H, K_{x,J})
   A block that is spread at random over the places knows all that is smooth about the function, and each basis in its turn what is
   rough, so that the number of steps hardly depends on the condition of K_alpha.  With J = alpha and all rows the first
   step is exact for Gaussian noise.

   So a moves while hyperparameters learn and bases are added; where they stay, svdgp_solve.c takes over.

   Gradient.  K_{J,alpha} a is exact.  Of K_{J,x} g a sample of rows tells, times its scale: a step is rho d with rho such that a rests
   on 20 rows for each coefficient that moves, or 1 / (2 + t) where that is more.  With all rows a step is d.

   Curvature.  Phi and Lambda are those of the last WITNESSES rows of samples before this one, scaled to all rows: were they
   the sample's own, d would depend on its noise twice.  J has at most an eighth of that many bases, so that the witnesses are enough
   to see every direction in which the rows tell something.  They and their lambda decide how fast, not where to.
   Latents that share a likelihood move at once, each with its own curvature; the joint one is at most twice that (for two latents, and
   for softmax), so that a step is half as long.  Where log p is not quadratic in f no f moves by more than 2.

   Cost: (N + |J|) M_alpha kernel values, and WITNESSES |J|^2 + |J|^3 / 3 per latent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/decoupled/svdgp_state.h"

enum { WITNESSES = 2048, BLOCK_MOST = 256, ROWS_A_BASIS = 8, PIECE = 256 };
static const double ROWS_A_POINT = 20, STEP_MOST = 0.5;
static const double MOVE_MOST = 2; /* of f, in one step, where log p is not quadratic */
static const double RIDGE = 1e-13; /* of the mean diagonal: what rounding takes from a semi-definite matrix, and more */

/* ------------------------------------------------------------------------------------------ choice */

anygp_status svdgp_witness_seat(svdgp_state *q, int64_t count, const int64_t *which, int64_t most, anygp_error *e)
{
    svdgp_witness *w = &q->s.witness;
    const row_blocks *b = q->problem->blocks;
    int64_t index, rows = (which ? count : b->count) * b->largest;
    id_table_clear(&q->position);
    for (int64_t i = 0; which && i < count; i++) TRY(id_table_index(&q->position, which[i], &index, e));
    w->largest = b->largest, w->position = which ? &q->position : NULL;
    w->stride = rows > most ? (rows + most - 1) / most : 1;
    w->seats = (rows + w->stride - 1) / w->stride;
    return ANYGP_OK;
}

static int64_t block_size(const svdgp_state *q, const step_context *c)
{
    const svdgp *s = &q->s;
    bool whole = !c->which && s->witness.stride == 1;
    int64_t known = q->witness.rows > 0 ? q->witness.rows : s->witness.seats, most = BLOCK_MOST;
    if (!whole && known / ROWS_A_BASIS < most) most = known / ROWS_A_BASIS;
    if (most < 1) most = 1;
    return most < svdgp_Ma(s) ? most : svdgp_Ma(s);
}

anygp_status svdgp_block_choose(svdgp_state *q, const step_context *c, anygp_error *e)
{
    svdgp *s = &q->s;
    svdgp_block *b = &s->block;
    TRY(svdgp_witness_seat(q, c->count, c->which, WITNESSES, e));
    b->n = block_size(q, c);
    free(b->which);
    free(b->Z);
    b->which = mem_alloc(b->n, sizeof *b->which), b->Z = mem_doubles(b->n, s->D);
    if (!b->which || !b->Z) return fail_memory(e, "a step", 8.0 * (double)(b->n * s->D));
    random_subset((random_stream){c->seed, RANDOM_COLUMNS, (uint64_t)c->t}, svdgp_Ma(s), b->n, b->which);
    for (int64_t j = 0; j < b->n; j++)
        memcpy(b->Z + j * s->D, s->alpha.values + b->which[j] * s->D, (size_t)s->D * sizeof *b->Z);
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- witnesses */

/* A witness: w, x[D], lambda[C].  The sample's take the places of the oldest. */
anygp_status svdgp_witness_keep(svdgp_state *q, const double *seats, int64_t most, anygp_error *e)
{
    const svdgp *s = &q->s;
    int64_t width = svdgp_witness_width(s);
    if (q->witness.rows > most) q->witness.rows = q->oldest = 0;
    for (int64_t i = 0; i < s->witness.seats; i++) {
        const double *seat = seats + i * width;
        if (!(seat[0] > 0)) continue;
        if (q->oldest == q->witness.rows) TRY(segment_append(&q->witness, 1, NULL, e));
        double *to = q->witness.values + q->oldest * (width - 1);
        for (int64_t k = 0; k < width - 1; k++) to[k] = seat[k + 1] / seat[0];
        q->oldest = (q->oldest + 1) % most;
    }
    return ANYGP_OK;
}

double svdgp_witness_scale(const svdgp_state *q)
{
    double total = 0;
    for (int64_t i = 0; i < q->witness.rows; i++) total += q->witness.values[i * q->witness.cols];
    return q->problem->blocks->total / fmax(total, 1e-300);
}

/* ------------------------------------------------------------------------------------------- solve */

typedef struct newton {
    int64_t n;              /* p + |J| */
    double *P, *A;          /* n x n: the prior's, and the system or its factor */
    double *Phi, *F, *tile; /* PIECE x n, features, of functions.h */
    double *r, *f, *diag;   /* n */
    double scale;           /* of the witnesses to all rows */
} newton;

static void newton_free(newton *w)
{
    double *const owned[] = {w->P, w->A, w->Phi, w->F, w->tile, w->r, w->f, w->diag};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static bool fill_prior(const svdgp *s, const newton *w)
{
    int64_t n = w->n, p = s->p, J = s->block.n;
    function_set set = {J, s->block.Z, NULL};
    if (!functions_pair(&s->f, set, set, w->tile, w->A)) return false;
    memset(w->P, 0, (size_t)(n * n) * sizeof *w->P);
    for (int64_t i = 0; i < p; i++) w->P[i + i * n] = 1;
    for (int64_t j = 0; j < J; j++) memcpy(w->P + p + (p + j) * n, w->A + j * J, (size_t)J * sizeof *w->P);
    return true;
}

static anygp_status newton_new(const svdgp_state *q, newton *w, anygp_error *e)
{
    const svdgp *s = &q->s;
    int64_t n = s->p + s->block.n, most = s->block.n > PIECE ? s->block.n : PIECE;
    *w = (newton){.n = n};
    w->P = mem_doubles(n, n), w->A = mem_doubles(n, n), w->Phi = mem_doubles(PIECE, n);
    w->F = mem_alloc(functions_features_size(&s->f, PIECE) + 1, sizeof(double));
    w->tile = mem_alloc(functions_work(&s->f, most, s->block.n), sizeof(double));
    w->r = mem_alloc(n, sizeof(double)), w->f = mem_alloc(n, sizeof(double)), w->diag = mem_alloc(n, sizeof(double));
    if (!w->P || !w->A || !w->Phi || !w->F || !w->tile || !w->r || !w->f || !w->diag || !fill_prior(s, w))
        return fail_memory(e, "a step", 16.0 * (double)n * (double)n);
    w->scale = svdgp_witness_scale(q);
    return ANYGP_OK;
}

/* Phi of `rows` witnesses, each times the root of its lambda: Lambda^1/2 Phi. */
static bool fill_Phi(const svdgp *s, const newton *w, int64_t rows, const double *witness, int64_t width, int64_t c)
{
    const double *X = witness + 1;
    function_set block = {s->block.n, s->block.Z, NULL};
    if (!svdgp_fill(s, block, rows, X, width, w->F, w->tile, w->Phi)) return false;
    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < rows; i++) w->Phi[i + j * rows] *= sqrt(w->scale * witness[i * width + 1 + s->D + c]);
    return true;
}

/* The factor of A of latent c.  False: not finite, or no memory for tiles. */
static bool factor(const svdgp_state *q, const newton *w, int64_t c)
{
    const param_segment *k = &q->witness;
    double added;
    memcpy(w->A, w->P, (size_t)(w->n * w->n) * sizeof *w->A);
    for (int64_t i = 0; i < k->rows; i += PIECE) {
        int64_t rows = k->rows - i < PIECE ? k->rows - i : PIECE;
        if (!fill_Phi(&q->s, w, rows, k->values + i * k->cols, k->cols, c)) return false;
        la_syrk(LA_T, w->n, rows, 1, w->Phi, rows, 1, w->A, w->n);
    }
    return la_cholesky(w->n, w->A, w->n, RIDGE, w->diag, &added);
}

/* How far the f of the block's places go by r. */
static double farthest(const svdgp *s, const newton *w)
{
    double most = 0;
    la_gemv(LA_N, w->n, w->n, 1, w->P, w->n, w->r, 0, w->f);
    for (int64_t i = s->p; i < w->n; i++) most = fmax(most, fabs(w->f[i]));
    return most;
}

static double step_size(const svdgp_state *q, const step_context *c)
{
    const svdgp *s = &q->s;
    double rows = q->problem->blocks->total / c->scale, size = (double)(s->p + s->block.n), step = 1;
    if (c->which) step = fmax(1 / (2 + (double)c->t), fmin(STEP_MOST, rows / (ROWS_A_POINT * size)));
    return s->likelihood->latents > 1 ? 0.5 * step : step;
}

/* gradient[n x C]: of t, then of the block. */
static bool move_latent(svdgp_state *q, const newton *w, int64_t c, const double *gradient, double step)
{
    svdgp *s = &q->s;
    int64_t C = s->C, p = s->p;
    if (!factor(q, w, c)) return false;
    for (int64_t i = 0; i < w->n; i++) w->r[i] = gradient[i * C + c];
    la_trsv(LA_N, w->n, w->A, w->n, w->r);
    la_trsv(LA_T, w->n, w->A, w->n, w->r);
    if (!isfinite(la_dot(w->n, w->r, w->r))) return false;
    if (!svdgp_quadratic(s)) step = fmin(step, MOVE_MOST / fmax(farthest(s, w), 1e-300));
    for (int64_t i = 0; i < p; i++) s->trend.values[i * C + c] += step * w->r[i];
    for (int64_t i = p; i < w->n; i++) s->a.values[s->block.which[i - p] * C + c] += step * w->r[i];
    return true;
}

/* The gradient of t and the block from the sums of a pass and pull = K_{J,alpha} a. */
static void gather_gradient(const svdgp_state *q, const double *pull, double *gradient)
{
    const svdgp *s = &q->s;
    const svdgp_layout o = svdgp_layout_of(s);
    int64_t C = s->C, p = s->p;
    memcpy(gradient, q->stat + o.trend, (size_t)(p * C) * sizeof *gradient);
    for (int64_t i = 0; i < s->block.n * C; i++) gradient[p * C + i] = q->stat[o.block + i] - pull[i];
}

anygp_status svdgp_block_step(svdgp_state *q, const step_context *c, const double *pull, anygp_error *e)
{
    svdgp *s = &q->s;
    newton w = {0};
    const double *seats = q->stat + svdgp_layout_of(s).witness;
    bool first = q->witness.rows == 0 || !c->which, ok = true;
    anygp_status status = ANYGP_OK;
    double *gradient = mem_doubles(s->p + s->block.n, s->C);
    if (!gradient) return fail_memory(e, "a step", 8.0 * (double)s->block.n);
    if (first) TRY_DONE(svdgp_witness_keep(q, seats, WITNESSES, e));
    TRY_DONE(newton_new(q, &w, e));
    gather_gradient(q, pull, gradient);
    for (int64_t k = 0; k < s->C && ok; k++) ok = move_latent(q, &w, k, gradient, step_size(q, c));
    if (!ok) {
        status = fail_with(e, ANYGP_ERR_NUMERIC, "the mean's step is not finite");
        goto done;
    }
    if (!first) TRY_DONE(svdgp_witness_keep(q, seats, WITNESSES, e));
done:
    newton_free(&w);
    free(gradient);
    return status;
}
