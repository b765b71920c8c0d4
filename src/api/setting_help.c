/* The help of a setting, with names and numbers filled in from where they are defined. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/setting_groups.h"
#include "gp/auto.h"
#include "run/plan.h"

/* ------------------------------------------------------------------------------------------ lists */

static const char *likelihood_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return likelihood_at(i)->name;
}

static const char *exposed_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return likelihood_at(i)->exposure ? likelihood_at(i)->name : NULL;
}

/* exact, and those that auto has a table of. */
static const char *candidate_name(int64_t i, const void *ctx)
{
    (void)ctx;
    return i == 0 ? model_exact.name : auto_candidate_at((int)i - 1)->model->name;
}

static bool has_all_rows(const model_ops *m) { return !model_over_blocks(m) && !m->needs.no_jitter; }

static bool has_weights(const model_ops *m) { return !model_has_inducing(m) && m->variables; } /* of basis functions */
static bool has_frequencies(const model_ops *m) { return model_has_inducing(m) && model_draws_inducing(m); }

/* "sod (2000)": those without inducing inputs that have a size, in rows or in basis functions. */
static char *sizes(bool weights)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    for (int64_t i = 0, written = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        if (model_has_inducing(m) || m->subset == 0 || has_weights(m) != weights) continue;
        fprintf(f, "%s%s (%lld)", written++ ? ", " : "", m->name, (long long)m->subset);
    }
    return fclose(f) == 0 ? text : NULL;
}

static char *subsets(void) { return sizes(false); }
static char *by_weights(void) { return sizes(true); }
static char *models(void) { return model_names(NULL, ", "); }
static char *expressions(void) { return model_expressions(", "); }
static char *by_neighbours(void) { return model_names(model_has_neighbours, " and "); }
static char *with_loo(void) { return model_names(model_whole_loo, " and "); }
static char *by_order(void) { return model_names(model_has_order, " and "); }
static char *by_sets(void) { return model_names(model_takes_sets, " and "); }
static char *by_pair(void) { return model_names(model_takes_pair, " and "); }

/* "512; deep 128": inducing inputs where the user gives no number, and the models that have another. */
static char *inducing_defaults(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    fprintf(f, "%lld", (long long)model_fitc.subset);
    for (int64_t i = 0; i < model_count(); i++) {
        const model_ops *m = model_at(i);
        bool one = m->with_inducing || (model_has_inducing(m) && !model_takes_pair(m));
        if (!one || m->subset == model_fitc.subset) continue;
        fprintf(f, "; %s %lld", m->name, (long long)m->subset);
    }
    return fclose(f) == 0 ? text : NULL;
}

/* "128 for svdgp-sga": models whose inducing inputs grow where the user does not say. */
static char *increments(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    for (int64_t i = 0, written = 0; i < model_count(); i++)
        if (model_at(i)->increment > 0)
            fprintf(f, "%s%lld for %s", written++ ? ", " : "", (long long)model_at(i)->increment, model_at(i)->name);
    return fclose(f) == 0 ? text : NULL;
}

static char *growing(void) { return model_names(model_can_grow, " and "); }
static char *by_draws(void) { return model_names(model_draws_inducing, " and "); }
static char *by_frequencies(void) { return model_names(has_frequencies, " and "); }
static char *by_steps(void) { return model_names(model_by_steps, " and "); }
static char *in_float(void) { return model_names(model_can_float, " and "); }
static char *by_parts(void) { return model_names(model_over_parts, " and "); }
static char *by_experts(void) { return model_names(model_has_experts, " and "); }
static char *by_own(void) { return model_names(model_takes_own, " and "); }
static char *by_covariances(void) { return model_names(model_asks_near, " and "); }
static char *by_committees(void) { return model_names(model_has_opinions, " and "); }
static char *by_mixtures(void) { return model_names(model_is_mixture, " and "); }
static char *by_communication(void) { return model_names(model_has_communication, " and "); }
static char *whole(void) { return model_names(has_all_rows, " and "); }
static char *candidates(void) { return name_list(1 + auto_candidate_count(), candidate_name, NULL, " or "); }
static char *likelihoods(void) { return name_list(likelihood_count(), likelihood_name, NULL, ", "); }
static char *exposed(void) { return name_list(likelihood_count(), exposed_name, NULL, ", "); }

static const struct {
    const char *mark;
    char *(*list)(void);
} lists[] = {{"{models}", models},
             {"{inducing}", inducing_defaults},
             {"{expressions}", expressions},
             {"{sets}", by_sets},
             {"{pair}", by_pair},
             {"{growing}", growing},
             {"{increments}", increments},
             {"{drawn}", by_draws},
             {"{frequencies}", by_frequencies},
             {"{weights}", by_weights},
             {"{steps}", by_steps},
             {"{float}", in_float},
             {"{parts}", by_parts},
             {"{near}", by_neighbours},
             {"{loo}", with_loo},
             {"{experts}", by_experts},
             {"{own}", by_own},
             {"{nested}", by_covariances},
             {"{committees}", by_committees},
             {"{mixtures}", by_mixtures},
             {"{communication}", by_communication},
             {"{ordered}", by_order},
             {"{whole}", whole},
             {"{subset}", subsets},
             {"{candidates}", candidates},
             {"{likelihoods}", likelihoods},
             {"{exposed}", exposed}};

static const struct {
    const char *mark;
    int64_t value;
} numbers[] = {{"{epochs}", PLAN_EPOCHS},
               {"{steps_least}", PLAN_STEPS_LEAST},
               {"{steps_most}", PLAN_STEPS_MOST},
               {"{anytime_epochs}", PLAN_ANYTIME_EPOCHS},
               {"{anytime_least}", PLAN_ANYTIME_LEAST}};

/* ------------------------------------------------------------------------------------------ texts */

static char *number_text(int64_t value)
{
    char *text = malloc(24);
    if (text) snprintf(text, 24, "%lld", (long long)value);
    return text;
}

static bool starts(const char *at, const char *mark) { return !strncmp(at, mark, strlen(mark)); }

/* The text for the mark at `at`; NULL: it is not a mark, or there is no memory. */
static char *meaning(const char *at)
{
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (starts(at, lists[k].mark)) return lists[k].list();
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (starts(at, numbers[k].mark)) return number_text(numbers[k].value);
    return NULL;
}

static const char *texts[SETTING_COUNT]; /* made once, and kept until the process ends */

static const char *filled_in(const char *help)
{
    char *text = NULL;
    size_t size;
    if (!strchr(help, '{')) return help;
    FILE *f = open_memstream(&text, &size);
    if (!f) return help;
    for (const char *at = help; *at;) {
        size_t plain = strcspn(at, "{");
        fprintf(f, "%.*s", (int)plain, at);
        at += plain;
        char *name = *at ? meaning(at) : NULL;
        if (*at) fputs(name ? name : "...", f);
        at += strcspn(at, "}") + (*at != 0);
        free(name);
    }
    return fclose(f) == 0 ? text : help;
}

/* ----------------------------------------------------------------------------------------- one line */

enum { BRIEF_MOST = 72 }; /* characters of a line of the short help, which has 100 */
static char clauses[SETTING_COUNT][BRIEF_MOST + 1];

/* The help up to its first semicolon, colon or bracket, or as many words of it as a line has room for. */
static void first_clause(const char *help, char *out)
{
    size_t n = strcspn(help, ";:({");
    if (n > BRIEF_MOST)
        for (n = BRIEF_MOST; n > 0 && help[n] != ' ';) n--;
    while (n > 0 && (help[n - 1] == ' ' || help[n - 1] == ',')) n--;
    memcpy(out, help, n);
    out[n] = 0;
}

static void make_texts(void)
{
    for (setting_id i = 0; i < SETTING_COUNT; i++) {
        texts[i] = filled_in(setting_at(i)->help);
        first_clause(setting_at(i)->help, clauses[i]);
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *api_setting_help(setting_id i)
{
    pthread_once(&once, make_texts);
    return texts[i];
}

const char *api_setting_brief(setting_id i)
{
    pthread_once(&once, make_texts);
    return *setting_brief(i) ? setting_brief(i) : clauses[i];
}
