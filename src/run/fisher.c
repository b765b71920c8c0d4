/* Fisher scoring (fisher.h).  The information may come from a sample of the rows; where the expected gain is small in some direction, it
   has a floor. */
#include "run/fisher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/linalg.h"

static const double FLOOR = 1e-8, STEP = 1e-3; /* of the largest diagonal; in u */

/* A[free,free] = J'F J. */
static void to_free(const hyper *h, double *F, double *gp, double *A, double *half)
{
    int64_t n = h->count, free_ = h->free;
    la_mirror(n, F, n);
    memset(gp, 0, (size_t)hyper_size(h) * sizeof *gp);
    for (int64_t j = 0; j < n; j++) {
        memcpy(gp, F + j * n, (size_t)n * sizeof *gp);
        hyper_chain(h, gp, half + j * free_); /* free x n: J'F */
    }
    for (int64_t i = 0; i < free_; i++) {
        for (int64_t j = 0; j < n; j++) gp[j] = half[i + j * free_];
        hyper_chain(h, gp, A + i * free_);
    }
}

/* The prior is a product over the parameters: its curvature is a diagonal. */
static void add_prior(hyper *h, double *u, double *up, double *down, double *A)
{
    int64_t n = h->free;
    hyper_pack(h, u);
    for (int64_t i = 0; i < n; i++) {
        double at = u[i];
        memset(up, 0, (size_t)n * sizeof *up);
        memset(down, 0, (size_t)n * sizeof *down);
        u[i] = at + STEP, hyper_unpack(h, u), hyper_log_prior(h, up);
        u[i] = at - STEP, hyper_unpack(h, u), hyper_log_prior(h, down);
        u[i] = at;
        A[i + i * n] += fmax(0, (down[i] - up[i]) / (2 * STEP));
    }
    hyper_unpack(h, u);
}

static bool solve(int64_t n, double *A, double *d)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, A[i + i * n]);
    if (!(most > 0) || !isfinite(most)) return false;
    for (int64_t i = 0; i < n; i++) A[i + i * n] += FLOOR * most;
    if (!la_all_finite(n * n, A) || !la_factor(n, A, n)) return false;
    la_trsv(LA_N, n, A, n, d);
    la_trsv(LA_T, n, A, n, d);
    return la_all_finite(n, d);
}

bool fisher_step(const model_ops *model, void *state, hyper *h, double *d)
{
    int64_t n = h->count, m = h->free;
    double *room = mem_zeroed(n * n + hyper_size(h) + m * m + m * n + 3 * m, sizeof *room);
    if (!room) return false;
    double *F = room, *gp = F + n * n, *A = gp + hyper_size(h), *half = A + m * m, *u = half + m * n;
    bool ok = model->information(state, h, F);
    if (ok) {
        to_free(h, F, gp, A, half);
        add_prior(h, u, u + m, u + 2 * m, A);
        ok = solve(m, A, d);
    }
    free(room);
    return ok;
}
