/* A hash table from names to positions. */
#include "data/text/name_table.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"

/* The slot of s, or the empty one where it belongs. */
static int64_t *slot_of(const name_table *t, const char *s, size_t n)
{
    uint64_t mask = (uint64_t)t->nslots - 1, i = XXH3_64bits(s, n) & mask;
    for (;; i = (i + 1) & mask) {
        int64_t k = t->slots[i];
        if (k == 0) return &t->slots[i];
        const char *name = t->names[k - 1];
        if (strlen(name) == n && !memcmp(name, s, n)) return &t->slots[i];
    }
}

int64_t name_find(const name_table *t, const char *s, size_t n) { return t->nslots ? *slot_of(t, s, n) - 1 : -1; }

static bool grow_slots(name_table *t)
{
    int64_t *former = t->slots;
    int64_t nslots = t->nslots ? 2 * t->nslots : 16;
    int64_t *slots = mem_zeroed(nslots, sizeof *slots);
    if (!slots) return false;
    t->slots = slots;
    t->nslots = nslots;
    for (int64_t k = 0; k < t->count; k++) *slot_of(t, t->names[k], strlen(t->names[k])) = k + 1;
    free(former);
    return true;
}

static bool grow_names(name_table *t)
{
    int64_t room = t->room ? 2 * t->room : 8;
    char **names = realloc(t->names, (size_t)room * sizeof *names);
    if (!names) return false;
    t->names = names;
    t->room = room;
    return true;
}

int64_t name_add(name_table *t, const char *s, size_t n)
{
    if (t->count == t->room && !grow_names(t)) return -1;
    if (2 * (t->count + 1) > t->nslots && !grow_slots(t)) return -1;
    char *copy = malloc(n + 1);
    if (!copy) return -1;
    memcpy(copy, s, n);
    copy[n] = 0;
    t->names[t->count] = copy;
    *slot_of(t, s, n) = t->count + 1;
    return t->count++;
}

void name_table_free(name_table *t)
{
    for (int64_t k = 0; k < t->count; k++) free(t->names[k]);
    free(t->names);
    free(t->slots);
    *t = (name_table){0};
}

bool name_places_make(name_places *p, int64_t most)
{
    *p = (name_places){0};
    return (p->place = mem_alloc(most, sizeof *p->place)) != NULL;
}

bool name_places_add(name_places *p, const char *text, int64_t place)
{
    size_t n = strlen(text);
    if (name_find(&p->names, text, n) >= 0) return true;
    int64_t k = name_add(&p->names, text, n);
    if (k >= 0) p->place[k] = place;
    return k >= 0;
}

int64_t name_places_find(const name_places *p, const char *text)
{
    int64_t k = name_find(&p->names, text, strlen(text));
    return k < 0 ? -1 : p->place[k];
}

void name_places_free(name_places *p)
{
    name_table_free(&p->names);
    free(p->place);
    p->place = NULL;
}
