/* The result of a comparison in sentences. */
#include "base/quantity.h"
#include "gp/compare.h"

static const double COMPARE_NEAR = 0.01, COMPARE_FASTER = 0.5; /* nats per row; share of the time */

void compare_say_rows(FILE *f, const gp_compare *c)
{
    const char *what = c->kernels ? "kernel" : "model";
    char limit[32];
    quantity_seconds(c->limit, limit, sizeof limit);
    if (c->folds > 0)
        fprintf(f, "%lld rows, each scored once by cross-validation with %lld folds", (long long)c->held,
                (long long)c->folds);
    else if (c->held > 0)
        fprintf(f, "fitted to %lld rows, scored on %lld others", (long long)c->fitted, (long long)c->held);
    else
        fprintf(f, "fitted to %lld rows, scored on the test file", (long long)c->fitted);
    fprintf(f, "; up to %s for each %s", limit, what);
}

int64_t compare_last_taken(const gp_compare *c)
{
    int64_t last = -1;
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].taken) last = i;
    return last;
}

void compare_say_path(FILE *f, const gp_compare *c)
{
    bool first = true;
    for (int64_t i = 0; i < c->count; i++)
        if (c->line[i].taken) fprintf(f, "%s%s", first ? "" : " -> ", c->line[i].name), first = false;
}

/* The fastest model whose score is so near the best one's that other rows could put it first. */
static const compare_line *nearly_as_good(const gp_compare *c)
{
    const compare_line *best = &c->line[c->best_line], *found = NULL;
    for (int64_t i = 0; i < c->count; i++) {
        const compare_line *l = &c->line[i];
        if (l->parts == 0 || l->baseline || !(l->mnlp - best->mnlp < COMPARE_NEAR)) continue;
        if (l->seconds < COMPARE_FASTER * best->seconds && (!found || l->seconds < found->seconds)) found = l;
    }
    return found;
}

void compare_say_advice(FILE *f, const gp_compare *c)
{
    int64_t i = c->kernels ? compare_last_taken(c) : c->best_line;
    if (i < 0) return;
    const compare_line *b = &c->line[i], *near = c->kernels || b->baseline ? NULL : nearly_as_good(c);
    if (!c->kernels) fprintf(f, "best: %s; ", b->name);
    if (near) {
        char seconds[32];
        quantity_seconds(near->seconds, seconds, sizeof seconds);
        fprintf(f, "%s is within %g nats of it in %s; ", near->name, COMPARE_NEAR, seconds);
    }
    if (b->baseline)
        fprintf(f, "no model does better than this, so check the target and the inputs by anygp look");
    else if (*b->kernel)
        fprintf(f, "to fit it to all rows: anygp fit DATA -o MODEL --model %s --kernel '%s'", b->model, b->kernel);
    else
        fprintf(f, "to fit %s to all rows: anygp fit DATA -o MODEL --model %s", near ? "one" : "it",
                near ? "NAME" : b->model);
    if (!b->baseline && !near && b->inducing > 0) fprintf(f, " --inducing %lld", (long long)b->inducing);
    if (!b->baseline && c->options) fprintf(f, ", with the other options as here");
}
