/* Philox, and the distributions made from it (random.h). */
#include "base/random.h"

#include <math.h>

#include <Random123/philox.h>

#include "base/constants.h"

static philox4x64_ctr_t block(random_stream s, uint64_t i)
{
    philox4x64_ctr_t counter = {{i, s.sub, 0, 0}};
    philox4x64_key_t key = {{s.seed, s.use}};
    return philox4x64(counter, key);
}

static double open_unit(uint64_t bits) { return ((double)(bits >> 12) + 0.5) * 0x1p-52; }

uint64_t random_bits(random_stream s, uint64_t i) { return block(s, i).v[0]; }

void random_words(random_stream s, uint64_t i, uint64_t bits[4])
{
    philox4x64_ctr_t b = block(s, i);
    for (int k = 0; k < 4; k++) bits[k] = b.v[k];
}

double random_uniform(random_stream s, uint64_t i) { return open_unit(random_bits(s, i)); }

/* Box and Muller, one number per counter: indexing stays trivial. */
double random_normal(random_stream s, uint64_t i)
{
    philox4x64_ctr_t b = block(s, i);
    return sqrt(-2 * log(open_unit(b.v[0]))) * cos(2 * PI * open_unit(b.v[1]));
}

int64_t random_below(random_stream s, uint64_t i, int64_t n)
{
    return (int64_t)(((unsigned __int128)random_bits(s, i) * (unsigned __int128)n) >> 64);
}

void random_permutation(random_stream s, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = random_below(s, (uint64_t)i, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/* Six rounds over the halves of an even number of bits, at least 8: with fewer, small sizes are not fair.  From 64 on the
   walk takes at most 4 steps on average. */
int64_t random_shuffled(random_stream s, int64_t n, int64_t i)
{
    int half = 4;
    while (half < 32 && n > (INT64_C(1) << (2 * half))) half++;
    uint64_t mask = (UINT64_C(1) << half) - 1, x = (uint64_t)i;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint64_t mixed = left ^ (random_bits(s, right << 3 | round) & mask);
            left = right;
            right = mixed;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

/* Selection sampling: row i is taken with probability (still wanted)/(still to come). */
void random_subset(random_stream s, int64_t n, int64_t k, int64_t *chosen)
{
    int64_t taken = 0;
    for (int64_t i = 0; i < n && taken < k; i++)
        if (random_uniform(s, (uint64_t)i) * (double)(n - i) < (double)(k - taken)) chosen[taken++] = i;
}
