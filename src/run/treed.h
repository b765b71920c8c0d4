/* A partition that the evidence asks for (treed Gaussian processes; Gramacy and Lee 2008, 003 [19], [111]), found greedily.

   A node of the tree has rows y and an exact Gaussian process of its own, with hyperparameters of its own:
       E(y) = max over theta of log p(y | theta) + log prior(theta)
   It is cut at x_j <= v into y_l and y_r where
       E(y_l) + E(y_r) + log p(tree with the cut) > E(y) + log p(tree without it)
   In the prior of trees (Chipman, George and McCulloch 1998) a node at depth d is cut with probability a (1 + d)^-b, a = 1/2, b = 2, at
   one of the C places that are looked at, each as likely: the quarters of its rows along every input, or along the TREED_COLUMNS in which
   it is widest, in length-scales, and places near the best of these.  The best one by E of some rows of either side is judged.  Nodes of more than `cap` rows are cut in any case, at the best place, and do not count in d.

   Cost: 6 short climbs per node and input with at most TREED_RANK rows each, and three with at most TREED_JUDGE. */
#ifndef RUN_TREED_H
#define RUN_TREED_H

#include "run/train.h"

enum { TREED_RANK = 128, TREED_JUDGE = 512, TREED_COLUMNS = 16 };

typedef struct treed_options {
    int64_t cap; /* rows of p->rows above which a node is cut in any case */
    double most; /* multiplications that the search may take, about; what is left then stays uncut */
    int (*report)(void *ctx, const train_step *step); /* may be NULL; nonzero: enough */
    void *ctx;
} treed_options;

typedef struct treed_report {
    int64_t judged, made; /* cuts that the evidence could ask for, and those it did */
    bool ended;           /* before all nodes were looked at */
} treed_report;

/* From the rows p->rows, on every rank the same; h: starting values. */
anygp_status treed_cuts(const problem *p, const hyper *h, const treed_options *o, router **out, treed_report *r,
                        anygp_error *e);

#endif
