/* SVGP, whitened (003, eq. 17; 004, eq. 6):  u = L v,  K_uu = L L',  q(v_c) = N(m_c, R_c R_c') for each of C latents,
       bound = sum_i w_i E[log p(y_i | f_i)] - sum_c KL(q(v_c) || N(0, I)),
       f_ic ~ N(a_i'm_c, k_ii - |a_i|^2 + |R_c'a_i|^2),   A = L^-1 K_uf.
   A prior mean is p rows H above A in a_i'm_c and R_c'a_i.  White terms of the kernel are noise of y where that is Gaussian, else
   of f.  chain.h has the same by hand. */
#include "kernel/tape_gram.h"
#include "likelihood/tape_expect.h"
#include "model/reference/forward_models.h"

enum { MEAN = FORWARD_OWN, FACTOR, L, WHITE, MADE = 2 };

static const forward_svgp_model *constants(const forward_view *g) { return g->model; }

static node *mean(tape *t, const forward_view *g, int64_t c)
{
    int64_t M = g->v[MEAN]->rows;
    return tape_slice(t, g->v[MEAN], c * M, M, 1);
}

static node *factor(tape *t, const forward_view *g, int64_t c)
{
    int64_t M = g->v[MEAN]->rows;
    return tape_slice(t, g->v[FACTOR], c * M * M, M, M);
}

static void prepare(tape *t, forward_view *g)
{
    g->v[L] = tape_cholesky(t, tape_gram_sym(t, g->h->kernel, g->v[FORWARD_KERNEL], g->v[FORWARD_Z]));
    g->v[WHITE] = tape_white(t, g->h->kernel, g->v[FORWARD_KERNEL]);
}

static node *stat(tape *t, const forward_view *g, const forward_block *b)
{
    const forward_svgp_model *s = constants(g);
    const kernel *k = g->h->kernel;
    bool gaussian = likelihood_is_gaussian(s->likelihood);
    expect_rows rows = {b->n, b->y->value, b->w->value, s->random, b->first};
    node *Kuf = tape_gram(t, k, g->v[FORWARD_KERNEL], g->v[FORWARD_Z], b->X); /* M x n */
    node *A = tape_solve_lower(t, g->v[L], Kuf), *all = tape_stack(t, b->H, A);
    node *kdiag = tape_gram_diag(t, k, g->v[FORWARD_KERNEL], b->X);
    node *like = gaussian ? tape_add(t, g->v[FORWARD_LIKE], g->v[WHITE]) : g->v[FORWARD_LIKE];
    if (!gaussian) kdiag = tape_add(t, kdiag, tape_fill(t, g->v[WHITE], b->n, 1));
    node *mu = NULL, *var = NULL; /* n x C */
    for (int64_t c = 0; c < s->likelihood->latents; c++) {
        node *mu_c = tape_mul_tv(t, all, mean(t, g, c));
        node *var_c = tape_marginal(t, kdiag, A, tape_mul_lower_t(t, factor(t, g, c), all));
        mu = mu ? tape_concat(t, 2, (node *[]){mu, mu_c}) : mu_c;
        var = var ? tape_concat(t, 2, (node *[]){var, var_c}) : var_c;
    }
    return tape_expect(t, s->likelihood, like, &rows, mu, var);
}

static node *head(tape *t, const forward_view *g, node *sum)
{
    for (int64_t c = 0; c < constants(g)->likelihood->latents; c++)
        sum = tape_sub(t, sum, tape_kl_white(t, mean(t, g, c), factor(t, g, c)));
    return sum;
}

const forward_model forward_svgp = {.rows_alone = true, .made = MADE, .prepare = prepare, .stat = stat, .head = head};
