/* An expression as a list of parts, for those who write it down elsewhere (src/export): children before parents, the root last. */
#ifndef KERNEL_KERNEL_PARTS_H
#define KERNEL_KERNEL_PARTS_H

#include "kernel/kernel.h"

typedef enum kernel_part_kind { PART_LEAF, PART_SUM, PART_PRODUCT } kernel_part_kind;

typedef struct kernel_part {
    kernel_part_kind kind;
    int left, right;  /* of a sum or product: their places in the list */
    const char *name; /* of a leaf: rbf, ...; "scale" for a number */
    int64_t n_dims;
    const int64_t *dims; /* columns of X */
    int64_t integer;     /* degree, order, or number of components; 0: it has none */
    int64_t params;      /* its parameters */
} kernel_part;

int64_t kernel_parts(const kernel *k);
kernel_part kernel_part_at(const kernel *k, int64_t i);
/* The root of the left term of a kernel that is a sum; of another one the root itself. */
int64_t kernel_left_part(const kernel *k);

/* Parameter s of leaf i: its name, and all its values: one; one per dim, whether they share it or not; one per component; or those of
   the first component's dims, then of the second's, ... */
const char *kernel_part_param(const kernel *k, int64_t i, int64_t s);
int64_t kernel_part_count(const kernel *k, int64_t i, int64_t s);
double kernel_part_value(const kernel *k, int64_t i, int64_t s, int64_t j);

#endif
