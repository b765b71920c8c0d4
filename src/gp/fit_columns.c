/* Which columns of a table are targets, weights, exposure and inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

void fit_columns_clear(fit_columns *c)
{
    free(c->target);
    free(c->skip);
    free(c->dropped);
    free(c->category);
    free(c->warp);
    fit_balance_free(c);
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

/* The file's own target; where that is the weights' or the exposure's column, dropped, or what is behind a delimiter at the end
   of all rows, the one before. */
static anygp_status default_target(const table *t, fit_columns *c, anygp_error *e)
{
    int64_t j = t->target;
    if (j < 0) return fail_with(e, ANYGP_ERR_DATA, "the file has inputs but no target; name one with --target");
    while (j > 0 && (j == c->weights || j == c->exposure || c->dropped[j] || t->columns[j].blank)) j--;
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

/* ---------------------------------------------------------------------------------- lists of columns */

/* The column called `name`, blanks at its ends removed. */
static anygp_status mark_name(const table *t, char *name, char *end, bool *mark, anygp_error *e)
{
    int64_t j;
    while (*name == ' ') name++;
    while (end > name && end[-1] == ' ') end--;
    *end = 0;
    TRY(column_find(t->columns, t->cols, name, &j, e));
    mark[j] = true;
    return ANYGP_OK;
}

/* A column, or several with commas between: a name that has a comma itself comes first. */
static anygp_status mark_item(const table *t, const char *item, size_t n, bool *mark, anygp_error *e)
{
    char names[4096], *p = names;
    int64_t j;
    if (n >= sizeof names)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "the list of columns is too long; repeat the option");
    memcpy(names, item, n);
    names[n] = 0;
    if (!ANYGP_FAILED(column_find(t->columns, t->cols, names, &j, NULL))) return mark[j] = true, ANYGP_OK;
    for (;;) {
        char *comma = p + strcspn(p, ",");
        bool last = !*comma;
        TRY(mark_name(t, p, comma, mark, e));
        if (last) return ANYGP_OK;
        p = comma + 1;
    }
}

/* The columns in the list of a setting, one item per line. */
anygp_status fit_mark_listed(const table *t, const settings *s, setting_id id, bool *mark, anygp_error *e)
{
    const char *list = settings_text(s, id);
    while (*list) {
        size_t n = strcspn(list, "\n");
        TRY(mark_item(t, list, n, mark, e));
        list += n + (list[n] == '\n');
    }
    return ANYGP_OK;
}

/* Several that do not exist are named together; a single one is refused where it is used, with the nearest name. */
static anygp_status check_listed(const table *t, const settings *s, anygp_error *e)
{
    static const setting_id lists[] = {SET_INPUTS, SET_DROP, SET_CATEGORIES, SET_TARGET, SET_WEIGHTS, SET_EXPOSURE};
    absent_columns absent = {0};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const char *list = settings_given(s, lists[k]) ? settings_text(s, lists[k]) : "";
        bool commas = lists[k] == SET_INPUTS || lists[k] == SET_DROP || lists[k] == SET_CATEGORIES;
        for (size_t n; *list; list += n + (list[n] == '\n')) {
            n = strcspn(list, "\n");
            columns_look_for(t->columns, t->cols, list, n, commas, &absent);
        }
    }
    return absent.count > 1 ? columns_absent(t->columns, t->cols, &absent, e) : ANYGP_OK;
}

/* --inputs: all columns that it does not name, except those that have another use. */
static anygp_status drop_unnamed(const table *t, const settings *s, fit_columns *c, anygp_error *e)
{
    if (!settings_given(s, SET_INPUTS)) return ANYGP_OK;
    bool *named = mem_zeroed(t->cols, sizeof *named);
    anygp_status status =
        named ? fit_mark_listed(t, s, SET_INPUTS, named, e) : fail_memory(e, "the columns", (double)t->cols);
    for (int64_t j = 0; j < t->cols && !ANYGP_FAILED(status); j++) {
        bool used = c->skip[j] || j == c->weights;
        if (named[j] && used)
            status = fail_with(e, ANYGP_ERR_ARGUMENT,
                               "inputs: column %lld is the target, the weights or the exposure; name the target with "
                               "--target",
                               (long long)j);
        if (!named[j] && !used) c->dropped[j] = true;
    }
    free(named);
    return status;
}

/* What is left out: by the settings, or because it is no input by its looks. */
static anygp_status mark_dropped(const table *t, fit_columns *c, anygp_error *e)
{
    for (int64_t j = 0; j < t->cols; j++) {
        if (c->dropped[j] && c->skip[j])
            return fail_with(e, ANYGP_ERR_ARGUMENT, "drop: column %lld is the target or the exposure", (long long)j);
        if (c->dropped[j] || (t->columns[j].left_out && !c->category[j])) c->skip[j] = true;
    }
    return ANYGP_OK;
}

static anygp_status find_special(const table *t, const settings *s, fit_columns *c, anygp_error *e)
{
    const char *list = settings_text(s, SET_TARGET);
    TRY(check_listed(t, s, e));
    TRY(fit_mark_listed(t, s, SET_DROP, c->dropped, e));
    TRY(fit_mark_listed(t, s, SET_CATEGORIES, c->category, e));
    if (settings_given(s, SET_WEIGHTS))
        TRY(column_find(t->columns, t->cols, settings_text(s, SET_WEIGHTS), &c->weights, e));
    if (settings_given(s, SET_EXPOSURE))
        TRY(column_find(t->columns, t->cols, settings_text(s, SET_EXPOSURE), &c->exposure, e));
    TRY(*list ? named_targets(t, list, c, e) : default_target(t, c, e));
    TRY(mark_targets(c, e));
    TRY(mark_exposure(c, e));
    TRY(drop_unnamed(t, s, c, e));
    return mark_dropped(t, c, e);
}

anygp_status fit_columns_find(const table *t, const settings *s, fit_columns *c, anygp_error *e)
{
    *c = (fit_columns){.weights = -1, .exposure = -1, .sphere = {-1, -1}};
    c->target = mem_alloc(1 + (int64_t)strlen(settings_text(s, SET_TARGET)), sizeof *c->target);
    c->skip = mem_zeroed(t->cols, sizeof *c->skip);
    c->dropped = mem_zeroed(t->cols, sizeof *c->dropped);
    c->category = mem_zeroed(t->cols, sizeof *c->category);
    if (!c->target || !c->skip || !c->dropped || !c->category)
        return fail_memory(e, "the columns", 4.0 * (double)t->cols);
    return find_special(t, s, c, e);
}

const char *fit_objection(const void *like, double y) { return likelihood_objection(like, y); }

const int64_t *fit_columns_sphere(const fit_columns *c) { return c->sphere[0] >= 0 ? c->sphere : NULL; }

target_columns fit_columns_some(const fit_columns *c, int64_t first, int64_t count, const likelihood *l)
{
    target_columns y = {.targets = count,
                        .target = &c->target[first],
                        .weights = c->weights,
                        .exposure = l->ops->exposure ? c->exposure : -1,
                        .classes = l->ops->target == TARGET_CLASS,
                        .objection = l->ops->target == TARGET_COUNT ? fit_objection : NULL,
                        .objection_ctx = l,
                        .warp = c->warp ? c->warp + first : NULL};
    fit_balanced(c, first, &y);
    return y;
}
