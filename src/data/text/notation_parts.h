/* What the two files of notations share. */
#ifndef DATA_TEXT_NOTATION_PARTS_H
#define DATA_TEXT_NOTATION_PARTS_H

#include "data/text/notation.h"

/* Blanks are removed already. */
bool date_read(cell_notation n, const char *s, const char *end, double *x);
bool month_read(const char *s, const char *end, double *x);
bool time_read(const char *s, const char *end, double *x); /* hours */

/* Where the unit behind a number begins; NULL: there is none. */
const char *unit_begin(const char *s, const char *end);

#endif
