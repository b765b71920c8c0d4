#include "model/made.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    anygp_status (*make)(const char *text, const model_ops **out, anygp_error *e);
} makers[] = {{"combine", made_combine}, {"pep", made_pep}};

static void connect(made_model *m) { m->ops.name = m->name, m->ops.family = &m->kind; }

anygp_status made_new(const model_ops *from, made_model **out, anygp_error *e)
{
    made_model *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    m->ops = *from;
    m->ops.made = true;
    m->kind = *(const sparse_kind *)from->family;
    connect(m);
    *out = m;
    return ANYGP_OK;
}

anygp_status model_make(const char *text, const model_ops **out, anygp_error *e)
{
    size_t n = strcspn(text, "( ");
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strlen(makers[i].word) == n && !strncmp(text, makers[i].word, n)) return makers[i].make(text, out, e);
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: '%.80s' is not an expression of a model; combine(...) and pep(...) are", text);
}

const model_ops *model_copy(const model_ops *m)
{
    if (!m || !m->made) return m;
    made_model *c = malloc(sizeof *c);
    if (!c) return NULL;
    memcpy(c, m, sizeof *c);
    connect(c);
    return &c->ops;
}

void model_free(const model_ops *m)
{
    if (m && m->made) free((void *)m);
}
