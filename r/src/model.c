/* Model files, what a model holds, the tables of settings and models, and the list of routines for R. */
#include "call.h"

#include <R_ext/Rdynload.h>
#include <string.h>

SEXP agp_save(SEXP handle, SEXP path)
{
    anygp_error e;
    const char *name = R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
    anygp_status status = anygp_save(model_of(handle), name, &e);
    return ANYGP_FAILED(status) ? failure(status, e.text) : R_NilValue;
}

SEXP agp_load(SEXP path)
{
    anygp_error e;
    anygp_model *m;
    anygp_status status = anygp_load(R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0))), &m, &e);
    return ANYGP_FAILED(status) ? failure(status, e.text) : model_handle(m);
}

SEXP agp_to_bytes(SEXP handle)
{
    anygp_error e;
    void *bytes;
    size_t size;
    anygp_status status = anygp_save_bytes(model_of(handle), &bytes, &size, &e);
    if (ANYGP_FAILED(status)) return failure(status, e.text);
    SEXP found = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
    memcpy(RAW(found), bytes, size);
    anygp_bytes_free(bytes);
    UNPROTECT(1);
    return found;
}

SEXP agp_from_bytes(SEXP bytes)
{
    anygp_error e;
    anygp_model *m;
    anygp_status status = anygp_load_bytes(RAW(bytes), (size_t)Rf_xlength(bytes), &m, &e);
    return ANYGP_FAILED(status) ? failure(status, e.text) : model_handle(m);
}

SEXP agp_info(SEXP handle, SEXP json)
{
    anygp_error e;
    char *text;
    anygp_status status = anygp_info(model_of(handle), Rf_asLogical(json) == 1, &text, &e);
    if (ANYGP_FAILED(status)) return failure(status, e.text);
    SEXP found = PROTECT(Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)));
    anygp_text_free(text);
    UNPROTECT(1);
    return found;
}

SEXP agp_classes(SEXP handle)
{
    anygp_model *m = model_of(handle);
    int64_t count = anygp_classes(m, 0);
    SEXP found = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
    for (int64_t k = 0; k < count; k++) SET_STRING_ELT(found, k, Rf_mkCharCE(anygp_class_name(m, 0, k), CE_UTF8));
    UNPROTECT(1);
    return found;
}

/* -------------------------------------------------------------------------------------------- tables */

typedef const char *field_fn(int64_t i, const char *field);

/* A list of character vectors, one for each field. */
static SEXP table(int64_t rows, field_fn *field, int count, const char *const *fields)
{
    SEXP found = PROTECT(Rf_allocVector(VECSXP, count)), names = PROTECT(Rf_allocVector(STRSXP, count));
    for (int k = 0; k < count; k++) {
        SEXP column = Rf_allocVector(STRSXP, (R_xlen_t)rows);
        SET_VECTOR_ELT(found, k, column);
        SET_STRING_ELT(names, k, Rf_mkChar(fields[k]));
        for (int64_t i = 0; i < rows; i++) {
            const char *text = field(i, fields[k]);
            SET_STRING_ELT(column, i, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
        }
    }
    Rf_setAttrib(found, R_NamesSymbol, names);
    UNPROTECT(2);
    return found;
}

SEXP agp_setting_table(void)
{
    static const char *const fields[] = {"name", "type", "default", "choices", "commands", "help"};
    return table(anygp_setting_count(), anygp_setting_field, 6, fields);
}

SEXP agp_nearest_setting(SEXP name)
{
    const char *found = anygp_setting_nearest(Rf_translateCharUTF8(STRING_ELT(name, 0)));
    return Rf_mkString(found ? found : "");
}

SEXP agp_model_table(void)
{
    static const char *const fields[] = {"name", "summary", "likelihoods", "rows", "learning", "update", "cost"};
    return table(anygp_model_count(), anygp_model_field, 7, fields);
}

/* ------------------------------------------------------------------------------------------ routines */

#define ROUTINE(name, count)                                                                                           \
    {                                                                                                                  \
#name, (DL_FUNC)(void (*)(void)) & name, count                                                                 \
    }
static const R_CallMethodDef routines[] = {ROUTINE(agp_fit, 9),
                                           ROUTINE(agp_update, 7),
                                           ROUTINE(agp_predict, 5),
                                           ROUTINE(agp_quantiles, 5),
                                           ROUTINE(agp_proba, 2),
                                           ROUTINE(agp_joint, 3),
                                           ROUTINE(agp_sample, 5),
                                           ROUTINE(agp_save, 2),
                                           ROUTINE(agp_load, 1),
                                           ROUTINE(agp_to_bytes, 1),
                                           ROUTINE(agp_from_bytes, 1),
                                           ROUTINE(agp_info, 2),
                                           ROUTINE(agp_classes, 1),
                                           ROUTINE(agp_is_gone, 1),
                                           ROUTINE(agp_setting_table, 0),
                                           ROUTINE(agp_model_table, 0),
                                           ROUTINE(agp_nearest_setting, 1),
                                           {NULL, NULL, 0}};

void R_init_anygp(DllInfo *dll)
{
    R_registerRoutines(dll, NULL, routines, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
}
