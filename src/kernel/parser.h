/* Inside the parser: parse.c reads expressions, options.c the options of one kernel, dims.c the names of columns;
   base/scanner.h reads the pieces of the text and makes the messages. */
#ifndef KERNEL_PARSER_H
#define KERNEL_PARSER_H

#include <stddef.h>

#include "base/scanner.h"
#include "kernel/kind.h"

typedef struct parser {
    scanner s;
    int nesting;
    const kernel_input *in;
    int64_t n_in;
    const kernel_input **by_name; /* sorted; made when the first name is looked up */
    int64_t n_names;
    bool *named; /* n_in: columns already in this leaf's dims */
    kernel *k;
    int64_t values_capacity, dims_capacity, text_capacity;
    /* For each node: only number literals below; white somewhere below. */
    bool literal[MAX_NODES], white[MAX_NODES];
    /* For the leaf being read: numbers given, columns listed (positions in `in`). */
    double *numbers;
    int64_t n_numbers, numbers_capacity;
    int64_t *listed;
    int64_t n_listed, listed_capacity;
} parser;

anygp_status take_positive(parser *p, double *v); /* a finite number > 0 */
anygp_status complain_memory(parser *p);

/* Room for `need` items in a growing array. */
bool make_room(void *array, int64_t *capacity, int64_t need, size_t size);

/* ---------------------------------------------------------------------------------------------- parts */

anygp_status parse_leaf(parser *p); /* name or name(options); adds a leaf, its dims and its values */
anygp_status parse_dims(parser *p); /* [a, 'b c', 3] or one of them, into p->listed */
void forget_dims(parser *p);

#endif
