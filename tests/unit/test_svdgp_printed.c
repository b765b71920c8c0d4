/* svdgp-sga is algorithm 1 of 001 as printed: a transcript of its first steps by dense matrices in extended precision, from equations
   8 to 10 and 15, the notes of appendix A.1.1 and section 4, with gradients by differences. */
#include "svdgp_runs.h"

enum { N_DELTA = 2, ALPHA = 4, BETA = 3, STEPS = 4, TRIANGLE = BETA * (BETA + 1) / 2, HYPER = 2 + D };
static const double GAMMA = 0.05;

/* Everything that moves, one after the other; bases that are not there yet have taken no step. */
enum {
    A = 0,
    PLACE_A = A + ALPHA,
    WIDTH_A = PLACE_A + ALPHA * D,
    L_AT = WIDTH_A + ALPHA * D,
    PLACE_B = L_AT + TRIANGLE,
    WIDTH_B = PLACE_B + BETA * D,
    U = WIDTH_B + BETA * D, /* log of variance, lengths and noise, above their least values */
    ALL = U + HYPER
};

typedef struct transcript {
    const fixture *f;
    int Ma, Mb;
    real x[ALL], first[ALL], second[ALL], age[ALL];
    int begin, end; /* rows of the minibatch */
} transcript;

static real natural(const transcript *t, int i)
{
    return expl(t->x[U + i]) + (i < 1 + D ? hyper_facts(&t->f->h, i) : hyper_facts(&t->f->h, 1 + D))->lower;
}

/* Equation 15: psi of z with widths c = exp(lc), at x with widths c = exp(lx); NULL: c = 1. */
static real psi(const transcript *t, const real *z, const real *lc, const real *x, const real *lx)
{
    real product = 1;
    for (int d = 0; d < D; d++) {
        real s = natural(t, 1 + d), l = s * expl(lc[d]), m = s * (lx ? expl(lx[d]) : 1), u = z[d] - x[d];
        product *= sqrtl(2 * l * m / (l * l + m * m)) * expl(-u * u / (l * l + m * m));
    }
    return product;
}

/* (B^-1 + K)^-1 = B (I + K B)^-1 and log|I + K B|, B = L L'. */
static real invert(const transcript *t, const real *K, real *R)
{
    int M = t->Mb;
    real B[BETA * BETA] = {0}, H[BETA * BETA] = {0};
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k <= (i < j ? i : j); k++)
                B[i * M + j] += t->x[L_AT + i * (i + 1) / 2 + k] * t->x[L_AT + j * (j + 1) / 2 + k];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            H[i * M + j] = i == j;
            for (int k = 0; k < M; k++) H[i * M + j] += K[i * M + k] * B[k * M + j];
        }
    real logdet = dense_invert(M, H);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            R[i * M + j] = 0;
            for (int k = 0; k < M; k++) R[i * M + j] += B[i * M + k] * H[k * M + j];
        }
    return logdet;
}

/* Equation 9. */
static real divergence(const transcript *t, const real *K, const real *R, real logdet)
{
    real sum = 0.5L * logdet;
    for (int i = 0; i < t->Mb; i++)
        for (int j = 0; j < t->Mb; j++) sum -= 0.5L * K[i * t->Mb + j] * R[j * t->Mb + i];
    for (int i = 0; i < t->Ma; i++)
        for (int j = 0; j < t->Ma; j++)
            sum +=
                0.5L * t->x[A + i] * t->x[A + j] *
                psi(t, t->x + PLACE_A + i * D, t->x + WIDTH_A + i * D, t->x + PLACE_A + j * D, t->x + WIDTH_A + j * D);
    return sum;
}

/* Equation 10 for the minibatch, scaled to all rows, less equation 9. */
static real bound(const transcript *t)
{
    int M = t->Mb;
    real K[BETA * BETA], R[BETA * BETA], sum = 0, rho2 = natural(t, 0), noise = natural(t, 1 + D);
    for (int i = 0; i < M * M; i++)
        K[i] = psi(t, t->x + PLACE_B + i / M * D, t->x + WIDTH_B + i / M * D, t->x + PLACE_B + i % M * D,
                   t->x + WIDTH_B + i % M * D);
    real logdet = invert(t, K, R);
    for (int n = t->begin; n < t->end; n++) {
        real x[D], k[BETA], mean = 0;
        for (int d = 0; d < D; d++) x[d] = t->f->X[n * D + d];
        for (int i = 0; i < t->Ma; i++)
            mean += sqrtl(rho2) * psi(t, t->x + PLACE_A + i * D, t->x + WIDTH_A + i * D, x, NULL) * t->x[A + i];
        for (int i = 0; i < M; i++)
            k[i] = sqrtl(rho2) * psi(t, t->x + PLACE_B + i * D, t->x + WIDTH_B + i * D, x, NULL);
        real r = t->f->y[n] - mean, variance = rho2 - dense_quadratic(M, R, k, k);
        sum -= 0.5L * t->f->w[n] * (logl(2 * acosl(-1) * noise) + (r * r + variance) / noise);
    }
    return BLOCKS * sum - divergence(t, K, R, logdet);
}

/* Differences at three distances, extrapolated. */
static real slope(transcript *t, int i)
{
    real at = t->x[i], d[3];
    for (int k = 0; k < 3; k++) {
        real h = 1e-3L / (1 << k), up, down;
        t->x[i] = at + h, up = bound(t);
        t->x[i] = at - h, down = bound(t);
        d[k] = (up - down) / (2 * h);
    }
    t->x[i] = at;
    return (64 * d[2] - 20 * d[1] + d[0]) / 45;
}

static bool moves(const transcript *t, int i)
{
    int Mb = t->Mb;
    return i < PLACE_A   ? i - A < t->Ma
           : i < WIDTH_A ? i - PLACE_A < t->Ma * D
           : i < L_AT    ? i - WIDTH_A < t->Ma * D
           : i < PLACE_B ? i - L_AT < Mb * (Mb + 1) / 2
           : i < WIDTH_B ? i - PLACE_B < Mb * D
           : i < U       ? i - WIDTH_B < Mb * D
                         : true;
}

/* Line 4: N_delta rows of the minibatch are new bases of both kinds, with c = 1 and a = 0. */
static void add_bases(transcript *t, int64_t step)
{
    int64_t order[ROWS], n = t->end - t->begin;
    random_permutation((random_stream){3, RANDOM_BASES, (uint64_t)step << 20}, n, order);
    for (int k = 0; k < N_DELTA; k++) {
        const double *x = t->f->X + (t->begin + order[k]) * D;
        for (int d = 0; d < D && t->Ma < ALPHA; d++) t->x[PLACE_A + t->Ma * D + d] = x[d];
        for (int d = 0; d < D && t->Mb < BETA; d++) t->x[PLACE_B + t->Mb * D + d] = x[d];
        if (t->Mb < BETA) t->x[L_AT + t->Mb * (t->Mb + 1) / 2 + t->Mb] = SVDGP_SMALL;
        t->Ma += t->Ma < ALPHA, t->Mb += t->Mb < BETA;
    }
}

/* Lines 3 to 5: Adam with its default decays and the step gamma_t = gamma_0 / (1 + 0.1 sqrt(t)), t from 1. */
static void update(transcript *t, int64_t step)
{
    static const int64_t start[BLOCKS + 1] = {0, 4, 9, ROWS};
    real gradient[ALL], rate = GAMMA / (1 + 0.1L * sqrtl((real)step + 1));
    t->begin = (int)start[step % BLOCKS], t->end = (int)start[step % BLOCKS + 1];
    add_bases(t, step);
    for (int i = 0; i < ALL; i++) gradient[i] = moves(t, i) ? slope(t, i) : 0;
    for (int i = 0; i < ALL; i++) {
        if (!moves(t, i)) continue;
        t->age[i]++;
        t->first[i] = 0.9L * t->first[i] + 0.1L * gradient[i];
        t->second[i] = 0.999L * t->second[i] + 0.001L * gradient[i] * gradient[i];
        real m = t->first[i] / (1 - powl(0.9L, t->age[i])), v = t->second[i] / (1 - powl(0.999L, t->age[i]));
        t->x[i] += rate * m / (sqrtl(v) + 1e-8L);
    }
}

static void check_numbers(const transcript *t, int at, int64_t count, const double *x)
{
    for (int64_t i = 0; i < count; i++) check_close(x[i], (double)t->x[at + i], 1e-9);
}

static void the_first_steps_are_those_of_the_printed_algorithm(void **unused)
{
    (void)unused;
    run r;
    run_open(&r, &model_svdgp_sga, &(variant){"rbf(ard,variance=1.3)", MEAN_ZERO, false, 1}, ALPHA, BETA);
    r.f.p.grow = N_DELTA, r.f.h.all.prior = false;
    transcript t = {.f = &r.f};
    for (int i = 0; i < HYPER; i++) t.x[U + i] = logl((real)hyper_get(&r.f.h, i) - hyper_facts(&r.f.h, i)->lower);
    for (int64_t step = 0; step < STEPS; step++) {
        run_step(&r, step, false, true, GAMMA);
        update(&t, step);
        const svdgp *s = &r.state->s;
        assert_int_equal(svdgp_Ma(s), t.Ma), assert_int_equal(svdgp_Mb(s), t.Mb);
        check_numbers(&t, A, t.Ma, s->a.values);
        check_numbers(&t, PLACE_A, t.Ma * D, s->alpha.values),
            check_numbers(&t, WIDTH_A, t.Ma * D, s->alpha_width.values);
        check_numbers(&t, L_AT, t.Mb * (t.Mb + 1) / 2, s->L[0].values);
        check_numbers(&t, PLACE_B, t.Mb * D, s->beta.values),
            check_numbers(&t, WIDTH_B, t.Mb * D, s->beta_width.values);
        check_numbers(&t, U, HYPER, r.state->up.u);
    }
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_steps_are_those_of_the_printed_algorithm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
