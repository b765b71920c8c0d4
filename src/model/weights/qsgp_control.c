/* Control rows of qsgp: where they are, their weights, and a = Phi_p v at the start (proposition 3).

   Any places x_p with any weights w_p leave the estimates unbiased.  They help as far as sum_p w_p phi_p phi_p' is near to the mean of
   phi phi' over rows, and the squared distance of the two is a quadratic form in w, with k(x, x')^2 for products of features: for given
   places the best weights are those of kernel quadrature under k^2,
       w = (K_pp o K_pp)^-1 z,   z_p the mean of k(x_p, x)^2 over rows.
   Places of waves are centres of k-means in inputs over length-scales.  With 300 of them on kin40k the variance that is left is half of that
   with random rows of equal weights (bench/qsgp.sh variance).  Kernels at rows (S = K) keep random rows and equal weights. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/partition/kmeans.h"
#include "linalg/linalg.h"
#include "model/weights/qsgp.h"

enum { ROWS_PER_CENTRE = 10, ROUNDS = 10, ROWS_SEEN = 2000 };
static const double JITTER = 1e-8, QUADRATURE_JITTER = 1e-6;

anygp_status qsgp_control_rows(qsgp *q, const problem *p, anygp_error *e)
{
    int64_t D = q->cells.D, *chosen = mem_alloc(q->P, sizeof *chosen);
    q->Xp = mem_doubles(q->P, D);
    q->wp = mem_alloc(q->P, sizeof *q->wp);
    q->a = mem_zeroed(q->P * q->V, sizeof *q->a);
    bool ok = chosen && q->Xp && q->wp && q->a;
    if (ok) random_subset((random_stream){p->seed, RANDOM_CELLS, UINT64_MAX}, p->rows->n, q->P, chosen);
    for (int64_t i = 0; ok && i < q->P; i++) {
        memcpy(q->Xp + i * D, p->rows->X + chosen[i] * D, (size_t)D * sizeof *q->Xp);
        q->wp[i] = 1 / (double)q->P;
    }
    free(chosen);
    return ok ? ANYGP_OK : fail_memory(e, "the control rows", 8.0 * (double)(q->P * (D + q->V)));
}

/* ------------------------------------------------------------------------------------ places and weights */

/* 1 / length-scale of each input, those of the first wave; 1 for inputs that the kernel does not have. */
static anygp_status scales(const qsgp *q, const kernel *k, double *scale, anygp_error *e)
{
    cells_hand h = {0};
    int64_t cell = 0;
    anygp_status status = cells_hand_open(&h, &q->cells, k, e);
    if (!ANYGP_FAILED(status)) status = cells_hand_take(&h, 1, &cell, e);
    for (int64_t d = 0; d < q->cells.D && !ANYGP_FAILED(status); d++) {
        double root = q->cells.kind == CELLS_HADAMARD ? h.over[d] : h.waves.root[d];
        scale[d] = root > 0 ? root : 1;
    }
    cells_hand_clear(&h);
    return status;
}

/* Centres in place of the first rows, as many as k-means finds. */
static anygp_status choose_places(qsgp *q, const problem *p, const kernel *k, anygp_error *e)
{
    int64_t D = q->cells.D, all = p->rows->n, n = q->P * ROWS_PER_CENTRE < all ? q->P * ROWS_PER_CENTRE : all,
            found = 0;
    int64_t *chosen = mem_alloc(n, sizeof *chosen);
    double *X = mem_doubles(n, D), *scale = mem_alloc(D, sizeof *scale), *centre = mem_doubles(q->P, D);
    anygp_status status = ANYGP_OK;
    if (!chosen || !X || !scale || !centre) TRY_DONE(fail_memory(e, "the control rows", 8.0 * (double)(n * D)));
    TRY_DONE(scales(q, k, scale, e));
    random_subset((random_stream){p->seed, RANDOM_CELLS, UINT64_MAX - 3}, all, n, chosen);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < D; d++) X[i * D + d] = scale[d] * p->rows->X[chosen[i] * D + d];
    TRY_DONE(
        kmeans(n, D, X, D, q->P, &(kmeans_options){.seed = p->seed, .iterations = ROUNDS}, centre, &found, NULL, e));
    for (int64_t i = 0; i < found; i++)
        for (int64_t d = 0; d < D; d++) q->Xp[i * D + d] = centre[i * D + d] / scale[d];
done:
    free(chosen);
    free(X);
    free(scale);
    free(centre);
    return status;
}

/* z[P], from the kernel's columns at some rows; room[P]. */
static bool mean_squares(const qsgp *q, const problem *p, const kernel *k, double *room, double *z)
{
    int64_t P = q->P, D = q->cells.D, all = p->rows->n, n = all < ROWS_SEEN ? all : ROWS_SEEN;
    int64_t *chosen = mem_alloc(n, sizeof *chosen);
    double total = 0;
    bool ok = chosen;
    memset(z, 0, (size_t)P * sizeof *z);
    if (ok) random_subset((random_stream){p->seed, RANDOM_CELLS, UINT64_MAX - 4}, all, n, chosen);
    for (int64_t i = 0; ok && i < n; i++) {
        double c = p->rows->c[chosen[i]];
        ok = kernel_gram(k, P, q->Xp, D, 1, p->rows->X + chosen[i] * D, D, room, P);
        for (int64_t j = 0; j < P; j++) z[j] += c * room[j] * room[j];
        total += c;
    }
    la_scale(P, total > 0 ? 1 / total : 0, z);
    free(chosen);
    return ok;
}

/* Where K_pp o K_pp has no factor, weights stay equal. */
static anygp_status choose_weights(qsgp *q, const problem *p, const kernel *k, anygp_error *e)
{
    int64_t P = q->P, D = q->cells.D;
    double jitter, *K = mem_doubles(P, P), *z = mem_doubles(P, 2);
    bool ok = K && z && kernel_gram(k, P, q->Xp, D, P, q->Xp, D, K, P) && mean_squares(q, p, k, z + P, z);
    for (int64_t i = 0; ok && i < P * P; i++) K[i] *= K[i];
    if (ok && la_cholesky(P, K, P, QUADRATURE_JITTER, z + P, &jitter)) {
        la_trsv(LA_N, P, K, P, z);
        la_trsv(LA_T, P, K, P, z);
        memcpy(q->wp, z, (size_t)P * sizeof *z);
    }
    free(K);
    free(z);
    return ok ? ANYGP_OK : fail_memory(e, "the control rows", 8.0 * (double)(P * P));
}

/* ------------------------------------------------------------------------------------------------ start */

/* Where K_pp has no factor, Nystrom's control variate is left out: it has expectation 0. */
static anygp_status factor_control(qsgp *q, const kernel *k, anygp_error *e)
{
    int64_t P = q->P, D = q->cells.D;
    double jitter, *diag = mem_alloc(P, sizeof *diag);
    free(q->Lpp);
    q->Lpp = mem_doubles(P, P + 2); /* the last two columns are room */
    bool ok = diag && q->Lpp && kernel_gram(k, P, q->Xp, D, P, q->Xp, D, q->Lpp, P);
    if (ok && !la_cholesky(P, q->Lpp, P, JITTER, diag, &jitter)) free(q->Lpp), q->Lpp = NULL;
    free(diag);
    return ok ? ANYGP_OK : fail_memory(e, "the control rows", 8.0 * (double)(P * P));
}

anygp_status qsgp_control_start(qsgp *q, const problem *p, const kernel *k, anygp_error *e)
{
    int64_t P = q->P, D = q->cells.D, width = q->cells.width;
    cells_hand h = {0};
    anygp_status status = ANYGP_OK;
    if (P > 0 && cells_are_waves(q->cells.kind)) {
        TRY(choose_places(q, p, k, e));
        TRY(choose_weights(q, p, k, e));
    }
    if (P > 0 && !qsgp_diagonal_prior(q)) TRY(factor_control(q, k, e));
    if (P == 0 || q->K == 0) return ANYGP_OK;
    double *XT = mem_doubles(P, D), *T = mem_doubles(P, width);
    if (!XT || !T) TRY_DONE(fail_memory(e, "the control rows", 8.0 * (double)(P * width)));
    for (int64_t i = 0; i < P; i++)
        for (int64_t d = 0; d < D; d++) XT[i + d * P] = q->Xp[i * D + d];
    cell_rows r = {P, D, q->Xp, XT, P};
    memset(q->a, 0, (size_t)(P * q->V) * sizeof *q->a);
    TRY_DONE(cells_hand_open(&h, &q->cells, k, e));
    for (int64_t cell = 0; cell * width < q->K; cell++) {
        TRY_DONE(cells_hand_take(&h, 1, &cell, e));
        if (!cells_fill(&h, 0, &r, T, P)) TRY_DONE(fail_memory(e, "kernel tiles", 0));
        la_gemm(LA_N, LA_T, P, q->V, cell_size(&q->cells, cell), 1, T, P, q->v + cell_first(&q->cells, cell) * q->V,
                q->V, 1, q->a, P);
    }
done:
    cells_hand_clear(&h);
    free(XT);
    free(T);
    return status;
}
