/* Trials of splits and merges: moe_reform.c has them, and the merges of moe_join.c use them too. */
#ifndef MODEL_MIXTURE_MOE_TRIALS_H
#define MODEL_MIXTURE_MOE_TRIALS_H

#include "model/mixture/moe.h"

typedef struct reform {
    moe_state *s;
    hyper *h;
    step_context rows; /* of every trial */
    int64_t *which;
    double N[MOE_EXPERTS_MOST], S[MOE_EXPERTS_MOST * MOE_EXPERTS_MOST]; /* sum w r_i, sum w r_i E_j */
    double base;                                                        /* the bound that a change has to beat */
    double price;    /* of one more expert: what a split has to gain, and a merge may lose */
    checkpoint *was; /* before a trial */
    double *was_Z;   /* of the expert that is to begin anew */
    int64_t adopted; /* the expert that the spare one is in the place of; -1: none */
    bool changed;
} reform;

static inline hyper *reform_hyper(const reform *r, int64_t k) { return k == 0 ? r->h : &r->s->h[k]; }
/* Everything, and the places of expert k, as back() puts it there again. */
anygp_status reform_keep(reform *r, int64_t k, anygp_error *e);
/* Whether what was changed since then stays: where the bound that some steps lead to is above base + margin. */
anygp_status reform_judge(reform *r, int64_t k, double margin, bool *stays, anygp_error *e);

/* Merges of a mixture that finds how many experts it needs [moe_join.c]. */
anygp_status moe_join(reform *r, anygp_error *e);

#endif
