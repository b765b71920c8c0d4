/* One conditional of Vecchia's approximation: f(x) given the rows of a list.

   With N the training rows nearest to x, and after them, for joint predictions, earlier rows to predict: G = (K + noise over weights for training
   rows, K for the others), G = L L' over (N, x), Z = L^-1 [y, A'] with A = sqrt(B) h.  Given v ~ N(m, V), the mean's coefficients, and the
   values f of the earlier ones,
       E f(x) = sum_j L_xj z_j + t'v,   t = a_x - sum_j L_xj a~_j,   var f(x) = L_xx^2 */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/local/vecchia_posterior.h"

static const double LEAST = 1e-12; /* of the prior variance: what the neighbours leave of it at least */

int64_t conditional_doubles(const vecchia_posterior *p, int64_t most)
{
    return (most + 1) * (p->base.D + 4 + p->Mt + most + 1) + p->Mt;
}

conditional conditional_place(const vecchia_posterior *p, int64_t most, double *at)
{
    conditional c = {.X = at};
    c.noise = c.X + (most + 1) * p->base.D;
    c.y = c.noise + most + 1;
    c.row = c.y + most + 1;
    c.b = c.row + most + 1;
    c.A = c.b + most + 1;
    c.F = c.A + (most + 1) * p->base.mean.p;
    c.G = c.F + (most + 1) * p->u.M;
    c.t = c.G + (most + 1) * (most + 1);
    return c;
}

void conditional_begin(const vecchia_posterior *p, int64_t count, const int32_t *rows, conditional *c)
{
    int64_t D = p->base.D;
    double noise = vecchia_noise(p);
    for (int64_t j = 0; j < count; j++) {
        memcpy(c->X + j * D, p->X + rows[j] * D, (size_t)D * sizeof(double));
        c->y[j] = p->y[rows[j]], c->noise[j] = noise / p->w[rows[j]];
    }
    c->n = c->count = count, c->rows = rows;
}

/* Takes Q = F'F off G, over all rows. */
static anygp_status take_off_inducing(const vecchia_posterior *p, conditional *c, anygp_error *e)
{
    int64_t n = c->n + 1, M = p->u.M, D = p->base.D, from = p->features ? c->count : 0, end = c->own ? n - 1 : n;
    for (int64_t j = 0; j < from; j++)
        memcpy(c->F + j * M, vecchia_features_of(p, c->rows[j]), (size_t)M * sizeof *c->F);
    if (c->own) memcpy(c->F + end * M, c->own, (size_t)M * sizeof *c->F);
    if (end > from && !p->u.ops->features(&p->u, end - from, c->X + from * D, D, c->F + from * M, M))
        return fail_memory(e, "kernel tiles", 0);
    la_syrk(LA_T, n, M, -1, c->F, M, 1, c->G, n);
    return ANYGP_OK;
}

/* t = f_x - F_N b'. */
static void project_inducing(const vecchia_posterior *p, conditional *c)
{
    int64_t k = c->n, M = p->u.M;
    memcpy(c->b, c->row, (size_t)k * sizeof *c->b);
    la_trsv(LA_T, k, c->G, k + 1, c->b);
    memcpy(c->t, c->F + k * M, (size_t)M * sizeof *c->t);
    la_gemv(LA_N, M, k, -1, c->F, M, c->b, 1, c->t);
}

static anygp_status no_factor(anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_NUMERIC, "the covariance of neighbouring rows has no Cholesky factor");
}

anygp_status conditional_find(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1, D = b->D;
    double white = kernel_white(b->kernel);
    memcpy(c->X + k * D, x, (size_t)D * sizeof *x);
    if (!kernel_gram_sym(b->kernel, n, c->X, D, c->G, n)) return fail_memory(e, "kernel tiles", 0);
    double prior = c->G[n * n - 1] - white;
    if (p->u.M) TRY(take_off_inducing(p, c, e));
    double left = c->G[n * n - 1] - white;
    for (int64_t j = 0; j < k; j++) c->G[j + j * n] += c->noise[j] - white, c->row[j] = c->G[k + j * n];
    if (!la_factor(k, c->G, n)) return no_factor(e);
    la_trsv(LA_N, k, c->G, n, c->row);
    la_trsv(LA_N, k, c->G, n, c->y);
    if (p->u.M) project_inducing(p, c);
    basis_fill(&b->mean, n, c->X, D, c->A, 1, n);
    for (int64_t j = 0; j < b->mean.p; j++) {
        double *a = c->A + j * n;
        la_scale(n, sqrt(b->mean.B), a);
        la_trsv(LA_N, k, c->G, n, a);
        c->t[p->u.M + j] = a[k] - la_dot(k, c->row, a);
    }
    c->mean = la_dot(k, c->row, c->y);
    c->variance = fmax(left - la_dot(k, c->row, c->row), LEAST * prior);
    return ANYGP_OK;
}

anygp_status conditional_of_list(const vecchia_posterior *p, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1;
    double white = kernel_white(b->kernel);
    if (!kernel_gram_sym(b->kernel, k, c->X, b->D, c->G, n)) return fail_memory(e, "kernel tiles", 0);
    for (int64_t j = 0; j < k; j++) c->G[j + j * n] += c->noise[j] - white;
    if (!la_factor(k, c->G, n)) return no_factor(e);
    la_trsv(LA_N, k, c->G, n, c->y);
    basis_fill(&b->mean, k, c->X, b->D, c->A, 1, n);
    for (int64_t j = 0; j < b->mean.p; j++) {
        la_scale(k, sqrt(b->mean.B), c->A + j * n);
        la_trsv(LA_N, k, c->G, n, c->A + j * n);
    }
    return ANYGP_OK;
}

anygp_status conditional_at(const vecchia_posterior *p, const double *x, conditional *c, anygp_error *e)
{
    const posterior *b = &p->base;
    int64_t k = c->n, n = k + 1, D = b->D;
    double prior;
    if (!kernel_gram(b->kernel, k, c->X, D, 1, x, D, c->row, n)) return fail_memory(e, "kernel tiles", 0);
    kernel_diag(b->kernel, 1, x, D, &prior);
    la_trsv(LA_N, k, c->G, n, c->row);
    basis_fill(&b->mean, 1, x, D, c->t, 1, 1);
    for (int64_t j = 0; j < b->mean.p; j++) c->t[j] = sqrt(b->mean.B) * c->t[j] - la_dot(k, c->row, c->A + j * n);
    c->mean = la_dot(k, c->row, c->y);
    c->variance = fmax(prior - la_dot(k, c->row, c->row), LEAST * prior);
    return ANYGP_OK;
}

void conditional_add_mean(const vecchia_posterior *p, const conditional *c, double *room, double *mean,
                          double *variance)
{
    int64_t q = p->Mt;
    *mean = c->mean + la_dot(q, c->t, p->m);
    if (!variance) return;
    memcpy(room, c->t, (size_t)q * sizeof *room);
    la_trsv(LA_N, q, p->B, q, room);
    *variance = c->variance + la_dot(q, room, room);
}
