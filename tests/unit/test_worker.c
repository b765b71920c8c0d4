/* A separate process: what happens to it is reported, and it ends when its parent ends. */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"
#include "base/worker.h"

enum { DOUBLE_IT, ADD_WINDOW, CRASH, LOOP, PRINT, COUNT_FILES, PID, SIGNAL_SELF };

static int count_files(void)
{
    int count = 0;
    for (int fd = 3; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void serve(void *ctx, worker_message *m, void *window)
{
    const double *x = window;
    switch (m->what) {
    case DOUBLE_IT: m->number[0] *= 2, m->number[1] = *(int64_t *)ctx; break;
    case ADD_WINDOW: m->number[0] = (int64_t)(x[0] + x[1]); break;
    case CRASH: abort();
    case LOOP:
        for (volatile int64_t k = 0;; k++) {}
    case PRINT: m->number[0] = write(STDOUT_FILENO, "foreign\n", 8) + write(STDERR_FILENO, "foreign\n", 8); break;
    case COUNT_FILES: m->number[0] = count_files(); break;
    case PID: m->number[0] = getpid(); break;
    case SIGNAL_SELF: raise((int)m->number[0]); break;
    default: fail_with(&m->error, ANYGP_ERR_DATA, "a sentence");
    }
}

static worker *start(int64_t *ctx, int cpu_seconds)
{
    worker *w;
    anygp_error e;
    assert_int_equal(worker_start(&(worker_job){serve, ctx, 1 << 16, cpu_seconds}, &w, &e), ANYGP_OK);
    return w;
}

static void questions_are_answered(void **state)
{
    int64_t seven = 7;
    (void)state;
    worker *w = start(&seven, 100);
    seven = 8; /* the worker has a copy */
    worker_message m = {.what = DOUBLE_IT, .number = {21}};
    assert_true(worker_ask(w, &m, NULL));
    assert_int_equal(m.number[0], 42);
    assert_int_equal(m.number[1], 7);
    double *x = worker_window(w);
    x[0] = 1, x[1] = 2;
    m.what = ADD_WINDOW;
    assert_true(worker_ask(w, &m, NULL));
    assert_int_equal(m.number[0], 3);
    m.what = 99;
    assert_true(worker_ask(w, &m, NULL));
    assert_int_equal(m.error.status, ANYGP_ERR_DATA);
    assert_string_equal(m.error.text, "a sentence");
    worker_end(w);
    worker_end(NULL);
}

static void check_loss(int what, const char *how)
{
    worker *w = start(NULL, 1);
    worker_message m = {.what = what};
    assert_false(worker_ask(w, &m, NULL));
    assert_non_null(strstr(worker_loss(w), how));
    m.what = DOUBLE_IT; /* and it stays so */
    assert_false(worker_ask(w, &m, NULL));
    worker_end(w);
}

static void a_crash_is_told(void **state)
{
    (void)state;
    check_loss(CRASH, "crashed (Aborted)");
}

static void a_loop_comes_to_an_end(void **state)
{
    (void)state;
    check_loss(LOOP, "did not finish");
}

static int yes(void *ctx)
{
    ++*(int *)ctx;
    return 1;
}

static void who_wants_to_stop_is_heard(void **state)
{
    int asked = 0;
    (void)state;
    worker *w = start(NULL, 100);
    worker_message m = {.what = LOOP};
    assert_false(worker_ask(w, &m, &(stop_poll){yes, &asked}));
    assert_int_equal(asked, 1);
    assert_null(worker_loss(w));
    worker_end(w);
}

/* What goes to the whole group of processes is for the parent to answer. */
static void signals_of_the_terminal_do_not_end_it(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
    (void)state;
    worker *w = start(NULL, 100);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) {
        worker_message m = {.what = SIGNAL_SELF, .number = {signals[k]}};
        assert_true(worker_ask(w, &m, NULL));
    }
    worker_end(w);
}

static void it_inherits_no_files_and_cannot_be_heard(void **state)
{
    (void)state;
    int junk = open("/dev/null", O_RDONLY), out[2];
    assert_true(junk > 0 && !pipe(out));
    int former = dup(STDERR_FILENO);
    dup2(out[1], STDERR_FILENO);
    close(out[1]);
    worker *other = start(NULL, 100), *w = start(NULL, 100);
    dup2(former, STDERR_FILENO);
    close(former);
    worker_message m = {.what = COUNT_FILES};
    assert_true(worker_ask(w, &m, NULL));
    assert_int_equal(m.number[0], 1); /* the channel */
    m.what = PRINT;
    assert_true(worker_ask(w, &m, NULL));
    assert_int_equal(m.number[0], 16);
    char c;
    assert_int_equal(read(out[0], &c, 1), 0); /* no process holds the other end */
    worker_end(w);
    worker_end(other);
    close(out[0]);
    close(junk);
}

/* Also where it would take the place of standard input. */
static void it_starts_where_standard_files_are_closed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        worker *w;
        worker_message m = {.what = DOUBLE_IT, .number = {4}};
        int64_t ctx = 0;
        for (int fd = 0; fd < 3; fd++) close(fd);
        bool fine = !worker_start(&(worker_job){serve, &ctx, 4096, 10}, &w, NULL) && worker_ask(w, &m, NULL);
        _exit(fine && m.number[0] == 8 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* The system keeps a process that ended as a zombie until it is waited for. */
static bool is_gone(pid_t pid)
{
    char path[64], mode = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return true;
    int n = fscanf(f, "%*d %*s %c", &mode);
    fclose(f);
    return n != 1 || mode == 'Z' || mode == 'X';
}

static void it_does_not_outlive_its_parent(int what)
{
    int told[2];
    pid_t pid = 0;
    assert_false(pipe(told));
    pid_t parent = fork();
    if (parent == 0) {
        worker *w = start(NULL, 1000);
        worker_message m = {.what = PID};
        worker_ask(w, &m, NULL);
        pid_t number = (pid_t)m.number[0];
        worker_send(w, &(worker_message){.what = what});
        _exit(write(told[1], &number, sizeof number) != sizeof number || raise(SIGKILL));
    }
    close(told[1]);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    close(told[0]);
    waitpid(parent, NULL, 0);
    while (!is_gone(pid)) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void it_ends_when_its_parent_was_killed(void **state)
{
    (void)state;
    it_does_not_outlive_its_parent(DOUBLE_IT);
    it_does_not_outlive_its_parent(LOOP);
}

static void *ask_often(void *ctx)
{
    int64_t *wrong = ctx;
    for (int round = 0; round < 3; round++) {
        worker *w = start(wrong, 100);
        for (int64_t k = 0; k < 50; k++) {
            worker_message m = {.what = DOUBLE_IT, .number = {k}};
            *wrong += !worker_ask(w, &m, NULL) || m.number[0] != 2 * k;
        }
        worker_end(w);
    }
    return NULL;
}

static void threads_have_workers_of_their_own(void **state)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int64_t wrong[THREADS] = {0};
    (void)state;
    for (int k = 0; k < THREADS; k++) assert_false(pthread_create(&thread[k], NULL, ask_often, &wrong[k]));
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(wrong[k], 0);
    }
}

static void *start_only(void *ctx)
{
    *(worker **)ctx = start(NULL, 100);
    return NULL;
}

/* One that was started by a thread goes on when the thread has ended. */
static void it_outlives_the_thread_that_started_it(void **state)
{
    pthread_t thread;
    worker *w = NULL;
    (void)state;
    assert_false(pthread_create(&thread, NULL, start_only, &w));
    pthread_join(thread, NULL);
    worker_message m = {.what = PID};
    assert_true(worker_ask(w, &m, NULL));
    assert_true(worker_ask(w, &m, NULL));
    worker_end(w);
}

static void threads_of_the_environment(const char *wish, int expected)
{
    setenv("OMP_NUM_THREADS", wish, 1);
    assert_int_equal(threads_wished(), expected);
}

static void the_environment_may_ask_for_fewer_threads(void **state)
{
    (void)state;
    const char *is = getenv("OMP_NUM_THREADS");
    char before[32];
    snprintf(before, sizeof before, "%s", is ? is : "");
    threads_of_the_environment("1", 1);
    threads_of_the_environment("1,4", 1);
    threads_of_the_environment("1000000", threads_available());
    threads_of_the_environment("many", 0);
    threads_of_the_environment("-3", 0);
    threads_of_the_environment("", 0);
    setenv("OMP_NUM_THREADS", before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(a_crash_is_told),
        cmocka_unit_test(a_loop_comes_to_an_end),
        cmocka_unit_test(who_wants_to_stop_is_heard),
        cmocka_unit_test(signals_of_the_terminal_do_not_end_it),
        cmocka_unit_test(it_inherits_no_files_and_cannot_be_heard),
        cmocka_unit_test(it_starts_where_standard_files_are_closed),
        cmocka_unit_test(it_ends_when_its_parent_was_killed),
        cmocka_unit_test(threads_have_workers_of_their_own),
        cmocka_unit_test(the_environment_may_ask_for_fewer_threads),
        cmocka_unit_test(it_outlives_the_thread_that_started_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
