/* The decision; the formulas are in auto.h. */
#include "gp/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIZE_LEAST = 128, /* inducing inputs */
    SIZE_MOST = 2048,
    ROWS_A_SIZE = 4,   /* rows there are to an inducing input, at least */
    PASSES_LEAST = 60, /* of vfe, for a size to be worth it; */
    PASSES_MOST = 200, /* so many are made where they fit */
    EPOCHS = 40,       /* of svgp, */
    STEPS_LEAST = 400,
    STEPS_MOST = 20000,
    PIECE = 256,         /* rows a thread works on */
    GREEDY_ROWS = 10000, /* that inducing inputs are chosen from */
    WARM_ROWS = 800,     /* of a short exact run that hyperparameters start from, */
    WARM_EVALUATIONS = 45,
    WARM_ABOVE = 1600 /* where an exact model has more rows than that */
};
static const double SECONDS = 300, /* where --time says nothing */
    BYTES_LEAST = 1.5e7,           /* of the program itself */
    SHARE = 0.9,                   /* of the time is planned with: the rest is for reading, choosing, writing */
    TIGHT_WORK = 2e10,             /* n^2 M up to which vfe's result has a tighter bound beside it */
    KEPT_SHARE = 0.4,              /* of the memory: products of a pass, see fit_blocks.c */
    SEARCHES = 1.1;                /* evaluations an iteration of the optimiser takes */
/* Shares of R that these reach: Cholesky factorisations, passes over blocks, steps. */
static const double EXACT_SHARE = 0.75, PASS_SHARE = 0.85, STEP_SHARE = 0.8;

double auto_seconds_default(void) { return SECONDS; }

/* ------------------------------------------------------------------------------------------- costs */

static double exact_evaluation(const auto_facts *f)
{
    double n = f->distinct;
    return n * n * n / (EXACT_SHARE * f->products) + 2 * n * n / f->entries;
}

static double vfe_evaluation(const auto_facts *f, double M)
{
    double others = (double)(f->targets - 1), work = 5 * f->rows * M * M + 8 * M * M * M;
    work += others * (8 * f->rows * M + 2 * M * M * M);
    return work / (PASS_SHARE * f->products) + 4 * f->rows * M / f->entries;
}

static double batch_rows(const auto_facts *f)
{
    return f->batch > 0 && (double)f->batch < f->rows ? (double)f->batch : f->rows;
}

static double all_latents(const auto_facts *f) { return (double)(f->latents * f->targets); }

static double svgp_step(const auto_facts *f, double M)
{
    double B = batch_rows(f), C = all_latents(f);
    return (3 * (1 + C) * M * M * B + 2 * C * M * M * M) / (STEP_SHARE * f->products) + 4 * (B + M) * M / f->entries;
}

static double solve_step(const auto_facts *f, double M) { return 0.8 * svgp_step(f, 2 * M); }

static double start_seconds(const auto_facts *f)
{
    double n = fmin(f->rows, WARM_ROWS);
    return WARM_EVALUATIONS * (n * n * n / (EXACT_SHARE * f->products) + 2 * n * n / f->entries);
}

/* Iterations of the optimiser over a smooth evidence of few parameters, typically. */
static double exact_iterations(const auto_facts *f)
{
    double most = f->iterations > 0 ? (double)f->iterations : PASSES_MOST;
    return fmin(most, 15 + 1.5 * (double)f->params);
}

/* ------------------------------------------------------------------------------------------- bytes */

/* The table, the rows in model units and what else there is whatever the model. */
static double rows_bytes(const auto_facts *f)
{
    double rows = 8 * f->rows * (double)(f->inputs + 3);
    return BYTES_LEAST + (f->in_memory ? rows : 0) + fmin(rows, f->bytes / 4);
}

static double exact_bytes(const auto_facts *f)
{
    return rows_bytes(f) + 8 * f->distinct * (f->distinct + (double)f->inputs + 8);
}

/* Greedy rows: a factor of n M numbers. */
static double choosing(const auto_facts *f, double M)
{
    return f->places_given ? 0 : 8 * fmin(f->rows, GREEDY_ROWS) * (M + 50);
}

static double vfe_bytes(const auto_facts *f, double M)
{
    double T = f->threads;
    double kept = fmin(8 * f->rows * M, KEPT_SHARE * f->bytes); /* between the two halves of a pass */
    double tight =
        f->rows * f->rows * M < TIGHT_WORK ? fmin(32 * f->rows * M, f->bytes / 4) : 0; /* the tighter bound */
    double heads = f->targets > 1 ? 3 : 0;
    return rows_bytes(f) + 8 * ((8 + heads + 3 * T) * M * M + 3 * T * PIECE * M) + fmax(kept, choosing(f, M)) + tight;
}

static double svgp_bytes(const auto_facts *f, double M)
{
    double T = f->threads, C = all_latents(f);
    double training = 8 * (M * M * (2 * C + 2 + 2 * fmin(C, T) + (C + 1) * (1 + T)) + T * PIECE * M * (C + 2));
    return rows_bytes(f) + fmax(training, choosing(f, M));
}

/* ---------------------------------------------------------------------------------------- choices */

static double planned(const auto_facts *f) { return SHARE * f->seconds - start_seconds(f); }

/* Sizes to be tried, the largest first; a given one alone. */
static int64_t next_size(const auto_facts *f, int64_t M)
{
    if (f->inducing > 0) return M == 0 ? f->inducing : 0;
    if (M == 0) return SIZE_MOST;
    return M > SIZE_LEAST ? M / 2 : 0;
}

static bool size_fits(const auto_facts *f, int64_t M, double bytes)
{
    bool rows = f->inducing > 0 || M <= SIZE_LEAST || (double)(M * ROWS_A_SIZE) <= f->rows;
    return rows && bytes <= f->bytes;
}

static double exact_seconds(const auto_facts *f)
{
    return (double)f->targets * SEARCHES * exact_iterations(f) * exact_evaluation(f);
}

/* The user named places, sets, or fewer inducing inputs than there are rows. */
static bool asked_for_inducing(const auto_facts *f)
{
    return f->places_given || f->sets > 1 || (f->inducing > 0 && (double)f->inducing < f->distinct);
}

static bool try_exact(const auto_facts *f, auto_plan *p)
{
    double seconds = exact_seconds(f), bytes = exact_bytes(f);
    if (!f->gaussian || !f->in_memory || asked_for_inducing(f)) return false;
    if (seconds > planned(f) || bytes > f->bytes) return false;
    if (f->distinct > WARM_ABOVE) seconds += (double)f->targets * start_seconds(f);
    *p = (auto_plan){.model = &model_exact, .seconds = seconds, .bytes = bytes};
    p->iterations = f->iterations > 0 ? f->iterations : PASSES_MOST;
    snprintf(p->reason, sizeof p->reason, "since %.0f distinct row%s few enough", f->distinct,
             f->distinct == 1 ? " is" : "s are");
    return true;
}

/* Why it is not exact. */
static void not_exact(const auto_facts *f, auto_plan *p)
{
    double seconds = exact_seconds(f), bytes = exact_bytes(f);
    char *text = p->reason;
    size_t size = sizeof p->reason;
    if (!f->gaussian)
        snprintf(text, size, "since the likelihood is not gaussian");
    else if (asked_for_inducing(f))
        snprintf(text, size, "since inducing inputs are given");
    else if (!f->in_memory)
        snprintf(text, size, "since the rows stay in their file");
    else if (bytes > f->bytes)
        snprintf(text, size, "since %.0f rows are too many for exact (%.3g GB)", f->distinct, bytes / 1e9);
    else
        snprintf(text, size, "since %.0f rows are too many for exact (%.*f s)", f->distinct, seconds < 10, seconds);
}

/* Of a run of `wanted` iterations as many as there is time for; false: not even `least`. */
static bool count_iterations(const auto_facts *f, double wanted, double least, double each, auto_plan *p)
{
    double fit = planned(f) / each;
    if (f->iterations > 0) wanted = (double)f->iterations, least = fmin(least, wanted);
    p->iterations = (int64_t)fmax(1, fmin(wanted, fit));
    p->seconds = start_seconds(f) + (double)p->iterations * each;
    return fit >= least;
}

static bool try_vfe(const auto_facts *f, int64_t M, auto_plan *p)
{
    double each = SEARCHES * vfe_evaluation(f, (double)M);
    *p = (auto_plan){.model = &model_vfe, .sets = {M}, .set_count = 1, .bytes = vfe_bytes(f, (double)M)};
    return count_iterations(f, PASSES_MOST, PASSES_LEAST, each, p) && size_fits(f, M, p->bytes);
}

static double steps_wanted(const auto_facts *f)
{
    return fmin(fmax(EPOCHS * f->rows / batch_rows(f), STEPS_LEAST), STEPS_MOST);
}

/* The bound of all rows at the end is a pass without the gradient. */
static bool count_steps(const auto_facts *f, double each, auto_plan *p)
{
    double wanted = steps_wanted(f), pass = 0.4 * f->rows / batch_rows(f);
    bool enough = count_iterations(f, wanted, wanted / 2, each * (1 + pass / wanted), p);
    return enough;
}

static bool try_svgp(const auto_facts *f, int64_t M, auto_plan *p)
{
    *p = (auto_plan){.model = &model_svgp, .sets = {M}, .set_count = 1, .bytes = svgp_bytes(f, (double)M)};
    return count_steps(f, svgp_step(f, (double)M), p) && size_fits(f, M, p->bytes);
}

static bool try_solve(const auto_facts *f, int64_t M, auto_plan *p)
{
    *p = (auto_plan){.model = &model_solve, .sets = {M, M}, .set_count = 2, .bytes = svgp_bytes(f, 2 * (double)M)};
    return count_steps(f, solve_step(f, (double)M), p) && size_fits(f, 2 * M, p->bytes);
}

/* svgp with M is worse than solve with M + M, that than svgp with 2 M. */
static bool by_steps(const auto_facts *f, auto_plan *p)
{
    if (f->sets > 1) return try_solve(f, f->inducing / 2, p);
    for (int64_t M = next_size(f, 0); M > 0; M = next_size(f, M)) {
        if (f->inducing == 0 && M < SIZE_MOST && try_solve(f, M, p)) return true;
        if (try_svgp(f, M, p)) return true;
    }
    return false;
}

static bool by_passes(const auto_facts *f, auto_plan *p)
{
    for (int64_t M = next_size(f, 0); f->gaussian && f->sets <= 1 && M > 0; M = next_size(f, M))
        if (try_vfe(f, M, p)) return true;
    return false;
}

/* More inducing inputs, by steps instead of passes over all rows, where that is twice as many or there are too few. */
static void choose_sparse(const auto_facts *f, auto_plan *p)
{
    auto_plan steps;
    bool passes = by_passes(f, p);
    if (passes && (f->inducing > 0 || p->sets[0] >= 4 * SIZE_LEAST)) return;
    bool stepwise = by_steps(f, &steps);
    if (stepwise && (!passes || steps.sets[0] + steps.sets[1] >= 4 * p->sets[0])) *p = steps;
    if (!stepwise && !passes) *p = steps; /* the smallest there is: a time limit will end it */
}

void auto_decide(const auto_facts *f, auto_plan *p)
{
    if (try_exact(f, p)) return;
    choose_sparse(f, p);
    not_exact(f, p);
    if (f->inducing > 0 || f->places_given) p->set_count = 0; /* as the user said */
}
