/* Full-scale Vecchia: Vecchia's approximation (vecchia.h) of what M inducing inputs leave of the kernel.  With v ~ N(0, I), a = L^-1 k_u
   and R = K - A'A, the rows given v are conditioned on their neighbours under G = R + noise:
       y_i | v, y_N(i) ~ N(a_i'v + b_i (y - A'v)_N(i), d_i),    b_i = G_iN G_NN^-1,    d_i = G_ii - b_i G_Ni
   so that a~_i = a_i - A_N(i) b_i' and y~_i = y_i - b_i y_N(i) give the four statistics of the sparse priors
       S = sum a~ a~' / d,   b = sum a~ y~ / d,   l = sum log d,   q = sum y~^2 / d
   (sparse_given.c), and the evidence is their head (sparse.h).  The inducing inputs carry what varies slowly, neighbours the rest.
   With no neighbours it is fitc, with all rows given it is exact wherever the inducing inputs are.
   (Sang and Huang 2012, full-scale approximation; Katzfuss and Guinness 2021, section 3; Gyger, Furrer and Sigrist 2025.)

   The jitter of K_uu is added to the noise too: rows at inducing inputs have next to no R.

   Cost: that of vecchia and M^2 for each row of a group, own or given: about 6 n M^2 operations per evaluation. */
#include "model/local/vecchia_posterior.h"
#include "model/local/vecchia_state.h"

static model_cost full_cost(const model_ops *self, const cost_facts *f, const cost_size *s)
{
    static const double SHARE = 0.4, GIVEN = 6; /* of R; rows of groups for each own row */
    model_cost c = vecchia_cost(self, f, s);
    double k = VECCHIA_NEAR, M = s->M + (double)f->basis;
    c.rows += cost_of_work(f, SHARE, 6 * GIVEN * f->rows * M * (M + k), 2 * GIVEN * f->rows * M);
    c.head = cost_of_work(f, SHARE, 6 * M * M * M, M * M);
    c.bytes += 8 * (8 * M * M + f->threads * (M * M + 8 * k * M));
    c.last += 16 * M * M;
    return c;
}

const model_ops vecchia_full = {
    .name = "vecchia",
    .summary = "each row given its nearest earlier rows and inducing inputs",
    .objective = "log evidence",
    .needs = {.rows = ROWS_ALL,
              .local = true,
              .inducing = INDUCING_ONE,
              .mean = true,
              .weights = true,
              .near = true,
              .ordered = true,
              .joint = true},
    .order = "n (m+k)^2",
    .jitter = 1e-8,
    .cost = full_cost,
    VECCHIA_RUN,
    .anytime = &vecchia_anytime,
    .update = &vecchia_update_ops,
};
