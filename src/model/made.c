/* Models made from an expression NAME(key=value, ...). */
#include "model/made.h"

#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"

/* What there is, how it is written, and the message for a mistake. */
static const struct {
    const char *word, *example, *hint;
    anygp_status (*make)(scanner *s, made_model **out, anygp_error *e);
} makers[] = {{"pep", "pep(alpha=0.5)", "it is not of the form pep(alpha=0.5)", made_pep},
              {"combine", "combine(dtc=0.3,fitc=0.7)",
               "it is not a combination, which is written combine(dtc=0.3,fitc=0.7)", made_combine},
              {"deep", "deep(layers=3)", "it is not of the form deep(layers=3)", made_deep},
              {"qsgp", "qsgp(batch=1000)", "it is not of the form qsgp(batch=1000,dense=10)", made_qsgp},
              {"gpoe", "gpoe(beta=uniform)", "it is not of the form gpoe(beta=uniform)", made_gpoe},
              {"npae", "npae(levels=2)", "it is not of the form npae(levels=2)", made_npae},
              {"lagp", "lagp(design=mspe)", "it is not of the form lagp(design=mspe,start=6,close=1000)", made_lagp},
              {"patchwork", "patchwork(points=9)", "it is not of the form patchwork(points=9)", made_patchwork},
              {"hier", "hier(local=matern32)", "it is not of the form hier(local=matern32)", made_hier},
              {"qsrvm", "qsrvm(batch=1000)", "it is not of the form qsrvm(batch=1000,basis=kernel)", made_qsrvm},
              {"lma", "lma(order=2)", "it is not of the form lma(order=2)", made_lma},
              {"moe", "moe(gate=square)", "it is not of the form moe(gate=square) or moe(hard)", made_moe}};
enum { MAKERS = sizeof makers / sizeof *makers };

const char *model_expression(int64_t i) { return i >= 0 && i < MAKERS ? makers[i].example : NULL; }

static const char *listed(int64_t i, const void *ctx)
{
    (void)ctx;
    return makers[i].example;
}

char *model_expressions(const char *last) { return name_list(MAKERS, listed, NULL, last); }

bool model_is_expression(const char *text)
{
    bool bare = false; /* one that is not a model by itself */
    for (size_t i = 0; i < MAKERS; i++) bare = bare || (!strcmp(text, makers[i].word) && !model_find(text));
    return bare || strchr(text, '(');
}

void made_connect(made_model *m)
{
    m->ops.name = m->name, m->ops.family = &m->kind;
    if (*m->local) m->ops.local = m->local;
}

anygp_status made_new(const model_ops *from, size_t kind, made_model **out, anygp_error *e)
{
    made_model *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    m->ops = *from;
    memcpy(&m->kind, from->family, kind);
    made_connect(m);
    *out = m;
    return ANYGP_OK;
}

typedef struct only_number {
    const char *key;
    double value;
    int64_t at; /* in the text */
    bool given;
} only_number;

static anygp_status take_number(scanner *s, void *ctx)
{
    only_number *o = ctx;
    int64_t n = scan_word(s);
    if (o->given) return scan_fail(s, s->at, NULL, "%s is given twice", o->key);
    if (n && ((size_t)n != strlen(o->key) || strncmp(s->text + s->at, o->key, (size_t)n)))
        return scan_fail(s, s->at, NULL, "unknown option '%.*s'", (int)(n < 40 ? n : 40), s->text + s->at);
    s->at += n;
    if (n && !scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a number");
    scan_blanks(s);
    o->at = s->at;
    TRY(scan_number(s, &o->value));
    o->given = true;
    return ANYGP_OK;
}

anygp_status made_number(scanner *s, const char *key, const char *what, int64_t *at, double *value)
{
    only_number o = {.key = key};
    TRY(scan_options(s, take_number, &o));
    TRY(scan_end(s));
    if (!o.given) return scan_fail(s, s->at, NULL, "expected %s", what);
    *at = o.at, *value = o.value;
    return ANYGP_OK;
}

static anygp_status no_expression(const char *text, anygp_error *e)
{
    char *list = model_expressions(" and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "model: '%.80s' is not an expression of a model; those are written as in %s", text,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

anygp_status model_make(const char *text, const model_ops **out, anygp_error *e)
{
    scanner s = scan_text("model", text, e);
    size_t n = (size_t)scan_word(&s), i = 0;
    made_model *m = NULL;
    while (i < MAKERS && (strlen(makers[i].word) != n || strncmp(text + s.at, makers[i].word, n))) i++;
    if (i == MAKERS) return no_expression(text, e);
    s.at += (int64_t)n, s.hint = makers[i].hint;
    if (scan_peek(&s) != '(') return scan_fail(&s, s.at, NULL, "expected (");
    TRY(makers[i].make(&s, &m, e));
    *out = &m->ops;
    return ANYGP_OK;
}

static bool is_listed(const model_ops *m)
{
    bool found = false;
    for (int64_t i = 0; i < model_count(); i++)
        found = found || model_at(i) == m || model_at(i)->with_inducing == m || model_at(i)->stepped == m ||
                model_at(i)->iterative == m;
    return found;
}

const model_ops *model_copy(const model_ops *m)
{
    if (!m || is_listed(m)) return m;
    made_model *c = malloc(sizeof *c);
    if (!c) return NULL;
    memcpy(c, m, sizeof *c);
    made_connect(c);
    return &c->ops;
}

void model_free(const model_ops *m)
{
    if (m && !is_listed(m)) free((void *)m);
}
