/* Settings, notes, progress and interrupts of a call. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

SEXP failure(anygp_status status, const char *text)
{
    SEXP found = PROTECT(Rf_mkString(text));
    Rf_setAttrib(found, R_ClassSymbol, Rf_mkString("agp_failure"));
    Rf_setAttrib(found, Rf_install("status"), Rf_ScalarInteger((int)status));
    UNPROTECT(1);
    return found;
}

/* ------------------------------------------------------------------------------------------- handles */

anygp_model *model_of(SEXP handle) { return TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL; }

static void finalize(SEXP handle)
{
    anygp_model_free(R_ExternalPtrAddr(handle));
    R_ClearExternalPtr(handle);
}

SEXP model_handle(anygp_model *m)
{
    SEXP handle = PROTECT(R_MakeExternalPtr(m, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(handle, finalize, TRUE);
    UNPROTECT(1);
    return handle;
}

SEXP agp_is_gone(SEXP handle) { return Rf_ScalarLogical(!model_of(handle)); }

/* ----------------------------------------------------------------------------------------- callbacks */

static void on_log(void *ctx, anygp_log_level level, const char *text)
{
    agp_call *c = ctx;
    note *added = malloc(sizeof *added + strlen(text) + 1);
    if (!added) return;
    added->next = NULL;
    added->level = (int)level;
    strcpy(added->text, text);
    *c->last = added;
    c->last = &added->next;
}

/* What a callback of R is given. */
static SEXP as_list(const anygp_progress *p)
{
    static const char *const names[] = {"stage", "iteration", "iterations", "objective", "seconds", "rmse", "mnlp", ""};
    SEXP found = PROTECT(Rf_mkNamed(VECSXP, (const char **)names));
    SET_VECTOR_ELT(found, 0, Rf_mkString(p->stage));
    double numbers[] = {(double)p->iteration, (double)p->iterations, p->objective, p->seconds, p->rmse, p->mnlp};
    for (int k = 0; k < 6; k++) SET_VECTOR_ELT(found, k + 1, Rf_ScalarReal(numbers[k]));
    UNPROTECT(1);
    return found;
}

typedef struct visit {
    agp_call *c;
    const anygp_progress *p; /* NULL: there is none */
} visit;

static SEXP look(void *ctx)
{
    visit *v = ctx;
    if (v->p && v->c->callback) {
        SEXP given = PROTECT(as_list(v->p)), call = PROTECT(Rf_lang2(v->c->callback, given));
        SEXP answer = PROTECT(Rf_eval(call, R_GlobalEnv));
        if (Rf_isLogical(answer) && Rf_asLogical(answer) == 1) v->c->stop = 1;
        UNPROTECT(3);
    }
    R_CheckUserInterrupt();
    return R_NilValue;
}

static SEXP remember(SEXP condition, void *ctx)
{
    visit *v = ctx;
    v->c->stop = 1;
    if (!v->c->problem && Rf_inherits(condition, "error")) R_PreserveObject(v->c->problem = condition);
    return R_NilValue;
}

/* Calls back, and looks for interrupts.  Conditions are caught here: a jump would leave the library half-way. */
static int asked_to_stop(agp_call *c, const anygp_progress *p)
{
    visit v = {c, p};
    SEXP kinds = PROTECT(Rf_allocVector(STRSXP, 2));
    SET_STRING_ELT(kinds, 0, Rf_mkChar("interrupt"));
    SET_STRING_ELT(kinds, 1, Rf_mkChar("error"));
    R_tryCatch(look, &v, kinds, remember, &v, NULL, NULL);
    UNPROTECT(1);
    return c->stop;
}

/* A nonzero result ends the training with the best model so far. */
static int on_progress(void *ctx, const anygp_progress *p)
{
    agp_call *c = ctx;
    if (c->verbose && p->seconds >= c->shown + 1) {
        c->shown = p->seconds;
        Rprintf("%6.1f s  %s %lld of at most %lld, objective %.6g\n", p->seconds, p->stage, (long long)p->iteration,
                (long long)p->iterations, p->objective);
    }
    if (c->stop || p->seconds < c->looked + 0.05) return c->stop;
    c->looked = p->seconds;
    return asked_to_stop(c, p);
}

static int on_stop(void *ctx)
{
    agp_call *c = ctx;
    return c->stop || asked_to_stop(c, NULL);
}

/* ---------------------------------------------------------------------------------------------- call */

anygp_status call_begin(agp_call *c, SEXP names, SEXP values, SEXP verbose, anygp_error *e)
{
    *c = (agp_call){.settings = anygp_settings_new(), .verbose = Rf_asLogical(verbose) == 1};
    c->last = &c->first;
    if (!c->settings) {
        e->status = ANYGP_ERR_MEMORY;
        strcpy(e->text, "there is not enough memory for the settings");
        return e->status;
    }
    anygp_on_log(c->settings, on_log, c);
    anygp_on_progress(c->settings, on_progress, c);
    anygp_on_stop(c->settings, on_stop, c);
    for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
        const char *name = Rf_translateCharUTF8(STRING_ELT(names, i)),
                   *value = Rf_translateCharUTF8(STRING_ELT(values, i));
        anygp_status status = anygp_set(c->settings, name, value, e);
        if (ANYGP_FAILED(status)) return status;
    }
    return ANYGP_OK;
}

void call_end(agp_call *c)
{
    for (note *n = c->first; n;) {
        note *next = n->next;
        free(n);
        n = next;
    }
    if (c->problem) R_ReleaseObject(c->problem);
    anygp_settings_free(c->settings);
    *c = (agp_call){0};
}

SEXP call_notes(const agp_call *c)
{
    R_xlen_t count = 0, i = 0;
    for (const note *n = c->first; n; n = n->next) count++;
    SEXP texts = PROTECT(Rf_allocVector(STRSXP, count)), kinds = PROTECT(Rf_allocVector(STRSXP, count));
    for (const note *n = c->first; n; n = n->next, i++) {
        SET_STRING_ELT(texts, i, Rf_mkCharCE(n->text, CE_UTF8));
        SET_STRING_ELT(kinds, i, Rf_mkChar(n->level == ANYGP_WARNING ? "warning" : "note"));
    }
    Rf_setAttrib(texts, R_NamesSymbol, kinds);
    UNPROTECT(2);
    return texts;
}
