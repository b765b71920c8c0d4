/* Columns of texts that are better read otherwise, once all their cells are known: yes and no, dates whose order of day and
   month only the whole column shows, and texts of which nearly each is new.  The reader recognises the other notations from
   the first rows (notation.h). */
#ifndef DATA_TABLE_RECOGNISE_H
#define DATA_TABLE_RECOGNISE_H

#include "base/error.h"
#include "data/formats/reader.h"

/* Why texts that look like numbers or dates are still texts. */
typedef enum column_doubt {
    DOUBT_NONE,
    DOUBT_DAY_OR_MONTH, /* 01/03/2024: no cell shows which is the day */
    DOUBT_COMMA,        /* 1,234 is 1234 or 1.234 */
    DOUBT_UNITS         /* 12 kg and 800 g */
} column_doubt;

/* Column j of the table, which must be text: numbers where all its texts are one notation; left out (ALL_NEW) where more than
   half of them, of more than 20, are new.  dates: NOTATION_DATE_DMY or _MDY where the user says so, else NOTATION_PLAIN. */
anygp_status recognise_texts(table *t, int64_t j, cell_notation dates, anygp_error *e);

/* From its texts. */
column_doubt recognise_doubt(const column *c, cell_notation dates);

int64_t recognise_other_unit(const column *c); /* of DOUBT_UNITS: a text whose unit is not that of the first */

/* Whether a column with this name, first in its file, can be the numbers of the rows; named: other columns have names. */
bool recognise_row_name(const char *name, bool named);

/* Of these, whether it is one that an input hardly has, so that any whole numbers that differ name rows: not X, not row. */
bool recognise_row_label(const char *name);

#endif
