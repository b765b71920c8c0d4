/* The kernels and likelihoods as texts, from their tables. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/name_list.h"
#include "gp/gp.h"
#include "kernel/kernel.h"

enum { LISTED_MOST = 64 };
static char *kernel_options[LISTED_MOST], *likelihood_options[LISTED_MOST]; /* made once, kept until the process ends */

static const char *kernel_option(int64_t k, const void *ctx) { return kernel_kind_option(*(const int64_t *)ctx, k); }

static const char *likelihood_option_name(int64_t k, const void *ctx)
{
    return ((const likelihood_ops *)ctx)->options[k].param.name;
}

static void make_lists(void)
{
    for (int64_t i = 0; i < kernel_kinds() && i < LISTED_MOST; i++) {
        int64_t count = 0;
        while (kernel_kind_option(i, count)) count++;
        kernel_options[i] = name_list(count, kernel_option, &i, ", ");
    }
    for (int64_t i = 0; i < likelihood_count() && i < LISTED_MOST; i++)
        likelihood_options[i] = name_list(likelihood_at(i)->n_options, likelihood_option_name, likelihood_at(i), ", ");
}

static const char *listed(char *const *of, int64_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_lists);
    return i < LISTED_MOST ? name_list_or(of[i]) : "...";
}

int64_t anygp_kernel_count(void) { return kernel_kinds(); }

const char *anygp_kernel_field(int64_t i, const char *field)
{
    if (i < 0 || i >= kernel_kinds() || !field) return NULL;
    return !strcmp(field, "name")      ? kernel_kind_name(i)
           : !strcmp(field, "summary") ? kernel_kind_summary(i)
           : !strcmp(field, "options") ? listed(kernel_options, i)
                                       : NULL;
}

int64_t anygp_likelihood_count(void) { return likelihood_count(); }

const char *anygp_likelihood_field(int64_t i, const char *field)
{
    static const char *const targets[] = {"number", "count", "class"};
    if (i < 0 || i >= likelihood_count() || !field) return NULL;
    const likelihood_ops *l = likelihood_at(i);
    return !strcmp(field, "name")       ? l->name
           : !strcmp(field, "summary")  ? l->summary
           : !strcmp(field, "target")   ? targets[l->target]
           : !strcmp(field, "exposure") ? (l->exposure ? "yes" : "no")
           : !strcmp(field, "options")  ? listed(likelihood_options, i)
                                        : NULL;
}
