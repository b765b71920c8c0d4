#include "support.h"

#include <float.h>
#include <string.h>

#include "base/memory.h"
#include "data/partition/partition.h"

enum { D = 3, LD = 5, KINDS = 3 };

/* Normal rows with poison between them. */
static double *make_rows(uint64_t stream, int64_t n)
{
    double *X = mem_doubles(n, LD);
    fill_normal(stream, n * LD, X);
    for (int64_t i = 0; i < n; i++)
        for (int j = D; j < LD; j++) X[i * LD + j] = NAN;
    return X;
}

/* Rows on the corners of a grid: many are equal, and many are as far from two centres. */
static double *make_grid_rows(uint64_t stream, int64_t n, double step)
{
    double *X = make_rows(stream, n);
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < D; j++) X[i * LD + j] = step * round(X[i * LD + j] / step);
    return X;
}

static router *make_router(router_kind kind, int64_t n, const double *X, int64_t P)
{
    router *r = NULL;
    double *means = mem_doubles(P, D);
    anygp_status status = ANYGP_ERR_INTERNAL;
    for (int64_t i = 0; i < P; i++) memcpy(means + i * D, X + i % n * LD, D * sizeof *means);
    if (kind == ROUTER_KMEANS) status = router_kmeans(n, D, X, LD, P, 5, NULL, &r, NULL);
    if (kind == ROUTER_KDTREE) status = router_kdtree(n, D, X, LD, P, &r, NULL);
    if (kind == ROUTER_MEANS) status = router_means(P, D, means, &r, NULL);
    assert_int_equal(status, ANYGP_OK);
    assert_int_equal(router_kind_of(r), kind);
    assert_int_equal(router_inputs(r), D);
    free(means);
    return r;
}

static int64_t *route(const router *r, int64_t n, const double *X)
{
    int64_t *block = mem_alloc(n, sizeof *block);
    for (int64_t i = 0; i < n; i++) block[i] = -1;
    assert_int_equal(router_route(r, n, X, LD, block, NULL), ANYGP_OK);
    for (int64_t i = 0; i < n; i++) assert_in_range(block[i], 0, router_blocks(r) - 1);
    return block;
}

static int64_t *block_sizes(const router *r, int64_t n, const int64_t *block)
{
    int64_t *size = mem_zeroed(router_blocks(r), sizeof *size);
    for (int64_t i = 0; i < n; i++) size[block[i]]++;
    return size;
}

/* Splits every block that has more than cap rows; block[n] is kept up to date, as are the other blocks' rows. */
static void split_all(router *r, int64_t cap, int64_t n, const double *X, int64_t *block)
{
    double *rows = mem_doubles(n, LD);
    int64_t *place = mem_alloc(n, sizeof *place), *part = mem_alloc(n, sizeof *part), blocks = router_blocks(r);
    for (int64_t id = 0; id < blocks; id++) {
        int64_t m = 0, former = router_blocks(r);
        for (int64_t i = 0; i < n; i++) {
            if (block[i] != id) continue;
            memcpy(rows + m * LD, X + i * LD, LD * sizeof *rows);
            place[m++] = i;
        }
        if (m == 0) continue;
        assert_int_equal(router_split(r, id, cap, m, rows, LD, part, NULL), ANYGP_OK);
        for (int64_t i = 0; i < m; i++) {
            assert_true(part[i] == id || (part[i] >= former && part[i] < router_blocks(r)));
            block[place[i]] = part[i];
        }
    }
    free(rows);
    free(place);
    free(part);
}

static void check_cap(const router *r, int64_t cap, int64_t n, const int64_t *block)
{
    int64_t *size = block_sizes(r, n, block);
    for (int64_t b = 0; b < router_blocks(r); b++) assert_in_range(size[b], 0, cap);
    free(size);
}

/* ------------------------------------------------------------------------------------------- centres */

static void rows_go_to_the_nearest_centre_and_to_the_lowest_on_ties(void **state)
{
    (void)state;
    enum { N = 1500, P = 40 };
    for (int grid = 0; grid < 2; grid++) {
        double *X = grid ? make_grid_rows(1, N, 1) : make_rows(1, N);
        for (int kind = 0; kind < KINDS; kind++) {
            if (kind == ROUTER_KDTREE) continue;
            router *r = make_router(kind, N, X, P);
            int64_t *block = route(r, N, X), rows, cols;
            const double *centre = router_values(r, &rows, &cols) + cols + 2;
            for (int64_t i = 0; i < N; i++) {
                double least = INFINITY;
                int64_t best = -1;
                for (int64_t c = 0; c < router_blocks(r); c++) {
                    double sum = 0;
                    for (int j = 0; j < D; j++) sum += pow(X[i * LD + j] - centre[c * cols + j], 2);
                    if (sum < least) least = sum, best = c;
                }
                assert_int_equal(block[i], best);
            }
            free(block);
            router_free(r);
        }
        free(X);
    }
}

static void a_rows_block_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    enum { N = 400, P = 37 };
    double *X = make_grid_rows(2, N, 0.5);
    for (int kind = 0; kind < KINDS; kind++) {
        router *r = make_router(kind, N, X, P);
        int64_t *block = route(r, N, X), one;
        for (int64_t i = 0; i < N; i++) {
            assert_int_equal(router_route(r, 1, X + i * LD, LD, &one, NULL), ANYGP_OK);
            assert_int_equal(one, block[i]);
        }
        free(block);
        router_free(r);
    }
    free(X);
}

static void same_seed_same_router_and_another_seed_another(void **state)
{
    (void)state;
    enum { N = 900 };
    double *X = make_rows(3, N);
    router *r[3];
    const double *v[3];
    int64_t rows, cols;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(router_kmeans(N, D, X, LD, 20, i < 2 ? 7 : 8, NULL, &r[i], NULL), ANYGP_OK);
        v[i] = router_values(r[i], &rows, &cols);
        assert_int_equal(rows, 21);
    }
    size_t bytes = (size_t)(rows * cols) * sizeof(double);
    assert_memory_equal(v[0], v[1], bytes);
    assert_memory_not_equal(v[0], v[2], bytes);
    for (int i = 0; i < 3; i++) router_free(r[i]);
    free(X);
}

/* -------------------------------------------------------------------------------------------- kdtree */

static void kdtree_blocks_of_different_rows_are_equal_up_to_one(void **state)
{
    (void)state;
    enum { N = 1003 };
    double *X = make_rows(4, N);
    const int64_t counts[] = {1, 2, 3, 5, 7, 8, 64, 100, 512, N};
    for (int c = 0; c < 10; c++) {
        int64_t P = counts[c], slack = (P & (P - 1)) == 0 || P == N ? 1 : 2; /* thirds of halves round twice */
        router *r = make_router(ROUTER_KDTREE, N, X, P);
        assert_int_equal(router_blocks(r), P);
        int64_t *block = route(r, N, X), *size = block_sizes(r, N, block), least = N, most = 0;
        for (int64_t b = 0; b < P; b++) {
            least = size[b] < least ? size[b] : least;
            most = size[b] > most ? size[b] : most;
        }
        assert_true(least >= 1 && most - least <= slack);
        free(size);
        free(block);
        router_free(r);
    }
    free(X);
}

static void kdtree_cuts_the_widest_column_at_the_median(void **state)
{
    (void)state;
    double X[7 * LD] = {0};
    for (int i = 0; i < 7; i++) X[i * LD] = i % 3, X[i * LD + 1] = 10 * ((i * 3) % 7), X[i * LD + 2] = -i;
    router *r = make_router(ROUTER_KDTREE, 7, X, 2);
    double probe[4 * LD] = {0};
    const double second[] = {-5, 24.9, 25.1, 1e9}; /* 0 10 20 | 30 40 50 60 */
    for (int i = 0; i < 4; i++) probe[i * LD + 1] = second[i], probe[i * LD] = i % 2 ? 1e6 : -1e6;
    int64_t *block = route(r, 4, probe);
    for (int i = 0; i < 4; i++) assert_int_equal(block[i], i >= 2);
    free(block);
    router_free(r);
}

static void kdtree_keeps_equal_rows_together_on_the_nearer_side(void **state)
{
    (void)state;
    const double column[2][8] = {{0, 1, 1, 1, 1, 2, 2, 2}, {0, 0, 0, 1, 1, 1, 1, 2}};
    const int64_t left[2] = {5, 3};
    for (int c = 0; c < 2; c++) {
        double X[8 * LD] = {0};
        for (int i = 0; i < 8; i++) X[i * LD + 2] = column[c][i];
        router *r = make_router(ROUTER_KDTREE, 8, X, 2);
        int64_t *block = route(r, 8, X);
        for (int i = 0; i < 8; i++) assert_int_equal(block[i], i >= left[c]);
        free(block);
        router_free(r);
    }
}

static int64_t different_rows(int64_t n, const double *X)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
        while (k < i && memcmp(X + i * LD, X + k * LD, D * sizeof *X) != 0) k++;
        count += k == i;
    }
    return count;
}

static void kdtree_of_few_different_rows_has_a_block_for_each(void **state)
{
    (void)state;
    enum { N = 300 };
    double *X = make_grid_rows(5, N, 2);
    for (int64_t i = 0; i < N * LD; i++) X[i] += 0.0; /* no -0 */
    router *r = make_router(ROUTER_KDTREE, N, X, N);
    int64_t *block = route(r, N, X);
    assert_int_equal(router_blocks(r), different_rows(N, X));
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < i; k++)
            assert_int_equal(block[i] == block[k], memcmp(X + i * LD, X + k * LD, D * sizeof *X) == 0);
    free(block);
    router_free(r);
    for (int64_t i = 0; i < N; i++) X[i * LD] = X[i * LD + 1] = X[i * LD + 2] = 4;
    for (int kind = ROUTER_KMEANS; kind <= ROUTER_KDTREE; kind++) {
        r = make_router(kind, N, X, 8);
        assert_int_equal(router_blocks(r), 1);
        router_free(r);
    }
    free(X);
}

/* ------------------------------------------------------------------------------------------ splitting */

static void parts_keep_the_cap_and_routing_finds_them_again(void **state)
{
    (void)state;
    enum { N = 2000, P = 6 };
    double *X = make_rows(6, N);
    const int64_t caps[] = {300, 77, 10, 1};
    for (int kind = 0; kind < KINDS; kind++) {
        router *r = make_router(kind, N, X, P);
        int64_t *block = route(r, N, X);
        for (int c = 0; c < 4; c++) { /* each cap splits parts of the one before */
            split_all(r, caps[c], N, X, block);
            check_cap(r, caps[c], N, block);
            int64_t *again = route(r, N, X);
            assert_memory_equal(block, again, N * sizeof *block);
            free(again);
        }
        assert_int_equal(router_blocks(r), N);
        free(block);
        router_free(r);
    }
    free(X);
}

static void one_cut_makes_as_few_parts_as_the_cap_allows(void **state)
{
    (void)state;
    enum { N = 1000 };
    double *X = make_rows(7, N);
    int64_t *block = mem_alloc(N, sizeof *block);
    const int64_t caps[] = {1000, 999, 500, 350, 300, 90};
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < 6; c++) {
            router *r = make_router(kind, N, X, 1);
            assert_int_equal(router_split(r, 0, caps[c], N, X, LD, block, NULL), ANYGP_OK);
            assert_int_equal(router_blocks(r), (N + caps[c] - 1) / caps[c]);
            router_free(r);
        }
    free(block);
    free(X);
}

/* Far clusters that fit the cap are not torn apart. */
static void centres_are_split_between_clusters_that_fit(void **state)
{
    (void)state;
    enum { N = 400 };
    double *X = make_rows(8, N);
    int64_t block[N];
    for (int64_t i = 0; i < N; i++) X[i * LD + 1] += i % 4 == 0 ? 1000 : 0;
    router *r = make_router(ROUTER_MEANS, N, X, 1);
    assert_int_equal(router_split(r, 0, 300, N, X, LD, block, NULL), ANYGP_OK);
    for (int64_t i = 0; i < N; i++) assert_int_equal(block[i] == block[0], i % 4 == 0);
    router_free(r);
    free(X);
}

static void equal_rows_are_split_by_place_and_routed_to_the_first(void **state)
{
    (void)state;
    enum { N = 100, CAP = 8 };
    double *X = mem_zeroed(N * LD, sizeof *X);
    for (int64_t i = 0; i < N; i++) X[i * LD] = 0.1, X[i * LD + 1] = -1e3, X[i * LD + 2] = 1e-300;
    for (int kind = 0; kind < KINDS; kind++) {
        router *r = make_router(kind, N, X, 1);
        int64_t *block = route(r, N, X), *again;
        split_all(r, CAP, N, X, block);
        check_cap(r, CAP, N, block);
        assert_int_equal(router_blocks(r), (N + CAP - 1) / CAP);
        for (int64_t i = 0, changes = 0; i + 1 < N; i++)
            assert_true((changes += block[i] != block[i + 1]) < router_blocks(r));
        again = route(r, N, X);
        for (int64_t i = 0; i < N; i++) assert_int_equal(again[i], 0);
        free(again);
        free(block);
        router_free(r);
    }
    free(X);
}

/* Rows that are hard to cut: powers of ten, neighbouring numbers far from zero, those whose squares overflow, those whose
   squares vanish (so that only a kdtree tells them apart), and many equal ones. */
static double hard_number(int set, int64_t i)
{
    switch (set) {
    case 0: return pow(10, (double)(i % 200) - 100);
    case 1: return 1e8 * (1 + (double)i * DBL_EPSILON);
    case 2: return (i % 2 ? 1e300 : -1e300) + (double)i * 1e290;
    case 3: return (double)i * 1e-310;
    default: return i % 10 == 0 ? (double)i : 3;
    }
}

static void hard_rows_keep_the_cap_too(void **state)
{
    (void)state;
    enum { N = 500, CAP = 20, SETS = 5 };
    double *X = mem_zeroed(N * LD, sizeof *X);
    double centre[D] = {0};
    for (int set = 0; set < SETS; set++) {
        for (int64_t i = 0; i < N; i++) X[i * LD + 1] = hard_number(set, i);
        for (int kind = 0; kind < KINDS; kind++) {
            router *r = NULL;
            int64_t block[N], rows, cols;
            if (kind == ROUTER_KDTREE)
                router_kdtree(N, D, X, LD, 1, &r, NULL);
            else
                router_means(1, D, centre, &r, NULL);
            assert_int_equal(router_split(r, 0, CAP, N, X, LD, block, NULL), ANYGP_OK);
            check_cap(r, CAP, N, block);
            const double *v = router_values(r, &rows, &cols);
            for (int64_t i = 0; i < rows * cols; i++) assert_true(isfinite(v[i]));
            int64_t *again = route(r, N, X);
            if (set < 3 || (set == 3 && kind == ROUTER_KDTREE)) assert_memory_equal(block, again, sizeof block);
            free(again);
            router_free(r);
        }
    }
    free(X);
}

/* -------------------------------------------------------------------------------------- the model file */

static void values_give_the_same_routes_and_go_on_splitting_the_same(void **state)
{
    (void)state;
    enum { N = 700 };
    double *X = make_rows(9, N), *Y = make_rows(10, N);
    for (int kind = 0; kind < KINDS; kind++) {
        router *r = make_router(kind, N, X, 9), *copy = NULL;
        int64_t *block = route(r, N, X), rows, cols, copy_rows, copy_cols;
        split_all(r, 50, N, X, block);
        const double *v = router_values(r, &rows, &cols), *w;
        assert_int_equal(router_from_values(rows, cols, v, D, &copy, NULL), ANYGP_OK);
        assert_int_equal(router_kind_of(copy), kind);
        assert_int_equal(router_blocks(copy), router_blocks(r));
        int64_t *there = route(r, N, Y), *here = route(copy, N, Y);
        assert_memory_equal(there, here, N * sizeof *here);
        split_all(r, 11, N, X, block);
        free(here);
        here = route(copy, N, X);
        split_all(copy, 11, N, X, here);
        assert_memory_equal(block, here, N * sizeof *here);
        v = router_values(r, &rows, &cols);
        w = router_values(copy, &copy_rows, &copy_cols);
        assert_true(rows == copy_rows && cols == copy_cols);
        assert_memory_equal(v, w, (size_t)(rows * cols) * sizeof *v);
        free(there);
        free(here);
        free(block);
        router_free(r);
        router_free(copy);
    }
    free(X);
    free(Y);
}

typedef struct dice {
    random_stream s;
    uint64_t at;
} dice;

static int64_t throw_below(dice *d, int64_t n) { return random_below(d->s, d->at++, n); }

static double odd_number(dice *d, int64_t rows)
{
    const double odd[] = {NAN, INFINITY, -INFINITY, -1, -0.0, 0.5, DBL_MAX, -DBL_MAX, DBL_MIN, 9.1e18, 1e15};
    int64_t i = throw_below(d, 30);
    return i < 11 ? odd[i] : (double)throw_below(d, rows + 3);
}

/* Routes and splits with what was accepted; true if it was. */
static bool try_values(int64_t rows, int64_t cols, const double *values, int64_t n, const double *X)
{
    router *r = NULL;
    anygp_error e = {0};
    anygp_status status = router_from_values(rows, cols, values, D, &r, &e);
    if (ANYGP_FAILED(status)) {
        assert_null(r);
        assert_int_equal(status, ANYGP_ERR_FILE);
        assert_true(e.text[0] != 0);
        return false;
    }
    int64_t *block = route(r, n, X);
    assert_int_equal(
        router_split(r, throw_below(&(dice){{1, RANDOM_TEST, 2}, 0}, router_blocks(r)), 3, n, X, LD, block, NULL),
        ANYGP_OK);
    free(block);
    free(route(r, n, X));
    router_free(r);
    return true;
}

static void damaged_arrays_are_refused_or_safe(void **state)
{
    (void)state;
    enum { N = 60, TRIES = 3000 };
    double *X = make_rows(11, N);
    int64_t accepted = 0;
    dice d = {{3, RANDOM_TEST, 1}, 0};
    for (int kind = 0; kind < KINDS; kind++) {
        router *r = make_router(kind, N, X, 4);
        int64_t *block = route(r, N, X), rows, cols;
        split_all(r, 5, N, X, block);
        const double *v = router_values(r, &rows, &cols);
        double *damaged = mem_doubles(rows, cols);
        for (int t = 0; t < TRIES; t++) {
            memcpy(damaged, v, (size_t)(rows * cols) * sizeof *v);
            for (int64_t k = throw_below(&d, 4); k >= 0; k--)
                damaged[throw_below(&d, t % 2 ? rows * cols : 3 * cols)] = odd_number(&d, rows);
            accepted += try_values(t % 5 ? rows : throw_below(&d, rows + 1), t % 7 ? cols : throw_below(&d, cols + 1),
                                   damaged, N, X);
        }
        free(damaged);
        free(block);
        router_free(r);
    }
    assert_true(accepted > TRIES / 10 && accepted < 2 * TRIES);
    free(X);
}

/* Nodes of whole numbers under a good head: forests, rings, shared and lost parts. */
static void random_arrays_are_refused_or_safe(void **state)
{
    (void)state;
    enum { N = 20, TRIES = 40000, ROWS = 8 };
    double *X = make_rows(12, N), values[ROWS * LD];
    int64_t accepted = 0;
    dice d = {{3, RANDOM_TEST, 2}, 0};
    for (int t = 0; t < TRIES; t++) {
        int64_t kind = throw_below(&d, KINDS), cols = kind == ROUTER_KDTREE ? 4 : D + 2;
        int64_t top = kind == ROUTER_KDTREE ? 1 : 1 + throw_below(&d, 3), rows = 1 + top + 2 * throw_below(&d, 3);
        for (int64_t i = 0; i < rows * cols; i++) values[i] = (double)throw_below(&d, i % cols < 2 ? rows : D);
        values[0] = (double)kind, values[1] = (double)top, values[2] = D;
        for (int64_t i = 1; i < rows; i++) { /* half of the nodes as they should be, or nothing would be accepted */
            int64_t s = i - 1 - top, left = 1 + top + 2 * throw_below(&d, 3);
            if (throw_below(&d, 2)) values[i * cols] = left < rows - 1 ? (double)left : 0;
            if (throw_below(&d, 4)) values[i * cols + 1] = s < 0 ? (double)(i - 1) : (double)(s % 2 ? top + s / 2 : 0);
        }
        accepted += try_values(rows, cols, values, N, X);
    }
    assert_true(accepted > 100 && accepted < TRIES / 2);
    free(X);
}

/* Two splits of a kdtree: the root's parts are rows 2 and 3, the parts of one of these rows 4 and 5. */
static void lost_shared_and_circular_parts_are_refused(void **state)
{
    (void)state;
    enum { ROWS = 6, COLS = 4 };
    const double good[ROWS * COLS] = {1,
                                      1,
                                      D,
                                      0,
                                      /* root: */ 2,
                                      0,
                                      0,
                                      0.5,
                                      /* left: */ 4,
                                      0,
                                      1,
                                      0.5,
                                      /* right: */ 0,
                                      1,
                                      0,
                                      0,
                                      /* left of left: */ 0,
                                      0,
                                      0,
                                      0,
                                      /* right of left: */ 0,
                                      2,
                                      0,
                                      0};
    const struct {
        int64_t row, column;
        double value;
    } damage[] = {{2, 0, 0}, {1, 0, 4}, {3, 0, 4}, {2, 0, 2}, {2, 0, 1},
                  {4, 0, 2}, {1, 0, 3}, {5, 1, 1}, {4, 1, 2}, {1, 1, 1}};
    double *X = make_rows(13, 9);
    assert_true(try_values(ROWS, COLS, good, 9, X));
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        double values[ROWS * COLS];
        memcpy(values, good, sizeof values);
        values[damage[i].row * COLS + damage[i].column] = damage[i].value;
        assert_false(try_values(ROWS, COLS, values, 9, X));
    }
    free(X);
}

static void wrong_arguments_get_a_sentence(void **state)
{
    (void)state;
    double X[2 * D] = {0, 0, 0, 1, 1, 1}, nan[D] = {0, NAN, 0};
    int64_t block[2];
    anygp_error e;
    router *r = NULL;
    assert_int_equal(router_kmeans(0, D, X, D, 2, 0, NULL, &r, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(router_kdtree(2, D, X, D, 0, &r, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(router_means(0, D, X, &r, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(router_means(1, D, nan, &r, &e), ANYGP_ERR_DATA);
    assert_null(r);
    assert_int_equal(router_means(2, D, X, &r, &e), ANYGP_OK);
    assert_int_equal(router_split(r, 2, 1, 2, X, D, block, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(router_split(r, 0, 0, 2, X, D, block, &e), ANYGP_ERR_ARGUMENT);
    assert_int_equal(router_blocks(r), 2);
    router_free(r);
    router_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_to_the_nearest_centre_and_to_the_lowest_on_ties),
        cmocka_unit_test(a_rows_block_does_not_depend_on_its_neighbours),
        cmocka_unit_test(same_seed_same_router_and_another_seed_another),
        cmocka_unit_test(kdtree_blocks_of_different_rows_are_equal_up_to_one),
        cmocka_unit_test(kdtree_cuts_the_widest_column_at_the_median),
        cmocka_unit_test(kdtree_keeps_equal_rows_together_on_the_nearer_side),
        cmocka_unit_test(kdtree_of_few_different_rows_has_a_block_for_each),
        cmocka_unit_test(parts_keep_the_cap_and_routing_finds_them_again),
        cmocka_unit_test(one_cut_makes_as_few_parts_as_the_cap_allows),
        cmocka_unit_test(centres_are_split_between_clusters_that_fit),
        cmocka_unit_test(equal_rows_are_split_by_place_and_routed_to_the_first),
        cmocka_unit_test(hard_rows_keep_the_cap_too),
        cmocka_unit_test(values_give_the_same_routes_and_go_on_splitting_the_same),
        cmocka_unit_test(damaged_arrays_are_refused_or_safe),
        cmocka_unit_test(random_arrays_are_refused_or_safe),
        cmocka_unit_test(lost_shared_and_circular_parts_are_refused),
        cmocka_unit_test(wrong_arguments_get_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
