/* A kernel expression as a value: parameters, copies, Gram matrices over tiles (kernel.h). */
#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/kind.h"

void link_leaves(kernel *k)
{
    for (int64_t i = 0; i < k->n_leaves; i++) {
        leaf *l = &k->leaves[i];
        l->dims = k->dims + l->dims_at;
        l->p = k->values + l->first;
    }
}

void kernel_free(kernel *k)
{
    if (!k) return;
    free(k->leaves);
    free(k->nodes);
    free(k->params);
    free(k->values);
    free(k->dims);
    free(k->dims_text);
    free(k);
}

static void *duplicate(const void *from, int64_t count, size_t size)
{
    void *to = mem_alloc(count, size);
    if (to && count) memcpy(to, from, (size_t)count * size);
    return to;
}

/* Where among the dims of a leaf a column is; -1: nowhere. */
static int64_t dim_of(const leaf *l, int64_t column)
{
    for (int64_t d = 0; d < l->n_dims; d++)
        if (l->dims[d] == column) return d;
    return -1;
}

static bool has_all_or_none(const leaf *l, int64_t first, int64_t count)
{
    int64_t has = 0;
    for (int64_t c = 0; c < count; c++) has += dim_of(l, first + c) >= 0;
    return has == 0 || has == count;
}

bool kernel_tie(kernel *k, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < k->n_leaves; i++) {
        const leaf *l = &k->leaves[i];
        if (!has_all_or_none(l, first, count)) return false;
        for (int64_t s = 0; dim_of(l, first) >= 0 && s < leaf_specs(l->kind); s++) {
            if (l->kind->specs[s].extent != PER_DIM || !l->stride[s]) continue;
            int64_t at = l->first + l->offset[s], leader = at + dim_of(l, first);
            for (int64_t c = 1; c < count; c++) {
                k->params[at + dim_of(l, first + c)].follows = leader + 1;
                k->values[at + dim_of(l, first + c)] = k->values[leader];
            }
        }
    }
    return true;
}

kernel *kernel_copy(const kernel *k)
{
    kernel *c = malloc(sizeof *c);
    if (!c) return NULL;
    *c = *k;
    c->leaves = duplicate(k->leaves, k->n_leaves, sizeof *k->leaves);
    c->nodes = duplicate(k->nodes, k->n_nodes, sizeof *k->nodes);
    c->params = duplicate(k->params, k->n_params, sizeof *k->params);
    c->values = duplicate(k->values, k->n_params, sizeof *k->values);
    c->dims = duplicate(k->dims, k->n_dims, sizeof *k->dims);
    c->dims_text = duplicate(k->dims_text, k->n_text, 1);
    if (!c->leaves || !c->nodes || !c->params || !c->values || !c->dims || !c->dims_text) {
        kernel_free(c);
        return NULL;
    }
    link_leaves(c);
    return c;
}

const char *kernel_note(const kernel *k) { return k->note; }

int64_t kernel_count(const kernel *k) { return k->n_params; }
int64_t kernel_inputs(const kernel *k) { return k->D; }
const kernel_param *kernel_param_at(const kernel *k, int64_t i) { return &k->params[i]; }
double *kernel_values(kernel *k) { return k->values; }

double kernel_param_unit(const kernel_param *p, double x, double y)
{
    switch (p->role) {
    case ROLE_VARIANCE: return p->unit_variance ? y * y : 1;
    case ROLE_LENGTH:
    case ROLE_PERIOD: return x;
    case ROLE_FREQUENCY: return 1 / x;
    default: return 1;
    }
}

bool kernel_leaf_is_scale(const leaf *l) { return l->kind == &kind_scale; }
bool kernel_leaf_is_white(const leaf *l) { return l->kind == &kind_white; }

int64_t leaf_specs(const kernel_kind *kind)
{
    int64_t n = 0;
    while (n < LEAF_SPECS && kind->specs[n].name) n++;
    return n;
}

bool kernel_has_white(const kernel *k)
{
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (kernel_leaf_is_white(&k->leaves[i])) return true;
    return false;
}

bool kernel_stationary(const kernel *k)
{
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (k->leaves[i].kind->nonstationary) return false;
    return true;
}

/* Sums and products of functions that fall do so, too. */
bool kernel_falls(const kernel *k)
{
    for (int64_t i = 0; i < k->n_leaves; i++)
        if (!k->leaves[i].kind->profile && !k->leaves[i].kind->no_dims) return false;
    return true;
}

bool kernel_as_rbf(const kernel *k, int64_t *length)
{
    enum { VARIANCE, LENGTH };
    const leaf *l = &k->leaves[0];
    if (k->n_nodes != 1 || l->kind != &kind_rbf || l->offset[VARIANCE] != 0) return false;
    for (int64_t d = 0; d < k->D; d++) length[d] = -1;
    for (int64_t d = 0; d < l->n_dims; d++) length[l->dims[d]] = l->offset[LENGTH] + d * l->stride[LENGTH];
    return true;
}

/* The expression of numbers: white terms only.  The parser ensures that white is multiplied by numbers only, so
   a sum that holds no white counts 0 and a product is of numbers and at most one term with white. */
double kernel_white(const kernel *k)
{
    double value[MAX_NODES];
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        const leaf *l = n->op == NODE_LEAF ? &k->leaves[n->leaf] : NULL;
        if (l)
            value[i] = kernel_leaf_is_white(l) || kernel_leaf_is_scale(l) ? leaf_value(l, 0, 0) : 0;
        else if (n->op == NODE_SUM)
            value[i] = value[n->left] + value[n->right];
        else
            value[i] = value[n->left] * value[n->right];
    }
    return kernel_has_white(k) ? value[k->n_nodes - 1] : 0;
}

/* ------------------------------------------------------------------------------------------- groups */

static int64_t find(int64_t *group, int64_t i)
{
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
}

/* The smaller column becomes the head, so heads are the smallest of their group. */
static void unite(int64_t *group, int64_t a, int64_t b)
{
    int64_t i = find(group, a), j = find(group, b);
    if (i < j)
        group[j] = i;
    else
        group[i] = j;
}

static bool ties_inputs(const leaf *l, int64_t s)
{
    const param_spec *p = &l->kind->specs[s];
    bool of_dims = p->extent == PER_DIM || p->extent == PER_COMPONENT_DIM;
    bool has_unit = p->role == ROLE_LENGTH || p->role == ROLE_PERIOD || p->role == ROLE_FREQUENCY;
    return of_dims && has_unit && l->stride[s] == 0;
}

bool kernel_is_category_length(const kernel *k, int64_t i)
{
    const kernel_param *p = kernel_param_at(k, i);
    return p->role == ROLE_SHAPE && p->dim >= 0 && k->leaves[p->leaf].kind == &kind_categorical;
}

void kernel_closeness(const kernel *k, const double *values, double *weight)
{
    int64_t D = kernel_inputs(k);
    for (int64_t j = 0; j < D; j++) weight[j] = 0;
    for (int64_t i = 0; i < kernel_count(k); i++) {
        const kernel_param *p = kernel_param_at(k, i);
        if (p->role != ROLE_LENGTH) continue;
        for (int64_t j = p->dim < 0 ? 0 : p->dim; j < (p->dim < 0 ? D : p->dim + 1); j++)
            weight[j] = fmax(weight[j], 1 / values[i]);
    }
}

void kernel_groups(const kernel *k, int64_t *group)
{
    for (int64_t d = 0; d < k->D; d++) group[d] = d;
    for (int64_t i = 0; i < k->n_leaves; i++) {
        const leaf *l = &k->leaves[i];
        for (int64_t s = 0; s < leaf_specs(l->kind); s++)
            for (int64_t d = 1; ties_inputs(l, s) && d < l->n_dims; d++) unite(group, l->dims[0], l->dims[d]);
    }
    for (int64_t d = 0; d < k->D; d++) group[d] = find(group, d);
}
