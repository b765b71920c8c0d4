/*
 * anygp: Gaussian processes on large data.                              The whole public interface.
 *
 * Four verbs:   settings  ->  fit  ->  predict  ->  free
 *
 *     anygp_error e;
 *     anygp_settings *s = anygp_settings_new();
 *     anygp_set(s, "kernel", "rbf", &e);
 *     anygp_data *d;  anygp_data_read("train.csv", s, &d, &e);
 *     anygp_model *m; anygp_fit(s, d, &m, &e);
 *     anygp_predict(m, n, X, ldx, 0, mean, variance, &e);
 *
 * Conventions
 *   - Every call that can fail returns an anygp_status and, if `e` is not NULL, leaves one sentence in
 *     e->text that says what is wrong, where, and what to do.  The library never prints and never exits.
 *   - Handles are opaque; every *_free accepts NULL.
 *   - Inputs X are row-major with a stride (`ldx` doubles from one row to the next); other matrices are
 *     column-major.  Sizes are int64_t, numbers are double.
 *   - A handle may be used by one thread at a time; different handles are independent.
 */
#ifndef ANYGP_H
#define ANYGP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANYGP_VERSION_MAJOR 0
#define ANYGP_VERSION_MINOR 1
#define ANYGP_VERSION_PATCH 0
#define ANYGP_VERSION_NUMBER (ANYGP_VERSION_MAJOR * 10000 + ANYGP_VERSION_MINOR * 100 + ANYGP_VERSION_PATCH)

#if defined(__GNUC__)
#define ANYGP_API __attribute__((visibility("default")))
#else
#define ANYGP_API
#endif

/* ------------------------------------------------------------------------------------- statuses */

/* One list: expanded here as the enum, in the library as the messages of anygp_status_text().
   Values are part of the ABI and never change.  Below 100: a result, and the model is valid. */
#define ANYGP_STATUS_LIST(X)                                                                                           \
    X(OK, 0, "done")                                                                                                   \
    X(TIME_LIMIT, 1, "the time limit was reached; this is the best model so far")                                      \
    X(INTERRUPTED, 2, "stopped on request; this is the best model so far")                                             \
    X(ERR_ARGUMENT, 100, "an argument or a setting is wrong")                                                          \
    X(ERR_DATA, 101, "the data cannot be used")                                                                        \
    X(ERR_FILE, 102, "a file cannot be read or written")                                                               \
    X(ERR_MEMORY, 103, "not enough memory")                                                                            \
    X(ERR_NUMERIC, 104, "the numbers broke down")                                                                      \
    X(ERR_INTERNAL, 105, "an internal error; please report it")

typedef enum anygp_status {
#define ANYGP_STATUS_ENUM(name, value, text) ANYGP_##name = value,
    ANYGP_STATUS_LIST(ANYGP_STATUS_ENUM)
#undef ANYGP_STATUS_ENUM
} anygp_status;

/* True for the statuses that leave no result. */
#define ANYGP_FAILED(status) ((status) >= 100)

typedef struct anygp_error {
    anygp_status status;
    char text[508]; /* one sentence, always terminated */
} anygp_error;

ANYGP_API const char *anygp_status_text(anygp_status status);
ANYGP_API const char *anygp_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
