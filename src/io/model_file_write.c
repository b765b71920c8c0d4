/* Writing a model file: the arrays of all targets by path, each stored once, under one checksum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "io/describe.h"
#include "io/model_file_parts.h"

/* A checksum field that is still to be filled in. */
#define CHECKSUM_BLANK "xxh64:0000000000000000"

/* -------------------------------------------------------------------------------------- the arrays */

typedef struct stored {
    named_array a;
    int64_t target;
    char *path;         /* "0/Z" */
    const char *shared; /* the path under which the same numbers are stored; NULL: its own */
} stored;

typedef struct stored_list {
    stored *at;
    int64_t count;
} stored_list;

static void stored_free(stored_list *list)
{
    for (int64_t i = 0; i < list->count; i++) free(list->at[i].path);
    free(list->at);
    *list = (stored_list){0};
}

/* Doubles an array takes in the file. */
static int64_t stored_count(const named_array *a) { return a->lower ? a->rows * (a->rows + 1) / 2 : a->rows * a->cols; }

static char *path_of(int64_t target, const char *name)
{
    size_t size = strlen(name) + 24;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%lld/%s", (long long)target, name);
    return path;
}

static bool same_array(const named_array *a, const named_array *b)
{
    return !strcmp(a->name, b->name) && a->rows == b->rows && a->cols == b->cols && a->lower == b->lower &&
           stored_count(a) > 0 && !memcmp(a->values, b->values, (size_t)(a->rows * a->cols) * sizeof *a->values);
}

/* An array that an earlier target has with the same bits: models that fit several targets at once share most of theirs. */
static const char *find_shared(const stored_list *list, int64_t target, const named_array *a)
{
    for (int64_t i = 0; i < list->count && list->at[i].target < target; i++)
        if (!list->at[i].shared && same_array(&list->at[i].a, a)) return list->at[i].path;
    return NULL;
}

static bool add_target(stored_list *list, int64_t target, const gp *g)
{
    array_list arrays = {0};
    const local_scale *c = g->local;
    g->posterior->ops->arrays(g->posterior, &arrays);
    if (c) {
        array_list_add(&arrays, (named_array){.name = CALIBRATION_X, .rows = c->D, .cols = c->n, .values = c->X});
        array_list_add(&arrays, (named_array){.name = CALIBRATION_R2, .rows = c->n, .cols = 1, .values = c->r2});
        array_list_add(&arrays, (named_array){.name = CALIBRATION_W, .rows = c->n, .cols = 1, .values = c->weight});
    }
    stored *more = arrays.failed ? NULL : realloc(list->at, (size_t)(list->count + arrays.count + 1) * sizeof *more);
    bool ok = more != NULL;
    if (more) list->at = more;
    for (int64_t i = 0; ok && i < arrays.count; i++) {
        const named_array *a = &arrays.at[i];
        stored s = {*a, target, path_of(target, a->name), find_shared(list, target, a)};
        ok = s.path != NULL;
        if (ok) list->at[list->count++] = s;
    }
    array_list_clear(&arrays);
    return ok;
}

static bool all_arrays(const gp_set *m, stored_list *list)
{
    bool ok = true;
    for (int64_t t = 0; ok && t < m->targets; t++) ok = add_target(list, t, m->gp[t]);
    return ok;
}

/* Reading would refuse a file with numbers that are not finite. */
static anygp_status check_finite(const stored_list *list, anygp_error *e)
{
    for (int64_t k = 0; k < list->count; k++) {
        const named_array *a = &list->at[k].a;
        for (int64_t j = 0; j < a->cols; j++)
            for (int64_t i = a->lower ? j : 0; i < a->rows; i++)
                if (!isfinite(a->values[i + j * a->rows]))
                    return fail_with(e, ANYGP_ERR_NUMERIC,
                                     "the model has numbers that are not finite (%s) and cannot be saved; look for "
                                     "extreme values in the data and the settings",
                                     a->name);
    }
    return ANYGP_OK;
}

/* -------------------------------------------------------------------------------------- the header */

static json_t *shape_json(const named_array *a)
{
    if (a->lower) return json_pack("[I]", (json_int_t)stored_count(a));
    return json_pack("[I, I]", (json_int_t)a->cols, (json_int_t)a->rows); /* row-major, as the layout has it */
}

/* Names, shapes and places of what is stored. */
static void describe_arrays(const stored_list *list, json_t *header)
{
    int64_t offset = 0;
    for (const stored *s = list->at; s < list->at + list->count; s++) {
        if (s->shared) continue;
        int64_t end = offset + 8 * stored_count(&s->a);
        json_object_set_new(header, s->path,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F64", "shape", shape_json(&s->a),
                                      "data_offsets", (json_int_t)offset, (json_int_t)end));
        offset = end;
    }
}

/* NULL: nothing is shared. */
static json_t *shared_json(const stored_list *list)
{
    json_t *shared = NULL;
    for (const stored *s = list->at; s < list->at + list->count; s++) {
        if (!s->shared) continue;
        if (!shared) shared = json_object();
        json_object_set_new(shared, s->path, json_string(s->shared));
    }
    return shared;
}

static bool has_widths(const stored_list *list)
{
    for (const stored *s = list->at; s < list->at + list->count; s++)
        if (!strcmp(s->a.name, "widths")) return true;
    return false;
}

/* The first that can describe what is in the file: a version without likelihoods would take all targets for gaussian, one
   without sharing would miss arrays, one without scaled inducing variables would take them for points, and one without transforms would
   take the transformed target for the target, and one without spheres degrees for columns of X. */
static const char *schema_of(const gp_set *m, const stored_list *list, const json_t *shared)
{
    for (int64_t t = 0; t < m->targets; t++)
        if (warp_is(&m->gp[t]->schema.warp) || m->gp[t]->schema.sphere.on) return "4";
    if (shared || has_widths(list)) return "3";
    for (int64_t t = 0; t < m->targets; t++)
        if (!gp_is_gaussian(m->gp[t])) return "2";
    return "1";
}

static json_t *metadata(const gp_set *m, const stored_list *list)
{
    json_t *targets = json_array(), *shared = shared_json(list);
    for (int64_t t = 0; t < m->targets; t++) json_array_append_new(targets, describe_gp(m->gp[t], m->settings));
    json_t *info = json_pack("{s:o, s:o}", "settings", describe_settings(m->settings), "targets", targets);
    char *info_text = info ? json_dumps(info, JSON_COMPACT) : NULL;
    char *shared_text = shared ? json_dumps(shared, JSON_COMPACT) : NULL;
    json_t *meta = NULL;
    if (info_text && (shared_text || !shared))
        meta = json_pack("{s:s, s:s, s:s, s:s, s:s}", "checksum", CHECKSUM_BLANK, "format", "anygp", "schema",
                         schema_of(m, list, shared), "version", anygp_version(), "info", info_text);
    if (meta && shared) json_object_set_new(meta, "shared", json_string(shared_text));
    free(info_text);
    free(shared_text);
    json_decref(info);
    json_decref(shared);
    return meta;
}

/* The header as text, padded so that the arrays are aligned. */
static char *header_text(const gp_set *m, const stored_list *list, size_t *length)
{
    json_t *header = json_object(), *meta = metadata(m, list);
    describe_arrays(list, header);
    if (meta) json_object_set_new(header, "__metadata__", meta);
    char *bare = meta ? json_dumps(header, 0) : NULL, *padded = NULL;
    if (bare) {
        size_t n = strlen(bare);
        *length = (n + ALIGN - 1) / ALIGN * ALIGN;
        if ((padded = malloc(*length + 1))) {
            memset(padded, ' ', *length);
            memcpy(padded, bare, n);
        }
    }
    free(bare);
    json_decref(header);
    return padded;
}

/* ---------------------------------------------------------------------------------------- the bytes */

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

static void put_model(const sink *k, const stored_list *list, const char *header, size_t length)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    put(k, bytes, 8);
    put(k, header, length);
    for (int64_t i = 0; i < list->count; i++)
        if (!list->at[i].shared) put_array(k, &list->at[i].a);
}

/* Fills in the digits of the checksum. */
static bool seal(const stored_list *list, char *header, size_t length)
{
    char digits[CHECKSUM_DIGITS + 1];
    sink k = {.hash = XXH64_createState()};
    if (!k.hash) return false;
    XXH64_reset(k.hash, 0);
    put_model(&k, list, header, length);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)XXH64_digest(k.hash));
    XXH64_freeState(k.hash);
    memcpy(header + model_file_digits(header, length), digits, CHECKSUM_DIGITS);
    return true;
}

anygp_status model_file_write_stream(const gp_set *m, FILE *f, anygp_error *e)
{
    size_t length = 0;
    anygp_status status = ANYGP_OK;
    stored_list list = {0};
    char *header = all_arrays(m, &list) ? header_text(m, &list, &length) : NULL;
    if (header) status = check_finite(&list, e);
    if (ANYGP_FAILED(status))
        ; /* reported already */
    else if (header && length > HEADER_MOST)
        status = fail_with(e, ANYGP_ERR_FILE,
                           "the model file's header would have %.3g MB, more than can be read again; "
                           "are there columns of text with very many categories?",
                           (double)length / 1e6);
    else if (header && seal(&list, header, length))
        put_model(&(sink){.file = f}, &list, header, length);
    else
        status = fail_memory(e, "the model file's header", (double)length);
    free(header);
    stored_free(&list);
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
