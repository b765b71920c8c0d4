/* Which arrays of a file with several make the table: X and y, or all of them. */
#include "data/formats/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int64_t find(const char *const *names, int64_t n, const char *const *wanted)
{
    for (; *wanted; wanted++)
        for (int64_t k = 0; k < n; k++)
            if (!strcmp(names[k], *wanted)) return k;
    return -1;
}

members members_choose(const char *const *names, int64_t n)
{
    static const char *const inputs[] = {"X", "x", "inputs", "data", NULL};
    static const char *const alone[] = {"X", "x", "inputs", NULL};
    static const char *const targets[] = {"y", "Y", "target", "targets", "labels", NULL};
    int64_t x = find(names, n, inputs), y = find(names, n, targets);
    if (x >= 0 && y >= 0) return (members){.order = {x, y}, .count = 2, .target = true};
    if (n == 1 && find(names, n, alone) == 0) return (members){.count = 1};
    return (members){.target = true};
}

anygp_status members_name(reader *r, int64_t first, int64_t cols, const char *name, bool plain, anygp_error *e)
{
    if (cols > 1 && plain) return ANYGP_OK;
    size_t size = strlen(name) + 24;
    for (int64_t j = 0; j < cols; j++) {
        char *text = malloc(size);
        if (!text) return fail_memory(e, "column names", (double)size);
        if (cols == 1)
            snprintf(text, size, "%s", name);
        else
            snprintf(text, size, "%s_%lld", name, (long long)j);
        r->columns[first + j].name = text;
    }
    return ANYGP_OK;
}
