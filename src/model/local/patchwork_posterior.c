/* Predictions of patchwork, and the model file (patchwork.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"
#include "model/local/experts.h"
#include "model/local/patchwork_posterior.h"

static const patch_posterior *patch_of(const posterior *base) { return (const patch_posterior *)base; }
const posterior *patch_cells(const posterior *p) { return &patch_of(p)->cells->base; }
const patch_borders *patch_borders_of(const posterior *p) { return &patch_of(p)->b; }
double patch_border_value(const posterior *p) { return patch_of(p)->border; }

/* What join_cells() makes. */
static void part_cells(patch_posterior *p)
{
    void *const owned[] = {p->V, p->at, p->A, p->a, p->of, p->S};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    p->V = p->A = p->a = p->S = NULL, p->at = p->of = NULL;
}

static void patch_free(posterior *base)
{
    patch_posterior *p = (patch_posterior *)base;
    if (!p) return;
    kernel_free(base->kernel);
    basis_clear(&base->mean);
    if (p->cells) experts_free(&p->cells->base);
    patch_borders_clear(&p->b);
    part_cells(p);
    free(p);
}

/* ---------------------------------------------------------------------------------------- the borders */

static bool places_make_room(patch_posterior *p)
{
    int64_t P = p->b.cells, V = 0, A = 0;
    p->at = mem_alloc(P, sizeof *p->at), p->of = mem_alloc(P, sizeof *p->of);
    for (int64_t k = 0; p->at && p->of && k < P; k++) {
        int64_t m = patch_places(&p->b, k);
        p->at[k] = V, V += m * expert_at(p->cells, k).n;
        p->of[k] = A, A += m * m;
    }
    p->V = mem_alloc(V, sizeof *p->V), p->A = mem_alloc(A, sizeof *p->A);
    p->a = mem_alloc(2 * p->b.at.count, sizeof *p->a), p->S = mem_doubles(p->b.at.count, p->b.at.count);
    return p->at && p->of && p->V && p->A && p->a && p->S;
}

/* V of cell k, its share of S (lower triangle) and t; *C: of the sum of C's diagonal. */
static bool add_cell(const patch_posterior *p, int64_t k, double *X, double *S, double *t, double *C)
{
    const patch_borders *b = &p->b;
    expert x = expert_at(p->cells, k);
    int64_t m = patch_places(b, k), D = b->D, q = b->at.count;
    const int64_t *place = b->place + b->start[k];
    const double *sign = b->sign + b->start[k];
    double *V = p->V + p->at[k], *Kbb = p->A + p->of[k];
    patch_places_of(b, k, X);
    if (!kernel_gram(x.kernel, m, X, D, m, X, D, Kbb, m)) return false;
    if (x.n > 0 && !kernel_gram(x.kernel, x.n, x.X, D, m, X, D, V, x.n)) return false;
    for (int64_t i = 0; i < m; i++) t[place[i]] += sign[i] * la_dot(x.n, V + i * x.n, x.alpha);
    if (x.n > 0) la_trsm(LA_LEFT, LA_N, x.n, m, 1, x.L, x.n, V, x.n);
    for (int64_t i = 0; i < m; i++) {
        *C += Kbb[i + i * m];
        for (int64_t j = 0; j < m; j++)
            if (place[i] >= place[j])
                S[place[i] + place[j] * q] +=
                    sign[i] * sign[j] * (Kbb[i + j * m] - la_dot(x.n, V + i * x.n, V + j * x.n));
    }
    return true;
}

/* From S^-1 (lower triangle) and S^-1 t to what each cell needs of them. */
static void share_out(const patch_posterior *p, const double *S, const double *t)
{
    const patch_borders *b = &p->b;
    int64_t q = b->at.count;
    for (int64_t k = 0; k < b->cells; k++) {
        int64_t m = patch_places(b, k), first = b->start[k];
        for (int64_t i = 0; i < m; i++) {
            int64_t r = b->place[first + i];
            p->a[first + i] = b->sign[first + i] * t[r];
            for (int64_t j = 0; j < m; j++) {
                int64_t c = b->place[first + j];
                p->A[p->of[k] + i + j * m] = b->sign[first + i] * b->sign[first + j] * S[r > c ? r + c * q : c + r * q];
            }
        }
    }
}

static anygp_status join_cells(patch_posterior *p, anygp_error *e)
{
    int64_t q = p->b.at.count;
    double jitter = *p->cells->jitter;
    double *S = mem_zeroed(q * q, sizeof *S), *t = mem_zeroed(q, sizeof *t), C = 0;
    double *X = mem_doubles(p->b.largest, p->b.D);
    bool ok = S && t && X && places_make_room(p);
    for (int64_t k = 0; ok && k < p->b.cells; k++) ok = add_cell(p, k, X, S, t, &C);
    anygp_status status = ok ? ANYGP_OK : fail_memory(e, "the borders of the cells", 8.0 * (double)q * (double)q);
    if (ok && q > 0) {
        bool factor = patch_factor(q, jitter, C / (double)q, S);
        if (factor) {
            la_trsv(LA_N, q, S, q, t);
            p->border = -0.5 * (la_dot(q, t, t) + la_logdet(q, S, q));
            memcpy(p->S, S, (size_t)(q * q) * sizeof *S);
            la_trsv(LA_T, q, S, q, t);
        }
        if (!factor || la_potri(q, S, q) != 0)
            status = fail_with(e, ANYGP_ERR_NUMERIC, "the covariance at the borders of cells has no Cholesky factor");
        else
            share_out(p, S, t);
    }
    free(S);
    free(t);
    free(X);
    if (ANYGP_FAILED(status)) part_cells(p);
    return status;
}

/* What a fit had no time for: the factors of the cells, and equal values at their borders. */
static anygp_status make_now(patch_posterior *p, anygp_error *e)
{
    anygp_status status;
    do {
        status = posterior_ready(&p->cells->base, e);
        if (!ANYGP_FAILED(status)) status = join_cells(p, e);
    } while (status == ANYGP_ERR_NUMERIC && experts_more_jitter(p->cells));
    if (!ANYGP_FAILED(status)) p->base.later = false;
    return status;
}

static anygp_status patch_make(posterior *base, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
#pragma omp critical(patch_make)
    if (base->later) status = make_now((patch_posterior *)base, e);
    return status;
}

/* ---------------------------------------------------------------------------------------- predictions */

int64_t patch_work(const posterior *base, int64_t n)
{
    const patch_posterior *p = (const patch_posterior *)base;
    int64_t B = p->b.largest, D = base->D;
    return n * (4 + D + p->cells->largest + 2 * B) + B * D + query_doubles(p->cells, n);
}

patch_visit patch_visit_place(const patch_posterior *p, int64_t n, double *room)
{
    int64_t B = p->b.largest, D = p->base.D;
    patch_visit a = {.block = (int64_t *)room, .row = (int64_t *)room + n, .m = room + 2 * n, .v = room + 3 * n};
    a.X = room + 4 * n, a.k = a.X + n * D, a.c = a.k + n * p->cells->largest, a.Ac = a.c + n * B;
    a.places = a.Ac + n * B, a.query = a.places + B * D;
    return a;
}

/* What equal values at the borders change of mean and variance at `count` rows of cell k; a->k has L^-1 k of the rows. */
static anygp_status mend(const patch_posterior *p, int64_t k, int64_t count, const expert *x, const patch_visit *a,
                         const expert_query *q, anygp_error *e)
{
    const patch_borders *b = &p->b;
    int64_t m = patch_places(b, k), D = b->D;
    if (m == 0) return ANYGP_OK;
    patch_places_of(b, k, a->places);
    if (!kernel_gram(x->kernel, m, a->places, D, count, a->X, D, a->c, m)) return fail_memory(e, "kernel tiles", 0);
    if (x->n > 0) la_gemm(LA_T, LA_N, m, count, x->n, -1, p->V + p->at[k], x->n, a->k, x->n, 1, a->c, m);
    la_gemm(LA_N, LA_N, m, count, m, 1, p->A + p->of[k], m, a->c, m, 0, a->Ac, m);
    for (int64_t j = 0; j < count; j++) {
        a->m[j] -= la_dot(m, a->c + j * m, p->a + b->start[k]);
        a->v[j] = fmax(a->v[j] - la_dot(m, a->c + j * m, a->Ac + j * m), EXPERT_LEAST * q->variance[j]);
    }
    return ANYGP_OK;
}

anygp_status patch_ask(const patch_posterior *p, int64_t k, int64_t count, const patch_visit *a, anygp_error *e)
{
    expert x = expert_at(p->cells, k);
    expert_query q;
    TRY(query_prepare(p->cells, count, a->X, p->base.D, NULL, a->query, &q, e));
    for (int64_t j = 0; j < count; j++) a->m[j] = 0, a->v[j] = q.variance[j];
    if (x.n > 0) TRY(expert_ask(p->cells, &x, &q, NULL, a->k, a->m, a->v, e));
    return mend(p, k, count, &x, a, &q, e);
}

static anygp_status patch_marginal(const posterior *base, int64_t n, const double *X, int64_t ldx, double *room,
                                   double *mean, double *variance, anygp_error *e)
{
    const patch_posterior *p = (const patch_posterior *)base;
    patch_visit a = patch_visit_place(p, n, room);
    TRY(router_route(p->cells->route, n, X, ldx, a.block, e));
    for (int64_t k = 0; k < p->b.cells; k++) {
        int64_t count = rows_of_part(a.block, k, n, X, ldx, base->D, a.X, a.row);
        if (count > 0) TRY(patch_ask(p, k, count, &a, e));
        for (int64_t j = 0; j < count; j++) {
            mean[a.row[j]] = a.m[j];
            if (variance) variance[a.row[j]] = a.v[j];
        }
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------------- file */

static void patch_arrays(posterior *base, array_list *list)
{
    patch_posterior *p = (patch_posterior *)base;
    experts_arrays(&p->cells->base, list);
    array_list_add(list, (named_array){"borders", p->b.D, p->b.at.count, p->b.at.X, false});
    array_list_add(list, (named_array){"sides", 2, p->b.at.count, p->b.at.side, false});
}

static const posterior_ops patch_ops = {.make = patch_make,
                                        .work_doubles = patch_work,
                                        .marginal = patch_marginal,
                                        .joint = patch_joint,
                                        .arrays = patch_arrays,
                                        .free = patch_free};

static anygp_status copy_borders(const patch_borders *from, patch_borders *to, anygp_error *e)
{
    int64_t q = from->at.count;
    *to = (patch_borders){
        .at = {
            .count = q, .room = q, .X = mem_copied(q, from->D, from->at.X), .side = mem_copied(q, 2, from->at.side)}};
    if (to->at.X && to->at.side) return patch_borders_index(to, from->D, from->cells, e);
    patch_borders_clear(to);
    return fail_memory(e, "the borders of the cells", 24.0 * (double)q);
}

anygp_status patch_posterior_new(posterior *cells, const patch_borders *b, bool later, posterior **out, anygp_error *e)
{
    patch_posterior *p = calloc(1, sizeof *p);
    if (!p) return fail_memory(e, "the posterior", sizeof *p);
    p->base = (posterior){.ops = &patch_ops, .noise = cells->noise, .D = cells->D, .n = cells->n, .later = later};
    p->base.kernel = kernel_copy(cells->kernel);
    p->cells = (experts_posterior *)cells;
    anygp_status status =
        p->base.kernel ? basis_copy(&cells->mean, &p->base.mean, e) : fail_memory(e, "the posterior", sizeof *p);
    if (!ANYGP_FAILED(status)) status = copy_borders(b, &p->b, e);
    if (!ANYGP_FAILED(status) && !later) status = join_cells(p, e);
    if (!ANYGP_FAILED(status)) return *out = &p->base, ANYGP_OK;
    p->cells = NULL; /* the caller's */
    patch_free(&p->base);
    return status;
}

static bool borders_make_sense(const named_array *X, const named_array *side, int64_t D, int64_t cells)
{
    if (X->rows != D || side->rows != 2 || side->cols != X->cols || D > PATCHWORK_INPUTS) return false;
    for (int64_t i = 0; i < 2 * side->cols; i++) {
        double v = side->values[i];
        if (!(v >= 0 && v < (double)cells && v == floor(v))) return false;
        if (i % 2 && v == side->values[i - 1]) return false;
    }
    for (int64_t i = 0; i < D * X->cols; i++)
        if (!isfinite(X->values[i])) return false;
    return true;
}

anygp_status patch_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                        int64_t count, posterior **out, anygp_error *e)
{
    return patch_load_within(self, 0, k, noise, mean, D, list, count, out, e);
}

anygp_status patch_load_within(const model_ops *self, double memory, kernel *k, double noise, basis *mean, int64_t D,
                               named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    named_array *X = named_array_need(list, count, "borders", e),
                *side = X ? named_array_need(list, count, "sides", e) : NULL;
    posterior *cells = NULL;
    (void)self;
    if (!side) return ANYGP_ERR_FILE;
    kernel *copy = kernel_copy(k);
    basis also = {0};
    anygp_status status = copy ? basis_copy(mean, &also, e) : fail_memory(e, "the kernel", 0);
    if (!ANYGP_FAILED(status))
        status = experts_load_within(&model_nle, memory, copy, noise, &also, D, list, count, &cells, e);
    if (ANYGP_FAILED(status)) {
        kernel_free(copy);
        basis_clear(&also);
        return status;
    }
    const experts_posterior *p = (const experts_posterior *)cells;
    patch_borders b = {.D = D, .cells = p->count, .at = {.count = X->cols, .X = X->values, .side = side->values}};
    if (!borders_make_sense(X, side, D, p->count))
        status = fail_with(e, ANYGP_ERR_FILE, "the model file's borders do not fit its cells; it is damaged");
    else
        status = patch_posterior_new(cells, &b, false, out, e);
    if (ANYGP_FAILED(status)) return experts_free(cells), status;
    kernel_free(k);
    basis_clear(mean);
    return ANYGP_OK;
}
