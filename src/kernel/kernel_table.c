/* The list of kernels: a new one is a file, its name here and in kind.h, and a paragraph in docs/kernels.md. */
#include <string.h>

#include "kernel/kind.h"

static const kernel_kind *const kinds[] = {
    &kind_rbf,       &kind_matern12,   &kind_matern32,  &kind_matern52, &kind_rq,     &kind_wendland0,
    &kind_wendland1, &kind_wendland2,  &kind_wendland3, &kind_periodic, &kind_cosine, &kind_sm,
    &kind_linear,    &kind_polynomial, &kind_arccosine, &kind_constant, &kind_white,  &kind_categorical,
};

int64_t kernel_kinds(void) { return sizeof kinds / sizeof *kinds; }
const char *kernel_kind_name(int64_t i) { return kinds[i]->name; }
const kernel_kind *kind_at(int64_t i) { return kinds[i]; }

const kernel_kind *kind_find(const char *name, int64_t length)
{
    for (int64_t i = 0; i < kernel_kinds(); i++)
        if ((int64_t)strlen(kinds[i]->name) == length && !memcmp(kinds[i]->name, name, (size_t)length)) return kinds[i];
    return NULL;
}
