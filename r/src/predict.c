/* Predictions: numbers in, numbers out. */
#include "call.h"

#include <string.h>

static unsigned flags_of(SEXP latent) { return Rf_asLogical(latent) == 1 ? ANYGP_LATENT : 0; }

/* The result, or what went wrong; `found` is protected by the caller until here. */
static SEXP result(anygp_status status, const anygp_error *e, SEXP found)
{
    return ANYGP_FAILED(status) ? failure(status, e->text) : found;
}

/* A list of the mean and, if asked for, the variance. */
SEXP agp_predict(SEXP handle, SEXP X, SEXP exposure, SEXP latent, SEXP variance)
{
    anygp_error e;
    int wanted = Rf_asLogical(variance) == 1;
    R_xlen_t n = rows_of(X);
    SEXP found = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(found, 0, Rf_allocVector(REALSXP, n));
    if (wanted) SET_VECTOR_ELT(found, 1, Rf_allocVector(REALSXP, n));
    anygp_status status = anygp_predict_exposed(model_of(handle), 0, n, REAL(X), inputs_of(X),
                                                numbers_or_null(exposure), flags_of(latent), REAL(VECTOR_ELT(found, 0)),
                                                wanted ? REAL(VECTOR_ELT(found, 1)) : NULL, &e);
    found = result(status, &e, found);
    UNPROTECT(1);
    return found;
}

SEXP agp_quantiles(SEXP handle, SEXP X, SEXP exposure, SEXP latent, SEXP probabilities)
{
    anygp_error e;
    SEXP found = PROTECT(Rf_allocMatrix(REALSXP, (int)rows_of(X), (int)Rf_xlength(probabilities)));
    anygp_status status =
        anygp_predict_quantiles(model_of(handle), 0, rows_of(X), REAL(X), inputs_of(X), numbers_or_null(exposure),
                                flags_of(latent), Rf_xlength(probabilities), REAL(probabilities), REAL(found), &e);
    found = result(status, &e, found);
    UNPROTECT(1);
    return found;
}

SEXP agp_proba(SEXP handle, SEXP X)
{
    anygp_error e;
    SEXP found = PROTECT(Rf_allocMatrix(REALSXP, (int)rows_of(X), (int)anygp_classes(model_of(handle), 0)));
    anygp_status status = anygp_predict_proba(model_of(handle), 0, rows_of(X), REAL(X), inputs_of(X), REAL(found), &e);
    found = result(status, &e, found);
    UNPROTECT(1);
    return found;
}

SEXP agp_joint(SEXP handle, SEXP X, SEXP latent)
{
    anygp_error e;
    int n = (int)rows_of(X);
    SEXP found = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(found, 0, Rf_allocVector(REALSXP, n));
    SET_VECTOR_ELT(found, 1, Rf_allocMatrix(REALSXP, n, n));
    anygp_status status = anygp_predict_joint(model_of(handle), 0, n, REAL(X), inputs_of(X), flags_of(latent),
                                              REAL(VECTOR_ELT(found, 0)), REAL(VECTOR_ELT(found, 1)), &e);
    found = result(status, &e, found);
    UNPROTECT(1);
    return found;
}

SEXP agp_sample(SEXP handle, SEXP X, SEXP latent, SEXP seed, SEXP count)
{
    anygp_error e;
    SEXP found = PROTECT(Rf_allocMatrix(REALSXP, (int)rows_of(X), Rf_asInteger(count)));
    anygp_status status = anygp_sample(model_of(handle), 0, rows_of(X), REAL(X), inputs_of(X), flags_of(latent),
                                       (uint64_t)Rf_asReal(seed), Rf_asInteger(count), REAL(found), &e);
    found = result(status, &e, found);
    UNPROTECT(1);
    return found;
}
