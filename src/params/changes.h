/* Which of the parts of an array have changed since a checkpoint was written last: a bit for each. */
#ifndef PARAMS_CHANGES_H
#define PARAMS_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct changes {
    int64_t parts, count; /* there are, have changed */
    uint64_t *bits;
} changes;

bool changes_init(changes *c, int64_t parts); /* none has; false: out of memory */
void changes_clear(changes *c);
void changes_mark(changes *c, int64_t part);
void changes_forget(changes *c);                      /* none has, from here on */
int64_t changes_next(const changes *c, int64_t from); /* the first at or after `from` that has; -1: none */
bool changes_has(const changes *c, int64_t part);

#endif
