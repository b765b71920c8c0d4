/* Recipes of models that predict a row from rows near it: vecchia, nene, lagp, vnngp (vecchia_posterior.c).  Every call looks at all
   rows for the nearest, and factors a matrix over these. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "export/recipe.h"
#include "model/local/lagp_posterior.h"
#include "model/local/vnngp_posterior.h"

static const double LEAST = 1e-12; /* of the prior variance: vecchia_posterior.c */

enum { RESULT, PRIOR };

/* What vectors have: a the covariances of the neighbours and x, then L^-1 of them; b the weights of the neighbours; c t of vecchia.h. */
static const place to_x = {-1 - VA, 0}, weights = {-1 - VB, 0}, shared = {-1 - VC, 0};
static const place rows = {-1 - VD, 0}, noises = {-1 - VE, 0}, gram = {-1 - VF, 0}, spare = {-1 - VG, 0};
static const place features = {-1 - VH, 0}, trends = {-1 - VI, 0}, values = {-1 - VJ, 0};

typedef struct near_tables {
    const vecchia_posterior *p;
    place X, noise;
} near_tables;

static void gather_step(recipe *r, place to, int64_t width, place from)
{
    recipe_add(r, (recipe_step){.op = STEP_GATHER, .to = to, .n = LISTED, .from_n = width, .array = from});
}

static place noise_of(const vecchia_posterior *p, recipe *r)
{
    double *noise = mem_doubles(p->base.n, 1);
    for (int64_t i = 0; noise && i < p->base.n; i++) noise[i] = vecchia_noise(p) / p->w[i];
    return recipe_take_array(r, "noise", p->base.n, noise);
}

/* In a gap the list is a longer one, of rows on all sides (directions.c). */
static void around_step(const vecchia_posterior *p, const recipe_step *near, recipe *r)
{
    recipe_add(r, (recipe_step){.op = STEP_AROUND,
                                .n = vecchia_most(p),
                                .from_n = near->from_n,
                                .array = near->array,
                                .other = near->other,
                                .from = recipe_add_array(r, "gaps", 2 * NEAR_GAPS, near_gaps[0]),
                                .factor = NEAR_WIDE});
}

/* The list: `count` nearest rows.  around: a longer one in gaps, which vecchia alone has. */
static bool near_step(const vecchia_posterior *p, int64_t count, bool around, near_tables *t, recipe *r)
{
    const posterior *b = &p->base;
    double *weight = mem_doubles(b->D, 1);
    if (!weight) return r->failed = true, false;
    near_metric by = vecchia_metric(b->kernel, b->n);
    vecchia_weights(b->kernel, b->D, weight);
    *t = (near_tables){.p = p, .X = recipe_add_array(r, "X", b->n * b->D, p->X)};
    recipe_step s = {.op = STEP_NEAR, .n = count, .from_n = b->n, .array = t->X};
    if (near_metric_is_euclidean(&by))
        s.other = recipe_take_array(r, "closeness", b->D, weight);
    else
        free(weight);
    recipe_add(r, s);
    if (around && vecchia_looks_around(p)) around_step(p, &s, r);
    return true;
}

/* L in f, L^-1 k in a and the weights of the neighbours in b; `added` to the diagonal where rows have no noise. */
static void condition_steps(const near_tables *t, double added, recipe *r)
{
    const vecchia_posterior *p = t->p;
    int64_t D = p->base.D, M = p->u.M;
    bool noisy = t->noise.in != 0;
    gather_step(r, rows, D, t->X);
    if (noisy) gather_step(r, noises, 1, t->noise);
    rows_step(r, to_x, LISTED, rows);
    recipe_add(r, (recipe_step){.op = STEP_GRAM,
                                .to = gram,
                                .n = LISTED,
                                .array = rows,
                                .other = noisy ? noises : (place){0},
                                .factor = added});
    if (M) {
        int64_t first = r->n_steps;
        feature_steps(r, &p->u, shared, 0);
        int64_t end = r->n_steps;
        r->at.input = (int)rows.in;
        for (int64_t i = first; i < end; i++) {
            recipe_step s = r->steps[i];
            s.to = features, s.rows = LISTED;
            recipe_add(r, s);
        }
        r->at.input = 0;
        product_step(r, STEP_TAKE, to_x, LISTED, features, shared, M);
        recipe_add(r, (recipe_step){.op = STEP_LESS, .to = gram, .n = LISTED, .array = features, .from_n = M});
    }
    recipe_add(r, (recipe_step){.op = STEP_FACTOR, .to = gram, .n = LISTED});
    triangle_step(r, STEP_SOLVE, to_x, LISTED, gram);
    copy_step(r, weights, LISTED, to_x);
    triangle_step(r, STEP_BACK, weights, LISTED, gram);
}

/* What the neighbours leave of the variance. */
static void left_steps(const vecchia_posterior *p, recipe *r)
{
    slot_step(r, STEP_PRIOR, PRIOR, 0, 0);
    slot_step(r, STEP_SAME, RESULT, PRIOR, 0);
    if (p->u.M) square_step(r, shared, p->u.M, -1, RESULT);
    square_step(r, to_x, LISTED, -1, RESULT);
    slot_step(r, STEP_FLOOR, RESULT, PRIOR, LEAST);
}

/* t = (f_x, sqrt(B) h_x) less those of the neighbours times their weights: mean t'm, variance |B^-1 t|^2. */
static void shared_steps(const vecchia_posterior *p, recipe *r)
{
    int64_t M = p->u.M, q = p->base.mean.p;
    double root = sqrt(p->base.mean.B);
    if (p->Mt == 0) return;
    if (M) product_step(r, STEP_MIX, shared, M, features, weights, LISTED);
    if (q) {
        basis_step(r, (place){shared.in, M}, &p->base.mean, root);
        r->at.input = (int)rows.in;
        recipe_add(r, (recipe_step){.op = STEP_BASIS, .to = trends, .n = q, .rows = LISTED, .factor = root});
        r->at.input = 0;
        product_step(r, STEP_MIX, (place){shared.in, M}, q, trends, weights, LISTED);
    }
    mean_step(r, shared, p->Mt, recipe_add_array(r, "m", p->Mt, p->m), 1, RESULT);
    triangle_step(r, STEP_SOLVE, shared, p->Mt, recipe_add_lower(r, "B", p->Mt, p->B, p->Mt));
    square_step(r, shared, p->Mt, 1, RESULT);
}

static void vecchia_steps(const near_tables *t, recipe *r)
{
    const vecchia_posterior *p = t->p;
    condition_steps(t, 0, r);
    gather_step(r, values, 1, recipe_add_array(r, "y", p->base.n, p->y));
    mean_step(r, weights, LISTED, values, 1, RESULT);
    left_steps(p, r);
    shared_steps(p, r);
}

bool vecchia_recipe(const posterior *base, recipe *r)
{
    const vecchia_posterior *p = (const vecchia_posterior *)base;
    near_tables t;
    if (!near_step(p, vecchia_near(p), true, &t, r)) return false;
    t.noise = noise_of(p, r);
    vecchia_steps(&t, r);
    return true;
}

bool lagp_recipe(const posterior *base, recipe *r)
{
    const lagp_posterior *q = (const lagp_posterior *)base;
    const vecchia_posterior *p = &q->near;
    const lagp_kind *kind = &q->kind;
    int64_t m = vecchia_near(p), close = kind->design == DESIGN_NN || kind->close < m ? m : kind->close;
    near_tables t;
    if (kind->design == DESIGN_MSPE || kind->design == DESIGN_RAY || kind->local || kind->integrated)
        return r->refusal =
                   "designs by mspe or rays, and length-scales or a scale of each design, are searches of their own "
                   "for each row; designs by alc (the default) and nn can be exported",
               false;
    if (close > base->n) close = base->n;
    if (!near_step(p, close, false, &t, r)) return false;
    t.noise = noise_of(p, r);
    if (close > m)
        recipe_add(r, (recipe_step){.op = STEP_DESIGN, .n = m, .from_n = kind->start, .array = t.X, .other = t.noise});
    vecchia_steps(&t, r);
    return true;
}

/* The square roots of column c of s[n, latents]. */
static place roots_of(const vnngp_posterior *p, int64_t c, const char *name, recipe *r)
{
    int64_t n = p->near.base.n;
    double *root = mem_doubles(n, 1);
    for (int64_t i = 0; root && i < n; i++) root[i] = sqrt(p->s[c * n + i]);
    return recipe_take_array(r, name, n, root);
}

bool vnngp_recipe(const posterior *base, recipe *r)
{
    const vnngp_posterior *q = (const vnngp_posterior *)base;
    const vecchia_posterior *p = &q->near;
    near_tables t;
    char name[48];
    int64_t C = base->latents, prior = C;
    if (!near_step(p, vecchia_near(p), false, &t, r)) return false;
    condition_steps(&t, kernel_white(base->kernel) + p->facts[FACT_JITTER], r);
    slot_step(r, STEP_PRIOR, prior, 0, 0);
    for (int64_t c = 0; c < C; c++) {
        snprintf(name, sizeof name, "m%lld", (long long)c + 1);
        gather_step(r, values, 1, recipe_add_array(r, name, base->n, q->m + c * base->n));
        mean_step(r, weights, LISTED, values, 1, c);
        slot_step(r, STEP_SAME, c, prior, 0);
        square_step(r, to_x, LISTED, -1, c);
        slot_step(r, STEP_FLOOR, c, prior, LEAST);
        snprintf(name, sizeof name, "sd%lld", (long long)c + 1);
        gather_step(r, values, 1, roots_of(q, c, name, r));
        copy_step(r, spare, LISTED, weights);
        triangle_step(r, STEP_WEIGH, spare, LISTED, values);
        square_step(r, spare, LISTED, 1, c);
    }
    return true;
}
