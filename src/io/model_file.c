#include "io/model_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "io/describe.h"

static const char CHECKSUM_KEY[] = "\"checksum\": \"xxh64:";
enum { CHECKSUM_DIGITS = 16, HEADER_MOST = 1 << 28, ALIGN = 8, SCAN = 1 << 16 };

/* A checksum field that is still to be filled in. */
#define CHECKSUM_BLANK "xxh64:0000000000000000"

/* ------------------------------------------------------------------------------------ checksum */

/* Where the digits of the checksum stand in the header, or -1. */
static int64_t find_digits(const char *header, size_t size)
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
    int64_t place = find_digits(header, size);
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

/* --------------------------------------------------------------------------------------- write */

/* Doubles an array takes in the file. */
static int64_t stored_count(const named_array *a) { return a->lower ? a->rows * (a->rows + 1) / 2 : a->rows * a->cols; }

static json_t *shape_json(const named_array *a)
{
    if (a->lower) return json_pack("[I]", (json_int_t)stored_count(a));
    return json_pack("[I, I]", (json_int_t)a->cols, (json_int_t)a->rows); /* row-major, as the layout has it */
}

/* A version that knows no likelihoods would take all targets for gaussian. */
static const char *schema_of(const gp_set *m)
{
    for (int64_t t = 0; t < m->targets; t++)
        if (m->gp[t]->likelihood) return "2";
    return "1";
}

static void arrays_free(const gp_set *m, array_list *arrays)
{
    for (int64_t t = 0; arrays && t < m->targets; t++) array_list_clear(&arrays[t]);
    free(arrays);
}

/* The arrays of all targets, one list for each. */
static array_list *arrays_of(const gp_set *m)
{
    array_list *arrays = mem_zeroed(m->targets, sizeof *arrays);
    bool failed = !arrays;
    for (int64_t t = 0; arrays && t < m->targets; t++) {
        posterior *p = m->gp[t]->posterior;
        p->ops->arrays(p, &arrays[t]);
        failed = failed || arrays[t].failed;
    }
    if (failed) arrays_free(m, arrays), arrays = NULL;
    return arrays;
}

/* A file that holds others would be refused by whoever reads it. */
static anygp_status check_finite(const gp_set *m, const array_list *arrays, anygp_error *e)
{
    for (int64_t t = 0; t < m->targets; t++)
        for (const named_array *a = arrays[t].at; a < arrays[t].at + arrays[t].count; a++)
            for (int64_t j = 0; j < a->cols; j++)
                for (int64_t i = a->lower ? j : 0; i < a->rows; i++)
                    if (!isfinite(a->values[i + j * a->rows]))
                        return fail_with(e, ANYGP_ERR_NUMERIC,
                                         "the model has numbers that are not finite (%s) and cannot be saved; look for "
                                         "extreme values in the data and the settings",
                                         a->name);
    return ANYGP_OK;
}

/* Their names, shapes and places. */
static void describe_arrays(int64_t targets, const array_list *arrays, json_t *header)
{
    int64_t offset = 0;
    for (int64_t t = 0; t < targets; t++)
        for (const named_array *a = arrays[t].at; a < arrays[t].at + arrays[t].count; a++) {
            char name[64];
            int64_t end = offset + 8 * stored_count(a);
            snprintf(name, sizeof name, "%lld/%s", (long long)t, a->name);
            json_object_set_new(header, name,
                                json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F64", "shape", shape_json(a),
                                          "data_offsets", (json_int_t)offset, (json_int_t)end));
            offset = end;
        }
}

/* The header as text, padded so that the arrays are aligned. */
static char *header_text(const gp_set *m, const array_list *arrays, size_t *length)
{
    json_t *targets = json_array(), *header = json_object();
    for (int64_t t = 0; t < m->targets; t++) json_array_append_new(targets, describe_gp(m->gp[t], m->settings));
    describe_arrays(m->targets, arrays, header);
    json_t *info = json_pack("{s:o, s:o}", "settings", describe_settings(m->settings), "targets", targets);
    char *info_text = info ? json_dumps(info, JSON_COMPACT) : NULL;
    json_object_set_new(header, "__metadata__",
                        json_pack("{s:s, s:s, s:s, s:s, s:s}", "checksum", CHECKSUM_BLANK, "format", "anygp", "schema",
                                  schema_of(m), "version", anygp_version(), "info", info_text ? info_text : ""));
    char *bare = info_text ? json_dumps(header, 0) : NULL, *padded = NULL;
    if (bare) {
        size_t n = strlen(bare);
        *length = (n + ALIGN - 1) / ALIGN * ALIGN;
        if ((padded = malloc(*length + 1))) {
            memset(padded, ' ', *length);
            memcpy(padded, bare, n);
        }
    }
    free(bare);
    free(info_text);
    json_decref(info);
    json_decref(header);
    return padded;
}

/* Where the bytes of a model file go: into the checksum, or into the file. */
typedef struct sink {
    XXH64_state_t *hash;
    FILE *file;
} sink;

static void put(const sink *k, const void *bytes, size_t size)
{
    if (k->hash)
        XXH64_update(k->hash, bytes, size);
    else
        fwrite(bytes, 1, size, k->file);
}

static void put_array(const sink *k, const named_array *a)
{
    if (!a->lower) put(k, a->values, (size_t)(a->rows * a->cols) * sizeof(double));
    for (int64_t j = 0; a->lower && j < a->cols; j++)
        put(k, a->values + j + j * a->rows, (size_t)(a->rows - j) * sizeof(double));
}

static void put_model(const sink *k, int64_t targets, const array_list *arrays, const char *header, size_t length)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    put(k, bytes, 8);
    put(k, header, length);
    for (int64_t t = 0; t < targets; t++)
        for (int64_t i = 0; i < arrays[t].count; i++) put_array(k, &arrays[t].at[i]);
}

/* Fills in the digits of the checksum. */
static bool seal(int64_t targets, const array_list *arrays, char *header, size_t length)
{
    char digits[CHECKSUM_DIGITS + 1];
    sink k = {.hash = XXH64_createState()};
    if (!k.hash) return false;
    XXH64_reset(k.hash, 0);
    put_model(&k, targets, arrays, header, length);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)XXH64_digest(k.hash));
    XXH64_freeState(k.hash);
    memcpy(header + find_digits(header, length), digits, CHECKSUM_DIGITS);
    return true;
}

anygp_status model_file_write_stream(const gp_set *m, FILE *f, anygp_error *e)
{
    size_t length = 0;
    anygp_status status = ANYGP_OK;
    array_list *arrays = arrays_of(m);
    char *header = arrays ? header_text(m, arrays, &length) : NULL;
    if (arrays) status = check_finite(m, arrays, e);
    if (ANYGP_FAILED(status))
        ; /* said */
    else if (header && length > HEADER_MOST)
        status = fail_with(e, ANYGP_ERR_FILE,
                           "the model file's header would have %.3g MB, more than can be read again; "
                           "are there columns of text with very many categories?",
                           (double)length / 1e6);
    else if (header && seal(m->targets, arrays, header, length))
        put_model(&(sink){.file = f}, m->targets, arrays, header, length);
    else
        status = fail_memory(e, "the model file's header", (double)length);
    free(header);
    arrays_free(m, arrays);
    return status;
}

anygp_status model_file_write(const gp_set *m, const char *path, anygp_error *e)
{
    atomic_file *file = NULL;
    TRY(atomic_open(path, &file, e));
    anygp_status status = model_file_write_stream(m, atomic_stream(file), e);
    if (!ANYGP_FAILED(status)) return atomic_commit(file, e);
    atomic_abort(file);
    return status;
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

/* The arrays of target t, with values of their own. */
static anygp_status read_arrays(FILE *f, const char *name, const json_t *header, int64_t t, int64_t data_at,
                                int64_t data_size, array_list *list, anygp_error *e)
{
    const char *key;
    json_t *entry;
    char prefix[32];
    size_t skip = (size_t)snprintf(prefix, sizeof prefix, "%lld/", (long long)t);
    json_object_foreach((json_t *)header, key, entry)
    {
        named_array a = {0};
        int64_t offset;
        if (strncmp(key, prefix, skip) != 0) continue;
        if (!parse_array(entry, data_size, &a, &offset)) return damaged(e, name, "the list of its arrays is not valid");
        a.name = key + skip;
        anygp_status status = read_values(f, name, data_at + offset, &a, e);
        if (!ANYGP_FAILED(status)) array_list_add(list, a);
        if (!ANYGP_FAILED(status) && list->failed) status = fail_memory(e, "the model", sizeof a);
        if (ANYGP_FAILED(status)) return free(a.values), status;
    }
    return ANYGP_OK;
}

static anygp_status read_gp(FILE *f, const char *name, const json_t *header, const json_t *description, int64_t t,
                            int64_t data_at, int64_t data_size, gp **out, anygp_error *e)
{
    described d = {0};
    array_list list = {0};
    anygp_status status = ANYGP_OK;
    TRY_DONE(describe_parse(description, &d, e));
    TRY_DONE(read_arrays(f, name, header, t, data_at, data_size, &list, e));
    TRY_DONE(d.g->model->load(d.g->model, d.kernel, d.noise, &d.mean, d.g->schema.D, list.at, list.count,
                              &d.g->posterior, e));
    d.kernel = NULL;
    if (gp_latents(d.g) != (d.g->likelihood ? d.g->likelihood->latents : 1)) {
        status = damaged(e, name, "its arrays are of another number of latent functions than its likelihood has");
        goto done;
    }
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

anygp_status model_file_read_stream(FILE *f, const char *name, gp_set **out, anygp_error *e)
{
    json_t *header = NULL, *info = NULL;
    int64_t data_at = 0, data_size = 0;
    anygp_status status = ANYGP_OK;
    gp_set *m = calloc(1, sizeof *m);
    if (!m) return fail_memory(e, "the model", sizeof *m);
    TRY_DONE(read_header(f, name, &data_at, &data_size, &header, e));
    const json_t *meta = json_object_get(header, "__metadata__");
    TRY_DONE(check_format(name, meta, e));
    TRY_DONE(check_checksum(f, name, meta, e));
    const char *text = json_string_value(json_object_get(meta, "info"));
    json_error_t where;
    info = text ? json_loads(text, JSON_REJECT_DUPLICATES, &where) : NULL;
    const json_t *targets = json_object_get(info, "targets");
    int64_t count = (int64_t)json_array_size(targets);
    if (count < 1) {
        status = damaged(e, name, "it describes no model");
        goto done;
    }
    TRY_DONE(describe_parse_settings(json_object_get(info, "settings"), &m->settings, e));
    if (!(m->gp = mem_zeroed(count, sizeof *m->gp))) {
        status = fail_memory(e, "the model", 8.0 * (double)count);
        goto done;
    }
    for (int64_t t = 0; t < count; t++) {
        TRY_DONE(read_gp(f, name, header, json_array_get(targets, (size_t)t), t, data_at, data_size, &m->gp[t], e));
        m->targets++;
        if (same_inputs(&m->gp[0]->schema, &m->gp[t]->schema)) continue;
        status = damaged(e, name, "its targets have different inputs");
        goto done;
    }
done:
    json_decref(header);
    json_decref(info);
    if (ANYGP_FAILED(status))
        gp_set_free(m);
    else
        *out = m;
    return status;
}

anygp_status model_file_read(const char *path, gp_set **out, anygp_error *e)
{
    FILE *f = fopen(path, "rb");
    if (!f) return fail_with(e, ANYGP_ERR_FILE, "the model file %.300s cannot be opened; is the path right?", path);
    anygp_status status = model_file_read_stream(f, path, out, e);
    fclose(f);
    return status;
}
