#include <string.h>

#include "base/edits.h"
#include "kernel/parser.h"

enum { LONGEST_WORD = 32 };

nearest nearest_to(const char *word, int64_t length)
{
    return (nearest){.word = word, .length = length, .distance = length / 3 + 2};
}

void nearest_offer(nearest *n, const char *candidate)
{
    int64_t length = (int64_t)strlen(candidate);
    if (n->length > LONGEST_WORD || length > LONGEST_WORD) return;
    int64_t distance = edits(n->word, n->length, candidate, length, false);
    if (distance < n->distance && distance < length) n->best = candidate, n->distance = distance;
}
