/* The group that mpirun started: every rank knows what the others hold, and computes the truth itself. */
#include "support.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "comm/comm.h"

enum { LONG = (1 << 21) + 3 }; /* more than one message */

static int launcher_says(const char *name)
{
    const char *text = getenv(name);
    assert_non_null(text);
    return atoi(text);
}

static double *numbers(int64_t n)
{
    double *x = calloc((size_t)n, sizeof *x);
    assert_non_null(x);
    return x;
}

static void sum_all(int64_t n, double *x)
{
    anygp_error e;
    const comm *c = comm_world();
    assert_int_equal(c->sum(c->ctx, n, x, &e), ANYGP_OK);
}

static void broadcast_from(int root, int64_t bytes, void *data)
{
    anygp_error e;
    const comm *c = comm_world();
    assert_int_equal(c->broadcast(c->ctx, root, bytes, data, &e), ANYGP_OK);
}

static void rank_and_size_are_the_launchers(void **state)
{
    (void)state;
    const comm *c = comm_world();
    assert_int_equal(c->rank, launcher_says("OMPI_COMM_WORLD_RANK"));
    assert_int_equal(c->size, launcher_says("OMPI_COMM_WORLD_SIZE"));
    assert_true(c->size > 1);
    assert_true(anygp_world_rank() == c->rank && anygp_world_size() == c->size);
}

static void joining_twice_is_joining_once(void **state)
{
    (void)state;
    const comm *c = comm_world();
    assert_int_equal(comm_world_begin(NULL, NULL, NULL), ANYGP_OK);
    assert_ptr_equal(comm_world(), c);
}

/* Whole numbers, so exact: rank r holds (r+1) (i+1), and the ranks' numbers add up to R(R+1)/2. */
static void check_whole_sum(int64_t n)
{
    const comm *c = comm_world();
    double *x = numbers(n + 1), ranks = c->size * (c->size + 1) / 2;
    for (int64_t i = 0; i < n; i++) x[i] = (double)(c->rank + 1) * (double)(i + 1);
    x[n] = c->rank;
    sum_all(n, x);
    for (int64_t i = 0; i < n; i++) assert_true(x[i] == ranks * (double)(i + 1));
    assert_true(x[n] == c->rank); /* and nothing beyond */
    free(x);
}

static void sum_adds_over_ranks(void **state)
{
    (void)state;
    check_whole_sum(0);
    check_whole_sum(1);
    check_whole_sum(1000);
    check_whole_sum(LONG);
}

/* Numbers of very different sizes, for which every order of adding rounds differently. */
static void fill_rough(int rank, int64_t n, double *x)
{
    fill_normal((uint64_t)rank, n, x);
    for (int64_t i = 0; i < n; i++) x[i] *= pow(10, (double)((i + 7 * rank) % 17) - 8);
}

static void sum_has_the_same_bits_on_every_rank_and_every_time(void **state)
{
    (void)state;
    enum { N = 20000 };
    const comm *c = comm_world();
    double *x = numbers(N), *again = numbers(N), *first = numbers(N), *one = numbers(N), *truth = numbers(N);
    fill_rough(c->rank, N, x);
    memcpy(again, x, N * sizeof *x);
    sum_all(N, x);
    sum_all(N, again);
    memcpy(first, x, N * sizeof *x);
    broadcast_from(0, N * sizeof *first, first);
    assert_memory_equal(x, first, N * sizeof *x);
    assert_memory_equal(x, again, N * sizeof *x);
    for (int r = 0; r < c->size; r++) {
        fill_rough(r, N, one);
        for (int i = 0; i < N; i++) truth[i] += one[i];
    }
    for (int i = 0; i < N; i++) check_close(x[i], truth[i], 1e-14);
    free(x), free(again), free(first), free(one), free(truth);
}

static void check_broadcast(int root, int64_t bytes)
{
    const comm *c = comm_world();
    unsigned char *data = malloc((size_t)bytes + 1);
    assert_non_null(data);
    for (int64_t i = 0; i <= bytes; i++) data[i] = (unsigned char)(i * 31 + 101 * c->rank);
    broadcast_from(root, bytes, data);
    for (int64_t i = 0; i < bytes; i++) assert_true(data[i] == (unsigned char)(i * 31 + 101 * root));
    assert_true(data[bytes] == (unsigned char)(bytes * 31 + 101 * c->rank));
    free(data);
}

static void broadcast_gives_the_bytes_of_any_root(void **state)
{
    (void)state;
    for (int root = 0; root < comm_world()->size; root++) {
        check_broadcast(root, 0);
        check_broadcast(root, 1);
        check_broadcast(root, 12345);
        check_broadcast(root, 8 * (int64_t)LONG + 5);
    }
}

static void broadcast_from_a_rank_that_is_none_is_refused(void **state)
{
    (void)state;
    const comm *c = comm_world();
    anygp_error e = {0};
    double x = 1;
    assert_int_equal(c->broadcast(c->ctx, c->size, sizeof x, &x, &e), ANYGP_ERR_INTERNAL);
    assert_true(strstr(e.text, "broadcast") != NULL);
}

/* Each rank adds a byte to a file, the later ones late; behind the barrier all see all. */
static void barrier_waits_for_the_last(void **state)
{
    (void)state;
    const comm *c = comm_world();
    anygp_error e;
    char path[] = "/tmp/anygp_barrier_XXXXXX";
    int made = c->rank == 0 ? mkstemp(path) : -1;
    broadcast_from(0, sizeof path, path);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    nanosleep(&(struct timespec){.tv_nsec = 50000000L * c->rank}, NULL);
    fputc('x', f), fclose(f);
    assert_int_equal(c->barrier(c->ctx, &e), ANYGP_OK);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, c->size);
    assert_int_equal(c->barrier(c->ctx, &e), ANYGP_OK);
    if (c->rank == 0) close(made), unlink(path);
}

/* All ranks of these tests run on one machine. */
static void ranks_share_the_processors_of_their_machine(void **state)
{
    (void)state;
    const comm *c = comm_world();
    double taken = c->processors, there = (double)sysconf(_SC_NPROCESSORS_ONLN);
    assert_true(c->processors >= 1);
    sum_all(1, &taken);
    assert_true(taken <= fmax(there, c->size));
}

static void after_the_end_the_process_is_alone(void **state)
{
    (void)state;
    anygp_error e;
    comm_world_end();
    assert_ptr_equal(comm_world(), comm_self());
    assert_int_equal(comm_world_begin(NULL, NULL, &e), ANYGP_OK); /* MPI cannot be begun twice */
    assert_ptr_equal(comm_world(), comm_self());
    comm_world_end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_and_size_are_the_launchers),
        cmocka_unit_test(joining_twice_is_joining_once),
        cmocka_unit_test(sum_adds_over_ranks),
        cmocka_unit_test(sum_has_the_same_bits_on_every_rank_and_every_time),
        cmocka_unit_test(broadcast_gives_the_bytes_of_any_root),
        cmocka_unit_test(broadcast_from_a_rank_that_is_none_is_refused),
        cmocka_unit_test(barrier_waits_for_the_last),
        cmocka_unit_test(ranks_share_the_processors_of_their_machine),
        cmocka_unit_test(after_the_end_the_process_is_alone),
    };
    anygp_error e = {0};
    if (ANYGP_FAILED(comm_world_begin(&argc, &argv, &e))) return fprintf(stderr, "%s\n", e.text), 1;
    if (comm_world()->rank > 0 && !freopen("/dev/null", "w", stdout)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
