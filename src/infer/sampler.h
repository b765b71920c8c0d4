/* Which blocks a step looks at: functions of (seed, t) alone, so that every rank and a resumed run choose the same.
   Without replacement within an epoch: epoch k goes through a random permutation of the blocks, made on the fly
   (random_shuffled), so that memory does not grow with P. */
#ifndef INFER_SAMPLER_H
#define INFER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* block[S]: those of step t = 0, 1, ...; S <= P.  A step may reach over the end of an epoch, but never has a block twice.
   replace: independent draws, as theorems 5 and 6 of 000 have them. */
void sample_blocks(uint64_t seed, int64_t t, int64_t P, int64_t S, bool replace, int64_t *block);

#endif
