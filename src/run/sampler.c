/* The blocks of a step: a function of seed and step. */
#include "run/sampler.h"

#include "base/random.h"

/* Epochs have the streams 0, 1, ...; this one is never reached. */
static const uint64_t DRAWS = UINT64_MAX;

static void draw(uint64_t seed, int64_t t, int64_t P, int64_t S, int64_t *block)
{
    random_stream s = {seed, RANDOM_STEP, DRAWS};
    for (int64_t i = 0; i < S; i++) block[i] = random_below(s, (uint64_t)t * (uint64_t)S + (uint64_t)i, P);
}

void sample_blocks(uint64_t seed, int64_t t, int64_t P, int64_t S, bool replace, int64_t *block)
{
    if (replace) {
        draw(seed, t, P, S, block);
        return;
    }
    int64_t steps = P / S, first = t % steps * S;
    random_stream epoch = {seed, RANDOM_STEP, (uint64_t)(t / steps)};
    for (int64_t i = 0; i < S; i++) block[i] = random_shuffled(epoch, P, first + i);
}
