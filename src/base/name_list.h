/* Any number of names, of any length, joined to a list for a sentence. */
#ifndef BASE_NAME_LIST_H
#define BASE_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "a, b and c" with last = " and ".  name(i, ctx) for 0 <= i < count; NULL: that one is left out.  Freed by free(); NULL: out
   of memory, which name_list_or() replaces by "...". */
char *name_list(int64_t count, const char *(*name)(int64_t i, const void *ctx), const void *ctx, const char *last);

/* Whether the word of this length is an item of a list with commas between. */
bool list_has(const char *list, const char *word, size_t length);
bool list_has_word(const char *list, const char *word);

static inline const char *name_list_or(const char *list) { return list ? list : "..."; }

#endif
