/* A likelihood as text: name, or name(option, option, ...), where an option is PARAMETER=number, samples=number or the name of
   a link.  format() writes every parameter, so that parsing it again gives the same. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/nearest.h"
#include "base/scanner.h"
#include "base/settings.h"
#include "likelihood/parts.h"

enum { WORD = 32, SAMPLES_MOST = 1024, SAMPLES_START = 16, HINT_MOST = 300 };

/* The word that is next, taken, cut to what fits. */
static void take_word(scanner *s, char word[WORD])
{
    int64_t n = scan_word(s), fits = n < WORD ? n : WORD - 1;
    memcpy(word, s->text + s->at, (size_t)fits);
    word[fits] = 0;
    s->at += n;
}

/* ---------------------------------------------------------------------------------------- complaints */

static const char *ops_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return likelihood_at(i)->name;
}

static const char *option_name(int64_t i, const void *ctx)
{
    const likelihood_ops *o = ctx;
    return o->options[i].param.name;
}

static anygp_status unknown_likelihood(const char *word, anygp_error *e)
{
    const char *near = nearest_name(word, likelihood_count(), ops_name, NULL);
    char *list = name_list(likelihood_count(), ops_name, NULL, ", ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "likelihood: there is no likelihood '%s'%s%s%s likelihoods are %s", word,
              near ? ", did you mean '" : "", near ? near : "", near ? "'? The" : "; the", name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status unknown_option(const scanner *s, int64_t at, const likelihood_ops *o, const char *word)
{
    char hint[HINT_MOST];
    const char *near = nearest_name(word, o->n_options, option_name, o);
    char *list = name_list(o->n_options, option_name, o, ", ");
    snprintf(hint, sizeof hint, "%s%s%s takes %s", near ? "did you mean '" : "", near ? near : "",
             near ? "'? It" : "it", name_list_or(list));
    free(list);
    return scan_fail(s, at, hint, "%s has no option '%s'", o->name, word);
}

/* ------------------------------------------------------------------------------------------- options */

/* The number behind the name of a series, from 1; 0: it is not one of it. */
static int series_number(const likelihood_option *o, const char *word)
{
    size_t n = strlen(o->param.name);
    char *end;
    if (strncmp(word, o->param.name, n) || !isdigit((unsigned char)word[n]) || word[n] == '0') return 0;
    long k = strtol(word + n, &end, 10);
    return *end || k > LIKELIHOOD_PARAMS ? 0 : (int)k;
}

static const likelihood_option *find_option(const likelihood_ops *ops, const char *word)
{
    for (int64_t i = 0; i < ops->n_options; i++) {
        const likelihood_option *o = &ops->options[i];
        if (o->kind == OPTION_SERIES ? series_number(o, word) > 0 : !strcmp(o->param.name, word)) return o;
    }
    return NULL;
}

static anygp_status check_value(const scanner *s, int64_t at, const likelihood *l, const likelihood_option *o,
                                const char *word, double x)
{
    if (!isfinite(x)) return scan_fail(s, at, NULL, "expected a finite number");
    if (!o->param.real && !(x > o->param.lower))
        return scan_fail(s, at, NULL, "%s of %s must be greater than %g, not %g", word, l->ops->name, o->param.lower,
                         x);
    if (o->below > 0 && !(x < o->below))
        return scan_fail(s, at, NULL, "%s of %s must be less than %g, not %g", word, l->ops->name, o->below, x);
    return ANYGP_OK;
}

/* Remembered as a parameter that was given; likelihood_open() puts it into its place. */
static anygp_status give_value(const scanner *s, int64_t at, likelihood *l, const likelihood_option *o,
                               const char *word, double x)
{
    for (int64_t i = 0; i < l->params; i++)
        if (!strcmp(l->param[i].name, word)) return scan_fail(s, at, NULL, "%s is given twice", word);
    if (l->params == LIKELIHOOD_PARAMS) return scan_fail(s, at, NULL, "expected fewer options");
    likelihood_param *p = &l->param[l->params];
    *p = o->param;
    p->given = true;
    snprintf(p->name, sizeof p->name, "%.20s", word);
    l->value[l->params++] = x;
    return ANYGP_OK;
}

static anygp_status give_samples(const scanner *s, int64_t at, likelihood *l, double x)
{
    if (x < 2 || x > SAMPLES_MOST || fmod(x, 2) != 0)
        return scan_fail(s, at, NULL, "samples must be an even number from 2 to %d, not %g", SAMPLES_MOST, x);
    l->samples = (int64_t)x;
    return ANYGP_OK;
}

static anygp_status take_option(scanner *s, void *ctx)
{
    likelihood *l = ctx;
    char word[WORD];
    double x;
    scan_blanks(s);
    int64_t at = s->at;
    take_word(s, word);
    if (!*word) return scan_fail(s, at, NULL, "expected the name of an option");
    const likelihood_option *o = find_option(l->ops, word);
    if (!o) return unknown_option(s, at, l->ops, word);
    if (o->kind == OPTION_LINK) return l->link = o->link, ANYGP_OK;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a number");
    scan_blanks(s);
    int64_t number = s->at;
    TRY(scan_number(s, &x));
    if (o->kind == OPTION_SAMPLES) return give_samples(s, number, l, x);
    TRY(check_value(s, number, l, o, word, x));
    return give_value(s, at, l, o, word, x);
}

anygp_status likelihood_parse(const char *text, likelihood *out, anygp_error *e)
{
    char name[WORD];
    scanner s = scan_text("likelihood", text, e);
    *out = (likelihood){.samples = SAMPLES_START, .columns = 1};
    take_word(&s, name);
    if (!*name) return scan_fail(&s, s.at, NULL, "expected the name of a likelihood");
    out->ops = likelihood_find(name);
    if (!out->ops) return unknown_likelihood(name, e);
    if (!out->ops->n_options && scan_peek(&s) == '(')
        return scan_fail(&s, s.at, NULL, "%s takes no options", out->ops->name);
    TRY(scan_options(&s, take_option, out));
    TRY(scan_end(&s));
    return out->ops->target == TARGET_CLASS ? ANYGP_OK : likelihood_open(out, 0, false, e);
}

/* -------------------------------------------------------------------------------------------- format */

enum { FORMAT_ROOM = 64 }; /* of one option */

/* Link or samples, where they are options. */
static int put_choice(const likelihood *l, const likelihood_option *o, char *to, size_t room, char before)
{
    if (o->kind == OPTION_LINK && o->link == l->link) return snprintf(to, room, "%c%s", before, o->param.name);
    if (o->kind == OPTION_SAMPLES) return snprintf(to, room, "%csamples=%d", before, (int)l->samples);
    return 0;
}

anygp_status likelihood_format(const likelihood *l, const double *value, int digits, char **text, anygp_error *e)
{
    size_t room = (size_t)(l->ops->n_options + l->params + 1) * FORMAT_ROOM, n;
    char *to = *text = mem_alloc((int64_t)room, 1);
    if (!to) return fail_memory(e, "the likelihood's text", (double)room);
    c_locale c = c_locale_enter();
    n = (size_t)snprintf(to, room, "%s", l->ops->name);
    size_t bare = n;
    for (int64_t i = 0; i < l->ops->n_options; i++)
        n += (size_t)put_choice(l, &l->ops->options[i], to + n, room - n, n > bare ? ',' : '(');
    for (int64_t i = 0; i < l->params; i++)
        n += (size_t)snprintf(to + n, room - n, "%c%s=%.*g", n > bare ? ',' : '(', l->param[i].name, digits, value[i]);
    c_locale_leave(c);
    if (n > bare) to[n] = ')', to[n + 1] = 0;
    return ANYGP_OK;
}
