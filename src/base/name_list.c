/* Names joined for a sentence of any length. */
#include "base/name_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *name_list(int64_t count, const char *(*name)(int64_t i, const void *ctx), const void *ctx, const char *last)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    const char *waiting = NULL; /* only what follows shows whether it is the last */
    int64_t written = 0;
    if (!f) return NULL;
    for (int64_t i = 0; i < count; i++) {
        const char *next = name(i, ctx);
        if (!next) continue;
        if (waiting) fprintf(f, "%s%s", written++ ? ", " : "", waiting);
        waiting = next;
    }
    if (waiting) fprintf(f, "%s%s", written ? last : "", waiting);
    if (fclose(f) == 0) return text;
    free(text);
    return NULL;
}

bool list_has(const char *list, const char *word, size_t length)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n)) return true;
    }
    return false;
}

bool list_has_word(const char *list, const char *word) { return list_has(list, word, strlen(word)); }
