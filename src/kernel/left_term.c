/* The left term of a kernel that is a sum (kernel.h): nodes are in postfix order, so its nodes, leaves and parameters come first, and a
   view of these is a kernel. */
#include "kernel/kind.h"

static kernel left_of(const kernel *k)
{
    const kernel_node *root = &k->nodes[k->n_nodes - 1];
    kernel left = *k;
    if (root->op != NODE_SUM) return left;
    left.n_nodes = root->left + 1, left.n_leaves = left.n_params = 0;
    for (int64_t i = 0; i < left.n_nodes; i++) {
        if (left.nodes[i].op != NODE_LEAF) continue;
        const leaf *l = &left.leaves[left.nodes[i].leaf];
        left.n_leaves++, left.n_params += l->n_params;
    }
    return left;
}

int64_t kernel_left_count(const kernel *k) { return left_of(k).n_params; }

bool kernel_left_gram(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z, int64_t ldz,
                      double *K, int64_t ldk)
{
    kernel left = left_of(k);
    return kernel_gram(&left, n, X, ldx, m, Z, ldz, K, ldk);
}

bool kernel_left_gram_reverse(const kernel *k, int64_t n, const double *X, int64_t ldx, int64_t m, const double *Z,
                              int64_t ldz, const double *G, int64_t ldg, double *gp, double *gX, int64_t ldgx,
                              double *gZ, int64_t ldgz)
{
    kernel left = left_of(k);
    return kernel_gram_reverse(&left, n, X, ldx, m, Z, ldz, G, ldg, gp, gX, ldgx, gZ, ldgz);
}
