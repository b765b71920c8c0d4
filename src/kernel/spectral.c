/* Bochner: a stationary kernel is its variance times the characteristic function of its spectral density,
       k(x, x') = v E_w[cos w'(x - x')].
   The density of a product of kernels is the convolution of theirs (independent draws add up); that of a sum is their
   mixture with weights v_1, v_2, ... */
#include "kernel/draws.h"

#include <math.h>

enum { STRETCH = 64 }; /* random numbers that a draw may use, for each leaf and each of its dims */

/* Marsaglia and Tsang 2000; shape < 1 through Gamma(shape + 1) U^(1/shape).  A trial is accepted with probability 0.95
   or more, so the bound is never reached. */
double draw_gamma(draws *r, double shape)
{
    if (shape < 1) {
        double u = draw_uniform(r);
        return draw_gamma(r, shape + 1) * pow(u, 1 / shape);
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (int trial = 0; trial < 16; trial++) {
        double x = draw_normal(r), u = draw_uniform(r), t = 1 + c * x, v = t * t * t;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
    }
    return d;
}

/* Poisson(m) as the quantile of one uniform number. */
static double poisson(draws *r, double m)
{
    double u = draw_uniform(r), p = exp(-m), k = 0, sum = p;
    for (; sum < u && p > 1e-300; sum += p) k++, p *= m / k;
    return k;
}

/* From m = 100 on the difference is normal but for corrections of order 1/m. */
double draw_poisson_difference(draws *r, double m)
{
    if (m > 100) return rint(sqrt(2 * m) * draw_normal(r));
    double a = poisson(r, m);
    return a - poisson(r, m);
}

/* Variances of all subtrees without white; false if some leaf has no spectral density. */
static bool variances(const kernel *k, double *v)
{
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        const leaf *l = n->op == NODE_LEAF ? &k->leaves[n->leaf] : NULL;
        if (l && !l->kind->frequency && !kernel_leaf_is_white(l)) return false;
        if (l) {
            v[i] = 0;
            for (int64_t j = 0; !kernel_leaf_is_white(l) && j < l->count[0]; j++) v[i] += l->p[j];
        } else
            v[i] = n->op == NODE_SUM ? v[n->left] + v[n->right] : v[n->left] * v[n->right];
    }
    return true;
}

bool kernel_spectral(const kernel *k, random_stream s, uint64_t index, double *w)
{
    double v[MAX_NODES];
    bool chosen[MAX_NODES] = {false};
    draws r = {s, index * STRETCH * (uint64_t)(k->n_nodes + k->n_dims)};
    if (!variances(k, v) || !(v[k->n_nodes - 1] > 0)) return false;
    for (int64_t d = 0; d < k->D; d++) w[d] = 0;
    chosen[k->n_nodes - 1] = true;
    for (int64_t i = k->n_nodes - 1; i >= 0; i--) {
        const kernel_node *n = &k->nodes[i];
        if (!chosen[i]) continue;
        if (n->op == NODE_PRODUCT)
            chosen[n->left] = chosen[n->right] = true;
        else if (n->op == NODE_SUM)
            chosen[draw_uniform(&r) * v[i] < v[n->left] ? n->left : n->right] = true;
        else if (k->leaves[n->leaf].kind->frequency)
            k->leaves[n->leaf].kind->frequency(&k->leaves[n->leaf], &r, w);
    }
    return true;
}
