/* Inside the kernel folder: what a kind of kernel is, and how an expression is stored.

   A kind (rbf, periodic, ...) is one const table of functions in its own file, named once in kernel_table.c.  A leaf is one
   use of a kind in an expression, with its active dims and its slice of the parameter values.  Kinds see one tile at a
   time and never the expression; gram.c, reverse.c and diag.c walk the expression and never see a formula. */
#ifndef KERNEL_KIND_H
#define KERNEL_KIND_H

#include "kernel/kernel.h"

enum {
    TILE_ROWS = 256,           /* rows of X, contiguous in K: the vectorised direction */
    TILE_COLS = 32,            /* rows of Z */
    PACK_ROWS = TILE_ROWS + 8, /* leading dimension of packed rows; not a power of 2, which would share cache sets */
    WIDE_LEAST = 24,           /* from this many dims on, distances and dot products are matrix products; see wide.h */
    TILE_SLICE = WIDE_LEAST,   /* inputs packed at a time: all of a leaf that is not wide */
    WIDE_COLS = 256,           /* rows of Z in a tile then: products need large blocks */
    WIDE_SLICE = 256,          /* inputs packed at a time then */
    LEAF_TILES = 2,            /* tile buffers a kind may use as workspace */
    LEAF_SPECS = 3,            /* parameters of a kind at most, each a scalar or an array */
    MAX_LEAVES = 256,
    MAX_NODES = 2 * MAX_LEAVES,
    MAX_NESTING = 64
};

/* ------------------------------------------------------------------------------------ kind and leaf */

typedef enum param_extent { PER_LEAF, PER_DIM, PER_COMPONENT, PER_COMPONENT_DIM } param_extent;

/* How the default value depends on the number d of active dims, in standardised inputs. */
typedef enum param_growth { GROWS_NOT, GROWS_ROOT, GROWS_INVERSE, GROWS_LINEAR } param_growth;

typedef struct param_spec {
    const char *name;
    param_role role;
    param_extent extent;
    double initial; /* times 1, sqrt(d), 1/d or d */
    param_growth growth;
    bool optional; /* learned only if the expression gives it */
} param_spec;

typedef struct leaf leaf;
typedef struct tile tile;
typedef struct tile_gradient tile_gradient;
typedef struct draws draws;

typedef struct kernel_kind {
    const char *name;
    param_spec specs[LEAF_SPECS]; /* ends early with name NULL; [0] is the variance where there is one */
    /* One structural whole number, such as a degree; integer_name NULL: none. */
    const char *integer_name;
    int64_t integer_least, integer_most, integer_default;
    bool on_text;       /* takes text columns by default */
    bool no_dims;       /* does not look at inputs */
    bool of_dot;        /* sees the inputs through dot products only; see dot.h */
    bool nonstationary; /* k(x, x) depends on x: diag and diag_reverse are required then */

    /* k(x, z), straight from the definition. */
    double (*define)(const leaf *l, const double *x, const double *z, bool same_row);
    /* K[rows,cols] = k of the tile. */
    void (*tile)(const leaf *l, const tile *t, double *K, int64_t ldk);
    /* Adds the gradients of sum G .* K. */
    void (*reverse)(const leaf *l, const tile *t, const double *G, int64_t ldg, tile_gradient *g);

    /* NULL: k(x, x) = sum of the first parameter (the variance, or the weights of a mixture). */
    void (*diag)(const leaf *l, int64_t n, const double *X, int64_t ldx, double *out);
    void (*diag_reverse)(const leaf *l, int64_t n, const double *X, int64_t ldx, const double *g, double *gp,
                         double *gX, int64_t ldgx);
    /* Adds a draw from the spectral density to w[D].  NULL: it has none here. */
    void (*frequency)(const leaf *l, draws *r, double *w);
    /* The kernel as a mixture of rbf kernels whose inverse squared length-scales are tau / l^2: tau at its quantile u, and its slope in
       the shape.  NULL: it is no such mixture; see spectral.h. */
    double (*precision)(const leaf *l, double u, double *slope);
    /* Functions of distance only (radial.h): the function in both types of numbers, and its constants, NULL: none. */
    const struct radial_profile *profile;
    const struct radial_profile_f32 *profile_f32;
    void (*constants)(const leaf *l, double *c);
} kernel_kind;

struct leaf {
    const kernel_kind *kind;
    int64_t n_dims, dims_at;
    const int64_t *dims; /* columns of X; link_leaves() sets it from dims_at */
    int64_t integer;
    int64_t first;   /* of its parameters in values */
    const double *p; /* values + first; link_leaves() sets it */
    int64_t n_params;
    /* For each spec: where it starts in p, how many values, the step from one dim to the next (0: shared). */
    int64_t offset[LEAF_SPECS], count[LEAF_SPECS], stride[LEAF_SPECS];
    bool given[LEAF_SPECS];
    bool iso;
    int64_t text_at, text_length; /* dims as the user wrote them, in kernel.dims_text; length 0: the default */
};

static inline double leaf_value(const leaf *l, int spec, int64_t d)
{
    return l->p[l->offset[spec] + d * l->stride[spec]];
}

/* Is computed by matrix products. */
static inline bool leaf_is_wide(const leaf *l)
{
    return l->n_dims >= WIDE_LEAST && (l->kind->profile || l->kind->of_dot);
}

int64_t leaf_specs(const kernel_kind *kind);
/* Default of number i of a spec's values. */
double spec_initial(const leaf *l, int64_t s, int64_t i);

/* ---------------------------------------------------------------------------------------- expression */

typedef enum node_op { NODE_LEAF, NODE_SUM, NODE_PRODUCT } node_op;

/* Nodes are in postfix order: children before parents, the root last. */
typedef struct kernel_node {
    node_op op;
    int leaf;        /* NODE_LEAF */
    int left, right; /* the others */
    int slot;        /* tile of the evaluation stack that holds the result; the root's is 0 */
    bool in_product; /* some ancestor is a product, so reverse needs the value */
} kernel_node;

struct kernel {
    int64_t D, n_leaves, n_nodes, n_params, n_dims, n_text, n_slots;
    leaf *leaves;
    kernel_node *nodes;
    kernel_param *params;
    double *values;
    int64_t *dims;
    char *dims_text;
    const char *note; /* on a name that left something open, constant; NULL: none */
};

void link_leaves(kernel *k);
bool kernel_leaf_is_scale(const leaf *l); /* a number literal */
bool kernel_leaf_is_white(const leaf *l);

/* After parsing: slots, roles, priors, which variances are free.  False: out of memory. */
bool kernel_complete(kernel *k);

/* --------------------------------------------------------------------------------------------- table */

extern const kernel_kind kind_rbf, kind_matern12, kind_matern32, kind_matern52, kind_rq, kind_periodic, kind_cosine,
    kind_linear, kind_polynomial, kind_arccosine, kind_sm, kind_wendland0, kind_wendland1, kind_wendland2,
    kind_wendland3, kind_constant, kind_white, kind_categorical;
extern const kernel_kind kind_scale; /* a number literal; not in the table */

const kernel_kind *kind_at(int64_t i);
/* Another name of a kernel, and what the user should be told where it leaves something open; NULL: nothing. */
typedef struct kernel_alias {
    const char *name;
    const kernel_kind *kind;
    const char *note;
} kernel_alias;

/* By its name or an alias; NULL: no such kernel.  *note is set where the alias has one. */
const kernel_kind *kind_find(const char *name, int64_t length, const char **note); /* in upper or lower case */
int64_t kernel_words(void);                                                        /* the names that kind_find knows, */
const char *kernel_word(int64_t i);                                                /* those of the kinds first */
const kernel_kind *kind_matern(double nu); /* NULL: only 0.5, 1.5 and 2.5 have a simple form */

#endif
