#include "params/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { WORD_BITS = 64 };

static int64_t words(const changes *c) { return (c->parts + WORD_BITS - 1) / WORD_BITS; }

bool changes_init(changes *c, int64_t parts)
{
    *c = (changes){.parts = parts};
    c->bits = mem_zeroed(words(c), sizeof *c->bits);
    return c->bits != NULL;
}

void changes_clear(changes *c)
{
    free(c->bits);
    *c = (changes){0};
}

bool changes_has(const changes *c, int64_t part) { return c->bits[part / WORD_BITS] >> part % WORD_BITS & 1; }

void changes_mark(changes *c, int64_t part)
{
    c->count += !changes_has(c, part);
    c->bits[part / WORD_BITS] |= UINT64_C(1) << part % WORD_BITS;
}

void changes_forget(changes *c)
{
    memset(c->bits, 0, (size_t)words(c) * sizeof *c->bits);
    c->count = 0;
}

int64_t changes_next(const changes *c, int64_t from)
{
    while (from < c->parts) {
        uint64_t rest = c->bits[from / WORD_BITS] >> from % WORD_BITS;
        if (rest & 1) return from;
        from = rest ? from + 1 : (from / WORD_BITS + 1) * WORD_BITS;
    }
    return -1;
}
