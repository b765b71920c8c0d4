/* The list of models as texts: what each one takes and can do, from their tables. */
#include <pthread.h>
#include <string.h>

#include "gp/gp.h"

enum { EXPRESSIONS_MOST = 8, WORD = 32 };

/* Models that exist as an expression only, each made once from its example. */
static struct {
    char name[WORD];
    const char *example;
    const model_ops *model;
} made[EXPRESSIONS_MOST];
static int64_t made_count;

static void make_examples(void)
{
    const char *example;
    for (int64_t i = 0; (example = model_expression(i)) && made_count < EXPRESSIONS_MOST; i++) {
        char name[WORD] = "";
        size_t n = strcspn(example, "(");
        if (n < WORD) memcpy(name, example, n);
        if (model_find(name) || ANYGP_FAILED(model_make(example, &made[made_count].model, NULL))) continue;
        memcpy(made[made_count].name, name, WORD);
        made[made_count++].example = example;
    }
}

static int64_t examples(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_examples);
    return made_count;
}

int64_t anygp_model_count(void) { return model_count() + examples(); }

static const char *yes(bool is) { return is ? "yes" : "no"; }

/* How a model of the list is written with an option; "": it has none. */
static const char *expression_of(const model_ops *m)
{
    size_t n = strlen(m->name);
    const char *example;
    for (int64_t i = 0; (example = model_expression(i)); i++)
        if (!strncmp(example, m->name, n) && example[n] == '(') return example;
    return "";
}

const char *anygp_model_field(int64_t i, const char *field)
{
    static const char *const rows[] = {"all", "blocks", "parts"}, *const inducing[] = {"none", "one", "sets", "pair"};
    int64_t k = i - model_count();
    if (i < 0 || k >= examples() || !field) return NULL;
    const model_ops *m = k < 0 ? model_at(i) : made[k].model;
    const model_needs *needs = &m->needs;
    const struct {
        const char *field, *value;
    } fields[] = {{"name", k < 0 ? m->name : made[k].name},
                  {"summary", m->summary},
                  {"expression", k < 0 ? expression_of(m) : made[k].example},
                  {"likelihoods", model_takes_likelihoods(m) ? "any" : "gaussian"},
                  {"targets", model_takes_targets(m) ? "several" : "one"},
                  {"inducing", m->with_inducing ? "optional" : inducing[needs->inducing]},
                  {"learned", yes(needs->learned)},
                  {"rows", rows[needs->rows]},
                  {"learning", needs->given        ? "none"
                               : model_by_steps(m) ? "steps"
                                                   : "passes"},
                  {"anytime", yes(model_can_anytime(m))},
                  {"update", yes(model_takes_rows(m))},
                  {"joint", yes(needs->joint)},
                  {"mean", yes(needs->mean)},
                  {"weights", yes(needs->weights)},
                  {"cost", m->order}};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (!strcmp(fields[f].field, field)) return fields[f].value;
    return NULL;
}
