/* Files that hold several named arrays (.npz, .h5): which of them make the table, in what order, under what names.
     X and y (by any of their usual names)   the columns of X, then y, the target
     X alone                                 its columns; the file has no target
     anything else                           all arrays as they come; the last column is the target */
#ifndef DATA_FORMATS_MEMBERS_H
#define DATA_FORMATS_MEMBERS_H

#include "data/formats/format.h"

typedef struct members {
    int64_t order[2]; /* X, y, as numbers of the arrays */
    int64_t count;    /* how many of them count; 0: all arrays */
    bool target;      /* the last column is one */
} members;

members members_choose(const char *const *names, int64_t n);

/* Names the columns first .. first+cols-1 after their array: by its name if it is one column, with a number appended if
   it is one of several arrays, not at all if it is X or the only one. */
anygp_status members_name(reader *r, int64_t first, int64_t cols, const char *name, bool plain, anygp_error *e);

#endif
