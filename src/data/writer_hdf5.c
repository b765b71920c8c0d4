/* HDF5 output: one dataset "data" of rows x columns that grows as rows come, with the names in its attribute
   "columns": what the reader takes for a table.  The library opens the temporary file by name. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/hdf5_lock.h"
#include "data/writer_format.h"

enum { CHUNK_VALUES = 1 << 16 };

typedef struct hdf5_writer {
    hid_t file, set;
} hdf5_writer;

static anygp_status failed(const writer *w, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE, "%s cannot be written by the HDF5 library; is the disk full?", w->path);
}

static bool make_dataset(writer *w)
{
    hdf5_writer *h = w->state;
    hsize_t shape[2] = {0, (hsize_t)w->cols}, most[2] = {H5S_UNLIMITED, (hsize_t)w->cols};
    hsize_t chunk[2] = {(hsize_t)(CHUNK_VALUES / w->cols + 1), (hsize_t)w->cols};
    hid_t space = H5Screate_simple(2, shape, most), layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 2, chunk);
    H5Pset_attr_phase_change(layout, 0, 0); /* the names may be more than the 64 kB an object's head has room for */
    h->set = H5Dcreate2(h->file, "data", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Pclose(layout);
    H5Sclose(space);
    return h->set >= 0;
}

static bool put_names(const writer *w, const char *const *names)
{
    const hdf5_writer *h = w->state;
    hsize_t n = (hsize_t)w->cols;
    hid_t space = H5Screate_simple(1, &n, NULL), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute = H5Acreate2(h->set, "columns", type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, names) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    return done;
}

static anygp_status hdf5_begin(writer *w, const char *const *names, anygp_error *e)
{
    if (!w->file) return fail_with(e, ANYGP_ERR_ARGUMENT, "HDF5 cannot be written to standard output; name a file");
    hdf5_writer *h = w->state = malloc(sizeof *h);
    if (!h) return fail_memory(e, "a writer", sizeof *h);
    hdf5_guard g = hdf5_enter();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    h->set = H5I_INVALID_HID;
    h->file = H5Fcreate(atomic_temporary(w->file), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    bool done = h->file >= 0 && make_dataset(w) && (!names || put_names(w, names));
    hdf5_leave(g);
    return done ? ANYGP_OK : failed(w, e);
}

static bool put_rows(const writer *w, int64_t n, const double *rows)
{
    const hdf5_writer *h = w->state;
    hsize_t from[2] = {(hsize_t)w->rows, 0}, count[2] = {(hsize_t)n, (hsize_t)w->cols};
    hsize_t shape[2] = {(hsize_t)(w->rows + n), (hsize_t)w->cols};
    if (H5Dset_extent(h->set, shape) < 0) return false;
    hid_t file = H5Dget_space(h->set), memory = H5Screate_simple(2, count, NULL);
    bool done = H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Dwrite(h->set, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, rows) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    return done;
}

static anygp_status hdf5_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    if (n == 0) return ANYGP_OK;
    hdf5_guard g = hdf5_enter();
    bool done = put_rows(w, n, rows);
    hdf5_leave(g);
    return done ? ANYGP_OK : failed(w, e);
}

/* Closes what is open; false if the library could not write it out. */
static bool shut(hdf5_writer *h)
{
    bool done = true;
    hdf5_guard g = hdf5_enter();
    if (h->set >= 0) done = H5Dclose(h->set) >= 0;
    if (h->file >= 0) done = H5Fclose(h->file) >= 0 && done;
    h->set = h->file = H5I_INVALID_HID;
    hdf5_leave(g);
    return done;
}

static anygp_status hdf5_end(writer *w, anygp_error *e) { return shut(w->state) ? ANYGP_OK : failed(w, e); }

static void hdf5_close(writer *w)
{
    if (!w->state) return;
    shut(w->state);
    free(w->state);
}

static const char *const endings[] = {".h5", ".hdf5", NULL};
const writer_format writer_hdf5 = {endings, hdf5_begin, hdf5_rows, hdf5_end, hdf5_close, false};
