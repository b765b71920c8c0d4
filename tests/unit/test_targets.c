/* The y of a row: several targets, classes, exposure.  A table in memory against the same table in files, on one rank and on
   several, and all of them against what the cells say. */
#include "data_support.h"

#include <pthread.h>

#include "data/formats/writer.h"
#include "data/rows/rows.h"
#include "data/table/classes.h"
#include "rank_support.h"
#include "whole_table.h"

/* Columns: two inputs, weights, two numbers, a count, two labels that are numbers, exposure. */
enum { ROWS = 601 };
enum { X0, X1, WEIGHT, REAL, FAR, COUNT, LABEL, OTHER, EXPOSURE, COLS };

static const char *const names[COLS] = {"x0", "x1", "w", "real", "far", "count", "label", "other", "exposure"};
static const double labels[] = {10, -1, 0.5, 2}, in_order[] = {-1, 0.5, 2, 10};
enum { CLASSES = sizeof labels / sizeof *labels };

static double cells[ROWS * COLS];
static column columns[COLS];
static table whole = {.rows = ROWS, .cols = COLS, .values = cells, .columns = columns, .target = REAL};

static void make_cells(void)
{
    fill_normal(3, ROWS * COLS, cells);
    for (int64_t i = 0; i < ROWS; i++) {
        double *row = cells + i * COLS;
        row[WEIGHT] = i % 19 == 4 ? 0 : 1 + (double)(i % 2);
        row[FAR] = 1e6 + 30 * row[FAR];
        row[COUNT] = (double)(i * i % 7);
        row[LABEL] = labels[(i * i + i / 3) % CLASSES];
        row[OTHER] = (double)(i % 3);
        row[EXPOSURE] = 0.5 + (double)(i % 4);
        if (i % 23 == 5) row[REAL] = NAN;
        if (i % 29 == 6) row[FAR] = NAN;
        if (i % 31 == 7) row[LABEL] = NAN;
    }
    for (int64_t j = 0; j < COLS; j++) columns[j] = (column){.name = (char *)(uintptr_t)names[j]};
}

static void write_table(const char *path)
{
    writer *w;
    assert_int_equal(writer_open(path, COLS, names, &w, NULL), ANYGP_OK);
    assert_int_equal(writer_rows(w, ROWS, cells, NULL), ANYGP_OK);
    assert_int_equal(writer_close(w, NULL), ANYGP_OK);
}

static const char *const paths[] = {NULL, "rows.npy", "rows.h5"};
enum { PATHS = sizeof paths / sizeof *paths };

static void make_all(void)
{
    make_cells();
    for (int k = 1; k < PATHS; k++) write_table(paths[k]);
}

static row_source *open_rows(const char *path)
{
    row_source *r;
    anygp_error e;
    anygp_status status = path ? rows_open_file(path, NULL, &r, &e) : rows_open_table(&whole, &r, &e);
    assert_int_equal(status, ANYGP_OK);
    return r;
}

static const bool not_inputs[COLS] = {
    [WEIGHT] = true, [REAL] = true, [FAR] = true, [COUNT] = true, [LABEL] = true, [OTHER] = true, [EXPOSURE] = true};

static rows_part part_of(target_columns y)
{
    return (rows_part){.y = y, .skip_column = not_inputs, .hold_out = 0.15, .seed = 4};
}

static const target_columns two = {
    .targets = 2, .target = (const int64_t[]){FAR, REAL}, .weights = WEIGHT, .exposure = -1};
static const target_columns exposed = {
    .targets = 2, .target = (const int64_t[]){COUNT, OTHER}, .weights = WEIGHT, .exposure = EXPOSURE};
static const target_columns labelled = {
    .targets = 2, .target = (const int64_t[]){LABEL, OTHER}, .weights = WEIGHT, .exposure = -1, .classes = true};

static dataset scan(row_source *r, const rows_part *part, int64_t sample)
{
    dataset d;
    anygp_error e;
    anygp_status status = rows_scan(r, part, false, sample, comm_self(), &d, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    return d;
}

static dataset build(const rows_part *part) { return whole_table(&whole, part, false); }

static void standardize(dataset *d)
{
    assert_int_equal(dataset_standardize(d, (const int64_t[]){0, 1}, true, true, NULL), ANYGP_OK);
}

/* The rows that are used, by the definition: list[] gets their numbers. */
static int64_t used_rows(const rows_part *part, int64_t *list, int64_t *no_target)
{
    int64_t n = 0;
    *no_target = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        const double *row = cells + i * COLS;
        bool missing = false;
        if (rows_held(part->seed, i, part->hold_out) || row[WEIGHT] == 0) continue;
        for (int64_t t = 0; t < part->y.targets; t++) missing |= isnan(row[part->y.target[t]]);
        *no_target += missing;
        if (!missing) list[n++] = i;
    }
    return n;
}

/* ------------------------------------------------------------------------------------- targets */

static void check_same_target(const dataset *a, int64_t t, const dataset *b, int64_t u, double tolerance)
{
    const schema *s = dataset_target(a, t), *r = dataset_target(b, u);
    column_moments m = dataset_target_moments(a, t), n = dataset_target_moments(b, u);
    if (s->target && r->target) assert_string_equal(s->target, r->target); /* .npy has no names */
    assert_int_equal(s->target_number, r->target_number);
    assert_int_equal(s->classes, r->classes);
    assert_int_equal(s->class_text, r->class_text);
    for (int64_t k = 0; k < s->classes; k++) assert_string_equal(s->class_name[k], r->class_name[k]);
    check_close(s->y_mean, r->y_mean, tolerance);
    check_close(s->y_sd, r->y_sd, tolerance);
    check_close(m.mean, n.mean, tolerance);
    check_close((double)m.variance, (double)n.variance, tolerance);
    assert_true(m.largest == n.largest);
}

static void check_same(const dataset *a, const dataset *b, double tolerance)
{
    assert_true(a->n == b->n && a->D == b->D && a->Q == b->Q && a->targets == b->targets && a->used == b->used);
    assert_true(a->no_target == b->no_target && a->no_weight == b->no_weight && a->total == b->total);
    assert_memory_equal(a->X, b->X, (size_t)(a->n * a->D) * sizeof(double));
    assert_memory_equal(a->y, b->y, (size_t)(a->n * a->Q) * sizeof(double));
    assert_memory_equal(a->w, b->w, (size_t)a->n * sizeof(double));
    for (int64_t t = 0; t < a->targets; t++) check_same_target(a, t, b, t, tolerance);
}

static void table_files_and_scans_agree_on_every_kind_of_target(void **state)
{
    (void)state;
    const target_columns kinds[] = {two, exposed, labelled};
    make_all();
    for (int k = 0; k < 3; k++) {
        rows_part part = part_of(kinds[k]);
        dataset a = build(&part);
        assert_int_equal(a.D, 2);
        for (int p = 0; p < PATHS; p++) {
            row_source *r = open_rows(paths[p]);
            dataset b = scan(r, &part, ROWS), c = scan(r, &part, 50);
            check_same(&a, &b, 1e-14);
            assert_true(c.n == 50 && c.Q == a.Q && c.used == a.n);
            for (int64_t t = 0; t < a.targets; t++) check_same_target(&a, t, &c, t, 1e-12);
            dataset_clear(&b), dataset_clear(&c);
            rows_close(r);
        }
        dataset_clear(&a);
    }
}

static void rows_without_one_of_the_targets_are_left_out(void **state)
{
    (void)state;
    int64_t list[ROWS], no_target;
    make_cells();
    rows_part part = part_of(two);
    dataset d = build(&part);
    assert_int_equal(d.n, used_rows(&part, list, &no_target));
    assert_int_equal(d.no_target, no_target);
    for (int64_t i = 0; i < d.n; i++) {
        assert_true(d.y[2 * i] == cells[list[i] * COLS + FAR] && d.y[2 * i + 1] == cells[list[i] * COLS + REAL]);
        assert_true(d.w[i] == cells[list[i] * COLS + WEIGHT]);
    }
    dataset_clear(&d);
}

/* Mean and sd of a column over the used rows, by weights. */
static void moments_of(const rows_part *part, int64_t column_number, double *mean, double *sd)
{
    int64_t list[ROWS], no_target, n = used_rows(part, list, &no_target);
    double W = 0, S = 0, Q = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *row = cells + list[i] * COLS;
        W += row[WEIGHT], S += row[WEIGHT] * row[column_number];
    }
    for (int64_t i = 0; i < n; i++) {
        const double *row = cells + list[i] * COLS;
        Q += row[WEIGHT] * pow(row[column_number] - S / W, 2);
    }
    *mean = S / W, *sd = sqrt(Q / W);
}

static void each_target_has_its_own_scale(void **state)
{
    (void)state;
    make_cells();
    rows_part part = part_of(two);
    dataset raw = build(&part), d = build(&part);
    standardize(&d);
    for (int64_t t = 0; t < 2; t++) {
        double mean, sd, sum = 0, squares = 0;
        const schema *s = dataset_target(&d, t);
        moments_of(&part, two.target[t], &mean, &sd);
        check_close(s->y_shift, mean, 1e-14);
        check_close(s->y_scale, sd, 1e-12);
        for (int64_t i = 0; i < d.n; i++) {
            double y = d.y[2 * i + t];
            check_close(y * s->y_scale + s->y_shift, raw.y[2 * i + t], 1e-14);
            sum += d.w[i] * y, squares += d.w[i] * y * y;
        }
        check_close(sum / d.total, 0, 1e-9);
        check_close(squares / d.total, 1, 1e-9);
    }
    dataset_clear(&raw), dataset_clear(&d);
}

static void a_target_alone_is_as_ever(void **state)
{
    (void)state;
    make_cells();
    rows_part part = part_of((target_columns)ONE(COUNT, WEIGHT));
    dataset d = build(&part);
    int64_t list[ROWS], no_target;
    assert_int_equal(d.n, used_rows(&part, list, &no_target));
    assert_true(d.Q == 1 && d.targets == 1 && !d.schema.exposed && d.schema.classes == 0);
    for (int64_t i = 0; i < d.n; i++) assert_true(d.y[i] == cells[list[i] * COLS + COUNT]);
    dataset_clear(&d);
}

static void exposure_stands_behind_each_target(void **state)
{
    (void)state;
    int64_t list[ROWS], no_target;
    make_cells();
    rows_part part = part_of(exposed);
    dataset d = build(&part);
    assert_int_equal(d.n, used_rows(&part, list, &no_target));
    assert_int_equal(d.Q, 4);
    for (int64_t i = 0; i < d.n; i++) {
        const double *row = cells + list[i] * COLS;
        const double expected[4] = {row[COUNT], row[EXPOSURE], row[OTHER], row[EXPOSURE]};
        assert_memory_equal(d.y + 4 * i, expected, sizeof expected);
    }
    for (int64_t t = 0; t < 2; t++) {
        const schema *s = dataset_target(&d, t);
        assert_true(s->exposed && s->exposure == EXPOSURE);
        assert_string_equal(s->exposure_name, "exposure");
    }
    dataset_clear(&d);
}

static void a_schema_of_each_target_is_its_own(void **state)
{
    (void)state;
    make_cells();
    rows_part part = part_of(labelled);
    dataset d = build(&part);
    schema s[2];
    standardize(&d);
    double shift = d.schema.input[1].shift;
    for (int64_t t = 0; t < 2; t++) assert_int_equal(dataset_schema(&d, t, &s[t], NULL), ANYGP_OK);
    dataset_clear(&d);
    for (int64_t t = 0; t < 2; t++) {
        assert_true(s[t].inputs == 2 && s[t].D == 2 && s[t].columns == COLS);
        assert_string_equal(s[t].target, names[labelled.target[t]]);
        assert_string_equal(schema_at(&s[t], 1)->name, "x1");
        assert_true(schema_at(&s[t], 1)->shift == shift);
        assert_int_equal(s[t].classes, t == 0 ? CLASSES : 3);
        assert_string_equal(s[t].class_name[0], t == 0 ? "-1" : "0");
        schema_clear(&s[t]);
    }
}

/* -------------------------------------------------------------------------------------- blocks */

/* Every row of `all` in exactly one block, by its bits. */
static void check_each_once(row_blocks *b, const dataset *all)
{
    static bool seen[ROWS];
    block_buffer buffer = {0};
    row_block x;
    int64_t D = all->D, Q = all->Q, n = 0;
    memset(seen, 0, sizeof seen);
    assert_true(b->Q == Q && b->D == D && b->total == all->total);
    for (int64_t i = 0; i < b->count; i++) {
        assert_int_equal(blocks_get(b, i, &buffer, &x, NULL), ANYGP_OK);
        for (int64_t k = 0; k < x.n; k++, n++) {
            int64_t r = 0;
            while (r < all->n && memcmp(all->X + r * D, x.X + k * D, (size_t)D * sizeof(double))) r++;
            assert_true(r < all->n && !seen[r] && x.w[k] == all->w[r]);
            assert_memory_equal(x.y + k * Q, all->y + r * Q, (size_t)Q * sizeof(double));
            seen[r] = true;
        }
    }
    assert_int_equal(n, all->n);
    block_buffer_clear(&buffer);
}

static void check_plans(const target_columns *y)
{
    static const int64_t given[ROWS] = {7, 7, 9};
    const block_plan plans[] = {{.kind = PLAN_RUNS, .blocks = 5, .seed = 1},
                                {.kind = PLAN_RUNS, .blocks = 5, .cap = 9, .seed = 1, .keep = 9000},
                                {.kind = PLAN_RANDOM, .blocks = 20, .cap = 32, .seed = 2},
                                {.kind = PLAN_RANDOM, .blocks = 3, .seed = 2, .keep = 1e6},
                                {.kind = PLAN_KMEANS, .blocks = 4, .cap = 60, .seed = 2},
                                {.kind = PLAN_KDTREE, .blocks = 6, .seed = 2},
                                {.kind = PLAN_GIVEN, .given = given}};
    rows_part part = part_of(*y);
    for (int p = 0; p < PATHS; p++)
        for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
            row_source *r = open_rows(paths[p]);
            dataset all = scan(r, &part, ROWS), d = scan(r, &part, 100);
            row_blocks *b;
            standardize(&all), standardize(&d);
            assert_int_equal(rows_blocks(r, &part, &d, &plans[k], &b, NULL, NULL), ANYGP_OK);
            dataset_clear(&d);
            check_each_once(b, &all);
            check_each_once(b, &all);
            blocks_free(b);
            dataset_clear(&all);
            rows_close(r);
        }
}

static void every_plan_delivers_all_numbers_of_y(void **state)
{
    (void)state;
    make_all();
    check_plans(&two);
    check_plans(&exposed);
    check_plans(&labelled);
}

static void joined_blocks_keep_rows_of_y_together(void **state)
{
    (void)state;
    const double X[] = {1, 2, 3, 4, 5}, y[] = {10, 11, 20, 21, 30, 31, 40, 41, 50, 51}, w[] = {1, 2, 1, 2, 1};
    row_blocks *old, *b;
    block_buffer buffer = {0};
    row_block x;
    assert_int_equal(blocks_of_arrays(2, (const int64_t[]){0, 1, 3}, 1, 2, X, y, w, &old, NULL), ANYGP_OK);
    assert_int_equal(blocks_join(old, 3, 1, 2, 2, X + 3, y + 6, w + 3, (const int64_t[]){1, 2}, &b, NULL), ANYGP_OK);
    assert_true(b->Q == 2 && b->total == 7 && b->largest == 3);
    assert_int_equal(blocks_get(b, 1, &buffer, &x, NULL), ANYGP_OK);
    assert_int_equal(x.n, 3);
    assert_memory_equal(x.X, X + 1, 3 * sizeof *X);
    assert_memory_equal(x.y, y + 2, 6 * sizeof *y);
    assert_int_equal(blocks_get(b, 2, &buffer, &x, NULL), ANYGP_OK);
    assert_memory_equal(x.y, y + 8, 2 * sizeof *y);
    block_buffer_clear(&buffer);
    blocks_free(b);
    blocks_free(old);
}

/* Equal inputs are merged for one number alone; else a group is a row, and its y the first number of that row. */
static void several_numbers_and_classes_are_never_merged(void **state)
{
    (void)state;
    make_cells();
    for (int64_t i = 0; i < ROWS; i++) {
        cells[i * COLS + X0] = (double)(i % 5);
        cells[i * COLS + X1] = (double)(i % 2);
    }
    target_columns kinds[] = {ONE(COUNT, WEIGHT), two, exposed, labelled, ONE(LABEL, WEIGHT)};
    kinds[4].classes = true;
    for (int k = 0; k < 5; k++) {
        rows_part part = part_of(kinds[k]);
        dataset d = build(&part);
        merged m;
        assert_int_equal(dataset_merge(&d, true, &m, NULL), ANYGP_OK);
        assert_int_equal(m.n, k == 0 ? 10 : d.n);
        for (int64_t i = 0; k > 0 && i < d.n; i++) assert_true(m.y[i] == d.y[i * d.Q] && m.c[i] == d.w[i]);
        merged_clear(&m);
        dataset_clear(&d);
    }
}

/* ------------------------------------------------------------------------------------- classes */

static void numbers_are_classes_in_their_order(void **state)
{
    (void)state;
    int64_t list[ROWS], no_target;
    make_cells();
    rows_part part = part_of(labelled);
    dataset d = build(&part);
    double sd[2], rms;
    used_rows(&part, list, &no_target);
    standardize(&d);
    assert_true(d.schema.classes == CLASSES && !d.schema.class_text);
    assert_true(d.schema.y_shift == 0 && d.schema.y_scale == 1 && d.schema.y_mean == 0 && d.schema.y_sd == 1);
    for (int64_t i = 0; i < d.n; i++) {
        assert_true(in_order[(int)d.y[2 * i]] == cells[list[i] * COLS + LABEL]);
        assert_true(d.y[2 * i + 1] == cells[list[i] * COLS + OTHER]);
    }
    const char *const expected[] = {"-1", "0.5", "2", "10"};
    for (int k = 0; k < CLASSES; k++) assert_string_equal(d.schema.class_name[k], expected[k]);
    dataset_spread(&d, sd, &rms);
    assert_true(rms == 1);
    dataset_clear(&d);
}

static void minus_zero_is_zero(void **state)
{
    (void)state;
    make_cells();
    for (int64_t i = 0; i < ROWS; i++) cells[i * COLS + LABEL] = i % 3 == 0 ? 0.0 : i % 3 == 1 ? -0.0 : 1;
    rows_part part = part_of(labelled);
    dataset d = build(&part);
    assert_int_equal(d.schema.classes, 2);
    for (int64_t i = 0; i < d.n; i++) assert_true(d.y[2 * i] == 0 || d.y[2 * i] == 1);
    assert_string_equal(d.schema.class_name[0], "0");
    dataset_clear(&d);
}

static table *read_table(const char *text)
{
    table *t;
    anygp_error e;
    put_file("table.csv", text, strlen(text));
    anygp_status status = table_read("table.csv", NULL, &t, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    return t;
}

/* Classes of the last column by both roads, which must agree. */
static dataset classes_of(const table *t)
{
    target_columns y = ONE(t->cols - 1, -1);
    row_source *r;
    dataset a, b;
    y.classes = true;
    a = whole_table(t, &(rows_part){.y = y}, false);
    assert_int_equal(rows_open_table(t, &r, NULL), ANYGP_OK);
    assert_int_equal(rows_scan(r, &(rows_part){.y = y}, false, 20000, comm_self(), &b, NULL), ANYGP_OK);
    assert_true(a.n == b.n && a.schema.classes == b.schema.classes && a.no_target == b.no_target);
    for (int64_t k = 0; k < a.schema.classes; k++) assert_string_equal(a.schema.class_name[k], b.schema.class_name[k]);
    assert_memory_equal(a.y, b.y, (size_t)a.n * sizeof *a.y);
    dataset_clear(&b);
    rows_close(r);
    return a;
}

static void texts_are_classes_in_alphabetical_order(void **state)
{
    (void)state;
    static const char *const texts[] = {"x,y\n1,pear\n2,apple\n3,\n4,fig\n5,pear\n",
                                        "1,pear\n2,apple\n3,\n4,fig\n5,pear\n"};
    static const char *const expected[] = {"apple", "fig", "pear"};
    for (int k = 0; k < 2; k++) {
        table *t = read_table(texts[k]);
        dataset d = classes_of(t);
        assert_true(d.n == 4 && d.no_target == 1 && d.schema.classes == 3 && d.schema.class_text);
        for (int64_t c = 0; c < 3; c++) assert_string_equal(d.schema.class_name[c], expected[c]);
        assert_memory_equal(d.y, ((const double[]){2, 0, 1, 2}), 4 * sizeof(double));
        assert_true(k == 0 ? !strcmp(d.schema.target, "y") : d.schema.target == NULL);
        dataset_clear(&d);
        table_free(t);
    }
}

/* A label of a row that is not used is no class. */
static void only_used_rows_have_classes(void **state)
{
    (void)state;
    table *t = read_table("x,w,y\n1,1,b\n2,0,a\n3,1,c\n");
    target_columns y = ONE(2, 1);
    dataset d;
    y.classes = true;
    row_source *r;
    assert_int_equal(rows_open_table(t, &r, NULL), ANYGP_OK);
    assert_int_equal(rows_scan(r, &(rows_part){.y = y}, false, 20000, comm_self(), &d, NULL), ANYGP_OK);
    rows_close(r);
    assert_int_equal(d.schema.classes, 2);
    assert_string_equal(d.schema.class_name[0], "b");
    assert_true(d.y[0] == 0 && d.y[1] == 1);
    dataset_clear(&d);
    table_free(t);
}

/* Labels of another file: against comparing with every name. */
static void labels_of_other_files_find_their_class(void **state)
{
    (void)state;
    table *t = read_table("x,y\n1,pear\n2,10\n3,fig\n4,9\n5,kiwi\n6,lime\n7,1.50\n");
    table *other = read_table("x,y\n1,fig\n2,nut\n3,9\n4,1.50\n5,kiwi\n6,zoo\n7,aaa\n");
    dataset d = classes_of(t);
    const column *from = &other->columns[1], numbers = {.kind = COLUMN_NUMBER};
    class_codes codes, of_numbers;
    assert_int_equal(class_codes_make(&d.schema, from, &codes, NULL), ANYGP_OK);
    assert_int_equal(class_codes_make(&d.schema, &numbers, &of_numbers, NULL), ANYGP_OK);
    for (int64_t l = 0; l < from->levels; l++) {
        int64_t expected = -1;
        for (int64_t k = 0; k < d.schema.classes; k++)
            if (!strcmp(d.schema.class_name[k], from->level[l])) expected = k;
        assert_int_equal(class_code(&codes, (double)l), expected);
    }
    const double cell[] = {9, 10, 1.5, 8, -3, 11};
    for (int i = 0; i < 6; i++) {
        int64_t expected = i == 0 ? 2 : i == 1 ? 1 : -1; /* 1.50, 10, 9, fig, ...; 1.5 is printed otherwise than 1.50 */
        assert_int_equal(class_code(&of_numbers, cell[i]), expected);
    }
    assert_int_equal(class_code(&codes, NAN), -1);
    assert_int_equal(class_code(&of_numbers, NAN), -1);
    class_codes_clear(&codes), class_codes_clear(&of_numbers);
    dataset_clear(&d);
    table_free(t), table_free(other);
}

static void labels_that_are_numbers_are_found_by_value(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    char *name[MANY];
    schema s = {.classes = MANY, .class_name = name};
    const column number = {.kind = COLUMN_NUMBER};
    class_codes codes;
    for (int k = 0; k < MANY; k++) {
        name[k] = malloc(24);
        snprintf(name[k], 24, "%.17g", (k - 500) * 0.1);
    }
    assert_int_equal(class_codes_make(&s, &number, &codes, NULL), ANYGP_OK);
    for (int k = 0; k < MANY; k++) {
        char text[40];
        snprintf(text, sizeof text, " %.17ge0 ", (k - 500) * 0.1);
        assert_int_equal(schema_class_of_number(&s, (k - 500) * 0.1), k);
        assert_int_equal(class_code(&codes, (k - 500) * 0.1), k);
        assert_int_equal(class_code(&codes, (k - 500) * 0.1 + 0.05), -1);
        assert_int_equal(schema_class_of_number(&s, (k - 500) * 0.1 + 0.05), -1);
        assert_int_equal(schema_class_of_text(&s, text), k);
    }
    assert_int_equal(schema_class_of_text(&s, "fig"), -1);
    class_codes_clear(&codes);
    for (int k = 0; k < MANY; k++) free(name[k]);
}

/* --------------------------------------------------------------------------------------- ranks */

enum { RANKS = 3 };

typedef struct member {
    rank_thread rank;
    comm c;
    const char *path;
    const rows_part *part;
    anygp_status status;
    anygp_error error;
    dataset d;
} member;

static void *scan_as_member(void *ctx)
{
    member *m = ctx;
    row_source *r = open_rows(m->path);
    m->status = rows_scan(r, m->part, false, 40, &m->c, &m->d, &m->error);
    rows_close(r);
    return NULL;
}

static void scan_as_team(member *m, const char *path, const rows_part *part)
{
    static team t;
    pthread_t thread[RANKS];
    team_open(&t, RANKS);
    for (int k = 0; k < RANKS; k++) {
        m[k] = (member){.path = path, .part = part};
        m[k].c = team_comm(&t, k, &m[k].rank);
        assert_int_equal(pthread_create(&thread[k], NULL, scan_as_member, &m[k]), 0);
    }
    for (int k = 0; k < RANKS; k++) pthread_join(thread[k], NULL);
    team_close(&t);
}

/* Labels that one rank alone has seen, in the order of the numbers on all. */
static void ranks_agree_on_targets_and_classes(void **state)
{
    (void)state;
    const target_columns kinds[] = {two, exposed, labelled};
    make_cells();
    int64_t last = ROWS - 1;
    while (rows_held(4, last, 0.15) || cells[last * COLS + WEIGHT] == 0) last--;
    cells[last * COLS + LABEL] = -7;
    write_table("ranks.npy");
    for (int k = 0; k < 3; k++) {
        rows_part part = part_of(kinds[k]);
        member m[RANKS];
        row_source *r = open_rows(NULL);
        dataset one = scan(r, &part, 40);
        scan_as_team(m, "ranks.npy", &part);
        assert_true(k < 2 || (one.schema.classes == CLASSES + 1 && !strcmp(one.schema.class_name[0], "-7")));
        for (int i = 0; i < RANKS; i++) {
            assert_int_equal(m[i].status, ANYGP_OK);
            check_same(&m[i].d, &one, 1e-14);
            dataset_clear(&m[i].d);
        }
        dataset_clear(&one);
        rows_close(r);
    }
}

/* -------------------------------------------------------------------------------------- errors */

/* Refused with a sentence that holds the words. */
static void check_refused_with(const table *t, const target_columns *y, const bool *skip, const char *words)
{
    anygp_error e = {0};
    dataset d;
    row_source *r;
    assert_int_equal(rows_open_table(t, &r, NULL), ANYGP_OK);
    assert_int_equal(rows_scan(r, &(rows_part){.y = *y, .skip_column = skip}, false, 50, comm_self(), &d, &e),
                     ANYGP_ERR_DATA);
    if (!strstr(e.text, words)) print_error("'%s' is not in: %s\n", words, e.text);
    assert_non_null(strstr(e.text, words));
    rows_close(r);
}

static void check_taken(const target_columns *y)
{
    row_source *r = open_rows(NULL);
    dataset d = scan(r, &(rows_part){.y = *y, .skip_column = not_inputs}, 50);
    dataset_clear(&d);
    rows_close(r);
}

static const char *not_a_count(const void *ctx, double y) { return y < 0 || y != floor(y) ? (const char *)ctx : NULL; }

static void bad_counts_are_refused_with_their_place(void **state)
{
    (void)state;
    make_cells();
    target_columns y = exposed;
    y.objection = not_a_count, y.objection_ctx = "is not a count";
    check_taken(&y);
    cells[300 * COLS + OTHER] = 1.5;
    check_refused_with(&whole, &y, not_inputs, "row 301, column 'other': the target 1.5 is not a count");
    cells[300 * COLS + WEIGHT] = 0;
    check_taken(&y);
}

static void exposure_must_be_a_number_above_0(void **state)
{
    (void)state;
    const double bad[] = {0, -1, NAN};
    for (int k = 0; k < 3; k++) {
        make_cells();
        cells[200 * COLS + EXPOSURE] = bad[k];
        check_refused_with(&whole, &exposed, not_inputs, "row 201, column 'exposure'");
    }
    table *t = read_table("x,v,y\n1,a,2\n2,b,3\n");
    target_columns y = ONE(2, -1);
    y.exposure = 1;
    check_refused_with(t, &y, NULL, "exposure column 'v' is text");
    table_free(t);
}

static void texts_are_no_numbers(void **state)
{
    (void)state;
    table *t = read_table("x,a,b\n1,2,p\n2,4,q\n");
    target_columns y = {.targets = 2, .target = (const int64_t[]){1, 2}, .weights = -1, .exposure = -1};
    check_refused_with(t, &y, NULL, "the target column 'b' is text");
    y.target = (const int64_t[]){2, 1};
    check_refused_with(t, &y, NULL, "softmax");
    table_free(t);
}

static void one_class_is_refused(void **state)
{
    (void)state;
    table *t = read_table("x,y\n1,p\n2,p\n3,\n");
    target_columns y = ONE(1, -1);
    y.classes = true;
    check_refused_with(t, &y, NULL, "the class 'p' in every row");
    table_free(t);
}

/* A number is hardly a class: refused, and where each rank alone has seen few enough. */
static void too_many_classes_are_refused(void **state)
{
    (void)state;
    enum { MANY = CLASSES_MOST + 1 };
    static double values[2 * MANY];
    column names_of[2] = {{.name = NULL}, {.name = NULL}};
    const table t = {.rows = MANY, .cols = 2, .values = values, .columns = names_of, .target = 1};
    target_columns y = ONE(1, -1);
    rows_part part = {.y = y};
    member m[RANKS];
    writer *w;
    part.y.classes = y.classes = true;
    for (int64_t i = 0; i < MANY; i++) values[2 * i] = (double)(i % 9), values[2 * i + 1] = sqrt((double)i);
    check_refused_with(&t, &y, NULL, "column 1 has more than 10000 different values");
    assert_int_equal(writer_open("many.npy", 2, NULL, &w, NULL), ANYGP_OK);
    assert_int_equal(writer_rows(w, MANY, values, NULL), ANYGP_OK);
    assert_int_equal(writer_close(w, NULL), ANYGP_OK);
    scan_as_team(m, "many.npy", &part);
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(m[k].status, ANYGP_ERR_DATA);
        assert_non_null(strstr(m[k].error.text, "more than 10000"));
    }
    values[1] = values[3];
    dataset d = classes_of(&t);
    assert_int_equal(d.schema.classes, CLASSES_MOST);
    dataset_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_files_and_scans_agree_on_every_kind_of_target),
        cmocka_unit_test(rows_without_one_of_the_targets_are_left_out),
        cmocka_unit_test(each_target_has_its_own_scale),
        cmocka_unit_test(a_target_alone_is_as_ever),
        cmocka_unit_test(exposure_stands_behind_each_target),
        cmocka_unit_test(a_schema_of_each_target_is_its_own),
        cmocka_unit_test(every_plan_delivers_all_numbers_of_y),
        cmocka_unit_test(joined_blocks_keep_rows_of_y_together),
        cmocka_unit_test(several_numbers_and_classes_are_never_merged),
        cmocka_unit_test(numbers_are_classes_in_their_order),
        cmocka_unit_test(minus_zero_is_zero),
        cmocka_unit_test(texts_are_classes_in_alphabetical_order),
        cmocka_unit_test(only_used_rows_have_classes),
        cmocka_unit_test(labels_of_other_files_find_their_class),
        cmocka_unit_test(labels_that_are_numbers_are_found_by_value),
        cmocka_unit_test(ranks_agree_on_targets_and_classes),
        cmocka_unit_test(bad_counts_are_refused_with_their_place),
        cmocka_unit_test(exposure_must_be_a_number_above_0),
        cmocka_unit_test(texts_are_no_numbers),
        cmocka_unit_test(one_class_is_refused),
        cmocka_unit_test(too_many_classes_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
