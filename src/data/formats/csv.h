/* The parts of the CSV reader: dialect (what the file looks like), cells and records, and pieces, the stretches of
   whole records that threads parse at the same time.  Everything is RFC 4180 with the usual extensions: any of four
   delimiters, blanks around cells, carriage returns, blank lines. */
#ifndef DATA_FORMATS_CSV_H
#define DATA_FORMATS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/formats/reader.h"
#include "data/text/name_table.h"

typedef struct csv_cell {
    const char *begin, *end; /* without blanks and quotes around */
    bool quoted, escaped;    /* escaped: holds doubled quotes */
} csv_cell;

/* ------------------------------------------------------------------------------------------- dialect */

typedef enum csv_class { CLASS_OTHER = 0, CLASS_BLANK = 1, CLASS_DELIMITER = 2, CLASS_END = 4 } csv_class;

typedef struct csv_dialect {
    char eol, delimiter;
    char comment;                /* lines that begin with it count as blank; 0: none */
    const char *na;              /* texts that stand for a missing value (cell_in_list); NULL: none */
    bool merge;                  /* delimiters are runs of blanks */
    unsigned char class_of[256]; /* csv_class of every byte outside quotes */
} csv_dialect;

/* The delimiter is ',', ';', '|', '\t', or ' ' for runs of blanks. */
void csv_dialect_set(csv_dialect *d, char delimiter, char eol, char comment);

/* The delimiter that splits most of the first records into as many cells as the very first; `wanted` (0: none) if
   it splits that one at all. */
char csv_dialect_guess(const char *p, const char *end, char eol, char wanted, char comment);

/* What the first records tell of a column: its kind, as plain numbers or texts, and how its texts could be read as numbers. */
typedef struct csv_guess {
    column_kind kind;
    int64_t numbers, texts;
    int64_t fits[NOTATIONS]; /* how many of the texts are of the notation, */
    char unit[UNIT_ROOM];    /* where it has one, with this unit, */
    bool commas, points;     /* whether one of them has a comma, a number a point, */
    csv_cell first;          /* and the first of them, with parentheses where one has them, */
    int64_t first_row;       /* from 0 */
} csv_guess;

/* What the first records tell: is the very first a line of names, and what kind is each column? */
typedef struct csv_sample {
    bool header;
    int64_t records; /* looked at, the first one included; 0: nothing but blank lines */
    /* Of the first record; -1 if its quotes are wrong, and then nothing else is known.  One more where the line of names has no name
       for a delimiter at the end of all rows, or for the labels before them. */
    int64_t cols;
    int64_t unnamed; /* columns of such labels: 0 or 1 */
    double bytes_per_row;
    csv_guess *columns; /* cols; the caller frees */
} csv_sample;
anygp_status csv_look(const csv_dialect *d, const char *p, const char *end, int header, csv_sample *s, anygp_error *e);

/* The notation of such a column, of those allowed; NOTATION_PLAIN: none.  decimal: '.' or ',' where it is known; doubtful: the
   one for a column whose own cells do not tell, 0: none. */
cell_notation csv_choose_notation(const csv_guess *g, unsigned allowed, char delimiter, char decimal, char doubtful);

/* The decimal sign that the columns which do tell agree on; 0: none does, or they do not agree. */
char csv_decimal_of(const csv_sample *s, char delimiter);

/* ----------------------------------------------------------------------------------- cells and records */

/* Whether a cell is missing, by itself or as the options have it. */
bool csv_is_missing(const csv_dialect *d, const csv_cell *c);

/* Where the first cell of the line at p begins, or the end of the line if it is blank. */
const char *csv_line_start(const csv_dialect *d, const char *p);

/* Whether the line at p holds no record: it is blank or a comment. */
bool csv_no_record(const csv_dialect *d, const char *p);

/* The line end at or after p. */
const char *csv_line_end(const csv_dialect *d, const char *p);

/* The cell at p; returns the delimiter or line end after it.  NULL if its quotes are wrong.  The text must have a
   line end at or after p. */
const char *csv_cell_at(const csv_dialect *d, const char *p, const char *end, csv_cell *c);

/* From the delimiter after a cell to the next cell; NULL if the record ends here. */
const char *csv_next_cell(const csv_dialect *d, const char *p);

/* The line end of the record that begins at p; NULL if it is at or after `end`. */
const char *csv_record_end(const csv_dialect *d, const char *p, const char *end);

/* For the record at p; -1 if its quotes are wrong. */
int64_t csv_count_cells(const csv_dialect *d, const char *p, const char *end);

/* Copies the cell with doubled quotes made single; returns the length.  `to` has room for the cell as it is. */
size_t csv_cell_text(const csv_cell *c, char *to);

/* -------------------------------------------------------------------------------------------- pieces */

typedef enum csv_fault_kind {
    FAULT_NONE,
    FAULT_RAGGED,
    FAULT_NOT_NUMBER,
    FAULT_INFINITE,
    FAULT_QUOTE,
    FAULT_BINARY,
    FAULT_LEVELS,
    FAULT_MEMORY
} csv_fault_kind;

typedef struct csv_fault {
    csv_fault_kind kind;
    const char *begin, *end; /* the cell; for a ragged record, its start */
    int64_t row, col;        /* row: in the piece */
    int64_t found;           /* cells in a ragged record */
} csv_fault;

typedef struct csv_place {
    const char *file;
    int64_t line, row; /* both from 1; only rows with data count */
} csv_place;

/* Fails with one sentence: where, what is wrong, what to do. */
anygp_status csv_explain(const csv_fault *f, csv_place at, const column *columns, int64_t cols, anygp_error *e);

/* A text cell that is not a known category: its number is given afterwards, in the order of the file. */
typedef struct csv_unknown {
    csv_cell cell;
    int64_t col;
    double *out;
} csv_unknown;

typedef struct csv_piece {
    const char *begin, *end; /* whole records */
    int64_t lines;           /* at least as many as there are records */
    double *out;             /* lines x cols */
    int64_t rows;            /* parsed */
    csv_unknown *unknown;
    int64_t unknowns, room;
    csv_fault fault;     /* of the record after the last parsed one */
    int64_t forgiven;    /* damaged records that became rows of missing cells, */
    csv_fault forgiven1; /* and the fault of the first */
} csv_piece;

typedef struct csv_layout {
    csv_dialect dialect;
    int64_t cols;
    column *columns;
    name_table *categories; /* cols; the names belong to the columns */
    bool forgive;           /* damaged records become rows of missing cells */
} csv_layout;

/* Parses a piece; touches nothing that another piece touches. */
void csv_parse(const csv_layout *l, csv_piece *w);

/* Gives the unknown texts of a parsed piece their numbers; on a fault w->fault is set. */
void csv_settle(csv_layout *l, csv_piece *w);

#endif
