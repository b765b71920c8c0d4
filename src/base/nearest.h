/* "Did you mean": the name that a misspelt word was probably meant to be. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdint.h>
#include <string.h>

/* The nearest of `count` names to a word by edit distance (Levenshtein; case does not count), the first of several, or NULL
   when none is near.  name(i, ctx) may be NULL: that one is left out.  Very long words are near nothing. */
const char *nearest_to(const char *word, int64_t length, int64_t count, const char *(*name)(int64_t i, const void *ctx),
                       const void *ctx);

static inline const char *nearest_name(const char *word, int64_t count, const char *(*name)(int64_t i, const void *ctx),
                                       const void *ctx)
{
    return nearest_to(word, (int64_t)strlen(word), count, name, ctx);
}

#endif
