/* Starting values for models with any likelihood: the search of start.c and the warm-up need Gaussian noise and one target, so
   they run on a stand-in of the data whose kernel parameters are then taken over.
       numbers    the first target
       counts     log((y + 1/2) / exposure), centred
       classes    +1 and -1 in turn: a kernel that tells half of the classes from the others tells most of them apart
       ordinal    the index, centred */
#ifndef INFER_SURROGATE_H
#define INFER_SURROGATE_H

#include "model/model.h"

typedef struct surrogate {
    dataset data; /* a view of the problem's, but for y */
    merged rows;
    problem problem;
    hyper h;
} surrogate;

/* Whether p needs one. */
bool surrogate_needed(const problem *p);
anygp_status surrogate_open(const problem *p, const hyper *h, surrogate *s, anygp_error *e);
/* What was found, into h.  unseen: noises of targets after the first, which the search has not seen, start no smaller than
   they were; natural steps need no such care. */
void surrogate_take(const surrogate *s, const problem *p, bool unseen, hyper *h);
void surrogate_close(surrogate *s); /* accepts a half-built one */

#endif
