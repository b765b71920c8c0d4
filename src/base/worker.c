/* A forked process that answers messages (worker.h). */
#define _GNU_SOURCE /* syscall, strsignal */
#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { FIRST_FREE = 3, FILES_MOST = 1 << 16, POLL_MS = 100, STATUS_LOOPS = 77 };

struct worker {
    pid_t pid;
    int channel; /* -1: the worker is gone */
    void *window;
    size_t bytes;
    bool stopped;
    char loss[96];
};

static bool send_message(int channel, const worker_message *m)
{
    const char *p = (const char *)m;
    size_t left = sizeof *m;
    while (left > 0) {
        ssize_t n = send(channel, p, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, left -= (size_t)n;
    }
    return true;
}

static bool receive_message(int channel, worker_message *m)
{
    char *p = (char *)m;
    size_t left = sizeof *m;
    while (left > 0) {
        ssize_t n = recv(channel, p, left, MSG_WAITALL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, left -= (size_t)n;
    }
    m->error.text[sizeof m->error.text - 1] = 0;
    return true;
}

/* ------------------------------------------------------------------------------------------ in the worker */

/* What the watch checks, once per second; there is one worker in a process. */
static struct {
    int channel;
    volatile sig_atomic_t busy;
    double began, most; /* seconds of processor time */
} watched;

static double processor_seconds(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* poll, clock_gettime and _exit may be called in a handler. */
static void watch(int signal_number)
{
    int before = errno;
    struct pollfd p = {.fd = watched.channel};
    (void)signal_number;
    if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL))) _exit(0);
    if (watched.busy && processor_seconds() - watched.began > watched.most) _exit(STATUS_LOOPS);
    errno = before;
}

static void set_signal(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

/* The parent's handlers would act on a copy of its state.  A limit on file sizes should be a failed write. */
static void settle_signals(void)
{
    static const int deaf[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ};
    sigset_t none;
    struct itimerval second = {{1, 0}, {1, 0}};
    for (int k = 1; k < NSIG; k++) set_signal(k, SIG_DFL);
    for (size_t k = 0; k < sizeof deaf / sizeof *deaf; k++) set_signal(deaf[k], SIG_IGN);
    set_signal(SIGALRM, watch);
    setitimer(ITIMER_REAL, &second, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || most > FILES_MOST) most = FILES_MOST;
    for (int fd = first; fd < most; fd++) close(fd);
}

/* The channel becomes the first file after the standard ones, which lead nowhere. */
static int settle_files(int channel)
{
    int high = fcntl(channel, F_DUPFD, FIRST_FREE + 1), null = open("/dev/null", O_RDWR);
    if (high < 0 || null < 0) _exit(1);
    for (int fd = 0; fd < FIRST_FREE; fd++) dup2(null, fd);
    if (dup2(high, FIRST_FREE) < 0) _exit(1);
    close_from(FIRST_FREE + 1);
    return FIRST_FREE;
}

/* A crash is expected and reported: it need not leave a core file. */
static void leave_no_core(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

/* Ends by _exit: exit handlers belong to the parent. */
static _Noreturn void run(const worker_job *job, int channel, void *window)
{
    worker_message m;
    watched.channel = settle_files(channel);
    watched.most = job->cpu_seconds;
    leave_no_core();
    settle_signals();
    while (receive_message(watched.channel, &m)) {
        m.error = (anygp_error){0};
        watched.began = processor_seconds();
        watched.busy = 1;
        job->serve(job->ctx, &m, window);
        watched.busy = 0;
        if (!send_message(watched.channel, &m)) break;
    }
    _exit(0);
}

/* ------------------------------------------------------------------------------------------ in the parent */

/* Signals are blocked until the worker has set its own handlers; then the mask is that of the caller again. */
static pid_t fork_quietly(const worker_job *job, int mine, int theirs, void *window)
{
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pid_t pid = fork();
    if (pid == 0) {
        close(mine);
        run(job, theirs, window);
    }
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    errno = why;
    return pid;
}

anygp_status worker_start(const worker_job *job, worker **out, anygp_error *e)
{
    int ends[2] = {-1, -1};
    *out = NULL;
    worker *w = calloc(1, sizeof *w);
    if (!w) return fail_memory(e, "a process", sizeof *w);
    w->bytes = job->window;
    w->window = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->window == MAP_FAILED) {
        free(w);
        return fail_memory(e, "the window of a process", (double)job->window);
    }
    bool joined = !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    w->pid = joined ? fork_quietly(job, ends[0], ends[1], w->window) : -1;
    w->channel = ends[0];
    int why = errno;
    if (joined) close(ends[1]);
    if (w->pid < 0) {
        worker_end(w);
        return fail_with(e, ANYGP_ERR_MEMORY, "a separate process cannot be started: %s", strerror(why));
    }
    *out = w;
    return ANYGP_OK;
}

static void describe_end(worker *w, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        snprintf(w->loss, sizeof w->loss, "was killed, perhaps because memory ran out");
    else if (WIFSIGNALED(status))
        snprintf(w->loss, sizeof w->loss, "crashed (%s)", strsignal(WTERMSIG(status)));
    else if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_LOOPS)
        snprintf(w->loss, sizeof w->loss, "did not finish");
    else
        snprintf(w->loss, sizeof w->loss, "ended early");
}

/* Closes the channel and waits.  A worker in a loop would need a second to notice; it has nothing to lose.  If other code
   has already waited for the process (waitpid fails), its number must not be used. */
static void collect(worker *w, bool at_once)
{
    int status = 0;
    if (w->channel >= 0) close(w->channel);
    w->channel = -1;
    if (w->pid <= 0) return;
    pid_t done = at_once ? waitpid(w->pid, &status, WNOHANG) : 0;
    if (at_once && done == 0) kill(w->pid, SIGKILL);
    while (done == 0 || (done < 0 && errno == EINTR)) done = waitpid(w->pid, &status, 0);
    w->pid = 0;
    if (done > 0)
        describe_end(w, status);
    else
        snprintf(w->loss, sizeof w->loss, "ended early");
}

/* false: `stop` asked. */
static bool wait_for_answer(const worker *w, const stop_poll *stop)
{
    struct pollfd p = {.fd = w->channel, .events = POLLIN};
    while (poll(&p, 1, POLL_MS) <= 0)
        if (stop_asked(stop)) return false;
    return true;
}

bool worker_send(worker *w, const worker_message *m)
{
    if (w->channel < 0) return false;
    if (send_message(w->channel, m)) return true;
    collect(w, false);
    return false;
}

bool worker_receive(worker *w, worker_message *m, const stop_poll *stop)
{
    if (w->channel < 0) return false;
    if (!wait_for_answer(w, stop)) return collect(w, true), w->stopped = true, false;
    if (receive_message(w->channel, m)) return true;
    collect(w, false);
    return false;
}

bool worker_ask(worker *w, worker_message *m, const stop_poll *stop)
{
    return worker_send(w, m) && worker_receive(w, m, stop);
}

void *worker_window(worker *w) { return w->window; }
const char *worker_loss(const worker *w) { return w->stopped ? NULL : w->loss; }

void worker_end(worker *w)
{
    if (!w) return;
    collect(w, true);
    munmap(w->window, w->bytes);
    free(w);
}
