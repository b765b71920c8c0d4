/* Linear combinations of sparse models that share a test conditional (000, section 4, remark 2): from an expression
       combine(MODEL=COEFFICIENT, ...)
   to a model, which is the family's with other terms (sparse_combined.c), a partition where a term needs one, and
   nothing to learn.  Models that predict alike go together: dtc, vfe, pep, fitc and pitc; sor, fic and pic stand alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "model/made.h"

/* What an expression says, in the order of what their G keeps. */
typedef struct expression {
    int64_t count;
    const model_ops *model[TERMS_MOST];
    double alpha[TERMS_MOST];
} expression;

static const sparse_kind *kind_of(const model_ops *m) { return m->family; }

/* ------------------------------------------------------------------------------------ the parser */

static bool can_be_combined(const model_ops *m)
{
    return m->load == sparse_load && !m->variables && kind_of(m)->form == FORM_JOINT && !kind_of(m)->tighter &&
           kind_of(m)->order == 0;
}

static anygp_status no_part(const scanner *s, int64_t n)
{
    char hint[300], *list = model_names(can_be_combined, " and ");
    snprintf(hint, sizeof hint, "%s can", name_list_or(list));
    free(list);
    return scan_fail(s, s->at, hint, "'%.*s' cannot be part of a combination", (int)(n < 40 ? n : 40), s->text + s->at);
}

/* The model that is next; it is not taken yet. */
static const model_ops *model_there(const scanner *s, int64_t n)
{
    char word[MADE_WORD_MOST] = "";
    if (n < MADE_WORD_MOST) memcpy(word, s->text + s->at, (size_t)n);
    const model_ops *m = model_find(word);
    return m && can_be_combined(m) ? m : NULL;
}

/* Another one that predicts as `ctx` does. */
static const char *alike(int64_t i, const void *ctx)
{
    const model_ops *m = model_at(i), *as = ctx;
    return m != as && can_be_combined(m) && kind_of(m)->test == kind_of(as)->test ? m->name : NULL;
}

static anygp_status not_alike(const scanner *s, const model_ops *before, const model_ops *m)
{
    char hint[300], *list = name_list(model_count(), alike, before, " and ");
    const char *others = name_list_or(list);
    snprintf(hint, sizeof hint, "they do not predict alike, and %s goes with %s%s", before->name,
             *others ? "" : "no other", others);
    free(list);
    return scan_fail(s, s->at, hint, "%s and %s cannot be combined", before->name, m->name);
}

static anygp_status check_together(const expression *x, const model_ops *m, const scanner *s)
{
    if (x->count == TERMS_MOST)
        return scan_fail(s, s->at, "leave some out", "a combination has at most %d terms", TERMS_MOST);
    for (int64_t i = 0; i < x->count; i++) {
        if (x->model[i] == m)
            return scan_fail(s, s->at, "add its coefficients", "%s is named twice in the combination", m->name);
        if (kind_of(x->model[i])->test != kind_of(m)->test) return not_alike(s, x->model[i], m);
    }
    return ANYGP_OK;
}

static bool keeps_more(const sparse_kind *a, const sparse_kind *b)
{
    return a->kept > b->kept || (a->kept == b->kept && a->power > b->power);
}

/* Adds a term after those whose G keeps less. */
static void insert_term(expression *x, const model_ops *m, double alpha)
{
    int64_t i = x->count++;
    for (; i > 0 && keeps_more(kind_of(x->model[i - 1]), kind_of(m)); i--)
        x->model[i] = x->model[i - 1], x->alpha[i] = x->alpha[i - 1];
    x->model[i] = m, x->alpha[i] = alpha;
}

static anygp_status take_term(scanner *s, void *ctx)
{
    expression *x = ctx;
    double alpha;
    int64_t n = scan_word(s);
    const model_ops *m = model_there(s, n);
    if (!m) return no_part(s, n);
    TRY(check_together(x, m, s));
    s->at += n;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a coefficient");
    scan_blanks(s);
    int64_t at = s->at;
    TRY(scan_number(s, &alpha));
    if (!isfinite(alpha))
        return scan_fail(s, at, "use a smaller one", "the coefficient of %s is too large to be a number", m->name);
    insert_term(x, m, alpha);
    return ANYGP_OK;
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

anygp_status made_combine(scanner *s, made_model **out, anygp_error *e)
{
    expression x = {.count = 0};
    made_model *c = NULL;
    TRY(scan_options(s, take_term, &x));
    TRY(scan_end(s));
    if (x.count == 0) return no_part(s, 0);
    TRY(made_new(&model_dtc, sizeof c->kind.sparse, &c, e));
    c->ops.summary = "linear combination of sparse models";
    c->ops.objective = "combined bound";
    c->ops.needs.given = true;
    c->ops.update = NULL; /* sums of several models are not kept apart */
    c->ops.floats = NULL; /* nothing is learned */
    c->kind.sparse = (sparse_kind){.test = kind_of(x.model[0])->test, .terms.count = x.count};
    for (int64_t i = 0; i < x.count; i++) {
        const sparse_kind *k = kind_of(x.model[i]);
        c->kind.sparse.terms.term[i] = (sparse_term){k->kept, k->power, x.alpha[i]};
        if (!model_over_parts(x.model[i])) continue;
        c->ops.needs.rows = ROWS_PARTS;
        c->ops.order = x.model[i]->order;
    }
    write_name(&x, c->name);
    *out = c;
    return ANYGP_OK;
}
