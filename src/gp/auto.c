/* The decision; the candidates are in auto_cost.c, what they take in the tables of the models. */
#include "gp/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/neighbours/neighbours.h"
#include "run/plan.h"

enum {
    SIZE_LEAST = 128, /* inducing inputs */
    SIZE_MOST = 2048,
    ROWS_A_SIZE = 4,   /* least number of rows per inducing input, and of blocks */
    CLASS_LATENTS = 3, /* from so many functions on, each with a q of its own, that costs too much for what it gains: */
    CLASS_ROWS = 8,    /* there it is this, */
    CLASS_LEAST = 32,  /* and these are enough for few rows */
    PASSES_MOST = 200, /* made where there is time for them */
    HELD_LEAST = 100,  /* rows to score short fits on, */
    HELD = 1000
};
static const double SECONDS = 300, /* where --time is not given */
    SHARE = 0.9,                   /* of the time is planned with: the rest is for reading, choosing, writing */
    SPARSE_SHARE = 0.7,            /* with a race */
    SEARCHES = 1.1,                /* evaluations an iteration of the optimiser takes */
    HELD_SHARE = 0.1,              /* of the rows, at most, for a race */
    RACE_SHARE = 0.15,             /* of the time, at most, that a race is worth, */
    POLISH_SHARE = 0.05,           /* and that its winner learns on at that size */
    CLOSE_MNLP = 0.5,              /* nats per row over sqrt(rows scored on): no better */
    CLOSE_RMSE = 0.3;              /* nor is that share of it, over the same */

double auto_seconds_default(void) { return SECONDS; }

/* ------------------------------------------------------------------------------------------ sizes */

/* Inducing inputs and rows of a block; the largest first.  For blocks that are parts of the input space, more rows gain more than
   more inducing inputs do: these have the wide view only. */
typedef struct size {
    int64_t M, J;
} size;
static const size part_sizes[] = {{256, 2000}, {192, 1400}, {128, 1000}, {64, 700},
                                  {64, 500},   {64, 350},   {64, 250},   {64, 125}};
static const size plain_sizes[] = {{SIZE_MOST, 0},  {1024, 0}, {512, 0},        {256, 0},
                                   {SIZE_LEAST, 0}, {64, 0},   {CLASS_LEAST, 0}};
enum { CLASS_SIZES = 2 }; /* the last ones of these */

static bool many_classes(const auto_facts *f) { return !f->gaussian && f->latents >= CLASS_LATENTS; }

static size_t plain_count(const auto_facts *f)
{
    return sizeof plain_sizes / sizeof *plain_sizes - (many_classes(f) ? 0 : CLASS_SIZES);
}

/* Size k of a candidate, with what the user gave instead; false: there is none.  Neighbours have the one that they have. */
static bool size_at(const auto_facts *f, const model_ops *m, size_t k, size *s)
{
    if (!model_has_inducing(m)) return *s = (size){0, 0}, k == 0;
    size_t count = model_over_parts(m) ? sizeof part_sizes / sizeof *part_sizes : plain_count(f);
    if (k >= count || (k > 0 && f->inducing > 0 && (!model_over_parts(m) || f->part > 0))) return false;
    *s = (model_over_parts(m) ? part_sizes : plain_sizes)[k];
    if (f->inducing > 0) s->M = f->inducing;
    if (f->part > 0 && model_over_parts(m)) s->J = f->part;
    return true;
}

static bool enough_rows(const auto_facts *f, size s)
{
    bool classes = many_classes(f);
    int64_t least = classes ? CLASS_LEAST : SIZE_LEAST, each = classes ? CLASS_ROWS : ROWS_A_SIZE;
    bool points = f->inducing > 0 || s.M <= least || (double)(s.M * each) <= f->rows;
    bool blocks = f->part > 0 || s.J <= part_sizes[sizeof part_sizes / sizeof *part_sizes - 1].J ||
                  (double)(s.J * ROWS_A_SIZE) <= f->rows;
    return points && blocks;
}

/* Seconds to plan with, once the search for a start is off; a race takes some where there may be one. */
static double planned(const auto_facts *f, double share) { return share * f->seconds - auto_start_seconds(f); }

/* As many of the `wanted` iterations of a run as there is time for; false: not even `least`. */
static bool count_iterations(const auto_facts *f, double wanted, double least, double each, auto_plan *p)
{
    double fit = planned(f, SPARSE_SHARE) / each;
    if (f->iterations > 0) wanted = (double)f->iterations, least = fmin(least, wanted);
    p->iterations = (int64_t)fmax(1, fmin(wanted, fit));
    p->seconds = auto_start_seconds(f) + (double)p->iterations * each;
    return fit >= least;
}

/* ------------------------------------------------------------------------------------------- exact */

/* Typical for the optimiser on a smooth evidence with few parameters. */
static double few_iterations(const auto_facts *f)
{
    double most = f->iterations > 0 ? (double)f->iterations : PASSES_MOST;
    return fmin(most, 15 + 1.5 * (double)f->params);
}

/* With a factor or by iteration, as the fit will choose. */
static const model_ops *exact_of(const auto_facts *f)
{
    double needed = auto_bytes(f, &model_exact, 0, 0);
    return fit_factor_suits(f->distinct, needed, f->bytes, f->seconds) ? &model_exact : model_exact.iterative;
}

/* By iteration: most is learned from some of the rows, then a few evaluations with all, and the last solves (run/train.c). */
static double iterative_seconds(const auto_facts *f, const model_ops *m)
{
    static const double SOME = 40, LAST = 1; /* evaluations; what the last solves are worth of one */
    auto_facts some = *f;
    some.distinct = fmin(f->distinct, (double)m->warm);
    double given = (double)f->iterations, all = f->distinct > (double)m->warm ? (double)m->refine : few_iterations(f);
    if (f->iterations > 0) all = given;
    double first = f->distinct > (double)m->warm ? fmin(SOME, f->iterations > 0 ? given : SOME) : 0;
    return first * SEARCHES * auto_seconds(&some, &model_exact, 0, 0) +
           (1 + SEARCHES * all + LAST) * auto_seconds(f, m, 0, 0);
}

static double exact_seconds(const auto_facts *f)
{
    const model_ops *m = exact_of(f);
    if (m != &model_exact) return iterative_seconds(f, m);
    return SEARCHES * few_iterations(f) * auto_seconds(f, &model_exact, 0, 0);
}

/* The user named places, sets, or fewer inducing inputs than there are rows. */
static bool asked_for_inducing(const auto_facts *f)
{
    return f->places_given || f->sets > 1 || (f->inducing > 0 && (double)f->inducing < f->distinct);
}

static bool try_exact(const auto_facts *f, auto_plan *p)
{
    const model_ops *m = exact_of(f);
    double seconds = exact_seconds(f), bytes = auto_bytes(f, m, 0, 0);
    if (!f->gaussian || !f->in_memory || asked_for_inducing(f)) return false;
    if (m != &model_exact && f->distinct <= (double)m->warm) return false; /* iterations pay for many rows */
    if (seconds > planned(f, SHARE) || bytes > f->bytes) return false;
    if (f->distinct > PLAN_WARM_ABOVE) seconds += (double)f->targets * auto_start_seconds(f);
    *p = (auto_plan){.model = &model_exact, .seconds = seconds, .bytes = bytes};
    p->iterations = f->iterations > 0 ? f->iterations : PASSES_MOST;
    snprintf(p->reason, sizeof p->reason, "since %.0f distinct row%s few enough%s", f->distinct,
             f->distinct == 1 ? " is" : "s are", m == &model_exact ? "" : " to iterate with");
    return true;
}

/* Why it is not exact. */
static void not_exact(const auto_facts *f, auto_plan *p)
{
    double seconds = exact_seconds(f), bytes = auto_bytes(f, exact_of(f), 0, 0);
    char *text = p->reason;
    size_t room = sizeof p->reason;
    if (!f->gaussian)
        snprintf(text, room, "since the likelihood is not gaussian");
    else if (asked_for_inducing(f))
        snprintf(text, room, "since inducing inputs are given");
    else if (!f->in_memory)
        snprintf(text, room, "since the rows stay in their file");
    else if (bytes > f->bytes)
        snprintf(text, room, "since %.0f rows are too many for exact (%.3g GB)", f->distinct, bytes / 1e9);
    else
        snprintf(text, room, "since %.0f rows are too many for exact (%.*f s)", f->distinct, seconds < 10, seconds);
}

/* ------------------------------------------------------------------------------------------ passes */

/* Inducing inputs that are learned take as many as there is time for. */
static double passes_wanted(const auto_facts *f, const model_ops *m)
{
    return model_learns_inducing(m) ? PASSES_MOST : few_iterations(f);
}

/* The largest size of a candidate by passes. */
static bool try_passes(const auto_facts *f, const auto_candidate *c, auto_plan *p)
{
    size s;
    for (size_t k = 0; size_at(f, c->model, k, &s); k++) {
        double each = SEARCHES * auto_seconds(f, c->model, s.M, s.J), bytes = auto_bytes(f, c->model, s.M, s.J);
        *p = (auto_plan){.model = c->model, .sets = {s.M}, .set_count = s.M > 0, .part = s.J, .bytes = bytes};
        if (count_iterations(f, passes_wanted(f, c->model), c->passes, each, p) && p->bytes <= f->bytes &&
            enough_rows(f, s))
            return true;
    }
    return false;
}

static bool may_pass(const auto_facts *f, const auto_candidate *c)
{
    bool asked = f->inducing > 0 || f->places_given || f->grows || f->part > 0; /* for what this model may not have */
    bool takes = model_has_inducing(c->model) || !asked, rows = model_over_blocks(c->model) || f->in_memory;
    return c->passes > 0 && f->gaussian && f->sets <= 1 && takes && rows && f->rows <= c->rows_most;
}

/* ------------------------------------------------------------------------------------------- steps */

static double steps_wanted(const auto_facts *f)
{
    return fmin(fmax(PLAN_EPOCHS * f->rows / auto_batch_rows(f), PLAN_STEPS_LEAST), PLAN_STEPS_MOST);
}

/* A model by steps with `sets` sets of M.  The bound of all rows at the end is a pass without the gradient. */
static bool try_steps(const auto_facts *f, const model_ops *m, int64_t M, int64_t sets, auto_plan *p)
{
    double wanted = steps_wanted(f), pass = 0.4 * f->rows / auto_batch_rows(f), each = auto_seconds(f, m, sets * M, 0);
    *p = (auto_plan){
        .model = m, .sets = {M, sets > 1 ? M : 0}, .set_count = sets, .bytes = auto_bytes(f, m, sets * M, 0)};
    bool time = count_iterations(f, wanted, wanted / 2, each * (1 + pass / wanted), p);
    return time && p->bytes <= f->bytes && enough_rows(f, (size){sets * M, 0});
}

/* svgp with M is worse than solve with M + M, that than svgp with 2 M. */
static bool by_steps(const auto_facts *f, auto_plan *p)
{
    size s;
    if (f->sets > 1) return try_steps(f, &model_solve, f->inducing / 2, 2, p);
    for (size_t k = 0; size_at(f, &model_svgp, k, &s); k++) {
        if (f->inducing == 0 && s.M < SIZE_MOST && try_steps(f, &model_solve, s.M, 2, p)) return true;
        if (try_steps(f, &model_svgp, s.M, 1, p)) return true;
    }
    return false;
}

/* -------------------------------------------------------------------------------------- any model */

enum { PASSES_LEAST = 10 }; /* of a fit worth having, where auto's table does not say */

static bool account_iterative(const auto_facts *f, auto_plan *p)
{
    const model_ops *m = exact_of(f);
    *p = (auto_plan){.model = &model_exact, .iterations = f->iterations > 0 ? f->iterations : m->refine};
    p->seconds = auto_start_seconds(f) + exact_seconds(f), p->bytes = auto_bytes(f, m, 0, 0);
    return p->seconds <= SHARE * f->seconds;
}

bool auto_account(const auto_facts *f, const model_ops *m, int64_t M, int64_t J, auto_plan *p)
{
    const auto_candidate *c = auto_candidate_of(m);
    double wanted = m->needs.given ? 1 : m->steps ? steps_wanted(f) : passes_wanted(f, m), least = wanted / 2;
    if (f->iterations > 0 && !m->needs.given) wanted = (double)f->iterations;
    if (!m->steps) least = c ? c->passes : PASSES_LEAST;
    if (m == &model_exact) wanted = least = few_iterations(f);
    if (m == &model_exact && exact_of(f) != m) return account_iterative(f, p);
    double pass = m->steps ? 0.4 * f->rows / auto_batch_rows(f) : 0; /* see try_steps() */
    double each = (m->steps ? 1 : SEARCHES) * auto_seconds(f, m, M, J);
    bool started = !m->needs.given && (m != &model_exact || f->distinct > PLAN_WARM_ABOVE);
    double start = started ? auto_start_seconds(f) : 0;
    *p = (auto_plan){.model = m, .sets = {M}, .set_count = M > 0, .part = J, .iterations = (int64_t)wanted};
    p->seconds = start + (wanted + pass) * each;
    p->bytes = auto_bytes(f, m, M, J);
    return start + (fmin(least, wanted) + pass) * each <= SHARE * f->seconds;
}

/* ----------------------------------------------------------------------------------------- choices */

/* Inducing inputs of the first plan that has nothing but them. */
static int64_t most_inducing(const auto_plan *list, int count)
{
    for (int i = 0; i < count; i++)
        if (list[i].part == 0 && list[i].set_count > 0) return list[i].sets[0];
    return 0;
}

/* Those by passes that fit; and first of the list one by steps, where that has four times the inducing inputs and there are few of
   them, or where nothing else fits.  The smallest there is, if nothing does: a time limit will end it. */
static int sparse_plans(const auto_facts *f, auto_plan *list)
{
    int count = 0;
    auto_plan steps;
    for (int i = 0; i < auto_candidate_count(); i++)
        if (may_pass(f, auto_candidate_at(i)) && try_passes(f, auto_candidate_at(i), &list[count])) count++;
    int64_t most = most_inducing(list, count);
    if (count > 0 && (f->inducing > 0 || most >= 4 * SIZE_LEAST)) return count;
    bool stepwise = by_steps(f, &steps);
    if (count > 0 && !(stepwise && steps.sets[0] + steps.sets[1] >= 4 * most)) return count;
    memmove(list + 1, list, (size_t)count * sizeof *list);
    list[0] = steps;
    return count + 1;
}

int auto_plans(const auto_facts *f, auto_plan list[AUTO_ENTRANTS_MOST])
{
    if (try_exact(f, list)) return 1;
    int count = sparse_plans(f, list);
    for (int i = 0; i < count; i++) {
        not_exact(f, &list[i]);
        if (f->inducing > 0 || f->places_given) list[i].set_count = 0; /* as the user said */
    }
    return count;
}

void auto_decide(const auto_facts *f, auto_plan *p)
{
    auto_plan list[AUTO_ENTRANTS_MOST];
    auto_plans(f, list);
    *p = list[0];
}

/* -------------------------------------------------------------------------------------------- race */

static const size race_sizes[] = {{128, 500}, {128, 250}, {64, 250}, {64, 125}};

/* Iterations of a short fit: passes; for models by steps, as many epochs. */
int64_t auto_race_iterations(const auto_facts *f, const model_ops *m, int64_t passes)
{
    double iterations = (double)passes * (m->steps ? ceil(f->rows / auto_batch_rows(f)) : 1);
    return (int64_t)(f->iterations > 0 ? fmin((double)f->iterations, iterations) : iterations);
}

static double short_fit_seconds(const auto_facts *f, const auto_race *r, const model_ops *m, int64_t passes)
{
    auto_facts one = *f; /* target */
    one.targets = 1;
    return SEARCHES * (double)(1 + auto_race_iterations(f, m, passes)) * auto_seconds(&one, m, r->inducing, r->part);
}

static double race_seconds(const auto_facts *f, const auto_race *r, const auto_plan *list, int count)
{
    double seconds = 0;
    for (int i = 0; i < count; i++)
        seconds += short_fit_seconds(f, r, list[i].model, auto_candidate_of(list[i].model)->race_passes);
    return seconds;
}

static void shrink_to(const auto_facts *f, size s, auto_race *r)
{
    r->inducing = s.M;
    r->part = f->part > 0 && f->part < s.J ? f->part : s.J;
}

/* What is taken where short fits would take too long: on a map near rows say most, elsewhere the first. */
static int without_race(const auto_facts *f, const auto_plan *list, int count)
{
    for (int i = 0; i < count && f->inputs <= NEAR_SIDED; i++)
        if (list[i].model == &model_vecchia) return i;
    return 0;
}

void auto_race_plan(const auto_facts *f, const auto_plan *list, int count, auto_race *r)
{
    *r = (auto_race){.held = fmin(HELD_SHARE, HELD / f->rows)};
    bool asked = f->grows || f->places_given || f->inducing > 0 || !f->gaussian || list[0].model == &model_exact;
    if (asked || count < 2) {
        snprintf(r->skipped, sizeof r->skipped, asked ? "none is wanted" : "no other fits time and memory");
        r->wanted = !asked;
        return;
    }
    r->wanted = true;
    if (r->held * f->rows < HELD_LEAST) {
        snprintf(r->skipped, sizeof r->skipped, "too few rows to hold some out");
        return;
    }
    for (size_t k = 0; k < sizeof race_sizes / sizeof *race_sizes; k++) {
        shrink_to(f, race_sizes[k], r);
        r->seconds = race_seconds(f, r, list, count);
        if (r->seconds <= RACE_SHARE * f->seconds) return;
    }
    r->otherwise = without_race(f, list, count);
    snprintf(r->skipped, sizeof r->skipped, "short fits would take about %.*f s", r->seconds < 10, r->seconds);
}

int64_t auto_polish_passes(const auto_facts *f, const auto_race *r, const model_ops *m)
{
    static const int64_t passes[] = {40, 20, 10};
    for (size_t k = 0; !m->steps && f->iterations == 0 && k < sizeof passes / sizeof *passes; k++)
        if (short_fit_seconds(f, r, m, passes[k]) <= POLISH_SHARE * f->seconds) return passes[k];
    return 0;
}

static double best_of(const auto_score *s, int count, double within, bool rmse)
{
    double best = INFINITY;
    for (int i = 0; i < count; i++)
        if (s[i].mnlp <= within) best = fmin(best, rmse ? s[i].rmse : s[i].mnlp);
    return best;
}

int auto_winner(const auto_score *s, int count, int64_t held)
{
    double noise = 1 / sqrt((double)(held > 0 ? held : 1)), mnlp = best_of(s, count, INFINITY, false),
           close = mnlp + CLOSE_MNLP * noise, rmse = best_of(s, count, close, true);
    for (int i = 0; i < count; i++)
        if (s[i].mnlp <= close && s[i].rmse <= (1 + CLOSE_RMSE * noise) * rmse) return i;
    return -1;
}
