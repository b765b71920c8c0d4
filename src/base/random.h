/* Counter-based random numbers (Philox 4x64, 10 rounds; Salmon et al. 2011, Random123).
   A number is a function of (seed, stream, index): nothing is stored, and any of them can be computed again in any
   order by any thread or rank.  Each use has its own stream, so that one use never shifts another. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

typedef enum random_use {
    RANDOM_RESTART = 1,
    RANDOM_SUBSET,
    RANDOM_KMEANS,
    RANDOM_SAMPLE,
    RANDOM_SIMULATE,
    RANDOM_SPLIT,
    RANDOM_BLOCKS,
    RANDOM_STEP,
    RANDOM_LIKELIHOOD,
    RANDOM_BASES,
    RANDOM_COLUMNS,
    RANDOM_LAYERS,
    RANDOM_COMPONENT,
    RANDOM_FREQUENCIES,
    RANDOM_ORDER,
    RANDOM_CELLS,
    RANDOM_LEFT_OUT,
    RANDOM_COMMUNICATION,
    RANDOM_INFORMATION,
    RANDOM_REPORT,
    RANDOM_PROBES,
    RANDOM_TEST = 1000
} random_use;

typedef struct random_stream {
    uint64_t seed, use, sub; /* `sub` separates e.g. restart 3 from restart 4 */
} random_stream;

uint64_t random_bits(random_stream s, uint64_t i);
void random_words(random_stream s, uint64_t i, uint64_t bits[4]); /* four words at once; the first is random_bits() */
double random_uniform(random_stream s, uint64_t i);               /* in (0, 1), never the ends */
double random_normal(random_stream s, uint64_t i);                /* standard normal */
int64_t random_below(random_stream s, uint64_t i, int64_t n);     /* 0 .. n-1 */
void random_permutation(random_stream s, int64_t n, int64_t *order);
/* Element i of a random bijection of 0 .. n-1 that is never stored: a Feistel network, walked until it lands below n. */
int64_t random_shuffled(random_stream s, int64_t n, int64_t i);

/* k different indices of 0 .. n-1 in increasing order. */
void random_subset(random_stream s, int64_t n, int64_t k, int64_t *chosen);

#endif
