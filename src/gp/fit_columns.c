/* Which columns of a table are targets, weights, exposure and inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

void fit_columns_clear(fit_columns *c)
{
    free(c->target);
    free(c->skip);
    *c = (fit_columns){0};
}

/* The columns named in the list of --target, one per line. */
static anygp_status named_targets(const table *t, const char *list, fit_columns *c, anygp_error *e)
{
    while (*list) {
        char name[512];
        size_t n = strcspn(list, "\n");
        if (n >= sizeof name) return fail_with(e, ANYGP_ERR_ARGUMENT, "target: the name is too long");
        memcpy(name, list, n);
        name[n] = 0;
        TRY(column_find(t->columns, t->cols, name, &c->target[c->targets++], e));
        list += n + (list[n] == '\n');
    }
    return ANYGP_OK;
}

/* The file's own target; where that is the weights' or the exposure's column, the one before. */
static anygp_status default_target(const table *t, fit_columns *c, anygp_error *e)
{
    int64_t j = t->target;
    if (j < 0) return fail_with(e, ANYGP_ERR_DATA, "the file has inputs but no target; name one with --target");
    while (j > 0 && (j == c->weights || j == c->exposure)) j--;
    c->target[c->targets++] = j;
    return ANYGP_OK;
}

static anygp_status mark_targets(fit_columns *c, anygp_error *e)
{
    for (int64_t i = 0; i < c->targets; i++) {
        if (c->skip[c->target[i]])
            return fail_with(e, ANYGP_ERR_ARGUMENT, "target: column %lld is named twice", (long long)c->target[i]);
        if (c->target[i] == c->weights)
            return fail_with(e, ANYGP_ERR_ARGUMENT, "column %lld cannot be both target and weights",
                             (long long)c->weights);
        c->skip[c->target[i]] = true;
    }
    return ANYGP_OK;
}

static anygp_status mark_exposure(fit_columns *c, anygp_error *e)
{
    if (c->exposure < 0) return ANYGP_OK;
    if (c->skip[c->exposure] || c->exposure == c->weights)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "column %lld cannot be both exposure and %s", (long long)c->exposure,
                         c->exposure == c->weights ? "weights" : "target");
    c->skip[c->exposure] = true;
    return ANYGP_OK;
}

anygp_status fit_columns_find(const table *t, const settings *s, fit_columns *c, anygp_error *e)
{
    const char *list = settings_text(s, SET_TARGET);
    *c = (fit_columns){.weights = -1, .exposure = -1};
    c->target = mem_alloc(1 + (int64_t)strlen(list), sizeof *c->target);
    c->skip = mem_zeroed(t->cols, sizeof *c->skip);
    if (!c->target || !c->skip) return fail_memory(e, "the columns", (double)t->cols);
    if (settings_given(s, SET_WEIGHTS))
        TRY(column_find(t->columns, t->cols, settings_text(s, SET_WEIGHTS), &c->weights, e));
    if (settings_given(s, SET_EXPOSURE))
        TRY(column_find(t->columns, t->cols, settings_text(s, SET_EXPOSURE), &c->exposure, e));
    TRY(*list ? named_targets(t, list, c, e) : default_target(t, c, e));
    TRY(mark_targets(c, e));
    return mark_exposure(c, e);
}

/* --------------------------------------------------------------------------------------- labels */

read_options gp_side_options(const settings *s)
{
    read_options o = READ_DEFAULTS;
    o.follow = settings_is(s, SET_LINKS, "follow");
    o.stop = settings_stop(s);
    return o;
}

read_options gp_read_options(const settings *s)
{
    read_options o = gp_side_options(s);
    o.header = settings_is(s, SET_HEADER, "auto") ? -1 : settings_is(s, SET_HEADER, "yes");
    return o;
}

static int text_of_targets(const void *ctx, const char *name, int64_t j)
{
    const fit_columns *c = ctx;
    (void)name;
    for (int64_t t = 0; t < c->targets; t++)
        if (c->target[t] == j) return COLUMN_TEXT;
    return -1;
}

/* The targets as text, whatever they look like. */
static anygp_status read_labels(const char *path, const read_options *o, const settings *s, table **out, anygp_error *e)
{
    reader *r = NULL;
    fit_columns c = {0};
    read_options as_text = *o;
    TRY(reader_open(path, o, &r, e));
    table head = {.cols = reader_columns(r), .columns = (column *)reader_column(r, 0), .target = reader_target(r)};
    anygp_status status = fit_columns_find(&head, s, &c, e);
    as_text.kind = text_of_targets, as_text.kind_ctx = &c;
    if (!ANYGP_FAILED(status)) status = table_read(path, &as_text, out, e);
    fit_columns_clear(&c);
    reader_close(r);
    return status;
}

/* Labels 2, 10 and x are texts, not damaged numbers.  What the first rows do not show, a second reading does, unless the
   rows come from standard input. */
anygp_status gp_read_table(const char *path, const read_options *o, const settings *s, table **out, anygp_error *e)
{
    likelihood l;
    anygp_status status = table_read(path, o, out, e);
    if (status != ANYGP_ERR_DATA || !strcmp(path, "-")) return status;
    bool known = !ANYGP_FAILED(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &l, NULL));
    return known && l.ops->target == TARGET_CLASS ? read_labels(path, o, s, out, e) : status;
}

const char *fit_objection(const void *like, double y) { return likelihood_objection(like, y); }

target_columns fit_columns_some(const fit_columns *c, int64_t first, int64_t count, const likelihood *l)
{
    return (target_columns){.targets = count,
                            .target = &c->target[first],
                            .weights = c->weights,
                            .exposure = l->ops->exposure ? c->exposure : -1,
                            .classes = l->ops->target == TARGET_CLASS,
                            .objection = l->ops->target == TARGET_COUNT ? fit_objection : NULL,
                            .objection_ctx = l};
}
