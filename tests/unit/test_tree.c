/* tree against dense matrices: the covariance of all inducing variables by the definition of a tree, and that of the rows given them. */
#include "damage_support.h"
#include "dense.h"
#include "model_scene.h"

#include "model/local/tree.h"

static const scene_kind kinds[] = {
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])", "rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
    {NULL, "matern32(variance=0.7,lengthscale=1.1) + white(variance=0.05)", MEAN_ZERO, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };
static const double jitter = 1e-6;

typedef struct dense {
    scene s;
    int64_t part[ROWS], at[M],
        new[NEW]; /* groups of rows, of inducing inputs and of new rows, by the part that names them */
    double X[NEW * D];
    int64_t parent[BLOCKS];
    bool in[BLOCKS];
    real U[M * M], C[ROWS * M], K[ROWS * ROWS], y[ROWS]; /* covariances of u, of y and u, of y */
    real W[M * M], log_K;                                /* inverses of K_kk, group by group */
} dense;

static real covariance(const dense *d, const double *x, const double *z)
{
    return kernel_reference(d->s.h.kernel, x, z, false);
}

static int64_t groups_count(const dense *d, int64_t k)
{
    int64_t count = 0;
    for (int i = 0; i < M; i++) count += d->at[i] == k;
    return count;
}

static real between(int64_t n, const double *x, const double *z)
{
    real sum = 0;
    for (int64_t j = 0; j < n; j++) sum += ((real)x[j] - z[j]) * ((real)x[j] - z[j]);
    return sum;
}

/* Each part's group: itself, or the part with the nearest mean that has inducing inputs. */
static int64_t group_of(const dense *d, int64_t part, int64_t parts, double (*mean)[D])
{
    int64_t best = -1;
    for (int64_t k = 0; k < parts; k++)
        if (groups_count(d, k) > 0 &&
            (best < 0 || between(D, mean[part], mean[k]) < between(D, mean[part], mean[best])))
            best = k;
    return best;
}

static void find_groups(dense *d, int64_t parts)
{
    anygp_error e;
    double mean[BLOCKS][D] = {{0}};
    int64_t part[ROWS], count[BLOCKS] = {0};
    assert_int_equal(router_route(d->s.p.route, M, d->s.h.Z, D, d->at, &e), ANYGP_OK);
    assert_int_equal(router_route(d->s.p.route, ROWS, d->s.X, D, part, &e), ANYGP_OK);
    assert_int_equal(router_route(d->s.p.route, NEW, d->X, D, d->new, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) count[part[i]]++;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < D; j++) mean[part[i]][j] += d->s.X[i * D + j] / (double)count[part[i]];
    for (int i = 0; i < ROWS; i++) d->part[i] = group_of(d, part[i], parts, mean);
    for (int i = 0; i < NEW; i++) d->new[i] = group_of(d, d->new[i], parts, mean);
}

/* The shortest tree, edge by edge: Kruskal's, which joins by the shortest edge between two trees. */
static void find_tree(const dense *d, int64_t parts, bool edge[BLOCKS][BLOCKS])
{
    double centre[BLOCKS][D] = {{0}};
    int64_t tree[BLOCKS];
    memset(edge, 0, sizeof(bool) * BLOCKS * BLOCKS);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < D; j++) centre[d->at[i]][j] += d->s.h.Z[i * D + j] / (double)groups_count(d, d->at[i]);
    for (int64_t k = 0; k < parts; k++) tree[k] = k;
    for (;;) {
        int64_t a = -1, b = -1;
        for (int64_t k = 0; k < parts; k++)
            for (int64_t l = 0; l < k; l++)
                if (tree[k] != tree[l] && groups_count(d, k) && groups_count(d, l) &&
                    (a < 0 || between(D, centre[k], centre[l]) < between(D, centre[a], centre[b])))
                    a = k, b = l;
        if (a < 0) return;
        edge[a][b] = edge[b][a] = true;
        for (int64_t k = 0, old = tree[a]; k < parts; k++)
            if (tree[k] == old) tree[k] = tree[b];
    }
}

/* W: the inverse of K_kk in the places of group k. */
static void invert_group(dense *d, int64_t k)
{
    real A[M * M], trace = 0;
    int member[M], n = 0;
    for (int i = 0; i < M; i++)
        if (d->at[i] == k) member[n++] = i;
    for (int i = 0; i < n; i++) trace += covariance(d, d->s.h.Z + member[i] * D, d->s.h.Z + member[i] * D);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            A[i * n + j] =
                covariance(d, d->s.h.Z + member[i] * D, d->s.h.Z + member[j] * D) + (i == j ? jitter * trace / n : 0);
            d->U[member[i] * M + member[j]] = A[i * n + j];
        }
    dense_invert(n, A);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) d->W[member[i] * M + member[j]] = A[i * n + j];
}

/* cov(g, u_j) for a value g that depends on group k alone, with k(g, u_k) in c[M]. */
static real through(const dense *d, int64_t k, const real *c, int j)
{
    real sum = 0;
    for (int a = 0; a < M; a++)
        for (int b = 0; b < M; b++)
            if (d->at[a] == k && d->at[b] == k) sum += c[a] * d->W[a * M + b] * d->U[b * M + j];
    return sum;
}

/* Group k joins the tree at p. */
static void add_group(dense *d, int64_t k, int64_t p)
{
    for (int i = 0; i < M; i++) {
        real c[M];
        if (d->at[i] != k) continue;
        for (int a = 0; a < M; a++) c[a] = covariance(d, d->s.h.Z + i * D, d->s.h.Z + a * D);
        for (int j = 0; j < M; j++)
            if (d->in[d->at[j]]) d->U[i * M + j] = d->U[j * M + i] = through(d, p, c, j);
    }
    d->in[k] = true;
}

static void fill_variables(dense *d, int64_t parts)
{
    bool edge[BLOCKS][BLOCKS];
    find_tree(d, parts, edge);
    memset(d->in, 0, sizeof d->in);
    for (int64_t k = 0; k < parts; k++)
        if (groups_count(d, k)) invert_group(d, k);
    d->in[d->at[M - 1]] = true; /* any may be the root */
    for (bool more = true; more;) {
        more = false;
        for (int64_t k = 0; k < parts; k++)
            for (int64_t p = 0; p < parts; p++)
                if (edge[k][p] && d->in[p] && !d->in[k]) add_group(d, k, p), more = true;
    }
}

/* c[M]: cov(f(x), u) of a row of group k. */
static void row_covariances(const dense *d, int64_t k, const double *x, real *c)
{
    real own[M];
    for (int a = 0; a < M; a++) own[a] = covariance(d, x, d->s.h.Z + a * D);
    for (int j = 0; j < M; j++) c[j] = through(d, k, own, j);
}

/* cov(f(x), g) where cov(u, g) is in c, and x is of group k. */
static real with_row(const dense *d, int64_t k, const double *x, const real *c)
{
    real sum = 0;
    for (int a = 0; a < M; a++)
        for (int b = 0; b < M; b++)
            if (d->at[a] == k && d->at[b] == k) sum += covariance(d, x, d->s.h.Z + a * D) * d->W[a * M + b] * c[b];
    return sum;
}

static void fill(dense *d, int64_t parts)
{
    anygp_error e;
    int64_t block[ROWS];
    find_groups(d, parts);
    fill_variables(d, parts);
    assert_int_equal(router_route(d->s.p.route, ROWS, d->s.X, D, block, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++) row_covariances(d, d->part[i], d->s.X + i * D, d->C + i * M), d->y[i] = d->s.y[i];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            const double *x = d->s.X + i * D, *z = d->s.X + j * D;
            real k = block[i] == block[j] ? covariance(d, x, z) : with_row(d, d->part[i], x, d->C + j * M);
            if (i == j) k += (kernel_white(d->s.h.kernel) + d->s.h.like[0]) / d->s.w[i];
            d->K[i * ROWS + j] = k;
        }
    d->log_K = dense_invert(ROWS, d->K);
}

/* empty: no inducing input is in some of the parts. */
static void dense_open(dense *d, const scene_kind *kind, bool empty)
{
    anygp_error e;
    scene_open(&d->s, &model_tree, kind);
    fill_normal(9, NEW * D, d->X);
    if (empty) {
        d->s.model->close(d->s.state);
        for (int i = 0; i < M; i++) d->s.h.Z[i * D] = -fabs(d->s.h.Z[i * D]);
        assert_int_equal(model_open(&model_tree, &d->s.p, &d->s.h, &d->s.state, &e), ANYGP_OK);
    }
    fill(d, BLOCKS);
}

static double evidence_of(dense *d)
{
    double value, j = jitter;
    assert_true(model_tree.evaluate(d->s.state, &d->s.h, false, &j, &value, NULL));
    return value;
}

/* What rows of weight w stand for has more to its density than their mean. */
static real expected_evidence(const dense *d)
{
    real terms = 0, noise = kernel_white(d->s.h.kernel) + d->s.h.like[0];
    for (int i = 0; i < ROWS; i++)
        if (d->s.w[i] != 1) terms += (d->s.w[i] - 1) * logl(2 * 3.14159265358979323846L * noise) + logl(d->s.w[i]);
    return dense_log_normal(ROWS, d->K, d->log_K, d->y) - 0.5L * terms;
}

static void objective_is_the_evidence(void **unused)
{
    (void)unused;
    static dense d;
    for (int k = 0; k < 2 * KINDS; k++) {
        dense_open(&d, &kinds[k / 2], k % 2);
        check_close(evidence_of(&d), (double)expected_evidence(&d), 1e-9);
        scene_close(&d.s);
    }
}

static void predictions_are_those_of_the_dense_prior(void **unused)
{
    (void)unused;
    static dense d;
    for (int c = 0; c < 2 * KINDS; c++) {
        posterior *p = NULL;
        double mean[NEW], variance[NEW], j = jitter;
        anygp_error e;
        dense_open(&d, &kinds[c / 2], c % 2);
        assert_int_equal(model_tree.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
        double *work = malloc((size_t)p->ops->work_doubles(p, NEW) * sizeof *work);
        assert_int_equal(p->ops->marginal(p, NEW, d.X, D, work, mean, variance, &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++) {
            const double *x = d.X + i * D;
            real k[ROWS];
            for (int r = 0; r < ROWS; r++) k[r] = with_row(&d, d.new[i], x, d.C + r * M);
            check_close(mean[i], (double)dense_quadratic(ROWS, d.K, k, d.y), 1e-9);
            check_close(variance[i], (double)(covariance(&d, x, x) - dense_quadratic(ROWS, d.K, k, k)), 1e-9);
        }
        free(work);
        p->ops->free(p);
        scene_close(&d.s);
    }
}

/* cov(f(x), f(z)) before any row is seen: x of part a and group k, z of part b, with cov(u, f(z)) in c. */
static real prior_between(const dense *d, int64_t a, int64_t k, const double *x, int64_t b, const double *z,
                          const real *c)
{
    return a == b ? covariance(d, x, z) : with_row(d, k, x, c);
}

static void joint_predictions_are_those_of_the_dense_prior(void **unused)
{
    (void)unused;
    static dense d;
    for (int c = 0; c < 2 * KINDS; c++) {
        posterior *p = NULL;
        double mean[NEW], cov[NEW * NEW], j = jitter;
        int64_t part[NEW];
        real k[NEW][ROWS], u[NEW][M];
        anygp_error e;
        dense_open(&d, &kinds[c / 2], c % 2);
        for (int i = 0; i < D; i++) d.X[D + i] = d.X[i] + 0.01; /* surely two of one part */
        find_groups(&d, BLOCKS);
        assert_int_equal(model_tree.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
        if (p->ops->joint(p, NEW, d.X, D, NULL, mean, cov, NEW, &e)) fail_msg("%s", e.text);
        assert_int_equal(router_route(d.s.p.route, NEW, d.X, D, part, &e), ANYGP_OK);
        for (int i = 0; i < NEW; i++) {
            row_covariances(&d, d.new[i], d.X + i * D, u[i]);
            for (int r = 0; r < ROWS; r++) k[i][r] = with_row(&d, d.new[i], d.X + i * D, d.C + r * M);
        }
        for (int i = 0; i < NEW; i++) {
            check_close(mean[i], (double)dense_quadratic(ROWS, d.K, k[i], d.y), 1e-9);
            for (int l = 0; l <= i; l++)
                check_close(cov[i + l * NEW],
                            (double)(prior_between(&d, part[i], d.new[i], d.X + i * D, part[l], d.X + l * D, u[l]) -
                                     dense_quadratic(ROWS, d.K, k[i], k[l])),
                            1e-9);
        }
        p->ops->free(p);
        scene_close(&d.s);
    }
}

/* Rows that come later: of a part they have their whole covariance with each other, and with the old ones what goes through u. */
enum { ALL = ROWS + NEW };
typedef struct later {
    double y[NEW], w[NEW];
    real K[ALL * ALL], log_K, z[ALL];
} later;

static void later_open(dense *d, later *a)
{
    int64_t part[NEW];
    real u[NEW][M];
    anygp_error e;
    fill_normal(12, NEW, a->y);
    assert_int_equal(router_route(d->s.p.route, NEW, d->X, D, part, &e), ANYGP_OK);
    dense_invert(ROWS, d->K); /* the covariance again */
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) a->K[i * ALL + j] = d->K[i * ROWS + j];
    for (int i = 0; i < NEW; i++) a->w[i] = 1, row_covariances(d, d->new[i], d->X + i * D, u[i]);
    for (int i = 0; i < NEW; i++) {
        int n = ROWS + i;
        for (int r = 0; r < ROWS; r++)
            a->K[n * ALL + r] = a->K[r * ALL + n] = with_row(d, d->new[i], d->X + i * D, d->C + r * M);
        for (int j = 0; j < NEW; j++)
            a->K[n * ALL + ROWS + j] = prior_between(d, part[i], d->new[i], d->X + i * D, part[j], d->X + j * D, u[j]);
        a->K[n * ALL + n] += kernel_white(d->s.h.kernel) + d->s.h.like[0];
    }
    for (int i = 0; i < ALL; i++) a->z[i] = i < ROWS ? d->s.y[i] : a->y[i - ROWS];
    a->log_K = dense_invert(ALL, a->K);
}

/* In two chunks, which cuts no part in two. */
static void update_is_given_all_rows(void **unused)
{
    (void)unused;
    static dense d;
    static later a;
    for (int c = 0; c < 2; c++) {
        posterior *p = NULL, *q = NULL;
        double mean[ROWS], variance[ROWS], j = jitter;
        const int64_t id[NEW] = {0};
        update_report r;
        void *state;
        anygp_error e;
        dense_open(&d, &kinds[0], c);
        real before = expected_evidence(&d);
        assert_int_equal(model_tree.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
        later_open(&d, &a);
        if (model_tree.update->open(&model_tree, p, NULL, &state, &e)) fail_msg("%s", e.text);
        assert_int_equal(model_tree.update->add(state, NEW, d.X, a.y, a.w, id, &e), ANYGP_ERR_ARGUMENT);
        assert_int_equal(model_tree.update->add(state, NEW, d.X, a.y, a.w, NULL, &e), ANYGP_OK);
        assert_int_equal(model_tree.update->add(state, 0, d.X, a.y, a.w, NULL, &e), ANYGP_OK);
        assert_int_equal(model_tree.update->finish(state, &q, &r, &e), ANYGP_OK);
        model_tree.update->close(state);
        assert_true(r.rows == NEW && r.blocks > 0 && r.blocks <= BLOCKS);
        check_close(r.before, (double)before, 1e-9);
        check_close(r.after, (double)dense_log_normal(ALL, a.K, a.log_K, a.z), 1e-9);
        double *work = malloc((size_t)q->ops->work_doubles(q, ROWS) * sizeof *work);
        assert_int_equal(q->ops->marginal(q, ROWS, d.s.X, D, work, mean, variance, &e), ANYGP_OK);
        for (int i = 0; i < ROWS; i++) {
            const double *x = d.s.X + i * D;
            real k[ALL], u[M];
            row_covariances(&d, d.part[i], x, u);
            for (int l = 0; l < ALL; l++)
                k[l] = l < ROWS ? with_row(&d, d.part[i], x, d.C + l * M)
                                : with_row(&d, d.new[l - ROWS], d.X + (l - ROWS) * D, u);
            check_close(mean[i], (double)dense_quadratic(ALL, a.K, k, a.z), 1e-9);
            check_close(variance[i], (double)(covariance(&d, x, x) - dense_quadratic(ALL, a.K, k, k)), 1e-9);
        }
        free(work);
        p->ops->free(p);
        q->ops->free(q);
        scene_close(&d.s);
    }
}

/* One part: its rows keep their whole covariance. */
static void one_part_has_the_exact_evidence(void **unused)
{
    (void)unused;
    static dense d;
    anygp_error e;
    const int64_t start[2] = {0, ROWS};
    const double centre[D] = {0};
    row_blocks *blocks;
    router *route;
    dense_open(&d, &kinds[0], false);
    model_tree.close(d.s.state);
    assert_int_equal(blocks_of_arrays(1, start, D, 1, d.s.X, d.s.y, d.s.w, &blocks, &e), ANYGP_OK);
    assert_int_equal(router_means(1, D, centre, &route, &e), ANYGP_OK);
    d.s.p.blocks = blocks, d.s.p.route = route;
    assert_int_equal(model_open(&model_tree, &d.s.p, &d.s.h, &d.s.state, &e), ANYGP_OK);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            d.K[i * ROWS + j] = covariance(&d, d.s.X + i * D, d.s.X + j * D) + (i == j ? d.s.h.like[0] : 0);
    d.log_K = dense_invert(ROWS, d.K);
    check_close(evidence_of(&d), (double)expected_evidence(&d), 1e-9);
    scene_close(&d.s);
    blocks_free(blocks);
    router_free(route);
}

static void damaged_groups_are_refused(void **unused)
{
    (void)unused;
    static dense d;
    posterior *p = NULL;
    double j = jitter;
    anygp_error e;
    dense_open(&d, &kinds[0], false);
    assert_int_equal(model_tree.posterior(d.s.state, &d.s.h, &j, &p, &e), ANYGP_OK);
    assert_int_equal(load_damaged(&model_tree, p, "none", 0, 0), ANYGP_OK);
    static const struct {
        const char *name;
        int64_t at;
        double value;
    } damage[] = {{"groups", 0, -1},
                  {"groups", 1, BLOCKS},
                  {"groups", 0, 0.5},
                  {"groups", ROW_LESS, 0},
                  {"sizes", 0, 0},
                  {"sizes", 0, 1e18},
                  {"sizes", 0, NAN},
                  {"sizes", ROW_LESS, 0},
                  {"Z", ROW_LESS, 0},
                  {"m", ROW_LESS, 0},
                  {"L", 0, -1},
                  {"L", ROW_LESS, 0},
                  {"B", 0, NAN},
                  {"B", ROW_LESS, 0},
                  {"router", ROW_LESS, 0},
                  {"parents", 0, 0},
                  {"parents", 1, 1},
                  {"parents", 1, -1},
                  {"parents", 0, -2},
                  {"parents", ROW_LESS, 0},
                  {"S", 1, INFINITY},
                  {"S", ROW_LESS, 0},
                  {"b", 0, NAN},
                  {"sums", 2, 0}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
        if (load_damaged(&model_tree, p, damage[i].name, damage[i].at, damage[i].value) == ANYGP_OK)
            fail_msg("damage %zu to %s is not seen", i, damage[i].name);
    p->ops->free(p);
    scene_close(&d.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(objective_is_the_evidence),
                                       cmocka_unit_test(predictions_are_those_of_the_dense_prior),
                                       cmocka_unit_test(joint_predictions_are_those_of_the_dense_prior),
                                       cmocka_unit_test(update_is_given_all_rows),
                                       cmocka_unit_test(one_part_has_the_exact_evidence),
                                       cmocka_unit_test(damaged_groups_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
