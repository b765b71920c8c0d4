/* OpenBLAS takes a buffer for every thread when it is loaded, and if there is no room for one (ulimit -v) it tries again
   forever.  So the room is measured before any library is initialised: functions listed in .preinit_array run then, with
   little more than the system's calls to rely on. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef __SANITIZE_ADDRESS__ /* which needs more than any limit allows, and is not yet ready then */

/* MB: the program and its libraries; what each additional thread needs, its stack and its heap; the buffers that a
   thread may hold at once, one as a caller and one as a helper. */
enum { PROGRAM = 100, THREAD = 72, BUFFERS = 256 };

static int threads_wished(char **environment)
{
    static const char name[] = "OMP_NUM_THREADS=";
    cpu_set_t set;
    for (; *environment; environment++)
        if (!strncmp(*environment, name, sizeof name - 1)) {
            int n = atoi(*environment + sizeof name - 1);
            if (n > 0) return n;
        }
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* --threads may ask for more. */
static int threads_asked(char **argv)
{
    static const char name[] = "--threads";
    int most = 0;
    for (; *argv; argv++)
        if (!strncmp(*argv, name, sizeof name - 1)) {
            const char *value = (*argv)[sizeof name - 1] == '=' ? *argv + sizeof name : argv[1] ? argv[1] : "";
            int n = atoi(value);
            if (n > most) most = n;
        }
    return most;
}

static long long needed(int threads) { return PROGRAM + (long long)threads * (BUFFERS + THREAD) - THREAD; }

static void check_address_space(int argc, char **argv, char **environment)
{
    struct rlimit limit;
    char text[360], less[96] = "";
    (void)argc;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    long long have = (long long)(limit.rlim_cur >> 20);
    int asked = threads_asked(argv), threads = threads_wished(environment);
    if (asked > threads) threads = asked;
    int fewer = threads;
    if (have >= needed(threads)) return;
    while (fewer > 1 && have < needed(fewer)) fewer--;
    if (have >= needed(fewer))
        snprintf(less, sizeof less, ", or set OMP_NUM_THREADS=%d%s", fewer,
                 asked > fewer ? " and use no more --threads" : "");
    int n =
        snprintf(text, sizeof text,
                 "anygp: %lld MB of address space are allowed (ulimit -v), and %d thread%s of linear algebra need%s "
                 "%lld MB before the data; raise the limit%s\n",
                 have, threads, threads == 1 ? "" : "s", threads == 1 ? "s" : "", needed(threads), less);
    if (write(STDERR_FILENO, text, (size_t)n) < 0) _exit(1);
    _exit(1);
}

__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(int, char **,
                                                                                       char **) = check_address_space;

#endif
