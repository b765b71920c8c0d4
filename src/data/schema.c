#include "data/schema.h"

#include <stdio.h>
#include <stdlib.h>

static void input_clear(input_spec *c)
{
    free(c->name);
    for (int64_t l = 0; c->level && l < c->levels; l++) free(c->level[l]);
    free(c->level);
}

void schema_clear(schema *s)
{
    for (int64_t j = 0; s->input && j < s->inputs; j++) input_clear(&s->input[j]);
    free(s->input);
    free(s->target);
    *s = (schema){0};
}

const input_spec *schema_at(const schema *s, int64_t j)
{
    /* Constants only push inputs to the right, so none has a position beyond its own place. */
    for (int64_t i = j; i < s->inputs; i++)
        if (s->input[i].position == j) return &s->input[i];
    return NULL;
}

const char *schema_label(const input_spec *c, char *buffer)
{
    if (c->name)
        snprintf(buffer, 96, "'%.80s'", c->name);
    else
        snprintf(buffer, 96, "%lld", (long long)c->number);
    return buffer;
}
