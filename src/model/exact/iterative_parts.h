/* What exact_iterative.c and iterative_evidence.c share. */
#ifndef MODEL_EXACT_ITERATIVE_PARTS_H
#define MODEL_EXACT_ITERATIVE_PARTS_H

#include "linalg/iterative/lanczos.h"
#include "model/exact/exact_iterative.h"

anygp_status iterative_resize(exact_iterative *s, int64_t probes, anygp_error *e);
anygp_status iterative_precondition(exact_iterative *s, const hyper *h, double jitter, anygp_error *e);
anygp_status iterative_fill(exact_iterative *s, anygp_error *e);
double iterative_tolerance(const exact_iterative *s); /* nats */
/* cg_options: settled and enough. */
bool iterative_settled(void *ctx, const cg *c, int64_t k);
bool iterative_enough(void *ctx);

#endif
