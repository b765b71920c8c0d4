/* Settings that have no effect on the model that was chosen: one note each. */
#include "base/name_list.h"
#include "gp/fit.h"

/* Settings that have a meaning for some models only. */
typedef enum setting_scope {
    OF_STEPS,
    OF_ANYTIME,
    OF_NATURAL,  /* anytime, with a q */
    OF_LEARNING, /* the same, or collapsed beside it */
    OF_INDUCING,
    OF_BLOCKS,
    OF_PARTITIONS,
    OF_NEIGHBOURS,
    OF_ORDERS,
    OF_BATCHES,
    OF_GROWTH,
    OF_SUBSETS,
    OF_EXPERTS,
    OF_COMMUNICATION,
    OF_NESTED,
    OF_FINDING,
    OF_OWN,
    OF_SOLVERS
} setting_scope;

static const struct {
    setting_id id;
    setting_scope scope;
} scoped[] = {{SET_SAMPLE, OF_ANYTIME},
              {SET_REPLACE, OF_STEPS},
              {SET_LEARN, OF_LEARNING},
              {SET_OPTIMIZER, OF_NATURAL},
              {SET_RHO, OF_NATURAL},
              {SET_TAU, OF_NATURAL},
              {SET_KAPPA, OF_NATURAL},
              {SET_STEP, OF_STEPS},
              {SET_INDUCING_FROM, OF_INDUCING},
              {SET_BATCH, OF_BATCHES},
              {SET_BLOCKS, OF_BLOCKS},
              {SET_BLOCKS_FROM, OF_BLOCKS},
              {SET_EXPERTS_MOST, OF_FINDING},
              {SET_PARTITION, OF_PARTITIONS},
              {SET_NEIGHBORS, OF_NEIGHBOURS},
              {SET_PREDICT_NEIGHBORS, OF_NEIGHBOURS},
              {SET_ORDER, OF_ORDERS},
              {SET_GROUP, OF_ORDERS},
              {SET_INDUCING, OF_SUBSETS},
              {SET_SELECT, OF_SUBSETS},
              {SET_GROW, OF_GROWTH},
              {SET_AGGREGATE, OF_EXPERTS},
              {SET_COMMUNICATION, OF_COMMUNICATION},
              {SET_NEAR, OF_NESTED},
              {SET_ORDER_FROM, OF_ORDERS},
              {SET_EXPERTS, OF_OWN},
              {SET_SOLVER, OF_SOLVERS},
              {SET_PRECOND, OF_SOLVERS},
              {SET_TOLERANCE, OF_SOLVERS},
              {SET_KEEP_FACTOR, OF_SOLVERS}};

static void note_no_effect(const model_choice *c, const settings *s, setting_id id, const char *value)
{
    settings_log(s, ANYGP_NOTE, "--%s %s has no effect on the model %s%s", setting_at(id)->name, value, c->model->name,
                 c->anytime ? "+" : "");
}

/* Settings of learning: a model may learn nothing, or by one run of steps, or have steps of its own. */
static void note_unused_in_learning(const model_choice *c, const settings *s)
{
    const model_ops *m = c->model;
    const char *fix = settings_text(s, SET_FIX);
    bool stays = m->needs.kept && likelihood_is_gaussian(&c->like) && !*fix;
    bool learns = !m->needs.given,
         one_run = m->steps || (c->anytime && (m->sum || settings_is(s, SET_LEARN, "anytime")));
    const struct {
        setting_id id;
        bool used;
    } of[] = {{SET_PRIOR, learns},
              {SET_RESTARTS, learns && !one_run && !stays},
              {SET_ITERS, learns || c->anytime},
              {SET_STEP, learns || !c->anytime}, /* models without steps: above */
              {SET_LEARN, learns || !c->anytime},
              {SET_RHO, !m->needs.own_rate},
              {SET_JITTER, !m->needs.no_jitter},
              {SET_PRECISION, choice_can_float(c)}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!of[i].used && settings_changed(s, of[i].id)) note_no_effect(c, s, of[i].id, settings_text(s, of[i].id));
    if (list_has_word(fix, "inducing") && !model_has_inducing(m)) note_no_effect(c, s, SET_FIX, "inducing");
    if (list_has_word(fix, "none") && !learns) note_no_effect(c, s, SET_FIX, "none");
}

static bool is_used(const model_choice *c, setting_scope scope, setting_id id)
{
    const model_ops *m = c->model;
    bool has_q = c->anytime && m->anytime;
    switch (scope) {
    case OF_STEPS: return (c->anytime || m->steps) && !m->needs.iterative;
    case OF_ANYTIME: return c->anytime && (id != SET_SAMPLE || !m->steps); /* steps take --batch */
    case OF_NATURAL: return has_q || (m->steps && id == SET_RHO);
    case OF_LEARNING: return has_q || c->collapsed;
    case OF_INDUCING: return model_has_inducing(m);
    case OF_BLOCKS: return model_over_blocks(m);
    case OF_PARTITIONS: return model_over_parts(m);
    case OF_NEIGHBOURS:
        return model_has_neighbours(m) || (id == SET_PREDICT_NEIGHBORS && m->needs.iterative && !m->steps);
    case OF_ORDERS: return model_has_order(m) && (id != SET_GROUP || model_groups_rows(m));
    case OF_BATCHES: return m->steps != NULL && !m->needs.iterative;
    case OF_GROWTH: return model_can_grow(m);
    case OF_SUBSETS:
        return m->subset > 0 || c->grow || model_has_inducing(m) || (id == SET_INDUCING && m->with_inducing);
    case OF_EXPERTS: return model_has_experts(m);
    case OF_COMMUNICATION: return model_has_communication(m);
    case OF_FINDING: return model_finds_experts(m);
    case OF_NESTED: return model_asks_near(m);
    case OF_OWN: return model_takes_own(m);
    case OF_SOLVERS:
        if (id == SET_PRECOND) return m->needs.iterative;
        return (id == SET_SOLVER && m->iterative) || (m->needs.iterative && !m->steps);
    }
    return true;
}

void choice_note_unused(const model_choice *c, const settings *s)
{
    const model_ops *m = c->model;
    for (size_t i = 0; i < sizeof scoped / sizeof *scoped; i++) {
        bool used = is_used(c, scoped[i].scope, scoped[i].id);
        if (!used && settings_changed(s, scoped[i].id))
            settings_log(s, ANYGP_NOTE, "--%s has no effect on model %s%s", setting_at(scoped[i].id)->name, m->name,
                         !c->anytime &&
                                 (scoped[i].scope <= OF_ANYTIME ? model_can_anytime(m)
                                                                : (scoped[i].scope <= OF_LEARNING && m->anytime) ||
                                                                      (scoped[i].scope == OF_BATCHES && m->stepped))
                             ? "; with a + after its name it would"
                             : "");
    }
    if (settings_changed(s, SET_NOISE) && !likelihood_is_gaussian(&c->like))
        settings_log(s, ANYGP_NOTE, "--noise has no effect on likelihood %s", c->like.ops->name);
    note_unused_in_learning(c, s);
}
