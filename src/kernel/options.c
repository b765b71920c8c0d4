/* One kernel of an expression: name, or name(option, option, ...), where an option is
       ard | iso | dims=COLUMNS | PARAMETER=number | PARAMETER=[numbers] | INTEGER=n
   in any order.  They are collected first and resolved at the end, since counts depend on dims. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/name_list.h"
#include "base/nearest.h"
#include "kernel/parser.h"

enum { HINT_MOST = 400 }; /* of a sentence; longer ones are cut */

typedef struct given_numbers {
    bool set, list;
    int64_t at;           /* in the text */
    int64_t first, count; /* in parser.numbers */
} given_numbers;

typedef struct options {
    const kernel_kind *kind;
    int64_t name_at;
    given_numbers of[LEAF_SPECS];
    int64_t integer;
    bool integer_set, ard, iso, dims;
    bool matern;                /* by the name that leaves its order open: nu=1.5 */
    int64_t dims_from, dims_to; /* their text */
} options;

/* ------------------------------------------------------------------------------------------- collect */

static bool word_is(const char *word, int64_t length, const char *name)
{
    return name && (int64_t)strlen(name) == length && !memcmp(word, name, (size_t)length);
}

static bool has_lengths(const kernel_kind *kind)
{
    for (int64_t s = 0; s < leaf_specs(kind); s++)
        if (kind->specs[s].extent == PER_DIM || kind->specs[s].extent == PER_COMPONENT_DIM) return true;
    return false;
}

/* Option i of a kind, in the order of the documentation; NULL after the last. */
static const char *option_name(const kernel_kind *kind, int64_t i)
{
    int64_t n = leaf_specs(kind);
    if (i < n) return kind->specs[i].name;
    const char *rest[5] = {0};
    int64_t r = 0;
    if (kind->integer_name) rest[r++] = kind->integer_name;
    if (!kind->no_dims) rest[r++] = "dims";
    if (has_lengths(kind)) rest[r++] = "ard", rest[r++] = "iso";
    return rest[i - n];
}

static const char *listed_option(int64_t i, const void *kind) { return option_name(kind, i); }

static anygp_status complain_option(parser *p, const kernel_kind *kind, int64_t length)
{
    char hint[HINT_MOST];
    const char *word = p->s.text + p->s.at;
    int64_t count = 0;
    while (option_name(kind, count)) count++;
    const char *near = nearest_to(word, length, count, listed_option, kind);
    char *list = name_list(count, listed_option, kind, ", ");
    snprintf(hint, sizeof hint, "%s takes %s%s%s%s", kind->name, name_list_or(list), near ? "; did you mean " : "",
             near ? near : "", near ? "?" : "");
    free(list);
    return scan_fail(&p->s, p->s.at, hint, "unknown option '%.*s'", (int)(length < 60 ? length : 60), word);
}

static anygp_status add_number(parser *p, given_numbers *g)
{
    double v;
    TRY(take_positive(p, &v));
    if (!make_room(&p->numbers, &p->numbers_capacity, p->n_numbers + 1, sizeof *p->numbers)) return complain_memory(p);
    p->numbers[p->n_numbers++] = v;
    g->count++;
    return ANYGP_OK;
}

static anygp_status parse_numbers(parser *p, given_numbers *g)
{
    scan_blanks(&p->s);
    *g = (given_numbers){.set = true, .at = p->s.at, .first = p->n_numbers};
    g->list = scan_take(&p->s, '[');
    do TRY(add_number(p, g));
    while (g->list && scan_take(&p->s, ','));
    if (g->list && !scan_take(&p->s, ']')) return scan_fail(&p->s, p->s.at, NULL, "expected , or ]");
    return ANYGP_OK;
}

static anygp_status parse_integer(parser *p, options *o)
{
    double v;
    scan_blanks(&p->s);
    int64_t at = p->s.at;
    if (p->s.text[at] == '0')
        v = 0, p->s.at++; /* a positive number otherwise */
    else
        TRY(take_positive(p, &v));
    const kernel_kind *kind = o->kind;
    if (v != floor(v) || v < (double)kind->integer_least || v > (double)kind->integer_most)
        return scan_fail(&p->s, at, NULL, "%s must be a whole number from %d to %d", kind->integer_name,
                         (int)kind->integer_least, (int)kind->integer_most);
    o->integer = (int64_t)v;
    o->integer_set = true;
    return ANYGP_OK;
}

static anygp_status parse_columns(parser *p, options *o)
{
    scan_blanks(&p->s);
    o->dims = true;
    o->dims_from = p->s.at;
    TRY(parse_dims(p));
    o->dims_to = p->s.at;
    return ANYGP_OK;
}

/* The value after an option that needs one. */
static anygp_status parse_value(parser *p, options *o, int64_t which)
{
    const char *name = option_name(o->kind, which);
    int64_t specs = leaf_specs(o->kind);
    bool integer = name == o->kind->integer_name, twice;
    if (which < specs)
        twice = o->of[which].set;
    else
        twice = integer ? o->integer_set : o->dims;
    if (twice) return scan_fail(&p->s, p->s.at, NULL, "%s is given twice", name);
    p->s.at += (int64_t)strlen(name);
    if (!scan_take(&p->s, '=')) return scan_fail(&p->s, p->s.at, NULL, "expected = and a value for %s", name);
    if (which < specs) return parse_numbers(p, &o->of[which]);
    return integer ? parse_integer(p, o) : parse_columns(p, o);
}

/* Of matern(nu=1.5), which other programs write; the three have the same options. */
static anygp_status parse_nu(parser *p, options *o)
{
    double nu;
    p->s.at += 2;
    if (!scan_take(&p->s, '=')) return scan_fail(&p->s, p->s.at, NULL, "expected = and a value for nu");
    scan_blanks(&p->s);
    int64_t at = p->s.at;
    TRY(take_positive(p, &nu));
    if (!kind_matern(nu)) return scan_fail(&p->s, at, NULL, "nu can be 0.5, 1.5 or 2.5");
    o->kind = kind_matern(nu), o->matern = false;
    p->k->note = NULL;
    return ANYGP_OK;
}

static anygp_status parse_option(scanner *s, void *ctx)
{
    parser *p = (parser *)s; /* which begins with it */
    options *o = ctx;
    int64_t length = scan_word(&p->s), which = 0;
    const char *word = p->s.text + p->s.at, *name;
    if (!length) return scan_fail(&p->s, p->s.at, NULL, "expected the name of an option");
    while ((name = option_name(o->kind, which)) && !word_is(word, length, name)) which++;
    if (!name && o->matern && word_is(word, length, "nu")) return parse_nu(p, o);
    if (!name) return complain_option(p, o->kind, length);
    bool ard = word_is(word, length, "ard"), iso = word_is(word, length, "iso");
    if (!ard && !iso) return parse_value(p, o, which);
    if ((iso && o->ard) || (ard && o->iso)) return scan_fail(&p->s, p->s.at, NULL, "ard and iso exclude each other");
    o->ard |= ard, o->iso |= iso;
    p->s.at += length;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- resolve */

static bool wanted_by_default(const kernel_kind *kind, const kernel_input *in)
{
    return in->kind == INPUT_CONSTANT || (in->kind == INPUT_TEXT) == kind->on_text;
}

/* Dims not given: every column of the kind's type, and the constant ones so that counts are right. */
static anygp_status list_default(parser *p, const options *o)
{
    bool any = false, other = false;
    if (!make_room(&p->listed, &p->listed_capacity, p->n_in, sizeof *p->listed)) return complain_memory(p);
    for (int64_t i = 0; i < p->n_in; i++) {
        bool constant = p->in[i].kind == INPUT_CONSTANT;
        if (!wanted_by_default(o->kind, &p->in[i]))
            other = true;
        else
            p->listed[p->n_listed++] = i, any |= !constant;
    }
    if (any || !other) return ANYGP_OK;
    if (o->kind->on_text)
        return scan_fail(&p->s, o->name_at, "give dims to compare numbers as categories",
                         "%s needs a text column; there is none", o->kind->name);
    return scan_fail(&p->s, o->name_at, "text columns take categorical", "%s needs a column of numbers; there is none",
                     o->kind->name);
}

static int64_t columns_of(const kernel_input *in) { return in->kind == INPUT_PAIR ? 2 : 1; }

static int64_t columns_listed(const parser *p)
{
    int64_t columns = 0;
    for (int64_t i = 0; i < p->n_listed; i++) columns += columns_of(&p->in[p->listed[i]]);
    return columns;
}

static anygp_status resolve_dims(parser *p, const options *o, leaf *l)
{
    kernel *k = p->k;
    l->dims_at = k->n_dims;
    if (o->kind->no_dims) return ANYGP_OK;
    if (!o->dims) TRY(list_default(p, o));
    if (!make_room(&k->dims, &p->dims_capacity, k->n_dims + columns_listed(p), sizeof *k->dims))
        return complain_memory(p);
    for (int64_t i = 0; i < p->n_listed; i++) {
        const kernel_input *in = &p->in[p->listed[i]];
        if (in->kind == INPUT_TEXT && !o->kind->on_text)
            return scan_fail(&p->s, o->dims_from, "text columns take categorical", "%s cannot use the text column %lld",
                             o->kind->name, (long long)in->number);
        for (int64_t c = 0; in->position >= 0 && c < columns_of(in); c++) k->dims[k->n_dims++] = in->position + c;
    }
    l->n_dims = k->n_dims - l->dims_at;
    return ANYGP_OK;
}

/* How the dims were written, so that kernel_format can repeat it. */
static bool keep_dims_text(parser *p, const options *o, leaf *l)
{
    kernel *k = p->k;
    int64_t length = o->dims ? o->dims_to - o->dims_from : 0;
    if (!make_room(&k->dims_text, &p->text_capacity, k->n_text + length, 1)) return false;
    memcpy(k->dims_text + k->n_text, p->s.text + o->dims_from, (size_t)length);
    l->text_at = k->n_text, l->text_length = length;
    k->n_text += length;
    return true;
}

static void size_spec(const options *o, leaf *l, int64_t s)
{
    param_extent extent = o->kind->specs[s].extent;
    bool scalar = o->of[s].set && !o->of[s].list && !o->ard;
    bool shared = o->iso || (extent == PER_DIM && scalar);
    int64_t of_dims = shared ? 1 : l->n_dims;
    int64_t counts[] = {
        [PER_LEAF] = 1, [PER_DIM] = of_dims, [PER_COMPONENT] = l->integer, [PER_COMPONENT_DIM] = l->integer * of_dims};
    l->count[s] = counts[extent];
    l->stride[s] = (extent == PER_DIM || extent == PER_COMPONENT_DIM) && !shared;
    l->offset[s] = l->n_params;
    l->n_params += l->count[s];
}

/* Number i of a list that also counts the columns left out as constant: those are skipped. */
static void copy_without_constants(const parser *p, const double *from, double *to)
{
    for (int64_t i = 0; i < p->n_listed; i++) {
        const kernel_input *in = &p->in[p->listed[i]];
        for (int64_t c = 0; in->position >= 0 && c < columns_of(in); c++) *to++ = from[i];
    }
}

static anygp_status fill_spec(parser *p, const options *o, const leaf *l, int64_t s)
{
    const given_numbers *g = &o->of[s];
    const double *from = g->set ? p->numbers + g->first : NULL;
    double *to = p->k->values + l->first + l->offset[s];
    int64_t n = l->count[s];
    if (g->set && g->list && g->count == n)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (g->set && g->list && l->stride[s] && o->kind->specs[s].extent == PER_DIM && g->count == p->n_listed)
        copy_without_constants(p, from, to);
    else if (g->set && g->list)
        return scan_fail(&p->s, g->at, NULL, "%s of %s takes %lld number%s, not %lld", o->kind->specs[s].name,
                         o->kind->name, (long long)n, n == 1 ? "" : "s", (long long)g->count);
    else
        for (int64_t i = 0; i < n; i++) to[i] = g->set ? *from : spec_initial(l, s, i);
    return ANYGP_OK;
}

static anygp_status resolve(parser *p, const options *o)
{
    kernel *k = p->k;
    leaf l = {.kind = o->kind, .integer = o->integer, .first = k->n_params, .iso = o->iso};
    TRY(resolve_dims(p, o, &l));
    if (!keep_dims_text(p, o, &l)) return complain_memory(p);
    int64_t specs = leaf_specs(o->kind);
    for (int64_t s = 0; s < specs; s++) size_spec(o, &l, s), l.given[s] = o->of[s].set;
    if (!make_room(&k->values, &p->values_capacity, k->n_params + l.n_params, sizeof *k->values))
        return complain_memory(p);
    for (int64_t s = 0; s < specs; s++) TRY(fill_spec(p, o, &l, s));
    k->leaves[k->n_leaves++] = l;
    k->n_params += l.n_params;
    return ANYGP_OK;
}

/* ---------------------------------------------------------------------------------------------- leaf */

static const char *listed_kind(int64_t i, const void *unused)
{
    (void)unused;
    return kernel_kind_name(i);
}

static const char *known_word(int64_t i, const void *unused)
{
    (void)unused;
    return kernel_word(i);
}

static anygp_status complain_kind(parser *p, int64_t length)
{
    char hint[HINT_MOST];
    const char *near = nearest_to(p->s.text + p->s.at, length, kernel_words(), known_word, NULL);
    char *list = near ? NULL : name_list(kernel_kinds(), listed_kind, NULL, ", ");
    snprintf(hint, sizeof hint, near ? "did you mean %s?" : "there are %s", near ? near : name_list_or(list));
    free(list);
    return scan_fail(&p->s, p->s.at, hint, "unknown kernel '%.*s'", (int)(length < 60 ? length : 60),
                     p->s.text + p->s.at);
}

/* matern3/2, of which the word is matern3. */
static const kernel_kind *find_fraction(const char *word, int64_t *length)
{
    if (*length != 7 || strncasecmp(word, "matern", 6) || word[7] != '/' || word[8] != '2') return NULL;
    *length += 2;
    return kind_matern(0.5 * (word[6] - '0'));
}

anygp_status parse_leaf(parser *p)
{
    int64_t length = scan_word(&p->s);
    const char *word = p->s.text + p->s.at;
    const kernel_kind *kind = find_fraction(word, &length);
    if (!kind) kind = kind_find(word, length, &p->k->note);
    if (!kind) return complain_kind(p, length);
    options o = {.kind = kind, .name_at = p->s.at, .integer = kind->integer_default};
    o.matern = length == 6 && !strncasecmp(word, "matern", 6);
    p->s.at += length;
    p->n_numbers = 0;
    TRY(scan_options(&p->s, parse_option, &o));
    TRY(resolve(p, &o));
    forget_dims(p);
    return ANYGP_OK;
}
