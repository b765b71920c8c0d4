/* What the pictures of classes compute; the tests compute it again. */
#ifndef REPORT_REPORT_CLASSES_H
#define REPORT_REPORT_CLASSES_H

#include "report/scene.h"

int64_t classes_top(const scene *c, int64_t i); /* the most probable class of row i, the lowest on ties */
/* counts[K, K]: rows of true class t that are taken for k, at [t K + k]; freed by free(). */
anygp_status classes_confusion(const scene *c, double **counts, anygp_error *e);

/* Rows in equal bins of the probability of their most probable class. */
enum { RELIABILITY_BINS = 10 };
typedef struct reliability_bin {
    double rows, confidence, accuracy; /* the means over these rows */
} reliability_bin;
void classes_reliability(const scene *c, reliability_bin bin[RELIABILITY_BINS]);

/* The ROC curve of class k against the rest: points from (0, 0) to (1, 1), at most n + 1 of them; their number, 0 if only one of the two
   occurs.  auc: the area under it. */
anygp_status classes_roc(const scene *c, int64_t k, double **wrong, double **right, int64_t *points, double *auc,
                         anygp_error *e);

#endif
