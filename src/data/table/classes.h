/* Labels to classes: the distinct labels of a target column, texts in alphabetical order and numbers in increasing order, are the
   classes 0 .. K-1.  A scan collects the labels (class_set), sorting them gives the names of the schema, and class_codes turn the
   cells of a column of that or another file into classes.  O(log K) per cell, O(1) for texts. */
#ifndef DATA_TABLE_CLASSES_H
#define DATA_TABLE_CLASSES_H

#include "base/error.h"
#include "data/formats/reader.h"
#include "data/table/id_table.h"
#include "data/table/schema.h"

enum { CLASSES_MOST = 10000 };

/* The distinct cells of a column, as they appear: bit patterns of numbers, so that hashing finds them. */
typedef struct class_set {
    id_table seen;
} class_set; /* {0} to begin with */

/* Any number of them. */
anygp_status class_set_note(class_set *c, double cell, anygp_error *e);
int64_t class_set_find(const class_set *c,
                       double cell); /* its number in the order of appearance; -1: it is not there */
bool class_set_within(const class_set *a, const class_set *b); /* all cells of a are in b */

/* s: of the column's target, for sentences.  More than CLASSES_MOST are refused. */
anygp_status class_set_add(class_set *c, double cell, const schema *s, anygp_error *e);
double class_set_at(const class_set *c, int64_t i); /* the cell of i < seen.count */
void class_set_clear(class_set *c);
/* Their order and names, into the schema.  One class alone is refused. */
anygp_status class_set_settle(const class_set *c, const column *from, schema *s, anygp_error *e);

/* The class of each cell that a column can have. */
typedef struct class_codes {
    int64_t count;
    double *value; /* of numbers: ascending; NULL: texts, whose levels are 0, 1, ... */
    int64_t *of;   /* the class of each, or -1 */
} class_codes;

/* Text in the column is compared with classes that are numbers, and vice versa, by their printed form. */
anygp_status class_codes_make(const schema *s, const column *from, class_codes *out, anygp_error *e);
/* A column of texts may have shown more levels since. */
anygp_status class_codes_follow(class_codes *c, const schema *s, const column *from, anygp_error *e);
int64_t class_code(const class_codes *c, double cell); /* -1: none of the classes */
void class_codes_clear(class_codes *c);

#endif
