/* Statuses with sentences.  Every fallible function returns an anygp_status; fail_with() sets both at once:
       return fail_with(e, ANYGP_ERR_DATA, "%s has no rows; ...", path);                                     */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "anygp/anygp.h"

/* Writes the sentence (truncated to fit) into e if it is not NULL, and returns `status`. */
anygp_status fail_with(anygp_error *e, anygp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The common one: "not enough memory for WHAT (N bytes)". */
anygp_status fail_memory(anygp_error *e, const char *what, double bytes);

/* Returns from the calling function when `call` failed; statuses below 100 pass. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        anygp_status try_status_ = (call);                                                                             \
        if (ANYGP_FAILED(try_status_)) return try_status_;                                                             \
    } while (0)

/* The same inside a function with one cleanup label `done:` and a variable `status`. */
#define TRY_DONE(call)                                                                                                 \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (ANYGP_FAILED(status)) goto done;                                                                           \
    } while (0)

#endif
