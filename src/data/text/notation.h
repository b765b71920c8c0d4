/* Numbers that people and spreadsheets do not write plainly: dates, times, 10%, $5, 12.5 kg, 1,234.5, 1,5, (5), yes and no.
   A column has one notation, which is found from its cells and kept in the model, so that a cell means the same in every file.
       dates           days since 1970-01-01 00:00 UTC, with the time as a fraction; a cell without a zone counts as UTC
       months          the first day of the month
       times of day    hours since midnight
       percent, money  the number as it is written: 10% is 10, $5 is 5
       units           the number without its unit, which is the same in the whole column
       yes and no      1 and 0, also true and false
   Amounts may stand in parentheses, as bookkeepers write what is negative: (5) is -5. */
#ifndef DATA_TEXT_NOTATION_H
#define DATA_TEXT_NOTATION_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cell_notation {
    NOTATION_PLAIN,
    NOTATION_DATE,     /* 2024-03-01, 2024-03-01T12:30:00.5+01:00, 2024/03/01 12:30, 1 Mar 2024, March 1, 2024 */
    NOTATION_DATE_DMY, /* 1/3/2024, 01.03.2024 12:30: the day first; and what NOTATION_DATE can be */
    NOTATION_DATE_MDY, /* the month first */
    NOTATION_MONTH,    /* 2024-03, Mar 2024; and what NOTATION_DATE can be */
    NOTATION_TIME,     /* 14:30, 14:30:05.5, 2:30 pm */
    NOTATION_YES_NO,
    NOTATION_GROUPED, /* 1,234.5, 1'234.5, 1 234.5 and 950 */
    NOTATION_PERCENT,
    NOTATION_MONEY,
    NOTATION_UNIT,  /* 12.5 kg */
    NOTATION_COMMA, /* these four with a decimal comma: 1.234,5 and 950,25 */
    NOTATION_PERCENT_COMMA,
    NOTATION_MONEY_COMMA,
    NOTATION_UNIT_COMMA,
    NOTATIONS
} cell_notation;

enum { UNIT_ROOM = 16 }; /* bytes of a unit, with a final zero */

/* Sets of notations. */
#define NOTATION_BIT(n) (1u << (n))
#define NOTATIONS_DATES                                                                                                \
    (NOTATION_BIT(NOTATION_DATE) | NOTATION_BIT(NOTATION_DATE_DMY) | NOTATION_BIT(NOTATION_DATE_MDY) |                 \
     NOTATION_BIT(NOTATION_MONTH))
#define NOTATIONS_UNIT (NOTATION_BIT(NOTATION_UNIT) | NOTATION_BIT(NOTATION_UNIT_COMMA))
#define NOTATIONS_POINT (NOTATION_BIT(NOTATION_GROUPED) | NOTATION_BIT(NOTATION_PERCENT) | NOTATION_BIT(NOTATION_MONEY))
#define NOTATIONS_COMMA                                                                                                \
    (NOTATION_BIT(NOTATION_COMMA) | NOTATION_BIT(NOTATION_PERCENT_COMMA) | NOTATION_BIT(NOTATION_MONEY_COMMA))

/* Reads the cell s .. end-1, blanks around it removed; false if it is not of this notation.  A plain number is one of money,
   percent, grouped numbers and numbers with a unit; 0 and 1 are no and yes; no plain number is a date or a time.  With a
   decimal comma a number that has a point and no comma (1.234) is refused: it may be meant either way, and a first group of
   three digits never begins with 0: 0,167 has a decimal comma.  unit: the one that the cell may have; NULL: any. */
bool notation_read(cell_notation n, const char *unit, const char *s, const char *end, double *x);

/* The unit of a cell that is a number with one; false: it is none, or too long. */
bool notation_unit(const char *s, const char *end, char unit[UNIT_ROOM]);

/* Of `notations`, those that the cell is of, whatever its unit. */
unsigned notations_of(unsigned notations, const char *s, const char *end);

/* The same notation with the other decimal sign: a point or a comma. */
cell_notation notation_with_point(cell_notation n);
cell_notation notation_with_comma(cell_notation n);

static inline bool notation_is_date(cell_notation n) { return NOTATION_BIT(n) & NOTATIONS_DATES; }
/* Dates, months and times of day: no plain number is one. */
static inline bool notation_is_calendar(cell_notation n) { return notation_is_date(n) || n == NOTATION_TIME; }
static inline bool notation_has_unit(cell_notation n) { return NOTATION_BIT(n) & NOTATIONS_UNIT; }

const char *notation_name(cell_notation n);                /* in model files */
bool notation_named(const char *name, cell_notation *out); /* false: there is none */
const char *notation_meaning(cell_notation n);             /* what becomes of the cells, for a sentence */
const char *notation_noun(cell_notation n);                /* "a date", for a sentence */
size_t notation_date_text(double days, char *to);          /* 2024-03-01 or 2024-03-01 12:30, at most 32 bytes */

/* A number as a cell of its notation, where that is a date, a month or a time of day: 2024-03-01 12:30:05, 2024-03, 14:30.  It
   reads back to within a microsecond.  At most 40 bytes; 0: numbers of this notation are written as numbers. */
enum { CALENDAR_TEXT_MOST = 40 };
size_t notation_calendar_text(cell_notation n, double x, char *to);

#endif
