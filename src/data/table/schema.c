/* What the columns of a table are to a model: names, categories, shifts and scales. */
#include "data/table/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/memory.h"
#include "data/text/number.h"

static uint64_t names_digest(int64_t n, char *const *names, uint64_t seed)
{
    for (int64_t l = 0; l < n; l++) seed = XXH64(names[l], strlen(names[l]) + 1, seed);
    return XXH64(&n, sizeof n, seed);
}

uint64_t schema_digest(const schema *s)
{
    uint64_t h = names_digest(s->classes, s->class_name, 0);
    for (int64_t i = 0; i < s->inputs; i++) h = names_digest(s->input[i].levels, s->input[i].level, h);
    return h;
}

static void names_free(int64_t n, char **names)
{
    for (int64_t l = 0; names && l < n; l++) free(names[l]);
    free(names);
}

static void input_clear(input_spec *c)
{
    free(c->name);
    names_free(c->levels, c->level);
}

void schema_clear(schema *s)
{
    for (int64_t j = 0; s->input && j < s->inputs; j++) input_clear(&s->input[j]);
    free(s->input);
    free(s->at);
    free(s->target);
    free(s->exposure_name);
    names_free(s->classes, s->class_name);
    *s = (schema){0};
}

anygp_status schema_index(schema *s, anygp_error *e)
{
    if (!(s->at = mem_alloc(s->D, sizeof *s->at))) return fail_memory(e, "the columns", 8.0 * (double)s->D);
    for (int64_t i = 0; i < s->inputs; i++)
        if (s->input[i].position >= 0) s->at[s->input[i].position] = i;
    if (s->sphere.on) s->at[s->sphere.at + 2] = s->sphere.lat;
    return ANYGP_OK;
}

void schema_place_sphere(schema *s)
{
    sphere_spec *p = &s->sphere;
    p->at = s->D;
    s->input[p->lon].position = s->D, s->input[p->lat].position = s->D + 1;
    s->D += SPHERE_COLUMNS;
}

/* ---------------------------------------------------------------------------------------- names */

static const char *label(const char *name, int64_t number, char *buffer)
{
    if (name)
        snprintf(buffer, 96, "'%.80s'", name);
    else
        snprintf(buffer, 96, "%lld", (long long)number);
    return buffer;
}

const char *schema_label(const input_spec *c, char *buffer) { return label(c->name, c->number, buffer); }
const char *schema_target_label(const schema *s, char *buffer) { return label(s->target, s->target_number, buffer); }

/* --------------------------------------------------------------------------------------- copies */

/* NULL stays NULL. */
static anygp_status copy_name(const char *from, char **to, anygp_error *e)
{
    *to = from ? mem_strdup(from) : NULL;
    return *to || !from ? ANYGP_OK : fail_memory(e, "column names", 0);
}

static anygp_status copy_names(int64_t n, char *const *from, int64_t *count, char ***to, anygp_error *e)
{
    *count = 0;
    if (!from) return ANYGP_OK;
    if (!(*to = mem_zeroed(n, sizeof **to))) return fail_memory(e, "category names", 8.0 * (double)n);
    for (; *count < n; (*count)++) TRY(copy_name(from[*count], &(*to)[*count], e));
    return ANYGP_OK;
}

static anygp_status copy_input(const input_spec *from, input_spec *to, anygp_error *e)
{
    *to = *from;
    to->level = NULL;
    to->levels = 0;
    TRY(copy_name(from->name, &to->name, e));
    return copy_names(from->levels, from->level, &to->levels, &to->level, e);
}

static anygp_status copy_inputs(const schema *from, schema *to, anygp_error *e)
{
    to->input = mem_zeroed(from->inputs, sizeof *to->input);
    if (!to->input) return fail_memory(e, "the column list", (double)from->inputs * sizeof *to->input);
    for (; to->inputs < from->inputs; to->inputs++)
        TRY(copy_input(&from->input[to->inputs], &to->input[to->inputs], e));
    to->D = from->D;
    return schema_index(to, e);
}

static anygp_status copy_target(const schema *from, schema *to, anygp_error *e)
{
    TRY(copy_name(from->target, &to->target, e));
    TRY(copy_name(from->exposure_name, &to->exposure_name, e));
    return copy_names(from->classes, from->class_name, &to->classes, &to->class_name, e);
}

/* The numbers; what is owned is left out. */
static schema plain_part(const schema *from)
{
    schema s = *from;
    s.inputs = s.D = s.classes = 0;
    s.input = NULL;
    s.at = NULL;
    s.target = s.exposure_name = NULL;
    s.class_name = NULL;
    return s;
}

anygp_status schema_copy_target(const schema *from, schema *to, anygp_error *e)
{
    *to = plain_part(from);
    anygp_status status = copy_target(from, to, e);
    if (ANYGP_FAILED(status)) schema_clear(to);
    return status;
}

anygp_status schema_copy(const schema *from, schema *to, anygp_error *e)
{
    TRY(schema_copy_target(from, to, e));
    anygp_status status = copy_inputs(from, to, e);
    if (ANYGP_FAILED(status)) schema_clear(to);
    return status;
}

/* -------------------------------------------------------------------------------------- classes */

/* The number that a label is; false: it is text. */
static bool number_of(const char *label_text, double *x)
{
    return cell_classify(label_text, label_text + strlen(label_text), x) == CELL_NUMBER;
}

/* < 0 if the label comes before class k. */
static int compare(const schema *s, int64_t k, const char *text, double number)
{
    double x = 0;
    if (s->class_text) return strcmp(text, s->class_name[k]);
    number_of(s->class_name[k], &x);
    return number < x ? -1 : number > x;
}

static int64_t find_class(const schema *s, const char *text, double number)
{
    for (int64_t low = 0, high = s->classes; low < high;) {
        int64_t k = low + (high - low) / 2;
        int order = compare(s, k, text, number);
        if (order == 0) return k;
        if (order < 0)
            high = k;
        else
            low = k + 1;
    }
    return -1;
}

int64_t schema_class_of_text(const schema *s, const char *text)
{
    double number = 0;
    return s->class_text || number_of(text, &number) ? find_class(s, text, number) : -1;
}

int64_t schema_class_of_number(const schema *s, double number)
{
    char text[NUMBER_TEXT_MOST + 1];
    text[s->class_text ? number_print(number, text) : 0] = 0;
    return find_class(s, text, number);
}
