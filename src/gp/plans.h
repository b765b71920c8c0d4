/* What each model would cost with these rows and settings, before any is fitted: `anygp plan`.  [plan.c] */
#ifndef GP_PLANS_H
#define GP_PLANS_H

#include "gp/auto.h"

typedef struct plan_line {
    char name[64];
    int64_t inducing;      /* 0: none */
    int64_t rows_of_block; /* for models whose blocks are parts of the input space; else 0 */
    int64_t iterations;    /* passes or steps that it would make */
    bool steps;            /* they are steps */
    bool costed;           /* the two below are known */
    double seconds, bytes; /* of the whole fit, by the measured speed of this machine */
    bool raced;            /* auto considers it, */
    int place;             /* in this place of its list */
    bool chosen;           /* by auto */
    char reason[240];      /* why it is ruled out; "": it is not */
} plan_line;

typedef struct gp_plan {
    auto_facts facts; /* with R and E as they were measured */
    char likelihood[32];
    int64_t count;
    plan_line *line; /* as auto prefers them: its choice or candidates, the others by seconds, those ruled out */
    bool wanted;     /* the choice is auto's */
    double
        race_seconds; /* of the short fits that decide for auto, where that takes too long to try here; 0: it is decided */
    char why[160];    /* auto's reason; "" */
} gp_plan;

/* Takes about a second at most besides one pass over the rows. */
anygp_status gp_plan_make(const gp_data *data, const settings *s, gp_plan *out, anygp_error *e);
void gp_plan_clear(gp_plan *p);

#endif
