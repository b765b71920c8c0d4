/* A fitted model as source text: plain C99 without any library but libm, or JSON for other languages.  Both follow the recipe of each
   target (recipe.h).
       recipe.c, recipe_models.c   what a model does to predict a row
       export_c.c                  C: inputs and the functions for callers; steps_c.c the steps, kernel_c.c the kernels, observe_c.c
                                   from f to y
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
/* static void prefix_steps(const double *x, double *mean, double *variance) in model units, after its arrays; variance may be NULL. */
void c_steps(FILE *f, const char *prefix, const recipe *r);
void c_helpers(FILE *f, int64_t targets, const recipe *r); /* what those of all targets call */
bool recipe_has(const recipe *r, step_op op);
/* static double prefix_kernel(const double *x, const double *z), and prefix_left where `left`. */
void c_kernel(FILE *f, const char *prefix, const kernel *k, bool left);
/* Whether y can be computed in closed form from its latents; else a sentence. */
anygp_status c_check_likelihood(const gp *g, anygp_error *e);
/* static void prefix_observe(double exposure, const double *m, const double *v, double *mean, double *variance) in data units, or for
   classes prefix_observe(m, v, double *p). */
void c_observe(FILE *f, const char *prefix, const gp *g);

#endif
