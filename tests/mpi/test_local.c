/* Every local model, fitted by one process and then by the ranks of this run, through the public interface: objective, leave-one-out scores
   and predictions agree; and so do predictions and scores of a file whose rows the ranks share.  The fits of one process come first, since comm_world_begin joins a process for good. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "fit_support.h"
#include "gp/gp.h"

enum { FEW = 61, ROWS = 149, MANY = 361, D = 2, NEW = 12, OPTIONS_MOST = 12 };

typedef struct outcome {
    double objective, mean[NEW], variance[NEW];
    gp_scores loo;
    anygp_model *model; /* of one process */
} outcome;

/* Ranks add up the same numbers in another order.  A few evaluations, or steps by Adam, which divides a gradient by its size, carry that on;
   it was 2e-12 at most. */
static const double TOLERANCE = 1e-10;

typedef struct local_case {
    const char *model;
    int64_t rows;
    const char *options[OPTIONS_MOST]; /* name, value, ... */
    bool first_rank;                   /* has the rows that predictions need, and no other rank */
} local_case;

static const local_case cases[] = {
    {"vecchia", ROWS, {"neighbors", "8"}, false},
    {"vecchia", ROWS, {"neighbors", "8", "group", "no", "order", "random"}, false},
    {"vecchia", ROWS, {"neighbors", "8", "inducing", "9", "mean", "linear"}, false},
    {"vecchia", ROWS, {"neighbors", "8", "mean", "constant", "calibrate", "loo"}, false},
    {"vecchia+", ROWS, {"neighbors", "8", "iters", "20"}, false},
    {"nene", ROWS, {"neighbors", "8"}, false},
    {"nene+", ROWS, {"neighbors", "8", "iters", "20"}, false},
    {"vnngp", ROWS, {"neighbors", "6"}, false},
    {"vnngp", FEW, {"neighbors", "6", "likelihood", "studentt"}, false},
    {"vnngp+", ROWS, {"neighbors", "6", "iters", "20"}, false},
    {"lagp", ROWS, {"neighbors", "10"}, false},
    {"lma", ROWS, {"inducing", "9", "blocks", "7"}, true},
    {"lma(order=2)", ROWS, {"inducing", "9", "blocks", "7", "mean", "constant"}, true},
    {"lma+", ROWS, {"inducing", "9", "blocks", "7", "sample", "3", "iters", "20"}, true},
    {"hier", ROWS, {"blocks", "7"}, true},
    {"hier+", ROWS, {"blocks", "7", "sample", "3", "iters", "20"}, true},
    {"tree", ROWS, {"inducing", "21", "blocks", "7"}, false},
    {"patchwork", ROWS, {"blocks", "3"}, false},
    {"nle", ROWS, {"blocks", "7"}, false},
    {"nle", ROWS, {"blocks", "7", "calibrate", "loo"}, false},
    {"nle", ROWS, {"blocks", "7", "experts", "own", "partition", "kdtree"}, false},
    {"nle", ROWS, {"blocks", "3", "partition", "tree"}, false},
    {"nle+", ROWS, {"blocks", "7", "sample", "3", "iters", "20", "calibrate", "local"}, false},
    {"poe", ROWS, {"blocks", "7"}, false},
    {"poe", ROWS, {"blocks", "7", "experts", "own"}, false},
    {"gpoe", ROWS, {"blocks", "7", "partition", "random"}, false},
    {"gpoe(beta=uniform)", ROWS, {"blocks", "7"}, false},
    {"bcm", ROWS, {"blocks", "7"}, false},
    {"rbcm", ROWS, {"blocks", "7", "mean", "linear"}, false},
    {"rbcm+", ROWS, {"blocks", "7", "sample", "3", "iters", "20"}, false},
    {"grbcm", ROWS, {"blocks", "7"}, false},
    {"grbcm+", ROWS, {"blocks", "7", "sample", "3", "iters", "20"}, false},
    {"npae", ROWS, {"blocks", "7"}, false},
    {"npae(levels=2)", ROWS, {"blocks", "7", "calibrate", "loo"}, false},
    /* Two of three blocks in each step, and a look at splits and merges after 20. */
    {"moe", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "30"}, false},
    {"moe(hard)", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "10"}, false},
    {"moe(hard,exact)", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "10"}, false},
    {"moe(gate=square)", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "10"}, false},
    {"moe(gate=generative)", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "10"}, false},
    {"moe(gate=stick)", MANY, {"experts-most", "4", "inducing", "9", "batch", "300", "iters", "30"}, false},
    {"moe(gate=gp)", MANY, {"blocks", "3", "inducing", "9", "batch", "300", "iters", "10"}, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static outcome alone[CASES];
static double X[MANY * D], y[MANY], places[NEW * D];

static void simulate(void)
{
    fill_normal(1, MANY * D, X);
    fill_normal(2, MANY, y);
    fill_normal(3, NEW * D, places);
    for (int i = 0; i < MANY; i++) y[i] = 2 + sin(2 * X[i * D]) + cos(X[i * D + 1]) + 0.2 * y[i];
}

static anygp_settings *settings_of(const local_case *c)
{
    const char *pairs[OPTIONS_MOST + 8] = {"model", c->model, "iters", "3", "threads", "1"};
    size_t n = 6;
    for (const char *const *o = c->options; *o; o++) pairs[n++] = *o;
    return settings_with(pairs);
}

static anygp_data *in_memory(const local_case *c, const anygp_settings *s)
{
    anygp_data *data;
    anygp_error e;
    (void)s;
    if (anygp_data_new(c->rows, D, X, D, y, NULL, &data, &e)) fail_msg("%s", e.text);
    return data;
}

/* n rows in a .npy file of this process; path ends in XXXXXX.npy. */
static void write_rows(char *path, int64_t n)
{
    char head[128];
    const int magic = 10; /* bytes, the last two of them the length of the dictionary */
    FILE *f = fdopen(mkstemps(path, 4), "w");
    assert_non_null(f);
    int length =
        snprintf(head, sizeof head, "\x93NUMPY\1%c%c%c{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d)}\n", 0,
                 0, 0, (int)n, D + 1);
    head[8] = (char)(length - magic);
    fwrite(head, 1, (size_t)length, f);
    for (int64_t i = 0; i < n; i++) fwrite(X + i * D, sizeof *X, D, f), fwrite(y + i, sizeof *y, 1, f);
    fclose(f);
}

static anygp_data *in_a_file(const local_case *c, const anygp_settings *s)
{
    char path[] = "/tmp/anygp-local-XXXXXX.npy";
    anygp_data *data;
    anygp_error e;
    write_rows(path, c->rows);
    if (anygp_data_read(path, s, &data, &e)) fail_msg("%s", e.text);
    unlink(path);
    return data;
}

typedef anygp_data *(*rows_of)(const local_case *, const anygp_settings *);

static anygp_model *fit_case(const local_case *c, rows_of rows)
{
    anygp_settings *s = settings_of(c);
    anygp_data *data = rows(c, s);
    anygp_model *m;
    anygp_error e;
    if (ANYGP_FAILED(anygp_fit(s, data, &m, &e))) fail_msg("%s", e.text);
    anygp_data_free(data);
    anygp_settings_free(s);
    return m;
}

static void keep(const anygp_model *m, outcome *o)
{
    o->objective = m->gp[0]->objective, o->loo = m->gp[0]->loo;
    predict(m, NEW, places, o->mean, o->variance);
}

static void check_case(size_t i, rows_of rows)
{
    const local_case *c = &cases[i];
    const outcome *a = &alone[i];
    outcome o = {0};
    anygp_model *m = fit_case(c, rows);
    check_close(m->gp[0]->objective, a->objective, TOLERANCE);
    if (c->first_rank && comm_world()->rank > 0) {
        anygp_error e;
        assert_int_equal(anygp_predict(m, NEW, places, D, 0, o.mean, o.variance, &e), ANYGP_ERR_ARGUMENT);
        assert_non_null(strstr(e.text, "only rank 0 has the rows"));
    } else {
        keep(m, &o);
        assert_int_equal(o.loo.count, a->loo.count);
        for (int j = 0; j < o.loo.count; j++) check_close(o.loo.list[j].value, a->loo.list[j].value, TOLERANCE);
        for (int j = 0; j < NEW; j++) check_close(o.mean[j], a->mean[j], TOLERANCE);
        for (int j = 0; j < NEW; j++) check_close(o.variance[j], a->variance[j], TOLERANCE);
    }
    anygp_model_free(m);
}

static void ranks_agree_with_one_process(void **state) { check_case((size_t)(uintptr_t)*state, in_memory); }

/* Each rank reads the rows of its own blocks; one process had them in memory. */
static void rows_in_a_file_make_no_difference(void **state)
{
    static const char *const models[] = {"lma", "hier", "tree", "nle", "grbcm+", "npae", "moe"};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++)
        for (size_t i = 0; i < CASES; i++)
            if (!strcmp(cases[i].model, models[k])) check_case(i, in_a_file);
}

/* The cells of a file of predictions behind its header. */
static int64_t read_predictions(const char *path, int64_t most, double *cell)
{
    char line[256];
    int64_t n = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (n < most && fscanf(f, "%lf%*[,\n]", cell + n) == 1) n++;
    fclose(f);
    return n;
}

/* The model of one process; all ranks have it, and a file of the same rows. */
static void rows_of_a_file_are_shared_out(void **state)
{
    enum { COLUMNS = 4 };
    static double one[ROWS * COLUMNS + 1], shared[ROWS * COLUMNS + 1];
    char rows[] = "/tmp/anygp-local-XXXXXX.npy", out[] = "/tmp/anygp-local-XXXXXX.csv";
    anygp_scores *a, *b;
    anygp_error e;
    (void)state;
    write_rows(rows, ROWS);
    close(mkstemps(out, 4));
    for (size_t k = 0; k < CASES; k++) {
        const char *const pairs[] = {"threads", "1", "memory", "2M", NULL};
        const anygp_model *m = alone[k].model;
        anygp_settings *s = settings_with(pairs);
        assert_int_equal(anygp_eval_file(m, s, rows, &a, &e), ANYGP_OK);
        if (ANYGP_FAILED(anygp_eval_file_shared(m, s, rows, &b, &e))) fail_msg("%s: %s", cases[k].model, e.text);
        assert_int_equal(anygp_scores_count(b, 0), anygp_scores_count(a, 0));
        assert_true(anygp_scores_count(a, 0) > 5);
        for (int64_t i = 0; i < anygp_scores_count(a, 0); i++) {
            assert_string_equal(anygp_scores_name(b, 0, i), anygp_scores_name(a, 0, i));
            check_close(anygp_scores_value(b, 0, i), anygp_scores_value(a, 0, i), TOLERANCE);
        }
        anygp_scores_free(a), anygp_scores_free(b);
        assert_int_equal(anygp_predict_file(m, s, rows, out, &e), ANYGP_OK);
        assert_int_equal(read_predictions(out, ROWS * COLUMNS + 1, one), ROWS * COLUMNS);
        if (ANYGP_FAILED(anygp_predict_file_shared(m, s, rows, out, &e))) fail_msg("%s: %s", cases[k].model, e.text);
        if (comm_world()->rank == 0) {
            assert_int_equal(read_predictions(out, ROWS * COLUMNS + 1, shared), ROWS * COLUMNS);
            for (int j = 0; j < ROWS * COLUMNS; j++) check_close(shared[j], one[j], TOLERANCE);
        }
        anygp_settings_free(s);
    }
    unlink(rows), unlink(out);
}

static void fit_alone(void)
{
    for (size_t i = 0; i < CASES; i++) {
        alone[i].model = fit_case(&cases[i], in_memory);
        keep(alone[i].model, &alone[i]);
    }
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[CASES + 2];
    anygp_error e = {0};
    for (size_t i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].model, ranks_agree_with_one_process, NULL, NULL, (void *)(uintptr_t)i};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(rows_in_a_file_make_no_difference);
    tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(rows_of_a_file_are_shared_out);
    simulate();
    fit_alone();
    if (ANYGP_FAILED(comm_world_begin(&argc, &argv, &e))) return fprintf(stderr, "%s\n", e.text), 1;
    if (comm_world()->rank > 0 && !freopen("/dev/null", "w", stdout)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < CASES; i++) anygp_model_free(alone[i].model);
    comm_world_end();
    return failed;
}
