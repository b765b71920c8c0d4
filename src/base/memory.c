/* Allocation with checked sizes, and what memory the machine has left. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool size_mul(int64_t a, int64_t b, size_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow((size_t)a, (size_t)b, out) && *out <= SIZE_MAX / 4;
}

static size_t round_up(size_t bytes) { return (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN; }

void *mem_alloc(int64_t count, size_t size)
{
    size_t bytes;
    if (!size_mul(count, (int64_t)size, &bytes)) return NULL;
    return aligned_alloc(MEM_ALIGN, bytes ? round_up(bytes) : MEM_ALIGN);
}

void *mem_zeroed(int64_t count, size_t size)
{
    void *p = mem_alloc(count, size);
    if (p) memset(p, 0, (size_t)count * size);
    return p;
}

double *mem_doubles(int64_t rows, int64_t cols)
{
    size_t count;
    return size_mul(rows, cols, &count) ? mem_alloc((int64_t)count, sizeof(double)) : NULL;
}

double *mem_copied(int64_t rows, int64_t cols, const double *from)
{
    double *to = mem_doubles(rows, cols);
    if (to) memcpy(to, from, (size_t)(rows * cols) * sizeof *to);
    return to;
}

bool mem_grow(double **array, int64_t rows, int64_t cols)
{
    size_t cells, bytes;
    if (!size_mul(rows, cols, &cells) || !size_mul((int64_t)cells, sizeof **array, &bytes)) return false;
    double *more = realloc(*array, bytes ? bytes : 1);
    if (more) *array = more;
    return more != NULL;
}

char *mem_strdup(const char *s)
{
    if (!s) return NULL;
    size_t n = strlen(s) + 1;
    char *p = malloc(n);
    return p ? memcpy(p, s, n) : NULL;
}

/* ----------------------------------------------------------------------------------------- arena */

typedef struct chunk {
    struct chunk *next;
    size_t size, used; /* bytes behind the header */
} chunk;

enum { CHUNK_HEADER = 64, CHUNK_MIN = 1 << 20 };

struct arena {
    chunk *first, *current;
};

arena *arena_new(void) { return calloc(1, sizeof(arena)); }

void arena_free(arena *a)
{
    if (!a) return;
    for (chunk *c = a->first, *next; c; c = next) next = c->next, free(c);
    free(a);
}

static chunk *chunk_new(size_t size)
{
    chunk *c = aligned_alloc(MEM_ALIGN, CHUNK_HEADER + size);
    if (c) *c = (chunk){.size = size};
    return c;
}

/* The next chunk with room for `bytes`; a new one goes right behind the current one. */
static chunk *arena_advance(arena *a, size_t bytes)
{
    chunk *c = a->current ? a->current->next : a->first;
    if (c && c->size >= bytes) return c;
    size_t grow = a->current ? 2 * a->current->size : CHUNK_MIN;
    if (grow > (size_t)1 << 26) grow = (size_t)1 << 26;
    chunk *fresh = chunk_new(bytes > grow ? bytes : grow);
    if (!fresh) return NULL;
    fresh->next = c;
    if (a->current)
        a->current->next = fresh;
    else
        a->first = fresh;
    return fresh;
}

void *arena_alloc(arena *a, int64_t count, size_t size)
{
    size_t bytes;
    if (!size_mul(count, (int64_t)size, &bytes)) return NULL;
    bytes = round_up(bytes ? bytes : 1);
    chunk *c = a->current;
    if (!c || c->size - c->used < bytes) {
        if (!(c = arena_advance(a, bytes))) return NULL;
        a->current = c;
        c->used = 0;
    }
    void *p = (char *)c + CHUNK_HEADER + c->used;
    c->used += bytes;
    return p;
}

void arena_reset(arena *a)
{
    a->current = a->first;
    if (a->first) a->first->used = 0;
}

/* ------------------------------------------------------------------------------- what is left */

/* The first integer after `key` in a small text file, or -1. */
static int64_t file_number(const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    char line[256];
    long long v = -1;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%lld", &v) == 1) break;
    fclose(f);
    return v;
}

int64_t memory_available(void)
{
    int64_t kb = file_number("/proc/meminfo", "MemAvailable:");
    int64_t left = kb >= 0 ? kb * 1024 : (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limit = file_number("/sys/fs/cgroup/memory.max", "");
    int64_t used = file_number("/sys/fs/cgroup/memory.current", "");
    if (limit > 0 && used >= 0 && limit - used < left) left = limit > used ? limit - used : 0;
    return left;
}
