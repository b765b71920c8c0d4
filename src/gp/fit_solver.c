/* How the exact model is solved: by a factor of all rows, or by iteration where that fits neither the time nor the memory. */
#include <math.h>
#include <string.h>

#include "gp/fit.h"

enum {
    CHOLESKY_ROWS = 10000
}; /* above, learning by a factor of all rows takes more than a quarter of an hour on a small machine */
static const double CUBES = 5e10, EVALUATIONS = 30; /* n^3 per second, and of a run, for which there has to be time */

bool fit_factor_suits(double n, double needed, double memory, double seconds)
{
    return needed <= memory && n <= CHOLESKY_ROWS && EVALUATIONS * n * n * n / CUBES <= seconds;
}

static bool factor_fits(const fit_task *f, const problem *p)
{
    return fit_factor_suits((double)p->rows->n, model_bytes(&model_exact, p), settings_memory(f->s), f->limit);
}

static anygp_status check_factor(const fit_task *f, const problem *p, anygp_error *e)
{
    double need = model_bytes(&model_exact, p), have = settings_memory(f->s);
    if (!p->solver.keep_factor || need <= have) return ANYGP_OK;
    return fail_with(
        e, ANYGP_ERR_MEMORY,
        "keep-factor: the factor of %lld rows needs %.3g GB and there are %.3g GB; leave it out, and variances "
        "come from the nearest rows",
        (long long)p->rows->n, need / 1e9, have / 1e9);
}

anygp_status fit_solver(const fit_task *f, const hyper *h, problem *p, const model_ops **model, anygp_error *e)
{
    const settings *s = f->s;
    bool asked = settings_is(s, SET_SOLVER, "cg"), noiseless = !(h->like[0] > 0) && !kernel_has_white(h->kernel);
    p->solver = (solver_choice){.precond = settings_text(s, SET_PRECOND),
                                .tolerance = settings_given(s, SET_TOLERANCE) ? settings_number(s, SET_TOLERANCE) : 0,
                                .keep_factor = settings_number(s, SET_KEEP_FACTOR) == 1};
    if (!strcmp(p->solver.precond, "auto")) p->solver.precond = NULL;
    bool iterates = (*model)->needs.iterative;
    if (!iterates && !(*model)->iterative) return ANYGP_OK;
    if (!iterates) iterates = asked || (settings_is(s, SET_SOLVER, "auto") && !noiseless && !factor_fits(f, p));
    if (!iterates) return ANYGP_OK;
    if (noiseless)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "noise 0 is fixed, but conjugate gradients end by a bound that needs some; give a positive "
                         "--noise, or --solver cholesky");
    if ((*model)->iterative) *model = (*model)->iterative;
    return check_factor(f, p, e);
}
