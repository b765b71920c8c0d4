/* Options of an expression that makes a model (made.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "model/made.h"

typedef struct choices {
    const char *model;
    int count;
    const made_option *options;
    int64_t *value;
    unsigned given; /* a bit for each option */
} choices;

bool made_is_word(const scanner *s, int64_t n, const char *word)
{
    return (size_t)n == strlen(word) && !strncmp(s->text + s->at, word, (size_t)n);
}

anygp_status made_count(scanner *s, double least, int64_t *value)
{
    double x;
    scan_blanks(s);
    int64_t at = s->at;
    TRY(scan_number(s, &x));
    if (!(x >= least && x <= 1e9 && x == floor(x)))
        return scan_fail(s, at, NULL, "%g is no whole number of at least %g", x, least);
    *value = (int64_t)x;
    return ANYGP_OK;
}

static const char *word_at(int64_t i, const void *ctx) { return ((const char *const *)ctx)[i]; }

anygp_status made_word(scanner *s, const char *const *words, int64_t *value)
{
    int64_t n = scan_word(s);
    for (*value = 0; words[*value]; ++*value)
        if (made_is_word(s, n, words[*value])) return s->at += n, ANYGP_OK;
    char *list = name_list(*value, word_at, words, " or ");
    anygp_status status = scan_fail(s, s->at, NULL, "expected %s", name_list_or(list));
    free(list);
    return status;
}

static const char *key_at(int64_t i, const void *ctx) { return ((const made_option *)ctx)[i].key; }

static anygp_status no_option(const scanner *s, const choices *c, int64_t n)
{
    char hint[160], *list = name_list(c->count, key_at, c->options, " and ");
    snprintf(hint, sizeof hint, "%s takes %s", c->model, name_list_or(list));
    free(list);
    return scan_fail(s, s->at, hint, "unknown option '%.*s'", (int)(n < 40 ? n : 40), s->text + s->at);
}

static anygp_status take_option(scanner *s, void *ctx)
{
    choices *c = ctx;
    int64_t n = scan_word(s);
    int i = 0;
    while (i < c->count && !made_is_word(s, n, c->options[i].key)) i++;
    if (i == c->count) return no_option(s, c, n);
    if (c->given >> i & 1) return scan_fail(s, s->at, NULL, "%s is given twice", c->options[i].key);
    c->given |= 1u << i;
    s->at += n;
    if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a value");
    return c->options[i].words ? made_word(s, c->options[i].words, &c->value[i]) : made_count(s, 1, &c->value[i]);
}

anygp_status made_options(scanner *s, const char *model, int count, const made_option *options, int64_t *value)
{
    choices c = {.model = model, .count = count, .options = options, .value = value};
    for (int i = 0; i < count; i++) value[i] = 0;
    return scan_options(s, take_option, &c);
}

void made_write(const char *model, int count, const made_option *options, const int64_t *value, char *to, size_t room)
{
    size_t used = (size_t)snprintf(to, room, "%s", model);
    bool written = false;
    for (int i = 0; i < count; i++) {
        const made_option *o = &options[i];
        if (value[i] == 0) continue;
        used += (size_t)snprintf(to + used, room - used, "%c%s=", written ? ',' : '(', o->key);
        written = true;
        used += (size_t)(o->words ? snprintf(to + used, room - used, "%s", o->words[value[i]])
                                  : snprintf(to + used, room - used, "%lld", (long long)value[i]));
    }
    if (written) snprintf(to + used, room - used, ")");
}
