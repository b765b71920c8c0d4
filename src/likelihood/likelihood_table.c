/* The list of likelihoods: a new one is a file, its name here and in parts.h, and a section in docs/likelihoods.md. */
#include <string.h>

#include "likelihood/parts.h"

static const likelihood_ops *const table[] = {
    &likelihood_gaussian, &likelihood_laplace,   &likelihood_studentt, &likelihood_heteroscedastic, &likelihood_poisson,
    &likelihood_negbin,   &likelihood_bernoulli, &likelihood_softmax,  &likelihood_robustmax,       &likelihood_ordinal,
};

int64_t likelihood_count(void) { return sizeof table / sizeof *table; }
const likelihood_ops *likelihood_at(int64_t i) { return table[i]; }

const likelihood_ops *likelihood_find(const char *name)
{
    for (int64_t i = 0; i < likelihood_count(); i++)
        if (!strcmp(table[i]->name, name)) return table[i];
    return NULL;
}
