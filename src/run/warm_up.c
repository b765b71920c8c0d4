/* Warm-ups: short climbs on some of the rows, from which a run starts, or whose end a model keeps. */
#include <math.h>

#include "run/climb.h"
#include "run/plan.h"
#include "run/start.h"

enum {
    WARM_ITERATIONS = 40,
    NEAR_ROWS = 20000, /* of a model of neighbours, */
    NEAR_FEW = 10,     /* with so many of them at most */
    KEPT_ROWS = 20000  /* that score a start to keep */
};

/* A short climb of this model's evidence of the rows p->rows from the values in h, which moves to the best point.  longest:
   NULL, or gets the seconds an evaluation took. */
static anygp_status climb_briefly(const model_ops *model, const problem *p, hyper *h, const train_options *o,
                                  int64_t iterations, double *best, double *longest, anygp_status *stopped,
                                  anygp_error *e)
{
    climb c = {0};
    void *state = NULL;
    problem alone = *p;
    train_options brief = *o;
    anygp_status status = ANYGP_OK;
    alone.comm = comm_self();
    brief.restarts = 0, brief.resume = NULL, brief.save_every = INFINITY;
    if (brief.iterations > iterations) brief.iterations = iterations;
    TRY(model->open(model, &alone, h, &state, e));
    TRY_DONE(climb_init(&c, model, state, &alone, h, &brief, ANYGP_OK, NULL, e));
    c.r.stage = TRAIN_WARM_UP;
    TRY_DONE(run_go(&c.r, e));
    if (isfinite(c.best)) hyper_unpack(h, c.best_u);
    *best = c.best, *stopped = c.r.status;
    if (longest) *longest = c.r.longest;
done:
    climb_clear(&c);
    model->close(state);
    return status;
}

anygp_status start_climb_exact(const problem *p, hyper *h, const train_options *o, int64_t iterations, double *best,
                               anygp_status *stopped, anygp_error *e)
{
    return climb_briefly(&model_exact, p, h, o, iterations, best, NULL, stopped, e);
}

/* Of these rows of p, which are cleared. */
static anygp_status warm_up_on(merged *few, const problem *p, hyper *h, const train_options *o, anygp_status *stopped,
                               double *cubic, anygp_error *e)
{
    double best, longest = 0;
    problem small = *p;
    small.rows = few;
    anygp_status status = climb_briefly(&model_exact, &small, h, o, WARM_ITERATIONS, &best, &longest, stopped, e);
    *cubic = longest / pow((double)few->n, 3);
    merged_clear(few);
    return status;
}

anygp_status start_warm_up(const problem *p, hyper *h, const train_options *o, anygp_status *stopped, double *cubic,
                           anygp_error *e)
{
    merged few = {0};
    TRY(start_rows(p, PLAN_WARM_ROWS, h->unit, &few, e));
    return warm_up_on(&few, p, h, o, stopped, cubic, e);
}

anygp_status start_warm_more(const problem *p, hyper *h, const train_options *o, int64_t rows, anygp_status *stopped,
                             anygp_error *e)
{
    merged few = {0};
    double cubic;
    if (p->rows->n <= rows) return ANYGP_OK;
    TRY(start_subset(p, rows, &few, e));
    return warm_up_on(&few, p, h, o, stopped, &cubic, e);
}

/* The leave-one-out log score of the nearest rows at h, whose noise is raised while that raises the score. */
static anygp_status score_by_neighbours(const problem *p, hyper *h, const deadline *until, double *score,
                                        anygp_error *e)
{
    static const double TIMES = 3;
    int64_t noise = hyper_kernel_params(h);
    double jitter = 0, best = -INFINITY, value;
    void *state = NULL;
    bool up = hyper_facts(h, noise)->free;
    TRY(model_nene.open(&model_nene, p, h, &state, e));
    for (double now = hyper_get(h, noise);; now *= TIMES) {
        hyper_set(h, noise, now);
        if (!model_nene.evaluate(state, h, true, &jitter, &value, NULL)) value = -INFINITY;
        if (best > -INFINITY && !(value > best)) {
            hyper_set(h, noise, now / TIMES);
            break;
        }
        best = value;
        if (!up || !isfinite(now * TIMES) || deadline_passed(until)) break;
    }
    model_nene.close(state);
    *score = best;
    return ANYGP_OK;
}

anygp_status start_to_keep(const problem *p, hyper *h, const train_options *o, anygp_status *stopped, double *cubic,
                           anygp_error *e)
{
    hyper other = {0};
    merged few = {0}, many = {0};
    double score, other_score;
    anygp_status status = ANYGP_OK;
    problem all = *p;
    deadline until = train_deadline(o);
    if (p->rows->n <= PLAN_WARM_ROWS) return start_warm_up(p, h, o, stopped, cubic, e);
    TRY(hyper_copy(h, &other, e));
    TRY_DONE(start_warm_up(p, h, o, stopped, cubic, e));
    if (*stopped || deadline_passed(&until)) goto done;
    TRY_DONE(start_subset(p, PLAN_WARM_ROWS, &few, e));
    TRY_DONE(warm_up_on(&few, p, &other, o, stopped, cubic, e));
    TRY_DONE(start_subset(p, KEPT_ROWS, &many, e));
    all.rows = &many, all.comm = comm_self(), all.near = (nearness){0};
    TRY_DONE(score_by_neighbours(&all, h, &until, &score, e));
    TRY_DONE(score_by_neighbours(&all, &other, &until, &other_score, e));
    for (int64_t i = 0; other_score > score && i < h->count; i++) hyper_set(h, i, hyper_get(&other, i));
done:
    merged_clear(&many);
    hyper_clear(&other);
    return status;
}

/* A scan over few rows may find no noise where rows are near duplicates: their neighbours know better. */
static anygp_status raise_noise(const problem *p, hyper *h, const train_options *o, anygp_error *e)
{
    static const double LITTLE = 1e-3; /* in units of the target's variance */
    merged some = {0};
    double score;
    problem all = *p;
    deadline until = train_deadline(o);
    if (p->rows->n <= PLAN_WARM_ROWS || hyper_get(h, hyper_kernel_params(h)) > LITTLE) return ANYGP_OK;
    TRY(start_subset(p, NEAR_ROWS, &some, e));
    all.rows = &some, all.comm = comm_self(), all.near = (nearness){.learn = NEAR_FEW};
    anygp_status status = score_by_neighbours(&all, h, &until, &score, e);
    merged_clear(&some);
    return status;
}

anygp_status start_near(const model_ops *model, const problem *p, hyper *h, const train_options *o,
                        anygp_status *stopped, anygp_error *e)
{
    merged few = {0};
    double best;
    problem small = *p;
    TRY(raise_noise(p, h, o, e));
    if (p->rows->n < 2 * NEAR_ROWS) return ANYGP_OK;
    TRY(start_subset(p, NEAR_ROWS, &few, e));
    small.rows = &few, small.near.given = NULL;
    if (!(p->near.learn > 0 && p->near.learn < NEAR_FEW)) small.near.learn = NEAR_FEW;
    anygp_status status = climb_briefly(model, &small, h, o, WARM_ITERATIONS, &best, NULL, stopped, e);
    merged_clear(&few);
    return status;
}
