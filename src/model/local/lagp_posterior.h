/* The posterior of lagp: that of vecchia, and how it chooses the rows of a prediction. */
#ifndef MODEL_LOCAL_LAGP_POSTERIOR_H
#define MODEL_LOCAL_LAGP_POSTERIOR_H

#include "model/local/lagp.h"
#include "model/local/vecchia_posterior.h"

typedef struct lagp_posterior {
    vecchia_posterior near;
    lagp_kind kind;
} lagp_posterior;

extern const posterior_form lagp_form; /* whoever makes it sets the kind: */
void lagp_take_kind(posterior *p, lagp_kind kind);

/* Student's t as a mixture of S normals [lagp_student.c]. */
enum { STUDENT_LEAST = 3, STUDENT_MOST = 64 }; /* degrees of freedom from which on there is a variance; components */
int64_t student_count(int64_t freedom);        /* components that suffice from so many degrees of freedom on */
/* Their variances, in units of the squared scale, and weights; freedom 0: a normal. */
void student_components(double freedom, int64_t S, double *variance, double *weight);

anygp_status lagp_load(const model_ops *self, kernel *k, double noise, basis *mean, int64_t D, named_array *list,
                       int64_t count, posterior **out, anygp_error *e);

#endif
