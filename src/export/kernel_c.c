/* A kernel as C functions of one pair of rows: one per leaf, with its values as local tables, and one for the expression. */
#include <stdio.h>
#include <string.h>

#include "export/export.h"
#include "kernel/kernel_parts.h"

/* The formula of a kind, in the names of its parameters and in
       r2    squared distance over length-scales        dot     sum of weights x z
       n     dims, dim[] their columns                  order   its integer */
typedef struct leaf_code {
    const char *name, *given, *formula;
} leaf_code;

#define RADIAL                                                                                                         \
    "    double r2 = 0;\n"                                                                                             \
    "    int d;\n"                                                                                                     \
    "    for (d = 0; d < n; d++) {\n"                                                                                  \
    "        double u = (x[dim[d]] - z[dim[d]]) / lengthscale[d];\n"                                                   \
    "        r2 += u * u;\n"                                                                                           \
    "    }\n"
#define WENDLAND(q, P)                                                                                                 \
    "    double j = floor(n / 2.0) + " q " + 1, r = sqrt(r2);\n"                                                       \
    "    return r < 1 ? variance[0] * pow(1 - r, j + " q ") * (" P ") : 0;\n"
#define DOT(weight)                                                                                                    \
    "    double dot = 0;\n"                                                                                            \
    "    int d;\n"                                                                                                     \
    "    for (d = 0; d < n; d++) dot += " weight "[d] * x[dim[d]] * z[dim[d]];\n"
#define TWO_PI "6.283185307179586"
#define ONE_PI "3.141592653589793"

static const leaf_code codes[] = {
    {"rbf", RADIAL, "    return variance[0] * exp(-r2 / 2);\n"},
    {"matern12", RADIAL, "    return variance[0] * exp(-sqrt(r2));\n"},
    {"matern32", RADIAL,
     "    double a = sqrt(3 * r2);\n"
     "    return variance[0] * (1 + a) * exp(-a);\n"},
    {"matern52", RADIAL,
     "    double a = sqrt(5 * r2);\n"
     "    return variance[0] * (1 + a + a * a / 3) * exp(-a);\n"},
    {"rq", RADIAL, "    return variance[0] * exp(-alpha[0] * log1p(r2 / (2 * alpha[0])));\n"},
    {"wendland0", RADIAL, WENDLAND("0", "1")},
    {"wendland1", RADIAL, WENDLAND("1", "(j + 1) * r + 1")},
    {"wendland2", RADIAL, WENDLAND("2", "((j * j + 4 * j + 3) * r * r + (3 * j + 6) * r + 3) / 3")},
    {"wendland3", RADIAL,
     WENDLAND("3", "((j * j * j + 9 * j * j + 23 * j + 15) * r * r * r + (6 * j * j + 36 * j + 45) * r * r + (15 * j + "
                   "45) * r + 15) / 15")},
    {"periodic", "",
     "    double sum = 0;\n"
     "    int d;\n"
     "    for (d = 0; d < n; d++) {\n"
     "        double s = sin(" ONE_PI " * remainder((x[dim[d]] - z[dim[d]]) / period[d], 1)) / lengthscale[d];\n"
     "        sum += s * s;\n"
     "    }\n"
     "    return variance[0] * exp(-2 * sum);\n"},
    {"cosine", "",
     "    double k = variance[0];\n"
     "    int d;\n"
     "    for (d = 0; d < n; d++) k *= cos(" TWO_PI " * remainder((x[dim[d]] - z[dim[d]]) / period[d], 1));\n"
     "    return k;\n"},
    {"linear", DOT("variance"), "    return dot;\n"},
    {"polynomial", DOT("weight"),
     "    double power = 1;\n"
     "    for (d = 0; d < order; d++) power *= offset[0] + dot;\n"
     "    return variance[0] * power;\n"},
    {"arccosine", "",
     "    int d;\n"
     "    double xx = bias[0], zz = bias[0], less, more, t, c, s;\n"
     "    for (d = 0; d < n; d++) xx += weight[d] * x[dim[d]] * x[dim[d]], zz += weight[d] * z[dim[d]] * z[dim[d]];\n"
     "    xx = sqrt(xx), zz = sqrt(zz);\n"
     "    less = sqrt(bias[0]) * (1 / xx - 1 / zz), more = sqrt(bias[0]) * (1 / xx + 1 / zz);\n"
     "    less *= less, more *= more;\n"
     "    for (d = 0; d < n; d++) {\n"
     "        double w = sqrt(weight[d]), a = w * x[dim[d]] / xx, b = w * z[dim[d]] / zz;\n"
     "        less += (a - b) * (a - b), more += (a + b) * (a + b);\n"
     "    }\n"
     "    t = 2 * atan2(sqrt(less), sqrt(more)), c = cos(t), s = sin(t);\n"
     "    if (order == 0) return variance[0] / " ONE_PI " * (" ONE_PI " - t);\n"
     "    if (order == 1) return variance[0] / " ONE_PI " * xx * zz * (s + (" ONE_PI " - t) * c);\n"
     "    return variance[0] / " ONE_PI " * xx * xx * zz * zz * (3 * s * c + (" ONE_PI " - t) * (1 + 2 * c * c));\n"},
    {"sm", "",
     "    double k = 0;\n"
     "    int q, d;\n"
     "    for (q = 0; q < order; q++) {\n"
     "        double a = weight[q];\n"
     "        for (d = 0; d < n; d++) {\n"
     "            double u = x[dim[d]] - z[dim[d]], s = u / lengthscale[q * n + d];\n"
     "            a *= exp(-s * s / 2) * cos(" TWO_PI " * remainder(frequency[q * n + d] * u, 1));\n"
     "        }\n"
     "        k += a;\n"
     "    }\n"
     "    return k;\n"},
    {"categorical", "",
     "    double sum = 0;\n"
     "    int d;\n"
     "    for (d = 0; d < n; d++)\n"
     "        if (x[dim[d]] != z[dim[d]]) sum += 1 / lengthscale[d];\n"
     "    return variance[0] * exp(-sum);\n"},
    {"constant", "", "    return variance[0];\n"},
    {"scale", "", "    return scale[0];\n"},
    {"white", "", "    return 0;\n"}, /* of two different rows */
};

static const leaf_code *code_of(const char *name)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(codes[i].name, name)) return &codes[i];
    return NULL;
}

static void local_table(FILE *f, const kernel *k, int64_t i, int64_t s)
{
    fprintf(f, "    static const double %s[] = {", kernel_part_param(k, i, s));
    for (int64_t j = 0, n = kernel_part_count(k, i, s); j < n; j++)
        fprintf(f, "%s%.17g", j ? ", " : "", kernel_part_value(k, i, s, j));
    fprintf(f, "};\n");
}

static void local_dims(FILE *f, const kernel_part *p)
{
    fprintf(f, "    static const int dim[] = {");
    for (int64_t d = 0; d < p->n_dims; d++) fprintf(f, "%s%lld", d ? ", " : "", (long long)p->dims[d]);
    fprintf(f, "}, n = %lld;\n", (long long)p->n_dims);
}

static void c_leaf(FILE *f, const char *prefix, const kernel *k, int64_t i)
{
    kernel_part p = kernel_part_at(k, i);
    const leaf_code *c = code_of(p.name);
    bool white = !strcmp(p.name, "white");
    fprintf(f, "/* %s */\nstatic double %s_leaf%lld(const double *x, const double *z)\n{\n", p.name, prefix,
            (long long)i);
    for (int64_t s = 0; s < p.params && !white; s++) local_table(f, k, i, s);
    if (p.n_dims > 0) local_dims(f, &p);
    if (strstr(c->formula, "order")) fprintf(f, "    static const int order = %lld;\n", (long long)p.integer);
    fputs(c->given, f);
    if (p.n_dims == 0) fputs("    (void)x, (void)z;\n", f);
    fprintf(f, "%s}\n\n", c->formula);
}

/* The parts up to the root, whose values have names by their places. */
static void c_expression(FILE *f, const char *prefix, const char *leaves, const char *name, const kernel *k,
                         int64_t root)
{
    fprintf(f, "static double %s_%s(const double *x, const double *z)\n{\n", prefix, name);
    for (int64_t i = 0; i <= root; i++) {
        kernel_part p = kernel_part_at(k, i);
        if (p.kind == PART_LEAF)
            fprintf(f, "    const double k%lld = %s_leaf%lld(x, z);\n", (long long)i, leaves, (long long)i);
        else
            fprintf(f, "    const double k%lld = k%d %c k%d;\n", (long long)i, p.left, p.kind == PART_SUM ? '+' : '*',
                    p.right);
    }
    fprintf(f, "    return k%lld;\n}\n\n", (long long)root);
}

/* Whether a step asks for kernel i; left: for its left term alone. */
static bool is_asked(const recipe *r, int64_t i, bool left)
{
    for (int64_t s = 0; s < r->n_steps; s++) {
        const recipe_step *t = &r->steps[s];
        bool whole = t->op == STEP_KERNEL || t->op == STEP_PRIOR || t->op == STEP_GRAM || t->op == STEP_DESIGN ||
                     t->op == STEP_NESTED || t->op == STEP_AUGMENT || (t->op == STEP_NEAR && t->other.in == 0);
        if (t->kernel == i && (left ? t->op == STEP_LEFT : whole)) return true;
    }
    return false;
}

static void c_kernel(FILE *f, const char *prefix, int64_t number, const kernel *k, bool whole, bool left)
{
    int64_t root = kernel_parts(k) - 1, end = whole ? root : left ? kernel_left_part(k) : -1;
    char own[160], name[32];
    snprintf(own, sizeof own, "%.100s_k%lld", prefix, (long long)number + 1);
    for (int64_t i = 0; i <= end; i++)
        if (kernel_part_at(k, i).kind == PART_LEAF) c_leaf(f, own, k, i);
    snprintf(name, sizeof name, "kernel%lld", (long long)number + 1);
    if (whole) c_expression(f, prefix, own, name, k, root);
    snprintf(name, sizeof name, "left%lld", (long long)number + 1);
    if (left) c_expression(f, prefix, own, name, k, kernel_left_part(k));
}

void c_kernels(FILE *f, const char *prefix, const recipe *r)
{
    for (int64_t i = 0; i < r->n_kernels; i++)
        c_kernel(f, prefix, i, r->kernels[i], is_asked(r, i, false), is_asked(r, i, true));
}
