/* Fitting, and adding rows. */
#include "call.h"

#include <string.h>

static anygp_status name_columns(anygp_data *data, SEXP columns, anygp_error *e)
{
    for (R_xlen_t j = 0; j < Rf_xlength(columns); j++) {
        anygp_status status = anygp_data_name(data, j, Rf_translateCharUTF8(STRING_ELT(columns, j)), e);
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

/* categories: a list with one element per column, NULL for numbers, else the levels. */
static anygp_status name_categories(anygp_data *data, SEXP categories, anygp_error *e)
{
    for (R_xlen_t j = 0; j < Rf_xlength(categories); j++) {
        SEXP levels = VECTOR_ELT(categories, j);
        if (Rf_isNull(levels)) continue;
        const char **texts = (const char **)R_alloc((size_t)Rf_xlength(levels) + 1, sizeof *texts);
        for (R_xlen_t k = 0; k < Rf_xlength(levels); k++) texts[k] = Rf_translateCharUTF8(STRING_ELT(levels, k));
        anygp_status status = anygp_data_categories(data, j, Rf_xlength(levels), texts, e);
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

SEXP agp_fit(SEXP names, SEXP values, SEXP X, SEXP y, SEXP weights, SEXP columns, SEXP categories, SEXP verbose,
             SEXP callback)
{
    anygp_error e;
    agp_call c;
    anygp_data *data = NULL;
    anygp_model *model = NULL;
    anygp_status status = call_begin(&c, names, values, verbose, &e);
    c.callback = Rf_isNull(callback) ? NULL : callback;
    if (!ANYGP_FAILED(status))
        status = anygp_data_new(rows_of(X), inputs_of(X), REAL(X), inputs_of(X), REAL(y), numbers_or_null(weights),
                                &data, &e);
    if (!ANYGP_FAILED(status)) status = name_columns(data, columns, &e);
    if (!ANYGP_FAILED(status)) status = name_categories(data, categories, &e);
    if (!ANYGP_FAILED(status)) status = anygp_fit(c.settings, data, &model, &e);
    anygp_data_free(data);
    if (ANYGP_FAILED(status)) {
        call_end(&c);
        return failure(status, e.text);
    }
    SEXP found = PROTECT(Rf_allocVector(VECSXP, 4));
    SET_VECTOR_ELT(found, 0, model_handle(model));
    SET_VECTOR_ELT(found, 1, call_notes(&c));
    SET_VECTOR_ELT(found, 2, Rf_mkString(status == ANYGP_OK ? "" : anygp_status_text(status)));
    if (c.problem) SET_VECTOR_ELT(found, 3, c.problem);
    call_end(&c);
    UNPROTECT(1);
    return found;
}

SEXP agp_update(SEXP handle, SEXP names, SEXP values, SEXP X, SEXP y, SEXP weights, SEXP exposure)
{
    anygp_error e;
    agp_call c;
    SEXP quiet = PROTECT(Rf_ScalarLogical(0));
    anygp_status status = call_begin(&c, names, values, quiet, &e);
    if (!ANYGP_FAILED(status))
        status = anygp_update_exposed(model_of(handle), c.settings, rows_of(X), REAL(X), inputs_of(X), REAL(y),
                                      numbers_or_null(weights), numbers_or_null(exposure), &e);
    SEXP found = PROTECT(ANYGP_FAILED(status) ? failure(status, e.text) : call_notes(&c));
    call_end(&c);
    UNPROTECT(2);
    return found;
}
