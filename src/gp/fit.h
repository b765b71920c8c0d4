/* What the files of fitting share: columns.c, units.c, validate.c and fit.c, which calls them in this order. */
#ifndef GP_FIT_H
#define GP_FIT_H

#include "gp/gp.h"

/* ---------------------------------------------------------------------------------- columns.c */

typedef struct fit_columns {
    int64_t targets, *target;
    int64_t weights; /* -1: none */
    bool *skip;      /* columns of the table: it is a target */
} fit_columns;

/* Those named in the settings, or the file's own. */
anygp_status fit_columns_find(const table *t, const settings *s, fit_columns *c, anygp_error *e);
void fit_columns_clear(fit_columns *c);

/* ------------------------------------------------------------------------------------ units.c */

/* matern52 over the numbers, times a categorical factor over the texts. */
const char *gp_default_kernel(const schema *s);
/* Values the user gave are in data units. */
void gp_given_to_model_units(kernel *k, const schema *s);

/* --------------------------------------------------------------------------------- validate.c */

/* --valid 0.1: held[rows], that share of them at random; NULL if --valid is not a fraction. */
anygp_status valid_hold_out(const table *t, const settings *s, bool **held, anygp_error *e);
/* A validation file that is not there is said before the training, not after it. */
anygp_status valid_check_file(const settings *s, const bool *held, anygp_error *e);
/* What is wrong with the rows shows only after the training, and is no reason to throw the model away: a warning. */
void valid_score_held_out(gp *g, const table *t, int64_t weights, const bool *held, const settings *s);
void valid_score_file(gp_set *m, const settings *s);

#endif
