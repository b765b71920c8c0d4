/* Which inputs matter: their length-scales, the shortest first.  Across one standard deviation of an input with a short length-scale the
   function changes a lot; where it is many standard deviations long it hardly changes at all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/describe_parts.h"
#include "kernel/kernel.h"

enum { SHOWN = 12 }; /* on the page; all are in the JSON */

typedef struct relevance {
    const input_spec *input;
    double
        scaled; /* in standard deviations of the column, where inputs are standardised; of categories exp(-1 / length) */
    double length; /* in units of the column */
} relevance;

static int shorter_first(const void *a, const void *b)
{
    const relevance *x = a, *y = b;
    if (x->scaled != y->scaled) return x->scaled < y->scaled ? -1 : 1;
    return x->input->number < y->input->number ? -1 : x->input->number > y->input->number;
}

static int64_t collect(const schema *s, const double *closeness, relevance *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->inputs; i++) {
        const input_spec *c = &s->input[i];
        if (c->position < 0 || !(closeness[c->position] > 0) || (s->sphere.on && i == s->sphere.lat)) continue;
        double scaled = 1 / closeness[c->position];
        out[count++] = (relevance){c, scaled, scaled * (c->text ? 1 : c->scale)};
    }
    qsort(out, (size_t)count, sizeof *out, shorter_first);
    return count;
}

/* NULL: the inputs have no length-scales of their own that could be compared, or there is no memory. */
static relevance *relevance_of(const gp *g, int64_t *count)
{
    const kernel *k = g->posterior->kernel;
    int64_t D = g->schema.D;
    *count = 0;
    if (!k || D < 2 || kernel_inputs(k) != D) return NULL;
    double *closeness = mem_doubles(D, 1);
    relevance *list = mem_zeroed(D, sizeof *list);
    if (closeness && list) {
        kernel_closeness(k, kernel_values((kernel *)k), closeness);
        *count = collect(&g->schema, closeness, list);
    }
    free(closeness);
    if (*count >= 2 && list[0].scaled != list[*count - 1].scaled) return list; /* iso: none is more relevant */
    free(list);
    return NULL;
}

/* Length-scales l of categories have no unit: two rows that differ in one have a factor exp(-1 / l) in their covariance.  The inputs that have
   one, the shortest first; NULL: none, or the only input has it. */
static relevance *categories_of(const gp *g, int64_t *count)
{
    const kernel *k = g->posterior->kernel;
    const schema *s = &g->schema;
    *count = 0;
    if (!k || s->D < 2 || kernel_inputs(k) != s->D) return NULL;
    relevance *list = mem_zeroed(s->D, sizeof *list);
    for (int64_t j = 0; list && j < s->D; j++) {
        double length = INFINITY;
        for (int64_t i = 0; i < kernel_count(k); i++)
            if (kernel_param_at(k, i)->dim == j && kernel_is_category_length(k, i))
                length = fmin(length, kernel_values((kernel *)k)[i]);
        if (isfinite(length)) list[(*count)++] = (relevance){schema_at(s, j), length, length};
    }
    if (list) qsort(list, (size_t)*count, sizeof *list, shorter_first);
    for (int64_t i = 0; i < *count; i++) list[i].scaled = exp(-1 / list[i].length);
    if (*count > 0) return list;
    free(list);
    return NULL;
}

/* Longitude and latitude have one length, in km. */
static void print_name(FILE *out, const schema *s, const input_spec *c, int width)
{
    char number[32];
    if (s->sphere.on && c == &s->input[s->sphere.lon]) {
        const char *lat = s->input[s->sphere.lat].name;
        fprintf(out, "%s and %s, km", c->name ? c->name : "longitude", lat ? lat : "latitude");
        return;
    }
    snprintf(number, sizeof number, "column %lld", (long long)c->number);
    fprintf(out, "%-*s", width, c->name ? c->name : number);
}

static int64_t name_width(int64_t count, const relevance *list)
{
    int64_t width = 0;
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        int64_t n = list[i].input->name ? (int64_t)strlen(list[i].input->name) : 10;
        width = n > width && n <= 40 ? n : width;
    }
    return width;
}

/* scaled: show that too, of texts or of the others. */
static void print_first(const gp *g, int64_t count, const relevance *list, bool scaled, bool of_text,
                        const char *indent, FILE *out)
{
    int width = (int)name_width(count, list);
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        fputs(indent, out);
        print_name(out, &g->schema, list[i].input, width);
        fprintf(out, "  %.4g", list[i].length);
        if (scaled && list[i].input->text == of_text) fprintf(out, " (%.3g)", list[i].scaled);
        fputc('\n', out);
    }
    if (count > SHOWN) fprintf(out, "%sand %lld more, with --json\n", indent, (long long)(count - SHOWN));
}

void describe_relevance_lines(const gp *g, bool standardized, const char *indent, FILE *out)
{
    int64_t count;
    relevance *list = relevance_of(g, &count);
    if (list) {
        fprintf(out, "  %-14s the shortest first, in units of the column%s\n", "length-scales",
                standardized ? " (in standard deviations)" : "");
        print_first(g, count, list, standardized, false, indent, out);
    }
    free(list);
    list = categories_of(g, &count);
    if (list) {
        fprintf(out, "  %-14s their length-scales, the shortest first (correlation of two that differ)\n",
                "categories");
        print_first(g, count, list, true, true, indent, out);
    }
    free(list);
}

/* The list, which is used up. */
static json_t *as_json(int64_t count, relevance *list, const char *scaled)
{
    json_t *all = list ? json_array() : NULL;
    for (int64_t i = 0; all && i < count; i++) {
        const input_spec *c = list[i].input;
        json_array_append_new(all, json_pack("{s:s?, s:I, s:f, s:f}", "input", c->name, "number", (json_int_t)c->number,
                                             "lengthscale", list[i].length, scaled, list[i].scaled));
    }
    free(list);
    return all;
}

json_t *describe_categories(const gp *g)
{
    int64_t count;
    relevance *list = categories_of(g, &count);
    return as_json(count, list, "correlation");
}

json_t *describe_relevance(const gp *g)
{
    int64_t count;
    relevance *list = relevance_of(g, &count);
    return as_json(count, list, "scaled");
}
