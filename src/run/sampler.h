/* Which blocks a step looks at: functions of (seed, t) alone, so that every rank and a resumed run choose the same.
   Without replacement: epoch k goes through a random permutation of the blocks, made on the fly (random_shuffled), so that
   memory does not grow with P.  An epoch has floor(P / S) steps; where S does not divide P, the last P mod S blocks of its
   permutation rest until the next epoch, which has another.  So a step never has a block twice, and seen over all seeds its
   blocks are a fair sample: the statistics stay unbiased. */
#ifndef RUN_SAMPLER_H
#define RUN_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* block[S]: those of step t = 0, 1, ...; 1 <= S <= P.
   replace: independent draws, as theorems 5 and 6 of 000 have them; a block may then come twice. */
void sample_blocks(uint64_t seed, int64_t t, int64_t P, int64_t S, bool replace, int64_t *block);

#endif
