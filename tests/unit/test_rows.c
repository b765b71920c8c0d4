/* Rows by number: a table in memory against the same table in a file, and both against all of it at once. */
#include "data_support.h"

#include <pthread.h>

#include "data/formats/writer.h"
#include "data/rows/rows.h"
#include "rank_support.h"
#include "whole_table.h"

enum { ROWS = 1003, COLS = 6, TARGET = 5, WEIGHTS = 3, CONSTANT = 1 };

static double cells[ROWS * COLS];
static const char *const names[COLS] = {"near", "same", "far", "weight", "steps", "y"};

/* Columns of unlike size, sorted by the first; some rows without a target, some without weight. */
static void make_cells(bool gaps)
{
    fill_normal(1, ROWS * COLS, cells);
    for (int64_t i = 0; i < ROWS; i++) {
        double *row = cells + i * COLS;
        row[0] = (double)i / 100 + 0.1 * row[0];
        row[CONSTANT] = 7.25;
        row[2] = 1e9 + row[2];
        row[WEIGHTS] = i % 17 == 3 ? 0 : 1 + (double)(i % 3);
        row[4] = (double)(i % 5);
        if (i % 23 == 7) row[TARGET] = NAN;
        if (gaps && i % 11 == 4) row[2] = NAN;
        if (gaps && i % 13 == 5) row[CONSTANT] = NAN;
    }
}

static column columns[COLS];
static table whole = {.rows = ROWS, .cols = COLS, .values = cells, .columns = columns, .target = TARGET};

static void name_columns(bool named)
{
    for (int64_t j = 0; j < COLS; j++) columns[j] = (column){.name = named ? (char *)(uintptr_t)names[j] : NULL};
}

/* One plain target. */
#define ONE(column, weight)                                                                                            \
    {                                                                                                                  \
        .targets = 1, .target = (const int64_t[]){column}, .weights = (weight), .exposure = -1                         \
    }

static const rows_part part = {.y = ONE(TARGET, WEIGHTS), .hold_out = 0.2, .seed = 5};

static void write_table(const char *path)
{
    writer *w;
    anygp_error e;
    assert_int_equal(writer_open(path, COLS, names, &w, &e), ANYGP_OK);
    assert_int_equal(writer_rows(w, ROWS, cells, &e), ANYGP_OK);
    assert_int_equal(writer_close(w, &e), ANYGP_OK);
}

/* Column by column, as NumPy saves a transposed array. */
static void write_fortran(const char *path)
{
    char head[129] = "\x93NUMPY\x01";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    head[8] = 118;
    snprintf(head + 10, 119, "%-117s\n", "{'descr': '<f8', 'fortran_order': True, 'shape': (1003, 6), }");
    assert_int_equal(fwrite(head, 1, 128, f), 128);
    for (int64_t j = 0; j < COLS; j++)
        for (int64_t i = 0; i < ROWS; i++) assert_int_equal(fwrite(&cells[i * COLS + j], 8, 1, f), 1);
    fclose(f);
}

static row_source *open_rows(const char *path)
{
    row_source *r = NULL;
    anygp_error e;
    anygp_status status = path ? rows_open_file(path, NULL, &r, &e) : rows_open_table(&whole, &r, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    return r;
}

static dataset scan(row_source *r, bool fill, int64_t sample)
{
    dataset d;
    anygp_error e;
    anygp_status status = rows_scan(r, &part, fill, sample, comm_self(), &d, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    return d;
}

/* The other road. */
static dataset build(bool fill) { return whole_table(&whole, &part, fill); }

static void standardize(dataset *d)
{
    int64_t group[COLS];
    for (int64_t j = 0; j < d->D; j++) group[j] = j;
    assert_int_equal(dataset_standardize(d, group, true, true, NULL), ANYGP_OK);
}

static void check_bits(const double *a, const double *b, int64_t n)
{
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void check_same_dataset(const dataset *a, const dataset *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->used, b->used);
    assert_int_equal(a->no_target, b->no_target);
    assert_int_equal(a->no_weight, b->no_weight);
    check_bits(a->X, b->X, a->n * a->D);
    check_bits(a->y, b->y, a->n);
    check_bits(a->w, b->w, a->n);
    for (int64_t j = 0; j < a->D; j++) {
        assert_true(a->x_moments[j].mean == b->x_moments[j].mean);
        assert_true(a->x_moments[j].variance == b->x_moments[j].variance);
    }
    assert_true(a->schema.y_mean == b->schema.y_mean && a->schema.y_sd == b->schema.y_sd && a->total == b->total);
}

static const char *const paths[] = {"rows.npy", "fortran.npy", "rows.h5"};
enum { PATHS = sizeof paths / sizeof *paths };

static void write_all(bool gaps)
{
    make_cells(gaps);
    name_columns(false);
    write_table("rows.npy");
    write_fortran("fortran.npy");
    write_table("rows.h5");
}

/* ----------------------------------------------------------------------------------------- scan */

static void scan_equals_building_the_whole_table(void **state)
{
    (void)state;
    for (int fill = 0; fill < 2; fill++) {
        make_cells(fill);
        name_columns(true);
        row_source *r = open_rows(NULL);
        dataset a = build(fill), b = scan(r, fill, 100), c = scan(r, fill, ROWS);
        double sd_a[COLS], sd_b[COLS], rms_a, rms_b;
        assert_true(b.n == 100 && a.n == c.n && c.used == a.n && b.used == a.n);
        assert_true(b.no_target == a.no_target && b.no_weight == a.no_weight && b.total == a.total);
        assert_int_equal(b.D, a.D);
        for (int64_t j = 0; j < a.D; j++) {
            check_close(b.x_moments[j].mean, a.x_moments[j].mean, 1e-15);
            check_close((double)b.x_moments[j].variance, (double)a.x_moments[j].variance, 1e-14);
            assert_true(b.x_moments[j].largest == a.x_moments[j].largest);
        }
        check_close(b.schema.y_mean, a.schema.y_mean, 1e-15);
        check_close(b.schema.y_sd, a.schema.y_sd, 1e-15);
        for (int64_t i = 0; i < a.schema.inputs; i++) {
            assert_int_equal(b.schema.input[i].position, a.schema.input[i].position);
            check_close(b.schema.input[i].fill, a.schema.input[i].fill, 1e-15);
            assert_string_equal(b.schema.input[i].name, a.schema.input[i].name);
        }
        if (!fill) check_bits(a.X, c.X, a.n * a.D);
        check_bits(a.y, c.y, a.n);
        standardize(&a), standardize(&b), standardize(&c);
        for (int64_t i = 0; i < a.n * a.D; i++) check_close(a.X[i], c.X[i], 1e-6);
        dataset_spread(&a, sd_a, &rms_a);
        dataset_spread(&b, sd_b, &rms_b);
        for (int64_t j = 0; j < a.D; j++) check_close(sd_a[j], sd_b[j], 1e-7);
        check_close(rms_a, rms_b, 1e-14);
        dataset_clear(&a), dataset_clear(&b), dataset_clear(&c);
        rows_close(r);
    }
}

static void table_and_files_give_the_same_sample_and_moments(void **state)
{
    (void)state;
    write_all(true);
    row_source *t = open_rows(NULL);
    dataset a = scan(t, true, 77);
    for (int k = 0; k < PATHS; k++) {
        row_source *f = open_rows(paths[k]);
        dataset b = scan(f, true, 77);
        assert_int_equal(rows_count(f), ROWS);
        assert_int_equal(rows_target(f), TARGET);
        check_same_dataset(&a, &b);
        dataset_clear(&b);
        rows_close(f);
    }
    dataset_clear(&a);
    rows_close(t);
}

/* Every used row is equally likely: of 60 samples of a tenth, each row is in about 6; none that is not used. */
static void sample_is_uniform_over_the_used_rows(void **state)
{
    (void)state;
    int seen[ROWS] = {0}, in_sample = 0;
    make_cells(false);
    name_columns(false);
    for (int64_t i = 0; i < ROWS; i++) cells[i * COLS + 4] = (double)i;
    row_source *r = open_rows(NULL);
    for (uint64_t seed = 0; seed < 60; seed++) {
        rows_part p = {.y = ONE(TARGET, WEIGHTS), .hold_out = 0.1, .seed = seed};
        dataset d;
        assert_int_equal(rows_scan(r, &p, false, 80, comm_self(), &d, NULL), ANYGP_OK);
        assert_int_equal(d.n, 80);
        for (int64_t k = 0; k < d.n; k++) {
            int64_t i = (int64_t)d.X[k * d.D + 2];
            assert_true(k == 0 || d.X[k * d.D + 2] > d.X[(k - 1) * d.D + 2]);
            assert_false(rows_held(seed, i, p.hold_out) || cells[i * COLS + WEIGHTS] == 0);
            seen[i]++, in_sample++;
        }
        dataset_clear(&d);
    }
    double mean = in_sample / 900.0, squares = 0;
    for (int64_t i = 0; i < ROWS; i++) squares += seen[i] ? pow(seen[i] - mean, 2) / mean : 0;
    assert_true(squares < 1100);
    rows_close(r);
}

static void few_used_rows_are_found(void **state)
{
    (void)state;
    make_cells(false);
    name_columns(false);
    for (int64_t i = 0; i < ROWS; i++)
        if (i % 250 != 11) cells[i * COLS + TARGET] = NAN;
    row_source *r = open_rows(NULL);
    rows_part p = {.y = ONE(TARGET, -1)};
    dataset d;
    assert_int_equal(rows_scan(r, &p, false, 3, comm_self(), &d, NULL), ANYGP_OK);
    assert_true(d.n >= 1 && d.n <= 3 && d.used == 4 && d.no_target == ROWS - 4);
    dataset_clear(&d);
    rows_close(r);
}

static void check_refusal(bool fill, const char *words)
{
    anygp_error e = {0};
    rows_part p = {.y = ONE(TARGET, WEIGHTS)};
    dataset d;
    row_source *r = open_rows(NULL);
    assert_int_equal(rows_scan(r, &p, fill, 50, comm_self(), &d, &e), ANYGP_ERR_DATA);
    if (!strstr(e.text, words)) fail_msg("'%s' is not in: %s", words, e.text);
    rows_close(r);
}

static void scan_refuses_with_the_place(void **state)
{
    (void)state;
    name_columns(true);
    make_cells(false), cells[701 * COLS + 2] = NAN;
    check_refusal(false, "row 702, column 'far': the input is missing; fill it, drop the row, or use --missing mean");
    make_cells(false), cells[701 * COLS + 2] = INFINITY;
    check_refusal(true, "row 702, column 'far': the input is infinite; correct it, or drop the row");
    make_cells(false), cells[701 * COLS + WEIGHTS] = -1;
    check_refusal(false, "row 702 has the weight -1; weights must be numbers from 0 to 1e15");
    make_cells(false), cells[701 * COLS + TARGET] = 1e200;
    check_refusal(true, "row 702: the target 1e+200 is too large");
    make_cells(false);
    for (int64_t i = 0; i < ROWS; i++) cells[i * COLS + TARGET] = NAN;
    check_refusal(true, "no row is left to learn from");
}

/* Levels, a level for missing texts, and a text column of one level that is constant unless a cell is missing. */
static void text_columns_are_levels_as_in_the_table(void **state)
{
    (void)state;
    const char csv[] = "colour,one,some,y\nred,a,b,1\nblue,a,b,2\n,a,,3\nred,a,b,4\ngreen,a,b,5\n";
    table *t;
    row_source *r;
    dataset a, b;
    row_blocks *k;
    row_block x;
    block_buffer buffer = {0};
    int64_t group[2] = {0, 1};
    put_file("text.csv", csv, sizeof csv - 1);
    assert_int_equal(table_read("text.csv", NULL, &t, NULL), ANYGP_OK);
    assert_int_equal(rows_open_table(t, &r, NULL), ANYGP_OK);
    rows_part p = {.y = ONE(3, -1)};
    a = whole_table(t, &p, true);
    assert_int_equal(rows_scan(r, &p, true, 100, comm_self(), &b, NULL), ANYGP_OK);
    check_same_dataset(&a, &b);
    assert_int_equal(b.D, 2);
    for (int64_t j = 0; j < 3; j++) {
        const input_spec *c = &a.schema.input[j], *d = &b.schema.input[j];
        assert_true(c->text && d->text && c->levels == d->levels && c->position == d->position && c->fill == d->fill);
        for (int64_t l = 0; l < c->levels; l++) assert_string_equal(c->level[l], d->level[l]);
    }
    assert_int_equal(dataset_standardize(&b, group, true, false, NULL), ANYGP_OK);
    assert_int_equal(
        rows_blocks(r, &p, &b, &(block_plan){.kind = PLAN_GIVEN, .given = (int64_t[5]){0}}, &k, NULL, NULL), ANYGP_OK);
    assert_int_equal(blocks_get(k, 0, &buffer, &x, NULL), ANYGP_OK);
    check_bits(x.X, a.X, 10);
    check_bits(x.y, a.y, 5);
    block_buffer_clear(&buffer);
    blocks_free(k);
    dataset_clear(&a), dataset_clear(&b);
    rows_close(r);
    table_free(t);
}

/* ---------------------------------------------------------------------------------------- ranks */

typedef struct member {
    rank_thread rank;
    comm c;
    const char *path;
    bool fill;
    anygp_status status;
    anygp_error error;
    dataset d;
} member;

static void *scan_as_member(void *ctx)
{
    member *m = ctx;
    row_source *r = open_rows(m->path);
    m->status = rows_scan(r, &part, m->fill, 60, &m->c, &m->d, &m->error);
    rows_close(r);
    return NULL;
}

enum { RANKS = 3 };

static void scan_as_team(member *m, const char *path, bool fill)
{
    static team t;
    pthread_t thread[RANKS];
    team_open(&t, RANKS);
    for (int k = 0; k < RANKS; k++) {
        m[k] = (member){.path = path, .fill = fill};
        m[k].c = team_comm(&t, k, &m[k].rank);
        assert_int_equal(pthread_create(&thread[k], NULL, scan_as_member, &m[k]), 0);
    }
    for (int k = 0; k < RANKS; k++) pthread_join(thread[k], NULL);
    team_close(&t);
}

static void ranks_find_what_one_finds(void **state)
{
    (void)state;
    member m[RANKS];
    write_all(false);
    row_source *t = open_rows(NULL);
    dataset one = scan(t, false, 60);
    scan_as_team(m, "rows.npy", false);
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(m[k].status, ANYGP_OK);
        check_same_dataset(&m[k].d, &m[0].d);
        check_bits(m[k].d.X, one.X, one.n * one.D);
        assert_true(m[k].d.total == one.total && m[k].d.used == one.used && m[k].d.no_weight == one.no_weight);
        for (int64_t j = 0; j < one.D; j++) {
            check_close(m[k].d.x_moments[j].mean, one.x_moments[j].mean, 1e-15);
            check_close((double)m[k].d.x_moments[j].variance, (double)one.x_moments[j].variance, 1e-15);
        }
    }
    for (int k = 0; k < RANKS; k++) dataset_clear(&m[k].d);
    dataset_clear(&one);
    rows_close(t);
}

/* A column that is missing but for a few cells far from 0, none of which is in the sample: each rank finds a shift of its
   own, and the sums are moved to a common one. */
static void cells_that_the_sample_missed_are_summed_without_loss(void **state)
{
    (void)state;
    member m[RANKS];
    make_cells(false);
    name_columns(false);
    for (int64_t i = 0; i < ROWS; i++) cells[i * COLS + 2] = i % 90 == 5 ? 1e9 + (double)(i % 7) : NAN;
    write_table("rare.npy");
    dataset all = build(true);
    scan_as_team(m, "rare.npy", true);
    for (int64_t i = 0; i < m[0].d.n; i++) assert_true(m[0].d.X[i * 3 + 1] == m[0].d.schema.input[2].fill);
    assert_true(all.D == 3 && all.x_moments[1].variance > 0);
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(m[k].status, ANYGP_OK);
        check_close(m[k].d.x_moments[1].mean, all.x_moments[1].mean, 1e-15);
        check_close((double)(m[k].d.x_moments[1].variance / all.x_moments[1].variance), 1, 1e-9);
        dataset_clear(&m[k].d);
    }
    dataset_clear(&all);
}

static void a_bad_row_of_one_rank_fails_all_with_one_sentence(void **state)
{
    (void)state;
    member m[RANKS];
    char words[80];
    int64_t bad = 500;
    while (rows_held(part.seed, bad, part.hold_out)) bad++;
    snprintf(words, sizeof words, "row %d, column 4: the input is missing", (int)bad + 1);
    make_cells(false);
    for (int64_t i = 900; i < ROWS; i++) cells[i * COLS + 4] = NAN;
    cells[bad * COLS + 4] = NAN;
    write_table("bad.npy");
    scan_as_team(m, "bad.npy", false);
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(m[k].status, ANYGP_ERR_DATA);
        assert_non_null(strstr(m[k].error.text, words));
    }
}

/* --------------------------------------------------------------------------------------- blocks */

typedef struct taken {
    int64_t n, *row; /* rows of the whole (standardised) dataset, in the order of the blocks */
    int64_t blocks, *size;
} taken;

/* Which rows of `all` the blocks hold, found by their bits. */
static taken take(row_blocks *b, const dataset *all)
{
    taken t = {.row = calloc(ROWS, sizeof *t.row), .blocks = b->count};
    t.size = calloc((size_t)b->count, sizeof *t.size);
    block_buffer buffer = {0};
    double total = 0;
    for (int64_t i = 0; i < b->count; i++) {
        row_block x;
        anygp_error e;
        assert_int_equal(blocks_get(b, i, &buffer, &x, &e), ANYGP_OK);
        assert_true(x.n <= b->largest && x.index == i);
        t.size[i] = x.n;
        for (int64_t k = 0; k < x.n; k++, t.n++) {
            int64_t r = 0;
            while (r < all->n && memcmp(all->X + r * all->D, x.X + k * all->D, (size_t)all->D * 8)) r++;
            assert_true(r < all->n && all->y[r] == x.y[k] && all->w[r] == x.w[k] && t.n < ROWS);
            t.row[t.n] = r;
            total += x.w[k];
        }
    }
    assert_true(total == b->total && b->total == all->total);
    block_buffer_clear(&buffer);
    return t;
}

static void taken_free(taken *t)
{
    free(t->row);
    free(t->size);
}

static void check_each_once(const taken *t, const dataset *all)
{
    char seen[ROWS] = {0};
    assert_int_equal(t->n, all->n);
    for (int64_t k = 0; k < t->n; k++) {
        assert_false(seen[t->row[k]]);
        seen[t->row[k]] = 1;
    }
}

static void check_same_taken(const taken *a, const taken *b)
{
    assert_true(a->n == b->n && a->blocks == b->blocks);
    assert_memory_equal(a->row, b->row, (size_t)a->n * sizeof *a->row);
    assert_memory_equal(a->size, b->size, (size_t)a->blocks * sizeof *a->size);
}

static taken take_plan(const char *path, const dataset *all, const block_plan *plan, router **route)
{
    row_source *r = open_rows(path);
    dataset d = scan(r, true, 200);
    row_blocks *b = NULL;
    anygp_error e;
    standardize(&d);
    anygp_status status = rows_blocks(r, &part, &d, plan, &b, route, &e);
    if (ANYGP_FAILED(status)) print_error("%s\n", e.text);
    assert_int_equal(status, ANYGP_OK);
    dataset_clear(&d);
    taken t = take(b, all), again = take(b, all);
    check_same_taken(&t, &again);
    taken_free(&again);
    blocks_free(b);
    rows_close(r);
    return t;
}

/* All rows, in the units of the scan: its own sample of everything. */
static dataset all_in_model_units(void)
{
    row_source *r = open_rows(NULL);
    dataset all = scan(r, true, ROWS);
    standardize(&all);
    rows_close(r);
    return all;
}

/* Every used row in exactly one block, none above the cap, from table and files alike. */
static void check_plan(const block_plan *plan, bool routed)
{
    write_all(true);
    dataset all = all_in_model_units();
    router *route = NULL;
    taken t = take_plan(NULL, &all, plan, &route);
    assert_true(routed == (route != NULL) && (!routed || router_blocks(route) == t.blocks));
    router_free(route);
    check_each_once(&t, &all);
    for (int64_t i = 0; i < t.blocks; i++) assert_true(plan->cap == 0 || t.size[i] <= plan->cap);
    for (int k = 0; k < PATHS; k++) {
        taken f = take_plan(paths[k], &all, plan, NULL);
        check_same_taken(&t, &f);
        taken_free(&f);
    }
    taken_free(&t);
    dataset_clear(&all);
}

static void runs_cover_every_used_row_once(void **state)
{
    (void)state;
    check_plan(&(block_plan){.kind = PLAN_RUNS, .blocks = 7, .seed = 3}, false);
    check_plan(&(block_plan){.kind = PLAN_RUNS, .blocks = 7, .cap = 60, .seed = 3}, false);
    check_plan(&(block_plan){.kind = PLAN_RUNS, .blocks = 1, .cap = 3, .seed = 3}, false);
    check_plan(&(block_plan){.kind = PLAN_RUNS, .blocks = 4000, .seed = 3}, false);
}

/* The first column is sorted: blocks of runs from all over have nearly its mean, 0, where thirds would have -1.2 ... 1.2. */
static void runs_see_all_parts_of_a_sorted_file(void **state)
{
    (void)state;
    write_all(true);
    dataset all = all_in_model_units();
    taken t = take_plan("rows.h5", &all, &(block_plan){.kind = PLAN_RUNS, .blocks = 3, .seed = 1}, NULL);
    for (int64_t i = 0, k = 0; i < 3; i++) {
        double mean = 0;
        assert_true(t.size[i] > 200);
        for (int64_t end = k + t.size[i]; k < end; k++) mean += all.X[t.row[k] * all.D] / (double)t.size[i];
        assert_true(fabs(mean) < 0.6);
    }
    taken_free(&t);
    dataset_clear(&all);
}

static void kept_blocks_are_the_same(void **state)
{
    (void)state;
    write_all(true);
    dataset all = all_in_model_units();
    block_plan plan = {.kind = PLAN_RUNS, .blocks = 9, .seed = 2};
    taken t = take_plan("rows.npy", &all, &plan, NULL);
    for (plan.keep = 1000; plan.keep < 1e6; plan.keep *= 10) {
        taken k = take_plan("rows.npy", &all, &plan, NULL);
        check_same_taken(&t, &k);
        taken_free(&k);
    }
    taken_free(&t);
    dataset_clear(&all);
}

/* Two blocks of four fit: the first two that were asked for. */
static void kept_blocks_need_no_file(void **state)
{
    (void)state;
    write_all(true);
    row_source *r = open_rows("rows.npy");
    dataset d = scan(r, true, 50);
    row_blocks *b;
    row_block first, again;
    block_buffer one = {0}, other = {0};
    block_plan plan = {.kind = PLAN_RUNS, .blocks = 4, .keep = 20000};
    standardize(&d);
    assert_int_equal(rows_blocks(r, &part, &d, &plan, &b, NULL, NULL), ANYGP_OK);
    assert_int_equal(truncate("rows.npy", 200), 0);
    assert_int_equal(blocks_get(b, 1, &one, &first, NULL), ANYGP_ERR_DATA);
    write_table("rows.npy");
    rows_close(r);
    blocks_free(b);
    r = open_rows("rows.npy");
    assert_int_equal(rows_blocks(r, &part, &d, &plan, &b, NULL, NULL), ANYGP_OK);
    for (int64_t i = 3; i > 0; i--) assert_int_equal(blocks_get(b, i, &one, &first, NULL), ANYGP_OK);
    assert_int_equal(blocks_get(b, 2, &one, &first, NULL), ANYGP_OK);
    assert_int_equal(truncate("rows.npy", 200), 0);
    assert_int_equal(blocks_get(b, 2, &other, &again, NULL), ANYGP_OK);
    assert_true(first.X == again.X && first.n > 0 && other.cells == NULL);
    assert_int_equal(blocks_get(b, 3, &other, &again, NULL), ANYGP_OK);
    assert_int_equal(blocks_get(b, 1, &other, &again, NULL), ANYGP_ERR_DATA);
    block_buffer_clear(&one), block_buffer_clear(&other);
    dataset_clear(&d);
    blocks_free(b);
    rows_close(r);
}

/* Each row is where the router would send it.  No two rows are equal here. */
static void check_routing(const block_plan *plan, const char *path)
{
    row_source *r = open_rows(path);
    dataset d = scan(r, true, 200);
    row_blocks *b;
    router *route;
    row_block x;
    block_buffer buffer = {0};
    int64_t id[ROWS];
    standardize(&d);
    assert_int_equal(rows_blocks(r, &part, &d, plan, &b, &route, NULL), ANYGP_OK);
    assert_true(b->count >= plan->blocks / 2 && b->count == router_blocks(route));
    for (int64_t i = 0; i < b->count; i++) {
        assert_int_equal(blocks_get(b, i, &buffer, &x, NULL), ANYGP_OK);
        assert_int_equal(router_route(route, x.n, x.X, b->D, id, NULL), ANYGP_OK);
        for (int64_t k = 0; k < x.n; k++) assert_int_equal(id[k], i);
    }
    block_buffer_clear(&buffer);
    router_free(route);
    blocks_free(b);
    dataset_clear(&d);
    rows_close(r);
}

static void partitions_cover_every_used_row_once(void **state)
{
    (void)state;
    for (plan_kind kind = PLAN_RANDOM; kind <= PLAN_KDTREE; kind++) {
        check_plan(&(block_plan){.kind = kind, .blocks = 8, .seed = 3}, true);
        check_plan(&(block_plan){.kind = kind, .blocks = 4, .cap = 37, .seed = 3}, true);
    }
    check_plan(&(block_plan){.kind = PLAN_RANDOM, .blocks = 2000, .keep = 3000}, true);
}

static void routers_find_the_block_of_each_row(void **state)
{
    (void)state;
    write_all(true);
    for (plan_kind kind = PLAN_KMEANS; kind <= PLAN_KDTREE; kind++)
        for (int64_t cap = 0; cap < 50; cap += 40) {
            check_routing(&(block_plan){.kind = kind, .blocks = 6, .cap = cap, .seed = 1}, NULL);
            check_routing(&(block_plan){.kind = kind, .blocks = 6, .cap = cap, .seed = 1}, "fortran.npy");
        }
}

/* By the numbers of the rows: a block is not a run, and its size not far from that of the others. */
static void random_blocks_are_balanced_and_mixed(void **state)
{
    (void)state;
    write_all(true);
    dataset all = all_in_model_units();
    taken t = take_plan("rows.npy", &all, &(block_plan){.kind = PLAN_RANDOM, .blocks = 5, .seed = 9}, NULL);
    int64_t neighbours = 0;
    assert_int_equal(t.blocks, 5);
    for (int64_t i = 0; i < 5; i++) assert_in_range(t.size[i], all.n / 5 - 25, all.n / 5 + 25);
    for (int64_t k = 1; k < t.n; k++) neighbours += t.row[k] == t.row[k - 1] + 1;
    assert_in_range(neighbours, all.n / 10, all.n / 3);
    taken_free(&t);
    dataset_clear(&all);
}

static void given_blocks_are_numbered_as_they_appear(void **state)
{
    (void)state;
    static const int64_t wanted[4] = {INT64_MIN, 70, -3, 9};
    int64_t given[ROWS], *ids = NULL, rank[4] = {0}, found = 0, used[ROWS], n = 0;
    write_all(true);
    for (int64_t i = 0; i < ROWS; i++) given[i] = wanted[(i * i) % 4 == 1 ? 1 : i % 3 == 0 ? 3 : i % 2 ? 2 : 0];
    check_plan(&(block_plan){.kind = PLAN_GIVEN, .given = given}, true);
    dataset all = all_in_model_units();
    taken t = take_plan("rows.h5", &all, &(block_plan){.kind = PLAN_GIVEN, .given = given}, NULL);
    for (int64_t i = 0; i < ROWS; i++)
        if (!rows_held(part.seed, i, part.hold_out) && cells[i * COLS + WEIGHTS] > 0 &&
            !isnan(cells[i * COLS + TARGET]))
            used[n++] = i;
    for (int64_t b = 0, k = 0; b < t.blocks; b++)
        for (int64_t j = 0; j < t.size[b]; j++, k++) {
            if (j == 0) rank[found++] = given[used[t.row[k]]];
            assert_true(given[used[t.row[k]]] == rank[b]);
            assert_true(j == 0 || t.row[k] > t.row[k - 1]);
        }
    row_source *r = open_rows(NULL);
    dataset d = scan(r, true, 50);
    row_blocks *b;
    assert_int_equal(
        rows_blocks(r, &part, &d, &(block_plan){.kind = PLAN_GIVEN, .given = given, .ids = &ids}, &b, NULL, NULL), 0);
    assert_memory_equal(ids, rank, (size_t)b->count * sizeof *ids);
    for (int64_t k = 0, seen = 0; seen < b->count; k++) {
        int64_t i = 0;
        while (i < seen && ids[i] != given[used[k]]) i++;
        if (i == seen) assert_true(ids[seen++] == given[used[k]]);
    }
    free(ids);
    blocks_free(b);
    dataset_clear(&d);
    rows_close(r);
    taken_free(&t);
    dataset_clear(&all);
}

/* What cannot be put anywhere is refused by a sentence that names the directory. */
static void a_scratch_file_needs_a_directory(void **state)
{
    (void)state;
    write_all(true);
    row_source *r = open_rows("rows.npy");
    dataset d = scan(r, true, 50);
    row_blocks *b;
    anygp_error e;
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "nowhere", 1);
    assert_int_equal(rows_blocks(r, &part, &d, &(block_plan){.kind = PLAN_RANDOM, .blocks = 2}, &b, NULL, &e),
                     ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "nowhere"));
    assert_null(b);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
    dataset_clear(&d);
    rows_close(r);
}

/* Threads ask at once, each with its own buffer. */
typedef struct asker {
    pthread_t thread;
    row_blocks *b;
    double sum;
} asker;

static void *ask(void *ctx)
{
    asker *a = ctx;
    block_buffer buffer = {0};
    row_block x;
    for (int64_t i = 0; i < 4 * a->b->count; i++) {
        if (blocks_get(a->b, i % a->b->count, &buffer, &x, NULL)) return NULL;
        for (int64_t k = 0; k < x.n; k++) a->sum += x.w[k];
    }
    block_buffer_clear(&buffer);
    return NULL;
}

static void threads_may_ask_at_once(void **state)
{
    (void)state;
    write_all(true);
    for (plan_kind kind = PLAN_RUNS; kind <= PLAN_RANDOM; kind++) {
        row_source *r = open_rows("rows.npy");
        dataset d = scan(r, true, 50);
        asker a[4] = {0};
        row_blocks *b;
        block_plan plan = {.kind = kind, .blocks = 20, .keep = 20000};
        assert_int_equal(rows_blocks(r, &part, &d, &plan, &b, NULL, NULL), ANYGP_OK);
        for (int k = 0; k < 4; k++) {
            a[k].b = b;
            assert_int_equal(pthread_create(&a[k].thread, NULL, ask, &a[k]), 0);
        }
        for (int k = 0; k < 4; k++) {
            pthread_join(a[k].thread, NULL);
            assert_true(a[k].sum == 4 * d.total);
        }
        blocks_free(b);
        dataset_clear(&d);
        rows_close(r);
    }
}

static void only_arrays_can_stay_on_disk(void **state)
{
    (void)state;
    row_source *r;
    anygp_error e;
    assert_true(rows_can_stay("a.npy") && rows_can_stay("b/a.H5") && rows_can_stay("a.hdf5"));
    assert_false(rows_can_stay("a.npy.gz") || rows_can_stay("a.csv") || rows_can_stay("npy") || rows_can_stay("-"));
    put_file("a.csv", "1,2\n3,4\n", 8);
    assert_int_equal(rows_open_file("a.csv", NULL, &r, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "cannot be accessed by number"));
    assert_null(r);
    rows_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_equals_building_the_whole_table),
        cmocka_unit_test(table_and_files_give_the_same_sample_and_moments),
        cmocka_unit_test(sample_is_uniform_over_the_used_rows),
        cmocka_unit_test(few_used_rows_are_found),
        cmocka_unit_test(scan_refuses_with_the_place),
        cmocka_unit_test(ranks_find_what_one_finds),
        cmocka_unit_test(cells_that_the_sample_missed_are_summed_without_loss),
        cmocka_unit_test(a_bad_row_of_one_rank_fails_all_with_one_sentence),
        cmocka_unit_test(text_columns_are_levels_as_in_the_table),
        cmocka_unit_test(runs_cover_every_used_row_once),
        cmocka_unit_test(runs_see_all_parts_of_a_sorted_file),
        cmocka_unit_test(partitions_cover_every_used_row_once),
        cmocka_unit_test(routers_find_the_block_of_each_row),
        cmocka_unit_test(random_blocks_are_balanced_and_mixed),
        cmocka_unit_test(given_blocks_are_numbered_as_they_appear),
        cmocka_unit_test(a_scratch_file_needs_a_directory),
        cmocka_unit_test(threads_may_ask_at_once),
        cmocka_unit_test(only_arrays_can_stay_on_disk),
        cmocka_unit_test(kept_blocks_are_the_same),
        cmocka_unit_test(kept_blocks_need_no_file),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
