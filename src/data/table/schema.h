/* What a model knows of the file it was trained on: columns, categories, scales.
       model input  = (x - shift) / scale        for number columns; a text column enters as its level's index
       model target = (g(y) - shift) / scale     g: a transform [base/warp.h], or y itself
   Longitude and latitude may be a place on the sphere, which is three columns of X [sphere.h].  Constant columns stay in the list (so that numbers and names still match) but have no position in X. */
#ifndef DATA_TABLE_SCHEMA_H
#define DATA_TABLE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/warp.h"
#include "data/table/sphere.h"
#include "data/text/notation.h"

typedef struct input_spec {
    char *name;       /* NULL where the file has no header */
    int64_t number;   /* column in the training file, from 0 */
    int64_t position; /* column of X, or -1: constant, not in the model */
    bool text;
    cell_notation notation; /* number columns: how a text table writes them, */
    char unit[UNIT_ROOM];   /* and with which unit, or none */
    double shift, scale;    /* number columns; text: 0, 1 */
    double lower, upper;    /* number columns: the range of the training rows, data units; NaN: not known */
    double fill;            /* for --missing mean: the column's mean in data units; text: a level */
    int64_t levels;         /* text: categories, in the order of their indices */
    char **level;
} input_spec;

typedef struct schema {
    int64_t inputs; /* columns in the file that are inputs, constant ones too */
    int64_t D;      /* columns of X */
    input_spec *input;
    int64_t *at; /* D: the input that column j of X is made of; schema_index() makes it */
    sphere_spec sphere;
    char *target; /* name, or NULL */
    int64_t target_number;
    cell_notation target_notation;
    char target_unit[UNIT_ROOM];
    warp warp; /* g */
    double y_shift, y_scale;
    double y_log_slope; /* mean of log g'(y) over the training rows; 0 without a transform */
    int64_t classes; /* of a target that is a class: how many, and their names in the order of their indices; 0: it is a
                          number.  Texts are in alphabetical order, numbers (named as they are printed) in theirs. */
    char **class_name;   /* y in model units is the index; shift 0, scale 1 */
    bool class_text;     /* the labels are texts, and their names in alphabetical order */
    bool exposed;        /* the target is a count that belongs to an exposure, */
    int64_t exposure;    /* in this column of the training file, */
    char *exposure_name; /* of this name, or NULL */
    double y_mean, y_sd; /* of the training targets, data units; 1 for an sd of 0 */
    int64_t columns;     /* of the training file */
    bool fill_missing;
} schema;

void schema_clear(schema *s); /* frees what it holds; accepts a half-built one */

/* Deep copies: of all, and of what concerns the target alone.  On failure `to` is empty. */
anygp_status schema_copy(const schema *from, schema *to, anygp_error *e);
anygp_status schema_copy_target(const schema *from, schema *to, anygp_error *e);

/* The class of a label, by binary search; -1: it is none of them. */
int64_t schema_class_of_text(const schema *s, const char *label);
int64_t schema_class_of_number(const schema *s, double label);
/* "'age'" or "2" where there is no name: for sentences.  buffer: at least 96 bytes. */
const char *schema_target_label(const schema *s, char *buffer);

uint64_t schema_digest(const schema *s); /* of the names of categories and classes, in their order */

/* The columns of the sphere, behind all others, and its inputs' positions: the first two of them. */
void schema_place_sphere(schema *s);
/* Once the positions stand. */
anygp_status schema_index(schema *s, anygp_error *e);
/* The input that is column j of X. */
static inline const input_spec *schema_at(const schema *s, int64_t j) { return &s->input[s->at[j]]; }

/* "'age'" or "2" where there is no name: for sentences.  buffer: at least 96 bytes. */
const char *schema_label(const input_spec *c, char *buffer);

/* One number cell of data to model units; exact also for columns near the ends of the number range. */
static inline double schema_scale(double x, double shift, double scale)
{
    return (double)(((long double)x - (long double)shift) / (long double)scale);
}

#endif
