/* Threads.  Our loops and BLAS share one OpenMP pool where BLAS is the openmp build of OpenBLAS; with any other
   threaded BLAS, linalg/ makes BLAS single-threaded inside a parallel region.  So no code oversubscribes. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stdbool.h>

int threads_max(void);        /* threads a parallel region started here would get; 1 inside one */
int threads_id(void);         /* 0 .. threads_max()-1 */
bool threads_inside(void);    /* in a parallel region now */
bool threads_built(void);     /* false: built without OpenMP, and there is never more than one */
int threads_available(void);  /* processors this process may run on */
int threads_wished(void);     /* by OMP_NUM_THREADS, no more than available; 0: not set */
int threads_for(double work); /* threads worth waking for this many operations: threads_max(), or 1 for few */
int threads_enter(int count); /* from here on regions of this thread use `count` (0: all; after a fork always 1);
                                 returns the former */

#endif
