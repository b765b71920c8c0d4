/* Recipes of posteriors without parts or neighbours, the steps that all share, and the table of all kinds.  A kind is recognised by the
   function that loads it, which is that of all models of its family: a new one is a line of the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "export/recipe.h"
#include "model/decoupled/svdgp_posterior.h"
#include "model/deep/deep_posterior.h"
#include "model/exact/exact.h"
#include "model/local/experts.h"
#include "model/local/lagp_posterior.h"
#include "model/local/patchwork.h"
#include "model/local/tree.h"
#include "model/local/vecchia.h"
#include "model/local/vnngp.h"
#include "model/mixture/moe_posterior.h"
#include "model/sparse/sparse_posterior.h"
#include "model/variational/svgp_posterior.h"
#include "model/weights/qsgp.h"
#include "model/weights/rvm.h"

typedef struct exporter {
    anygp_status (*load)(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                         int64_t count, posterior **out, anygp_error *e);
    bool (*write)(const posterior *p, recipe *r);
} exporter;

/* ------------------------------------------------------------------------------------ what they share */

void basis_step(recipe *r, place to, const basis *mean, double factor)
{
    if (mean->p) recipe_add(r, (recipe_step){.op = STEP_BASIS, .to = to, .n = mean->p, .factor = factor});
}

void mean_step(recipe *r, place v, int64_t n, place array, double factor, int64_t slot)
{
    recipe_add(r, (recipe_step){.op = STEP_MEAN, .from = v, .n = n, .array = array, .factor = factor, .slot = slot});
}

void square_step(recipe *r, place v, int64_t n, double factor, int64_t slot)
{
    recipe_add(r, (recipe_step){.op = STEP_SQUARE, .from = v, .n = n, .factor = factor, .slot = slot});
}

void triangle_step(recipe *r, step_op op, place v, int64_t n, place triangle)
{
    recipe_add(r, (recipe_step){.op = op, .to = v, .n = n, .array = triangle});
}

void product_step(recipe *r, step_op op, place v, int64_t n, place matrix, place u, int64_t u_n)
{
    recipe_add(r, (recipe_step){.op = op, .to = v, .n = n, .array = matrix, .from = u, .from_n = u_n});
}

void copy_step(recipe *r, place v, int64_t n, place from)
{
    recipe_add(r, (recipe_step){.op = STEP_COPY, .to = v, .n = n, .from = from});
}

void slot_step(recipe *r, step_op op, int64_t slot, int64_t of, double factor)
{
    recipe_add(r, (recipe_step){.op = op, .slot = slot, .of = of, .factor = factor});
}

void rows_step(recipe *r, place v, int64_t n, place rows)
{
    recipe_add(r, (recipe_step){.op = STEP_KERNEL, .to = v, .n = n, .array = rows});
}

void cross_step(recipe *r, const inducing_set *u, const char *name, place v, int64_t rows)
{
    int64_t all = u->D * u->set.M;
    recipe_step s = {.to = v, .n = u->M, .rows = rows};
    char widths[48];
    if (u->ops == &inducing_fourier) {
        s.op = STEP_WAVES;
        s.array = recipe_add_array(r, name, all, u->waves.W);
        s.other = recipe_add_array(r, "amplitude", u->set.M, u->waves.amplitude);
    } else {
        s.op = u->ops == &inducing_left ? STEP_LEFT : u->set.C ? STEP_SCALED : STEP_KERNEL;
        s.array = recipe_add_array(r, name, all, u->set.Z);
        snprintf(widths, sizeof widths, "%s_widths", name);
        if (u->set.C) s.other = recipe_add_array(r, widths, all, u->set.C);
    }
    recipe_add(r, s);
}

void feature_steps(recipe *r, const inducing_set *u, place v, int64_t rows)
{
    cross_step(r, u, "Z", v, rows);
    if (!u->L) return;
    place L = recipe_add_lower(r, "L", u->M, u->L, u->M);
    recipe_add(r, (recipe_step){.op = STEP_SOLVE, .to = v, .n = u->M, .array = L, .rows = rows});
}

/* variance[0] = max(k(x,x) - |a|^2, 0); waves leave nothing. */
static void residual_steps(recipe *r, const inducing_set *u, place a)
{
    if (u->ops == &inducing_fourier) return;
    slot_step(r, STEP_PRIOR, 0, 0, 0);
    square_step(r, a, u->M, -1, 0);
    slot_step(r, STEP_FLOOR, 0, 0, 0);
}

void route_step(recipe *r, const router *route, int64_t count, const double *part_of)
{
    recipe_step s = {.op = STEP_ROUTE};
    const double *tree = router_values(route, &s.n, &s.from_n);
    s.array = recipe_add_array(r, "router", s.n * s.from_n, tree);
    if (part_of) s.other = recipe_add_array(r, "groups", count, part_of);
    recipe_add(r, s);
}

/* The array of a posterior's file with this name; the list is the caller's. */
static const double *file_array(const array_list *list, const char *name)
{
    const named_array *a = named_array_find(list->at, list->count, name);
    return a ? a->values : NULL;
}

/* ---------------------------------------------------------------------------------- exact, sod, rvm */

static bool exact_recipe(const posterior *q, recipe *r)
{
    int64_t n = q->n, D = q->D, p = q->mean.p;
    array_list list = {0};
    q->ops->arrays((posterior *)q, &list);
    if (list.failed) return array_list_clear(&list), r->failed = true;
    if (!file_array(&list, "L")) {
        r->refusal = "its rows have no factor, since it was solved by iteration; fit it with --solver cholesky or "
                     "--keep-factor";
        return array_list_clear(&list), false;
    }
    rows_step(r, in_vector(VA, 0), n, recipe_add_array(r, "X", n * D, file_array(&list, "X")));
    mean_step(r, in_vector(VA, 0), n, recipe_add_array(r, "alpha", n, file_array(&list, "alpha")), 1, 0);
    basis_step(r, in_vector(VA, n), &q->mean, 1);
    if (p) mean_step(r, in_vector(VA, n), p, recipe_add_array(r, "beta", p, file_array(&list, "beta")), 1, 0);
    triangle_step(r, STEP_SOLVE, in_vector(VA, 0), n, recipe_add_lower(r, "L", n, file_array(&list, "L"), n));
    slot_step(r, STEP_PRIOR, 0, 0, 0);
    square_step(r, in_vector(VA, 0), n, -1, 0);
    slot_step(r, STEP_FLOOR, 0, 0, 0);
    if (p) {
        place V = recipe_add_array(r, "V", n * p, file_array(&list, "V"));
        product_step(r, STEP_TAKE, in_vector(VA, n), p, V, in_vector(VA, 0), n);
        triangle_step(r, STEP_SOLVE, in_vector(VA, n), p, recipe_add_lower(r, "R", p, file_array(&list, "R"), p));
        square_step(r, in_vector(VA, n), p, 1, 0);
    }
    array_list_clear(&list);
    return true;
}

static bool rvm_recipe(const posterior *q, recipe *r)
{
    int64_t M = q->n, D = q->D;
    array_list list = {0};
    q->ops->arrays((posterior *)q, &list);
    const double *X = file_array(&list, "X"), *m = file_array(&list, "m"), *F = file_array(&list, "F");
    if (list.failed) r->failed = true;
    if (X && m && F) { /* else there is no vector, and mean and variance are 0 */
        rows_step(r, in_vector(VA, 0), M, recipe_add_array(r, "X", M * D, X));
        mean_step(r, in_vector(VA, 0), M, recipe_add_array(r, "m", M, m), 1, 0);
        triangle_step(r, STEP_SOLVE, in_vector(VA, 0), M, recipe_add_lower(r, "F", M, F, M));
        square_step(r, in_vector(VA, 0), M, 1, 0);
    }
    array_list_clear(&list);
    return true;
}

/* ------------------------------------------------------------------------ the sparse, the variational */

bool sparse_recipe(const posterior *p, recipe *r)
{
    const sparse_posterior *q = (const sparse_posterior *)p;
    int64_t M = q->u.M;
    if (q->test == TEST_BLOCK) return pic_recipe(p, r);
    feature_steps(r, &q->u, in_vector(VA, 0), 0);
    basis_step(r, in_vector(VA, M), &p->mean, sqrt(p->mean.B));
    mean_step(r, in_vector(VA, 0), q->Mt, recipe_add_array(r, "m", q->Mt, q->m), 1, 0);
    if (q->test != TEST_NOTHING) residual_steps(r, &q->u, in_vector(VA, 0));
    triangle_step(r, STEP_SOLVE, in_vector(VA, 0), q->Mt, recipe_add_lower(r, "B", q->Mt, q->B, q->Mt));
    square_step(r, in_vector(VA, 0), q->Mt, 1, 0);
    return true;
}

static void mean_of_latents(const svgp_posterior *q, recipe *r)
{
    char name[48];
    for (int64_t c = 0; c < q->base.latents; c++) {
        snprintf(name, sizeof name, "m%lld", (long long)c + 1);
        mean_step(r, in_vector(VA, 0), q->Mt, recipe_add_array(r, name, q->Mt, q->m + c * q->Mt), 1, c);
    }
    if (q->O == 0) return;
    cross_step(r, &q->o, "O", in_vector(VB, 0), 0);
    for (int64_t c = 0; c < q->base.latents; c++) {
        snprintf(name, sizeof name, "a%lld", (long long)c + 1);
        mean_step(r, in_vector(VB, 0), q->O, recipe_add_array(r, name, q->O, q->a + c * q->O), 1, c);
    }
}

bool svgp_recipe(const posterior *base, recipe *r)
{
    const svgp_posterior *q = (const svgp_posterior *)base;
    int64_t p = base->mean.p, C = base->latents;
    char name[48];
    feature_steps(r, &q->u, in_vector(VA, p), 0);
    basis_step(r, in_vector(VA, 0), &base->mean, sqrt(base->mean.B));
    mean_of_latents(q, r);
    residual_steps(r, &q->u, in_vector(VA, p));
    for (int64_t c = 1; c < C; c++) slot_step(r, STEP_SAME, c, 0, 0);
    for (int64_t c = 0; c < C; c++) {
        copy_step(r, in_vector(VB, 0), q->Mt, in_vector(VA, 0));
        for (int64_t k = 0; k < q->K; k++) {
            int64_t M = q->set[k + 1] - q->set[k];
            snprintf(name, sizeof name, "F%lld_%lld", (long long)c + 1, (long long)k + 1);
            place factor = recipe_add_lower(r, name, M, q->F[k] + c * M * M, M);
            triangle_step(r, q->by_covariance ? STEP_ROOT : STEP_SOLVE, in_vector(VB, q->set[k]), M, factor);
        }
        square_step(r, in_vector(VB, 0), q->Mt, 1, c);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ decoupled */

static void bases_step(recipe *r, function_set s, int64_t D, const char *name, place v)
{
    char widths[48];
    recipe_step t = {.op = s.C ? STEP_SCALED : STEP_KERNEL, .to = v, .n = s.M};
    snprintf(widths, sizeof widths, "%s_widths", name);
    t.array = recipe_add_array(r, name, s.M * D, s.Z);
    if (s.C) t.other = recipe_add_array(r, widths, s.M * D, s.C);
    if (s.M) recipe_add(r, t);
}

/* 001, eq. 8: mean k_a a + h'trend, variance k - |W k_b|^2 over (sqrt(B) h, k_b), the former with prior 1. */
static bool svdgp_recipe(const posterior *base, recipe *r)
{
    const svdgp *s = &((const svdgp_posterior *)base)->s;
    int64_t Ma = svdgp_Ma(s), p = s->p, Mt = s->Mt;
    char name[48];
    bases_step(r, svdgp_alpha(s), s->D, "alpha", in_vector(VA, 0));
    basis_step(r, in_vector(VB, 0), &base->mean, sqrt(base->mean.B));
    place a = recipe_add_turned(r, "weights", s->C, Ma, s->coefficient);
    place trend = p ? recipe_add_turned(r, "trend", s->C, p, s->trend.values) : (place){0};
    for (int64_t c = 0; c < s->C; c++) {
        if (Ma) mean_step(r, in_vector(VA, 0), Ma, in_array(a, c * Ma), 1, c);
        if (p) mean_step(r, in_vector(VB, 0), p, in_array(trend, c * p), 1, c);
    }
    bases_step(r, svdgp_beta(s), s->D, "beta", in_vector(VB, p));
    for (int64_t c = 0; c < s->C; c++) {
        slot_step(r, STEP_PRIOR, c, 0, 0);
        if (p) square_step(r, in_vector(VB, 0), p, 1, c);
        if (Mt == 0) continue;
        snprintf(name, sizeof name, "W%lld", (long long)c + 1);
        product_step(r, STEP_TIMES, in_vector(VC, 0), Mt, recipe_add_turned(r, name, Mt, Mt, s->W[c]), in_vector(VB, 0),
                     Mt);
        square_step(r, in_vector(VC, 0), Mt, -1, c);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- weights */

/* Frequencies and amplitudes of the waves, and the place of each basis function among all cosines and then all sines. */
static bool find_waves(const qsgp_basis *b, const posterior *p, double *W, double *amplitude, int64_t *at)
{
    const cells *c = &b->cells;
    int64_t waves = 0, half = c->m / 2, D = c->D;
    cells_hand h = {0};
    bool ok = !ANYGP_FAILED(cells_hand_open(&h, c, p->kernel, NULL));
    for (int64_t cell = 0; ok && cell < c->count; cell++) {
        int64_t size = cell_size(c, cell), first = cell_first(c, cell);
        ok = !ANYGP_FAILED(cells_hand_take(&h, 1, &cell, NULL)) && cells_waves(&h, 0, W + waves * D, amplitude + waves);
        for (int64_t i = 0; i < size / 2; i++, waves++) at[first + i] = waves, at[first + size / 2 + i] = half + waves;
    }
    cells_hand_clear(&h);
    return ok;
}

static bool waves_step(const qsgp_basis *b, const posterior *p, int64_t *at, recipe *r)
{
    int64_t half = b->cells.m / 2, D = b->cells.D;
    double *W = mem_doubles(half, D), *amplitude = mem_doubles(half, 1);
    if (!W || !amplitude || !find_waves(b, p, W, amplitude, at)) return free(W), free(amplitude), false;
    recipe_step s = {.op = STEP_WAVES, .to = in_vector(VA, 0), .n = b->cells.m};
    s.array = recipe_take_array(r, "W", half * D, W);
    s.other = recipe_take_array(r, "amplitude", half, amplitude);
    recipe_add(r, s);
    return true;
}

/* Column `col` of values[m, cols] in the order of the features, its root where that is asked for. */
static place weights_of(recipe *r, const char *name, int64_t number, int64_t m, const int64_t *at, const double *values,
                        int64_t cols, int64_t col, bool root)
{
    char numbered[48];
    double *x = mem_doubles(m, 1);
    snprintf(numbered, sizeof numbered, "%s%lld", name, (long long)number);
    for (int64_t j = 0; x && j < m; j++) x[at[j]] = root ? sqrt(values[j * cols + col]) : values[j * cols + col];
    return recipe_take_array(r, numbered, m, x);
}

static bool qsgp_recipe(const posterior *p, recipe *r)
{
    qsgp_basis b = qsgp_posterior_basis(p);
    int64_t m = b.cells.m, C = p->latents, *at = mem_alloc(m, sizeof *at), V = C * (1 + b.K);
    place a = in_vector(VA, 0);
    bool ok = at != NULL;
    for (int64_t j = 0; ok && j < m; j++) at[j] = j;
    if (ok && cells_are_waves(b.cells.kind))
        ok = waves_step(&b, p, at, r);
    else if (ok)
        rows_step(r, a, m, recipe_add_array(r, "Z", m * p->D, b.cells.Z));
    for (int64_t c = 0; ok && c < C; c++)
        mean_step(r, a, m, weights_of(r, "m", c + 1, m, at, b.v, V, c * (1 + b.K), false), 1, c);
    for (int64_t c = 0; ok && c < C; c++) {
        for (int64_t k = 1; k <= b.K; k++) {
            place dense = weights_of(r, "c", c * b.K + k, m, at, b.v, V, c * (1 + b.K) + k, false);
            product_step(r, STEP_TIMES, in_vector(VB, 0), 1, dense, a, m);
            square_step(r, in_vector(VB, 0), 1, 1, c);
        }
        copy_step(r, in_vector(VC, 0), m, a);
        triangle_step(r, STEP_WEIGH, in_vector(VC, 0), m, weights_of(r, "d", c + 1, m, at, b.d, C, c, true));
        square_step(r, in_vector(VC, 0), m, 1, c);
        if (b.augmented)
            recipe_add(
                r, (recipe_step){
                       .op = STEP_AUGMENT, .from = a, .n = m, .slot = c, .factor = p->noise + kernel_white(p->kernel)});
    }
    free(at);
    if (!ok) r->failed = true;
    return ok;
}

/* ------------------------------------------------------------------------------------------ the table */

static const exporter exporters[] = {
    {exact_load, exact_recipe},     {sparse_load, sparse_recipe},   {svgp_load, svgp_recipe},
    {rvm_load, rvm_recipe},         {svdgp_load, svdgp_recipe},     {qsgp_load, qsgp_recipe},
    {experts_load, experts_recipe}, {patch_load, patchwork_recipe}, {tree_load, tree_recipe},
    {vecchia_load, vecchia_recipe}, {vnngp_load, vnngp_recipe},     {lagp_load, lagp_recipe},
    {deep_load, deep_recipe},       {moe_load, moe_recipe}};
enum { EXPORTERS = sizeof exporters / sizeof *exporters };

static const exporter *exporter_of(const model_ops *m)
{
    for (int i = 0; i < EXPORTERS; i++)
        if (exporters[i].load == m->load) return &exporters[i];
    return NULL;
}

/* For the list in a sentence. */
static bool is_exported(const model_ops *m) { return exporter_of(m) != NULL; }

static anygp_status refuse(const gp *g, anygp_error *e)
{
    char *list = model_names(is_exported, " and ");
    fail_with(e, ANYGP_ERR_ARGUMENT, "a model of the kind %s cannot be exported; those that can are %s", g->name,
              name_list_or(list));
    free(list);
    return ANYGP_ERR_ARGUMENT;
}

anygp_status recipe_of(const gp *g, recipe *r, anygp_error *e)
{
    const exporter *x = exporter_of(g->model);
    *r = (recipe){.g = g, .latents = gp_latents(g), .components = gp_components(g), .at = {.part = -1}};
    if (g->schema.sphere.on)
        return fail_with(
            e, ANYGP_ERR_ARGUMENT,
            "a model with --sphere cannot be exported; put the three coordinates of the places into the data "
            "(docs/maps.md), and fit without --sphere");
    if (!x) return refuse(g, e);
    if (g->local)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "a model with --calibrate local cannot be exported, since its variances need the rows that it "
                         "was calibrated by; fit with --calibrate loo or none");
    TRY(posterior_ready(g->posterior, e));
    recipe_add_kernel(r, g->posterior->kernel, g->posterior->D);
    r->slots = r->latents * r->components;
    bool ok = x->write(g->posterior, r);
    if (ok && !r->failed) recipe_mark_late(r);
    if (ok && !r->failed) return ANYGP_OK;
    const char *why = r->failed ? NULL : r->refusal;
    recipe_clear(r);
    if (why) return fail_with(e, ANYGP_ERR_ARGUMENT, "%s cannot be exported: %s", g->name, why);
    return fail_memory(e, "the exported model", 0);
}
