/* Instead of the HDF5 reader and writer in a library built without HDF5: such files are recognised, and refused by name. */
#include "base/error.h"
#include "data/formats/format.h"
#include "data/formats/hdf5_file.h"
#include "data/formats/writer_format.h"

static anygp_status refuse(const char *name, const char *verb, const char *other, anygp_error *e)
{
    return fail_with(e, ANYGP_ERR_FILE,
                     "%.200s is an HDF5 file and cannot be %s: this anygp was built without HDF5; %s, or build with "
                     "-DANYGP_HDF5=ON",
                     name, verb, other);
}

static anygp_status open_none(reader *r, const read_options *o, anygp_error *e)
{
    (void)o;
    return refuse(input_name(r->in), "read", "convert it to .npy or .csv where HDF5 is built in", e);
}

/* Never called: open_none() has failed. */
static anygp_status next_none(reader *r, int64_t max_rows, double *rows, int64_t *got, anygp_error *e)
{
    (void)max_rows, (void)rows;
    *got = 0;
    return open_none(r, NULL, e);
}
static void close_none(reader *r) { (void)r; }

static const char *const endings[] = {".h5", ".hdf5", ".hdf", NULL};
const format format_hdf5 = {
    .name = "hdf5", .endings = endings, .sniff = hdf5_sniff, .open = open_none, .next = next_none, .close = close_none};

static anygp_status begin_none(writer *w, const char *const *names, anygp_error *e)
{
    (void)names;
    return refuse(w->path, "written", "name a .npy or .csv file", e);
}
static anygp_status rows_none(writer *w, int64_t n, const double *rows, anygp_error *e)
{
    (void)n, (void)rows;
    return begin_none(w, NULL, e);
}
static anygp_status end_none(writer *w, anygp_error *e) { return begin_none(w, NULL, e); }
static void close_writer(writer *w) { (void)w; }

static const char *const out_endings[] = {".h5", ".hdf5", NULL};
const writer_format writer_hdf5 = {out_endings, begin_none, rows_none, end_none, close_writer, false};
