/* Reading a model file (model_file.h); its checksum. */
#include "io/model_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/memory.h"
#include "io/describe.h"
#include "io/model_file_parts.h"

static const char CHECKSUM_KEY[] = "\"checksum\": \"xxh64:";
enum { SCAN = 1 << 16 };

/* ------------------------------------------------------------------------------------ checksum */

int64_t model_file_digits(const char *header, size_t size)
{
    size_t key = sizeof CHECKSUM_KEY - 1;
    for (size_t i = 0; i + key + CHECKSUM_DIGITS <= size; i++)
        if (!memcmp(header + i, CHECKSUM_KEY, key)) return (int64_t)(i + key);
    return -1;
}

static uint64_t header_length(const unsigned char *b)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | b[i];
    return n;
}

bool model_file_checksum(FILE *f, char digits[17], int64_t *at)
{
    unsigned char length[8], buffer[SCAN];
    bool ok = false;
    char *header = NULL;
    XXH64_state_t *state = XXH64_createState();
    rewind(f);
    if (!state || fread(length, 1, 8, f) != 8) goto done;
    uint64_t size = header_length(length);
    if (size > HEADER_MOST || !(header = malloc(size + 1)) || fread(header, 1, size, f) != size) goto done;
    int64_t place = model_file_digits(header, size);
    if (place < 0) goto done;
    memset(header + place, '0', CHECKSUM_DIGITS);
    XXH64_reset(state, 0);
    XXH64_update(state, length, 8);
    XXH64_update(state, header, size);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, f)) > 0;) XXH64_update(state, buffer, got);
    if (ferror(f)) goto done;
    snprintf(digits, 17, "%016llx", (unsigned long long)XXH64_digest(state));
    *at = 8 + place;
    ok = true;
done:
    XXH64_freeState(state);
    free(header);
    return ok;
}

/* ---------------------------------------------------------------------------------------- read */

static anygp_status damaged(anygp_error *e, const char *name, const char *what)
{
    return fail_with(e, ANYGP_ERR_FILE, "%.200s is not a model file that can be used: %s", name, what);
}

static anygp_status read_header(FILE *f, const char *name, int64_t *data_at, int64_t *data_size, json_t **out,
                                anygp_error *e)
{
    unsigned char length[8];
    if (fseek(f, 0, SEEK_END) != 0) return damaged(e, name, "it cannot be read from the end");
    int64_t size = ftell(f);
    rewind(f);
    if (size < 8 || fread(length, 1, 8, f) != 8) return damaged(e, name, "it is too short");
    uint64_t n = header_length(length);
    if (n > HEADER_MOST || n > (uint64_t)size - 8)
        return damaged(e, name, "its header is longer than the file; it is truncated or of another kind");
    char *text = malloc(n + 1);
    if (!text) return fail_memory(e, "the model file's header", (double)n);
    bool got = fread(text, 1, n, f) == n;
    json_error_t where;
    *out = got ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &where) : NULL;
    free(text);
    if (!*out) return damaged(e, name, "its header is not JSON");
    *data_at = 8 + (int64_t)n;
    *data_size = size - *data_at;
    return ANYGP_OK;
}

static anygp_status check_checksum(FILE *f, const char *name, const json_t *meta, anygp_error *e)
{
    char digits[17];
    int64_t at;
    const char *written = json_string_value(json_object_get(meta, "checksum"));
    if (!written || strlen(written) != 6 + CHECKSUM_DIGITS || strncmp(written, "xxh64:", 6))
        return damaged(e, name, "it has no checksum");
    if (!model_file_checksum(f, digits, &at)) return damaged(e, name, "it cannot be read to its end");
    return strcmp(digits, written + 6) ? damaged(e, name, "its checksum does not match; it was damaged or cut short")
                                       : ANYGP_OK;
}

static anygp_status check_format(const char *name, const json_t *meta, anygp_error *e)
{
    const char *format = json_string_value(json_object_get(meta, "format")),
               *schema_text = json_string_value(json_object_get(meta, "schema"));
    if (!format || strcmp(format, "anygp") || !schema_text) return damaged(e, name, "it was not written by anygp");
    if (atoi(schema_text) < 1 || atoi(schema_text) > MODEL_FILE_SCHEMA)
        return fail_with(e, ANYGP_ERR_FILE, "%.200s has the file format %.20s; this version of anygp reads 1 to %d",
                         name, schema_text, MODEL_FILE_SCHEMA);
    return ANYGP_OK;
}

/* The array `a` from its place in the file; finite numbers only.  Packed triangles are spread out. */
static anygp_status read_values(FILE *f, const char *name, int64_t at, named_array *a, anygp_error *e)
{
    size_t full;
    if (!size_mul(a->rows, a->cols, &full) || !(a->values = mem_alloc((int64_t)full, sizeof(double))))
        return fail_memory(e, "the model", 8.0 * (double)a->rows * (double)a->cols);
    if (fseek(f, at, SEEK_SET) != 0) return damaged(e, name, "it cannot be read");
    if (a->lower) memset(a->values, 0, full * sizeof(double));
    for (int64_t j = 0; j < a->cols; j++) {
        double *cells = a->values + j * a->rows + (a->lower ? j : 0);
        size_t n = (size_t)(a->lower ? a->rows - j : a->rows);
        if (fread(cells, sizeof(double), n, f) != n) return damaged(e, name, "it is truncated");
        for (size_t i = 0; i < n; i++)
            if (!isfinite(cells[i])) return damaged(e, name, "it holds numbers that are not finite");
    }
    return ANYGP_OK;
}

/* Side of the square whose lower triangle has `count` elements, or -1. */
static int64_t triangle_side(int64_t count)
{
    int64_t n = (int64_t)((sqrt(8.0 * (double)count + 1) - 1) / 2 + 0.5);
    return n * (n + 1) / 2 == count ? n : -1;
}

/* The shape and place of one array, checked against the size of the file. */
static bool parse_array(const json_t *entry, int64_t data_size, named_array *a, int64_t *offset)
{
    const json_t *shape = json_object_get(entry, "shape"), *span = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    json_int_t first = json_integer_value(json_array_get(span, 0)), end = json_integer_value(json_array_get(span, 1));
    json_int_t s0 = json_integer_value(json_array_get(shape, 0)), s1 = json_integer_value(json_array_get(shape, 1));
    size_t rank = json_array_size(shape), count;
    if (!dtype || strcmp(dtype, "F64") || json_array_size(span) != 2 || rank < 1 || rank > 2) return false;
    if (first < 0 || end < first || end > data_size || first % 8 || s0 < 0 || s1 < 0) return false;
    if (!size_mul(s0, rank == 2 ? s1 : 1, &count) || count != (size_t)(end - first) / 8 || (end - first) % 8)
        return false;
    a->lower = rank == 1;
    a->rows = rank == 2 ? s1 : triangle_side(s0);
    a->cols = rank == 2 ? s0 : a->rows;
    *offset = first;
    return a->rows >= 0 && a->rows < INT32_MAX && a->cols < INT32_MAX;
}

/* An open model file: its arrays by path, and the paths under which others are stored, or NULL. */
typedef struct model_stream {
    FILE *f;
    const char *name; /* for messages */
    double memory;    /* of each target (model_file.h) */
    json_t *header, *shared;
    int64_t data_at, data_size;
} model_stream;

static anygp_status read_array(const model_stream *s, const json_t *entry, const char *name, array_list *list,
                               anygp_error *e)
{
    named_array a = {.name = name};
    int64_t offset;
    if (!parse_array(entry, s->data_size, &a, &offset))
        return damaged(e, s->name, "the list of its arrays is not valid");
    anygp_status status = read_values(s->f, s->name, s->data_at + offset, &a, e);
    if (!ANYGP_FAILED(status)) array_list_add(list, a);
    if (!ANYGP_FAILED(status) && list->failed) status = fail_memory(e, "the model", sizeof a);
    if (ANYGP_FAILED(status)) free(a.values);
    return status;
}

/* The arrays of target t, with values of their own: those under its number, and those it shares with another. */
static anygp_status read_arrays(const model_stream *s, int64_t t, array_list *list, anygp_error *e)
{
    const char *key;
    json_t *entry;
    char prefix[32];
    size_t skip = (size_t)snprintf(prefix, sizeof prefix, "%lld/", (long long)t);
    json_object_foreach(s->header, key, entry)
    {
        if (!strncmp(key, prefix, skip)) TRY(read_array(s, entry, key + skip, list, e));
    }
    json_object_foreach(s->shared, key, entry)
    {
        const char *path = json_string_value(entry);
        if (strncmp(key, prefix, skip) != 0) continue;
        if (json_object_get(s->header, key) || !path || !json_is_object(json_object_get(s->header, path)))
            return damaged(e, s->name, "the list of its arrays is not valid");
        TRY(read_array(s, json_object_get(s->header, path), key + skip, list, e));
    }
    return ANYGP_OK;
}

/* What --calibrate local left, where it was used. */
static anygp_status read_local(const model_stream *s, const json_t *description, const array_list *list, gp *g,
                               anygp_error *e)
{
    static const char *const names[] = {CALIBRATION_X, CALIBRATION_R2, CALIBRATION_W};
    const json_t *j = json_object_get(json_object_get(description, "internal"), "calibration_local");
    json_int_t near = json_integer_value(json_object_get(j, "near"));
    double shrink = json_number_value(json_object_get(j, "shrink")), *taken[3] = {0};
    named_array *a[3];
    if (!j) return ANYGP_OK;
    for (int i = 0; i < 3; i++)
        if (!(a[i] = named_array_need(list->at, list->count, names[i], e))) return ANYGP_ERR_FILE;
    int64_t n = a[1]->rows;
    TRY(named_array_check(a[0], g->schema.D, n, e));
    TRY(named_array_check(a[1], n, 1, e));
    TRY(named_array_check(a[2], n, 1, e));
    bool sound = near >= 1 && near < n && shrink > 0 && isfinite(shrink);
    for (int64_t i = 0; i < n; i++) sound = sound && a[1]->values[i] >= 0 && a[2]->values[i] > 0;
    if (!sound) return damaged(e, s->name, "its local calibration is not valid");
    for (int i = 0; i < 3; i++) taken[i] = named_array_take(a[i]);
    return local_scale_new(g->posterior->kernel, n, g->schema.D, taken[0], taken[1], taken[2], near, shrink, &g->local,
                           e);
}

static anygp_status read_gp(const model_stream *s, const json_t *description, int64_t t, gp **out, anygp_error *e)
{
    described d = {0};
    array_list list = {0};
    anygp_status status = ANYGP_OK;
    TRY_DONE(describe_parse(description, &d, e));
    TRY_DONE(read_arrays(s, t, &list, e));
    const model_ops *m = d.g->model;
    int64_t D = d.g->schema.D;
    TRY_DONE(m->load_within
                 ? m->load_within(m, s->memory, d.kernel, d.noise, &d.mean, D, list.at, list.count, &d.g->posterior, e)
                 : m->load(m, d.kernel, d.noise, &d.mean, D, list.at, list.count, &d.g->posterior, e));
    d.kernel = NULL;
    if (gp_latents(d.g) != d.g->likelihood->latents) {
        status = damaged(e, s->name, "its arrays have a different number of latent functions than its likelihood");
        goto done;
    }
    TRY_DONE(read_local(s, description, &list, d.g, e));
    *out = d.g;
    d.g = NULL;
done:
    for (int64_t i = 0; i < list.count; i++) free(list.at[i].values);
    array_list_clear(&list);
    described_clear(&d);
    return status;
}

/* Targets of one file share their inputs and exposure: prediction reads a row of them once. */
static bool same_inputs(const schema *a, const schema *b)
{
    if (a->inputs != b->inputs || a->columns != b->columns) return false;
    if (a->exposed != b->exposed || a->exposure != b->exposure || !a->exposure_name != !b->exposure_name) return false;
    for (int64_t i = 0; i < a->inputs; i++) {
        const input_spec *p = &a->input[i], *q = &b->input[i];
        if (p->number != q->number || p->text != q->text || p->levels != q->levels || !p->name != !q->name)
            return false;
        if (p->name && strcmp(p->name, q->name) != 0) return false;
        for (int64_t l = 0; l < p->levels; l++)
            if (strcmp(p->level[l], q->level[l]) != 0) return false;
    }
    return true;
}

/* A JSON text in the metadata; NULL: there is none, or it is not JSON. */
static json_t *metadata_json(const json_t *meta, const char *key)
{
    const char *text = json_string_value(json_object_get(meta, key));
    json_error_t where;
    return text ? json_loads(text, JSON_REJECT_DUPLICATES, &where) : NULL;
}

static anygp_status read_targets(const model_stream *s, const json_t *info, gp_set *m, anygp_error *e)
{
    const json_t *targets = json_object_get(info, "targets");
    int64_t count = (int64_t)json_array_size(targets);
    if (count < 1) return damaged(e, s->name, "it describes no model");
    TRY(describe_parse_settings(json_object_get(info, "settings"), &m->settings, e));
    if (!(m->gp = mem_zeroed(count, sizeof *m->gp))) return fail_memory(e, "the model", 8.0 * (double)count);
    for (int64_t t = 0; t < count; t++) {
        TRY(read_gp(s, json_array_get(targets, (size_t)t), t, &m->gp[t], e));
        m->targets++;
        if (!same_inputs(&m->gp[0]->schema, &m->gp[t]->schema))
            return damaged(e, s->name, "its targets have different inputs");
    }
    return ANYGP_OK;
}

anygp_status model_file_read_stream(FILE *f, const char *name, double memory, gp_set **out, anygp_error *e)
{
    model_stream s = {.f = f, .name = name};
    json_t *info = NULL;
    anygp_status status = ANYGP_OK;
    gp_set *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    TRY_DONE(read_header(f, name, &s.data_at, &s.data_size, &s.header, e));
    const json_t *meta = json_object_get(s.header, "__metadata__");
    TRY_DONE(check_format(name, meta, e));
    TRY_DONE(check_checksum(f, name, meta, e));
    info = metadata_json(meta, "info"), s.shared = metadata_json(meta, "shared");
    s.memory = memory / fmax(1, (double)json_array_size(json_object_get(info, "targets")));
    status = read_targets(&s, info, m, e);
done:
    json_decref(s.header);
    json_decref(s.shared);
    json_decref(info);
    if (ANYGP_FAILED(status))
        gp_set_free(m);
    else
        *out = m;
    return status;
}

anygp_status model_file_read(const char *path, double memory, gp_set **out, anygp_error *e)
{
    FILE *f = fopen(path, "rb");
    if (!f) return fail_with(e, ANYGP_ERR_FILE, "the model file %.300s cannot be opened; is the path right?", path);
    anygp_status status = model_file_read_stream(f, path, memory, out, e);
    fclose(f);
    return status;
}
