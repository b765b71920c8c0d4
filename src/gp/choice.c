/* What the settings say of the model. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/fit.h"

enum { EXACT_MOST = 4000 }; /* distinct rows up to which `auto` is exact: about a minute on two cores */

/* Whether `word` is an item of a list separated by commas. */
static bool has_item(const char *list, const char *word)
{
    size_t length = strlen(word), n;
    for (; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n)) return true;
    }
    return false;
}

static anygp_status check_fix(const char *list, anygp_error *e)
{
    static const char known[] = "kernel,noise,inducing,all,none";
    size_t n;
    for (const char *at = list; *at; at += n + (at[n] == ',')) {
        char item[16] = "";
        n = strcspn(at, ",");
        if (n < sizeof item) memcpy(item, at, n);
        if (!has_item(known, item))
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
    char list[512] = "";
    for (int64_t i = 0; i < model_count(); i++) {
        strcat(list, model_at(i)->name);
        strcat(list, ", ");
    }
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "model: there is no model '%.80s'%s%s%s; the models are %spep(alpha=...), combine(...) and auto",
                     name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", list);
}

static anygp_status no_anytime(const char *name, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_ARGUMENT, "model: %.80s has no anytime variant; leave the + out", name);
}

/* A name without its +. */
static anygp_status find_model(const char *name, const model_ops **m, anygp_error *e)
{
    if (strchr(name, '(') || !strcmp(name, "combine")) return model_make(name, m, e);
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
    if (!ANYGP_FAILED(status) && *anytime && !(*m)->anytime) status = no_anytime(bare, e);
    free(bare);
    return status;
}

const model_ops *model_named(const char *name, bool *anytime)
{
    const model_ops *m = NULL;
    return ANYGP_FAILED(parse_model(name, &m, anytime, NULL)) ? NULL : m;
}

/* A model that learns nothing keeps what was given, and the defaults of the rest. */
static void fix_everything(model_choice *c)
{
    c->not_learned = !c->fix_kernel || !c->fix_noise;
    c->fix_kernel = c->fix_noise = c->fix_inducing = true;
}

anygp_status choice_parse(const settings *s, model_choice *c, anygp_error *e)
{
    const char *name = settings_text(s, SET_MODEL), *fix = settings_text(s, SET_FIX);
    bool fixes_all = has_item(fix, "all");
    *c = (model_choice){0};
    TRY(check_fix(fix, e));
    c->fix_kernel = fixes_all || has_item(fix, "kernel");
    c->fix_noise = fixes_all || has_item(fix, "noise");
    c->fix_inducing = fixes_all || has_item(fix, "inducing");
    if (!strcmp(name, "auto")) return ANYGP_OK;
    TRY(parse_model(name, &c->model, &c->anytime, e));
    if (!c->model->sets && strchr(settings_text(s, SET_INDUCING), '+'))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "inducing: the inducing inputs of %s are in one set; give one number",
                         c->model->name);
    if (!*fix && !c->model->learns_inducing) c->fix_inducing = true;
    if (c->model->no_learning) fix_everything(c);
    return ANYGP_OK;
}

/* Settings that say something of some models only. */
typedef enum setting_scope { OF_STEPS, OF_INDUCING, OF_PARTITIONS } setting_scope;

static const struct {
    setting_id id;
    setting_scope scope;
} scoped[] = {{SET_SAMPLE, OF_STEPS},
              {SET_REPLACE, OF_STEPS},
              {SET_LEARN, OF_STEPS},
              {SET_OPTIMIZER, OF_STEPS},
              {SET_RHO, OF_STEPS},
              {SET_TAU, OF_STEPS},
              {SET_KAPPA, OF_STEPS},
              {SET_STEP, OF_STEPS},
              {SET_INDUCING_FROM, OF_INDUCING},
              {SET_BLOCKS, OF_INDUCING},
              {SET_BLOCKS_FROM, OF_INDUCING},
              {SET_PARTITION, OF_PARTITIONS}};

void choice_note_unused(const model_choice *c, const settings *s)
{
    const model_ops *m = c->model;
    for (size_t i = 0; i < sizeof scoped / sizeof *scoped; i++) {
        bool used = scoped[i].scope == OF_STEPS      ? c->anytime
                    : scoped[i].scope == OF_INDUCING ? m->inducing
                                                     : m->partition;
        if (!used && settings_changed(s, scoped[i].id))
            settings_log(s, ANYGP_NOTE, "--%s says nothing to the model %s%s", setting_at(scoped[i].id)->name, m->name,
                         scoped[i].scope == OF_STEPS ? "; with a + behind its name it would" : "");
    }
}

void choice_settle(model_choice *c, int64_t distinct_rows)
{
    if (!c->model) c->model = distinct_rows <= EXACT_MOST ? &model_exact : &model_sod;
}

mean_kind choice_mean(const settings *s)
{
    return settings_is(s, SET_MEAN, "linear")     ? MEAN_LINEAR
           : settings_is(s, SET_MEAN, "constant") ? MEAN_CONSTANT
                                                  : MEAN_ZERO;
}

int64_t choice_subset(const model_choice *c, const settings *s)
{
    return settings_given(s, SET_INDUCING) ? settings_integer(s, SET_INDUCING) : c->model->subset;
}

/* M+M+... as it was given, or two halves of M. */
anygp_status choice_sets(const model_choice *c, const settings *s, int64_t M, int64_t **sets, int64_t *count,
                         anygp_error *e)
{
    const char *text = settings_text(s, SET_INDUCING);
    *count = 0;
    if (!c->model->sets) return ANYGP_OK;
    int64_t given = 1;
    for (const char *at = text; *at; at++) given += *at == '+';
    *sets = mem_alloc(given + 1, sizeof **sets);
    if (!*sets) return fail_memory(e, "the sets of inducing inputs", 8.0 * (double)given);
    if (given == 1) {
        (*sets)[0] = M - M / 2, (*sets)[1] = M / 2;
        *count = 2;
        return ANYGP_OK;
    }
    for (char *end = (char *)text; *count < given; end++) (*sets)[(*count)++] = (int64_t)strtod(end, &end);
    return ANYGP_OK;
}

const char *choice_select(const model_choice *c, const settings *s)
{
    const char *how = settings_text(s, SET_SELECT);
    return *how ? how : c->model->inducing ? "kmeans" : "random";
}

double choice_memory(const settings *s)
{
    return settings_given(s, SET_MEMORY) ? settings_number(s, SET_MEMORY) : (double)memory_available();
}
