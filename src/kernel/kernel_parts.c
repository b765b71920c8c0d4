/* An expression as a list of parts (parts.h). */
#include "kernel/kernel_parts.h"

#include "kernel/kind.h"

int64_t kernel_parts(const kernel *k) { return k->n_nodes; }

static const leaf *leaf_at(const kernel *k, int64_t i) { return &k->leaves[k->nodes[i].leaf]; }

kernel_part kernel_part_at(const kernel *k, int64_t i)
{
    const kernel_node *n = &k->nodes[i];
    if (n->op != NODE_LEAF)
        return (kernel_part){.kind = n->op == NODE_SUM ? PART_SUM : PART_PRODUCT, .left = n->left, .right = n->right};
    const leaf *l = leaf_at(k, i);
    return (kernel_part){.kind = PART_LEAF,
                         .name = kernel_leaf_is_scale(l) ? "scale" : l->kind->name,
                         .n_dims = l->n_dims,
                         .dims = l->dims,
                         .integer = l->kind->integer_name ? l->integer : 0,
                         .params = leaf_specs(l->kind)};
}

int64_t kernel_left_part(const kernel *k)
{
    const kernel_node *root = &k->nodes[k->n_nodes - 1];
    return root->op == NODE_SUM ? root->left : k->n_nodes - 1;
}

const char *kernel_part_param(const kernel *k, int64_t i, int64_t s) { return leaf_at(k, i)->kind->specs[s].name; }

int64_t kernel_part_count(const kernel *k, int64_t i, int64_t s)
{
    const leaf *l = leaf_at(k, i);
    param_extent extent = l->kind->specs[s].extent;
    int64_t components = extent == PER_COMPONENT || extent == PER_COMPONENT_DIM ? l->integer : 1;
    return extent == PER_DIM || extent == PER_COMPONENT_DIM ? components * l->n_dims : components;
}

/* Values of a component follow each other; within it, a step of 0 from dim to dim is one that they share. */
double kernel_part_value(const kernel *k, int64_t i, int64_t s, int64_t j)
{
    const leaf *l = leaf_at(k, i);
    param_extent extent = l->kind->specs[s].extent;
    if (extent == PER_LEAF || extent == PER_COMPONENT) return l->p[l->offset[s] + j];
    int64_t d = j % l->n_dims, q = j / l->n_dims, own = extent == PER_DIM ? 0 : l->count[s] / l->integer;
    return l->p[l->offset[s] + q * own + d * l->stride[s]];
}
