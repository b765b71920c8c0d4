/* Recipes of the kinds of posteriors.  A kind is recognised by the function that loads it, which is that of all models of its family:
   a new one is a line of the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/name_list.h"
#include "export/recipe.h"
#include "model/exact/exact.h"
#include "model/sparse/sparse_posterior.h"
#include "model/variational/svgp_posterior.h"
#include "model/weights/rvm.h"

enum { A, B }; /* vectors */

typedef struct exporter {
    anygp_status (*load)(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                         int64_t count, posterior **out, anygp_error *e);
    /* False: not this one of the family. */
    bool (*write)(const gp *g, recipe *r);
} exporter;

/* ------------------------------------------------------------------------------------ what they share */

static void basis_step(recipe *r, int64_t at, double factor)
{
    int64_t p = r->g->posterior->mean.p;
    if (p) recipe_add(r, (recipe_step){.op = STEP_BASIS, .vector = A, .at = at, .n = p, .factor = factor});
}

static void mean_step(recipe *r, int vector, int64_t at, int64_t n, int array, int64_t latent)
{
    recipe_add(r, (recipe_step){.op = STEP_MEAN, .vector = vector, .at = at, .n = n, .array = array, .latent = latent});
}

static void square_step(recipe *r, int vector, int64_t at, int64_t n, double factor, int64_t latent)
{
    recipe_add(
        r, (recipe_step){.op = STEP_SQUARE, .vector = vector, .at = at, .n = n, .factor = factor, .latent = latent});
}

static void solve_step(recipe *r, step_op op, int vector, int64_t at, int64_t n, int array)
{
    recipe_add(r, (recipe_step){.op = op, .vector = vector, .at = at, .n = n, .array = array});
}

static void variance_step(recipe *r, step_op op, int64_t latent)
{
    recipe_add(r, (recipe_step){.op = op, .latent = latent});
}

static void copy_step(recipe *r, int64_t n)
{
    recipe_add(r, (recipe_step){.op = STEP_COPY, .vector = B, .from = A, .n = n});
}

/* Covariances with the variables u at place `at` of a vector. */
static void cross_step(recipe *r, const inducing_set *u, const char *name, int vector, int64_t at)
{
    int64_t D = u->D, places = u->set.M;
    recipe_step s = {.vector = vector, .at = at, .n = u->M, .other = -1};
    char widths[24];
    if (u->ops == &inducing_fourier) {
        s.op = STEP_WAVES;
        s.array = recipe_add_array(r, name, places * D, D, u->waves.W);
        s.other = recipe_add_array(r, "amplitude", places, 1, u->waves.amplitude);
    } else {
        s.op = u->ops == &inducing_left ? STEP_LEFT : u->set.C ? STEP_SCALED : STEP_KERNEL;
        s.array = recipe_add_array(r, name, places * D, D, u->set.Z);
        snprintf(widths, sizeof widths, "%s_widths", name);
        if (u->set.C) s.other = recipe_add_array(r, widths, places * D, D, u->set.C);
    }
    recipe_add(r, s);
}

/* a = L^-1 k_u. */
static void feature_steps(recipe *r, const inducing_set *u, int64_t at)
{
    cross_step(r, u, "Z", A, at);
    if (u->L) solve_step(r, STEP_SOLVE, A, at, u->M, recipe_add_lower(r, "L", u->M, u->L, u->M));
}

/* variance[0] = max(k(x,x) - |a|^2, 0); waves leave nothing. */
static void residual_steps(recipe *r, const inducing_set *u, int64_t at)
{
    if (u->ops == &inducing_fourier) return;
    variance_step(r, STEP_PRIOR, 0);
    square_step(r, A, at, u->M, -1, 0);
    variance_step(r, STEP_FLOOR, 0);
}

/* ---------------------------------------------------------------------------------------- exact, sod */

static bool exact_recipe(const gp *g, recipe *r)
{
    posterior *q = g->posterior;
    int64_t n = q->n, D = q->D, p = q->mean.p;
    array_list list = {0};
    q->ops->arrays(q, &list);
    const named_array *X = named_array_find(list.at, list.count, "X"),
                      *alpha = named_array_find(list.at, list.count, "alpha"),
                      *L = named_array_find(list.at, list.count, "L"), *V = named_array_find(list.at, list.count, "V"),
                      *R = named_array_find(list.at, list.count, "R"),
                      *beta = named_array_find(list.at, list.count, "beta");
    if (list.failed) return array_list_clear(&list), r->failed = true;
    recipe_add(r, (recipe_step){.op = STEP_KERNEL, .n = n, .array = recipe_add_array(r, "X", n * D, D, X->values)});
    mean_step(r, A, 0, n, recipe_add_array(r, "alpha", n, 1, alpha->values), 0);
    basis_step(r, n, 1);
    if (p) mean_step(r, A, n, p, recipe_add_array(r, "beta", p, 1, beta->values), 0);
    solve_step(r, STEP_SOLVE, A, 0, n, recipe_add_lower(r, "L", n, L->values, n));
    variance_step(r, STEP_PRIOR, 0);
    square_step(r, A, 0, n, -1, 0);
    variance_step(r, STEP_FLOOR, 0);
    if (p) {
        int array = recipe_add_array(r, "V", n * p, n, V->values);
        recipe_add(
            r,
            (recipe_step){
                .op = STEP_TAKE, .vector = A, .at = n, .n = p, .array = array, .from = A, .from_at = 0, .from_n = n});
        solve_step(r, STEP_SOLVE, A, n, p, recipe_add_lower(r, "R", p, R->values, p));
        square_step(r, A, n, p, 1, 0);
    }
    array_list_clear(&list);
    return true;
}

/* ----------------------------------------------------------------------------------------------- rvm */

static bool rvm_recipe(const gp *g, recipe *r)
{
    posterior *q = g->posterior;
    int64_t M = q->n, D = q->D;
    array_list list = {0};
    q->ops->arrays(q, &list);
    const named_array *X = named_array_find(list.at, list.count, "X"), *m = named_array_find(list.at, list.count, "m"),
                      *F = named_array_find(list.at, list.count, "F");
    if (list.failed) r->failed = true;
    if (X && m && F) { /* else there is no vector, and mean and variance are 0 */
        recipe_add(r, (recipe_step){.op = STEP_KERNEL, .n = M, .array = recipe_add_array(r, "X", M * D, D, X->values)});
        mean_step(r, A, 0, M, recipe_add_array(r, "m", M, 1, m->values), 0);
        solve_step(r, STEP_SOLVE, A, 0, M, recipe_add_lower(r, "F", M, F->values, M));
        square_step(r, A, 0, M, 1, 0);
    }
    array_list_clear(&list);
    return true;
}

/* ---------------------------------------------------------------------------------------- the sparse */

static bool sparse_recipe(const gp *g, recipe *r)
{
    const sparse_posterior *q = (const sparse_posterior *)g->posterior;
    int64_t M = q->u.M;
    if (q->test == TEST_BLOCK) return false;
    feature_steps(r, &q->u, 0);
    basis_step(r, M, sqrt(q->base.mean.B));
    mean_step(r, A, 0, q->Mt, recipe_add_array(r, "m", q->Mt, 1, q->m), 0);
    if (q->test != TEST_NOTHING) residual_steps(r, &q->u, 0);
    solve_step(r, STEP_SOLVE, A, 0, q->Mt, recipe_add_lower(r, "B", q->Mt, q->B, q->Mt));
    square_step(r, A, 0, q->Mt, 1, 0);
    return true;
}

/* ----------------------------------------------------------------------------------- the variational */

static void mean_of_latents(const svgp_posterior *q, recipe *r)
{
    char name[24];
    for (int64_t c = 0; c < q->base.latents; c++) {
        snprintf(name, sizeof name, "m%lld", (long long)c + 1);
        mean_step(r, A, 0, q->Mt, recipe_add_array(r, name, q->Mt, 1, q->m + c * q->Mt), c);
    }
    if (q->O == 0) return;
    cross_step(r, &q->o, "O", B, 0);
    for (int64_t c = 0; c < q->base.latents; c++) {
        snprintf(name, sizeof name, "a%lld", (long long)c + 1);
        mean_step(r, B, 0, q->O, recipe_add_array(r, name, q->O, 1, q->a + c * q->O), c);
    }
}

static bool svgp_recipe(const gp *g, recipe *r)
{
    const svgp_posterior *q = (const svgp_posterior *)g->posterior;
    int64_t p = q->base.mean.p, C = q->base.latents;
    char name[48];
    feature_steps(r, &q->u, p);
    basis_step(r, 0, sqrt(q->base.mean.B));
    mean_of_latents(q, r);
    residual_steps(r, &q->u, p);
    for (int64_t c = 1; c < C; c++) variance_step(r, STEP_SAME, c);
    for (int64_t c = 0; c < C; c++) {
        copy_step(r, q->Mt);
        for (int64_t k = 0; k < q->K; k++) {
            int64_t M = q->set[k + 1] - q->set[k];
            snprintf(name, sizeof name, "F%lld_%lld", (long long)c + 1, (long long)k + 1);
            int array = recipe_add_lower(r, name, M, q->F[k] + c * M * M, M);
            solve_step(r, q->by_covariance ? STEP_ROOT : STEP_SOLVE, B, q->set[k], M, array);
        }
        square_step(r, B, 0, q->Mt, 1, c);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ the table */

static const exporter exporters[] = {
    {exact_load, exact_recipe}, {sparse_load, sparse_recipe}, {svgp_load, svgp_recipe}, {rvm_load, rvm_recipe}};
enum { EXPORTERS = sizeof exporters / sizeof *exporters };

static const exporter *exporter_of(const model_ops *m)
{
    for (int i = 0; i < EXPORTERS; i++)
        if (exporters[i].load == m->load) return &exporters[i];
    return NULL;
}

/* For the list in a sentence. */
static bool is_exported(const model_ops *m)
{
    bool by_block = m->load == sparse_load && ((const sparse_kind *)m->family)->test == TEST_BLOCK;
    return exporter_of(m) && !by_block;
}

anygp_status recipe_of(const gp *g, recipe *r, anygp_error *e)
{
    const exporter *x = exporter_of(g->model);
    *r = (recipe){.g = g};
    if (x && x->write(g, r) && !r->failed) return ANYGP_OK;
    bool failed = r->failed;
    recipe_clear(r);
    if (failed) return fail_memory(e, "the exported model", 0);
    char *list = model_names(is_exported, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "a model of the kind %s cannot be exported; those that can are %s", g->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}
