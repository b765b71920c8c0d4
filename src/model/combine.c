/* Linear combinations of sparse models that share a test conditional (000, section 4, remark 2): from an expression
       combine(MODEL=COEFFICIENT, ...)
   to a model, which is the family's with other terms (sparse_combined.c), a partition where a term needs one, and
   nothing to learn.  Models predict alike, and so go together: dtc, vfe, pep, fitc and pitc; sor, fic and pic stand alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "model/made.h"

/* What an expression says, by place in the list of models. */
typedef struct expression {
    const char *at, *end;
    int64_t count;
    const model_ops *model[TERMS_MOST];
    double alpha[TERMS_MOST];
} expression;

static const sparse_kind *kind_of(const model_ops *m) { return m->family; }

/* ------------------------------------------------------------------------------------ the parser */

static anygp_status not_an_expression(const char *text, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: '%.80s' is not a combination, which is written combine(dtc=0.3,fitc=0.7)", text);
}

static bool take(expression *x, char wanted)
{
    while (x->at < x->end && *x->at == ' ') x->at++;
    if (x->at == x->end || *x->at != wanted) return false;
    x->at++;
    while (x->at < x->end && *x->at == ' ') x->at++;
    return true;
}

static bool can_be_combined(const model_ops *m)
{
    return m->load == sparse_load && kind_of(m)->form == FORM_JOINT && !kind_of(m)->tighter;
}

static anygp_status no_part(const char *word, size_t n, anygp_error *e)
{
    char *list = model_names(can_be_combined, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "model: '%.*s' cannot be part of a combination; %s can", (int)(n < 40 ? n : 40),
              word, name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status take_model(expression *x, const model_ops **m, anygp_error *e)
{
    char word[MADE_WORD_MOST] = "";
    size_t n = strcspn(x->at, "=,() ");
    if (n < sizeof word) memcpy(word, x->at, n);
    *m = model_find(word);
    if (!*m || !can_be_combined(*m)) return no_part(x->at, n, e);
    x->at += n;
    return ANYGP_OK;
}

static anygp_status check_together(const expression *x, const model_ops *m, anygp_error *e)
{
    if (x->count == TERMS_MOST)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "model: a combination has at most %d terms", TERMS_MOST);
    for (int64_t i = 0; i < x->count; i++) {
        if (x->model[i] == m)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "model: %s is named twice in the combination", m->name);
        if (kind_of(x->model[i])->test != kind_of(m)->test)
            return fail_with(e, ANYGP_ERR_ARGUMENT,
                             "model: %s and %s cannot be combined, since they do not predict alike; dtc, vfe, pep, "
                             "fitc and pitc go together, sor, fic and pic each stand alone",
                             x->model[i]->name, m->name);
    }
    return ANYGP_OK;
}

static bool keeps_more(const sparse_kind *a, const sparse_kind *b)
{
    return a->kept > b->kept || (a->kept == b->kept && a->power > b->power);
}

/* A term behind those whose G keeps less. */
static void insert_term(expression *x, const model_ops *m, double alpha)
{
    int64_t i = x->count++;
    for (; i > 0 && keeps_more(kind_of(x->model[i - 1]), kind_of(m)); i--)
        x->model[i] = x->model[i - 1], x->alpha[i] = x->alpha[i - 1];
    x->model[i] = m, x->alpha[i] = alpha;
}

static anygp_status take_term(expression *x, const char *text, anygp_error *e)
{
    const model_ops *m;
    double alpha;
    TRY(take_model(x, &m, e));
    TRY(check_together(x, m, e));
    const char *stop = take(x, '=') ? number_scan(x->at, x->end, &alpha) : NULL;
    if (!stop) return not_an_expression(text, e);
    if (!isfinite(alpha))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "model: the coefficient of %s is too large to be a number", m->name);
    x->at = stop;
    insert_term(x, m, alpha);
    return ANYGP_OK;
}

static anygp_status parse(const char *text, expression *x, anygp_error *e)
{
    static const char word[] = "combine";
    *x = (expression){.at = text, .end = text + strlen(text)};
    if (strncmp(text, word, sizeof word - 1)) return not_an_expression(text, e);
    x->at += sizeof word - 1;
    if (!take(x, '(')) return not_an_expression(text, e);
    do TRY(take_term(x, text, e));
    while (take(x, ','));
    return take(x, ')') && x->at == x->end ? ANYGP_OK : not_an_expression(text, e);
}

/* -------------------------------------------------------------------------------------- the model */

static void write_name(const expression *x, char *to)
{
    to = stpcpy(to, "combine(");
    for (int64_t i = 0; i < x->count; i++) {
        to = stpcpy(stpcpy(to, x->model[i]->name), "=");
        to += number_print(x->alpha[i], to);
        *to++ = i + 1 < x->count ? ',' : ')';
    }
    *to = 0;
}

anygp_status made_combine(const char *text, const model_ops **out, anygp_error *e)
{
    expression x;
    made_model *c = NULL;
    TRY(parse(text, &x, e));
    TRY(made_new(&model_dtc, &c, e));
    c->ops.summary = "linear combination of sparse models";
    c->ops.objective = "combined bound";
    c->ops.no_learning = true;
    c->ops.update = NULL; /* sums of several models are not kept apart */
    c->kind = (sparse_kind){.test = kind_of(x.model[0])->test, .terms.count = x.count};
    for (int64_t i = 0; i < x.count; i++) {
        const sparse_kind *k = kind_of(x.model[i]);
        c->kind.terms.term[i] = (sparse_term){k->kept, k->power, x.alpha[i]};
        c->ops.partition |= x.model[i]->partition;
        if (x.model[i]->partition) c->ops.bytes = x.model[i]->bytes; /* those of whole blocks */
    }
    write_name(&x, c->name);
    *out = &c->ops;
    return ANYGP_OK;
}
