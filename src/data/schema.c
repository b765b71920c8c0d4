#include "data/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

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
    free(s->at);
    free(s->target);
    free(s->exposure_name);
    for (int64_t k = 0; s->class_name && k < s->classes; k++) free(s->class_name[k]);
    free(s->class_name);
    *s = (schema){0};
}

anygp_status schema_index(schema *s, anygp_error *e)
{
    if (!(s->at = mem_alloc(s->D, sizeof *s->at))) return fail_memory(e, "the columns", 8.0 * (double)s->D);
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].position >= 0) s->at[s->input[i].position] = i;
    return ANYGP_OK;
}

const char *schema_label(const input_spec *c, char *buffer)
{
    if (c->name)
        snprintf(buffer, 96, "'%.80s'", c->name);
    else
        snprintf(buffer, 96, "%lld", (long long)c->number);
    return buffer;
}
