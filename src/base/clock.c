/* The wall clock, which tests can replace. */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static double (*stand_in)(void);

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void) { return stand_in ? stand_in() : seconds_of(CLOCK_MONOTONIC); }
double clock_thread_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

void clock_replace(double (*seconds)(void)) { stand_in = seconds; }
