/* Edit distances, one row of the table at a time. */
#include "base/nearest.h"

#include <strings.h>

enum { LONGEST = 64 };

static int64_t smallest(int64_t a, int64_t b, int64_t c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

/* How many letters must be inserted, dropped or changed to turn a into b; LONGEST if either is longer than that. */
static int64_t edits(const char *a, int64_t na, const char *b, int64_t nb)
{
    int64_t row[LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (int64_t j = 0; j <= nb; j++) row[j] = j;
    for (int64_t i = 1; i <= na; i++) {
        int64_t corner = row[0];
        row[0] = i;
        for (int64_t j = 1; j <= nb; j++) {
            int64_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, corner + (strncasecmp(a + i - 1, b + j - 1, 1) != 0));
            corner = above;
        }
    }
    return row[nb];
}

/* Near means that at most a third of the letters plus one are wrong, and fewer than the name has. */
const char *nearest_to(const char *word, int64_t length, int64_t count, const char *(*name)(int64_t i, const void *ctx),
                       const void *ctx)
{
    const char *best = NULL;
    int64_t least = length / 3 + 2;
    for (int64_t i = 0; i < count; i++) {
        const char *candidate = name(i, ctx);
        int64_t n = candidate ? (int64_t)strlen(candidate) : 0,
                d = candidate ? edits(word, length, candidate, n) : least;
        if (d < least && d < n) best = candidate, least = d;
    }
    return best;
}
