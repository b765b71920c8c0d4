/* The one way of a raw row: every row is converted once for each use, and a row is either learned from or scored on. */
#include "data_support.h"

#include <math.h>
#include <stdatomic.h>

#include "data/formats/writer.h"
#include "data/rows/rows.h"
#include "fit_support.h"

enum { ROWS = 1500, COLS = 4, TARGET = 3 };

static double cells[ROWS * COLS];
static column columns[COLS];
static table whole = {.rows = ROWS, .cols = COLS, .values = cells, .columns = columns, .target = TARGET};
static const rows_part part = {.y = ONE(TARGET, -1), .hold_out = 0.2, .seed = 5};

/* The linker puts this in the place of row_units_convert (CMakeLists.txt). */
static _Atomic int64_t converted;
void __real_row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w);
void __wrap_row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w);
void __wrap_row_units_convert(const row_units *u, const double *row, double *x, double *y, double *w)
{
    atomic_fetch_add(&converted, 1);
    __real_row_units_convert(u, row, x, y, w);
}

static void make_cells(void)
{
    fill_normal(1, ROWS * COLS, cells);
    for (int64_t i = 0; i < ROWS; i += 19) cells[i * COLS + TARGET] = NAN;
}

static row_source *open_rows(const char *path)
{
    row_source *r;
    writer *w;
    if (path) {
        assert_int_equal(writer_open(path, COLS, NULL, &w, NULL), ANYGP_OK);
        assert_int_equal(writer_rows(w, ROWS, cells, NULL), ANYGP_OK);
        assert_int_equal(writer_close(w, NULL), ANYGP_OK);
    }
    assert_int_equal(path ? rows_open_file(path, NULL, &r, NULL) : rows_open_table(&whole, &r, NULL), ANYGP_OK);
    return r;
}

static void visit(row_blocks *b, int64_t *rows)
{
    block_buffer buffer = {0};
    row_block one;
    *rows = 0;
    for (int64_t i = 0; i < b->count; i++) {
        assert_int_equal(blocks_get(b, i, &buffer, &one, NULL), ANYGP_OK);
        *rows += one.n;
    }
    block_buffer_clear(&buffer);
}

/* For a table while the blocks are read, for a file on its way to the scratch file. */
static void blocks_convert_each_row_once(void **state)
{
    (void)state;
    static const plan_kind kinds[] = {PLAN_RANDOM, PLAN_GIVEN, PLAN_RUNS};
    static int64_t given[ROWS];
    make_cells();
    for (int64_t i = 0; i < ROWS; i++) given[i] = i % 7;
    for (int k = 0; k < 6; k++) {
        row_source *r = open_rows(k % 2 ? "rows.npy" : NULL);
        block_plan plan = {.kind = kinds[k / 2], .blocks = 9, .given = given, .keep = 1e9};
        dataset d;
        row_blocks *b;
        int64_t rows, again;
        assert_int_equal(rows_scan(r, &part, false, 50, comm_self(), &d, NULL), ANYGP_OK);
        assert_int_equal(dataset_standardize(&d, (const int64_t[]){0, 1, 2}, true, true, NULL), ANYGP_OK);
        converted = 0;
        assert_int_equal(rows_blocks(r, &part, &d, &plan, &b, NULL, NULL), ANYGP_OK);
        visit(b, &rows);
        visit(b, &again);
        assert_int_equal(rows, d.used);
        assert_int_equal(again, rows);
        assert_int_equal(converted, rows);
        blocks_free(b);
        dataset_clear(&d);
        rows_close(r);
    }
}

/* Once for the sample that the training starts from, which here is all rows, and once for the blocks it learns from. */
static void svgp_in_memory_converts_each_row_once_a_use(void **state)
{
    (void)state;
    static double X[ROWS * 2], y[ROWS];
    static const char *const settings[] = {"model", "svgp", "inducing", "8",     "iters", "40",
                                           "batch", "256",  "valid",    "0",     "seed",  "1",
                                           "fix",   "all",  "kernel",   "rbf()", NULL};
    fill_normal(2, ROWS * 2, X);
    for (int64_t i = 0; i < ROWS; i++) y[i] = sin(X[2 * i]);
    converted = 0;
    anygp_model_free(fit_arrays(ROWS, 2, X, y, NULL, settings));
    assert_int_equal(converted, 2 * ROWS);
}

static void a_row_is_learned_from_or_scored_on(void **state)
{
    (void)state;
    make_cells();
    row_source *r = open_rows(NULL);
    dataset d;
    row_units learned, scored;
    rows_part rest = part;
    rest.hold_out = 0, rest.below = part.hold_out, rest.y.scored = true;
    assert_int_equal(rows_scan(r, &part, false, 50, comm_self(), &d, NULL), ANYGP_OK);
    assert_int_equal(dataset_standardize(&d, (const int64_t[]){0, 1, 2}, true, true, NULL), ANYGP_OK);
    assert_int_equal(row_units_make(&d, &part, columns, NULL, &learned, NULL), ANYGP_OK);
    assert_int_equal(row_units_make(&d, &rest, columns, NULL, &scored, NULL), ANYGP_OK);
    int64_t count[2] = {0, 0};
    for (int64_t i = 0; i < ROWS; i++) {
        const double *row = cells + i * COLS;
        row_use a = row_units_use(&learned, i, row), b = row_units_use(&scored, i, row);
        assert_true((a == ROW_HELD_OUT) != (b == ROW_HELD_OUT));
        assert_true((a == ROW_HELD_OUT) == rows_held(part.seed, i, part.hold_out));
        assert_true((a == ROW_HELD_OUT ? b : a) == (isnan(row[TARGET]) ? ROW_NO_TARGET : ROW_USED));
        double x[2][3], y[2], w[2];
        row_units_convert(&learned, row, x[0], &y[0], &w[0]);
        row_units_convert(&scored, row, x[1], &y[1], &w[1]);
        assert_memory_equal(x[0], x[1], sizeof x[0]);
        if (!isnan(row[TARGET]))
            assert_true(y[1] == row[TARGET] && y[0] == schema_scale(y[1], d.schema.y_mean, d.schema.y_sd));
        count[0] += a == ROW_USED, count[1] += b == ROW_USED;
    }
    assert_int_equal(count[0], d.used);
    assert_true(count[1] > 200 && count[1] < 400);
    row_units_clear(&learned), row_units_clear(&scored);
    dataset_clear(&d);
    rows_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_convert_each_row_once),
        cmocka_unit_test(svgp_in_memory_converts_each_row_once_a_use),
        cmocka_unit_test(a_row_is_learned_from_or_scored_on),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
