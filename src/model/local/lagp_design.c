/* Designs of lagp (lagp.h). */
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/local/lagp.h"

static const double STEP = LAGP_STEP;
static const double LEAST = 1e-12; /* of the prior variance: a candidate with less of it left adds nothing */

/* What is known of the candidates and of x given the design, at one length-scale. */
typedef struct state {
    const kernel *kernel;
    double *V;          /* n x rows: v_c, an element of all candidates in a column */
    double *t, *s;      /* n */
    double *mu;         /* n: mean of y_c */
    double *v;          /* rows: of x */
    double *row;        /* n */
    double var, mean;   /* of f(x) */
    double log_density; /* of the design, up to a constant */
} state;

typedef struct design {
    const lagp_near *near;
    int64_t n, D, rows;
    int64_t j;       /* rows so far */
    int32_t *chosen; /* rows */
    bool *taken;     /* n */
    double *least;   /* n: of t */
    int states;
    state at[LAGP_KERNELS];
    double *L, *Z, *z; /* ray: rows x rows, rows x D, D */
} design;

static int states_of(const lagp_kind *k) { return k->design == DESIGN_MSPE ? LAGP_KERNELS : 1; }
static int64_t state_doubles(int64_t n, int64_t rows) { return n * (rows + 4) + rows; }

int64_t design_doubles(const lagp_kind *k, int64_t n, int64_t D, int64_t rows)
{
    int64_t flags = (n * (int64_t)sizeof(bool) + 7) / 8, ray = k->design == DESIGN_RAY ? rows * (rows + D) + D : 0;
    return states_of(k) * state_doubles(n, rows) + n + flags + ray;
}

static double *take(double **at, int64_t n) { return (*at += n) - n; }

static state place_state(const kernel *k, int64_t n, int64_t rows, double **at)
{
    return (state){.kernel = k,
                   .V = take(at, n * rows),
                   .t = take(at, n),
                   .s = take(at, n),
                   .mu = take(at, n),
                   .row = take(at, n),
                   .v = take(at, rows)};
}

static bool begin_state(const design *d, state *s)
{
    const lagp_near *near = d->near;
    kernel_diag(s->kernel, d->n, near->X, d->D, s->t);
    kernel_diag(s->kernel, 1, near->x, d->D, &s->var);
    for (int64_t i = 0; i < d->n; i++) d->least[i] = LEAST * s->t[i], s->t[i] += near->noise[i], s->mu[i] = 0;
    s->mean = s->log_density = 0;
    return kernel_gram(s->kernel, d->n, near->X, d->D, 1, near->x, d->D, s->s, d->n);
}

/* ------------------------------------------------------------------------------------------ a row joins */

static bool join_state(const design *d, int64_t p, state *s)
{
    int64_t n = d->n, j = d->j;
    double root = sqrt(s->t[p]), z = (d->near->y[p] - s->mu[p]) / root, own = s->s[p] / root, *w = s->V + j * n;
    double *vp = s->row;
    const double *X = d->near->X;
    if (!kernel_gram(s->kernel, n, X, d->D, 1, X + p * d->D, d->D, w, n)) return false;
    for (int64_t r = 0; r < j; r++) vp[r] = s->V[p + r * n];
    if (j) la_gemv(LA_N, n, j, -1, s->V, n, vp, 1, w);
    for (int64_t i = 0; i < n; i++) {
        double v = w[i] /= root;
        s->t[i] -= v * v, s->s[i] -= v * own, s->mu[i] += v * z;
    }
    s->v[j] = own, s->var -= own * own, s->mean += own * z;
    s->log_density -= log(root) + 0.5 * z * z;
    return true;
}

static bool join(design *d, int64_t p)
{
    for (int i = 0; i < d->states; i++)
        if (!join_state(d, p, &d->at[i])) return false;
    d->taken[p] = true, d->chosen[d->j++] = (int32_t)p;
    return true;
}

/* Whether candidate i can join. */
static bool is_open(const design *d, int64_t i) { return !d->taken[i] && d->at[0].t[i] > d->least[i]; }

/* ------------------------------------------------------------------------------------------ criteria */

/* -1: none adds anything. */
static int64_t best_alc(const design *d)
{
    const state *s = &d->at[0];
    int64_t best = -1;
    double most = -1;
    for (int64_t i = 0; i < d->n; i++) {
        double gain = s->s[i] * s->s[i];
        if (gain > most * s->t[i] && is_open(d, i)) best = i, most = gain / s->t[i];
    }
    return best;
}

static double slope(double below, double above) { return (above - below) / (2 * STEP); }

static double error_with(const design *d, int64_t i, double information, double dmean)
{
    const state *s = &d->at[0], *below = &d->at[1], *above = &d->at[2];
    double t = s->t[i], dt = slope(below->t[i], above->t[i]) / t, dmu = slope(below->mu[i], above->mu[i]);
    double known = information + 0.5 * dt * dt + dmu * dmu / t;
    double learned = known > 0 ? dmean * dmean / known : 0;
    return s->var - s->s[i] * s->s[i] / t + learned;
}

static int64_t best_mspe(const design *d)
{
    const state *s = &d->at[0], *below = &d->at[1], *above = &d->at[2];
    double curvature = (above->log_density - 2 * s->log_density + below->log_density) / (STEP * STEP);
    double dmean = slope(below->mean, above->mean), least = INFINITY;
    int64_t best = -1;
    for (int64_t i = 0; i < d->n; i++) {
        if (!is_open(d, i)) continue;
        double error = error_with(d, i, fmax(0, -curvature), dmean);
        if (best < 0 || error < least) best = i, least = error;
    }
    return best;
}

static int64_t best_nearest(const design *d)
{
    int64_t i = 0;
    while (i < d->n && !is_open(d, i)) i++;
    return i < d->n ? i : -1;
}

static anygp_status choose_greedily(design *d, int64_t start, int64_t (*best)(const design *d), anygp_error *e)
{
    for (int i = 0; i < d->states; i++)
        if (!begin_state(d, &d->at[i])) return fail_memory(e, "kernel tiles", 0);
    while (d->j < d->rows) {
        int64_t p = d->j < start ? best_nearest(d) : best(d);
        if (p < 0) break;
        if (!join(d, p)) return fail_memory(e, "kernel tiles", 0);
    }
    return ANYGP_OK;
}

/* ----------------------------------------------------------------------------------------------- rays */

enum { LOOKS = 12 }; /* along a ray */
static const double FAR = 10, GOLDEN = 0.61803398874989485;

/* s^2 / t at z, with the noise of a row of weight 1; k: rows of room. */
static bool gain_at(const design *d, const double *z, double noise, double *k, double *gain)
{
    const lagp_near *near = d->near;
    double own, to_x;
    kernel_diag(d->at[0].kernel, 1, z, d->D, &own);
    if (!kernel_gram(d->at[0].kernel, d->j, d->Z, d->D, 1, z, d->D, k, d->rows) ||
        !kernel_gram(d->at[0].kernel, 1, z, d->D, 1, near->x, d->D, &to_x, 1))
        return false;
    la_trsv(LA_N, d->j, d->L, d->rows, k);
    double t = own + noise - la_dot(d->j, k, k), s = to_x - la_dot(d->j, k, d->at[0].v);
    *gain = t > LEAST * own ? s * s / t : 0;
    return true;
}

static void point_on(const design *d, int64_t from, double far, double *z)
{
    const double *a = d->near->X + from * d->D;
    for (int64_t i = 0; i < d->D; i++) z[i] = a[i] + (d->near->weight[i] > 0 ? far * (a[i] - d->near->x[i]) : 0);
}

/* The place of the largest gain on the ray from candidate `from`, by golden section. */
static bool search_ray(const design *d, int64_t from, double *z)
{
    double low = 0, high = FAR, a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low), ga, gb;
    double noise = d->near->noise[from], *k = d->at[0].row;
    point_on(d, from, a, z);
    if (!gain_at(d, z, noise, k, &ga)) return false;
    point_on(d, from, b, z);
    if (!gain_at(d, z, noise, k, &gb)) return false;
    for (int i = 2; i < LOOKS; i++) {
        bool left = ga >= gb;
        if (left)
            high = b, b = a, gb = ga, a = high - GOLDEN * (high - low);
        else
            low = a, a = b, ga = gb, b = low + GOLDEN * (high - low);
        point_on(d, from, left ? a : b, z);
        if (!gain_at(d, z, noise, k, left ? &ga : &gb)) return false;
    }
    point_on(d, from, ga >= gb ? a : b, z);
    return true;
}

/* The open candidate nearest to z. */
static int64_t nearest_to(const design *d, const double *z)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < d->n; i++) {
        double sum = 0;
        for (int64_t a = 0; a < d->D; a++) {
            double gap = d->near->weight[a] * (d->near->X[i * d->D + a] - z[a]);
            sum += gap * gap;
        }
        if (!d->taken[i] && sum < least) best = i, least = sum;
    }
    return best;
}

/* The open candidate number `rank`, from 0, in the order of their distances to x; fewer than that: the last. */
static int64_t open_at(const design *d, int64_t rank)
{
    int64_t last = -1;
    for (int64_t i = 0; i < d->n; i++) {
        if (d->taken[i]) continue;
        last = i;
        if (rank-- == 0) break;
    }
    return last;
}

static bool best_on_ray(const design *d, int64_t start, double *z, int64_t *p)
{
    int64_t turns = (int64_t)sqrt((double)d->j), from = open_at(d, turns > 0 ? (d->j - start) % turns : 0);
    *p = from;
    if (from < 0) return true;
    if (!search_ray(d, from, z)) return false;
    *p = nearest_to(d, z);
    return true;
}

/* Row p joins the factor of the design; false: no memory.  One that adds nothing is passed over. */
static bool join_factor(design *d, int64_t p)
{
    const lagp_near *near = d->near;
    state *s = &d->at[0];
    double *k = s->row, own, to_x;
    const double *z = near->X + p * d->D;
    int64_t j = d->j;
    kernel_diag(d->at[0].kernel, 1, z, d->D, &own);
    if (!kernel_gram(d->at[0].kernel, j, d->Z, d->D, 1, z, d->D, k, d->rows) ||
        !kernel_gram(d->at[0].kernel, 1, z, d->D, 1, near->x, d->D, &to_x, 1))
        return false;
    la_trsv(LA_N, j, d->L, d->rows, k);
    double t = own + near->noise[p] - la_dot(j, k, k);
    d->taken[p] = true;
    if (!(t > LEAST * own)) return true;
    for (int64_t r = 0; r < j; r++) d->L[j + r * d->rows] = k[r];
    d->L[j + j * d->rows] = sqrt(t);
    s->v[j] = (to_x - la_dot(j, k, s->v)) / sqrt(t);
    memcpy(d->Z + j * d->D, z, (size_t)d->D * sizeof *z);
    d->chosen[d->j++] = (int32_t)p;
    return true;
}

static anygp_status choose_by_rays(design *d, int64_t start, anygp_error *e)
{
    while (d->j < d->rows) {
        int64_t p = open_at(d, 0);
        bool ok = d->j < start || best_on_ray(d, start, d->z, &p);
        if (ok && p < 0) break;
        if (!ok || !join_factor(d, p)) return fail_memory(e, "kernel tiles", 0);
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------------ all */

anygp_status design_choose(const lagp_kind *k, const lagp_near *near, int64_t rows, double *room, int32_t *chosen,
                           int64_t *count, anygp_error *e)
{
    design d = {.near = near, .n = near->n, .D = near->D, .rows = rows, .chosen = chosen, .states = states_of(k)};
    anygp_status status = ANYGP_OK;
    for (int i = 0; i < d.states; i++) d.at[i] = place_state(near->kernel[i], d.n, rows, &room);
    d.least = take(&room, d.n);
    if (k->design == DESIGN_RAY) d.L = take(&room, rows * rows), d.Z = take(&room, rows * d.D), d.z = take(&room, d.D);
    d.taken = (bool *)room;
    memset(d.taken, 0, (size_t)d.n * sizeof *d.taken);
    if (k->design == DESIGN_NN || d.n <= rows)
        for (; d.j < d.n && d.j < rows; d.j++) chosen[d.j] = (int32_t)d.j;
    else if (k->design == DESIGN_RAY)
        status = choose_by_rays(&d, k->start, e);
    else
        status = choose_greedily(&d, k->start, k->design == DESIGN_ALC ? best_alc : best_mspe, e);
    *count = d.j;
    return status;
}
