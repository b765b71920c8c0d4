/* The targets of a dataset, for the scan that fills it (rows_scan.c) and the way of a row (row_units.c). */
#ifndef DATA_TABLE_DATASET_TARGETS_H
#define DATA_TABLE_DATASET_TARGETS_H

#include "data/table/classes.h"
#include "data/table/dataset.h"

/* What the columns say of all targets, and room for the descriptions of the further ones; the inputs too. */
anygp_status dataset_take_columns(dataset *d, const column *columns, int64_t cols, const target_columns *y,
                                  const bool *skip_column, anygp_error *e);
schema *dataset_target_schema(dataset *d, int64_t t);

/* The classes of all targets, from the labels seen[T] of all rows. */
anygp_status dataset_settle_classes(dataset *d, const column *columns, const class_set *seen, anygp_error *e);
/* What is known of a target that is a class. */
column_moments class_moments(const schema *s);
void class_sets_free(class_set *seen, int64_t targets); /* accepts NULL */

/* Codes of all targets, or NULL where they are not classes; freed by target_codes_free, which accepts NULL. */
anygp_status target_codes_make(const dataset *d, const column *columns, const target_columns *y, class_codes **out,
                               anygp_error *e);
void target_codes_free(class_codes *codes, int64_t targets);

/* to[Q]: the y of a raw row, in data units. */
void targets_take(const target_columns *y, const class_codes *codes, const double *row, double *to);

#endif
