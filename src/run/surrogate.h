/* Starting values for models with any likelihood: the search of start.c and the warm-up need Gaussian noise and one target, so
   they run on a stand-in for each target, whose kernel parameters are then taken over: for several targets the shortest lengths,
   the largest variances, and the first one's otherwise.
       numbers    the target itself
       counts     log((y + 1/2) / exposure), centred
       classes    +1 and -1 in turn: a kernel that tells half of the classes from the others tells most of them apart
       ordinal    the index, centred */
#ifndef RUN_SURROGATE_H
#define RUN_SURROGATE_H

#include "model/model.h"

typedef struct surrogate {
    dataset data; /* a view of the problem's, but for y */
    merged rows;
    problem problem;
    likelihood like; /* gaussian */
    hyper h;
} surrogate;

/* Whether p needs one. */
bool surrogate_needed(const problem *p);
/* For one target. */
anygp_status surrogate_open(const problem *p, int64_t target, const hyper *h, surrogate *s, anygp_error *e);
/* What was found, into h, after that of the targets before it. */
void surrogate_take(const surrogate *s, const problem *p, int64_t target, hyper *h);
void surrogate_close(surrogate *s); /* accepts a half-built one */

#endif
