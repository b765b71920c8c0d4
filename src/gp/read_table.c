/* Tables to fit: how the settings want them to be read, and how their columns are found out. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

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
    o.decimal = settings_text(s, SET_DECIMAL)[0];
    o.comment = settings_text(s, SET_COMMENT)[0];
    o.na = settings_text(s, SET_NA);
    o.skip = settings_integer(s, SET_SKIP);
    return o;
}

/* ---------------------------------------------------------------------------------- wishes of a fit */

typedef struct fit_wishes {
    const settings *s;
    bool classes; /* the targets are labels: they are read as they stand, */
    bool labels;  /* and as texts, whatever they look like */
} fit_wishes;

static void wish_targets(const fit_wishes *w, const fit_columns *c, column_wish *wish)
{
    for (int64_t t = 0; t < c->targets; t++)
        wish[c->target[t]] =
            (column_wish){.kind = w->labels ? COLUMN_TEXT : -1,
                          .notations = w->classes ? 0 : NOTATIONS_POINT | NOTATIONS_COMMA | NOTATIONS_UNIT};
}

/* Amounts may be written in any way; only inputs can be dates. */
static anygp_status wish_for_fit(const void *ctx, const column *columns, int64_t cols, column_wish *wish,
                                 anygp_error *e)
{
    const fit_wishes *w = ctx;
    const table head = {.cols = cols, .columns = (column *)columns, .target = cols - 1};
    fit_columns c = {0};
    anygp_status status = fit_columns_find(&head, w->s, &c, e);
    for (int64_t j = 0; j < cols && !ANYGP_FAILED(status); j++) {
        wish[j].notations = NOTATIONS_POINT | NOTATIONS_COMMA | NOTATIONS_UNIT;
        if (!c.skip[j] && j != c.weights)
            wish[j].notations |=
                NOTATION_BIT(NOTATION_DATE) | NOTATION_BIT(NOTATION_MONTH) | NOTATION_BIT(NOTATION_TIME);
        if (c.category[j]) wish[j].kind = COLUMN_TEXT;
        if (c.dropped[j] && j != c.weights) wish[j].kind = COLUMN_UNREAD;
    }
    if (!ANYGP_FAILED(status)) wish_targets(w, &c, wish);
    fit_columns_clear(&c);
    return status;
}

/* Labels 2, 10 and x are texts, not damaged numbers.  What the first rows do not show, a second reading does, unless the
   rows come from standard input. */
anygp_status gp_read_table(const char *path, const read_options *o, const settings *s, table **out, anygp_error *e)
{
    likelihood l;
    bool known = !ANYGP_FAILED(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &l, NULL));
    fit_wishes w = {.s = s, .classes = known && l.ops->target == TARGET_CLASS};
    read_options mine = *o;
    mine.wishes = wish_for_fit, mine.wishes_ctx = &w;
    anygp_status status = table_read(path, &mine, out, e);
    if (status != ANYGP_ERR_DATA || !w.classes || !strcmp(path, "-")) return status;
    w.labels = true;
    return table_read(path, &mine, out, e);
}
