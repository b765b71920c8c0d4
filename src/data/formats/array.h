/* Arrays of fixed-size numbers in a file: what .npy, .npz and idx have in common.  A reader's rows are one or more
   arrays side by side; an array is read block by block and turned into doubles. */
#ifndef DATA_FORMATS_ARRAY_H
#define DATA_FORMATS_ARRAY_H

#include "data/formats/format.h"

typedef enum scalar_kind { SCALAR_SIGNED, SCALAR_UNSIGNED, SCALAR_FLOAT, SCALAR_BOOL } scalar_kind;

typedef struct scalar {
    scalar_kind kind;
    int size; /* bytes: 1, 2, 4, 8; floats 4, 8 */
    bool big; /* the most significant byte first */
} scalar;

/* n scalars at `from` to doubles, `stride` doubles apart. */
void scalar_decode(scalar s, const unsigned char *from, int64_t n, double *to, int64_t stride);

typedef struct array {
    input *in; /* owned */
    scalar type;
    int64_t rows, cols;
    bool fortran;   /* column by column */
    int64_t offset; /* of the data in the input; for reading out of order */
    int64_t place;  /* the row that comes next */
} array;

/* Checks that the numbers of the header make sense: the product of shape and size neither overflows nor exceeds the
   input's size, where that is known.  The data begins `offset` bytes into the input. */
anygp_status array_check(const array *a, anygp_error *e);

/* State of a reader over arrays side by side. */
typedef struct array_set {
    array *arrays;
    int64_t count;
    unsigned char *bytes; /* a block as it is in the file */
} array_set;

array_set *array_set_new(int64_t count);
anygp_status arrays_ready(reader *r, anygp_error *e); /* sets cols and rows from r->state and makes the columns */
anygp_status arrays_next(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e);
bool arrays_can_seek(const reader *r);
void arrays_seek(reader *r, int64_t row);
void arrays_close(reader *r);

/* Reads the header of an .npy stream at its start: type, shape, order; the input is then at the data. */
anygp_status npy_head(array *a, anygp_error *e);

#endif
