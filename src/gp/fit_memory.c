/* Whether a fit has the memory that it plans for, and what to do where it has not: whoever follows the advice gets a fit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/temporary.h"
#include "gp/fit_blocks.h"
#include "gp/fit.h"

enum {
    ADVICE_MOST = 128,
    SUBSET_MOST = 4000, /* inducing inputs, or rows of a subset, that are advised, */
    SUBSET_LEAST = 4,   /* with fewer a model is of no use, */
    PART_LEAST = 16     /* nor are parts with fewer rows */
};

void fit_memory_text(double bytes, char to[FIT_MEMORY_TEXT])
{
    static const char *const units[] = {"k", "M", "G", "T"};
    static const double SPARE = 1.01;
    int k = 0;
    double x = SPARE * bytes / 1000;
    while (k < 3 && x >= 100) x /= 1000, k++;
    snprintf(to, FIT_MEMORY_TEXT, "%.*f%s", x < 10 ? 2 : 1, x < 10 ? ceil(100 * x) / 100 : ceil(10 * x) / 10, units[k]);
}

/* The most inducing inputs of m, at most those asked for, or rows of its subset, that fit, to within a factor of 2; 0: none do. */
static int64_t subset_within(const model_ops *m, const problem *p, double bytes)
{
    problem q = *p;
    for (q.subset = SUBSET_MOST; q.subset >= SUBSET_LEAST; q.subset /= 2)
        if (model_bytes(m, &q) <= bytes) return q.subset;
    return 0;
}

/* A model of the same rows that fits; false: there is none. */
static bool smaller(const model_ops *model, const likelihood *like, const problem *p, double bytes,
                    char text[ADVICE_MOST])
{
    bool cut =
        model_over_parts(model) &&
        !model->local; /* of a model with a kernel of its own in each part, more parts want more inducing inputs */
    int64_t parts = cut ? model_blocks_within(model, p, PART_OVERSIZE, PART_LEAST, bytes) : 0;
    static const double OTHER_BLOCKS = 0.7; /* other models have blocks of other sizes */
    bool inducing = model_has_inducing(model), gaussian = likelihood_is_gaussian(like);
    const model_ops *other = inducing ? model : gaussian ? &model_sod : &model_svgp;
    if (parts > 0) {
        snprintf(text, ADVICE_MOST, "use --blocks %lld, smaller %s", (long long)parts,
                 model_is_committee(model) ? "experts" : "parts");
        return true;
    }
    int64_t subset = subset_within(other, p, bytes);
    if (subset == 0 && inducing && model_over_parts(model)) /* its blocks are of any size */
        subset = subset_within(other = &model_dtc, p, OTHER_BLOCKS * bytes);
    if (subset > 0) snprintf(text, ADVICE_MOST, "use --model %s --inducing %lld", other->name, (long long)subset);
    return subset > 0;
}

/* enough: bytes that --memory would have to allow. */
static void advise(const fit_task *f, const model_ops *model, const problem *p, double within, double enough,
                   char text[ADVICE_MOST])
{
    char memory[FIT_MEMORY_TEXT];
    bool limited = settings_given(f->s, SET_MEMORY),
         found = !p->on_disk && smaller(model, &f->choice.like, p, within, text);
    fit_memory_text(enough, memory);
    size_t at = found ? strlen(text) : 0;
    if (limited)
        snprintf(text + at, ADVICE_MOST - at, "%s --memory %s", found ? ", or" : "use", memory);
    else if (!found)
        snprintf(text, ADVICE_MOST, "use fewer rows, or a machine with more memory");
    at = strlen(text);
    if (p->on_disk) snprintf(text + at, ADVICE_MOST - at, ", or smaller samples: --batch, and batch in --model");
}

static const char *who_allows(const settings *s)
{
    return settings_given(s, SET_MEMORY) ? "--memory allows" : "the machine has";
}

anygp_status fit_check_memory(const fit_task *f, const model_ops *model, problem *p, double share, anygp_error *e)
{
    double all = model_bytes(model, p), have = settings_memory(f->s), within = (1 - share) * have;
    char advice[ADVICE_MOST];
    if (all <= within) return ANYGP_OK;
    p->on_disk = true;
    double need = model_bytes(model, p), state = all - need;
    p->on_disk = state > 0;
    if (p->on_disk && need <= within) {
        settings_log(f->s, ANYGP_NOTE, "the state of %s, %.3g GB, is on disk, in scratch files in %.200s: %s %.3g GB",
                     model->name, state / 1e9, temporary_directory(), who_allows(f->s), have / 1e9);
        return ANYGP_OK;
    }
    if (model_has_neighbours(model)) p->on_disk = false; /* samples of steps are no way out for these */
    advise(f, model, p, within, need / (1 - share), advice);
    return fail_with(e, ANYGP_ERR_MEMORY, "the %s model of %.15g rows needs %.3g GB%s and %s %.3g GB; %s", model->name,
                     model_over_blocks(model) ? p->blocks->total : (double)p->rows->n, need / (1 - share) / 1e9,
                     p->on_disk ? " besides what can be on disk" : "", who_allows(f->s), have / 1e9, advice);
}
