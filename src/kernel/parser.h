/* Inside the parser: parse.c reads expressions, options.c the options of one kernel, columns.c the names of columns,
   complaint.c writes the sentences. */
#ifndef KERNEL_PARSER_H
#define KERNEL_PARSER_H

#include <stddef.h>

#include "kernel/kind.h"

typedef struct parser {
    const char *text;
    int64_t at, length; /* next byte, bytes */
    int nesting;
    const kernel_input *in;
    int64_t n_in;
    const kernel_input **by_name; /* sorted; made when the first name is looked up */
    int64_t n_names;
    bool *named; /* n_in: columns already in this leaf's dims */
    kernel *k;
    int64_t values_capacity, dims_capacity, text_capacity;
    /* Of each node: only number literals below; white somewhere below. */
    bool literal[MAX_NODES], white[MAX_NODES];
    /* Of the leaf being read: numbers given, columns listed (positions in `in`). */
    double *numbers;
    int64_t n_numbers, numbers_capacity;
    int64_t *listed;
    int64_t n_listed, listed_capacity;
    anygp_error *e;
} parser;

/* ------------------------------------------------------------------------------------------ complaints */

/* Fails with "kernel 'TEXT': MESSAGE at character N; HINT".  hint may be NULL. */
anygp_status complain(parser *p, int64_t at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
anygp_status complain_memory(parser *p);

/* Remembers the candidate nearest to a misspelt word; best stays NULL if none is near enough. */
typedef struct nearest {
    const char *word;
    int64_t length;
    const char *best;
    int64_t distance;
} nearest;
nearest nearest_to(const char *word, int64_t length);
void nearest_offer(nearest *n, const char *candidate);

/* ---------------------------------------------------------------------------------------------- words */

void skip_space(parser *p);
bool take(parser *p, char c); /* after space */
char peek(parser *p);         /* after space; 0 at the end */
int64_t word_length(parser *p);
anygp_status take_number(parser *p, double *v); /* finite and positive */

/* Room for `need` items in a growing array. */
bool make_room(void *array, int64_t *capacity, int64_t need, size_t size);

/* ---------------------------------------------------------------------------------------------- parts */

anygp_status parse_leaf(parser *p); /* name or name(options); adds a leaf, its dims and its values */
anygp_status parse_dims(parser *p); /* [a, 'b c', 3] or one of them, into p->listed */
void forget_dims(parser *p);

#endif
