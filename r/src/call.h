/* What the files of this folder share: failures as R objects, handles as external pointers, notes of a call. */
#ifndef ANYGP_R_CALL_H
#define ANYGP_R_CALL_H

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>
#include <anygp/anygp.h>

/* A failure goes back to R as a text of class "agp_failure", which R raises as a condition: a jump out of C would leave handles. */
SEXP failure(anygp_status status, const char *text);

/* The model behind an external pointer; NULL after a session was saved and loaded again. */
anygp_model *model_of(SEXP handle);
SEXP model_handle(anygp_model *m); /* freed by R's collector */

/* Settings from two character vectors, with the notes and the interrupts of one call. */
typedef struct note {
    struct note *next;
    int level;
    char text[];
} note;

typedef struct agp_call {
    anygp_settings *settings;
    note *first, **last;
    int verbose, stop;    /* stop: it was asked for, and stays so until the call ends */
    double looked, shown; /* seconds at which interrupts were last looked for, and a line was last printed */
    SEXP callback;        /* a function of one list, or NULL */
    SEXP problem;         /* the error that it raised, preserved; or NULL */
} agp_call;

anygp_status call_begin(agp_call *c, SEXP names, SEXP values, SEXP verbose, anygp_error *e);
void call_end(agp_call *c);
SEXP call_notes(const agp_call *c); /* texts, named "note" or "warning" */

/* X is d x n here, so that its columns are the library's rows. */
static inline int64_t rows_of(SEXP X) { return Rf_ncols(X); }
static inline int64_t inputs_of(SEXP X) { return Rf_nrows(X); }
static inline const double *numbers_or_null(SEXP x) { return Rf_isNull(x) ? NULL : REAL(x); }

SEXP agp_fit(SEXP names, SEXP values, SEXP X, SEXP y, SEXP weights, SEXP columns, SEXP categories, SEXP verbose,
             SEXP callback);
SEXP agp_update(SEXP handle, SEXP names, SEXP values, SEXP X, SEXP y, SEXP weights, SEXP exposure);
SEXP agp_predict(SEXP handle, SEXP X, SEXP exposure, SEXP latent, SEXP variance);
SEXP agp_quantiles(SEXP handle, SEXP X, SEXP exposure, SEXP latent, SEXP probabilities);
SEXP agp_proba(SEXP handle, SEXP X);
SEXP agp_joint(SEXP handle, SEXP X, SEXP latent);
SEXP agp_sample(SEXP handle, SEXP X, SEXP latent, SEXP seed, SEXP count);
SEXP agp_save(SEXP handle, SEXP path);
SEXP agp_load(SEXP path);
SEXP agp_to_bytes(SEXP handle);
SEXP agp_from_bytes(SEXP bytes);
SEXP agp_info(SEXP handle, SEXP json);
SEXP agp_classes(SEXP handle);
SEXP agp_is_gone(SEXP handle);
SEXP agp_nearest_setting(SEXP name); /* or an empty text */
SEXP agp_setting_table(void);
SEXP agp_model_table(void);

#endif
