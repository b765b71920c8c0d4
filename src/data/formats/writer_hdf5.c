/* HDF5 output: one dataset "data" of rows x columns that grows as rows come, with the names in its attribute
   "columns": what the reader takes for a table.  libhdf5 runs in a worker (base/worker.h), which opens the temporary file by
   name: a library that could not write everything tries again at the end of its process, and breaks down there. */
#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/worker.h"
#include "data/formats/hdf5_file.h"
#include "data/formats/writer_format.h"

enum { CHUNK_VALUES = 1 << 16, BLOCK_BYTES = 1 << 19, WINDOW_BYTES = 1 << 25, CPU_SECONDS = 100 };

typedef enum question { ASK_BEGIN, ASK_ROWS, ASK_END } question;

/* ------------------------------------------------------------------------------------------ in the worker */

typedef struct hdf5_file_writer {
    const writer *w; /* the worker's copy, */
    const char *const *names;
    int64_t rows; /* so far: that of the copy stands still */
    hid_t file, set;
} target;

static bool make_dataset(target *h)
{
    const writer *w = h->w;
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

static bool put_names(const target *h)
{
    hsize_t n = (hsize_t)h->w->cols;
    hid_t space = H5Screate_simple(1, &n, NULL), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t attribute = H5Acreate2(h->set, "columns", type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, h->names) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    return done;
}

static bool make_file(target *h)
{
    hdf5_silence();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    h->file = H5Fcreate(atomic_temporary(h->w->file), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return h->file >= 0 && make_dataset(h) && (!h->names || put_names(h));
}

static bool put_rows(target *h, int64_t n, const double *rows)
{
    hsize_t from[2] = {(hsize_t)h->rows, 0}, count[2] = {(hsize_t)n, (hsize_t)h->w->cols};
    hsize_t shape[2] = {(hsize_t)(h->rows + n), (hsize_t)h->w->cols};
    if (H5Dset_extent(h->set, shape) < 0) return false;
    hid_t file = H5Dget_space(h->set), memory = H5Screate_simple(2, count, NULL);
    bool done = H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Dwrite(h->set, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, rows) >= 0;
    H5Sclose(memory);
    H5Sclose(file);
    h->rows += n;
    return done;
}

static bool close_file(const target *h)
{
    bool done = H5Dclose(h->set) >= 0;
    return H5Fclose(h->file) >= 0 && done;
}

/* number[0] comes back as whether it was done, number[1] as errno. */
static void serve(void *ctx, worker_message *m, void *window)
{
    target *h = ctx;
    bool done = false;
    errno = 0;
    switch ((question)m->what) {
    case ASK_BEGIN: done = make_file(h); break;
    case ASK_ROWS: done = put_rows(h, m->number[0], window); break;
    case ASK_END: done = close_file(h); break;
    }
    m->number[0] = done, m->number[1] = errno;
}

/* ------------------------------------------------------------------------------------------ in the parent */

static anygp_status ask(const writer *w, worker_message *m, anygp_error *e)
{
    if (!worker_ask(w->state, m, NULL))
        return fail_with(e, ANYGP_ERR_FILE, "%.200s cannot be written: the HDF5 library %s", w->path,
                         worker_loss(w->state));
    if (m->number[0] == 1) return ANYGP_OK;
    errno = (int)m->number[1];
    return writer_failed(w, e);
}

static anygp_status hdf5_begin(writer *w, const char *const *names, anygp_error *e)
{
    target h = {.w = w, .names = names, .file = H5I_INVALID_HID, .set = H5I_INVALID_HID};
    worker *k;
    if (!w->file) return fail_with(e, ANYGP_ERR_ARGUMENT, "HDF5 cannot be written to standard output; name a file");
    TRY(worker_start(&(worker_job){serve, &h, WINDOW_BYTES, CPU_SECONDS}, &k, e));
    w->state = k;
    return ask(w, &(worker_message){.what = ASK_BEGIN}, e);
}

static anygp_status hdf5_rows(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    int64_t most = BLOCK_BYTES / (8 * w->cols) + 1;
    for (int64_t i = 0; i < n; i += most) {
        int64_t k = n - i < most ? n - i : most;
        memcpy(worker_window(w->state), rows + i * w->cols, (size_t)(k * w->cols) * sizeof *rows);
        TRY(ask(w, &(worker_message){.what = ASK_ROWS, .number = {k}}, e));
    }
    return ANYGP_OK;
}

static anygp_status hdf5_end(writer *w, anygp_error *e) { return ask(w, &(worker_message){.what = ASK_END}, e); }
static void hdf5_close(writer *w) { worker_end(w->state); }

static const char *const endings[] = {".h5", ".hdf5", NULL};
const writer_format writer_hdf5 = {endings, hdf5_begin, hdf5_rows, hdf5_end, hdf5_close, false};
