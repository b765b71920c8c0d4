/* --blocks 2,4,8: a fit with each number, in equal shares of the time and with the same number of iterations, of which the one with the
   best log density on the rows of --valid is kept.  What the fits say on the way is said again for the one that is kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "gp/fit.h"

/* Sentences that wait. */
typedef struct said {
    anygp_log_level level;
    char *text;
    struct said *next;
} said;

typedef struct listed {
    fit_task *f;
    int64_t count, number[SETTING_COUNTS_MOST];
    gp **best;                 /* f->together of them, once there are some */
    int64_t which;             /* whose they are; -1: none */
    said *now, *told, *failed; /* by this fit, by the best one, and why fits failed */
    gp_tries tries;
    anygp_status status; /* of the first that failed, */
    anygp_error first;   /* and why */
} listed;

static void forget(said **list)
{
    for (said *at = *list, *next; at; at = next) {
        next = at->next;
        free(at->text);
        free(at);
    }
    *list = NULL;
}

/* One that there is no memory for is lost. */
static void keep(said **end, anygp_log_level level, const char *text)
{
    said *one = calloc(1, sizeof *one);
    if (one && !(one->text = mem_strdup(text))) free(one), one = NULL;
    if (!one) return;
    one->level = level;
    while (*end) end = &(*end)->next;
    *end = one;
}

static void remember(void *ctx, anygp_log_level level, const char *text) { keep(&((listed *)ctx)->now, level, text); }

/* --------------------------------------------------------------------------------------- one number */

/* The settings of one fit: from the second on, nobody asks whether to stop before there is a model. */
static anygp_status settings_with(listed *l, int64_t i, settings **out, anygp_error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)l->number[i]);
    if (!(*out = settings_copy(l->which < 0 ? l->f->s : l->f->later))) return fail_memory(e, "the settings", 0);
    settings_on_log(*out, remember, l);
    return settings_set(*out, setting_at(SET_BLOCKS)->name, text, e);
}

/* Mean over the targets that were fitted together; NaN: there is nothing to score on. */
static anygp_status score_fit(const listed *l, const fit_task *some, gp **g, double *mnlp, anygp_error *e)
{
    const comm *c = comm_world();
    const deadline until = {some->began, some->limit, NULL};
    *mnlp = 0;
    for (int64_t t = 0; c->rank == 0 && t < some->together; t++) {
        valid_rows *rows = NULL;
        train_scores held = train_scores_none();
        anygp_error why;
        anygp_status status =
            valid_rows_read(g[t], some->data, some->columns->weights, some->hold_out, l->f->s, &rows, &why);
        if (rows && !ANYGP_FAILED(status)) status = valid_rows_score(rows, g[t], &until, &held, &why);
        *mnlp += ANYGP_FAILED(status) ? NAN : held.mnlp / (double)some->together;
        valid_rows_free(rows);
    }
    return c->size == 1 ? ANYGP_OK : c->broadcast(c->ctx, 0, sizeof *mnlp, mnlp, e);
}

static void free_all(int64_t n, gp **g)
{
    for (int64_t t = 0; t < n; t++) gp_free(g[t]), g[t] = NULL;
}

/* Which of two fits stays. */
static void compare(listed *l, int64_t i, double mnlp, gp **g)
{
    bool better = l->which < 0 || mnlp < l->tries.mnlp[l->which] || isnan(l->tries.mnlp[l->which]);
    l->tries.mnlp[i] = mnlp;
    if (!better) return;
    free_all(l->f->together, l->best);
    for (int64_t t = 0; t < l->f->together; t++) l->best[t] = g[t], g[t] = NULL;
    forget(&l->told);
    l->told = l->now, l->now = NULL, l->which = i;
}

/* A fit that fails is left out, whatever the reason: the others may do. */
static void note_failure(listed *l, int64_t i, anygp_status status, const anygp_error *why)
{
    char text[640];
    snprintf(text, sizeof text, "blocks: the fit with %lld failed: %s", (long long)l->number[i], why->text);
    keep(&l->failed, ANYGP_WARNING, text);
    if (l->status == ANYGP_OK) l->status = status, l->first = *why;
}

static anygp_status try_number(listed *l, int64_t i, double limit, gp **g, bool *stopped, anygp_error *e)
{
    fit_task some = *l->f;
    settings *own = NULL;
    anygp_error why = {.text = ""};
    double mnlp;
    anygp_status status = settings_with(l, i, &own, e);
    some.s = own, some.limit = limit;
    if (ANYGP_FAILED(status)) goto done;
    anygp_status fitted = fit_some(&some, g, &why);
    l->f->began = some.began;
    if (ANYGP_FAILED(fitted)) {
        note_failure(l, i, fitted, &why);
        goto done;
    }
    *stopped = g[0]->status == ANYGP_INTERRUPTED;
    TRY_DONE(score_fit(l, &some, g, &mnlp, e));
    compare(l, i, mnlp, g);
done:
    free_all(l->f->together, g);
    forget(&l->now);
    settings_free(own);
    return status;
}

/* --------------------------------------------------------------------------------------- all numbers */

static anygp_status try_all(listed *l, gp **g, anygp_error *e)
{
    double began = clock_seconds(), limit = l->f->limit;
    bool stopped = false;
    for (int64_t i = 0; i < l->count; i++) l->tries.blocks[i] = l->number[i], l->tries.mnlp[i] = NAN;
    for (int64_t i = 0; i < l->count && !stopped; i++) {
        double left = fmax(limit - (clock_seconds() - began), 0);
        l->tries.count = i + 1;
        TRY(try_number(l, i, left / (double)(l->count - i), g, &stopped, e));
    }
    if (l->which >= 0) return ANYGP_OK;
    return fail_with(e, l->status, "%s", l->first.text);
}

static void tell(const listed *l)
{
    char list[400] = "";
    size_t used = 0;
    for (const said *at = l->failed; at; at = at->next) settings_log(l->f->s, at->level, "%s", at->text);
    for (const said *at = l->told; at; at = at->next) settings_log(l->f->s, at->level, "%s", at->text);
    for (int64_t i = 0; i < l->tries.count && used < sizeof list - 40; i++) {
        const char *format = isnan(l->tries.mnlp[i]) ? "%s%lld: no score" : "%s%lld: %.5g";
        used += (size_t)snprintf(list + used, sizeof list - used, format, i ? ", " : "", (long long)l->number[i],
                                 l->tries.mnlp[i]);
    }
    settings_log(l->f->s, ANYGP_NOTE, "blocks: %lld has the lowest mnlp on held-out rows (%s)",
                 (long long)l->number[l->which], list);
}

anygp_status fit_listed(fit_task *f, gp **out, anygp_error *e)
{
    listed l = {.f = f, .best = out, .which = -1};
    l.count = settings_counts(f->s, SET_BLOCKS, l.number);
    if (l.count < 2) return fit_some(f, out, e);
    gp **g = mem_zeroed(f->together, sizeof *g);
    anygp_status status = g ? try_all(&l, g, e) : fail_memory(e, "the model", 8.0 * (double)f->together);
    for (int64_t t = 0; !ANYGP_FAILED(status) && t < f->together; t++) out[t]->tries = l.tries;
    if (!ANYGP_FAILED(status)) tell(&l);
    if (ANYGP_FAILED(status)) free_all(f->together, out);
    said **const lists[] = {&l.now, &l.told, &l.failed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) forget(lists[i]);
    free(g);
    return status;
}
