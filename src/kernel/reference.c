/* The plain reference: every leaf from its own definition, one number at a time. */
#include "kernel/kind.h"

double kernel_reference(const kernel *k, const double *x, const double *z, bool same_row)
{
    double value[MAX_NODES];
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        if (n->op == NODE_LEAF)
            value[i] = k->leaves[n->leaf].kind->define(&k->leaves[n->leaf], x, z, same_row);
        else if (n->op == NODE_SUM)
            value[i] = value[n->left] + value[n->right];
        else
            value[i] = value[n->left] * value[n->right];
    }
    return value[k->n_nodes - 1];
}
