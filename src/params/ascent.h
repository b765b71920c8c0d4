/* The free parameters on their way up by Adam: what a learner that takes steps has besides its q. */
#ifndef PARAMS_ASCENT_H
#define PARAMS_ASCENT_H

#include "params/checkpoint.h"
#include "params/hyper.h"

typedef struct ascent {
    param_list *list; /* whose parameters they are, and which has Adam's state; from ascent_begin on */
    int64_t n;        /* numbers of u */
    double *u;        /* where they are */
    double *before;   /* and were before the step */
    double *gp;       /* the gradient in the natural values, hyper_size(h), which the model fills in */
    double *gu;       /* and in u, with the prior's */
} ascent;

anygp_status ascent_init(ascent *a, const hyper *h, anygp_error *e);
void ascent_clear(ascent *a); /* accepts a half-built one */
/* From the values in h, which has taken no step. */
anygp_status ascent_begin(ascent *a, hyper *h, anygp_error *e);
/* Segments of h have grown: u has their rows, and goes on from the values in h. */
anygp_status ascent_extend(ascent *a, hyper *h, anygp_error *e);
void ascent_slope(ascent *a, const hyper *h); /* gu from gp */
void ascent_keep(ascent *a);                  /* a step begins */
void ascent_step(ascent *a, double rate);     /* u; h is as before */
void ascent_back(ascent *a, hyper *h);        /* to where the step began */

void ascent_save(const ascent *a, checkpoint *to);
bool ascent_restore(ascent *a, hyper *h, const checkpoint *from); /* false: it is from another run */

#endif
