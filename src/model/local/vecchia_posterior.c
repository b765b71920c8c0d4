/* Vecchia's approximation: what predictions rest on, and its arrays in the model file (vecchia.h).  A row is predicted by its own list of
   training rows (vecchia_conditional.c, vecchia_marginal.c); jointly each is also conditioned on the nearest of those before it, in maximin
   order (vecchia_joint.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/inducing_arrays.h"
#include "model/local/vecchia_posterior.h"

void vecchia_free(posterior *base)
{
    vecchia_posterior *p = (vecchia_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    near_search_clear(&p->search);
    inducing_clear(&p->u);
    feature_store_free(p->features);
    double *const owned[] = {p->X, p->y, p->w, p->facts, p->m, p->B, p->places};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(p);
}

int64_t vecchia_near(const vecchia_posterior *p)
{
    int64_t k = (int64_t)p->facts[FACT_PREDICT];
    return k < p->base.n ? k : p->base.n;
}

bool vecchia_looks_around(const vecchia_posterior *p)
{
    return p->base.ops->joint && p->base.n >= VECCHIA_GAP_ROWS && near_search_spreads(&p->search, vecchia_near(p));
}

int64_t vecchia_most(const vecchia_posterior *p)
{
    int64_t k = vecchia_near(p);
    if (!vecchia_looks_around(p)) return k;
    return NEAR_GAP * k < p->base.n ? NEAR_GAP * k : p->base.n;
}

int64_t vecchia_learned_near(const vecchia_posterior *p) { return (int64_t)p->facts[FACT_LEARNED]; }

double vecchia_noise(const vecchia_posterior *p)
{
    return p->base.noise + kernel_white(p->base.kernel) + p->facts[FACT_JITTER];
}

/* ------------------------------------------------------------------------------------------- file */

void vecchia_arrays(posterior *base, array_list *list)
{
    vecchia_posterior *p = (vecchia_posterior *)base;
    int64_t q = p->Mt;
    array_list_add(list, (named_array){"X", base->D, base->n, p->X, false});
    array_list_add(list, (named_array){"y", base->n, 1, p->y, false});
    array_list_add(list, (named_array){"w", base->n, 1, p->w, false});
    array_list_add(list, (named_array){"facts", FACTS, 1, p->facts, false});
    if (q) array_list_add(list, (named_array){"m", q, 1, p->m, false});
    if (q) array_list_add(list, (named_array){"B", q, q, p->B, true});
    if (p->u.M) inducing_arrays(&p->u, INDUCING_FIRST, list);
}

static const posterior_ops vecchia_posterior_ops = {.work_doubles = vecchia_work,
                                                    .marginal = vecchia_marginal,
                                                    .joint = vecchia_joint,
                                                    .arrays = vecchia_arrays,
                                                    .free = vecchia_free};
static const posterior_ops vecchia_marginal_ops = {
    .work_doubles = vecchia_work, .marginal = vecchia_marginal, .arrays = vecchia_arrays, .free = vecchia_free};

/* From arrays that are its own to the search. */
static anygp_status prepare(vecchia_posterior *p, anygp_error *e)
{
    posterior *b = &p->base;
    p->places = vecchia_places(b->kernel, b->n, b->D, p->X, &p->d);
    if (!p->places) return fail_memory(e, "the places of the rows", 8.0 * (double)b->n * (double)b->D);
    if (p->u.M) TRY(feature_store_new(&p->u, b->n, &p->features, e));
    near_metric by = vecchia_metric(b->kernel, b->n);
    return near_search_open(b->n, p->d, p->places, &by, &p->search, e);
}

const posterior_form vecchia_form = {&vecchia_posterior_ops, sizeof(vecchia_posterior)},
                     vecchia_marginal_form = {&vecchia_marginal_ops, sizeof(vecchia_posterior)};

anygp_status vecchia_posterior_new(const posterior_form *form, const kernel *k, double noise, const basis *mean,
                                   const vecchia_rows *rows, const double *m, const double *B, posterior **out,
                                   anygp_error *e)
{
    int64_t q = mean->p + (rows->u ? rows->u->M : 0);
    vecchia_posterior *p = calloc(1, form->size);
    if (!p) return fail_memory(e, "the posterior", (double)form->size);
    p->base = (posterior){
        .ops = form->ops, .noise = noise, .D = rows->D, .n = rows->n, .places = rows->u ? rows->u->set.M : 0};
    p->Mt = q;
    p->base.kernel = kernel_copy(k);
    p->X = mem_copied(rows->D, rows->n, rows->X);
    p->y = mem_copied(rows->n, 1, rows->y), p->w = mem_copied(rows->n, 1, rows->w);
    const double facts[FACTS] = {
        [FACT_PREDICT] = (double)rows->near, [FACT_JITTER] = rows->jitter, [FACT_LEARNED] = (double)rows->learned};
    p->facts = mem_copied(FACTS, 1, facts);
    p->m = mem_copied(q, 1, m), p->B = mem_copied(q, q, B);
    bool ok = p->base.kernel && p->X && p->y && p->w && p->facts && p->m && p->B;
    anygp_status status =
        ok ? basis_copy(mean, &p->base.mean, e) : fail_memory(e, "the posterior", 8.0 * (double)rows->n);
    if (!ANYGP_FAILED(status) && rows->u) status = inducing_copy(rows->u, p->base.kernel, &p->u, e);
    if (!ANYGP_FAILED(status)) status = prepare(p, e);
    if (ANYGP_FAILED(status))
        vecchia_free(&p->base);
    else
        *out = &p->base;
    return status;
}

static anygp_status damaged(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's rows do not fit together; it is damaged");
}

static bool is_count(double x) { return x >= 1 && x <= 1e9 && x == floor(x); }

anygp_status vecchia_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                          int64_t count, posterior **out, anygp_error *e)
{
    return vecchia_load_as(self->needs.joint ? &vecchia_form : &vecchia_marginal_form, k, noise, mean, D, list, count,
                           out, e);
}

/* Where the file has inducing inputs: into u, which the caller clears. */
static anygp_status take_inducing(kernel *k, int64_t D, named_array *list, int64_t count, inducing_set *u,
                                  anygp_error *e)
{
    inducing_found found;
    if (!named_array_find(list, count, "Z")) return ANYGP_OK;
    TRY(inducing_find_arrays(list, count, INDUCING_FIRST, k, D, &found, e));
    TRY(inducing_empty(u, found.kind, k, D, e));
    inducing_take_arrays(&found, u);
    return u->M > 0 ? ANYGP_OK : damaged(e);
}

/* m[q] and B[q,q]; q = 0: none. */
static anygp_status find_coefficients(named_array *list, int64_t count, int64_t q, const double **m, const double **B,
                                      anygp_error *e)
{
    if (q == 0) return ANYGP_OK;
    named_array *a = named_array_need(list, count, "m", e), *b = a ? named_array_need(list, count, "B", e) : NULL;
    if (!b) return ANYGP_ERR_FILE;
    TRY(named_array_check(a, q, 1, e));
    TRY(named_array_check(b, q, q, e));
    *m = a->values, *B = b->values;
    return is_factor(q, *B) ? ANYGP_OK : damaged(e);
}

anygp_status vecchia_load_as(const posterior_form *form, kernel *k, double noise, basis *mean, int64_t D,
                             named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    static const char *const names[] = {"X", "y", "w", "facts"};
    enum { ALL = 4, FACTS_BEFORE = 2 }; /* the last: files of earlier versions, which knew no updates */
    named_array *a[ALL] = {0};
    for (int i = 0; i < ALL; i++)
        if (!(a[i] = named_array_need(list, count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[0]->cols;
    TRY(named_array_check(a[0], D, n, e));
    TRY(named_array_check(a[1], n, 1, e));
    TRY(named_array_check(a[2], n, 1, e));
    int64_t known = a[3]->rows == FACTS_BEFORE ? FACTS_BEFORE : FACTS;
    TRY(named_array_check(a[3], known, 1, e));
    const double *facts = a[3]->values;
    double near = facts[FACT_PREDICT], jitter = facts[FACT_JITTER];
    double learned = known == FACTS ? facts[FACT_LEARNED] : VECCHIA_NEAR;
    if (n < 1 || !is_count(near) || !is_count(learned) || !(jitter >= 0 && isfinite(jitter))) return damaged(e);
    for (int64_t i = 0; i < n; i++)
        if (!(a[2]->values[i] > 0)) return damaged(e);
    vecchia_rows rows = {n, D, a[0]->values, a[1]->values, a[2]->values, (int64_t)near, (int64_t)learned, jitter, NULL};
    const double *m = facts, *B = facts;
    inducing_set u = {0};
    anygp_status status = take_inducing(k, D, list, count, &u, e);
    if (u.M) rows.u = &u;
    if (!ANYGP_FAILED(status)) status = find_coefficients(list, count, u.M + mean->p, &m, &B, e);
    if (!ANYGP_FAILED(status)) status = vecchia_posterior_new(form, k, noise, mean, &rows, m, B, out, e);
    inducing_clear(&u);
    if (ANYGP_FAILED(status)) return status;
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}
