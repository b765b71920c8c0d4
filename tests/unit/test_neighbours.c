/* Nearest rows, orders and groups against their definitions, which take quadratic time; with ties and equal rows. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "data/neighbours/groups.h"
#include "data/neighbours/order.h"

enum { N = 300, WIDE = 12, K = 7 };

/* Rows on a grid of whole numbers, so that distances are exact and many are equal, and every seventh row the same as the one before it. */
static void fill_rows(int64_t D, double *X)
{
    fill_normal(5, N * D, X);
    for (int64_t i = 0; i < N * D; i++) X[i] = rint(3 * X[i]);
    for (int64_t i = 7; i < N; i += 7)
        for (int64_t d = 0; d < D; d++) X[i * D + d] = X[(i - 1) * D + d];
}

static double distance(int64_t D, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t d = 0; d < D; d++) sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
}

/* ---------------------------------------------------------------------------------------- nearest rows */

static bool nearer(int64_t D, const double *X, const double *x, int64_t a, int64_t b)
{
    double one = distance(D, x, X + a * D), other = distance(D, x, X + b * D);
    return one < other || (one == other && a < b);
}

/* Of the rows before `before`, without row `but`; found has room for one more than k. */
static int64_t nearest_by_definition(int64_t D, const double *X, const double *x, int64_t before, int64_t but,
                                     int64_t k, int64_t *found)
{
    int64_t count = 0;
    for (int64_t j = 0; j < before; j++) {
        if (j == but) continue;
        int64_t at = count < k ? count++ : k;
        for (found[at] = j; at > 0 && nearer(D, X, x, j, found[at - 1]); at--)
            found[at] = found[at - 1], found[at - 1] = j;
    }
    return count;
}

static void lists_are_the_nearest_earlier_rows(void **unused)
{
    (void)unused;
    const int64_t widths[] = {1, 2, 5, WIDE}; /* by a tree, and by products */
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        int64_t D = widths[w], found[K + 1];
        double X[N * WIDE];
        near_rows near;
        anygp_error e;
        fill_rows(D, X);
        assert_int_equal(neighbours_earlier(N, D, X, NULL, K, &near, &e), ANYGP_OK);
        for (int64_t i = 0; i < N; i++) {
            assert_int_equal(near.count[i], nearest_by_definition(D, X, X + i * D, i, -1, K, found));
            for (int64_t j = 0; j < near.count[i]; j++) assert_int_equal(near.row[i * K + j], found[j]);
        }
        near_rows_clear(&near);
    }
}

/* Lists of all others, for every third row; long ones are kept in another way, and some are longer than there are rows. */
static void lists_are_the_nearest_other_rows(void **unused)
{
    (void)unused;
    enum { SOME = N / 3 };
    const int64_t widths[] = {2, WIDE}, lengths[] = {K, 150, N + 5};
    for (int c = 0; c < 6; c++) {
        int64_t D = widths[c % 2], k = lengths[c / 2], found[N + 6], which[SOME];
        double X[N * WIDE];
        near_rows near = {.on_disk = c == 2};
        anygp_error e;
        fill_rows(D, X);
        for (int64_t i = 0; i < SOME; i++) which[i] = 3 * i;
        assert_int_equal(neighbours_other(N, D, X, NULL, SOME, which, k, comm_self(), &near, &e), ANYGP_OK);
        for (int64_t i = 0; i < SOME; i++) {
            assert_int_equal(near.count[i], nearest_by_definition(D, X, X + 3 * i * D, N, 3 * i, k, found));
            for (int64_t j = 0; j < near.count[i]; j++) assert_int_equal(near.row[i * k + j], found[j]);
        }
        near_rows_clear(&near);
    }
}

/* ---------------------------------------------------------------------------------------------- orders */

static void maximin_is_always_the_farthest_row(void **unused)
{
    (void)unused;
    for (int64_t D = 1; D <= 3; D++) {
        double X[N * 3], from[N];
        int64_t order[N];
        anygp_error e;
        fill_rows(D, X);
        assert_int_equal(order_maximin(N, D, X, NULL, NULL, order, &e), ANYGP_OK);
        for (int64_t i = 0; i < N; i++) from[i] = INFINITY;
        for (int64_t i = 0; i < N; i++) {
            int64_t row = order[i];
            assert_true(row >= 0 && row < N && from[row] >= 0); /* not yet */
            for (int64_t j = 0; i > 0 && j < N; j++)
                assert_true(from[j] < from[row] || (from[j] == from[row] && row <= j));
            for (int64_t j = 0; j < N; j++)
                if (from[j] >= 0) from[j] = fmin(from[j], distance(D, X + j * D, X + row * D));
            from[row] = -1;
        }
    }
}

static void other_orders_have_every_row_once(void **unused)
{
    (void)unused;
    double X[N * 2];
    int64_t order[2][N], seen[2][N] = {0};
    anygp_error e;
    fill_rows(2, X);
    order_random(N, 3, order[0]);
    assert_int_equal(order_coordinate(N, 2, X, order[1], &e), ANYGP_OK);
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < N; i++) assert_int_equal(seen[k][order[k][i]]++, 0);
    for (int64_t i = 1; i < N; i++) {
        const double *a = X + 2 * order[1][i - 1], *b = X + 2 * order[1][i];
        assert_true(a[0] + a[1] <= b[0] + b[1]);
    }
}

/* ---------------------------------------------------------------------------------------------- groups */

static double check_groups(const near_rows *near, const row_groups *g)
{
    int64_t owner[N];
    double work = 0;
    for (int64_t i = 0; i < N; i++) owner[i] = -1;
    for (int64_t k = 0; k < g->count; k++) {
        int64_t n = g->start[k + 1] - g->start[k];
        const int32_t *row = g->row + g->start[k];
        work += (double)n * (double)n;
        assert_true(n <= g->largest);
        for (int64_t j = 0; j < n; j++) {
            assert_true(j == 0 || row[j - 1] < row[j]); /* in order */
            if (!g->own[g->start[k] + j]) continue;
            assert_int_equal(owner[row[j]], -1);
            owner[row[j]] = k;
            for (int64_t a = 0; a < near->count[row[j]]; a++) { /* its neighbours come before it in the list */
                bool there = false;
                for (int64_t b = 0; b < j; b++) there |= row[b] == near->row[row[j] * near->k + a];
                assert_true(there);
            }
        }
    }
    for (int64_t i = 0; i < N; i++) assert_true(owner[i] >= 0);
    return work;
}

static void groups_own_every_row_once_and_have_its_neighbours(void **unused)
{
    (void)unused;
    double X[N * 2];
    near_rows near;
    row_groups single, joined;
    anygp_error e;
    fill_rows(2, X);
    assert_int_equal(neighbours_earlier(N, 2, X, NULL, K, &near, &e), ANYGP_OK);
    assert_int_equal(groups_single(&near, NULL, &single, &e), ANYGP_OK);
    assert_int_equal(groups_joined(&near, &joined, &e), ANYGP_OK);
    assert_int_equal(single.count, N);
    assert_true(joined.count < N / 2);
    assert_true(check_groups(&near, &joined) < check_groups(&near, &single));
    row_groups_clear(&single);
    row_groups_clear(&joined);
    near_rows_clear(&near);
}

/* The first rows of a maximin order are each other's neighbours: without a limit they make one long group. */
static void no_group_is_longer_than_six_lists(void **unused)
{
    (void)unused;
    enum { MANY = 6000, FEW = 12, LISTS = 6 };
    double *X = mem_doubles(MANY, 2);
    int64_t *order = mem_alloc(MANY, sizeof *order), own = 0;
    near_rows near = {0};
    row_groups g;
    anygp_error e;
    assert_true(X && order);
    fill_normal(4, MANY * 2, X);
    assert_int_equal(order_maximin(MANY, 2, X, NULL, NULL, order, &e), ANYGP_OK);
    assert_int_equal(neighbours_in_order(MANY, 2, X, NULL, order, FEW, comm_self(), &near, &e), ANYGP_OK);
    assert_int_equal(groups_joined(&near, &g, &e), ANYGP_OK);
    int64_t longest = 0;
    for (int64_t k = 0; k < g.count; k++)
        if (g.start[k + 1] - g.start[k] > longest) longest = g.start[k + 1] - g.start[k];
    for (int64_t i = 0; i < g.start[g.count]; i++) own += g.own[i];
    assert_int_equal(longest, g.largest);
    assert_int_equal(own, MANY);
    assert_true(longest > FEW + 1 && longest <= LISTS * (FEW + 1));
    row_groups_clear(&g);
    near_rows_clear(&near);
    free(order);
    free(X);
}

/* So many rows that groups join within cells: the same on one thread and on two, and few rows are alone. */
static void groups_of_many_rows_are_the_same_on_any_number_of_threads(void **unused)
{
    (void)unused;
    enum { MANY = 40000, FEW = 5 };
    row_groups g[2];
    anygp_error e;
    double *X = mem_doubles(MANY, 2);
    int32_t *owner = mem_zeroed(MANY, sizeof *owner);
    int64_t given = 0;
    assert_non_null(X);
    assert_non_null(owner);
    fill_normal(3, MANY * 2, X);
    for (int t = 0; t < 2; t++) {
        int before = threads_enter(1 + t);
        near_rows near;
        assert_int_equal(neighbours_earlier(MANY, 2, X, NULL, FEW, &near, &e), ANYGP_OK);
        assert_int_equal(groups_joined(&near, &g[t], &e), ANYGP_OK);
        for (int64_t k = 0; t && k < g[t].count; k++)
            for (int64_t j = g[t].start[k]; j < g[t].start[k + 1]; j++) {
                int32_t r = g[t].row[j];
                if (!g[t].own[j]) continue;
                owner[r]++;
                for (int64_t a = 0; a < near.count[r]; a++) { /* its neighbours come before it in the list */
                    int64_t b = g[t].start[k];
                    while (b < j && g[t].row[b] != near.row[r * near.k + a]) b++;
                    given += b < j;
                }
                given -= near.count[r];
            }
        near_rows_clear(&near);
        threads_enter(before);
    }
    assert_int_equal(given, 0);
    for (int64_t i = 0; i < MANY; i++) assert_int_equal(owner[i], 1);
    assert_int_equal(g[0].count, g[1].count);
    assert_true(g[0].count < MANY / 2 && g[0].largest == g[1].largest);
    assert_memory_equal(g[0].start, g[1].start, (size_t)(g[0].count + 1) * sizeof *g[0].start);
    assert_memory_equal(g[0].row, g[1].row, (size_t)g[0].start[g[0].count] * sizeof *g[0].row);
    assert_memory_equal(g[0].own, g[1].own, (size_t)g[0].start[g[0].count] * sizeof *g[0].own);
    for (int t = 0; t < 2; t++) row_groups_clear(&g[t]);
    free(owner);
    free(X);
}

/* Rows to predict in a hole of a grid: those of one cell have one list, of the rows nearest to the middle of the cell and others, and each
   has it alone too. */
static void rows_of_a_cell_have_one_list(void **unused)
{
    (void)unused;
    enum { SIDE = 31, HOLE = 6, LIST = 12, MOST = NEAR_GAP * LIST, ASKED = 200 };
    static double X[SIDE * SIDE * 2], x[2 * ASKED];
    static int32_t rows[ASKED * MOST], count[ASKED], leader[ASKED], alone[MOST];
    int64_t n = 0, led = 0, gaps = 0;
    near_search s;
    anygp_error e;
    for (int i = 0; i < SIDE * SIDE; i++) {
        double a = i % SIDE - SIDE / 2, b = i / SIDE - SIDE / 2;
        if (fmax(fabs(a), fabs(b)) >= HOLE) X[2 * n] = a + 0.01 * b, X[2 * n + 1] = b - 0.02 * a, n++;
    }
    fill_normal(8, 2 * ASKED, x);
    for (int i = 0; i < 2 * ASKED; i++) x[i] *= HOLE / 2.0;
    assert_int_equal(near_search_open(n, 2, X, NULL, &s, &e), ANYGP_OK);
    assert_int_equal(near_search_find(&s, ASKED, x, NULL, LIST, rows, count, &e), ANYGP_OK);
    assert_int_equal(near_search_spread(&s, ASKED, x, LIST, MOST, rows, count, leader, &e), ANYGP_OK);
    for (int i = 0; i < ASKED; i++) {
        const int32_t *list = rows + (leader[i] < 0 ? i : leader[i]) * MOST;
        int32_t own;
        assert_int_equal(near_search_find(&s, 1, x + 2 * i, NULL, LIST, alone, &own, &e), ANYGP_OK);
        double near = sqrt(distance(2, x + 2 * i, X + 2 * alone[0])), side = 1, middle[2];
        while (side > near / 2) side /= 2;
        while (2 * side <= near / 2) side *= 2;
        for (int d = 0; d < 2; d++) middle[d] = (floor(x[2 * i + d] / side) + 0.5) * side;
        assert_int_equal(near_search_spread(&s, 1, x + 2 * i, LIST, MOST, alone, &own, NULL, &e), ANYGP_OK);
        assert_int_equal(own, count[i]);
        assert_memory_equal(alone, list, (size_t)own * sizeof *alone);
        if (leader[i] < 0) continue;
        gaps++, led += leader[i] != i;
        for (int j = 0; j < own / 4; j++) {
            int64_t nearer_ones = 0;
            for (int64_t r = 0; r < n; r++) nearer_ones += nearer(2, X, middle, r, list[j]);
            assert_int_equal(nearer_ones, j);
        }
    }
    assert_true(gaps > ASKED / 4 && led > gaps / 4);
    near_search_clear(&s);
}

static int at_once(void *unused)
{
    (void)unused;
    return 1;
}

/* Who is asked before the first result ends an order, a search and the joining of groups. */
static void a_caller_who_does_not_wait_ends_it(void **unused)
{
    (void)unused;
    enum { MANY = 2000 };
    double X[MANY * 2];
    int64_t order[MANY];
    stop_watch stop = {.poll = {at_once, NULL}};
    near_rows near = {0};
    row_groups g;
    anygp_error e;
    fill_normal(4, MANY * 2, X);
    assert_int_equal(order_maximin(MANY, 2, X, NULL, &stop, order, &e), ANYGP_ERR_STOPPED);
    assert_int_equal(order_maximin(MANY, 2, X, NULL, NULL, order, &e), ANYGP_OK);
    near.stop = &stop;
    assert_int_equal(neighbours_in_order(MANY, 2, X, NULL, order, K, comm_self(), &near, &e), ANYGP_ERR_STOPPED);
    near = (near_rows){0};
    assert_int_equal(neighbours_in_order(MANY, 2, X, NULL, order, K, comm_self(), &near, &e), ANYGP_OK);
    near.stop = &stop;
    assert_int_equal(groups_joined(&near, &g, &e), ANYGP_ERR_STOPPED);
    near_rows_clear(&near);
}

/* From lists on disk, and written block by block: the same rows, own and given. */
static void blocks_on_disk_are_those_in_memory(void **unused)
{
    (void)unused;
    double X[N * 2], y[N], w[N];
    int64_t order[N];
    anygp_error e;
    fill_rows(2, X);
    for (int64_t i = 0; i < N; i++) order[i] = N - 1 - i, y[i] = (double)i - 7.5, w[i] = 1 + (double)(i % 3);
    for (int k = 0; k < 2; k++) {
        near_rows near[2] = {{.on_disk = false}, {.on_disk = true}};
        row_groups groups[2];
        row_blocks *b[2], *disk;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(neighbours_in_order(N, 2, X, NULL, order, K, comm_self(), &near[i], &e), ANYGP_OK);
            assert_int_equal(
                k ? groups_joined(&near[i], &groups[i], &e) : groups_single(&near[i], NULL, &groups[i], &e), ANYGP_OK);
            near_rows_clear(&near[i]);
            assert_int_equal(blocks_of_groups(&groups[i], N, 2, X, y, w, &b[i], &e), ANYGP_OK);
        }
        assert_true(groups[1].on_disk && !groups[0].on_disk);
        assert_int_equal(blocks_to_disk(b[1], &disk, &e), ANYGP_OK);
        blocks_free(b[1]);
        row_groups_clear(&groups[1]);
        assert_true(disk->count == b[0]->count && disk->largest == b[0]->largest && disk->total == b[0]->total);
        block_buffer room[2] = {{0}, {0}};
        for (int64_t i = disk->count - 1; i >= 0; i--) {
            row_block one, other;
            assert_int_equal(blocks_get(b[0], i, &room[0], &one, &e), ANYGP_OK);
            assert_int_equal(blocks_get(disk, i, &room[1], &other, &e), ANYGP_OK);
            assert_true(one.n == other.n && one.index == other.index);
            assert_memory_equal(one.X, other.X, (size_t)(2 * one.n) * sizeof(double));
            assert_memory_equal(one.y, other.y, (size_t)one.n * sizeof(double));
            assert_memory_equal(one.w, other.w, (size_t)one.n * sizeof(double));
            assert_memory_equal(one.own, other.own, (size_t)one.n * sizeof(bool));
        }
        for (int i = 0; i < 2; i++) block_buffer_clear(&room[i]);
        blocks_free(disk);
        blocks_free(b[0]);
        row_groups_clear(&groups[0]);
    }
}

static void one_row_and_none(void **unused)
{
    (void)unused;
    double x = 3;
    int64_t order[1];
    near_rows near;
    anygp_error e;
    for (int64_t n = 0; n < 2; n++) {
        assert_int_equal(neighbours_earlier(n, 1, &x, NULL, K, &near, &e), ANYGP_OK);
        if (n) assert_int_equal(near.count[0], 0);
        assert_int_equal(order_maximin(n, 1, &x, NULL, NULL, order, &e), ANYGP_OK);
        near_rows_clear(&near);
    }
    assert_int_equal(order[0], 0);
}

/* ------------------------------------------------------------------------------------------- directions */

static bool towards(int64_t D, const double *x, const double *z, unsigned way)
{
    for (int64_t d = 0; d < D; d++)
        if ((z[d] >= x[d]) != ((way >> d & 1) != 0)) return false;
    return true;
}

static void the_nearest_of_a_direction_are_those_of_the_definition(void **unused)
{
    (void)unused;
    for (int64_t D = 1; D <= 3; D++) {
        double X[N * 3], from[K];
        int32_t rows[K];
        kd_tree t;
        anygp_error e;
        fill_rows(D, X);
        assert_int_equal(kd_tree_open(N, D, X, &t, &e), ANYGP_OK);
        for (int64_t i = 0; i < N; i += 11)
            for (unsigned way = 0; way < 1u << D; way++) {
                const double *x = X + i * D;
                int64_t some = kd_tree_nearest_towards(&t, x, way, K, rows, from), farther = 0, there = 0;
                for (int64_t j = 0; j < some; j++) {
                    assert_true(towards(D, x, X + rows[j] * D, way));
                    if (j) assert_true(nearer(D, X, x, rows[j - 1], rows[j]));
                }
                for (int64_t j = 0; j < N; j++) {
                    if (!towards(D, x, X + j * D, way)) continue;
                    there++;
                    farther += some > 0 && nearer(D, X, x, rows[some - 1], j);
                }
                assert_int_equal(some, there < K ? there : K);
                assert_int_equal(there - farther, some);
            }
        kd_tree_clear(&t);
    }
}

/* Places on a grid with a hole of growing width: the list of its centre has twice, four times and eight times as many rows, as the distance
   to the nearest row is more than 0.25, 0.35 and 0.5 of that to the k-th, and no more than there is room for. */
static void lists_are_longer_in_wider_gaps(void **unused)
{
    (void)unused;
    enum { SIDE = 41, LIST = 12, MOST = NEAR_GAP * LIST };
    static double X[SIDE * SIDE * 2];
    int lengths = 0;
    for (double hole = 0; hole < 8; hole++) {
        int64_t n = 0;
        double x[2] = {0.01, 0.02};
        int32_t rows[MOST], count;
        near_search s;
        anygp_error e;
        for (int i = 0; i < SIDE * SIDE; i++) {
            double a = i % SIDE - SIDE / 2, b = i / SIDE - SIDE / 2;
            if (fmax(fabs(a), fabs(b)) >= hole) X[2 * n] = a, X[2 * n + 1] = b, n++;
        }
        assert_int_equal(near_search_open(n, 2, X, NULL, &s, &e), ANYGP_OK);
        assert_int_equal(near_search_find(&s, 1, x, NULL, LIST, rows, &count, &e), ANYGP_OK);
        double near = hypot(X[2 * rows[0]] - x[0], X[2 * rows[0] + 1] - x[1]),
               far = hypot(X[2 * rows[LIST - 1]] - x[0], X[2 * rows[LIST - 1] + 1] - x[1]);
        int times = near > 0.5 * far ? 8 : near > 0.35 * far ? 4 : near > 0.25 * far ? 2 : 1;
        assert_int_equal(near_search_spread(&s, 1, x, LIST, MOST, rows, &count, NULL, &e), ANYGP_OK);
        assert_int_equal(count, times * LIST);
        assert_int_equal(near_search_find(&s, 1, x, NULL, LIST, rows, &count, &e), ANYGP_OK);
        assert_int_equal(near_search_spread(&s, 1, x, LIST, LIST + 1, rows, &count, NULL, &e), ANYGP_OK);
        assert_int_equal(count, times > 1 ? LIST + 1 : LIST);
        lengths |= times;
        near_search_clear(&s);
    }
    assert_int_equal(lengths & 9, 9);
}

/* Rows on both sides of a gap, more and nearer on the left: in it lists have rows of both, elsewhere they stay. */
static void lists_in_a_gap_look_to_all_sides(void **unused)
{
    (void)unused;
    enum { LIST = 16, MOST = 32 };
    double X[N * 2], x[4] = {0.4, 0.5, -1.5, 0.5};
    int32_t rows[2 * MOST], count[2], nearest[2 * LIST];
    near_search s;
    anygp_error e;
    fill_normal(9, N * 2, X);
    for (int64_t i = 0; i < N; i++) {
        double side = fabs(X[2 * i]), up = X[2 * i + 1];
        X[2 * i] = i % 5 ? -side : 1 + side, X[2 * i + 1] = 0.5 + up;
    }
    assert_int_equal(near_search_open(N, 2, X, NULL, &s, &e), ANYGP_OK);
    assert_true(near_search_spreads(&s, LIST) && !near_search_spreads(&s, 3));
    assert_int_equal(near_search_find(&s, 2, x, NULL, LIST, nearest, count, &e), ANYGP_OK);
    assert_int_equal(near_search_find(&s, 2, x, NULL, LIST, rows, count, &e), ANYGP_OK);
    assert_int_equal(near_search_spread(&s, 2, x, LIST, MOST, rows, count, NULL, &e), ANYGP_OK);
    assert_int_equal(count[0], MOST);
    int left = 0, right = 0;
    for (int j = 0; j < MOST; j++) {
        *(X[2 * rows[j]] < 0.4 ? &left : &right) += 1;
        for (int i = 0; i < j; i++) assert_int_not_equal(rows[i], rows[j]);
    }
    assert_true(left >= 8 && right >= 8);
    assert_int_equal(count[1], LIST);
    for (int j = 0; j < LIST; j++) assert_int_equal(rows[MOST + j], nearest[LIST + j]);
    near_search_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_the_nearest_earlier_rows),
                                       cmocka_unit_test(lists_are_the_nearest_other_rows),
                                       cmocka_unit_test(maximin_is_always_the_farthest_row),
                                       cmocka_unit_test(other_orders_have_every_row_once),
                                       cmocka_unit_test(groups_own_every_row_once_and_have_its_neighbours),
                                       cmocka_unit_test(no_group_is_longer_than_six_lists),
                                       cmocka_unit_test(groups_of_many_rows_are_the_same_on_any_number_of_threads),
                                       cmocka_unit_test(a_caller_who_does_not_wait_ends_it),
                                       cmocka_unit_test(rows_of_a_cell_have_one_list),
                                       cmocka_unit_test(blocks_on_disk_are_those_in_memory),
                                       cmocka_unit_test(the_nearest_of_a_direction_are_those_of_the_definition),
                                       cmocka_unit_test(lists_in_a_gap_look_to_all_sides),
                                       cmocka_unit_test(lists_are_longer_in_wider_gaps),
                                       cmocka_unit_test(one_row_and_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
