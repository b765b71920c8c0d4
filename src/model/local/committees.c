/* The committees of exact experts as models: the tables (experts.h), and the expressions that make further ones. */
#include <string.h>

#include "model/local/experts.h"
#include "model/made.h"

#define COMMITTEE                                                                                                      \
    .objective = "log evidence of the experts", .order = "n j^2", .jitter = 1e-8, .cost = experts_cost,                \
    .size = experts_size, .define = experts_define, .open = experts_open, .evaluate = experts_evaluate,                \
    .failure = experts_failure, .loo = experts_loo, .loo_after = committee_loo, .posterior = experts_to_posterior,     \
    .rows = experts_rows, .close = experts_close, .load = experts_load, .load_within = experts_load_within,            \
    .update = &experts_update, .sum = &experts_sum

static const aggregation npae = {.levels = 1};
static const aggregation poe = {.entropy = false}, gpoe = {.entropy = true, .normalised = true}, bcm = {.prior = true},
                         rbcm = {.entropy = true, .prior = true},
                         grbcm = {.entropy = true, .prior = true, .communication = true};

const model_ops model_poe = {
    .name = "poe",
    .summary = "product of exact experts, one per part",
    .family = &poe,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .experts = true, .own = true},
    COMMITTEE};

const model_ops model_gpoe = {
    .name = "gpoe",
    .summary = "product of exact experts with weights",
    .family = &gpoe,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .experts = true, .own = true},
    COMMITTEE};

const model_ops model_bcm = {.name = "bcm",
                             .summary = "Bayesian committee machine",
                             .family = &bcm,
                             .needs = {.rows = ROWS_PARTS,
                                       .local = true,
                                       .mean = true,
                                       .weights = true,
                                       .joint = true,
                                       .together = true,
                                       .experts = true},
                             COMMITTEE};

const model_ops model_rbcm = {
    .name = "rbcm",
    .summary = "committee of exact experts, one per part",
    .family = &rbcm,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .experts = true},
    COMMITTEE};

const model_ops model_grbcm = {
    .name = "grbcm",
    .summary = "committee with a communication expert",
    .family = &grbcm,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .experts = true, .communication = true},
    COMMITTEE};

const model_ops model_npae = {
    .name = "npae",
    .summary = "best linear predictor given the experts",
    .family = &npae,
    .needs = {.rows = ROWS_PARTS, .local = true, .mean = true, .weights = true, .joint = true, .nested = true},
    COMMITTEE};

/* ------------------------------------------------------------------------------------- expressions */

/* gpoe(beta=...): its weights. */
static const struct {
    const char *word;
    aggregation rule;
} betas[] = {{"entropy", {.entropy = true}},
             {"norm", {.entropy = true, .normalised = true}},
             {"uniform", {.entropy = false, .normalised = true}}};
enum { BETAS = sizeof betas / sizeof *betas };

static bool is_word(const scanner *s, int64_t n, const char *word)
{
    return (size_t)n == strlen(word) && !strncmp(s->text + s->at, word, (size_t)n);
}

/* beta=NAME, or just NAME. */
static anygp_status take_beta(scanner *s, void *ctx)
{
    int *which = ctx, i = 0;
    int64_t n = scan_word(s);
    if (*which >= 0) return scan_fail(s, s->at, NULL, "beta is given twice");
    if (is_word(s, n, "beta")) {
        s->at += n;
        if (!scan_take(s, '=')) return scan_fail(s, s->at, NULL, "expected = and a name");
        n = scan_word(s);
    }
    while (i < BETAS && !is_word(s, n, betas[i].word)) i++;
    if (i == BETAS)
        return scan_fail(s, s->at, "the weights of gpoe are beta=entropy, norm or uniform", "unknown weights '%.*s'",
                         (int)(n < 40 ? n : 40), s->text + s->at);
    s->at += n, *which = i;
    return ANYGP_OK;
}

anygp_status made_gpoe(scanner *s, made_model **out, anygp_error *e)
{
    int which = -1;
    TRY(scan_options(s, take_beta, &which));
    TRY(scan_end(s));
    if (which < 0) return scan_fail(s, s->at, NULL, "expected beta=entropy, norm or uniform");
    TRY(made_new(&model_gpoe, sizeof(*out)->kind.aggregation, out, e));
    (*out)->kind.aggregation = betas[which].rule;
    strcpy(stpcpy(stpcpy((*out)->name, "gpoe(beta="), betas[which].word), ")");
    return ANYGP_OK;
}

anygp_status made_npae(scanner *s, made_model **out, anygp_error *e)
{
    double levels;
    int64_t at;
    TRY(made_number(s, "levels", "a number of levels", &at, &levels));
    if (levels != 1 && levels != 2)
        return scan_fail(s, at, "npae has 1 level or 2", "%g is not a number of levels", levels);
    TRY(made_new(&model_npae, sizeof(*out)->kind.aggregation, out, e));
    (*out)->kind.aggregation.levels = (int64_t)levels;
    strcpy((*out)->name, levels > 1 ? "npae(levels=2)" : "npae(levels=1)");
    return ANYGP_OK;
}
