/* --model auto: which model, how large, and what it will take.
       auto_choose.c   finds out what there is to know, and applies the answer
       auto_rates.c    how fast this machine is, as a coarse class
       auto_cost.c     the candidates: one row each of a table; what a run of them takes
       auto.c          the decision, a pure function of the facts: for each candidate the largest size there is time for
       auto_race.c     short fits of the candidates, scored on rows held out

   The cost of an evaluation or a step of a model is in its own table (model/cost.h). */
#ifndef GP_AUTO_H
#define GP_AUTO_H

#include "gp/fit.h"

typedef struct auto_facts {
    double rows;        /* usable ones */
    double distinct;    /* of inputs: what exact works on */
    int64_t inputs;     /* D */
    int64_t targets;    /* each a fit of exact, together one of vfe or svgp */
    int64_t latents;    /* of one target */
    int64_t params;     /* hyperparameters */
    bool gaussian;      /* the likelihood */
    bool in_memory;     /* the rows */
    bool places_given;  /* inducing inputs from a file: not exact */
    bool grows;         /* --inducing auto */
    int64_t inducing;   /* given, in all sets; 0: to be chosen */
    int64_t sets;       /* given; 0: one or two */
    int64_t part;       /* rows of a block, given; 0: to be chosen */
    int64_t iterations; /* at most, where the user says so; 0: as many as the model wants */
    int64_t batch;      /* rows per step; 0: all */
    int threads;
    double seconds; /* for all of it */
    double bytes;
    double products; /* R */
    double entries;  /* E */
    bool measure;    /* the two below are wanted, also where few rows make no difference to the choice */
    double products_measured, entries_measured; /* R and E as they were measured, not in classes; 0: they were not */
} auto_facts;

typedef struct auto_plan {
    const model_ops *model;
    int64_t sets[2], set_count; /* of inducing inputs; 0: the user's, or none */
    int64_t part;               /* rows of a block, for models whose blocks are parts of the input space; else 0 */
    int64_t iterations;         /* of each fit, that there is time for */
    double seconds, bytes;      /* of all of it, predicted */
    char reason[80];            /* "since ..." */
} auto_plan;

/* ------------------------------------------------------------------------------------ auto_cost.c */

/* A candidate besides exact.  Likelihoods, streams, shared targets and costs are as the model's table says. */
typedef struct auto_candidate {
    const model_ops *model;
    double passes;       /* that make a size worth it; 0 for models by steps */
    int64_t race_passes; /* of a short fit; 0: it does not race */
    double rows_most;    /* that its predictions are quick with */
} auto_candidate;

int auto_candidate_count(void);
const auto_candidate *auto_candidate_at(int i);
const auto_candidate *auto_candidate_of(const model_ops *model);
/* For all targets, with M inducing inputs in all and J rows per block: seconds of an evaluation or a step; bytes of a run, with the
   rows. */
double auto_seconds(const auto_facts *f, const model_ops *m, int64_t M, int64_t J);
double auto_bytes(const auto_facts *f, const model_ops *m, int64_t M, int64_t J);
double auto_start_seconds(const auto_facts *f); /* of the search for hyperparameters on a subset */
double auto_batch_rows(const auto_facts *f);    /* B */
double auto_scratch_bytes(const auto_facts *f, const model_ops *m, int64_t M,
                          int64_t J); /* of auto_bytes, those that may go to a scratch file */

/* --------------------------------------------------------------------------------------- auto.c */

enum { AUTO_ENTRANTS_MOST = 8 };

/* The plans that are worth a race, how_many of them, the one that is taken without a race first. */
int auto_plans(const auto_facts *f, auto_plan list[AUTO_ENTRANTS_MOST]);
void auto_decide(const auto_facts *f, auto_plan *p); /* that first one */
double auto_seconds_default(void);                   /* where --time is not given */
/* What a fit of any model takes, that makes all the iterations it wants, with M inducing inputs and J rows per block.  False: the
   time is too short for a fit worth having. */
bool auto_account(const auto_facts *f, const model_ops *m, int64_t M, int64_t J, auto_plan *p);

/* Short fits of `count` plans on all rows but a share: how large, how long.  Their work is fixed by the facts, never by a clock. */
typedef struct auto_race {
    int64_t inducing, part;
    double held;      /* share of the rows to score on */
    double seconds;   /* predicted */
    bool wanted;      /* there is something to find out */
    char skipped[80]; /* why there is none; "": there is one */
    int otherwise;    /* the plan to take where there is none */
} auto_race;

void auto_race_plan(const auto_facts *f, const auto_plan *list, int count, auto_race *r);
/* Iterations of a fit of so many passes over the rows: themselves, or steps. */
int64_t auto_race_iterations(const auto_facts *f, const model_ops *m, int64_t passes);
/* Passes that the winner goes on with at that size, where they cost little: its hyperparameters are a start for the fit. */
int64_t auto_polish_passes(const auto_facts *f, const auto_race *r, const model_ops *m);

/* What a short fit came to; mnlp NaN: it failed. */
typedef struct auto_score {
    double mnlp, rmse;
} auto_score;

/* The best mnlp; among those close to it, for so many rows, the best rmse; among those close to that, the first.  -1: all
   failed. */
int auto_winner(const auto_score *s, int count, int64_t held);

/* --------------------------------------------------------------------------------- auto_rates.c */

/* Operations and kernel entries per second, of all threads, as measured; and from these the ones in classes. */
anygp_status auto_rates(const kernel *k, const dataset *d, auto_facts *a, anygp_error *e);
void auto_rates_classes(auto_facts *a);
double auto_rate_class(double measured, double usual);
void auto_rates_usual(auto_facts *a); /* where measuring would take longer than the fit */

/* ---------------------------------------------------------------------------------- auto_race.c */

typedef struct auto_outcome {
    bool ran;         /* there are scores */
    int winner;       /* where there are none, auto_race.otherwise */
    int64_t held;     /* rows scored on */
    bool cut;         /* a limit of time or the caller ended it early */
    posterior *start; /* the winner's, whose hyperparameters are a start for the fit; the caller frees it; NULL: none */
    auto_score score[AUTO_ENTRANTS_MOST];
} auto_outcome;

/* Runs it in `seconds` at the very most. */
anygp_status auto_race_run(const fit_task *f, const auto_facts *a, const auto_race *r, const auto_plan *list, int count,
                           double seconds, auto_outcome *out, anygp_error *e);

/* -------------------------------------------------------------------------------- auto_choose.c */

/* Settles f->choice where it has no model, and tells the user.  f->start is then the caller's to free. */
anygp_status auto_choose(fit_task *f, anygp_error *e);
/* f with p's model and sizes. */
void auto_apply(fit_task *f, const auto_plan *p);

/* What there is to know before a choice: the facts, the plans worth a race, and the race. */
typedef struct auto_outlook {
    auto_facts facts;
    auto_plan list[AUTO_ENTRANTS_MOST];
    int count;
    auto_race race;
    dataset seen; /* rows of the first target, if `measure`; dataset_clear() frees it */
} auto_outlook;
/* measure: the speed of the machine, whatever the number of rows; `seen` is kept. */
anygp_status auto_look(const fit_task *f, bool measure, auto_outlook *o, anygp_error *e);
double auto_race_most(const auto_facts *a); /* seconds, whatever it was predicted to take */
/* Runs the race where there is one, in `seconds` at the very most. */
anygp_status auto_hold_race(const fit_task *f, const auto_outlook *o, double seconds, auto_outcome *out,
                            anygp_error *e);

/* ---------------------------------------------------------------------------------- auto_trend.c */

/* Whether two fits of m, each of so many seconds, will be made, with and without a linear mean. */
bool auto_may_have_trend(const fit_task *f, const model_ops *m, double seconds);
/* fit_listed(), and the second fit where there is one. */
anygp_status auto_fit(fit_task *f, gp **out, anygp_error *e);
/* A note on the season of a series, column `input` of the table, if it has one.  [auto_season.c] */
void auto_tell_season(const fit_task *f, int64_t input);

#endif
