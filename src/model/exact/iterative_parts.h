/* What exact_iterative.c, iterative_evidence.c and iterative_posterior.c share. */
#ifndef MODEL_EXACT_ITERATIVE_PARTS_H
#define MODEL_EXACT_ITERATIVE_PARTS_H

#include "linalg/iterative/lanczos.h"
#include "model/exact/exact_iterative.h"

anygp_status iterative_resize(exact_iterative *s, int64_t probes, anygp_error *e);
anygp_status iterative_precondition(exact_iterative *s, const hyper *h, anygp_error *e);
anygp_status iterative_fill(exact_iterative *s, anygp_error *e);
double iterative_tolerance(const exact_iterative *s); /* nats */
/* cg_options: settled and enough. */
bool iterative_settled(void *ctx, const cg *c, int64_t k);
bool iterative_enough(void *ctx);

/* Operator and preconditioner at h. */
anygp_status iterative_prepare(exact_iterative *s, const hyper *h, double jitter, anygp_error *e);
/* R, b, alpha and W from solutions and residuals of y and H; *terms = log|S| + p log B - b'S b. */
bool iterative_project_mean(exact_iterative *s, const cg *c, double *terms);
int64_t iterative_width(const hyper *h); /* of what is kept of an evaluation */
/* The estimate at these hyperparameters; not finite: there was none. */
evidence_estimate iterative_recall(const exact_iterative *s, const hyper *h, double jitter);

/* The solver has the solutions of the last evaluation, which was there. */
bool iterative_was_at(const exact_iterative *s, const hyper *h, double jitter); /* or did when the run was stopped */
bool iterative_is_at(const exact_iterative *s, const hyper *h, double jitter);

#endif
