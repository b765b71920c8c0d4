/* Training rows that a posterior is a sum of kernels at, in data units: in JSON all of them,
       relevance_vectors  [{"x": [values of the inputs; null: a constant one], "precision": s, "weight": mean}]
   where f - shift is the sum of weight k(., x) with the kernel as `kernel` has it, and 1 / s the prior variance of a weight; for people
   the first ones. */
#include "io/describe_parts.h"

enum { SHOWN = 4 };

static double in_data_units(const schema *s, const input_spec *c, const double *x)
{
    double lon, lat;
    if (!sphere_has(&s->sphere, c->position)) return c->shift + c->scale * x[c->position];
    sphere_from_model(&s->sphere, x + s->sphere.at, &lon, &lat);
    return c->position == s->sphere.at ? lon : lat;
}

/* NULL: the value is a number. */
static const char *level_of(const input_spec *c, const double *x)
{
    int64_t level = c->text && c->position >= 0 ? (int64_t)x[c->position] : -1;
    return level >= 0 && level < c->levels ? c->level[level] : NULL;
}

static json_t *place_json(const schema *s, const double *x)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        const char *level = level_of(c, x);
        json_array_append_new(list, level             ? json_string(level)
                                    : c->position < 0 ? json_null()
                                                      : json_real(in_data_units(s, c, x)));
    }
    return list;
}

json_t *describe_vectors(const gp *g)
{
    const double *X, *precision, *mean, unit = g->schema.y_scale;
    const posterior *p = g->posterior;
    if (!p->ops->vectors) return NULL;
    json_t *list = json_array();
    int64_t count = p->ops->vectors(p, &X, &precision, &mean);
    for (int64_t k = 0; k < count; k++)
        json_array_append_new(list, json_pack("{s:o, s:f, s:f}", "x", place_json(&g->schema, X + k * p->D), "precision",
                                              precision[k] * unit * unit, "weight", mean[k] / unit));
    return list;
}

static void print_place(FILE *out, const schema *s, const double *x)
{
    const char *before = "(";
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        const char *level = level_of(c, x);
        if (c->position < 0) continue;
        if (level)
            fprintf(out, "%s%s", before, level);
        else
            fprintf(out, "%s%.4g", before, in_data_units(s, c, x));
        before = ", ";
    }
    fputs(*before == '(' ? "()" : ")", out);
}

void describe_first_vectors(const gp *g, FILE *out)
{
    const double *X, *precision, *mean;
    const posterior *p = g->posterior;
    int64_t count = p->ops->vectors(p, &X, &precision, &mean);
    fprintf(out, "%lld", (long long)count);
    for (int64_t k = 0; k < count && k < SHOWN; k++) {
        fputs(k ? ", " : ": ", out);
        print_place(out, &g->schema, X + k * p->D);
    }
    fputs(count > SHOWN ? ", ...; all of them with --json" : "", out);
}
