/* How many threads a piece of work is worth, and how many there are. */
#define _GNU_SOURCE
#include "base/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#define regions_max omp_get_max_threads
#define regions_set omp_set_num_threads
#else /* built without OpenMP: one thread, which is never inside a region */
static int omp_in_parallel(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
/* A BLAS that was built with it has a pool all the same, which is told how many threads there may be. */
extern int pool_max(void) __asm__("omp_get_max_threads") __attribute__((weak));
extern void pool_set(int count) __asm__("omp_set_num_threads") __attribute__((weak));
static int regions_max(void) { return pool_max ? pool_max() : 1; }
static void regions_set(int count)
{
    if (pool_set) pool_set(count);
}
#endif

/* A fork copies the memory of OpenMP's pool but not its threads, and a region of several would wait for them forever.
   The pool belongs to the process, and others may have created it: what counts is where the library was loaded. */
static pid_t home;
__attribute__((constructor)) static void remember_home(void) { home = getpid(); }
static bool forked(void) { return getpid() != home; }

int threads_max(void) { return omp_in_parallel() ? 1 : omp_get_max_threads(); }
int threads_id(void) { return omp_get_thread_num(); }
bool threads_inside(void) { return omp_in_parallel(); }

bool threads_built(void)
{
#ifdef _OPENMP
    return true;
#else
    return false;
#endif
}

/* Waking a pool costs about 10 us on an idle machine and far more on a busy one. */
int threads_for(double work) { return work < 5e7 ? 1 : threads_max(); }

int threads_available(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return n > 0 ? n : 1;
}

int threads_wished(void)
{
    const char *wish = getenv("OMP_NUM_THREADS");
    long n = wish ? strtol(wish, NULL, 10) : 0; /* a list begins with the outermost level */
    int most = threads_available();
    return n <= 0 ? 0 : n < most ? (int)n : most;
}

int threads_enter(int count)
{
    int former = regions_max();
    regions_set(forked() ? 1 : count > 0 ? count : threads_available());
    return former;
}
