/* Segments of parameters, and the walks over their list (params.h). */
#include "params/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "base/name_list.h"

/* ---------------------------------------------------------------------------------------- the list */

param_segment *params_find(const param_list *p, const char *name)
{
    for (int64_t i = 0; i < p->count; i++)
        if (!strcmp(p->at[i].name, name)) return &p->at[i];
    return NULL;
}

anygp_status params_put(param_list *p, param_segment s, anygp_error *e)
{
    param_segment *there = params_find(p, s.name);
    if (!there) {
        param_segment *more = realloc(p->at, (size_t)(p->count + 1) * sizeof *more);
        if (!more) return segment_clear(&s), fail_memory(e, "the parameters", (double)sizeof s);
        p->at = more;
        there = &more[p->count++];
    } else {
        segment_clear(there);
    }
    *there = s;
    return ANYGP_OK;
}

anygp_status params_put_kernel(param_list *p, const char *name, kernel *k, bool fix, anygp_error *e)
{
    int64_t count = kernel_count(k);
    param_segment s = {
        .rows = count, .cols = 1, .values = kernel_values(k), .kernel = k, .facts = mem_zeroed(count, sizeof *s.facts)};
    snprintf(s.name, sizeof s.name, "%s", name);
    if (!s.facts) return segment_clear(&s), fail_memory(e, "the hyperparameters", (double)count * sizeof *s.facts);
    for (int64_t i = 0; i < count; i++) {
        const kernel_param *q = kernel_param_at(k, i);
        s.facts[i] = (param_facts){.lower = q->lower,
                                   .prior_mean = q->prior_mean,
                                   .prior_sd = q->prior_sd,
                                   .scale = 1,
                                   .follows = q->follows,
                                   .free = !fix && !q->fixed && !q->follows,
                                   .given = q->given};
        s.tied |= q->follows != 0;
    }
    return params_put(p, s, e);
}

anygp_status params_put_bulk(param_list *p, const char *name, int64_t rows, int64_t cols, const double *values,
                             const double *unit, bool learned, anygp_error *e)
{
    param_segment s = {.rows = rows, .cols = cols, .learned = learned, .room = rows};
    s.values = mem_copied(rows, cols, values);
    snprintf(s.name, sizeof s.name, "%s", name);
    if (unit) s.unit = mem_copied(cols, 1, unit);
    if (s.values && (s.unit || !unit)) return params_put(p, s, e);
    segment_clear(&s);
    return fail_memory(e, "the parameters", 8.0 * (double)rows * (double)cols);
}

anygp_status params_copy(const param_list *from, param_list *to, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    *to = (param_list){.prior = from->prior};
    for (int64_t i = 0; i < from->count && !ANYGP_FAILED(status); i++) {
        param_segment s;
        status = segment_copy(&from->at[i], &s, e);
        if (!ANYGP_FAILED(status)) status = params_put(to, s, e);
    }
    if (ANYGP_FAILED(status)) params_clear(to);
    return status;
}

void params_clear(param_list *p)
{
    for (int64_t i = 0; i < p->count; i++) segment_clear(&p->at[i]);
    free(p->at);
    *p = (param_list){0};
}

/* ------------------------------------------------------------------------------------------- fixing */

static void fix(param_segment *s)
{
    s->learned = false;
    for (int64_t i = 0; s->facts && i < param_segment_size(s); i++) s->facts[i].free = false;
}

static const char *name_at(int64_t i, const void *ctx) { return ((const param_list *)ctx)->at[i].name; }

static anygp_status no_segment(const param_list *p, const char *word, size_t length, anygp_error *e)
{
    char *names = name_list(p->count, name_at, p, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "fix: the model has no parameters '%.*s'; it has %s",
              (int)(length < 80 ? length : 80), word, name_list_or(names));
    free(names);
    return ANYGP_ERR_ARGUMENT;
}

anygp_status params_fix(param_list *p, const char *list, const char *groups, anygp_error *e)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        char word[SEGMENT_NAME] = "";
        if (n < sizeof word) memcpy(word, list, n);
        param_segment *s = params_find(p, word);
        if (s) fix(s);
        if (!s && !list_has(groups, list, n)) return no_segment(p, list, n, e);
    }
    return ANYGP_OK;
}

/* --------------------------------------------------------------------------------------- the vectors */

static int64_t gradients_of(const param_segment *s) { return s->facts || s->learned ? param_segment_size(s) : 0; }

static int64_t free_of(const param_segment *s)
{
    int64_t count = 0;
    if (!s->facts) return gradients_of(s);
    for (int64_t i = 0; i < param_segment_size(s); i++) count += s->facts[i].free;
    return count;
}

int64_t params_size(const param_list *p) { return params_place(p, p->at + p->count); }

int64_t params_free(const param_list *p)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < p->count; i++) sum += free_of(&p->at[i]);
    return sum;
}

int64_t params_place(const param_list *p, const param_segment *s)
{
    int64_t sum = 0;
    for (const param_segment *q = p->at; q < s; q++) sum += gradients_of(q);
    return sum;
}

/* One number that is learned: its segment and its place there. */
typedef struct place {
    const param_segment *s;
    int64_t i;
    int64_t gradient; /* its place in a gradient */
} place;

static const param_facts *facts_at(const place *a) { return a->s->facts ? &a->s->facts[a->i] : NULL; }
static bool is_positive(const place *a) { return a->s->facts && !a->s->facts[a->i].real; }
static double unit_at(const place *a) { return a->s->unit ? a->s->unit[a->i % a->s->cols] : 1; }

/* The next number of u; begins with {p->at, -1, -1}.  False: there is none. */
static bool next(const param_list *p, place *a)
{
    for (;;) {
        if (a->s >= p->at + p->count) return false;
        if (++a->i >= param_segment_size(a->s)) {
            a->s++, a->i = -1;
            continue;
        }
        a->gradient += a->s->facts || a->s->learned;
        if (a->s->facts ? a->s->facts[a->i].free : a->s->learned) return true;
    }
}

static place first(const param_list *p) { return (place){p->at, -1, -1}; }

void params_pack(const param_list *p, double *u)
{
    place a = first(p);
    for (int64_t f = 0; next(p, &a); f++) {
        double value = a.s->values[a.i];
        u[f] = is_positive(&a) ? log(value - facts_at(&a)->lower) : value / unit_at(&a);
    }
}

/* Never at the floor itself, which a file or the logarithm would not take; without one, an underflow is left to be noticed. */
static double above(double lower, double more)
{
    return lower > 0 && lower + more == lower ? nextafter(lower, INFINITY) : lower + more;
}

void params_unpack(param_list *p, const double *u)
{
    place a = first(p);
    for (int64_t f = 0; next(p, &a); f++)
        a.s->values[a.i] = is_positive(&a) ? above(facts_at(&a)->lower, exp(u[f])) : u[f] * unit_at(&a);
    for (int64_t i = 0; i < p->count; i++) segment_follow(&p->at[i]);
}

/* The gradient of a number and of all that follow it. */
static double gradient_with_followers(const place *a, const double *gp)
{
    double sum = gp[a->gradient];
    for (int64_t k = 0; a->s->tied && k < param_segment_size(a->s); k++)
        if (a->s->facts[k].follows == a->i + 1) sum += gp[a->gradient + k - a->i];
    return sum;
}

/* dp/du = exp(u) = p - lower; for real ones their unit */
void params_chain(const param_list *p, const double *gp, double *gu)
{
    place a = first(p);
    for (int64_t f = 0; next(p, &a); f++)
        gu[f] =
            gradient_with_followers(&a, gp) * (is_positive(&a) ? a.s->values[a.i] - facts_at(&a)->lower : unit_at(&a));
}

double params_log_prior(const param_list *p, double *gu)
{
    double sum = 0;
    place a = first(p);
    if (!p->prior) return 0;
    for (int64_t f = 0; next(p, &a); f++) {
        const param_facts *q = facts_at(&a);
        if (!q) continue;
        double x = a.s->values[a.i], z = ((q->real ? x : log(x)) - q->prior_mean) / q->prior_sd;
        sum -= 0.5 * z * z + log(q->prior_sd) + 0.5 * LOG_2PI;
        if (gu) gu[f] -= z / q->prior_sd * (q->real ? 1 : (x - q->lower) / x);
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------- steps */

static bool is_learned(const param_segment *s) { return free_of(s) > 0; }

anygp_status params_step_begin(param_list *p, anygp_error *e)
{
    for (param_segment *s = p->at; s < p->at + p->count; s++) {
        adam_clear(&s->adam);
        if (is_learned(s)) TRY(adam_grow(&s->adam, s->rows, s->cols, e));
    }
    return ANYGP_OK;
}

void params_step(param_list *p, double rate, const double *gu, double *u)
{
    int64_t f = 0;
    for (param_segment *s = p->at; s < p->at + p->count; s++) {
        for (int64_t i = 0; s->facts && i < s->rows; i++)
            if (s->facts[i].free) adam_move(&s->adam, i, 1, rate, gu + f, 1, u + f), f++;
        if (!s->facts && s->learned) adam_step(&s->adam, rate, gu + f, u + f), f += param_segment_size(s);
    }
}

void params_step_save(const param_list *p, checkpoint *to)
{
    for (const param_segment *s = p->at; s < p->at + p->count; s++)
        if (is_learned(s)) adam_save(&s->adam, s->name, to);
}

bool params_step_restore(param_list *p, const checkpoint *from)
{
    for (param_segment *s = p->at; s < p->at + p->count; s++)
        if (is_learned(s) && !adam_restore(&s->adam, s->name, from)) return false;
    return true;
}

/* What was given stays as it is, even a noise of 0. */
bool params_are_sound(const param_list *p)
{
    for (const param_segment *s = p->at; s < p->at + p->count; s++)
        for (int64_t i = 0; i < param_segment_size(s); i++) {
            bool positive = s->facts && s->facts[i].free && !s->facts[i].real;
            if (!isfinite(s->values[i]) || (positive && !(s->values[i] > 0))) return false;
        }
    return true;
}
