/* A fitted model as source text: plain C99 without any library but libm, or JSON for other languages.  Both follow the recipe of each
   target (recipe.h).
       recipe.c, recipe_*.c        what a model does to predict a row
       export_c.c                  C: inputs and the functions for callers; steps_c.c the steps, helpers_c.c what they call, kernel_c.c
                                   the kernels, observe_c.c from f to y
       export_json.c               JSON; docs/export.md has the format */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>

#include "export/recipe.h"

/* name: what the functions begin with, a C identifier; header: the name of the file with the declarations, or NULL: they are in the source.
   *source and, unless NULL, *declarations are freed by free(). */
anygp_status export_c(const gp_set *m, const char *name, const char *header, char **source, char **declarations,
                      anygp_error *e);
anygp_status export_json(const gp_set *m, char **text, anygp_error *e);

/* ---------------------------------------------------------------------------------------------- parts */

/* static const double prefix_name[] = {...}; */
void c_array(FILE *f, const char *prefix, const char *name, int64_t count, const double *values);
/* static void prefix_steps(const double *x, double *mean, double *variance) in model units, after its arrays; variance may be NULL.
   Of mixtures also double *weight, and where y has noise of its own double *noise. */
void c_steps(FILE *f, const char *prefix, const recipe *r);
void c_helpers(FILE *f, int64_t targets, const recipe *r); /* what those of all targets call [helpers_c.c] */
/* static double prefix_kernel1(const double *x, const double *z) and so on, with prefix_left1 where steps ask for it. */
void c_kernels(FILE *f, const char *prefix, const recipe *r);
/* Whether y can be computed in closed form from its latents; else a sentence. */
anygp_status c_check_likelihood(const gp *g, anygp_error *e);
/* static void prefix_observe(double exposure, const double *m, const double *v, double *mean, double *variance) in data units, or for
   classes prefix_observe(m, v, double *p); noisy: the noise of y is a further argument in the place of exposure. */
bool c_is_log(const gp *g); /* the target is the exponential of what the model is about */
void c_observe(FILE *f, const char *prefix, const gp *g, bool noisy);

#endif
