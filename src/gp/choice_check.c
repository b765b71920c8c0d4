/* What a model cannot do with the rows and settings it is given: one sentence each. */
#include <stdlib.h>

#include "base/name_list.h"
#include "gp/fit.h"

static bool takes_mean(const model_ops *m) { return m->needs.mean; }
static bool takes_weights(const model_ops *m) { return m->needs.weights; }

static anygp_status not_taken(const model_ops *m, const char *setting, const char *what,
                              bool (*wanted)(const model_ops *m), anygp_error *e)
{
    char *list = model_names(wanted, " or ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "%s: %s takes no %s; leave --%s out, or use --model %s", setting, m->name, what,
              setting, name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status check_calibrate(const model_choice *c, const settings *s, anygp_error *e)
{
    if (settings_is(s, SET_CALIBRATE, "local") && !settings_is(s, SET_TRANSFORM, "none"))
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "calibrate: factors that vary over the inputs are for a target as it is; leave --transform out, "
            "or use --calibrate loo");
    if (settings_is(s, SET_CALIBRATE, "none") || model_whole_loo(c->model)) return ANYGP_OK;
    char *list = model_names(model_whole_loo, " or ");
    fail_with(
        e, ANYGP_ERR_ARGUMENT,
        "calibrate: %s%s has no leave-one-out predictions to calibrate by; leave --calibrate out, or use --model %s",
        c->model->name, c->anytime ? "+" : "", name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

/* Borders are those of a kd-tree's cells. */
static anygp_status check_cells(const model_choice *c, const settings *s, anygp_error *e)
{
    bool other = settings_changed(s, SET_PARTITION) && !settings_is(s, SET_PARTITION, "kdtree") &&
                 !settings_is(s, SET_PARTITION, "tree");
    if (!c->model->needs.cells || (!other && !settings_given(s, SET_BLOCKS_FROM))) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%s: %s needs cells with borders, so its blocks are those of a kd-tree; leave --%s out, or use "
                     "--partition kdtree or tree",
                     other ? "partition" : "blocks-from", c->model->name, other ? "partition" : "blocks-from");
}

/* What a common prior is needed for, and what has no meaning where each expert has its own. */
static anygp_status check_own(const model_choice *c, const settings *s, anygp_error *e)
{
    if (!settings_is(s, SET_EXPERTS, "own")) return ANYGP_OK;
    if (model_is_committee(c->model) && !model_takes_own(c->model)) {
        char *list = model_names(model_takes_own, " or ");
        fail_with(e, ANYGP_ERR_ARGUMENT,
                  "experts: %s needs a prior that all experts share, so they cannot have hyperparameters of their own; "
                  "leave --experts out, or use --model %s",
                  c->model->name, name_list_or(list));
        free(list);
        return ANYGP_ERR_ARGUMENT;
    }
    if (!model_takes_own(c->model)) return ANYGP_OK; /* which is noted */
    if (settings_changed(s, SET_CALIBRATE))
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "calibrate: factors of the variances do not suit experts that each have their own noise; leave "
            "--calibrate or --experts own out");
    if (settings_changed(s, SET_RESTARTS) && !c->anytime)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "restarts: experts with hyperparameters of their own all begin at the common ones; leave "
                         "--restarts or --experts own out");
    return ANYGP_OK;
}

anygp_status choice_check_rows(const model_choice *c, const settings *s, bool weighted, anygp_error *e)
{
    if (!takes_mean(c->model) && choice_mean(s) != MEAN_ZERO)
        return not_taken(c->model, "mean", "prior mean", takes_mean, e);
    if (c->anytime && c->model->sum && !c->model->sum->mean && choice_mean(s) != MEAN_ZERO)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "mean: with a prior mean the evidence of %s is not a sum that can be sampled; leave --mean or "
                         "the + after the model's name out",
                         c->model->name);
    if (!takes_weights(c->model) && weighted) return not_taken(c->model, "weights", "weights", takes_weights, e);
    if (settings_given(s, SET_ORDER) && settings_given(s, SET_ORDER_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "order-from: the order is that of the file; leave --order out");
    TRY(check_own(c, s, e));
    TRY(check_cells(c, s, e));
    return check_calibrate(c, s, e);
}
