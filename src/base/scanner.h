/* Reads a text of the form NAME(option, key=value, ...) piece by piece, and points at mistakes:
       kernel 'rbf(varianc=1)': unknown option 'varianc' at character 5; rbf takes variance, lengthscale, ...
   Nothing here depends on the locale. */
#ifndef BASE_SCANNER_H
#define BASE_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct scanner {
    const char *what; /* sentences begin with it: "kernel" */
    const char *text;
    int64_t length, at; /* bytes; the next one */
    const char *hint;   /* ends a sentence that has no hint of its own; NULL: none */
    anygp_error *e;
} scanner;

scanner scan_text(const char *what, const char *text, anygp_error *e);

bool scan_is_blank(char c);
bool scan_starts_word(char c);
char scan_peek(scanner *s);         /* after blanks; 0 at the end */
bool scan_take(scanner *s, char c); /* after blanks */
int64_t scan_word(scanner *s);      /* bytes of the word (letters, digits, _) after blanks; it is not taken */
void scan_blanks(scanner *s);

/* Decimal digits with a sign, a point, an exponent; infinite where it is too large. */
anygp_status scan_number(scanner *s, double *v);
anygp_status scan_end(scanner *s); /* nothing more */

/* ( option , option ... ), or nothing at all, or (): option() takes one from the scanner. */
anygp_status scan_options(scanner *s, anygp_status (*option)(scanner *s, void *ctx), void *ctx);

/* Fails with "WHAT 'TEXT': MESSAGE at character N; HINT", where byte `at` is. */
anygp_status scan_fail(const scanner *s, int64_t at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
