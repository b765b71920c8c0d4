/* The edit distance of two words, for "did you mean". */
#include "base/edits.h"

#include <strings.h>

static int64_t smallest(int64_t a, int64_t b, int64_t c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

static bool differ(char a, char b, bool any_case) { return any_case ? strncasecmp(&a, &b, 1) != 0 : a != b; }

/* One row of the table at a time. */
int64_t edits(const char *a, int64_t na, const char *b, int64_t nb, bool any_case)
{
    int64_t row[EDITS_LONGEST + 1];
    if (na > EDITS_LONGEST || nb > EDITS_LONGEST) return EDITS_LONGEST;
    for (int64_t j = 0; j <= nb; j++) row[j] = j;
    for (int64_t i = 1; i <= na; i++) {
        int64_t corner = row[0];
        row[0] = i;
        for (int64_t j = 1; j <= nb; j++) {
            int64_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, corner + differ(a[i - 1], b[j - 1], any_case));
            corner = above;
        }
    }
    return row[nb];
}
