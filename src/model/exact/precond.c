/* The table of preconditioners, and the one that is none. */
#include "model/exact/precond.h"

#include <math.h>
#include <string.h>

static anygp_status make_none(const problem *p, const precond_plan *plan, kernel *k, const double *added,
                              la_operator **out, double *least, anygp_error *e)
{
    (void)plan, (void)k, (void)e;
    double smallest = INFINITY;
    for (int64_t i = 0; i < p->rows->n; i++) smallest = fmin(smallest, added[i]);
    *out = NULL, *least = smallest;
    return ANYGP_OK;
}

const precond_ops precond_none = {.name = "none", .summary = "no preconditioner", .make = make_none};

static const precond_ops *const list[] = {&precond_none,    &precond_jacobi,        &precond_pivoted,   &precond_fitc,
                                          &precond_vecchia, &precond_pivoted_small, &precond_fitc_small};

int64_t precond_count(void) { return sizeof list / sizeof *list; }
const precond_ops *precond_at(int64_t i) { return list[i]; }

const precond_ops *precond_find(const char *name)
{
    for (int64_t i = 0; i < precond_count(); i++)
        if (!strcmp(list[i]->name, name)) return list[i];
    return NULL;
}
