/* HDF5: the numeric datasets of one or two dimensions in the root group, chosen as members.h says; a list of strings
   in the attribute "columns", of a dataset or of the root group, names the columns.  Blocks of rows are read as hyperslabs
   and turned into doubles by the library, straight into their places in the caller's rows. */
#include "data/formats/hdf5_file.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/members.h"
#include "data/text/utf8.h"

enum { NAME_MOST = 256, DATASETS_MOST = 4096, CACHE_SLOTS = 521, CACHE_CHUNKS = 4, CACHE_MOST = 1 << 26 };

/* What was never written takes no room and is read as zeros, so that a small file may claim any number of rows.  Packed
   numbers take at least a thousandth of their size. */
static const double PACKED_MOST = 1100, SMALL_BYTES = 1 << 20;

typedef struct dataset {
    hid_t id; /* invalid where it was not opened */
    char name[NAME_MOST];
    int dims;
    int64_t rows, cols;
    double bytes;          /* of all its numbers */
    const char *elsewhere; /* how its numbers are stored in another file; NULL: they are in this one */
} dataset;

struct hdf5_file {
    hid_t id;
    dataset *sets; /* in the order of the table */
    int64_t count;
    bool follow;
    double size; /* of the file, bytes */
};

void hdf5_silence(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

/* ------------------------------------------------------------------------------------------- datasets */

static bool is_numeric(hid_t id)
{
    hid_t type = H5Dget_type(id);
    H5T_class_t c = H5Tget_class(type);
    H5Tclose(type);
    return c == H5T_FLOAT || c == H5T_INTEGER;
}

static bool take_shape(dataset *d)
{
    hsize_t shape[2] = {0, 1};
    hid_t space = H5Dget_space(d->id);
    d->dims = H5Sget_simple_extent_ndims(space);
    bool usable = d->dims == 1 || d->dims == 2;
    if (usable) H5Sget_simple_extent_dims(space, shape, NULL);
    H5Sclose(space);
    d->rows = (int64_t)shape[0];
    d->cols = (int64_t)shape[1];
    hid_t type = H5Dget_type(d->id);
    d->bytes = (double)shape[0] * (double)shape[1] * (double)H5Tget_size(type);
    H5Tclose(type);
    return usable && shape[0] <= INT64_MAX / 16 && shape[1] >= 1 && shape[1] <= INT32_MAX;
}

/* Bytes of a chunk; 0 where the data is not in chunks, or the chunks are not packed. */
static double packed_chunk_bytes(hid_t id, bool *chunked)
{
    hsize_t chunk[2] = {1, 1};
    hid_t layout = H5Dget_create_plist(id), type = H5Dget_type(id);
    *chunked = H5Pget_layout(layout) == H5D_CHUNKED && H5Pget_chunk(layout, 2, chunk) > 0;
    double bytes = (double)chunk[0] * (double)chunk[1] * (double)H5Tget_size(type);
    bool packed = *chunked && H5Pget_nfilters(layout) > 0;
    H5Tclose(type);
    H5Pclose(layout);
    return packed ? bytes : 0;
}

/* Rows are also read out of order.  With a cache the library reads whole chunks: right for packed ones, of which a few should
   stay; without one only the requested rows. */
static void set_cache(hid_t file, dataset *d)
{
    bool chunked;
    double bytes = CACHE_CHUNKS * packed_chunk_bytes(d->id, &chunked);
    if (!chunked) return;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, CACHE_SLOTS, bytes < CACHE_MOST ? (size_t)bytes : CACHE_MOST, 1);
    H5Dclose(d->id);
    d->id = H5Dopen2(file, d->name, access);
    H5Pclose(access);
}

/* How the numbers of a dataset are stored in other files; NULL: they are not. */
static const char *other_files(hid_t id)
{
    hid_t layout = H5Dget_create_plist(id);
    const char *how = H5Pget_layout(layout) == H5D_VIRTUAL ? "a virtual dataset"
                      : H5Pget_external_count(layout) > 0  ? "external storage"
                                                           : NULL;
    H5Pclose(layout);
    return how;
}

/* A name may lead out of the file, also by a link to a link: that is known when the library comes to it. */
static herr_t on_external_link(const char *file, const char *group, const char *other, const char *object,
                               unsigned *flags, hid_t access, void *left)
{
    (void)file, (void)group, (void)other, (void)object, (void)flags, (void)access;
    *(bool *)left = true;
    return -1;
}

static hid_t open_object(const hdf5_file *h, const char *name, bool *left)
{
    *left = false;
    hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    if (!h->follow) H5Pset_elink_cb(access, on_external_link, left);
    hid_t id = H5Oopen(h->id, name, access);
    H5Pclose(access);
    return id;
}

/* The i-th object of the root group; false if it is not a dataset we can use.  One that leads to another file counts, so
   that it can be refused if it is chosen. */
static bool open_dataset(const hdf5_file *h, hsize_t i, dataset *d)
{
    bool left;
    *d = (dataset){.id = H5I_INVALID_HID};
    ssize_t n = H5Lget_name_by_idx(h->id, "/", H5_INDEX_NAME, H5_ITER_INC, i, d->name, NAME_MOST, H5P_DEFAULT);
    if (n < 0 || n >= NAME_MOST) return false;
    d->id = open_object(h, d->name, &left);
    if (left) d->elsewhere = "an external link";
    if (d->id < 0) return left;
    if (H5Iget_type(d->id) == H5I_DATASET && is_numeric(d->id)) {
        d->elsewhere = other_files(d->id);
        if (d->elsewhere && !h->follow) return true;
        if (take_shape(d)) return set_cache(h->id, d), true;
    }
    H5Oclose(d->id);
    return false;
}

static anygp_status list_datasets(const reader *r, hdf5_file *h, anygp_error *e)
{
    H5G_info_t info;
    if (H5Gget_info(h->id, &info) < 0 || info.nlinks > DATASETS_MOST)
        return fail_with(e, ANYGP_ERR_DATA, "the root group of %s cannot be listed", input_name(r->in));
    h->sets = mem_zeroed((int64_t)info.nlinks, sizeof *h->sets);
    if (!h->sets) return fail_memory(e, "the datasets of a file", (double)info.nlinks);
    for (hsize_t i = 0; i < info.nlinks; i++) h->count += open_dataset(h, i, &h->sets[h->count]);
    if (h->count > 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA, "%s has no numeric dataset of one or two dimensions in its root group",
                     input_name(r->in));
}

/* Keeps X and y only, where there are both. */
static members choose_datasets(hdf5_file *h)
{
    const char *names[DATASETS_MOST];
    for (int64_t k = 0; k < h->count; k++) names[k] = h->sets[k].name;
    members m = members_choose(names, h->count);
    if (m.count != 2) return m;
    dataset x = h->sets[m.order[0]], y = h->sets[m.order[1]];
    h->sets[0] = x;
    h->sets[1] = y;
    h->count = 2;
    return m;
}

/* ----------------------------------------------------------------------------------------- the names */

static anygp_status set_name(column *c, const char *text, size_t n, anygp_error *e)
{
    char *name = malloc(2 * n + 1);
    if (!name) return fail_memory(e, "column names", (double)n);
    memcpy(name, text, n);
    n = utf8_from_any(name, n);
    name[n] = 0;
    free(c->name);
    c->name = name;
    return ANYGP_OK;
}

/* Strings of any length are pointers the library allocates, the others lie one after the other. */
static anygp_status take_strings(column *columns, int64_t n, hid_t attribute, hid_t type, anygp_error *e)
{
    bool variable = H5Tis_variable_str(type) > 0;
    size_t size = variable ? sizeof(char *) : H5Tget_size(type);
    hid_t space = H5Aget_space(attribute);
    char *bytes = mem_zeroed(n, size);
    anygp_status status = bytes ? ANYGP_OK : fail_memory(e, "column names", (double)n * (double)size);
    bool read = bytes && H5Aread(attribute, type, bytes) >= 0;
    for (int64_t j = 0; read && j < n && !ANYGP_FAILED(status); j++) {
        const char *text = bytes + (size_t)j * size;
        if (variable) memcpy(&text, bytes + (size_t)j * size, sizeof text);
        if (text) status = set_name(&columns[j], text, variable ? strlen(text) : strnlen(text, size), e);
    }
    if (read && variable) H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes);
    H5Sclose(space);
    free(bytes);
    return status;
}

/* The attribute "columns" of an object, if it is as many strings as there are columns. */
static anygp_status take_names(column *columns, int64_t n, hid_t object, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    if (H5Aexists(object, "columns") <= 0) return status;
    hid_t attribute = H5Aopen(object, "columns", H5P_DEFAULT);
    if (attribute < 0) return status;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == n)
        status = take_strings(columns, n, attribute, type, e);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

static anygp_status name_columns(reader *r, const hdf5_file *h, const members *m, anygp_error *e)
{
    int64_t first = 0;
    for (int64_t k = 0; k < h->count; k++) {
        const dataset *d = &h->sets[k];
        bool plain = m->count == 2 && k == 0;
        if (h->count > 1) TRY(members_name(r, first, d->cols, d->name, plain, e));
        TRY(take_names(r->columns + first, d->cols, d->id, e));
        first += d->cols;
    }
    return take_names(r->columns, r->cols, h->id, e);
}

/* ----------------------------------------------------------------------------------------- the table */

static hid_t open_image(const void *bytes, size_t size)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, (size_t)1 << 16, 0);
    H5Pset_file_image(access, (void *)(uintptr_t)bytes, size);
    hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

static anygp_status check_dataset(const reader *r, const hdf5_file *h, const dataset *d, anygp_error *e)
{
    const dataset *first = &h->sets[0];
    if (d->elsewhere && !h->follow)
        return fail_with(e, ANYGP_ERR_DATA,
                         "%.200s: dataset %.60s leads to another file (%s); if you trust it, add --links follow",
                         input_name(r->in), d->name, d->elsewhere);
    if (d->rows != first->rows)
        return fail_with(
            e, ANYGP_ERR_DATA,
            "%.200s: dataset %.60s has %lld rows and %.60s has %lld; all must have the same number of rows",
            input_name(r->in), first->name, (long long)first->rows, d->name, (long long)d->rows);
    if (!d->elsewhere && d->bytes > PACKED_MOST * h->size + SMALL_BYTES)
        return fail_with(
            e, ANYGP_ERR_DATA,
            "%.200s: dataset %.60s claims %lld x %lld numbers, but the file has only %.3g MB; most of them "
            "were never written, or it is damaged",
            input_name(r->in), d->name, (long long)d->rows, (long long)d->cols, h->size / 1e6);
    return ANYGP_OK;
}

static anygp_status measure(reader *r, const hdf5_file *h, anygp_error *e)
{
    int64_t cols = 0;
    for (int64_t k = 0; k < h->count; k++) {
        TRY(check_dataset(r, h, &h->sets[k], e));
        cols += h->sets[k].cols;
    }
    r->rows = h->sets[0].rows;
    r->likely_rows = (double)r->rows / 8 <= h->size ? r->rows : 0;
    return reader_make_columns(r, cols, e);
}

static anygp_status take_table(reader *r, hdf5_file *h, anygp_error *e)
{
    TRY(list_datasets(r, h, e));
    members m = choose_datasets(h);
    TRY(measure(r, h, e));
    if (m.target) r->target = r->cols - 1;
    return name_columns(r, h, &m, e);
}

anygp_status hdf5_file_open(reader *r, const void *image, size_t size, bool follow, hdf5_file **out, anygp_error *e)
{
    hdf5_file *h = *out = calloc(1, sizeof *h);
    if (!h) return fail_memory(e, "a reader", sizeof *h);
    h->follow = follow;
    h->size = image ? (double)size : (double)input_size(r->in);
    h->id = image ? open_image(image, size) : H5Fopen(input_path(r->in), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h->id < 0)
        return fail_with(e, ANYGP_ERR_DATA, "%s is not an HDF5 file, or it is damaged or open elsewhere",
                         input_name(r->in));
    return take_table(r, h, e);
}

/* n rows of one dataset into columns col .. of the rows. */
static bool read_block(const dataset *d, int64_t place, int64_t n, double *rows, int64_t ld, int64_t col)
{
    hsize_t from[2] = {(hsize_t)place, 0}, count[2] = {(hsize_t)n, (hsize_t)d->cols};
    hsize_t shape[2] = {(hsize_t)n, (hsize_t)ld}, to[2] = {0, (hsize_t)col};
    hid_t file = H5Dget_space(d->id), memory = H5Screate_simple(2, shape, NULL);
    bool done = H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Sselect_hyperslab(memory, H5S_SELECT_SET, to, NULL, count, NULL) >= 0 &&
                H5Dread(d->id, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, rows) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return done;
}

bool hdf5_file_rows(const hdf5_file *h, int64_t first, int64_t n, double *rows, int64_t ld)
{
    int64_t col = 0;
    bool done = true;
    for (int64_t k = 0; done && k < h->count; k++) {
        done = read_block(&h->sets[k], first, n, rows, ld, col);
        col += h->sets[k].cols;
    }
    return done;
}

/* ------------------------------------------------------------------------------- numbers as in memory */

int64_t hdf5_file_sets(const hdf5_file *h) { return h->count; }

/* Rows of a chunk, all of them where the numbers lie in one piece; 0: packed, of another type, or chunks of part of the columns. */
static int64_t plain_rows(const dataset *d)
{
    hsize_t chunk[2] = {0, 1};
    int64_t rows = 0;
    hid_t layout = H5Dget_create_plist(d->id), type = H5Dget_type(d->id);
    bool same = H5Tequal(type, H5T_NATIVE_DOUBLE) > 0 && H5Pget_nfilters(layout) == 0;
    H5D_layout_t kind = H5Pget_layout(layout);
    if (same && kind == H5D_CONTIGUOUS) rows = d->rows;
    if (same && kind == H5D_CHUNKED && H5Pget_chunk(layout, 2, chunk) == d->dims && (int64_t)chunk[1] == d->cols)
        rows = (int64_t)chunk[0];
    H5Tclose(type);
    H5Pclose(layout);
    return rows;
}

static bool has_user_block(hid_t file)
{
    hsize_t size = 1;
    hid_t plan = H5Fget_create_plist(file);
    H5Pget_userblock(plan, &size);
    H5Pclose(plan);
    return size > 0;
}

bool hdf5_file_plain(const hdf5_file *h, int64_t k, int64_t *cols, int64_t *rows, int64_t *chunks)
{
    const dataset *d = &h->sets[k];
    *cols = d->cols;
    *rows = d->elsewhere || d->rows == 0 || has_user_block(h->id) ? 0 : plain_rows(d);
    *chunks = *rows > 0 ? (d->rows - 1) / *rows + 1 : 0;
    return *chunks > 0;
}

int64_t hdf5_file_place(const hdf5_file *h, int64_t k, int64_t row)
{
    hid_t id = h->sets[k].id;
    haddr_t place = H5Dget_offset(id); /* undefined where there are chunks */
#if H5_VERSION_GE(1, 10, 5)
    hsize_t at[2] = {(hsize_t)row, 0}, size;
    unsigned packed;
    if (place == HADDR_UNDEF && H5Dget_chunk_info_by_coord(id, at, &packed, &place, &size) < 0) place = HADDR_UNDEF;
#endif
    return place == HADDR_UNDEF || place > INT64_MAX ? -1 : (int64_t)place;
}
