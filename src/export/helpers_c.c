/* The functions that steps call in C (steps_c.c).  A source has each of them once, and only those that it calls: an unused static function
   is a warning. */
#include "export/export.h"

typedef struct helper {
    step_op ops[9]; /* whose steps call it; ends at STEPS */
    const char *code;
} helper;

static const helper helpers[] = {
    {{STEP_MEAN, STEP_SQUARE, STEP_TAKE, STEP_TIMES, STEP_WAVES, STEP_LESS, STEP_AUGMENT, STEP_NESTED, STEPS},
     "static double dot(int n, const double *a, const double *b)\n{\n"
     "    double s = 0;\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) s += a[i] * b[i];\n"
     "    return s;\n}\n\n"},
    {{STEP_KERNEL, STEP_LEFT, STEPS},
     "/* v_i = k(x, z_i) */\n"
     "static void covariances(double (*k)(const double *, const double *), int n, const double *z, int width, const "
     "double *x,\n"
     "                        double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] = k(x, z + i * width);\n}\n\n"},
    {{STEP_WAVES, STEPS},
     "/* v_i = w_i cos z_i'x, then w_i sin z_i'x */\n"
     "static void waves(int n, const double *z, const double *w, int width, const double *x, double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) {\n"
     "        double turns = remainder(dot(width, z + i * width, x) / 6.283185307179586, 1);\n"
     "        v[i] = w[i] * cos(6.283185307179586 * turns);\n"
     "        v[n + i] = w[i] * sin(6.283185307179586 * turns);\n"
     "    }\n}\n\n"},
    {{STEP_FRAME, STEPS},
     "/* (x - shift) / spread of the inputs that have a spread */\n"
     "static void frame(int width, const double *shift, const double *spread, const double *x, double *v)\n{\n"
     "    int j;\n"
     "    for (j = 0; j < width; j++)\n"
     "        if (spread[j] > 0) *v++ = (x[j] - shift[j]) / spread[j];\n}\n\n"},
    {{STEP_COPY, STEPS},
     "static void copy(int n, const double *u, double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] = u[i];\n}\n\n"},
    {{STEP_SOLVE, STEPS},
     "/* v = L^-1 v */\n"
     "static void solve(int n, const double *L, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = 0; i < n; L += ++i) {\n"
     "        double s = v[i];\n"
     "        for (j = 0; j < i; j++) s -= L[j] * v[j];\n"
     "        v[i] = s / L[i];\n"
     "    }\n}\n\n"},
    {{STEP_BACK, STEPS},
     "/* v = L^-T v */\n"
     "static void back(int n, const double *L, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = n - 1, L += n * (n - 1) / 2; i >= 0; L -= i--) {\n"
     "        v[i] /= L[i];\n"
     "        for (j = 0; j < i; j++) v[j] -= L[j] * v[i];\n"
     "    }\n}\n\n"},
    {{STEP_ROOT, STEPS},
     "/* v = R'v */\n"
     "static void root(int n, const double *R, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = 0; i < n; R += ++i) {\n"
     "        double s = v[i];\n"
     "        for (j = 0; j < i; j++) v[j] += R[j] * s;\n"
     "        v[i] = R[i] * s;\n"
     "    }\n}\n\n"},
    {{STEP_TAKE, STEPS},
     "/* v = v - A u */\n"
     "static void take(int n, int m, const double *A, const double *u, double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] -= dot(m, A + i * m, u);\n}\n\n"},
    {{STEP_MIX, STEPS},
     "/* v = v - A'u */\n"
     "static void mix(int n, int m, const double *A, const double *u, double *v)\n{\n"
     "    int i, j;\n"
     "    for (j = 0; j < m; j++)\n"
     "        for (i = 0; i < n; i++) v[i] -= A[j * n + i] * u[j];\n}\n\n"},
    {{STEP_TIMES, STEPS},
     "/* v = A u */\n"
     "static void times(int n, int m, const double *A, const double *u, double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] = dot(m, A + i * m, u);\n}\n\n"},
    {{STEP_WEIGH, STEPS},
     "static void weigh(int n, const double *w, double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] *= w[i];\n}\n\n"},
    {{STEP_ROUTE, STEPS},
     "/* The part of x.  Rows of the tree: kind, roots and inputs; then nodes: the row of the first of two children, "
     "or 0; the part; and the\n"
     "   centre, or for kind 1 the input and where it is cut. */\n"
     "static double apart(int width, const double *x, const double *z)\n{\n"
     "    double s = 0;\n"
     "    int j;\n"
     "    for (j = 0; j < width; j++) s += (x[j] - z[j]) * (x[j] - z[j]);\n"
     "    return s;\n}\n\n"
     "static int route(int width, const double *tree, int cols, const double *x)\n{\n"
     "    const double *node = tree + cols;\n"
     "    int i, roots = (int)tree[1];\n"
     "    for (i = 1; i < roots && tree[0] != 1; i++)\n"
     "        if (apart(width, x, tree + (i + 1) * cols + 2) < apart(width, x, node + 2)) node = tree + (i + 1) * "
     "cols;\n"
     "    while (node[0] > 0) {\n"
     "        const double *left = tree + (int)node[0] * cols, *right = left + cols;\n"
     "        int first = tree[0] == 1 ? x[(int)node[2]] <= node[3]\n"
     "                                 : apart(width, x, left + 2) <= apart(width, x, right + 2);\n"
     "        node = first ? left : right;\n"
     "    }\n"
     "    return (int)node[1];\n}\n\n"},
    {{STEP_NEAR, STEPS},
     "/* Row i joins the k nearest, which are sorted; how many they are. */\n"
     "static int offer(int k, int count, int *list, double *distance, int i, double d)\n{\n"
     "    int j = count < k ? count : k - 1;\n"
     "    if (count == k && !(d < distance[j])) return count;\n"
     "    for (; j > 0 && d < distance[j - 1]; j--) list[j] = list[j - 1], distance[j] = distance[j - 1];\n"
     "    list[j] = i, distance[j] = d;\n"
     "    return count < k ? count + 1 : k;\n}\n\n"},
    {{STEP_GATHER, STEPS},
     "/* The rows that are listed. */\n"
     "static void gather(int n, int width, const double *table, const int *list, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = 0; i < n; i++)\n"
     "        for (j = 0; j < width; j++) *v++ = table[list[i] * width + j];\n}\n\n"},
    {{STEP_GRAM, STEPS},
     "/* The lower triangle of k over n rows, with more on the diagonal. */\n"
     "static void gram(double (*k)(const double *, const double *), int n, const double *z, int width, const double "
     "*noise,\n"
     "                 double more, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = 0; i < n; i++)\n"
     "        for (j = 0; j <= i; j++) *v++ = k(z + i * width, z + j * width) + (i == j ? noise ? noise[i] : more : "
     "0);\n}\n\n"},
    {{STEP_LESS, STEPS},
     "/* v = v - F F', a lower triangle */\n"
     "static void less(int n, int m, const double *F, double *v)\n{\n"
     "    int i, j;\n"
     "    for (i = 0; i < n; i++)\n"
     "        for (j = 0; j <= i; j++) *v++ -= dot(m, F + i * m, F + j * m);\n}\n\n"},
    {{STEP_FACTOR, STEP_NESTED, STEPS},
     "/* The Cholesky factor of a lower triangle in its place; 0: it has none. */\n"
     "static int factor(int n, double *v)\n{\n"
     "    double *row = v;\n"
     "    int i, j, l;\n"
     "    for (i = 0; i < n; row += ++i) {\n"
     "        double *other = v;\n"
     "        for (j = 0; j <= i; other += ++j) {\n"
     "            double s = row[j];\n"
     "            for (l = 0; l < j; l++) s -= row[l] * other[l];\n"
     "            if (i == j && !(s > 0)) return 0;\n"
     "            row[j] = i == j ? sqrt(s) : s / other[j];\n"
     "        }\n"
     "    }\n"
     "    return 1;\n}\n\n"},
    {{STEP_JOIN, STEPS},
     "/* One more expert, N(m, v), whose prior has the variance v0, in the sums of weights, precisions, means and "
     "noise. */\n"
     "static void join(int entropy, int prior, double v0, double m, double v, double noise, double *sum)\n{\n"
     "    double start = prior ? 1 / v0 : 0, weight = 1, more;\n"
     "    if (!(v0 > 0)) return;\n"
     "    if (entropy) weight = 0.5 * (log(v0) - log(v));\n"
     "    if (entropy && !prior) weight = fmax(weight, 1e-16);\n"
     "    more = weight * (1 / v - start);\n"
     "    sum[0] += weight, sum[1] += more, sum[2] += weight * m / v, sum[3] += more * noise;\n}\n\n"},
    {{STEP_PASS, STEPS},
     "/* v = x + spread (m + sd e) */\n"
     "static void pass(int n, const double *x, const double *spread, const double *e, const double *m, const double "
     "*s, double white,\n"
     "                 double *v)\n{\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) v[i] = x[i] + spread[i] * (m[i] + sqrt(fmax(s[i], 0) + white) * e[i]);\n}\n\n"},
    {{STEP_GATE, STEPS},
     "/* The softmax of n numbers times a factor. */\n"
     "static void gate(int n, const double *m, double factor, double *weight)\n{\n"
     "    double most = -INFINITY, sum = 0;\n"
     "    int i;\n"
     "    for (i = 0; i < n; i++) most = fmax(most, m[i] * factor);\n"
     "    for (i = 0; i < n; i++) {\n"
     "        weight[i] = most - most == 0 ? exp(m[i] * factor - most) : 1;\n"
     "        sum += weight[i];\n"
     "    }\n"
     "    for (i = 0; i < n; i++) weight[i] /= sum;\n}\n\n"},
};

/* Distances over weights of the inputs, for `near` and `around`. */
static const char between_code[] =
    "static double between(int width, const double *weight, const double *a, const double *b)\n{\n"
    "    double d = 0;\n"
    "    int j;\n"
    "    for (j = 0; j < width; j++) {\n"
    "        double u = weight[j] * a[j] - weight[j] * b[j];\n"
    "        d += u * u;\n"
    "    }\n"
    "    return d;\n}\n\n";
/* Rows nearest to x: by distance, or by correlation under a kernel (vecchia_metric.c). */
static const char near_code[] = "static int near(int k, int n, int width, const double *z, const double *weight, const "
                                "double *x, int *list, double *distance)\n{\n"
                                "    int i, count = 0;\n"
                                "    for (i = 0; i < n; i++)\n"
                                "        count = offer(k, count, list, distance, i, between(width, weight, z + i * "
                                "width, x));\n"
                                "    return count;\n}\n\n";
/* directions.c: `gaps` and `wide` are near_gaps and NEAR_WIDE, AROUND_CELL is NEAR_CELL, AROUND_ROWS half of the longest list times the
   directions, AROUND_WIDTH the inputs. */
static const char around_code[] =
    "/* The middle of the cell of x, in units of the weights; `nearest` is the squared distance of its nearest row. "
    "*/\n"
    "static void middle(int width, const double *weight, const double *x, double nearest, double *c)\n{\n"
    "    int j, level;\n"
    "    double side;\n"
    "    frexp(AROUND_CELL * sqrt(nearest), &level);\n"
    "    side = ldexp(1, level - 1);\n"
    "    for (j = 0; j < width; j++) c[j] = weight[j] != 0 ? (floor(weight[j] * x[j] / side) + 0.5) * side : 0;\n"
    "}\n\n"
    "/* How far a row is from it, and on which side: a bit for each input that counts. */\n"
    "static double aside(int width, const double *weight, const double *z, const double *c, int *way)\n{\n"
    "    double d = 0;\n"
    "    int j, bit = 1;\n"
    "    for (*way = j = 0; j < width; j++) {\n"
    "        double u = weight[j] * z[j] - c[j];\n"
    "        d += u * u;\n"
    "        if (weight[j] != 0) *way += weight[j] * z[j] >= c[j] ? bit : 0, bit *= 2;\n"
    "    }\n"
    "    return d;\n}\n\n"
    "/* The `each` nearest rows on each side, all of them from the nearest to the farthest; how many. */\n"
    "static int sides(int each, int n, int width, const double *z, const double *weight, const double *c, int *row, "
    "double *far)\n{\n"
    "    int i, all = 0, found[8] = {0}, next[8] = {0}, listed[AROUND_ROWS];\n"
    "    double distance[AROUND_ROWS];\n"
    "    for (i = 0; i < n; i++) {\n"
    "        int way;\n"
    "        double d = aside(width, weight, z + i * width, c, &way);\n"
    "        found[way] = offer(each, found[way], listed + way * each, distance + way * each, i, d);\n"
    "    }\n"
    "    for (;;) {\n"
    "        int way, best = -1;\n"
    "        for (way = 0; way < 8; way++) {\n"
    "            int at = way * each + next[way], to = best * each + (best < 0 ? 0 : next[best]);\n"
    "            if (next[way] == found[way]) continue;\n"
    "            if (best < 0 || distance[at] < distance[to] || (distance[at] == distance[to] && listed[at] < "
    "listed[to])) best = way;\n"
    "        }\n"
    "        if (best < 0) return all;\n"
    "        row[all] = listed[best * each + next[best]], far[all++] = distance[best * each + next[best]++];\n"
    "    }\n}\n\n"
    "static int around(int most, int count, const double *gaps, double wide, int n, int width, const double *z, const "
    "double *weight,\n"
    "                  const double *x, int *list, const double *distance)\n{\n"
    "    int i, j, g, all, length = count, taken[AROUND_ROWS], row[AROUND_ROWS];\n"
    "    double far[AROUND_ROWS], c[AROUND_WIDTH];\n"
    "    for (g = 2 * NEAR_GAPS - 2; g >= 0; g -= 2)\n"
    "        if (distance[0] > gaps[g] * gaps[g] * distance[count - 1]) length = (int)gaps[g + 1] * count;\n"
    "    if (length > most) length = most;\n"
    "    if (length <= count) return count;\n"
    "    middle(width, weight, x, distance[0], c);\n"
    "    all = sides(length / 2, n, width, z, weight, c, row, far);\n"
    "    for (i = count = 0; i < all; i++) {\n"
    "        taken[i] = count < length;\n"
    "        for (j = count - 1; taken[i] && count >= length / 4 && j >= 0; j--)\n"
    "            taken[i] = between(width, weight, z + row[i] * width, z + list[j] * width) > wide * wide * far[i];\n"
    "        if (taken[i]) list[count++] = row[i];\n"
    "    }\n"
    "    for (i = 0; i < all && count < length; i++)\n"
    "        if (!taken[i]) list[count++] = row[i];\n"
    "    return count;\n}\n\n";
static const char correlated_code[] =
    "static int correlated(int k, int n, int width, const double *z, double (*kernel)(const double *, const double "
    "*),\n"
    "                      const double *x, int *list, double *distance)\n{\n"
    "    double own = kernel(x, x);\n"
    "    int i, count = 0;\n"
    "    for (i = 0; i < n; i++) {\n"
    "        double other = kernel(z + i * width, z + i * width), d = 1;\n"
    "        if (own > 0 && other > 0) d = 1 - fabs(kernel(z + i * width, x)) / (sqrt(other) * sqrt(own));\n"
    "        count = offer(k, count, list, distance, i, d > 0 ? rint(d * 68719476736.0) / 68719476736.0 : 0);\n"
    "    }\n"
    "    return count;\n}\n\n";

/* lagp_design.c, by alc.  Work: n (rows + 4). */
static const char design_code[] =
    "static int design(double (*k)(const double *, const double *), int n, int width, const double *z, const double "
    "*noise,\n"
    "                  const double *x, int rows, int start, int *list, double *work)\n{\n"
    "    double *t = work, *s = t + n, *least = s + n, *open = least + n, *V = open + n;\n"
    "    int i, j, l, p, chosen[DESIGN_ROWS];\n"
    "    for (i = 0; i < n; i++) {\n"
    "        const double *c = z + list[i] * width;\n"
    "        double own = k(c, c);\n"
    "        t[i] = own + noise[list[i]], s[i] = k(c, x), least[i] = 1e-12 * own, open[i] = 1;\n"
    "    }\n"
    "    for (j = 0; j < rows; j++) {\n"
    "        double most = -1, root, own;\n"
    "        for (p = -1, i = 0; i < n && !(j < start && p >= 0); i++)\n"
    "            if (open[i] > 0 && t[i] > least[i] && (j < start || s[i] * s[i] > most * t[i])) p = i, most = s[i] * "
    "s[i] / t[i];\n"
    "        if (p < 0) break;\n"
    "        root = sqrt(t[p]), own = s[p] / root, open[p] = 0, chosen[j] = list[p];\n"
    "        for (i = 0; i < n; i++) {\n"
    "            double v = k(z + list[i] * width, z + list[p] * width);\n"
    "            for (l = 0; l < j; l++) v -= V[l * n + i] * V[l * n + p];\n"
    "            V[j * n + i] = v / root;\n"
    "        }\n"
    "        for (i = 0; i < n; i++) t[i] -= V[j * n + i] * V[j * n + i], s[i] -= V[j * n + i] * own;\n"
    "    }\n"
    "    for (i = 0; i < j; i++) list[i] = chosen[i];\n"
    "    return j;\n}\n\n";

/* npae.c.  K: lower triangles, row after row; work: c_nested_work() in steps_c.c. */
static const char nested_code[] =
    "/* lambda = K^-1 k through correlations, refined once. */\n"
    "static void weigh_experts(int m, const double *K, const double *k, double v0, double *work, double *lambda)\n{\n"
    "    double *L = work, *scale = L + m * (m + 1) / 2, *z = scale + m, jitter = 1e-12;\n"
    "    int i, j, round, used = 0;\n"
    "    for (i = 0; i < m; i++) {\n"
    "        double v = K[i * (i + 1) / 2 + i];\n"
    "        scale[i] = v > 1e-200 * v0 && v > 0 ? 1 / sqrt(v) : 0, lambda[i] = 0;\n"
    "        used += scale[i] > 0, z[i] = scale[i] * k[i];\n"
    "    }\n"
    "    if (!used) return;\n"
    "    for (;; jitter *= 10) {\n"
    "        for (i = 0; i < m; i++)\n"
    "            for (j = 0; j <= i; j++)\n"
    "                L[i * (i + 1) / 2 + j] = i == j ? 1 + jitter : scale[i] * scale[j] * K[i * (i + 1) / 2 + j];\n"
    "        if (jitter > 0.01 || factor(m, L)) break;\n"
    "    }\n"
    "    for (round = 0; round < 2; round++) {\n"
    "        solve(m, L, z);\n"
    "        back(m, L, z);\n"
    "        for (i = 0; i < m; i++) lambda[i] += scale[i] * z[i];\n"
    "        for (i = 0; i < m; i++) {\n"
    "            double s = k[i];\n"
    "            for (j = 0; j < m; j++) s -= (i >= j ? K[i * (i + 1) / 2 + j] : K[j * (j + 1) / 2 + i]) * lambda[j];\n"
    "            z[i] = scale[i] * s;\n"
    "        }\n"
    "    }\n}\n\n"
    "/* a'K b over the numbers i .. i + m - 1 and j .. j + n - 1. */\n"
    "static double form(const double *K, int i, int m, const double *a, int j, int n, const double *b)\n{\n"
    "    double sum = 0;\n"
    "    int r, c;\n"
    "    for (r = i; r < i + m; r++)\n"
    "        for (c = j; c < j + n; c++) sum += a[r - i] * b[c - j] * (r >= c ? K[r * (r + 1) / 2 + c] : K[c * (c + 1) "
    "/ 2 + r]);\n"
    "    return sum;\n}\n\n";
static const char groups_code[] =
    "/* Groups of `size` experts first, then the groups. */\n"
    "static void weigh_groups(int Q, const double *K, const double *k, double v0, double *work, double *lambda)\n{\n"
    "    int size = (int)ceil(sqrt((double)Q)), G = (Q + size - 1) / size, g, h, i, j;\n"
    "    double *K2 = work, *k2 = K2 + G * (G + 1) / 2, *top = k2 + G, *own = top + G, *rest = own + size * (size + 1) "
    "/ 2;\n"
    "    for (g = 0; g < G; g++) {\n"
    "        int at = g * size, m = Q - at < size ? Q - at : size;\n"
    "        for (i = 0; i < m; i++)\n"
    "            for (j = 0; j <= i; j++) own[i * (i + 1) / 2 + j] = K[(at + i) * (at + i + 1) / 2 + at + j];\n"
    "        weigh_experts(m, own, k + at, v0, rest, lambda + at);\n"
    "        for (k2[g] = 0, i = 0; i < m; i++) k2[g] += lambda[at + i] * k[at + i];\n"
    "        for (h = 0; h <= g; h++) {\n"
    "            int from = h * size, n = Q - from < size ? Q - from : size;\n"
    "            K2[g * (g + 1) / 2 + h] = form(K, at, m, lambda + at, from, n, lambda + from);\n"
    "        }\n"
    "    }\n"
    "    weigh_experts(G, K2, k2, v0, rest, top);\n"
    "    for (i = 0; i < Q; i++) lambda[i] *= top[i / size];\n}\n\n";

static bool uses(int64_t targets, const recipe *r, const step_op *ops)
{
    for (int64_t t = 0; t < targets; t++)
        for (int i = 0; ops[i] != STEPS; i++)
            if (recipe_has(&r[t], ops[i])) return true;
    return false;
}

static bool uses_one(int64_t targets, const recipe *r, step_op op)
{
    return uses(targets, r, (const step_op[]){op, STEPS});
}

/* The longest design. */
static int64_t design_rows(int64_t targets, const recipe *r)
{
    int64_t most = 0;
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < r[t].n_steps; i++)
            if (r[t].steps[i].op == STEP_DESIGN && r[t].steps[i].n > most) most = r[t].steps[i].n;
    return most;
}

/* Room for the rows on all sides: half of the longest list for each direction. */
static int64_t around_rows(int64_t targets, const recipe *r)
{
    int64_t most = 0;
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < r[t].n_steps; i++) {
            const recipe_step *s = &r[t].steps[i];
            int64_t rows = s->n / 2 << (s->width < NEAR_SIDED ? s->width : NEAR_SIDED);
            if (s->op == STEP_AROUND && rows > most) most = rows;
        }
    return most;
}

static int64_t around_width(int64_t targets, const recipe *r)
{
    int64_t most = 0;
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < r[t].n_steps; i++)
            if (r[t].steps[i].op == STEP_AROUND && r[t].steps[i].width > most) most = r[t].steps[i].width;
    return most;
}

static bool has_levels(int64_t targets, const recipe *r)
{
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < r[t].n_steps; i++)
            if (r[t].steps[i].op == STEP_NESTED && r[t].steps[i].rule & RULE_LEVELS) return true;
    return false;
}

static void near_helpers(FILE *f, int64_t targets, const recipe *r)
{
    bool by[2] = {false, false};
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < r[t].n_steps; i++)
            if (r[t].steps[i].op == STEP_NEAR) by[r[t].steps[i].other.in == 0] = true;
    if (by[0]) fputs(between_code, f), fputs(near_code, f);
    if (by[1]) fputs(correlated_code, f);
}

void c_helpers(FILE *f, int64_t targets, const recipe *r)
{
    static const char mixture_code[] = "/* Mean and variance of a mixture of n, `by` numbers apart. */\n"
                                       "static void mixture(int n, int by, const double *weight, const double *m, "
                                       "const double *v, double *mean, double *variance)\n{\n"
                                       "    double sum = 0, spread = 0;\n"
                                       "    int i;\n"
                                       "    for (i = 0; i < n; i++) sum += weight[i] * m[i * by];\n"
                                       "    for (i = 0; variance && i < n; i++) spread += weight[i] * (v[i * by] + "
                                       "(m[i * by] - sum) * (m[i * by] - sum));\n"
                                       "    *mean = sum;\n"
                                       "    if (variance) *variance = spread;\n}\n\n";
    bool mixed = false;
    for (int64_t t = 0; t < targets; t++) mixed = mixed || r[t].components > 1;
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (uses(targets, r, helpers[i].ops)) fputs(helpers[i].code, f);
    near_helpers(f, targets, r);
    if (uses_one(targets, r, STEP_AROUND)) {
        fprintf(f, "enum { AROUND_ROWS = %lld, AROUND_WIDTH = %lld, NEAR_GAPS = %d };\n#define AROUND_CELL %.17g\n",
                (long long)around_rows(targets, r), (long long)around_width(targets, r), NEAR_GAPS, NEAR_CELL);
        fputs(around_code, f);
    }
    if (uses_one(targets, r, STEP_DESIGN)) {
        fprintf(f, "enum { DESIGN_ROWS = %lld };\n", (long long)design_rows(targets, r));
        fputs(design_code, f);
    }
    if (uses_one(targets, r, STEP_NESTED)) fputs(nested_code, f);
    if (has_levels(targets, r)) fputs(groups_code, f);
    if (mixed) fputs(mixture_code, f);
}
