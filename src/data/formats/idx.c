/* The idx format of the MNIST files: two zero bytes, a type, the number of dimensions, the sizes (4 bytes each), the
   numbers; all with the most significant byte first.  The first dimension is the row, the others are flattened.
   Beside a file of images, "...images-idx3...", its labels "...labels-idx1..." become the last column. */
#include "data/formats/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { DIMS_MOST = 8 };

static bool scan_type(unsigned char code, scalar *s)
{
    static const struct {
        unsigned char code;
        scalar type;
    } types[] = {{0x08, {SCALAR_UNSIGNED, 1, true}}, {0x09, {SCALAR_SIGNED, 1, true}}, {0x0b, {SCALAR_SIGNED, 2, true}},
                 {0x0c, {SCALAR_SIGNED, 4, true}},   {0x0d, {SCALAR_FLOAT, 4, true}},  {0x0e, {SCALAR_FLOAT, 8, true}}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return *s = types[i].type, true;
    return false;
}

static int64_t big_endian(const unsigned char *b)
{
    return (int64_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
}

static anygp_status idx_head(array *a, anygp_error *e)
{
    unsigned char b[4];
    size_t got;
    TRY(input_read(a->in, b, 4, &got, e));
    if (got < 4 || b[0] || b[1] || !scan_type(b[2], &a->type) || b[3] < 1 || b[3] > DIMS_MOST)
        return fail_with(e, ANYGP_ERR_DATA, "%s is not an idx file, or its header is damaged", input_name(a->in));
    int dims = b[3];
    a->offset = 4 + 4 * dims;
    a->cols = 1;
    for (int k = 0; k < dims; k++) {
        TRY(input_read_all(a->in, b, 4, e));
        if (k == 0)
            a->rows = big_endian(b);
        else if (__builtin_mul_overflow(a->cols, big_endian(b), &a->cols))
            a->cols = INT64_MAX;
    }
    return array_check(a, e);
}

/* ------------------------------------------------------------------------------------ images and labels */

/* The name of the labels beside the images `path`, freed by the caller; NULL if it is not a name of images. */
static char *labels_name(const char *path)
{
    static const char images[] = "images-idx3", labels[] = "labels-idx1";
    const char *found = NULL, *base = strrchr(path, '/');
    for (const char *p = base ? base : path; (p = strstr(p, images)); p++) found = p;
    if (!found) return NULL;
    char *name = malloc(strlen(path) + 4);
    if (!name) return NULL;
    strcpy(name, path);
    memcpy(name + (found - path), labels, sizeof labels - 1);
    return name;
}

/* With .gz put on or taken off, if only that file exists; `name` has room for it. */
static bool existing(char *name)
{
    size_t n = strlen(name);
    if (access(name, F_OK) == 0) return true;
    if (n > 3 && !strcmp(name + n - 3, ".gz"))
        name[n - 3] = 0;
    else
        strcpy(name + n, ".gz");
    return access(name, F_OK) == 0;
}

static anygp_status open_labels(array *a, const char *name, stop_poll stop, anygp_error *e)
{
    TRY(input_open(name, stop, &a->in, e));
    TRY(idx_head(a, e));
    if (a->cols == 1) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "%s has %lld numbers per row; a file of labels has one", name,
                     (long long)a->cols);
}

static anygp_status idx_open(reader *r, const read_options *o, anygp_error *e)
{
    (void)o;
    anygp_status status;
    char *name = labels_name(input_name(r->in));
    bool labelled = name && existing(name);
    array_set *s = r->state = array_set_new(labelled ? 2 : 1);
    if (!s) {
        status = fail_memory(e, "a reader", sizeof *s);
        goto done;
    }
    s->arrays[0].in = r->in;
    TRY_DONE(idx_head(&s->arrays[0], e));
    if (labelled) TRY_DONE(open_labels(&s->arrays[1], name, r->stop, e));
    TRY_DONE(arrays_ready(r, e));
    if (labelled) {
        r->target = r->cols - 1;
        r->columns[r->target].name = mem_strdup("label");
    }
done:
    free(name);
    return status;
}

/* The first input is the reader's, which closes it. */
static void idx_close(reader *r)
{
    array_set *s = r->state;
    if (s) s->arrays[0].in = NULL;
    arrays_close(r);
}

static bool idx_sniff(const unsigned char *head, size_t n)
{
    scalar s;
    return n >= 8 && !head[0] && !head[1] && scan_type(head[2], &s) && head[3] >= 1 && head[3] <= DIMS_MOST;
}

static const char *const endings[] = {".idx", "idx1-ubyte", "idx2-ubyte", "idx3-ubyte", "idx4-ubyte", NULL};
const format format_idx = {"idx",     endings, idx_sniff,       idx_open,    arrays_next,
                           idx_close, true,    arrays_can_seek, arrays_seek, NULL};
