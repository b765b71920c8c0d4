/* Posteriors of svgp as parts of another one (svgp_nested.h). */
#include "model/variational/svgp_nested.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void nested_arrays(posterior *part, const char *name, int64_t i, nested_paths *paths, array_list *list)
{
    kernel *k = part->kernel;
    int64_t from = list->count;
    part->ops->arrays(part, list);
    array_list_add(list, (named_array){"kernel", kernel_count(k), 1, kernel_values(k), false});
    for (int64_t a = from; a < list->count && a - from < NESTED_ARRAYS && !list->failed; a++) {
        snprintf(paths->at[a - from], NESTED_PATH, "%.8s%d/%.16s", name, (int)i, list->at[a].name);
        list->at[a].name = paths->at[a - from];
    }
}

int64_t nested_count(const char *name, int64_t first, const named_array *list, int64_t count)
{
    int64_t i = first - 1;
    char path[NESTED_PATH];
    do snprintf(path, sizeof path, "%.8s%d/kernel", name, (int)++i);
    while (named_array_find(list, count, path));
    return i - first;
}

/* The kernel of a part: that of the whole with other values.  NULL, and e, where they cannot be its. */
static kernel *read_kernel(const char *name, const kernel *like, const named_array *values, anygp_error *e)
{
    bool ok = values->rows == kernel_count(like) && values->cols == 1;
    for (int64_t i = 0; ok && i < values->rows; i++) ok = values->values[i] > 0;
    if (!ok) {
        fail_with(e, ANYGP_ERR_FILE, "the model file's kernel of a%s %s is not valid; it is damaged",
                  strchr("aeiou", *name) ? "n" : "", name);
        return NULL;
    }
    kernel *k = kernel_copy(like);
    if (!k)
        fail_memory(e, "a kernel", 0);
    else
        memcpy(kernel_values(k), values->values, (size_t)values->rows * sizeof(double));
    return k;
}

/* The arrays under NAME<i>/, with names of their own; how many. */
static int64_t arrays_under(named_array *list, int64_t count, const char *name, int64_t i, named_array **found,
                            named_array *alone)
{
    char path[NESTED_PATH];
    int64_t n = 0, length = snprintf(path, sizeof path, "%.8s%d/", name, (int)i);
    for (int64_t a = 0; a < count && n < NESTED_ARRAYS; a++) {
        if (strncmp(list[a].name, path, (size_t)length)) continue;
        found[n] = &list[a], alone[n] = list[a];
        alone[n++].name += length;
    }
    return n;
}

anygp_status nested_load(const model_ops *self, const char *name, int64_t i, const kernel *like, double noise,
                         basis *mean, int64_t D, named_array *list, int64_t count, posterior **out, anygp_error *e)
{
    named_array *found[NESTED_ARRAYS], alone[NESTED_ARRAYS];
    int64_t n = arrays_under(list, count, name, i, found, alone);
    named_array *values = named_array_need(alone, n, "kernel", e);
    if (!values) return ANYGP_ERR_FILE;
    kernel *k = read_kernel(name, like, values, e);
    if (!k) return e ? e->status : ANYGP_ERR_FILE;
    anygp_status status = svgp_load(self, k, noise, mean, D, alone, n, out, e);
    if (ANYGP_FAILED(status)) return kernel_free(k), status;
    for (int64_t a = 0; a < n; a++) found[a]->values = alone[a].values; /* NULL: it was taken */
    return ANYGP_OK;
}
