/* Memory: checked sizes, aligned blocks, and arenas.
   An arena hands out 64-byte aligned slices of a few large chunks and takes them all back at once: memory of
   one step lives in one arena that is reset, not freed. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEM_ALIGN 64

/* a*b as a size; false on overflow or a negative factor. */
bool size_mul(int64_t a, int64_t b, size_t *out);

/* count*size bytes, 64-byte aligned, not zeroed (mem_zeroed: zeroed); NULL on overflow or exhaustion.
   Freed by free().  A request of zero bytes gives a valid pointer. */
void *mem_alloc(int64_t count, size_t size);
void *mem_zeroed(int64_t count, size_t size);
double *mem_doubles(int64_t rows, int64_t cols); /* rows*cols of them; NULL also when that overflows */
double *mem_copied(int64_t rows, int64_t cols, const double *from);
/* Another size for *array, whose first elements stay; false: no memory, and it is as it was. */
bool mem_grow(double **array, int64_t rows, int64_t cols);
char *mem_strdup(const char *s);

typedef struct arena arena;
arena *arena_new(void);
void arena_free(arena *a);                               /* accepts NULL */
void *arena_alloc(arena *a, int64_t count, size_t size); /* NULL on overflow or exhaustion */
void arena_reset(arena *a);                              /* keeps the chunks */

/* Bytes the process may still use: the smaller of what the system and the control group have left. */
int64_t memory_available(void);

#endif
