/* Posteriors of svgp that are parts of another one, in its model file: the arrays of part i stand under NAME<i>/, with the values of its
   kernel, which is written like the kernel of the whole. */
#ifndef MODEL_VARIATIONAL_SVGP_NESTED_H
#define MODEL_VARIATIONAL_SVGP_NESTED_H

#include "model/variational/svgp_posterior.h"

enum { NESTED_ARRAYS = 8, NESTED_PATH = 32 };

typedef struct nested_paths {
    char at[NESTED_ARRAYS][NESTED_PATH];
} nested_paths;

/* Adds the arrays of a part; `paths` has their names, and outlives the list. */
void nested_arrays(posterior *part, const char *name, int64_t i, nested_paths *paths, array_list *list);
/* How many parts there are, NAME1/, NAME2/, ... from `first` on. */
int64_t nested_count(const char *name, int64_t first, const named_array *list, int64_t count);
/* Part i; `like` is the kernel of the whole.  Takes over its arrays and the mean, on success only. */
anygp_status nested_load(const model_ops *self, const char *name, int64_t i, const kernel *like, double noise,
                         basis *mean, int64_t D, named_array *list, int64_t count, posterior **out, anygp_error *e);

#endif
