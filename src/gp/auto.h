/* --model auto: which model, how large, and what it will take.  auto_decide() is a pure function of what is known before the
   training; auto_choose() finds that out and applies the answer.

   With R the operations a second of a matrix product and E the kernel entries a second, both measured here and now, rows n,
   distinct rows n1, batch B, C latents, M inducing inputs:
       exact   evaluation   n1^3 / (e R) + 2 n1^2 / E                       bytes 8 n1^2
       vfe     evaluation   (5 n M^2 + 8 M^3) / (e R) + 4 n M / E           bytes 8 ((8 + 3 T) M^2 + 768 T M + n M), T threads;
                                                                             32 n M where n^2 M < 2 10^10
               a further target adds  8 n M + 2 M^3                          24 M^2 for all of them
       svgp    step         (3 (1 + C) M^2 B + 2 C M^3) / (e R) + 4 (B + M) M / E
       solve   M + M: 0.8 of svgp with 2 M
   where e is the share of R that each reaches, and 4 counts a kernel entry and its reverse. */
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
    int64_t inducing;   /* given, in all sets; 0: to be chosen */
    int64_t sets;       /* given; 0: one or two */
    int64_t iterations; /* at most, where the user says so; 0: as many as the model wants */
    int64_t batch;      /* rows a step; 0: all */
    int threads;
    double seconds; /* for all targets; what has gone by is off */
    bool seconds_given;
    double bytes;
    double products; /* R */
    double entries;  /* E */
} auto_facts;

typedef struct auto_plan {
    const model_ops *model;
    int64_t sets[2], set_count; /* of inducing inputs; 0: the user's, or none */
    int64_t iterations;         /* of each fit */
    double seconds, bytes;      /* of all of it, predicted */
    char reason[80];            /* "since ..." */
} auto_plan;

void auto_decide(const auto_facts *f, auto_plan *p);
double auto_seconds_default(void); /* where --time says nothing */

/* Settles f->choice where it has no model, and tells the user. */
anygp_status auto_choose(fit_task *f, anygp_error *e);

#endif
