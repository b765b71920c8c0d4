/* Decimal numbers as text, to and from double; neither depends on the locale. */
#ifndef DATA_TEXT_NUMBER_H
#define DATA_TEXT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cell_kind { CELL_NUMBER, CELL_MISSING, CELL_INFINITE, CELL_TEXT } cell_kind;

/* Reads the longest number  [+-] digits [. digits] [(e|E|d|D) [+-] digits]  at s, nothing at or after `end`, and
   returns where it stops; NULL if there is none.  *x is correctly rounded (ties to even); it is infinite where the
   number is too large, and 0 or denormal where it is too small. */
const char *number_scan(const char *s, const char *end, double *x);

/* What the cell s .. end-1, blanks around it removed, is: a number (or one too large, or written as inf), one of the
   signs for a missing value (*x = NaN), or text. */
cell_kind cell_classify(const char *s, const char *end, double *x);

bool cell_is_missing(const char *s, const char *end);

/* Whether a cell without blanks around it is in a list of texts separated by commas or line ends, in upper or lower case. */
bool cell_in_list(const char *list, const char *s, const char *end);

/* Removes blanks at both ends of s .. end-1. */
void cell_trim(const char **s, const char **end);

/* Writes the shortest decimal that reads back as x (15, 16 or 17 digits at most), without a final zero byte, and
   returns its length, at most NUMBER_TEXT_MOST.  NaN is written "nan", infinities "inf" and "-inf". */
enum { NUMBER_TEXT_MOST = 32 };
size_t number_print(double x, char *to);

/* w * 10^e10, correctly rounded, if the quick methods can decide; false if they cannot. */
bool decimal_to_double(unsigned long long w, long e10, double *x);

#endif
