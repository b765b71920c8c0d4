/* Different texts, numbered in the order of their first appearance; lookup by hashing. */
#ifndef DATA_TEXT_NAME_TABLE_H
#define DATA_TEXT_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct name_table {
    char **names; /* count of them, each ended by a zero byte */
    int64_t count, room;
    int64_t *slots; /* 1 + index of a name, 0 where empty; a power of two of them, at most half taken */
    int64_t nslots;
} name_table;

int64_t name_find(const name_table *t, const char *s, size_t n); /* its number, or -1; safe from many threads */
int64_t name_add(name_table *t, const char *s, size_t n);        /* of a text not in the table; -1: out of memory */
void name_table_free(name_table *t);                             /* forgets the names as well */

/* The positions of texts in a list, by hashing: the first of equal ones. */
typedef struct name_places {
    name_table names;
    int64_t *place; /* of each of the names */
} name_places;

bool name_places_make(name_places *p, int64_t most);                   /* room for so many; false: out of memory */
bool name_places_add(name_places *p, const char *text, int64_t place); /* false: out of memory */
int64_t name_places_find(const name_places *p, const char *text);      /* -1: it is not there */
void name_places_free(name_places *p);

#endif
