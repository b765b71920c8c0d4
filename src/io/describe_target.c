/* What a target is, as JSON and back: its classes, its exposure, its likelihood; and why auto chose its model.
       target      {..., "classes": [names], "class_text": bool}     where it is a class
       target      {..., "transform": {"name", "lambda", "log_slope"}} where it was transformed
       sphere      {"longitude", "latitude", "shift", "scale"}      where two inputs, numbered from 0, are a place
       exposure    {"name": text or null, "number": column}          where it is a count that has one
       likelihood  {"name": ..., "parameters": {name: value}}        data units, to be read by people
       auto        {"reason": ..., "seconds": ..., "bytes": ...}     what was estimated; null: auto was not asked
       internal    "likelihood": text that parses back to it, model units; null: gaussian, its noise beside it */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/table/classes.h"
#include "io/describe.h"
#include "io/describe_parts.h"

/* ----------------------------------------------------------------------------------- to JSON */

static json_t *text_or_null(const char *s) { return s ? json_string(s) : json_null(); }

void describe_classes(const schema *s, json_t *target)
{
    if (s->classes == 0) return;
    json_t *names = json_array();
    for (int64_t k = 0; k < s->classes; k++) json_array_append_new(names, json_string(s->class_name[k]));
    json_object_set_new(target, "classes", names);
    json_object_set_new(target, "class_text", json_boolean(s->class_text));
}

void describe_transform(const schema *s, json_t *target)
{
    if (!warp_is(&s->warp)) return;
    json_t *o = json_pack("{s:s, s:f, s:f}", "name", warp_name(&s->warp), "lambda", s->warp.lambda, "log_slope",
                          s->y_log_slope);
    json_object_set_new(target, "transform", o);
}

json_t *describe_sphere(const schema *s)
{
    const sphere_spec *p = &s->sphere;
    return json_pack("{s:I, s:I, s:[f, f, f], s:f}", "longitude", (json_int_t)p->lon, "latitude", (json_int_t)p->lat,
                     "shift", p->shift[0], p->shift[1], p->shift[2], "scale", p->scale);
}

json_t *describe_exposure(const schema *s)
{
    if (!s->exposed) return json_null();
    return json_pack("{s:o, s:I}", "name", text_or_null(s->exposure_name), "number", (json_int_t)s->exposure);
}

json_t *describe_likelihood(const gp *g)
{
    const likelihood *l = g->likelihood;
    json_t *values = json_object();
    for (int64_t i = 0; i < l->params; i++)
        json_object_set_new(values, l->param[i].name, json_real(gp_likelihood_value(g, i)));
    return json_pack("{s:s, s:o}", "name", l->ops->name, "parameters", values);
}

/* NULL: out of memory. */
json_t *describe_likelihood_text(const gp *g)
{
    char *text = NULL;
    if (gp_is_gaussian(g)) return json_null();
    if (ANYGP_FAILED(likelihood_format(g->likelihood, g->likelihood->value, 17, &text, NULL))) return NULL;
    json_t *s = json_string(text);
    free(text);
    return s;
}

/* --------------------------------------------------------------------------------- from JSON */

static anygp_status bad(anygp_error *e, const char *what)
{
    return fail_with(e, ANYGP_ERR_FILE, "the model file's header has no valid '%s'; it is damaged or of another kind",
                     what);
}

/* Positions were given in the order of the inputs, and the sphere's come last. */
bool parse_sphere(const json_t *o, schema *s)
{
    sphere_spec *p = &s->sphere;
    const json_t *shift = json_object_get(o, "shift"), *scale = json_object_get(o, "scale");
    if (!o) return true;
    p->lon = json_integer_value(json_object_get(o, "longitude"));
    p->lat = json_integer_value(json_object_get(o, "latitude"));
    p->scale = json_number_value(scale);
    bool ok = json_array_size(shift) == SPHERE_COLUMNS && p->scale > 0 && isfinite(p->scale) && p->lon != p->lat;
    ok = ok && p->lon >= 0 && p->lon < s->inputs && p->lat >= 0 && p->lat < s->inputs;
    for (int k = 0; ok && k < SPHERE_COLUMNS; k++) {
        p->shift[k] = json_number_value(json_array_get(shift, (size_t)k));
        ok = isfinite(p->shift[k]);
    }
    if (!ok || s->input[p->lon].text || s->input[p->lat].text) return false;
    if (s->input[p->lon].position < 0 || s->input[p->lat].position < 0) return false;
    p->on = true, s->D = 0;
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].position >= 0 && !sphere_takes(p, i)) s->input[i].position = s->D++;
    schema_place_sphere(s);
    return true;
}

bool parse_transform(const json_t *target, schema *s)
{
    const json_t *o = json_object_get(target, "transform"), *name = json_object_get(o, "name"),
                 *lambda = json_object_get(o, "lambda"), *slope = json_object_get(o, "log_slope");
    if (!o) return true;
    double value = json_number_value(lambda);
    s->y_log_slope = json_number_value(slope);
    return json_is_string(name) && json_is_number(lambda) && json_is_number(slope) && isfinite(s->y_log_slope) &&
           value >= 0 && value <= WARP_LAMBDA_MOST && warp_named(json_string_value(name), value, &s->warp);
}

anygp_status parse_classes(const json_t *target, schema *s, anygp_error *e)
{
    const json_t *names = json_object_get(target, "classes");
    size_t count = json_array_size(names);
    if (!names) return ANYGP_OK;
    if (count < 2 || count > CLASSES_MOST) return bad(e, "classes");
    s->class_text = json_is_true(json_object_get(target, "class_text"));
    if (!(s->class_name = mem_zeroed((int64_t)count, sizeof *s->class_name)))
        return fail_memory(e, "the classes", 8.0 * (double)count);
    for (size_t k = 0; k < count; k++) {
        const char *name = json_string_value(json_array_get(names, k));
        if (!name) return bad(e, "classes");
        if (!(s->class_name[k] = mem_strdup(name))) return fail_memory(e, "the classes", 0);
        s->classes++;
    }
    return ANYGP_OK;
}

anygp_status parse_exposure(const json_t *o, schema *s, anygp_error *e)
{
    const json_t *number = json_object_get(o, "number"), *name = json_object_get(o, "name");
    if (!o || json_is_null(o)) return ANYGP_OK;
    s->exposed = true;
    s->exposure = json_integer_value(number);
    if (!json_is_integer(number) || s->exposure < 0 || s->exposure >= s->columns) return bad(e, "exposure");
    if (json_is_null(name)) return ANYGP_OK;
    if (!json_is_string(name)) return bad(e, "exposure");
    s->exposure_name = mem_strdup(json_string_value(name));
    return s->exposure_name ? ANYGP_OK : fail_memory(e, "the exposure", 0);
}

/* Values must be as a fit leaves them: finite, and above their lower bounds where they are positive. */
static bool values_are_sound(const likelihood *l)
{
    for (int64_t i = 0; i < l->params; i++) {
        if (!isfinite(l->value[i])) return false;
        if (!l->param[i].real && !(l->value[i] > 0)) return false;
    }
    return l->latents >= 1;
}

anygp_status parse_likelihood(const json_t *text, double noise, gp *g, anygp_error *e)
{
    const schema *s = &g->schema;
    bool gaussian = !text || json_is_null(text); /* its noise is beside it */
    if (gaussian ? s->classes || s->exposed : !json_is_string(text)) return bad(e, "likelihood");
    if (!(g->likelihood = calloc(1, sizeof *g->likelihood)))
        return fail_memory(e, "the likelihood", sizeof *g->likelihood);
    likelihood *l = g->likelihood;
    if (gaussian) return likelihood_with_noise(noise, l, e);
    TRY(likelihood_parse(json_string_value(text), l, e));
    if ((l->ops->target == TARGET_CLASS) != (s->classes > 0)) return bad(e, "classes");
    TRY(likelihood_open(l, s->classes, s->exposed, e));
    return values_are_sound(l) ? ANYGP_OK : bad(e, "likelihood");
}

json_t *describe_promise(const gp *g)
{
    const gp_promise *p = &g->promise;
    if (!*p->reason) return json_null();
    return json_pack("{s:s, s:f, s:f}", "reason", p->reason, "seconds", p->seconds, "bytes", p->bytes);
}

void parse_promise(const json_t *o, gp *g)
{
    const char *reason = json_string_value(json_object_get(o, "reason"));
    double seconds = json_number_value(json_object_get(o, "seconds")),
           bytes = json_number_value(json_object_get(o, "bytes"));
    if (!reason || strlen(reason) >= sizeof g->promise.reason || !isfinite(seconds) || !isfinite(bytes)) return;
    snprintf(g->promise.reason, sizeof g->promise.reason, "%s", reason);
    g->promise.seconds = seconds, g->promise.bytes = bytes;
}

json_t *describe_tries(const gp *g)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < g->tries.count; i++) {
        double mnlp = g->tries.mnlp[i];
        json_array_append_new(list, json_pack("{s:I, s:o}", "blocks", (json_int_t)g->tries.blocks[i], "mnlp",
                                              isfinite(mnlp) ? json_real(mnlp) : json_null()));
    }
    return list;
}

/* A report only: what cannot be read is left out. */
void parse_tries(const json_t *o, gp *g)
{
    size_t count = json_array_size(o);
    for (size_t i = 0; i < count && i < SETTING_COUNTS_MOST; i++) {
        const json_t *of = json_array_get(o, i), *mnlp = json_object_get(of, "mnlp");
        g->tries.blocks[i] = json_integer_value(json_object_get(of, "blocks"));
        g->tries.mnlp[i] = json_is_number(mnlp) ? json_number_value(mnlp) : NAN;
        g->tries.count = (int64_t)i + 1;
    }
}
