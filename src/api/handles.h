/* What the entry points share: the handles that are theirs, and the check of pointers. */
#ifndef API_HANDLES_H
#define API_HANDLES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/settings.h"
#include "data/formats/reader.h"
#include "data/rows/rows.h"
#include "gp/gp.h"

struct anygp_data {
    table *table; /* without values where the rows stay in a file: */
    row_source *file;
    bool weighted; /* made from arrays with weights: they are the last column */
};

/* Our regions and BLAS use the threads of the settings within a call, and what they had before after it.  By
   default: all processors, or this process's share if several were started on one machine, but no more than
   OMP_NUM_THREADS. */
int threads_begin(const settings *s);
anygp_status threads_end(int former, anygp_status status); /* status, for a return */

/* That target, n, ldx and flags fit the model, and X is there. */
anygp_status api_check_rows(const anygp_model *m, int64_t target, int64_t n, const double *X, int64_t ldx,
                            unsigned flags, anygp_error *e);
/* That the target is a count, and each exposure one it can have; NULL: none is given. */
anygp_status api_check_exposure(const anygp_model *m, int64_t target, int64_t n, const double *exposure,
                                anygp_error *e);
/* That every target is one, and was fitted with exposures. */
anygp_status api_check_own_exposure(const anygp_model *m, int64_t n, const double *exposure, anygp_error *e);

/* A predictor for some rows, and the threads they are worth, until api_session_end, which returns status. */
typedef struct api_session {
    predictor *p;
    bool kept;
    int former;
} api_session;
anygp_status api_session_begin(const anygp_model *m, int64_t target, const row_batch *b, bool variances,
                               api_session *out, anygp_error *e);
anygp_status api_session_end(api_session *s, anygp_status status);

/* A copy of s (NULL: the defaults) that names the weights of data made from arrays; the caller frees it. */
anygp_status api_settings_for(const settings *s, const anygp_data *data, settings **out, anygp_error *e);

const char *api_setting_help(setting_id i);  /* with its lists of names filled in */
const char *api_setting_brief(setting_id i); /* one line */

#define NEED(argument)                                                                                                 \
    if (!(argument)) return fail_with(e, ANYGP_ERR_ARGUMENT, "the argument %s must not be NULL", #argument)

#endif
