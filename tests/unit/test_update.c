/* Updates against fits of all rows at once.  Model level: a posterior of the first rows with the others added, in one step or
   in several, equals the posterior of all of them.  Public interface: the same through anygp_update, and that a failure
   leaves every byte of the model. */
#include "fit_support.h"
#include "support.h"

#include <string.h>
#include <unistd.h>

#include "data/rows/rows.h"
#include "gp/gp.h"
#include "model/model.h"

enum { FIRST = 40, ADDED = 30, ROWS = FIRST + ADDED, D = 2, BLOCKS = 4, M = 6, NEW = 9 };

typedef struct fixture {
    basis mean;
    hyper h;
    double X[ROWS * D], y[ROWS], w[ROWS], Z[M * D], new[NEW * D];
    int64_t id[ROWS]; /* of the blocks */
} fixture;

typedef struct variant {
    const char *expression;
    mean_kind mean;
    bool weights;
} variant;

static const variant variants[] = {
    {"rbf(variance=1.3,lengthscale=[0.8,1.4])", MEAN_ZERO, false},
    {"matern32(variance=0.7,lengthscale=1.1) + linear(variance=[0.3,0.2])", MEAN_LINEAR, true},
    {"rbf(lengthscale=1.2) + white(variance=0.2)", MEAN_CONSTANT, false}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const model_ops *const models[] = {&model_sor,
                                          &model_dtc,
                                          &model_fitc,
                                          &model_fic,
                                          &model_vfe,
                                          &model_pep,
                                          &model_solve_collapsed,
                                          &model_odvgp_collapsed,
                                          &model_pitc,
                                          &model_pic};
static const int64_t sets[] = {4, 2}; /* of inducing inputs, for the models that have them */
enum { MODELS = sizeof models / sizeof *models };

#define FOR_EACH_CASE(v, m)                                                                                            \
    for (const variant *v = variants; v < variants + VARIANTS; v++)                                                    \
        for (const model_ops *const *m = models; m < models + MODELS; m++)

static void setup(fixture *f, const variant *v)
{
    input_spec columns[D] = {{.number = 0, .position = 0, .scale = 1}, {.number = 1, .position = 1, .scale = 1}};
    schema s = {.inputs = D, .D = D, .input = columns, .y_scale = 1};
    kernel_input in[D];
    kernel *k;
    anygp_error e;
    *f = (fixture){0};
    fill_normal(1, ROWS * D, f->X);
    fill_normal(2, ROWS, f->y);
    fill_normal(3, M * D, f->Z);
    fill_normal(4, NEW * D, f->new);
    for (int i = 0; i < ROWS; i++) {
        f->w[i] = v->weights ? 0.5 + i % 3 : 1;
        f->id[i] = 100 + 7 * (2 * (f->X[i * D] > 0) + (f->X[i * D + 1] > 0)); /* the quadrant */
    }
    for (int j = 0; j < D; j++) in[j] = (kernel_input){NULL, j, INPUT_NUMBER, j};
    assert_int_equal(kernel_parse(v->expression, in, D, D, &k, &e), ANYGP_OK);
    assert_int_equal(hyper_init(&f->h, k, 0.07, false, false, true, &e), ANYGP_OK);
    assert_int_equal(hyper_set_inducing(&f->h, M, D, f->Z, false, &e), ANYGP_OK);
    assert_int_equal(basis_init(&f->mean, v->mean, &s, 2.5, &e), ANYGP_OK);
}

static void teardown(fixture *f)
{
    basis_clear(&f->mean);
    hyper_clear(&f->h);
}

/* --------------------------------------------------------------------------- the other road */

/* Names to 0, 1, ... in the order of their appearance. */
static int64_t number_ids(int64_t n, const int64_t *id, int64_t *block, int64_t *names)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
        while (k < count && names[k] != id[i]) k++;
        if (k == count) names[count++] = id[i];
        block[i] = k;
    }
    return count;
}

/* The posterior of the first n rows in the blocks id[n]; route NULL: by the means of the blocks. */
static posterior *posterior_of(const model_ops *model, const fixture *f, int64_t n, const int64_t *id,
                               const router *route, double *evidence)
{
    int64_t block[ROWS], names[ROWS], count = number_ids(n, id, block, names), start[ROWS + 1], at = 0;
    double X[ROWS * D], y[ROWS], w[ROWS], jitter = 1e-8;
    row_blocks *b;
    router *means = NULL;
    posterior *q;
    void *state;
    anygp_error e;
    for (int64_t k = 0; k < count; k++) {
        start[k] = at;
        for (int64_t i = 0; i < n; i++) {
            if (block[i] != k) continue;
            memcpy(X + at * D, f->X + i * D, D * sizeof *X);
            y[at] = f->y[i], w[at++] = f->w[i];
        }
    }
    start[count] = at;
    assert_int_equal(blocks_of_arrays(count, start, D, 1, X, y, w, &b, &e), ANYGP_OK);
    if (!route) assert_int_equal(rows_route_by_means(b, &means, &e), ANYGP_OK);
    problem p = {.mean = &f->mean,
                 .blocks = b,
                 .route = route ? route : means,
                 .block_ids = route ? NULL : names,
                 .comm = comm_self(),
                 .sets = sets,
                 .set_count = 2};
    assert_int_equal(model->open(model, &p, &f->h, &state, &e), ANYGP_OK);
    assert_true(model->evaluate(state, &f->h, true, &jitter, evidence, NULL));
    assert_int_equal(model->posterior(state, &f->h, &jitter, &q, &e), ANYGP_OK);
    model->close(state);
    router_free(means);
    blocks_free(b);
    return q;
}

/* Rows first .. first + n - 1 of f to q, which is replaced. */
static update_report update_with(const model_ops *model, const fixture *f, posterior **q, int64_t first, int64_t n,
                                 const int64_t *id, int chunks)
{
    const update_ops *u = model->update;
    update_report r;
    posterior *made;
    void *state;
    anygp_error e;
    assert_int_equal(u->open(model, *q, NULL, &state, &e), ANYGP_OK);
    for (int c = 0; c < chunks; c++) {
        int64_t i = first + n * c / chunks, end = first + n * (c + 1) / chunks;
        anygp_status status = u->add(state, end - i, f->X + i * D, f->y + i, f->w + i, id ? id + i : NULL, &e);
        if (status) fail_msg("%s", e.text);
    }
    if (u->finish(state, &made, &r, &e)) fail_msg("%s", e.text);
    u->close(state);
    (*q)->ops->free(*q);
    *q = made;
    return r;
}

static void same_predictions(const fixture *f, const posterior *a, const posterior *b)
{
    double mean[2][NEW], variance[2][NEW], cov[2][NEW * NEW];
    const posterior *const both[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        const posterior *q = both[k];
        double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
        assert_int_equal(q->ops->marginal(q, NEW, f->new, D, work, mean[k], variance[k], NULL), ANYGP_OK);
        assert_int_equal(q->ops->joint(q, NEW, f->new, D, work, mean[k], cov[k], NEW, NULL), ANYGP_OK);
        free(work);
    }
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], 1e-10);
        check_close(variance[0][i], variance[1][i], 1e-10);
        for (int j = 0; j <= i; j++) check_close(cov[0][i + j * NEW], cov[1][i + j * NEW], 1e-10);
    }
}

/* pitc's new rows are blocks of their own; pic's go to the blocks there are. */
static void ids_for(const model_ops *model, const fixture *f, int64_t *id)
{
    for (int i = 0; i < ROWS; i++) id[i] = f->id[i] + (model == &model_pitc && i >= FIRST ? 1000 : 0);
}

/* ------------------------------------------------------------------------------ model level */

static void update_in_one_step_equals_the_posterior_of_all_rows(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, m)
    {
        fixture f;
        double all, first;
        int64_t id[ROWS];
        setup(&f, v);
        ids_for(*m, &f, id);
        posterior *whole = posterior_of(*m, &f, ROWS, id, NULL, &all);
        posterior *q = posterior_of(*m, &f, FIRST, id, NULL, &first);
        update_report r = update_with(*m, &f, &q, FIRST, ADDED, id, 1);
        check_close(r.before, first, 1e-10);
        check_close(r.after, all, 1e-10);
        same_predictions(&f, q, whole);
        q->ops->free(q);
        whole->ops->free(whole);
        teardown(&f);
    }
}

/* Three updates, each in two chunks; pitc's blocks then end with an update, so that its steps are cut by block. */
static void several_updates_equal_the_posterior_of_all_rows(void **unused)
{
    (void)unused;
    FOR_EACH_CASE(v, m)
    {
        fixture f;
        double all, first, rows = 0;
        int64_t id[ROWS];
        update_report r = {0};
        setup(&f, v);
        ids_for(*m, &f, id);
        for (int i = FIRST; i < ROWS && *m == &model_pitc; i++) id[i] += 1000 * ((i - FIRST) / 10);
        posterior *whole = posterior_of(*m, &f, ROWS, id, NULL, &all);
        posterior *q = posterior_of(*m, &f, FIRST, id, NULL, &first);
        for (int k = 0; k < 3; k++) {
            r = update_with(*m, &f, &q, FIRST + 10 * k, 10, id, 2);
            rows += r.rows;
        }
        double added = 0;
        for (int i = FIRST; i < ROWS; i++) added += f.w[i];
        check_close(rows, added, 1e-14);
        check_close(r.after, all, 1e-10);
        same_predictions(&f, q, whole);
        q->ops->free(q);
        whole->ops->free(whole);
        teardown(&f);
    }
}

/* The posterior of the first n rows by the exact model, with its factor or by iteration, with jitter relative to the mean of the diagonal. */
static posterior *exact_jittered(const model_ops *model, const fixture *f, int64_t n, double jitter, double *evidence)
{
    dataset data = {.n = n, .used = n, .D = D, .X = (double *)f->X, .y = (double *)f->y, .w = (double *)f->w};
    merged m = {0};
    posterior *q = NULL;
    void *state;
    anygp_error e;
    assert_int_equal(dataset_merge(&data, !kernel_has_white(f->h.kernel), &m, &e), ANYGP_OK);
    problem p = {.rows = &m, .mean = &f->mean, .comm = comm_self(), .near.predict = ROWS};
    p.solver.precond = "none";
    assert_int_equal(model->open(model, &p, &f->h, &state, &e), ANYGP_OK);
    assert_true(model->evaluate(state, &f->h, true, &jitter, evidence, NULL));
    assert_int_equal(model->posterior(state, &f->h, &jitter, &q, &e), ANYGP_OK);
    model->close(state);
    merged_clear(&m);
    return q;
}

static posterior *exact_posterior_of(const model_ops *model, const fixture *f, int64_t n, double *evidence)
{
    return exact_jittered(model, f, n, 0, evidence);
}

/* Among the new rows are some with the inputs of old ones, and of each other. */
static void repeat_inputs(fixture *f)
{
    memcpy(f->X + (FIRST + 3) * D, f->X + 5 * D, D * sizeof(double));
    memcpy(f->X + (FIRST + 17) * D, f->X + (FIRST + 4) * D, D * sizeof(double));
}

/* Where rows are not merged, equal ones differ by a white kernel. */
static void exact_takes_new_rows(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++)
        for (int chunks = 1; chunks <= 3; chunks += 2) {
            fixture f;
            double all, first, sum;
            setup(&f, v);
            if (!kernel_has_white(f.h.kernel)) repeat_inputs(&f);
            posterior *whole = exact_posterior_of(&model_exact, &f, ROWS, &all);
            posterior *q = exact_posterior_of(&model_exact, &f, FIRST, &first);
            update_report r = update_with(&model_exact, &f, &q, FIRST, 10, NULL, chunks);
            sum = first + r.after;
            r = update_with(&model_exact, &f, &q, FIRST + 10, ADDED - 10, NULL, chunks);
            assert_true(isnan(r.before));
            check_close(sum + r.after, all, 1e-10);
            same_predictions(&f, q, whole);
            check_close(posterior_kl(q), posterior_kl(whole), 1e-9);
            q->ops->free(q);
            whole->ops->free(whole);
            teardown(&f);
        }
}

/* Jitter is noise that predictions of f do not show: a fit of all rows with so much more noise has the same posterior. */
static void exact_keeps_its_jitter(void **unused)
{
    (void)unused;
    static const double RELATIVE = 1e-2;
    fixture f;
    double all, first, sum;
    void *state;
    anygp_error e;
    setup(&f, &variants[0]);
    posterior *q = exact_jittered(&model_exact, &f, FIRST, RELATIVE, &first);
    sum = first;
    for (int k = 0; k < 2; k++) {
        const int64_t at = FIRST + k * ADDED / 2;
        posterior *made;
        update_report r;
        assert_int_equal(model_exact.update->open(&model_exact, q, NULL, &state, &e), ANYGP_OK);
        model_exact.update->given(state, RELATIVE, 1e9, (stop_poll){0});
        assert_int_equal(model_exact.update->add(state, ADDED / 2, f.X + at * D, f.y + at, f.w + at, NULL, &e),
                         ANYGP_OK);
        assert_int_equal(model_exact.update->finish(state, &made, &r, &e), ANYGP_OK);
        model_exact.update->close(state);
        q->ops->free(q);
        q = made, sum += r.after;
    }
    f.h.like[0] += RELATIVE * (1.3 + f.h.like[0]); /* the kernel's variance is 1.3 everywhere */
    posterior *noisy = exact_posterior_of(&model_exact, &f, ROWS, &all);
    check_close(sum, all, 1e-10);
    same_predictions(&f, q, noisy);
    q->ops->free(q);
    noisy->ops->free(noisy);
    teardown(&f);
}

typedef struct patience {
    int asked, most; /* it ends when it is asked once more */
} patience;

static int out_of_patience(void *ctx)
{
    patience *p = ctx;
    return p->asked++ == p->most;
}

/* It is asked before every 128 rows of the factor, and what it has begun when it ends is given back. */
static void exact_is_stopped_while_its_factor_grows(void **unused)
{
    enum { MANY = 300, STRIPS = 3 };
    static double X[MANY * D], y[MANY], w[MANY];
    fixture f;
    double evidence, mean[2][NEW], variance[2][NEW];
    anygp_error e;
    (void)unused;
    fill_normal(5, MANY * D, X);
    fill_normal(6, MANY, y);
    for (int i = 0; i < MANY; i++) w[i] = 1;
    setup(&f, &variants[1]);
    posterior *q = exact_posterior_of(&model_exact, &f, FIRST, &evidence);
    double *work = malloc((size_t)q->ops->work_doubles(q, NEW) * sizeof *work);
    assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean[0], variance[0], NULL), ANYGP_OK);
    for (int most = 0; most <= STRIPS; most++) {
        patience p = {0, most};
        posterior *made = NULL;
        update_report r;
        void *state;
        assert_int_equal(model_exact.update->open(&model_exact, q, NULL, &state, &e), ANYGP_OK);
        model_exact.update->given(state, 0, 1e9, (stop_poll){out_of_patience, &p});
        assert_int_equal(model_exact.update->add(state, MANY, X, y, w, NULL, &e), ANYGP_OK);
        anygp_status status = model_exact.update->finish(state, &made, &r, &e);
        assert_int_equal(status, most < STRIPS ? ANYGP_ERR_STOPPED : ANYGP_OK);
        assert_int_equal(p.asked, most < STRIPS ? most + 1 : STRIPS);
        assert_int_equal(made != NULL, most == STRIPS);
        model_exact.update->close(state);
        if (made) made->ops->free(made);
        assert_int_equal(q->ops->marginal(q, NEW, f.new, D, work, mean[1], variance[1], NULL), ANYGP_OK);
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(variance[0], variance[1], sizeof variance[0]);
    }
    free(work);
    q->ops->free(q);
    teardown(&f);
}

/* The mean is that of all rows to the bound of the solve, the variance that of all rows as the nearest. */
static void exact_by_iteration_takes_new_rows(void **unused)
{
    (void)unused;
    for (const variant *v = variants; v < variants + VARIANTS; v++) {
        fixture f;
        double all, first, mean[2][NEW], variance[2][NEW];
        setup(&f, v);
        if (!kernel_has_white(f.h.kernel)) repeat_inputs(&f);
        posterior *q[2] = {exact_posterior_of(&model_exact_iterative, &f, FIRST, &first),
                           exact_posterior_of(&model_exact, &f, ROWS, &all)};
        update_report r = update_with(&model_exact_iterative, &f, &q[0], FIRST, ADDED, NULL, 2);
        assert_true(r.kept);
        for (int k = 0; k < 2; k++) {
            double *work = malloc((size_t)q[k]->ops->work_doubles(q[k], NEW) * sizeof *work);
            assert_int_equal(q[k]->ops->marginal(q[k], NEW, f.new, D, work, mean[k], variance[k], NULL), ANYGP_OK);
            free(work);
        }
        const evidence_estimate *estimate = q[0]->ops->estimate(q[0]);
        assert_non_null(estimate);
        assert_true(estimate->mean_error > 0 && estimate->mean_error < 0.01);
        for (int i = 0; i < NEW; i++) {
            assert_true(fabs(mean[0][i] - mean[1][i]) <= estimate->mean_error);
            check_close(variance[0][i], variance[1][i],
                        v->mean == MEAN_ZERO ? 1e-10 : 1e-5); /* the mean's share is solved for */
        }
        q[0]->ops->free(q[0]);
        q[1]->ops->free(q[1]);
        teardown(&f);
    }
}

static void pic_finds_the_blocks_of_new_rows_by_its_router(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < 2; kind++)
        for (const variant *v = variants; v < variants + VARIANTS; v++) {
            fixture f;
            double all, first;
            int64_t block[ROWS], sorted[ROWS];
            router *route;
            setup(&f, v);
            assert_int_equal(kind ? router_kmeans(FIRST, D, f.X, D, BLOCKS, 5, NULL, &route, NULL)
                                  : router_kdtree(FIRST, D, f.X, D, BLOCKS, &route, NULL),
                             ANYGP_OK);
            assert_int_equal(router_route(route, ROWS, f.X, D, block, NULL), ANYGP_OK);
            /* The first rows in the order of their blocks, so that numbers by appearance are those of the router. */
            fixture g = f;
            int64_t at = 0;
            for (int64_t b = 0; b < router_blocks(route); b++)
                for (int i = 0; i < FIRST; i++) {
                    if (block[i] != b) continue;
                    memcpy(g.X + at * D, f.X + i * D, D * sizeof(double));
                    g.y[at] = f.y[i], g.w[at] = f.w[i], sorted[at++] = b;
                }
            for (int i = FIRST; i < ROWS; i++) sorted[i] = block[i];
            posterior *whole = posterior_of(&model_pic, &g, ROWS, sorted, route, &all);
            posterior *q = posterior_of(&model_pic, &g, FIRST, sorted, route, &first);
            update_report r = update_with(&model_pic, &g, &q, FIRST, ADDED, NULL, 3);
            assert_int_equal(r.blocks, 0);
            check_close(r.after, all, 1e-10);
            same_predictions(&g, q, whole);
            q->ops->free(q);
            whole->ops->free(whole);
            router_free(route);
            teardown(&f);
        }
}

/* Where blocks are found by the means of their members, one that is not known yet is a new one, and is found too. */
static void pic_takes_a_new_block_where_means_lead_to_it(void **unused)
{
    (void)unused;
    fixture f;
    double all, first;
    int64_t id[ROWS];
    setup(&f, &variants[1]);
    for (int i = 0; i < ROWS; i++) id[i] = f.id[i];
    for (int i = FIRST; i < ROWS; i++)
        if (i % 2) f.X[i * D] += 3, id[i] = -5;
    f.new[0] = 3.2, f.new[D] = 2.9; /* rows 0 and 1 lie there */
    posterior *whole = posterior_of(&model_pic, &f, ROWS, id, NULL, &all);
    posterior *q = posterior_of(&model_pic, &f, FIRST, id, NULL, &first);
    update_report r = update_with(&model_pic, &f, &q, FIRST, ADDED, id, 2);
    assert_int_equal(r.blocks, 1);
    check_close(r.after, all, 1e-10);
    same_predictions(&f, q, whole);
    q->ops->free(q);
    whole->ops->free(whole);
    teardown(&f);
}

static void pic_refuses_a_new_block_of_a_tree(void **unused)
{
    (void)unused;
    fixture f;
    double first;
    const int64_t id[ROWS] = {0}, unknown = 77;
    router *route;
    void *state;
    anygp_error e;
    setup(&f, &variants[0]);
    assert_int_equal(router_kdtree(FIRST, D, f.X, D, 1, &route, NULL), ANYGP_OK);
    posterior *q = posterior_of(&model_pic, &f, FIRST, id, route, &first);
    assert_int_equal(model_pic.update->open(&model_pic, q, NULL, &state, &e), ANYGP_OK);
    assert_int_equal(model_pic.update->add(state, 1, f.X, f.y, f.w, &unknown, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "block 77"));
    model_pic.update->close(state);
    q->ops->free(q);
    router_free(route);
    teardown(&f);
}

static void pic_reports_the_block_that_has_grown(void **unused)
{
    (void)unused;
    fixture f;
    double first;
    int64_t id[ROWS], sizes[BLOCKS] = {0}, largest = 0;
    setup(&f, &variants[0]);
    for (int i = 0; i < ROWS; i++) id[i] = i < FIRST ? f.id[i] : 114;
    for (int i = 0; i < FIRST; i++) sizes[(id[i] - 100) / 7]++;
    for (int b = 0; b < BLOCKS; b++) largest = sizes[b] > largest ? sizes[b] : largest;
    posterior *q = posterior_of(&model_pic, &f, FIRST, id, NULL, &first);
    update_report r = update_with(&model_pic, &f, &q, FIRST, ADDED, id, 1);
    assert_int_equal(r.largest, largest);
    assert_int_equal(r.biggest, sizes[2] + ADDED);
    assert_int_equal(r.biggest_id, 114);
    q->ops->free(q);
    teardown(&f);
}

/* A chunk of fewer than 100 rows is one block; more are cut. */
static void pitc_cuts_new_rows_into_blocks(void **unused)
{
    (void)unused;
    enum { MANY = 450 };
    static double X[MANY * D], y[MANY], w[MANY];
    fixture f;
    double all, first;
    int64_t id[ROWS];
    void *state;
    update_report r;
    posterior *made;
    setup(&f, &variants[0]);
    for (int i = 0; i < ROWS; i++) id[i] = i < FIRST ? f.id[i] : -1;
    posterior *whole = posterior_of(&model_pitc, &f, ROWS, id, NULL, &all);
    posterior *q = posterior_of(&model_pitc, &f, FIRST, id, NULL, &first);
    r = update_with(&model_pitc, &f, &q, FIRST, ADDED, NULL, 1);
    assert_int_equal(r.blocks, 1);
    check_close(r.after, all, 1e-10);
    same_predictions(&f, q, whole);
    fill_normal(8, MANY * D, X);
    for (int i = 0; i < MANY; i++) w[i] = 1;
    assert_int_equal(model_pitc.update->open(&model_pitc, q, NULL, &state, NULL), ANYGP_OK);
    assert_int_equal(model_pitc.update->add(state, MANY, X, y, w, NULL, NULL), ANYGP_OK);
    assert_int_equal(model_pitc.update->finish(state, &made, &r, NULL), ANYGP_OK);
    assert_int_equal(r.blocks, 5);
    model_pitc.update->close(state);
    made->ops->free(made);
    q->ops->free(q);
    whole->ops->free(whole);
    teardown(&f);
}

/* ------------------------------------------------------------------------- public interface */

/* Inducing inputs in a file of their own, scaled by 1 / scale and moved by -shift before that. */
static void write_inducing(char *path, const double *shift, const double *scale)
{
    double Z[M * D];
    fill_normal(3, M * D, Z);
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    for (int i = 0; i < M; i++)
        for (int j = 0; j < D; j++)
            fprintf(file, "%.17g%c", (Z[i * D + j] - shift[j]) / scale[j], j + 1 < D ? ',' : '\n');
    fclose(file);
}

static void rows_of_test(double *X, double *y, double *w)
{
    fill_normal(1, ROWS * D, X);
    fill_normal(2, ROWS, y);
    for (int i = 0; i < ROWS; i++) w[i] = 1 + i % 3, y[i] += X[i * D];
}

static anygp_model *fit_first(const char *model, const char *inducing, const char *standardize, int64_t n,
                              const double *X, const double *y, const double *w, const char *expression,
                              const char *noise)
{
    const char *const pairs[] = {"model",       model,       "inducing-from", inducing, "kernel", expression,
                                 "noise",       noise,       "fix",           "all",    "blocks", "1",
                                 "standardize", standardize, "valid",         "0",      NULL};
    return fit_arrays(n, D, X, y, w, pairs);
}

static const double no_shift[D] = {0, 0}, no_scale[D] = {1, 1};

static void same_models(const anygp_model *a, const anygp_model *b)
{
    double mean[2][NEW], variance[2][NEW], new[NEW * D];
    fill_normal(4, NEW * D, new);
    predict(a, NEW, new, mean[0], variance[0]);
    predict(b, NEW, new, mean[1], variance[1]);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], 1e-10);
        check_close(variance[0][i], variance[1][i], 1e-10);
    }
    check_close(a->gp[0]->objective, b->gp[0]->objective, 1e-10);
    check_close(a->gp[0]->rows, b->gp[0]->rows, 1e-15);
    check_close(a->gp[0]->objective_rows, b->gp[0]->objective_rows, 1e-15);
}

static void arrays_with_weights_update_a_model(void **unused)
{
    (void)unused;
    static const char *const names[] = {"sor", "dtc", "fitc", "fic"};
    char path[] = "/tmp/test_update_XXXXXX";
    double X[ROWS * D], y[ROWS], w[ROWS];
    anygp_error e;
    rows_of_test(X, y, w);
    write_inducing(path, no_shift, no_scale);
    for (int k = 0; k < 4; k++) {
        const char *expression = "rbf(variance=1.2,lengthscale=0.9)";
        anygp_model *all = fit_first(names[k], path, "none", ROWS, X, y, w, expression, "0.1");
        anygp_model *m = fit_first(names[k], path, "none", FIRST, X, y, w, expression, "0.1");
        if (anygp_update(m, NULL, ADDED, X + FIRST * D, D, y + FIRST, w + FIRST, &e)) fail_msg("%s", e.text);
        same_models(m, all);
        anygp_model_free(m);
        anygp_model_free(all);
    }
    unlink(path);
}

/* The scales of the first fit stay, so a fit of rows that were scaled by hand with them is the same model. */
static void update_keeps_the_scales_of_the_first_fit(void **unused)
{
    (void)unused;
    char path[] = "/tmp/test_update_XXXXXX", scaled_path[] = "/tmp/test_update_XXXXXX", expression[120], noise[40];
    double X[ROWS * D], y[ROWS], w[ROWS], mean[2][NEW], variance[2][NEW], new[NEW * D], shift[D], scale[D];
    anygp_error e;
    rows_of_test(X, y, w);
    write_inducing(path, no_shift, no_scale);
    anygp_model *m =
        fit_first("fitc", path, "both", FIRST, X, y, NULL, "rbf(variance=1.2,lengthscale=[0.9,0.7])", "0.1");
    if (anygp_update(m, NULL, ADDED, X + FIRST * D, D, y + FIRST, NULL, &e)) fail_msg("%s", e.text);
    const schema *s = &m->gp[0]->schema;
    double y2 = s->y_scale * s->y_scale;
    for (int j = 0; j < D; j++) shift[j] = s->input[j].shift, scale[j] = s->input[j].scale;
    write_inducing(scaled_path, shift, scale);
    fill_normal(4, NEW * D, new);
    predict(m, NEW, new, mean[0], variance[0]);
    for (int i = 0; i < ROWS * D; i++) X[i] = (X[i] - shift[i % D]) / scale[i % D];
    for (int i = 0; i < NEW * D; i++) new[i] = (new[i] - shift[i % D]) / scale[i % D];
    for (int i = 0; i < ROWS; i++) y[i] = (y[i] - s->y_shift) / s->y_scale;
    snprintf(expression, sizeof expression, "rbf(variance=%.17g,lengthscale=[%.17g,%.17g])", 1.2 / y2, 0.9 / scale[0],
             0.7 / scale[1]);
    snprintf(noise, sizeof noise, "%.17g", 0.1 / y2);
    anygp_model *all = fit_first("fitc", scaled_path, "none", ROWS, X, y, NULL, expression, noise);
    predict(all, NEW, new, mean[1], variance[1]);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], s->y_shift + s->y_scale * mean[1][i], 1e-8);
        check_close(variance[0][i], y2 * variance[1][i], 1e-8);
    }
    check_close(m->gp[0]->objective, all->gp[0]->objective, 1e-8);
    anygp_model_free(all);
    anygp_model_free(m);
    unlink(path);
    unlink(scaled_path);
}

/* One step of size 1 over the only block makes the anytime posterior that of the batch; the objective is then the estimate
   before, and what the new rows add to the log evidence. */
static void update_of_an_anytime_model_equals_that_of_its_batch_model(void **unused)
{
    (void)unused;
    char path[] = "/tmp/test_update_XXXXXX";
    double X[ROWS * D], y[ROWS], w[ROWS], mean[2][NEW], variance[2][NEW], new[NEW * D];
    const char *expression = "rbf(variance=1.2,lengthscale=0.9)";
    const char *const pairs[] = {"valid",    "0",     "model",       "fitc+", "inducing-from", path,     "kernel",
                                 expression, "noise", "0.1",         "fix",   "all",           "blocks", "1",
                                 "iters",    "1",     "standardize", "none",  "rho",           "1",      NULL};
    anygp_error e;
    rows_of_test(X, y, w);
    write_inducing(path, no_shift, no_scale);
    anygp_model *all = fit_first("fitc", path, "none", ROWS, X, y, w, expression, "0.1");
    anygp_model *first = fit_first("fitc", path, "none", FIRST, X, y, w, expression, "0.1");
    anygp_model *m = fit_arrays(FIRST, D, X, y, w, pairs);
    double before = m->gp[0]->objective;
    if (anygp_update(m, NULL, ADDED, X + FIRST * D, D, y + FIRST, w + FIRST, &e)) fail_msg("%s", e.text);
    fill_normal(4, NEW * D, new);
    predict(m, NEW, new, mean[0], variance[0]);
    predict(all, NEW, new, mean[1], variance[1]);
    for (int i = 0; i < NEW; i++) {
        check_close(mean[0][i], mean[1][i], 1e-8);
        check_close(variance[0][i], variance[1][i], 1e-8);
    }
    assert_true(m->gp[0]->estimate);
    check_close(m->gp[0]->objective, before + all->gp[0]->objective - first->gp[0]->objective, 1e-8);
    anygp_model_free(all);
    anygp_model_free(first);
    anygp_model_free(m);
    unlink(path);
}

/* Every way to fail leaves the bytes of the model. */
static void failed_update_leaves_the_model_as_it_was(void **unused)
{
    (void)unused;
    char path[] = "/tmp/test_update_XXXXXX";
    double X[ROWS * D], y[ROWS], w[ROWS], bad[D] = {0, INFINITY};
    void *before, *after;
    size_t size, same;
    anygp_error e;
    rows_of_test(X, y, w);
    write_inducing(path, no_shift, no_scale);
    anygp_model *m = fit_first("pic", path, "both", FIRST, X, y, NULL, "rbf", "0.1");
    assert_int_equal(anygp_save_bytes(m, &before, &size, &e), ANYGP_OK);
    const double none[2] = {NAN, NAN}, negative[2] = {1, -1}, zero[2] = {0, 0}, far[1] = {1e200};
    assert_int_equal(anygp_update(m, NULL, 2, X, D, none, NULL, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 2, X, D, y, zero, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 2, X, D, y, negative, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 1, X, D, far, NULL, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 1, bad, D, y, NULL, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 0, X, D, y, NULL, &e), ANYGP_ERR_DATA);
    assert_int_equal(anygp_update(m, NULL, 1, X, 1, y, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_update(m, NULL, 1, X, D, NULL, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(anygp_update_file(m, NULL, "no such file", &e), ANYGP_ERR_FILE);
    assert_int_equal(anygp_save_bytes(m, &after, &same, &e), ANYGP_OK);
    assert_int_equal(size, same);
    assert_memory_equal(before, after, size);
    anygp_bytes_free(before);
    anygp_bytes_free(after);
    anygp_model_free(m);
    unlink(path);
}

static void subset_refuses_new_rows(void **unused)
{
    (void)unused;
    const char *const pairs[] = {"model", "sod", "iters", "0", NULL};
    double X[ROWS * D], y[ROWS], w[ROWS];
    anygp_error e;
    rows_of_test(X, y, w);
    anygp_model *m = fit_arrays(ROWS, D, X, y, NULL, pairs);
    assert_int_equal(anygp_update(m, NULL, 1, X, D, y, NULL, &e), ANYGP_ERR_ARGUMENT);
    assert_non_null(strstr(e.text, "sod"));
    anygp_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(update_in_one_step_equals_the_posterior_of_all_rows),
        cmocka_unit_test(several_updates_equal_the_posterior_of_all_rows),
        cmocka_unit_test(exact_takes_new_rows),
        cmocka_unit_test(exact_keeps_its_jitter),
        cmocka_unit_test(exact_is_stopped_while_its_factor_grows),
        cmocka_unit_test(exact_by_iteration_takes_new_rows),
        cmocka_unit_test(pic_finds_the_blocks_of_new_rows_by_its_router),
        cmocka_unit_test(pic_takes_a_new_block_where_means_lead_to_it),
        cmocka_unit_test(pic_refuses_a_new_block_of_a_tree),
        cmocka_unit_test(pic_reports_the_block_that_has_grown),
        cmocka_unit_test(pitc_cuts_new_rows_into_blocks),
        cmocka_unit_test(arrays_with_weights_update_a_model),
        cmocka_unit_test(update_keeps_the_scales_of_the_first_fit),
        cmocka_unit_test(update_of_an_anytime_model_equals_that_of_its_batch_model),
        cmocka_unit_test(failed_update_leaves_the_model_as_it_was),
        cmocka_unit_test(subset_refuses_new_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
