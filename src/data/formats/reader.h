/* Reading tables: one streaming interface for every file format.

       reader *r;
       TRY(reader_open("train.csv.gz", NULL, &r, e));
       do { status = reader_next(r, 4096, rows, &got, e); ... } while (got > 0);
       reader_close(r);

   or, everything at once, table_read().  The format follows from the ending of the name (.gz is looked through),
   for standard input and unknown endings from the first bytes.  All cells become doubles: numbers as they are,
   correctly rounded; a text cell is the index of its category; a missing cell is NaN.  An infinite or too large
   number is an error that says where it is, so a finite value is a real one and NaN always means missing. */
#ifndef DATA_FORMATS_READER_H
#define DATA_FORMATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stop.h"
#include "data/text/notation.h"

typedef enum column_kind {
    COLUMN_NUMBER,
    COLUMN_TEXT,
    COLUMN_UNREAD /* CSV: nobody asks for it; its cells count as missing, whatever they are */
} column_kind;

/* Why a column is no input, although it is neither a target nor weights nor an exposure. */
typedef enum column_omission {
    COLUMN_TAKEN,
    COLUMN_DROPPED,     /* the user says so */
    COLUMN_ROW_NUMBERS, /* the first column, as write.csv and pandas write it */
    COLUMN_ROW_LABELS,  /* the same where rows were taken out or shuffled */
    COLUMN_ALL_NEW,     /* texts of which nearly each is new: ids, notes */
    COLUMN_EMPTY        /* no row has a value */
} column_omission;

typedef struct column {
    char *name; /* from the header; NULL where the file has none */
    column_kind kind;
    int64_t levels;           /* text: number of categories seen so far */
    char **level;             /* text: their names, in order of first appearance; cell value = index as double */
    cell_notation notation;   /* number: how its cells are written, */
    char unit[UNIT_ROOM];     /* and with which unit, or none */
    bool blank;               /* a text table's header has no name for it, and its first rows no value */
    column_omission left_out; /* found by table_recognise */
    char *shown;              /* the first cell that is not a plain number, of a column that has a notation; or NULL */
    int64_t shown_row;        /* where it is, from 0 */
} column;

/* What the caller of a text table knows of a column before it is read. */
typedef struct column_wish {
    int kind;           /* a column_kind, or -1: find out */
    unsigned notations; /* those it may have; if it must be a number and this is one of them, the one it has */
    const char *unit;   /* of such a number; NULL: none */
} column_wish;

typedef struct read_options {
    int header;    /* CSV: -1 find out, 0 the first line is data, 1 it is names */
    int64_t width; /* LIBSVM: at least this many inputs; 0: as many as the file has */
    /* CSV: NULL, or fills wish[cols], which are { -1, 0 } before. */
    anygp_status (*wishes)(const void *ctx, const column *columns, int64_t cols, column_wish *wish, anygp_error *e);
    const void *wishes_ctx;
    char decimal;   /* CSV: '.' or ',' in numbers; 0: find out, where a column has several notations to choose from */
    char comment;   /* CSV: lines that begin with it are passed over; 0: none */
    int64_t skip;   /* CSV: lines to pass over at the start */
    const char *na; /* numbers and texts that stand for a missing value, by commas or lines; NULL: none */
    double memory;  /* table_read: bytes the table may take; 0: what the machine has left */
    bool follow;    /* HDF5: also follow links into other files */
    stop_poll stop; /* asked now and then while the file is opened and read */
} read_options;

#define READ_DEFAULTS ((read_options){.header = -1})

typedef struct reader reader;

/* `path` "-" is standard input; o = NULL means READ_DEFAULTS. */
anygp_status reader_open(const char *path, const read_options *o, reader **out, anygp_error *e);

/* The same over bytes that outlive the reader; the ending of `name` chooses the format as a path's would.
   HDF5 works too. */
anygp_status reader_open_memory(const void *bytes, size_t size, const char *name, const read_options *o, reader **out,
                                anygp_error *e);

int64_t reader_columns(const reader *r);
const column *reader_column(const reader *r, int64_t j); /* levels may grow with every reader_next */
int64_t reader_rows(const reader *r);                    /* total if known in advance, else -1 */

/* The column that is the target by the format's own rule: the last one of a table, LIBSVM's label, y of an .npz.
   -1 where the file says it has none: X without y in .npz and .h5, idx images without their labels. */
int64_t reader_target(const reader *r);

/* The next rows, max_rows x columns, row-major; fewer than max_rows only at the end, and then 0.  A file without
   any data row is an error here. */
anygp_status reader_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e);

/* Whether rows can be accessed by number without reading those before; and going to row `row`, from 0: reader_next continues
   from there. */
bool reader_can_seek(const reader *r);
anygp_status reader_seek(reader *r, int64_t row, anygp_error *e);

/* Rows first .. first+n-1. */
typedef struct row_run {
    int64_t first, n;
} row_run;

/* The rows of all these runs, one after another; faster than one run at a time where that costs a round trip to another
   process.  A file that ends before a run does is an error. */
anygp_status reader_runs(reader *r, int count, const row_run *runs, double *rows, anygp_error *e);

void reader_stop(reader *r, stop_poll stop); /* whom to ask from now on */
int64_t reader_row_number(const reader *r);  /* the row that comes next, from 0 */
const char *reader_name(const reader *r);    /* for messages: the path, or "standard input" */
void reader_close(reader *r);                /* accepts NULL */

/* ------------------------------------------------------------------------------------------ whole tables */

typedef struct table {
    int64_t rows, cols;
    double *values;  /* rows x cols, row-major */
    column *columns; /* cols */
    int64_t target;  /* as reader_target */
} table;

/* Reads all.  Memory stays below 1.5 times the final array; a table larger than the memory that is left is refused
   before or while it is read. */
anygp_status table_read(const char *path, const read_options *o, table **out, anygp_error *e);
void table_free(table *t); /* accepts NULL */

/* ----------------------------------------------------------------------------------------------- columns */

/* The column called `spec`; if none is, the column numbered `spec`, from 0, negative from the end. */
anygp_status column_find(const column *columns, int64_t n, const char *spec, int64_t *index, anygp_error *e);
void columns_free(column *columns, int64_t n); /* accepts NULL */

/* Columns that do not exist, for one sentence. */
typedef struct absent_columns {
    int64_t count;
    char names[400];
} absent_columns;

/* Adds what is absent of an item of `length` bytes: a column, or with commas several. */
void columns_look_for(const column *columns, int64_t n, const char *item, size_t length, bool commas,
                      absent_columns *a);
anygp_status columns_absent(const column *columns, int64_t n, const absent_columns *a, anygp_error *e); /* fails */

#endif
