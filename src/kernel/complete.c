/* What follows from a parsed expression: where results go while it is evaluated, and the description of every
   parameter.

   In a product only the product of the variances matters, so one factor keeps a free variance and carries the unit of
   y^2: a number literal if there is one, else the first factor that has a variance.  The others are fixed, unless the
   expression gives them.  Inside a factor that is a sum, only the first term is fixed: the ratios still matter. */
#include <math.h>

#include "base/memory.h"
#include "kernel/kind.h"

typedef enum scale_state { SCALE_UNIT, SCALE_FREE, SCALE_FIXED } scale_state;

typedef struct subtree {
    bool has_variance, has_literal; /* literal: as a factor, not inside a sum */
    scale_state state;
} subtree;

static void place(kernel *k)
{
    k->nodes[k->n_nodes - 1].slot = 0;
    k->nodes[k->n_nodes - 1].in_product = false;
    k->n_slots = 1;
    for (int64_t i = k->n_nodes - 1; i >= 0; i--) {
        const kernel_node *n = &k->nodes[i];
        if (n->slot >= k->n_slots) k->n_slots = n->slot + 1;
        if (n->op == NODE_LEAF) continue;
        kernel_node *left = &k->nodes[n->left], *right = &k->nodes[n->right];
        left->slot = n->slot, right->slot = n->slot + 1;
        left->in_product = right->in_product = n->in_product || n->op == NODE_PRODUCT;
    }
}

static void look_up(const kernel *k, subtree *s)
{
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        if (n->op == NODE_LEAF) {
            const leaf *l = &k->leaves[n->leaf];
            s[i].has_variance = l->kind->specs[0].role == ROLE_VARIANCE;
            s[i].has_literal = kernel_leaf_is_scale(l);
        } else {
            s[i].has_variance = s[n->left].has_variance || s[n->right].has_variance;
            s[i].has_literal = n->op == NODE_PRODUCT && (s[n->left].has_literal || s[n->right].has_literal);
        }
    }
}

static bool left_carries(const subtree *left, const subtree *right)
{
    if (left->has_literal || right->has_literal) return left->has_literal;
    return left->has_variance;
}

static void decide(const kernel_node *n, subtree *s, scale_state state)
{
    subtree *left = &s[n->left], *right = &s[n->right];
    if (n->op == NODE_PRODUCT) {
        bool l = left_carries(left, right);
        left->state = l ? state : SCALE_FIXED;
        right->state = l ? SCALE_FIXED : state;
    } else {
        left->state = right->state = state;
        if (state == SCALE_FIXED) right->state = left->has_variance ? SCALE_FREE : SCALE_FIXED;
    }
}

static const double role_floor[] = {
    [ROLE_VARIANCE] = 1e-8,  [ROLE_LENGTH] = 1e-6, [ROLE_PERIOD] = 1e-6,
    [ROLE_FREQUENCY] = 1e-8, [ROLE_SHAPE] = 1e-4,  [ROLE_WEIGHT] = 1e-8,
};

static const double role_spread[] = {
    [ROLE_VARIANCE] = 1.5, [ROLE_LENGTH] = 1.7320508075688772935,
    [ROLE_PERIOD] = 2,     [ROLE_FREQUENCY] = 2,
    [ROLE_SHAPE] = 2,      [ROLE_WEIGHT] = 2,
};

/* log l ~ N(sqrt 2 + log(d)/2, 3): length-scales grow as distances do, with the root of the number of inputs
   (Hvarfner, Hellsten, Nardi 2024).  The others are centred at their defaults. */
static double prior_centre(const leaf *l, const param_spec *s, double initial)
{
    if (s->role != ROLE_LENGTH) return log(initial);
    return 1.4142135623730950488 + 0.5 * log((double)(l->n_dims ? l->n_dims : 1)) + log(s->initial);
}

static kernel_param describe(const leaf *l, int64_t which, int64_t s, int64_t i, scale_state state)
{
    const param_spec *spec = &l->kind->specs[s];
    bool of_components = spec->extent == PER_COMPONENT || spec->extent == PER_COMPONENT_DIM;
    int64_t per_component = of_components && l->integer ? l->count[s] / l->integer : l->count[s];
    bool of_dims = spec->extent == PER_DIM || spec->extent == PER_COMPONENT_DIM;
    kernel_param p = {.name = spec->name, .leaf = which, .role = spec->role, .given = l->given[s]};
    p.component = of_components ? i / per_component : 0;
    p.dim = of_dims && l->stride[s] ? l->dims[i % per_component] : -1;
    p.column = p.dim >= 0 ? p.dim : of_dims && l->n_dims ? l->dims[0] : -1;
    p.unit_variance = spec->role == ROLE_VARIANCE && state == SCALE_UNIT;
    p.fixed = spec->optional && !p.given;
    if (spec->role == ROLE_VARIANCE && state == SCALE_FIXED && i == 0) p.fixed = !p.given || l->count[s] > 1;
    p.lower = role_floor[spec->role];
    p.prior_mean = prior_centre(l, spec, spec_initial(l, s, i));
    p.prior_sd = role_spread[spec->role];
    return p;
}

double spec_initial(const leaf *l, int64_t s, int64_t i)
{
    const param_spec *spec = &l->kind->specs[s];
    double d = (double)(l->n_dims ? l->n_dims : 1), q = (double)(l->integer ? l->integer : 1);
    double growth[] = {[GROWS_NOT] = 1, [GROWS_ROOT] = sqrt(d), [GROWS_INVERSE] = 1 / d, [GROWS_LINEAR] = d};
    double v = spec->initial * growth[spec->growth];
    if (spec->extent == PER_COMPONENT) v /= q;
    if (spec->role == ROLE_FREQUENCY) v *= 1 + (double)(i * l->integer / l->count[s]); /* components must differ */
    return v;
}

static bool same_leaf(const leaf *a, const leaf *b)
{
    if (a->kind != b->kind || a->n_dims != b->n_dims || a->n_params != b->n_params) return false;
    for (int64_t j = 0; j < a->n_dims; j++)
        if (a->dims[j] != b->dims[j]) return false;
    return true;
}

/* Leaves that start equal have equal gradients and would stay equal forever: the second of them starts at a quarter of the
   length-scale and half of the period, the third at a quarter of that, and so on.  Values that the expression gives are kept. */
static void set_apart(kernel *k)
{
    for (int64_t a = 0; a < k->n_leaves; a++) {
        const leaf *l = &k->leaves[a];
        double twins = 0;
        for (int64_t b = 0; b < a; b++) twins += same_leaf(l, &k->leaves[b]);
        for (int64_t i = l->first; i < l->first + l->n_params; i++) {
            const kernel_param *p = &k->params[i];
            if (p->given) continue;
            if (p->role == ROLE_LENGTH || p->role == ROLE_SHAPE) k->values[i] *= pow(0.25, twins);
            if (p->role == ROLE_PERIOD) k->values[i] *= pow(0.5, twins);
            if (p->role == ROLE_FREQUENCY) k->values[i] *= pow(2, twins);
        }
    }
}

bool kernel_complete(kernel *k)
{
    subtree s[MAX_NODES];
    place(k);
    link_leaves(k);
    look_up(k, s);
    k->params = mem_alloc(k->n_params, sizeof *k->params);
    if (!k->params) return false;
    s[k->n_nodes - 1].state = SCALE_UNIT;
    for (int64_t i = k->n_nodes - 1; i >= 0; i--) {
        const kernel_node *n = &k->nodes[i];
        if (n->op != NODE_LEAF) {
            decide(n, s, s[i].state);
            continue;
        }
        const leaf *l = &k->leaves[n->leaf];
        for (int64_t spec = 0; spec < leaf_specs(l->kind); spec++)
            for (int64_t j = 0; j < l->count[spec]; j++)
                k->params[l->first + l->offset[spec] + j] = describe(l, n->leaf, spec, j, s[i].state);
    }
    set_apart(k);
    return true;
}
