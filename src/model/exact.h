/* The parts of the exact model that models built on it (subset of data) use; see exact.c. */
#ifndef MODEL_EXACT_H
#define MODEL_EXACT_H

#include "model/model.h"

/* Works on `rows`, or takes `owned` over if it is not NULL. */
anygp_status exact_open_rows(const merged *rows, merged *owned, const basis *mean, void **state, anygp_error *e);
double exact_bytes_for(int64_t n, int64_t D);

bool exact_evaluate(void *state, const hyper *h, bool grow, double *jitter, double *value, double *gp);
const leave_one_out *exact_loo(void *state, const hyper *h);
anygp_status exact_to_posterior(void *state, const hyper *h, double *jitter, posterior **out, anygp_error *e);
double exact_rows(const void *state);
void exact_close(void *state);
anygp_status exact_load(kernel *k, double noise, basis *mean, int64_t D, named_array *list, int64_t count,
                        posterior **out, anygp_error *e);

#endif
