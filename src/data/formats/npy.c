/* NumPy's .npy, versions 1 to 3.  The header is a Python dictionary in text,
       {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
   read by a scanner that knows these three keys and nothing else.  The file's input belongs to the only array. */
#include "data/formats/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { HEAD_MOST = 1 << 16 };

typedef struct head_fields {
    char descr[16];
    bool fortran, has_descr, has_order, has_shape;
    int dims;
    int64_t shape[2]; /* the first two; dims shows if there are more */
} head_fields;

/* ------------------------------------------------------------------------------------ the dictionary */

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == ',') p++;
    return p;
}

/* 'text' or "text" into `to`; NULL if it is not there or too long. */
static const char *scan_quoted(const char *p, char *to, size_t size)
{
    char quote = *p;
    size_t n = 0;
    if (quote != '\'' && quote != '"') return NULL;
    for (p++; *p && *p != quote; p++) {
        if (n + 1 == size) return NULL;
        to[n++] = *p;
    }
    to[n] = 0;
    return *p ? p + 1 : NULL;
}

static const char *scan_size(const char *p, int64_t *value)
{
    *value = 0;
    if (*p < '0' || *p > '9') return NULL;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *p - '0', value)) return NULL;
    return *p == 'L' ? p + 1 : p; /* written so by Python 2 */
}

static const char *scan_shape(const char *p, head_fields *f)
{
    if (*p != '(') return NULL;
    for (p = skip_blanks(p + 1); *p && *p != ')'; p = skip_blanks(p)) {
        int64_t size;
        if (!(p = scan_size(p, &size))) return NULL;
        if (f->dims < 2) f->shape[f->dims] = size;
        f->dims++;
    }
    f->has_shape = true;
    return *p ? p + 1 : NULL;
}

static const char *scan_order(const char *p, head_fields *f)
{
    f->fortran = *p == 'T';
    f->has_order = true;
    if (!strncmp(p, "True", 4)) return p + 4;
    return strncmp(p, "False", 5) ? NULL : p + 5;
}

/* One key and its value. */
static const char *scan_item(const char *p, head_fields *f)
{
    char key[16];
    if (!(p = scan_quoted(p, key, sizeof key))) return NULL;
    p = skip_blanks(p);
    if (*p != ':') return NULL;
    p = skip_blanks(p + 1);
    if (!strcmp(key, "shape")) return scan_shape(p, f);
    if (!strcmp(key, "fortran_order")) return scan_order(p, f);
    f->has_descr = !strcmp(key, "descr");
    return f->has_descr ? scan_quoted(p, f->descr, sizeof f->descr) : NULL;
}

static bool scan_head(const char *p, head_fields *f)
{
    p = skip_blanks(p);
    if (*p != '{') return false;
    for (p = skip_blanks(p + 1); p && *p != '}'; p = p ? skip_blanks(p) : NULL) p = scan_item(p, f);
    return p && f->has_descr && f->has_order && f->has_shape;
}

/* ---------------------------------------------------------------------------------------- the array */

/* '<f8' and the like; '|' and '=' mean this machine's order. */
static bool scan_type(const char *d, scalar *s)
{
    static const char kinds[] = {
        [SCALAR_SIGNED] = 'i', [SCALAR_UNSIGNED] = 'u', [SCALAR_FLOAT] = 'f', [SCALAR_BOOL] = 'b'};
    if (strlen(d) != 3 || !strchr("<>|=", d[0])) return false;
    const char *kind = memchr(kinds, d[1], sizeof kinds);
    if (!kind || !strchr("1248", d[2])) return false;
    s->kind = (scalar_kind)(kind - kinds);
    s->size = d[2] - '0';
    s->big = d[0] == '>' || (d[0] != '<' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return s->kind == SCALAR_FLOAT ? s->size >= 4 : s->kind != SCALAR_BOOL || s->size == 1;
}

static anygp_status settle(array *a, const head_fields *f, anygp_error *e)
{
    const char *name = input_name(a->in);
    if (!scan_type(f->descr, &a->type))
        return fail_with(e, ANYGP_ERR_DATA,
                         "%s holds numbers of type '%s'; save it as float32, float64, bool or whole numbers of 8 to 64 "
                         "bits",
                         name, f->descr);
    if (f->dims != 1 && f->dims != 2)
        return fail_with(e, ANYGP_ERR_DATA, "%s holds an array of %d dimensions; a table has one or two", name,
                         f->dims);
    a->rows = f->shape[0];
    a->cols = f->dims == 2 ? f->shape[1] : 1;
    a->fortran = f->fortran && f->dims == 2;
    return array_check(a, e);
}

static anygp_status not_npy(const array *a, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_DATA, "%s is not a NumPy array file, or its header is damaged", input_name(a->in));
}

/* The length of the header is stored in 2 bytes in version 1, in 4 in later ones. */
static anygp_status head_length(array *a, size_t *length, anygp_error *e)
{
    unsigned char b[12];
    size_t got;
    TRY(input_read(a->in, b, 8, &got, e));
    if (got < 8 || memcmp(b, "\x93NUMPY", 6) || b[6] < 1 || b[6] > 3) return not_npy(a, e);
    int wide = b[6] == 1 ? 2 : 4;
    TRY(input_read_all(a->in, b + 8, (size_t)wide, e));
    *length = (size_t)b[8] | (size_t)b[9] << 8;
    if (wide == 4) *length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    a->offset = 8 + wide + (int64_t)*length;
    return *length <= HEAD_MOST ? ANYGP_OK : not_npy(a, e);
}

anygp_status npy_head(array *a, anygp_error *e)
{
    size_t length = 0;
    head_fields f = {0};
    TRY(head_length(a, &length, e));
    char *text = malloc(length + 1);
    if (!text) return fail_memory(e, "the header of an array", (double)length);
    anygp_status status = input_read_all(a->in, text, length, e);
    text[ANYGP_FAILED(status) ? 0 : length] = 0;
    if (!ANYGP_FAILED(status)) status = scan_head(text, &f) ? settle(a, &f, e) : not_npy(a, e);
    free(text);
    return status;
}

/* ---------------------------------------------------------------------------------------- the reader */

static anygp_status npy_open(reader *r, const read_options *o, anygp_error *e)
{
    (void)o;
    array_set *s = r->state = array_set_new(1);
    if (!s) return fail_memory(e, "a reader", sizeof *s);
    s->arrays[0].in = r->in;
    TRY(npy_head(&s->arrays[0], e));
    TRY(arrays_ready(r, e));
    r->target = r->cols - 1;
    return ANYGP_OK;
}

/* The input is the reader's, which closes it. */
static void npy_close(reader *r)
{
    array_set *s = r->state;
    if (s) s->arrays[0].in = NULL;
    arrays_close(r);
}

static bool npy_sniff(const unsigned char *head, size_t n) { return n >= 6 && !memcmp(head, "\x93NUMPY", 6); }

static const char *const endings[] = {".npy", NULL};
const format format_npy = {"npy",     endings, npy_sniff,       npy_open,    arrays_next,
                           npy_close, true,    arrays_can_seek, arrays_seek, NULL};
