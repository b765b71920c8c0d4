/* What the settings say about the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "base/nearest.h"
#include "gp/fit.h"

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
    *m = NULL;
    *anytime = n > 0 && name[n - 1] == '+';
    if (*anytime) bare[n - 1] = 0;
    anygp_status status = find_model(bare, m, e);
    if (!ANYGP_FAILED(status) && !*m) status = unknown_model(name, e);
    if (!ANYGP_FAILED(status) && *anytime && !model_can_anytime(*m)) status = no_anytime(bare, e);
    if (ANYGP_FAILED(status)) model_free(*m), *m = NULL;
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
    c->fix_inducing =
        list_has_word(fix, "all") || list_has_word(fix, "inducing") || (!*fix && !model_learns_inducing(m));
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
    if (c->model && model_finds_experts(c->model) && settings_given(s, SET_BLOCKS))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks: %s finds the number of experts; --experts-most says how many it may be",
                         c->model->name);
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
    bool fixes_all = list_has_word(fix, "all");
    *c = (model_choice){0};
    TRY(parse_inducing(s, c, e));
    TRY(likelihood_parse(settings_text(s, SET_LIKELIHOOD), &c->like, e));
    TRY(check_exposure(s, &c->like, e));
    c->fix_kernel = fixes_all || list_has_word(fix, "kernel");
    c->fix_noise = fixes_all || list_has_word(fix, "noise");
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

bool choice_can_float(const model_choice *c) { return model_can_float(c->model) && (c->model->steps || !c->anytime); }

const char *choice_select(const model_choice *c, const settings *s)
{
    const char *how = settings_text(s, SET_SELECT);
    if (*how) return how;
    if (model_takes_pair(c->model) && choice_grow(c, s) > 0) return NULL; /* all are rows that it meets */
    if (model_draws_inducing(c->model)) return "orthogonal";
    return !model_has_inducing(c->model) ? "random" : model_learns_inducing(c->model) ? "best" : "kmeans";
}
