/* What the candidates of --model auto take: the account of the model's table, for the facts at hand, and what is added whatever the
   model. */
#include <math.h>

#include "gp/auto.h"
#include "gp/fit_blocks.h"
#include "gp/shares.h"
#include "inducing/choose.h"
#include "run/plan.h"

enum { WARM_EVALUATIONS = 90 };          /* of the short exact run that hyperparameters start from */
static const double BYTES_LEAST = 1.5e7; /* of the program itself */

/* ------------------------------------------------------------------------------------------ costs */

static model_cost cost_of(const auto_facts *f, const model_ops *m, int64_t M, int64_t J)
{
    cost_facts c = {.rows = f->rows,
                    .distinct = f->distinct,
                    .inputs = f->inputs,
                    .targets = f->targets,
                    .latents = f->latents,
                    .batch = auto_batch_rows(f),
                    .threads = f->threads,
                    .memory = f->bytes,
                    .products = f->products,
                    .entries = f->entries};
    double part = (double)fit_block_rows(m, M, f->batch, J);
    cost_size s = {
        .M = (double)M, .part = part, .largest = fmin(model_over_parts(m) ? PART_OVERSIZE * part : part, f->rows)};
    return m->cost(m, &c, &s);
}

double auto_seconds(const auto_facts *f, const model_ops *m, int64_t M, int64_t J)
{
    double fits = model_takes_targets(m) ? 1 : (double)f->targets;
    return fits * cost_seconds(cost_of(f, m, M, J));
}

double auto_scratch_bytes(const auto_facts *f, const model_ops *m, int64_t M, int64_t J)
{
    return cost_of(f, m, M, J).state;
}

double auto_start_seconds(const auto_facts *f)
{
    auto_facts few = *f;
    few.distinct = fmin(f->rows, PLAN_WARM_ROWS), few.targets = 1;
    return WARM_EVALUATIONS * auto_seconds(&few, &model_exact, 0, 0);
}

double auto_batch_rows(const auto_facts *f)
{
    return f->batch > 0 && (double)f->batch < f->rows ? (double)f->batch : f->rows;
}

/* The table, the rows in model units and whatever else every model has. */
static double rows_bytes(const auto_facts *f)
{
    double rows = 8 * f->rows * (double)(f->inputs + 3);
    return BYTES_LEAST + (f->in_memory ? rows : 0) + fmin(rows, ROWS_SHARE * f->bytes);
}

/* Before a run inducing inputs are chosen; during it a pass keeps what there is room for. */
double auto_bytes(const auto_facts *f, const model_ops *m, int64_t M, int64_t J)
{
    model_cost c = cost_of(f, m, M, J);
    bool places = model_has_inducing(m) && !f->places_given;
    double choosing = places ? choose_bytes(f->rows, (double)M) : 0, rows = rows_bytes(f);
    if (c.kept == 0) return rows + fmax(c.bytes, choosing);
    double kept = fmin(f->rows * c.kept, fmin(KEEP_SHARE * f->bytes, f->bytes - rows - c.bytes));
    return rows + c.bytes + fmax(kept, choosing) + c.last;
}

/* -------------------------------------------------------------------------------------- the table */

/* In the order that decides between equals.  Inducing inputs that are learned take more passes.  A prediction of grbcm asks all of its rows. */
static const auto_candidate candidates[] = {{&model_vfe, 60, 10, INFINITY}, {&model_pic, 3, 5, INFINITY},
                                            {&model_fitc, 20, 5, INFINITY}, {&model_vecchia, 10, 4, INFINITY},
                                            {&model_grbcm, 10, 4, 1e5},     {&model_solve, 0, 3, INFINITY},
                                            {&model_svgp, 0, 3, INFINITY}};

int auto_candidate_count(void) { return (int)(sizeof candidates / sizeof *candidates); }
const auto_candidate *auto_candidate_at(int i) { return &candidates[i]; }

const auto_candidate *auto_candidate_of(const model_ops *model)
{
    for (int i = 0; i < auto_candidate_count(); i++)
        if (candidates[i].model == model) return &candidates[i];
    return NULL;
}
