/* Clocks, in seconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);        /* wall time from an arbitrary origin; never goes back */
double clock_thread_seconds(void); /* that a processor spent on this thread */

/* For tests, so that what depends on time does not depend on the machine: another clock; NULL: the wall's again. */
void clock_replace(double (*seconds)(void));

#endif
