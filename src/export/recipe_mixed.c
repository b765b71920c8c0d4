/* Recipes of mixtures: deep models, a component for each way through the inner layers, and mixtures of experts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "export/recipe.h"
#include "model/deep/deep_posterior.h"
#include "model/mixture/gate_parts.h"
#include "model/mixture/moe_posterior.h"

/* A posterior that is part of another one, from slot `slot` on, with arrays of its own number. */
static bool nested_recipe(const posterior *p, int64_t slot, recipe *r)
{
    int64_t before = r->at.slot;
    r->at.slot = slot;
    bool ok = svgp_recipe(p, r);
    r->at.slot = before;
    return ok;
}

static void number_arrays(recipe *r, const char *text, int64_t i)
{
    snprintf(r->at.suffix, sizeof r->at.suffix, "_%s%lld", text, (long long)i + 1);
}

/* ------------------------------------------------------------------------------------------------ deep */

/* Where the steps of a layer are that was met before, and what they were made with. */
typedef struct layer_steps {
    int64_t first, end, slot, kernel;
} layer_steps;

static bool layer_recipe(const deep_posterior *p, int64_t i, int64_t slot, layer_steps *t, recipe *r)
{
    if (t->end == 0) {
        number_arrays(r, "l", i);
        *t = (layer_steps){.first = r->n_steps, .slot = slot};
        if (i < p->L - 1)
            recipe_add_kernel(r, p->at[i]->kernel, p->base.D);
        else
            r->at.kernel = 0;
        t->kernel = r->at.kernel;
        bool ok = nested_recipe(p->at[i], slot, r);
        t->end = r->n_steps;
        return ok;
    }
    r->at.kernel = t->kernel, r->at.slot = slot - t->slot;
    for (int64_t k = t->first; k < t->end; k++) recipe_add(r, r->steps[k]);
    r->at.slot = 0;
    return true;
}

/* x of the next layer in vector c: component s of what layer i says about `input`. */
static void pass_step(const deep_posterior *p, int64_t i, int64_t s, int64_t slot, place spread, place e, recipe *r)
{
    recipe_add(r, (recipe_step){.op = STEP_PASS,
                                .to = in_vector(VC, 0),
                                .n = p->base.D,
                                .array = spread,
                                .other = in_array(e, (s * (p->L - 1) + i) * p->base.D),
                                .slot = slot,
                                .factor = kernel_white(p->at[i]->kernel)});
}

/* e of component s, layer i, function c at [(s (L-1) + i) D + c]. */
static place ways(const deep_posterior *p, recipe *r)
{
    int64_t D = p->base.D, inner = p->L - 1, S = DEEP_COMPONENTS;
    double *e = mem_doubles(S * inner, D);
    for (int64_t s = 0; e && s < S; s++)
        for (int64_t k = 0; k < inner * D; k++) e[s * inner * D + k] = p->e[k * S + s];
    return recipe_take_array(r, "e", S * inner * D, e);
}

bool deep_recipe(const posterior *base, recipe *r)
{
    if (r->components == 1) return svgp_recipe(base, r); /* without inner layers */
    const deep_posterior *p = (const deep_posterior *)base;
    int64_t D = base->D, C = r->latents, first = r->components * C, inner = first + D;
    layer_steps t[CHAIN_LAYERS_MOST] = {{0}};
    place spread = recipe_add_array(r, "spread", D, p->spread), e = ways(p, r);
    if (!layer_recipe(p, 0, first, &t[0], r)) return false;
    for (int64_t s = 0; s < r->components; s++) {
        pass_step(p, 0, s, first, spread, e, r);
        r->at.input = -1 - VC;
        for (int64_t i = 1; i < p->L - 1; i++) {
            for (int64_t c = 0; c < D; c++) slot_step(r, STEP_CLEAR, inner + c, 0, 0);
            if (!layer_recipe(p, i, inner, &t[i], r)) return false;
            pass_step(p, i, s, inner, spread, e, r);
        }
        if (!layer_recipe(p, p->L - 1, s * C, &t[p->L - 1], r)) return false;
        r->at.input = 0;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------- moe */

/* v = (x - shift) / spread over the columns that the gate sees; centre: in these units, or NULL. */
static void frame_step(const gate *g, const char *name, const double *centre, place v, recipe *r)
{
    double *shift = mem_doubles(g->D, 1), *spread = mem_doubles(g->D, 1);
    char other[48];
    for (int64_t j = 0, at = 0; shift && spread && j < g->D; j++) {
        spread[j] = g->frame[2 * j + 1], shift[j] = g->frame[2 * j];
        if (spread[j] > 0 && centre) shift[j] += spread[j] * centre[at++];
    }
    snprintf(other, sizeof other, "%s_spread", name);
    recipe_step s = {.op = STEP_FRAME, .to = v, .n = g->d};
    s.array = recipe_take_array(r, name, g->D, shift), s.other = recipe_take_array(r, other, g->D, spread);
    recipe_add(r, s);
}

/* theta_k'(1, z, z^2 - 1) */
static void softmax_steps(const gate *g, int64_t slot, recipe *r)
{
    int64_t p = gate_features(g), d = g->d;
    place z = in_vector(VC, 0), squares = in_vector(VD, 0), theta = recipe_add_array(r, "theta", p * g->K, g->value);
    frame_step(g, "frame", NULL, z, r);
    if (g->kind == GATE_SQUARE) {
        copy_step(r, squares, d, z);
        triangle_step(r, STEP_WEIGH, squares, d, z);
    }
    for (int64_t k = 0; k < g->K; k++) {
        double constant = g->value[k * p];
        for (int64_t j = 0; g->kind == GATE_SQUARE && j < d; j++) constant -= g->value[k * p + 1 + d + j];
        slot_step(r, STEP_SHIFT, slot + k, 0, constant);
        mean_step(r, z, d, in_array(theta, k * p + 1), 1, slot + k);
        if (g->kind == GATE_SQUARE) mean_step(r, squares, d, in_array(theta, k * p + 1 + d), 1, slot + k);
    }
}

/* log pi_k - log|S_k| / 2 - |F_k^-1 (z - c_k)|^2 / 2 */
static void generative_steps(const gate *g, int64_t slot, recipe *r)
{
    int64_t d = g->d;
    place z = in_vector(VC, 0);
    for (int64_t k = 0; k < g->K; k++) {
        const double *centre = g->value + g->K + k * d, *F = g->value + g->K * (1 + d) + k * d * d;
        double constant = g->value[k];
        for (int64_t j = 0; j < d; j++) constant -= log(F[j + j * d]);
        number_arrays(r, "e", k);
        frame_step(g, "centre", centre, z, r);
        triangle_step(r, STEP_SOLVE, z, d, recipe_add_lower(r, "S", d, F, d));
        slot_step(r, STEP_SHIFT, slot + k, 0, constant);
        mean_step(r, z, d, z, -0.5, slot + k);
    }
}

/* Means mu_k'phi, phi = (c, L^-1 k(U, z)), and in the first slot the variance that they share (gate_gp.c). */
static void gp_steps(const gate *g, int64_t slot, recipe *r)
{
    int64_t p = gate_features(g), M = g->M;
    const double *F = g->value + p * g->K, *U = F + p * p;
    place z = in_vector(VC, 0), phi = in_vector(VD, 0), behind = in_vector(VE, 0);
    frame_step(g, "frame", NULL, z, r);
    r->at.input = (int)z.in;
    recipe_add_kernel(r, g->kernel, g->d);
    recipe_add(r,
               (recipe_step){
                   .op = STEP_KERNEL, .to = in_vector(VD, 1), .n = M, .array = recipe_add_array(r, "U", M * g->d, U)});
    triangle_step(r, STEP_SOLVE, in_vector(VD, 1), M, recipe_add_lower(r, "U_factor", M, g->L, M));
    double constant = gate_constant(g);
    copy_step(r, phi, 1, recipe_add_array(r, "first", 1, &constant));
    place theta = recipe_add_array(r, "theta", p * g->K, g->value);
    for (int64_t k = 0; k < g->K; k++) mean_step(r, phi, p, in_array(theta, k * p), 1, slot + k);
    slot_step(r, STEP_PRIOR, slot, 0, 0);
    square_step(r, in_vector(VD, 1), M, -1, slot);
    slot_step(r, STEP_FLOOR, slot, slot, 0);
    copy_step(r, behind, p, phi);
    triangle_step(r, STEP_SOLVE, behind, p, recipe_add_lower(r, "theta_factor", p, F, p));
    square_step(r, behind, p, 1, slot);
    r->at.input = 0;
}

bool moe_recipe(const posterior *base, recipe *r)
{
    const moe_posterior *p = (const moe_posterior *)base;
    const gate *g = &p->gate;
    for (int64_t k = 0; k < p->K; k++) {
        number_arrays(r, "e", k);
        if (k > 0) recipe_add_kernel(r, p->at[k]->kernel, base->D);
        if (!nested_recipe(p->at[k], k, r)) return false;
        if (base->noises) slot_step(r, STEP_NOISE, k, 0, base->noises[k]);
    }
    r->noisy = base->noises != NULL;
    if (p->K == 1) return true;
    r->weighted = true;
    r->at.suffix[0] = 0;
    bool gp_gate = g->kind == GATE_GP;
    if (g->kind == GATE_STICK) return r->refusal = "exported models have no gates by stick breaking", false;
    if (gp_gate && g->M == 0) return r->refusal = "its gate has no inducing inputs", false;
    (gp_gate ? gp_steps : g->kind == GATE_GENERATIVE ? generative_steps : softmax_steps)(g, p->K, r);
    recipe_add(r, (recipe_step){.op = STEP_GATE, .of = p->K, .n = p->K, .factor = gp_gate ? acos(-1) / 8 : 0});
    return true;
}
