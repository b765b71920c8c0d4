/* What the settings say about the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "base/nearest.h"
#include "gp/fit.h"

static bool has_item(const char *list, const char *word) { return list_has(list, word, strlen(word)); }

/* Further names are those of parameters that the model has of its own: model_open() finds them. */
static anygp_status check_fix(const model_ops *m, const char *list, anygp_error *e)
{
    size_t n;
    for (const char *at = list; *at; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        if (!list_has(HYPER_GROUPS, at, n) && !(m && m->define && !model_takes_own(m)))
            return fail_with(e, ANYGP_ERR_ARGUMENT, "fix: '%.*s' is not one of: kernel, noise, inducing, all, none",
                             (int)(n < 80 ? n : 80), at);
    }
    return ANYGP_OK;
}

static const char *model_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return model_at(i)->name;
}

static anygp_status unknown_model(const char *name, anygp_error *e)
{
    const char *near = nearest_name(name, model_count(), model_name, NULL);
    char *list = model_names(NULL, ", ");
    fail_with(e, ANYGP_ERR_ARGUMENT,
              "model: there is no model '%.80s'%s%s%s models are auto, %s, and expressions such as %s", name,
              near ? ", did you mean '" : "", near ? near : "", near ? "'? The" : "; the", name_list_or(list),
              model_expression(0));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status no_anytime(const char *name, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT, "model: %.80s has no anytime variant; leave the + out", name);
}

/* A name without its +. */
static anygp_status find_model(const char *name, const model_ops **m, anygp_error *e)
{
    if (model_is_expression(name)) return model_make(name, m, e);
    *m = model_find(name);
    return ANYGP_OK;
}

static anygp_status parse_model(const char *name, const model_ops **m, bool *anytime, anygp_error *e)
{
    size_t n = strlen(name);
    char *bare = mem_strdup(name);
    if (!bare) return fail_memory(e, "the model's name", (double)n);
    *anytime = n > 0 && name[n - 1] == '+';
    if (*anytime) bare[n - 1] = 0;
    anygp_status status = find_model(bare, m, e);
    if (!ANYGP_FAILED(status) && !*m) status = unknown_model(name, e);
    if (!ANYGP_FAILED(status) && *anytime && !model_can_anytime(*m)) status = no_anytime(bare, e);
    free(bare);
    return status;
}

const model_ops *model_named(const char *name, bool *anytime)
{
    const model_ops *m = NULL;
    return ANYGP_FAILED(parse_model(name, &m, anytime, NULL)) ? NULL : m;
}

/* A model that learns nothing keeps what was given, and the defaults for the rest. */
static void fix_everything(model_choice *c)
{
    c->not_learned = !c->fix_kernel || !c->fix_noise;
    c->fix_kernel = c->fix_noise = c->fix_inducing = true;
}

/* Learned by batch, the bounds of Gaussian targets have their q in closed form. */
static const model_ops *collapsed(const model_ops *m)
{
    return m == &model_svgp    ? &model_vfe
           : m == &model_solve ? &model_solve_collapsed
           : m == &model_odvgp ? &model_odvgp_collapsed
                               : m;
}

/* What grows has no given places, and no state to resume from. */
static anygp_status check_growth(const settings *s, anygp_error *e)
{
    if (settings_given(s, SET_INDUCING_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing: auto chooses the inducing inputs; leave --inducing-from out");
    if (settings_given(s, SET_GROW))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing: auto adds inducing inputs in stages of its own; leave --grow out");
    if (settings_number(s, SET_RESUME) == 1)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing: a run with auto cannot be resumed; give the number of inducing inputs it had "
                         "reached, without --resume");
    return ANYGP_OK;
}

static anygp_status not_inducing(const settings *s, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "inducing: '%.80s' is not a whole number such as 512, up to %d of them such as 512+512, or auto",
                     settings_text(s, SET_INDUCING), MODEL_SETS_MOST);
}

/* 512, or 512+512+256, or 4096/128, whose last may be 0, or auto; 0 alone is for models that check_sets() knows. */
static anygp_status parse_inducing(const settings *s, model_choice *c, anygp_error *e)
{
    const char *text = settings_text(s, SET_INDUCING), *at = text;
    if (!settings_given(s, SET_INDUCING)) return ANYGP_OK;
    if ((c->grow = !strcmp(text, "auto"))) return check_growth(s, e);
    do {
        char *end;
        double M = strtod(at, &end);
        c->added = c->added || *end == '+', c->divided = c->divided || *end == '/';
        bool more = *end == '+' || *end == '/', may_be_none = (at == text || at[-1] == '/') && !more;
        if (end == at || (*end && !more) || !(M >= (may_be_none ? 0 : 1)) || M > 1e9 || M != floor(M) ||
            c->set_count == MODEL_SETS_MOST)
            return not_inducing(s, e);
        c->sets[c->set_count++] = (int64_t)M;
        at = end + more;
        if (!more) return ANYGP_OK;
    } while (true);
}

static bool asks_for_none(const model_choice *c) { return c->set_count == 1 && c->sets[0] == 0; }

static anygp_status check_sets(const model_choice *c, const settings *s, anygp_error *e)
{
    if (asks_for_none(c) && !(c->model && c->model->with_inducing)) return not_inducing(s, e);
    if (!c->model) return ANYGP_OK;
    bool grows = model_has_inducing(c->model) && !model_takes_pair(c->model) && !model_is_mixture(c->model);
    if (c->grow && !grows)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing: auto is for models with sets of inducing inputs that can grow, which %s has not",
                         c->model->name);
    if (c->grow && c->anytime)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing: auto is not for the anytime variants; give a number");
    if (c->set_count <= 1) return ANYGP_OK;
    if (model_takes_pair(c->model) && (c->added || c->set_count > 2))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing: %s takes M/M2, bases of the mean and inducing inputs of the covariance, such as "
                         "4096/128",
                         c->model->name);
    if (model_takes_sets(c->model) && c->divided)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing: %s takes M+M2, sets of inducing inputs, such as 512+512",
                         c->model->name);
    if (model_takes_pair(c->model) || model_takes_sets(c->model)) return ANYGP_OK;
    char *list = model_names(model_takes_sets, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "inducing: %s has one set of inducing inputs; those that take M+M2 are %s",
              c->model->name, name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static const char *exposed_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return likelihood_at(i)->exposure ? likelihood_at(i)->name : NULL;
}

static anygp_status check_exposure(const settings *s, const likelihood *l, anygp_error *e)
{
    if (!settings_given(s, SET_EXPOSURE) || l->ops->exposure) return ANYGP_OK;
    char *list = name_list(likelihood_count(), exposed_name, NULL, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "exposure: %s takes no exposure; only counts do, %s", l->ops->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

static anygp_status check_likelihood(const model_choice *c, anygp_error *e)
{
    if (model_takes_likelihoods(c->model) || likelihood_is_gaussian(&c->like)) return ANYGP_OK;
    char *list = model_names(model_takes_likelihoods, " or ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "likelihood: %s is for gaussian targets only; for %s use --model %s",
              c->model->name, c->like.ops->name, name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

/* Widths begin at 1, where scaled variables are points: unless they are learned, the option would have no effect. */
static anygp_status check_kind(const model_choice *c, const settings *s, anygp_error *e)
{
    if (settings_is(s, SET_INDUCING_KIND, "points")) return ANYGP_OK;
    const char *kind = settings_text(s, SET_INDUCING_KIND);
    if (!c->model)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing-kind: %s needs a model by name, such as --model svgp", kind);
    if (c->model->variables)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing-kind: %s has %s of its own; leave it out", c->model->name,
                         c->model->variables->nouns);
    if (!model_has_inducing(c->model))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing-kind: %s has no inducing variables; leave it out",
                         c->model->name);
    if (model_takes_pair(c->model))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "inducing-kind: %s has scaled bases wherever the kernel is a single rbf; leave it out",
                         c->model->name);
    if (!c->fix_inducing) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_ARGUMENT,
        c->model->needs.given
            ? "inducing-kind: %s learns nothing, and %s variables are points until they are learned; leave it "
              "out"
            : "inducing-kind: %s keeps its inducing inputs, and %s variables are points until they are "
              "learned; add --fix none",
        c->model->name, kind);
}

/* Drawn places are not rows, and rows are not drawn from a density. */
static anygp_status check_select(const model_choice *c, const settings *s, anygp_error *e)
{
    const char *how = settings_text(s, SET_SELECT);
    bool orthogonal = !strcmp(how, "orthogonal"), drawn = c->model && model_draws_inducing(c->model);
    if (drawn && settings_given(s, SET_INDUCING_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing-from: %s draws its %s from the kernel; leave it out",
                         c->model->name, c->model->variables->nouns);
    if (drawn && *how && !orthogonal && strcmp(how, "random"))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "select: %s draws its %s, orthogonal or random; %s is for rows",
                         c->model->name, c->model->variables->nouns, how);
    if (drawn && c->model->variables->orthogonal && !strcmp(how, "random"))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "select: frequencies of %s are orthogonal by their making; leave it out", c->model->name);
    bool at_rows = c->model && c->model->steps && !model_has_inducing(c->model) && !c->model->variables;
    if (at_rows && settings_given(s, SET_INDUCING_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing-from: %s has its kernels at training rows; leave it out",
                         c->model->name);
    if (at_rows && *how && strcmp(how, "random"))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "select: %s has its kernels at rows taken at random; leave it out",
                         c->model->name);
    if (drawn || !orthogonal) return ANYGP_OK;
    char *list = model_names(model_draws_inducing, " or ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "select: orthogonal is for models that draw frequencies, --model %s",
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

void choice_take(model_choice *c, const settings *s, const model_ops *m)
{
    const char *fix = settings_text(s, SET_FIX);
    c->model = m;
    c->fix_inducing = has_item(fix, "all") || has_item(fix, "inducing") || (!*fix && !model_learns_inducing(m));
}

/* A model that has inducing inputs only for those who ask for some. */
static anygp_status take_inducing(model_choice *c, const settings *s, anygp_error *e)
{
    const model_ops *with = c->model->with_inducing;
    bool at_all_rows = model_has_order(c->model) && !with && !model_has_inducing(c->model);
    if (at_all_rows && (c->set_count > 0 || settings_given(s, SET_INDUCING_FROM)))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "%s: %s has an inducing variable at every row, and takes no inducing inputs besides; leave "
                         "them out, or use --model svgp",
                         setting_at(settings_given(s, SET_INDUCING) ? SET_INDUCING : SET_INDUCING_FROM)->name,
                         c->model->name);
    if (!with || (!settings_given(s, SET_INDUCING_FROM) && (c->set_count == 0 || asks_for_none(c)))) return ANYGP_OK;
    choice_take(c, s, with);
    return ANYGP_OK;
}

/* Elsewhere blocks are only how rows are read. */
static bool takes_block_list(const model_ops *m) { return model_over_parts(m) || model_is_mixture(m); }

static anygp_status check_blocks(const model_choice *c, const settings *s, anygp_error *e)
{
    int64_t numbers[SETTING_COUNTS_MOST];
    const char *list = settings_text(s, SET_BLOCKS);
    if (settings_counts(s, SET_BLOCKS, numbers) < 2) return ANYGP_OK;
    if (!c->model)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "blocks: to choose among %.80s, name a --model; auto takes one number",
                         list);
    if (!takes_block_list(c->model))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks: for %s the number of blocks makes no difference worth a choice; give one number "
                         "instead of %.80s",
                         c->model->name, list);
    if (settings_given(s, SET_BLOCKS_FROM))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "blocks: --blocks-from gives the blocks; leave it or %.80s out", list);
    if (settings_given(s, SET_CHECKPOINT) || settings_number(s, SET_RESUME) == 1)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks: a choice among %.80s cannot be resumed; leave --checkpoint and --resume out, or give "
                         "one number",
                         list);
    return ANYGP_OK;
}

anygp_status choice_parse(const settings *s, model_choice *c, anygp_error *e)
{
    const char *name = settings_text(s, SET_MODEL), *fix = settings_text(s, SET_FIX);
    bool fixes_all = has_item(fix, "all");
    *c = (model_choice){0};
    TRY(parse_inducing(s, c, e));
    TRY(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &c->like, e));
    TRY(check_exposure(s, &c->like, e));
    c->fix_kernel = fixes_all || has_item(fix, "kernel");
    c->fix_noise = fixes_all || has_item(fix, "noise");
    if (!strcmp(name, "auto")) TRY(check_sets(c, s, e));
    if (!strcmp(name, "auto")) TRY(check_fix(NULL, fix, e));
    if (!strcmp(name, "auto")) TRY(check_blocks(c, s, e));
    if (!strcmp(name, "auto")) TRY(check_select(c, s, e));
    if (!strcmp(name, "auto")) return check_kind(c, s, e);
    TRY(parse_model(name, &c->model, &c->anytime, e));
    TRY(check_fix(c->model, fix, e));
    bool gaussian = likelihood_is_gaussian(&c->like);
    c->collapsed = gaussian && settings_is(s, SET_LEARN, "batch") && collapsed(c->model) != c->model;
    choice_take(c, s, c->collapsed ? collapsed(c->model) : c->model);
    if (c->anytime && c->model->stepped) choice_take(c, s, c->model->stepped);
    TRY(take_inducing(c, s, e));
    if (c->model->needs.given) fix_everything(c);
    TRY(check_sets(c, s, e));
    TRY(check_kind(c, s, e));
    TRY(check_select(c, s, e));
    TRY(check_blocks(c, s, e));
    return check_likelihood(c, e);
}

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
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "calibrate: one factor does not suit experts that each have their own noise; leave "
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
    OF_OWN
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
              {SET_EXPERTS, OF_OWN}};

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
              {SET_JITTER, !m->needs.no_jitter}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!of[i].used && settings_changed(s, of[i].id)) note_no_effect(c, s, of[i].id, settings_text(s, of[i].id));
    if (has_item(fix, "inducing") && !model_has_inducing(m)) note_no_effect(c, s, SET_FIX, "inducing");
    if (has_item(fix, "none") && !learns) note_no_effect(c, s, SET_FIX, "none");
}

static bool is_used(const model_choice *c, setting_scope scope, setting_id id)
{
    const model_ops *m = c->model;
    bool has_q = c->anytime && m->anytime;
    switch (scope) {
    case OF_STEPS: return c->anytime || m->steps;
    case OF_ANYTIME: return c->anytime && (id != SET_SAMPLE || !m->steps); /* steps take --batch */
    case OF_NATURAL: return has_q || (m->steps && id == SET_RHO);
    case OF_LEARNING: return has_q || c->collapsed;
    case OF_INDUCING: return model_has_inducing(m);
    case OF_BLOCKS: return model_over_blocks(m);
    case OF_PARTITIONS: return model_over_parts(m);
    case OF_NEIGHBOURS: return model_has_neighbours(m);
    case OF_ORDERS: return model_has_order(m) && (id != SET_GROUP || model_groups_rows(m));
    case OF_BATCHES: return m->steps != NULL;
    case OF_GROWTH: return model_can_grow(m);
    case OF_SUBSETS:
        return m->subset > 0 || c->grow || model_has_inducing(m) || (id == SET_INDUCING && m->with_inducing);
    case OF_EXPERTS: return model_has_experts(m);
    case OF_COMMUNICATION: return model_has_communication(m);
    case OF_NESTED: return model_asks_near(m);
    case OF_OWN: return model_takes_own(m);
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

mean_kind choice_mean(const settings *s)
{
    return settings_is(s, SET_MEAN, "linear")     ? MEAN_LINEAR
           : settings_is(s, SET_MEAN, "constant") ? MEAN_CONSTANT
                                                  : MEAN_ZERO;
}

int64_t choice_subset(const model_choice *c)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < c->set_count; k++) sum += c->sets[k];
    return sum ? sum : c->model->subset;
}

int64_t choice_grow(const model_choice *c, const settings *s)
{
    if (!model_can_grow(c->model)) return 0;
    return settings_given(s, SET_GROW) ? settings_integer(s, SET_GROW) : c->model->increment;
}

const char *choice_select(const model_choice *c, const settings *s)
{
    const char *how = settings_text(s, SET_SELECT);
    if (*how) return how;
    if (model_takes_pair(c->model) && choice_grow(c, s) > 0) return NULL; /* all are rows that it meets */
    if (model_draws_inducing(c->model)) return "orthogonal";
    return !model_has_inducing(c->model) ? "random" : model_learns_inducing(c->model) ? "best" : "kmeans";
}
