/* Numbers to 0, 1, 2, ... by a hash table. */
#include "data/table/id_table.h"

#include <stdlib.h>

#include "base/memory.h"

enum { FIRST_ROOM = 64 };

/* The slot of an id, or the free one where it belongs.  Multiplying by an odd constant spreads neighbours. */
static int64_t *find(const id_table *t, int64_t id)
{
    uint64_t mask = (uint64_t)t->slots - 1, h = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);
    for (h ^= h >> 32;; h++) {
        int64_t *s = &t->slot[h & mask];
        if (*s == 0 || t->id[*s - 1] == id) return s;
    }
}

static anygp_status grow(id_table *t, anygp_error *e)
{
    int64_t room = t->room ? 2 * t->room : FIRST_ROOM;
    int64_t *id = realloc(t->id, (size_t)room * sizeof *id), *slot = mem_zeroed(2 * room, sizeof *slot);
    if (id) t->id = id;
    if (!id || !slot) {
        free(slot);
        return fail_memory(e, "the list of blocks", 24.0 * (double)room);
    }
    free(t->slot);
    t->slot = slot;
    t->slots = 2 * room;
    t->room = room;
    for (int64_t k = 0; k < t->count; k++) *find(t, t->id[k]) = k + 1;
    return ANYGP_OK;
}

anygp_status id_table_index(id_table *t, int64_t id, int64_t *index, anygp_error *e)
{
    if (t->count == t->room) TRY(grow(t, e));
    int64_t *s = find(t, id);
    if (*s == 0) {
        t->id[t->count++] = id;
        *s = t->count;
    }
    *index = *s - 1;
    return ANYGP_OK;
}

int64_t id_table_find(const id_table *t, int64_t id) { return t->slots ? *find(t, id) - 1 : -1; }

void id_table_clear(id_table *t)
{
    free(t->id);
    free(t->slot);
    *t = (id_table){0};
}
