/* How many letters must be inserted, dropped or changed to turn one word into another (Levenshtein): what "did you
   mean" is made of.  Words longer than EDITS_LONGEST are never near: the result is then that. */
#ifndef BASE_EDITS_H
#define BASE_EDITS_H

#include <stdbool.h>
#include <stdint.h>

enum { EDITS_LONGEST = 64 };

int64_t edits(const char *a, int64_t na, const char *b, int64_t nb, bool any_case);

#endif
