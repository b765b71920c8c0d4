/* Frequencies and amplitudes of waves, their reverse, and draws (spectral.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/radial.h"
#include "kernel/spectral.h"
#include "linalg/linalg.h"

/* ------------------------------------------------------------------------------ the terms of an expression */

/* Terms of every subtree; no more than one above the most is counted. */
static void count_terms(const kernel *k, int64_t *count)
{
    for (int64_t i = 0; i < k->n_nodes; i++) {
        const kernel_node *n = &k->nodes[i];
        int64_t a = n->op == NODE_LEAF ? 1 : count[n->left], b = n->op == NODE_LEAF ? 0 : count[n->right];
        count[i] = n->op == NODE_PRODUCT ? a * b : a + b;
        if (count[i] > SPECTRAL_TERMS_MOST) count[i] = SPECTRAL_TERMS_MOST + 1;
    }
}

/* The leaves of term `index` below node i, to which[]; how many. */
static int take_term(const kernel *k, const int64_t *count, int64_t i, int64_t index, int *which)
{
    const kernel_node *n = &k->nodes[i];
    if (n->op == NODE_LEAF) return which[0] = n->leaf, 1;
    int64_t left = count[n->left];
    if (n->op == NODE_SUM)
        return index < left ? take_term(k, count, n->left, index, which)
                            : take_term(k, count, n->right, index - left, which);
    int taken = take_term(k, count, n->left, index % left, which);
    return taken + take_term(k, count, n->right, index / left, which + taken);
}

static bool has_white(const kernel *k, int count, const int *which)
{
    bool found = false;
    for (int f = 0; f < count; f++) found = found || kernel_leaf_is_white(&k->leaves[which[f]]);
    return found;
}

static anygp_status check_leaves(const kernel *k, anygp_error *e)
{
    for (int64_t i = 0; i < k->n_leaves; i++) {
        const leaf *l = &k->leaves[i];
        if (!l->kind->precision && !kernel_leaf_is_white(l))
            return fail_with(
                e, ANYGP_ERR_ARGUMENT,
                "kernel: %s has no spectral density that Fourier features could be drawn from; rbf, matern12, "
                "matern32, matern52 and rq have, with their sums and products, constant and white",
                l->kind->name);
    }
    return ANYGP_OK;
}

static bool allocate(spectral *s, int64_t terms, int64_t leaves)
{
    s->factors = leaves;
    s->leaf = mem_alloc(terms * leaves, sizeof *s->leaf);
    s->count = mem_alloc(terms, sizeof *s->count);
    return s->leaf && s->count;
}

anygp_status spectral_open(spectral *s, const kernel *k, anygp_error *e)
{
    int64_t count[MAX_NODES], root = k->n_nodes - 1;
    *s = (spectral){.D = k->D};
    TRY(check_leaves(k, e));
    count_terms(k, count);
    if (count[root] > SPECTRAL_TERMS_MOST)
        return fail_with(e, ANYGP_ERR_ARGUMENT, "kernel: multiplied out it has more than %d terms; use a simpler one",
                         SPECTRAL_TERMS_MOST);
    if (!allocate(s, count[root], k->n_leaves)) {
        spectral_clear(s);
        return fail_memory(e, "the terms of the kernel", 8.0 * (double)(count[root] * k->n_leaves));
    }
    for (int64_t i = 0; i < count[root]; i++) {
        int *which = s->leaf + s->terms * s->factors, taken = take_term(k, count, root, i, which);
        if (!has_white(k, taken, which)) s->count[s->terms++] = taken;
    }
    if (s->terms > 0) return ANYGP_OK;
    spectral_clear(s);
    return fail_with(e, ANYGP_ERR_ARGUMENT, "kernel: white alone has no spectral density; add rbf or another kernel");
}

void spectral_clear(spectral *s)
{
    void *const owned[] = {s->leaf, s->count, s->W, s->root, s->amplitude, s->precision, s->slopes};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    *s = (spectral){0};
}

/* ------------------------------------------------------------------------------------------------ waves */

static int64_t prime(int64_t index)
{
    for (int64_t p = 2;; p++) {
        bool divided = false;
        for (int64_t q = 2; q * q <= p; q++) divided = divided || p % q == 0;
        if (!divided && index-- == 0) return p;
    }
}

/* Point j of the sequence of factor f, in (0, 1). */
static double point(double root, int64_t j)
{
    double u = 0.5 + (double)j * root;
    return fmin(fmax(u - floor(u), 0x1p-53), 1 - 0x1p-53);
}

static int64_t waves_of(const spectral *s, int64_t t) { return (s->total - t + s->terms - 1) / s->terms; }
static int64_t number_of(const spectral *s, int64_t i) { return s->number ? s->number[i] : i; }

/* sqrt(sum_f tau_f / l_fd^2) of wave i in every input, and its amplitude. */
static double wave(const spectral *s, const kernel *k, int64_t i, double *root)
{
    int64_t t = number_of(s, i) % s->terms;
    double variance = 1;
    memset(root, 0, (size_t)s->D * sizeof *root);
    for (int f = 0; f < s->count[t]; f++) {
        const leaf *l = &k->leaves[s->leaf[t * s->factors + f]];
        variance *= leaf_value(l, RADIAL_VARIANCE, 0);
        for (int64_t d = 0; d < l->n_dims; d++) {
            double length = leaf_value(l, RADIAL_LENGTH, d);
            root[l->dims[d]] += s->precision[i * s->factors + f] / (length * length);
        }
    }
    for (int64_t d = 0; d < s->D; d++) root[d] = sqrt(root[d]);
    return sqrt(variance / (double)waves_of(s, t));
}

static bool make_room(spectral *s, int64_t M)
{
    double **const room[] = {&s->W, &s->root, &s->amplitude, &s->precision, &s->slopes};
    const int64_t size[] = {s->D, s->D, 1, s->factors, s->factors};
    bool ok = true;
    for (size_t i = 0; M != s->M && i < sizeof room / sizeof *room; i++) {
        free(*room[i]);
        ok = (*room[i] = mem_doubles(M, size[i])) && ok;
    }
    s->M = ok ? M : 0;
    return ok;
}

bool spectral_waves(spectral *s, const kernel *k, int64_t M, const double *Z)
{
    return spectral_waves_some(s, k, M, M, NULL, Z);
}

bool spectral_waves_some(spectral *s, const kernel *k, int64_t total, int64_t M, const int64_t *number, const double *Z)
{
    if (!make_room(s, M)) return false;
    s->total = total, s->number = number;
    for (int64_t f = 0; f < s->factors; f++) {
        double root = sqrt((double)prime(f));
        for (int64_t i = 0; i < M; i++) {
            int64_t j = number_of(s, i), t = j % s->terms, at = i * s->factors + f;
            const leaf *l = f < s->count[t] ? &k->leaves[s->leaf[t * s->factors + f]] : NULL;
            if (l) s->precision[at] = l->kind->precision(l, point(root, j / s->terms), &s->slopes[at]);
        }
    }
    for (int64_t i = 0; i < M; i++) s->amplitude[i] = wave(s, k, i, s->root + i * s->D);
    for (int64_t j = 0; j < M * s->D; j++) s->W[j] = Z[j] * s->root[j];
    return true;
}

bool spectral_is_one(const spectral *s) { return s->terms == 1 && s->count[0] == 1; }

double spectral_one(const spectral *s, const kernel *k, int64_t total, double *over)
{
    const leaf *l = &k->leaves[s->leaf[0]];
    for (int64_t d = 0; d < s->D; d++) over[d] = 0;
    for (int64_t d = 0; d < l->n_dims; d++) over[l->dims[d]] = 1 / leaf_value(l, RADIAL_LENGTH, d);
    return sqrt(leaf_value(l, RADIAL_VARIANCE, 0) / (double)total);
}

double spectral_one_precision(const spectral *s, const kernel *k, int64_t i)
{
    const leaf *l = &k->leaves[s->leaf[0]];
    double unused;
    return l->kind->precision(l, point(sqrt((double)prime(0)), i), &unused);
}

/* With r_d = sum_f tau_f / l_fd^2 and w = z sqrt r: rbar = wbar z / (2 sqrt r). */
static void reverse_factor(const spectral *s, const leaf *l, int64_t i, int f, const double *z, const double *Wbar,
                           double abar, double *gp)
{
    const double *root = s->root + i * s->D;
    double tau = s->precision[i * s->factors + f], tau_bar = 0, *g = gp + l->first;
    g[l->offset[RADIAL_VARIANCE]] += 0.5 * abar * s->amplitude[i] / leaf_value(l, RADIAL_VARIANCE, 0);
    for (int64_t j = 0; j < l->n_dims; j++) {
        int64_t d = l->dims[j];
        double length = leaf_value(l, RADIAL_LENGTH, j), rbar = root[d] > 0 ? 0.5 * Wbar[d] * z[d] / root[d] : 0;
        double over = rbar / (length * length);
        g[l->offset[RADIAL_LENGTH] + j * l->stride[RADIAL_LENGTH]] -= 2 * tau * over / length;
        tau_bar += over;
    }
    if (l->kind->specs[RADIAL_SHAPE].name) g[l->offset[RADIAL_SHAPE]] += tau_bar * s->slopes[i * s->factors + f];
}

void spectral_reverse(const spectral *s, const kernel *k, const double *Z, const double *Wbar, const double *abar,
                      double *gp, double *gZ)
{
    for (int64_t i = 0; i < s->M; i++) {
        int64_t t = number_of(s, i) % s->terms, at = i * s->D;
        for (int f = 0; f < s->count[t]; f++)
            reverse_factor(s, &k->leaves[s->leaf[t * s->factors + f]], i, f, Z + at, Wbar + at, abar[i], gp);
    }
    for (int64_t j = 0; gZ && j < s->M * s->D; j++) gZ[j] += Wbar[j] * s->root[j];
}

/* ------------------------------------------------------------------------------------------------ draws */

/* D normals of wave j of term t: its direction and, with other numbers, its length. */
static void normals(const spectral *s, uint64_t seed, bool lengths, int64_t t, int64_t j, double *z)
{
    random_stream r = {seed, RANDOM_FREQUENCIES, (uint64_t)(2 * t + lengths)};
    for (int64_t d = 0; d < s->D; d++) z[d] = random_normal(r, (uint64_t)(j * s->D + d));
}

/* Gram and Schmidt, twice; z is left of length 1. */
static void make_orthogonal(int64_t D, int64_t count, const double *before, int64_t step, double *z)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t b = 0; b < count; b++) la_axpy(D, -la_dot(D, before + b * step, z), before + b * step, z);
    double norm = la_norm(D, z);
    if (norm > 0) la_scale(D, 1 / norm, z);
}

/* In the order of the waves of a term; the first of a block of D has nothing before it. */
static void draw_orthogonal(const spectral *s, uint64_t seed, int64_t t, int64_t M, double *room, double *Z)
{
    int64_t D = s->D, step = s->terms * D;
    for (int64_t j = 0, i = t; i < M; j++, i += s->terms) {
        double *z = Z + i * D;
        normals(s, seed, false, t, j, z);
        make_orthogonal(D, j % D, z - j % D * step, step, z);
    }
    for (int64_t j = 0, i = t; i < M; j++, i += s->terms) {
        normals(s, seed, true, t, j, room);
        la_scale(D, la_norm(D, room), Z + i * D);
    }
}

anygp_status spectral_draw(const spectral *s, uint64_t seed, bool orthogonal, int64_t M, double *Z, anygp_error *e)
{
    double *room = mem_alloc(s->D, sizeof *room);
    if (!room) return fail_memory(e, "the frequencies", 8.0 * (double)s->D);
    for (int64_t t = 0; s->D > 0 && t < s->terms; t++)
        if (orthogonal)
            draw_orthogonal(s, seed, t, M, room, Z);
        else
            for (int64_t j = 0, i = t; i < M; j++, i += s->terms) normals(s, seed, false, t, j, Z + i * s->D);
    free(room);
    if (M >= s->terms) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "inducing: the kernel has %lld terms, and %lld frequencies are fewer; give at least one for each",
                     (long long)s->terms, (long long)M);
}
