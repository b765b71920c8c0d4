/* Recipes of models that cut the rows into parts: pic and lma, committees of experts, nle, patchwork, tree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "export/recipe.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"
#include "model/local/patchwork_posterior.h"
#include "model/local/tree_posterior.h"
#include "model/sparse/sparse_posterior.h"

/* The next steps are for rows of part k, the next arrays have its number; -1: any. */
static void begin_part(recipe *r, int64_t k)
{
    r->at.part = k, r->at.suffix[0] = 0;
    if (k >= 0) snprintf(r->at.suffix, sizeof r->at.suffix, "_%lld", (long long)k + 1);
}

/* ---------------------------------------------------------------------------------------- pic, lma, hier */

/* Features of all training rows, A[n,M] and H[n,p]. */
typedef struct pic_tables {
    int64_t n;
    double *features; /* Mt x n */
    place X, A, H;
} pic_tables;

static bool pic_tables_make(const sparse_posterior *q, const double *X, pic_tables *t, recipe *r)
{
    const posterior *b = &q->base;
    int64_t M = q->u.M, p = b->mean.p, n = t->n;
    double *A = mem_doubles(n, M), *H = mem_doubles(n, p);
    t->features = mem_doubles(q->Mt, n);
    if (!A || !H || !t->features ||
        ANYGP_FAILED(basis_features(&q->u, &b->mean, n, X, b->D, t->features, t->features + M, NULL)))
        return free(A), free(H), false;
    for (int64_t i = 0; i < n; i++) {
        memcpy(A + i * M, t->features + i * q->Mt, (size_t)M * sizeof *A);
        memcpy(H + i * p, t->features + i * q->Mt + M, (size_t)p * sizeof *H);
    }
    t->X = recipe_add_array(r, "X", n * b->D, X);
    t->A = recipe_take_array(r, "A", n * M, A);
    t->H = p ? recipe_take_array(r, "H", n * p, H) : (free(H), (place){0});
    return true;
}

/* G^-1 (y - A'm) of the rows from `first` on, from L_G and L_G^-1 y; NULL: no memory. */
static double *pic_weights(const sparse_posterior *q, const pic_tables *t, int64_t first, int64_t n, const double *G)
{
    double *w = mem_doubles(n, 1);
    if (!w) return NULL;
    la_gemv(LA_T, q->Mt, n, -1, t->features + first * q->Mt, q->Mt, q->m, 0, w);
    la_trsv(LA_N, n, G, n, w);
    la_axpy(n, 1, G + n * n, w);
    la_trsv(LA_T, n, G, n, w);
    return w;
}

/* With s = L_G^-1 r, r = k - A a:  mean += r'w, variance -= |s|^2, and c = a - (A, H)'L_G^-T s takes the place of a in b. */
static bool pic_block(const sparse_posterior *q, const pic_tables *t, int64_t b, recipe *r)
{
    const posterior *base = &q->base;
    int64_t first, n, M = q->u.M, p = base->mean.p;
    double *G = NULL, *w = NULL;
    if (!pic_rows_given(q, b, &first, &n, &G) || !(w = pic_weights(q, t, first, n, G))) return free(G), false;
    begin_part(r, b);
    if (n > 0) {
        place v = in_vector(VC, 0), A = in_array(t->A, first * M), L = recipe_add_lower(r, "G", n, G, n);
        rows_step(r, v, n, in_array(t->X, first * base->D));
        product_step(r, STEP_TAKE, v, n, A, in_vector(VA, 0), M);
        mean_step(r, v, n, recipe_take_array(r, "w", n, w), 1, 0);
        triangle_step(r, STEP_SOLVE, v, n, L);
        square_step(r, v, n, -1, 0);
        slot_step(r, STEP_FLOOR, 0, 0, 0);
        triangle_step(r, STEP_BACK, v, n, L);
        product_step(r, STEP_MIX, in_vector(VB, 0), M, A, v, n);
        if (p) product_step(r, STEP_MIX, in_vector(VB, M), p, in_array(t->H, first * p), v, n);
    } else
        free(w);
    begin_part(r, -1);
    free(G);
    return true;
}

bool pic_recipe(const posterior *base, recipe *r)
{
    const sparse_posterior *q = (const sparse_posterior *)base;
    pic_tables t = {0};
    const double *X, *names;
    int64_t M = q->u.M;
    if (!q->rows) return r->refusal = "only rank 0 has the rows of its blocks", false;
    const router *route = pic_rows_all(q->rows, &t.n, &X);
    route_step(r, route, 0, NULL);
    feature_steps(r, &q->u, in_vector(VA, 0), 0);
    basis_step(r, in_vector(VA, M), &base->mean, sqrt(base->mean.B));
    mean_step(r, in_vector(VA, 0), q->Mt, recipe_add_array(r, "m", q->Mt, q->m), 1, 0);
    copy_step(r, in_vector(VB, 0), q->Mt, in_vector(VA, 0));
    slot_step(r, STEP_PRIOR, 0, 0, 0);
    square_step(r, in_vector(VA, 0), M, -1, 0);
    bool ok = pic_tables_make(q, X, &t, r);
    for (int64_t b = 0, blocks = pic_blocks(q->rows, &names); ok && b < blocks; b++) ok = pic_block(q, &t, b, r);
    free(t.features);
    if (!ok) return r->failed = true, false;
    slot_step(r, STEP_FLOOR, 0, 0, 0);
    triangle_step(r, STEP_SOLVE, in_vector(VB, 0), q->Mt, recipe_add_lower(r, "B", q->Mt, q->B, q->Mt));
    square_step(r, in_vector(VB, 0), q->Mt, 1, 0);
    return true;
}

/* --------------------------------------------------------------------------------------------- experts */

/* Slots: what is predicted; the prior, or where there is a communication expert its prediction; the prior before that, or of an
   expert with hyperparameters of its own; then the experts'. */
enum { RESULT, PRIOR, BEFORE, FIRST };

typedef struct expert_tables {
    const experts_posterior *p;
    place X, alpha, H; /* of all rows; H: minus the basis functions times sqrt(B) */
    int64_t common;    /* rows of the communication expert */
} expert_tables;

static bool expert_tables_make(const experts_posterior *p, expert_tables *t, recipe *r)
{
    const posterior *b = &p->base;
    int64_t n = b->n, m = b->mean.p;
    double *H = mem_doubles(n, m);
    *t = (expert_tables){.p = p, .common = p->rule.communication ? expert_at(p, 0).n : 0};
    if (!H) return r->failed = true, false;
    basis_fill(&b->mean, n, p->X, b->D, H, m, 1);
    for (int64_t i = 0; i < n * m; i++) H[i] *= -sqrt(b->mean.B);
    t->X = recipe_add_array(r, "X", n * b->D, p->X);
    t->alpha = recipe_add_array(r, "alpha", n, p->alpha);
    t->H = m ? recipe_take_array(r, "H", n * m, H) : (free(H), (place){0});
    return true;
}

/* variance[slot] = k(x, x) + |sqrt(B) h|^2; b has sqrt(B) h. */
static void prior_steps(const posterior *b, int64_t slot, recipe *r)
{
    slot_step(r, STEP_PRIOR, slot, 0, 0);
    basis_step(r, in_vector(VB, 0), &b->mean, sqrt(b->mean.B));
    if (b->mean.p) square_step(r, in_vector(VB, 0), b->mean.p, 1, slot);
}

/* Expert k from a prior to a slot; leaves L^-1 k in v. */
static void expert_steps(const expert_tables *t, int64_t k, place v, int64_t slot, int64_t prior, recipe *r)
{
    const posterior *b = &t->p->base;
    expert x = expert_at(t->p, k);
    int64_t m = b->mean.p;
    slot_step(r, STEP_SAME, slot, prior, 0);
    if (x.n == 0) return;
    rows_step(r, v, x.n, in_array(t->X, x.first * b->D));
    if (m) product_step(r, STEP_TAKE, v, x.n, in_array(t->H, x.first * m), in_vector(VB, 0), m);
    if (x.B) {
        place between = recipe_add_array(r, "B", t->common * x.n, x.B);
        product_step(r, STEP_TAKE, v, x.n, between, in_vector(VC, 0), t->common);
    }
    mean_step(r, v, x.n, in_array(t->alpha, x.first), 1, slot);
    triangle_step(r, STEP_SOLVE, v, x.n, recipe_add_lower(r, "L", x.n, x.L, x.n));
    square_step(r, v, x.n, -1, slot);
    slot_step(r, STEP_FLOOR, slot, prior, EXPERT_LEAST);
}

/* The next arrays have number k, and the next steps the kernel of that expert. */
static void begin_expert(const experts_posterior *p, int64_t k, recipe *r)
{
    snprintf(r->at.suffix, sizeof r->at.suffix, "_%lld", (long long)k + 1);
    if (p->own) recipe_add_kernel(r, p->own->kernel[k], p->base.D);
}

static double noise_seen(const experts_posterior *p, double noise, const kernel *k)
{
    return p->asked[EXPERTS_OBSERVED] ? noise + kernel_white(k) : 0;
}

static void join_steps(const expert_tables *t, int64_t k, int64_t slot, bool first, int rule, recipe *r)
{
    const experts_posterior *p = t->p;
    expert x = expert_at(p, k);
    int64_t prior = p->own ? BEFORE : PRIOR;
    begin_expert(p, k, r);
    if (p->own) prior_steps(&p->base, BEFORE, r);
    expert_steps(t, k, in_vector(VA, 0), slot, prior, r);
    recipe_add(r, (recipe_step){.op = STEP_JOIN,
                                .to = in_vector(VD, 0),
                                .slot = slot,
                                .of = prior,
                                .rule = first && p->rule.communication ? rule & ~RULE_ENTROPY : rule,
                                .factor = noise_seen(p, x.noise, x.kernel),
                                .plus = experts_noise_of(&p->base, k)});
}

static bool committee_recipe(const experts_posterior *p, const expert_tables *t, recipe *r)
{
    const posterior *b = &p->base;
    int rule = (p->rule.entropy ? RULE_ENTROPY : 0) | (p->rule.prior ? RULE_PRIOR : 0) |
               (p->rule.normalised ? RULE_NORMAL : 0) | (p->asked[EXPERTS_OBSERVED] ? RULE_OBSERVED : 0) |
               (p->own ? RULE_OWN : 0);
    bool first = true;
    if (p->rule.communication) {
        begin_expert(p, 0, r);
        prior_steps(b, BEFORE, r);
        expert_steps(t, 0, in_vector(VC, 0), PRIOR, BEFORE, r);
    } else
        prior_steps(b, PRIOR, r);
    recipe_add(r, (recipe_step){.op = STEP_OPEN,
                                .to = in_vector(VD, 0),
                                .of = PRIOR,
                                .rule = rule,
                                .factor = noise_seen(p, b->noise, b->kernel)});
    for (int64_t k = p->rule.communication; k < p->count; k++) {
        if (expert_at(p, k).n == 0) continue;
        join_steps(t, k, FIRST + k, first, rule, r);
        first = false;
    }
    r->noisy = b->ops->marginal_noise != NULL;
    recipe_add(r, (recipe_step){.op = STEP_AGREE,
                                .from = in_vector(VD, 0),
                                .slot = RESULT,
                                .of = PRIOR,
                                .rule = rule,
                                .factor = b->noise + kernel_white(b->kernel)});
    return true;
}

/* The expert of a row's part alone. */
static bool alone_recipe(const experts_posterior *p, const expert_tables *t, recipe *r)
{
    if (p->opened)
        return r->refusal = "parts that an update opened are found by distances in the kernel's measure, which are not "
                            "written down; a new fit to all rows can be exported",
               false;
    route_step(r, p->route, 0, NULL);
    r->noisy = p->own != NULL;
    for (int64_t k = 0; k < p->count; k++) {
        begin_part(r, k);
        begin_expert(p, k, r);
        prior_steps(&p->base, PRIOR, r);
        expert_steps(t, k, in_vector(VA, 0), RESULT, PRIOR, r);
        if (p->own) slot_step(r, STEP_NOISE, 0, 0, experts_noise_of(&p->base, k));
    }
    return true;
}

/* Slots after PRIOR are the experts': their means, and k_A, the variances of these. */
static bool npae_recipe(const experts_posterior *p, const expert_tables *t, recipe *r)
{
    const posterior *b = &p->base;
    if (p->asked[EXPERTS_NEAR] > 0 && p->asked[EXPERTS_NEAR] < (double)p->count)
        return r->refusal = "it asks only the experts near to a row; fit it without --near", false;
    prior_steps(b, PRIOR, r);
    for (int64_t k = 0; k < p->count; k++) {
        expert x = expert_at(p, k);
        place u = in_vector(VE, x.first);
        int64_t slot = PRIOR + 1 + k, m = b->mean.p;
        begin_expert(p, k, r);
        slot_step(r, STEP_SHIFT, slot, 0, 0);
        if (x.n == 0) continue;
        place L = recipe_add_lower(r, "L", x.n, x.L, x.n);
        rows_step(r, u, x.n, in_array(t->X, x.first * b->D));
        if (m) product_step(r, STEP_TAKE, u, x.n, in_array(t->H, x.first * m), in_vector(VB, 0), m);
        mean_step(r, u, x.n, in_array(t->alpha, x.first), 1, slot);
        triangle_step(r, STEP_SOLVE, u, x.n, L);
        square_step(r, u, x.n, 1, slot);
        triangle_step(r, STEP_BACK, u, x.n, L);
    }
    r->at.suffix[0] = 0;
    place start = recipe_add_array(r, "start", p->count + 1, p->start);
    recipe_add(r, (recipe_step){.op = STEP_NESTED,
                                .from = in_vector(VE, 0),
                                .from_n = p->count,
                                .array = t->X,
                                .other = start,
                                .slot = RESULT,
                                .of = PRIOR,
                                .factor = b->mean.p ? b->mean.B : 0,
                                .rule = p->rule.levels > 1 ? RULE_LEVELS : 0});
    return true;
}

bool experts_recipe(const posterior *base, recipe *r)
{
    const experts_posterior *p = (const experts_posterior *)base;
    expert_tables t;
    if (!expert_tables_make(p, &t, r)) return false;
    return (p->rule.alone ? alone_recipe : p->rule.levels ? npae_recipe : committee_recipe)(p, &t, r);
}

/* ------------------------------------------------------------------------------------ patchwork, tree */

/* c = K_b - V'L^-1 k, the covariances with f at the borders given the rows of the cell: mean -= a'c, variance -= c'A c. */
static void border_steps(const patch_posterior *p, int64_t k, recipe *r)
{
    const patch_borders *b = &p->b;
    int64_t m = patch_places(b, k), D = b->D, n = expert_at(p->cells, k).n;
    double *places = mem_doubles(m, D);
    place c = in_vector(VC, 0), Ac = in_vector(VD, 0);
    if (m == 0 || !places) {
        r->failed = r->failed || !places;
        free(places);
        return;
    }
    patch_places_of(b, k, places);
    rows_step(r, c, m, recipe_take_array(r, "border", m * D, places));
    if (n) product_step(r, STEP_TAKE, c, m, recipe_add_array(r, "V", m * n, p->V + p->at[k]), in_vector(VA, 0), n);
    mean_step(r, c, m, recipe_add_array(r, "a", m, p->a + b->start[k]), -1, RESULT);
    product_step(r, STEP_TIMES, Ac, m, recipe_add_array(r, "A", m * m, p->A + p->of[k]), c, m);
    recipe_add(r, (recipe_step){.op = STEP_SQUARE, .from = c, .array = Ac, .n = m, .factor = -1, .slot = RESULT});
    slot_step(r, STEP_FLOOR, RESULT, PRIOR, EXPERT_LEAST);
}

bool patchwork_recipe(const posterior *base, recipe *r)
{
    const patch_posterior *p = (const patch_posterior *)base;
    expert_tables t;
    if (!expert_tables_make(p->cells, &t, r)) return false;
    route_step(r, p->cells->route, 0, NULL);
    for (int64_t k = 0; k < p->b.cells; k++) {
        begin_part(r, k);
        prior_steps(&p->cells->base, PRIOR, r);
        expert_steps(&t, k, in_vector(VA, 0), RESULT, PRIOR, r);
        border_steps(p, k, r);
    }
    return true;
}

bool tree_recipe(const posterior *base, recipe *r)
{
    const tree_posterior *p = (const tree_posterior *)base;
    route_step(r, p->route, router_blocks(p->route), p->of);
    for (int64_t k = 0; k < p->count; k++) {
        begin_part(r, k);
        if (!sparse_recipe(p->group[k], r)) return false;
    }
    return true;
}
