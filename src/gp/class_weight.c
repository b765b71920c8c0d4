/* --class-weight balanced: a row of class c counts N / (K N_c) times, where N_c of the N rows are of one of the K classes, so that
   all classes weigh the same and all rows together as before.  Weights of rows count in N and N_c, and are multiplied. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gp/fit.h"

struct class_balance {
    int64_t target, weights; /* columns */
    class_set seen;
    int64_t room, counted;
    double *factor; /* of each label seen: first the sum of its weights */
};

/* Labels that no row has are refused elsewhere. */
static double factor_of(const void *ctx, double label)
{
    const class_balance *b = ctx;
    int64_t k = class_set_find(&b->seen, label);
    return k < 0 ? 1 : b->factor[k];
}

static anygp_status count_label(void *ctx, int64_t number, const double *row, anygp_error *e)
{
    class_balance *b = ctx;
    double label = row[b->target], w = b->weights < 0 ? 1 : row[b->weights];
    (void)number;
    if (isnan(label) || !(w > 0)) return ANYGP_OK;
    TRY(class_set_note(&b->seen, label, e));
    int64_t k = class_set_find(&b->seen, label);
    if (k >= b->room) {
        int64_t room = 2 * k + 16;
        double *grown = realloc(b->factor, (size_t)room * sizeof *grown);
        if (!grown) return fail_memory(e, "the classes", 8.0 * (double)room);
        b->factor = grown, b->room = room;
    }
    if (k == b->counted) b->factor[b->counted++] = 0;
    b->factor[k] += w;
    return ANYGP_OK;
}

static anygp_status balance_target(const gp_data *data, class_balance *b, anygp_error *e)
{
    double total = 0;
    TRY(gp_data_walk(data, count_label, b, e));
    for (int64_t k = 0; k < b->seen.seen.count; k++) total += b->factor[k];
    for (int64_t k = 0; k < b->seen.seen.count; k++) b->factor[k] = total / ((double)b->seen.seen.count * b->factor[k]);
    return ANYGP_OK;
}

void fit_balance_free(fit_columns *c)
{
    for (int64_t t = 0; c->balance && t < c->targets; t++) {
        class_set_clear(&c->balance[t].seen);
        free(c->balance[t].factor);
    }
    free(c->balance);
    c->balance = NULL;
}

anygp_status fit_balance(const gp_data *data, const settings *s, fit_columns *c, anygp_error *e)
{
    likelihood l;
    if (!settings_is(s, SET_CLASS_WEIGHT, "balanced")) return ANYGP_OK;
    TRY(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &l, e));
    if (l.ops->target != TARGET_CLASS)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "class-weight: the target of the likelihood %s is not a class; leave --class-weight out",
                         l.ops->name);
    if (!(c->balance = mem_zeroed(c->targets, sizeof *c->balance)))
        return fail_memory(e, "the classes", (double)c->targets * sizeof *c->balance);
    for (int64_t t = 0; t < c->targets; t++) {
        c->balance[t].target = c->target[t], c->balance[t].weights = c->weights;
        TRY(balance_target(data, &c->balance[t], e));
    }
    return ANYGP_OK;
}

void fit_balanced(const fit_columns *c, int64_t target, target_columns *y)
{
    if (!c->balance) return;
    y->factor = factor_of, y->factor_ctx = &c->balance[target];
}
