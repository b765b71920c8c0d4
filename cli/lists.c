/* The kernels and the likelihoods, one line each, or as JSON. */
#include <string.h>

#include "cli.h"

typedef const char *(*field_of)(int64_t i, const char *field);

static int width_of(int64_t count, field_of field, const char *name)
{
    size_t width = strlen(name);
    for (int64_t i = 0; i < count; i++)
        if (strlen(field(i, name)) > width) width = strlen(field(i, name));
    return (int)width;
}

/* Fields as columns, under their names. */
static void print_list(int64_t count, field_of field, const char *const *names)
{
    for (int64_t i = -1; i < count; i++)
        for (int k = 0; names[k]; k++) {
            const char *text = i < 0 ? names[k] : field(i, names[k]);
            bool last = !names[k + 1];
            printf("%-*s%s", last ? 0 : width_of(count, field, names[k]), *text ? text : "-", last ? "\n" : " ");
        }
}

static void print_json(int64_t count, field_of field, const char *const *names)
{
    for (int64_t i = 0; i < count; i++) {
        fputs(i ? ",\n {" : "[{", stdout);
        for (int k = 0; names[k]; k++) {
            printf("%s\"%s\": ", k ? ", " : "", names[k]);
            print_json_text(stdout, field(i, names[k]));
        }
        putchar('}');
    }
    puts("]");
}

anygp_status kernels(const options *o, anygp_error *e)
{
    static const char *const names[] = {"name", "options", "summary", NULL};
    (void)e;
    if (o->json)
        print_json(anygp_kernel_count(), anygp_kernel_field, names);
    else
        print_list(anygp_kernel_count(), anygp_kernel_field, names);
    if (!o->json)
        puts("\nSums, products and factors: 'rbf + 0.5*periodic(period=365, dims=day)*linear'. Every kernel takes\n"
             "dims=[columns]; those with length-scales take ard (one per input, the default) or iso (one for all).");
    return ANYGP_OK;
}

anygp_status likelihoods(const options *o, anygp_error *e)
{
    static const char *const names[] = {"name", "target", "options", "summary", "exposure", NULL};
    static const char *const columns[] = {"name", "target", "options", "summary", NULL};
    (void)e;
    if (o->json)
        print_json(anygp_likelihood_count(), anygp_likelihood_field, names);
    else
        print_list(anygp_likelihood_count(), anygp_likelihood_field, columns);
    return ANYGP_OK;
}
