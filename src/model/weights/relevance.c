/* Sparse Bayesian learning, a column at a time (relevance.h). */
#include "model/weights/relevance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constants.h"
#include "base/memory.h"
#include "linalg/linalg.h"

enum { ROOM_FIRST = 32, FRESH_AFTER = 64, STEPS_PER_COLUMN = 5, STEPS_LEAST = 500 };

/* A column whose share outside of those that are in is smaller than the rounding error of S cannot be judged. */
static const double SHARE_LEAST = 1e-12;

void relevance_close(relevance *r)
{
    double *const owned[] = {r->s, r->square, r->with_y, r->S, r->Q, r->G, r->Sigma, r->m, r->work};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(r->at);
    *r = (relevance){0};
}

anygp_status relevance_open(relevance *r, int64_t n, anygp_error *e)
{
    double **const vectors[] = {&r->s, &r->square, &r->with_y, &r->S, &r->Q};
    bool ok = true;
    *r = (relevance){.n = n};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        ok = (*vectors[i] = mem_alloc(n, sizeof(double))) && ok;
    ok = (r->work = mem_doubles(n, 3)) && ok;
    ok = (r->at = mem_alloc(n, sizeof *r->at)) && ok;
    return ok ? ANYGP_OK : fail_memory(e, "the relevance vectors", 72.0 * (double)n);
}

static bool make_room(relevance *r)
{
    int64_t room = r->room ? 2 * r->room : ROOM_FIRST, M = r->M;
    if (room > r->n) room = r->n;
    if (M < r->room) return true;
    double *G = mem_doubles(r->n, room), *Sigma = mem_doubles(room, room), *m = mem_alloc(room, sizeof *m);
    if (!G || !Sigma || !m) return free(G), free(Sigma), free(m), false;
    if (M) {
        memcpy(G, r->G, (size_t)(r->n * M) * sizeof *G);
        memcpy(m, r->m, (size_t)M * sizeof *m);
        for (int64_t j = 0; j < M; j++) memcpy(Sigma + j * room, r->Sigma + j * r->room, (size_t)M * sizeof *Sigma);
    }
    free(r->G), free(r->Sigma), free(r->m);
    r->G = G, r->Sigma = Sigma, r->m = m, r->room = room;
    return true;
}

/* ------------------------------------------------------------------------------------ from the start */

/* P = F F' = A + beta Phi'Phi of the columns that are in; P[M,M] gets F.  False: not positive definite to rounding. */
static bool factor_precision(const relevance *r, double *P)
{
    int64_t n = r->n, M = r->M;
    for (int64_t j = 0; j < M; j++) {
        for (int64_t i = 0; i < M; i++) P[i + j * M] = r->beta * r->G[r->at[i] + j * n];
        P[j + j * M] += r->s[r->at[j]];
    }
    return la_factor(M, P, M);
}

/* Sigma, m and the evidence from F, which becomes Sigma. */
static void take_weights(relevance *r, double *F)
{
    int64_t M = r->M;
    double *t = r->work, fit = 0, logdet = la_logdet(M, F, M);
    la_potri(M, F, M);
    la_mirror(M, F, M);
    for (int64_t j = 0; j < M; j++) memcpy(r->Sigma + j * r->room, F + j * M, (size_t)M * sizeof *F);
    for (int64_t j = 0; j < M; j++) t[j] = r->beta * r->with_y[r->at[j]];
    la_gemv(LA_N, M, M, 1, F, M, t, 0, r->m);
    for (int64_t j = 0; j < M; j++) fit += r->m[j] * t[j], logdet -= log(r->s[r->at[j]]);
    r->evidence += 0.5 * (fit - logdet);
}

/* S and Q given F and m; T: n x M. */
static void take_factors(relevance *r, const double *F, double *T)
{
    int64_t n = r->n, M = r->M;
    memcpy(T, r->G, (size_t)(n * M) * sizeof *T);
    la_trsm(LA_RIGHT, LA_T, n, M, r->beta, F, M, T, n);
    for (int64_t j = 0; j < M; j++)
        for (int64_t i = 0; i < n; i++) r->S[i] -= T[i + j * n] * T[i + j * n];
}

/* Everything from s alone; weights_only: not S and Q, which are those of another s then. */
static bool compute(relevance *r, bool weights_only)
{
    int64_t n = r->n, M = r->M;
    r->evidence = -0.5 * ((double)n * (LOG_2PI - log(r->beta)) + r->beta * r->yy);
    r->since = 0;
    for (int64_t i = 0; i < n && !weights_only; i++) r->S[i] = r->beta * r->square[i], r->Q[i] = r->beta * r->with_y[i];
    if (M == 0) return true;
    double *F = mem_doubles(M, M), *T = weights_only ? NULL : mem_doubles(n, M);
    bool ok = F && (T || weights_only) && factor_precision(r, F);
    if (ok) {
        if (!weights_only) take_factors(r, F, T);
        take_weights(r, F);
        if (!weights_only) la_gemv(LA_N, n, M, -r->beta, r->G, n, r->m, 1, r->Q);
    }
    free(F);
    free(T);
    return ok && isfinite(r->evidence);
}

void relevance_begin(relevance *r, const double *Phi, const double *y, double beta)
{
    int64_t n = r->n;
    r->Phi = Phi, r->y = y, r->beta = beta, r->M = 0;
    r->yy = la_dot(n, y, y);
    for (int64_t i = 0; i < n; i++) {
        r->s[i] = INFINITY;
        r->square[i] = la_dot(n, Phi + i * n, Phi + i * n);
    }
    la_gemv(LA_T, n, n, 1, Phi, n, y, 0, r->with_y);
    (void)compute(r, false);
}

/* ------------------------------------------------------------------------------------ one column's share */

/* l(s), (18). */
static double share(double s, double z, double q) { return 0.5 * (log(s / (s + z)) + q * q / (s + z)); }

/* The maximum of l; infinite: out. */
static double best_precision(double z, double q) { return q * q > z ? z * z / (q * q - z) : INFINITY; }

/* Of the column in place j. */
static void without_itself(const relevance *r, int64_t j, double *z, double *q)
{
    double variance = r->Sigma[j + j * r->room];
    *z = 1 / variance - r->s[r->at[j]], *q = r->m[j] / variance;
}

/* The best change of a column that is in. */
static void best_inside(const relevance *r, relevance_step *best, int64_t *place)
{
    for (int64_t j = 0; j < r->M; j++) {
        int64_t i = r->at[j];
        double z, q;
        without_itself(r, j, &z, &q);
        if (!(z > SHARE_LEAST * r->beta * r->square[i])) continue;
        double s = best_precision(z, q), gain = (isfinite(s) ? share(s, z, q) : 0) - share(r->s[i], z, q);
        if (!(gain > best->gain)) continue;
        *best = (relevance_step){isfinite(s) ? RELEVANCE_MOVE : RELEVANCE_DROP, i, gain}, *place = j;
    }
}

static void best_outside(const relevance *r, relevance_step *best)
{
    for (int64_t i = 0; i < r->n; i++) {
        double z = r->S[i], q = r->Q[i];
        if (isfinite(r->s[i]) || !(z > SHARE_LEAST * r->beta * r->square[i]) || !(q * q > z)) continue;
        double gain = share(best_precision(z, q), z, q);
        if (gain > best->gain) *best = (relevance_step){RELEVANCE_ADD, i, gain};
    }
}

/* -------------------------------------------------------------------------------------------- steps */

/* Sigma - f c c', m - f g c, S + f v^2, Q + f g v, with c a column of Sigma, g its mean and v = beta G c. */
static void change(relevance *r, int64_t j, double f)
{
    int64_t n = r->n, M = r->M;
    double *c = r->work, *v = c + n, g = r->m[j];
    memcpy(c, r->Sigma + j * r->room, (size_t)M * sizeof *c);
    la_gemv(LA_N, n, M, r->beta, r->G, n, c, 0, v);
    for (int64_t k = 0; k < M; k++) la_axpy(M, -f * c[k], c, r->Sigma + k * r->room);
    la_axpy(M, -f * g, c, r->m);
    for (int64_t i = 0; i < n; i++) r->S[i] += f * v[i] * v[i], r->Q[i] += f * g * v[i];
}

static void move(relevance *r, int64_t j)
{
    int64_t i = r->at[j];
    double z, q, former = r->s[i];
    without_itself(r, j, &z, &q);
    r->s[i] = best_precision(z, q);
    double by = r->s[i] - former;
    change(r, j, by / (by * r->Sigma[j + j * r->room] + 1));
}

/* The last one takes its place. */
static void drop(relevance *r, int64_t j)
{
    int64_t last = r->M - 1, room = r->room;
    change(r, j, 1 / r->Sigma[j + j * room]);
    r->s[r->at[j]] = INFINITY;
    r->at[j] = r->at[last];
    memcpy(r->G + j * r->n, r->G + last * r->n, (size_t)r->n * sizeof *r->G * (j != last));
    for (int64_t k = 0; k <= last; k++) r->Sigma[k + j * room] = r->Sigma[k + last * room];
    for (int64_t k = 0; k <= last; k++) r->Sigma[j + k * room] = r->Sigma[last + k * room];
    r->m[j] = r->m[last];
    r->M--;
}

static bool add(relevance *r, int64_t i)
{
    int64_t n = r->n, M = r->M;
    if (!make_room(r)) return false;
    double s = best_precision(r->S[i], r->Q[i]), variance = 1 / (s + r->S[i]), mean = variance * r->Q[i];
    double *g = r->G + M * n, *row = r->work, *u = row + n, *v = u + n;
    la_gemv(LA_T, n, n, 1, r->Phi, n, r->Phi + i * n, 0, g);
    for (int64_t k = 0; k < M; k++) row[k] = r->beta * r->G[i + k * n];
    for (int64_t k = 0; k < M; k++) u[k] = la_dot(M, r->Sigma + k * r->room, row);
    memcpy(v, g, (size_t)n * sizeof *v);
    if (M) la_gemv(LA_N, n, M, -1, r->G, n, u, 1, v);
    for (int64_t k = 0; k < M; k++) {
        la_axpy(M, variance * u[k], u, r->Sigma + k * r->room);
        r->Sigma[k + M * r->room] = r->Sigma[M + k * r->room] = -variance * u[k];
        r->m[k] -= mean * u[k];
    }
    r->Sigma[M + M * r->room] = variance, r->m[M] = mean;
    for (int64_t k = 0; k < n; k++) {
        double b = r->beta * v[k];
        r->S[k] -= variance * b * b, r->Q[k] -= mean * b;
    }
    r->s[i] = s, r->at[r->M++] = i;
    return true;
}

bool relevance_next(relevance *r, bool add_too, double least, relevance_step *step)
{
    int64_t place = -1;
    *step = (relevance_step){RELEVANCE_NONE, -1, least};
    best_inside(r, step, &place);
    if (add_too) best_outside(r, step);
    if (step->action == RELEVANCE_NONE) {
        step->gain = 0;
        return true;
    }
    if (step->action == RELEVANCE_ADD) {
        if (!add(r, step->which)) return false;
    } else if (step->action == RELEVANCE_MOVE)
        move(r, place);
    else
        drop(r, place);
    r->evidence += step->gain;
    return ++r->since < FRESH_AFTER || compute(r, false);
}

/* ------------------------------------------------------------------------------ all columns at once */

/* Of the evidence in log s of the columns that are in: g[M] and minus the Hessian H[M,M], lower triangle. */
static void derivatives(const relevance *r, double *g, double *H)
{
    int64_t M = r->M;
    for (int64_t j = 0; j < M; j++) {
        const double *c = r->Sigma + j * r->room;
        double sj = r->s[r->at[j]], own = sj * (c[j] + r->m[j] * r->m[j]);
        g[j] = 0.5 * (1 - own);
        for (int64_t i = j; i < M; i++)
            H[i + j * M] = -0.5 * sj * r->s[r->at[i]] * (c[i] + 2 * r->m[i] * r->m[j]) * c[i];
        H[j + j * M] += 0.5 * own;
    }
}

/* The step (H + damping I)^-1 g, each part of it at most 1, with as much damping as it takes; H is used up. */
static bool newton_step(int64_t M, double damping, double *H, double *g)
{
    for (int64_t j = 0; j < M; j++) H[j + j * M] += damping;
    if (!la_factor(M, H, M)) return false;
    la_trsv(LA_N, M, H, M, g);
    la_trsv(LA_T, M, H, M, g);
    for (int64_t j = 0; j < M; j++) g[j] = fmax(-1, fmin(1, g[j]));
    return true;
}

static void scale_all(relevance *r, const double *former, const double *step)
{
    for (int64_t j = 0; j < r->M; j++) r->s[r->at[j]] = former[j] * exp(step[j]);
}

/* Newton steps in log s of all columns that are in, since one at a time is slow where they are alike. */
static bool polish(relevance *r)
{
    enum { STEPS = 30 };
    static const double FLAT = 1e-10, DAMPING_LEAST = 1e-8, DAMPING_MOST = 1e4;
    int64_t M = r->M;
    double *H = mem_doubles(M, M), *g = mem_doubles(M, 3), *former = g + M, *step = former + M, damping = DAMPING_LEAST;
    bool ok = H && g && compute(r, true);
    for (int t = 0; ok && t < STEPS && damping < DAMPING_MOST; t++) {
        double before = r->evidence, steepest = 0;
        derivatives(r, g, H);
        for (int64_t j = 0; j < M; j++) steepest = fmax(steepest, fabs(g[j])), former[j] = r->s[r->at[j]];
        if (steepest < FLAT) break;
        memcpy(step, g, (size_t)M * sizeof *step);
        bool moved = newton_step(M, damping, H, step);
        if (moved) {
            scale_all(r, former, step);
            moved = compute(r, true) && r->evidence >= before;
        }
        damping = moved ? fmax(damping / 10, DAMPING_LEAST) : 10 * damping;
        if (moved) continue;
        memset(step, 0, (size_t)M * sizeof *step);
        scale_all(r, former, step);
        ok = compute(r, true);
    }
    ok = ok && compute(r, false);
    free(H);
    free(g);
    return ok;
}

/* Single steps until none gains as much as that, or there were too many. */
static bool steps_until(relevance *r, bool add_too, double least, int64_t *count)
{
    relevance_step step;
    for (int64_t left = STEPS_LEAST + STEPS_PER_COLUMN * r->n; left > 0; left--) {
        if (!relevance_next(r, add_too, least, &step)) return false;
        if (step.action == RELEVANCE_NONE) break;
        ++*count;
    }
    return true;
}

bool relevance_climb(relevance *r, bool add_too, double least)
{
    enum { ROUNDS = 12 };
    static const double COARSE = 1e-1, FINER = 1e-2;
    double level = fmax(COARSE, least);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t count = 0;
        if (!steps_until(r, add_too, level, &count)) return false;
        if (round > 0 && level == least && count == 0) return true;
        if (!polish(r)) return false;
        level = fmax(level * FINER, least);
    }
    return true;
}

int64_t relevance_prune(relevance *r, const double *limit, double least)
{
    int64_t before = r->M;
    for (bool more = true; more;) {
        more = false;
        for (int64_t j = r->M - 1; j >= 0; j--)
            if (r->s[r->at[j]] > limit[r->at[j]]) drop(r, j), more = true;
        if (more && (!compute(r, false) || !relevance_climb(r, false, least))) return -1;
    }
    return before - r->M;
}
