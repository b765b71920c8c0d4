/* A model as JSON: the recipe of each target, its kernel, its likelihood and the scales of its columns (docs/export.md). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anygp/anygp.h"
#include "export/export.h"
#include "kernel/kernel_parts.h"

/* Text that is not UTF-8 cannot be in JSON. */
static json_t *text_of(const char *text)
{
    json_t *j = text ? json_string(text) : json_null();
    return j ? j : json_string("?");
}

static json_t *numbers(int64_t count, const double *values)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) json_array_append_new(list, json_real(values[i]));
    return list;
}

static json_t *texts(int64_t count, char **values)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) json_array_append_new(list, text_of(values[i]));
    return list;
}

/* ------------------------------------------------------------------------------------------- kernel */

static json_t *leaf_json(const kernel *k, int64_t i, const kernel_part *p)
{
    json_t *j = json_object(), *dims = json_array();
    json_object_set_new(j, "kind", json_string(p->name));
    for (int64_t d = 0; d < p->n_dims; d++) json_array_append_new(dims, json_integer(p->dims[d]));
    json_object_set_new(j, "dims", dims);
    if (p->integer) json_object_set_new(j, "order", json_integer(p->integer));
    for (int64_t s = 0; s < p->params; s++) {
        json_t *values = json_array();
        for (int64_t v = 0, n = kernel_part_count(k, i, s); v < n; v++)
            json_array_append_new(values, json_real(kernel_part_value(k, i, s, v)));
        json_object_set_new(j, kernel_part_param(k, i, s), values);
    }
    return j;
}

static json_t *kernel_json(const kernel *k)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < kernel_parts(k); i++) {
        kernel_part p = kernel_part_at(k, i);
        json_array_append_new(list, p.kind == PART_LEAF
                                        ? leaf_json(k, i, &p)
                                        : json_pack("{s:s,s:i,s:i}", "kind", p.kind == PART_SUM ? "sum" : "product",
                                                    "left", p.left, "right", p.right));
    }
    return list;
}

/* -------------------------------------------------------------------------------------------- recipe */

static void place_json(json_t *j, const recipe *r, const char *name, place p)
{
    char at[24];
    if (p.in == 0) return;
    json_object_set_new(j, name, json_string(recipe_place_name(r, p)));
    if (p.at == 0) return;
    snprintf(at, sizeof at, "%s_at", name);
    json_object_set_new(j, at, json_integer(p.at));
}

static json_t *rule_json(int rule)
{
    static const char *const names[] = {"entropy", "prior", "normalised", "observed", "own", "levels"};
    json_t *list = json_array();
    for (int i = 0; i < 6; i++)
        if (rule & 1 << i) json_array_append_new(list, json_string(names[i]));
    return list;
}

/* What is 0 or not there is left out. */
static json_t *step_json(const recipe *r, const recipe_step *s)
{
    json_t *j = json_object();
    int has = step_kinds[s->op].has;
    const struct {
        int bit;
        const char *name;
        int64_t value;
    } whole[] = {{HAS_N, "n", s->n},          {HAS_FROM_N, "from_n", s->from_n},
                 {HAS_ROWS, "rows", s->rows}, {HAS_SLOT, "slot", s->slot},
                 {HAS_OF, "of", s->of},       {HAS_KERNEL, "kernel", s->kernel}};
    json_object_set_new(j, "op", json_string(step_kinds[s->op].name));
    if (s->part >= 0) json_object_set_new(j, "part", json_integer(s->part));
    if (has & HAS_TO) place_json(j, r, "to", s->to);
    if (has & HAS_FROM) place_json(j, r, "from", s->from);
    if (has & HAS_ARRAY) place_json(j, r, "array", s->array);
    if (has & HAS_OTHER) place_json(j, r, "other", s->other);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (has & whole[i].bit && whole[i].value) json_object_set_new(j, whole[i].name, json_integer(whole[i].value));
    if (has & HAS_INPUT && s->input) json_object_set_new(j, "input", json_string(recipe_vector_name(-1 - s->input)));
    if (has & (HAS_INPUT | HAS_KERNEL | HAS_OTHER)) json_object_set_new(j, "width", json_integer(s->width));
    if (has & HAS_FACTOR) json_object_set_new(j, "factor", json_real(s->factor));
    if (has & HAS_PLUS) json_object_set_new(j, "plus", json_real(s->plus));
    if (has & HAS_RULE) json_object_set_new(j, "rule", rule_json(s->rule));
    if (s->late) json_object_set_new(j, "late", json_true());
    return j;
}

static void recipe_json(const recipe *r, json_t *target)
{
    json_t *arrays = json_object(), *steps = json_array(), *vectors = json_object(), *kernels = json_array();
    for (int64_t i = 0; i < r->n_arrays; i++)
        json_object_set_new(arrays, r->arrays[i].name, numbers(r->arrays[i].count, r->arrays[i].values));
    for (int64_t i = 0; i < r->n_steps; i++) json_array_append_new(steps, step_json(r, &r->steps[i]));
    for (int64_t i = 0; i < r->n_kernels; i++) json_array_append_new(kernels, kernel_json(r->kernels[i]));
    for (int v = 0; v < RECIPE_VECTORS; v++)
        if (r->vector[v]) json_object_set_new(vectors, recipe_vector_name(v), json_integer(r->vector[v]));
    json_object_set_new(target, "components", json_integer(r->components));
    json_object_set_new(target, "slots", json_integer(r->slots));
    json_object_set_new(target, "kernels", kernels);
    json_object_set_new(target, "steps", steps);
    json_object_set_new(target, "vectors", vectors);
    json_object_set_new(target, "arrays", arrays);
}

/* -------------------------------------------------------------------------------------------- target */

static json_t *inputs_json(const schema *s)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        json_t *j = json_object();
        json_object_set_new(j, "name", text_of(c->name));
        json_object_set_new(j, "position", c->position < 0 ? json_null() : json_integer(c->position));
        json_object_set_new(j, "shift", json_real(c->shift));
        json_object_set_new(j, "scale", json_real(c->scale));
        json_object_set_new(j, "fill", s->fill_missing ? json_real(c->fill) : json_null());
        if (c->text) json_object_set_new(j, "categories", texts(c->levels, c->level));
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *transform_json(const warp *w)
{
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(warp_name(w)));
    if (warp_has_lambda(w)) json_object_set_new(j, "lambda", json_real(w->lambda));
    return j;
}

static json_t *target_json(const recipe *r)
{
    const gp *g = r->g;
    const likelihood *l = g->likelihood;
    target_scale u = gp_target_unit(g);
    json_t *j = json_object(), *columns = json_array();
    json_object_set_new(j, "name", text_of(g->schema.target));
    json_object_set_new(j, "model", json_string(g->name));
    if (warp_is(&g->schema.warp)) json_object_set_new(j, "transform", transform_json(&g->schema.warp));
    json_object_set_new(j, "shift", json_real(u.shift));
    json_object_set_new(j, "scale", json_real(u.scale));
    json_object_set_new(j, "latents", json_integer(gp_latents(g)));
    json_object_set_new(j, "calibration", json_real(gp_calibration(g)));
    json_object_set_new(j, "white", json_real(kernel_white(g->posterior->kernel)));
    json_object_set_new(j, "likelihood",
                        json_pack("{s:s,s:o}", "name",
                                  strcmp(l->ops->name, "bernoulli") ? l->ops->name
                                  : l->link                         ? "probit"
                                                                    : "logit",
                                  "values", numbers(l->params, l->value)));
    if (gp_is_class(g)) json_object_set_new(j, "classes", texts(g->schema.classes, g->schema.class_name));
    for (int64_t k = 0; k < g->posterior->mean.p; k++)
        json_array_append_new(columns, json_integer(g->posterior->mean.column[k]));
    json_object_set_new(j, "basis", columns);
    json_object_set_new(j, "inputs", inputs_json(&g->schema));
    recipe_json(r, j);
    return j;
}

anygp_status export_json(const gp_set *m, char **text, anygp_error *e)
{
    json_t *all = json_object(), *targets = json_array();
    anygp_status status = ANYGP_OK;
    *text = NULL;
    json_object_set_new(all, "format", json_string("anygp-recipe"));
    json_object_set_new(all, "schema", json_integer(2));
    json_object_set_new(all, "version", json_string(anygp_version()));
    json_object_set_new(all, "targets", targets);
    for (int64_t t = 0; t < m->targets && !ANYGP_FAILED(status); t++) {
        recipe r;
        status = recipe_of(m->gp[t], &r, e);
        if (ANYGP_FAILED(status)) break;
        json_array_append_new(targets, target_json(&r));
        recipe_clear(&r);
    }
    if (!ANYGP_FAILED(status) && !(*text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17))))
        status = fail_memory(e, "the exported model", 0);
    json_decref(all);
    return status;
}
