/* Between describe.c and describe_target.c. */
#ifndef IO_DESCRIBE_PARTS_H
#define IO_DESCRIBE_PARTS_H

#include <jansson.h>

#include "gp/gp.h"

void describe_classes(const schema *s, json_t *target); /* adds to it */
void describe_transform(const schema *s, json_t *target);
json_t *describe_sphere(const schema *s);   /* where there is one */
json_t *describe_exposure(const schema *s); /* null: none */
json_t *describe_likelihood(const gp *g);
json_t *describe_likelihood_text(const gp *g); /* null: gaussian, whose noise is beside it; NULL: out of memory */
json_t *describe_promise(const gp *g);         /* null: auto was not asked */

/* All of these may be absent: files were written before there were any. */
anygp_status parse_classes(const json_t *target, schema *s, anygp_error *e);
bool parse_sphere(const json_t *o, schema *s);         /* once the inputs stand; NULL: none; false: it is damaged */
bool parse_transform(const json_t *target, schema *s); /* false: it is damaged */
anygp_status parse_exposure(const json_t *o, schema *s, anygp_error *e);
anygp_status parse_likelihood(const json_t *text, double noise, gp *g, anygp_error *e); /* null: gaussian with it */
void parse_promise(const json_t *o, gp *g);
json_t *describe_tries(const gp *g); /* of --blocks, where that was a list */
void parse_tries(const json_t *o, gp *g);

/* Relevance vectors [describe_vectors.c]: all of them, NULL where the model has none; how many and the first ones, in a line. */
json_t *describe_vectors(const gp *g);
void describe_first_vectors(const gp *g, FILE *out);

/* The inputs by their length-scales [describe_relevance.c]: all of them, NULL where they have none of their own; the first ones, in lines of a
   page of which all but the first are indented. */
json_t *describe_relevance(const gp *g);
json_t *describe_categories(const gp *g); /* the same of categories, by what two that differ have in common */
void describe_relevance_lines(const gp *g, bool standardized, const char *indent, FILE *out);

#endif
