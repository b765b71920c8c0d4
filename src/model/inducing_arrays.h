/* Inducing variables in the model file: "Z" (D x M), "widths" (D x M, logarithms) where they have some, and "L", their factor;
   odvgp's second set is "O" and "O_widths" and has none.  fourier has "frequencies" (D x M, in units of length-scales) instead of
   "Z". */
#ifndef MODEL_INDUCING_ARRAYS_H
#define MODEL_INDUCING_ARRAYS_H

#include "inducing/inducing.h"
#include "model/model.h"

typedef enum inducing_place { INDUCING_FIRST, INDUCING_SECOND } inducing_place;
void inducing_arrays(inducing_set *v, inducing_place place, array_list *list);

/* Whether L[M,M], read from a file, can be a Cholesky factor. */
bool is_factor(int64_t M, const double *L);

/* Found and checked, but not taken. */
typedef struct inducing_found {
    const inducing_ops *kind;
    int64_t M;
    named_array *Z, *C, *L; /* C: NULL where there are no widths; L: of the first set */
} inducing_found;
anygp_status inducing_find_arrays(named_array *list, int64_t count, inducing_place place, const kernel *k, int64_t D,
                                  inducing_found *f, anygp_error *e);
void inducing_take_arrays(inducing_found *f, inducing_set *v); /* into an empty one */

#endif
