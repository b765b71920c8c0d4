/* What the two files of notations share. */
#ifndef DATA_TEXT_NOTATION_PARTS_H
#define DATA_TEXT_NOTATION_PARTS_H

#include "data/text/notation.h"

/* Blanks are removed already. */
bool date_read(cell_notation n, const char *s, const char *end, double *x);

#endif
