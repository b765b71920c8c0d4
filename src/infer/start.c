#include "infer/start.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "linalg/linalg.h"

enum { SCAN_ROWS = 300, CYCLES_MOST = 100, CYCLES_SCANNED = 8 };

anygp_status start_subset(const problem *p, int64_t size, merged *out, anygp_error *e)
{
    int64_t k = size < p->rows->n ? size : p->rows->n, *chosen = mem_alloc(k, sizeof *chosen);
    if (!chosen) return fail_memory(e, "a subset", 8.0 * (double)k);
    random_subset((random_stream){p->seed, RANDOM_SUBSET, 1}, p->rows->n, k, chosen);
    anygp_status status = merged_select(p->rows, k, chosen, out, e);
    free(chosen);
    return status;
}

void start_perturb(hyper *h, uint64_t seed, int64_t restart)
{
    random_stream s = {seed, RANDOM_RESTART, (uint64_t)restart};
    for (int64_t i = 0; i < h->count; i++) {
        const hyper_param *p = &h->param[i];
        if (p->free) hyper_set(h, i, p->lower + (hyper_get(h, i) - p->lower) * exp(random_normal(s, (uint64_t)i)));
    }
}

/* --------------------------------------------------------------------------------------- scans */

typedef struct scan {
    void *state; /* the exact model on the subset */
    hyper *h;
    double best;
    double *best_value;      /* natural parameters at the best */
    double *first;           /* natural parameters the scan started from */
    bool (*stop)(void *ctx); /* asked before each trial; then nothing more is tried */
    void *ctx;
} scan;

static bool movable(const hyper *h, int64_t i) { return h->param[i].free && !h->param[i].given; }

static void try_here(scan *s)
{
    double jitter = 0, value;
    if (s->stop(s->ctx)) return;
    if (!model_exact.evaluate(s->state, s->h, true, &jitter, &value, NULL)) return;
    value += hyper_log_prior(s->h, NULL);
    if (!(value > s->best)) return;
    s->best = value;
    hyper_natural(s->h, s->best_value);
}

static void set_all(hyper *h, const double *values)
{
    for (int64_t i = 0; i < h->count; i++) hyper_set(h, i, values[i]);
}

static const double length_factors[] = {1, 2.5, 0.5, 0.2}, noise_factors[] = {1, 0.1, 0.01, 5};

/* Lengths and noise at the start's times these factors; the rest stays as it is. */
static void set_lengths_and_noise(scan *s, double length, double noise)
{
    int64_t P = hyper_kernel_params(s->h);
    for (int64_t i = 0; i < P; i++)
        if (movable(s->h, i) && kernel_param_at(s->h->kernel, i)->role == ROLE_LENGTH)
            hyper_set(s->h, i, s->first[i] * length);
    if (movable(s->h, P)) hyper_set(s->h, P, s->first[P] * noise);
}

static void scan_lengths_and_noise(scan *s)
{
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            set_lengths_and_noise(s, length_factors[a], noise_factors[b]);
            try_here(s);
        }
    set_all(s->h, s->best_value);
}

/* Extent of a column, or of the widest one (-1). */
static double extent(const merged *m, int64_t dim)
{
    double widest = 0;
    for (int64_t j = dim < 0 ? 0 : dim; j < (dim < 0 ? m->D : dim + 1); j++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < m->n; i++) low = fmin(low, m->X[i * m->D + j]), high = fmax(high, m->X[i * m->D + j]);
        widest = fmax(widest, high - low);
    }
    return widest;
}

/* The evidence has a narrow ridge at each number of cycles over the data, so every half cycle is tried; and where
   a short length-scale explains the cycles instead, only longer ones let them show. */
static void scan_cycles(scan *s, const merged *m, int64_t i, int lengths, int noises)
{
    const kernel_param *p = kernel_param_at(s->h->kernel, i);
    double range = extent(m, p->column);
    if (!(range > 0)) return;
    for (int a = 0; a < lengths; a++)
        for (int b = 0; b < noises; b++) {
            set_lengths_and_noise(s, length_factors[a], noise_factors[b]);
            for (double cycles = 0.5; cycles <= fmin(CYCLES_MOST, 0.5 * (double)m->n); cycles += 0.5) {
                hyper_set(s->h, i, p->role == ROLE_PERIOD ? range / cycles : cycles / range);
                try_here(s);
            }
        }
    set_all(s->h, s->best_value);
}

/* A smooth cycle also shows at twice or three times its period, with a shape of the same roughness: try the shorter
   ones with a smoother shape. */
static void scan_harmonics(scan *s, int64_t i)
{
    double period = hyper_get(s->h, i);
    int64_t leaf = kernel_param_at(s->h->kernel, i)->leaf;
    for (int divide = 1; divide <= 3; divide++)
        for (int smooth = 1; smooth <= 4; smooth *= 2) {
            set_all(s->h, s->best_value);
            hyper_set(s->h, i, period / divide);
            for (int64_t j = 0; j < hyper_kernel_params(s->h); j++) {
                const kernel_param *p = kernel_param_at(s->h->kernel, j);
                if (p->leaf == leaf && p->role == ROLE_SHAPE && movable(s->h, j))
                    hyper_set(s->h, j, s->first[j] * smooth);
            }
            try_here(s);
        }
    set_all(s->h, s->best_value);
}

static bool is_cycle(const hyper *h, int64_t i)
{
    param_role role = kernel_param_at(h->kernel, i)->role;
    return movable(h, i) && (role == ROLE_PERIOD || role == ROLE_FREQUENCY);
}

static void scan_all_cycles(scan *s, const merged *m)
{
    int64_t count = 0;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++) count += is_cycle(s->h, i);
    if (count > CYCLES_SCANNED) return;
    for (int64_t i = 0; i < hyper_kernel_params(s->h); i++)
        if (is_cycle(s->h, i)) {
            scan_cycles(s, m, i, 2, count == 1 ? 3 : 1);
            if (kernel_param_at(s->h->kernel, i)->role == ROLE_PERIOD) scan_harmonics(s, i);
        }
}

anygp_status start_from_data(const problem *p, hyper *h, bool (*stop)(void *ctx), void *ctx, anygp_error *e)
{
    merged few = {0};
    scan s = {.h = h, .best = -INFINITY, .stop = stop, .ctx = ctx};
    anygp_status status = ANYGP_OK;
    TRY_DONE(start_subset(p, SCAN_ROWS, &few, e));
    problem small = *p;
    small.rows = &few;
    TRY_DONE(model_exact.open(&model_exact, &small, h, &s.state, e));
    s.best_value = mem_alloc(h->count, sizeof(double));
    s.first = mem_alloc(h->count, sizeof(double));
    if (!s.best_value || !s.first) {
        status = fail_memory(e, "a scan", 16.0 * (double)h->count);
        goto done;
    }
    hyper_natural(h, s.first);
    hyper_natural(h, s.best_value);
    scan_lengths_and_noise(&s);
    scan_all_cycles(&s, &few);
done:
    model_exact.close(s.state);
    merged_clear(&few);
    free(s.best_value);
    free(s.first);
    return status;
}

/* ---------------------------------------------------------------------------- with inducing inputs */

enum { VARIANCE_ROWS = 1000 };

/* Mean of k(x, x) - |L^-1 k_u(x)|^2 over n rows X, and in *prior that of k(x, x); L[M,M] and A[M,n] are workspace.  0 where
   K_uu has no factor. */
static double variance_left(const hyper *h, int64_t n, const double *X, double *L, double *A, double *diag,
                            double *prior)
{
    int64_t M = h->M, D = h->D;
    double added, left = 0;
    *prior = 0;
    if (!kernel_gram_sym(h->kernel, M, h->Z, D, L, M) || !la_cholesky(M, L, M, 1e-8, diag, &added)) return 0;
    if (!kernel_gram(h->kernel, M, h->Z, D, n, X, D, A, M)) return 0;
    la_trsm(LA_LEFT, LA_N, M, n, 1, L, M, A, M);
    kernel_diag(h->kernel, n, X, D, diag);
    for (int64_t j = 0; j < n; j++) {
        left += fmax(diag[j] - la_dot(M, A + j * M, A + j * M), 0) / (double)n;
        *prior += diag[j] / (double)n;
    }
    return left;
}

anygp_status start_left_by_inducing(const problem *p, const hyper *h, double *left, double *share, anygp_error *e)
{
    merged few = {0};
    double prior = 0;
    TRY(start_subset(p, VARIANCE_ROWS, &few, e));
    int64_t n = few.n, M = h->M;
    double *L = mem_doubles(M, M), *A = mem_doubles(M, n), *diag = mem_alloc(M > n ? M : n, sizeof *diag);
    bool ok = L && A && diag;
    *left = ok ? variance_left(h, n, few.X, L, A, diag, &prior) : 0;
    *share = prior > 0 ? *left / prior : 0;
    free(L);
    free(A);
    free(diag);
    merged_clear(&few);
    return ok ? ANYGP_OK : fail_memory(e, "the start", 8.0 * (double)M * (double)(M + n));
}

/* A variance, or a scale, of what the target has beyond the function; learned from a start that the user did not give. */
static bool is_spread(const hyper_param *p) { return p->free && !p->given && !p->real && p->power > 0; }

void start_noise_of_inducing(hyper *h, double left)
{
    for (int64_t i = 0; i < h->likes; i++) {
        const hyper_param *p = &h->param[hyper_kernel_params(h) + i];
        if (is_spread(p)) h->like[i] = fmax(h->like[i], p->power == 2 ? left : sqrt(left));
    }
}
