/* What the candidates of --model auto take; the formulas are in auto.h. */
#include <math.h>

#include "gp/auto.h"

enum {
    PIECE = 256,         /* rows a thread works on */
    GREEDY_ROWS = 10000, /* that inducing inputs are chosen from */
    WARM_ROWS = 800,     /* of a short exact run that hyperparameters start from, */
    WARM_EVALUATIONS = 90
};
static const double BYTES_LEAST = 1.5e7, /* of the program itself */
    TIGHT_WORK = 2e10,                   /* n^2 M up to which vfe's result has a tighter bound beside it */
    KEPT_SHARE = 0.4,                    /* of the memory: products of a pass, see fit_blocks.c */
    LARGEST = 2;                         /* times the mean, rows of a block */
/* Shares of R that these reach: Cholesky factorisations, passes over rows and over whole blocks, steps. */
static const double EXACT_SHARE = 0.75, PASS_SHARE = 0.85, BLOCK_SHARE = 0.75, STEP_SHARE = 0.8;

/* ------------------------------------------------------------------------------------------ exact */

double auto_exact_evaluation(const auto_facts *f, double n)
{
    return n * n * n / (EXACT_SHARE * f->products) + 2 * n * n / f->entries;
}

double auto_start_seconds(const auto_facts *f)
{
    return WARM_EVALUATIONS * auto_exact_evaluation(f, fmin(f->rows, WARM_ROWS));
}

/* The table, the rows in model units and what else there is whatever the model. */
static double rows_bytes(const auto_facts *f)
{
    double rows = 8 * f->rows * (double)(f->inputs + 3);
    return BYTES_LEAST + (f->in_memory ? rows : 0) + fmin(rows, f->bytes / 4);
}

double auto_exact_bytes(const auto_facts *f)
{
    return rows_bytes(f) + 8 * f->distinct * (f->distinct + (double)f->inputs + 8);
}

/* ----------------------------------------------------------------------------------------- passes */

static double vfe_each(const auto_facts *f, double M, double J)
{
    (void)J;
    double others = (double)(f->targets - 1), work = 5 * f->rows * M * M + 8 * M * M * M;
    work += others * (8 * f->rows * M + 2 * M * M * M);
    return work / (PASS_SHARE * f->products) + 4 * f->rows * M / f->entries;
}

static double fitc_each(const auto_facts *f, double M, double J)
{
    (void)J;
    double work = 6 * f->rows * M * M + 8 * M * M * M;
    return (double)f->targets * (work / (PASS_SHARE * f->products) + 4 * f->rows * M / f->entries);
}

static double pic_each(const auto_facts *f, double M, double J)
{
    double work = f->rows * (6 * M * M + 6 * J * M + 2 * J * J) + 8 * M * M * M;
    return (double)f->targets * (work / (BLOCK_SHARE * f->products) + 4 * f->rows * (M + J) / f->entries);
}

/* Greedy rows: a factor of n M numbers. */
static double choosing(const auto_facts *f, double M)
{
    return f->places_given ? 0 : 8 * fmin(f->rows, GREEDY_ROWS) * (M + 50);
}

/* `base` with what is kept between the two halves of a pass where there is room, `row` numbers of a row; before that inducing inputs
   are chosen. */
static double with_kept(const auto_facts *f, double base, double row, double M)
{
    double kept = fmin(8 * f->rows * row, fmin(KEPT_SHARE * f->bytes, f->bytes - base));
    return base + fmax(kept, choosing(f, M));
}

static double passes_bytes(const auto_facts *f, double M)
{
    double T = f->threads;
    return with_kept(f, rows_bytes(f) + 8 * ((8 + 3 * T) * M * M + 3 * T * PIECE * M), M, M);
}

static double fitc_bytes(const auto_facts *f, double M, double J)
{
    (void)J;
    return passes_bytes(f, M);
}

static double vfe_bytes(const auto_facts *f, double M, double J)
{
    double tight = f->rows * f->rows * M < TIGHT_WORK ? fmin(32 * f->rows * M, f->bytes / 4) : 0, heads = 3;
    (void)J;
    return passes_bytes(f, M) + tight + (f->targets > 1 ? 8 * heads * M * M : 0);
}

/* All rows are part of the model. */
static double pic_bytes(const auto_facts *f, double M, double J)
{
    double T = f->threads, most = fmin(LARGEST * J, f->rows);
    double blocks = 8 * ((8 + 3 * T) * M * M + T * (3 * M * most + 2 * most * most));
    double model = 8 * f->rows * (double)(f->inputs + 2);
    return with_kept(f, rows_bytes(f) + model + blocks, M + J, M);
}

/* ------------------------------------------------------------------------------------------ steps */

double auto_batch_rows(const auto_facts *f)
{
    return f->batch > 0 && (double)f->batch < f->rows ? (double)f->batch : f->rows;
}

static double all_latents(const auto_facts *f) { return (double)(f->latents * f->targets); }

static double svgp_each(const auto_facts *f, double M, double J)
{
    double B = auto_batch_rows(f), C = all_latents(f);
    (void)J;
    return (3 * (1 + C) * M * M * B + 2 * C * M * M * M) / (STEP_SHARE * f->products) + 4 * (B + M) * M / f->entries;
}

/* M: of both sets. */
static double solve_each(const auto_facts *f, double M, double J) { return 0.8 * svgp_each(f, M, J); }

static double steps_bytes(const auto_facts *f, double M, double J)
{
    double T = f->threads, C = all_latents(f);
    double training = 8 * (M * M * (2 * C + 2 + 2 * fmin(C, T) + (C + 1) * (1 + T)) + T * PIECE * M * (C + 2));
    (void)J;
    return rows_bytes(f) + fmax(training, choosing(f, M));
}

/* -------------------------------------------------------------------------------------- the table */

/* In the order that decides between equals.  Inducing inputs that are learned take more passes. */
static const auto_candidate candidates[] = {{&model_vfe, vfe_each, vfe_bytes, 60, 10},
                                            {&model_pic, pic_each, pic_bytes, 3, 5},
                                            {&model_fitc, fitc_each, fitc_bytes, 20, 5},
                                            {&model_solve, solve_each, steps_bytes, 0, 3},
                                            {&model_svgp, svgp_each, steps_bytes, 0, 3}};

int auto_candidate_count(void) { return (int)(sizeof candidates / sizeof *candidates); }
const auto_candidate *auto_candidate_at(int i) { return &candidates[i]; }

const auto_candidate *auto_candidate_of(const model_ops *model)
{
    for (int i = 0; i < auto_candidate_count(); i++)
        if (candidates[i].model == model) return &candidates[i];
    return NULL;
}
