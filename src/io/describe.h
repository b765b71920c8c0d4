/* A gp as JSON and back: what is in the header of the model file, and what `info` shows. */
#ifndef IO_DESCRIBE_H
#define IO_DESCRIBE_H

#include <jansson.h>

#include "gp/gp.h"

json_t *describe_gp(const gp *g, const settings *s); /* NULL: out of memory */
json_t *describe_settings(const settings *s);        /* those the user changed */
const char *describe_mean(mean_kind kind);           /* its name, as in --mean */

/* What a header says about one gp, checked; the posterior itself is still to be loaded from the arrays. */
typedef struct described {
    gp *g; /* schema, scores, trace, objective; no posterior */
    kernel *kernel;
    double noise;
    basis mean;
} described;
anygp_status describe_parse(const json_t *j, described *out, anygp_error *e);
void described_clear(described *d);

anygp_status describe_parse_settings(const json_t *j, settings **out, anygp_error *e);

/* The page of `anygp info`, and its JSON; freed by free(). */
anygp_status describe_text(const gp_set *m, char **text, anygp_error *e);
anygp_status describe_json(const gp_set *m, char **text, anygp_error *e);

#endif
